//! `redial run`, and `redial until`, which has the same flags.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, Args, ValueEnum};

use super::{PolicyFlags, Progress, RuleFlags};

/// `redial run`
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

/// `redial until`: the flags of `run`, with other defaults and other words.
#[derive(Args, Debug)]
#[command(
    after_help = "\
Examples:
  redial until --within 2min -- pg_isready
  redial until -d 500ms -- test -e /run/ready
  redial until --success-on 'stdout:/Running/' -T 5min -- kubectl get pod web
  redial until --stop-on exit:2 -t 10s -T 1h -- ./backup-is-done
  redial until --dry-run -- pg_isready

It looks once a second, for as long as it takes: --within sets a deadline, --delay another interval. \
                  The other flags are those of redial run. redial plan --preset until \
                  shows the policy.

It does not wait for a look that could not start: with --within 2s it looks at 0s and at 1s, and then \
                  gives up, because the next look would start at the deadline.

A look that does not succeed is not a failure, and no success is flaky. On a terminal, one line shows \
                  what it is waiting for; elsewhere a line is printed at the first \
                  look, whenever the wait has doubled (from 10s on), and at the end.

Of the variables of redial help environment only REDIAL_EVENTS applies: the others are about retries.

Exit codes: as for redial run. 0 success; the command's own if no other look could start before the \
                  deadline; 124 if the last look met the timeout or the deadline; \
                  125 bad usage; 126 not executable; 127 not found.",
    mut_args = for_until
)]
pub(crate) struct Until {
    #[command(flatten)]
    pub(crate) run: Run,
}

fn for_until(flag: Arg) -> Arg {
    match flag.get_id().as_str() {
        "output" => flag
            .default_value("hold")
            .hide_possible_values(true)
            .help("stream, or hold: print only the output of the last look, at the end"),
        "stderr" => flag
            .default_value("hold")
            .hide_possible_values(true)
            .help("The same for standard error"),
        "within" => flag.help(
            "Deadline for everything: gives up as soon as the next look would start at or after \
             it, so up to one delay early, and stops a look in progress",
        ),
        "flaky" => flag.hide(true),
        _ => flag,
    }
}

/// What the command reads.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HoldOutput {
    /// Pass it through as it is written
    Stream,
    /// Print only that of the final attempt, at the end
    Hold,
}

/// What is done with standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HoldErrors {
    /// Pass it through as it is written
    Stream,
    /// Print that of failed attempts only if redial gives up, with its lines about them; a success
    /// prints only its own
    Hold,
}

/// How a success is treated that took more than one attempt.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodes {
    /// How the command last ended: its own code, 124 for a timeout, 128+n for a signal
    Command,
    /// Why there was no other attempt: 80 attempts spent, 81 rejected by a rule, 82 deadline, 83 wait
    /// budget, 84 a delay above --max-retry-after, 85 retry budget, 86 breaker open
    Reason,
}
