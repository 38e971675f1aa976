//! Options laid over a clause: what flags do to the policy that they stand beside.

use redial_policy::overlay;

#[track_caller]
fn check(base: &str, flags: &[(&str, &str)], expected: &str) {
    assert_eq!(overlay(base, flags.iter().copied()).as_deref(), Ok(expected), "{base} {flags:?}");
}

#[test]
fn what_no_flag_names_stays_as_it_is_written() {
    let base = "retry: 3, delay: 1s, jitter: full, max_delay: 5s";
    check(base, &[], base);
    check("", &[], "");
    check("retry: 3, # three\n delay: 1s", &[], "retry: 3, delay: 1s");
}

#[test]
fn a_count_takes_the_place_of_either_count() {
    check("retry: 3, delay: 1s", &[("attempts", "10")], "attempts: 10, delay: 1s");
    check("attempts: 3, delay: 1s", &[("retry", "10")], "retry: 10, delay: 1s");
    check("delay: 1s, retry: 3", &[("retry", "unlimited")], "retry: unlimited, delay: 1s");
    check("delay: 1s", &[("retry", "1")], "retry: 1, delay: 1s");
}

#[test]
fn two_counts_among_the_flags_are_both_there_to_be_refused() {
    let both = [("retry", "1"), ("attempts", "9")];
    check("retry: 3, delay: 1s", &both, "retry: 1, attempts: 9, delay: 1s");
}

#[test]
fn a_bound_takes_the_place_of_the_first_of_its_name() {
    let base = "retry: 3, delay: 1s, max_delay: 5s, jitter: full, max_delay: 6s";
    check(base, &[("max_delay", "7s")], "retry: 3, delay: 1s, max_delay: 7s, jitter: full");
    check(
        base,
        &[("jitter", "+50%")],
        "retry: 3, delay: 1s, max_delay: 5s, jitter: +50%, max_delay: 6s",
    );
    check(
        base,
        &[("min_delay", "1s")],
        "retry: 3, delay: 1s, min_delay: 1s, max_delay: 5s, jitter: full, max_delay: 6s",
    );
}

#[test]
fn what_a_new_backoff_has_no_use_for_goes() {
    let base = "retry: 3, delay: 1s, backoff: exponential, factor: 3";
    check(base, &[("backoff", "linear")], "retry: 3, delay: 1s, backoff: linear");
    check(base, &[("backoff", "exponential")], base);
    check(base, &[("backoff", "fixed")], "retry: 3, delay: 1s, backoff: fixed");
    check(base, &[("backoff", "[1s, 2s]")], "retry: 3, backoff: [1s, 2s]");
    let base = "retry: 3, delay: 1s, backoff: linear, increment: 3s";
    check(
        base,
        &[("backoff", "exponential"), ("factor", "3")],
        "retry: 3, delay: 1s, backoff: exponential, factor: 3",
    );
    check(base, &[("backoff", "linear")], base);
}

#[test]
fn options_stand_in_one_order_whatever_that_of_the_flags() {
    let flags = [
        ("timeout", "5s"),
        ("wait_budget", "1min"),
        ("within", "2min"),
        ("jitter", "full"),
        ("max_delay", "9s"),
        ("min_delay", "2s"),
        ("backoff", "exponential"),
        ("factor", "3"),
        ("delay", "1s"),
        ("attempts", "4"),
    ];
    let expected = "attempts: 4, delay: 1s, backoff: exponential, factor: 3, min_delay: 2s, \
                    max_delay: 9s, jitter: full, within: 2min, wait_budget: 1min, timeout: 5s";
    check("", &flags, expected);
    check("retry: 3", &flags, expected);
}

#[test]
fn a_value_that_would_not_stay_one_value_is_refused_by_name() {
    let values = [
        "1s, retry: 9",
        "1s # x",
        "1s\n, retry: 9",
        "1s\r",
        "",
        " ",
        "[1s",
        "1s]",
        "[1s], retry: 9",
        "a: b",
        "\"x\"",
        "'x'",
        "(x)",
        "{x}",
        "[[1s]]",
        "[1s, 'x']",
    ];
    for value in values {
        assert_eq!(overlay("retry: 3", [("delay", value)]), Err("delay"), "{value:?}");
    }
    check("retry: 3", &[("delay", " 1s ")], "retry: 3, delay: 1s");
    check("retry: 3", &[("jitter", "[0.5, 1.5]")], "retry: 3, jitter: [0.5, 1.5]");
    check("retry: 3", &[("backoff", "[]")], "retry: 3, backoff: []");
}
