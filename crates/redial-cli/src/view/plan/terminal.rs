//! A plan for people in a terminal: the clause, plain words, a table, and a picture of the time.

use anstyle::{AnsiColor, Style};

use super::picture::{Chart, Picture, Window};
use super::totals::note;
use super::{Planned, View, tables};
use crate::text::{
    BOLD, DIM, READABLE, clip, legend, pad_left, paragraph, runs, styled, wrap_clause,
};
use crate::view::axis::{self, Range, Scale};

const NAME: Style = AnsiColor::Cyan.on_default().bold();
const WINDOW: Style = AnsiColor::Cyan.on_default();
const MEAN: Style = AnsiColor::Cyan.on_default().bold();
const SAMPLE: Style = AnsiColor::Yellow.on_default().bold();
const LIMIT: Style = AnsiColor::Red.on_default();

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

/// Several plans as columns of one table, above one picture.
pub(crate) fn side_by_side(plans: &[Planned], width: usize) -> String {
    let mut page = Page { width: width.max(20), text: String::new() };
    let views = View::all(plans);
    for (index, planned) in plans.iter().enumerate() {
        page.paragraph(NAME, &planned.title(index));
        page.clause(planned);
        let same = plans[..index].iter().position(|before| before.waits_as(planned));
        if let Some(same) = same {
            page.paragraph(
                Style::new(),
                &format!("It waits what {} waits.", plans[same].title(same)),
            );
        }
    }
    page.blank();
    page.columns(&views);
    let timeouts = plans.iter().any(|planned| planned.plan.get_timeout().is_some());
    let note = match timeouts {
        true => {
            "The time that attempts take is counted only where they have a timeout, by which each gives up."
        }
        false => "The time that the attempts themselves take is not counted.",
    };
    page.paragraph(DIM, note);
    page.pictures(plans);
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

    fn paragraph(&mut self, style: Style, text: &str) {
        self.text.push_str(&paragraph(style, text, self.width.min(READABLE)));
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
        if let Some(variable) = planned.from {
            self.line(DIM, &format!("from {variable}"));
        }
        self.blank();
        self.paragraph(Style::new(), &view.words);
        if planned.retries() != Some(0) {
            self.blank();
            let table = tables::fitting(self.width, |tightness| tables::delays(view, tightness));
            self.text.push_str(&table.terminal(self.width));
            self.blank();
            self.paragraph(DIM, &note(planned));
        }
        for note in &planned.notes {
            self.blank();
            self.paragraph(Style::new(), note);
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
        for line in axis::lines(&axis, plot.columns, '┴') {
            self.line(DIM, format!("{:gutter$}{line}", "").trim_end());
        }
        self.legend(&picture, axis);
    }

    fn legend(&mut self, picture: &Picture, axis: Range) {
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
        if axis.scale() != Scale::Time {
            self.paragraph(DIM, "The time axis is logarithmic.");
        }
    }

    /// The columns of all policies, in as many tables as their width needs.
    fn columns(&mut self, views: &[View<'_>]) {
        /// As many columns as anybody reads at once.
        const TOGETHER: usize = 12;
        let mut first = 0;
        while first < views.len() {
            let table = |count: usize| {
                let some = &views[first..first + count];
                tables::fitting(self.width, |tightness| tables::columns(some, first, tightness))
            };
            let most = (views.len() - first).min(TOGETHER);
            let count = (1..=most).rev().find(|count| table(*count).fits(self.width)).unwrap_or(1);
            let drawn = table(count).terminal(self.width);
            self.text.push_str(&drawn);
            self.blank();
            first += count;
        }
    }

    fn comparison(&mut self, views: &[View<'_>]) {
        self.blank();
        self.paragraph(BOLD, "Compared");
        let table = tables::fitting(self.width, |tightness| tables::policies(views, tightness));
        self.text.push_str(&table.terminal(self.width));
    }
}

fn heading(planned: &Planned, index: Option<usize>) -> Option<String> {
    match (planned.shown_name(), index) {
        (name, None) => name,
        (_, Some(index)) => Some(planned.title(index)),
    }
}

/// Where things are drawn.
struct Plot {
    axis: Range,
    /// Columns for the numbers of the attempts.
    gutter: usize,
    /// Columns for the time.
    columns: usize,
}

impl Plot {
    fn at(&self, moment: u64) -> usize {
        (self.axis.moment(moment) * (self.columns - 1) as f64).round() as usize
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
}
