//! A pseudo-terminal with a session on it, of which the test is the keyboard and the screen.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Action, Winsize, tcflow, tcgetpgrp, tcsetwinsize};

use crate::kernel::{Ended, Started, Told, otherwise, patiently, until};
use crate::stage::{Stage, started};

/// What the keys of that name send.
pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_Z: &str = "\x1a";
pub(crate) const CTRL_BACKSLASH: &str = "\x1c";

/// What `shell` prints before it reads a line.
const PROMPT: &str = "prompt> ";

const SIZE: Winsize = Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };

#[derive(Default)]
struct Shown {
    bytes: Mutex<Vec<u8>>,
    more: Condvar,
}

pub(crate) struct Terminal<'s> {
    stage: &'s Stage,
    keyboard: File,
    shown: Arc<Shown>,
    size: Winsize,
    reader: JoinHandle<()>,
    /// Dropped, it ends the reader.
    hang_up: PipeWriter,
    /// How much of what was shown has been looked at.
    seen: usize,
    pub(crate) leader: Started,
}

impl<'s> Terminal<'s> {
    /// A command that leads a session on a terminal of its own: as in a terminal's window, or `ssh -t host command`.
    pub(crate) fn start(stage: &'s Stage, arguments: &[impl AsRef<str>]) -> Self {
        Self::start_with(stage, arguments, |_| {})
    }

    pub(crate) fn start_with(
        stage: &'s Stage,
        arguments: &[impl AsRef<str>],
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&main).unwrap();
        unlockpt(&main).unwrap();
        tcsetwinsize(&main, SIZE).unwrap();
        let line = line(&main);

        let mut command = Command::new("setsid");
        command.arg("--ctty").args(arguments.iter().map(AsRef::as_ref));
        stage.at_home(&mut command);
        command.env_remove("COLUMNS").env("PS1", PROMPT);
        command.stdin(line.try_clone().unwrap()).stdout(line.try_clone().unwrap()).stderr(line);
        change(&mut command);
        let leader = started(&mut command);

        let keyboard = File::from(main);
        let mut screen = keyboard.try_clone().unwrap();
        let shown = Arc::new(Shown::default());
        let there = Arc::clone(&shown);
        let (quit, hang_up) = io::pipe().unwrap();
        let reader = thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            loop {
                let mut both =
                    [PollFd::new(&screen, PollFlags::IN), PollFd::new(&quit, PollFlags::IN)];
                if poll(&mut both, None).is_err() || !both[1].revents().is_empty() {
                    break;
                }
                // An error once the last process has closed the terminal.
                let Ok(length @ 1..) = screen.read(&mut buffer) else { break };
                there.bytes.lock().unwrap().extend_from_slice(&buffer[..length]);
                there.more.notify_all();
            }
        });
        Self { stage, keyboard, shown, size: SIZE, reader, hang_up, seen: 0, leader }
    }

    /// A shell that reads commands from the terminal, with job control.
    pub(crate) fn shell(stage: &'s Stage) -> Told<Self> {
        let bash = ["bash", "--norc", "--noprofile", "--noediting", "-i"];
        let mut terminal = Self::start(stage, &bash);
        terminal.sees(PROMPT)?;
        Ok(terminal)
    }

    /// A script that is the terminal's session, and says `went on` if it goes on after its first line.
    pub(crate) fn script(stage: &'s Stage, shell: &str, first: &str) -> Self {
        stage.write("script", format!("{first}\necho $? >code\necho went on >bell\n"));
        Self::start(stage, &[shell, "script"])
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// A line for a shell, once it has asked for it.
    #[track_caller]
    pub(crate) fn enters(&mut self, line: &str) {
        self.types(&format!("{line}\n"));
    }

    /// Waits for the terminal to show this, after what was waited for before.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) -> Told<()> {
        let (shown, from) = (Arc::clone(&self.shown), self.seen);
        let end = |bytes: &[u8]| {
            let place = bytes[from..].windows(text.len()).position(|part| part == text.as_bytes());
            place.map(|place| from + place + text.len())
        };
        let is_shown = patiently(self.stage.patience, |left| {
            let bytes = shown.bytes.lock().unwrap();
            let waited = shown.more.wait_timeout_while(bytes, left, |bytes| end(bytes).is_none());
            !waited.unwrap().1.timed_out()
        });
        if !is_shown {
            let (shown, scene) = (self.bytes(), self.stage.scene());
            let shown = String::from_utf8_lossy(&shown);
            return otherwise(format!("{text:?} is not shown, but {shown:?}; {scene}"));
        }
        self.seen = end(&self.bytes()).unwrap();
        Ok(())
    }

    #[track_caller]
    pub(crate) fn prompted(&mut self) -> Told<()> {
        self.sees(PROMPT)
    }

    /// Every byte that came to the terminal so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.shown.bytes.lock().unwrap().clone()
    }

    /// Waits until all that was written has come, which is when the last process has closed the terminal.
    #[track_caller]
    pub(crate) fn drained(&self) {
        until(self.stage.patience, || self.reader.is_finished());
    }

    /// What stands on the screen.
    pub(crate) fn screen(&self) -> String {
        let [rows, columns] =
            [self.size.ws_row, self.size.ws_col].map(|length| length.try_into().unwrap());
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(&self.bytes());
        parser.screen().contents()
    }

    /// The process group that may read the terminal, and that its keys signal.
    pub(crate) fn in_front(&self) -> u32 {
        tcgetpgrp(&self.keyboard).unwrap().as_raw_nonzero().get() as u32
    }

    /// Stops what is written there, as Ctrl-S does, or lets it go on.
    pub(crate) fn flow(&self, action: Action) {
        tcflow(line(&self.keyboard), action).unwrap();
    }

    pub(crate) fn resize(&mut self, rows: u16, columns: u16) {
        self.size = Winsize { ws_row: rows, ws_col: columns, ..SIZE };
        tcsetwinsize(self.keyboard.as_fd(), self.size).unwrap();
    }

    /// Closes the window; the session is still there, without a terminal.
    pub(crate) fn close(self) -> Started {
        drop(self.hang_up);
        self.reader.join().unwrap();
        self.leader
    }

    #[track_caller]
    pub(crate) fn end(&mut self) -> Told<Ended> {
        let within = self.stage.patience;
        if !self.leader.ends(within) {
            let scene = self.stage.scene();
            return otherwise(format!("the session goes on; {:?}; {scene}", self.screen()));
        }
        self.leader.end(Duration::ZERO)
    }
}

/// The end of a terminal that its session has.
fn line(main: impl AsFd) -> File {
    let path = ptsname(main, Vec::new()).unwrap().into_string().unwrap();
    let flags = rustix::fs::OFlags::NOCTTY.bits() as i32;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).unwrap()
}
