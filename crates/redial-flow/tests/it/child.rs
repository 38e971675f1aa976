//! This program started again, for what needs a process of its own: one that is killed, that has a limit, or whose system
//! calls fail.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The arguments that make this program run one task.
const ARGUMENTS: [&str; 5] =
    ["--exact", "child::a_task_of_another_test", "--ignored", "--nocapture", "--test-threads=1"];

#[test]
#[ignore = "other tests start it, with a task"]
fn a_task_of_another_test() {
    let Ok(task) = env::var("REDIAL_TEST_TASK") else { return };
    let path = PathBuf::from(env::var_os("REDIAL_TEST_PATH").unwrap());
    match &*task {
        "append" => crate::store::append_until_killed(&path),
        "full-disk" => crate::store::fill_the_disk(&path),
        "limit" => crate::store::reach_the_limit(&path),
        "hold" => crate::store::hold_until_killed(&path),
        "sync-fails" => crate::journal::append_and_see_the_sync_fail(&path),
        "write-fails" => crate::journal::append_and_see_a_write_fail(&path),
        "cut-fails" => crate::journal::append_and_see_the_cut_fail(&path),
        #[cfg(feature = "tokio")]
        "order-service" => crate::steps::service::serve_until_killed(&path),
        #[cfg(feature = "tokio")]
        "killed-steps" => crate::steps::kills::work_until_killed(&path),
        #[cfg(feature = "tokio")]
        "smallest" => crate::steps::service::run_smallest(),
        #[cfg(feature = "tokio")]
        "held-run" => crate::steps::stores::hold_until_killed(&path),
        _ => panic!("no task {task}"),
    }
}

/// This program with a task, behind a command that starts it.
pub(crate) fn command<S: AsRef<OsStr>>(wrapper: &[S], task: &str, path: &Path) -> Command {
    let program = env::current_exe().unwrap();
    let mut words: Vec<&OsStr> = wrapper.iter().map(AsRef::as_ref).collect();
    words.push(program.as_os_str());
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(ARGUMENTS);
    command.env("REDIAL_TEST_TASK", task).env("REDIAL_TEST_PATH", path).stdin(Stdio::null());
    command
}

/// Runs a task to its end, which is a success.
pub(crate) fn run<S: AsRef<OsStr>>(wrapper: &[S], task: &str, path: &Path) {
    let output = command(wrapper, task, path).output().unwrap();
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{task}: {}\n{text}", output.status);
    assert!(text.contains("1 passed"), "{task}: {text}");
}

/// Whether a program is there and may do what it is for; else the test is left out, and says so.
#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
pub(crate) fn can(words: &[&str]) -> bool {
    let status = Command::new(words[0]).args(&words[1..]).stdout(Stdio::null()).status();
    let can = status.is_ok_and(|status| status.success());
    if !can {
        eprintln!("left out: `{}` does not work here", words.join(" "));
    }
    can
}
