//! What redial does in a JavaScript host. Each exported function whose name is a sentence is a test;
//! `test.cjs` runs them all, and looks from outside at what a module cannot see of itself.

use std::future::{pending, poll_fn, ready};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue, StatusCode};
use redial::testing::{ManualClock, Script};
use redial::{
    Backoff, Breaker, Budget, Clock, Error, Policy, Random, Stop, ThreadRandom, Verdict, WasmClock,
    blocking, policy, retry, tries,
};
use wasm_bindgen::prelude::*;

const MILLI: Duration = Duration::from_millis(1);
const QUICK: Policy = policy!("retry: 2, delay: 5ms");

/// A panic becomes an exception with its words, and not a bare `unreachable`.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|panic| wasm_bindgen::throw_str(&panic.to_string())));
}

#[wasm_bindgen]
pub async fn a_call_waits_by_the_hosts_timer() {
    let started = WasmClock.now();
    let outcome = retry(QUICK, || ready(Err::<(), _>("down"))).outcome().await;
    assert_eq!(outcome.reason, Some(Stop::AttemptsSpent));
    assert_eq!((outcome.attempts, outcome.waited), (3, MILLI * 10));
    assert!(outcome.elapsed >= MILLI * 10, "{:?}", outcome.elapsed);
    assert!(WasmClock.now().since(started) >= outcome.elapsed);
}

#[wasm_bindgen]
pub async fn an_attempt_that_hangs_is_cut() {
    let script = Script::new([Err("refused"), Err("reset"), Ok("page")]);
    let call = retry(QUICK, || async {
        let answer = script.next().await;
        if answer == Err("reset") { pending().await } else { answer }
    });
    assert_eq!(call.timeout(MILLI * 5).await, Ok("page"));
}

#[wasm_bindgen]
pub async fn the_callers_own_loop_has_the_hosts_clock_too() {
    let mut tries = tries(QUICK).within(MILLI * 60_000);
    while tries.failed("down").await.is_ok() {}
    assert_eq!((tries.attempt() - 1, tries.reason()), (3, Some(Stop::AttemptsSpent)));
}

#[wasm_bindgen]
pub async fn many_calls_wait_side_by_side() {
    let calls: Vec<_> = (0..100)
        .map(|n| {
            let (policy, sent) = (Backoff::constant(MILLI * 5).full_jitter().attempts(3), n);
            wasm_bindgen_futures::spawn_local(async move {
                assert_eq!(retry(policy, || ready(Err::<(), _>(sent))).await, Err(sent));
            });
            WasmClock.sleep(MILLI * n)
        })
        .collect();
    for call in calls {
        call.await;
    }
}

#[wasm_bindgen]
pub async fn a_deadline_ends_a_call() {
    let call = retry(Backoff::constant(MILLI * 2).unlimited(), || ready(Err::<(), _>(())));
    let outcome = call.within(MILLI * 9).outcome().await;
    assert_eq!(outcome.reason, Some(Stop::Deadline));
    assert!((1..=5).contains(&outcome.attempts), "{outcome:?}");
}

#[wasm_bindgen]
pub async fn budgets_and_breakers_have_the_hosts_time() {
    let budget = Budget::builder().capacity(1.0).deposit(0.0).build();
    let call = retry(QUICK, || ready(Err::<(), _>("down"))).budget(&budget);
    let outcome = call.outcome().await;
    assert_eq!((outcome.attempts, outcome.reason), (2, Some(Stop::Budget)));

    let breaker = Breaker::builder().failures(1).recovery(MILLI * 3_600_000).build();
    let fail = || retry(Backoff::none().attempts(1), || ready(Err::<(), _>(()))).breaker(&breaker);
    assert_eq!(fail().await, Err(Error::Failed(())));
    assert_eq!(fail().await, Err(Error::BreakerOpen));
}

#[wasm_bindgen]
pub fn a_number_of_seconds_needs_no_clock() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("5"));
    let verdict = redial::http::verdict(StatusCode::SERVICE_UNAVAILABLE, &headers);
    assert_eq!(verdict, Verdict::RetryAfter(Duration::from_secs(5)));
}

/// `now` is the time of day in milliseconds, as the host has it.
#[wasm_bindgen]
pub fn wait_asked(now: f64, seconds: u32) -> f64 {
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now as u64);
    let date = httpdate::fmt_http_date(now + Duration::from_secs(seconds.into()));
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_str(&date).expect("a date"));
    redial::http::retry_after(&headers).expect("a wait").as_secs_f64()
}

#[wasm_bindgen]
pub fn a_manual_clock_needs_no_host() {
    let clock = ManualClock::new();
    let result = clock.block_on(retry(QUICK, || ready(Err::<(), _>("down"))).clock(&clock));
    assert_eq!(result, Err("down"));
    let call = blocking::call(QUICK, |attempt| Err::<(), _>(attempt.number)).clock(&clock);
    assert_eq!(call.run(), Err(3));
    clock.assert_slept(&[MILLI * 5; 4]);
}

/// Code that is built for other targets, too, asks for it.
#[wasm_bindgen]
pub fn a_call_is_send() {
    fn is_send(_: impl Future + Send) {}
    is_send(retry(QUICK, || ready(Err::<(), _>("down"))).timeout(MILLI));
}

/// The first word of chance in this instance.
#[wasm_bindgen]
pub fn word() -> u64 {
    ThreadRandom.word()
}

/// Sleeps, and gives the milliseconds that it took by the clock.
#[wasm_bindgen]
pub async fn sleep(milliseconds: u32) -> f64 {
    let started = WasmClock.now();
    WasmClock.sleep(MILLI * milliseconds).await;
    WasmClock.now().since(started).as_secs_f64() * 1e3
}

/// Begins a sleep of so many days, and drops it.
#[wasm_bindgen]
pub async fn begin_to_sleep(days: u32) {
    let mut sleep = pin!(WasmClock.sleep(Duration::from_secs(86_400) * days));
    poll_fn(|context| {
        assert!(sleep.as_mut().poll(context).is_pending());
        assert!(sleep.as_mut().poll(context).is_pending(), "polled again, it waits on");
        Poll::Ready(())
    })
    .await;
}
