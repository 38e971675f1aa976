//! A clock for smol: the timers of `async-io`, its reactor.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::time::Instant;

use async_io::Timer;
use redial_core::Time;

use crate::clock::{Clock, time_of};

/// A clock for smol, and for every executor beside which `async-io` may run (feature `smol`).
///
/// ```
/// use redial::{Policy, SmolClock, policy, retry};
///
/// const QUICK: Policy = policy!("retry: 2, delay: 1ms");
///
/// let mut calls = 0;
/// let call = retry(&QUICK, || {
///     calls += 1;
///     std::future::ready(if calls < 3 { Err("flaky") } else { Ok(calls) })
/// });
/// assert_eq!(smol::block_on(call.clock(SmolClock)), Ok(3));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SmolClock;

impl Clock for SmolClock {
    type Sleep = SmolSleep;

    fn now(&self) -> Time {
        time_of(Instant::now())
    }

    fn sleep(&self, duration: Duration) -> SmolSleep {
        SmolSleep { timer: Timer::after(duration) }
    }
}

/// Sleeping on [`SmolClock`].
///
/// ```
/// use std::time::Duration;
/// use redial::{Clock, SmolClock};
///
/// let before = SmolClock.now();
/// smol::block_on(SmolClock.sleep(Duration::from_millis(2)));
/// assert!(SmolClock.now().since(before) >= Duration::from_millis(2));
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct SmolSleep {
    timer: Timer,
}

impl Future for SmolSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.timer).poll(context).map(|_at| ())
    }
}
