//! A picture that moves: the screens of a recording, each row drawn once for as long as it stands there.
//!
//! Nothing in it is script, and nothing is fetched. Without animation it is the last screen; with it,
//! the last screen is also the first, since many show no more of a moving picture than that.

use std::fmt::Write;
use std::time::Duration;

use super::screens::{Frame, Run, Style};

const CELL: f64 = 8.4;
const LINE: f64 = 20.0;
const MARGIN: f64 = 16.0;
const BAR: f64 = 34.0;
/// Where a letter stands in its row.
const BASE: f64 = 14.5;

/// How long one key takes, and how long the last screen stays.
const KEY: Duration = Duration::from_millis(40);
const ENTER: Duration = Duration::from_millis(400);
const REST: Duration = Duration::from_secs(5);
/// How long it stays when the picture comes into sight.
const STILL: Duration = Duration::from_secs(3);

const STYLE: &str = "\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;fill:#e6edf3}\
.dim{fill:#9198a1}.red{fill:#ff7b72}.green{fill:#7ee787}.yellow{fill:#e3b341}.bold{font-weight:700}\
.block,.edge{fill:#c9d1d9}.shade{fill:#c9d1d9;fill-opacity:.25}.cursor{fill:#e6edf3;fill-opacity:.7}\
.paper{fill:#0d1117}.title{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#9198a1}\
.gone{visibility:hidden}";

/// A row of the screen, and the frames that show it: from one, to before another.
struct Row {
    place: usize,
    from: usize,
    to: usize,
    runs: Vec<Run>,
}

