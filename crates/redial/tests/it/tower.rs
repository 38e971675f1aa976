//! The layer for tower services.

use std::future::{Ready, ready};
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use redial::testing::{ManualClock, Script};
use redial::tower::RetryLayer;
use redial::{Backoff, Budget, Clock, Policy, SplitMix64, Verdict};
use tower::{Layer, Service, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);
const STEADY: Policy = Backoff::constant(SECOND).attempts(3);

/// A service that plays a script, whatever it is asked.
fn playing<T: Clone, E: Clone>(
    script: &Script<T, E>,
) -> impl Service<&'static str, Response = T, Error = E, Future = Ready<Result<T, E>>> + Clone {
    service_fn(move |_request: &'static str| script.next())
}

#[test]
fn errors_are_retried_after_the_policys_delay() {
    let clock = ManualClock::new();
    let script = Script::new([Err("refused"), Err("reset"), Ok("page")]);
    let mut service = RetryLayer::on(clock.clone(), &STEADY).layer(playing(&script));
    assert_eq!(clock.block_on(service.call("/")), Ok("page"));
    clock.assert_slept(&[SECOND, SECOND]);
}

#[test]
fn the_last_error_comes_back() {
    let clock = ManualClock::new();
    let script: Script<(), _> = Script::new([Err(1), Err(2), Err(3)]);
    let mut service = RetryLayer::on(clock.clone(), &STEADY).layer(playing(&script));
    assert_eq!(clock.block_on(service.call("/")), Err(3));
    assert!(script.is_done());
}

#[test]
fn a_response_may_be_a_failure_and_set_the_pace() {
    let clock = ManualClock::new();
    let script: Script<u16, ()> = Script::new([Ok(503), Ok(429), Ok(200)]);
    let layer =
        RetryLayer::on(clock.clone(), &STEADY).classify(|result: &Result<u16, ()>| match result {
            Ok(429) => Some(Verdict::RetryAfter(SECOND * 7)),
            Ok(500..) => Some(Verdict::Retry),
            _ => None,
        });
    assert_eq!(clock.block_on(layer.layer(playing(&script)).call("/")), Ok(200));
    clock.assert_slept(&[SECOND, SECOND * 7]);
}

#[test]
fn requests_of_one_layer_have_jitter_of_their_own() {
    const JITTERED: Policy = Backoff::constant(SECOND).full_jitter().attempts(2);
    let clock = ManualClock::new();
    let layer = RetryLayer::on(clock.clone(), &JITTERED);
    let mut service = layer.layer(service_fn(|_: ()| ready(Err::<(), _>(()))));
    for _ in 0..100 {
        assert!(clock.block_on(service.call(())).is_err());
    }
    let mut slept = clock.slept();
    slept.sort();
    slept.dedup();
    assert_eq!(slept.len(), 100);
}

#[test]
fn a_request_that_is_dropped_while_it_waits_gets_its_cost_back() {
    static BUDGET: Budget =
        Budget::builder().capacity(5.0).floor_per_second(0.0).deposit(0.1).build();
    let clock = ManualClock::new();
    let layer = RetryLayer::on(clock.clone(), &STEADY).budget(&BUDGET);
    let mut service = layer.layer(service_fn(|_: ()| ready(Err::<(), _>(()))));
    let mut future = Box::pin(service.call(()));
    let mut context = Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    assert_eq!(BUDGET.tokens(), 4.0);
    drop(future);
    assert_eq!(BUDGET.tokens(), 5.0);
}

/// Ready for the first request, broken for every later one.
#[derive(Clone)]
struct BreaksDown<'c>(&'c AtomicU32);

impl Service<()> for BreaksDown<'_> {
    type Response = ();
    type Error = &'static str;
    type Future = Ready<Result<(), &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match self.0.load(Ordering::Relaxed) {
            0 => Poll::Ready(Ok(())),
            _ => Poll::Ready(Err("broken")),
        }
    }

    fn call(&mut self, (): ()) -> Self::Future {
        self.0.fetch_add(1, Ordering::Relaxed);
        ready(Err("failed"))
    }
}

#[test]
fn a_service_that_breaks_down_between_attempts_ends_the_request() {
    static BUDGET: Budget =
        Budget::builder().capacity(5.0).floor_per_second(0.0).deposit(0.1).build();
    let (clock, calls) = (ManualClock::new(), AtomicU32::new(0));
    let layer = RetryLayer::on(clock.clone(), &STEADY).budget(&BUDGET);
    let service = layer.layer(BreaksDown(&calls));
    assert_eq!(clock.block_on(service.oneshot(())), Err("broken"));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(BUDGET.tokens(), 5.0); // the retry never happened
}

#[test]
fn a_delay_of_zero_yields_and_limits_hold() {
    let clock = ManualClock::new();
    let at_once = Backoff::none().unlimited();
    let layer = RetryLayer::on(clock.clone(), at_once).within(SECOND);
    let slow = service_fn(|_: ()| {
        let clock = clock.clone();
        async move {
            clock.sleep(Duration::from_millis(400)).await;
            Err::<(), _>("down")
        }
    });
    assert_eq!(clock.block_on(layer.layer(slow).call(())), Err("down"));
    assert_eq!(clock.elapsed(), Duration::from_millis(1200)); // three attempts, none after 1 s
    // The same words give the same delays in the layer as everywhere: none is drawn for nothing.
    assert_eq!(at_once.delays(SplitMix64::new(1)).next(), Some(Duration::ZERO));
}
