//! A scenario and what policies came to in it, and all the ways to say that.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use serde_json::{Value as Json, json};

use super::assertion::Answer;
use super::outcome::{Measure, Outcome, spread};
use crate::chart::{Figure, Page, Table, svg_of};
use crate::output::Failure;
use crate::text::{clip, columns, pad_left, pad_right, wrap, wrap_clause};
use crate::visible::visible;

/// Lines longer than this are not read with pleasure.
const READABLE: usize = 100;

/// More than these are for a page; a terminal shows the first of them unless told.
const FIGURES: usize = 2;

/// A policy that is compared.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    /// Its name, where it has one.
    pub(crate) name: Option<String>,
    pub(crate) clause: String,
}

impl Compared {
    /// What it is called beside others: by its number, and by its name where it has one.
    pub(crate) fn label(&self, place: usize) -> String {
        match &self.name {
            Some(name) => format!("{} {}", place + 1, visible(name)),
            None => format!("{} {}", place + 1, self.clause),
        }
    }
}

/// What has been found out.
#[derive(Debug)]
pub(crate) struct Study {
    pub(crate) title: String,
    /// The scenario, for programs.
    pub(crate) scenario: Json,
    /// What else there is for programs.
    pub(crate) more: Vec<(&'static str, Json)>,
    pub(crate) policies: Vec<Compared>,
    pub(crate) measures: &'static [Measure],
    pub(crate) outcomes: Vec<Outcome>,
    /// Sentences, the answer first.
    pub(crate) lead: Vec<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    /// What one has to know about the numbers.
    pub(crate) notes: Vec<String>,
    pub(crate) answers: Vec<Answer>,
}

/// The exit code where an assertion does not hold.
const DOES_NOT_HOLD: u8 = 1;

impl Study {
    pub(crate) fn exit_code(&self) -> u8 {
        let holds = self.answers.iter().all(|answer| answer.holds);
        if holds { 0 } else { DOES_NOT_HOLD }
    }

    /// The fields and their order are a promise.
    pub(crate) fn json(&self) -> String {
        let results: Vec<_> = self.results().collect();
        let mut document = json!({ "scenario": self.scenario, "results": results });
        for (key, value) in &self.more {
            document[key] = value.clone();
        }
        if !self.answers.is_empty() {
            document["assertions"] = self.answers.iter().map(Answer::json).collect();
        }
        format!("{document:#}\n")
    }

    /// One line for each result; a mean and its interval are two columns.
    pub(crate) fn csv(&self) -> String {
        let spread = |(outcome, result): (&Outcome, Json)| match &outcome.values {
            Ok(values) => flat(&spread(result, values, self.measures)),
            Err(_) => flat(&result),
        };
        let rows: Vec<_> = self.outcomes.iter().zip(self.results()).map(spread).collect();
        let mut columns: Vec<&str> = Vec::new();
        for (name, _) in rows.iter().flatten() {
            if !columns.contains(&name.as_str()) {
                columns.push(name);
            }
        }
        let mut text = columns.join(",") + "\n";
        for row in &rows {
            let cell = |column: &&str| {
                row.iter().find(|(name, _)| name == column).map_or("", |(_, value)| value)
            };
            text += &columns.iter().map(cell).map(quoted).collect::<Vec<_>>().join(",");
            text.push('\n');
        }
        text
    }

    fn results(&self) -> impl Iterator<Item = Json> {
        let json = |one: &Outcome| one.json(&self.policies[one.policy], self.measures);
        self.outcomes.iter().map(json)
    }

    pub(crate) fn svg(&self, charts: Option<usize>) -> Result<String, Failure> {
        match self.figures_to_draw(charts) {
            [] if self.figures.is_empty() => {
                Err(Failure::from("there is nothing to draw: no policy has a result"))
            }
            [] => Err(Failure::from("--svg needs a chart, and --charts 0 draws none")),
            figures => Ok(svg_of(figures)),
        }
    }

    /// The first of the figures, or all of them.
    fn figures_to_draw(&self, charts: Option<usize>) -> &[Figure] {
        let count = charts.unwrap_or(usize::MAX).min(self.figures.len());
        &self.figures[..count]
    }

