//! What is larger or deeper than a policy file can need is refused, at once, and on a small stack.

use redial_policy::Format::{Json, Text, Toml, Yaml};
use redial_policy::{Document, Format, Kind, Matcher, TEXT_MAX, read};

const MIB: usize = 1 << 20;

/// Reads on a stack of half a megabyte, as threads of servers have.
fn read_small(text: String, format: Format) -> Document {
    let small = std::thread::Builder::new().stack_size(512 << 10);
    let thread = small.spawn(move || read(&text, format, None)).expect("a thread");
    thread.join().expect("no panic")
}

/// Asserts what there is to say first, by the start of it.
#[track_caller]
fn check(format: Format, text: String, expected: &str) {
    let start = text.chars().take(40).collect::<String>();
    let document = read_small(text, format);
    let first = document.diagnostics().first().map(ToString::to_string).unwrap_or_default();
    assert!(
        first.starts_with(expected) && first.is_empty() == expected.is_empty(),
        "{first} of {start}"
    );
}

const TOO_DEEP: &str = "error[too-large]: this is nested deeper than 64 levels";

#[test]
fn deep_nesting_is_refused() {
    check(Json, "[".repeat(MIB), TOO_DEEP);
    check(Json, "{\"a\":".repeat(MIB / 4), TOO_DEEP);
    check(Json, "[".repeat(500) + &"]".repeat(500), TOO_DEEP);
    check(Yaml, "[".repeat(MIB), TOO_DEEP);
    check(Yaml, "{a: ".repeat(MIB / 4), TOO_DEEP);
    check(Yaml, "- ".repeat(MIB / 2), TOO_DEEP);
    check(Yaml, "? ".repeat(MIB / 2), TOO_DEEP);
    check(Yaml, (0..1000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect(), TOO_DEEP);
    check(Toml, format!("a = {}", "[".repeat(MIB / 4)), TOO_DEEP);
    check(Toml, format!("a = {}", "{a = ".repeat(MIB / 8)), TOO_DEEP);
    check(Toml, format!("a{} = 1", ".a".repeat(MIB / 8)), TOO_DEEP);
    check(Toml, format!("[a{}]", ".a".repeat(MIB / 8)), TOO_DEEP);
    check(Toml, format!("[[a{}]]", ".a".repeat(MIB / 8)), TOO_DEEP);
}

#[test]
fn deep_scripts_are_refused() {
    for open in ["(", "[", "{", "x = A(", "x = A() with fallback: ", "A() with fallback: B("] {
        check(Text, open.repeat(MIB / 8), TOO_DEEP);
    }
}

#[test]
fn sixty_four_levels_are_read() {
    // The map of the policy is the third level.
    let nested = |levels: usize, open: &str, inside: &str, close: &str| {
        format!("{}{inside}{}", open.repeat(levels), close.repeat(levels))
    };
    let config = r#"{"retry_config": {"attempts": 3}}"#;
    for format in [Json, Yaml] {
        let deep = |levels| read_small(nested(levels, "[", config, "]"), format);
        assert_eq!(deep(61).policies().len(), 1, "{format:?}");
        assert_eq!(deep(61).diagnostics(), [], "{format:?}");
        assert_eq!(deep(64).policies().len(), 0, "{format:?}");
        assert!(deep(64).has_errors(), "{format:?}");
    }
    let calls = |levels| read_small(nested(levels, "A(", "x", ") with retry: 1"), Text);
    assert_eq!(calls(60).policies().len(), 60);
    assert!(calls(70).has_errors());
}

#[test]
fn aliases_expand_to_so_much_and_no_more() {
    let too_many = "error[too-large]: anchors and aliases expand to more than";
    let mut laughs = String::from("a0: &a0 [lol]\n");
    let mut merges = String::from("a0: &a0 {x: 1}\n");
    for at in 1..40 {
        let before = format!("*a{}", at - 1);
        laughs += &format!("a{at}: &a{at} [{}]\n", [before.as_str(); 9].join(", "));
        merges +=
            &format!("a{at}: &a{at} {{k{at}: 1, <<: [{}]}}\n", [before.as_str(); 9].join(", "));
    }
    check(Yaml, laughs, too_many);
    check(Yaml, merges, too_many);
    let wide =
        format!("a: &a {{{}}}\n", (0..2000).map(|at| format!("k{at}: 1, ")).collect::<String>());
    check(Yaml, format!("{wide}b: [{}]", "{<<: *a}, ".repeat(2000)), too_many);
    // One long string is many values too.
    let long = format!("a: &a \"{}\"\n", "x".repeat(MIB));
    check(Yaml, format!("{long}b: [{}]", "*a, ".repeat(1000)), too_many);
    let keys = format!("a: &a {{\"{}\": 1}}\n", "x".repeat(MIB));
    check(Yaml, format!("{keys}b: [{}]", "*a, ".repeat(1000)), too_many);
    check(Yaml, format!("{}x", "&a ".repeat(10)), "error[syntax]");
    let nested: String = (0..60).map(|at| format!("&a{at} [")).collect();
    check(Yaml, nested + &"x, ".repeat(50_000) + &"]".repeat(60), too_many);
}

#[test]
fn a_text_has_at_most_four_mebibytes() {
    assert_eq!(TEXT_MAX, 4 * MIB);
    for format in [Text, Yaml, Toml, Json] {
        check(format, " ".repeat(TEXT_MAX + 1), "error[too-large]: this text has 4194305 bytes");
    }
    check(Json, " ".repeat(TEXT_MAX), "warning[no-policy]");
}

#[test]
fn a_nul_is_refused_where_it_is() {
    for format in [Text, Yaml, Toml, Json] {
        let document = read_small("retry: 3\0, delay: 1s".to_owned(), format);
        assert_eq!(document.diagnostics()[0].span.start, 8, "{format:?}");
        check(format, "\0".to_owned(), "error[syntax]: there is a NUL byte here");
    }
}

#[test]
fn one_long_line_is_read() {
    let long = "a".repeat(MIB);
    let no_colon = "error[syntax]: expected a colon and a value after this name";
    check(Text, long.clone(), no_colon);
    check(Yaml, long.clone(), no_colon);
    check(Json, format!("\"{long}\""), no_colon);
    check(Toml, format!("policies.a = \"{long}\""), no_colon);
    check(Text, format!("retry: {}", "9".repeat(MIB)), "error[too-many-digits]: retry: `9999");
    check(Text, format!("delay: 1{}s", "0".repeat(MIB)), "warning[delay-without-retry]");
    check(Text, format!("{}: 1", "é".repeat(MIB / 4)), "error[unknown-option]: `ééé");
}

/// They are skipped in a loop, not by one call for each.
#[test]
fn any_number_of_comments_may_stand_before_a_value() {
    let comments = "#\n".repeat(MIB / 2);
    check(Yaml, format!("policies:\n  a: &a {comments}   {{retry: 3}}"), "");
    check(Text, format!("{comments}retry: 3,{comments}delay: 1s"), "");
    assert_eq!(Format::of("-", &format!("{comments}retry: 3,{comments}delay: 1s")), Text);
}

#[test]
fn a_clause_of_many_options_is_read_in_one_go() {
    let options = "a: 1,\n".repeat(50_000);
    check(Text, options.clone(), "error[unknown-option]: `a` is not an option");
    let block = options.replace("a: 1", "    a: 1");
    check(Yaml, format!("policies:\n  a: |\n{block}"), "error[unknown-option]: `a` is not");
    let escaped = "\\u00e9: 1,\\n".repeat(30_000);
    check(
        Json,
        format!("{{\"policies\": {{\"a\": \"{escaped}\"}}}}"),
        "error[unknown-option]: `é` is",
    );
    let document = read(&options, Text, None);
    assert_eq!(document.diagnostics().len(), 16);
    let note = document.diagnostics()[15].note.as_deref();
    assert_eq!(note, Some("and 49985 more after this one"));
}

/// A file of this many policies, each by its number.
fn policies(count: usize, policy: impl Fn(usize) -> String) -> String {
    let lines = (0..count).map(|at| format!("  p{at}: {}\n", policy(at)));
    format!("policies:\n{}", lines.collect::<String>())
}

#[test]
fn a_file_has_at_most_fifty_thousand_policies() {
    let line = |count: usize| (0..count).map(|at| format!("p{at}=''\n")).collect::<String>();
    let document = read_small(format!("[policies]\n{}", line(50_001)), Toml);
    assert_eq!(document.policies().len(), 50_000);
    let too_large: Vec<_> =
        document.diagnostics().iter().filter(|found| found.kind == Kind::TooLarge).collect();
    assert_eq!(too_large.len(), 1);
    assert_eq!(too_large[0].message, "a file holds at most 50000 policies");
}

#[test]
fn policies_extend_at_most_sixty_four_others_in_a_row() {
    let chain = |count: usize, of: &dyn Fn(usize) -> Option<usize>| {
        let text = policies(count, |at| match of(at) {
            Some(base) => format!("{{extends: p{base}}}"),
            None => "{retry: 3}".to_owned(),
        });
        read_small(text, Yaml)
    };
    // Whether the file goes up the chain or down does not matter.
    for count in [65, 66, 500] {
        let up = chain(count, &|at| at.checked_sub(1));
        let down = chain(count, &|at| (at + 1 < count).then_some(at + 1));
        for document in [up, down] {
            let refused = document.policies().filter(|entry| entry.policy.is_none()).count();
            assert_eq!(refused, count.saturating_sub(65), "{count}");
            assert_eq!(document.diagnostics().len(), usize::from(count > 65), "{count}");
            for found in document.diagnostics() {
                assert_eq!(found.message, "this extends more than 64 policies in a row");
            }
        }
    }
}

#[test]
fn a_wide_circle_is_told_once_and_briefly() {
    let count = 20_000;
    let document =
        read_small(policies(count, |at| format!("{{extends: p{}}}", (at + 1) % count)), Yaml);
    assert!(document.policies().all(|entry| entry.policy.is_none()));
    let messages: Vec<_> = document.diagnostics().iter().map(|found| &found.message).collect();
    assert_eq!(
        messages,
        ["this extends itself: p0 extends p1 extends p2 extends p3 extends p4 extends p5 \
             extends p6 extends … extends p0"],
    );
}

#[test]
fn names_that_are_not_there_are_told_without_comparing_each_with_all() {
    let document = read_small(policies(10_000, |at| format!("{{extends: pp{at}}}")), Yaml);
    assert_eq!(document.diagnostics().len(), 10_000);
    let first = &document.diagnostics()[0].message;
    assert!(first.starts_with("extends: there is no policy `pp0`; did you mean `p"), "{first}");
}

#[test]
fn what_many_policies_take_over_is_bounded() {
    let too_much = "policies inherit more than 16777216 bytes from one another";
    for base in [
        format!("{{retry: 3, retry_on: [{}]}}", "network, ".repeat(2_000)),
        format!("{{retry: 3, delay: 1{}s}}", "0".repeat(100_000)),
    ] {
        let text = policies(200, |at| match at {
            0 => base.clone(),
            _ => "{extends: p0}".to_owned(),
        });
        let document = read_small(text, Yaml);
        let last = document.diagnostics().last().map(|found| found.message.as_str());
        assert_eq!(last, Some(too_much));
        assert!(document.policies().next().is_some_and(|entry| entry.policy.is_some()));
    }
    // What is refused is taken over no further either.
    let base = format!("{{retry: 3, x: 1, delay: 1{}s}}", "0".repeat(100_000));
    let text = policies(200, |at| match at {
        0 => base.clone(),
        _ => "{extends: p0}".to_owned(),
    });
    let document = read_small(text, Yaml);
    assert_eq!(document.diagnostics().len(), 1);
    assert_eq!(document.policies().last().map(|entry| entry.clause.len()), Some(0));
    // And what is usual is far from it.
    let base = "{retry: 3, delay: 1s, backoff: exponential, jitter: full, retry_on: [network]}";
    let text =
        policies(1_000, |at| if at == 0 { base.to_owned() } else { "{extends: p0}".to_owned() });
    assert_eq!(read_small(text, Yaml).diagnostics(), []);
}

#[test]
fn patterns_are_bounded() {
    let clause = |pattern: &str| format!("retry: 3, retry_on: [pattern: '{pattern}']");
    let refused = "error[bad-pattern]";
    check(Text, clause("(a*)*b{1000}{1000}"), refused);
    check(Text, clause("((a{100}){100}){100}"), refused);
    check(Text, clause(&format!("{}{}", "(".repeat(200), ")".repeat(200))), refused);
    check(Text, clause(&"(".repeat(MIB)), refused);
    check(Text, clause(&"\\pL".repeat(MIB / 4)), refused);
    check(Text, clause("\\pL{900}"), refused);
    check(Text, clause(&"a".repeat(1025)), "error[bad-pattern]: `aaaa");
    check(Text, clause(&"a".repeat(1024)), "");
    check(Text, clause("\\w{8}-\\w+@(\\w+\\.)+\\w+"), "");
    assert!(Matcher::pattern(&"a".repeat(1025)).is_err());
}

#[test]
fn a_text_has_so_many_patterns_and_no_more() {
    let many = |count: usize, pattern: &dyn Fn(usize) -> String| {
        let patterns: Vec<_> = (0..count).map(|at| format!("pattern: '{}'", pattern(at))).collect();
        read_small(format!("retry: 3, retry_on: [{}]", patterns.join(", ")), Text)
    };
    let different = many(5_000, &|at| format!("a{at}"));
    assert_eq!(different.diagnostics().len(), 5_000 - 512);
    assert!(different.diagnostics().iter().all(|found| found.kind == Kind::TooLarge));
    assert_eq!(many(512, &|at| format!("a{at}")).diagnostics(), []);
    assert_eq!(many(5_000, &|_| "a".to_owned()).diagnostics(), []);
    let config = format!(
        "retry_config: {{retry_on: [{}]}}",
        (0..5_000).map(|at| format!("{{pattern: a{at}}}, ")).collect::<String>()
    );
    assert_eq!(read_small(config, Yaml).diagnostics().len(), 5_000 - 512);
    let file = policies(1_000, |at| format!("{{retry: 3, stop_on: [{{pattern: a{at}}}]}}"));
    assert_eq!(read_small(file, Yaml).diagnostics().len(), 1_000 - 512);
}

#[test]
fn findings_are_all_told_however_many() {
    let fields = (0..5_000).map(|at| format!("x{at}: 1, ")).collect::<String>();
    let document = read_small(format!("retry_config: {{{fields}}}"), Yaml);
    assert_eq!(document.diagnostics().len(), 5_000);
    let document = read_small("x = A() with rtry: 3\n".repeat(10_000), Text);
    assert_eq!(document.policies().len(), 10_000);
    assert_eq!(document.diagnostics().len(), 10_000);
}

#[test]
fn what_is_quoted_from_a_text_does_not_steer_a_terminal() {
    let text = "policies: {\"a\\e[31m\": {\"b\\e[0m\\n\": 1, retry_on: [\"\\e[2J\", {pattern: \"(\\a\"}]}, c: {extends: \"\\e\"}}";
    let document = read_small(text.to_owned(), Yaml);
    assert_eq!(document.diagnostics().len(), 4);
    for found in document.diagnostics() {
        assert!(!found.message.contains(char::is_control), "{:?}", found.message);
    }
}

#[test]
fn what_is_quoted_from_a_text_is_short() {
    let long = "x".repeat(100_000);
    let text = format!(
        "policies: {{{long}: {{{long}: 1, retry_on: [{long}, {{pattern: '({long}'}}], delay: {long}}}, \
         c: {{extends: {long}y}}}}"
    );
    for found in read_small(text, Yaml).diagnostics() {
        assert!(
            found.message.len() < 1000,
            "{} bytes of {}",
            found.message.len(),
            found.kind.name()
        );
    }
}
