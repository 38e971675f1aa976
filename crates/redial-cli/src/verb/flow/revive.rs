//! `redial flow dead retry` and `drop`: what becomes of dead letters.

use redial_flow::definition::Definition;
use redial_flow::engine::Engine;
use redial_flow::flow::{Place, Step};
use redial_flow::machine::{End, TaskId};
use redial_flow::program;
use redial_flow::store::{Held, Store};

use super::dead::{chosen_tasks, run_and_keys};
use super::history;
use super::run::{finish, teller};
use crate::args::{DeadDrop, DeadRetry};
use crate::output::{Failure, count, print_note};
use crate::verb::conduct::{engine_failure as failure, store_failure};
use crate::verb::map::rate;
use crate::verb::said::Said;
use crate::visible::visible;

pub(crate) fn retry(arguments: &DeadRetry) -> Result<u8, Failure> {
    let store = Store::at(&arguments.engine.store.store);
    let (run, keys) = run_and_keys(&store, &arguments.words)?;
    let rate = arguments.rate.as_deref().map(rate).transpose()?;
    let policy = arguments.with.as_deref().map(policy).transpose()?;
    let held = run.hold().map_err(|error| store_failure(&error))?;
    let tasks =
        chosen_tasks(&run, &history(&run)?, keys, arguments.condition.condition.as_deref())?;
    if tasks.is_empty() {
        print_note(&format!("there are no such dead letters in {}\n", run.name()));
        return Ok(0);
    }
    if program::is_program(&held).map_err(|error| store_failure(&error))? {
        return revive_in_program(arguments, &held, &tasks);
    }
    let names: Vec<String> = tasks.iter().map(|(step, _)| step.clone()).collect();
    let change = |definition: &mut Definition| {
        for step in &mut definition.steps {
            let is_meant = names.contains(&step.name);
            if let Some(policy) = policy.as_ref().filter(|_| is_meant) {
                step.policy = policy.clone();
            }
            if is_meant && rate.is_some() {
                step.rate = rate;
            }
        }
    };
    let pinned: Option<Definition> =
        held.flow().ok().and_then(|pinned| serde_json::from_slice(&pinned).ok());
    let said = Said::from(&arguments.engine).or(Said::remembered(&held));
    let options = said.options(pinned.as_ref().and_then(|pinned| pinned.slots))?;
    let mut teller = teller(&arguments.engine, &said, pinned.as_ref())?;
    let mut engine =
        Engine::resume_with(held, arguments.engine.damage.is_accepted, options, &change)
            .map_err(failure)?;
    teller.survivors(&engine);
    let ids = ids(&engine, &tasks);
    let again = again(&engine, &ids);
    if let Some(step) = again.iter().find(|step| !step.is_idempotent)
        && !arguments.again
    {
        return Err(Failure::Message(format!(
            "step `{}` has run, needs what is retried, and must not run twice (idempotent: false); add \
             --again if it may",
            step.name
        )));
    }
    teller.line(&format!("trying {} again", count(ids.len(), "dead letter")));
    for step in &again {
        let name = &step.name;
        teller.line(&match step.place {
            Place::Map { .. } => format!(
                "map `{name}` reads its source again after them: what is new in it runs, what has succeeded stays"
            ),
            _ => format!("step `{name}` runs again after them"),
        });
    }
    engine.revive_all(&ids).map_err(failure)?;
    finish(engine, teller, &arguments.engine, &store, run.name())
}

