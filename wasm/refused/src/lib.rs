//! What does not compile for wasm32-unknown-unknown without the feature `wasm`: there is no clock, no
//! chance, and nothing to sleep on.

use redial::{Policy, blocking, retry, testing::ManualClock, tries_on};

pub async fn no_clock() -> Result<(), ()> {
    retry(&Policy::DEFAULT, || async { Err(()) }).seed(1).await
}

pub async fn no_chance() -> Result<(), ()> {
    retry(&Policy::DEFAULT, || async { Err(()) }).clock(ManualClock::new()).await
}

pub async fn no_chance_in_a_loop() -> Result<(), ()> {
    tries_on(ManualClock::new(), &Policy::DEFAULT).failed(()).await
}

pub fn no_sleep() -> Result<(), ()> {
    blocking::call(&Policy::DEFAULT, |_| Err(())).seed(1).run()
}
