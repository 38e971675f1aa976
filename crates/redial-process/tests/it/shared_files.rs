//! What a shared file may hold, and what it may be.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use redial_core::{Gate, Time};
use redial_process::shared::{Refusal, SharedBreaker, SharedBudget, SharedGate};

use crate::place::Place;

/// A budget, as the engine asks it.
fn budget(place: &Place) -> SharedGate {
    let budget = SharedBudget::open(&place.path()).expect("the file is sound");
    SharedGate::new(Some(budget), None)
}

fn breaker(place: &Place) -> SharedGate {
    let breaker = SharedBreaker::open(&place.path()).expect("the file is sound");
    SharedGate::new(None, Some(breaker))
}

/// Asks a gate, whose files are sound then.
#[track_caller]
fn asked<T>(gate: &mut SharedGate, question: impl FnOnce(&mut SharedGate) -> T) -> T {
    let answer = question(gate);
    assert_eq!(gate.take_warnings(), [""; 0]);
    answer
}

#[track_caller]
fn withdraw(gate: &mut SharedGate) -> bool {
    asked(gate, |gate| gate.withdraw(Time::ZERO))
}

#[track_caller]
fn admit(gate: &mut SharedGate) -> bool {
    asked(gate, |gate| gate.admit(Time::ZERO))
}

#[track_caller]
fn assert_refused(text: impl AsRef<[u8]>, said: &str) {
    let kind = if said.starts_with("breaker") { "breaker" } else { "budget" };
    let place = Place::holding(&text);
    let error = opened(kind, &place.path()).expect_err("the file is refused");
    let file = place.path();
    let said = said.replace("FILE", &file.display().to_string());
    assert!(error.starts_with(&said), "{error}\nis not\n{said}");
    assert_eq!(fs::read(file).expect("it is still there"), text.as_ref(), "it was written to");
}

fn opened(kind: &str, path: &Path) -> Result<(), String> {
    match kind {
        "budget" => SharedBudget::open(path).map(drop),
        _ => SharedBreaker::open(path).map(drop),
    }
}

#[test]
fn a_new_file_holds_the_defaults_in_one_line_of_512_bytes() {
    for (kind, json) in [
        (
            "budget",
            r#"{"redial":"budget","v":1,"capacity":100.0,"deposit":0.2,"cost":1.0,"floor_per_second":10.0,"tokens":100.0,"paid_until":0.0}"#,
        ),
        (
            "breaker",
            r#"{"redial":"breaker","v":1,"failures":5,"recovery_seconds":30.0,"probes":1,"state":"closed","failed":0,"until":0.0,"succeeded":0,"period":0}"#,
        ),
    ] {
        // Not there, empty, blank, and as a power failure may leave it.
        for text in [None, Some(""), Some(" \n"), Some("\0\0\0\0")] {
            let place = Place::new();
            if let Some(text) = text {
                place.write(text);
            }
            opened(kind, &place.path()).expect("it is made");
            assert_eq!(place.text(), format!("{json:<511}\n"));
        }
    }
}

#[test]
fn whoever_may_make_files_may_share_this_one() {
    let (place, other) = (Place::new(), Place::holding(""));
    opened("budget", &place.path()).expect("it is made");
    let mode = |place: &Place| fs::metadata(place.path()).expect("it is there").mode();
    assert_eq!(mode(&place), mode(&other));
}

