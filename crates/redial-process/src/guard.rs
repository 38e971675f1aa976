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
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::MemfdFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{WaitOptions, wait};

use crate::command::{self, Command};
use crate::times::Times;
use crate::tree::Tree;

/// Descriptors of a start: the three streams, and a file with the words and the environment.
const DESCRIPTORS: usize = 4;

/// What the guard is asked for. There is one request, so its only byte says nothing.
const START: [u8; 1] = [0];

/// The end of this process of the socket to a guard.
#[derive(Debug)]
pub struct Guard {
    socket: OwnedFd,
    pid: Pid,
    reports: VecDeque<Report>,
    has_children: bool,
    is_gone: bool,
    times: Times,
}

/// What a guard tells of its commands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Report {
    /// A child of the guard's has ended, or was stopped.
    Changed(Pid, ExitStatus),
    /// The guard itself is gone.
    Gone,
}

impl Guard {
    /// Starts a guard: this program anew, which has to call [`serve`] where it gets this argument.
    ///
    /// Start it before [`Reactor::new`](crate::Reactor::new) blocks signals: what is blocked for the
    /// guard is blocked for its commands.
    ///
    /// # Errors
    /// Where the program, which is found by `/proc/self/exe`, cannot be started again.
    pub fn start_as(argument: &CStr) -> nix::Result<Self> {
        let failed = |error: rustix::io::Errno| Errno::from_raw(error.raw_os_error());
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(failed)?;
        let mut actions = PosixSpawnFileActions::init()?;
        actions.add_dup2(theirs.as_raw_fd(), 0)?;
        // The guard does not keep the streams of this process open.
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
        let null = rustix::fs::open(c"/dev/null", flags, rustix::fs::Mode::empty());
        let null = null.map_err(failed)?;
        actions.add_dup2(null.as_raw_fd(), 1)?;
        actions.add_dup2(null.as_raw_fd(), 2)?;
        let mut attributes = PosixSpawnAttr::init()?;
        let mut by_default = SigSet::empty();
        by_default.add(Signal::SIGPIPE);
        attributes.set_sigdefault(&by_default)?;
        attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF)?;
        let program = c"/proc/self/exe";
        let words = [c"redial-guard", argument];
        // posix_spawnp looks for the command in the PATH of its caller, which will be the guard.
        let own = Command::new(&[], &[]);
        let pid = posix_spawn(program, &actions, &attributes, &words, own.environment())?;
        Ok(Self {
            socket: ours,
            pid,
            reports: VecDeque::new(),
            has_children: false,
            is_gone: false,
            times: Times::default(),
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether anything that its commands started is left, as far as it has told.
    pub(crate) fn has_children(&self) -> bool {
        self.has_children && !self.is_gone
    }

    /// What its commands have taken of the processors so far.
    pub(crate) fn times(&self) -> Times {
        self.times
    }

    pub(crate) fn start(
        &mut self,
        command: &Command,
        variables: &[(&str, OsString)],
        streams: &command::Streams,
        own_group: bool,
    ) -> Result<Pid, Errno> {
        let words = write_down(command, variables, own_group)?;
        let own = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        let mut given = [words.as_fd(); DESCRIPTORS];
        for ((given, stream), own) in given.iter_mut().zip(streams).zip(own) {
            *given = stream.as_ref().map_or(own, AsFd::as_fd);
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&given));
        sendmsg(&self.socket, &[IoSlice::new(&START)], &mut ancillary, SendFlags::NOSIGNAL)
            .map_err(|error| Errno::from_raw(error.raw_os_error()))?;
        loop {
            match self.receive(RecvFlags::empty()) {
                Some(Message::Started(pid)) => {
                    self.has_children = true;
                    return Ok(pid);
                }
                Some(Message::Failed(error)) => return Err(error),
                Some(message) => self.note(message),
                None if self.is_gone => return Err(Errno::ESRCH),
                None => {}
            }
        }
    }

    /// The next report, if there is one by now.
    pub(crate) fn next(&mut self) -> Option<Report> {
        while self.reports.is_empty() && !self.is_gone {
            match self.receive(RecvFlags::DONTWAIT) {
                Some(message) => self.note(message),
                None if self.is_gone => self.reports.push_back(Report::Gone),
                None => break,
            }
        }
        self.reports.pop_front()
    }

    fn note(&mut self, message: Message) {
        match message {
            Message::Changed { pid, status, times } => {
                self.times = times;
                self.reports.push_back(Report::Changed(pid, status));
            }
            Message::Empty => self.has_children = false,
            Message::Started(_) | Message::Failed(_) => {}
        }
    }

    fn receive(&mut self, flags: RecvFlags) -> Option<Message> {
        let mut bytes = [0; Message::LENGTH];
        match rustix::net::recv(&self.socket, &mut bytes, flags) {
            Ok((Message::LENGTH, _)) => Message::decode(&bytes),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
            _ => {
                self.is_gone = true;
                None
            }
        }
    }
}

impl AsFd for Guard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What a guard sends, as five numbers of eight bytes.
enum Message {
    Started(Pid),
    Failed(Errno),
    Changed {
        pid: Pid,
        status: ExitStatus,
        times: Times,
    },
    /// No child is left.
    Empty,
}

impl Message {
    const LENGTH: usize = 40;

