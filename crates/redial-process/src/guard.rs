//! A guard: a process of its own between this one and its commands.
//!
//! It is the parent of the commands of one slot and the subreaper of their descendants, which tells the
//! descendants of one slot from those of another. Its standard input is a `SOCK_SEQPACKET` socket to
//! this process. At EOF, which comes when this process has ended for whatever reason, the guard kills
//! all its descendants: a KILL of this process leaves nothing running.

use std::collections::VecDeque;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use nix::errno::Errno;
use nix::spawn::{PosixSpawnFileActions, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getpgrp};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::MemfdFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{WaitOptions, wait};

use crate::command::{self, Command, Environment, Stdio};
use crate::ending::fault_of_the_system;
use crate::times::Times;
use crate::tree::{Tree, has_children};

/// Descriptors of a start: the three streams, and a file with the words and the environment.
const DESCRIPTORS: usize = 4;

/// `argv[0]` of a guard.
const NAME: &CStr = c"redial-guard";

/// Starts a command, whose descriptors come with the message.
const START: u8 = 0;
/// Ends the guard, and leaves what it started alone.
const RETIRE: u8 = 1;

/// A guard, as the process that has started it sees it.
#[derive(Debug)]
pub(crate) struct Guard {
    socket: OwnedFd,
    pid: Pid,
    argument: &'static CStr,
    has_children: bool,
    is_gone: bool,
    /// What its commands have left running may go on.
    is_disowned: bool,
    times: Times,
    /// The CPU time that the guards before this one have reported.
    times_before: Times,
}

/// How long a guard waits for the end of a command before it reports its start.
const SOON: Duration = Duration::from_millis(2);

/// What a guard reports.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Report {
    /// The result of a start.
    Started(Result<Pid, Errno>),
    /// A child of the guard has ended, or was stopped.
    Changed(Pid, ExitStatus),
    /// The command was started and has ended since.
    Ran(Pid, ExitStatus),
    /// The guard itself is gone.
    Gone,
}

impl Guard {
    /// Starts a guard: this program, by way of `/proc/self/exe`, with this argument. `mask` is the
    /// signal mask of its commands.
    pub(crate) fn spawn(argument: &'static CStr, mask: &SigSet) -> nix::Result<Self> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(errno)?;
        let mut actions = PosixSpawnFileActions::init()?;
        actions.add_dup2(theirs.as_raw_fd(), 0)?;
        // The guard does not keep the streams of this process open.
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
        let null = rustix::fs::open(c"/dev/null", flags, rustix::fs::Mode::empty());
        let null = null.map_err(errno)?;
        actions.add_dup2(null.as_raw_fd(), 1)?;
        actions.add_dup2(null.as_raw_fd(), 2)?;
        // In a group of its own: a KILL of the group of this process must not take the guard with it.
        let attributes = command::attributes(Some(command::OWN_GROUP), mask)?;
        // posix_spawnp looks for the command in the PATH of its caller, which will be the guard.
        let Environment(environment) = Environment::without(&[]);
        let words = [NAME, argument];
        let pid = posix_spawn(c"/proc/self/exe", &actions, &attributes, &words, &environment)?;
        Ok(Self {
            socket: ours,
            pid,
            argument,
            has_children: false,
            is_gone: false,
            is_disowned: false,
            times: Times::default(),
            times_before: Times::default(),
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// The socket to poll, unless the guard is gone.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        (!self.is_gone).then(|| self.socket.as_fd())
    }

    /// Whether any descendant of its commands is left, by its last report.
    pub(crate) fn has_children(&self) -> bool {
        self.has_children && !self.is_gone
    }

    /// The CPU time of its commands so far.
    pub(crate) fn times(&self) -> Times {
        self.times
    }

    /// Leaves alone what its commands have left running, when it is replaced or dropped.
    pub(crate) fn disown(&mut self) {
        self.is_disowned = true;
    }

    /// Asks for a command to be started; [`next`](Self::next) has the answer.
    ///
    /// A guard that is gone is replaced first. So is one with a disowned daemon, because it could not tell
    /// that from the descendants of this command.
    pub(crate) fn start(
        &mut self,
        command: &Command,
        variables: &[(&str, OsString)],
        stdio: &Stdio,
        own_group: bool,
        mask: &SigSet,
    ) -> nix::Result<()> {
        if self.is_gone || (self.is_disowned && self.has_children) {
            let next = Self::spawn(self.argument, mask);
            // ENOENT and EACCES would be taken for the command's.
            let mut next = next.map_err(|error| match fault_of_the_system(error) {
                Some(_) => error,
                None => Errno::ESRCH,
            })?;
            (next.times, next.times_before) = (self.times, self.times);
            *self = next;
        }
        self.is_disowned = false;
        let group = if own_group { command::OWN_GROUP } else { getpgrp() };
        let words = encode(command, variables, group)?;
        let own = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        let mut given = [words.as_fd(); DESCRIPTORS];
        for ((given, stream), own) in given.iter_mut().zip(stdio).zip(own) {
            *given = stream.as_ref().map_or(own, AsFd::as_fd);
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&given));
        let sent =
            sendmsg(&self.socket, &[IoSlice::new(&[START])], &mut ancillary, SendFlags::NOSIGNAL);
        sent.map(|_| ()).map_err(errno)
    }

    /// The next report, if there is one by now.
    pub(crate) fn next(&mut self) -> Option<Report> {
        if self.is_gone {
            return None;
        }
        let mut bytes = [0; Message::LENGTH];
        match rustix::net::recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((Message::LENGTH, _)) => {}
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return None,
            _ => {
                self.is_gone = true;
                return Some(Report::Gone);
            }
        }
        let message = Message::decode(&bytes)?;
        self.has_children = message.has_children;
        self.times = self.times_before.plus(message.times);
        Some(message.report)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.is_disowned {
            let _ = rustix::net::send(&self.socket, &[RETIRE], SendFlags::NOSIGNAL);
        }
    }
}

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

