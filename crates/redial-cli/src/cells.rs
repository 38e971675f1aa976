//! Text with styles, and drawings made of characters.

use anstyle::Style;

use crate::text::{clip, columns};

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

/// Signs with their meaning, as many on a line as fit.
pub(crate) fn legend(entries: &[(Style, impl AsRef<str>, String)], width: usize) -> String {
    const GAP: usize = 3;
    let mut text = String::new();
    let mut used = 0;
    for (style, sign, meaning) in entries {
        let sign = sign.as_ref();
        let length = columns(sign) + 1 + columns(meaning);
        if used > 0 && used + GAP + length > width {
            text.push('\n');
            used = 0;
        }
        let gap = if used > 0 { GAP } else { 0 };
        let meaning = clip(meaning, width.saturating_sub(columns(sign) + 1));
        let (sign, meaning) = (styled(*style, sign), styled(DIM, &meaning));
        text.push_str(&format!("{:gap$}{sign} {meaning}", ""));
        used += gap + length;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
