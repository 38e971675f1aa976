//! What the files promise: what is in them, then what the clock may do to them, then many processes.

mod files;
mod processes;
mod times;

use std::path::PathBuf;

use redial_core::{Random, SplitMix64};
use tempfile::TempDir;

use super::{Admission, Refusal, SharedBreaker, SharedPermit};

/// A directory with room for one file.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { directory: TempDir::new().expect("a temporary directory") }
    }

    fn holding(text: impl AsRef<[u8]>) -> Self {
        let place = Self::new();
        place.write(text);
        place
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("shared")
    }

    fn write(&self, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(), text).expect("the file is written");
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("the file is read")
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text()).expect("the file holds JSON")
    }

    fn number(&self, key: &str) -> f64 {
        self.json()[key].as_f64().expect("the key holds a number")
    }
}

#[track_caller]
fn permitted(breaker: &SharedBreaker) -> SharedPermit {
    match breaker.admit().expect("the file is sound") {
        Admission::Permit(permit) => permit,
        Admission::Refused(refusal) => panic!("refused: the breaker is {refusal}"),
    }
}

#[track_caller]
fn refused(breaker: &SharedBreaker) -> Refusal {
    match breaker.admit().expect("the file is sound") {
        Admission::Permit(_) => panic!("admitted"),
        Admission::Refused(refusal) => refusal,
    }
}

/// Another seed each time, which is printed where the test fails.
#[expect(clippy::print_stderr, reason = "the test harness keeps it until then")]
fn seeded() -> SplitMix64 {
    let seed = match std::env::var("SEED") {
        Ok(seed) => seed.parse().expect("SEED is a number"),
        Err(_) => super::wall_clock().as_nanos() / 1000,
    };
    eprintln!("run again with SEED={seed}");
    SplitMix64::new(seed)
}

fn below(random: &mut SplitMix64, bound: u64) -> u64 {
    random.word() % bound
}
