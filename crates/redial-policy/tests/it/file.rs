//! Our own file: clauses and maps, what one takes over from another, and what cannot get in.

use redial_policy::Format::{Json, Toml, Yaml};
use redial_policy::read;

use crate::shown::{check, shown};

#[test]
fn a_policy_is_a_clause_or_a_map_of_its_options() {
    check(
        Yaml,
        "policies:
  probe: 'retry: 2, delay: 100ms'
  fetch:
    jitter: full
    max_delay: 5s
    backoff: exponential
    retry: 4
    delay: 1s",
        "
        probe: attempts: 3, delay: 100ms
        fetch: attempts: 5, delay: 1s, backoff: exponential, max_delay: 5s, jitter: full
    ",
    );
    check(Yaml, "policies: {}", r#"warning[no-policy] at "{}": there is no policy in this text"#);
    check(
        Yaml,
        "policies: {a: 5, b: null, c: [1], d: true, e: ''}",
        r#"
        a: refused
        b: refused
        c: refused
        d: refused
        e: refused
        error[wrong-type] at "5": a: `5`; write a clause such as "retry: 3, delay: 1s", or a map of its options
        error[wrong-type] at "null": b: this is nothing; write a clause such as "retry: 3, delay: 1s", or a map of its options
        error[wrong-type] at "[1]": c: this is a list; write a clause such as "retry: 3, delay: 1s", or a map of its options
        error[wrong-type] at "true": d: `true`; write a clause such as "retry: 3, delay: 1s", or a map of its options
        error[syntax] at "": the clause is empty; write for example retry: 3, delay: 1s
    "#,
    );
    check(
        Yaml,
        "policies: 5",
        r#"error[wrong-type] at "5": policies: `5`; use a map of names to policies"#,
    );
    check(
        Yaml,
        "policies:",
        r#"error[wrong-type] at "": policies: this is nothing; use a map of names to policies"#,
    );
    check(
        Yaml,
        "default: a
policies: {a: 'retry: 3'}",
        "a: attempts: 4",
    );
    check(
        Yaml,
        "other: 1
policies: {a: 'retry: 3'}",
        r#"
        a: attempts: 4
        error[unknown-option] at "other": `other` is not a field of a policy file; there are policies, default and $schema
        note: a key of your own, for the anchors of YAML, begins with x-
    "#,
    );
    check(
        Yaml,
        "policies: {a: 'retry: 3'}
policies: {b: 'retry: 3'}",
        r#"
        a: attempts: 4
        error[duplicate-option] at "policies": `policies` is there already; write it once
    "#,
    );
    check(
        Yaml,
        "policies: {a: 'retry: 3', a: 'retry: 4'}",
        r#"
        a: attempts: 4
        error[duplicate-option] at "a": there is a policy `a` already; give it another name
    "#,
    );
    check(
        Yaml,
        "policies: {a: {}}",
        r#"
        a: refused
        error[syntax] at "a: {}": this policy is empty; write for example retry: 3, delay: 1s
    "#,
    );
    check(
        Yaml,
        "policies: {a: {timeout: 5s}, b: {retry_on: [network]}, c: {stop_on: [{pattern: x}]}}",
        r#"
        a: attempts: 1, timeout: 5s
        b: attempts: 1, retry_on: [network]
        c: attempts: 1, stop_on: [pattern: "x"]
    "#,
    );
}

#[test]
fn counts_are_whole_numbers_or_unlimited() {
    check(Yaml, "policies: {a: {retry: 0}}", "a: attempts: 1");
    check(Yaml, "policies: {a: {retry: 1}}", "a: attempts: 2");
    check(
        Yaml,
        "policies: {a: {retry: 4294967294}}",
        r#"
        a: attempts: 4294967295
        warning[many-retries] at "retry: 4294967294": retry: 4294967294 retries are more than 10; if it is time that matters, write attempts: unlimited, within: 1min instead
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 4294967295}}",
        r#"
        a: refused
        error[too-many-digits] at "4294967295": retry: `4294967295`; use at most 4294967294, or unlimited
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: unlimited}}",
        r#"
        a: attempts: unlimited
        warning[unbounded] at "retry: unlimited": unlimited attempts with no limit in time never give up; add within
        warning[hot-loop] at "retry: unlimited": unlimited attempts with no delay and no deadline spin; have a delay, or add within
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: -1}}",
        r#"
        a: refused
        error[negative] at "-1": retry: `-1` is below zero; use 0 or more
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 1.5}}",
        r#"
        a: refused
        error[wrong-type] at "1.5": retry: `1.5`; use a whole number, or unlimited
    "#,
    );
    check(Yaml, "policies: {a: {retry: '3'}}", "a: attempts: 4");
    check(
        Yaml,
        "policies: {a: {retry: null}}",
        r#"
        a: refused
        error[wrong-type] at "null": retry: this is nothing; use a whole number, or unlimited
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: []}}",
        r#"
        a: refused
        error[wrong-type] at "[]": retry: this is a list; use a whole number, or unlimited
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: true}}",
        r#"
        a: refused
        error[wrong-type] at "true": retry: `true`; use a whole number, or unlimited
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: .nan}}",
        r#"
        a: refused
        error[wrong-type] at ".nan": retry: `.nan`; use a whole number, or unlimited
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: ''}}",
        r#"
        a: refused
        error[wrong-type] at "''": retry: `''`; use a whole number, or unlimited
    "#,
    );
    check(Yaml, "policies: {a: {attempts: 1}}", "a: attempts: 1");
    check(
        Yaml,
        "policies: {a: {attempts: 4294967295}}",
        r#"
        a: attempts: 4294967295
        warning[many-retries] at "attempts: 4294967295": attempts: 4294967294 retries are more than 10; if it is time that matters, write attempts: unlimited, within: 1min instead
    "#,
    );
    check(
        Yaml,
        "policies: {a: {attempts: 4294967296}}",
        r#"
        a: refused
        error[too-many-digits] at "4294967296": attempts: `4294967296`; use at most 4294967295, or unlimited
    "#,
    );
    check(
        Yaml,
        "policies: {a: {attempts: 0}}",
        r#"
        a: refused
        error[zero-attempts] at "0": attempts: 0 attempts would never run the operation; use 1 or more
    "#,
    );
    check(
        Yaml,
        "policies: {a: {attempts: -1}}",
        r#"
        a: refused
        error[negative] at "-1": attempts: `-1` is below zero; use 1 or more
    "#,
    );
    check(
        Yaml,
        "policies: {a: {attempts: three}}",
        r#"
        a: refused
        error[wrong-type] at "three": attempts: `three`; use a whole number, or unlimited
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 1, attempts: 2}}",
        r#"
        a: refused
        error[two-counts] at "attempts": `retry` and `attempts` both say how often; keep one (retry: 4 is attempts: 5)
    "#,
    );
    check(Toml, "policies.a.retry = 1_0", "a: attempts: 11");
    check(
        Json,
        r#"{"policies": {"a": {"retry": 1e400}}}"#,
        r#"
        a: refused
        error[wrong-type] at "1e400": retry: `1e400`; use a whole number, or unlimited
    "#,
    );
    check(Json, r#"{"policies": {"a": {"retry": "3"}}}"#, "a: attempts: 4");
}

