//! The flags of `redial simulate` and `redial tune`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Offered, PolicyFlags};
use crate::simulate::scenario::ALL;
use crate::simulate::value::{self, Clients, Share};

fn scenarios() -> Vec<&'static str> {
    ALL.map(|kind| kind.name).to_vec()
}

/// `redial simulate`
#[derive(Args, Debug)]
#[command(after_help = "\
Scenarios:
  contention  clients that want to change one thing at once, and retry until they have
  outage      a service that fails for a while, under calls that keep coming
  wave        clients that all fail at once, and what their retries do to a service that stays down
  layers      services that call each other and all retry
  FILE        the flags, written down: a TOML file with scenario = \"outage\", rate = 280, …

Examples:
  redial simulate contention --clients 10..190 --with 'attempts: unlimited, delay: 10ms, \
                  backoff: exponential, max_delay: 2s, jitter: full' --html crowd.html
  redial simulate contention --model ballot --latency 50ms --clients 2..10 --preset contention
  redial simulate outage --rate 280 --capacity 300 --with 'retry: 1, delay: 0s' --with 'attempts: 1'
  redial simulate outage --rate 280 --capacity 300 --after 15min --budget 5% -n 4 --assert 'recovers < 10min'
  redial simulate wave --clients 100000 --with 'retry: 5, delay: 1s, backoff: exponential, jitter: full'
  redial simulate layers --depth 3 -n 4
  redial simulate storm.toml --policy retries.yaml#fetch

Assertions compare the means of what JSON names with <, <=, > or >=:
  contention  calls, time, committed, all_committed, attempts
  outage      recovers, amplification, peak, goodput, gave_up, late_load, late_goodput, …
  wave        peak, peak_share, peak_at, retries, last, gave_up, back, …
  layers      amplification, worst, succeeded, time, time_p99, …
as in 'recovers < 30s', 'peak < 1.5x', 'committed >= 99%', 'late_load < 500/s', 'calls < 1000'.

The same seed gives the same result, on any number of threads.

Exit codes: 0 success; 1 an assertion does not hold; 125 bad usage, a bad policy or a file that cannot \
                  be read. Ctrl-C prints what is known so far.")]
pub(crate) struct Simulate {
    /// contention, outage, wave or layers; or a file with a scenario
    #[arg(value_name = "SCENARIO", value_parser = Offered(scenarios), hide_possible_values = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) scenario: String,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    #[command(flatten)]
    pub(crate) setting: SettingFlags,
    #[command(flatten)]
    pub(crate) experiment: ExperimentFlags,
    /// How often each policy is tried [default: 500 for contention, 20 for the others]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Trials")]
    pub(crate) trials: Option<u32>,

    /// What must hold for each policy, or the exit code is 1, as 'peak < 1.5x'; may be repeated
    #[arg(long, value_name = "CONDITION", help_heading = "Results")]
    pub(crate) assert: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// `redial tune`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial tune contention --clients 10..190 --with 'attempts: unlimited, delay: 10ms, backoff: \
                  exponential, max_delay: 2s, jitter: full'
  redial tune contention --model ballot --latency 50ms --clients 2..10 --preset contention
  redial tune contention.toml --effort thorough --html tuned.html

What is searched is backoff, delay, factor, cap, jitter and attempts. What is compared is work (calls) \
                  and time, each as a multiple of what your policy needs with as many clients. Of the \
                  policies that are better in both with every crowd, the best is the one that needs \
                  the least on average; where there is none, the one whose largest multiple is the \
                  smallest. The gain is measured again with other random numbers than those that it \
                  was found by.")]
pub(crate) struct Tune {
    /// contention; or a file with such a scenario
    #[arg(value_name = "SCENARIO", value_parser = Offered(|| vec!["contention"]), hide_possible_values = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) scenario: String,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    #[command(flatten)]
    pub(crate) setting: SettingFlags,
    #[command(flatten)]
    pub(crate) experiment: ExperimentFlags,
    /// How long to search [default: normal]
    #[arg(long, value_name = "HOW", help_heading = "Trials")]
    pub(crate) effort: Option<Effort>,
    /// What share of the clients must succeed, such as 99% [default: 99%, or what your policy reaches if that is more]
    #[arg(long, value_name = "SHARE", value_parser = value::share, help_heading = "Trials")]
    pub(crate) commit: Option<Share>,
    /// How often the winner and your policy are tried with each crowd in the end [default: 500]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Trials")]
    pub(crate) trials: Option<u32>,
    /// What must hold for the winner, or the exit code is 1, as 'committed >= 99%'; may be repeated
    #[arg(long, value_name = "CONDITION", help_heading = "Results")]
    pub(crate) assert: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// How long to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Effort {
    /// A second or two
    Quick,
    /// Some seconds
    Normal,
    /// A minute
    Thorough,
}

/// The settings of all scenarios; which of them a scenario has, it says itself.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Scenario")]
pub(crate) struct SettingFlags {
    /// contention: what decides between the clients [default: occ]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<Model>,
    /// contention, wave: how many clients, such as 100, 5,10,20, 10..190, or 10..190:30 with a step
    #[arg(long, value_name = "N", value_parser = value::clients, allow_hyphen_values = true)]
    pub(crate) clients: Option<Clients>,
    /// contention: how long a message takes on average; for collision and ballot a round trip
    /// [default: 10ms; 20ms for these]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) latency: Option<Duration>,
    /// contention: the standard deviation of that [default: a fifth of it]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) latency_spread: Option<Duration>,
    /// contention: clients start anywhere within this [default: all at once]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) start_spread: Option<Duration>,
    /// contention, ballot: how clients learn which round is open [default: at-start]
    #[arg(long, value_name = "HOW")]
    pub(crate) learning: Option<Learning>,

