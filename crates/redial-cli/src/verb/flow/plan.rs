//! `redial flow plan`: shows what a flow will do; nothing runs.

use std::num::NonZeroU32;

use redial_flow::outlook::Outlook;
use redial_flow::prepared::Prepared;

use crate::args::FlowPlan;
use crate::flows;
use crate::output::{Failure, print, width, write_file};
use crate::view::flow::plan::{self, Planned};

pub(crate) fn run(arguments: &FlowPlan) -> Result<u8, Failure> {
    let to_stdout = [&arguments.svg, &arguments.html];
    let to_stdout = to_stdout.iter().filter(|path| path.as_deref() == Some("-")).count();
    if to_stdout + usize::from(arguments.json) > 1 {
        return Err(Failure::from("standard output holds one of --json, --svg - and --html -"));
    }
    let flows::Loaded { definition, warnings } = flows::load(&arguments.source.asked(false))?;
    let slots = slots(arguments.jobs, definition.slots);
    let prepared = Prepared::new(definition).map_err(|error| error.to_string())?;
    let outlook = Outlook::new(&prepared, slots);
    let outlook = match arguments.seed {
        Some(seed) => outlook.seed(&prepared, seed),
        None => outlook,
    };
    let planned = Planned { prepared: &prepared, outlook: &outlook, warnings: &warnings };
    if let Some(path) = &arguments.svg {
        write_file(path, &plan::svg(&planned))?;
    }
    if let Some(path) = &arguments.html {
        write_file(path, &plan::html(&planned))?;
    }
    if arguments.json {
        return print(&plan::json(&planned)).map(|()| 0);
    }
    if arguments.svg.is_none() && arguments.html.is_none() {
        print(&plan::terminal(&planned, width()))?;
    }
    Ok(0)
}

/// As `redial flow run` counts them.
fn slots(jobs: Option<u32>, of_flow: Option<NonZeroU32>) -> NonZeroU32 {
    let processors = || {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        NonZeroU32::new(u32::try_from(count).unwrap_or(u32::MAX))
    };
    jobs.and_then(NonZeroU32::new).or(of_flow).or_else(processors).unwrap_or(NonZeroU32::MIN)
}
