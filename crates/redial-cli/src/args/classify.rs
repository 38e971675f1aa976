//! `redial classify`

use clap::Args;

use super::{PolicyFlags, RuleFlags};

/// `redial classify`
#[derive(Args, Debug)]
#[command(
    after_help = "\
Examples:
  redial classify --rules git --exit 128 --stderr fetch.log
  redial classify --rules curl --exit 22 --stderr - < curl.log
  redial classify --retry-on signal:KILL --stop-on exit:2 --signal KILL
  redial classify --policy retries.yaml#fetch --timed-out --json",
    group(clap::ArgGroup::new("ending").required(true))
)]
pub(crate) struct Classify {
    /// Exit code of the command
    #[arg(long, value_name = "CODE", group = "ending", value_parser = clap::value_parser!(u8))]
    pub(crate) exit: Option<u8>,
    /// Signal that it died of, by name or number
    #[arg(long, value_name = "SIGNAL", group = "ending")]
    pub(crate) signal: Option<String>,
    /// It timed out
    #[arg(long, group = "ending")]
    pub(crate) timed_out: bool,
    /// The command was not found
    #[arg(long, group = "ending")]
    pub(crate) not_found: bool,
    /// The command cannot be executed
    #[arg(long, group = "ending")]
    pub(crate) not_executable: bool,
    /// File with its standard output; - is standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) stdout: Option<String>,
    /// File with its standard error; - is standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) stderr: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) rules: RuleFlags,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
}
