//! A folder for one test, with the means to talk with the processes in it, all of which are gone when it ends.
//!
//! A script in the folder says `echo ready >bell` to tell the test, and `read word <gate` to wait for it.

use std::cell::RefCell;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::kernel::{self, Ended, FOR_EVER, Process, Started, Told, otherwise, readable, until};

const MARK: &str = "REDIAL_BEHAVIOURS";

/// The folders of `PATH` that may be looked into: in another one a command may be, for all one knows.
static READABLE: LazyLock<OsString> = LazyLock::new(|| {
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(env::split_paths(&path).filter(|folder| folder.read_dir().is_ok())).unwrap()
});

pub(crate) struct Stage {
    folder: TempDir,
    mark: String,
    bell: File,
    heard: RefCell<Vec<u8>>,
    gate: File,
    /// How long to wait for what should happen: for ever, unless it is asked of a tool that may hang.
    pub(crate) patience: Duration,
}

impl Stage {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::tempdir().unwrap();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self {
            mark: format!("{MARK}={}.{count}", std::process::id()),
            bell: pipe(&folder.path().join("bell")),
            heard: RefCell::default(),
            gate: pipe(&folder.path().join("gate")),
            patience: FOR_EVER,
            folder,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    /// The bytes of a file; none if there is no such file.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.bytes(name)).into_owned()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// How often a script said `echo . >>attempts`.
    pub(crate) fn attempts(&self) -> usize {
        self.bytes("attempts").iter().filter(|byte| **byte == b'\n').count()
    }

    /// The next line that a script wrote to `bell`.
    #[track_caller]
    pub(crate) fn hear(&self) -> Told<String> {
        match self.hears(self.patience) {
            Some(line) => Ok(line),
            None => otherwise(format!("nothing was said; {}", self.scene())),
        }
    }

    /// The next line, which has to be this one.
    #[track_caller]
    pub(crate) fn hear_that(&self, line: &str) -> Told<()> {
        match self.hears(self.patience) {
            Some(heard) if heard == line => Ok(()),
            Some(heard) => {
                otherwise(format!("expected {line:?}, heard {heard:?}; {}", self.scene()))
            }
            None => otherwise(format!("expected {line:?}, heard nothing; {}", self.scene())),
        }
    }

    /// The next line, if one is said within this time.
    #[track_caller]
    pub(crate) fn hears(&self, within: Duration) -> Option<String> {
        let began = Instant::now();
        let mut heard = self.heard.borrow_mut();
        loop {
            if let Some(length) = heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = heard.drain(..=length).collect();
                return Some(String::from_utf8_lossy(&line[..length]).into_owned());
            }
            if !readable(&self.bell, within.saturating_sub(began.elapsed())) {
                return None;
            }
            let mut more = [0; 4096];
            let length = (&self.bell).read(&mut more).unwrap();
            heard.extend_from_slice(&more[..length]);
        }
    }

    /// Lets one script go on that waits at `gate`.
    pub(crate) fn open(&self) {
        (&self.gate).write_all(b"go\n").unwrap();
    }

    /// A command in the folder, in a session of its own without a terminal, whose output goes to files `out` and `err`.
    pub(crate) fn command(&self, arguments: &[impl AsRef<str>]) -> Command {
        let mut command = Command::new("setsid");
        command.args(arguments.iter().map(AsRef::as_ref));
        self.at_home(&mut command);
        command.stdin(Stdio::null()).stdout(self.create("out")).stderr(self.create("err"));
        command
    }

