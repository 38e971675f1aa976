//! What is seen of output of any length, in pieces of any size, of any bytes.

use std::time::Duration;

use redial_policy::{Ending, Fate, Rules, Stream, Watch};
use redial_seeds::{Dice, Draw, each_case};

use super::NOW;

const KIB: usize = 1 << 10;

fn rules(condition: &str) -> Rules {
    let mut rules = Rules::default();
    rules.success_on(condition).unwrap_or_else(|bad| panic!("{condition}: {bad}"));
    rules
}

fn seen(rules: &Rules, mut watch: Watch) -> bool {
    rules.judge(&Ending::Exit(1), &mut watch, NOW).fate == Fate::Success
}

/// Whether the condition holds after this on standard output, in pieces of this size.
fn finds(condition: &str, bytes: &[u8], piece: usize) -> bool {
    let rules = rules(condition);
    let mut watch = rules.watch();
    for piece in bytes.chunks(piece) {
        watch.saw(Stream::Stdout, piece);
    }
    seen(&rules, watch)
}

#[test]
fn a_match_is_found_wherever_a_piece_ends() {
    let text = "grüße: the needle — здесь\n".as_bytes();
    let rules = rules("stdout:/^grüße: the needle — здесь$/");
    for cut in 0..=text.len() {
        let mut watch = rules.watch();
        let (first, second) = text.split_at(cut);
        watch.saw(Stream::Stdout, first);
        watch.saw(Stream::Stdout, second);
        assert!(seen(&rules, watch), "cut at {cut}");
    }
    let mut watch = rules.watch();
    for byte in text {
        watch.saw(Stream::Stdout, std::slice::from_ref(byte));
    }
    assert!(seen(&rules, watch));
}

#[test]
fn a_match_is_found_wherever_it_is_in_a_long_stream() {
    let size = 150 * KIB;
    for filler in [&b"some line of nothing\n"[..], b".", b"\n", b"\xff\x00", "é".as_bytes()] {
        let blank: Vec<u8> = filler.iter().copied().cycle().take(size).collect();
        assert!(!finds("stdout:/needle/", &blank, 4096));
        for at in
            (0..size - 6).step_by(19_973).chain([64 * KIB - 3, 32 * KIB, 48 * KIB - 1, size - 6])
        {
            let mut bytes = blank.clone();
            bytes[at..at + 6].copy_from_slice(b"needle");
            assert!(finds("stdout:/needle/", &bytes, 4096), "{filler:?} at {at}");
        }
    }
}

#[test]
fn a_long_match_is_found_across_windows() {
    // Up to a quarter of the window, wherever it begins.
    let size = 200 * KIB;
    for at in (0..size).step_by(15_919) {
        let mut bytes = vec![b'.'; size + 20 * KIB];
        bytes[at] = b'<';
        bytes[at + 15 * KIB] = b'>';
        assert!(finds(r"stdout:/<\.+>/", &bytes, 1000), "at {at}");
    }
}

#[test]
fn ten_megabytes_pass_in_no_time_and_leave_little() {
    let line = b"2026-01-01T00:00:00Z INFO nothing happens here at all, again and again\n";
    let chunk: Vec<u8> = line.iter().copied().cycle().take(KIB * KIB).collect();
    let mut rules = rules("stdout:/needle in the haystack/");
    rules.delay_from(r"stdout:/retry after (\d+)/").expect("a pattern");
    let mut watch = rules.watch();
    watch.saw(Stream::Stdout, b"a needle in the haystack\nretry after 7\n");
    for _ in 0..10 {
        watch.saw(Stream::Stdout, &chunk);
    }
    assert!(watch.tail(Stream::Stdout).len() <= 2 * KIB);
    assert_eq!(rules.judge(&Ending::Exit(1), &mut watch, NOW).fate, Fate::Success);
    let mut rules = Rules::default();
    rules.delay_from(r"stdout:/retry after (\d+)/").expect("a pattern");
    let mut watch = rules.watch();
    watch.saw(Stream::Stdout, b"retry after 7\n");
    for _ in 0..3 {
        watch.saw(Stream::Stdout, &chunk);
    }
    let delay = rules.judge(&Ending::Exit(1), &mut watch, NOW).delay;
    assert_eq!(delay, Some(Duration::from_secs(7)));
}

#[test]
fn a_line_is_a_line_wherever_the_window_ends() {
    // `^` and `$` must not match where the window merely begins or ends.
    for extra in 0..17 {
        let mut bytes = b"-".repeat(extra);
        bytes.extend(b"xxxx needle yyyy\n".repeat(6_000));
        for condition in
            ["stdout:/^needle/", "stdout:/needle$/", "stdout:/^x needle/", "stdout:/^$/"]
        {
            assert!(!finds(condition, &bytes, 8192), "{condition} after {extra}");
        }
        assert!(finds("stdout:/^xxxx needle yyyy$/", &bytes, 8192));
    }
}

