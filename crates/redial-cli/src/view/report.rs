//! A report as a table, JSON, Markdown or JUnit XML: [`write`] says a [`Summary`] in a [`Format`].

use std::path::Path;

use clap::ValueEnum;

mod grid;
mod json;
mod junit;
mod markdown;
mod plain;
mod terminal;
#[cfg(test)]
mod tests;
mod words;

use crate::output::width;
use crate::verb::report::summary::Summary;
use crate::verb::report::{collector, summary};

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
