//! Which errors a matcher matches, and how it is written.

use redial_policy::Format::{Text, Yaml};
use redial_policy::Matcher;

use crate::shown::{check, only};

#[track_caller]
fn matches(matcher: &Matcher, errors: &[&str]) {
    for error in errors {
        assert!(matcher.matches(error, false), "{matcher} should match {error:?}");
    }
}

#[track_caller]
fn passes_over(matcher: &Matcher, errors: &[&str]) {
    for error in errors {
        assert!(!matcher.matches(error, false), "{matcher} should not match {error:?}");
    }
}

#[test]
fn network_is_four_words_in_any_case() {
    let matcher = Matcher::Network;
    matches(
        &matcher,
        &["network", "Connection reset", "REFUSED", "host unreachable", "Networking"],
    );
    passes_over(&matcher, &["", "timeout", "connexion", "net work"]);
}

#[test]
fn timeout_is_two_words_or_a_real_one() {
    let matcher = Matcher::Timeout;
    matches(&matcher, &["timeout", "Read TimeOut", "operation timed out"]);
    passes_over(&matcher, &["", "time out", "timed  out"]);
    assert!(matcher.matches("", true));
    for other in [Matcher::Network, Matcher::ServerError, Matcher::RateLimit] {
        assert!(!other.matches("", true), "{other}");
    }
}

#[test]
fn a_number_is_a_whole_word() {
    matches(
        &Matcher::ServerError,
        &["500", "HTTP 502", "(503)", "504: x", "Internal SERVER ERROR"],
    );
    passes_over(
        &Matcher::ServerError,
        &["501", "1500ms", "500ms", "5000", "a500", "500_", "é500", "505"],
    );
    matches(&Matcher::RateLimit, &["429", "Rate Limit exceeded", "too many requests", "[429]"]);
    passes_over(&Matcher::RateLimit, &["4290", "429ms", "rate-limit", "ratelimit"]);
}

#[test]
fn a_pattern_minds_the_case_and_may_match_anywhere() {
    let reset = Matcher::pattern("reset by (peer|host)").expect("a pattern");
    matches(&reset, &["reset by peer", "connection reset by host!"]);
    passes_over(&reset, &["Reset by peer", "reset by us", ""]);
    matches(&Matcher::pattern("(?i)RESET").expect("a pattern"), &["reset", "ReSet"]);
    matches(&Matcher::pattern("").expect("a pattern"), &["", "anything"]);
}

#[test]
fn matchers_are_equal_where_they_are_written_alike() {
    let pattern = |text| Matcher::pattern(text).expect(text);
    assert_eq!(pattern("a"), pattern("a"));
    assert_ne!(pattern("a"), pattern("b"));
    assert_ne!(pattern("network"), Matcher::Network);
    for name in ["network", "timeout", "server_error", "rate_limit"] {
        assert_eq!(Matcher::named(name).expect(name).to_string(), name);
    }
    for name in ["", "Network", "network ", "pattern", "server-error"] {
        assert_eq!(Matcher::named(name), None, "{name}");
    }
}

/// A pattern, written in a clause and read again, is the same.
#[track_caller]
fn reads_back(pattern: &str, written: &str) {
    let matcher = Matcher::pattern(pattern).expect(pattern);
    assert_eq!(matcher.to_string(), written);
    let clause = format!("retry: 3, stop_on: [{matcher}, network]");
    let entry = only(Text, &clause);
    assert_eq!(entry.stop_on, [matcher.clone(), Matcher::Network], "{clause}");
    for error in ["\"", "'", "\\", "\\\"", "\\x22", "\"'", "\\'", "\0", "a", ",", "]", "#", "\n"] {
        let again = &entry.stop_on[0];
        assert_eq!(
            again.matches(error, false),
            matcher.matches(error, false),
            "{error:?} {clause}"
        );
    }
}

