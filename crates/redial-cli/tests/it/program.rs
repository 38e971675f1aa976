//! The program under test, started as a script would start it, and what it printed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const REDIAL: &str = env!("CARGO_BIN_EXE_redial");

/// The flags of `run` that have a default in the environment.
pub(crate) const DEFAULTS: [&str; 5] =
    ["REDIAL_WITH", "REDIAL_POLICY", "REDIAL_RULES", "REDIAL_EVENTS", "REDIAL_BUDGET"];

/// The program in a folder, with an empty standard input and nothing from the environment of whoever runs the tests that
/// would change what it prints.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(REDIAL);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env("COLUMNS", "100");
    for name in ["NO_COLOR", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "REDIAL_ATTEMPT"] {
        command.env_remove(name);
    }
    for name in DEFAULTS {
        command.env_remove(name);
    }
    command
}

pub(crate) fn redial(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

/// Runs a command with this on standard input.
pub(crate) fn with_input(command: &mut Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that has read enough may stop reading.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[track_caller]
pub(crate) fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}{}", stdout(output), stderr(output));
    })
}

/// A temporary folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Writes a script that can be run. Another process writes it: a child that a test on another thread starts at this moment
/// would inherit the file, open to be written, and until it is closed there `execve` fails with ETXTBSY.
#[cfg(unix)]
pub(crate) fn install(path: &Path, script: impl AsRef<[u8]>) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path);
    let output = with_input(&mut install, script.as_ref());
    assert!(output.status.success(), "{}", stderr(&output));
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `PATH` with the program in it.
#[cfg(unix)]
pub(crate) fn path_with_redial() -> String {
    let folder = Path::new(REDIAL).parent().unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// Whether a program is there; a test that has to leave it out says so.
#[cfg(unix)]
pub(crate) fn is_installed(program: &str, asked: &str) -> bool {
    let found = Command::new(program).arg(asked).stdout(Stdio::null()).status().is_ok();
    if !found {
        #[expect(clippy::print_stderr, reason = "a test that did not look says so")]
        {
            eprintln!("{program} is not installed: left out");
        }
    }
    found
}
