//! Starting the command: its words, its environment, its three streams, and nothing else of ours.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{AccessFlags, Pid};

/// A command, ready to be started any number of times.
pub(super) struct Command {
    words: Vec<CString>,
    /// What every attempt gets, without what is redial's own.
    environment: Vec<CString>,
}

/// What the command gets in the place of one of redial's own streams; ours where there is nothing.
pub(super) type Streams = [Option<OwnedFd>; 3];

impl Command {
    pub(super) fn new(words: &[OsString]) -> Self {
        let is_ours = |name: &OsStr| OWN.iter().any(|own| name == *own);
        let environment = std::env::vars_os()
            .filter(|(name, _)| !is_ours(name))
            .filter_map(|(name, value)| variable(name, &value))
            .collect();
        // An argument has no zero byte in it: it came to us as an argument.
        let words = words.iter().filter_map(|word| CString::new(word.as_bytes()).ok()).collect();
        Self { words, environment }
    }

    /// Starts it: in a process group of its own, or in ours, where a terminal is.
    pub(super) fn start(
        &self,
        variables: &[(&str, OsString)],
        streams: &Streams,
        own_group: bool,
        mask: &SigSet,
    ) -> Result<Pid, Errno> {
        let mut actions = PosixSpawnFileActions::init()?;
        for (number, stream) in (0..).zip(streams) {
            if let Some(stream) = stream {
                actions.add_dup2(stream.as_raw_fd(), number)?;
            }
        }
        let mut attributes = PosixSpawnAttr::init()?;
        // Rust ignores this one; the command must not.
        let mut by_default = SigSet::empty();
        by_default.add(Signal::SIGPIPE);
        attributes.set_sigdefault(&by_default)?;
        attributes.set_sigmask(mask)?;
        let mut flags =
            PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
        if own_group {
            attributes.set_pgroup(Pid::from_raw(0))?;
            flags |= PosixSpawnFlags::POSIX_SPAWN_SETPGROUP;
        }
        attributes.set_flags(flags)?;
        let own =
            variables.iter().filter_map(|(name, value)| variable(OsString::from(name), value));
        let environment: Vec<_> = self.environment.iter().cloned().chain(own).collect();
        let Some(program) = self.words.first() else { return Err(Errno::ENOENT) };
        match posix_spawnp(program, &actions, &attributes, &self.words, &environment) {
            // A script that does not say of what: a shell's, as for every shell.
            Err(Errno::ENOEXEC) => {
                let script = found(program).filter(|file| is_text(file)).ok_or(Errno::ENOEXEC)?;
                let shell = c"/bin/sh".to_owned();
                let words = [shell.clone(), script].into_iter();
                let words: Vec<_> = words.chain(self.words[1..].iter().cloned()).collect();
                posix_spawnp(&shell, &actions, &attributes, &words, &environment)
            }
            started => started,
        }
    }
}

/// Where a command is that was found by its name.
fn found(program: &CStr) -> Option<CString> {
    let name = OsStr::from_bytes(program.to_bytes());
    if program.to_bytes().contains(&b'/') {
        return Some(program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
    let file = files.find(|file| nix::unistd::access(file, AccessFlags::X_OK).is_ok())?;
    CString::new(file.into_os_string().into_vec()).ok()
}

/// Whether a file begins as text does: a program for another machine is none.
fn is_text(file: &CStr) -> bool {
    use std::io::Read;
    let mut start = [0; 128];
    let read = std::fs::File::open(OsStr::from_bytes(file.to_bytes()))
        .and_then(|mut file| file.read(&mut start));
    read.is_ok_and(|length| !start[..length].contains(&0))
}

/// What redial tells the command. An outer redial's words are not for it.
const OWN: [&str; 5] =
    ["REDIAL_ATTEMPT", "REDIAL_ATTEMPTS", "REDIAL_LAST_EXIT", "REDIAL_RUN_ID", "REDIAL_CONTROL"];

fn variable(name: OsString, value: &OsStr) -> Option<CString> {
    let mut variable = name.into_vec();
    variable.push(b'=');
    variable.extend_from_slice(value.as_bytes());
    CString::new(variable).ok()
}
