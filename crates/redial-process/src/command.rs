//! A command, and how it is started: by `posix_spawn`.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{AccessFlags, Pid};

/// A command, ready to be started any number of times.
#[derive(Debug)]
pub struct Command {
    pub(crate) words: Vec<CString>,
    pub(crate) environment: Environment,
    /// Where it runs, unless that is where this process runs.
    pub(crate) directory: Option<CString>,
}

/// The variables of a command. Any number of commands share one without a copy.
#[derive(Clone, Debug)]
pub struct Environment(pub(crate) Arc<[CString]>);

impl Environment {
    /// The variables of this process but for those of these names.
    pub fn without(names: &[&str]) -> Self {
        let is_left_out = |name: &OsStr| names.iter().any(|own| name == *own);
        let variables = std::env::vars_os()
            .filter(|(name, _)| !is_left_out(name))
            .filter_map(|(name, value)| variable(&name, &value));
        Self(variables.collect())
    }
}

/// Standard input, output and error of a command; inherited where there is none.
pub type Stdio = [Option<OwnedFd>; 3];

impl Command {
    /// The program, which is looked for in `PATH`, and its arguments, with the environment of this
    /// process but for the variables of these names.
    ///
    /// A word with a NUL in it cannot be an argument and is left out.
    pub fn new(words: &[OsString], without: &[&str]) -> Self {
        Self::with_environment(words, &Environment::without(without))
    }

    /// The same, with an environment that was made before.
    pub fn with_environment(words: &[OsString], environment: &Environment) -> Self {
        let words = words.iter().filter_map(|word| CString::new(word.as_bytes()).ok()).collect();
        Self { words, environment: environment.clone(), directory: None }
    }

    /// Runs it in this directory. A path with a NUL in it names none, and is ignored.
    pub fn directory(self, directory: &Path) -> Self {
        Self { directory: CString::new(directory.as_os_str().as_bytes()).ok(), ..self }
    }

    /// Starts it in this process group; see [`attributes`].
    pub(crate) fn start(
        &self,
        variables: &[(&str, OsString)],
        stdio: &Stdio,
        group: Option<Pid>,
        mask: &SigSet,
    ) -> Result<Pid, Errno> {
        let mut actions = PosixSpawnFileActions::init()?;
        for (number, stream) in (0..).zip(stdio) {
            if let Some(stream) = stream {
                actions.add_dup2(stream.as_raw_fd(), number)?;
            }
        }
        let attributes = attributes(group, mask)?;
        let own = self::variables(variables);
        let shared = &self.environment.0;
        let mut environment: Vec<&CStr> = Vec::with_capacity(shared.len() + own.len());
        environment.extend(shared.iter().map(CString::as_c_str));
        environment.extend(own.iter().map(CString::as_c_str));
        let Some(program) = self.words.first() else { return Err(Errno::ENOENT) };
        let _entered = self.directory.as_deref().map(Entered::enter).transpose()?;
        match posix_spawnp(program, &actions, &attributes, &self.words, &environment) {
            // A script without a shebang is run by `sh`, as every shell does.
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

/// This process is in another directory until this is dropped. `posix_spawn` has no portable way to say
/// where a command runs.
struct Entered(OwnedFd);

impl Entered {
    fn enter(directory: &CStr) -> Result<Self, Errno> {
        use rustix::fs::{Mode, OFlags, open};
        let errno = |error: rustix::io::Errno| Errno::from_raw(error.raw_os_error());
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let before = open(c".", flags, Mode::empty()).map_err(errno)?;
        rustix::process::chdir(directory).map_err(errno)?;
        Ok(Self(before))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let _ = rustix::process::fchdir(&self.0);
    }
}

/// Where [`attributes`] asks for a process group of its own.
pub(crate) const OWN_GROUP: Pid = Pid::from_raw(0);

/// The attributes of `posix_spawn`: this signal mask, and this process group or else the parent's.
pub(crate) fn attributes(group: Option<Pid>, mask: &SigSet) -> nix::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    // Rust's runtime ignores SIGPIPE; the command must not.
    attributes.set_sigdefault(&Signal::SIGPIPE.into())?;
    attributes.set_sigmask(mask)?;
    let mut flags =
        PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
    if let Some(group) = group {
        attributes.set_pgroup(group)?;
        flags |= PosixSpawnFlags::POSIX_SPAWN_SETPGROUP;
    }
    attributes.set_flags(flags)?;
    Ok(attributes)
}

/// The file of a command that `posix_spawnp` has found in `PATH`.
fn found(program: &CStr) -> Option<CString> {
    let name = OsStr::from_bytes(program.to_bytes());
    if program.to_bytes().contains(&b'/') {
        return Some(program.to_owned());
    }
    // Without a PATH, posix_spawnp looks here.
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
    let is_program = |file: &std::path::PathBuf| {
        file.is_file() && nix::unistd::access(file, AccessFlags::X_OK).is_ok()
    };
    let file = files.find(is_program)?;
    CString::new(file.into_os_string().into_vec()).ok()
}

/// Whether a file looks like text, and not like a binary for another machine.
fn is_text(file: &CStr) -> bool {
    use std::io::Read;
    let mut start = [0; 128];
    let read = std::fs::File::open(OsStr::from_bytes(file.to_bytes()))
        .and_then(|mut file| file.read(&mut start));
    read.is_ok_and(|length| !start[..length].contains(&0))
}

/// `NAME=value` of each.
pub(crate) fn variables(variables: &[(&str, OsString)]) -> Vec<CString> {
    variables.iter().filter_map(|(name, value)| variable(OsStr::new(name), value)).collect()
}

fn variable(name: &OsStr, value: &OsStr) -> Option<CString> {
    let mut variable = Vec::with_capacity(name.len() + value.len() + 1);
    variable.extend_from_slice(name.as_bytes());
    variable.push(b'=');
    variable.extend_from_slice(value.as_bytes());
    // By reference, as for the words: a second instance of `CString::new` would be one more page to load.
    CString::new(variable.as_slice()).ok()
}
