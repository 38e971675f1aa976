//! The command line: its verbs, its flags, and what they are told to say.

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
use redial_policy::{Format, Kind, Notation, RuleSet, Target};

pub(crate) use self::simulate::{ExperimentFlags, OutputFlags, Simulate, Tune};

/// How many delays are shown at most: what is beyond them is not read by anybody.
const SHOWN_MAX: i64 = 100_000;

/// Words that a shell may offer, where others are for the verb itself to answer.
#[derive(Clone)]
struct Offered(fn() -> Vec<&'static str>);

impl TypedValueParser for Offered {
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

/// `-j` was short for `--jitter` before the first release. Whoever still writes it is told, because
/// a retry that lost its jitter in silence would be worse than an error.
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

fn diagnostics() -> Vec<&'static str> {
    Kind::all().map(Kind::name).collect()
}

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

fn topics() -> Vec<&'static str> {
    [crate::verb::help::topics(), verbs()].concat()
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

Exit codes: 0 success; 1 errors found, or something lost; 125 bad usage, a bad policy or a file \
                  that cannot be read. redial run has more: see redial help exit-codes."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What every verb can be told.
#[derive(Args, Debug)]
pub(crate) struct Everywhere {
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = 900)]
    pub(crate) color: Color,
}

impl Cli {
    /// The command line with `run` or `until` alone, which is enough to read one that is right: to
    /// describe the other verbs takes longer than to start a command.
    #[cfg(unix)]
    pub(crate) fn command_of(verb: &std::ffi::OsStr) -> Option<Command> {
        let verb = match verb.to_str()? {
            "run" => Run::augment_args(Command::new("run")),
            "until" => Until::augment_args(Command::new("until")),
            _ => return None,
        };
        Some(Everywhere::augment_args(Command::new("redial")).subcommand(verb))
    }
}

/// What redial can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a command under a policy, until it succeeds or the policy gives up
    #[cfg(unix)]
    Run(Box<Run>),
    /// Wait until a command succeeds: look again and again, with few words
    #[cfg(unix)]
    Until(Box<Until>),
    /// Show the schedule that a policy would sleep; nothing runs
    Plan(Plan),
    /// Say what is wrong with policies or rules, where, and what would be right
    Check(Check),
    /// Say what a diagnostic means, with an example and the fix
    Explain(Explain),
    /// Write a policy in another notation, and name what was lost
    Convert(Convert),
    /// Say whether a failure would be retried, and which rule says so; nothing runs
    Classify(Classify),
    /// Say what became of runs, from the logs of their events
    Report(Report),
    /// Show, reset or make the budgets and breakers that runs share
    #[cfg(unix)]
    Shared(Shared),
    /// Show what policies do to a crowd, to a service that fails, to services that call each other
    Simulate(Box<Simulate>),
    /// Find the policy that does it best, and what it gains against yours
    Tune(Box<Tune>),
    /// Print the completions of a shell
    Completions(Completions),
    /// Print the manual page
    Man(Man),
    /// Print the help of a verb, or of a topic: policy, rules, schema, budget, breaker, events,
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
            // What the environment says is for anstream to find out.
            Self::Auto => return,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// The notation of a file.
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

/// The policy: a base, and what is said over it. The same on every verb that takes a policy.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Policy")]
pub(crate) struct PolicyFlags {
    /// A clause, such as 'retry: 5, delay: 1s, backoff: exponential'
    #[arg(long, value_name = "CLAUSE")]
    pub(crate) with: Vec<String>,
    /// A file, and the name of a policy in it where it has several; - is standard input
    #[arg(long, value_name = "FILE[#NAME]", value_hint = clap::ValueHint::FilePath)]
    pub(crate) policy: Vec<String>,
    /// A policy that redial brings: default, contention for writers that collide, until for a poll
    #[arg(long, value_name = "NAME", value_parser = Offered(|| vec!["default", "contention", "until"]), hide_possible_values = true)]
    pub(crate) preset: Vec<String>,
    /// The notation of the file; without this it is recognised by its keys
    #[arg(long, value_name = "DIALECT")]
    pub(crate) dialect: Option<Dialect>,