#[test]
fn a_pattern_with_quotes_reads_back() {
    reads_back("", r#"pattern: """#);
    reads_back("a, b] # c", r#"pattern: "a, b] # c""#);
    reads_back(r#"say "hi""#, r#"pattern: 'say "hi"'"#);
    reads_back("it's", r#"pattern: "it's""#);
    reads_back(r#"^["']$"#, r#"pattern: "^[\x22']$""#);
    reads_back(r#"^'?\"$"#, r#"pattern: "^'?\x22$""#);
    reads_back(r#"^'?\\"$"#, r#"pattern: "^'?\\\x22$""#);
    reads_back(r#"^\\"$"#, r#"pattern: '^\\"$'"#);
    reads_back(r"^\\$", r#"pattern: "^\\$""#);
    reads_back("^\0$", r#"pattern: "^\x00$""#);
    reads_back("^\n$", "pattern: \"^\n$\"");
}

#[test]
fn rules_in_a_clause_are_a_list_or_one() {
    check(Text, "retry: 3, retry_on: network", ": attempts: 4, retry_on: [network]");
    check(Text, "retry: 3, retry_on: []", ": attempts: 4");
    check(Text, "retry: 3, retry_on: [ ]", ": attempts: 4");
    check(
        Text,
        "retry: 3, retry_on: [network,timeout]",
        ": attempts: 4, retry_on: [network, timeout]",
    );
    check(
        Text,
        "retry: 3, retry_on: pattern: 'a, b'",
        r#": attempts: 4, retry_on: [pattern: "a, b"]"#,
    );
    check(
        Text,
        "retry: 3, retry_on: [network, network]",
        ": attempts: 4, retry_on: [network, network]",
    );
}

#[test]
fn comments_in_a_list_of_rules_are_passed_over() {
    let expected = ": attempts: 4, retry_on: [network, timeout]";
    check(Text, "retry: 3, retry_on: [network, # don't, ever\n timeout]", expected);
    check(
        Text,
        "retry: 3, retry_on: [# first\n network # one\n , # [\n timeout # two\n]",
        expected,
    );
    check(
        Text,
        "retry: 3, retry_on: [pattern: '# a']",
        r##": attempts: 4, retry_on: [pattern: "# a"]"##,
    );
}

#[test]
fn a_rule_that_is_none_is_told_what_there_is() {
    let known = "use network, timeout, server_error, rate_limit or pattern: \"…\"";
    let refused = |found: &str| format!(": refused\n{found}");
    let clause = |rules: &str| format!("retry: 3, retry_on: {rules}");
    for (rules, at, reason) in [
        ("[netwrk]", "netwrk", "`netwrk` is not known; did you mean `network`?".to_owned()),
        ("[everything]", "everything", format!("`everything` is not known; {known}")),
        ("[network,]", "", format!("`` is not known; {known}")),
        ("[,]", "", format!("`` is not known; {known}")),
        ("[pattern]", "pattern", format!("`pattern` is not known; {known}")),
        ("[pattern: x]", "x", "a pattern is written in quotes: pattern: \"x\"".to_owned()),
        (
            "[[network]]",
            "[network]",
            "`[network]` is not known; did you mean `network`?".to_owned(),
        ),
    ] {
        let found = format!("error[wrong-type] at {at:?}: retry_on: {reason}");
        let found = if rules == "[,]" { format!("{found}\n{found}") } else { found };
        check(Text, &clause(rules), &refused(&found));
    }
    check(
        Text,
        &clause("[pattern: 'a(']"),
        &refused(
            r#"error[bad-pattern] at "'a('": `a(` is not a regular expression: unclosed group"#,
        ),
    );
    check(
        Text,
        "retry: 3, stop_on: [netwrk], retry_on: [x]",
        r#"
        : refused
        error[wrong-type] at "netwrk": stop_on: `netwrk` is not known; did you mean `network`?
        error[wrong-type] at "x": retry_on: `x` is not known; use network, timeout, server_error, rate_limit or pattern: "…"
    "#,
    );
}

#[test]
fn rules_of_a_policy_that_is_extended_are_replaced_as_a_whole() {
    let text = "
policies:
  base: {retry: 3, retry_on: [network, timeout], stop_on: [{pattern: quota}]}
  more: {extends: base, retry_on: [rate_limit]}
  none: {extends: base, stop_on: []}
";
    check(
        Yaml,
        text,
        r#"
        base: attempts: 4, retry_on: [network, timeout], stop_on: [pattern: "quota"]
        more: attempts: 4, retry_on: [rate_limit], stop_on: [pattern: "quota"]
        none: attempts: 4, retry_on: [network, timeout]
    "#,
    );
}
