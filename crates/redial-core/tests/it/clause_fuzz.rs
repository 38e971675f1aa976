//! Hostile text: whatever the bytes, a clause is read quickly, without a panic, and what it is
//! accepted as reads back as it prints.

use crate::cases;

use std::time::Instant;

use cases::Timings;
use redial_core::{Policy, Random, clause};
use redial_seeds::{Dice, Draw, each_case};

/// Holds of every text; true where it is a policy.
#[track_caller]
fn check(text: &str) -> bool {
    for reading in [clause::read(text), clause::read_call(text)] {
        let diagnostics = reading.diagnostics();
        let mut start = 0;
        for found in diagnostics {
            let span = found.span();
            assert!(text.get(span.start..span.end).is_some(), "{text:?}: {found:?}");
            assert!(start <= span.start, "{text:?}: {found:?} is out of order");
            assert!(!found.to_string().is_empty(), "{text:?}: {found:?} says nothing");
            start = span.start;
        }
        let refused = diagnostics.iter().any(|found| !found.kind().is_warning());
        assert_eq!(reading.policy().is_none(), refused, "{text:?}: {diagnostics:?}");
        for option in reading.call_options() {
            assert_eq!(option.place().of(text), option.name(), "{text:?}");
            assert!(!option.value().of(text).is_empty(), "{text:?}");
        }
    }
    let policy = clause::read(text).policy();
    assert_eq!(text.parse::<Policy>().ok(), policy, "{text:?}");
    if let Some(policy) = policy {
        let printed = policy.to_string();
        assert_eq!(printed.parse(), Ok(policy), "{text:?} prints as {printed:?}");
        // A schedule that panics would do so in production.
        let _ = policy.delays(|| u64::MAX).take(20).last();
        let _ = policy.delays(|| 0).take(20).last();
    }
    policy.is_some()
}

#[test]
fn random_bytes_are_read_without_a_panic() {
    each_case(3000, |dice| {
        let length = dice.below(80) as usize;
        let bytes: Vec<_> = (0..length).map(|_| dice.word() as u8).collect();
        check(&String::from_utf8_lossy(&bytes));
    });
}

#[test]
fn random_characters_of_the_language_are_read_without_a_panic() {
    const ALPHABET: &[u8] = b"0159.,,::[](){}\"'\\#%+-_ \n\tsmhdnux\0\xc3\xa9\xff";
    each_case(4000, |dice| {
        let length = dice.below(40) as usize;
        let bytes: Vec<_> = (0..length).map(|_| dice.pick(ALPHABET)).collect();
        let text = String::from_utf8_lossy(&bytes);
        check(&text);
        let option = dice.pick(&["retry", "delay", "backoff", "factor", "jitter", "max_delay"]);
        check(&format!("{option}:{text}"));
        check(&format!("retry: 1, {option}: [{text}]"));
    });
}

#[test]
fn random_words_of_the_language_are_read_without_a_panic() {
    const NAMES: [&str; 16] = [
        "retry",
        "attempts",
        "delay",
        "backoff",
        "factor",
        "increment",
        "min_delay",
        "max_delay",
        "jitter",
        "within",
        "wait_budget",
        "timeout",
        "retry_on",
        "stop_on",
        "dely",
        "x",
    ];
    const VALUES: [&str; 32] = [
        "0",
        "1",
        "3",
        "12",
        "unlimited",
        "none",
        "0s",
        "1ns",
        "1s",
        "1.5s",
        "1m30s",
        "30s",
        "999999d",
        "fixed",
        "linear",
        "exponential",
        "fibonacci",
        "decorrelated",
        "[]",
        "[1s, 3s]",
        "full",
        "equal",
        "0%",
        "25%",
        "+50%",
        "[0.5, 1.5]",
        "1.5",
        "999999999.999999999",
        "-1",
        "true",
        "(n)",
        "\"a, b\"",
    ];
    let accepted = std::cell::Cell::new(0);
    each_case(6000, |dice| {
        let options: Vec<_> = (0..1 + dice.below(7))
            .map(|_| format!("{}: {}", dice.pick(&NAMES), dice.pick(&VALUES)))
            .collect();
        if check(&options.join(dice.pick(&[",", ", ", " # c\n, "]))) {
            accepted.set(accepted.get() + 1);
        }
    });
    if redial_seeds::asked().is_none() {
        assert!(accepted.get() > 50, "only {} were policies", accepted.get());
    }
}

