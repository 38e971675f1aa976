//! A small tree as YAML, TOML or JSON, for people to read.

use crate::Format;

/// What is written.
pub(crate) enum Tree {
    /// A string.
    Text(String),
    /// A number or a boolean.
    Bare(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Tree {
    pub(crate) fn map<'k>(fields: impl IntoIterator<Item = (&'k str, Self)>) -> Self {
        Self::Map(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn bare(text: impl ToString) -> Self {
        Self::Bare(text.to_string())
    }

    fn is_scalar(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Bare(_))
    }
}

pub(super) fn text(tree: &Tree, format: Format) -> String {
    match format {
        Format::Json => json(tree, 0) + "\n",
        Format::Toml => toml(tree),
        Format::Yaml | Format::Text => yaml(tree),
    }
}

fn json(tree: &Tree, depth: usize) -> String {
    let indent = "  ".repeat(depth + 1);
    let end = "  ".repeat(depth);
    match tree {
        Tree::Text(text) => quoted(text),
        Tree::Bare(bare) => bare.clone(),
        Tree::List(items) => {
            let items: Vec<_> = items.iter().map(|item| json(item, depth)).collect();
            format!("[{}]", items.join(", "))
        }
        Tree::Map(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{indent}{}: {}", quoted(key), json(value, depth + 1)));
            format!("{{\n{}\n{end}}}", fields.collect::<Vec<_>>().join(",\n"))
        }
    }
}

fn yaml(tree: &Tree) -> String {
    let mut text = String::new();
    if let Tree::Map(fields) = tree {
        yaml_fields(fields, 0, &mut text);
    }
    text
}

fn yaml_fields(fields: &[(String, Tree)], depth: usize, text: &mut String) {
    for (key, value) in fields {
        let indent = "  ".repeat(depth);
        *text += &format!("{indent}{}:", key_for(key));
        match value {
            Tree::Map(fields) if !fields.is_empty() => {
                text.push('\n');
                yaml_fields(fields, depth + 1, text);
            }
            _ => *text += &format!(" {}\n", flow(value, ": ")),
        }
    }
}

/// On one line, which YAML and TOML write alike but for what separates a key from its value.
fn flow(tree: &Tree, separator: &str) -> String {
    match tree {
        Tree::Text(text) => quoted(text),
        Tree::Bare(bare) => bare.clone(),
        Tree::List(items) => {
            let items: Vec<_> = items.iter().map(|item| flow(item, separator)).collect();
            format!("[{}]", items.join(", "))
        }
        Tree::Map(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                format!("{}{separator}{}", key_for(key), flow(value, separator))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

fn toml(tree: &Tree) -> String {
    let mut text = String::new();
    if let Tree::Map(fields) = tree {
        toml_table(fields, "", &mut text);
    }
    text
}

/// Plain keys come before tables, as TOML requires.
fn toml_table(fields: &[(String, Tree)], path: &str, text: &mut String) {
    let is_table = |value: &Tree| matches!(value, Tree::Map(fields) if !fields.iter().all(|(_, value)| value.is_scalar()) || path.is_empty() || path == "policies");
    let (tables, plain): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_table(value));
    if !plain.is_empty() && !path.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n" };
        *text += &format!("{gap}[{path}]\n");
    }
    for (key, value) in plain {
        *text += &format!("{} = {}\n", key_for(key), flow(value, " = "));
    }
    for (key, value) in tables {
        let key = key_for(key);
        let path = if path.is_empty() { key } else { format!("{path}.{key}") };
        match value {
            Tree::Map(fields) if fields.is_empty() => *text += &format!("\n[{path}]\n"),
            Tree::Map(fields) => toml_table(fields, &path, text),
            _ => {}
        }
    }
}

/// A key, in quotes unless every format reads it without.
fn key_for(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let starts = key.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let word = ["null", "true", "false", "y", "n", "yes", "no", "on", "off"];
    let reserved = word.contains(&key.to_ascii_lowercase().as_str());
    if starts && !reserved && key.bytes().all(plain) { key.to_owned() } else { quoted(key) }
}

/// In double quotes, with escapes that JSON, YAML and TOML read alike.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\r' => quoted += "\\r",
            '\t' => quoted += "\\t",
            other if needs_escape(other) => {
                let mut units = [0; 2];
                for unit in other.encode_utf16(&mut units) {
                    quoted += &format!("\\u{unit:04x}");
                }
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

/// Characters that YAML does not allow or breaks lines at. All are in the Basic Multilingual Plane.
fn needs_escape(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
