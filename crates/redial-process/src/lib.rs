//! Commands on Unix: one thread that runs any number of them at once, with their descendants,
//! signals, streams and timeouts.
//!
//! [`Reactor`] is the one place that waits. A [slot](SlotId) is where commands run one after the
//! other, and [`AttemptLoop`] runs one of them under a policy: it starts attempts, judges them by
//! rules, asks the engine what follows, waits, and ends what a failed attempt left behind. An
//! [`Observer`] is told what happens. Policies come from `redial-core` and rules from
//! `redial-policy`, which a program that uses this crate depends on, too.
//!
//! ```
//! use std::time::Duration;
//!
//! use redial_core::{Backoff, Limits};
//! use redial_policy::{Draws, Rules};
//! use redial_process::shared::SharedGate;
//! use redial_process::{
//!     Attempt, AttemptLoop, Clock, Command, End, Observer, Options, Progress, Reactor, Sinks, Stdin,
//!     Streams, Task,
//! };
//!
//! /// Counts the delays.
//! struct Delays(u32);
//!
//! impl Observer for Delays {
//!     fn waiting(&mut self, _: &Clock, _: &Progress, _: &Attempt, _: Duration, _: &mut Streams) {
//!         self.0 += 1;
//!     }
//! }
//!
//! let third_time = ["sh", "-c", "test $REDIAL_ATTEMPT = 3"].map(Into::into);
//! let task = Task {
//!     command: Command::new(&third_time, &redial_process::VARIABLES),
//!     variables: Vec::new(),
//!     stdin: Stdin::Null,
//!     sinks: Sinks::default(),
//!     policy: Draws::of(Backoff::constant(Duration::from_millis(1)).attempts(5)),
//!     limits: Limits::new(),
//!     timeout: Some(Duration::from_secs(60)),
//!     rules: Rules::default(),
//!     seed: 0,
//!     is_poll: false,
//!     measures_times: false,
//! };
//! let mut reactor = Reactor::new(Clock::start(), Options::default())?;
//! let slot = reactor.only_slot(task.streams());
//! let mut delays = Delays(0);
//! let mut attempts = AttemptLoop::new(&task, &reactor, slot, SharedGate::default());
//! let end = attempts.run(&mut reactor, &mut delays);
//! assert!(matches!(end, End::Succeeded));
//! assert_eq!((attempts.progress().attempts, delays.0), (3, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - It waits by `poll(2)` and is woken: the end of a command is seen at once, and an idle reactor
//!   takes no time.
//! - A command that times out gets a signal, then SIGKILL. [`Reactor::sweep`] ends what it left behind.
//! - A signal to this process reaches the commands; Ctrl-C on a terminal lets them clean up; Ctrl-Z
//!   stops them and this process together, and the clock with them.
//! - No wait is for something that another process may never do: EOF of a pipe that a daemon
//!   inherited, a reader that does not read, a process that ignores SIGTERM.
//! - A KILL of this process leaves its commands running, unless their slot has a [guard](Reactor::guarded_slot). What
//!   outlives the guard, too, [`end_survivors`] finds by its environment and ends.
//!
//! # What is Linux's alone
//!
//! Descendants are known completely on Linux, where this process or a guard is their subreaper
//! (`PR_SET_CHILD_SUBREAPER`): also those that called `setsid` or lost their parent. Elsewhere they
//! are known as far as the process group of the command goes. Guards, and so more than one slot,
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
mod survivors;
mod terminal;
mod times;
mod tree;

pub use attempts::{Attempt, AttemptLoop, End, Reason, Task, Turn, VARIABLES};
pub use clock::Clock;
pub use command::{Command, Environment, Stdio};
pub use control::{Control, Request};
pub use input::Stdin;
pub use observer::{Observer, Progress, Signalled, Warning};
pub use output::{Output, is_one_file};
pub use reactor::{Exit, Options, Reactor, SlotId};
pub use store::Store;
pub use streams::{Sink, Sinks, Streams};
pub use survivors::{Survivors, end_survivors};
pub use times::Times;

use std::os::fd::OwnedFd;

/// The size of one read: the capacity of a pipe on Linux.
const CHUNK: usize = 1 << 16;

/// A pipe that no command inherits (`O_CLOEXEC`): the end to read from, and the end to write to.
fn pipe() -> std::io::Result<(OwnedFd, OwnedFd)> {
    std::io::pipe().map(|(read, write)| (read.into(), write.into()))
}
