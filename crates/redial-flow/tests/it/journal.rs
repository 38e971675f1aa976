//! The journal, whatever happens to its file.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use redial_core::Random;
use redial_flow::journal::{Damage, End, Entry, LINE_MAX, ReadError, Reading, Sync, Tail, Writer};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::child;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    v: u32,
    #[serde(flatten)]
    event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "start")]
    Start { step: String, attempt: u32 },
    #[serde(rename = "end")]
    End { output: String },
}

fn start(step: &str, attempt: u32) -> Record {
    Record { v: 1, event: Event::Start { step: step.into(), attempt } }
}

fn end(output: &str) -> Record {
    Record { v: 1, event: Event::End { output: output.into() } }
}

/// Among them characters that one bit makes a newline (`J`, `*`, U+001A), and what looks like the end of a line.
fn records() -> Vec<Record> {
    vec![
        start("fetch", 1),
        end("J*J* \u{1a}\n{},\"n\":1,\"crc\":\"00000000\"}\n"),
        start("größe", 0),
        end(""),
        start("fetch", u32::MAX),
        end("JJ**"),
    ]
}

fn journal(records: &[Record]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    Writer::open(&path, End::default(), Sync::Group).unwrap().append(records).unwrap();
    fs::read(path).unwrap()
}

/// All that is in a journal, with every damage accepted.
fn read(bytes: &[u8]) -> (Vec<Entry<Record>>, Vec<Damage>, End) {
    let (mut entries, mut damages) = (Vec::new(), Vec::new());
    let mut reading = Reading::of(bytes);
    for entry in &mut reading {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(ReadError::Damage(damage)) => damages.push(damage),
            Err(error) => panic!("{error}"),
        }
    }
    (entries, damages, reading.end().unwrap())
}

/// Whatever was done to the journal of `written`: what is read is what was written, in order, and what is not read is told.
fn check(written: &[Record], bytes: &[u8]) -> (Vec<Damage>, End) {
    let (entries, damages, end) = read(bytes);
    assert!(entries.is_sorted_by(|a, b| a.n < b.n), "{entries:?}");
    for entry in &entries {
        assert_eq!(entry.record, written[entry.n as usize - 1]);
    }
    for n in 1..end.next {
        let is_read = entries.iter().any(|entry| entry.n == n);
        let is_told = damages.iter().any(|damage| damage.missing().contains(&n));
        assert!(is_read != is_told, "{n}: {entries:?} {damages:?}");
    }
    assert_eq!(end.offset + end.tail.map_or(0, |tail| tail.length), bytes.len() as u64);
    (damages, end)
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

#[test]
fn a_line_is_the_record_with_its_number_and_the_crc_32_of_what_stands_before() {
    let bytes = journal(&[start("fetch", 1), end("ok")]);
    // The checksums are those of Python's zlib.
    let expected = concat!(
        r#"{"v":1,"type":"start","step":"fetch","attempt":1,"n":1,"crc":"2d779267"}"#,
        "\n",
        r#"{"v":1,"type":"end","output":"ok","n":2,"crc":"9f5bd84a"}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
}

#[test]
fn a_record_without_fields_is_one_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    Writer::open(&path, End::default(), Sync::Always).unwrap().append(&[json!({})]).unwrap();
    let entries: Vec<_> = Reading::<serde_json::Value>::open(&path).unwrap().flatten().collect();
    assert_eq!(entries[0].n, 1);
    assert!(fs::read_to_string(path).unwrap().starts_with(r#"{"n":1,"crc":""#));
}

#[test]
fn of_a_journal_cut_at_any_byte_the_whole_records_before_the_cut_come_back() {
    let written = records();
    let bytes = journal(&written);
    for length in 0..=bytes.len() {
        let cut = &bytes[..length];
        let whole = cut.iter().filter(|byte| **byte == b'\n').count();
        let offset = cut.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
        let (entries, damages, end) = read(cut);
        let read: Vec<_> = entries.into_iter().map(|entry| entry.record).collect();
        assert_eq!(read, written[..whole], "{length}");
        assert_eq!(damages, []);
        let line = whole as u64 + 1;
        let tail = Tail { line, offset, length: length as u64 - offset };
        let tail = (tail.length > 0).then_some(tail);
        assert_eq!(end, End { offset, next: line, tail }, "{length}");
    }
}

#[test]
fn a_journal_cut_at_any_byte_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let written = records();
    let bytes = journal(&written);
    for length in 0..=bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let mut reading = Reading::<Record>::open(&path).unwrap();
        let whole = reading.by_ref().map(Result::unwrap).count();
        let mut writer = Writer::open(&path, reading.end().unwrap(), Sync::Group).unwrap();
        writer.append(&written[whole..]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes, "{length}");
    }
}

#[test]
fn any_flipped_bit_is_told_and_never_believed() {
    let written = records();
    let bytes = journal(&written);
    let last = lines(&bytes[..]).last().unwrap().len();
    // The newline before the last line is a part of the tail: without it, the last two are one bad line.
    let tail = bytes.len() - last - 1;
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let (damages, end) = check(&written, &flipped);
        if bit / 8 < tail {
            assert_eq!((damages.len(), end.tail), (1, None), "{bit}");
            assert!(!damages[0].missing().is_empty(), "{bit}: {damages:?}");
        } else {
            assert!(damages.is_empty() && end.tail.is_some(), "{bit}: {damages:?}");
        }
    }
}

