//! `redial flow run`, `resume` and `cancel`.

use std::time::{Duration, Instant, SystemTime};

use redial_flow::definition::Definition;
use redial_flow::engine::Engine;
use redial_flow::prepared::Prepared;
use redial_flow::program;
use redial_flow::store::{Held, Run, RunName, Store, StoreError};

use super::takeover::{To, take_over};
use super::{open, parsed};
use crate::args::{EngineFlags, FlowCancel, FlowResume, FlowRun};
use crate::flows;
use crate::output::{Failure, print_note, write_file};
use crate::verb::conduct::{
    Outputs, Teller, Telling, Words, conduct, engine_failure as failure, store_failure, survivors,
};
use crate::verb::map::is_of_map;
use crate::verb::run::random_word;
use crate::verb::said::Said;
use crate::view::flow::page;

pub(crate) fn run(arguments: &FlowRun) -> Result<u8, Failure> {
    let flows::Loaded { definition, .. } = flows::load(&arguments.source.asked(true))?;
    let store = Store::at(&arguments.engine.store.store);
    let name = match &arguments.run {
        Some(name) => parsed(name)?,
        None => {
            let chance = u128::from(random_word()) << 64 | u128::from(random_word());
            RunName::generated(SystemTime::now(), chance)
        }
    };
    let pinned = serde_json::to_vec(&definition).map_err(|error| error.to_string())?;
    let said = Said::from(arguments);
    let options = said.options(definition.slots)?;
    let mut teller = teller(&arguments.engine, &said, Some(&definition))?;
    if let Some(from) = &arguments.from
        && store.open(&name).is_err()
    {
        let to = To { store: &store, name: &name, definition: &definition, pinned: &pinned };
        take_over(from, &to, arguments, &options, &mut teller)?;
    }
    let seed = arguments.seed.unwrap_or_else(random_word);
    let engine = match store.create(&name, &pinned) {
        Ok(run) => {
            let held = run.hold().map_err(|error| store_failure(&error))?;
            let begun = Prepared::new(definition)
                .map_err(|error| Failure::Message(error.to_string()))
                .and_then(|prepared| {
                    Engine::begin(prepared, name.as_str(), seed, Some(held), options)
                        .map_err(failure)
                });
            if begun.is_err() {
                // Nothing has run, and it would stand among the others as one that was interrupted.
                let _ = store.remove(&name);
            }
            let engine = begun?;
            if arguments.run.is_none() {
                teller.line(&format!("run {name}"));
            }
            engine
        }
        // The same run again goes on, if it is the same flow.
        Err(StoreError::Exists { .. }) => {
            let run = store.open(&name).map_err(|error| store_failure(&error))?;
            let held = run.hold().map_err(|error| store_failure(&error))?;
            refuse_changed(&held, &definition)?;
            resumed(held, seed, arguments.engine.damage.is_accepted, options, &mut teller)?
        }
        Err(error) => return Err(store_failure(&error)),
    };
    finish(engine, teller, &arguments.engine, &store, &name)
}

pub(crate) fn resume(arguments: &FlowResume) -> Result<u8, Failure> {
    let store = Store::at(&arguments.engine.store.store);
    let run = open(&store, arguments.run.as_deref())?;
    let name = run.name().clone();
    let held = run.hold().map_err(|error| store_failure(&error))?;
    let pinned: Option<Definition> =
        held.flow().ok().and_then(|pinned| serde_json::from_slice(&pinned).ok());
    let said = Said::from(&arguments.engine).or(Said::remembered(&held));
    let options = said.options(pinned.as_ref().and_then(|pinned| pinned.slots))?;
    let mut teller = teller(&arguments.engine, &said, pinned.as_ref())?;
    let is_accepted = arguments.engine.damage.is_accepted;
    let engine = resumed(held, random_word(), is_accepted, options, &mut teller)?;
    finish(engine, teller, &arguments.engine, &store, &name)
}

/// Ends the run of another process, if one holds it, and writes down that nothing more of it is wanted.
pub(crate) fn cancel(arguments: &FlowCancel) -> Result<u8, Failure> {
    let store = Store::at(&arguments.store.store);
    let run = open(&store, arguments.run.as_deref())?;
    if program::is_program(&run).map_err(|error| store_failure(&error))? {
        return cancel_of_program(&run);
    }
    if let Some(holder) = run.holder().map_err(|error| store_failure(&error))? {
        let pid = holder.pid.and_then(|pid| i32::try_from(pid).ok()).ok_or_else(|| {
            Failure::Message(format!("{} holds the run and cannot be told from others", holder))
        })?;
        // Without it the other process says that it was interrupted, and is cancelled all the same.
        let _ = run.ask_to_cancel();
        let sent = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(pid),
            nix::sys::signal::Signal::SIGTERM,
        );
        sent.map_err(|error| {
            Failure::Message(format!("cannot signal process {pid}: {}", error.desc()))
        })?;
        print_note(&format!("redial: asked process {pid} to end the run; its jobs end first\n"));
    }
    let options = Said::default().options(None)?;
    // As long as another process needs: its jobs have their own time to end.
    let waited = Instant::now();
    let held = loop {
        match run.hold() {
            Ok(held) => break held,
            Err(StoreError::Held { .. }) if waited.elapsed() < CANCEL_MAX => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(store_failure(&error)),
        }
    };
    let is_accepted = arguments.damage.is_accepted;
    let mut engine = match Engine::has_begun(&held).map_err(failure)? {
        true => Engine::resume(held, is_accepted, options).map_err(failure)?,
        false => begun(held, random_word(), options)?,
    };
    for line in survivors(&engine) {
        print_note(&format!("redial: {line}\n"));
    }
    // The process that was asked has written it down itself.
    if !engine.machine().is_cancelled() {
        engine.cancel().map_err(failure)?;
    }
    print_note(&format!("redial: {} is cancelled\n", run.name()));
    Ok(0)
}

