//! Everything that a command started: its children, theirs, and those that went away from them.

use std::path::PathBuf;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid, getpgrp};
use rustix::process::{WaitId, WaitIdOptions, waitid};

/// The descendants of the commands that are started by one process.
///
/// On Linux that process is their subreaper: orphans become its children, also those with a session of
/// their own, so that none is lost. Elsewhere they are known as far as their process group goes.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The process that starts the commands: this one, or a guard.
    parent: Pid,
    /// Children that it had before it started any: the jobs of a shell that called `exec`.
    foreign: Vec<Pid>,
    /// The process group of the command, where it has one of its own.
    group: Option<Pid>,
    /// The command itself.
    root: Option<Pid>,
    /// Who was asked to end, and what it ran then: nobody is asked twice, because many take that for
    /// an order; but what was a shell's copy of itself may not have heard.
    asked: Vec<(Pid, Option<PathBuf>)>,
}

impl Tree {
    /// Of the commands that this process starts, which becomes their subreaper.
    pub(crate) fn of_this_process() -> Self {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let mut tree = Self::below(Pid::this());
        if has_children() {
            tree.disown();
        }
        tree
    }

    /// Of the commands that another process starts, which is their subreaper.
    pub(crate) fn below(parent: Pid) -> Self {
        Self { parent, foreign: Vec::new(), group: None, root: None, asked: Vec::new() }
    }

    /// Whatever runs by now may go on running.
    pub(crate) fn disown(&mut self) {
        self.foreign = children(self.parent);
    }

    /// A command has started, in a process group of its own or in ours.
    pub(crate) fn command_started(&mut self, root: Pid, own_group: bool) {
        self.root = Some(root);
        self.group = own_group.then_some(root);
        self.asked.clear();
    }

    /// The command itself is gone, and its number may be another's by now.
    pub(crate) fn command_is_gone(&mut self) {
        self.root = None;
    }

    /// Whether any of it is left.
    pub(crate) fn is_left(&self) -> bool {
        if !cfg!(target_os = "linux") {
            return self.group.is_some_and(|group| killpg(group, None).is_ok());
        }
        has_children() && (self.foreign.is_empty() || !self.members(Below::All).is_empty())
    }

    /// Sends a signal to all of it.
    pub(crate) fn signal(&self, signal: Signal) {
        self.everybody().send(signal);
    }

    /// All of it, as it is now.
    pub(crate) fn everybody(&self) -> Everybody<'_> {
        Everybody { tree: self, members: self.members(Below::All) }
    }

    /// To the process group of the command alone, as a terminal or `timeout` would: who has gone into
    /// another has somebody who passes it on.
    pub(crate) fn signal_group(&self, signal: Signal) {
        if self.group.is_some() {
            return self.signal_blindly(signal);
        }
        // It is our group too, and that of whoever called us: only those that are below us.
        match self.members(Below::OtherRedialsNot) {
            members if members.is_empty() => self.signal_blindly(signal),
            members => {
                let inside = members.into_iter().filter(|member| !self.has_left(*member));
                inside.for_each(|member| send(member, signal));
            }
        }
    }

    /// Asks the group of the command to end, by this signal.
    pub(crate) fn ask_group(&mut self, signal: Signal) {
        let members = self.members(Below::All);
        let inside = members.into_iter().filter(|member| !self.has_left(*member));
        self.asked = inside.map(|member| (member, program(member))).collect();
        self.signal_group(signal);
        // Whoever is stopped hears of it only when it goes on.
        self.signal_group(Signal::SIGCONT);
    }

    /// Asks everybody else who is there by now.
    pub(crate) fn ask_others(&mut self, signal: Signal) {
        let members = self.members(Below::All);
        if members.is_empty() && self.asked.is_empty() {
            self.signal_blindly(signal);
            self.signal_blindly(Signal::SIGCONT);
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

    /// To those that are in another group.
    pub(crate) fn signal_others(&self, signal: Signal) {
        let members = self.members(Below::All).into_iter();
        members.filter(|member| self.has_left(*member)).for_each(|member| send(member, signal));
    }

    /// Where the system does not tell who there is.
    fn signal_blindly(&self, signal: Signal) {
        match (self.group, self.root) {
            (Some(group), _) => drop(killpg(group, signal)),
            (None, Some(root)) => send(root, signal),
            (None, None) => {}
        }
    }

    fn has_left(&self, member: Pid) -> bool {
        let group = self.group.unwrap_or_else(getpgrp);
        getpgid(Some(member)).is_ok_and(|now| now != group)
    }

    /// From the root to the leaves, as far as the system tells.
    fn members(&self, below: Below) -> Vec<Pid> {
        if !numbers_are_ours() {
            return Vec::new();
        }
        let mut members = children(self.parent);
        members.retain(|child| !self.foreign.contains(child));
        let mut at = 0;
        while let Some(parent) = members.get(at).copied() {
            at += 1;
            if below == Below::OtherRedialsNot && is_redial(parent) {
                continue;
            }
            // A number that was given twice meanwhile must not lead round in circles.
            let next = children(parent).into_iter();
            let new: Vec<_> = next.filter(|child| !members.contains(child)).collect();
            members.extend(new);
        }
        members
    }
}

/// All processes of a tree.
pub(crate) struct Everybody<'t> {
    tree: &'t Tree,
    members: Vec<Pid>,
}

impl Everybody<'_> {
    /// What is gone by then, or is not ours to signal, is passed over.
    pub(crate) fn send(self, signal: Signal) {
        match self.members {
            members if members.is_empty() => self.tree.signal_blindly(signal),
            members => members.into_iter().for_each(|member| send(member, signal)),
        }
    }
}

/// Whose children count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Below {
    All,
    /// Another redial looks after its own.
    OtherRedialsNot,
}

fn send(member: Pid, signal: Signal) {
    let _ = kill(member, signal);
}

/// What a process runs, as far as the system tells.
fn program(process: Pid) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{process}/exe")).ok()
}

fn is_redial(process: Pid) -> bool {
    let own = program(Pid::this());
    own.is_some() && program(process) == own
}

/// Whether this process has any child, zombies included.
fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, options).is_ok()
}

/// Whether `/proc` counts processes as we do, and not as another namespace does.
fn numbers_are_ours() -> bool {
    let myself = std::fs::read_link("/proc/self").ok();
    myself.is_some_and(|number| number.to_str() == Some(&Pid::this().to_string()))
}

#[cfg(target_os = "linux")]
fn children(parent: Pid) -> Vec<Pid> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{parent}/task")) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => {
                all.extend(list.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
            }
            // The thread is gone, or this kernel keeps no such list.
            Err(_) if thread.path().exists() => return children_by_parent(parent),
            Err(_) => {}
        }
    }
    all.into_iter().map(Pid::from_raw).collect()
}

/// From the list of all processes of the machine.
#[cfg(target_os = "linux")]
fn children_by_parent(parent: Pid) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name before it may hold anything, brackets too.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        after_name.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    numbers.filter(is_child).map(Pid::from_raw).collect()
}

#[cfg(not(target_os = "linux"))]
fn children(_parent: Pid) -> Vec<Pid> {
    Vec::new()
}
