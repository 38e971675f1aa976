//! The command line: the verbs, and a file for the flags of each; `policy.rs` and `rules.rs` have those that
//! verbs share.

// What `run` needs comes first, as in `main.rs`.
mod policy;
mod rules;
#[cfg(unix)]
mod run;

mod check;
mod classify;
mod compare;
mod convert;
mod explain;
mod find;
mod flow;
pub(crate) mod foreign;
mod help;
#[cfg(unix)]
mod map;
mod plan;
mod report;
#[cfg(unix)]
mod shared;
mod simulate;

use clap::builder::{PossibleValue, Str, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command, Parser, Subcommand, ValueEnum};

pub(crate) use self::check::{Check, CheckFormat};
pub(crate) use self::classify::Classify;
pub(crate) use self::compare::Compare;
pub(crate) use self::convert::Convert;
pub(crate) use self::explain::Explain;
pub(crate) use self::find::Find;
#[cfg(unix)]
pub(crate) use self::flow::{DeadDrop, DeadRetry, EngineFlags, FlowCancel, FlowResume, FlowRun};
pub(crate) use self::flow::{
    DeadList, DeadShow, DeadVerb, Flow, FlowPlan, FlowRemove, FlowReport, FlowStatus, FlowVerb,
};
pub(crate) use self::help::{Completions, Help, Man};
#[cfg(unix)]
pub(crate) use self::map::{EndingFlags, ItemFormat, Map, MapFlags, SyncWhen, TellingFlags};
pub(crate) use self::plan::Plan;
pub(crate) use self::policy::{Dialect, PolicyFlags};
pub(crate) use self::report::Report;
pub(crate) use self::rules::RuleFlags;
#[cfg(unix)]
pub(crate) use self::run::{ExitCodes, Flaky, HoldErrors, HoldOutput, Run, Stdin, Until};
#[cfg(unix)]
pub(crate) use self::shared::{BreakerSettings, BudgetSettings, NewShared, Shared, SharedVerb};
pub(crate) use self::simulate::{ExperimentFlags, OutputFlags, Simulate, Tune};

/// Values that shells complete; any other is accepted here and judged by the verb.
#[derive(Clone)]
struct Suggested<T>(fn() -> Vec<T>);

impl<T: Into<Str> + Clone + 'static> TypedValueParser for Suggested<T> {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0().into_iter().map(PossibleValue::new)))
    }
}

fn verbs() -> Vec<String> {
    let command = Verb::augment_subcommands(Command::new("redial"));
    command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect()
}

/// Retry policies you can read, check, see, prove and run.
#[derive(Debug, Parser)]
#[command(
    name = "redial",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Examples:
  redial run -n 5 -- curl -fsS https://example.com/
  redial until --within 2min -- pg_isready
  redial plan --with 'retry: 4, delay: 100ms, backoff: exponential, jitter: full'
  redial check retries.yaml
  redial simulate outage --rate 280 --capacity 300 -n 2
  redial convert --to rust --policy retries.yaml#fetch
  redial explain cap-erases-jitter
  redial help policy                the language, with examples

Exit codes: 0 success; 1 errors found, or something lost; 125 bad usage, a bad policy or an unreadable \
                  file. redial run has more: see redial help exit-codes."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The flags of every verb.
#[derive(Args, Debug)]
pub(crate) struct Everywhere {
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = 900)]
    pub(crate) color: Color,
}

impl Cli {
    /// The command line with one verb alone, of those that are called most: enough to parse a valid
    /// one, and describing the other verbs would take longer than starting a command.
    pub(crate) fn command_of(verb: &std::ffi::OsStr) -> Option<Command> {
        let verb = match verb.to_str()? {
            #[cfg(unix)]
            "run" => Run::augment_args(Command::new("run")),
            #[cfg(unix)]
            "until" => Until::augment_args(Command::new("until")),
            "plan" => Plan::augment_args(Command::new("plan")),
            "check" => Check::augment_args(Command::new("check")),
            _ => return None,
        };
        Some(Everywhere::augment_args(Command::new("redial")).subcommand(verb))
    }
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a command under a policy, until it succeeds or the policy gives up
    #[cfg(unix)]
    Run(Box<Run>),
    /// Poll a command until it succeeds, and print little
    #[cfg(unix)]
    Until(Box<Until>),
    /// Run a command for many items, each under the policy
    #[cfg(unix)]
    Map(Box<Map>),
    /// Show the delays of a policy; nothing runs
    Plan(Plan),
    /// Show several policies side by side: plan, picture and totals
    Compare(Compare),
    /// Find every policy below a folder, the worst first
    Find(Find),
    /// Check policies, rules and flows, and show how to fix what is wrong
    Check(Check),
    /// Explain a diagnostic, with an example and the fix
    Explain(Explain),
    /// Write a policy in another notation, and name what is lost
    Convert(Convert),
    /// Tell whether a failure would be retried, and by which rule; nothing runs
    Classify(Classify),
    /// Summarise runs from their event logs
    Report(Report),
    /// Show, reset or create the budgets and breakers that runs share
    #[cfg(unix)]
    Shared(Shared),
    /// Simulate what policies do to many clients and to the services that they call
    Simulate(Box<Simulate>),
    /// Search for a better policy, and show what it gains over yours
    Tune(Box<Tune>),
    /// Plan and run flows, work in steps; look at their runs, reports and dead letters
    Flow(Box<Flow>),
    /// Print completions for a shell
    Completions(Completions),
    /// Print a manual page
    Man(Man),
    /// Print help about a verb or a topic: policy, rules, schema, flows, flow-schema, budget,
    /// breaker, events, exit-codes, environment
    Help(Help),
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    pub(crate) fn apply(self) {
        let choice = match self {
            // anstream reads NO_COLOR and the like itself.
            Self::Auto => return,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// When to draw symbols, a countdown or a progress bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
