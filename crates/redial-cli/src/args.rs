//! The command line: the verbs, the flags of `run` and those that verbs share. Each other verb's flags are a
//! file of `args/`.

pub(crate) mod foreign;
mod simulate;

#[cfg(unix)]
use std::ffi::OsString;
#[cfg(unix)]
use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command, Parser, Subcommand, ValueEnum};
#[cfg(unix)]
use clap::{ArgMatches, FromArgMatches};
use redial_policy::{Notation, RuleSet};

pub(crate) use self::check::{Check, CheckFormat};
pub(crate) use self::classify::Classify;
pub(crate) use self::convert::{Convert, To};
pub(crate) use self::explain::Explain;
pub(crate) use self::help::{Completions, Help, Man};
pub(crate) use self::plan::Plan;
pub(crate) use self::report::Report;
#[cfg(unix)]
pub(crate) use self::shared::{BreakerSettings, BudgetSettings, NewShared, Shared, SharedVerb};
pub(crate) use self::simulate::{ExperimentFlags, OutputFlags, Simulate, Tune};

/// Values that shells complete; any other is accepted here and judged by the verb.
#[derive(Clone)]
struct Suggested(fn() -> Vec<&'static str>);

impl TypedValueParser for Suggested {
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

/// The built-in sets.
fn rule_sets() -> Vec<&'static str> {
    RuleSet::names().collect()
}

fn verbs() -> Vec<&'static str> {
    vec![
        "run",
        "until",
        "plan",
        "check",
        "explain",
        "convert",
        "classify",
        "report",
        "shared",
        "simulate",
        "tune",
        "completions",
        "man",
        "help",
    ]
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
    /// Show the delays of a policy; nothing runs
    Plan(Plan),
    /// Check policies and rules, and show how to fix what is wrong
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
    /// Print completions for a shell
    Completions(Completions),
    /// Print a manual page
    Man(Man),
    /// Print help about a verb or a topic: policy, rules, schema, budget, breaker, events,
    /// exit-codes, environment
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

/// The notation of a policy file.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Dialect {
    /// retry: 3, delay: 1s
    Clause,
    /// attempts, initial_delay, backoff …
    RetryConfig,
    /// maxAttempts, baseDelayMs …
    RetryPolicy,
    /// policies: {name: …}
    File,
}

impl From<Dialect> for Notation {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Clause => Self::Clause,
            Dialect::RetryConfig => Self::RetryConfig,
            Dialect::RetryPolicy => Self::RetryPolicy,
            Dialect::File => Self::File,
        }
    }
}

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
    /// Notation of the file [default: recognised by its keys]
    #[arg(long, value_name = "DIALECT")]
    pub(crate) dialect: Option<Dialect>,

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

/// `redial run`
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial run -- curl -fsS https://example.com/
  redial run -n 5 -d 500ms -t 10s --rules curl -- curl -fsS https://example.com/
  redial run --policy retries.yaml#fetch --events run.ndjson -- ./fetch
  redial run --stop-on exit:2 --retry-on 'exit:1 & stderr:/reset by peer/' -- make deploy
  redial run --delay-from 'stderr:/retry after (\\d+ ?[a-z]*)/' -- ./api-call
  make data | redial run --output hold -- ./upload > receipt

Without a policy: 3 attempts, exponential from 1s, at most 30s, full jitter. Flags change single \
                  settings of the policy, so `-d 5s` waits up to 5s, and `-d 5s --jitter none` \
                  exactly 5s.

Defaults for a CI job or a host: REDIAL_WITH or REDIAL_POLICY, REDIAL_RULES, REDIAL_EVENTS and \
                  REDIAL_BUDGET replace flags that are not given; see redial help environment.

The command gets REDIAL_ATTEMPT, REDIAL_ATTEMPTS, REDIAL_LAST_EXIT, REDIAL_RUN_ID, and \
                  REDIAL_CONTROL, a file to which it may write `retry-after 30s` or `stop`.

