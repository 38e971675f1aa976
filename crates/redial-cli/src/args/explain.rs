//! `redial explain`

use clap::Args;
use redial_policy::Kind;

use super::Suggested;

fn names() -> Vec<&'static str> {
    Kind::all().map(Kind::name).chain(redial_flow::reason::names()).collect()
}

/// `redial explain`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial explain cap-erases-jitter
  redial explain value-too-large    why a task of a flow gave up
  redial explain                    the list of all diagnostics and reasons")]
pub(crate) struct Explain {
    /// Name of a diagnostic, or of a reason in a dead letter [default: list all of them]
    #[arg(value_name = "NAME", value_parser = Suggested(names), hide_possible_values = true)]
    pub(crate) name: Option<String>,
}
