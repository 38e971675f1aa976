//! `redial flow`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::flows::Asked;

/// `redial flow`
#[derive(Args, Debug)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  redial flow plan thumbnails.yaml                      its steps, their delays and the worst case
  redial flow status                                    all runs, the newest last
  redial flow status nightly
  redial flow report nightly --html nightly.html        a page with a timeline
  redial flow report nightly --trace nightly.json       the same for ui.perfetto.dev
  redial flow dead list --where 'exit:22 & stderr:/gave/'
  redial flow dead show nightly picture-3

redial help flows has the language of flow files, with examples. A run is kept in .redial/runs/RUN below \
                  the current directory. Where no RUN is named, the latest one is meant.

Exit codes: 0 success; 75 a run that another process holds cannot be removed; 125 bad usage, there is no \
                  such run, or its files cannot be read."
)]
pub(crate) struct Flow {
    #[command(subcommand)]
    pub(crate) verb: FlowVerb,
}

/// What can be done with a flow and its runs.
#[derive(Debug, Subcommand)]
pub(crate) enum FlowVerb {
    /// Run a flow; the same run again goes on where it stopped
    #[cfg(unix)]
    Run(FlowRun),
    /// Go on with a run that was interrupted or killed
    #[cfg(unix)]
    Resume(FlowResume),
    /// End a run, and start nothing more of it
    #[cfg(unix)]
    Cancel(FlowCancel),
    /// Show what a flow will do: its steps, their delays, and how long it takes at most; nothing runs
    Plan(FlowPlan),
    /// Show what has become of runs; without RUN, of all of them
    Status(FlowStatus),
    /// Report where the time of a run went, and what made attempts fail
    Report(FlowReport),
    /// Look at dead letters: tasks that have given up
    Dead(FlowDead),
    /// Remove runs, with all that they wrote down
    Remove(FlowRemove),
}

/// `redial flow run`
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial flow run thumbnails.yaml --input url=https://example.com/pictures.json
  redial flow run nightly.yaml --run nightly -j 8 --html nightly.html
  redial flow run thumbnails.yaml --run mended --from nightly           what has succeeded and has not changed is kept
  redial flow run order.cst --modules modules.toml --input query=rain      a script

Everything is checked before anything runs: names, references, cycles, policies, rules, expressions, and programs \
                  that are not on the PATH. What happens is written down in .redial/runs/RUN before redial acts \
                  on it, so that a run survives a KILL and a power cut: redial flow resume goes on. \
                  The outputs of the flow are printed on standard output.

Exit codes: 0 everything succeeded; 1 dead letters are left, or a step failed; 75 another process holds the run; \
                  124 the deadline of the flow; 125 a flow that is wrong, or what happens cannot be written \
                  down. A signal lets running attempts end, and then ends redial.")]
pub(crate) struct FlowRun {
    #[command(flatten)]
    pub(crate) source: FlowSource,
    /// Name of the run [default: one that sorts by time]
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
    /// Take over from this run what has succeeded, and is in this flow as it was; nothing more of that run is run
    #[arg(long, value_name = "RUN")]
    pub(crate) from: Option<String>,
    /// With --from, run also those steps again that must not run twice (idempotent: false) and may have succeeded
    #[arg(long, requires = "from")]
    pub(crate) again: bool,
    /// Seed of the jitter; each task has its own, made from this one
    #[arg(long, value_name = "N", allow_hyphen_values = true, conflicts_with = "from")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) engine: EngineFlags,
}

/// What is run or planned.
#[derive(Args, Debug)]
pub(crate) struct FlowSource {
    /// Flow: YAML, TOML or JSON, or a script (.cst); - is standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: String,
    /// Value of an input of the flow
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    /// Items of a map that names no source
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) items: Option<PathBuf>,
    /// What the calls of a script run [default: modules.toml beside it]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) modules: Option<String>,
    /// Take the values of @example for inputs of a script that have no other
    #[arg(long)]
    pub(crate) example: bool,
}