Exit codes: 0 success; the command's own if redial gives up; 75 refused, the breaker is open; 124 the \
                  last attempt met the timeout or the deadline; 125 bad usage; 126 not executable; \
                  127 not found; 128+n the command died of signal n; 1 if a failure has the code 0, \
                  and with --flaky fail. A signal to redial ends the command first, and then redial \
                  by the same signal. See redial help exit-codes.")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    /// Seed of the jitter: redial sleeps the delays that `redial plan --seed` shows
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Policy")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) rules: RuleFlags,

    /// Standard input of the command
    #[arg(long, value_name = "WHAT", default_value = "auto", help_heading = "Streams")]
    pub(crate) stdin: Stdin,
    /// Standard output of the command
    #[arg(long, value_name = "WHAT", default_value = "stream", help_heading = "Streams")]
    pub(crate) output: HoldOutput,
    /// Standard error of the command
    #[arg(long, value_name = "WHAT", default_value = "stream", help_heading = "Streams")]
    pub(crate) stderr: HoldErrors,

    /// Signal that the timeout and the deadline send, by name or number: INT, SIGINT, 2
    #[arg(
        short,
        long,
        value_name = "SIGNAL",
        default_value = "TERM",
        allow_hyphen_values = true,
        help_heading = "Processes"
    )]
    pub(crate) signal: String,
    /// Send KILL if the command still runs this long after that signal [default: 5s]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, help_heading = "Processes")]
    pub(crate) kill_after: Option<String>,
    /// Run the command under a guard process, so that not even a KILL of redial leaves it running
    /// (Linux)
    #[arg(long, help_heading = "Processes")]
    pub(crate) guard: bool,
    /// Share one retry budget with every process that names this file; see redial help budget
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Processes")]
    pub(crate) budget: Option<PathBuf>,
    /// Share one circuit breaker with every process that names this file; see redial help breaker
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Processes")]
    pub(crate) breaker: Option<PathBuf>,

    /// Append events to this file as they happen, one JSON object a line; - is standard output; see
    /// redial help events
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Reports")]
    pub(crate) events: Option<PathBuf>,
    /// Write a report at the end: a .json, .md or .xml (JUnit) file; may be repeated
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Reports")]
    pub(crate) report: Vec<PathBuf>,
    /// How to treat a success that took more than one attempt [default: pass; warn in a GitHub
    /// workflow]
    #[arg(long, value_name = "WHAT", help_heading = "Reports")]
    pub(crate) flaky: Option<Flaky>,
    /// Run this line with sh when the run is over, however it ended, for at most a minute. It gets
    /// REDIAL_OUTCOME, REDIAL_REASON, REDIAL_EXIT, REDIAL_ATTEMPTS_MADE, REDIAL_ELAPSED and
    /// REDIAL_WAITED (seconds), REDIAL_COMMAND and REDIAL_RUN_ID
    #[arg(long, value_name = "LINE", value_hint = clap::ValueHint::CommandString, help_heading = "Reports")]
    pub(crate) on_end: Option<OsString>,
    /// Exit code if redial gives up
    #[arg(long, value_name = "WHAT", default_value = "command", help_heading = "Reports")]
    pub(crate) exit_codes: ExitCodes,
    /// When to draw symbols and a countdown
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Reports")]
    pub(crate) progress: Progress,
    /// Print only what redial itself does: a command that it cannot start, or has to stop
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Reports")]
    pub(crate) quiet: bool,
    /// Print more: every attempt, the seed, what a rule matched
    #[arg(short, long, help_heading = "Reports")]
    pub(crate) verbose: bool,
    /// Print the command, the policy and the rules; run nothing
    #[arg(long, help_heading = "Reports")]
    pub(crate) dry_run: bool,

    /// Command and its arguments; everything from here on belongs to it
    #[arg(value_name = "COMMAND", required = true, help_heading = None::<&str>, trailing_var_arg = true, value_hint = clap::ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// `redial until`: the flags of `run`, with other defaults.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Until(pub(crate) Run);

#[cfg(unix)]
impl Args for Until {
    fn augment_args(command: Command) -> Command {
        const HOLD: &str = "hold";
        Run::augment_args(command)
            .after_help(AFTER_UNTIL)
            .mut_arg("output", |output| {
                output
                    .default_value(HOLD)
                    .hide_possible_values(true)
                    .help("stream, or hold: print only the output of the last look, at the end")
            })
            .mut_arg("stderr", |stderr| {
                stderr
                    .default_value(HOLD)
                    .hide_possible_values(true)
                    .help("The same for standard error")
            })
            .mut_arg("flaky", |flaky| flaky.hide(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(unix)]
impl FromArgMatches for Until {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Run::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

#[cfg(unix)]
const AFTER_UNTIL: &str = "\
Examples:
  redial until --within 2min -- pg_isready
  redial until -d 500ms -- test -e /run/ready
  redial until --success-on 'stdout:/Running/' -T 5min -- kubectl get pod web
  redial until --stop-on exit:2 -t 10s -T 1h -- ./backup-is-done
  redial until --dry-run -- pg_isready

It looks once a second, for as long as it takes: --within sets a deadline, --delay another interval. \
                                  The other flags are those of redial run. redial plan --preset until \
                                  shows the policy.

A look that does not succeed is not a failure, and no success is flaky. On a terminal, one line shows \
                                  what it is waiting for; elsewhere a line is printed at the first \
                                  look, whenever the wait has doubled (from 10s on), and at the end.

Of the variables of redial help environment only REDIAL_EVENTS applies: the others are about retries.

Exit codes: as for redial run. 0 success; the command's own if no other look could start before the \
                                  deadline; 124 if the last look met the timeout or the deadline; \
                                  125 bad usage; 126 not executable; 127 not found.";

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

/// What the command reads.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stdin {
    /// Inherit a terminal, rewind a file, replay a pipe for each attempt; a pipe is read ahead, so use
    /// null in a `while read` loop
    Auto,
    /// Inherit it: the next attempt gets what the last one left
    Inherit,
    /// /dev/null
    Null,
}

/// What is done with standard output.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HoldOutput {
    /// Pass it through as it is written
    Stream,
    /// Print only that of the final attempt, at the end
    Hold,
}

/// What is done with standard error.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HoldErrors {
    /// Pass it through as it is written
    Stream,
    /// Print that of failed attempts only if redial gives up, with its lines about them; a success
    /// prints only its own
    Hold,
}

/// How a success is treated that took more than one attempt.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Flaky {
    /// As a success
    Pass,
    /// As a success, with a warning
    Warn,
    /// As a failure: exit code 1, or 90 with --exit-codes reason
    Fail,
}

/// What the exit code of an unsuccessful run tells.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodes {
    /// How the command last ended: its own code, 124 for a timeout, 128+n for a signal
    Command,
    /// Why there was no other attempt: 80 attempts spent, 81 rejected by a rule, 82 deadline, 83 wait
    /// budget, 84 a delay above --max-retry-after, 85 retry budget, 86 breaker open
    Reason,
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

// After the flags of `run`: the linker keeps this order.
mod check;
mod classify;
mod convert;
mod explain;
mod help;
mod plan;
mod report;
#[cfg(unix)]
mod shared;
