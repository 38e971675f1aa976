//! Rules for commands: conditions, which of them decides, what is seen of the output, and the sets
//! against what the tools really print.

use std::time::SystemTime;

mod conditions;
mod delays;
mod files;
mod headers;
mod precedence;
mod reference;
mod sets;
mod watching;

/// The time of day in these tests.
const NOW: SystemTime = SystemTime::UNIX_EPOCH;