    /// How often to run in all: a number, or unlimited
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        allow_hyphen_values = true,
        conflicts_with = "retries"
    )]
    pub(crate) attempts: Option<String>,
    /// How often to run again: one less than --attempts
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) retries: Option<String>,
    /// The first delay, such as 100ms or 1m30s
    #[arg(short, long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// fixed, linear, exponential, fibonacci, decorrelated, or a list such as '[1s, 3s, 7s]'
    #[arg(short, long, value_name = "BACKOFF", allow_hyphen_values = true, value_parser = Offered(backoffs), hide_possible_values = true)]
    pub(crate) backoff: Option<String>,
    /// What an exponential backoff multiplies by, such as 1.5
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub(crate) factor: Option<String>,
    /// What a linear backoff adds
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) increment: Option<String>,
    /// No delay is shorter
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) min_delay: Option<String>,
    /// No delay is longer before its jitter; none lifts the default cap of 30s
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) max_delay: Option<String>,
    /// none, full, equal, 25%, +50% or '[0.5, 1.5]'
    #[arg(long, value_name = "JITTER", allow_hyphen_values = true, value_parser = Offered(jitters), hide_possible_values = true)]
    pub(crate) jitter: Option<String>,
    /// What `-j` once was; the letter is kept for the number of jobs
    #[arg(short = 'j', value_name = "JITTER", allow_hyphen_values = true, hide = true, value_parser = no_short_jitter)]
    pub(crate) short_jitter: Option<String>,
    /// How long each attempt may take
    #[arg(short, long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) timeout: Option<String>,
    /// No attempt starts after this much time; run and until cut the one that runs
    #[arg(short = 'T', long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) within: Option<String>,
    /// The sum of all waits stays within this
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
                  REDIAL_BUDGET stand in for flags that are not given; see redial help environment.

The command gets REDIAL_ATTEMPT, REDIAL_ATTEMPTS, REDIAL_LAST_EXIT, REDIAL_RUN_ID, and \
                  REDIAL_CONTROL, a file in which it may write `retry-after 30s` or `stop`.

