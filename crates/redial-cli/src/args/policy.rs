//! The flags of a policy, the same on every verb that takes one.

use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use redial_policy::{Notation, System};

use super::Suggested;

/// The flags of a policy: a base, and options that override it. The same on every verb that takes one.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Policy")]
pub(crate) struct PolicyFlags {
    /// Use this clause, such as 'retry: 5, delay: 1s, backoff: exponential'
    #[arg(long, value_name = "CLAUSE")]
    pub(crate) with: Vec<String>,
    /// Read the policy from a file, by its name if the file has several; - is standard input
    #[arg(long, value_name = "FILE[#NAME]", value_hint = clap::ValueHint::FilePath)]
    pub(crate) policy: Vec<String>,
    /// Use a built-in policy: default, contention (colliding writers) or until (polling)
    #[arg(long, value_name = "NAME", value_parser = Suggested(|| vec!["default", "contention", "until"]), hide_possible_values = true)]
    pub(crate) preset: Vec<String>,
    /// Notation of the file, such as retry-policy or step-functions [default: recognised by its keys]
    #[arg(long, value_name = "DIALECT", hide_possible_values = true)]
    pub(crate) dialect: Option<Dialect>,
    /// Implementation of another system whose law is meant: go, core, java, js or python
    #[arg(long, value_name = "NAME", value_parser = Suggested(clients), hide_possible_values = true)]
    pub(crate) client: Option<String>,

    /// Maximum number of attempts, or unlimited
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        allow_hyphen_values = true,
        conflicts_with = "retries"
    )]
    pub(crate) attempts: Option<String>,
    /// Maximum number of retries: one less than --attempts
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) retries: Option<String>,
    /// First delay, such as 100ms or 1m30s
    #[arg(short, long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// Backoff: fixed, linear, exponential, fibonacci, decorrelated, or a list such as '[1s, 3s, 7s]'
    #[arg(short, long, value_name = "BACKOFF", allow_hyphen_values = true, value_parser = Suggested(backoffs), hide_possible_values = true)]
    pub(crate) backoff: Option<String>,
    /// Factor of an exponential backoff, such as 1.5
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub(crate) factor: Option<String>,
    /// Increment of a linear backoff
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) increment: Option<String>,
    /// Lower bound of every delay
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) min_delay: Option<String>,
    /// Cap on every delay, before jitter; none lifts the default of 30s
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) max_delay: Option<String>,
    /// Jitter: none, full, equal, 25%, +50% or '[0.5, 1.5]'
    #[arg(long, value_name = "JITTER", allow_hyphen_values = true, value_parser = Suggested(jitters), hide_possible_values = true)]
    pub(crate) jitter: Option<String>,
    /// Refused with a hint: `-j` was short for `--jitter` before the first release
    #[arg(short = 'j', value_name = "JITTER", allow_hyphen_values = true, hide = true, value_parser = no_short_jitter)]
    pub(crate) short_jitter: Option<String>,
    /// Timeout of each attempt
    #[arg(short, long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) timeout: Option<String>,
    /// Deadline for everything: no attempt starts after it, and run and until stop the one in progress
    #[arg(short = 'T', long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) within: Option<String>,
    /// Limit on the sum of all delays
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) wait_budget: Option<String>,
}

impl PolicyFlags {
    /// The flag that sets an option of a clause: `max_delay` is `--max-delay`.
    pub(crate) fn flag_of(option: &str) -> String {
        if option == "retry" { "retries".to_owned() } else { option.replace('_', "-") }
    }

    /// The options that flags override, by their names in a clause.
    pub(crate) fn overrides(&self) -> Vec<(&'static str, &str)> {
        let flags = [
            ("attempts", &self.attempts),
            ("retry", &self.retries),
            ("delay", &self.delay),
            ("backoff", &self.backoff),
            ("factor", &self.factor),
            ("increment", &self.increment),
            ("min_delay", &self.min_delay),
            ("max_delay", &self.max_delay),
            ("jitter", &self.jitter),
            ("timeout", &self.timeout),
            ("within", &self.within),
            ("wait_budget", &self.wait_budget),
        ];
        flags.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect()
    }
}

/// The notation of a policy file: one of our own, or that of another system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect(Notation);

static DIALECTS: LazyLock<Vec<Dialect>> = LazyLock::new(|| {
    let own = Notation::ALL.into_iter();
    own.chain(System::all().map(Notation::Foreign)).map(Dialect).collect()
});

impl ValueEnum for Dialect {
    fn value_variants<'a>() -> &'a [Self] {
        &DIALECTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self.0 {
            Notation::Clause => ("clause", "retry: 3, delay: 1s"),
            Notation::RetryConfig => ("retry-config", "attempts, initial_delay, backoff …"),
            Notation::RetryPolicy => ("retry-policy", "maxAttempts, baseDelayMs …"),
            Notation::File => ("file", "policies: {name: …}"),
            Notation::Foreign(system) => (system.name(), system.title()),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl From<Dialect> for Notation {
    fn from(dialect: Dialect) -> Self {
        dialect.0
    }
}

fn clients() -> Vec<&'static str> {
    let mut clients: Vec<_> = System::all().flat_map(System::clients).copied().collect();
    clients.sort_unstable();
    clients.dedup();
    clients
}

fn backoffs() -> Vec<&'static str> {
    vec!["fixed", "linear", "exponential", "fibonacci", "decorrelated"]
}

fn jitters() -> Vec<&'static str> {
    vec!["none", "full", "equal"]
}

/// `-j` was short for `--jitter` before the first release and is reserved for the number of jobs. An error
/// is better than a retry that silently loses its jitter.
fn no_short_jitter(value: &str) -> Result<String, String> {
    let is_jitter = jitters().contains(&value) || value.contains(['%', '[']);
    let remedy = match is_jitter {
        true => format!("write --jitter {value}"),
        false => {
            "it does nothing; --jitter takes none, full, equal, 25%, +50% or '[0.5, 1.5]'".into()
        }
    };
    Err(format!("-j is not short for --jitter any more; {remedy}"))
}
