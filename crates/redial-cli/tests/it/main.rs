//! The program as people and scripts use it, in one test program: real processes, files and terminals.
//!
//! Its tests run on several threads at once, so none changes what a process has only one of: its environment, its
//! current directory. `documents.rs` does, and is a program of its own.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod behaviours;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod clock;
mod commands;
mod compare;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod completions;
#[cfg(unix)]
mod downloads;
#[cfg(unix)]
mod environment;
mod examples;
mod find;
mod flow;
mod foreign;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod kernel;
#[cfg(unix)]
mod laws;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod map;
mod plan;
mod program;
#[cfg(unix)]
mod programs;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod recording;
mod report;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod sessions;
#[cfg(unix)]
mod shared;
mod simulate;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod stage;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod terminal;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tool;
mod xml;