/// A report as a guard sends it, as six numbers of eight bytes.
struct Message {
    report: Report,
    has_children: bool,
    times: Times,
}

impl Message {
    const NUMBERS: usize = 6;
    const LENGTH: usize = 8 * Self::NUMBERS;

    fn encode(&self) -> Vec<u8> {
        let [kind, one, two] = match self.report {
            Report::Started(Ok(pid)) => [1, pid.as_raw(), 0],
            Report::Started(Err(error)) => [2, error as i32, 0],
            Report::Changed(pid, status) => [3, pid.as_raw(), status.into_raw()],
            Report::Ran(pid, status) => [4, pid.as_raw(), status.into_raw()],
            Report::Gone => [0; 3],
        };
        let [user, system] =
            [self.times.user, self.times.system].map(|time| time.as_micros() as i64);
        let numbers: [i64; Self::NUMBERS] =
            [kind.into(), one.into(), two.into(), self.has_children.into(), user, system];
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    fn decode(bytes: &[u8; Self::LENGTH]) -> Option<Self> {
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |at: usize| i64::from_ne_bytes(numbers[at]);
        let pid = Pid::from_raw(number(1) as i32);
        let report = match number(0) {
            1 => Report::Started(Ok(pid)),
            2 => Report::Started(Err(Errno::from_raw(number(1) as i32))),
            3 => Report::Changed(pid, ExitStatus::from_raw(number(2) as i32)),
            4 => Report::Ran(pid, ExitStatus::from_raw(number(2) as i32)),
            _ => return None,
        };
        let time = |at| Duration::from_micros(number(at).unsigned_abs());
        let times = Times { user: time(4), system: time(5) };
        Some(Self { report, has_children: number(3) != 0, times })
    }
}

/// A memfd with all of a start but its descriptors: the process group of the command, the number of its
/// words, then its directory (empty for that of the guard), the words and the environment, each with its NUL.
fn encode(command: &Command, variables: &[(&str, OsString)], group: Pid) -> Result<OwnedFd, Errno> {
    let Command { words, environment, directory } = command;
    let mut bytes = group.as_raw().to_ne_bytes().to_vec();
    bytes.extend((words.len() as u64).to_ne_bytes());
    let own = command::variables(variables);
    bytes.extend(directory.as_deref().unwrap_or_default().to_bytes_with_nul());
    let all = words.iter().chain(environment.0.iter()).chain(&own);
    all.for_each(|text| bytes.extend(text.as_bytes_with_nul()));
    let memory = rustix::fs::memfd_create(c"redial-start", MemfdFlags::CLOEXEC).map_err(errno)?;
    let file = File::from(memory);
    file.write_all_at(&bytes, 0).map_err(|error| match error.raw_os_error() {
        Some(code) => Errno::from_raw(code),
        None => Errno::ENOMEM,
    })?;
    Ok(file.into())
}

/// The process group and the command that [`encode`] wrote.
fn decode(file: &File) -> Option<(Pid, Command)> {
    let mut bytes = vec![0; file.metadata().ok()?.len() as usize];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let (group, rest) = bytes.split_first_chunk()?;
    let group = Pid::from_raw(i32::from_ne_bytes(*group));
    let (count, rest) = rest.split_first_chunk()?;
    let mut texts = rest
        .split_inclusive(|byte| *byte == 0)
        .filter_map(|text| CStr::from_bytes_with_nul(text).ok().map(CStr::to_owned));
    let directory = texts.next().filter(|directory| !directory.is_empty());
    let words = texts.by_ref().take(u64::from_ne_bytes(*count) as usize).collect();
    Some((group, Command { words, environment: Environment(texts.collect()), directory }))
}

/// Runs as a guard until the process that started it is gone. A program that was started as
/// [a guard](is_asked_for) calls it before anything else.
pub fn serve() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let Ok(mask) = SigSet::thread_get_mask() else { return };
    // Nothing but EOF of the socket ends a guard. Its commands get the signal mask that it inherited.
    if SigSet::all().thread_block().is_err() {
        return;
    }
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let Ok(ended) = SignalFd::with_flags(&Signal::SIGCHLD.into(), flags) else { return };
    let socket = rustix::stdio::stdin();
    loop {
        let mut fds =
            [PollFd::from_borrowed_fd(socket, PollFlags::IN), PollFd::new(&ended, PollFlags::IN)];
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let (asked, reaps) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if reaps {
            while let Ok(Some(_)) = ended.read_signal() {}
            reap(socket);
        }
        if asked {
            match receive(socket) {
                Ok(Some(start)) => {
                    let started = start_one(start, &mask);
                    report_start(socket, started, &ended);
                }
                Ok(None) => return,
                Err(rustix::io::Errno::INTR) => {}
                // EPIPE is EOF.
                Err(_) => return kill_all(),
            }
        }
    }
}

