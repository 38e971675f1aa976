//! Processes as the kernel tells of them: waiting for their end without polling, and finding those of one test.

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::panic::Location;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

/// A value, or what went otherwise than the test needs.
pub(crate) type Told<T> = Result<T, String>;

/// An error that names the line of the test.
#[track_caller]
pub(crate) fn otherwise<T>(what: impl AsRef<str>) -> Told<T> {
    let place = Location::caller();
    Err(format!("{}:{}: {}", place.file(), place.line(), what.as_ref()))
}

/// For as long as it takes: on a busy machine no time is long enough for what has to happen. A test that waits in vain
/// hangs, and says where.
pub(crate) const FOR_EVER: Duration = Duration::MAX;

/// After so long, somebody wants to know where a test hangs.
const SUSPICIOUS: Duration = Duration::from_secs(60);

/// Whether `waits`, which is told for how long to wait, has seen within this time what it waits for.
#[track_caller]
pub(crate) fn patiently(within: Duration, mut waits: impl FnMut(Duration) -> bool) -> bool {
    let began = Instant::now();
    loop {
        if waits(within.saturating_sub(began.elapsed()).min(SUSPICIOUS)) {
            return true;
        }
        if began.elapsed() >= within {
            return false;
        }
        if began.elapsed() >= SUSPICIOUS {
            // Not by a macro, whose output the harness keeps until the test has ended.
            let place = Location::caller();
            let _ = writeln!(io::stderr(), "{place}: waiting for {:.0?}", began.elapsed());
        }
    }
}

/// Whether there is something to read within this time.
#[track_caller]
pub(crate) fn readable(descriptor: impl AsFd, within: Duration) -> bool {
    patiently(within, |left| {
        let left = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&left)) {
            Ok(count) => count > 0,
            Err(rustix::io::Errno::INTR) => false,
            Err(error) => panic!("poll: {error}"),
        }
    })
}

/// Sends a signal; a process that is gone already is none to send it to.
pub(crate) fn send(pid: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), signal);
}

/// A process of which the test is the parent.
pub(crate) struct Started {
    child: Child,
    end: OwnedFd,
}

impl Started {
    pub(crate) fn new(child: Child) -> Self {
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        Self { end: pidfd_open(pid, PidfdFlags::empty()).unwrap(), child }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Whether it ends within this time.
    #[track_caller]
    pub(crate) fn ends(&self, within: Duration) -> bool {
        readable(&self.end, within)
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.ends(Duration::ZERO)
    }

    /// Its end, which has to come within this time.
    #[track_caller]
    pub(crate) fn end(&mut self, within: Duration) -> Told<Ended> {
        if !self.ends(within) {
            return otherwise("it is still running");
        }
        Ok(Ended { status: self.child.wait().unwrap() })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
}

impl Ended {
    /// The signal that it died of, not one that its exit code tells of.
    pub(crate) fn signal(self) -> Option<Signal> {
        self.status.signal().and_then(Signal::from_named_raw)
    }

    /// The exit code, or 128 and the signal, as a shell has it.
    pub(crate) fn code(self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap())
    }
}

/// One line of `ps`.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// `R`, `S`, `T` stopped, `Z` zombie.
    pub(crate) state: char,
    pub(crate) command: String,
}

impl Process {
    /// A process that is there.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned();
        Some(Self { pid, parent, state, command })
    }

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        pids().filter_map(Self::of)
    }
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// The processes alive that have this in their environment, which they have from their start.
pub(crate) fn with_environment(entry: &str) -> Vec<Process> {
    let marked = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
    };
    pids().filter(marked).filter_map(Process::of).filter(|process| process.state != 'Z').collect()
}

/// Waits until something holds, looking again every few milliseconds: for what the kernel sends no event for.
#[track_caller]
pub(crate) fn until(within: Duration, mut holds: impl FnMut() -> bool) -> bool {
    patiently(within, |left| {
        let began = Instant::now();
        loop {
            if holds() {
                return true;
            }
            if began.elapsed() >= left {
                return false;
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    })
}
