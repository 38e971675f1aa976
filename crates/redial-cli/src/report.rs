//! What became of runs, from their events: how often they were retried, how long they waited, and
//! which commands are flaky. The report of one run, and `redial report` for the logs of many.
//!
//! A [`Collector`] takes events, its [`Summary`] adds them up, and [`write`] says it in a [`Format`].

use std::path::Path;

use clap::ValueEnum;

mod collector;
mod grid;
mod json;
mod junit;
mod logs;
mod markdown;
mod plain;
mod summary;
mod terminal;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use collector::Collector;
pub(crate) use summary::Summary;

use crate::args::Report;
use crate::output::{Failure, print, width, write_file};

/// How a report is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables in the terminal
    Table,
    /// One JSON object
    Json,
    /// Markdown, for the summary of a CI job
    #[value(alias = "markdown")]
    Md,
    /// JUnit XML with reruns, for a CI server
    #[value(alias = "xml")]
    Junit,
}

impl Format {
    /// The format of a file, by its ending.
    pub(crate) fn of(path: &Path) -> Result<Self, String> {
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
        match ending.as_deref() {
            Some("json") => Ok(Self::Json),
            Some("md" | "markdown") => Ok(Self::Md),
            Some("xml") => Ok(Self::Junit),
            _ => Err(format!(
                "cannot tell from `{}` which report to write; its name must end in .json, .md \
                 (Markdown) or .xml (JUnit)",
                path.display(),
            )),
        }
    }
}

/// The report as text, ending with a newline. That of [`Format::Table`] has styles.
pub(crate) fn write(summary: &Summary<'_>, format: Format) -> String {
    match format {
        Format::Table => terminal::terminal(summary, width()),
        Format::Json => json::json(summary),
        Format::Md => markdown::markdown(summary),
        Format::Junit => junit::junit(summary),
    }
}

/// `redial report`
pub(crate) fn run(report: &Report) -> Result<u8, Failure> {
    let mut collector = Collector::default();
    for name in &report.events {
        logs::read(name, &mut collector)?;
    }
    let of_file = || Format::of(Path::new(report.output.as_deref()?)).ok();
    let format = report.format.or_else(of_file).unwrap_or(Format::Table);
    let text = write(&collector.summary(), format);
    match report.output.as_deref() {
        None | Some("-") => print(&text)?,
        Some(path) => write_file(path, &anstream::adapter::strip_str(&text).to_string())?,
    }
    Ok(0)
}
