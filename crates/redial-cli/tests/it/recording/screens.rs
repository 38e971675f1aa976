//! What a terminal shows, screen after screen.

use std::num::NonZeroU16;
use std::time::{Duration, Instant};

use crate::terminal::Terminal;

pub(crate) const ROWS: u16 = 30;

/// How a text is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Style {
    colour: Option<&'static str>,
    bold: bool,
    dim: bool,
}

impl Style {
    fn of_cell(cell: &vt100::Cell) -> Self {
        let colour = match cell.fgcolor() {
            vt100::Color::Default => None,
            vt100::Color::Idx(1) => Some("red"),
            vt100::Color::Idx(2) => Some("green"),
            vt100::Color::Idx(3) => Some("yellow"),
            other => panic!("redial draws in no such colour: {other:?}"),
        };
        Self { colour, bold: cell.bold(), dim: cell.dim() }
    }

    /// Its names in the picture.
    pub(crate) fn class(&self) -> String {
        let names = [
            self.colour.unwrap_or_default(),
            if self.bold { "bold" } else { "" },
            if self.dim { "dim" } else { "" },
        ];
        names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn of(class: &str) -> Self {
        let has = |name| class.split(' ').any(|word| word == name);
        let colour = ["red", "green", "yellow"].into_iter().find(|name| has(*name));
        Self { colour, bold: has("bold"), dim: has("dim") }
    }
}

/// Some cells of one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// A screen, and when it came.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) at: Duration,
    /// The rows, without the empty ones below them.
    pub(crate) rows: Vec<Vec<Run>>,
    /// The rows that go on in the next one.
    pub(crate) wrapped: Vec<usize>,
    /// Its row and its column.
    pub(crate) cursor: (u16, u16),
}

impl Frame {
    pub(crate) fn of(screen: &vt100::Screen, at: Duration) -> Self {
        let (height, width) = screen.size();
        let mut rows: Vec<_> =
            (0..height.get()).map(|row| runs(screen, row, width.get())).collect();
        while rows.last().is_some_and(Vec::is_empty) {
            rows.pop();
        }
        let wrapped = (0..height.get()).filter(|row| screen.row_wrapped(*row)).map(usize::from);
        Self { at, rows, wrapped: wrapped.collect(), cursor: screen.cursor_position() }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.rows.iter().map(|runs| line(runs)).collect()
    }

    pub(crate) fn countdown(&self) -> Option<Countdown> {
        let mut rows = self.rows.iter().enumerate();
        rows.find_map(|(row, runs)| Countdown::of(row, &line(runs)))
    }

    fn shows_the_same(&self, other: &Self) -> bool {
        (&self.rows, self.cursor) == (&other.rows, other.cursor)
    }
}

pub(crate) fn line(runs: &[Run]) -> String {
    runs.iter().map(|run| &*run.text).collect()
}

fn runs(screen: &vt100::Screen, row: u16, width: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..width {
        let cell = screen.cell(row, column).unwrap();
        if cell.is_wide_continuation() {
            continue;
        }
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let style = Style::of_cell(cell);
        match runs.last_mut() {
            // A space has no colour.
            Some(last) if last.style == style || text == " " => last.text += text,
            _ => runs.push(Run { text: text.to_owned(), style }),
        }
    }
    while let Some(last) = runs.last_mut() {
        last.text.truncate(last.text.trim_end().len());
        if !last.text.is_empty() {
            break;
        }
        runs.pop();
    }
    runs
}

/// A row that counts down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Countdown {
    pub(crate) row: usize,
    /// What stands before the bar.
    pub(crate) about: String,
    pub(crate) full: usize,
    pub(crate) left: Duration,
}

impl Countdown {
    fn of(row: usize, line: &str) -> Option<Self> {
        let (about, rest) = line.split_once("  ▕")?;
        let (bar, left) = rest.split_once("▏ ").unwrap_or_else(|| panic!("a broken bar: {line}"));
        assert!(bar.chars().all(|c| "█░".contains(c)) && bar.chars().count() == 10, "{line}");
        let full = bar.chars().take_while(|c| *c == '█').count();
        assert!(!bar.trim_start_matches('█').contains('█'), "{line}");
        let left = time(left).unwrap_or_else(|| panic!("no time at the end: {line}"));
        Some(Self { row, about: about.to_owned(), full, left })
    }
}

/// `700ms`, `1.4s`
fn time(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s')?, 1.0),
    };
    Some(Duration::from_millis((number.parse::<f64>().ok()? * unit * 1e3).round() as u64))
}

/// Whether a row is about to be drawn over.
fn returns(bytes: &[u8]) -> bool {
    matches!(bytes, [b'\r', next, ..] if *next != b'\n')
}

/// What one terminal showed.
pub(crate) struct Recorder {
    parser: vt100::Parser,
    began: Instant,
    seen: usize,
    pub(crate) frames: Vec<Frame>,
}

impl Recorder {
    pub(crate) fn new(columns: u16) -> Self {
        let [rows, columns] = [ROWS, columns].map(|length| NonZeroU16::new(length).unwrap());
        Self {
            parser: vt100::Parser::new(rows, columns, 0),
            began: Instant::now(),
            seen: 0,
            frames: Vec::new(),
        }
    }

    /// What comes from now on, until the last process has closed the terminal; `drawn` is told whenever something came.
    pub(crate) fn watch(&mut self, terminal: &mut Terminal<'_>, drawn: impl Fn()) {
        while !terminal.leader.ends(Duration::from_millis(5)) {
            let seen = self.seen;
            self.take(terminal);
            if self.seen > seen {
                drawn();
            }
        }
        terminal.drained();
        self.take(terminal);
    }

    /// What has come since the last time.
    pub(crate) fn take(&mut self, terminal: &Terminal<'_>) {
        let bytes = terminal.bytes();
        self.show(&bytes[self.seen..]);
        self.seen = bytes.len();
    }

    /// What no program wrote, but whoever sits there.
    pub(crate) fn show(&mut self, bytes: &[u8]) {
        let at = self.began.elapsed();
        let mut rest = bytes;
        if returns(rest) {
            self.keep(at);
        }
        while !rest.is_empty() {
            // A screen is whole where a line is: what is read may end anywhere.
            let is_whole = |at: &usize| {
                let (before, after) = rest.split_at(*at);
                before.ends_with(b"\n")
                    || before.ends_with(b"\x1b[J\r")
                    || (returns(after) && !before.ends_with(b"\x1b[J"))
            };
            let end = (1..=rest.len()).find(is_whole);
            let (part, more) = rest.split_at(end.unwrap_or(rest.len()));
            self.parser.process(part);
            rest = more;
            if end.is_some() {
                self.keep(at);
            }
        }
    }

    /// Keeps the screen, if it is another one.
    pub(crate) fn keep(&mut self, at: Duration) {
        let frame = Frame::of(self.parser.screen(), at);
        if !self.frames.last().is_some_and(|last| last.shows_the_same(&frame)) {
            self.frames.push(frame);
        }
    }

    pub(crate) fn begin(&mut self) {
        self.began = Instant::now();
    }

    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn resize(&mut self, columns: u16) {
        let [rows, columns] = [ROWS, columns].map(|length| NonZeroU16::new(length).unwrap());
        self.parser.set_size(rows, columns);
    }

    pub(crate) fn last(&self) -> Frame {
        Frame::of(self.parser.screen(), Duration::ZERO)
    }
}
