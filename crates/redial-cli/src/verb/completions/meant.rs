//! Which runs and dead letters the last word of a line may mean.

use std::path::PathBuf;

use clap::{Command, CommandFactory};
use redial_flow::history::dead_names;
use redial_flow::store::{Run, RunName, Store};

use crate::args::Cli;

/// More than anybody reads, and what a shell shows at once.
const CANDIDATES_MAX: usize = 1000;

/// What the last of these words may become; nothing where it is neither a run nor a dead letter.
pub(super) fn candidates(words: &[String]) -> Vec<String> {
    let Some((typed, before)) = words.split_last() else { return Vec::new() };
    let mut cli = Cli::command();
    cli.build();
    let Some(line) = Line::read(&cli, before) else { return Vec::new() };
    let store = Store::at(&line.store);
    let mut found = match line.wanted() {
        Wanted::Runs => runs(&store, typed),
        Wanted::RunsOrKeys => match runs(&store, typed) {
            // A first word that is no run is a key of the latest.
            none if none.is_empty() => keys(latest(&store), typed),
            runs => runs,
        },
        Wanted::Keys(first) => match named(&store, &first) {
            Some(run) => keys(Some(run), typed),
            None => keys(latest(&store), typed),
        },
        Wanted::Nothing => Vec::new(),
    };
    let is_option = |word: &str| word.starts_with('-') && !line.is_past_options;
    found.retain(|word| !line.places.contains(word) && !is_option(word));
    found
}

/// A command line up to the word that is being typed.
struct Line<'c> {
    /// The names of the verb: `["flow", "dead", "show"]`.
    verb: Vec<&'c str>,
    /// The words that are no flags, after the verb.
    places: Vec<String>,
    store: PathBuf,
    /// The flag whose value is being typed.
    flag: Option<String>,
    /// There was a `--`.
    is_past_options: bool,
}

enum Wanted {
    Runs,
    RunsOrKeys,
    /// Keys of dead letters, after this first word.
    Keys(String),
    Nothing,
}

impl<'c> Line<'c> {
    fn read(cli: &'c Command, words: &[String]) -> Option<Self> {
        let mut line = Self {
            verb: Vec::new(),
            places: Vec::new(),
            store: Store::default().root().into(),
            flag: None,
            is_past_options: false,
        };
        let mut command = cli;
        // The first word is the program.
        for word in words.iter().skip(1) {
            match line.flag.take() {
                Some(flag) => line.set(&flag, word),
                None if line.is_past_options => line.places.push(word.clone()),
                None if word == "--" => line.is_past_options = true,
                None if word.starts_with('-') => match word.split_once('=') {
                    Some((flag, value)) => line.set(flag, value),
                    None => line.flag = takes_value(command, word).then(|| word.clone()),
                },
                None => match command.find_subcommand(word) {
                    Some(verb) => {
                        line.verb.push(verb.get_name());
                        command = verb;
                    }
                    // No verb has a name that it does not know.
                    None if command.has_subcommands() => return None,
                    None => line.places.push(word.clone()),
                },
            }
        }
        Some(line)
    }

    fn set(&mut self, flag: &str, value: &str) {
        if flag == "--store" {
            self.store = value.into();
        }
    }

    fn wanted(&self) -> Wanted {
        match (self.verb.as_slice(), self.flag.as_deref(), self.places.first()) {
            (["map"] | ["flow", "run"], Some("--run"), _)
            | (["flow", "run"], Some("--from"), _) => Wanted::Runs,
            (_, Some(_), _) => Wanted::Nothing,
            (["flow", "resume" | "cancel" | "status" | "report"], _, None) => Wanted::Runs,
            (["flow", "remove"], ..) => Wanted::Runs,
            (["flow", "dead", "list"], _, None) => Wanted::Runs,
            (["flow", "dead", "show" | "retry" | "drop"], _, None) => Wanted::RunsOrKeys,
            (["flow", "dead", "show" | "retry" | "drop"], _, Some(first)) => {
                Wanted::Keys(first.clone())
            }
            _ => Wanted::Nothing,
        }
    }
}

/// Whether the word after this flag is its value. Of `-j8` it is not.
fn takes_value(command: &Command, word: &str) -> bool {
    let is_it = |argument: &&clap::Arg| match word.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => argument.get_short().is_some_and(|short| word == format!("-{short}")),
    };
    let found = command.get_arguments().find(is_it);
    found.is_some_and(|argument| argument.get_action().takes_values())
}

/// The names of runs, the newest first.
fn runs(store: &Store, prefix: &str) -> Vec<String> {
    let listed = store.list().unwrap_or_default();
    let names = listed.iter().rev().filter_map(|listed| listed.name.to_str());
    let names = names.filter(|name| name.starts_with(prefix) && name.parse::<RunName>().is_ok());
    names.take(CANDIDATES_MAX).map(str::to_owned).collect()
}

fn named(store: &Store, name: &str) -> Option<Run> {
    store.open(&name.parse().ok()?).ok()
}

fn latest(store: &Store) -> Option<Run> {
    crate::verb::flow::latest(store).ok()
}

fn keys(run: Option<Run>, prefix: &str) -> Vec<String> {
    let names = run.and_then(|run| dead_names(&run, prefix, CANDIDATES_MAX).ok());
    names.unwrap_or_default()
}