    pub(crate) fn html(&self, command: String) -> String {
        let policy = |(place, one): (usize, &Compared)| {
            vec![
                one.name.as_ref().map_or_else(|| (place + 1).to_string(), |_| one.label(place)),
                one.clause.clone(),
            ]
        };
        let policies = Table {
            caption: "The policies".into(),
            header: vec!["policy".into(), "clause".into()],
            rows: self.policies.iter().enumerate().map(policy).collect(),
        };
        let answers =
            self.answers.iter().map(|answer| answer.sentence(&self.policies, &self.outcomes));
        Page {
            title: self.title.clone(),
            lead: self.lead.iter().cloned().chain(answers).collect(),
            figures: self.figures.clone(),
            tables: std::iter::once(policies)
                .chain(self.tables.iter().cloned())
                .chain([self.settings()])
                .collect(),
            notes: self.notes.clone(),
            command,
        }
        .html()
    }

    /// The scenario, for whoever has the page alone.
    fn settings(&self) -> Table {
        let row = |(name, value): (String, String)| vec![name.replace('_', " "), value];
        let trials = self.outcomes.iter().map(|outcome| outcome.trials).max().unwrap_or(0);
        let trials = ("trials".to_owned(), trials.to_string());
        let settings = flat(&self.scenario).into_iter().filter(|(_, value)| !value.is_empty());
        Table {
            caption: "The scenario".into(),
            header: vec!["setting".into(), "value".into()],
            rows: settings.chain([trials]).map(row).collect(),
        }
    }

    /// The answer, the policies, the numbers and the charts.
    pub(crate) fn terminal(&self, width: usize, charts: Option<usize>) -> String {
        let (bold, quiet) = (Style::new().bold(), Style::new().dimmed());
        let mut text = String::new();
        for (place, sentence) in self.lead.iter().enumerate() {
            let style = if place == 0 { bold } else { Style::new() };
            lines(&mut text, sentence, style, width);
        }
        text.push('\n');
        for (place, policy) in self.policies.iter().enumerate() {
            let name = policy.name.as_ref().map(|name| format!("{}: ", visible(name)));
            let clause = format!("{}{}", name.unwrap_or_default(), policy.clause);
            let mut number = format!("{:>2}  ", place + 1);
            for line in wrap_clause(&clause, width.saturating_sub(4)) {
                let _ = writeln!(text, "{bold}{number}{bold:#}{line}");
                number = "    ".into();
            }
        }
        for table in &self.tables {
            text.push('\n');
            text += &drawn(table, width);
        }
        for figure in self.figures_to_draw(charts.or(Some(FIGURES))) {
            text.push('\n');
            text += &figure.terminal(width);
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            lines(&mut text, note, quiet, width);
        }
        if !self.answers.is_empty() {
            text.push('\n');
        }
        for answer in &self.answers {
            let colour = if answer.holds { AnsiColor::Green } else { AnsiColor::Red };
            lines(
                &mut text,
                &answer.sentence(&self.policies, &self.outcomes),
                colour.on_default(),
                width,
            );
        }
        text
    }
}

impl Answer {
    fn json(&self) -> Json {
        json!({ "assertion": self.text, "holds": self.holds, "measured": self.words })
    }

