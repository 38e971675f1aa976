//! The layer for tower services.

use std::future::{Ready, ready};
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use redial::testing::{ManualClock, Script};
use redial::tower::RetryLayer;
use redial::{Backoff, Breaker, Budget, Clock, Error, Policy, SplitMix64, Verdict};
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

/// Everything that a layer shares is owned by it, so the service can be boxed and kept.
#[test]
fn a_service_that_owns_its_policy_budget_and_breaker_is_boxed() {
    use std::sync::Arc;
    use tower::util::BoxCloneSyncService;

    let (clock, budget) = (ManualClock::new(), Arc::new(Budget::new()));
    let breaker = Arc::new(Breaker::builder().failures(3).build());
    let layer = RetryLayer::on(clock.clone(), Arc::new(STEADY))
        .budget(Arc::clone(&budget))
        .breaker(Arc::clone(&breaker))
        .seed(42);
    let server = service_fn(|_: &'static str| ready(Err::<(), _>(std::io::Error::other("down"))));
    let mut service: BoxCloneSyncService<&'static str, (), Error<std::io::Error>> =
        BoxCloneSyncService::new(layer.layer(server));
    let failed = clock.block_on(service.call("/")).unwrap_err();
    assert!(matches!(failed, Error::Failed(error) if error.to_string() == "down"));
    let refused = clock.block_on(service.clone().call("/")).unwrap_err();
    assert!(matches!(refused, Error::BreakerOpen));
    clock.assert_slept(&[SECOND, SECOND]);
    assert!(budget.tokens() < 100.0);
}

/// A body that is a stream.
#[derive(Debug, PartialEq)]
struct Request {
    body: &'static str,
    can_be_sent_twice: bool,
}

#[test]
fn a_request_that_cannot_be_sent_twice_is_sent_once() {
    let sent = AtomicU32::new(0);
    let clock = ManualClock::new();
    let layer = RetryLayer::on(clock.clone(), &STEADY).try_clone(|request: &Request| {
        let Request { body, can_be_sent_twice } = *request;
        can_be_sent_twice.then_some(Request { body, can_be_sent_twice })
    });
    let mut service = layer.layer(service_fn(|request: Request| {
        sent.fetch_add(1, Ordering::Relaxed);
        ready(Err::<(), _>(request.body))
    }));
    let once = Request { body: "stream", can_be_sent_twice: false };
    assert_eq!(clock.block_on(service.call(once)), Err("stream"));
    assert_eq!(sent.swap(0, Ordering::Relaxed), 1);
    let often = Request { body: "text", can_be_sent_twice: true };
    assert_eq!(clock.block_on(service.call(often)), Err("text"));
    assert_eq!(sent.load(Ordering::Relaxed), 3);
    clock.assert_slept(&[SECOND, SECOND]);
}

#[test]
fn an_attempt_that_hangs_is_cut() {
    use std::future::{Future, pending};
    use std::pin::Pin;
    type Answer = Pin<Box<dyn Future<Output = Result<u8, &'static str>>>>;

    let (clock, calls) = (ManualClock::new(), std::cell::Cell::new(0));
    let mut heard = Vec::new();
    let server = service_fn(|_: ()| -> Answer {
        calls.set(calls.get() + 1);
        match calls.get() {
            1 => Box::pin(ready(Err("refused"))),
            2 => Box::pin(pending()),
            _ => Box::pin(ready(Ok(7))),
        }
    });
    let times = std::cell::RefCell::new(&mut heard);
    let layer = RetryLayer::on(clock.clone(), &STEADY).timeout(SECOND * 5).on_retry(
        |event: &redial::Event<'_, &str>| {
            times.borrow_mut().push((event.attempt, event.error.copied(), event.timed_out));
        },
    );
    assert_eq!(clock.block_on(layer.layer(server).call(())), Ok(7));
    assert_eq!(clock.elapsed(), SECOND * 7);
    assert_eq!(heard, [(1, Some("refused"), false), (2, None, true)]);

    let server = service_fn(|_: ()| pending::<Result<(), &str>>());
    let mut service = RetryLayer::on(clock.clone(), &STEADY).timeout(SECOND).layer(server);
    assert_eq!(clock.block_on(service.call(())), Err(Error::TimedOut(None)));
    let layer = RetryLayer::on(clock.clone(), &STEADY)
        .timeout(SECOND)
        .error_from(|_: redial::Interrupted<&'static str>| "timed out");
    assert_eq!(clock.block_on(layer.layer(server).call(())), Err("timed out"));
}

/// Real requests to a real server on loopback, by a client whose requests are not `Clone`.
#[cfg(feature = "tokio")]
#[tokio::test]
async fn a_client_of_reqwest_is_retried() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        for status in ["503 Busy", "200 OK"] {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    const AT_ONCE: Policy = Backoff::none().attempts(3);
    type Answer = Result<reqwest::Response, reqwest::Error>;
    let layer = RetryLayer::new(&AT_ONCE).try_clone(reqwest::Request::try_clone).classify(
        |result: &Answer| match result {
            Ok(response) if response.status().is_server_error() => Some(Verdict::Retry),
            Ok(_) => None,
            Err(_) => Some(Verdict::Stop),
        },
    );
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.get(format!("http://{address}/")).build().unwrap();
    let response = layer.layer(client).oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    server.join().unwrap();
}
