//! The notation of `retry_config`: every field, each spelling of it, its default and its extremes.

use redial_policy::Format::{Json, Toml, Yaml};

use crate::shown::check;

#[test]
fn what_is_not_said_is_as_in_the_original() {
    check(
        Yaml,
        "retry_config: {}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {attempts: 5}",
        "retry_config: attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 250ms}",
        "retry_config: attempts: 3, delay: 250ms, backoff: exponential, max_delay: 30s",
    );
    check(
        Toml,
        "retry_config = {}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Json,
        r#"{"retry_config": {}}"#,
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
}

#[test]
fn attempts_are_all_executions() {
    check(
        Yaml,
        "retry_config: {attempts: 1}",
        r#"
        retry_config: attempts: 1, delay: 1s, backoff: exponential, max_delay: 30s
        warning[delay-without-retry] at "attempts": delay has no effect without a retry; have at least one, or drop the delay
        warning[backoff-without-retry] at "attempts": backoff has no effect without a retry; have at least one, or drop it
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 2}",
        "retry_config: attempts: 2, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {attempts: 4294967295}",
        r#"
        retry_config: attempts: 4294967295, delay: 1s, backoff: exponential, max_delay: 30s
        warning[many-retries] at "4294967295": attempts: 4294967294 retries are more than 10
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 0}",
        r#"
        retry_config: refused
        error[zero-attempts] at "0": attempts: 0 attempts would never run the operation; use 1 or more
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 4294967296}",
        r#"
        retry_config: refused
        error[too-many-digits] at "4294967296": attempts: `4294967296`; use at most 4294967295
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 18446744073709551616}",
        r#"
        retry_config: refused
        error[too-many-digits] at "18446744073709551616": attempts: `18446744073709551616`; use at most 4294967295
    "#,
    );
}

#[test]
fn attempts_are_a_whole_number() {
    check(
        Yaml,
        "retry_config: {attempts: -1}",
        r#"
        retry_config: refused
        error[negative] at "-1": attempts: `-1` is below zero; use 1 or more
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 2.5}",
        r#"
        retry_config: refused
        error[wrong-type] at "2.5": attempts: `2.5`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 3.0}",
        r#"
        retry_config: refused
        error[wrong-type] at "3.0": attempts: `3.0`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 1e3}",
        r#"
        retry_config: refused
        error[wrong-type] at "1e3": attempts: `1e3`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: +3}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {attempts: .nan}",
        r#"
        retry_config: refused
        error[wrong-type] at ".nan": attempts: `.nan`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: .inf}",
        r#"
        retry_config: refused
        error[wrong-type] at ".inf": attempts: `.inf`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: '3'}",
        r#"
        retry_config: refused
        error[wrong-type] at "'3'": attempts: `'3'`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: three}",
        r#"
        retry_config: refused
        error[wrong-type] at "three": attempts: `three`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: unlimited}",
        r#"
        retry_config: refused
        error[wrong-type] at "unlimited": attempts: `unlimited`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: true}",
        r#"
        retry_config: refused
        error[wrong-type] at "true": attempts: `true`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: null}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": attempts: this is nothing; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: }",
        r#"
        retry_config: refused
        error[wrong-type] at "": attempts: this is nothing; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: [3]}",
        r#"
        retry_config: refused
        error[wrong-type] at "[3]": attempts: this is a list; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: {n: 3}}",
        r#"
        retry_config: refused
        error[wrong-type] at "{n: 3}": attempts: this is a map; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 0x10}",
        r#"
        retry_config: refused
        error[wrong-type] at "0x10": attempts: `0x10`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 007}",
        "retry_config: attempts: 7, delay: 1s, backoff: exponential, max_delay: 30s",
    );
}

