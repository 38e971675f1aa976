//! `redial compare`

use clap::Args;

use super::Plan;

/// `redial compare`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial compare retries.yaml#fetch workflow.yml
  redial compare retries.yaml#fetch 'curl --retry 5' --preset contention
  redial compare --with 'retry: 5, delay: 1s' --with 'retry: 5, delay: 1s, jitter: full'
  redial compare retries.yaml workflow.yml --html compared.html      a page for a colleague

A file stands for all policies in it, whatever they are written in: also in the notation of another
system, or as a whole command line of curl or wget.")]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) plan: Plan,
}
