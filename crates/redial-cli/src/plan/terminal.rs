//! A plan for people in a terminal: the clause, plain words, a table, and a picture of the time.

use std::time::Duration;

use anstyle::{AnsiColor, Style};

use super::picture::{Axis, Chart, Picture, Tick, Window};
use super::totals::{Totals, note};
use super::{Planned, View, attempts_words};
use crate::cells::{BOLD, DIM, centred, legend, runs, styled};
use crate::duration::{compact, human};
use crate::text::{clip, columns, pad_left, pad_right, wrap, wrap_clause};

const NAME: Style = AnsiColor::Cyan.on_default().bold();
const WINDOW: Style = AnsiColor::Cyan.on_default();
const MEAN: Style = AnsiColor::Cyan.on_default().bold();
const SAMPLE: Style = AnsiColor::Yellow.on_default().bold();
const LIMIT: Style = AnsiColor::Red.on_default();

/// The longest line of prose that eyes find their way back from.
const READABLE: usize = 88;

/// The plans as text with styles, no line of it wider than `width`, ending with a newline.
pub(crate) fn terminal(plans: &[Planned], width: usize) -> String {
    let mut page = Page { width: width.max(20), text: String::new() };
    let views = View::all(plans);
    for (index, view) in views.iter().enumerate() {
        if index > 0 {
            page.blank();
        }
        page.section(view, (plans.len() > 1).then_some(index));
    }
    page.pictures(plans);
    if plans.len() > 1 {
        page.comparison(&views);
    }
    page.text
}

/// What has been written so far.
struct Page {
    width: usize,
    text: String,
}

impl Page {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn line(&mut self, style: Style, line: &str) {
        self.text.push_str(&format!("{}\n", styled(style, line)));
    }

    /// A line of a table, which is short enough unless the terminal is very narrow.
    fn clipped(&mut self, style: Style, line: &str) {
        let line = clip(line.trim_end(), self.width);
        self.line(style, &line);
    }

    fn paragraph(&mut self, style: Style, text: &str) {
        for line in wrap(text, self.width.min(READABLE)) {
            self.line(style, &line);
        }
    }

    fn clause(&mut self, planned: &Planned) {
        for line in wrap_clause(&planned.clause(), self.width.min(READABLE)) {
            self.line(BOLD, &line);
        }
    }

    /// All about one policy but its picture.
    fn section(&mut self, view: &View<'_>, index: Option<usize>) {
        let planned = view.planned;
        if let Some(heading) = heading(planned, index) {
            self.paragraph(NAME, &heading);
        }
        self.clause(planned);
        self.blank();
        self.paragraph(Style::new(), &view.words);
        if planned.retries() != Some(0) {
            self.blank();
            self.table(&Table::for_plan(view, self.width), view.listing.rest.as_deref());
            self.blank();
            self.paragraph(DIM, &note(planned));
        }
    }

    fn table(&mut self, table: &Table, rest: Option<&str>) {
        for heading in &table.headings {
            self.clipped(DIM, &table.aligned(heading));
        }
        for row in &table.rows {
            let style = if row.dim { DIM } else { Style::new() };
            self.clipped(style, &table.row(row));
        }
        if let Some(rest) = rest {
            self.paragraph(DIM, rest);
        }
        if !table.sums.is_empty() {
            self.clipped(DIM, &"─".repeat(table.inner_width()));
        }
        for row in &table.sums {
            self.clipped(Style::new(), &table.row(row));
        }
    }

    /// The pictures of all policies, on one axis.
    fn pictures(&mut self, plans: &[Planned]) {
        let picture = Picture::new(plans);
        let Some(axis) = picture.axis else { return };
        self.blank();
        self.paragraph(BOLD, "When each attempt can start");
        let gutter = picture.last_attempt().to_string().len() + 1;
        let plot = Plot { axis, gutter, columns: self.width.saturating_sub(gutter).max(10) };
        for (index, chart) in picture.charts.iter().enumerate() {
            if plans.len() > 1 {
                self.line(NAME, &clip(&plans[index].title(index), self.width));
            }
            for window in &chart.windows {
                let line = plot.line(window, chart);
                self.text.push_str(&line);
            }
            for note in &chart.notes {
                self.paragraph(DIM, note);
            }
        }
        for line in plot.scale() {
            self.line(DIM, &line);
        }
        self.legend(&picture, axis);
    }

    fn legend(&mut self, picture: &Picture, axis: Axis) {
        let mut entries = Vec::new();
        if picture.has_ranges() {
            entries.push((WINDOW, "├─┤", "earliest to latest".into()));
        }
        entries.push((MEAN, "●", "on average".into()));
        if picture.is_seeded() {
            entries.push((SAMPLE, "◆", "with this seed".into()));
        }
        let mut limits: Vec<&str> = Vec::new();
        for limit in picture.charts.iter().flat_map(|chart| &chart.limits) {
            if !limits.contains(&limit.label.as_str()) {
                limits.push(&limit.label);
            }
        }
        if !limits.is_empty() {
            entries.push((LIMIT, "╎", limits.join(", ")));
        }
        self.text.push_str(&legend(&entries, self.width));
        if axis.is_logarithmic() {
            self.paragraph(DIM, "The time axis is logarithmic.");
        }
    }

