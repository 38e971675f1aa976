//! What a text is, where nothing says it: a clause, a script, YAML, TOML, JSON; and which notation a
//! map is in.

use redial_policy::Format::{Json, Text, Toml, Yaml};
use redial_policy::{Format, Notation, read};

use crate::shown::{check, only, shown, unindented};

#[track_caller]
fn is(text: &str, format: Format) {
    assert_eq!(Format::of("-", text), format, "{text}");
    let marked = format!("\u{feff}{text}");
    assert_eq!(Format::of("policy", &marked), format, "{marked:?}");
}

#[test]
fn a_clause_is_one_over_any_number_of_lines() {
    for clause in [
        "retry: 3",
        "attempts: 5,  # the first run and four retries\ndelay: 200ms,\nbackoff: linear",
        "# why\n\nretry: 3, # so\n# and so\ndelay: 1s # short",
        "retry: 3\n, delay: 1s",
        "retry:\n  3,\ndelay: 1s",
        "    retry: 4,\n    delay: 1s",
        "retry: 3, delay: 1s,\nretry_on: [network, pattern: \"a: b # c\"]",
        "retry_on: [network,\n  pattern: \"x\"], retry: 3",
        "retry: 3,\r\ndelay: 1s\r\n",
        // What is wrong with them does not make them something else.
        "retry: 3, delay 1s,\nbackoff: linear",
        "retry: 3,\ndely: 1s",
        "atempts: 5,  # misspelt\ndelay: 1s",
        "retry: three, # times\ndelay: 1s",
        "dely: 1s, retry: 3\n# the end\n",
        "backoff: [1s,\n 3x], retry: 3",
        "retry: 3,\n",
    ] {
        is(clause, Text);
    }
    for clause in ["retry: 3, delay: 1s", "attempts: 5, # why\ndelay: 1s,\nbackoff: linear"] {
        assert_eq!(Format::of("p.yaml", clause), Text);
    }
    // Where the name says YAML, this is a map; of which notation, nothing tells.
    assert_eq!(Format::of("p.yaml", "attempts: 3 # times\n"), Yaml);
}

#[test]
fn options_on_lines_of_their_own_are_a_map() {
    for map in [
        "retry: 4\ndelay: 5s\n",
        "    retry: 4\n    delay: 5s\n",
        "retry: 4 # times\ndelay: 5s",
        "retry_on: [network, timeout]\nretry: 3",
        "retry_on: [network,\n  timeout]\nretry: 3",
        "policies:\n  a: 'retry: 3, delay: 1s'",
        "    policies:\n      a: 'retry: 3, delay: 1s'",
        "x-base: &base {retry: 3, delay: 1s}\npolicies: {a: *base}",
        "name: Deploy, and then wait\nretry_config: {attempts: 3}",
        "{retry: 4, delay: 5s}",
        "{\n  retry: 4,\n  delay: 5s\n}",
        "---\nretry: 4\n",
        "- retry_config: {attempts: 3}",
    ] {
        is(map, Yaml);
    }
    for map in
        ["{\"retry\": 4}", "{\n  \"retry\": 4\n}", "{}", "[{\"maxAttempts\": 3}]", "[\n {}\n]"]
    {
        is(map, Json);
    }
    for map in [
        "retry = 4\ndelay = \"5s\"",
        "  retry = 4\n",
        "delay = '5s'",
        "attempts = 4",
        "maxAttempts = 4",
        "x-version = 4\n[policies]\na = 'retry: 3'",
        "[policies]\na = 'retry: 3'",
        "[policies.\"a b\"]\nretry = 3",
        "[[rule]]\nif = 'exit:1'",
    ] {
        is(map, Toml);
    }
    for script in ["x = M(y) with retry: 3\nout x", "in query: String\nout query", "n = 4\nout n"] {
        is(script, Text);
    }
}

