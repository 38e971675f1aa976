//! Sections with `Name=value` lines in them, as systemd and the AWS SDKs have them.

use crate::diagnostic::Span;

/// A line with a value.
pub(super) struct Setting<'t> {
    /// What stands in brackets above it.
    pub(super) section: &'t str,
    pub(super) name: &'t str,
    pub(super) value: &'t str,
    /// Where the value is.
    pub(super) span: Span,
}

/// The settings of a text, in order. Comments, and lines that are none, are left out.
pub(super) fn settings(text: &str) -> Vec<Setting<'_>> {
    let mut settings = Vec::new();
    let (mut section, mut start) = ("", 0);
    for line in text.split_inclusive('\n') {
        let here = start;
        start += line.len();
        let inside = line.trim();
        if inside.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = inside.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        } else if let Some((name, value)) = line.split_once('=') {
            let from = here + name.len() + 1 + (value.len() - value.trim_start().len());
            let value = value.trim();
            let span = Span { start: from, end: from + value.len() };
            settings.push(Setting { section, name: name.trim(), value, span });
        }
    }
    settings
}
