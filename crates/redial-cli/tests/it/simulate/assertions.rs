//! `--assert`: what must hold, for scripts to rely on.

use super::{ENDLESS, json, parsed, redial, refused, simulate, stderr, stdout};

/// What one call becomes under the default policy: 27 attempts, and none of them succeeds.
const LAYERS: &str = "layers --calls 5 --trials 2";

#[track_caller]
fn says(line: &str, code: i32, sentence: &str) {
    let output = simulate(line);
    assert_eq!(output.status.code(), Some(code), "{line}: {}", stderr(&output));
    assert!(stdout(&output).lines().any(|line| line == sentence), "{line}: {}", stdout(&output));
}

#[test]
fn what_holds_is_0_and_what_does_not_is_1() {
    let check = |assertion: &str, code: i32, sentence: &str| {
        says(&format!("{LAYERS} --assert '{assertion}'"), code, sentence);
    };
    check("amplification <= 27x", 0, "holds: amplification <= 27x (27x)");
    check("amplification < 27x", 1, "does not hold: amplification < 27x (27x)");
    check("succeeded > 50%", 1, "does not hold: succeeded > 50% (0% [<28%])");
    check(" worst>26 ", 0, "holds: worst>26 (27x)");
}

/// A quantity has one name. An assertion has its unit in the limit, and JSON in the key.
#[test]
fn what_can_be_asserted_is_what_the_json_has() {
    for line in
        ["contention --clients 2", "outage --rate 20 --capacity 30", "wave --clients 5", "layers"]
    {
        let results = json(&format!("{line} --trials 1"))["results"][0].clone();
        let keys = results.as_object().unwrap().keys().map(|key| &**key);
        let is_measure = |key: &&str| {
            let is_bound = key.ends_with("_low") || key.ends_with("_high");
            !is_bound && !["policy", "clients", "trials"].contains(key)
        };
        let name =
            |key| ["_ms", "_s"].iter().find_map(|unit| str::strip_suffix(key, unit)).unwrap_or(key);
        let names: Vec<_> = keys.filter(is_measure).map(name).collect();
        let refused = simulate(&format!("{line} --trials 1 --assert 'nothing < 3'"));
        let known = format!("there are {}\n", names.join(", "));
        assert!(stderr(&refused).ends_with(&known), "{}: {known}", stderr(&refused));
    }
}

#[test]
fn each_assertion_is_answered_and_all_must_hold() {
    let line = format!(
        "{LAYERS} --assert 'amplification > 1x' --assert 'succeeded > 50%' --assert 'worst < 28'"
    );
    let output = simulate(&line);
    assert_eq!(output.status.code(), Some(1));
    let answers: Vec<_> = stdout(&output).lines().rev().take(3).collect();
    assert_eq!(
        answers,
        [
            "holds: worst < 28 (27x)",
            "does not hold: succeeded > 50% (0% [<28%])",
            "holds: amplification > 1x (27x)",
        ],
    );
}

#[test]
fn the_policy_and_the_crowd_that_break_it_are_named() {
    let two = format!("{LAYERS} --with 'attempts: 2' --with 'attempts: 3' --with 'attempts: 1'");
    says(
        &format!("{two} --assert 'amplification < 9x'"),
        1,
        "does not hold: amplification < 9x (27x, policy 2)",
    );
    says(
        &format!("{two} --assert 'amplification > 1x'"),
        1,
        "does not hold: amplification > 1x (1x, policy 3)",
    );
    let crowds =
        "contention --clients 1,2 --trials 2 --with 'attempts: 1' --assert 'committed > 60%'";
    says(crowds, 1, "does not hold: committed > 60% (50%, 2 clients)");
}

