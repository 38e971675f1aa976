//! `redial flow dead list` and `show`: tasks that have given up.

use std::collections::BTreeSet;

use redial_flow::history::{History, Task, TaskState, Where, item};
use redial_flow::store::{Run, RunName, Store};

use super::{history, open};
use crate::args::{DeadList, DeadShow};
use crate::output::{Failure, print, print_note, width};
use crate::view::flow::dead::{self, Letter};
use crate::view::flow::document::{DeadEntry, DeadLetters, text};
use crate::visible::visible;

pub(crate) fn list(arguments: &DeadList) -> Result<u8, Failure> {
    let condition = condition(arguments.condition.condition.as_deref())?;
    let run = open(&Store::at(&arguments.store.store), arguments.run.as_deref())?;
    let history = history(&run)?;
    let found: Vec<_> = chosen(&run, &history, condition.as_ref()).collect();
    if arguments.json {
        let dead = found.iter().map(|task| DeadEntry::short(&history, task)).collect();
        return print(&text(&DeadLetters { run: &history.run, dead })).map(|()| 0);
    }
    if found.is_empty() {
        print_note(&format!("{}\n", visible(&none(&history, condition.is_some()))));
        return Ok(0);
    }
    print(&dead::list(&history, &found, width())).map(|()| 0)
}

pub(crate) fn show(arguments: &DeadShow) -> Result<u8, Failure> {
    let condition = condition(arguments.condition.condition.as_deref())?;
    let store = Store::at(&arguments.store.store);
    let (run, keys) = run_and_keys(&store, &arguments.words)?;
    let history = history(&run)?;
    let found = shown(&run, &history, keys, condition.as_ref())?;
    let letters: Vec<_> = found.iter().map(|task| letter(&run, &history, task)).collect();
    if arguments.json {
        let dead = letters.iter().map(|letter| DeadEntry::whole(&history, letter)).collect();
        return print(&text(&DeadLetters { run: &history.run, dead })).map(|()| 0);
    }
    if letters.is_empty() {
        print_note(&format!("{}\n", visible(&none(&history, condition.is_some()))));
        return Ok(0);
    }
    print(&dead::show(&history, &letters, width())).map(|()| 0)
}

fn condition(text: Option<&str>) -> Result<Option<Where>, Failure> {
    let read = |text| {
        Where::read(text).map_err(|error| Failure::Message(format!("--where '{text}': {error}")))
    };
    text.map(read).transpose()
}

/// The dead letters that keys or a condition choose, as the names of their steps and the numbers of their items.
#[cfg(unix)]
pub(super) fn chosen_tasks(
    run: &Run,
    history: &History,
    keys: &[String],
    text: Option<&str>,
) -> Result<Vec<(String, Option<u32>)>, Failure> {
    let condition = condition(text)?;
    let found = shown(run, history, keys, condition.as_ref())?;
    Ok(found.iter().map(|task| (history.step(task).name.clone(), task.item)).collect())
}

/// The first word is a run, if there is one of that name.
pub(super) fn run_and_keys<'w>(
    store: &Store,
    words: &'w [String],
) -> Result<(Run, &'w [String]), Failure> {
    if let Some((first, keys)) = words.split_first()
        && let Some(run) = first.parse::<RunName>().ok().and_then(|name| store.open(&name).ok())
    {
        return Ok((run, keys));
    }
    Ok((open(store, None)?, words))
}

fn chosen<'h>(
    run: &'h Run,
    history: &'h History,
    condition: Option<&'h Where>,
) -> impl Iterator<Item = &'h Task> {
    let holds = move |task: &&Task| condition.is_none_or(|condition| condition.holds(run, task));
    history.dead().filter(holds)
}

/// The dead letters that keys name, each once; without keys, all.
fn shown<'h>(
    run: &'h Run,
    history: &'h History,
    keys: &'h [String],
    condition: Option<&'h Where>,
) -> Result<Vec<&'h Task>, Failure> {
    if keys.is_empty() {
        return Ok(chosen(run, history, condition).collect());
    }
    let mut found: Vec<&Task> = Vec::new();
    for key in keys {
        let mut named: Vec<_> =
            history.named(key).filter(|task| task.state == TaskState::Dead).collect();
        if named.is_empty() {
            named = begun(history, key)?;
        }
        if named.is_empty() {
            return Err(Failure::Message(unknown(history, key)));
        }
        named.retain(|task| !found.iter().any(|known| std::ptr::eq(*known, *task)));
        found.extend(named);
    }
    found.retain(|task| condition.is_none_or(|condition| condition.holds(run, task)));
    Ok(found)
}

/// What a long key begins with, as a table shows it: with `…` at its end, and of one key alone.
fn begun<'h>(history: &'h History, key: &str) -> Result<Vec<&'h Task>, Failure> {
    let Some(start) = key.strip_suffix('…').filter(|start| !start.is_empty()) else {
        return Ok(Vec::new());
    };
    let name = |task: &Task| visible(&history.name(task));
    let found: Vec<_> = history.dead().filter(|task| name(task).starts_with(start)).collect();
    let names: BTreeSet<_> = found.iter().map(|task| name(task)).collect();
    match names.len() {
        0 | 1 => Ok(found),
        several => Err(Failure::Message(format!(
            "{several} dead letters begin with `{start}`; redial flow dead list {} --json has their whole keys",
            history.run
        ))),
    }
}

fn unknown(history: &History, key: &str) -> String {
    let run = &history.run;
    match history.named(key).next() {
        Some(task) => {
            format!("`{key}` of the run {run} is no dead letter: it is {}", task.state.name())
        }
        None => format!(
            "there is no dead letter `{key}` in the run {run}; redial flow dead list {run} lists them"
        ),
    }
}

fn none(history: &History, is_selected: bool) -> String {
    let (run, dead) = (&history.run, history.counts.dead);
    match is_selected && dead > 0 {
        true => format!("none of the {dead} dead letters of {run} ended like that"),
        false => format!("there are no dead letters in {run}"),
    }
}

/// A dead letter with its item and its output, as far as they can be read.
fn letter<'h>(run: &Run, history: &'h History, task: &'h Task) -> Letter<'h> {
    let map = history.step(task).inside.as_deref();
    let value = match (map, task.item) {
        (Some(map), Some(place)) => item(run, map, place).unwrap_or_else(|error| {
            let path = run.items_path();
            print_note(&format!(
                "note: cannot read {}: {error}\n",
                visible(&path.display().to_string())
            ));
            None
        }),
        _ => None,
    };
    let output = task.last_ended().and_then(|(_, ended)| ended.output.as_ref());
    let output = output.and_then(|output| match output.bytes(run) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => {
            print_note(&format!("note: {}\n", visible(&error.to_string())));
            None
        }
    });
    Letter { task, value, output }
}