impl FlowSource {
    /// As a flow is read by it.
    pub(crate) fn asked(&self, is_run: bool) -> Asked<'_> {
        Asked {
            file: &self.file,
            inputs: &self.input,
            items: self.items.as_deref(),
            modules: self.modules.as_deref(),
            examples: self.example,
            is_run,
        }
    }
}

/// `redial flow plan`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial flow plan thumbnails.yaml
  redial flow plan thumbnails.yaml -j 8 --seed 42
  redial flow plan thumbnails.yaml --html thumbnails.html        a page for a colleague
  redial flow plan thumbnails.yaml --svg thumbnails.svg

The worst case: each attempt takes all of its timeout and fails, and each wait is as long as it can be. Of a map, \
                  all items are counted where the file that has them is there; else the first, and what each \
                  further one adds. A step without a timeout has no bound, unless its policy has a `within`.

Exit codes: 0 success; 125 a flow that is wrong, or cannot be read.")]
pub(crate) struct FlowPlan {
    #[command(flatten)]
    pub(crate) source: FlowSource,
    /// Plan with so many attempts at once [default: as the flow says, else one for each processor]
    #[arg(short, long, value_name = "N", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=JOBS_MAX))]
    pub(crate) jobs: Option<u32>,
    /// Show the delays of a run with this seed; of a map, those of its first item
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a picture of the steps to this file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) svg: Option<String>,
    /// Write a page to this file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) html: Option<String>,
}

/// As `redial map` and `redial flow run` take it.
const JOBS_MAX: i64 = 1000;

/// How a run is run.
#[cfg(unix)]
#[derive(Args, Debug)]
pub(crate) struct EngineFlags {
    /// Run so many attempts at once [default: as the flow says, else one for each processor]
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) jobs: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    #[command(flatten)]
    pub(crate) damage: DamageFlag,
    /// What a power cut may take of what was written down; a KILL of redial takes nothing [default: always]
    #[arg(long, value_name = "WHEN")]
    pub(crate) sync: Option<super::SyncWhen>,
    #[command(flatten)]
    pub(crate) ending: super::EndingFlags,
    /// Append what happens to this file as well, one JSON object a line; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Output")]
    pub(crate) events: Option<PathBuf>,
    /// Write a page with a timeline at the end
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Output")]
    pub(crate) html: Option<String>,
    /// Print the outputs of the flow as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) telling: super::TellingFlags,
}

/// `redial flow resume`
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(after_help = "\
What succeeded does not run again. What was running when redial was killed is lost: it counts as a failed attempt, \
                  and its policy decides. A delay is waited for what is left of it.

It runs as it was begun: with the --jobs, --sync, --signal, --kill-after and --drain of that command line, and of redial map \
                  also --keep-order and --output-dir. A flag that is given here is taken instead, for this time.")]
pub(crate) struct FlowResume {
    /// Run [default: the latest]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) engine: EngineFlags,
}

/// `redial flow cancel`
#[cfg(unix)]
#[derive(Args, Debug)]
pub(crate) struct FlowCancel {
    /// Run [default: the latest]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    #[command(flatten)]
    pub(crate) damage: DamageFlag,
}

/// `redial flow dead retry`
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(override_usage = "redial flow dead retry [OPTIONS] [RUN] [KEY]...")]
pub(crate) struct DeadRetry {
    /// Dead letters, after the name of their run [default: all of the latest run]
    #[arg(value_name = "KEY")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) condition: WhereFlag,
    /// Start at most so many attempts in a time: 5/1s
    #[arg(long, value_name = "N/DURATION", allow_hyphen_values = true)]
    pub(crate) rate: Option<String>,
    /// Use this policy, such as 'retry: 10, delay: 1min'
    #[arg(long, value_name = "CLAUSE")]
    pub(crate) with: Option<String>,
    /// Let steps run again that have run and are marked idempotent: false
    #[arg(long)]
    pub(crate) again: bool,
    #[command(flatten)]
    pub(crate) engine: EngineFlags,
}