#[test]
fn attempts_in_toml() {
    check(
        Toml,
        "retry_config = {attempts = 5}",
        "retry_config: attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Toml,
        "retry_config = {attempts = +5}",
        "retry_config: attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Toml,
        "retry_config = {attempts = 1_000}",
        r#"
        retry_config: attempts: 1000, delay: 1s, backoff: exponential, max_delay: 30s
        warning[many-retries] at "1_000": attempts: 999 retries are more than 10
    "#,
    );
    check(
        Toml,
        "retry_config = {attempts = 0x10}",
        r#"
        retry_config: attempts: 16, delay: 1s, backoff: exponential, max_delay: 30s
        warning[many-retries] at "0x10": attempts: 15 retries are more than 10
    "#,
    );
    check(
        Toml,
        "retry_config = {attempts = 0o17}",
        r#"
        retry_config: attempts: 15, delay: 1s, backoff: exponential, max_delay: 30s
        warning[many-retries] at "0o17": attempts: 14 retries are more than 10
    "#,
    );
    check(
        Toml,
        "retry_config = {attempts = -1}",
        r#"
        retry_config: refused
        error[negative] at "-1": attempts: `-1` is below zero; use 1 or more
    "#,
    );
    check(
        Toml,
        "retry_config = {attempts = 2.5}",
        r#"
        retry_config: refused
        error[wrong-type] at "2.5": attempts: `2.5`; use a whole number
    "#,
    );
    check(
        Toml,
        "retry_config = {attempts = nan}",
        r#"
        retry_config: refused
        error[wrong-type] at "nan": attempts: `nan`; use a whole number
    "#,
    );
    check(
        Toml,
        "retry_config = {attempts = inf}",
        r#"
        retry_config: refused
        error[wrong-type] at "inf": attempts: `inf`; use a whole number
    "#,
    );
    check(
        Toml,
        "retry_config = {attempts = '5'}",
        r#"
        retry_config: refused
        error[wrong-type] at "'5'": attempts: `'5'`; use a whole number
    "#,
    );
    check(
        Toml,
        "retry_config = {attempts = 1979-05-27}",
        r#"
        retry_config: refused
        error[wrong-type] at "1979-05-27": attempts: `1979-05-27`; use a whole number
    "#,
    );
    check(
        Toml,
        "retry_config = {attempts = []}",
        r#"
        retry_config: refused
        error[wrong-type] at "[]": attempts: this is a list; use a whole number
    "#,
    );
}

#[test]
fn attempts_in_json() {
    check(
        Json,
        r#"{"retry_config": {"attempts": 5}}"#,
        "retry_config: attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Json,
        r#"{"retry_config": {"attempts": -1}}"#,
        r#"
        retry_config: refused
        error[negative] at "-1": attempts: `-1` is below zero; use 1 or more
    "#,
    );
    check(
        Json,
        r#"{"retry_config": {"attempts": 5.0}}"#,
        r#"
        retry_config: refused
        error[wrong-type] at "5.0": attempts: `5.0`; use a whole number
    "#,
    );
    check(
        Json,
        r#"{"retry_config": {"attempts": 1e400}}"#,
        r#"
        retry_config: refused
        error[wrong-type] at "1e400": attempts: `1e400`; use a whole number
    "#,
    );
    check(
        Json,
        r#"{"retry_config": {"attempts": "5"}}"#,
        r#"
        retry_config: refused
        error[wrong-type] at "\"5\"": attempts: `"5"`; use a whole number
    "#,
    );
    check(
        Json,
        r#"{"retry_config": {"attempts": null}}"#,
        r#"
        retry_config: refused
        error[wrong-type] at "null": attempts: this is nothing; use a whole number
    "#,
    );
    check(
        Json,
        r#"{"retry_config": {"attempts": []}}"#,
        r#"
        retry_config: refused
        error[wrong-type] at "[]": attempts: this is a list; use a whole number
    "#,
    );
}

#[test]
fn durations_are_those_of_humantime() {
    check(
        Yaml,
        "retry_config: {initial_delay: 0s}",
        "retry_config: attempts: 3, delay: 0s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1ns}",
        "retry_config: attempts: 3, delay: 1ns, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 7s}",
        "retry_config: attempts: 3, delay: 7s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1h 30m}",
        r#"
        retry_config: attempts: 3, delay: 90min, backoff: exponential, max_delay: 30s
        warning[cap-below-base] at "initial_delay": max_delay: 30s is below the delay of 90min, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1m30s}",
        r#"
        retry_config: attempts: 3, delay: 90s, backoff: exponential, max_delay: 30s
        warning[cap-below-base] at "initial_delay": max_delay: 30s is below the delay of 90s, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1.5s}",
        "retry_config: attempts: 3, delay: 1500ms, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: ' 2s '}",
        "retry_config: attempts: 3, delay: 2s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 2 s}",
        "retry_config: attempts: 3, delay: 2s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1week}",
        r#"
        retry_config: attempts: 3, delay: 7d, backoff: exponential, max_delay: 30s
        warning[cap-below-base] at "initial_delay": max_delay: 30s is below the delay of 7d, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1day}",
        r#"
        retry_config: attempts: 3, delay: 1d, backoff: exponential, max_delay: 30s
        warning[cap-below-base] at "initial_delay": max_delay: 30s is below the delay of 1d, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1us}",
        "retry_config: attempts: 3, delay: 1us, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1µs}",
        "retry_config: attempts: 3, delay: 1us, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 18446744073709551615ns}",
        r#"
        retry_config: attempts: 3, delay: 18446744073709551615ns, backoff: exponential, max_delay: 30s
        warning[cap-below-base] at "initial_delay": max_delay: 30s is below the delay of 18446744073709551615ns, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 18446744073709551616ns}",
        r#"
        retry_config: attempts: 3, delay: 18446744073709551615ns, backoff: exponential, max_delay: 30s
        warning[cap-below-base] at "initial_delay": max_delay: 30s is below the delay of 18446744073709551615ns, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1000y}",
        r#"
        retry_config: attempts: 3, delay: 18446744073709551615ns, backoff: exponential, max_delay: 30s
        warning[cap-below-base] at "initial_delay": max_delay: 30s is below the delay of 18446744073709551615ns, so it takes its place
    "#,
    );
}

