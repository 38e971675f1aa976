//! The notation of `retryPolicy`: every field, each spelling of it, its default and its extremes.

use redial_policy::Format::{Json, Toml, Yaml};

use crate::shown::check;

#[test]
fn what_is_not_said_is_as_in_the_original() {
    check(Yaml, "retryPolicy: {}", "retryPolicy: attempts: 3, delay: 1s, max_delay: 5min");
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 5}",
        "retryPolicy: attempts: 5, delay: 1s, max_delay: 5min",
    );
    check(Toml, "retryPolicy = {}", "retryPolicy: attempts: 3, delay: 1s, max_delay: 5min");
    check(Json, r#"{"retryPolicy": {}}"#, "retryPolicy: attempts: 3, delay: 1s, max_delay: 5min");
}

#[test]
fn max_attempts_are_all_executions() {
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 1}",
        r#"
        retryPolicy: attempts: 1, delay: 1s, max_delay: 5min
        warning[delay-without-retry] at "maxAttempts": delay has no effect without a retry; have at least one, or drop the delay
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 2}",
        "retryPolicy: attempts: 2, delay: 1s, max_delay: 5min",
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 4294967295}",
        r#"
        retryPolicy: attempts: 4294967295, delay: 1s, max_delay: 5min
        warning[many-retries] at "4294967295": maxAttempts: 4294967294 retries are more than 10
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 0}",
        r#"
        retryPolicy: refused
        error[zero-attempts] at "0": maxAttempts: 0 attempts would never run the operation; use 1 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 4294967296}",
        r#"
        retryPolicy: refused
        error[too-many-digits] at "4294967296": maxAttempts: `4294967296`; use at most 4294967295
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 18446744073709551616}",
        r#"
        retryPolicy: refused
        error[too-many-digits] at "18446744073709551616": maxAttempts: `18446744073709551616`; use at most 4294967295
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: -1}",
        r#"
        retryPolicy: refused
        error[negative] at "-1": maxAttempts: `-1` is below zero; use 1 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 2.5}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "2.5": maxAttempts: `2.5`; use a whole number, 1 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 1e3}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "1e3": maxAttempts: `1e3`; use a whole number, 1 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: .nan}",
        r#"
        retryPolicy: refused
        error[wrong-type] at ".nan": maxAttempts: `.nan`; use a whole number, 1 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: '3'}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "'3'": maxAttempts: `'3'`; use a whole number, 1 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: unlimited}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "unlimited": maxAttempts: `unlimited`; use a whole number, 1 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: true}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "true": maxAttempts: `true`; use a whole number, 1 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: null}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "null": maxAttempts: this is nothing; use a whole number, 1 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: []}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "[]": maxAttempts: this is a list; use a whole number, 1 or more
    "#,
    );
    check(
        Toml,
        "retryPolicy = {maxAttempts = 5}",
        "retryPolicy: attempts: 5, delay: 1s, max_delay: 5min",
    );
    check(
        Toml,
        "retryPolicy = {maxAttempts = +5}",
        "retryPolicy: attempts: 5, delay: 1s, max_delay: 5min",
    );
    check(
        Toml,
        "retryPolicy = {maxAttempts = 1_000}",
        r#"
        retryPolicy: attempts: 1000, delay: 1s, max_delay: 5min
        warning[many-retries] at "1_000": maxAttempts: 999 retries are more than 10
    "#,
    );
    check(
        Toml,
        "retryPolicy = {maxAttempts = 0x10}",
        r#"
        retryPolicy: attempts: 16, delay: 1s, max_delay: 5min
        warning[many-retries] at "0x10": maxAttempts: 15 retries are more than 10
    "#,
    );
    check(
        Toml,
        "retryPolicy = {maxAttempts = -1}",
        r#"
        retryPolicy: refused
        error[negative] at "-1": maxAttempts: `-1` is below zero; use 1 or more
    "#,
    );
    check(
        Toml,
        "retryPolicy = {maxAttempts = 2.5}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "2.5": maxAttempts: `2.5`; use a whole number, 1 or more
    "#,
    );
    check(
        Toml,
        "retryPolicy = {maxAttempts = inf}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "inf": maxAttempts: `inf`; use a whole number, 1 or more
    "#,
    );
    check(
        Toml,
        "retryPolicy = {maxAttempts = '5'}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "'5'": maxAttempts: `'5'`; use a whole number, 1 or more
    "#,
    );
    check(
        Json,
        r#"{"retryPolicy": {"maxAttempts": 5}}"#,
        "retryPolicy: attempts: 5, delay: 1s, max_delay: 5min",
    );
    check(
        Json,
        r#"{"retryPolicy": {"maxAttempts": -1}}"#,
        r#"
        retryPolicy: refused
        error[negative] at "-1": maxAttempts: `-1` is below zero; use 1 or more
    "#,
    );
    check(
        Json,
        r#"{"retryPolicy": {"maxAttempts": 5.0}}"#,
        r#"
        retryPolicy: refused
        error[wrong-type] at "5.0": maxAttempts: `5.0`; use a whole number, 1 or more
    "#,
    );
    check(
        Json,
        r#"{"retryPolicy": {"maxAttempts": 1e400}}"#,
        r#"
        retryPolicy: refused
        error[wrong-type] at "1e400": maxAttempts: `1e400`; use a whole number, 1 or more
    "#,
    );
    check(
        Json,
        r#"{"retryPolicy": {"maxAttempts": "5"}}"#,
        r#"
        retryPolicy: refused
        error[wrong-type] at "\"5\"": maxAttempts: `"5"`; use a whole number, 1 or more
    "#,
    );
    check(
        Json,
        r#"{"retryPolicy": {"maxAttempts": null}}"#,
        r#"
        retryPolicy: refused
        error[wrong-type] at "null": maxAttempts: this is nothing; use a whole number, 1 or more
    "#,
    );
}

