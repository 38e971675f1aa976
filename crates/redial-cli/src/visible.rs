//! Makes text from elsewhere safe to print: no escape sequences, no bidirectional controls.

/// The text with U+FFFD in the place of every harmful character.
pub(crate) fn visible(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The same for lines that are drawn with markers under them: byte offsets do not change, and what the
/// renderer escapes itself stays.
pub(crate) fn visible_in_place(text: &str) -> String {
    let shown = |c: char| match c.len_utf8() {
        2 if c.is_control() => '·',
        3 if is_bidirectional(c) => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    text.chars().map(shown).collect()
}

/// A control character, a line separator, a bidirectional control, or not allowed in XML.
fn is_harmful(c: char) -> bool {
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    c.is_control() || is_bidirectional(c) || separates || matches!(c, '\u{fffe}' | '\u{ffff}')
}

fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
