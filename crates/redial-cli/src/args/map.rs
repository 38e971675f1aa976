//! `redial map`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use super::flow::{DamageFlag, StoreFlag};
use super::{PolicyFlags, Progress, RuleFlags};

/// `redial map`: the flags of a policy, but `-j` is jobs.
#[derive(Debug)]
pub(crate) struct Map(pub(crate) MapFlags);

impl Args for Map {
    fn augment_args(command: Command) -> Command {
        MapFlags::augment_args(command)
            .mut_arg("short_jitter", |jitter| jitter.short(None).long("short-jitter"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Map {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        MapFlags::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// The flags of `redial map`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  find . -name '*.png' -print0 | redial map -0 -j 8 -n 4 -- optipng {}
  redial map -j 20 --rules curl --items urls.jsonl -- curl -fsS -o {name}.json {url}
  redial map --rate 100/1min --items ids.txt -- ./import --id {}
  redial map --run nightly --items jobs.csv --key id -- ./job {id}
  redial map --items hosts.txt -- sh -c 'ping -c1 \"$1\" && echo \"$1 is up\"' sh {}

{} is the item, {name} a field of it, {a.b[0]} a field inside of it, and {#} its number. Each stands for one \
                  argument or a part of one: no value is ever split into words or parsed. Without any, the \
                  item is the last argument. {{}} is the text {}.

A line ends with LF or CR LF: the CR is no part of the item, and empty lines are no items. With -0 an item is all \
                  bytes up to the NUL.

Without a policy: 3 attempts, exponential from 1s, at most 30s, full jitter, as for redial run. An item that \
                  waits for its next attempt holds no job.

Without --run nothing is kept. With it everything is written down in .redial/runs/NAME: the same command \
                  again goes on with what failed, was not finished, or is new; redial flow resume, status, \
                  report and dead work on it.

Each job gets REDIAL_ATTEMPT, REDIAL_ATTEMPTS, REDIAL_LAST_EXIT, REDIAL_KEY (the same in all attempts of an \
                  item), REDIAL_ITEM (its number), REDIAL_RUN_ID and REDIAL_CONTROL.

Exit codes: 0 everything succeeded; 1 items have failed; 75 another process holds the run; 125 bad usage, or \
                  what happened cannot be written down. A signal lets running jobs end first, and then ends \
                  redial.")]
pub(crate) struct MapFlags {
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    /// Seed of the jitter; each item has its own, made from this one
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Policy")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) rules: RuleFlags,

    /// Read items from this file; - is standard input [default: -]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Items")]
    pub(crate) items: Option<PathBuf>,
    /// Items end with NUL bytes, as find -print0 writes them
    #[arg(short = '0', long, conflicts_with_all = ["format", "json_path"], help_heading = "Items")]
    pub(crate) null: bool,
    /// How items are written [default: by the name of the file, else lines]
    #[arg(long, value_name = "FORMAT", help_heading = "Items")]
    pub(crate) format: Option<ItemFormat>,
    /// Take what this path selects from a JSON document, such as '$.items[*]'
    #[arg(long, value_name = "PATH", help_heading = "Items")]
    pub(crate) json_path: Option<String>,
    /// Take only items for which this holds, in CEL: 'item.size > 1024'
    #[arg(long = "where", value_name = "EXPRESSION", help_heading = "Items")]
    pub(crate) condition: Option<String>,
    /// Take them in this order: 'severity DESC, score'; numbers, also those of CSV, by their value, and before
    /// other text
    #[arg(long, value_name = "FIELDS", help_heading = "Items")]
    pub(crate) sort_by: Option<String>,
    /// Of items with the same value of this field, take the first
    #[arg(long, value_name = "FIELD", help_heading = "Items")]
    pub(crate) distinct: Option<String>,
    /// Leave out so many at the beginning
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_hyphen_values = true,
        hide_default_value = true,
        help_heading = "Items"
    )]
    pub(crate) offset: u64,
    /// Take so many at most
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Items")]
    pub(crate) max_items: Option<u64>,
    /// Field that an item is known by, in --run and REDIAL_KEY [default: its content]
    #[arg(long, value_name = "FIELD", help_heading = "Items")]
    pub(crate) key: Option<String>,

    /// Run so many at once [default: one for each processor]
    #[arg(short, long, value_name = "N", allow_hyphen_values = true, help_heading = "Jobs")]
    pub(crate) jobs: Option<String>,
    /// Start at most so many attempts in a time, evenly: 100/1min, 5/s
    #[arg(long, value_name = "N/DURATION", allow_hyphen_values = true, help_heading = "Jobs")]
    pub(crate) rate: Option<String>,
    /// Start nothing new once more items than this have failed: 10, or 5% of those that are finished, of
    /// which there must be ten
    #[arg(long, value_name = "N|P%", allow_hyphen_values = true, help_heading = "Jobs")]
    pub(crate) failures_max: Option<String>,
    #[command(flatten)]
    pub(crate) ending: EndingFlags,

    /// Write everything down under this name, and go on where it stopped if it is given again
    #[arg(long, value_name = "NAME", help_heading = "Run")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) keeping: KeepingFlags,

    /// Print what items write in the order of the items, not in that of their ends
    #[arg(long, conflicts_with = "output_dir", help_heading = "Output")]
    pub(crate) keep_order: bool,
    /// Write what each item writes to files in this directory: NUMBER.out and NUMBER.err
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Output")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Append what happens to this file, one JSON object a line; - is standard output
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Output")]
    pub(crate) events: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) telling: TellingFlags,
    /// Print the command of each item, and the policy on standard error; run nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,

    /// Command and its arguments; everything from here on belongs to it
    #[arg(value_name = "COMMAND", required = true, help_heading = None::<&str>, trailing_var_arg = true, value_hint = clap::ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// How attempts that are cut are ended.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct EndingFlags {
    /// Signal that the timeout and the deadline send, by name or number: INT, SIGINT, 2 [default: TERM]
    #[arg(short, long, value_name = "SIGNAL", allow_hyphen_values = true, help_heading = "Jobs")]
    pub(crate) signal: Option<String>,
    /// Send KILL to what still runs this long after that signal [default: 5s]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, help_heading = "Jobs")]
    pub(crate) kill_after: Option<String>,
    /// Let running jobs go on for so long after a signal to redial; a second signal ends them at once
    /// [default: 10s]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, help_heading = "Jobs")]
    pub(crate) drain: Option<String>,
}

/// Where and how a run is written down.
#[derive(Args, Debug)]
pub(crate) struct KeepingFlags {
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    #[command(flatten)]
    pub(crate) damage: DamageFlag,
    /// What a power cut may take of what was written down; a KILL of redial takes nothing [default: always]
    #[arg(long, value_name = "WHEN", help_heading = "Run")]
    pub(crate) sync: Option<SyncWhen>,
}

/// What is told while a run goes on.
#[derive(Args, Debug)]
pub(crate) struct TellingFlags {
    /// When to draw a bar and what runs; elsewhere a line says every 30 s how far it has come, unless never
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Output")]
    pub(crate) progress: Progress,
    /// Print nothing but errors of redial itself
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print more: every attempt that failed, with what it wrote; of a flow also what steps print that succeed
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}

/// How items are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ItemFormat {
    /// A line each; empty lines are none
    Lines,
    /// A JSON value on each line
    Jsonl,
    /// One JSON document: the items of its list, or what --json-path selects
    Json,
    /// Rows with commas, the first of which names the columns
    Csv,
    /// Rows with tabs, the first of which names the columns
    Tsv,
}

/// When what was written down is synced to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SyncWhen {
    /// Nothing: before anything acts on it
    Always,
    /// At most the last 50 ms: many writes share a sync
    Group,
}
