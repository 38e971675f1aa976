//! Tags of YAML: `!exponential {base: 3}` is `{exponential: {base: 3}}`; a tag that nobody knows is
//! told where it stands before something of a policy, and nowhere else.

use redial_policy::Format::Yaml;
use redial_policy::{fix, read};

use crate::shown::{check, only};

/// Refused at the tag, and nothing else is said.
#[track_caller]
fn refused(text: &str, what: &str, tag: &str) {
    let document = read(text, Yaml, None);
    let [found] = document.diagnostics() else { panic!("{text}: {:?}", document.diagnostics()) };
    assert_eq!(found.span.of(text), tag, "{text}");
    let message =
        format!("{what}: `{tag}` is a tag of YAML, which means nothing here; leave it out");
    assert_eq!((found.kind.name(), &found.message), ("wrong-type", &message), "{text}");
    let fix = found.fix.as_ref().expect("a fix");
    let mut right = text.to_owned();
    right.replace_range(fix.span.start..fix.span.end, &fix.replacement);
    assert_eq!(read(&right, Yaml, None).diagnostics(), [], "{right}");
    assert_eq!(self::fix(text, Yaml, None).1, 0, "what the tag was for is not known: {text}");
}

#[test]
fn a_tag_that_means_nothing_is_told_wherever_it_stands_in_a_policy() {
    for tag in ["!foo", "!!binary", "!<tag:example.com,2026:x>", "!foo/bar"] {
        refused(&format!("policies:\n  a:\n    retry: {tag} 4\n"), "retry", tag);
    }
    refused("policies: {a: {retry: 4, delay: !env 5s}}", "delay", "!env");
    refused("policies: {a: {retry: 4, backoff: !foo [1s, 2s, 3s, 4s]}}", "backoff", "!foo");
    refused("policies: {a: {retry: 4, backoff: [!foo 1s, 2s, 3s, 4s]}}", "backoff", "!foo");
    refused("policies: {a: {retry: 4, retry_on: [!foo network]}}", "retry_on", "!foo");
    refused("policies: {a: !foo {retry: 4}}", "a policy", "!foo");
    refused("policies: {a: !foo 'retry: 4'}", "a policy", "!foo");
    refused("policies: !foo\n  a: {retry: 4}\n", "policies", "!foo");
    refused("!foo\npolicies:\n  a: {retry: 4}\n", "a policy file", "!foo");
    refused("!foo\nretry: 4\ndelay: 5s\n", "a policy file", "!foo");
    refused("default: !foo a\npolicies: {a: {retry: 4}}", "default", "!foo");
    refused("retry_config: !foo {attempts: 4}", "retry_config", "!foo");
    refused("retry_config: {attempts: !foo 4}", "attempts", "!foo");
    refused("retry_config: {initial_delay: !foo 4s}", "the duration of initial_delay", "!foo");
    refused("retryPolicy: {maxAttempts: !foo 4}", "maxAttempts", "!foo");
}

#[test]
fn a_key_takes_no_tag() {
    check(
        Yaml,
        "policies: {a: {!foo retry: 4}}",
        r#"error[syntax] at "!foo retry": a key takes no tag; leave out `!foo`"#,
    );
}

#[test]
fn the_tags_of_the_language_change_nothing() {
    let entry = only(Yaml, "policies: {a: !!map {!!str retry: !!int 4, delay: !!str 5s}}");
    assert_eq!(entry.canonical().as_deref(), Some("attempts: 5, delay: 5s"));
}

#[test]
fn tags_elsewhere_in_a_workflow_are_none_of_ours() {
    let text = "script: !reference [.setup, script]\nkey: !!binary aGk=\nstep:\n  retry_config: \
                {attempts: 2}\n";
    assert_eq!(only(Yaml, text).name, "step.retry_config");
}
