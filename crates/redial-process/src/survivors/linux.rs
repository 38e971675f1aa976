//! Through `/proc`, and by pidfd: a PID alone may be another process by the time of the signal.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::Survivors;
use crate::reactor::timespec;
use crate::tree::{children, is_proc_ours, parent};

/// How long a process that got SIGKILL may take to be gone. One in an uninterruptible sleep takes as long as its disk.
const GONE_AFTER: Duration = Duration::from_secs(10);

pub(super) fn end(name: &str, meant: &dyn Fn(&[u8]) -> bool) -> Survivors {
    if !is_proc_ours() {
        return Survivors::default();
    }
    let spared = ancestors();
    let start = [name.as_bytes(), b"="].concat();
    let is_meant = |variable: &[u8]| variable.strip_prefix(start.as_slice()).is_some_and(meant);
    let mut stopped: BTreeMap<i32, OwnedFd> = BTreeMap::new();
    // SIGSTOP comes before SIGKILL: what is stopped does not fork, so the list comes to an end.
    loop {
        let mut found: Vec<(Pid, OwnedFd)> = processes()
            .filter(|pid| !stopped.contains_key(&pid.as_raw()) && !spared.contains(pid))
            .filter_map(|pid| opened(pid, || has_variable(pid, &is_meant)))
            .collect();
        for leader in stopped.keys().map(|pid| Pid::from_raw(*pid)) {
            let below = children(leader).into_iter();
            let new = below.filter(|pid| !stopped.contains_key(&pid.as_raw()));
            let new = new.filter(|pid| !spared.contains(pid));
            found.extend(new.filter_map(|pid| opened(pid, || parent(pid) == Some(leader))));
        }
        if found.is_empty() {
            break;
        }
        for (pid, process) in found {
            let _ = pidfd_send_signal(&process, Signal::STOP);
            stopped.insert(pid.as_raw(), process);
        }
    }
    for process in stopped.values() {
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
    let until = Instant::now() + GONE_AFTER;
    let gone = stopped.values().filter(|process| is_gone_by(process, until)).count();
    Survivors { ended: gone, left: stopped.len() - gone }
}

/// A process that cannot be taken for another one with its PID later, if `is_it` holds when it is open.
fn opened(pid: Pid, is_it: impl FnOnce() -> bool) -> Option<(Pid, OwnedFd)> {
    let process = rustix::process::Pid::from_raw(pid.as_raw())?;
    let process = pidfd_open(process, PidfdFlags::empty()).ok()?;
    // If the PID was reused in between, the descriptor is of a process that is gone, and a signal to it reaches nobody.
    (is_it() && is_alive(&process)).then_some((pid, process))
}

/// A pidfd is readable once its process has ended, also as a zombie.
fn is_gone_by(process: &OwnedFd, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timespec(left))) {
            Err(rustix::io::Errno::INTR) => {}
            ready => return ready.is_ok_and(|ready| ready > 0),
        }
    }
}

fn is_alive(process: &OwnedFd) -> bool {
    !is_gone_by(process, Instant::now())
}

/// All processes of this user.
fn processes() -> impl Iterator<Item = Pid> {
    let own = rustix::process::getuid().as_raw();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = all.filter(move |entry| entry.metadata().is_ok_and(|entry| entry.uid() == own));
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw))
}

/// Whether a process was started with such a variable. One that has ended has none.
fn has_variable(pid: Pid, is_meant: &dyn Fn(&[u8]) -> bool) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(is_meant)
}

/// This process, its parent, and so on.
fn ancestors() -> Vec<Pid> {
    let mut ancestors = vec![Pid::this()];
    while let Some(pid) = ancestors.last().and_then(|pid| parent(*pid)) {
        if ancestors.contains(&pid) {
            break;
        }
        ancestors.push(pid);
    }
    ancestors
}
