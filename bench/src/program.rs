//! The program `redial`: a process of its own, which is built or given.

pub(crate) mod check;
#[cfg(unix)]
pub(crate) mod jobs;
pub(crate) mod many;
#[cfg(unix)]
pub(crate) mod patterns;
pub(crate) mod plan;
mod policies;
pub(crate) mod process;
#[cfg(unix)]
pub(crate) mod run;
#[cfg(unix)]
mod strace;
#[cfg(unix)]
pub(crate) mod streams;
#[cfg(unix)]
mod wrapper;

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use crate::row::Cell;
use process::Process;

/// Where the program is built.
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Where it is, or why there is none.
pub(crate) struct Program {
    path: Result<PathBuf, &'static str>,
}

impl Program {
    /// The one that is `given`; without it, one is built from the repository.
    pub(crate) fn find(given: Option<PathBuf>) -> Self {
        let path = match given {
            Some(path) => path.canonicalize().map_err(|_| "there is no such program"),
            None => build(),
        };
        Self { path }
    }

    /// The same as `cargo install` makes it.
    #[cfg(unix)]
    pub(crate) fn installed(given: Option<PathBuf>) -> Self {
        match given {
            Some(_) => Self::find(given),
            None => Self { path: target().and_then(|target| build_with_cargo(&target)) },
        }
    }

    fn process(&self, arguments: &[&str]) -> Result<Process, &'static str> {
        self.path.clone().map(|path| Process::new(path, arguments))
    }

    /// What is shipped: without symbols, whatever the build left in.
    fn stripped_bytes(&self) -> Cell {
        let bytes = self.path.as_deref().map_err(|reason| *reason).and_then(stripped);
        bytes.map_or_else(Cell::Unmeasured, |bytes| Cell::Number(bytes as f64))
    }
}

/// Builds it as it is shipped, into the target directory that this program is in.
fn build() -> Result<PathBuf, &'static str> {
    let target = target()?;
    match env::consts::OS {
        "linux" => {
            built(Command::new("scripts/static"), REPOSITORY, &target)?;
            Ok(target.join("static/redial"))
        }
        _ => build_with_cargo(&target),
    }
}

fn build_with_cargo(target: &Path) -> Result<PathBuf, &'static str> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "-p", "redial-cli"]);
    built(cargo, REPOSITORY, target)?;
    Ok(target.join("release").join(format!("redial{EXE_SUFFIX}")))
}

/// Builds this very program as people build who set nothing, with the same features.
pub(crate) fn unlinked() -> Result<PathBuf, &'static str> {
    let target = target()?;
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--profile", "users"]);
    if !cfg!(feature = "peers") {
        cargo.arg("--no-default-features");
    }
    built(cargo, env!("CARGO_MANIFEST_DIR"), &target)?;
    Ok(target.join("users").join(format!("redial-bench{EXE_SUFFIX}")))
}

fn target() -> Result<PathBuf, &'static str> {
    let own = env::current_exe().map_err(|_| "where is this program?")?;
    own.ancestors().nth(2).map(PathBuf::from).ok_or("where is this program?")
}

fn built(mut build: Command, directory: &str, target: &Path) -> Result<(), &'static str> {
    let status = build
        .current_dir(directory)
        .env("CARGO_TARGET_DIR", target)
        .stdout(Stdio::null())
        .status()
        .map_err(|_| "its build does not start")?;
    if status.success() { Ok(()) } else { Err("redial does not build") }
}

fn stripped(path: &Path) -> Result<u64, &'static str> {
    let copy = env::temp_dir().join(format!("redial-bench-stripped-{}", std::process::id()));
    let status =
        Command::new("strip").arg("-o").arg(&copy).arg(path).stderr(Stdio::null()).status();
    let bytes = fs::metadata(&copy).map(|metadata| metadata.len());
    let _ = fs::remove_file(&copy);
    match (status, bytes) {
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound => Err("install binutils"),
        (Ok(status), Ok(bytes)) if status.success() => Ok(bytes),
        _ => Err("strip fails"),
    }
}
