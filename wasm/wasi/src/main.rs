//! What holds on wasm32-wasip1: everything that needs no thread. There the clock, the sleep and the
//! chance of the standard library work, and so does tokio's timer on one thread.

use std::future::{pending, ready};
use std::time::{Duration, Instant, SystemTime};

use http::{HeaderMap, HeaderValue};
use redial::{
    Backoff, Error, Policy, Random, ThreadRandom, blocking, http::retry_after, policy, retry,
};

const QUICK: Policy = policy!("retry: 2, delay: 5ms");

fn main() {
    let started = Instant::now();
    assert_eq!(blocking::retry(QUICK, || Err::<(), _>("down")), Err("down"));
    assert!(started.elapsed() >= Duration::from_millis(10));

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let outcome = retry(QUICK, || ready(Err::<(), _>("down"))).outcome().await;
        assert_eq!((outcome.attempts, outcome.waited), (3, Duration::from_millis(10)));
        assert!(outcome.elapsed >= Duration::from_millis(10));

        let hangs = retry(Backoff::none().attempts(1), || pending::<Result<(), ()>>());
        assert_eq!(hangs.timeout(Duration::from_millis(5)).await, Err(Error::TimedOut(None)));
    });

    let in_a_minute = SystemTime::now() + Duration::from_secs(60);
    let mut headers = HeaderMap::new();
    let date = HeaderValue::from_str(&httpdate::fmt_http_date(in_a_minute));
    headers.insert("retry-after", date.expect("a date"));
    let asked = retry_after(&headers).expect("a wait").as_secs();
    assert!((1..=60).contains(&asked), "{asked}");

    // The first word of this process: whoever started it looks whether another's differs.
    println!("{}", ThreadRandom.word());
}