#[test]
fn delays_are_whole_milliseconds() {
    check(Yaml, "retryPolicy: {baseDelayMs: 0}", "retryPolicy: attempts: 3, max_delay: 5min");
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: 1}",
        "retryPolicy: attempts: 3, delay: 1ms, max_delay: 5min",
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: 4294967295}",
        r#"
        retryPolicy: attempts: 3, delay: 4294967295ms, max_delay: 5min
        warning[cap-below-base] at "baseDelayMs": maxDelayMs: 5min is below the delay of 4294967295ms, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: 18446744073709551615}",
        r#"
        retryPolicy: attempts: 3, delay: 18446744073709551615ns, max_delay: 5min
        warning[cap-below-base] at "baseDelayMs": maxDelayMs: 5min is below the delay of 18446744073709551615ns, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: 18446744073709551616}",
        r#"
        retryPolicy: attempts: 3, delay: 18446744073709551615ns, max_delay: 5min
        warning[cap-below-base] at "baseDelayMs": maxDelayMs: 5min is below the delay of 18446744073709551615ns, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: -1}",
        r#"
        retryPolicy: refused
        error[negative] at "-1": baseDelayMs: `-1` is below zero; use 0 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: 0.5}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "0.5": baseDelayMs: `0.5`; use a whole number of milliseconds
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: .inf}",
        r#"
        retryPolicy: refused
        error[wrong-type] at ".inf": baseDelayMs: `.inf`; use a whole number of milliseconds
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: 1s}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "1s": baseDelayMs: `1s`; use a whole number of milliseconds
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: '5'}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "'5'": baseDelayMs: `'5'`; use a whole number of milliseconds
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: null}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "null": baseDelayMs: this is nothing; use a whole number of milliseconds
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: {secs: 1}}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "{secs: 1}": baseDelayMs: this is a map; use a whole number of milliseconds
    "#,
    );
}