#[test]
fn lines_that_are_lost_doubled_or_exchanged_are_told() {
    let written = records();
    let bytes = journal(&written);
    let lines = lines(&bytes);
    for from in 0..lines.len() {
        for to in from + 1..=lines.len() {
            let lost = [&lines[..from], &lines[to..]].concat().concat();
            let (damages, end) = check(&written, &lost);
            // Of lines that are lost at the end nothing tells.
            let told = usize::from(to < lines.len());
            assert_eq!(damages.len(), told, "{from}..{to} lost");
            assert_eq!(end.next, if told == 1 { 7 } else { from as u64 + 1 });
            for at in to..=lines.len() {
                let doubled = [&lines[..at], &lines[from..to], &lines[at..]].concat().concat();
                let (damages, end) = check(&written, &doubled);
                assert_eq!(damages.len(), 1, "{from}..{to} again at {at}");
                assert_eq!(damages[0].repeated, (to - from) as u64);
                assert!(damages[0].missing().is_empty());
                assert_eq!((end.next, end.tail), (7, None));
            }
            if to < lines.len() {
                let mut exchanged = lines.clone();
                exchanged.swap(from, to);
                let (damages, _) = check(&written, &exchanged.concat());
                assert_eq!(damages[0].line, from as u64 + 1);
                assert_eq!(damages[0].missing(), from as u64 + 1..to as u64 + 1);
            }
        }
    }
}

#[test]
fn bytes_cut_out_of_the_middle_are_told() {
    let written = [end("a"), end("J"), end(""), end("b")];
    let bytes = journal(&written);
    for from in 0..bytes.len() {
        for to in from + 1..bytes.len() {
            let cut = [&bytes[..from], &bytes[to..]].concat();
            let (damages, end) = check(&written, &cut);
            // All lines end alike, so a cut from the end of one to that of the last leaves whole lines.
            let is_prefix = bytes.starts_with(&cut);
            assert!(damages.len() == 1 || end.tail.is_some() || is_prefix, "{from}..{to}");
        }
    }
}

#[test]
fn any_damage_is_told() {
    let words = ["", "J", "*", "\n", "\"", "größe", "{}", "\\", "x".repeat(50).leak()];
    redial_seeds::each_seed(500, |mut random| {
        let mut below = |bound: usize| (random.word() % bound as u64) as usize;
        let written: Vec<_> = (0..1 + below(20)).map(|_| end(words[below(words.len())])).collect();
        let mut bytes = journal(&written);
        let original = bytes.clone();
        for _ in 0..1 + below(3) {
            let (from, to) = (below(bytes.len() + 1), below(bytes.len() + 1));
            let (from, to) = (from.min(to), from.max(to));
            let block = bytes[from..to].to_vec();
            let at = below(bytes.len() + 1);
            match below(5) {
                0 => bytes[from..to].fill(0),
                1 => drop(bytes.drain(from..to)),
                2 => drop(bytes.splice(at..at, block)),
                3 => bytes[from..to].reverse(),
                _ => bytes[from..to].iter_mut().for_each(|byte| *byte ^= below(256) as u8),
            }
        }
        let (damages, end) = check(&written, &bytes);
        if damages.is_empty() {
            // Then all that happened, happened to the end.
            assert_eq!(bytes[..end.offset as usize], original[..end.offset as usize]);
        }
    });
}

