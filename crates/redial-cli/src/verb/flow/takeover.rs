//! `redial flow run --from`: a run under another flow takes over what has succeeded.

use redial_flow::definition::Definition;
use redial_flow::engine::{Beginning, Engine, Options, Takeover};
use redial_flow::store::{RunName, Store};

use super::parsed;
use crate::args::FlowRun;
use crate::output::{Failure, count};
use crate::verb::conduct::{Teller, engine_failure, store_failure};

/// The run that is to be.
pub(super) struct To<'r> {
    pub(super) store: &'r Store,
    pub(super) name: &'r RunName,
    pub(super) definition: &'r Definition,
    pub(super) pinned: &'r [u8],
}

/// Makes the run, with what another one has. Nothing more of that one is run: a task is done in one of them.
pub(super) fn take_over(
    from: &str,
    to: &To<'_>,
    arguments: &FlowRun,
    options: &Options,
    teller: &mut Teller,
) -> Result<(), Failure> {
    let run = to.store.open(&parsed(from)?).map_err(|error| store_failure(&error))?;
    let held = run.hold().map_err(|error| store_failure(&error))?;
    if !Engine::has_begun(&held).map_err(engine_failure)? {
        return Err(Failure::Message(format!(
            "--from: nothing of the run `{from}` has run; begin without it"
        )));
    }
    let takeover = Takeover::new(&run, to.definition).map_err(engine_failure)?;
    if let Some(step) = takeover.twice().first()
        && !arguments.again
    {
        return Err(Failure::Message(format!(
            "step `{step}` may have succeeded in `{from}`, would run again, and must not run twice (idempotent: \
             false); add --again if it may"
        )));
    }
    let beginning = Beginning {
        flow: to.pinned.to_vec(),
        argv: options.argv.clone(),
        said: options.said.clone(),
    };
    let make =
        || takeover.make(to.store, to.name, &beginning).map_err(|error| store_failure(&error));
    if takeover.is_over() {
        make()?;
    } else {
        // Its commands are ended before others start, and it is held until the new run is there.
        let is_accepted = arguments.engine.damage.is_accepted;
        let mut engine =
            Engine::resume(held, is_accepted, options.clone()).map_err(engine_failure)?;
        teller.survivors(&engine);
        engine.cancel().map_err(engine_failure)?;
        make()?;
        teller.line(&format!("the run {from} is cancelled: {} goes on with it", to.name));
    }
    let tasks = count(usize::try_from(takeover.tasks()).unwrap_or(usize::MAX), "task");
    teller.line(&format!("{tasks} of the run {from} taken over"));
    for step in takeover.again() {
        teller.line(&format!("step `{step}` runs again: it has changed, or what it needs has"));
    }
    Ok(())
}
