//! `redial report`

use clap::Args;

/// `redial report`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial report events.ndjson
  redial report --format md events.ndjson
  redial report --output report.xml events.ndjson     JUnit, for a CI server

A run is flaky if it succeeded after a failed attempt. The flake rate is the share of flaky runs among \
                  those that succeeded or failed; runs that were cancelled, refused or killed do not \
                  count. Lines that cannot be read are counted on standard error and skipped. Of the journal of a \
                  flow, each task counts as a run, and its step as the command.")]
pub(crate) struct Report {
    /// Event logs, as `redial run --events` writes them, or journals of flows; - is standard input
    #[arg(value_name = "EVENTS", required = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) events: Vec<String>,
    /// Output format [default: by the extension of the output file, or table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<crate::verb::report::Format>,
    /// Write the report to this file; - is standard output
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output: Option<String>,
}