#[test]
fn a_duration_has_a_unit_and_no_sign() {
    check(
        Yaml,
        "retry_config: {initial_delay: 5}",
        r#"
        retry_config: refused
        error[missing-unit] at "5": initial_delay: `5` has no unit; write "5s" or "5ms"
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 0}",
        r#"
        retry_config: refused
        error[missing-unit] at "0": initial_delay: `0` has no unit; write "0s" or "0ms"
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: '5'}",
        r#"
        retry_config: refused
        error[missing-unit] at "'5'": initial_delay: `5` has no unit; write "5s" or "5ms"
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: '0'}",
        "retry_config: attempts: 3, delay: 0s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1.5}",
        r#"
        retry_config: refused
        error[missing-unit] at "1.5": initial_delay: `1.5` has no unit; write "1.5s" or "1.5ms"
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: -1}",
        r#"
        retry_config: refused
        error[negative] at "-1": initial_delay: `-1` is below zero; use 0 or more
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: -1s}",
        r#"
        retry_config: refused
        error[negative] at "-1s": initial_delay: `-1s` is below zero; use 0 or more
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: '-1s'}",
        r#"
        retry_config: refused
        error[negative] at "'-1s'": initial_delay: `-1s` is below zero; use 0 or more
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: .inf}",
        r#"
        retry_config: refused
        error[wrong-type] at ".inf": initial_delay: `.inf`; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0} (expected number at 0)
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1e400}",
        r#"
        retry_config: refused
        error[wrong-type] at "1e400": initial_delay: `1e400`; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0}
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: ''}",
        r#"
        retry_config: refused
        error[wrong-type] at "''": initial_delay: ``; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0} (value was empty)
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: null}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": initial_delay: this is nothing; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0}
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: true}",
        r#"
        retry_config: refused
        error[wrong-type] at "true": initial_delay: `true`; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0}
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: s}",
        r#"
        retry_config: refused
        error[wrong-type] at "s": initial_delay: `s`; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0} (expected number at 0)
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1 parsec}",
        r#"
        retry_config: refused
        error[wrong-type] at "1 parsec": initial_delay: `1 parsec`; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0} (unknown time unit "parsec", supported units: ns, us/µs, ms, sec, min, hours, days, weeks, months, years (and few variations))
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: 1.0000000001s}",
        r#"
        retry_config: refused
        error[too-many-digits] at "1.0000000001s": initial_delay: `1.0000000001s`; a duration is a whole number of nanoseconds
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: '1s, retry: 9'}",
        r#"
        retry_config: refused
        error[wrong-type] at "'1s, retry: 9'": initial_delay: `1s, retry: 9`; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0} (invalid character at 2)
    "#,
    );
    check(
        Yaml,
        r#"retry_config: {initial_delay: "1s\n2s"}"#,
        "retry_config: attempts: 3, delay: 3s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: [1s]}",
        r#"
        retry_config: refused
        error[wrong-type] at "[1s]": initial_delay: this is a list; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0}
    "#,
    );
}

#[test]
fn a_duration_may_be_counted() {
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: 2, nanos: 500000000}}",
        "retry_config: attempts: 3, delay: 2500ms, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: 2}}",
        "retry_config: attempts: 3, delay: 2s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {nanos: 1}}",
        "retry_config: attempts: 3, delay: 1ns, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: 0, nanos: 0}}",
        "retry_config: attempts: 3, delay: 0s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: 0, nanos: 4000000000}}",
        "retry_config: attempts: 3, delay: 4s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: 18446744073709551615, nanos: 18446744073709551615}}",
        r#"
        retry_config: attempts: 3, delay: 18446744073709551615ns, backoff: exponential, max_delay: 30s
        warning[cap-below-base] at "initial_delay": max_delay: 30s is below the delay of 18446744073709551615ns, so it takes its place
    "#,
    );
}

#[test]
fn a_counted_duration_has_whole_parts() {
    check(
        Yaml,
        "retry_config: {initial_delay: {}}",
        r#"
        retry_config: refused
        error[wrong-type] at "{}": initial_delay: this is a map; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0}
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: -1}}",
        r#"
        retry_config: refused
        error[negative] at "-1": initial_delay: `-1` is below zero; use 0 or more
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: 1.5}}",
        r#"
        retry_config: refused
        error[wrong-type] at "1.5": secs: `1.5`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: '1'}}",
        r#"
        retry_config: refused
        error[wrong-type] at "'1'": secs: `'1'`; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: null}}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": secs: this is nothing; use a whole number
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {sec: 1}}",
        r#"
        retry_config: refused
        error[unknown-option] at "sec": `sec` is not a field of the duration of initial_delay; did you mean `secs`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: 1, secs: 2}}",
        r#"
        retry_config: refused
        error[duplicate-option] at "secs": `secs` is there already; write it once
    "#,
    );
    check(
        Yaml,
        "retry_config: {initial_delay: {secs: 1, millis: 5}}",
        r#"
        retry_config: refused
        error[unknown-option] at "millis": `millis` is not a field of the duration of initial_delay; there are secs and nanos
    "#,
    );
}