Exit codes: 0 success; the command's own where it gave up; 75 refused, the breaker is open; 124 \
                  the last attempt was cut by the timeout or the deadline; 125 bad usage; 126 not \
                  executable; 127 not found; 128+n the command died of signal n; 1 where a failure \
                  has the code 0, and with --flaky fail. A signal to redial ends the command, and \
                  then redial by the same signal. See redial help exit-codes.")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    /// Sleep what a call with this seed sleeps: what `redial plan --seed` shows
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Policy")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) rules: RuleFlags,

    /// Where the command has its standard input from
    #[arg(long, value_name = "WHAT", default_value = "auto", help_heading = "Streams")]
    pub(crate) stdin: Stdin,
    /// What becomes of the standard output of an attempt
    #[arg(long, value_name = "WHAT", default_value = "stream", help_heading = "Streams")]
    pub(crate) output: HoldOutput,
    /// What becomes of the standard error of an attempt
    #[arg(long, value_name = "WHAT", default_value = "stream", help_heading = "Streams")]
    pub(crate) stderr: HoldErrors,

    /// What the timeout and the deadline send, by name or number: INT, SIGINT, 2
    #[arg(
        short,
        long,
        value_name = "SIGNAL",
        default_value = "TERM",
        allow_hyphen_values = true,
        help_heading = "Processes"
    )]
    pub(crate) signal: String,
    /// How long after that signal a command that is cut is killed [default: 5s]
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

    /// Write what happens, as it happens, one JSON object a line; - is standard output; see redial
    /// help events
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Reports")]
    pub(crate) events: Option<PathBuf>,
    /// Write a report at the end: a .json, .md or .xml (JUnit) file; may be repeated
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Reports")]
    pub(crate) report: Vec<PathBuf>,
    /// What a success is that was not the first attempt's [default: pass; warn in a GitHub workflow]
    #[arg(long, value_name = "WHAT", help_heading = "Reports")]
    pub(crate) flaky: Option<Flaky>,
    /// Run this line of sh once the run is over, however it ended, for at most a minute: it gets
    /// REDIAL_OUTCOME, REDIAL_REASON, REDIAL_EXIT, REDIAL_ATTEMPTS_MADE, REDIAL_ELAPSED and
    /// REDIAL_WAITED (seconds), REDIAL_COMMAND and REDIAL_RUN_ID
    #[arg(long, value_name = "LINE", value_hint = clap::ValueHint::CommandString, help_heading = "Reports")]
    pub(crate) on_end: Option<OsString>,
    /// What redial exits with when it gives up
    #[arg(long, value_name = "WHAT", default_value = "command", help_heading = "Reports")]
    pub(crate) exit_codes: ExitCodes,
    /// When to draw signs and a countdown
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Reports")]
    pub(crate) progress: Progress,
    /// Say nothing but what is redial's own doing: a command that cannot be started, or is cut
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Reports")]
    pub(crate) quiet: bool,
    /// Say more: every attempt, the seed, what a rule saw
    #[arg(short, long, help_heading = "Reports")]
    pub(crate) verbose: bool,
    /// Print the command, the policy and the rules; run nothing
    #[arg(long, help_heading = "Reports")]
    pub(crate) dry_run: bool,

    /// The command and its arguments; everything from here on is its own
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
                    .help("stream, or hold: only what the last look prints comes out, at the end")
            })
            .mut_arg("stderr", |stderr| {
                stderr
                    .default_value(HOLD)
                    .hide_possible_values(true)
                    .help("The same for what it prints to standard error")
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

It looks once a second, for as long as it takes: --within sets a deadline, --delay another pace. The \
                                  other flags are those of redial run, and so is what they mean. \
                                  redial plan --preset until shows the pace.

A look that does not succeed is no failure, and no success is flaky. On a terminal one line shows what \
                                  is waited for; elsewhere a line is printed at the first look, then \
                                  whenever the wait has doubled (from 10s on), and at the end.

Of the defaults of the environment only REDIAL_EVENTS holds here: the others are about retries.

Exit codes: as of redial run. 0 success; the command's own where no other look could start before the \
                                  deadline; 124 where the timeout or the deadline cut the last look; \
                                  125 bad usage; 126 not executable; 127 not found.";

/// Which outcomes are a success, which are worth another attempt, and which are not.
#[derive(Args, Debug)]
#[command(next_help_heading = "Rules")]
pub(crate) struct RuleFlags {
    /// What is a success, in the place of exit code 0
    #[arg(long, value_name = "CONDITION")]
    pub(crate) success_on: Vec<String>,
    /// Which failures are final
    #[arg(long, value_name = "CONDITION")]
    pub(crate) stop_on: Vec<String>,
    /// Which failures are worth another attempt; without it all are
    #[arg(long, value_name = "CONDITION")]
    pub(crate) retry_on: Vec<String>,
    /// A set that knows the failures of a program, or a file with one; several between commas; see
    /// redial help rules
    #[arg(long, value_name = "NAME|FILE", value_parser = Offered(rule_sets), hide_possible_values = true)]
    pub(crate) rules: Vec<String>,
    /// Where the command says how long to wait, such as 'stderr:/retry after (\d+)/', or
    /// stderr:retry-after for the header of an HTTP response
    #[arg(long, value_name = "STREAM:/RE/|STREAM:retry-after")]
    pub(crate) delay_from: Vec<String>,
    /// The longest delay that the command may ask for; for a longer one it is not run again
    /// [default: 2min]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) max_retry_after: Option<String>,
}

/// Where the command has its standard input from.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stdin {
    /// A terminal as it is, a file from where it was, a pipe again for each attempt; a pipe is read
    /// ahead, so in a `while read` loop say null
    Auto,
    /// As it is: the next attempt gets what the last one left
    Inherit,
    /// Nothing
    Null,
}

/// What becomes of standard output.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HoldOutput {
    /// It comes out as it is written
    Stream,
    /// That of the final attempt comes out at the end, once
    Hold,
}

/// What becomes of standard error.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HoldErrors {
    /// It comes out as it is written
    Stream,
    /// That of failed attempts comes out only if the run gives up, with what redial says of them; a
    /// success shows its own and no word of redial's
    Hold,
}

/// What a success is that took more than one attempt.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Flaky {
    /// A success
    Pass,
    /// A success, with a warning
    Warn,
    /// A failure, exit code 1 (90 with --exit-codes reason)
    Fail,
}

/// What the exit code of a run says that was not successful.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodes {
    /// How the command ended the last time: its own code, 124 for a timeout, 128+n for a signal
    Command,
    /// Why there was no other attempt: 80 attempts spent, 81 rejected by a rule, 82 the deadline, 83
    /// the wait budget, 84 a wait longer than --max-retry-after, 85 the retry budget, 86 the breaker
    Reason,
}