    /// The folder and the mark, and nothing that differs between machines.
    pub(crate) fn at_home(&self, command: &mut Command) {
        let (name, value) = self.mark.split_once('=').unwrap();
        command.current_dir(self.folder.path()).env(name, value);
        command.env("LC_ALL", "C").env("TERM", "xterm").env("COLUMNS", "100");
        command.env("PATH", &*READABLE);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "ENV", "BASH_ENV"] {
            command.env_remove(name);
        }
        for name in ["CI", "GITHUB_ACTIONS"] {
            command.env_remove(name);
        }
    }

    pub(crate) fn create(&self, name: &str) -> File {
        File::create(self.path(name)).unwrap()
    }

    pub(crate) fn start(&self, arguments: &[impl AsRef<str>]) -> Started {
        started(&mut self.command(arguments))
    }

    /// What is left of a command when it has ended.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[impl AsRef<str>]) -> Told<Ended> {
        self.finish(self.command(arguments))
    }

    #[track_caller]
    pub(crate) fn finish(&self, mut command: Command) -> Told<Ended> {
        let mut started = started(&mut command);
        if !started.ends(self.patience) {
            return otherwise(format!("{command:?} does not end; {}", self.scene()));
        }
        started.end(Duration::ZERO)
    }

    /// The processes alive that this test started, and those that they started.
    pub(crate) fn alive(&self) -> Vec<Process> {
        kernel::with_environment(&self.mark)
    }

    /// How many are left once those that are dying have had the time for it.
    #[track_caller]
    pub(crate) fn left(&self) -> usize {
        let mut left = 0;
        until(self.patience, || {
            left = self.alive().len();
            left == 0
        });
        left
    }

    #[track_caller]
    pub(crate) fn nothing_is_left(&self) -> Told<()> {
        if self.left() == 0 { Ok(()) } else { otherwise(self.scene()) }
    }

    /// What can be seen, for a test that fails.
    pub(crate) fn scene(&self) -> String {
        let alive: Vec<_> = self.alive().into_iter().map(|one| (one.pid, one.command)).collect();
        let [out, err] = ["out", "err"].map(|name| {
            let text = self.text(name);
            text.chars().rev().take(600).collect::<Vec<_>>().into_iter().rev().collect::<String>()
        });
        format!("alive: {alive:?}; out: {out:?}; err: {err:?}")
    }

    /// The events written so far to `events`: every line is an object with what every line has.
    #[track_caller]
    pub(crate) fn events(&self) -> Told<Vec<Value>> {
        let text = String::from_utf8(self.bytes("events")).map_err(|error| error.to_string())?;
        if !text.is_empty() && !text.ends_with('\n') {
            return otherwise(format!("the last line is not whole: {text}"));
        }
        let mut before = 0.0;
        let mut run = None;
        let mut events = Vec::new();
        for line in text.lines() {
            let Ok(event) = serde_json::from_str::<Value>(line) else {
                return otherwise(format!("not an object: {line}"));
            };
            let t = event["t"].as_f64();
            if event["v"] != 1 || !event["type"].is_string() || !t.is_some_and(|t| t >= before) {
                return otherwise(format!("without v, type, or t that grows: {line}"));
            }
            before = t.unwrap();
            if !event["run"].is_string() || *run.get_or_insert(event["run"].clone()) != event["run"]
            {
                return otherwise(format!("without run, or another: {line}"));
            }
            events.push(event);
        }
        Ok(events)
    }
}

impl Drop for Stage {
    /// Whatever the outcome, nothing outlives the test: also not a process that forks while it is looked for.
    fn drop(&mut self) {
        until(FOR_EVER, || {
            let alive = self.alive();
            for one in &alive {
                kernel::send(one.pid, Signal::KILL);
            }
            alive.is_empty()
        });
    }
}

pub(crate) fn started(command: &mut Command) -> Started {
    LazyLock::force(&KEYS_ARE_HEARD);
    Started::new(command.spawn().unwrap())
}

/// A shell without job control starts what runs in its background with SIGINT and SIGQUIT ignored, `nohup` with SIGHUP,
/// and children inherit that: whoever runs the tests so would wait for ever for an end by Ctrl-C.
#[expect(unsafe_code, reason = "the standard library has no way to set a signal's default")]
static KEYS_ARE_HEARD: LazyLock<()> = LazyLock::new(|| {
    use nix::sys::signal::{SigHandler, Signal, signal};
    for key in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP] {
        // SAFETY: the default is no handler, so there is no code that could run at a wrong moment.
        unsafe { signal(key, SigHandler::SigDfl) }.unwrap();
    }
});

/// A named pipe, open at both ends, so that nobody waits for the other end.
fn pipe(path: &Path) -> File {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

/// The names of events, in their order.
pub(crate) fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The events of one name.
pub(crate) fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}
