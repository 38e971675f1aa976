//! What redial does to processes and terminals: real processes, real terminals, real signals.
//!
//! The fourteen checks of [`fourteen`] are told which tool to run, so that the same checks that the tests ask of redial
//! make the table of `scripts/behaviours`, which holds redial beside the other tools that are installed.

mod codes;
mod events;
mod fourteen;
mod hook;
mod jobs;
mod long_work;
mod order;
mod processes;
mod side_by_side;
mod signals;
mod streams;
mod until;
