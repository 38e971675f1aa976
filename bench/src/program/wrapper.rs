//! Programs that run a command: coreutils' `timeout`, what people retry with, and redial.

use std::env;
use std::path::PathBuf;

use super::Program;
use super::process::Process;

pub(super) struct Wrapper {
    pub(super) name: &'static str,
    program: PathBuf,
    /// What stands between its name and the command.
    plain: &'static [&'static str],
    /// The same with a timeout that is never reached, where it knows one.
    limited: Option<&'static [&'static str]>,
}

struct Known {
    name: &'static str,
    plain: &'static [&'static str],
    limited: Option<&'static [&'static str]>,
}

const KNOWN: [Known; 4] = [
    Known { name: TIMEOUT, plain: &["10"], limited: Some(&["60"]) },
    // Debian's.
    Known { name: RETRY, plain: &["--"], limited: None },
    Known { name: "recur", plain: &["--"], limited: Some(&["-t", "60s", "--"]) },
    Known { name: "attempt", plain: &["--"], limited: Some(&["-t", "60", "--"]) },
];

pub(super) const TIMEOUT: &str = "timeout";
pub(super) const RETRY: &str = "retry";

/// Those that are installed, and the names of those that are not.
pub(super) fn installed() -> (Vec<Wrapper>, Vec<&'static str>) {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for Known { name, plain, limited } in KNOWN {
        match find(name) {
            Some(program) => there.push(Wrapper { name, program, plain, limited }),
            None => missing.push(name),
        }
    }
    (there, missing)
}

/// What there is to say of those that are not.
pub(super) fn note(missing: &[&str]) -> Option<String> {
    let all = missing.join(", ");
    (!missing.is_empty()).then(|| format!("Not installed here, and so not in the table: {all}."))
}

impl Wrapper {
    pub(super) fn redial(program: &Program) -> Result<Self, &'static str> {
        Ok(Self {
            name: "redial",
            program: program.path.clone()?,
            plain: &["run", "--"],
            limited: Some(&["run", "-t", "60s", "--"]),
        })
    }

    pub(super) fn around(&self, command: &[&str]) -> Process {
        Process::new(&self.program, &[self.plain, command].concat())
    }

    pub(super) fn limited(&self, command: &[&str]) -> Option<Process> {
        Some(Process::new(&self.program, &[self.limited?, command].concat()))
    }
}

pub(super) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|place| place.join(program)).find(|file| file.is_file())
}
