//! This binary again, as a process of its own: for what holds for a whole process.

use std::process::{Command, Stdio};

const MARK: &str = "REDIAL_TEST_CHILD";

/// Whether this is such a process. A child's test does nothing in any other, so that
/// `--include-ignored` does no harm to the tests beside it.
pub(crate) fn is_one() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Runs one ignored test of this binary in a child process.
pub(crate) fn command(test: &str) -> Command {
    let mut command = all_under(test);
    command.args(["--exact", "--nocapture"]);
    command
}

/// Runs all ignored tests whose names begin like this, one after the other.
pub(crate) fn all_under(prefix: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test binary has a path"));
    command.args([prefix, "--ignored", "--test-threads=1"]);
    command.env(MARK, "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it and passes its verdict on, if that is the verdict of so many tests.
#[track_caller]
pub(crate) fn check(mut command: Command, tests: usize) {
    let output = command.output().expect("the test binary runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains(&format!(" {tests} passed")),
        "not {tests} tests that pass in a process of their own:\n{text}{}",
        String::from_utf8_lossy(&output.stderr),
    );
}
