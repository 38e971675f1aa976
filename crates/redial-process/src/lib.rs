//! Commands on Unix: one thread that runs any number of them at once, with their descendants,
//! signals, streams and timeouts.
//!
//! [`Reactor`] is the one place that waits. A [slot](SlotId) is where commands run one after the
//! other; [`Streams`] are what passes through this process of their input and output; the rest is
//! for whoever drives them: a [`Clock`], [`signals`], the file by which a command may [ask](Control)
//! for something, and a budget or breaker that processes [share](shared).
//!
//! ```
//! use redial_policy::Rules;
//! use redial_process::{Clock, Command, Options, Reactor, Sink, Sinks, Stdin, Streams};
//!
//! let rules = Rules::default();
//! let mut reactor = Reactor::new(Clock::start(), Options::default())?;
//! let slot = reactor.only_slot(Streams::new(Stdin::Null, true, &rules));
//! let sinks = Sinks { stdout: Sink::Keep, ..Sinks::default() };
//!
//! let stdio = reactor.streams(slot).open(&rules, sinks, true)?;
//! let hello = Command::new(&["echo".into(), "hello".into()], &[]);
//! reactor.start(slot, &hello, &[], stdio);
//! let exit = reactor.wait_for_exit(slot, &mut ())?;
//! assert!(exit.status.is_some_and(|status| status.success()));
//! let kept = reactor.streams(slot).take_kept(redial_policy::Stream::Stdout).unwrap();
//! assert_eq!(kept.length(), 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - It waits by `poll(2)` and is woken: the end of a command is seen at once, and an idle reactor
//!   takes no time.
//! - A command that is cut gets a signal, then SIGKILL. [`Reactor::sweep`] ends what it left behind.
//! - A signal to this process reaches the commands; Ctrl-C on a terminal lets them clean up; Ctrl-Z
//!   stops them and this process together, and the clock with them.
//! - No wait is for something that another process may never do: EOF of a pipe that a daemon
//!   inherited, a reader that does not read, a process that ignores SIGTERM.
//! - A KILL of this process leaves its commands running, unless their slot has a [`Guard`].
//!
//! # What is Linux's alone
//!
//! Descendants are known completely on Linux, where this process or a [`Guard`] is their subreaper
//! (`PR_SET_CHILD_SUBREAPER`): also those that called `setsid` or lost their parent. Elsewhere they
//! are known as far as the process group of the command goes. [`Guard`]s, and so more than one slot,
//! are Linux's alone. Nowhere are those known that another daemon was asked to start (`at`,
//! `systemd-run`, `docker`), and a program of another user (setuid) cannot be signalled.
//!
//! There should be one [`Reactor`] in a process, in its first thread: it blocks the signals that it
//! waits for, and waits for every child of the process.

#![cfg(unix)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempts;
mod backlog;
mod clock;
mod command;
mod control;
pub mod ending;
#[cfg(target_os = "linux")]
pub mod guard;
#[cfg(not(target_os = "linux"))]
#[path = "guard_elsewhere.rs"]
mod guard;
mod input;
mod observer;
mod output;
mod reactor;
mod relay;
pub mod shared;
pub mod signals;
mod store;
mod streams;
mod terminal;
mod times;
mod tree;

pub use attempts::{Attempt, AttemptLoop, End, Reason, Task, Turn, VARIABLES};
pub use clock::Clock;
pub use command::{Command, Stdio};
pub use control::{Control, Request};
pub use input::Stdin;
pub use observer::{Observer, Progress, Signalled, Warning};
pub use output::Output;
pub use reactor::{Exit, Options, Reactor, SlotId};
pub use store::Store;
pub use streams::{Sink, Sinks, Streams};
pub use times::Times;

use std::os::fd::OwnedFd;

/// A pipe that no command inherits: its end to read from, and its end to write to.
fn pipe() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(target_os = "linux")]
    return rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    #[cfg(not(target_os = "linux"))]
    {
        let (read, write) = rustix::pipe::pipe()?;
        rustix::io::fcntl_setfd(&read, rustix::io::FdFlags::CLOEXEC)?;
        rustix::io::fcntl_setfd(&write, rustix::io::FdFlags::CLOEXEC)?;
        Ok((read, write))
    }
}