#[test]
fn damage_is_refused_by_who_does_not_accept_it() {
    let bytes = journal(&records());
    let lines = lines(&bytes);
    let lost = [lines[0], lines[1], lines[4], lines[5]].concat();
    let refused = Reading::<Record, _>::of(&lost[..]).collect::<Result<Vec<_>, _>>().unwrap_err();
    let offset = lines[0].len() + lines[1].len();
    assert_eq!(
        refused.to_string(),
        format!("the journal is damaged at line 3 (byte {offset}): records 3 to 4 are missing")
    );
}

#[test]
fn damage_says_where_it_is_and_what_is_missing() {
    let bytes = journal(&records());
    let lines = lines(&bytes);
    let noise: &[u8] = b"noise\n";
    let length = lines[1].len();
    for (lines, text) in [
        (vec![lines[0], noise, lines[2]], "record 2 is missing; 6 bytes are left out".to_string()),
        (vec![lines[0], noise, lines[1]], "no record is missing; 6 bytes are left out".into()),
        (
            vec![lines[0], lines[1], lines[0], lines[1]],
            format!(
                "no record is missing; 2 lines stand after later ones; {} bytes are left out",
                lines[0].len() + length
            ),
        ),
        (vec![lines[0], lines[2], lines[1], noise], "record 2 is missing".into()),
    ] {
        let bytes = lines.concat();
        let error = Reading::<Record, _>::of(&bytes[..]).find_map(Result::err).unwrap();
        assert!(error.to_string().ends_with(&text), "{error} instead of {text}");
    }
}

/// One who writes after lines that came twice, and after them noise, keeps the lines and cuts the noise.
#[test]
fn a_damaged_journal_goes_on_once_the_damage_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let bytes = journal(&records());
    let doubled = [&bytes[..], &bytes[..], b"noise"].concat();
    let (_, end) = check(&records(), &doubled);
    assert_eq!((end.offset, end.next), (2 * bytes.len() as u64, 7));
    fs::write(&path, &doubled).unwrap();
    Writer::open(&path, end, Sync::Always).unwrap().append(&[start("more", 1)]).unwrap();
    let (entries, damages, end) = read(&fs::read(&path).unwrap());
    assert_eq!(entries[6].record, start("more", 1));
    assert_eq!((entries[6].n, damages.len(), end.tail), (7, 1, None));
}

