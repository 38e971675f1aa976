//! Policies in a program's own configuration.

use std::collections::{BTreeMap, HashMap};

use redial::serde::Configured;
use redial::{Policy, policy};
use serde::de::value::{Error as ValueError, MapDeserializer};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Config {
    #[serde(with = "redial::serde")]
    fetch: Policy,
    #[serde(default, with = "redial::serde::option", skip_serializing_if = "Option::is_none")]
    upload: Option<Policy>,
}

const FETCH: Policy =
    policy!("retry: 4, delay: 100ms, backoff: exponential, max_delay: 10s, jitter: full");

fn json(table: &str) -> Result<Policy, String> {
    let policy = serde_json::from_str::<Configured>(table).map_err(|error| error.to_string());
    policy.map(|Configured(policy)| policy)
}

/// The error of a table, without the line and column that serde_json adds.
fn refused(table: &str) -> String {
    let error = json(table).expect_err(table);
    error.split(" at line ").next().unwrap_or_default().to_owned()
}

#[test]
fn a_clause_and_a_table_are_read_from_toml_yaml_and_json() {
    let toml = r#"
        fetch = "retry: 4, delay: 100ms, backoff: exponential, max_delay: 10s, jitter: full"
        [upload]
        retry = 4
        jitter = "full"
        max_delay = "10s"
        backoff = "exponential"
        delay = "100ms"
    "#;
    let yaml = "
fetch: {retry: 4, delay: 100ms, backoff: exponential, max_delay: 10s, jitter: full}
upload: |
  retry: 4, delay: 100ms, # the first
  backoff: exponential, max_delay: 10s, jitter: full
";
    let json = r#"{"fetch": {"jitter": "full", "retry": 4, "delay": "100ms", "backoff": "exponential",
                   "max_delay": "10s"}, "upload": "retry: 4, delay: 100ms, backoff: exponential, max_delay: 10s, jitter: full"}"#;
    let expected = Config { fetch: FETCH, upload: Some(FETCH) };
    assert_eq!(toml::from_str::<Config>(toml).unwrap(), expected);
    assert_eq!(serde_saphyr::from_str::<Config>(yaml).unwrap(), expected);
    assert_eq!(serde_json::from_str::<Config>(json).unwrap(), expected);
}

#[test]
fn the_texts_of_environment_variables_are_numbers_too() {
    let variables =
        [("attempts", "5"), ("delay", "100ms"), ("factor", "1.5"), ("backoff", "exponential")];
    let variables = HashMap::from(variables);
    let map = MapDeserializer::<_, ValueError>::new(variables.into_iter());
    let policy = redial::serde::deserialize(map).unwrap();
    assert_eq!(policy, policy!("attempts: 5, delay: 100ms, backoff: exponential, factor: 1.5"));
}

#[test]
fn a_table_has_the_order_min_max_jitter_and_modifiers_their_own() {
    let table = r#"{"jitter": "+50%", "max_delay": "50ms", "min_delay": "1ms", "attempts": 5, "delay": "10ms", "backoff": "exponential"}"#;
    assert_eq!(
        json(table).unwrap(),
        policy!(
            allow(jitter_above_cap),
            "attempts: 5, delay: 10ms, backoff: exponential, min_delay: 1ms, max_delay: 50ms, jitter: +50%"
        ),
    );
    let modifiers = r#"{"modifiers": [{"max_delay": "50ms"}, {"jitter": "+50%"}, {"max_delay": "60ms"}], "attempts": 5, "delay": "10ms", "backoff": "exponential"}"#;
    assert_eq!(
        json(modifiers).unwrap().to_string(),
        "attempts: 5, delay: 10ms, backoff: exponential, max_delay: 50ms, jitter: +50%, max_delay: 60ms",
    );
}

