//! `redial convert`

use clap::{Args, ValueEnum};
use redial_policy::{Format, Target};

use super::PolicyFlags;

/// `redial convert`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial convert --to clause --policy workflow.yml
  redial convert --to retry-config --with 'retry: 4, delay: 1s, backoff: exponential'
  redial convert --to rust --preset contention
  redial convert --to file --as toml --policy policies.json --allow-loss

What the other notation cannot express is named on standard error, and nothing else is printed unless \
                  --allow-loss is given.")]
pub(crate) struct Convert {
    /// Notation to write
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: To,
    /// Format to write it in [default: json for retry-policy, yaml otherwise]
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) written_as: Option<WrittenAs>,
    /// Print the policy even if something is lost
    #[arg(long)]
    pub(crate) allow_loss: bool,
    /// Print JSON: the text and what was lost
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
}

/// The notations that a policy can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    /// attempts: 4, delay: 1s
    Clause,
    /// retry_config with attempts, initial_delay …
    RetryConfig,
    /// retryPolicy with maxAttempts, baseDelayMs …
    RetryPolicy,
    /// A file of named policies
    File,
    /// A constant for the library
    Rust,
}

impl From<To> for Target {
    fn from(to: To) -> Self {
        match to {
            To::Clause => Self::Clause,
            To::RetryConfig => Self::RetryConfig,
            To::RetryPolicy => Self::RetryPolicy,
            To::File => Self::File,
            To::Rust => Self::Rust,
        }
    }
}

/// The formats that a file can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WrittenAs {
    /// YAML
    Yaml,
    /// TOML
    Toml,
    /// JSON
    Json,
}

impl From<WrittenAs> for Format {
    fn from(written: WrittenAs) -> Self {
        match written {
            WrittenAs::Yaml => Self::Yaml,
            WrittenAs::Toml => Self::Toml,
            WrittenAs::Json => Self::Json,
        }
    }
}