#[test]
fn a_person_may_write_the_settings_alone_and_in_any_white_space() {
    let place = Place::holding("{\r\n\t\"capacity\": 5,\r\n\t\"redial\": \"budget\"\r\n}");
    let mut budget = budget(&place);
    assert_eq!(place.number("tokens"), 5.0);
    assert_eq!(place.number("deposit"), 0.2);
    assert!(withdraw(&mut budget));
    assert_eq!(place.number("tokens"), 4.0);
    assert_eq!(place.text().len(), 512);

    let place =
        Place::holding(r#"{"redial": "breaker", "failures": 1, "recovery_seconds": 999.5}"#);
    let mut breaker = breaker(&place);
    assert!(admit(&mut breaker));
    asked(&mut breaker, |breaker| breaker.failed(Time::ZERO));
    assert!(!admit(&mut breaker));
    let refusal = breaker.refusal();
    assert!(matches!(refusal, Refusal::Open(left) if left.as_secs() > 900), "{refusal}");
}

#[test]
fn a_longer_text_is_replaced_as_a_whole() {
    let place = Place::holding(format!("{}{{\"redial\":\"budget\"}}", "\n".repeat(4000)));
    opened("budget", &place.path()).expect("it is filled in");
    assert_eq!(place.text().len(), 4019);
    assert_eq!(place.number("tokens"), 100.0);
}

#[test]
fn the_state_may_be_edited_beyond_what_it_can_be() {
    let place = Place::holding(r#"{"redial":"budget","tokens":-7,"paid_until":1e300}"#);
    let mut budget = budget(&place);
    assert_eq!(place.number("tokens"), 0.0);
    std::thread::sleep(Duration::from_millis(150));
    assert!(withdraw(&mut budget), "the floor comes");

    let place = Place::holding(
        r#"{"redial":"breaker","state":"half-open","succeeded":4000000000,"failed":7,"period":65535}"#,
    );
    let mut breaker = breaker(&place);
    assert!(admit(&mut breaker));
    asked(&mut breaker, SharedGate::succeeded);
    assert_eq!(place.json()["state"], "closed");
}

#[test]
fn what_is_not_ours_is_refused_and_left_alone() {
    for text in
        ["[]", "hello", "{", "{}", "null", "{\"redial\":1}", "\u{feff}{\"redial\":\"budget\"}"]
    {
        assert_refused(text, "budget file FILE: it is no budget of redial: ");
    }
    assert_refused(b"\xff\xfe{}", "budget file FILE: it is no budget of redial: ");
    assert_refused(vec![b' '; 4097], "budget file FILE: it is larger than 4 KiB, ");
    // A torn record: the beginning of one, the end of another.
    assert_refused(
        format!("{:<511}\n", "{\"redial\":\"budget\",\"v\":1,\"tokens\":1.0}.0}"),
        "budget file FILE: it is no budget of redial: trailing characters at line 1 column 39; \
         name another file, or delete it to start afresh",
    );
}

#[test]
fn a_file_of_the_other_kind_is_refused() {
    let place = Place::new();
    opened("budget", &place.path()).expect("it is made");
    assert_refused(
        place.text(),
        "breaker file FILE: it holds \"redial\": \"budget\", not \"breaker\"; each --breaker needs \
         a file of its own",
    );
    assert_refused(
        r#"{"redial":"breaker"}"#,
        "budget file FILE: it holds \"redial\": \"breaker\", ",
    );
    assert_refused(r#"{"redial":"policy"}"#, "budget file FILE: it holds \"redial\": \"policy\", ");
}

#[test]
fn a_file_of_another_version_is_refused_whatever_else_is_in_it() {
    assert_refused(
        r#"{"redial":"budget","v":2,"tokens":{"read":1}}"#,
        "budget file FILE: it is of version 2, and this redial reads version 1; use ",
    );
}

#[test]
fn settings_that_cannot_be_are_named_with_their_value() {
    for (text, said) in [
        (r#""capcity":5"#, "budget file FILE: unknown field `capcity`, expected one of `redial`, "),
        (r#""cost":1,"cost":2"#, "budget file FILE: duplicate field `cost` at line 1 column "),
        (r#""cost":"1""#, "budget file FILE: invalid type: string \"1\", expected f64 at line 1"),
        (r#""tokens":null"#, "budget file FILE: invalid type: null, expected f64 at line 1"),
        (r#""cost":-1"#, "budget file FILE: budget cost: -1 is out of range; use 0 or more, "),
        (r#""cost":101"#, "budget file FILE: budget: a retry that costs more than the capacity "),
        (r#""deposit":0,"floor_per_second":0"#, "budget file FILE: budget: with no deposit and no"),
        (r#""failures":0"#, "breaker file FILE: breaker failures: 0 is not allowed; use 1 or more"),
        (
            r#""failures":2.5"#,
            "breaker file FILE: invalid type: floating point `2.5`, expected u32",
        ),
        (r#""probes":0"#, "breaker file FILE: breaker probes: 0 is not allowed; use 1 or more"),
        (r#""probes":1001"#, "breaker file FILE: probes: 1001 are too many; use at most 1000"),
        (r#""recovery_seconds":-1"#, "breaker file FILE: recovery_seconds: -1 is out of range; "),
        (r#""recovery_seconds":1e300"#, "breaker file FILE: recovery_seconds: 1000000000000000"),
        (
            r#""state":"ajar""#,
            "breaker file FILE: unknown variant `ajar`, expected one of `closed`",
        ),
        (r#""period":65536"#, "breaker file FILE: invalid value: integer `65536`, expected u16"),
    ] {
        let kind = said.split(' ').next().expect("it begins with the kind");
        assert_refused(format!("{{\"redial\":\"{kind}\",{text}}}"), said);
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let place = Place::new();
    let said = |path: &Path| opened("budget", path).expect_err("it is refused");

    let error = said(place.directory.path());
    assert!(error.ends_with(": it is a directory; name a file in it"), "{error}");

    let error = said(&place.path().join("deeper"));
    assert!(
        error.contains("cannot be created: ") && error.contains("make its directory"),
        "{error}"
    );

    for device in ["/dev/null", "/dev/zero"] {
        let error = said(Path::new(device));
        assert!(error.ends_with("it is a pipe or a device; name a regular file"), "{error}");
    }

    let pipe = place.path();
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o666)).expect("a pipe");
    let error = said(&pipe);
    assert!(error.ends_with("it is a pipe or a device; name a regular file"), "{error}");
}

#[test]
fn a_file_that_was_deleted_starts_afresh() {
    let place = Place::new();
    let mut budget = budget(&place);
    assert!(withdraw(&mut budget));
    fs::remove_file(place.path()).expect("it was there");
    assert!(withdraw(&mut budget));
    assert_eq!(place.number("tokens"), 99.0);
}

#[test]
fn a_file_that_was_replaced_is_used_as_it_is_now() {
    let (place, other) = (Place::new(), Place::holding(r#"{"redial":"budget","capacity":7}"#));
    let mut budget = budget(&place);
    fs::rename(other.path(), place.path()).expect("it is replaced");
    assert!(withdraw(&mut budget));
    assert_eq!(place.number("tokens"), 6.0);
}

#[test]
fn a_probe_whose_file_was_deleted_reports_to_the_new_one() {
    let place = Place::holding(r#"{"redial":"breaker","state":"half-open","period":3}"#);
    let mut breaker = breaker(&place);
    assert!(admit(&mut breaker));
    fs::remove_file(place.path()).expect("it was there");
    asked(&mut breaker, |breaker| breaker.failed(Time::ZERO));
    // It was admitted by the old one.
    assert_eq!((place.json()["state"].as_str(), place.number("failed")), (Some("closed"), 0.0));
}

#[test]
fn what_happens_to_a_file_later_is_an_error_and_no_more() {
    let place = Place::new();
    let mut budget = budget(&place);
    place.write("mine");
    assert!(budget.withdraw(Time::ZERO), "the run goes on without it");
    let warnings = budget.take_warnings().concat();
    assert!(warnings.contains("it is no budget of redial"), "{warnings}");
    assert_eq!(place.text(), "mine");
}
