//! How values are written where the engine reads them: in CEL, and in templates.

use std::fmt::Write as _;

use serde_json::Value as Json;

/// Words that CEL keeps for itself, and the roots that are not steps.
const KEPT: [&str; 23] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "true",
    "false",
    "null",
    "in",
    "has",
    "item",
];

/// A path in CEL: `inputs.query`, `` `a-b`.output ``.
pub(super) fn path(names: &[String]) -> String {
    let mut text = String::new();
    for (at, name) in names.iter().enumerate() {
        if at > 0 {
            text.push('.');
        }
        match is_plain(name) {
            true => text.push_str(name),
            false => {
                let _ = write!(text, "`{name}`");
            }
        }
    }
    text
}

fn is_plain(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !KEPT.contains(&name)
}

/// A constant in CEL.
pub(super) fn constant(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        // A negative number beside an operator would be another one.
        Json::Number(number) => match number.to_string() {
            text if text.starts_with('-') => format!("({text})"),
            text => text,
        },
        Json::String(text) => quoted(text),
        Json::Array(values) => {
            format!("[{}]", values.iter().map(constant).collect::<Vec<_>>().join(", "))
        }
        Json::Object(fields) => {
            let fields = fields.iter();
            let fields =
                fields.map(|(name, value)| format!("{}: {}", quoted(name), constant(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A text in quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for next in text.chars() {
        match next {
            '\'' => quoted.push_str("\\'"),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            next if next.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(next));
            }
            next => quoted.push(next),
        }
    }
    quoted.push('\'');
    quoted
}

/// A reference in a template.
pub(super) fn reference(names: &[String]) -> String {
    format!("${{{}}}", names.join("."))
}

/// A text that a template has as it is: before a brace, two dollars are one. `is_followed` by a reference, its last
/// dollars are before one.
pub(super) fn escaped(text: &str, is_followed: bool) -> String {
    let mut escaped = String::new();
    let mut dollars = 0;
    for next in text.chars() {
        if next == '{' {
            escaped.extend(std::iter::repeat_n('$', dollars));
        }
        dollars = if next == '$' { dollars + 1 } else { 0 };
        escaped.push(next);
    }
    if is_followed {
        escaped.extend(std::iter::repeat_n('$', dollars));
    }
    escaped
}
