//! What redial does to processes and terminals: real processes, real terminals, real signals.
//!
//! The fourteen checks of [`fourteen`] are told which tool to run, so that the same checks that the tests ask of redial
//! make the table of `scripts/behaviours`, which holds redial beside the other tools that are installed.
// With a clock of their own, for which glibc lets a library be preloaded.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod clock;
mod codes;
mod events;
mod fourteen;
mod hook;
mod jobs;
mod kernel;
mod long_work;
mod order;
mod processes;
mod side_by_side;
mod signals;
mod stage;
mod streams;
mod terminal;
mod tool;
mod until;
