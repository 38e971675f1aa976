//! The flags of rules: which endings of a command are a success, which are retried, and which are final.

use clap::Args;
use redial_policy::RuleSet;

use super::Suggested;

/// The built-in sets.
pub(super) fn rule_sets() -> Vec<&'static str> {
    RuleSet::names().collect()
}

/// Which endings are a success, which are retried, and which are final.
#[derive(Args, Debug)]
#[command(next_help_heading = "Rules")]
pub(crate) struct RuleFlags {
    /// Treat these endings as success, instead of exit code 0
    #[arg(long, value_name = "CONDITION")]
    pub(crate) success_on: Vec<String>,
    /// Do not retry these failures
    #[arg(long, value_name = "CONDITION")]
    pub(crate) stop_on: Vec<String>,
    /// Retry only these failures [default: all]
    #[arg(long, value_name = "CONDITION")]
    pub(crate) retry_on: Vec<String>,
    /// Use rules that know the failures of a program, built in or from a file; separate several by
    /// commas; see redial help rules
    #[arg(long, value_name = "NAME|FILE", value_parser = Suggested(rule_sets), hide_possible_values = true)]
    pub(crate) rules: Vec<String>,
    /// Take the delay from the output, such as 'stderr:/retry after (\d+)/', or stderr:retry-after for
    /// the header of an HTTP response
    #[arg(long, value_name = "STREAM:/RE/|STREAM:retry-after")]
    pub(crate) delay_from: Vec<String>,
    /// Longest delay that the command may ask for; if it asks for more, redial gives up
    /// [default: 2min]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) max_retry_after: Option<String>,
}