#[test]
fn the_cap_holds_every_strategy() {
    check(
        Yaml,
        "retryPolicy: {maxDelayMs: 0}",
        r#"
        retryPolicy: attempts: 3, delay: 1s, max_delay: 0s
        warning[cap-below-base] at "0": maxDelayMs: 0s is below the delay of 1s, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxDelayMs: 1}",
        r#"
        retryPolicy: attempts: 3, delay: 1s, max_delay: 1ms
        warning[cap-below-base] at "1": maxDelayMs: 1ms is below the delay of 1s, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxDelayMs: 1000}",
        "retryPolicy: attempts: 3, delay: 1s, max_delay: 1s",
    );
    check(
        Yaml,
        "retryPolicy: {maxDelayMs: 18446744073709551615}",
        "retryPolicy: attempts: 3, delay: 1s, max_delay: 18446744073709551615ns",
    );
    check(
        Yaml,
        "retryPolicy: {maxDelayMs: 18446744073709551616}",
        "retryPolicy: attempts: 3, delay: 1s, max_delay: 18446744073709551615ns",
    );
    check(
        Yaml,
        "retryPolicy: {maxDelayMs: -1}",
        r#"
        retryPolicy: refused
        error[negative] at "-1": maxDelayMs: `-1` is below zero; use 0 or more
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxDelayMs: 1.5}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "1.5": maxDelayMs: `1.5`; use a whole number of milliseconds
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxDelayMs: none}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "none": maxDelayMs: `none`; use a whole number of milliseconds
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxDelayMs: null}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "null": maxDelayMs: this is nothing; use a whole number of milliseconds
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: 400000}",
        r#"
        retryPolicy: attempts: 3, delay: 400s, max_delay: 5min
        warning[cap-below-base] at "baseDelayMs": maxDelayMs: 5min is below the delay of 400s, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelayMs: 400000, backoff: LINEAR}",
        r#"
        retryPolicy: attempts: 3, delay: 400s, backoff: linear, max_delay: 5min
        warning[cap-below-base] at "baseDelayMs": maxDelayMs: 5min is below the delay of 400s, so it takes its place
    "#,
    );
}

#[test]
fn each_strategy_has_one_spelling() {
    check(
        Yaml,
        "retryPolicy: {backoff: FIXED}",
        "retryPolicy: attempts: 3, delay: 1s, max_delay: 5min",
    );
    check(
        Yaml,
        "retryPolicy: {backoff: LINEAR}",
        "retryPolicy: attempts: 3, delay: 1s, backoff: linear, max_delay: 5min",
    );
    check(
        Yaml,
        "retryPolicy: {backoff: EXPONENTIAL}",
        "retryPolicy: attempts: 3, delay: 1s, backoff: exponential, max_delay: 5min",
    );
    check(
        Yaml,
        "retryPolicy: {backoff: fixed}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "fixed": backoff: `fixed` is not known; did you mean `FIXED`?
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {backoff: Exponential}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "Exponential": backoff: `Exponential` is not known; did you mean `EXPONENTIAL`?
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {backoff: EXPONENTAL}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "EXPONENTAL": backoff: `EXPONENTAL` is not known; did you mean `EXPONENTIAL`?
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {backoff: FIBONACCI}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "FIBONACCI": backoff: `FIBONACCI`; use FIXED, LINEAR or EXPONENTIAL
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {backoff: null}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "null": backoff: this is nothing; use FIXED, LINEAR or EXPONENTIAL
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {backoff: ''}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "''": backoff: `''`; use FIXED, LINEAR or EXPONENTIAL
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {backoff: 5}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "5": backoff: `5`; use FIXED, LINEAR or EXPONENTIAL
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {backoff: {FIXED: null}}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "{FIXED: null}": backoff: this is a map; use FIXED, LINEAR or EXPONENTIAL
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {backoffStrategy: EXPONENTIAL}",
        "retryPolicy: attempts: 3, delay: 1s, backoff: exponential, max_delay: 5min",
    );
    check(
        Yaml,
        "retryPolicy: {backoff: FIXED, backoffStrategy: LINEAR}",
        r#"
        retryPolicy: refused
        error[duplicate-option] at "backoffStrategy": `backoff` and `backoffStrategy` say the same; write one of them
    "#,
    );
    check(
        Toml,
        "retryPolicy = {backoff = 'LINEAR'}",
        "retryPolicy: attempts: 3, delay: 1s, backoff: linear, max_delay: 5min",
    );
    check(
        Json,
        r#"{"retryPolicy": {"backoffStrategy": "LINEAR"}}"#,
        "retryPolicy: attempts: 3, delay: 1s, backoff: linear, max_delay: 5min",
    );
}

