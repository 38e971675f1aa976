//! The flags of `redial simulate` and `redial tune`. Those of a scenario are in its own file.

use clap::Args;
use redial_sim::tune::Effort;

use super::{PolicyFlags, Suggested};
use crate::verb::simulate::flags::{ScenarioFlags, only_contention};
use crate::verb::simulate::measure::Measure;
use crate::verb::simulate::scenario::ALL;
use crate::verb::simulate::value::{self, Choices, Share};
use crate::view::text::wrap;

fn scenarios() -> Vec<&'static str> {
    ALL.map(|kind| kind.name).to_vec()
}

/// `contention, outage, wave or layers; or a file with a scenario`
fn names() -> String {
    let names = scenarios().join(", ");
    let names =
        names.rsplit_once(", ").map_or(names.clone(), |(all, last)| format!("{all} or {last}"));
    format!("{names}; or a file with a scenario")
}

/// The scenarios, their examples and what can be asserted of them.
fn help() -> String {
    let about = ALL.map(|kind| format!("  {:10}  {}\n", kind.name, kind.about)).concat();
    let example = |example: &&str| format!("  redial simulate {example}\n");
    let examples = ALL.iter().flat_map(|kind| kind.examples).map(example).collect::<String>();
    let measures = ALL.map(|kind| {
        let names: Vec<_> = (kind.measures)().into_iter().map(Measure::name).collect();
        let names = wrap(&names.join(", "), 84).join("\n              ");
        format!("  {:10}  {names}\n", kind.name)
    });
    format!(
        "\
Scenarios:
{about}  FILE        the flags, written down: a TOML file with scenario = \"outage\", rate = 280, …

Examples:
{examples}  redial simulate storm.toml --policy retries.yaml#fetch

Assertions compare the means of what JSON names with <, <=, > or >=:
{}as in 'recovers < 30s', 'peak < 1.5x', 'committed >= 99%', 'late_load < 500/s', 'calls < 1000'.

The same seed gives the same result, on any number of threads.

Exit codes: 0 success; 1 an assertion does not hold; 125 bad usage, a bad policy or a file that \
cannot be read. Ctrl-C prints what is known so far.",
        measures.concat(),
    )
}

/// `redial simulate`
#[derive(Args, Debug)]
#[command(after_help = help())]
pub(crate) struct Simulate {
    #[arg(value_name = "SCENARIO", help = names(), value_parser = Suggested(scenarios), hide_possible_values = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) scenario: String,
    #[command(flatten)]
    pub(crate) study: StudyFlags,
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
#[command(mut_args = only_contention, after_help = "\
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
    #[arg(value_name = "SCENARIO", value_parser = Suggested(|| vec!["contention"]), hide_possible_values = true, value_hint = clap::ValueHint::FilePath)]
    pub(crate) scenario: String,
    #[command(flatten)]
    pub(crate) study: StudyFlags,
    /// How long to search [default: normal]
    #[arg(long, value_name = "HOW", value_parser = value::choice(EFFORT), help_heading = "Trials")]
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

/// The policies, the scenario they are tried in, and how.
#[derive(Args, Debug)]
pub(crate) struct StudyFlags {
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    #[command(flatten)]
    pub(crate) flags: ScenarioFlags,
    #[command(flatten)]
    pub(crate) experiment: ExperimentFlags,
}

const EFFORT: Choices<Effort> = &[
    ("quick", Effort::Quick, "A second or two"),
    ("normal", Effort::Normal, "Some seconds"),
    ("thorough", Effort::Thorough, "A minute"),
];

/// The seed, and the threads.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Trials")]
pub(crate) struct ExperimentFlags {
    /// The seed of all random numbers [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// How many threads share the work [default: one per processor]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) threads: Option<u32>,
}

/// Where the results are written, and how.
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
    /// When to draw a progress bar [default: on a terminal]
    #[arg(long, value_name = "WHEN")]
    pub(crate) progress: Option<super::Progress>,
}

impl OutputFlags {
    /// The files that are written; - is standard output.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        [&self.csv, &self.svg, &self.html].into_iter().flatten().map(String::as_str)
    }
}