#[test]
fn durations_have_units() {
    check(Yaml, "policies: {a: {retry: 3, delay: 0s}}", "a: attempts: 4");
    check(Yaml, "policies: {a: {retry: 3, delay: 1ns}}", "a: attempts: 4, delay: 1ns");
    check(Yaml, "policies: {a: {retry: 3, delay: 1.5s}}", "a: attempts: 4, delay: 1500ms");
    check(Yaml, "policies: {a: {retry: 3, delay: 1m30s}}", "a: attempts: 4, delay: 90s");
    check(Yaml, "policies: {a: {retry: 3, delay: ' 2s '}}", "a: attempts: 4, delay: 2s");
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1000000000000000000000d}}",
        "a: attempts: 4, delay: 18446744073709551615ns",
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 5}}",
        r#"
        a: refused
        error[missing-unit] at "5": delay: `5` has no unit; write 5ms or 5s
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 0}}",
        r#"
        a: refused
        error[missing-unit] at "0": delay: `0` has no unit; write 0ms or 0s
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: -1s}}",
        r#"
        a: refused
        error[negative] at "-1s": delay: `-1s` is below zero; use 0 or more
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1.0000000001s}}",
        r#"
        a: refused
        error[too-many-digits] at "1.0000000001s": delay: `1.0000000001s`; a duration is a whole number of nanoseconds
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 2 s}}",
        r#"
        a: refused
        error[wrong-type] at "2 s": delay: `2 s`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1x}}",
        r#"
        a: refused
        error[wrong-type] at "1x": delay: `1x`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: null}}",
        r#"
        a: refused
        error[wrong-type] at "null": delay: this is nothing; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: ''}}",
        r#"
        a: refused
        error[wrong-type] at "''": delay: `''`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: [1s]}}",
        r#"
        a: refused
        error[wrong-type] at "[1s]": delay: this is a list; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: {secs: 1}}}",
        r#"
        a: refused
        error[wrong-type] at "{secs: 1}": delay: this is a map; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
}