/// The process that has a program's run may have others, too, and is not signalled.
fn cancel_of_program(run: &Run) -> Result<u8, Failure> {
    let held = run.hold().map_err(|error| store_failure(&error))?;
    program::cancel(&held).map_err(|error| Failure::Message(error.to_string()))?;
    print_note(&format!(
        "redial: {} is cancelled: its program does not go on with it\n",
        run.name()
    ));
    Ok(0)
}

/// How long another process may take to end a run.
const CANCEL_MAX: Duration = Duration::from_secs(60);

/// Tells of a run. One that `redial map` has begun prints what its items print, as `map` does.
pub(crate) fn teller(
    flags: &EngineFlags,
    said: &Said,
    definition: Option<&Definition>,
) -> Result<Teller, Failure> {
    let is_of_map = definition.is_some_and(is_of_map);
    Teller::new(Telling {
        words: if is_of_map { Words::Items } else { Words::Tasks },
        level: (&flags.telling).into(),
        progress: flags.telling.progress,
        // With --json standard output has one document.
        prints_output: is_of_map && !flags.json,
        keeps_order: said.keep_order,
        output_dir: said.output_dir.clone(),
        events: flags.events.clone(),
        outputs: if flags.json { Outputs::Json } else { Outputs::Text },
    })
}

/// Runs an engine to its end, and writes what was asked for.
pub(crate) fn finish(
    engine: Engine,
    teller: Teller,
    flags: &EngineFlags,
    store: &Store,
    name: &RunName,
) -> Result<u8, Failure> {
    let path = flags.html.clone();
    let (store, name) = (store.clone(), name.clone());
    conduct(engine, teller, move || {
        let Some(path) = path else { return Ok(()) };
        let run = store.open(&name).map_err(|error| store_failure(&error))?;
        write_file(&path, &page::html(&super::history(&run)?))
    })
}

/// Begins a run that was made and never begun, with the flow that it has pinned.
fn begun(held: Held, seed: u64, options: redial_flow::engine::Options) -> Result<Engine, Failure> {
    let (prepared, name) = (Prepared::new(pinned(&held)?), held.name().clone());
    let prepared = prepared.map_err(|error| error.to_string())?;
    Engine::begin(prepared, name.as_str(), seed, Some(held), options).map_err(failure)
}

/// The flow that a run was made with.
fn pinned(held: &Held) -> Result<Definition, Failure> {
    let flow = held.flow().map_err(|error| store_failure(&error))?;
    serde_json::from_slice(&flow)
        .map_err(|error| Failure::Message(format!("{}: flow.json: {error}", held.path().display())))
}

/// Goes on with a run; with this seed, if the process that made it was killed before it had begun it.
fn resumed(
    held: Held,
    seed: u64,
    accept_damage: bool,
    options: redial_flow::engine::Options,
    teller: &mut Teller,
) -> Result<Engine, Failure> {
    let name = held.name().clone();
    if !Engine::has_begun(&held).map_err(failure)? {
        teller.line(&format!(
            "the run {name} was made and not begun: nothing of it has run; it begins now"
        ));
        return begun(held, seed, options);
    }
    let engine = Engine::resume(held, accept_damage, options).map_err(failure)?;
    if engine.machine().is_cancelled() {
        return Err(Failure::Message(format!(
            "the run `{name}` is cancelled, and nothing more of it is run; begin another"
        )));
    }
    let lost = engine.lost();
    if lost > 0 {
        teller.line(&format!(
            "{} lost: running when redial was killed",
            crate::output::count(lost, "attempt")
        ));
    }
    teller.survivors(&engine);
    Ok(engine)
}

/// A run goes on only with the flow that it was begun with.
fn refuse_changed(held: &Held, definition: &Definition) -> Result<(), Failure> {
    let differences = differences(&pinned(held)?, definition);
    if differences.is_empty() {
        return Ok(());
    }
    let (name, differences) = (held.name(), differences.join("; "));
    Err(Failure::Message(format!(
        "the run `{name}` was begun with another flow: {differences}; resume it as it was (redial flow resume \
         {name}), or take another name, with --from {name} to keep what has succeeded and has not changed"
    )))
}

/// What of a flow has changed, in words.
fn differences(before: &Definition, now: &Definition) -> Vec<String> {
    let mut found = Vec::new();
    for step in &before.steps {
        match now.steps.iter().find(|other| other.name == step.name) {
            None => found.push(format!("step `{}` is gone", step.name)),
            Some(other) if other != step => {
                let fields = |step| match serde_json::to_value(step) {
                    Ok(serde_json::Value::Object(fields)) => fields,
                    _ => Default::default(),
                };
                let (old, new) = (fields(step), fields(other));
                let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
                names.sort();
                names.dedup();
                let names = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
                let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                found.push(format!("step `{}` has another {}", step.name, names.join(", ")));
            }
            Some(_) => {}
        }
    }
    for step in &now.steps {
        if !before.steps.iter().any(|other| other.name == step.name) {
            found.push(format!("step `{}` is new", step.name));
        }
    }
    if before.inputs != now.inputs {
        found.push("its inputs are others".into());
    }
    if found.is_empty() && before != now {
        found.push("its settings are others".into());
    }
    found
}
