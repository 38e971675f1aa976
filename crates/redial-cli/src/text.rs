//! Text that fits.

use crate::visible::visible;

/// The text as it stands in XML and HTML, between tags and in attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// How many columns of a terminal the text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Near enough for the names of policies: the scripts that are written in wide characters.
fn columns_of(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// About how wide the text is in a picture, in letters of twelve pixels. Which font there will be is
/// not known; a wide one is assumed, so that what is drawn side by side stays apart.
pub(crate) fn pixels(text: &str) -> f64 {
    text.chars().map(pixels_of).sum::<usize>() as f64
}

fn pixels_of(c: char) -> usize {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' ' | '\u{2009}' => 4,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' => 5,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' => 7,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '�' => 12,
        'A'..='Z' => 9,
        c => columns_of(c) * 8,
    }
}

/// As much of the text as fits, and a sign where something is missing.
pub(crate) fn clip(text: &str, width: usize) -> String {
    clip_by(text, width, columns_of)
}

/// The same in a picture.
pub(crate) fn clip_to_pixels(text: &str, width: f64) -> String {
    clip_by(text, width.max(0.0) as usize, pixels_of)
}

fn clip_by(text: &str, width: usize, width_of: fn(char) -> usize) -> String {
    if text.chars().map(width_of).sum::<usize>() <= width {
        return text.into();
    }
    let room = width.saturating_sub(width_of('…'));
    let mut used = 0;
    let fits = |c: &char| {
        used += width_of(*c);
        used <= room
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// The text at the right of so many columns.
pub(crate) fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// The text at the left of so many columns.
pub(crate) fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// The text in lines of at most `width` columns, broken between words, and inside of a word only
/// where the word is longer than a line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    wrap_by(text, width, columns_of)
}

/// The same in a picture.
pub(crate) fn wrap_to_pixels(text: &str, width: f64) -> Vec<String> {
    wrap_by(text, width.max(0.0) as usize, pixels_of)
}

fn wrap_by(text: &str, width: usize, width_of: fn(char) -> usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let length: usize = word.chars().map(width_of).sum();
        if used > 0 && used + width_of(' ') + length > width {
            lines.push(String::new());
            used = 0;
        }
        if used > 0 {
            push(&mut lines, ' ');
            used += width_of(' ');
        }
        for c in word.chars() {
            if used + width_of(c) > width && used > 0 {
                lines.push(String::new());
                used = 0;
            }
            push(&mut lines, c);
            used += width_of(c);
        }
    }
    lines
}

/// A clause in lines of at most `width` columns, broken between its options where that is enough.
pub(crate) fn wrap_clause(clause: &str, width: usize) -> Vec<String> {
    const TOGETHER: &str = ":\u{a0}";
    let lines = wrap(&clause.replace(": ", TOGETHER), width);
    lines.into_iter().map(|line| line.replace(TOGETHER, ": ")).collect()
}

fn push(lines: &mut [String], c: char) {
    if let Some(line) = lines.last_mut() {
        line.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_made_visible_and_escaped() {
        assert_eq!(visible("a\u{1b}[31mb\u{202e}c\0"), "a�[31mb�c�");
        assert_eq!(escape("<script>]]>&\"'\u{ffff}"), "&lt;script&gt;]]&gt;&amp;&quot;&#39;�");
    }

    #[test]
    fn no_line_is_longer_than_asked_for() {
        assert_eq!(wrap("a policy of words", 9), ["a policy", "of words"]);
        assert_eq!(wrap("map.agent_template", 8), ["map.agen", "t_templa", "te"]);
        assert_eq!(wrap("再試行 再", 4), ["再試", "行", "再"]);
        assert_eq!(wrap("", 4), [""]);
        let width = pixels("a policy of");
        assert_eq!(wrap_to_pixels("a policy of words", width), ["a policy of", "words"]);
    }

    #[test]
    fn clipped_text_says_that_something_is_missing() {
        assert_eq!(clip("fetch", 5), "fetch");
        assert_eq!(clip("fetching", 5), "fetc…");
        assert_eq!(clip("再試行", 5), "再試…");
        assert_eq!(clip_to_pixels("fetch", pixels("fetch")), "fetch");
        assert_eq!(clip_to_pixels("fetching", pixels("fetch")), "fet…");
    }
}
