//! A clock for wasm32-unknown-unknown in a JavaScript host: `performance.now` and `setTimeout`.

use core::cell::RefCell;
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::collections::BTreeMap;

use redial_core::Time;
use wasm_bindgen::prelude::*;

use crate::clock::Clock;

#[wasm_bindgen]
extern "C" {
    type Performance;

    #[wasm_bindgen(thread_local_v2, js_name = performance)]
    static PERFORMANCE: Option<Performance>;

    #[wasm_bindgen(method)]
    fn now(this: &Performance) -> f64;

    #[wasm_bindgen(method, getter, js_name = timeOrigin)]
    fn time_origin(this: &Performance) -> Option<f64>;

    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn date_now() -> f64;

    #[wasm_bindgen(catch, js_name = setTimeout)]
    fn set_timeout(callback: &Closure<dyn FnMut()>, milliseconds: i32) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(catch, js_name = clearTimeout)]
    fn clear_timeout(timeout: &JsValue) -> Result<(), JsValue>;
}

/// The clock of a JavaScript host: a browser, a worker, Node, Deno (feature `wasm`, on
/// `wasm32-unknown-unknown`). It is the clock of every call that is not given another.
///
/// The time is `performance.now()`, counted from `performance.timeOrigin` so that all workers have
/// one time, or `Date.now()` in a host that has no `performance`. It sleeps by `setTimeout`, which is
/// set anew where it fires early or cannot count as far: a delay is never shorter than it should be.
/// A host that has no `setTimeout` is yielded to until the time has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct WasmClock;

impl Clock for WasmClock {
    type Sleep = WasmSleep;

    fn now(&self) -> Time {
        let milliseconds = PERFORMANCE.with(|performance| {
            performance.as_ref().map(|it| it.time_origin().unwrap_or(0.0) + it.now())
        });
        // A cast saturates, and makes zero of what is no number.
        Time::from_nanos((milliseconds.unwrap_or_else(date_now) * 1e6) as u64)
    }

    fn sleep(&self, duration: Duration) -> WasmSleep {
        WasmSleep { until: self.now().after(duration), timer: None }
    }
}

/// The time of day, as far as the host tells it.
#[cfg(feature = "http")]
pub(crate) fn since_epoch() -> Duration {
    Duration::from_millis(date_now() as u64)
}

/// Sleeping on [`WasmClock`]. It is `Send`, as the sleeps of other clocks are: what belongs to the
/// host stays with the thread that it belongs to.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct WasmSleep {
    until: Time,
    /// The number of its timer among those of this thread.
    timer: Option<u64>,
}

impl Future for WasmSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let left = self.until.since(WasmClock.now());
        if left.is_zero() {
            self.cancel();
            return Poll::Ready(());
        }
        let waker = context.waker();
        if !self.timer.is_some_and(|timer| pass_on(timer, waker)) {
            // There was none yet, it has fired early, or it is another thread's.
            self.timer = set(left, waker);
        }
        if self.timer.is_none() {
            waker.wake_by_ref();
        }
        Poll::Pending
    }
}

impl WasmSleep {
    fn cancel(&mut self) {
        if let Some(timer) = self.timer.take().and_then(take) {
            let _ = clear_timeout(&timer.timeout);
        }
    }
}

impl Drop for WasmSleep {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// A `setTimeout` that has not fired, and whom it wakes.
struct Timer {
    waker: Waker,
    timeout: JsValue,
    /// What the host calls. Dropping it frees it.
    _callback: Closure<dyn FnMut()>,
}

thread_local! {
    static TIMERS: RefCell<BTreeMap<u64, Timer>> = const { RefCell::new(BTreeMap::new()) };
}

/// Has the host wake `waker`, if it can. A waker is a stranger's code, here and below: it is never
/// cloned, dropped or woken while the timers are borrowed.
fn set(wait: Duration, waker: &Waker) -> Option<u64> {
    static SET: AtomicU64 = AtomicU64::new(0);
    let number = SET.fetch_add(1, Ordering::Relaxed);
    let callback = Closure::new(move || {
        if let Some(timer) = take(number) {
            timer.waker.wake();
        }
    });
    // What is longer than 31 bits of milliseconds would fire at once.
    let milliseconds = wait.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32;
    let timeout = set_timeout(&callback, milliseconds).ok()?;
    let timer = Timer { waker: waker.clone(), timeout, _callback: callback };
    TIMERS.with_borrow_mut(|timers| timers.insert(number, timer));
    Some(number)
}

/// A task may be polled with another waker than before. False where the timer has fired.
fn pass_on(number: u64, waker: &Waker) -> bool {
    let mut waker = waker.clone();
    TIMERS.with_borrow_mut(|timers| match timers.get_mut(&number) {
        Some(timer) => {
            core::mem::swap(&mut timer.waker, &mut waker);
            true
        }
        None => false,
    })
}

fn take(number: u64) -> Option<Timer> {
    TIMERS.with_borrow_mut(|timers| timers.remove(&number))
}
