//! `redial check`

use clap::{Args, ValueEnum};

use super::Dialect;

/// `redial check`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial check retries.yaml workflow.yml pipeline.cst
  redial check --with 'retry: 3, dely: 1s'
  redial check --deny-warnings --format github retries.toml
  redial check --fix retries.yaml
  redial check thumbnails.yaml      a flow, with the programs and the rules that it names

Exit codes: 0 no errors; 1 errors, or warnings with --deny-warnings; 125 a file cannot be read.")]
pub(crate) struct Check {
    /// Files with policies, rules or flows; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "with", value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<String>,
    /// Clause to check
    #[arg(long, value_name = "CLAUSE")]
    pub(crate) with: Vec<String>,
    /// Notation of the files [default: recognised by their keys]
    #[arg(long, value_name = "DIALECT", hide_possible_values = true)]
    pub(crate) dialect: Option<Dialect>,
    /// What the calls of scripts run [default: modules.toml beside each]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) modules: Option<String>,
    /// Implementation of another system whose law is meant: go, core, java, js or python
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: CheckFormat,
    /// Fail on warnings, too
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Apply the safe fixes, then report what is left
    #[arg(long)]
    pub(crate) fix: bool,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// With the source line, for people
    Human,
    /// One JSON object
    Json,
    /// Annotations for a GitHub workflow
    Github,
}