    fn encode(&self) -> [u8; Self::LENGTH] {
        let numbers: [i64; 5] = match self {
            Self::Started(pid) => [1, pid.as_raw().into(), 0, 0, 0],
            Self::Failed(error) => [2, (*error as i32).into(), 0, 0, 0],
            Self::Changed { pid, status, times } => {
                let micros = |time: Duration| time.as_micros() as i64;
                let (user, system) = (micros(times.user), micros(times.system));
                [3, pid.as_raw().into(), status.into_raw().into(), user, system]
            }
            Self::Empty => [4, 0, 0, 0, 0],
        };
        let mut bytes = [0; Self::LENGTH];
        for (part, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            part.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; Self::LENGTH]) -> Option<Self> {
        let number = |at: usize| {
            let part = bytes[8 * at..8 * at + 8].try_into().unwrap_or_default();
            i64::from_ne_bytes(part)
        };
        let pid = Pid::from_raw(number(1) as i32);
        Some(match number(0) {
            1 => Self::Started(pid),
            2 => Self::Failed(Errno::from_raw(number(1) as i32)),
            3 => {
                let time = |at| Duration::from_micros(number(at).unsigned_abs());
                let times = Times { user: time(3), system: time(4) };
                Self::Changed { pid, status: ExitStatus::from_raw(number(2) as i32), times }
            }
            4 => Self::Empty,
            _ => return None,
        })
    }
}

/// A file in memory with everything that is not a descriptor: whether the command gets a process group
/// of its own, how many words it has, then the words and the environment, each with its NUL.
fn write_down(
    command: &Command,
    variables: &[(&str, OsString)],
    own_group: bool,
) -> Result<OwnedFd, Errno> {
    let mut bytes = vec![u8::from(own_group)];
    bytes.extend((command.words().len() as u64).to_ne_bytes());
    command.words().iter().for_each(|word| bytes.extend(word.as_bytes_with_nul()));
    let own = command::variables(variables);
    let all = command.environment().iter().chain(&own);
    all.for_each(|variable| bytes.extend(variable.as_bytes_with_nul()));
    let memory = rustix::fs::memfd_create(c"redial-start", MemfdFlags::CLOEXEC)
        .map_err(|error| Errno::from_raw(error.raw_os_error()))?;
    let file = File::from(memory);
    file.write_all_at(&bytes, 0).map_err(|_| Errno::ENOMEM)?;
    Ok(file.into())
}

/// What [`write_down`] wrote.
fn read_back(file: &File) -> Option<(bool, Command)> {
    let mut bytes = vec![0; file.metadata().ok()?.len() as usize];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let (own_group, rest) = bytes.split_first()?;
    let (count, rest) = rest.split_first_chunk()?;
    let mut texts = rest
        .split_inclusive(|byte| *byte == 0)
        .filter_map(|text| CStr::from_bytes_with_nul(text).ok().map(CStr::to_owned));
    let words = texts.by_ref().take(u64::from_ne_bytes(*count) as usize).collect();
    Some((*own_group != 0, Command::from_parts(words, texts.collect())))
}

/// Is a guard, until the process that started it is gone. To be called by a program that was started
/// by [`Guard::start_as`], before it does anything else.
pub fn serve() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let Ok(mask) = SigSet::thread_get_mask() else { return };
    // Nothing but the end of the socket ends a guard. Its commands get the mask that it was given.
    if SigSet::all().thread_block().is_err() {
        return;
    }
    let mut of_children = SigSet::empty();
    of_children.add(Signal::SIGCHLD);
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let Ok(ended) = SignalFd::with_flags(&of_children, flags) else { return };
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
        if asked && !start_one(socket, &mask) {
            return kill_all();
        }
    }
}

/// Starts what is asked for; false at EOF.
fn start_one(socket: BorrowedFd<'_>, mask: &SigSet) -> bool {
    let mut byte = START;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
    match received {
        Err(rustix::io::Errno::INTR) => return true,
        Err(_) => return false,
        Ok(message) if message.bytes == 0 => return false,
        Ok(_) => {}
    }
    let mut given: VecDeque<OwnedFd> = VecDeque::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            given.extend(fds);
        }
    }
    let words = given.pop_back().map(File::from);
    let streams: command::Streams = std::array::from_fn(|_| given.pop_front());
    let started = match words.as_ref().and_then(read_back) {
        Some((own_group, command)) => command.start(&[], &streams, own_group, mask),
        None => Err(Errno::EPROTO),
    };
    send(socket, &started.map_or_else(Message::Failed, Message::Started));
    true
}

/// Waits for every child that has ended or was stopped, and tells of it.
fn reap(socket: BorrowedFd<'_>) {
    loop {
        match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(Some((pid, status))) => {
                let pid = Pid::from_raw(pid.as_raw_nonzero().get());
                let status = ExitStatus::from_raw(status.as_raw());
                send(socket, &Message::Changed { pid, status, times: Times::of_children() });
            }
            Ok(None) => return,
            // ECHILD.
            Err(_) => return send(socket, &Message::Empty),
        }
    }
}

fn send(socket: BorrowedFd<'_>, message: &Message) {
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

/// The argument of a guard among those of this program, for `main` to look at.
pub fn is_asked_for(argument: &CStr, mut arguments: impl Iterator<Item = OsString>) -> bool {
    let name = arguments.next();
    name.as_deref() == Some(OsStr::new("redial-guard"))
        && arguments.next().as_deref() == Some(OsStr::from_bytes(argument.to_bytes()))
}