#[test]
fn every_option_of_the_clause_is_a_field() {
    check(
        Yaml,
        "policies: {a: {attempts: 5, delay: 1s, backoff: exponential, factor: 1.5, min_delay: 1s, max_delay: 5s, jitter: equal, within: 1min, wait_budget: 30s, timeout: 2s, retry_on: [network], stop_on: [timeout]}}",
        "a: attempts: 5, delay: 1s, backoff: exponential, factor: 1.5, min_delay: 1s, max_delay: 5s, jitter: equal, within: 1min, wait_budget: 30s, timeout: 2s, retry_on: [network], stop_on: [timeout]",
    );
    check(
        Yaml,
        "policies: {a: {attempts: 5, delay: 1s, backoff: linear, increment: 2s}}",
        "a: attempts: 5, delay: 1s, backoff: linear, increment: 2s, max_delay: 30s",
    );
    check(
        Yaml,
        "policies: {a: {attempts: 5, delay: 1s, backoff: fibonacci, max_delay: none}}",
        "a: attempts: 5, delay: 1s, backoff: fibonacci, max_delay: none",
    );
    check(
        Yaml,
        "policies: {a: {attempts: 5, delay: 1s, backoff: decorrelated, max_delay: 9s}}",
        "a: attempts: 5, delay: 1s, backoff: decorrelated, max_delay: 9s",
    );
    check(
        Yaml,
        "policies: {a: {attempts: 4, backoff: [1s, 3s, 7s]}}",
        "a: attempts: 4, backoff: [1s, 3s, 7s]",
    );
    check(
        Yaml,
        "policies: {a: {attempts: 4, backoff: '[1s, 3s, 7s]'}}",
        "a: attempts: 4, backoff: [1s, 3s, 7s]",
    );
    check(Yaml, "policies: {a: {attempts: 4, backoff: []}}", "a: attempts: 4, backoff: []");
    check(
        Yaml,
        "policies: {a: {attempts: 4, delay: 1s, jitter: [0.5, 1.5]}}",
        "a: attempts: 4, delay: 1s, jitter: [0.5, 1.5]",
    );
    check(
        Yaml,
        "policies: {a: {attempts: 4, delay: 1s, jitter: 25%}}",
        "a: attempts: 4, delay: 1s, jitter: 25%",
    );
    check(
        Yaml,
        "policies: {a: {attempts: 4, delay: 1s, jitter: +50%}}",
        "a: attempts: 4, delay: 1s, jitter: +50%",
    );
    check(
        Yaml,
        "policies: {a: {attempts: 4, delay: 1s, jitter: none}}",
        "a: attempts: 4, delay: 1s",
    );
}

#[test]
fn a_field_that_is_none_is_told_what_there_is() {
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, factor: 0.5}}",
        r#"
        a: refused
        error[factor-below-one] at "0.5": factor: `0.5` is below 1, so delays would shrink; use 1 or more
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, factor: 2}}",
        r#"
        a: attempts: 4, delay: 1s
        warning[unused-option] at "factor: 2": `factor` has no effect here: only backoff: exponential has a factor
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, factor: x}}",
        r#"
        a: refused
        error[wrong-type] at "x": factor: `x`; use a number such as 2 or 1.5
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, backoff: exponental}}",
        r#"
        a: refused
        error[wrong-type] at "exponental": backoff: `exponental` is not known; did you mean `exponential`?
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, backoff: [1s, [2s]]}}",
        r#"
        a: refused
        error[wrong-type] at "[2s]": backoff: this is a list; use fixed, linear, exponential, fibonacci, decorrelated, or a list such as [1s, 3s, 7s]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, backoff: [1]}}",
        r#"
        a: refused
        error[missing-unit] at "1": backoff: `1` has no unit; write 1ms or 1s
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, backoff: {fixed: null}}}",
        r#"
        a: refused
        error[wrong-type] at "{fixed: null}": backoff: this is a map; use fixed, linear, exponential, fibonacci, decorrelated, or a list such as [1s, 3s, 7s]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, jitter: true}}",
        r#"
        a: refused
        error[wrong-type] at "true": jitter: `true` is not known; did you mean `full`?
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, jitter: 150%}}",
        r#"
        a: refused
        error[jitter-out-of-range] at "150%": jitter: `150%` is out of range; use 0% to 100%, or +0% to +1000%
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, jitter: [1.5, 0.5]}}",
        r#"
        a: refused
        error[jitter-out-of-range] at "[1.5, 0.5]": jitter: `[1.5, 0.5]` is out of range; use two numbers from 0 to 10, the lower first, such as [0.5, 1.5]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, jitter: [1]}}",
        r#"
        a: refused
        error[wrong-type] at "[1]": jitter: `[1]`; use none, full, equal, 25%, +50% or [0.5, 1.5]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, jitter: [0.5, '1.5, 2']}}",
        r#"
        a: refused
        error[wrong-type] at "'1.5, 2'": jitter: `'1.5, 2'`; use none, full, equal, 25%, +50% or [0.5, 1.5]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, retries: 3}}",
        r#"
        a: refused
        error[unknown-option] at "retries": `retries` is not a field of a policy; did you mean `retry`?
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, backoff_factor: 2}}",
        r#"
        a: refused
        error[unknown-option] at "backoff_factor": `backoff_factor` is not a field of a policy; did you mean `factor`?
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, dely: 1s}}",
        r#"
        a: refused
        error[unknown-option] at "dely": `dely` is not a field of a policy; did you mean `delay`?
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, fallback: x}}",
        r#"
        a: refused
        error[unknown-option] at "fallback": `fallback` is not a field of a policy; there are retry, attempts, delay, backoff, factor, increment, min_delay, max_delay, jitter, modifiers, within, wait_budget, timeout, retry_on, stop_on and extends
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, within: 0}}",
        r#"
        a: refused
        error[missing-unit] at "0": within: `0` has no unit; write 0ms or 0s
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, timeout: never}}",
        r#"
        a: refused
        error[wrong-type] at "never": timeout: `never`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, timeout: 5s, within: 2s}}",
        r#"
        a: attempts: 4, delay: 1s, within: 2s, timeout: 5s
        warning[timeout-above-deadline] at "5s": each attempt may take 5s and everything 2s, so the timeout never comes first; lower it, or raise within
        warning[attempts-past-deadline] at "within: 2s": attempts 3 to 4 can never start: the deadline of 2s is spent in the wait after attempt 2 at the latest
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, retry_on: [netwrk]}}",
        r#"
        a: refused
        error[wrong-type] at "netwrk": retry_on: `netwrk` is not known; did you mean `network`?
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, retry_on: network}}",
        r#"
        a: refused
        error[wrong-type] at "network": retry_on: `network`; use a list such as [network, timeout, {pattern: "reset by peer"}]
    "#,
    );
}

