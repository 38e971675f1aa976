//! `redial compare`: several policies side by side; nothing runs.

use clap::ArgMatches;

use super::plan;
use crate::args::Compare;
use crate::output::Failure;
use crate::policies::selected_with_files;
use crate::view::plan::side_by_side;

pub(crate) fn run(compare: &Compare, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    let arguments = &compare.plan;
    plan::check(arguments)?;
    let policies = selected_with_files(&arguments.policy, &arguments.files, matches, true)?;
    if policies.len() < 2 {
        return Err(Failure::from(
            "there is one policy, and two or more are compared: name another file, or give --with or --preset again; \
             redial plan shows one",
        ));
    }
    plan::show(&policies, arguments, side_by_side)
}
