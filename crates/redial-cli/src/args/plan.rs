//! `redial plan`

use clap::Args;

use super::PolicyFlags;

/// `--show` takes at most this.
const SHOWN_MAX: i64 = 100_000;

/// `redial plan`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial plan                                         the default policy
  redial plan --with 'retry: 5, delay: 1s, backoff: exponential, jitter: full' --seed 42
  redial plan retries.yaml#fetch --within 30s
  redial plan --preset contention --with 'retry: 3, delay: 10ms, backoff: linear'
  redial plan retries.yaml --html plan.html           a page for a colleague
  redial plan --dialect curl -- --retry 5             the flags of another program

Several policies are shown side by side, on one time axis.")]
pub(crate) struct Plan {
    /// Policy files, the same as --policy; #NAME picks one of several policies
    #[arg(value_name = "FILE[#NAME]", value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    /// Show the delays of a call with this seed
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// Show at most this many delays [default: 100, or 10 if attempts are unlimited]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(..=SHOWN_MAX))]
    pub(crate) show: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a picture to this file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) svg: Option<String>,
    /// Write a page that explains the policy to this file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) html: Option<String>,
}
