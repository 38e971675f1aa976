//! `redial shared`

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `redial shared`
#[derive(Args, Debug)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  redial shared create budget ci.budget --capacity 20 --floor-per-second 0.1
  redial shared create breaker api.breaker --failures 3 --recovery 1min
  redial shared show ci.budget api.breaker
  redial shared show --json api.breaker
  redial shared reset ci.budget

Exit codes: 0 success; 125 a file does not exist, or is no budget or breaker. The other files are \
                  shown or reset all the same."
)]
pub(crate) struct Shared {
    #[command(subcommand)]
    pub(crate) verb: SharedVerb,
}

/// What can be done with a shared file.
#[derive(Debug, Subcommand)]
pub(crate) enum SharedVerb {
    /// Show what files hold; nothing is changed
    Show(SharedShow),
    /// Fill budgets and close breakers; keeps their settings, and running commands go on
    Reset(SharedReset),
    /// Create a file with your own settings
    Create(SharedCreate),
}

/// `redial shared show`
#[derive(Args, Debug)]
pub(crate) struct SharedShow {
    /// Files of `redial run --budget` and `--breaker`
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `redial shared reset`
#[derive(Args, Debug)]
pub(crate) struct SharedReset {
    /// Files of `redial run --budget` and `--breaker`
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

/// `redial shared create`
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct SharedCreate {
    #[command(subcommand)]
    pub(crate) kind: NewShared,
}

/// What kind of file to create.
#[derive(Debug, Subcommand)]
pub(crate) enum NewShared {
    /// A retry budget, which is a token bucket: runs add tokens, retries take them
    Budget(BudgetSettings),
    /// A circuit breaker: after some failures in a row, nothing runs for a while
    Breaker(BreakerSettings),
}

/// The settings of a budget.
#[derive(Args, Debug)]
pub(crate) struct BudgetSettings {
    /// File to create
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Maximum number of tokens, which is also the initial one [default: 100]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    pub(crate) capacity: Option<f64>,
    /// Tokens that each run adds [default: 0.2]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    pub(crate) deposit: Option<f64>,
    /// Tokens that each retry takes [default: 1]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    pub(crate) cost: Option<f64>,
    /// Tokens added each second, whatever the runs do [default: 10]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    pub(crate) floor_per_second: Option<f64>,
}

/// The settings of a breaker.
#[derive(Args, Debug)]
pub(crate) struct BreakerSettings {
    /// File to create
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Failed attempts in a row that open it [default: 5]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) failures: Option<u32>,
    /// How long it stays open [default: 30s]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) recovery: Option<String>,
    /// Probes that then decide whether it closes [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) probes: Option<u32>,
}