    fn comparison(&mut self, views: &[View<'_>]) {
        self.blank();
        self.paragraph(BOLD, "Compared");
        let table = Table::for_comparison(views, self.width);
        self.table(&table, None);
    }
}

fn heading(planned: &Planned, index: Option<usize>) -> Option<String> {
    match (planned.shown_name(), index) {
        (name, None) => name,
        (_, Some(index)) => Some(planned.title(index)),
    }
}

/// Columns of numbers, aligned to the right.
struct Table {
    headings: Vec<Vec<String>>,
    rows: Vec<Line>,
    sums: Vec<Line>,
    widths: Vec<usize>,
    /// Spaces between columns.
    gap: usize,
    /// How many columns are aligned to the left: none or the first one.
    left: usize,
}

/// One line of a table.
#[derive(Clone, Default)]
struct Line {
    cells: Vec<String>,
    dim: bool,
    /// Words behind the cells.
    remark: Option<&'static str>,
    /// Words in place of all cells but the first.
    instead: Option<&'static str>,
}

/// How a table is set, from spacious to tight.
#[derive(Clone, Copy)]
struct Setting {
    stacked: bool,
    gap: usize,
    format: fn(Duration) -> String,
    remarks: bool,
}

const SETTINGS: [Setting; 4] = [
    Setting { stacked: false, gap: 3, format: human, remarks: true },
    Setting { stacked: true, gap: 2, format: human, remarks: true },
    Setting { stacked: true, gap: 2, format: human, remarks: false },
    Setting { stacked: true, gap: 1, format: compact, remarks: false },
];

const NEVER_REACHED: &str = "never reached";

impl Table {
    /// The delays of a policy and what they add up to.
    fn for_plan(view: &View<'_>, width: usize) -> Self {
        Self::set(width, |setting| Self::delays(view, setting))
    }