    /// `holds: peak < 2x (at most 1.2x, policy 1)`
    pub(crate) fn sentence(&self, policies: &[Compared], outcomes: &[Outcome]) -> String {
        let verdict = if self.holds { "holds" } else { "does not hold" };
        let of = self.worst.and_then(|worst| outcomes.get(worst)).map(|outcome| {
            let several = policies.len() > 1;
            let policy = several.then(|| format!(", policy {}", outcome.policy + 1));
            let clients = outcome.clients.map(|clients| format!(", {clients} clients"));
            [policy, clients].into_iter().flatten().collect::<String>()
        });
        format!("{verdict}: {} ({}{})", self.text, self.words, of.unwrap_or_default())
    }
}

fn lines(text: &mut String, sentence: &str, style: Style, width: usize) {
    for line in wrap(sentence, width.min(READABLE)) {
        let _ = writeln!(text, "{style}{line}{style:#}");
    }
}

/// A table as text. One that is too wide is turned over, so that its columns become rows, if that
/// helps; and columns that still do not fit stand below the others.
pub(crate) fn drawn(table: &Table, width: usize) -> String {
    let rows: Vec<&Vec<String>> = std::iter::once(&table.header).chain(&table.rows).collect();
    let upright: Vec<Vec<&str>> =
        rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let columns = table.header.len();
    let turned: Vec<Vec<&str>> = (0..columns)
        .map(|column| rows.iter().map(|row| row.get(column).map_or("", String::as_str)).collect())
        .collect();
    let caption = wrap(&table.caption, width).join("\n");
    if table.ends_in_clauses() {
        return format!("{caption}\n{}", aligned(&upright, true, width));
    }
    let is_turned = lengths(&upright) > width && lengths(&turned) <= width;
    let cells = if is_turned { turned } else { upright };
    let blocks = blocks(&cells, width).into_iter().map(|block| aligned(&block, false, width));
    format!("{caption}\n{}", blocks.collect::<Vec<_>>().join("\n"))
}

/// The columns in as many blocks as it takes, each with the names in front.
fn blocks<'t>(cells: &[Vec<&'t str>], width: usize) -> Vec<Vec<Vec<&'t str>>> {
    let widths = widths(cells);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (column, needed) in widths.iter().map(|width| width + 2).enumerate().skip(1) {
        if groups.is_empty() || needed > room {
            groups.push(vec![0]);
            room = width.saturating_sub(widths[0]);
        }
        room = room.saturating_sub(needed);
        if let Some(group) = groups.last_mut() {
            group.push(column);
        }
    }
    let of = |group: &Vec<usize>| {
        let row = |row: &Vec<&'t str>| group.iter().map(|column| row[*column]).collect();
        cells.iter().map(row).collect()
    };
    groups.iter().map(of).collect()
}

/// How wide the cells are side by side.
fn lengths(cells: &[Vec<&str>]) -> usize {
    widths(cells).iter().map(|width| width + 2).sum::<usize>().saturating_sub(2)
}

fn widths(cells: &[Vec<&str>]) -> Vec<usize> {
    let count = cells.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        let cells = cells.iter().filter_map(|row| row.get(column));
        cells.map(|cell| columns(cell)).max().unwrap_or(0)
    };
    (0..count).map(widest).collect()
}

/// Names at the left, numbers at the right, and a last column of clauses in as many lines as they
/// take.
fn aligned(cells: &[Vec<&str>], clauses: bool, width: usize) -> String {
    let quiet = Style::new().dimmed();
    let widths = widths(cells);
    let numbers = if clauses { widths.len().saturating_sub(1) } else { widths.len() };
    let mut text = String::new();
    for (place, row) in cells.iter().enumerate() {
        let padded = row[..numbers].iter().enumerate().map(|(column, cell)| match column {
            0 => pad_right(cell, widths[column]),
            _ => pad_left(cell, widths[column]),
        });
        let mut start = padded.collect::<Vec<_>>().join("  ");
        let style = if place == 0 { quiet } else { Style::new() };
        let indent = columns(&start) + 2;
        let clause = row[numbers..].concat();
        for line in wrap_clause(&clause, width.saturating_sub(indent).max(20)) {
            let line = format!("{start}  {line}");
            let line = clip(line.trim_end(), width);
            let _ = writeln!(text, "{style}{line}{style:#}");
            start = " ".repeat(indent - 2);
        }
    }
    text
}

/// The fields of a result, those of its parts as `part.field`.
fn flat(result: &Json) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for (key, value) in result.as_object().into_iter().flatten() {
        match value {
            Json::Object(_) => {
                let parts = flat(value).into_iter();
                fields.extend(parts.map(|(part, value)| (format!("{key}.{part}"), value)));
            }
            value => fields.push((key.clone(), plain(value))),
        }
    }
    fields
}

fn plain(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// A cell as spreadsheets read it.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.into()
}
