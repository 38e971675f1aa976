//! What `simulate` and `tune` print: a report as text, JSON, CSV, SVG and HTML.

use anstyle::{AnsiColor, Style};
use serde_json::{Value as Json, json};

use super::assertion::Checked;
use super::candidate::Candidate;
use super::measure::{Measured, for_csv};
use crate::chart::{Figure, svg_of};
use crate::exit_code;
use crate::output::{Failure, count};
use crate::text::{BOLD, DIM, paragraph, styled, wrap_clause};
use crate::view::page::Page;
use crate::view::table::Table;
use crate::visible::visible;

/// The widest that paragraphs are in a terminal.
const READABLE: usize = 100;

/// How many charts a terminal shows unless told.
const FIGURES: usize = 2;

/// The results of a simulation or a search, with everything that is printed about them.
#[derive(Debug)]
pub(crate) struct SimulationReport {
    pub(crate) title: String,
    /// The settings of the scenario.
    pub(crate) scenario: Json,
    /// The other fields of the JSON document.
    pub(crate) more: Vec<(&'static str, Json)>,
    pub(crate) policies: Vec<Candidate>,
    /// Every policy with every crowd.
    pub(crate) measured: Vec<Measured>,
    /// Sentences, the answer first.
    pub(crate) lead: Vec<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) notes: Vec<String>,
    pub(crate) assertions: Vec<Checked>,
}

impl SimulationReport {
    pub(crate) fn exit_code(&self) -> u8 {
        let holds = self.assertions.iter().all(|assertion| assertion.holds);
        if holds { 0 } else { exit_code::FAILURE }
    }

    /// The fields and their order are a promise.
    pub(crate) fn json(&self) -> String {
        let results: Vec<_> = self.results().collect();
        let mut document = json!({ "scenario": self.scenario, "results": results });
        for (key, value) in &self.more {
            document[key] = value.clone();
        }
        if !self.assertions.is_empty() {
            document["assertions"] = self.assertions.iter().map(Checked::json).collect();
        }
        format!("{document:#}\n")
    }

    /// One line for each result; a mean and its interval are columns of their own.
    pub(crate) fn csv(&self) -> String {
        let row = |(one, result): (&Measured, Json)| match &one.values {
            Ok(values) => flat(&for_csv(result, values)),
            Err(_) => flat(&result),
        };
        let rows: Vec<_> = self.measured.iter().zip(self.results()).map(row).collect();
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
        let json = |one: &Measured| one.json(&self.policies[one.policy]);
        self.measured.iter().map(json)
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

    fn figures_to_draw(&self, charts: Option<usize>) -> &[Figure] {
        let count = charts.unwrap_or(usize::MAX).min(self.figures.len());
        &self.figures[..count]
    }

    pub(crate) fn html(&self, command: String) -> String {
        let policy = |(place, one): (usize, &Candidate)| {
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
        let assertions = self
            .assertions
            .iter()
            .map(|assertion| assertion.sentence(&self.policies, &self.measured));
        Page {
            title: self.title.clone(),
            lead: self.lead.iter().cloned().chain(assertions).collect(),
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

    /// The settings of the scenario, for the page.
    fn settings(&self) -> Table {
        let row = |(name, value): (String, String)| vec![name.replace('_', " "), value];
        let trials = self.measured.iter().map(|one| one.trials).max().unwrap_or(0);
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
        if !self.assertions.is_empty() {
            text.push('\n');
        }
        for assertion in &self.assertions {
            let colour = if assertion.holds { AnsiColor::Green } else { AnsiColor::Red };
            let sentence = assertion.sentence(&self.policies, &self.measured);
            text += &paragraph(colour.on_default(), &sentence, width.min(READABLE));
        }
        text
    }
}

impl Checked {
    fn json(&self) -> Json {
        json!({
            "assertion": self.text,
            "holds": self.holds,
            "measured": self.words,
            "sure": self.is_sure,
        })
    }

    /// `holds: peak < 2x (1.2x ±0.1x, policy fetch)`
    pub(crate) fn sentence(&self, policies: &[Candidate], measured: &[Measured]) -> String {
        let verdict = if self.holds { "holds" } else { "does not hold" };
        let doubt = match self.is_sure {
            Some(false) => ", but more trials are needed to be sure",
            Some(true) | None => "",
        };
        let of = self.worst.and_then(|worst| measured.get(worst)).map(|one| {
            let several = policies.len() > 1;
            let policy = several.then(|| format!(", policy {}", one.short));
            let clients =
                one.clients.map(|clients| format!(", {}", count(clients as usize, "client")));
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