#[test]
fn the_cap_holds_every_source() {
    check(
        Yaml,
        "retry_config: {attempts: 4, initial_delay: 40s}",
        r#"
        retry_config: attempts: 4, delay: 40s, backoff: exponential, max_delay: 30s
        warning[cap-below-base] at "attempts": max_delay: 30s is below the delay of 40s, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 4, initial_delay: 40s, backoff: fixed}",
        r#"
        retry_config: attempts: 4, delay: 40s, max_delay: 30s
        warning[cap-below-base] at "attempts": max_delay: 30s is below the delay of 40s, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {max_delay: 0s}",
        r#"
        retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 0s
        warning[cap-below-base] at "0s": max_delay: 0s is below the delay of 1s, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {max_delay: 500ms}",
        r#"
        retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 500ms
        warning[cap-below-base] at "500ms": max_delay: 500ms is below the delay of 1s, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {max_delay: 1000y}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 18446744073709551615ns",
    );
    check(
        Yaml,
        "retry_config: {max_delay: 5}",
        r#"
        retry_config: refused
        error[missing-unit] at "5": max_delay: `5` has no unit; write "5s" or "5ms"
    "#,
    );
    check(
        Yaml,
        "retry_config: {max_delay: none}",
        r#"
        retry_config: refused
        error[wrong-type] at "none": max_delay: `none`; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0} (expected number at 0)
    "#,
    );
    check(
        Yaml,
        "retry_config: {max_delay: null}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": max_delay: this is nothing; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0}
    "#,
    );
}

#[test]
fn each_backoff_has_its_spellings() {
    check(
        Yaml,
        "retry_config: {backoff: fixed}",
        "retry_config: attempts: 3, delay: 1s, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {fixed: null}}",
        "retry_config: attempts: 3, delay: 1s, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {fixed: {}}}",
        "retry_config: attempts: 3, delay: 1s, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {fixed: }}",
        "retry_config: attempts: 3, delay: 1s, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: !fixed}",
        "retry_config: attempts: 3, delay: 1s, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: fibonacci}",
        "retry_config: attempts: 3, delay: 1s, backoff: fibonacci, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {fibonacci: null}}",
        "retry_config: attempts: 3, delay: 1s, backoff: fibonacci, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: exponential}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: null}}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {}}}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 3}}}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, factor: 3, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: !exponential {base: 3}}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, factor: 3, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {linear: {increment: 2s}}}",
        "retry_config: attempts: 3, delay: 1s, backoff: linear, increment: 2s, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: !linear {increment: 2s}}",
        "retry_config: attempts: 3, delay: 1s, backoff: linear, increment: 2s, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {custom: {delays: [1s, {secs: 3, nanos: 0}]}}}",
        "retry_config: attempts: 3, backoff: [1s, 3s], max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: !custom {delays: [1s]}}",
        "retry_config: attempts: 3, backoff: [1s], max_delay: 30s",
    );
}

