//! A report as a table, JSON, Markdown or JUnit XML: [`write`] formats a [`Summary`].

use std::path::Path;

use clap::ValueEnum;

mod grid;
mod json;
mod junit;
mod markdown;
mod plain;
mod terminal;
mod words;

pub(crate) use self::plain::plain;
use crate::output::width;
use crate::verb::report::summary::Summary;
use crate::verb::report::{collector, summary};

/// The format of a report.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::report::Collector;

    #[test]
    fn a_report_of_no_run_is_written_too() {
        for format in Format::value_variants() {
            assert!(write(&Collector::default().summary(), *format).ends_with('\n'), "{format:?}");
        }
    }

    #[test]
    fn the_ending_of_a_file_says_its_format() {
        let of = |path: &str| Format::of(path.as_ref());
        assert_eq!(of("a/b.json"), Ok(Format::Json));
        assert_eq!(of("b.MD"), Ok(Format::Md));
        assert_eq!(of("b.xml"), Ok(Format::Junit));
        for other in ["report", "report.html", ".json", ""] {
            let error = of(other).unwrap_err();
            let endings = ".json, .md (Markdown) or .xml (JUnit)";
            assert!(error.contains(other) && error.contains(endings), "{error}");
        }
    }
}
