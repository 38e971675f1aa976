//! A report for people in a terminal.

use anstyle::{AnsiColor, Style};

use super::grid::{self, Cell, Grid, Kind};
use super::summary::Summary;
use super::words;
use crate::text::{clip, columns, pad_left, pad_right, wrap};
use crate::visible::visible;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const COMMAND: Style = AnsiColor::Cyan.on_default();

/// The longest line of prose that eyes find their way back from.
const READABLE: usize = 88;

/// Spaces between columns.
const GAP: usize = 2;

/// With less room than this a command has a line of its own.
const COMMAND_LEAST: usize = 24;

/// The report as text with styles, no line of it wider than `width`, ending with a newline.
pub(super) fn terminal(summary: &Summary<'_>, width: usize) -> String {
    let mut page = Page { width, text: String::new() };
    if let Some(run) = summary.only_run() {
        let command = run.command().map_or(words::UNKNOWN_COMMAND, |command| &command.typed);
        page.line(COMMAND, &visible(command));
    }
    for sentence in words::totals(summary) {
        for line in wrap(&visible(&sentence), width.min(READABLE)) {
            page.line(Style::new(), &line);
        }
    }
    match summary.only_run() {
        Some(run) if run.attempts.listed().is_empty() => {}
        Some(run) => page.table(None, &grid::attempts(run)),
        None => {
            page.table(None, &grid::commands(summary));
            page.table(Some("Slowest runs"), &grid::runs(&summary.slowest));
            page.table(Some("Most retried"), &grid::runs(&summary.most_retried));
        }
    }
    page.text
}

/// What has been written so far.
struct Page {
    width: usize,
    text: String,
}

impl Page {
    fn line(&mut self, style: Style, line: &str) {
        let line = clip(line.trim_end(), self.width);
        self.text.push_str(&format!("{style}{line}{style:#}\n"));
    }

    fn table(&mut self, title: Option<&str>, grid: &Grid) {
        if grid.rows.is_empty() {
            return;
        }
        self.text.push('\n');
        if let Some(title) = title {
            self.line(BOLD, title);
        }
        let table = Table::new(grid, self.width);
        self.line(DIM, &table.headings());
        for row in &table.rows {
            if let Some(above) = table.above(row) {
                self.line(COMMAND, above);
            }
            self.line(Style::new(), &table.aligned(row));
        }
        if let Some(rest) = &grid.rest {
            self.line(DIM, rest);
        }
    }
}

/// Cells that are safe to show, and how wide their columns are.
struct Table<'g> {
    grid: &'g Grid,
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
    /// The column that has lines of its own, where there is no room for it beside the others.
    above: Option<usize>,
}

impl<'g> Table<'g> {
    fn new(grid: &'g Grid, width: usize) -> Self {
        let shown = |row: &Vec<Cell>| row.iter().map(|cell| visible(cell.text())).collect();
        let rows: Vec<Vec<String>> = grid.rows.iter().map(shown).collect();
        let mut widths: Vec<_> = grid.columns.iter().map(|one| columns(one.heading)).collect();
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = columns(cell).max(*width);
            }
        }
        let mut table = Self { grid, rows, widths, above: None };
        let command = grid.columns.iter().position(|column| column.kind == Kind::Command);
        if let Some(command) = command {
            table.make_room(command, width);
        }
        table
    }

    /// Numbers are what rows are compared by: it is the command that gives way.
    fn make_room(&mut self, command: usize, width: usize) {
        let gaps = GAP * (self.widths.len() - 1);
        let others = self.widths.iter().sum::<usize>() - self.widths[command] + gaps;
        let room = width.saturating_sub(others);
        if self.widths[command] > room && room < COMMAND_LEAST {
            self.above = Some(command);
        } else {
            self.widths[command] = self.widths[command].min(room);
        }
    }

    fn headings(&self) -> String {
        let headings = self.grid.columns.iter().map(|column| column.heading.to_owned());
        self.aligned(&headings.collect::<Vec<_>>())
    }

    fn above<'r>(&self, row: &'r [String]) -> Option<&'r str> {
        Some(&row[self.above?])
    }

    fn aligned(&self, row: &[String]) -> String {
        let mut cells = Vec::new();
        for (index, cell) in row.iter().enumerate().filter(|(index, _)| Some(*index) != self.above)
        {
            let width = self.widths[index];
            cells.push(match self.grid.columns[index].kind {
                Kind::Number => pad_left(cell, width),
                Kind::Words | Kind::Command => pad_right(&clip(cell, width), width),
            });
        }
        cells.join(&" ".repeat(GAP))
    }
}