/// A line as a writer would make it, of anything.
fn line(text: &str) -> Vec<u8> {
    format!("{text},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(text.as_bytes())).into_bytes()
}

#[test]
fn a_right_checksum_does_not_make_a_wrong_number_right() {
    for text in [
        r#"{"v":1"#,
        r#"{"v":1,"n":"#,
        r#"{"v":1,"n":-1"#,
        r#"{"v":1,"n":18446744073709551615"#,
        r#"{"v":1,"n":18446744073709551616"#,
        r#"{"v":1,"n":99999999999999999999999999999999"#,
        r#"{"v":1,"n":1.5"#,
        r#"{"v":1,"m":1"#,
        r#"[1,"n":1"#,
        r#""n":1"#,
        "",
    ] {
        let bytes = line(text);
        let mut reading = Reading::<serde_json::Value, _>::of(&bytes[..]);
        assert!(reading.next().is_none(), "{text}");
        assert_eq!(reading.end().unwrap().tail.unwrap().length, bytes.len() as u64, "{text}");
    }
    let (_, damages, end) =
        read(&line(r#"{"v":1,"type":"end","output":"","n":18446744073709551614"#));
    assert_eq!(damages[0].missing(), 1..u64::MAX - 1);
    assert_eq!(end.next, u64::MAX);
    let (_, damages, end) = read(&line(r#"{"v":1,"type":"end","output":"","n":0"#));
    assert_eq!((damages[0].repeated, end.next), (1, 1));
}

#[test]
fn a_record_of_a_newer_version_is_an_error_that_names_it_and_a_new_field_is_none() {
    let (entries, ..) = read(&line(r#"{"v":1,"new":[{}],"type":"end","output":"x","n":1"#));
    assert_eq!(entries[0].record, end("x"));
    let bytes = [line(r#"{"v":2,"type":"fork","n":1"#), journal(&records())].concat();
    let mut reading = Reading::<Record, _>::of(&bytes[..]);
    let error = reading.next().unwrap().unwrap_err();
    let ReadError::Unknown(unknown) = &error else { panic!("{error}") };
    assert_eq!((unknown.kind(), unknown.version()), (Some("fork"), Some(&json!(2))));
    let text = error.to_string();
    let begin =
        "the journal, line 1 (byte 0): a record `fork` of version 2 that this version of redial";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.contains("unknown variant `fork`"), "{text}");
    // And it is no damage, so that who accepts damage does not accept this.
    let text = Reading::<Record, _>::of(&line(r#"{"n":1"#)[..]).next().unwrap().unwrap_err();
    assert!(text.to_string().contains("a record that this version"), "{text}");
}

#[test]
fn a_line_without_end_is_passed_over_in_bounded_memory() {
    let bytes = journal(&records());
    let noise = 2 * LINE_MAX as u64;
    for (noise, lines) in [(io::repeat(0).take(noise), 7), (io::repeat(b'x').take(noise), 7)] {
        let all = bytes[..].chain(noise).chain(&b"\n"[..]).chain(&bytes[..]);
        let mut reading = Reading::<Record, _>::of(all);
        let mut results: Vec<_> = reading.by_ref().collect();
        let Some(Err(ReadError::Damage(damage))) = results.pop() else { panic!("{results:?}") };
        assert_eq!((damage.line, damage.repeated), (lines, 6));
        assert_eq!(damage.length, 2 * LINE_MAX as u64 + 1 + bytes.len() as u64);
    }
    let mut reading = Reading::<Record, _>::of(bytes[..].chain(io::repeat(0).take(noise)));
    assert_eq!(reading.by_ref().filter(Result::is_ok).count(), 6);
    let offset = bytes.len() as u64;
    let end = reading.end().unwrap();
    assert_eq!(end.tail, Some(Tail { line: 7, offset, length: noise }));
}

#[test]
fn the_longest_line_is_read_and_a_longer_one_is_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let mut writer = Writer::open(&path, End::default(), Sync::Group).unwrap();
    let around = line(r#"{"text":"","n":1"#).len();
    let mut text = "x".repeat(LINE_MAX - around);
    writer.append(&[json!({"text": text})]).unwrap();
    text.push('x');
    let error = writer.append(&[json!({}), json!({"text": text})]).unwrap_err();
    let reason = "record 3 would have 16777217 bytes; at most 16777216 are read";
    assert_eq!((error.kind(), &*error.to_string()), (io::ErrorKind::InvalidInput, reason));
    writer.append(&[json!({"text": "more"})]).unwrap();

    #[derive(Deserialize)]
    struct Long {
        text: String,
    }
    let lengths =
        Reading::<Long>::open(path).unwrap().map(|entry| entry.unwrap().record.text.len());
    assert_eq!(lengths.collect::<Vec<_>>(), [LINE_MAX - around, 4]);
}

#[test]
fn what_is_no_object_of_json_on_one_line_is_refused_with_its_whole_batch() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let mut writer = Writer::open(&path, End::default(), Sync::Always).unwrap();
    for (record, reason) in [
        (json!([1]), "record 2 is not an object of JSON"),
        (json!("{}"), "record 2 is not an object of JSON"),
        (json!(null), "record 2 is not an object of JSON"),
    ] {
        let error = writer.append(&[json!({}), record]).unwrap_err();
        assert_eq!((error.kind(), &*error.to_string()), (io::ErrorKind::InvalidInput, reason));
    }
    let pretty = serde_json::value::RawValue::from_string("{\"a\":\n1}".into()).unwrap();
    let mut raw = Writer::open(&path, End::default(), Sync::Always).unwrap();
    let error = raw.append(&[pretty]).unwrap_err();
    assert_eq!(error.to_string(), "record 1 has a newline between its fields");
    let keys = std::collections::BTreeMap::from([((1, 2), 3)]);
    let mut odd = Writer::open(&path, End::default(), Sync::Always).unwrap();
    let error = odd.append(&[keys]).unwrap_err();
    assert!(error.to_string().starts_with("record 1 cannot be written as JSON: key must be"));
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    assert_eq!(writer.next(), 1);
    writer.append(&[json!({})]).unwrap();
}

#[test]
fn a_journal_that_is_removed_or_written_by_another_takes_no_more_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let mut writer = Writer::open(&path, End::default(), Sync::Always).unwrap();
    writer.append(&records()).unwrap();
    fs::remove_file(&path).unwrap();
    let error = writer.append(&records()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(
        error.to_string().ends_with("journal.ndjson was removed while it was written"),
        "{error}"
    );
    let error = writer.sync().unwrap_err().to_string();
    assert!(error.contains("was removed while it was written; nothing more"), "{error}");

    let mut writer = Writer::open(&path, End::default(), Sync::Always).unwrap();
    writer.append(&records()).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes.push(b'x');
    fs::write(&path, bytes).unwrap();
    let error = writer.append(&records()).unwrap_err();
    assert!(error.to_string().ends_with("somebody else wrote"), "{error}");
    assert!(writer.append(&records()).is_err());
}

#[test]
fn an_end_that_is_not_there_is_not_written_at() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    fs::write(&path, journal(&records())).unwrap();
    let end = End { offset: 1 << 40, next: 7, tail: None };
    let error = Writer::<Record>::open(&path, end, Sync::Always).unwrap_err();
    assert!(error.to_string().ends_with("and was to be cut at 1099511627776"), "{error}");
}

#[test]
fn what_is_no_file_is_no_journal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let text = Reading::<Record>::open(&path).unwrap_err().to_string();
    assert!(text.contains("journal.ndjson cannot be read: No such file"), "{text}");
    fs::create_dir(&path).unwrap();
    let text = Reading::<Record>::open(&path).unwrap_err().to_string();
    assert!(text.ends_with("it is not a regular file"), "{text}");
    assert!(Writer::<Record>::open(&path, End::default(), Sync::Always).is_err());
}

#[cfg(unix)]
#[test]
fn neither_a_link_is_followed_nor_a_pipe_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("journal.ndjson"), directory.path().join("other"));
    fs::write(&other, "precious").unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    let error = Writer::<Record>::open(&path, End::default(), Sync::Always).unwrap_err();
    assert!(error.to_string().ends_with("it is a symbolic link, which is not followed"), "{error}");
    assert!(Reading::<Record>::open(&path).is_err());
    assert_eq!(fs::read(&other).unwrap(), b"precious");
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let text = Reading::<Record>::open(&path).unwrap_err().to_string();
    assert!(text.ends_with("it is not a regular file"), "{text}");
    assert!(Writer::<Record>::open(&path, End::default(), Sync::Always).is_err());
}

#[test]
fn a_group_has_a_time_until_it_is_synced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let mut writer = Writer::open(&path, End::default(), Sync::Group).unwrap();
    assert_eq!(writer.due(), None);
    writer.append(&[start("a", 1)]).unwrap();
    assert!(writer.due().is_some());
    writer.sync().unwrap();
    assert_eq!(writer.due(), None);
    let mut writer = Writer::open(path, read(&journal(&[start("a", 1)])).2, Sync::Always).unwrap();
    writer.append(&[start("b", 1)]).unwrap();
    assert_eq!(writer.due(), None);
}

/// The system calls on the journal that fail are chosen by strace.
fn with_failing_calls(inject: &[&str], task: &str) {
    if !child::can(&["strace", "-qq", "-o", "/dev/null", "true"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    // What is traced by its path has to be there.
    fs::write(&path, "").unwrap();
    let mut wrapper = vec!["strace", "-f", "-qq", "-o", "/dev/null", "-P", path.to_str().unwrap()];
    wrapper.extend(inject.iter().flat_map(|inject| ["-e", inject]));
    child::run(&wrapper, task, &path);
}

#[test]
fn after_a_sync_that_failed_nothing_is_acknowledged() {
    with_failing_calls(&["inject=fdatasync:error=EIO:when=2"], "sync-fails");
}

pub(crate) fn append_and_see_the_sync_fail(path: &Path) {
    let mut writer = Writer::open(path, End::default(), Sync::Always).unwrap();
    writer.append(&[start("a", 1)]).unwrap();
    let error = writer.append(&[start("b", 1)]).unwrap_err();
    assert!(
        error.to_string().ends_with("cannot be synced: Input/output error (os error 5)"),
        "{error}"
    );
    // The next fdatasync would succeed, as it does on Linux, and what it should have synced is lost.
    for error in [writer.sync().unwrap_err(), writer.append(&[start("c", 1)]).unwrap_err()] {
        assert!(
            error.to_string().contains(
                "cannot be synced: Input/output error (os error 5); nothing more is written"
            ),
            "{error}"
        );
    }
    let first = Reading::<Record>::open(path).unwrap().next().unwrap().unwrap();
    assert_eq!(first.record, start("a", 1));
}

#[test]
fn a_write_that_failed_is_taken_back_and_the_next_one_succeeds() {
    with_failing_calls(&["inject=write:error=ENOSPC:when=2"], "write-fails");
}

pub(crate) fn append_and_see_a_write_fail(path: &Path) {
    let mut writer = Writer::open(path, End::default(), Sync::Always).unwrap();
    writer.append(&[start("a", 1)]).unwrap();
    let error = writer.append(&[start("b", 1)]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    writer.append(&[start("c", 1)]).unwrap();
    let read: Result<Vec<_>, _> = Reading::<Record>::open(path).unwrap().collect();
    let read: Vec<_> = read.unwrap().into_iter().map(|entry| entry.record).collect();
    assert_eq!(read, [start("a", 1), start("c", 1)]);
}

#[test]
fn a_write_that_cannot_be_taken_back_is_the_last() {
    with_failing_calls(
        &["inject=write:error=EIO:when=2", "inject=ftruncate:error=EROFS"],
        "cut-fails",
    );
}

pub(crate) fn append_and_see_the_cut_fail(path: &Path) {
    let mut writer = Writer::open(path, End::default(), Sync::Always).unwrap();
    writer.append(&[start("a", 1)]).unwrap();
    let error = writer.append(&[start("b", 1)]).unwrap_err().to_string();
    assert!(error.contains("cannot be written, nor cut back (Read-only file system"), "{error}");
    assert!(writer.append(&[start("c", 1)]).is_err());
    let read: Result<Vec<_>, _> = Reading::<Record>::open(path).unwrap().collect();
    assert_eq!(read.unwrap().len(), 1);
}

/// What this thread took of a processor; the time of day, on a busy machine, says little.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// `cargo test --release -p redial-flow --test it -- --ignored --nocapture a_million`
#[test]
#[ignore = "it measures"]
#[expect(clippy::print_stderr, reason = "it measures")]
fn a_million_records_are_read() {
    use redial_core::Time;
    use redial_flow::record::{self, Event, Outcome};

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let mut writer = Writer::open(&path, End::default(), Sync::Group).unwrap();
    let run = "01KA4Z9Q3W7X8Y6V5T4S3R2Q1P";
    let begin = processor_time();
    for batch in 0..10_000_u64 {
        let records: Vec<_> = (batch * 100..batch * 100 + 100)
            .map(|i| record::Record {
                step: Some("resize".into()),
                item: Some(i as u32),
                key: Some(format!("picture-{i}").into()),
                attempt: Some((i % 5) as u32),
                outcome: Some(Outcome::Succeeded),
                exit: Some(0),
                duration_ns: Some(i * 1_000_003),
                ..record::Record::new(run, Time::from_nanos(i * 1000), Event::AttemptEnd)
            })
            .collect();
        writer.append(&records).unwrap();
    }
    writer.sync().unwrap();
    let length = fs::metadata(&path).unwrap().len();
    eprintln!("wrote {} bytes a record in {:?}", length / 1_000_000, processor_time() - begin);
    for _ in 0..3 {
        let begin = processor_time();
        let reading = Reading::<record::Record>::open(&path).unwrap();
        let count = reading.filter(|entry| entry.as_ref().is_ok_and(|e| e.record.v == 1)).count();
        assert_eq!(count, 1_000_000);
        eprintln!("read and decoded in {:?}", processor_time() - begin);
    }
    let begin = processor_time();
    let reading = Reading::<serde::de::IgnoredAny>::open(&path).unwrap();
    assert_eq!(reading.filter(Result::is_ok).count(), 1_000_000);
    eprintln!("read and checked, fields passed over, in {:?}", processor_time() - begin);
}
