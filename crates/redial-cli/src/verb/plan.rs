//! `redial plan`: shows the delays of policies; nothing runs.

use clap::ArgMatches;
use redial_policy::Plan;

use crate::args;
use crate::output::{Failure, print, width, write_file};
use crate::policies::{SelectedPolicy, print_warnings, selected_with_files};
use crate::view::plan::{self, Planned};

pub(crate) fn run(arguments: &args::Plan, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    check(arguments)?;
    let policies = selected_with_files(&arguments.policy, &arguments.files, matches, false)?;
    show(&policies, arguments, plan::terminal)
}

/// One document at most goes to standard output.
pub(super) fn check(arguments: &args::Plan) -> Result<(), Failure> {
    let to_stdout = [&arguments.svg, &arguments.html];
    let to_stdout = to_stdout.iter().filter(|path| path.as_deref() == Some("-")).count();
    if to_stdout + usize::from(arguments.json) > 1 {
        return Err(Failure::from("standard output holds one of --json, --svg - and --html -"));
    }
    Ok(())
}

/// Shows the policies in the forms that the flags ask for, or as text.
pub(super) fn show(
    policies: &[SelectedPolicy],
    arguments: &args::Plan,
    text: fn(&[Planned], usize) -> String,
) -> Result<u8, Failure> {
    let plans: Vec<_> = policies.iter().map(|policy| planned(policy, arguments)).collect();
    let to_files = arguments.svg.is_some() || arguments.html.is_some();
    if let Some(path) = &arguments.svg {
        write_file(path, &plan::svg(&plans))?;
    }
    if let Some(path) = &arguments.html {
        write_file(path, &plan::html(&plans))?;
    }
    if arguments.json {
        return print(&plan::json(&plans)).map(|()| 0);
    }
    if !to_files {
        print(&text(&plans, width()))?;
        print_warnings(policies);
    }
    Ok(0)
}

fn planned(selected: &SelectedPolicy, arguments: &args::Plan) -> Planned {
    let plan = Plan::new(selected.timing()).timeout(selected.entry.timeout);
    Planned {
        name: selected.name.clone(),
        from: selected.from,
        plan: match arguments.seed {
            Some(seed) => plan.seed(seed),
            None => plan,
        },
        show: arguments.show.map(|show| show as usize),
        diagnostics: selected.diagnostics.clone(),
        notes: selected.entry.notes.clone(),
    }
}
