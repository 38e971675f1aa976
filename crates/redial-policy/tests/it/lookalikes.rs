//! Characters that look like others, or like none, are named: nobody can see them.

use redial_policy::Format::{Json, Text, Toml, Yaml};
use redial_policy::{Format, Notation, fix, read};

use crate::shown::check;

/// Every one of the findings names this character; the fix makes it right.
#[track_caller]
fn named(format: Format, text: &str, named: &str, right: &str) {
    let document = read(text, format, None);
    assert!(document.has_errors(), "{text:?}");
    for found in document.diagnostics() {
        assert_eq!((found.kind.name(), found.message.as_str()), ("syntax", named), "{text:?}");
    }
    assert_eq!(fix(text, format, None).0, right, "{text:?}");
    assert_eq!(read(right, format, None).diagnostics(), [], "{right}");
}

#[test]
fn a_space_that_is_none_is_named() {
    let no_break = "there is a no-break space (U+00A0) here; write a plain space";
    let right = "retry: 3, delay: 1s";
    for text in [
        "retry:\u{a0}3, delay: 1s",
        "retry: 3,\u{a0}delay: 1s",
        "retry: 3, delay:\u{a0}1s",
        "retry:\u{a0}3,\u{a0}delay:\u{a0}1s",
    ] {
        named(Text, text, no_break, right);
    }
    named(Text, "retry\u{a0}: 3, delay: 1s", no_break, "retry : 3, delay: 1s");
    named(Text, "retry: 3, delay: 1s\u{a0}", no_break, "retry: 3, delay: 1s ");
    let narrow = "there is a narrow no-break space (U+202F) here; write a plain space";
    named(Text, "retry: 3,\u{202f}delay: 1s", narrow, right);
    let em = "there is a typographic space (U+2003) here; write a plain space";
    named(Text, "retry: 3,\u{2003}delay: 1s", em, right);
}

#[test]
fn a_character_without_width_is_named() {
    let right = "retry: 3, delay: 1s";
    let zero = "there is a zero width space (U+200B) here; leave it out";
    for text in ["retry: 3,\u{200b} delay: 1s", "re\u{200b}try: 3, delay: 1s\u{200b}"] {
        named(Text, text, zero, right);
    }
    let mark = "there is a byte order mark (U+FEFF) here; leave it out";
    named(Text, "retry: 3, \u{feff}delay: 1s", mark, right);
    assert_eq!(read("\u{feff}retry: 3, delay: 1s", Text, None).diagnostics(), [], "at the start");
}

#[test]
fn typographic_quotes_and_full_width_characters_are_named() {
    let colon = "there is a full-width character (U+FF1A) here; write `:`";
    named(Text, "retry：3, delay: 1s", colon, "retry:3, delay: 1s");
    let comma = "there is a full-width character (U+FF0C) here; write `,`";
    named(Text, "retry: 3， delay: 1s", comma, "retry: 3, delay: 1s");
    named(Text, "retry: 3，delay: 1s", comma, "retry: 3,delay: 1s");
    check(
        Text,
        "retry: 3, retry_on: [pattern: “try, again”]",
        r#"
        : refused
        error[syntax] at "“": there is a typographic quote (U+201C) here; write `"`
        error[syntax] at "”": there is a typographic quote (U+201D) here; write `"`"#,
    );
    let (text, count) = fix("retry: 3, retry_on: [pattern: “try, again”]", Text, None);
    assert_eq!((&text[..], count), ("retry: 3, retry_on: [pattern: \"try, again\"]", 2));
}

#[test]
fn other_mistakes_are_told_beside_them() {
    check(
        Text,
        "retry:\u{a0}3, dely: 1s, jitter: 200%",
        r#"
        : refused
        error[syntax] at "\u{a0}": there is a no-break space (U+00A0) here; write a plain space
        error[unknown-option] at "dely": `dely` is not an option; did you mean `delay`?
        error[jitter-out-of-range] at "200%": jitter: `200%` is out of range; use 0% to 100%, or +0% to +1000%"#,
    );
}

#[test]
fn in_quotes_and_comments_they_are_text() {
    for text in [
        "retry: 3, # three\u{a0}times: “so”，\n delay: 1s",
        "retry: 3, delay: 1s, retry_on: [pattern: \"a\u{a0}b\u{200b}：\"]",
        "x = M(y) with retry: 3, delay: 1s, fallback: f(“x”)\n",
    ] {
        assert_eq!(read(text, Text, None).diagnostics(), [], "{text}");
    }
}

#[test]
fn in_files_they_are_named_too() {
    let no_break = "there is a no-break space (U+00A0) here; write a plain space";
    named(
        Yaml,
        "policies:\n  a: 'retry:\u{a0}3, delay: 1s'",
        no_break,
        "policies:\n  a: 'retry: 3, delay: 1s'",
    );
    named(Yaml, "retry: 3\ndelay: 1s\u{a0}", no_break, "retry: 3\ndelay: 1s ");
    // Not one of the spaces is one of YAML, so that it has no map.
    named(Yaml, "retry:\u{a0}3\ndelay:\u{a0}1s", no_break, "retry: 3\ndelay: 1s");
    named(
        Json,
        r#"{"policies": {"a": {"retry": 3, "delay": "1s\u200b"}}}"#,
        "there is a zero width space (U+200B) here; leave it out",
        r#"{"policies": {"a": {"retry": 3, "delay": "1s"}}}"#,
    );
    named(Toml, "retry = 3\ndelay = '1s\u{a0}'", no_break, "retry = 3\ndelay = '1s '");
}

#[test]
fn where_the_file_cannot_be_read_for_them_they_are_noted() {
    for (format, text, noted) in [
        (
            Yaml,
            "policies: {a: {retry\u{a0}: 3}}",
            "there is a no-break space (U+00A0) in it; write a plain space",
        ),
        (
            Yaml,
            "poli\u{200b}cies: {a: {retry: 3}}",
            "there is a zero width space (U+200B) in it; leave it out",
        ),
        (
            Yaml,
            "retry：4\ndelay: 5s",
            "there is a full-width character (U+FF1A) in line 1; write `:`",
        ),
        (Json, "{“retry”: 4}", "there is a typographic quote (U+201D) in line 1; write `\"`"),
        (
            Toml,
            "retry = 4\ndelay = “5s”",
            "there is a typographic quote (U+201D) in line 2; write `\"`",
        ),
    ] {
        let document = read(text, format, None);
        let notes: Vec<_> =
            document.diagnostics().iter().map(|found| found.note.as_deref()).collect();
        assert_eq!(notes, [Some(noted)], "{text}: {:?}", document.diagnostics());
    }
    let marked = read("\u{feff}{\"retry\": 4,}", Json, Some(Notation::File));
    assert_eq!(marked.diagnostics()[0].note, None, "the mark at the start is not the reason");
}

#[test]
fn a_quote_inside_of_a_string_of_a_file_is_not_put_in() {
    let text = r#"{"policies": {"a": "retry: 3, retry_on: [pattern: “x”]"}}"#;
    let document = read(text, Json, None);
    assert_eq!(document.diagnostics().len(), 2);
    assert!(document.diagnostics().iter().all(|found| found.fix.is_none()));
}
