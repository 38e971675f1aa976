//! The clock of a store: when things are, and how a task waits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use redial::Clock;
use redial::testing::ManualClock;
use redial_core::Time;

use crate::record::Start;
use crate::run_clock;

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct Timing {
    now: Box<dyn Fn() -> Time + Send + Sync>,
    sleep: Box<dyn Fn(Duration) -> Sleep + Send + Sync>,
    /// Also the time of day, and the time between two processes, are those of the clock.
    is_manual: bool,
}

impl fmt::Debug for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timing").field("is_manual", &self.is_manual).finish_non_exhaustive()
    }
}

impl Timing {
    pub(super) fn of<C>(clock: C) -> Self
    where
        C: Clock + Clone + Send + Sync + 'static,
        C::Sleep: Send + 'static,
    {
        let sleeping = clock.clone();
        Self {
            now: Box::new(move || clock.now()),
            sleep: Box::new(move |duration| Box::pin(sleeping.sleep(duration))),
            is_manual: false,
        }
    }

    pub(super) fn manual(clock: &ManualClock) -> Self {
        Self { is_manual: true, ..Self::of(clock.clone()) }
    }

    pub(super) fn now(&self) -> Time {
        (self.now)()
    }

    /// A sleep of no time lets other tasks run.
    pub(super) async fn sleep(&self, duration: Duration) {
        match duration.is_zero() {
            true => yield_now().await,
            false => (self.sleep)(duration).await,
        }
    }

    /// The time of day.
    pub(super) fn wall(&self) -> SystemTime {
        match self.is_manual {
            true => SystemTime::UNIX_EPOCH + self.now().since(Time::ZERO),
            false => SystemTime::now(),
        }
    }

    /// What the clock of a run starts from.
    pub(super) fn start(&self, seed: u64) -> Start {
        let argv = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let start = run_clock::start(seed, argv);
        match self.is_manual {
            true => {
                let now = self.now().as_nanos();
                Start { wall_ns: now, boot_ns: now, boot_id: "".into(), ..start }
            }
            false => start,
        }
    }

    /// How long ago that was.
    pub(super) fn since(&self, start: &Start) -> Duration {
        match self.is_manual {
            true => self.now().since(Time::from_nanos(start.wall_ns)),
            false => run_clock::since(start),
        }
    }
}

/// Lets other tasks of the same thread run.
pub(super) async fn yield_now() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| match std::mem::replace(&mut has_yielded, true) {
        true => std::task::Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        }
    })
    .await;
}
