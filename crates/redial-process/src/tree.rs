//! Everything that a command started: its descendants, found through `/proc`.

use std::path::PathBuf;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid, getpgrp};
use rustix::process::{WaitId, WaitIdOptions, waitid};

/// The descendants of the commands that are started by one process.
///
/// On Linux that process is their subreaper: orphans become its children, also those with a session of
/// their own, so that none is lost. Elsewhere only the process group of the command is known.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The process that starts the commands: this one, or a guard.
    parent: Pid,
    /// Children that are not descendants of a command: background jobs of a shell that called `exec`,
    /// and what has been disowned.
    foreign: Vec<Pid>,
    /// The process group of the command, where it has one of its own.
    group: Option<Pid>,
    /// The command itself.
    root: Option<Pid>,
    /// Who has got the signal to end, and which program it ran then. Nobody gets it twice, because many
    /// programs quit at once on the second SIGTERM; but a fork of a shell that has called `exec` since
    /// gets it again.
    asked: Vec<(Pid, Option<PathBuf>)>,
}

impl Tree {
    /// The tree of the commands of this process, which becomes their subreaper.
    pub(crate) fn of_this_process() -> Self {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let mut tree = Self::below(Pid::this());
        if has_children() {
            tree.disown();
        }
        tree
    }

    /// The tree of the commands of another process, which is their subreaper.
    pub(crate) fn below(parent: Pid) -> Self {
        Self { parent, foreign: Vec::new(), group: None, root: None, asked: Vec::new() }
    }

    /// The commands have another parent from now on.
    pub(crate) fn set_parent(&mut self, parent: Pid) {
        if parent != self.parent {
            (self.parent, self.foreign) = (parent, Vec::new());
        }
    }

    /// Lets whatever runs by now go on.
    pub(crate) fn disown(&mut self) {
        self.foreign = children(self.parent);
    }

    /// A command has started, in a process group of its own or in ours.
    pub(crate) fn command_started(&mut self, root: Pid, own_group: bool) {
        self.root = Some(root);
        self.group = own_group.then_some(root);
        self.asked.clear();
    }

    /// The command itself has been reaped, so that its PID may be reused.
    pub(crate) fn command_ended(&mut self) {
        self.root = None;
    }

    /// Whether any of these processes is left.
    pub(crate) fn has_processes(&self) -> bool {
        if !cfg!(target_os = "linux") {
            return self.group.is_some_and(|group| killpg(group, None).is_ok());
        }
        has_children() && (self.foreign.is_empty() || !self.processes().is_empty())
    }

    /// Kills the command and its descendants when the guard that was their parent is gone. SIGSTOP comes
    /// first, so that they cannot fork in the meantime.
    pub(crate) fn kill_command(&self) {
        let is_reused = |root: &Pid| self.group.is_some() && self.is_in_other_group(*root);
        let Some(root) = self.root.filter(|root| !is_reused(root)) else { return };
        let mut stopped = Vec::new();
        loop {
            let members = descendants(vec![root], |_| true);
            let new: Vec<_> = members.into_iter().filter(|one| !stopped.contains(one)).collect();
            if new.is_empty() {
                break;
            }
            new.iter().for_each(|member| send(*member, Signal::SIGSTOP));
            stopped.extend(new);
        }
        stopped.into_iter().for_each(|member| send(member, Signal::SIGKILL));
    }

    /// A stopped guard could not report the end of its commands.
    fn continue_guard(&self) {
        if self.parent != Pid::this() {
            send(self.parent, Signal::SIGCONT);
        }
    }

    /// Sends a signal to all of them.
    pub(crate) fn signal(&self, signal: Signal) {
        self.continue_guard();
        self.signal_these(&self.processes(), signal);
    }

    /// All of them, as they are now.
    pub(crate) fn processes(&self) -> Vec<Pid> {
        self.members(|_| true)
    }

    /// Sends a signal to these, which [`processes`](Self::processes) has found.
    pub(crate) fn signal_these(&self, processes: &[Pid], signal: Signal) {
        match processes {
            [] => self.signal_without_proc(signal),
            _ => processes.iter().for_each(|member| send(*member, signal)),
        }
    }

    /// Sends a signal to the process group of the command alone, as a terminal or `timeout` would. A
    /// process that has made another group, such as a shell, forwards it.
    pub(crate) fn signal_group(&self, signal: Signal) {
        self.continue_guard();
        if self.group.is_some() {
            return self.signal_without_proc(signal);
        }
        // Without a group of its own the command is in ours, together with our caller.
        // Another redial looks after its own descendants.
        match self.members(|parent| !is_redial(parent)) {
            members if members.is_empty() => self.signal_without_proc(signal),
            members => {
                let inside = members.into_iter().filter(|member| !self.is_in_other_group(*member));
                inside.for_each(|member| send(member, signal));
            }
        }
    }