#[test]
fn numbers_and_lists_are_values() {
    let list =
        json(r#"{"retry": 3, "backoff": ["1s", "3s", "7s"], "jitter": [0.5, 1.5]}"#).unwrap();
    assert_eq!(list, policy!("retry: 3, backoff: [1s, 3s, 7s], jitter: [0.5, 1.5]"));
    let unlimited = json(r#"{"attempts": "unlimited", "delay": "1s", "within": "1min"}"#).unwrap();
    assert_eq!(unlimited.attempts(), None);
    let most = json(&format!(r#"{{"attempts": {}}}"#, u32::MAX)).unwrap();
    assert_eq!(most.attempts(), Some(u32::MAX));
}

#[test]
fn an_error_names_the_diagnostic_the_value_and_what_would_be_right() {
    for (table, words) in [
        (
            r#"{"retry": 3, "dely": "1s"}"#,
            "unknown-option: `dely` is not an option; did you mean `delay`?",
        ),
        (
            r#"{"maxRetries": 3}"#,
            "unknown-option: `maxRetries` is not an option; did you mean `retry`?",
        ),
        (r#"{"retry": 3, "attempts": 3}"#, "two-counts: "),
        (r#"{"retry": 1.5}"#, "wrong-type: retry: `1.5`"),
        (r#"{"retry": -1}"#, "negative: retry: `-1`"),
        (
            r#"{"retry": 18446744073709551615}"#,
            "too-many-digits: retry: `18446744073709551615`; use at most 4294967294",
        ),
        (r#"{"attempts": 0}"#, "zero-attempts: "),
        (r#"{"retry": 3, "delay": 5}"#, "missing-unit: delay: `5`"),
        (r#"{"retry": 3, "delay": "1s", "jitter": true}"#, "wrong-type: jitter: `true`"),
        (r#"{"retry": 3, "factor": 0.5}"#, "factor-below-one: factor: `0.5`"),
        (r#"{"retry": 3, "factor": 1e300}"#, "too-many-digits: factor: `1000"),
        (r#"{"retry": 3, "timeout": "5s"}"#, "unknown-option: `timeout`"),
        (
            r#"{"retry": 3, "delay": null}"#,
            "wrong-type: delay: null is not a number, a text or a list",
        ),
        (
            r#"{"retry": 3, "backoff": [["1s"]]}"#,
            "wrong-type: backoff: a list in a list is not a number or a text",
        ),
        (r#"{"retry": 3, "retry": 4}"#, "duplicate-option: `retry`"),
        (r#"{"jitter": "full", "jitter": "equal"}"#, "duplicate-option: `jitter`"),
        (
            r#"{"jitter": "full", "modifiers": []}"#,
            "duplicate-option: `jitter` stands beside `modifiers`",
        ),
        (
            r#"{"modifiers": [{"jitter": "full"}], "modifiers": []}"#,
            "duplicate-option: `modifiers`",
        ),
        (
            r#"{"modifiers": [{}]}"#,
            "wrong-type: modifiers: an empty table is not a table with one of the keys",
        ),
        (
            r#"{"modifiers": [{"jitter": "full", "max_delay": "1s"}]}"#,
            "wrong-type: modifiers: a table with two keys is not a table with one of the keys",
        ),
        (
            r#"{"modifiers": [{"delay": "1s"}]}"#,
            "unknown-option: `delay` is not a modifier; put it beside `modifiers`",
        ),
        (
            r#"{"modifiers": [{"max_dely": "1s"}]}"#,
            "unknown-option: `max_dely` is not an option; did you mean `max_delay`?",
        ),
        (r#"{"modifiers": [{"a: 1, b": "1s"}]}"#, "syntax: a: 1, b: `1s` is not one value"),
        (
            r#"{"modifiers": {"jitter": "full"}}"#,
            "wrong-type: modifiers: a table is not a list of tables",
        ),
        (
            r#"{"modifiers": ["full"]}"#,
            "wrong-type: modifiers: `full` is not a table with one of the keys min_delay, max_delay",
        ),
        (r#"{"modifiers": [{"jitter": null}]}"#, "wrong-type: jitter: null is not a number"),
        (r#"{"delay": {"secs": 1}}"#, "wrong-type: delay: a table is not a number"),
        (r#"{"backoff": ["1s, 2s"]}"#, "syntax: backoff: `1s, 2s` is not one entry of a list"),
        (r#"{"delay": "1s, retry: 9"}"#, "syntax: delay: `1s, retry: 9` is not one value"),
        ("null", "wrong-type: null is not a policy"),
        ("[]", "wrong-type: a list is not a policy"),
        ("17", "wrong-type: `17` is not a policy: a clause such as"),
        (
            r#""retry: 3, dely: 1s, jitter: 150%""#,
            "unknown-option: `dely` is not an option; did you mean `delay`?; jitter-out-of-range: ",
        ),
    ] {
        let error = refused(table);
        assert!(error.starts_with(words), "{table}: {error}");
    }
}

#[test]
fn a_value_never_becomes_another_option() {
    for table in [
        r#"{"delay": "1s, retry: 9"}"#,
        r#"{"delay": "1s # a comment"}"#,
        r#"{"delay": ""}"#,
        r#"{"delay": "1s,"}"#,
        r#"{"delay: 1s, retry": "9"}"#,
        r#"{"": "9"}"#,
        r#"{"backoff": ["1s], retry: [9"]}"#,
        r#"{"backoff": "[1s"}"#,
        r#"{"backoff": ["1s, 2s"]}"#,
    ] {
        assert!(json(table).is_err(), "{table}");
    }
}

#[test]
fn what_is_written_is_read_again() {
    for policy in [Policy::DEFAULT, Policy::CONTENTION, FETCH] {
        let config = Config { fetch: policy, upload: None };
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(text, format!("{{\"fetch\":\"{policy}\"}}"));
        assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), config);
    }
}

#[test]
fn the_values_of_a_map_are_policies_that_a_call_takes() {
    let policies: BTreeMap<String, Configured> =
        toml::from_str("a = 'retry: 1'\nb = { attempts = 2 }").unwrap();
    for policy in policies.values() {
        let mut attempts = 0;
        let result = redial::blocking::retry(policy, || {
            attempts += 1;
            if attempts == 2 { Ok(attempts) } else { Err("not yet") }
        });
        assert_eq!(result, Ok(2));
    }
}
