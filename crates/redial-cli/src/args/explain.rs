//! `redial explain`

use clap::Args;
use redial_policy::Kind;

use super::Suggested;

fn diagnostics() -> Vec<&'static str> {
    Kind::all().map(Kind::name).collect()
}

/// `redial explain`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial explain cap-erases-jitter
  redial explain                    the list of all diagnostics")]
pub(crate) struct Explain {
    /// Name of a diagnostic [default: list all of them]
    #[arg(value_name = "NAME", value_parser = Suggested(diagnostics), hide_possible_values = true)]
    pub(crate) name: Option<String>,
}
