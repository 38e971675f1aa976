//! `redial flow status`: what has become of runs.

use redial_flow::history::History;
use redial_flow::store::{Listed, Store};

use super::{history, no_runs, now, open};
use crate::args::FlowStatus;
use crate::output::{Failure, print, print_note, width};
use crate::view::flow::document::{RunEntry, Runs, text};
use crate::view::flow::{status, words};
use crate::visible::visible;

pub(crate) fn run(arguments: &FlowStatus) -> Result<u8, Failure> {
    let store = Store::at(&arguments.store.store);
    match &arguments.run {
        Some(name) => one(&store, name, arguments.json),
        None => all(&store, arguments.json),
    }
}

fn one(store: &Store, name: &str, as_json: bool) -> Result<u8, Failure> {
    let history = history(&open(store, Some(name))?)?;
    let answer = match as_json {
        true => text(&Runs { runs: vec![RunEntry::whole(&history)] }),
        false => status::one(&history, width()),
    };
    print(&answer).map(|()| 0)
}

fn all(store: &Store, as_json: bool) -> Result<u8, Failure> {
    let listed = store.list().map_err(|error| super::failure(&error))?;
    if listed.is_empty() && !as_json {
        print_note(&format!("{}\n", visible(&no_runs(store))));
        return Ok(0);
    }
    let mut histories = Vec::new();
    for listed in &listed {
        match read(store, listed) {
            Ok(history) => histories.push(history),
            Err(flaw) => {
                let name = visible(&listed.name.to_string_lossy());
                print_note(&format!("note: {name} is left out: {}\n", visible(&flaw)));
            }
        }
    }
    for history in &histories {
        let run = visible(&history.run);
        let flaws = words::flaws(history);
        flaws.iter().for_each(|flaw| print_note(&format!("note: {run}: {}\n", visible(flaw))));
    }
    let answer = match as_json {
        true => text(&Runs { runs: histories.iter().map(RunEntry::short).collect() }),
        false => status::all(&histories, now(), width()),
    };
    print(&answer).map(|()| 0)
}

fn read(store: &Store, listed: &Listed) -> Result<History, String> {
    if let Some(flaw) = &listed.flaw {
        return Err(flaw.clone());
    }
    let name = listed.name.to_string_lossy();
    let name = name.parse().map_err(|error: redial_flow::store::InvalidName| error.to_string())?;
    let run = store.open(&name).map_err(|error| error.to_string())?;
    let mut history = History::read(&run).map_err(|error| error.to_string())?;
    // A row needs none of it, and there may be many runs.
    history.tasks = Vec::new();
    Ok(history)
}