#[test]
fn jitter_is_a_factor_before_the_cap() {
    check(
        Yaml,
        "retryPolicy: {jitter: true}",
        "retryPolicy: attempts: 3, delay: 1s, jitter: [0.5, 1.5], max_delay: 5min",
    );
    check(
        Yaml,
        "retryPolicy: {jitter: false}",
        "retryPolicy: attempts: 3, delay: 1s, max_delay: 5min",
    );
    check(
        Yaml,
        "retryPolicy: {jitter: null}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "null": jitter: this is nothing; use true or false
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {jitter: 'true'}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "'true'": jitter: `'true'`; use true or false
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {jitter: 1}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "1": jitter: `1`; use true or false
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {jitter: 0.25}",
        r#"
        retryPolicy: refused
        error[wrong-type] at "0.25": jitter: `0.25`; use true or false
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {backoff: EXPONENTIAL, maxAttempts: 4, jitter: true}",
        "retryPolicy: attempts: 4, delay: 1s, backoff: exponential, jitter: [0.5, 1.5], max_delay: 5min",
    );
    check(
        Yaml,
        "retryPolicy: {maxDelayMs: 1000, jitter: true}",
        r#"
        retryPolicy: attempts: 3, delay: 1s, jitter: [0.5, 1.5], max_delay: 1s
        warning[cap-erases-jitter] at "1000": delays reach 1s and this cap comes after the jitter, so they pile up at 1s
    "#,
    );
}

#[test]
fn a_field_is_there_once_and_has_a_known_name() {
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 3, maxAttempts: 4}",
        r#"
        retryPolicy: refused
        error[duplicate-option] at "maxAttempts": `maxAttempts` is there already; write it once
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {attempts: 3}",
        r#"
        retryPolicy: refused
        error[unknown-option] at "attempts": `attempts` is not a field of retryPolicy; did you mean `maxAttempts`?
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {max_attempts: 3}",
        r#"
        retryPolicy: refused
        error[unknown-option] at "max_attempts": `max_attempts` is not a field of retryPolicy; did you mean `maxAttempts`?
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempt: 3}",
        r#"
        retryPolicy: refused
        error[unknown-option] at "maxAttempt": `maxAttempt` is not a field of retryPolicy; did you mean `maxAttempts`?
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {delay: 5}",
        r#"
        retryPolicy: refused
        error[unknown-option] at "delay": `delay` is not a field of retryPolicy; did you mean `baseDelayMs`?
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {baseDelay: 5}",
        r#"
        retryPolicy: refused
        error[unknown-option] at "baseDelay": `baseDelay` is not a field of retryPolicy; did you mean `baseDelayMs`?
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {retry_on: [network]}",
        r#"
        retryPolicy: refused
        error[unknown-option] at "retry_on": `retry_on` is not a field of retryPolicy; there are maxAttempts, backoff, backoffStrategy, baseDelayMs, maxDelayMs and jitter
    "#,
    );
    check(
        Json,
        r#"{"retryPolicy": {"maxAttempts": 3, "maxAttempts": 4}}"#,
        r#"
        retryPolicy: refused
        error[duplicate-option] at "\"maxAttempts\"": `maxAttempts` is there already; write it once
    "#,
    );
    check(
        Yaml,
        "retryPolicy: {maxAttempts: 0, baseDelayMs: -1, jitter: 1, x: 1}",
        r#"
        retryPolicy: refused
        error[zero-attempts] at "0": maxAttempts: 0 attempts would never run the operation; use 1 or more
        error[negative] at "-1": baseDelayMs: `-1` is below zero; use 0 or more
        error[wrong-type] at "1": jitter: `1`; use true or false
        error[unknown-option] at "x": `x` is not a field of retryPolicy; there are maxAttempts, backoff, backoffStrategy, baseDelayMs, maxDelayMs and jitter
    "#,
    );
}

#[test]
fn a_retry_policy_is_a_map() {
    check(
        Yaml,
        "retryPolicy: 5",
        r#"
        retryPolicy: refused
        error[wrong-type] at "5": retryPolicy: `5`; use a map such as {"maxAttempts": 5, "baseDelayMs": 1000}
    "#,
    );
    check(
        Yaml,
        "retryPolicy: null",
        r#"
        retryPolicy: refused
        error[wrong-type] at "null": retryPolicy: this is nothing; use a map such as {"maxAttempts": 5, "baseDelayMs": 1000}
    "#,
    );
    check(
        Yaml,
        "retryPolicy: [1]",
        r#"
        retryPolicy: refused
        error[wrong-type] at "[1]": retryPolicy: this is a list; use a map such as {"maxAttempts": 5, "baseDelayMs": 1000}
    "#,
    );
    check(
        Yaml,
        "retryPolicy: FIXED",
        r#"
        retryPolicy: refused
        error[wrong-type] at "FIXED": retryPolicy: `FIXED`; use a map such as {"maxAttempts": 5, "baseDelayMs": 1000}
    "#,
    );
}