/// The command on the first row is typed; every other frame comes as long after it as it did.
pub(crate) fn draw(frames: &[Frame], title: &str, description: &str) -> String {
    let typed = length(&frames[0].rows[0]) - "$ ".len();
    let typing = KEY * typed as u32 + ENTER;
    let mut starts: Vec<_> = frames.iter().map(|frame| typing + frame.at).collect();
    starts[0] = Duration::ZERO;
    let all = *starts.last().unwrap() + REST;
    let percent = |at: Duration| rounded(at.as_secs_f64() / all.as_secs_f64() * 100.0);

    let height = frames.iter().map(|frame| frame.rows.len()).max().unwrap();
    // As far as anything is drawn, with the cursor behind it.
    let columns = frames.iter().flat_map(|frame| &frame.rows).map(|runs| length(runs)).max();
    let (width, height) = (
        (columns.unwrap() + 2) as f64 * CELL + 2.0 * MARGIN,
        BAR + height as f64 * LINE + 2.0 * MARGIN,
    );
    let (width, height) = (rounded(width), rounded(height));
    let mut keys = String::new();
    let mut spans = Vec::new();
    let mut body = String::new();

    let mut span = |from: usize, to: usize| {
        let last = to == frames.len();
        let gone = if last { "" } else { " gone" };
        if from == 0 && last {
            return String::new();
        }
        if !spans.contains(&(from, to)) {
            spans.push((from, to));
            let before = if from == 0 { "" } else { "0%{visibility:hidden}" };
            let after = match starts.get(to) {
                Some(end) => format!("{}%{{visibility:hidden}}", percent(*end)),
                None => String::new(),
            };
            let start = percent(starts[from]);
            let hold = if last { "100%{visibility:visible}" } else { "100%{visibility:hidden}" };
            writeln!(
                keys,
                "@keyframes f{from}-{to}{{{before}{start}%{{visibility:visible}}{after}{hold}}}.f{from}-{to}{{animation-name:f{from}-{to}}}",
            )
            .unwrap();
        }
        format!(" class=\"f f{from}-{to}{gone}\"")
    };

    for Row { place, from, to, runs } in rows(frames) {
        let class = span(from, to);
        write!(body, "<g data-row=\"{place}\" data-from=\"{from}\" data-to=\"{to}\"{class}>")
            .unwrap();
        draw_row(&mut body, place, &runs);
        body.push_str("</g>\n");
    }
    for (from, to, (row, column)) in cursors(frames) {
        let class = span(from, to);
        let (x, y) = (column_at(column), row_at(row));
        writeln!(body, "<g{class}><rect class=\"cursor\" x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{LINE}\"/></g>").unwrap();
    }
    // What is not typed yet is under a cover, which moves on with every key.
    let end = percent(KEY * typed as u32);
    let way = rounded(typed as f64 * CELL);
    let ran = percent(starts[1]);
    writeln!(keys, "@keyframes type{{0%{{transform:none;animation-timing-function:steps({typed})}}{end}%,100%{{transform:translateX({way}px)}}}}").unwrap();
    writeln!(keys, "@keyframes typed{{0%{{visibility:visible}}{ran}%,100%{{visibility:hidden}}}}")
        .unwrap();
    let (x, y) = (column_at(2), row_at(0));
    writeln!(body, "<g class=\"typed gone\"><g class=\"type\"><rect class=\"paper\" x=\"{x}\" y=\"{y}\" width=\"{way}\" height=\"{LINE}\"/><rect class=\"cursor\" x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{LINE}\"/></g></g>").unwrap();

    let seconds = rounded(all.as_secs_f64());
    // A delay below zero begins in the middle: with the last screen, which then stays for a while.
    let ended = rounded((all - STILL).as_secs_f64());
    let (title, description) = (escaped(title), escaped(description));
    let middle = rounded(width / 2.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{title}</title>\n\
         <desc id=\"desc\">{description}</desc>\n\
         <style>{STYLE}\n\
         @media(prefers-reduced-motion:no-preference){{\n\
         .f,.typed{{animation:{seconds}s step-end -{ended}s infinite}}.typed{{animation-name:typed}}.type{{animation:type {seconds}s -{ended}s infinite}}\n\
         {keys}}}</style>\n\
         <clipPath id=\"window\"><rect width=\"{width}\" height=\"{height}\" rx=\"10\"/></clipPath>\n\
         <g clip-path=\"url(#window)\">\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         <rect width=\"{width}\" height=\"{BAR}\" fill=\"#21262d\"/>\n\
         <circle cx=\"20\" cy=\"17\" r=\"6\" fill=\"#ff5f57\"/><circle cx=\"40\" cy=\"17\" r=\"6\" fill=\"#febc2e\"/><circle cx=\"60\" cy=\"17\" r=\"6\" fill=\"#28c840\"/>\n\
         <text class=\"title\" x=\"{middle}\" y=\"21.5\" text-anchor=\"middle\">{title}</text>\n\
         {body}</g>\n\
         <rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"9.5\" fill=\"none\" stroke=\"#3d444d\"/>\n\
         </svg>\n",
        width - 1.0,
        height - 1.0,
    )
}

/// What each frame of a picture shows, but for those with a countdown.
pub(crate) fn read(picture: &str) -> Vec<Vec<Vec<Run>>> {
    let lines = picture.lines().filter(|line| line.starts_with("<g data-row="));
    let rows: Vec<_> =
        lines.map(|line| (read_row(line), line.contains("class=\"edge\""))).collect();
    let count = rows.iter().map(|(row, _)| row.to).max().unwrap_or(0);
    let mut screens = Vec::new();
    for frame in 0..count {
        let shown = rows.iter().filter(|(row, _)| row.from <= frame && frame < row.to);
        if !shown.clone().any(|(_, counts_down)| *counts_down) {
            screens.push(shown.map(|(row, _)| row.runs.clone()).collect());
        }
    }
    screens
}