#[test]
fn a_backoff_that_is_none_is_told_what_there_is() {
    check(
        Yaml,
        "retry_config: {backoff: null}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": backoff: this is nothing; use fixed, fibonacci, exponential, {linear: {increment: "1s"}}, {exponential: {base: 2.0}} or {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: ''}",
        r#"
        retry_config: refused
        error[wrong-type] at "''": backoff: ``; use fixed, fibonacci, exponential, {linear: {increment: "1s"}}, {exponential: {base: 2.0}} or {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: 5}",
        r#"
        retry_config: refused
        error[wrong-type] at "5": backoff: `5`; use fixed, fibonacci, exponential, {linear: {increment: "1s"}}, {exponential: {base: 2.0}} or {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: true}",
        r#"
        retry_config: refused
        error[wrong-type] at "true": backoff: `true`; use fixed, fibonacci, exponential, {linear: {increment: "1s"}}, {exponential: {base: 2.0}} or {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: []}",
        r#"
        retry_config: refused
        error[wrong-type] at "[]": backoff: this is a list; use fixed, fibonacci, exponential, {linear: {increment: "1s"}}, {exponential: {base: 2.0}} or {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {}}",
        r#"
        retry_config: refused
        error[wrong-type] at "{}": backoff: this is a map; use fixed, fibonacci, exponential, {linear: {increment: "1s"}}, {exponential: {base: 2.0}} or {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {fixed: 1}}",
        r#"
        retry_config: refused
        error[wrong-type] at "1": fixed: `1`; it has no settings: write its name alone
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {fixed: null, linear: null}}",
        r#"
        retry_config: refused
        error[wrong-type] at "{fixed: null, linear: null}": backoff: this is a map; use fixed, fibonacci, exponential, {linear: {increment: "1s"}}, {exponential: {base: 2.0}} or {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: Fixed}",
        r#"
        retry_config: refused
        error[wrong-type] at "Fixed": backoff: `Fixed` is not known; did you mean `fixed`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: exponetial}",
        r#"
        retry_config: refused
        error[wrong-type] at "exponetial": backoff: `exponetial` is not known; did you mean `exponential`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: quadratic}",
        r#"
        retry_config: refused
        error[wrong-type] at "quadratic": backoff: `quadratic`; use fixed, fibonacci, exponential, {linear: {increment: "1s"}}, {exponential: {base: 2.0}} or {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: decorrelated}",
        r#"
        retry_config: refused
        error[wrong-type] at "decorrelated": backoff: `decorrelated`; use fixed, fibonacci, exponential, {linear: {increment: "1s"}}, {exponential: {base: 2.0}} or {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: linear}",
        r#"
        retry_config: refused
        error[wrong-type] at "linear": backoff: linear has no increment; write {linear: {increment: "1s"}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {linear: null}}",
        r#"
        retry_config: refused
        error[wrong-type] at "linear": backoff: linear has no increment; write {linear: {increment: "1s"}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {linear: {}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "linear": backoff: linear has no increment; write {linear: {increment: "1s"}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {linear: 2s}}",
        r#"
        retry_config: refused
        error[wrong-type] at "2s": linear: `2s`; use a map such as {increment: …}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {linear: {step: 2s}}}",
        r#"
        retry_config: refused
        error[unknown-option] at "step": `step` is not a field of linear; there is increment
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {linear: {increment: 2}}}",
        r#"
        retry_config: refused
        error[missing-unit] at "2": increment: `2` has no unit; write "2s" or "2ms"
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {linear: {increment: null}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": increment: this is nothing; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: custom}",
        r#"
        retry_config: refused
        error[wrong-type] at "custom": backoff: custom has no delays; write {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {custom: {}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "custom": backoff: custom has no delays; write {custom: {delays: ["1s", "3s"]}}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {custom: {delays: 1s}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "1s": delays: `1s`; use a list such as ["1s", {secs: 3, nanos: 0}]
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {custom: [1s]}}",
        r#"
        retry_config: refused
        error[wrong-type] at "[1s]": custom: this is a list; use a map such as {delays: …}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: !fixed 3}",
        r#"
        retry_config: refused
        error[wrong-type] at "3": fixed: `3`; it has no settings: write its name alone
    "#,
    );
}

#[test]
fn a_base_is_a_number_from_one() {
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 1}}}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, factor: 1, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 1.0}}}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, factor: 1, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 1.5}}}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, factor: 1.5, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 2.0}}}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 999999999}}}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, factor: 999999999, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 1.123456789}}}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, factor: 1.123456789, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 0.999999999}}}",
        r#"
        retry_config: refused
        error[factor-below-one] at "0.999999999": base: `0.999999999` is below 1, so delays would shrink; use 1 or more
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 0}}}",
        r#"
        retry_config: refused
        error[factor-below-one] at "0": base: `0` is below 1, so delays would shrink; use 1 or more
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: -2}}}",
        r#"
        retry_config: refused
        error[negative] at "-2": base: `-2` is below zero; use 1 or more
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 1000000000}}}",
        r#"
        retry_config: refused
        error[too-many-digits] at "1000000000": base: `1000000000`; use at most nine digits on either side of the point
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 1.1234567891}}}",
        r#"
        retry_config: refused
        error[too-many-digits] at "1.1234567891": base: `1.1234567891`; use at most nine digits on either side of the point
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: .nan}}}",
        r#"
        retry_config: refused
        error[wrong-type] at ".nan": base: `.nan`; use a number such as 2.0 or 1.5
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: .inf}}}",
        r#"
        retry_config: refused
        error[wrong-type] at ".inf": base: `.inf`; use a number such as 2.0 or 1.5
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 1e3}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "1e3": base: `1e3`; use a number such as 2 or 1.5
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: '2'}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "'2'": base: `'2'`; use a number such as 2.0 or 1.5
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: null}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": base: this is nothing; use a number such as 2.0 or 1.5
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: two}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "two": base: `two`; use a number such as 2.0 or 1.5
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {factor: 2}}}",
        r#"
        retry_config: refused
        error[unknown-option] at "factor": `factor` is not a field of exponential; did you mean `base`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: 2}}",
        r#"
        retry_config: refused
        error[wrong-type] at "2": exponential: `2`; use a map such as {base: …}
    "#,
    );
    check(
        Yaml,
        "retry_config: {backoff: {exponential: {base: 2, base: 3}}}",
        r#"
        retry_config: refused
        error[duplicate-option] at "base": `base` is there already; write it once
    "#,
    );
    check(
        Toml,
        "retry_config = {backoff = {exponential = {base = inf}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "inf": base: `inf`; use a number such as 2 or 1.5
    "#,
    );
    check(
        Toml,
        "retry_config = {backoff = {exponential = {base = nan}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "nan": base: `nan`; use a number such as 2 or 1.5
    "#,
    );
    check(
        Json,
        r#"{"retry_config": {"backoff": {"exponential": {"base": 1e400}}}}"#,
        r#"
        retry_config: refused
        error[wrong-type] at "1e400": base: `1e400`; use a number such as 2 or 1.5
    "#,
    );
}

