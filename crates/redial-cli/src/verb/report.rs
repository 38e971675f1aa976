//! `redial report`, and the report of `redial run --report`: retries, waits and flaky commands.
//!
//! A [`Collector`] takes events, its [`Summary`](summary::Summary) adds them up, and [`write`] prints it in a
//! [`Format`].

use std::path::Path;

pub(crate) mod collector;
mod journal;
mod logs;
pub(crate) mod summary;

pub(crate) use collector::Collector;

use crate::args::Report;
use crate::output::{Failure, print, write_file};
pub(crate) use crate::view::report::{Format, write};

/// `redial report`
pub(crate) fn run(report: &Report) -> Result<u8, Failure> {
    let mut collector = Collector::default();
    for name in &report.events {
        logs::read(name, &mut collector)?;
    }
    let of_file = || Format::of(Path::new(report.output.as_deref()?)).ok();
    let format = report.format.or_else(of_file).unwrap_or(Format::Table);
    let text = write(&collector.summary(), format);
    match report.output.as_deref() {
        None | Some("-") => print(&text)?,
        Some(path) => write_file(path, &anstream::adapter::strip_str(&text).to_string())?,
    }
    Ok(0)
}