    /// One line for each policy.
    fn for_comparison(views: &[View<'_>], width: usize) -> Self {
        Self::set(width, |setting| Self::policies(views, setting, width))
    }

    /// In the first setting that fits, or the last.
    fn set(width: usize, table: impl Fn(Setting) -> Self) -> Self {
        let [spacious @ .., tight] = SETTINGS;
        let fits = |table: &Self| table.width() <= width;
        spacious.into_iter().map(&table).find(fits).unwrap_or_else(|| table(tight))
    }

    fn delays(view: &View<'_>, setting: Setting) -> Self {
        let listing = &view.listing;
        let mut headings = vec!["after attempt", "at least", "on average", "at most"];
        if listing.is_seeded() {
            headings.push(if setting.stacked { "this seed" } else { "with this seed" });
        }
        let rows = listing.rows.iter().map(|row| {
            let delay = row.delay;
            let durations = [delay.least, delay.mean, delay.greatest].into_iter().chain(row.sample);
            let number = row.after_attempt.to_string();
            let never = (!row.reachable).then_some(NEVER_REACHED);
            Line {
                cells: [number].into_iter().chain(durations.map(setting.format)).collect(),
                dim: !row.reachable,
                remark: never.filter(|_| setting.remarks),
                instead: never.filter(|_| !setting.remarks),
            }
        });
        Self::of(&headings, rows.collect(), sums(view, setting), setting, 0)
    }

    fn policies(views: &[View<'_>], setting: Setting, width: usize) -> Self {
        let headings = ["policy", "attempts", "waits (mean)", "waits (most)", "gives up by"];
        let line = |(index, view): (usize, &View<'_>)| {
            let planned = view.planned;
            let sums = Totals::new(view, setting.format);
            let [_, mean, greatest] = sums.waits;
            let attempts = attempts_words(planned);
            Line {
                cells: vec![planned.title(index), attempts, mean, greatest, sums.latest],
                ..Line::default()
            }
        };
        let rows = views.iter().enumerate().map(line).collect();
        let mut table = Self::of(&headings, rows, vec![], setting, 1);
        table.shorten_first(width);
        table
    }

    fn of(
        headings: &[&str],
        rows: Vec<Line>,
        sums: Vec<Line>,
        setting: Setting,
        left: usize,
    ) -> Self {
        let headings = if setting.stacked { stacked(headings) } else { vec![owned(headings)] };
        let mut table = Self { headings, rows, sums, widths: vec![], gap: setting.gap, left };
        table.measure();
        table
    }

    fn measure(&mut self) {
        let lines = self.rows.iter().chain(&self.sums).filter(|line| line.instead.is_none());
        let all = self.headings.iter().chain(lines.map(|line| &line.cells));
        let mut widths = vec![0; self.headings[0].len()];
        for cells in all {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = columns(cell).max(*width);
            }
        }
        self.widths = widths;
    }

    /// Names may be of any length; what they are compared by may not be lost over them.
    fn shorten_first(&mut self, width: usize) {
        const LEAST: usize = 4;
        let others = self.inner_width() - self.widths[0];
        let room = width.saturating_sub(others).max(LEAST);
        for line in &mut self.rows {
            line.cells[0] = clip(&line.cells[0], room);
        }
        self.measure();
    }

    /// Without the remarks.
    fn inner_width(&self) -> usize {
        self.widths.iter().sum::<usize>() + self.gap * self.widths.len().saturating_sub(1)
    }

    fn width(&self) -> usize {
        let remark = self.rows.iter().filter_map(|row| row.remark).map(columns).max();
        self.inner_width() + remark.map_or(0, |remark| remark + self.gap)
    }

    fn row(&self, line: &Line) -> String {
        match (line.instead, line.remark) {
            (Some(words), _) => {
                let first = pad_left(&line.cells[0], self.widths[0]);
                let room = self.inner_width().saturating_sub(self.widths[0]);
                format!("{first}{}", pad_left(words, room))
            }
            (None, Some(remark)) => {
                format!("{}{:gap$}{remark}", self.aligned(&line.cells), "", gap = self.gap)
            }
            (None, None) => self.aligned(&line.cells),
        }
    }

    fn aligned(&self, cells: &[String]) -> String {
        let cells = cells.iter().zip(&self.widths).enumerate().map(|(column, (cell, width))| {
            if column < self.left { pad_right(cell, *width) } else { pad_left(cell, *width) }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(self.gap))
    }
}

/// What the delays add up to, and when it gives up.
fn sums(view: &View<'_>, setting: Setting) -> Vec<Line> {
    let totals = Totals::new(view, setting.format);
    let (waits, end) =
        if setting.stacked { ("in all", "gives up") } else { ("waits in all", "gives up after") };
    let [least, mean, greatest] = totals.waits;
    let line = |cells: Vec<String>| Line { cells, ..Line::default() };
    vec![
        line([waits.into(), least, mean, greatest].into_iter().chain(totals.sample).collect()),
        line(vec![end.into(), totals.earliest, String::new(), totals.latest]),
    ]
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().copied().map(String::from).collect()
}

/// Headings in two lines, broken where the last word begins.
fn stacked(headings: &[&str]) -> Vec<Vec<String>> {
    let halves = headings.iter().map(|heading| heading.rsplit_once(' ').unwrap_or(("", heading)));
    let (upper, lower): (Vec<&str>, Vec<&str>) = halves.unzip();
    vec![owned(&upper), owned(&lower)]
}

/// Where things are drawn.
struct Plot {
    axis: Axis,
    /// Columns for the numbers of the attempts.
    gutter: usize,
    /// Columns for the time.
    columns: usize,
}

impl Plot {
    fn column(&self, position: f64) -> usize {
        (position * (self.columns - 1) as f64).round() as usize
    }

    fn at(&self, moment: u64) -> usize {
        self.column(self.axis.position(moment))
    }

    /// One attempt.
    fn line(&self, window: &Window, chart: &Chart) -> String {
        let mut cells = vec![(' ', Style::new()); self.columns];
        for limit in &chart.limits {
            cells[self.at(limit.at)] = ('╎', LIMIT);
        }
        let (earliest, latest) = (self.at(window.earliest), self.at(window.latest));
        cells[earliest..=latest].fill(('─', WINDOW));
        if earliest < latest {
            cells[earliest] = ('├', WINDOW);
            cells[latest] = ('┤', WINDOW);
        }
        if let Some(mean) = window.mean {
            cells[self.at(mean)] = ('●', MEAN);
        }
        if let Some(sample) = window.sample.filter(|_| window.is_range()) {
            cells[self.at(sample)] = ('◆', SAMPLE);
        }
        let number = pad_left(&window.attempt.to_string(), self.gutter - 1);
        format!("{} {}\n", styled(DIM, &number), runs(&cells))
    }

    /// The axis and the words under it.
    fn scale(&self) -> [String; 2] {
        let ticks = self.axis.ticks(|ticks| self.labels(ticks).is_some());
        let mut line = vec!['─'; self.columns];
        for tick in &ticks {
            line[self.column(tick.position)] = '┴';
        }
        let labels = self.labels(&ticks).unwrap_or_default();
        let indent = " ".repeat(self.gutter);
        [
            format!("{indent}{}", line.into_iter().collect::<String>()),
            format!("{indent}{}", labels.trim_end()),
        ]
    }

    /// The labels under their ticks; none where two of them would touch.
    fn labels(&self, ticks: &[Tick]) -> Option<String> {
        let labels = ticks.iter().map(|tick| (self.column(tick.position), tick.label.as_str()));
        centred(labels, self.columns)
    }
}