    /// outage: calls per second
    #[arg(long, value_name = "N", value_parser = value::number, allow_hyphen_values = true)]
    pub(crate) rate: Option<f64>,
    /// outage: requests that the service can serve per second
    #[arg(long, value_name = "N", value_parser = value::number, allow_hyphen_values = true)]
    pub(crate) capacity: Option<f64>,
    /// outage: how long it lasts [default: 10s]. wave: when the service comes back [default: never]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) down: Option<Duration>,
    /// outage: what is left of the capacity meanwhile, such as 22% [default: 0%]
    #[arg(long, value_name = "SHARE", value_parser = value::share, allow_hyphen_values = true)]
    pub(crate) remaining: Option<Share>,
    /// outage: requests are refused at once meanwhile, instead of hanging
    #[arg(long)]
    pub(crate) refuse: bool,
    /// outage: how long before it [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) before: Option<Duration>,
    /// outage: how long after its end is looked at [default: 5min]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) after: Option<Duration>,
    /// outage: requests that may wait; more are refused [default: no bound]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) queue: Option<u32>,
    /// outage: how long requests take to serve [default: exponential]
    #[arg(long, value_name = "HOW")]
    pub(crate) service: Option<Service>,
    /// outage: how calls arrive [default: poisson]
    #[arg(long, value_name = "HOW")]
    pub(crate) arrivals: Option<Arrivals>,
    /// outage, layers: the share of attempts that fail by themselves [default: 0%; 100% for layers]
    #[arg(long, value_name = "SHARE", value_parser = value::share, allow_hyphen_values = true)]
    pub(crate) errors: Option<Share>,
    /// outage, layers: a retry budget, as a share of the calls, such as 10%
    #[arg(long, value_name = "SHARE", value_parser = value::share, allow_hyphen_values = true)]
    pub(crate) budget: Option<Share>,
    /// outage, layers: how many retries a full budget holds [default: 100]
    #[arg(long, value_name = "N", value_parser = value::number, allow_hyphen_values = true)]
    pub(crate) budget_burst: Option<f64>,
    /// outage, layers: how many retries a second the budget allows on top of the share [default: 0]
    #[arg(long, value_name = "N", value_parser = value::number, allow_hyphen_values = true)]
    pub(crate) budget_floor: Option<f64>,
    /// outage: a circuit breaker that opens after so many failures in a row
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) breaker: Option<u32>,
    /// outage: how long an open breaker waits before it lets one through [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) breaker_recovery: Option<Duration>,
    /// outage: processes, each with a budget and a breaker of its own [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) processes: Option<u32>,

    /// wave: the peak is of this length [default: 20ms]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) window: Option<Duration>,
    /// wave: how long is looked at [default: 1min]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) until: Option<Duration>,

    /// layers: how many layers retry [default: 3]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) depth: Option<u32>,
    /// layers: how many calls at the top [default: 1000]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) calls: Option<u32>,
    /// layers: how long an attempt takes at the bottom [default: 10ms]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub(crate) attempt_time: Option<Duration>,
}

/// What decides between clients that contend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Model {
    /// A version that is read and then written, as with optimistic locking
    Occ,
    /// Proposals that overlap destroy each other
    Collision,
    /// Ballots and epochs, as in Paxos
    Ballot,
}

/// How clients that contend by ballots learn which round is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Learning {
    /// They know it whenever they start a proposal, at no cost
    AtStart,
    /// They know what the last refusal of their own said
    FromRefusals,
}

/// How long requests take to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Service {
    /// Exponentially distributed
    Exponential,
    /// All the same
    Constant,
}

/// How calls arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arrivals {
    /// At random, independently of each other
    Poisson,
    /// Evenly
    Regular,
}

/// From which chance, and on what.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Trials")]
pub(crate) struct ExperimentFlags {
    /// Where all chance comes from [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// How many threads share the work [default: one per processor]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) threads: Option<u32>,
}

/// What the results are written as.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Results")]
pub(crate) struct OutputFlags {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write all numbers to this file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) csv: Option<String>,
    /// Write the charts to this file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) svg: Option<String>,
    /// Write a page with answer, charts and numbers to this file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) html: Option<String>,
    /// How many charts to print or to write with --svg, the most telling first [default: 2 printed,
    /// all with --svg]; a page has all
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) charts: Option<usize>,
    /// When to draw a bar that shows how far it is [default: on a terminal]
    #[arg(long, value_name = "WHEN")]
    pub(crate) progress: Option<super::Progress>,
}