#[test]
fn bounds_come_before_jitter_in_whatever_order_they_are_written() {
    check(
        Yaml,
        "policies: {a: {jitter: full, max_delay: 5s, min_delay: 2s, delay: 1s, retry: 3}}",
        "a: attempts: 4, delay: 1s, min_delay: 2s, max_delay: 5s, jitter: full",
    );
    check(
        Yaml,
        "policies: {a: {min_delay: 5s, max_delay: 2s, delay: 1s, retry: 3}}",
        r#"
        a: refused
        error[min-above-max] at "2s": min_delay: 5s is above max_delay: 2s; lower the one or raise the other
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, max_delay: 5s, max_delay: 6s}}",
        r#"
        a: refused
        error[duplicate-option] at "max_delay": `max_delay` is there already; write it once
    "#,
    );
}

#[test]
fn a_list_of_modifiers_has_the_order_that_it_is_written_in() {
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, backoff: exponential, within: 1h, modifiers: [{jitter: +50%}, {max_delay: 4s}, {jitter: 10%}, {max_delay: 5s}]}}",
        "a: attempts: 4, delay: 1s, backoff: exponential, jitter: +50%, max_delay: 4s, jitter: 10%, max_delay: 5s, within: 1h",
    );
    check(Yaml, "policies: {a: {retry: 3, delay: 1s, modifiers: []}}", "a: attempts: 4, delay: 1s");
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, modifiers: [{jitter: full}], max_delay: 5s}}",
        r#"
        a: refused
        error[duplicate-option] at "max_delay": `max_delay` stands beside `modifiers`; put it in that list
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, modifiers: {jitter: full}}}",
        r#"
        a: refused
        error[wrong-type] at "{jitter: full}": modifiers: this is a map; use a list such as [{jitter: full}, {max_delay: 5s}]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, modifiers: [full]}}",
        r#"
        a: refused
        error[wrong-type] at "full": modifiers: `full`; use a list such as [{jitter: full}, {max_delay: 5s}]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, modifiers: [{jitter: full, max_delay: 5s}]}}",
        r#"
        a: refused
        error[wrong-type] at "{jitter: full, max_delay: 5s}": modifiers: this is a map; use a list such as [{jitter: full}, {max_delay: 5s}]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, modifiers: [{}]}}",
        r#"
        a: refused
        error[wrong-type] at "{}": modifiers: this is a map; use a list such as [{jitter: full}, {max_delay: 5s}]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, modifiers: [{jiter: full}]}}",
        r#"
        a: refused
        error[unknown-option] at "jiter": `jiter` is not a field of modifiers; did you mean `jitter`?
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, modifiers: [{jitter: full}, {jitter: full}, {jitter: full}, {jitter: full}, {jitter: full}, {jitter: full}, {jitter: full}, {jitter: full}, {jitter: full}]}}",
        r#"
        a: refused
        error[too-many-modifiers] at "full": a policy takes at most 8 of min_delay, max_delay and jitter
    "#,
    );
}