/// `redial flow dead drop`
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(
    override_usage = "redial flow dead drop [OPTIONS] [RUN] [KEY]...",
    after_help = "\
An item that is dropped counts neither as succeeded nor as dead, so that a map with nothing else dead has succeeded. A step of its own \
                  stays failed when it is dropped, and what needs it does not run; it is no longer listed."
)]
pub(crate) struct DeadDrop {
    /// Dead letters, after the name of their run
    #[arg(value_name = "KEY")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) condition: WhereFlag,
    /// All of them
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    #[command(flatten)]
    pub(crate) damage: DamageFlag,
}

/// What whoever goes on with a run may be told.
#[cfg(unix)]
#[derive(Args, Debug)]
pub(crate) struct DamageFlag {
    /// Go on although records of the journal are missing or damaged: what they said may be done again
    #[arg(long = "accept-damage", help_heading = "Run")]
    pub(crate) is_accepted: bool,
}

/// Where the runs are.
#[derive(Args, Debug)]
pub(crate) struct StoreFlag {
    /// Directory of runs
    #[arg(long, value_name = "PATH", default_value = ".redial", value_hint = clap::ValueHint::DirPath, help_heading = "Run")]
    pub(crate) store: PathBuf,
}

/// `redial flow status`
#[derive(Args, Debug)]
pub(crate) struct FlowStatus {
    /// Run [default: a table of all runs]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
}

/// `redial flow report`
#[derive(Args, Debug)]
#[command(after_help = "\
Tasks wait at the same time as others run, so the times of tasks add up to more than the time of the \
                  run. Open the file of --trace in Perfetto (ui.perfetto.dev) or in \
                  chrome://tracing.")]
pub(crate) struct FlowReport {
    /// Run [default: the latest]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print Markdown, for the summary of a CI job
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Write a page with a timeline and the dead letters to this file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) html: Option<String>,
    /// Write the timeline as trace events, for Perfetto, to this file; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) trace: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
}

/// `redial flow dead`
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct FlowDead {
    #[command(subcommand)]
    pub(crate) verb: DeadVerb,
}

/// What can be done with dead letters.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadVerb {
    /// Try dead letters again in their own run, with a fresh policy, and then what needs them
    #[cfg(unix)]
    Retry(DeadRetry),
    /// Drop dead letters: they are not wanted any more
    #[cfg(unix)]
    Drop(DeadDrop),
    /// List dead letters: what each is called, why it gave up, and what it wrote last
    List(DeadList),
    /// Show dead letters with their items, attempts, standard error and output
    Show(DeadShow),
}

/// Which dead letters.
#[derive(Args, Debug)]
pub(crate) struct WhereFlag {
    /// Only those whose last attempt ended like this: 'exit:7 & stderr:/refused/', as in --retry-on of
    /// redial run; of standard error, its end is kept
    #[arg(long = "where", value_name = "COND")]
    pub(crate) condition: Option<String>,
}

/// `redial flow dead list`
#[derive(Args, Debug)]
pub(crate) struct DeadList {
    /// Run [default: the latest]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) condition: WhereFlag,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
}

/// `redial flow dead show`
#[derive(Args, Debug)]
#[command(
    override_usage = "redial flow dead show [OPTIONS] [RUN] [KEY]...",
    after_help = "\
The first word is the RUN if there is a run of that name; otherwise the latest run is meant. A KEY is \
                  what `dead list` prints: the key of an item, its number where it has none, the name \
                  of a step, or STEP/KEY where several steps of an item are dead. Without a KEY, all \
                  dead letters are shown."
)]
pub(crate) struct DeadShow {
    /// Dead letters, after the name of their run [default: all of the latest run]
    #[arg(value_name = "KEY")]
    pub(crate) words: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) condition: WhereFlag,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
}

/// `redial flow remove`
#[derive(Args, Debug)]
pub(crate) struct FlowRemove {
    /// Runs
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
}