/// Reports a start. A command that ends within [`SOON`] is reported once: each report wakes the process that
/// started this one, and of many short commands that is a part of the cost.
fn report_start(socket: BorrowedFd<'_>, started: Result<Pid, Errno>, ended: &SignalFd) {
    let mut reports = Vec::new();
    let is_soon = started.is_ok() && {
        let mut fds = [PollFd::new(ended, PollFlags::IN)];
        poll(&mut fds, Some(&crate::reactor::timespec(SOON))).is_ok_and(|ready| ready > 0)
    };
    if is_soon {
        while let Ok(Some(_)) = ended.read_signal() {}
        reports = changed_children();
    }
    let ran = |(pid, status): &(Pid, ExitStatus)| {
        started == Ok(*pid) && status.stopped_signal().is_none()
    };
    match reports.iter().position(ran) {
        Some(at) => {
            let (pid, status) = reports.remove(at);
            send(socket, Report::Ran(pid, status));
        }
        None => send(socket, Report::Started(started)),
    }
    for (pid, status) in reports {
        send(socket, Report::Changed(pid, status));
    }
}

/// The descriptors of a command to start; none where the guard is to retire; EPIPE at EOF.
fn receive(socket: BorrowedFd<'_>) -> rustix::io::Result<Option<VecDeque<OwnedFd>>> {
    let mut byte = [START];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut buffer = [IoSliceMut::new(&mut byte)];
    let received = recvmsg(socket, &mut buffer, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Err(rustix::io::Errno::PIPE);
    }
    let mut given = VecDeque::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            given.extend(fds);
        }
    }
    Ok((byte == [START]).then_some(given))
}

fn start_one(mut given: VecDeque<OwnedFd>, mask: &SigSet) -> Result<Pid, Errno> {
    // The kernel passes only as many as the limit of open files allows (MSG_CTRUNC).
    if given.len() != DESCRIPTORS {
        return Err(Errno::EMFILE);
    }
    let words = given.pop_back().map(File::from);
    let stdio: Stdio = std::array::from_fn(|_| given.pop_front());
    let (group, command) = words.as_ref().and_then(decode).ok_or(Errno::EPROTO)?;
    command.start(&[], &stdio, Some(group), mask)
}

/// Reaps every child that has ended or was stopped, and reports it.
fn reap(socket: BorrowedFd<'_>) {
    for (pid, status) in changed_children() {
        send(socket, Report::Changed(pid, status));
    }
}

fn changed_children() -> Vec<(Pid, ExitStatus)> {
    let changed = || {
        let (pid, status) = wait(WaitOptions::NOHANG | WaitOptions::UNTRACED).ok().flatten()?;
        let pid = Pid::from_raw(pid.as_raw_nonzero().get());
        Some((pid, ExitStatus::from_raw(status.as_raw())))
    };
    std::iter::from_fn(changed).collect()
}

fn send(socket: BorrowedFd<'_>, report: Report) {
    let (has_children, times) = (has_children(), Times::of_children());
    let message = Message { report, has_children, times };
    // An error means EOF, which the loop sees next.
    let _ = rustix::net::send(socket, &message.encode(), SendFlags::NOSIGNAL);
}

/// Kills all descendants of this process, until none is left.
fn kill_all() {
    let tree = Tree::below(Pid::this());
    loop {
        tree.signal(Signal::SIGKILL);
        // The one that was reaped may have left orphans, which are our children now.
        if wait(WaitOptions::empty()).is_err() {
            return;
        }
    }
}

/// Whether this program was started as a guard with this argument, for `main` to check.
pub fn is_asked_for(argument: &CStr, mut arguments: impl Iterator<Item = OsString>) -> bool {
    let mut is_next =
        |word: &CStr| arguments.next().as_deref() == Some(OsStr::from_bytes(word.to_bytes()));
    is_next(NAME) && is_next(argument)
}