#[test]
fn the_start_of_the_output_is_only_there() {
    let bytes = b"needle\n".repeat(40_000);
    assert!(finds(r"stdout:/\Aneedle/", &bytes, 999));
    let mut later = b"first\n".to_vec();
    later.extend(&bytes);
    assert!(!finds(r"stdout:/\Aneedle/", &later, 999));
}

#[test]
fn what_is_not_utf_8_is_replaced_and_the_rest_is_seen() {
    assert!(finds("stdout:/a.b/", b"a\xffb", 1));
    assert!(finds("stdout:/needle/", b"\xf0\x9f needle \xc3", 1));
    assert!(finds("stdout:/needle/", b"\0\0needle\0", 2));
    assert!(finds("stdout:/\u{fffd}/", b"\xff", 1));
}

#[test]
fn streams_are_kept_apart() {
    let rules = rules("stdout:/needle/ & !stderr:/needle/");
    let mut watch = rules.watch();
    watch.saw(Stream::Stdout, b"needle");
    assert!(seen(&rules, watch.clone()));
    watch.saw(Stream::Stderr, b"needle");
    assert!(!seen(&rules, watch));
}

#[test]
fn what_comes_after_a_judgement_counts_in_the_next() {
    let rules = rules("stdout:/needle/");
    let mut watch = rules.watch();
    watch.saw(Stream::Stdout, b"need");
    assert_eq!(rules.judge(&Ending::Exit(1), &mut watch, NOW).fate, Fate::Retry);
    watch.saw(Stream::Stdout, b"le");
    assert_eq!(rules.judge(&Ending::Exit(1), &mut watch, NOW).fate, Fate::Success);
    assert_eq!(rules.judge(&Ending::Exit(1), &mut rules.watch(), NOW).fate, Fate::Retry);
}

#[test]
fn the_last_delay_of_a_long_stream_counts() {
    let mut rules = Rules::default();
    rules.delay_from(r"stderr:/retry after (\d+)/").expect("a pattern");
    let mut watch = rules.watch();
    for at in 0..20_000 {
        watch.saw(Stream::Stderr, format!("retry after {at}\n").as_bytes());
    }
    watch.saw(Stream::Stderr, b"the end\n");
    let delay = rules.judge(&Ending::Exit(1), &mut watch, NOW).delay;
    assert_eq!(delay, Some(Duration::from_secs(19_999)));
}

/// Lines of `a` and `b`, in no order that a DFA could remember.
fn unforgettable(dice: &mut Dice, size: usize) -> Vec<u8> {
    let letter = |at: usize, one: bool| match at % 100 {
        99 => b'\n',
        _ => b'a' + u8::from(one),
    };
    (0..size).map(|at| letter(at, dice.one_in(2))).collect()
}

const STRAINING: &str = r"a[ab]{20}[^ab\n][ab]";

#[test]
fn a_pattern_that_no_dfa_is_fast_for_is_looked_for_at_both_ends() {
    each_case(3, |dice| {
        let bytes = unforgettable(dice, 800 * KIB);
        let seen_with = |at: Option<usize>, piece: usize| {
            let mut bytes = bytes.clone();
            if let Some(at) = at {
                bytes[at..at + 30].copy_from_slice(b"\nabbbbbbbbbbbbbbbbbbbbcaneedle");
            }
            let mut rules = rules(&format!("stdout:/{STRAINING}/"));
            rules.stop_on("stdout:/needle/").expect("a pattern");
            let mut watch = rules.watch();
            bytes.chunks(piece).for_each(|piece| watch.saw(Stream::Stdout, piece));
            let fate = rules.judge(&Ending::Exit(1), &mut watch, NOW).fate;
            (fate, watch.partly_watched().map(str::to_owned).collect::<Vec<_>>())
        };
        let strained = vec![STRAINING.to_owned()];
        assert_eq!(seen_with(None, 4096), (Fate::Retry, strained.clone()));
        assert_eq!(seen_with(Some(100), 4096), (Fate::Success, vec![]));
        assert_eq!(seen_with(Some(bytes.len() - 2 * KIB), 4096).0, Fate::Success);
        // What the others look for is found everywhere; and pieces decide nothing.
        for piece in [999, 100_000] {
            assert_eq!(seen_with(Some(500 * KIB), piece), (Fate::Stop, strained.clone()));
        }
    });
}

#[test]
fn what_only_looks_hard_is_looked_for_everywhere() {
    let mut bytes = b"a".repeat(99);
    bytes.push(b'\n');
    let mut bytes = bytes.repeat(10_000);
    let middle = bytes.len() / 2 + 70;
    bytes[middle] = b'b';
    for pattern in [r"(a?){30}a{30}b", r"(a|aa)+b", r"(a*)*b", r"(\w?\s?){9}b"] {
        let mut rules = rules(&format!("stdout:/{pattern}/"));
        rules.stop_on(&format!("stdout:/{pattern}{pattern}c/")).expect("a pattern");
        let mut watch = rules.watch();
        watch.saw(Stream::Stdout, &bytes);
        assert_eq!(rules.judge(&Ending::Exit(1), &mut watch, NOW).fate, Fate::Success, "{pattern}");
        assert_eq!(watch.partly_watched().count(), 0, "{pattern}");
    }
}