#[test]
fn a_policy_takes_over_what_it_extends() {
    check(Yaml, "policies:
  base: {retry: 4, delay: 500ms, backoff: exponential, factor: 3, max_delay: 3s, jitter: full, within: 1min, timeout: 5s, retry_on: [network], stop_on: [timeout]}
  same: {extends: base}
  count: {extends: base, attempts: 3}
  grows: {extends: base, backoff: linear, increment: 1s}
  list: {extends: base, backoff: [1s, 2s]}
  jitter: {extends: base, jitter: equal}
  chain: {extends: base, modifiers: [{jitter: full}, {max_delay: 1s}]}
  rules: {extends: base, retry_on: [], stop_on: [rate_limit]}
  limits: {extends: base, within: 2min, timeout: 1s, wait_budget: 9s}", r#"
        base: attempts: 5, delay: 500ms, backoff: exponential, factor: 3, max_delay: 3s, jitter: full, within: 1min, timeout: 5s, retry_on: [network], stop_on: [timeout]
        same: attempts: 5, delay: 500ms, backoff: exponential, factor: 3, max_delay: 3s, jitter: full, within: 1min, timeout: 5s, retry_on: [network], stop_on: [timeout]
        count: attempts: 3, delay: 500ms, backoff: exponential, factor: 3, max_delay: 3s, jitter: full, within: 1min, timeout: 5s, retry_on: [network], stop_on: [timeout]
        grows: attempts: 5, delay: 500ms, backoff: linear, increment: 1s, max_delay: 3s, jitter: full, within: 1min, timeout: 5s, retry_on: [network], stop_on: [timeout]
        list: attempts: 5, backoff: [1s, 2s], max_delay: 3s, jitter: full, within: 1min, timeout: 5s, retry_on: [network], stop_on: [timeout]
        jitter: attempts: 5, delay: 500ms, backoff: exponential, factor: 3, max_delay: 3s, jitter: equal, within: 1min, timeout: 5s, retry_on: [network], stop_on: [timeout]
        chain: attempts: 5, delay: 500ms, backoff: exponential, factor: 3, jitter: full, max_delay: 1s, within: 1min, timeout: 5s, retry_on: [network], stop_on: [timeout]
        rules: attempts: 5, delay: 500ms, backoff: exponential, factor: 3, max_delay: 3s, jitter: full, within: 1min, timeout: 5s, stop_on: [rate_limit]
        limits: attempts: 5, delay: 500ms, backoff: exponential, factor: 3, max_delay: 3s, jitter: full, within: 2min, wait_budget: 9s, timeout: 1s, retry_on: [network], stop_on: [timeout]
        warning[cap-erases-jitter] at "1s": delays reach 13500ms and this cap comes after the jitter, so they pile up at 1s; write it before the jitter, or a higher one after it
    "#);
}

#[test]
fn a_clause_is_extended_too_and_extends_nothing() {
    check(
        Yaml,
        "policies:
  clause: 'retry: 4, delay: 1s, jitter: full, max_delay: 5s, retry_on: [network]'
  a: {extends: clause, max_delay: 7s}
  b: {extends: a, min_delay: 1s}",
        "
        clause: attempts: 5, delay: 1s, jitter: full, max_delay: 5s, retry_on: [network]
        a: attempts: 5, delay: 1s, jitter: full, max_delay: 7s, retry_on: [network]
        b: attempts: 5, delay: 1s, min_delay: 1s, jitter: full, max_delay: 7s, retry_on: [network]
    ",
    );
    check(
        Yaml,
        "policies:
  flow: 'retry: 4, delay: 1s, fallback: x'
  a: {extends: flow, retry: 5}",
        r#"
        flow: refused
        a: refused
        error[unknown-option] at "fallback": `fallback` belongs to a call in a script or a step of a workflow, not to a policy
    "#,
    );
    check(
        Yaml,
        "policies:
  wrong: 'retry: 4, dely: 1s'
  a: {extends: wrong, retry: 5}",
        r#"
        wrong: refused
        a: refused
        error[unknown-option] at "dely": `dely` is not an option; did you mean `delay`?
    "#,
    );
}

#[test]
fn what_is_wrong_in_a_policy_is_told_once() {
    check(
        Yaml,
        "policies:
  base: {retry: 20, delay: 1s}
  a: {extends: base}
  b: {extends: a, jitter: full}",
        r#"
        base: attempts: 21, delay: 1s
        a: attempts: 21, delay: 1s
        b: attempts: 21, delay: 1s, jitter: full
        warning[many-retries] at "retry: 20": retry: 20 retries are more than 10; if it is time that matters, write attempts: unlimited, within: 1min instead
    "#,
    );
    check(
        Yaml,
        "policies:
  base: {delay: 1s, backoff: exponential, jitter: full}
  a: {extends: base, retry: 5, modifiers: [{jitter: full}, {max_delay: 4s}]}",
        r#"
        base: attempts: 1, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full
        a: attempts: 6, delay: 1s, backoff: exponential, jitter: full, max_delay: 4s
        warning[cap-erases-jitter] at "4s": delays reach 16s and this cap comes after the jitter, so they pile up at 4s; write it before the jitter, or a higher one after it
    "#,
    );
    check(
        Yaml,
        "policies:
  base: {retry: 3, min_delay: 5s, delay: 1s}
  a: {extends: base, max_delay: 2s}",
        r#"
        base: attempts: 4, delay: 1s, min_delay: 5s
        a: refused
        error[min-above-max] at "2s": min_delay: 5s is above max_delay: 2s; lower the one or raise the other
    "#,
    );
    check(
        Toml,
        "[policies.fetch]
retry = 12
delay = '1s'",
        r#"
        fetch: attempts: 13, delay: 1s
        warning[many-retries] at "retry = 12": retry: 12 retries are more than 10; if it is time that matters, write attempts: unlimited, within: 1min instead
    "#,
    );
}

#[test]
fn what_is_extended_is_there_and_goes_somewhere() {
    check(
        Yaml,
        "policies: {a: {extends: b}}",
        r#"
        a: refused
        error[unknown-policy] at "b": extends: there is no policy `b`; use the name of another
    "#,
    );
    check(
        Yaml,
        "policies: {fetch: {retry: 3}, a: {extends: fetsh}}",
        r#"
        fetch: attempts: 4
        a: refused
        error[unknown-policy] at "fetsh": extends: there is no policy `fetsh`; did you mean `fetch`?
    "#,
    );
    check(
        Yaml,
        "policies: {'a: b': {retry: 3}, c: {extends: 'a; b'}}",
        r#"
        a: b: attempts: 4
        c: refused
        error[unknown-policy] at "'a; b'": extends: there is no policy `a; b`; did you mean `a: b`?
    "#,
    );
    check(
        Yaml,
        "policies: {a: {extends: a}}",
        r#"
        a: refused
        error[circular-extends] at "a": this extends itself: a extends a
    "#,
    );
    check(
        Yaml,
        "policies: {a: {extends: b}, b: {extends: c}, c: {extends: b}, d: {retry: 3}}",
        r#"
        a: refused
        b: refused
        c: refused
        d: attempts: 4
        error[circular-extends] at "b": this extends itself: b extends c extends b
    "#,
    );
    check(
        Yaml,
        "policies: {a: {extends: 5}, b: {extends: [a]}}",
        r#"
        a: refused
        b: refused
        error[wrong-type] at "5": extends: `5`; use the name of a policy
        error[wrong-type] at "[a]": extends: this is a list; use the name of a policy
    "#,
    );
    check(
        Yaml,
        "default: fetsh
policies: {fetch: 'retry: 3'}",
        r#"
        fetch: attempts: 4
        error[unknown-policy] at "fetsh": default: there is no policy `fetsh`; did you mean `fetch`?
    "#,
    );
    check(
        Yaml,
        "default: [a]
policies: {a: 'retry: 3'}",
        r#"
        a: attempts: 4
        error[wrong-type] at "[a]": default: this is a list; use the name of a policy
    "#,
    );
    check(
        Yaml,
        "policies: {one: 'retry: 1', two: 'retry: 1', x: {extends: somethingelse}}",
        r#"
        one: attempts: 2
        two: attempts: 2
        x: refused
        error[unknown-policy] at "somethingelse": extends: there is no policy `somethingelse`; there are one and two
    "#,
    );
}

#[test]
fn a_value_stays_one_value() {
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: '1s, retry: 9'}}",
        r#"
        a: refused
        error[wrong-type] at "'1s, retry: 9'": delay: `'1s, retry: 9'`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: '1s # x'}}",
        r#"
        a: refused
        error[wrong-type] at "'1s # x'": delay: `'1s # x'`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        r#"policies: {a: {retry: 3, delay: "1s\n, retry: 9"}}"#,
        r#"
        a: refused
        error[wrong-type] at "\"1s\\n, retry: 9\"": delay: `"1s\n, retry: 9"`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: '1s]'}}",
        r#"
        a: refused
        error[wrong-type] at "'1s]'": delay: `'1s]'`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: '(1s)'}}",
        r#"
        a: refused
        error[wrong-type] at "'(1s)'": delay: `'(1s)'`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        r#"policies: {a: {retry: 3, delay: '1s"'}}"#,
        r#"
        a: refused
        error[wrong-type] at "'1s\"'": delay: `'1s"'`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: '[1s]'}}",
        r#"
        a: refused
        error[wrong-type] at "'[1s]'": delay: `'[1s]'`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: '3, delay: 1s'}}",
        r#"
        a: refused
        error[wrong-type] at "'3, delay: 1s'": retry: `'3, delay: 1s'`; use a whole number, or unlimited
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, backoff: '[1s, retry: 9]'}}",
        r#"
        a: refused
        error[wrong-type] at "'[1s, retry: 9]'": backoff: `'[1s, retry: 9]'`; use fixed, linear, exponential, fibonacci, decorrelated, or a list such as [1s, 3s, 7s]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, backoff: ['1s, 2s']}}",
        r#"
        a: refused
        error[wrong-type] at "'1s, 2s'": backoff: `'1s, 2s'`; use fixed, linear, exponential, fibonacci, decorrelated, or a list such as [1s, 3s, 7s]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, backoff: '[1s], delay: 5s'}}",
        r#"
        a: refused
        error[wrong-type] at "'[1s], delay: 5s'": backoff: `'[1s], delay: 5s'`; use fixed, linear, exponential, fibonacci, decorrelated, or a list such as [1s, 3s, 7s]
    "#,
    );
    check(
        Yaml,
        "policies: {a: {retry: 3, timeout: '1s, fallback: x'}}",
        r#"
        a: refused
        error[wrong-type] at "'1s, fallback: x'": timeout: `'1s, fallback: x'`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
    "#,
    );
    check(
        Yaml,
        r#"policies: {a: {"retry: 3, delay": 1s}}"#,
        r#"
        a: refused
        error[unknown-option] at "\"retry: 3, delay\"": `retry: 3, delay` is not a field of a policy; there are retry, attempts, delay, backoff, factor, increment, min_delay, max_delay, jitter, modifiers, within, wait_budget, timeout, retry_on, stop_on and extends
    "#,
    );
}

