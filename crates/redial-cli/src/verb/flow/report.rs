//! `redial flow report`: where the time of a run went, and what made attempts fail.

use redial_flow::store::Store;

use super::{history, open};
use crate::args::FlowReport;
use crate::output::{Failure, print, width, write_file};
use crate::view::flow::document::{ReportEntry, text};
use crate::view::flow::{page, report, trace};

pub(crate) fn run(arguments: &FlowReport) -> Result<u8, Failure> {
    let files = [&arguments.html, &arguments.trace];
    let to_stdout = files.iter().filter(|path| path.as_deref() == Some("-")).count();
    let to_stdout = to_stdout + usize::from(arguments.json) + usize::from(arguments.markdown);
    if to_stdout > 1 {
        let one = "standard output holds one of --json, --markdown, --html - and --trace -";
        return Err(Failure::from(one));
    }
    let history = history(&open(&Store::at(&arguments.store.store), arguments.run.as_deref())?)?;
    if let Some(path) = &arguments.html {
        write_file(path, &page::html(&history))?;
    }
    if let Some(path) = &arguments.trace {
        write_file(path, &trace::trace(&history))?;
    }
    let is_in_files = files.iter().any(|path| path.is_some());
    match () {
        () if arguments.json => print(&text(&ReportEntry::new(&history)))?,
        () if arguments.markdown => print(&report::markdown(&history))?,
        () if !is_in_files => print(&report::terminal(&history, width()))?,
        () => {}
    }
    Ok(0)
}
