//! Real shells.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

/// The shells of this machine. What is not there is left out, and said.
#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
pub(crate) static SHELLS: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
    let all = [vec!["dash"], vec!["bash", "--posix"], vec!["busybox", "sh"]];
    let there = all.into_iter().filter(|shell| {
        let works = Command::new(shell[0]).args(&shell[1..]).args(["-c", ":"]).status();
        let works = works.is_ok_and(|status| status.success());
        if !works {
            eprintln!("left out, for it is not installed: {}", shell.join(" "));
        }
        works
    });
    there.collect()
});

/// `SHELL -c SCRIPT` with these variables, in that directory, with nothing to read.
pub(crate) fn run(
    shell: &[&str],
    options: &[&str],
    script: &[u8],
    variables: &[(String, Vec<u8>)],
    directory: &Path,
) -> Output {
    let variables = variables.iter().map(|(name, value)| (name, OsString::from_vec(value.clone())));
    Command::new(shell[0])
        .args(&shell[1..])
        .args(options)
        .arg("-c")
        .arg(OsString::from_vec(script.to_vec()))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/nowhere")
        .envs(variables)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}