/// When to draw what moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `redial plan`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial plan                                         the default policy
  redial plan --with 'retry: 5, delay: 1s, backoff: exponential, jitter: full' --seed 42
  redial plan retries.yaml#fetch --within 30s
  redial plan --preset contention --with 'retry: 3, delay: 10ms, backoff: linear'
  redial plan retries.yaml --html plan.html           a page for a colleague

Several policies are shown side by side, on one time axis.")]
pub(crate) struct Plan {
    /// Files with policies, and the name of one where a file has several: the same as --policy
    #[arg(value_name = "FILE[#NAME]", value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    /// Show what a call with this seed sleeps
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// Show at most this many delays [default: 100, or 10 where attempts are unlimited]
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

/// `redial check`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial check retries.yaml workflow.yml pipeline.cst
  redial check --with 'retry: 3, dely: 1s'
  redial check --deny-warnings --format github retries.toml
  redial check --fix retries.yaml

Exit codes: 0 clean, or warnings alone; 1 errors, or warnings with --deny-warnings; 125 a file \
                  cannot be read.")]
pub(crate) struct Check {
    /// Files with policies or rules; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "with", value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<String>,
    /// A clause to check
    #[arg(long, value_name = "CLAUSE")]
    pub(crate) with: Vec<String>,
    /// The notation of the files; without this it is recognised by their keys
    #[arg(long, value_name = "DIALECT")]
    pub(crate) dialect: Option<Dialect>,
    /// How to say it
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: CheckFormat,
    /// Let a warning fail the check too
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Apply the fixes that are safe, and check what is left
    #[arg(long)]
    pub(crate) fix: bool,
}

/// How findings are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// Drawn, for people
    Human,
    /// One JSON object
    Json,
    /// Annotations of a GitHub workflow
    Github,
}

/// `redial explain`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial explain cap-erases-jitter
  redial explain                    the list of all diagnostics")]
pub(crate) struct Explain {
    /// The name of a diagnostic; without one, all names
    #[arg(value_name = "NAME", value_parser = Offered(diagnostics), hide_possible_values = true)]
    pub(crate) name: Option<String>,
}

/// `redial convert`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial convert --to clause --policy workflow.yml
  redial convert --to retry-config --with 'retry: 4, delay: 1s, backoff: exponential'
  redial convert --to rust --preset contention
  redial convert --to file --as toml --policy policies.json --allow-loss

What the other notation cannot say is named on standard error, and nothing is printed then unless \
                  --allow-loss is given.")]
pub(crate) struct Convert {
    /// The notation to write
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: To,
    /// What to write it in [default: json for retry-policy, yaml otherwise]
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) written_as: Option<WrittenAs>,
    /// Print the policy although something is lost
    #[arg(long)]
    pub(crate) allow_loss: bool,
    /// Print JSON: the text and what was lost
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
}

/// What a policy can be written in.
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

/// What a file can be written in.
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

/// `redial classify`
#[derive(Args, Debug)]
#[command(
    after_help = "\
Examples:
  redial classify --rules git --exit 128 --stderr fetch.log
  redial classify --rules curl --exit 22 --stderr - < curl.log
  redial classify --retry-on signal:KILL --stop-on exit:2 --signal KILL
  redial classify --policy retries.yaml#fetch --timed-out --json",
    group(clap::ArgGroup::new("ending").required(true))
)]
pub(crate) struct Classify {
    /// The exit code of the command
    #[arg(long, value_name = "CODE", group = "ending", value_parser = clap::value_parser!(u8))]
    pub(crate) exit: Option<u8>,
    /// The signal that it died of, by name or number
    #[arg(long, value_name = "SIGNAL", group = "ending")]
    pub(crate) signal: Option<String>,
    /// It was cut by the timeout
    #[arg(long, group = "ending")]
    pub(crate) timed_out: bool,
    /// There is no such command
    #[arg(long, group = "ending")]
    pub(crate) not_found: bool,
    /// It cannot be executed
    #[arg(long, group = "ending")]
    pub(crate) not_executable: bool,
    /// What it printed to standard output; - is standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) stdout: Option<String>,
    /// What it printed to standard error; - is standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) stderr: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) rules: RuleFlags,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
}

/// `redial report`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial report events.ndjson
  redial report --format md events.ndjson
  redial report --output report.xml events.ndjson     JUnit, for a CI server