#[test]
fn matchers_find_the_same_in_a_long_stream_as_in_a_line() {
    let filler = "2026-01-01 took 1500ms for 4290 tasks — é500 _503 serverError ratelimit\n";
    let filler = filler.repeat(3_000);
    for (matcher, lines) in [
        ("network", &["No route: NETWORK is down", "ECONNREFUSED", "networ\u{212a}"][..]),
        ("server_error", &["HTTP 503", "é 500é: 502", "Internal Server Error"]),
        ("rate_limit", &["status=429;", "Too Many Requests", "rate limit"]),
        ("pattern:/done\\.$/", &["nearly done."]),
    ] {
        let mut rules = Rules::default();
        rules.stop_on(matcher).expect("a matcher");
        let judged = |line: &str| {
            let mut watch = rules.watch();
            let after = if matcher.starts_with("pattern") { "" } else { &filler };
            for text in [&filler, line, "\n", after] {
                watch.saw(Stream::Stderr, text.as_bytes());
            }
            rules.judge(&Ending::Exit(1), &mut watch, NOW).fate
        };
        assert_eq!(judged("nothing"), Fate::Retry, "{matcher}");
        for line in lines {
            assert_eq!(judged(line), Fate::Stop, "{matcher}: {line}");
        }
    }
}

#[test]
fn the_tail_is_the_end_and_whole_characters() {
    for condition in ["exit:1", "stdout:/x/"] {
        let rules = rules(condition);
        let mut watch = rules.watch();
        assert_eq!(watch.tail(Stream::Stdout), "");
        watch.saw(Stream::Stdout, "é".repeat(100_001).as_bytes());
        watch.saw(Stream::Stdout, b"z");
        let tail = watch.tail(Stream::Stdout);
        assert_eq!(tail, "é".repeat(1023) + "z", "{condition}");
        watch.saw(Stream::Stdout, &[0x80; 10_000]);
        assert!(watch.tail(Stream::Stdout).chars().all(|character| character == '\u{fffd}'));
    }
}

/// Wherever its lines end, watched or not: a window that is full goes on.
#[test]
fn the_tail_of_any_stream_is_its_last_two_kibibytes() {
    each_case(60, |dice| {
        let line_max = [1, 30, 3000, 20_000, 200_000][dice.below(5)];
        let mut text = Vec::new();
        while text.len() < 40 * KIB {
            text.resize(text.len() + dice.below(line_max), b'x');
            text.push(b'\n');
        }
        let piece = 1 + dice.below(70_000);
        for condition in ["stdout:/never/", "exit:9"] {
            let mut watch = rules(condition).watch();
            text.chunks(piece).for_each(|piece| watch.saw(Stream::Stdout, piece));
            let last = &text[text.len() - 2 * KIB..];
            assert_eq!(watch.tail(Stream::Stdout).as_bytes(), last, "{condition}");
        }
    });
}

#[test]
fn a_stream_in_random_pieces_is_seen_as_in_one() {
    each_case(30, |dice| {
        let alphabet: [&[u8]; 8] =
            [b"a", b"b", b"\n", b"\r\n", b"\xff", "é".as_bytes(), b"\0", b" "];
        let mut bytes = Vec::new();
        let size = [10, 1_000, 70_000, 150_000][dice.below(4)];
        let filler = dice.pick(&alphabet);
        while bytes.len() < size {
            let piece = if dice.one_in(3) { dice.pick(&alphabet) } else { filler };
            bytes.extend(piece.iter().copied().cycle().take(piece.len() * (1 + dice.below(2_000))));
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for pattern in [
            "ab",
            "^a+b",
            "b$",
            "é\u{fffd}",
            r"\bb a",
            "^ab*$",
            "^$",
            "a\r?$",
            r"\bé",
            r"b\b",
            r"\Bb ",
            r"\b{start}a",
            r"é\b{end}",
            r"(?i)B\b{end-half}",
            r"\b{start-half}(é|b) ",
            r"\w+ \d",
        ] {
            let whole = is_match(pattern, &text);
            let rules = rules(&format!("stdout:/{pattern}/"));
            let mut watch = rules.watch();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at((1 + dice.below(9_000)).min(rest.len()));
                watch.saw(Stream::Stdout, now);
                rest = later;
            }
            // Lines that fill a window are cut, so what asks for their ends may be wrong there.
            let longest = text.split('\n').map(str::len).max().unwrap_or(0);
            if longest < 8 * KIB {
                assert_eq!(seen(&rules, watch), whole, "{pattern} in {} bytes", bytes.len());
            }
        }
    });
}

/// As a condition means it. After the last line end there is no line.
fn is_match(pattern: &str, text: &str) -> bool {
    let mut builder = regex::RegexBuilder::new(pattern);
    let pattern = builder.multi_line(true).crlf(true).build().expect("a pattern");
    pattern.find(text).is_some_and(|found| found.start() < text.len() || !text.ends_with('\n'))
}