/// Of ten calls none has succeeded; one of a hundred might.
#[test]
fn a_limit_within_the_interval_is_said_to_be_in_doubt_and_the_mean_counts() {
    let doubt = "but more trials are needed to be sure";
    let check = |assertion: &str, code: i32, verdict: &str| {
        let sentence = format!("{verdict}, {doubt}: {assertion} (0% [<28%])");
        says(&format!("{LAYERS} --assert '{assertion}'"), code, &sentence);
        let output = simulate(&format!("{LAYERS} --json --assert '{assertion}'"));
        assert_eq!(parsed(&output)["assertions"][0]["sure"], false, "{assertion}");
    };
    check("succeeded <= 1%", 0, "holds");
    check("succeeded >= 1%", 1, "does not hold");
    // A share of the trials is in doubt as a mean is, and so is what has no interval.
    let one_of_two = "contention --clients 1 --trials 2 --with 'attempts: 1'";
    says(
        &format!("{one_of_two} --assert 'all_committed >= 99%'"),
        0,
        &format!("holds, {doubt}: all_committed >= 99% (100% [>34%], 1 client)"),
    );
    let output = simulate(&format!("{one_of_two} --assert 'time > 1ms'"));
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stdout(&output).contains(&format!("holds, {doubt}: time > 1ms (")),
        "{}",
        stdout(&output)
    );
    assert!(stdout(&output).contains(" ±?, 1 client)"), "{}", stdout(&output));
}

#[test]
fn programs_are_told_too() {
    let line = format!("{LAYERS} --json --assert 'amplification < 9x' --assert 'worst < 28'");
    let output = simulate(&line);
    assert_eq!(output.status.code(), Some(1));
    let found = parsed(&output);
    let keys: Vec<_> = found.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["scenario", "results", "complete", "assertions"]);
    assert_eq!(
        found["assertions"].to_string(),
        r#"[{"assertion":"amplification < 9x","holds":false,"measured":"27x","sure":true},{"assertion":"worst < 28","holds":true,"measured":"27x","sure":null}]"#,
    );
}

#[test]
fn what_says_nothing_is_refused_before_anything_runs() {
    // It would run for minutes.
    let long = "simulate contention --clients 1000 --trials 1000000";
    for (assertion, because) in [
        ("", "this compares nothing with <, <=, > or >=; write it as in 'peak < 1.5x'"),
        ("calls", "this compares nothing"),
        ("calls = 5", "this compares nothing"),
        ("calls < many", "`many` is no limit; use one such as 1.5x, 30s, 99% or 1000"),
        ("calls < 5s", "calls is compared with something such as 1000"),
        ("time < 5", "time is compared with something such as 30s"),
        ("committed > 99", "committed is compared with something such as 99%"),
        ("peak < 5", "there is no `peak` here; there are calls, time, committed, all_committed"),
        ("calls < NaN", "no limit"),
    ] {
        refused(&format!("{long} --assert 'calls < 9' --assert '{assertion}'"), because);
    }
}

#[test]
fn nothing_holds_of_a_policy_without_a_result() {
    for assertion in ["calls > 0", "calls < 1000000000", "committed >= 0%"] {
        let line = format!("{ENDLESS} --assert '{assertion}'");
        says(&line, 1, &format!("does not hold: {assertion} (there is no result, 2 clients)"));
    }
}

#[test]
fn what_a_search_has_found_can_be_asserted() {
    const SEARCH: &str = "tune contention --clients 3 --effort quick --trials 20";
    let holds = redial(&format!("{SEARCH} --assert 'committed >= 99%'"));
    assert_eq!(holds.status.code(), Some(0), "{}", stderr(&holds));
    let fails = redial(&format!("{SEARCH} --assert 'calls < 1'"));
    assert_eq!(fails.status.code(), Some(1), "{}", stderr(&fails));
    assert!(stdout(&fails).contains("does not hold: calls < 1"), "{}", stdout(&fails));
    let unread = redial(&format!("{SEARCH} --assert 'peak < 1'"));
    assert_eq!(unread.status.code(), Some(125));
}
