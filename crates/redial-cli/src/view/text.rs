//! Text: wrapped, clipped, styled, and escaped for HTML, Markdown and GitHub.

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

use crate::visible::visible;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// The widest line of prose.
pub(crate) const READABLE: usize = 88;

/// Escaped for XML and HTML, between tags and in attributes.
pub(crate) fn escape(text: &str) -> String {
    escape_also("\"'", text)
}

/// Escaped for Markdown, also in a table.
pub(crate) fn markdown(text: &str) -> String {
    escape_also(r"|`*_~[]\$@#", text)
}

/// The text with character references for `&`, `<`, `>` and these characters.
fn escape_also(characters: &str, text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c if characters.contains(c) => escaped.push_str(&format!("&#{};", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The same as code. With a tag instead of backticks, because readers of Markdown differ in how they treat
/// backticks and bars in a table.
pub(crate) fn markdown_code(text: &str) -> String {
    format!("<code>{}</code>", markdown(text))
}

/// The message of a GitHub workflow command.
pub(crate) fn github(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a GitHub workflow command.
pub(crate) fn github_property(value: &str) -> String {
    github(value).replace(':', "%3A").replace(',', "%2C")
}

/// How many columns of a terminal the text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// As Unicode's East Asian Width has it. Characters are added up one by one, as terminals do it.
fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// About how wide the text is in a picture, in letters of twelve pixels. The font is not known; a wide one
/// is assumed, so that labels do not overlap.
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

/// As much of the text as fits, with `…` where something is missing.
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

/// The text in this style, without escape sequences where it is empty or plain.
pub(crate) fn styled(style: Style, text: &str) -> String {
    if text.is_empty() || style.is_plain() {
        return text.into();
    }
    format!("{style}{text}{style:#}")
}

/// Lines of at most `width` columns, each in this style.
pub(crate) fn paragraph(style: Style, text: &str, width: usize) -> String {
    wrap(text, width).iter().map(|line| styled(style, line.trim_end()) + "\n").collect()
}

/// Cells as text, up to the last that is not blank; neighbours of one style share an escape sequence.
pub(crate) fn runs(cells: &[(char, Style)]) -> String {
    let drawn = cells.iter().rposition(|(c, _)| *c != ' ').map_or(0, |last| last + 1);
    let runs = cells[..drawn].chunk_by(|one, other| one.1 == other.1);
    let text = |run: &[(char, Style)]| run.iter().map(|(c, _)| *c).collect::<String>();
    runs.map(|run| styled(run[0].1, &text(run))).collect()
}

/// Labels centred at these columns of a line; none where two of them would touch.
pub(crate) fn centred<'a>(
    labels: impl Iterator<Item = (usize, &'a str)>,
    width: usize,
) -> Option<String> {
    const GAP: usize = 2;
    let mut line = String::new();
    let mut used = 0;
    for (column, label) in labels {
        let length = columns(label);
        let start = column.saturating_sub(length / 2).min(width.checked_sub(length)?);
        if used > 0 && start < used + GAP {
            return None;
        }
        line.push_str(&" ".repeat(start.checked_sub(used)?));
        line.push_str(label);
        used = start + length;
    }
    Some(line)
}

/// Symbols with their meaning, as many on a line as fit; a long meaning is wrapped.
pub(crate) fn legend(entries: &[(Style, impl AsRef<str>, String)], width: usize) -> String {
    const GAP: usize = 3;
    const LINES_MOST: usize = 4;
    let mut text = String::new();
    let mut used = 0;
    for (style, sign, meaning) in entries {
        let sign = sign.as_ref();
        let indent = columns(sign) + 1;
        let room = width.saturating_sub(indent).max(1);
        let lines = wrap(&clip(meaning, room * LINES_MOST), room);
        let length = indent + lines.iter().map(|line| columns(line)).max().unwrap_or(0);
        if used > 0 && (used + GAP + length > width || lines.len() > 1) {
            text.push('\n');
            used = 0;
        }
        let gap = if used > 0 { GAP } else { 0 };
        let lines: Vec<String> = lines.iter().map(|line| styled(DIM, line.trim_end())).collect();
        let meaning = lines.join(&format!("\n{:indent$}", ""));
        text.push_str(&format!("{:gap$}{} {meaning}", "", styled(*style, sign)));
        used = if lines.len() > 1 { width } else { used + gap + length };
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_made_visible_and_escaped() {
        assert_eq!(visible("a\u{1b}[31mb\u{202e}c\0"), "a�[31mb�c�");
        assert_eq!(escape("<script>]]>&\"'\u{ffff}"), "&lt;script&gt;]]&gt;&amp;&#34;&#39;�");
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

    #[test]
    fn a_legend_fills_its_lines_and_long_meanings_go_on_below() {
        let entry = |sign: &'static str, meaning: &str| (Style::new(), sign, meaning.to_owned());
        let entries = [
            entry("A", "short"),
            entry("B", "short, too"),
            entry("C", "too long for a line of this"),
            entry("D", "end"),
        ];
        let shown = anstream::adapter::strip_str(&legend(&entries, 22)).to_string();
        assert_eq!(shown, "A short   B short, too\nC too long for a line\n  of this\nD end\n");
        assert_eq!(legend(&entries[..0], 22), "");
    }
}
