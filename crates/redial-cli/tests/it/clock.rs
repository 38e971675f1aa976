//! A clock for redial that stands still until a script or the test lets time pass, so that no machine is too slow for a
//! timeout, and none has to wait for one.
//!
//! It is a file `clock` in the folder, as long as there are milliseconds since the start: a script says
//! `truncate -s +200 clock`. A preloaded library has redial read the time there. The system's waits stay real, so redial
//! looks at its clock at least as often as the delay or the timeout is long that it waits for.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use crate::stage::Stage;

const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
  struct stat file;
  if (clock != CLOCK_MONOTONIC || stat("clock", &file) != 0) return syscall(SYS_clock_gettime, clock, time);
  time->tv_sec = 1 + file.st_size / 1000;
  time->tv_nsec = file.st_size % 1000 * 1000000;
  return 0;
}
"#;

/// What links this test compiles the library; another test program may do so at the same time.
static COMPILED: LazyLock<String> = LazyLock::new(|| {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("clock.c"), LIBRARY).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o", "clock.so", "clock.c"]).current_dir(folder.path());
    assert!(compiler.status().unwrap().success());
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("clock.so");
    fs::rename(folder.path().join("clock.so"), &library).unwrap();
    library.into_os_string().into_string().unwrap()
});

/// The same command, on the clock of this folder, which begins to stand still.
pub(crate) fn on_clock(stage: &Stage, line: &[impl AsRef<str>]) -> Vec<String> {
    stage.create("clock");
    let preload = format!("LD_PRELOAD={}", *COMPILED);
    let words = ["env", &preload].into_iter().chain(line.iter().map(AsRef::as_ref));
    words.map(str::to_owned).collect()
}

/// How late it is.
pub(crate) fn time(stage: &Stage) -> Duration {
    Duration::from_millis(fs::metadata(stage.path("clock")).unwrap().len())
}

/// Lets time pass.
pub(crate) fn pass(stage: &Stage, by: Duration) {
    let file = File::options().write(true).open(stage.path("clock")).unwrap();
    file.set_len((time(stage) + by).as_millis() as u64).unwrap();
}

/// A loop of a script during which time passes.
pub(crate) const PASSING: &str = "while :; do truncate -s +50 clock; sleep 0.05; done";