A run is flaky if it succeeded, and not at once. The flake rate is the share of flaky runs in those \
                  that succeeded or failed; runs that were cancelled, refused or killed are not in \
                  it. Lines that cannot be read are counted on standard error and left out.")]
pub(crate) struct Report {
    /// Logs that `redial run --events` wrote; - is standard input
    #[arg(value_name = "EVENTS", required = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) events: Vec<String>,
    /// How to say it [default: by the ending of the output file, or table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<crate::verb::report::Format>,
    /// Write the report to this file; - is standard output
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output: Option<String>,
}

/// `redial shared`
#[cfg(unix)]
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

Exit codes: 0 success; 125 a file that is not there, or is no budget or breaker. The other files are \
                  shown or reset all the same."
)]
pub(crate) struct Shared {
    #[command(subcommand)]
    pub(crate) verb: SharedVerb,
}

/// What can be done with a shared file.
#[cfg(unix)]
#[derive(Debug, Subcommand)]
pub(crate) enum SharedVerb {
    /// Say what files hold; nothing is changed or made
    Show(SharedShow),
    /// Fill budgets and close breakers; their settings stay, and whoever uses them goes on
    Reset(SharedReset),
    /// Make a file with settings of your own
    Create(SharedCreate),
}

/// `redial shared show`
#[cfg(unix)]
#[derive(Args, Debug)]
pub(crate) struct SharedShow {
    /// Files that `redial run --budget` or `--breaker` names
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `redial shared reset`
#[cfg(unix)]
#[derive(Args, Debug)]
pub(crate) struct SharedReset {
    /// Files that `redial run --budget` or `--breaker` names
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

/// `redial shared create`
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct SharedCreate {
    #[command(subcommand)]
    pub(crate) kind: NewShared,
}

/// What kind of file to make.
#[cfg(unix)]
#[derive(Debug, Subcommand)]
pub(crate) enum NewShared {
    /// A retry budget: every run brings tokens, every retry costs some
    Budget(BudgetSettings),
    /// A circuit breaker: enough failures in a row, and nothing is tried for a while
    Breaker(BreakerSettings),
}

/// The settings of a budget.
#[cfg(unix)]
#[derive(Args, Debug)]
pub(crate) struct BudgetSettings {
    /// The file to make
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// How many tokens there are at most, and at first [default: 100]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    pub(crate) capacity: Option<f64>,
    /// How many each run brings [default: 0.2]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    pub(crate) deposit: Option<f64>,
    /// How many each retry takes [default: 1]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    pub(crate) cost: Option<f64>,
    /// How many come with each second, whatever the runs do [default: 10]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    pub(crate) floor_per_second: Option<f64>,
}

/// The settings of a breaker.
#[cfg(unix)]
#[derive(Args, Debug)]
pub(crate) struct BreakerSettings {
    /// The file to make
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// How many failed attempts in a row open it [default: 5]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) failures: Option<u32>,
    /// How long it stays open [default: 30s]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) recovery: Option<String>,
    /// How many attempts then decide whether it closes [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) probes: Option<u32>,
}

/// `redial completions`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial completions bash > ~/.local/share/bash-completion/completions/redial
  redial completions zsh > ~/.zfunc/_redial
  redial completions fish > ~/.config/fish/completions/redial.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// `redial man`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial man | man -l -
  redial man plan > redial-plan.1")]
pub(crate) struct Man {
    /// The page of a verb; without one, the page of redial
    #[arg(value_name = "VERB", value_parser = Offered(verbs), hide_possible_values = true)]
    pub(crate) verb: Option<String>,
}

/// `redial help`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial help plan
  redial help policy                the language, with examples
  redial help rules                 conditions, and sets of them
  redial help rules git > git.toml  a set as a file, to read or to extend
  redial help budget                one retry budget for many processes; likewise breaker
  redial help events                the lines that run --events writes
  redial help exit-codes            of every verb
  redial help environment           defaults for a CI job or a host
  redial help schema > policies.schema.json")]
pub(crate) struct Help {
    /// A verb, or one of the topics policy, rules, schema, budget, breaker, events, exit-codes and
    /// environment
    #[arg(value_name = "TOPIC", value_parser = Offered(topics), hide_possible_values = true)]
    pub(crate) topic: Option<String>,
    /// After rules: the set to print; after shared: what to do with a file
    #[arg(value_name = "SET", value_parser = Offered(rule_sets), hide_possible_values = true)]
    pub(crate) set: Option<String>,
}
