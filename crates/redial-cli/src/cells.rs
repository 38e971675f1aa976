//! Text with styles, and drawings made of characters.

use anstyle::Style;

use crate::text::{clip, columns, wrap};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// The text in this style, without escapes where they would say nothing.
pub(crate) fn styled(style: Style, text: &str) -> String {
    if text.is_empty() || style.is_plain() {
        return text.into();
    }
    format!("{style}{text}{style:#}")
}

/// Cells as text, up to the last that is not blank; neighbours of one style share its escapes.
pub(crate) fn runs(cells: &[(char, Style)]) -> String {
    let drawn = cells.iter().rposition(|(c, _)| *c != ' ').map_or(0, |last| last + 1);
    let runs = cells[..drawn].chunk_by(|one, other| one.1 == other.1);
    let text = |run: &[(char, Style)]| run.iter().map(|(c, _)| *c).collect::<String>();
    runs.map(|run| styled(run[0].1, &text(run))).collect()
}

/// Labels around these columns of a line that is so wide; none where two of them would touch.
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

/// Signs with their meaning, as many on a line as fit; a long meaning goes on below its beginning.
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
