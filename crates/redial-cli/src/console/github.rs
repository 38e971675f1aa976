//! What a GitHub workflow shows of a run that was not clean: an annotation and a line of the
//! step's summary.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use crate::text::{github, github_property, markdown, markdown_code};
use crate::visible::visible;

/// How loud the annotation is.
#[derive(Clone, Copy)]
pub(crate) enum Severity {
    Warning,
    Error,
}

/// Whether redial runs in a step of a workflow.
pub(crate) fn is_here() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// The line that annotates the step. The runner reads it at the start of a line of either stream.
pub(crate) fn annotation(severity: Severity, command: &str, message: &str) -> String {
    let severity = match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let (text, title) = (github(&visible(message)), github_property(&visible(command)));
    format!("::{severity} title={title}::{text}")
}

/// Adds a line about `command` to the step's summary, if there is one; or says why it cannot.
pub(crate) fn summarise(severity: Severity, command: &str, message: &str) -> Result<(), String> {
    let sign = match severity {
        Severity::Warning => "⚠️",
        Severity::Error => "❌",
    };
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let line = format!("{sign} {}: {}\n\n", markdown_code(command), markdown(message));
    let mut options = std::fs::OpenOptions::new();
    // Opening a FIFO must not block.
    options.append(true).create(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let summary = options.open(&path);
    summary.and_then(|mut summary| summary.write_all(line.as_bytes())).map_err(|error| {
        format!("cannot write the step summary {}: {error}", path.to_string_lossy())
    })
}