pub(crate) fn drop(arguments: &DeadDrop) -> Result<u8, Failure> {
    let store = Store::at(&arguments.store.store);
    let (run, keys) = run_and_keys(&store, &arguments.words)?;
    let condition = arguments.condition.condition.as_deref();
    if keys.is_empty() && condition.is_none() && !arguments.all {
        return Err(Failure::from("name the dead letters, choose them by --where, or say --all"));
    }
    let held = run.hold().map_err(|error| store_failure(&error))?;
    let tasks = chosen_tasks(&run, &history(&run)?, keys, condition)?;
    if program::is_program(&held).map_err(|error| store_failure(&error))? {
        program::drop(&held, &tasks).map_err(|error| Failure::Message(error.to_string()))?;
        print_note(&format!("redial: {} dropped\n", count(tasks.len(), "dead letter")));
        return Ok(0);
    }
    let options = Said::default().options(None)?;
    let is_accepted = arguments.damage.is_accepted;
    let mut engine = Engine::resume(held, is_accepted, options).map_err(failure)?;
    let ids = ids(&engine, &tasks);
    for id in &ids {
        engine.drop_dead(*id).map_err(failure)?;
    }
    engine.save().map_err(failure)?;
    print_note(&format!("redial: {} dropped\n", count(ids.len(), "dead letter")));
    for id in ids.iter().filter(|id| id.item.is_none()) {
        let step = &engine.machine().flow().steps[id.step as usize].name;
        print_note(&format!(
            "redial: the step `{step}` stays failed, and what needs it does not run\n"
        ));
    }
    if !engine.machine().is_over() {
        let run = run.name();
        print_note(&format!("redial: redial flow resume {run} goes on with what is left\n"));
    }
    Ok(0)
}

/// Only the program can run them: that they are wanted is written down for it.
fn revive_in_program(
    arguments: &DeadRetry,
    held: &Held,
    tasks: &[(String, Option<u32>)],
) -> Result<u8, Failure> {
    if arguments.with.is_some() || arguments.rate.is_some() {
        let message = "--with and --rate are for flow files: the steps of this run are functions of a Rust program, \
                       which has their policies";
        return Err(Failure::from(message));
    }
    let again =
        program::revive(held, tasks).map_err(|error| Failure::Message(error.to_string()))?;
    let (run, letters) = (held.name(), count(tasks.len(), "dead letter"));
    print_note(&format!(
        "redial: {letters} to be tried again: written down, and done by the program whose run {run} is, when it next \
         opens it\n"
    ));
    for step in again {
        print_note(&format!("redial: step `{}` runs again after them\n", visible(&step)));
    }
    Ok(0)
}

/// The clause of `--with`, checked.
fn policy(clause: &str) -> Result<String, Failure> {
    let document = redial_policy::read(
        clause,
        redial_policy::Format::Text,
        Some(redial_policy::Notation::Clause),
    );
    match document.diagnostics().iter().find(|found| !found.is_warning()) {
        Some(found) => Err(Failure::Message(format!("--with: {}", found.message))),
        None => Ok(clause.to_owned()),
    }
}

fn ids(engine: &Engine, tasks: &[(String, Option<u32>)]) -> Vec<TaskId> {
    let steps = &engine.machine().flow().steps;
    let id = |(name, item): &(String, Option<u32>)| {
        let step = steps.iter().position(|step| step.name == *name)?;
        Some(TaskId { step: step as u32, item: *item })
    };
    tasks.iter().filter_map(id).collect()
}

/// The steps that have run and will run again.
fn again(engine: &Engine, ids: &[TaskId]) -> Vec<Step> {
    let steps = &engine.machine().flow().steps;
    let mut tops: Vec<u32> = ids
        .iter()
        .map(|id| match steps[id.step as usize].place {
            Place::Inside(map) => map,
            _ => id.step,
        })
        .collect();
    let mut found: Vec<Step> = Vec::new();
    while let Some(top) = tops.pop() {
        for (step, id) in steps.iter().zip(0..) {
            let has_run = matches!(engine.machine().end(id), Some(End::Succeeded | End::Recovered));
            if has_run
                && step.needs.iter().any(|need| need.step == top)
                && !found.iter().any(|other| other.name == step.name)
            {
                found.push(step.clone());
                tops.push(id);
            }
        }
    }
    found
}
