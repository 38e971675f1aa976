//! A scenario and what policies came to in it, and all the ways to say that.

use anstyle::{AnsiColor, Style};
use serde_json::{Value as Json, json};

use super::assertion::Answer;
use super::outcome::{Outcome, spread};
use crate::chart::{Figure, svg_of};
use crate::output::{Failure, count};
use crate::text::{BOLD, DIM, paragraph, styled, wrap_clause};
use crate::view::page::Page;
use crate::view::table::Table;
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
    /// Whether another policy has it as well, as when two files are compared.
    pub(crate) has_namesake: bool,
    pub(crate) clause: String,
    /// The variable of the environment that it comes from, where it does.
    pub(crate) from: Option<&'static str>,
}

impl Compared {
    /// What it is called in a sentence after the word policy: its name, or its number, or both
    /// where another has the same name.
    pub(crate) fn short(&self, place: usize) -> String {
        match &self.name {
            Some(name) if !self.has_namesake => visible(name),
            Some(_) => self.label(place),
            None => (place + 1).to_string(),
        }
    }

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

    /// One line for each result; a mean and its interval are columns of their own.
    pub(crate) fn csv(&self) -> String {
        let spread = |(outcome, result): (&Outcome, Json)| match &outcome.values {
            Ok(values) => flat(&spread(result, values)),
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
        let json = |one: &Outcome| one.json(&self.policies[one.policy]);
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
        let policies = Table::new(
            "The policies",
            vec!["policy".into(), "clause".into()],
            self.policies.iter().enumerate().map(policy).collect(),
        );
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
        let rows = settings.chain([trials]).map(row).collect();
        Table::new("The scenario", vec!["setting".into(), "value".into()], rows)
    }

    /// The answer, the policies, the numbers and the charts.
    pub(crate) fn terminal(&self, width: usize, charts: Option<usize>) -> String {
        let mut text = String::new();
        for (place, sentence) in self.lead.iter().enumerate() {
            let style = if place == 0 { BOLD } else { Style::new() };
            text += &paragraph(style, sentence, width.min(READABLE));
        }
        text.push('\n');
        for (place, policy) in self.policies.iter().enumerate() {
            let name = policy.name.as_ref().map(|name| format!("{}: ", visible(name)));
            let clause = format!("{}{}", name.unwrap_or_default(), policy.clause);
            let mut number = format!("{:>2}  ", place + 1);
            for line in wrap_clause(&clause, width.saturating_sub(4)) {
                text += &format!("{}{line}\n", styled(BOLD, &number));
                number = "    ".into();
            }
            if let Some(variable) = policy.from {
                text += &format!("    {}\n", styled(DIM, &format!("from {variable}")));
            }
        }
        for table in &self.tables {
            text.push('\n');
            text += &table.terminal(width);
        }
        for figure in self.figures_to_draw(charts.or(Some(FIGURES))) {
            text.push('\n');
            text += &figure.terminal(width);
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            text += &paragraph(DIM, note, width.min(READABLE));
        }
        if !self.answers.is_empty() {
            text.push('\n');
        }
        for answer in &self.answers {
            let colour = if answer.holds { AnsiColor::Green } else { AnsiColor::Red };
            let sentence = answer.sentence(&self.policies, &self.outcomes);
            text += &paragraph(colour.on_default(), &sentence, width.min(READABLE));
        }
        text
    }
}

impl Answer {
    fn json(&self) -> Json {
        json!({
            "assertion": self.text,
            "holds": self.holds,
            "measured": self.words,
            "sure": self.is_sure,
        })
    }

    /// `holds: peak < 2x (1.2x ±0.1x, policy fetch)`
    pub(crate) fn sentence(&self, policies: &[Compared], outcomes: &[Outcome]) -> String {
        let verdict = if self.holds { "holds" } else { "does not hold" };
        let doubt = match self.is_sure {
            Some(false) => ", but more trials are needed to be sure",
            Some(true) | None => "",
        };
        let of = self.worst.and_then(|worst| outcomes.get(worst)).map(|outcome| {
            let several = policies.len() > 1;
            let policy = several.then(|| format!(", policy {}", outcome.short));
            let clients =
                outcome.clients.map(|clients| format!(", {}", count(clients as usize, "client")));
            [policy, clients].into_iter().flatten().collect::<String>()
        });
        format!("{verdict}{doubt}: {} ({}{})", self.text, self.words, of.unwrap_or_default())
    }
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