#[test]
fn mutated_clauses_are_read_without_a_panic() {
    const CLAUSES: [&str; 7] = [
        "retry: 4, delay: 100ms, backoff: exponential, max_delay: 10s, jitter: full, within: 30s",
        "attempts: unlimited, delay: 1.5s, backoff: linear, increment: 250ms, wait_budget: 1m30s",
        "retry: 3, backoff: [1s, 3s, 7s], max_delay: 1min, jitter: [0.5, 1.5], max_delay: 90s",
        "attempts: 7, delay: 10ms, backoff: exponential, factor: 1.5, max_delay: none, jitter: +50%",
        "retry: 9, # so many\n delay: 1s,\n backoff: decorrelated, jitter: 12.5%, min_delay: 1us",
        "retry: 2, delay: 1h, backoff: fibonacci, max_delay: 1d, jitter: equal, within: 365d",
        "retry: 2, timeout: 5s, retry_on: [timeout, pattern: \"a, ]\"], fallback: {x: 1}",
    ];
    const PIECES: [&str; 20] = [
        ",",
        ":",
        "[",
        "]",
        "\"",
        "'",
        "#",
        "%",
        "+",
        "-",
        ".",
        "0",
        "9",
        "s",
        "\n",
        "\\",
        "é",
        "\0",
        "none",
        "18446744073709551615",
    ];
    each_case(6000, |dice| {
        let mut text: Vec<char> = dice.pick(&CLAUSES).chars().collect();
        for _ in 0..1 + dice.below(4) {
            let at = dice.below(text.len() as u64 + 1) as usize;
            let to = (at + dice.below(4) as usize).min(text.len());
            let piece = if dice.one_in(4) { "" } else { dice.pick(&PIECES) };
            text.splice(at..to, piece.chars());
        }
        check(&text.into_iter().collect::<String>());
    });
}

#[test]
fn the_printed_form_of_any_policy_survives_any_cut() {
    each_case(60, |dice| {
        let policy = dice.limited_timing(Dice::extreme_nanos).build().expect("a valid policy");
        let printed = policy.to_string();
        for end in 0..printed.len() {
            check(&printed[..end]);
        }
    });
}

const MEGABYTE: usize = 1 << 20;

/// So many bytes, again and again the same, are read as fast as a 64th of them 64 times, or a few times slower; they would
/// take 64 times as long if time grew with the square. Both take a busy machine long, and not the same one ten times in a row.
#[track_caller]
fn check_long(bytes: usize, before: &str, piece: &str, after: &str) {
    let took = |parts: usize| {
        let text = before.to_owned() + &piece.repeat(bytes / parts / piece.len()) + after;
        let started = Instant::now();
        for _ in 0..parts {
            let reading = clause::read(&text);
            assert!(!reading.diagnostics().is_empty(), "{before}{piece}…{after}");
        }
        started.elapsed()
    };
    let grows_with_the_square = |_| took(1) > took(64) * 16;
    assert!(!(0..10).all(grows_with_the_square), "{before}{piece}…{after} took {:?}", took(1));
}

#[test]
fn a_megabyte_of_anything_is_read_in_no_time() {
    for piece in ["[", ",", "9", "\"", "é"] {
        check_long(MEGABYTE, "", piece, "");
        check_long(MEGABYTE, "retry: 1, delay: ", piece, "");
    }
    for piece in ["]", "(", ":", "'", "\\", "#", "#\n", " ", "\0", "-", "_"] {
        check_long(MEGABYTE / 8, "", piece, "");
        check_long(MEGABYTE / 8, "retry: 1, delay: ", piece, "");
    }
    check_long(MEGABYTE / 8, "backoff: [", "1s,", "]");
    check_long(MEGABYTE / 8, "backoff: [", "(", "]");
    check_long(MEGABYTE / 8, "backoff: [", "#\n", "");
    check_long(MEGABYTE / 8, "backoff: [", "[]", "]");
    check_long(MEGABYTE / 8, "jitter: [", " ", "]");
    check_long(MEGABYTE, "delay: ", "1s", "x");
    check_long(MEGABYTE, "retry: ", "0", "x");
    check_long(MEGABYTE, "retry: 1.", "0", "");
    check_long(MEGABYTE / 8, "", "jitter: full,", "retry: 1");
    check_long(MEGABYTE / 8, "", "max_delay: 1s, min_delay: 2s,", "retry: 1");
}

#[test]
fn any_number_of_misspelt_options_is_read_in_no_time() {
    // Each of them is compared with every name there is.
    check_long(MEGABYTE / 8, "", "a:1,", "retry: 1");
    check_long(MEGABYTE / 8, "", "max_dellay_and_so_on:1,", "retry: 1");
    check_long(MEGABYTE, "", "_", ": 1");
}

#[test]
fn a_megabyte_of_nothing_much_is_a_policy_all_the_same() {
    let padding = "# as they say\n".repeat(MEGABYTE / 16);
    assert!(check(&format!("retry: 3, {padding} delay: 1s {padding}")));
    assert!(check(&format!("retry: {}3", "0".repeat(MEGABYTE))));
}