fn read_row(line: &str) -> Row {
    let attribute = |text: &str, name: &str| -> String {
        let (_, rest) = text.split_once(&format!("{name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let number = |name: &str| attribute(line, name).parse().unwrap();
    let mut runs: Vec<Run> = Vec::new();
    for text in line.split("<text ").skip(1) {
        let (start, rest) = text.split_once('>').unwrap();
        let style = Style::of(&attribute(start, "class"));
        let x: f64 = attribute(start, "x").parse().unwrap();
        let gap = ((x - MARGIN) / CELL).round() as usize - length(&runs);
        let text = plain(rest.split_once("</text>").unwrap().0);
        match runs.last_mut() {
            Some(last) => last.text += &" ".repeat(gap),
            None => assert_eq!(gap, 0, "{line}"),
        }
        match runs.last_mut() {
            Some(last) if last.style == style => last.text += &text,
            _ => runs.push(Run { text, style }),
        }
    }
    Row { place: number("data-row"), from: number("data-from"), to: number("data-to"), runs }
}

fn length(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.text.chars().count()).sum()
}

/// Every row that is not empty, for as long as it stays as it is.
fn rows(frames: &[Frame]) -> Vec<Row> {
    let height = frames.iter().map(|frame| frame.rows.len()).max().unwrap();
    let mut rows: Vec<Row> = Vec::new();
    for place in 0..height {
        let mut before: &[Run] = &[];
        for (at, frame) in frames.iter().enumerate() {
            let runs = frame.rows.get(place).map_or(&[][..], Vec::as_slice);
            if runs == before && at > 0 && !runs.is_empty() {
                rows.last_mut().unwrap().to = at + 1;
            } else if !runs.is_empty() {
                rows.push(Row { place, from: at, to: at + 1, runs: runs.to_vec() });
            }
            before = runs;
        }
    }
    rows
}

/// Where the cursor stands, for as long as it does; while the command is typed it moves with the keys.
fn cursors(frames: &[Frame]) -> Vec<(usize, usize, (u16, u16))> {
    let mut cursors: Vec<(usize, usize, (u16, u16))> = Vec::new();
    for (at, frame) in frames.iter().enumerate().skip(1) {
        match cursors.last_mut() {
            Some((_, to, place)) if *place == frame.cursor => *to = at + 1,
            _ => cursors.push((at, at + 1, frame.cursor)),
        }
    }
    cursors
}

/// Every piece at the place of its cells, whatever the font makes of it.
fn draw_row(body: &mut String, place: usize, runs: &[Run]) {
    let mut column = 0;
    for run in runs {
        for piece in pieces(&run.text) {
            let length = piece.chars().count() as u16;
            // A space is nothing but a place, and not drawn alike everywhere.
            let text = piece.trim_start();
            let before = length - text.chars().count() as u16;
            if !text.is_empty() {
                draw_piece(body, place as u16, column + before, text.trim_end(), &run.style);
            }
            column += length;
        }
    }
}

fn draw_piece(body: &mut String, row: u16, column: u16, text: &str, style: &Style) {
    let (x, y) = (column_at(column), row_at(row));
    let width = rounded(text.chars().count() as f64 * CELL);
    let rect = |class: &str, x: f64, y: f64, width: f64, height: f64| {
        format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        )
    };
    let drawn = match text.chars().next() {
        Some('█') => rect("block", x, y + 4.0, width, 12.0),
        Some('░') => rect("shade", x, y + 4.0, width, 12.0),
        Some('▕') => rect("edge", rounded(x + CELL - 1.2), y + 2.0, 1.2, 16.0),
        Some('▏') => rect("edge", x, y + 2.0, 1.2, 16.0),
        sign => {
            // A sign may be of another font, and reach into the space behind it.
            let length = match sign {
                Some(sign) if !sign.is_ascii() && sign != '·' => String::new(),
                _ => format!(" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\""),
            };
            let (y, text, class) = (rounded(y + BASE), escaped(text), style.class());
            format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{length}>{text}</text>")
        }
    };
    body.push_str(&drawn);
}

/// A text in pieces that one font has: letters, and each kind of sign; a wide gap ends one too.
fn pieces(text: &str) -> Vec<&str> {
    let kind = |c: char| if c.is_ascii() || c == '·' { 'a' } else { c };
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices().skip(1) {
        let before = text[start..at].chars().next_back();
        if before.is_some_and(|before| kind(before) != kind(c)) || text[..at].ends_with("  ") {
            pieces.push(&text[start..at]);
            start = at;
        }
    }
    pieces.push(&text[start..]);
    pieces
}

fn column_at(column: u16) -> f64 {
    rounded(MARGIN + f64::from(column) * CELL)
}

fn row_at(row: u16) -> f64 {
    BAR + MARGIN + f64::from(row) * LINE
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn plain(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