    /// Asks the process group of the command to end, by this signal.
    pub(crate) fn ask_group(&mut self, signal: Signal) {
        let members = self.processes();
        let inside = members.into_iter().filter(|member| !self.is_in_other_group(*member));
        self.asked = inside.map(|member| (member, program(member))).collect();
        self.signal_group(signal);
        // A stopped process gets the signal only when it is continued.
        self.signal_group(Signal::SIGCONT);
    }

    /// Asks the processes to end that have not been asked yet.
    pub(crate) fn ask_others(&mut self, signal: Signal) {
        let members = self.processes();
        if members.is_empty() && self.asked.is_empty() {
            self.signal_without_proc(signal);
            self.signal_without_proc(Signal::SIGCONT);
        }
        for member in members {
            let one = (member, program(member));
            if !self.asked.contains(&one) {
                self.asked.push(one);
                send(member, signal);
                send(member, Signal::SIGCONT);
            }
        }
    }

    /// Sends a signal to those that are in another process group.
    pub(crate) fn signal_others(&self, signal: Signal) {
        let members = self.processes().into_iter();
        members
            .filter(|member| self.is_in_other_group(*member))
            .for_each(|member| send(member, signal));
    }

    /// Where `/proc` is not there to tell the descendants.
    fn signal_without_proc(&self, signal: Signal) {
        match (self.group, self.root) {
            (Some(group), _) => drop(killpg(group, signal)),
            (None, Some(root)) => send(root, signal),
            (None, None) => {}
        }
    }

    fn is_in_other_group(&self, member: Pid) -> bool {
        let group = self.group.unwrap_or_else(getpgrp);
        getpgid(Some(member)).is_ok_and(|now| now != group)
    }

    /// The descendants of the parent, by `/proc`, without those of one that does not `count`.
    fn members(&self, counts: impl Fn(Pid) -> bool) -> Vec<Pid> {
        if !is_proc_ours() {
            return Vec::new();
        }
        let mut members = children(self.parent);
        members.retain(|child| !self.foreign.contains(child));
        descendants(members, counts)
    }
}

/// These processes and their descendants, without the descendants of one that does not `count`.
fn descendants(mut members: Vec<Pid>, counts: impl Fn(Pid) -> bool) -> Vec<Pid> {
    let mut at = 0;
    while let Some(parent) = members.get(at).copied() {
        at += 1;
        if counts(parent) {
            // A PID that was reused meanwhile must not lead into a cycle.
            let next = children(parent).into_iter();
            let new: Vec<_> = next.filter(|child| !members.contains(child)).collect();
            members.extend(new);
        }
    }
    members
}

/// Ignores ESRCH and EPERM: the process is gone, or belongs to another user.
fn send(member: Pid, signal: Signal) {
    let _ = kill(member, signal);
}

/// The program that a process runs.
fn program(process: Pid) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{process}/exe")).ok()
}

fn is_redial(process: Pid) -> bool {
    let own = program(Pid::this());
    own.is_some() && program(process) == own
}

/// Whether this process has any child, zombies included.
pub(crate) fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, options).is_ok()
}

/// Whether `/proc` is that of our own PID namespace.
pub(crate) fn is_proc_ours() -> bool {
    let myself = std::fs::read_link("/proc/self").ok();
    myself.is_some_and(|number| number.to_str() == Some(&Pid::this().to_string()))
}

#[cfg(target_os = "linux")]
pub(crate) fn children(parent: Pid) -> Vec<Pid> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{parent}/task")) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => {
                all.extend(list.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
            }
            // The kernel was built without CONFIG_PROC_CHILDREN.
            Err(_) if thread.path().exists() => return children_by_parent(parent),
            Err(_) => {}
        }
    }
    all.into_iter().map(Pid::from_raw).collect()
}

/// By the parent of every process in `/proc`.
#[cfg(target_os = "linux")]
fn children_by_parent(parent: Pid) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.map(Pid::from_raw).filter(|pid| self::parent(*pid) == Some(parent)).collect()
}

/// The parent of a process, which for the first one of a PID namespace is not there.
#[cfg(target_os = "linux")]
pub(crate) fn parent(process: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The field before it is the name in parentheses, which may contain parentheses.
    let (_, after_name) = stat.rsplit_once(')')?;
    let parent = after_name.split_whitespace().nth(1)?.parse().ok()?;
    (parent > 0).then(|| Pid::from_raw(parent))
}

#[cfg(not(target_os = "linux"))]
fn children(_parent: Pid) -> Vec<Pid> {
    Vec::new()
}