#[test]
fn custom_delays_go_on_with_the_cap() {
    check(
        Yaml,
        "retry_config: {attempts: 6, max_delay: 60s, backoff: {custom: {delays: [1s, 3s]}}}",
        "retry_config: attempts: 6, backoff: [1s, 3s], max_delay: 1min",
    );
    check(
        Yaml,
        "retry_config: {attempts: 3, backoff: {custom: {delays: []}}}",
        "retry_config: attempts: 3, backoff: [], max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {attempts: 9, backoff: {custom: {delays: [0s, 1000y]}}}",
        r#"
        retry_config: attempts: 9, backoff: [0s, 18446744073709551615ns], max_delay: 30s
        warning[cap-below-base] at "attempts": max_delay: 30s is below the longest delay of the list of 18446744073709551615ns, so it takes its place
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 3, initial_delay: 5s, backoff: {custom: {delays: [1s, 2s]}}}",
        r#"
        retry_config: attempts: 3, backoff: [1s, 2s], max_delay: 30s
        warning[unused-option] at "5s": `initial_delay` has no effect here: a list has its own delays
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 2, backoff: {custom: {delays: [1s, 2s, 3s]}}}",
        r#"
        retry_config: attempts: 2, backoff: [1s, 2s, 3s], max_delay: 30s
        warning[list-longer-than-attempts] at "[1s, 2s, 3s]": the list has 3 delays and there is 1 retry; the others are never used
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 3, backoff: {custom: {delays: [1, 2s]}}}",
        r#"
        retry_config: refused
        error[missing-unit] at "1": delays: `1` has no unit; write "1s" or "1ms"
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 3, backoff: {custom: {delays: [1s, null, [], -1s]}}}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": delays: this is nothing; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0}
        error[wrong-type] at "[]": delays: this is a list; use a duration such as "2s", "1m 30s" or {secs: 1, nanos: 0}
        error[negative] at "-1s": delays: `-1s` is below zero; use 0 or more
    "#,
    );
}

#[test]
fn custom_delays_are_at_most_32() {
    check(
        Yaml,
        "retry_config: {attempts: 5, backoff: {custom: {delays: [1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s]}}}",
        r#"
        retry_config: attempts: 5, backoff: [1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s], max_delay: 30s
        warning[list-longer-than-attempts] at "[1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s]": the list has 32 delays and there are 4 retries; the others are never used
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 5, backoff: {custom: {delays: [1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s]}}}",
        r#"
        retry_config: refused
        error[list-too-long] at "[1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s]": a list holds at most 32 delays; past its end the first max_delay goes on
    "#,
    );
}

#[test]
fn jitter_goes_up_and_down_by_its_factor() {
    check(
        Yaml,
        "retry_config: {jitter: true}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 25%",
    );
    check(
        Yaml,
        "retry_config: {jitter: false}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 0}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 0%",
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 0.0}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 0%",
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 1}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 100%",
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 1.0}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 100%",
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: .5}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 50%",
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 0.5}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 50%",
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 0.123456789}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 12.3456789%",
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 000.2500}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 25%",
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: +0.1}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 10%",
    );
}