#[test]
fn a_map_of_the_names_of_a_clause_is_the_clause() {
    let expected = only(Text, "retry: 4, delay: 5s, retry_on: [network]").canonical();
    for (format, text) in [
        (Yaml, "retry: 4\ndelay: 5s\nretry_on: [network]"),
        (Yaml, "{retry: 4, delay: 5s, retry_on: [network]}"),
        (Toml, "retry = 4\ndelay = '5s'\nretry_on = ['network']"),
        (Json, r#"{"retry": 4, "delay": "5s", "retry_on": ["network"]}"#),
    ] {
        let entry = only(format, text);
        assert_eq!((&entry.name[..], entry.notation), ("", Notation::Clause), "{text}");
        assert_eq!(entry.canonical(), expected, "{text}");
        let document = read(text, format, Some(Notation::Clause));
        assert_eq!(document.diagnostics(), [], "{text}");
        assert_eq!(document.policies().next().and_then(|entry| entry.canonical()), expected);
    }
}

#[test]
fn one_name_that_only_a_clause_has_is_enough() {
    for name in ["delay", "min_delay", "within", "wait_budget", "timeout"] {
        check(
            Yaml,
            &format!("attempts: 2\n{name}: 5s"),
            &format!(": {}", only(Text, &format!("attempts: 2, {name}: 5s")).canonical().unwrap()),
        );
    }
    check(Yaml, "attempts: 2\nmodifiers: []", ": attempts: 2");
    check(
        Yaml,
        "retry: 4\ndely: 5s",
        r#"
        : refused
        error[unknown-option] at "dely": `dely` is not a field of a policy; did you mean `delay`?"#,
    );
}

/// It is the whole of a text, as a clause is: nothing else in the file could complete it.
#[test]
fn a_map_alone_is_told_what_it_lacks() {
    check(
        Yaml,
        "delay: 5s",
        r#"
        : attempts: 1, delay: 5s
        warning[delay-without-retry] at "delay: 5s": delay has no effect without a retry; have at least one, or drop the delay"#,
    );
}

#[test]
fn a_map_that_only_one_notation_accepts_is_in_that_one() {
    check(Yaml, "attempts: 2\njitter: full", ": attempts: 2, jitter: full");
    check(
        Yaml,
        "attempts: 2\njitter: true",
        ": attempts: 2, delay: 1s, backoff: exponential, max_delay: 30s, jitter: 25%",
    );
    check(Yaml, "backoff: LINEAR", ": attempts: 3, delay: 1s, backoff: linear, max_delay: 5min");
}

#[test]
fn the_notations_that_are_offered_accept_the_map() {
    for text in [
        "attempts: 5\nmax_delay: 10s\nbackoff: fixed",
        "attempts: 2",
        "retry_on: [network]\nattempts: 2",
    ] {
        let document = read(text, Yaml, None);
        let [found] = document.diagnostics() else { panic!("{}", shown(text, &document)) };
        assert_eq!(found.kind.name(), "ambiguous-dialect");
        for (dialect, notation) in [
            ("--dialect retry-config", Notation::RetryConfig),
            ("--dialect retry-policy", Notation::RetryPolicy),
            ("--dialect clause", Notation::Clause),
        ] {
            let accepts = !read(text, Yaml, Some(notation)).has_errors();
            assert_eq!(found.message.contains(dialect), accepts, "{dialect} in {}", found.message);
        }
    }
}

#[test]
fn keys_of_your_own_begin_with_x() {
    let expected = "
        a: attempts: 5, delay: 1s, jitter: full
        b: attempts: 3, delay: 1s";
    check(
        Yaml,
        "x-base: &base {retry: 4, delay: 1s}\nx-unused: {dely: 1, initial_delay: 2s}\npolicies:\n  \
         a: {<<: *base, jitter: full}\n  b: {<<: *base, retry: 2}",
        expected,
    );
    check(
        Toml,
        "x-why = 'so'\n[x-base]\nretry = 3\n[policies]\na = 'retry: 4, delay: 1s, jitter: full'\n\
         b = 'retry: 2, delay: 1s'",
        expected,
    );
    check(
        Json,
        r#"{"x-": 1, "policies": {"a": "retry: 4, delay: 1s, jitter: full", "b": "retry: 2, delay: 1s"}}"#,
        expected,
    );
}

/// A mistake in what several policies take over is one mistake.
#[test]
fn a_mistake_in_an_anchor_is_told_once() {
    let text = "x-base: &base {retry: 4, dely: 1s}\npolicies: {a: *base, b: *base, c: {<<: *base}}";
    let document = read(text, Yaml, None);
    let expected = r#"
        a: refused
        b: refused
        c: refused
        error[unknown-option] at "dely": `dely` is not a field of a policy; did you mean `delay`?"#;
    assert_eq!(unindented(&shown(text, &document)), unindented(expected));
    let (fixed, count) = redial_policy::fix(text, Yaml, None);
    assert_eq!((fixed, count), (text.replace("dely", "delay"), 1));
}
