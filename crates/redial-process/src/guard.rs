//! A guard: a process of its own between this one and its commands.
//!
//! It is the parent of the commands of one slot and the subreaper of their descendants, so that those
//! of one slot can be told from those of another. Its standard input is a `SOCK_SEQPACKET` socket to
//! this process. When that comes to EOF, because this process has ended in whatever way, the guard
//! kills everything below it: a KILL of this process leaves nothing running.

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

use crate::command::{self, Command, Stdio};
use crate::times::Times;
use crate::tree::{Tree, has_children};

/// Descriptors of a start: the three streams, and a file with the words and the environment.
const DESCRIPTORS: usize = 4;

/// The first word of a guard.
const NAME: &CStr = c"redial-guard";

/// Starts a command, whose descriptors come with the message.
const START: u8 = 0;
/// Ends the guard, and leaves what it started alone.
const RETIRE: u8 = 1;

/// The end of this process of the socket to a guard.
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
    /// What the guards before this one have counted.
    times_before: Times,
}

/// What a guard tells of its commands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Report {
    /// The command that was asked for has started, or could not be.
    Started(Result<Pid, Errno>),
    /// A child of the guard's has ended, or was stopped.
    Changed(Pid, ExitStatus),
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
        let Command { environment, .. } = Command::new(&[], &[]);
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

    /// Something to wait for, unless the guard is gone.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        (!self.is_gone).then(|| self.socket.as_fd())
    }

    /// Whether anything that its commands started is left, as far as it has told.
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
    /// A guard that is gone is replaced first, and one that has to leave a daemon alone: it could not
    /// tell that from what this command starts.
    pub(crate) fn start(
        &mut self,
        command: &Command,
        variables: &[(&str, OsString)],
        stdio: &Stdio,
        own_group: bool,
        mask: &SigSet,
    ) -> nix::Result<()> {
        if self.is_gone || (self.is_disowned && self.has_children) {
            let mut next = Self::spawn(self.argument, mask)?;
            (next.times, next.times_before) = (self.times, self.times);
            *self = next;
        }
        self.is_disowned = false;
        let group = if own_group { command::OWN_GROUP } else { getpgrp() };
        let words = write_down(command, variables, group)?;
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

/// A report as a guard sends it, with how things stand then: as six numbers of eight bytes.
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
            _ => return None,
        };
        let time = |at| Duration::from_micros(number(at).unsigned_abs());
        let times = Times { user: time(4), system: time(5) };
        Some(Self { report, has_children: number(3) != 0, times })
    }
}

/// A file in memory with everything that is not a descriptor: the process group of the command, how many words it has, then the words and the environment, each with its NUL.
fn write_down(
    command: &Command,
    variables: &[(&str, OsString)],
    group: Pid,
) -> Result<OwnedFd, Errno> {
    let Command { words, environment } = command;
    let mut bytes = group.as_raw().to_ne_bytes().to_vec();
    bytes.extend((words.len() as u64).to_ne_bytes());
    let own = command::variables(variables);
    let all = words.iter().chain(environment).chain(&own);
    all.for_each(|text| bytes.extend(text.as_bytes_with_nul()));
    let memory = rustix::fs::memfd_create(c"redial-start", MemfdFlags::CLOEXEC).map_err(errno)?;
    let file = File::from(memory);
    file.write_all_at(&bytes, 0).map_err(|_| Errno::ENOMEM)?;
    Ok(file.into())
}

/// What [`write_down`] wrote.
fn read_back(file: &File) -> Option<(Pid, Command)> {
    let mut bytes = vec![0; file.metadata().ok()?.len() as usize];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let (group, rest) = bytes.split_first_chunk()?;
    let group = Pid::from_raw(i32::from_ne_bytes(*group));
    let (count, rest) = rest.split_first_chunk()?;
    let mut texts = rest
        .split_inclusive(|byte| *byte == 0)
        .filter_map(|text| CStr::from_bytes_with_nul(text).ok().map(CStr::to_owned));
    let words = texts.by_ref().take(u64::from_ne_bytes(*count) as usize).collect();
    Some((group, Command { words, environment: texts.collect() }))
}

/// Is a guard, until the process that started it is gone. To be called by a program that was started
/// as [a guard](is_asked_for), before it does anything else.
pub fn serve() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let Ok(mask) = SigSet::thread_get_mask() else { return };
    // Nothing but the end of the socket ends a guard. Its commands get the mask that it was given.
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
                Ok(Some(start)) => send(socket, Report::Started(start_one(start, &mask))),
                Ok(None) => return,
                Err(rustix::io::Errno::INTR) => {}
                // EOF comes as one too.
                Err(_) => return kill_all(),
            }
        }
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
    let (group, command) = words.as_ref().and_then(read_back).ok_or(Errno::EPROTO)?;
    command.start(&[], &stdio, Some(group), mask)
}

/// Waits for every child that has ended or was stopped, and tells of it.
fn reap(socket: BorrowedFd<'_>) {
    let changed = || wait(WaitOptions::NOHANG | WaitOptions::UNTRACED).ok().flatten();
    for (pid, status) in std::iter::from_fn(changed).collect::<Vec<_>>() {
        let pid = Pid::from_raw(pid.as_raw_nonzero().get());
        send(socket, Report::Changed(pid, ExitStatus::from_raw(status.as_raw())));
    }
}

fn send(socket: BorrowedFd<'_>, report: Report) {
    let (has_children, times) = (has_children(), Times::of_children());
    let message = Message { report, has_children, times };
    // At EOF the loop ends by itself.
    let _ = rustix::net::send(socket, &message.encode(), SendFlags::NOSIGNAL);
}

/// Kills everything below this process, until nothing is left of it.
fn kill_all() {
    let tree = Tree::below(Pid::this());
    loop {
        tree.signal(Signal::SIGKILL);
        // One more is gone, and may have left orphans to us.
        if wait(WaitOptions::empty()).is_err() {
            return;
        }
    }
}

/// Whether this program was started as a guard with this argument, for `main` to look at.
pub fn is_asked_for(argument: &CStr, mut arguments: impl Iterator<Item = OsString>) -> bool {
    let mut is_next =
        |word: &CStr| arguments.next().as_deref() == Some(OsStr::from_bytes(word.to_bytes()));
    is_next(NAME) && is_next(argument)
}
