//! tower's retry middleware, with the policy that its users write themselves.

use std::cell::Cell;
use std::hint::black_box;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::time::{Sleep, sleep};
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::retry::{Policy, Retry};
use tower::util::rng::HasherRng;
use tower::{Service, service_fn};

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{Failing, FailingThrice, Failure, Succeeding};
use crate::repeat::{self, runtime};
use crate::subject::{Call, Figure, Package, Subject};
use crate::wall;
use crate::yields::yields;

pub(crate) const TOWER: Subject = Subject {
    name: "tower",
    package: Some(Package { name: "tower", version: Some("0.5"), features: &["retry"] }),
    loops: &[
        (Call::AsyncSuccess, async_success),
        (Call::DelayBy2, delay_by_2),
        (Call::DelayBy2Steady, delay_by_2_steady),
        (Call::AsyncFailures, async_failures),
    ],
    figures: &[
        (Figure::Yields, yields_made),
        (Figure::FutureBytes, future_bytes),
        (Figure::TaskBytes, task_bytes),
        (Figure::PaidAlone, || paid(1)),
        (Figure::PaidByTwo, || paid(2)),
    ],
};

/// So many retries, after the delays of `backoff`.
#[derive(Clone)]
struct Attempts<B> {
    backoff: B,
    left: u32,
}

impl<B: Backoff, T, E> Policy<(), T, E> for Attempts<B> {
    type Future = B::Future;

    fn retry(&mut self, _: &mut (), result: &mut Result<T, E>) -> Option<B::Future> {
        if result.is_ok() || self.left == 0 {
            return None;
        }
        self.left -= 1;
        Some(self.backoff.next_backoff())
    }

    fn clone_request(&mut self, _: &()) -> Option<()> {
        Some(())
    }
}

/// tower has no delays but exponential ones.
#[derive(Clone)]
struct Zero;

impl Backoff for Zero {
    type Future = Sleep;

    fn next_backoff(&mut self) -> Sleep {
        sleep(Duration::ZERO)
    }
}

fn exponential(initial: Duration, cap: Duration) -> ExponentialBackoff {
    ExponentialBackoffMaker::new(initial, cap, 0.99, HasherRng::default())
        .expect("these are valid settings")
        .make_backoff()
}

fn fetch() -> Attempts<ExponentialBackoff> {
    Attempts { backoff: exponential(INITIAL, CAP), left: RETRIES }
}

fn at_once() -> Attempts<Zero> {
    Attempts { backoff: Zero, left: RETRIES }
}

/// A call of a service that is always ready, and asked all the same, as it has to be.
#[inline]
fn call<S: Service<()>>(service: &mut S) -> S::Future {
    let _ = service.poll_ready(&mut Context::from_waker(Waker::noop()));
    service.call(())
}

fn async_success(times: u64) {
    let mut service = Retry::new(black_box(fetch()), service_fn(|()| Succeeding::<Failure>::new()));
    repeat::awaited(times, || call(&mut service));
}

/// A delay here is a timer that knows it.
fn delay_by_2(times: u64) {
    let runtime = runtime();
    let _guard = runtime.enter();
    let policy = black_box(exponential(INITIAL, CAP));
    repeat::first_ten(times, || {
        let mut backoff = policy.clone();
        move || backoff.next_backoff()
    });
}

fn delay_by_2_steady(times: u64) {
    let runtime = runtime();
    let _guard = runtime.enter();
    let mut backoff = black_box(exponential(INITIAL, CAP));
    repeat::blocking(times, || backoff.next_backoff());
}

fn async_failures(times: u64) {
    let calls = Cell::new(0);
    let operation = service_fn(|()| FailingThrice::<Failure>::new(&calls));
    let mut service = Retry::new(black_box(at_once()), operation);
    repeat::awaited(times, || call(&mut service));
}

fn yields_made() -> f64 {
    yields(|calls| {
        let operation = service_fn(|()| FailingThrice::<Failure>::new(calls));
        call(&mut Retry::new(at_once(), operation))
    })
}

fn future_bytes() -> f64 {
    let mut service = Retry::new(fetch(), service_fn(|()| Succeeding::<Failure>::new()));
    size_of_val(&call(&mut service)) as f64
}

fn task_bytes() -> f64 {
    let policy = Attempts { backoff: exponential(HOUR, HOUR), left: RETRIES };
    let service = Retry::new(policy, service_fn(|()| Failing::<Failure>::new()));
    let service: &'static _ = Box::leak(Box::new(service));
    per_sleeping_task(|| async {
        let call = call(&mut service.clone());
        call.await
    })
}

/// Its budget; it has no breaker.
fn paid(threads: usize) -> f64 {
    let budget = TpsBudget::new(Duration::from_secs(10), 10, 1.0);
    wall::on_threads(threads, |_| {
        budget.deposit();
        budget.withdraw()
    })
}