#[test]
fn a_jitter_factor_is_from_zero_to_one() {
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 1.000000001}",
        r#"
        retry_config: refused
        error[jitter-out-of-range] at "1.000000001": jitter_factor: `1.000000001` is out of range; use 0 to 1 (0.25 is plus or minus 25%)
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 2}",
        r#"
        retry_config: refused
        error[jitter-out-of-range] at "2": jitter_factor: `2` is out of range; use 0 to 1 (0.25 is plus or minus 25%)
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: -0.1}",
        r#"
        retry_config: refused
        error[negative] at "-0.1": jitter_factor: `-0.1` is below zero; use 0 to 1
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: .nan}",
        r#"
        retry_config: refused
        error[wrong-type] at ".nan": jitter_factor: `.nan`; use a number from 0 to 1
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: .inf}",
        r#"
        retry_config: refused
        error[wrong-type] at ".inf": jitter_factor: `.inf`; use a number from 0 to 1
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 1e400}",
        r#"
        retry_config: refused
        error[wrong-type] at "1e400": jitter_factor: `1e400` is not a plain decimal; use a number from 0 to 1
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 1e-1}",
        r#"
        retry_config: refused
        error[wrong-type] at "1e-1": jitter_factor: `1e-1` is not a plain decimal; use a number from 0 to 1
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 0.1234567891}",
        r#"
        retry_config: refused
        error[too-many-digits] at "0.1234567891": jitter_factor: `0.1234567891` is too fine; use at most nine digits after the point
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: '0.5'}",
        r#"
        retry_config: refused
        error[wrong-type] at "'0.5'": jitter_factor: `'0.5'`; use a number from 0 to 1
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: null}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": jitter_factor: this is nothing; use a number from 0 to 1
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: true, jitter_factor: 25%}",
        r#"
        retry_config: refused
        error[wrong-type] at "25%": jitter_factor: `25%`; use a number from 0 to 1
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: 1}",
        r#"
        retry_config: refused
        error[wrong-type] at "1": jitter: `1`; use true or false
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: full}",
        r#"
        retry_config: refused
        error[wrong-type] at "full": jitter: `full`; use true or false
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: null}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": jitter: this is nothing; use true or false
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: 'true'}",
        r#"
        retry_config: refused
        error[wrong-type] at "'true'": jitter: `'true'`; use true or false
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: yes}",
        r#"
        retry_config: refused
        error[wrong-type] at "yes": jitter: `yes`; use true or false
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter_factor: 0.5}",
        r#"
        retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s
        warning[unused-option] at "jitter_factor": `jitter_factor` has no effect here: jitter is off; write jitter: true
    "#,
    );
    check(
        Yaml,
        "retry_config: {jitter: false, jitter_factor: 2}",
        r#"
        retry_config: refused
        warning[unused-option] at "jitter_factor": `jitter_factor` has no effect here: jitter is off; write jitter: true
        error[jitter-out-of-range] at "2": jitter_factor: `2` is out of range; use 0 to 1 (0.25 is plus or minus 25%)
    "#,
    );
}

#[test]
fn a_retry_budget_is_the_sum_of_the_waits() {
    check(
        Yaml,
        "retry_config: {attempts: 5, retry_budget: 5m}",
        "retry_config: attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, wait_budget: 5min",
    );
    check(
        Yaml,
        "retry_config: {attempts: 5, retry_budget: 0s}",
        r#"
        retry_config: attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, wait_budget: 0s
        warning[attempts-past-deadline] at "0s": attempts 2 to 5 can never start: the wait budget of 0s is spent in the wait after attempt 1 at the latest
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 5, retry_budget: null}",
        "retry_config: attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {attempts: 5, retry_budget: 5}",
        r#"
        retry_config: refused
        error[missing-unit] at "5": retry_budget: `5` has no unit; write "5s" or "5ms"
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 5, retry_budget: {secs: 4}}",
        r#"
        retry_config: attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, wait_budget: 4s
        warning[attempts-past-deadline] at "{secs: 4}": attempts 4 to 5 can never start: the wait budget of 4s is spent in the wait after attempt 3 at the latest
    "#,
    );
}

#[test]
fn rules_are_matchers() {
    check(
        Yaml,
        "retry_config: {retry_on: []}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s",
    );
    check(
        Yaml,
        "retry_config: {retry_on: [network, timeout, server_error, rate_limit]}",
        "retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, retry_on: [network, timeout, server_error, rate_limit]",
    );
    check(
        Yaml,
        "retry_config: {retry_on: [{pattern: 'reset by (peer|host)'}]}",
        r#"retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, retry_on: [pattern: "reset by (peer|host)"]"#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [{pattern: ''}]}",
        r#"retry_config: attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, retry_on: [pattern: ""]"#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: network}",
        r#"
        retry_config: refused
        error[wrong-type] at "network": retry_on: `network`; use a list such as [network, timeout, {pattern: "reset by peer"}]
    "#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: null}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": retry_on: this is nothing; use a list such as [network, timeout, {pattern: "reset by peer"}]
    "#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [netwrk]}",
        r#"
        retry_config: refused
        error[wrong-type] at "netwrk": retry_on: `netwrk` is not known; did you mean `network`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [Network]}",
        r#"
        retry_config: refused
        error[wrong-type] at "Network": retry_on: `Network` is not known; did you mean `network`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [5]}",
        r#"
        retry_config: refused
        error[wrong-type] at "5": retry_on: `5`; use network, timeout, server_error, rate_limit or {pattern: "…"}
    "#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [null]}",
        r#"
        retry_config: refused
        error[wrong-type] at "null": retry_on: this is nothing; use network, timeout, server_error, rate_limit or {pattern: "…"}
    "#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [{patern: x}]}",
        r#"
        retry_config: refused
        error[wrong-type] at "{patern: x}": retry_on: this is a map; use network, timeout, server_error, rate_limit or {pattern: "…"}
    "#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [{pattern: 5}]}",
        r#"
        retry_config: refused
        error[wrong-type] at "{pattern: 5}": retry_on: this is a map; use network, timeout, server_error, rate_limit or {pattern: "…"}
    "#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [{pattern: '('}]}",
        r#"
        retry_config: refused
        error[bad-pattern] at "'('": `(` is not a regular expression: unclosed group
    "#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [{pattern: a, b: c}]}",
        r#"
        retry_config: refused
        error[wrong-type] at "{pattern: a, b: c}": retry_on: this is a map; use network, timeout, server_error, rate_limit or {pattern: "…"}
    "#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [[network]]}",
        r#"
        retry_config: refused
        error[wrong-type] at "[network]": retry_on: this is a list; use network, timeout, server_error, rate_limit or {pattern: "…"}
    "#,
    );
}