#[test]
fn options_of_workflows_are_refused_by_name() {
    check(
        Yaml,
        r#"policies: {a: "retry: 3, fallback: x"}"#,
        r#"
        a: refused
        error[unknown-option] at "fallback": `fallback` belongs to a call in a script or a step of a workflow, not to a policy
    "#,
    );
    check(
        Yaml,
        r#"policies: {a: "retry: 3, on_error: skip"}"#,
        r#"
        a: refused
        error[unknown-option] at "on_error": `on_error` belongs to a call in a script or a step of a workflow, not to a policy
    "#,
    );
    check(
        Yaml,
        r#"policies: {a: "retry: 3, timeout: 5s, retry_on: [network], stop_on: [pattern: \"x, y\"]"}"#,
        r#"a: attempts: 4, timeout: 5s, retry_on: [network], stop_on: [pattern: "x, y"]"#,
    );
}

#[test]
fn a_map_that_could_be_in_two_notations_is_refused() {
    check(
        Yaml,
        "attempts: 3
backoff: exponential",
        r#"error[ambiguous-dialect] at "attempts": this could be a retry_config or a policy of our own; say which with --dialect retry-config or --dialect clause, or put it under retry_config or a name in policies"#,
    );
    check(
        Yaml,
        "initial_delay: 1s
maxAttempts: 3",
        r#"error[ambiguous-dialect] at "initial_delay": this could be a retry_config or a retryPolicy, and has errors as either; say which with --dialect retry-config or --dialect retry-policy, or put it under retry_config or retryPolicy"#,
    );
    check(
        Yaml,
        "initial_delay: 1s",
        ": attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(Yaml, "maxAttempts: 3", ": attempts: 3, delay: 1s, max_delay: 5min");
    check(Yaml, "'retry: 3, delay: 1s'", ": attempts: 4, delay: 1s");
    let nothing = r#"warning[no-policy] at "": there is no policy in this text"#;
    check(Yaml, "a: 1", "");
    check(
        Yaml,
        "polices: {a: 'retry: 3'}",
        r#"warning[no-policy] at "polices": there is no policy in this text, but `polices`; did you mean `policies`?"#,
    );
    check(Yaml, "", nothing);
    check(Json, "", nothing);
    check(
        Yaml,
        "steps:
  - retryPolicy: {maxAttempts: 2}
  - retry_config: {attempts: 2}
---
retry_config: {attempts: 4}",
        "
        [0].steps[0].retryPolicy: attempts: 2, delay: 1s, max_delay: 5min
        [0].steps[1].retry_config: attempts: 2, delay: 1s, backoff: exponential, max_delay: 30s
        [1].retry_config: attempts: 4, delay: 1s, backoff: exponential, max_delay: 30s
    ",
    );
}

#[test]
fn what_is_not_well_formed_is_told_where() {
    check(
        Yaml,
        "policies: {a: 'retry: 3'",
        r#"error[syntax] at "": this is not YAML: while parsing a flow mapping, did not find expected ',' or '}'"#,
    );
    check(
        Yaml,
        "policies: *a",
        r#"error[syntax] at "": this is not YAML: while parsing node, found unknown anchor"#,
    );
    check(
        Yaml,
        "a: &a [*a]",
        r#"error[syntax] at "*a": this alias is inside of what it stands for"#,
    );
    check(Yaml, "{[a]: 1}", r#"error[syntax] at "[a]": a list cannot be a key here"#);
    check(
        Toml,
        "policies = ",
        r#"error[syntax] at "": this is not TOML: string values must be quoted, expected literal string"#,
    );
    check(
        Toml,
        "a = 1
a = 2",
        r#"error[syntax] at "a": this is not TOML: duplicate key"#,
    );
    check(
        Json,
        r#"{"a": 1,}"#,
        r#"error[syntax] at ",": this is not JSON: Trailing commas are not allowed"#,
    );
    check(
        Json,
        r#"{"a": 1} x"#,
        r#"error[syntax] at "x": this is not JSON: Text cannot contain more than one JSON value"#,
    );
    check(
        Json,
        "// c
{}",
        r#"error[syntax] at "// c": this is not JSON: Comments are not allowed"#,
    );
    check(
        Json,
        "{'a': 1}",
        r#"error[syntax] at "'": this is not JSON: Single-quoted strings are not allowed"#,
    );
    check(Json, r#"{"a": NaN}"#, r#"error[syntax] at "NaN": this is not JSON: Unexpected token"#);
}

#[test]
fn yaml_merges_and_aliases_are_expanded() {
    check(
        Yaml,
        "base: &base {retry: 4, delay: 1s}
policies:
  a: {<<: *base, jitter: full}
  b: *base
  c: {<<: [*base, {retry: 9, timeout: 5s}]}",
        r#"
        a: attempts: 5, delay: 1s, jitter: full
        b: attempts: 5, delay: 1s
        c: attempts: 5, delay: 1s, timeout: 5s
        error[unknown-option] at "base": `base` is not a field of a policy file; there are policies, default and $schema
        note: a key of your own, for the anchors of YAML, begins with x-
    "#,
    );
}

#[test]
fn what_cannot_be_merged_is_told() {
    check(
        Yaml,
        "policies: {a: {<<: 5, retry: 3}}",
        r#"error[syntax] at "<<": `<<` takes a map or a list of maps; this is a number"#,
    );
}

#[test]
fn a_config_that_stands_twice_in_one_map_is_told() {
    check(
        Json,
        r#"{"retryPolicy": {"maxAttempts": 3}, "retryPolicy": {"maxAttempts": 9}}"#,
        r#"
        retryPolicy: attempts: 3, delay: 1s, max_delay: 5min
        error[duplicate-option] at "\"retryPolicy\"": `retryPolicy` is there already; write it once
    "#,
    );
}

fn names(found: &[redial_policy::Diagnostic]) -> Vec<&'static str> {
    found.iter().map(|found| found.kind.name()).collect()
}

#[test]
fn a_named_policy_is_not_warned_of_what_another_may_add() {
    let text = "policies:
  base: 'delay: 5s, backoff: exponential'
  steep: {delay: 1s, factor: 3}
  forever: {attempts: unlimited}
  fetch: {extends: base, retry: 3}
  steeper: {extends: steep, retry: 3, backoff: exponential}
  poll: {extends: forever, delay: 1s, within: 1min}
";
    let document = read(text, Yaml, None);
    assert_eq!(names(document.diagnostics()), [""; 0], "{}", shown(text, &document));
    let found: Vec<_> =
        document.policies().map(|entry| (entry.name.as_str(), names(&entry.warnings))).collect();
    assert_eq!(
        found,
        [
            ("base", vec!["delay-without-retry", "backoff-without-retry"]),
            ("steep", vec!["delay-without-retry", "unused-option"]),
            ("forever", vec!["unbounded", "hot-loop"]),
            ("fetch", vec![]),
            ("steeper", vec![]),
            ("poll", vec![]),
        ],
    );
}

#[test]
fn what_a_policy_takes_over_is_among_its_warnings_too() {
    let text = "policies:
  base: {retry: 20, delay: 1s}
  fetch: {extends: base, jitter: full}
  forever: {attempts: unlimited, delay: 1s}
  poll: {extends: forever, delay: 2s}
";
    let document = read(text, Yaml, None);
    // Once in the file: of the policy where it stands, or of the one that does not mend it.
    assert_eq!(names(document.diagnostics()), ["many-retries", "unbounded"]);
    assert_eq!(
        document.diagnostics()[1].note.as_deref(),
        Some("in `poll`, which extends this"),
        "{}",
        shown(text, &document)
    );
    let found: Vec<_> = document.policies().map(|entry| names(&entry.warnings)).collect();
    assert_eq!(found, [["many-retries"], ["many-retries"], ["unbounded"], ["unbounded"]]);
}
