//! Text from elsewhere that steers no terminal, turns no line round and breaks no page.

/// The text with a sign in the place of every character that would do harm.
pub(crate) fn visible(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The same for lines that are drawn with pointers under them: every byte stays in its place, and
/// what the drawing itself takes care of stays as it is.
pub(crate) fn visible_in_place(text: &str) -> String {
    let shown = |c: char| match c.len_utf8() {
        2 if c.is_control() => '·',
        3 if turns(c) => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    text.chars().map(shown).collect()
}

/// Moves a cursor, ends a line, turns the direction of reading, or has no place in XML.
fn is_harmful(c: char) -> bool {
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    c.is_control() || turns(c) || separates || matches!(c, '\u{fffe}' | '\u{ffff}')
}

fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
