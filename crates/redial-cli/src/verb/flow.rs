//! `redial flow`: the runs of flows.

mod dead;
mod plan;
mod remove;
mod report;
#[cfg(unix)]
mod revive;
#[cfg(unix)]
mod run;
mod status;
#[cfg(unix)]
mod takeover;

use std::time::{Duration, SystemTime};

use redial_flow::history::History;
use redial_flow::store::{Run, RunName, Store, StoreError};

use crate::args::{DeadVerb, Flow, FlowVerb};
use crate::duration::nanos;
use crate::output::{Failure, print_note};
use crate::view::flow::words;
use crate::visible::visible;

pub(crate) fn run(flow: &Flow) -> Result<u8, Failure> {
    match &flow.verb {
        #[cfg(unix)]
        FlowVerb::Run(arguments) => run::run(arguments),
        #[cfg(unix)]
        FlowVerb::Resume(arguments) => run::resume(arguments),
        #[cfg(unix)]
        FlowVerb::Cancel(arguments) => run::cancel(arguments),
        FlowVerb::Plan(arguments) => plan::run(arguments),
        FlowVerb::Status(arguments) => status::run(arguments),
        FlowVerb::Report(arguments) => report::run(arguments),
        FlowVerb::Dead(dead) => match &dead.verb {
            #[cfg(unix)]
            DeadVerb::Retry(arguments) => revive::retry(arguments),
            #[cfg(unix)]
            DeadVerb::Drop(arguments) => revive::drop(arguments),
            DeadVerb::List(arguments) => dead::list(arguments),
            DeadVerb::Show(arguments) => dead::show(arguments),
        },
        FlowVerb::Remove(arguments) => remove::run(arguments),
    }
}

/// The run of this name, or the latest one that can be opened.
fn open(store: &Store, name: Option<&str>) -> Result<Run, Failure> {
    match name {
        Some(name) => store.open(&parsed(name)?).map_err(|error| failure(&error)),
        None => latest(store),
    }
}

fn parsed(name: &str) -> Result<RunName, Failure> {
    name.parse().map_err(|error: redial_flow::store::InvalidName| Failure::from(error.to_string()))
}

/// The latest run that can be opened.
pub(super) fn latest(store: &Store) -> Result<Run, Failure> {
    let runs = store.list().map_err(|error| failure(&error))?;
    let sound = runs.iter().rev().filter(|listed| listed.flaw.is_none());
    let names = sound.filter_map(|listed| listed.name.to_str()?.parse::<RunName>().ok());
    let opened = names.filter_map(|name| store.open(&name).ok()).next();
    opened.ok_or_else(|| Failure::from(no_runs(store)))
}

fn no_runs(store: &Store) -> String {
    format!(
        "there is no run in {}; change to the directory in which it was started, or name the store with --store",
        store.root().join("runs").display()
    )
}

/// An error of the store, with where to look for the right name.
fn failure(error: &StoreError) -> Failure {
    Failure::Message(match error {
        StoreError::NotFound { .. } => format!("{error}; redial flow status lists them"),
        error => error.to_string(),
    })
}

/// What the journal says; what is wrong with it goes to standard error.
fn history(run: &Run) -> Result<History, Failure> {
    let history = History::read(run).map_err(|error| Failure::Message(error.to_string()))?;
    let history = history.at(nanos(now()));
    for note in words::flaws(&history) {
        print_note(&format!("note: {}\n", visible(&note)));
    }
    Ok(history)
}

/// The time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
