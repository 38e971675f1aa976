//! A finding points at the very bytes that it is about, however the file writes them.

use redial_policy::Format::{Json, Text, Toml, Yaml};
use redial_policy::{Format, read};

/// Asserts that the findings are at what is marked, `«dely»`, and nowhere else.
#[track_caller]
fn check(format: Format, marked: &str) {
    let mut text = String::new();
    let mut places = Vec::new();
    for piece in marked.split('«') {
        match piece.split_once('»') {
            Some((word, rest)) => {
                places.push((text.len(), text.len() + word.len()));
                text.push_str(word);
                text.push_str(rest);
            }
            None => text.push_str(piece),
        }
    }
    let document = read(&text, format, None);
    let found: Vec<_> = document.diagnostics().iter().map(|found| found.span).collect();
    let shown: Vec<_> = document.diagnostics().iter().map(|found| found.span.of(&text)).collect();
    let found: Vec<_> = found.iter().map(|span| (span.start, span.end)).collect();
    assert_eq!(found, places, "{format:?}: {shown:?} in\n{text}\n{:?}", document.diagnostics());
}

#[test]
fn plain_strings_are_themselves() {
    check(Yaml, "policies:\n  a: «retry» 3, «delay» 1s\n");
    check(Yaml, "policies: {a: {retry: 3, delay: «5»}}");
    check(Yaml, "policies: {a: {retry: «3.5», «dely»: 1s}}");
    check(Yaml, "policies: {a: {retry: 3, backoff: [1s, «2x», 3s]}}");
    check(
        Yaml,
        "policies:\n  a:\n    retry: 3\n    backoff:\n      - 1s\n      - «2x»\n      - «3»\n",
    );
    check(Yaml, "retry_config:\n  attempts: «0»   # none\n");
    check(Yaml, "retry_config: {attempts: 3, «atempts»: 4}");
    check(Text, "retry: 3, «dely»: 1s");
    check(Text, "x = M(y) with retry: 3,\n  «dely»: 1s # dely\n");
}

#[test]
fn plain_strings_may_go_over_several_lines() {
    check(Yaml, "'policies':\n  a:\n    «retry» 3,\n    «delay» 1s,\n\n    «jitter» full\n");
}

