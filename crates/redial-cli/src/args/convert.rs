//! `redial convert`

use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use redial_policy::{Format, System, Target};

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
    /// Format to write it in [default: json for retry-policy, what is usual for another system, yaml otherwise]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct To(pub(crate) Target);

static TARGETS: LazyLock<Vec<To>> = LazyLock::new(|| {
    let own =
        [Target::Clause, Target::RetryConfig, Target::RetryPolicy, Target::File, Target::Rust];
    let systems = System::all().filter(|system| system.is_written()).map(Target::Foreign);
    own.into_iter().chain(systems).map(To).collect()
});

impl ValueEnum for To {
    fn value_variants<'a>() -> &'a [Self] {
        &TARGETS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self.0 {
            Target::Clause => ("clause", "attempts: 4, delay: 1s"),
            Target::RetryConfig => ("retry-config", "retry_config with attempts, initial_delay …"),
            Target::RetryPolicy => ("retry-policy", "retryPolicy with maxAttempts, baseDelayMs …"),
            Target::File => ("file", "A file of named policies"),
            Target::Rust => ("rust", "A constant for the library"),
            Target::Foreign(system) => (system.name(), system.title()),
        };
        Some(PossibleValue::new(name).help(help))
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
