//! What the pages on moving say of other crates is so, in the versions of `Cargo.lock`; and every
//! page that `redial` leaves out of its own tests is run here.

mod again;
mod backoff;
mod backon;
mod pages;
mod tokio_retry;
mod tokio_retry2;
mod tower;

use std::cell::Cell;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Counts its calls.
#[derive(Default)]
struct Calls(Cell<u32>);

impl Calls {
    fn count(&self) -> u32 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }

    fn get(&self) -> u32 {
        self.0.get()
    }
}

/// Whether it panics; what it says is not printed.
fn panics(operation: impl FnOnce() + std::panic::UnwindSafe) -> bool {
    std::panic::catch_unwind(operation).is_err()
}