#[test]
fn double_quotes_have_escapes() {
    check(Yaml, r#"policies: {a: "retry: 3, «dely»: 1s"}"#);
    check(Yaml, r#"policies: {a: "retry: 3,\t\u0020\x20«dely»: 1s"}"#);
    check(Yaml, r#"policies: {a: "retry: 3, retry_on: [pattern: \"x\\\"\"], «dely»: 1s"}"#);
    check(Yaml, r#"policies: {a: "retry: 3, «del\u0069»: 1s"}"#);
    check(Yaml, r#"policies: {a: "retry: 3, «\u0064\x65l\U00000069»: 1s"}"#);
    check(Yaml, r#"policies: {a: "retry: 3, «d\u00e9ly»: 1s, delay: «1\u00b5»"}"#);
    check(Yaml, "policies:\n  a: \"retry: 3, \\\n    «dely»: 1s,\n\n    «jiter»: full\"\n");
    check(Yaml, "policies:\n  a: \"retry: 3, \\\r\n    «dely»: 1s,\r\n\r\n    «jiter»: full\"\r\n");
    check(Yaml, r#"policies: {a: {retry: 3, delay: "«5»"}}"#);
    check(Yaml, r#"policies: {a: {retry: 3, backoff: ["1s", "«2\u0078»"]}}"#);
}

#[test]
fn single_quotes_are_doubled() {
    check(Yaml, "policies: {a: 'retry: 3, «dely»: 1s'}");
    check(Yaml, "policies: {a: 'retry: 3, retry_on: [pattern: ''x''], «dely»: 1s'}");
    check(Yaml, "policies: {a: 'retry: 3, retry_on: [pattern: \"''''\"], «dely»: 1s'}");
    check(Yaml, "policies:\n  a: 'retry: 3,\n\n    «dely»: 1s'\n");
    // A string that begins with a quote is not one in three quotes.
    check(Yaml, "policies: {a: '«'''': 3», «dely»: 1s'}");
}

#[test]
fn blocks_are_indented() {
    check(Yaml, "policies:\n  a: |\n    retry: 3,\n    «dely»: 1s\n");
    check(Yaml, "policies:\n  a: |-\n    retry: 3,\n      «dely»: 1s,\n\n    «jiter»: full\n\n");
    check(Yaml, "policies:\n  a: |2+ # dely\n     retry: 3,\n    «dely»: 1s\n");
    check(Yaml, "policies:\n  a: >\n    retry: 3,\n    «dely»: 1s,\n\n    «jiter»: full\n");
    check(Yaml, "policies:\n  a: >-\n    retry: 3,\n    \n    «dely»: 1s\n");
    check(Yaml, "policies:\r\n  a: |\r\n    retry: 3,\r\n    «dely»: 1s\r\n");
    check(Yaml, "policies:\r\n  a: >\r\n    retry: 3,\r\n    «dely»: 1s\r\n");
}

#[test]
fn toml_has_four_kinds_of_strings() {
    check(Toml, "policies.a = \"retry: 3, «dely»: 1s\"");
    check(Toml, "policies.a = \"retry: 3,\\t\\u0020«d\\u00e9ly»: 1s\"");
    check(Toml, "policies.a = \"retry: 3, «\\U00000064ely»: 1s\"");
    check(Toml, "policies.a = 'retry: 3, retry_on: [pattern: \"\\\\\"], «dely»: 1s'");
    check(Toml, "policies.a = \"\"\"\nretry: 3,\n«dely»: 1s\"\"\"");
    check(
        Toml,
        "policies.a = \"\"\"\nretry: 3, \\  \n\n   «dely»: 1s, retry_on: [pattern: \"\"]\"\"\"",
    );
    check(Toml, "policies.a = '''\nretry: 3, retry_on: [pattern: ''],\n«dely»: 1s'''");
    check(Toml, "policies.a = '''\r\nretry: 3,\r\n«dely»: 1s'''\r\n");
    check(Toml, "policies.a = \"\"\"\r\nretry: 3, \\\r\n  «dely»: 1s\"\"\"\r\n");
}

#[test]
fn toml_tables_are_known_by_their_fields() {
    check(Toml, "[policies.a]\nretry = 3\ndelay = \"«5»\"\n\n[policies.b]\n«retri» = 3\n");
    check(Toml, "[policies.a]\nretry = «3.5»\nbackoff = [\"1s\", \"«2x»\"]\n");
    check(Toml, "[[steps]]\n[steps.retry_config]\nattempts = «0x0»\n");
    check(Toml, "[policies.a]\nretry = «1_2.5»\n");
}

#[test]
fn json_escapes_halves_of_characters() {
    check(Json, r#"{"policies": {"a": "retry: 3, «dely»: 1s"}}"#);
    check(Json, r#"{"policies": {"a": "retry: 3,\n\t\u0020«d\u00e9ly»: 1s"}}"#);
    check(Json, r#"{"policies": {"a": "«\ud83d\ude00dely»: 1s, «jiter»: full"}}"#);
    check(Json, r#"{"policies": {"a": "«dely\ud83d\ude00»: 1s, «\ud83d\ude00» full"}}"#);
    check(Json, r#"{"policies": {"a": "retry: 3, retry_on: [pattern: \"\\\\\"], «dely»: 1s"}}"#);
    check(Json, r#"{"policies": {"a": {"retry": 3, «"dely"»: "1s", "delay": "«5»"}}}"#);
    check(Json, r#"{"policies": {"a": {"retry": 2, «"backoff": ["1s", "2s",  "3s"]»}}}"#);
    check(Json, r#"{"policies": {"a": {"retry": 3, "delay": "1s", "jitter": «[2, 1]»}}}"#);
}

#[test]
fn what_is_before_it_may_have_any_characters() {
    for before in ["# é 😀 ü\n", "\u{feff}", "\u{feff}# 😀\r\n", "# \u{2028}\u{85}\n"] {
        check(Yaml, &format!("{before}policies: {{a: 'retry: 3, «dély»: 1s', é: '«ü»: 1'}}"));
        check(Toml, &format!("{before}policies.a = 'retry: 3, «dély»: 1s'").replace('\u{85}', ""));
        check(Text, &format!("{before}é = M(ü) with retry: 3, «dély»: 1s"));
    }
    check(Yaml, &format!("é: {}\n---\nretry_config: {{attempts: «0»}}", "😀".repeat(200)));
    check(Json, "\u{feff}{\"é\": \"😀\", \"retryPolicy\": {\"maxAttempts\": «0»}}");
    check(Json, "\r\n{\"é\": \"😀\",\r\n \"retryPolicy\": {\"maxAttempts\": «0»}}\r\n");
}

#[test]
fn matchers_and_patterns_are_pointed_at() {
    check(Text, "retry: 3, retry_on: [network, «netwrk»], stop_on: [pattern: «\"(\"»]");
    check(Text, "retry: 3, retry_on: [ # [\n network, # '\n «netwrk» # x\n ]");
    check(
        Yaml,
        "policies: {a: 'retry: 3, retry_on: [network, «netwrk»], stop_on: [pattern: «''(''»]'}",
    );
    check(Json, r#"{"policies": {"a": "retry: 3, stop_on: [pattern: «\"(\"»]"}}"#);
    check(Yaml, "retry_config: {retry_on: [network, «\"netw\\u0072k\"», {pattern: «'('»}]}");
}

#[test]
fn what_was_never_written_is_told_of_the_first_field() {
    check(Yaml, "retry_config:\n  «initial_delay»: 60s\n  attempts: 3\n");
    check(Json, r#"{"retryPolicy": {«"baseDelayMs"»: 400000, "maxAttempts": 3}}"#);
}

#[test]
fn an_alias_is_told_of_what_it_stands_for() {
    check(Yaml, "«x»: &x {retry: 3, delay: «5»}\npolicies: {a: *x}\n");
    check(Yaml, "«x»: &x {«dely»: 5s}\npolicies: {a: {<<: *x, retry: 3}}\n");
}
