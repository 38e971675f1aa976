//! A fix, applied to the text, removes its finding; a safe one changes nothing that runs.

use redial_core::Policy;
use redial_policy::Format::{Json, Text, Toml, Yaml};
use redial_policy::{Document, Fix, Format, read};

fn applied(text: &str, fix: &Fix) -> String {
    format!("{}{}{}", &text[..fix.span.start], fix.replacement, &text[fix.span.end..])
}

/// What the policies do: how often, the first delays, and the limits.
fn effects(document: &Document) -> Vec<impl PartialEq + std::fmt::Debug> {
    let effect = |policy: Policy| {
        let delays: Vec<_> = policy.forecasts().take(20).collect();
        (policy.attempts(), delays, policy.limit(), policy.wait_limit())
    };
    document.policies().map(|entry| (entry.policy.map(effect), entry.timeout)).collect()
}

/// Applies the fixes one after another, the last one first, and asserts what is left.
#[track_caller]
fn check(format: Format, text: &str, expected: &str) {
    let before = read(text, format, None);
    let mut fixed = text.to_owned();
    for found in before.diagnostics().iter().rev() {
        let fix = found.fix.as_ref().unwrap_or_else(|| panic!("no fix for {found}"));
        let alone = applied(text, fix);
        let after = read(&alone, format, None);
        assert!(
            after.diagnostics().len() < before.diagnostics().len(),
            "{found} stays in\n{alone}"
        );
        if found.is_warning() && fix.safe {
            assert_eq!(effects(&after), effects(&before), "{alone}");
        }
        fixed = applied(&fixed, fix);
    }
    assert_eq!(fixed, expected);
    assert_eq!(read(&fixed, format, None).diagnostics(), [], "{fixed}");
}

