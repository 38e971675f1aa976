//! A fix, applied to the text, removes its finding; a safe one changes nothing that runs.

use redial_core::{Policy, SplitMix64};
use redial_policy::Format::{Json, Text, Toml, Yaml};
use redial_policy::{Document, Entry, Fix, Format, fix, fixable, overlay, read};
use redial_seeds::{Dice, Draw, each_case};

use crate::random::{document, flags, mutated};

fn applied(text: &str, fix: &Fix) -> String {
    format!("{}{}{}", &text[..fix.span.start], fix.replacement, &text[fix.span.end..])
}

/// What the policies do: how often, the first delays, and the limits.
fn effects(document: &Document) -> Vec<impl PartialEq + std::fmt::Debug> {
    let effect = |policy: Policy| {
        let delays: Vec<_> = policy.forecasts().take(20).collect();
        (policy.attempts(), delays, policy.get_within(), policy.get_wait_budget())
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

/// What a policy lacks is for its writer to say, or for the flags and the policies that use it: no
/// fix takes the rest away.
#[test]
fn what_waits_for_another_option_is_never_left_out() {
    for text in [
        "delay: 5s",
        "retry: 0, delay: 1s",
        "retry: 3, backoff: exponential",
        "retry: 3, delay: 1s, backoff: []",
        "delay: 5s, backoff: exponential",
        "x = M(y) with delay: 5s, backoff: exponential",
    ] {
        let document = read(text, Text, None);
        assert!(!document.diagnostics().is_empty(), "{text}");
        for found in document.diagnostics() {
            assert!(found.fix.as_ref().is_none_or(|fix| !fix.safe), "{found} in {text}");
        }
        assert_eq!(fixed(text, Text), text);
    }
    assert_eq!(read("retry: 3, backoff: linear, increment: 2s", Text, None).diagnostics(), []);
}

#[test]
fn a_fix_that_only_brings_up_another_error_is_not_applied() {
    // The two names are both meant to be one option, which a clause has once.
    let (text, count) = fix("retry: 3, dely: 1s, dealy: 2s", Text, None);
    assert_eq!((text.as_str(), count), ("retry: 3, delay: 1s, dealy: 2s", 1));
    let (text, count) = fix("retri: 3, dely: 1", Text, None);
    assert_eq!((text.as_str(), count), ("retry: 3, dely: 1", 1));
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

/// What a policy does with the flags of `redial run` laid over it: the delays of a seeded call and
/// the limits, or nothing where it is refused.
fn runs_with(entry: &Entry, flags: &[(&str, &str)]) -> Option<String> {
    entry.policy?;
    let clause = overlay(&entry.clause, flags.iter().copied()).ok()?;
    let document = read(&clause, Text, None);
    let entry = document.policies().next()?;
    let policy = entry.policy?;
    let delays: Vec<_> = policy.delays(SplitMix64::new(7)).take(20).collect();
    let limits = (policy.attempts(), policy.get_within(), policy.get_wait_budget(), entry.timeout);
    Some(format!("{delays:?} {limits:?} {:?} {:?}", entry.retry_on, entry.stop_on))
}

/// A text with policies, and every other time something happened to it.
fn written(dice: &mut Dice) -> (String, Format) {
    let (text, format) = document(dice);
    if dice.one_in(2) { (mutated(dice, &text), format) } else { (text, format) }
}

/// What a drawing promises of `redial check --fix` comes from [`fixable`].
#[test]
fn a_fix_that_is_promised_is_applied_and_removes_its_finding() {
    let promised_in_all = std::cell::Cell::new(0);
    each_case(2_000, |dice| {
        let (text, format) = written(dice);
        let before = read(&text, format, None);
        let promised = fixable(&text, &before, format, None);
        let (fixed, applied) = fix(&text, format, None);
        assert!(applied >= promised.len(), "{applied} of {promised:?}\n{text}");
        let after = read(&fixed, format, None);
        let said = |document: &Document, words: &str| {
            document.diagnostics().iter().filter(|found| found.to_string() == words).count()
        };
        for found in before.diagnostics() {
            if found.fix.as_ref().is_some_and(|fix| promised.contains(fix)) {
                let words = found.to_string();
                assert!(said(&after, &words) < said(&before, &words), "{words}\n{text}\n{fixed}");
                promised_in_all.set(promised_in_all.get() + 1);
            }
        }
    });
    let is_alone = redial_seeds::asked().is_some();
    assert!(is_alone || promised_in_all.get() > 250, "{promised_in_all:?} fixes were tried");
}

#[test]
fn a_text_that_was_fixed_runs_as_it_did_before() {
    each_case(4_000, |dice| {
        let (text, format) = written(dice);
        let (after, applied) = fix(&text, format, None);
        if applied == 0 {
            assert_eq!(after, text);
            return;
        }
        let (old, new) = (read(&text, format, None), read(&after, format, None));
        assert_eq!(old.default_name().is_some(), new.default_name().is_some());
        for entry in old.policies().filter(|entry| entry.policy.is_some()) {
            // A script may have several of one name: the one as far from the start is meant.
            let same = |other: &&Entry| other.name == entry.name;
            let nth = old.policies().filter(same).take_while(|other| other.span != entry.span);
            let fixed = new.policies().filter(same).nth(nth.count());
            let fixed = fixed.unwrap_or_else(|| panic!("`{}` is gone:\n{after}", entry.name));
            for flags in [vec![], vec![("attempts", "4")], flags(dice)] {
                assert_eq!(
                    runs_with(fixed, &flags),
                    runs_with(entry, &flags),
                    "`{}` with {flags:?}:\n{text}\n-- became --\n{after}",
                    entry.name,
                );
            }
        }
    });
}