#[test]
fn a_field_is_there_once_and_has_a_known_name() {
    check(
        Yaml,
        "retry_config: {attempts: 3, attempts: 4}",
        r#"
        retry_config: refused
        error[duplicate-option] at "attempts": `attempts` is there already; write it once
    "#,
    );
    check(
        Json,
        r#"{"retry_config": {"attempts": 3, "attempts": 4}}"#,
        r#"
        retry_config: refused
        error[duplicate-option] at "\"attempts\"": `attempts` is there already; write it once
    "#,
    );
    check(
        Yaml,
        "retry_config: {attemps: 3}",
        r#"
        retry_config: refused
        error[unknown-option] at "attemps": `attemps` is not a field of retry_config; did you mean `attempts`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {max_attempts: 3}",
        r#"
        retry_config: refused
        error[unknown-option] at "max_attempts": `max_attempts` is not a field of retry_config; did you mean `attempts`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {maxAttempts: 3}",
        r#"
        retry_config: refused
        error[unknown-option] at "maxAttempts": `maxAttempts` is not a field of retry_config; did you mean `attempts`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {delay: 1s}",
        r#"
        retry_config: refused
        error[unknown-option] at "delay": `delay` is not a field of retry_config; did you mean `initial_delay`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {cap: 1s}",
        r#"
        retry_config: refused
        error[unknown-option] at "cap": `cap` is not a field of retry_config; did you mean `max_delay`?
    "#,
    );
    check(
        Yaml,
        "retry_config: {whatever: 1}",
        r#"
        retry_config: refused
        error[unknown-option] at "whatever": `whatever` is not a field of retry_config; there are attempts, initial_delay, max_delay, backoff, jitter, jitter_factor, retry_on and retry_budget
    "#,
    );
    check(
        Yaml,
        "retry_config: {attempts: 0, initial_delay: 5, jitter: 1, x: 1}",
        r#"
        retry_config: refused
        error[zero-attempts] at "0": attempts: 0 attempts would never run the operation; use 1 or more
        error[missing-unit] at "5": initial_delay: `5` has no unit; write "5s" or "5ms"
        error[wrong-type] at "1": jitter: `1`; use true or false
        error[unknown-option] at "x": `x` is not a field of retry_config; there are attempts, initial_delay, max_delay, backoff, jitter, jitter_factor, retry_on and retry_budget
    "#,
    );
}

#[test]
fn a_retry_config_is_a_map() {
    check(
        Yaml,
        "retry_config: 5",
        r#"
        retry_config: refused
        error[wrong-type] at "5": retry_config: `5`; use a map such as {attempts: 5, initial_delay: "1s"}
    "#,
    );
    check(
        Yaml,
        "retry_config: null",
        r#"
        retry_config: refused
        error[wrong-type] at "null": retry_config: this is nothing; use a map such as {attempts: 5, initial_delay: "1s"}
    "#,
    );
    check(
        Yaml,
        "retry_config: ",
        r#"
        retry_config: refused
        error[wrong-type] at "": retry_config: this is nothing; use a map such as {attempts: 5, initial_delay: "1s"}
    "#,
    );
    check(
        Yaml,
        "retry_config: [1]",
        r#"
        retry_config: refused
        error[wrong-type] at "[1]": retry_config: this is a list; use a map such as {attempts: 5, initial_delay: "1s"}
    "#,
    );
    check(
        Yaml,
        "retry_config: exponential",
        r#"
        retry_config: refused
        error[wrong-type] at "exponential": retry_config: `exponential`; use a map such as {attempts: 5, initial_delay: "1s"}
    "#,
    );
}