#[test]
fn a_misspelt_name_is_put_right() {
    check(Text, "retri: 3, dely: 1s", "retry: 3, delay: 1s");
    check(Text, "retry: 3, cap: 5s, delay: 1s", "retry: 3, max_delay: 5s, delay: 1s");
    check(
        Yaml,
        "policies: {a: {retri: 3, \"dely\": 1s}}",
        "policies: {a: {retry: 3, \"delay\": 1s}}",
    );
    check(Json, r#"{"policies": {"a": {"retri": 3}}}"#, r#"{"policies": {"a": {"retry": 3}}}"#);
    check(
        Toml,
        "policies.a = {retri = 3, 'dely' = '1s'}",
        "policies.a = {retry = 3, 'delay' = '1s'}",
    );
    check(Yaml, "retry_config: {maxAttempts: 3}", "retry_config: {attempts: 3}");
    check(Json, r#"{"retryPolicy": {"attempts": 3}}"#, r#"{"retryPolicy": {"maxAttempts": 3}}"#);
}

#[test]
fn a_misspelt_value_is_put_right() {
    check(
        Text,
        "retry: 3, delay: 1s, backoff: exponental",
        "retry: 3, delay: 1s, backoff: exponential",
    );
    check(Text, "retry: 3, delay: 1s, jitter: true", "retry: 3, delay: 1s, jitter: full");
    check(
        Yaml,
        "policies: {a: {retry: 3, delay: 1s, jitter: true}}",
        "policies: {a: {retry: 3, delay: 1s, jitter: full}}",
    );
    check(
        Json,
        r#"{"policies": {"a": {"retry": 3, "delay": "1s", "jitter": true}}}"#,
        r#"{"policies": {"a": {"retry": 3, "delay": "1s", "jitter": "full"}}}"#,
    );
    check(
        Toml,
        "policies.a = {retry = 3, delay = '1s', jitter = true}",
        "policies.a = {retry = 3, delay = '1s', jitter = \"full\"}",
    );
    check(
        Json,
        r#"{"policies": {"a": {"retry": 3, "delay": "1s", "backoff": "liner"}}}"#,
        r#"{"policies": {"a": {"retry": 3, "delay": "1s", "backoff": "linear"}}}"#,
    );
    check(Yaml, "retry_config: {backoff: exponetial}", "retry_config: {backoff: exponential}");
    check(Yaml, "retry_config: {backoff: 'fibonaci'}", "retry_config: {backoff: 'fibonacci'}");
    check(
        Yaml,
        "retry_config: {backoff: {exponetial: {base: 2}}}",
        "retry_config: {backoff: {exponential: {base: 2}}}",
    );
    check(
        Json,
        r#"{"retryPolicy": {"backoff": "linear"}}"#,
        r#"{"retryPolicy": {"backoff": "LINEAR"}}"#,
    );
}

#[test]
fn a_misspelt_matcher_is_put_right_where_it_stands() {
    check(Text, "retry: 3, retry_on: [network, timout]", "retry: 3, retry_on: [network, timeout]");
    check(
        Yaml,
        "policies: {a: 'retry: 3, stop_on: [netwrk]'}",
        "policies: {a: 'retry: 3, stop_on: [network]'}",
    );
    check(
        Json,
        r#"{"policies": {"a": "retry: 3,\t\u0020stop_on: [netwrk]"}}"#,
        r#"{"policies": {"a": "retry: 3,\t\u0020stop_on: [network]"}}"#,
    );
    check(
        Yaml,
        "retry_config: {retry_on: [\"netwrk\", timout]}",
        "retry_config: {retry_on: [\"network\", timeout]}",
    );
}

#[test]
fn a_misspelt_policy_is_put_right() {
    check(
        Yaml,
        "policies: {fetch: {retry: 3}, a: {extends: fetsh}}",
        "policies: {fetch: {retry: 3}, a: {extends: fetch}}",
    );
    check(
        Yaml,
        "default: \"fetsh\"\npolicies: {fetch: {retry: 3}}",
        "default: \"fetch\"\npolicies: {fetch: {retry: 3}}",
    );
}

#[test]
fn a_name_that_would_be_something_else_there_is_not_put_in() {
    for name in ["a: b", "true", "'x", "1", "a #b", "*a"] {
        let quoted = format!("\"{name}\"");
        let text = format!("policies: {{{quoted}: {{retry: 3}}, z: {{extends: \"{name}x\"}}}}");
        let document = read(&text, Yaml, None);
        assert_eq!(document.diagnostics().len(), 1, "{text}");
        assert_eq!(document.diagnostics()[0].fix, None, "{text}");
    }
}

#[test]
fn what_has_no_effect_is_left_out() {
    check(Text, "retry: 3, backoff: exponential", "retry: 3");
    check(Text, "backoff: exponential, retry: 3", "retry: 3");
    check(Text, "retry: 0, delay: 1s", "retry: 0");
    check(Text, "retry: 3, delay: 1s, factor: 3", "retry: 3, delay: 1s");
    check(Text, "retry: 3,", "retry: 3");
    check(
        Yaml,
        "policies: {a: 'retry: 3, delay: 1s, factor: 3'}",
        "policies: {a: 'retry: 3, delay: 1s'}",
    );
    check(
        Text,
        "x = M(y) with retry: 3, delay: 1s,\n  factor: 3\nout x",
        "x = M(y) with retry: 3, delay: 1s\nout x",
    );
}

/// The text after its fixes; the same where none is safe.
fn fixed(text: &str, format: Format) -> String {
    redial_policy::fix(text, format, None).0
}

#[test]
fn anchors_and_tags_stay_where_they_are() {
    for (text, word, right) in [
        ("policies:\n  p: &a 'attemfts: 2, delay: 1s'\n", "attemfts", "attempts"),
        ("policies:\n  p: &a \"attemfts: 2, delay: 1s\"\n", "attemfts", "attempts"),
        ("policies:\n  p: &a |\n    attemfts: 2, delay: 1s\n", "attemfts", "attempts"),
        ("policies:\n  p: &a # why\n    'attemfts: 2'\n", "attemfts", "attempts"),
        ("policies: {a: {retry: 3, &k dely: 1s}, b: {retry: 3, *k : 1s}}", "dely", "delay"),
        ("policies: {a: {retry: 3, retry_on: [&n netwrk, *n ]}}", "netwrk", "network"),
        ("policies: {a: {retry: 3, !!str dely: 1s}}", "dely", "delay"),
        (
            "retry_config:\n  initial_delay: 1s\n  backoff: !exponentail {base: 3.0}\n",
            "!exponentail",
            "!exponential",
        ),
    ] {
        let document = read(text, Format::Yaml, None);
        assert_eq!(document.diagnostics()[0].span.of(text), word, "{text}");
        let once = text.replacen(word, right, 1);
        let after = fixed(text, Format::Yaml);
        // An alias of a key that is right now needs no fix of its own.
        assert!(after == once || after == text, "{text} became {after}");
    }
    let anchored = "policies:\n  p: &a 'attemfts: 2, delay: 1s'\n";
    assert_eq!(fixed(anchored, Format::Yaml), anchored.replace("attemfts", "attempts"));
}

#[test]
fn a_guess_is_shown_and_not_applied() {
    for text in [
        "retryPolicy: {maxRetries: 2, baseDelayMs: 100}",
        "retry_config: {initial_delay: 1s, min_delay: 500ms}",
        "retryPolicy: {maxAttempts: 3, minDelayMs: 5}",
        "retryPolicy: {maxAttempts: 3, delayMs: 100}",
        "retryPolicy: {maxAttempts: 3, maxBackoff: 5}",
        "policies: {a: {times: 5}}",
        "policies: {a: 'retry: 3', A: 'retry: 3'}\ndefault: AA",
    ] {
        assert!(read(text, Format::Yaml, None).has_errors(), "{text}");
        assert_eq!(fixed(text, Format::Yaml), text);
    }
}

#[test]
fn no_name_is_put_where_it_stands_already() {
    for (text, format) in [
        ("[policies.a]\ndely = \"1s\"\ndelay = \"2s\"\nretry = 3\n", Format::Toml),
        ("{\"policies\": {\"a\": {\"retry\": \"3\", \"retrys\": 3}}}", Format::Json),
        ("retry: 3, dely: 1s, delay: 2s", Format::Text),
    ] {
        assert_eq!(fixed(text, format), text);
    }
    let both = fixed("policies: {a: {retry: 3, dealy: 1s, dely: 2s}}", Format::Yaml);
    assert_eq!(both, "policies: {a: {retry: 3, delay: 1s, dely: 2s}}");
}

#[test]
fn what_was_renamed_is_not_left_out_then() {
    let after = fixed("retry: 3, delay: 1s, backoff_factor: 3", Format::Text);
    assert_eq!(after, "retry: 3, delay: 1s, factor: 3");
}
