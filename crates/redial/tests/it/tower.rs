//! The layer for tower services.

use std::future::{Future, Ready, ready};
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

/// Ready for the first request, and then not before `ready_at`.
struct Recovers<'c, T, E> {
    clock: &'c ManualClock,
    ready_at: Duration,
    script: &'c Script<T, E>,
    waiting: Option<<ManualClock as Clock>::Sleep>,
}

impl<T, E> Clone for Recovers<'_, T, E> {
    fn clone(&self) -> Self {
        Self { waiting: None, ..*self }
    }
}

impl<T: Clone, E: Clone> Service<()> for Recovers<'_, T, E> {
    type Response = T;
    type Error = E;
    type Future = Ready<Result<T, E>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), E>> {
        let left = self.ready_at.saturating_sub(self.clock.elapsed());
        if self.clock.elapsed().is_zero() || left.is_zero() {
            return Poll::Ready(Ok(()));
        }
        let waiting = self.waiting.get_or_insert_with(|| self.clock.sleep(left));
        std::pin::Pin::new(waiting).poll(context).map(Ok)
    }

    fn call(&mut self, (): ()) -> Self::Future {
        self.script.next()
    }
}

/// The deadline counts while a service is not ready, too: nothing is sent after it, what was paid is
/// given back, and the last result is the request's.
#[test]
fn a_service_that_is_ready_after_the_deadline_is_not_called() {
    for (ready_at, elapsed, left) in [(4, 4, 0), (5, 5, 1), (60, 5, 1)] {
        let budget = Budget::builder().capacity(5.0).floor_per_second(0.0).deposit(0.1).build();
        let script: Script<u16, &str> = Script::new([Ok(503), Ok(200)]);
        let clock = ManualClock::new();
        let layer = RetryLayer::on(&clock, &STEADY)
            .classify(|result: &Result<u16, &str>| {
                matches!(result, Ok(503) | Err(_)).then_some(Verdict::Retry)
            })
            .budget(&budget)
            .within(SECOND * 5);
        let ready_at = SECOND * ready_at;
        let service = Recovers { clock: &clock, ready_at, script: &script, waiting: None };
        let status = clock.block_on(layer.layer(service).call(()));
        assert_eq!(status, Ok(if left == 0 { 200 } else { 503 }), "ready at {ready_at:?}");
        assert_eq!(clock.elapsed(), SECOND * elapsed);
        assert_eq!(budget.tokens(), f64::from(4 + left));
    }
    // An error comes back as it was, by itself or under a guard; a timeout holds the error before.
    let failing = |guarded| {
        let clock = ManualClock::new();
        let script: Script<(), &str> = Script::new([Err("down"), Err("again")]);
        let ready_at = SECOND * 60;
        let service = Recovers { clock: &clock, ready_at, script: &script, waiting: None };
        let layer = RetryLayer::on(&clock, &STEADY).within(SECOND * 5);
        match guarded {
            false => clock.block_on(layer.layer(service).call(())).map_err(Error::Failed),
            true => clock.block_on(layer.timeout(SECOND).layer(service).call(())),
        }
    };
    assert_eq!(failing(false), Err(Error::Failed("down")));
    assert_eq!(failing(true), Err(Error::Failed("down")));
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

/// A budget and a breaker that the layer owns are one for all its services and their clones.
#[test]
fn a_layer_that_owns_its_budget_and_breaker_shares_them() {
    let clock = ManualClock::new();
    let budget = Budget::builder().capacity(3.0).floor_per_second(0.0).deposit(0.1).build();
    let breaker = Breaker::builder().failures(6).build();
    let layer = RetryLayer::on(&clock, STEADY).budget(budget).breaker(breaker);
    let sent = AtomicU32::new(0);
    let server = service_fn(|_: ()| {
        sent.fetch_add(1, Ordering::Relaxed);
        ready(Err::<(), _>("down"))
    });
    let mut service = layer.clone().layer(server);
    let mut other = layer.layer(server);
    let sent_for = |service: &mut dyn FnMut() -> Result<(), Error<&'static str>>| {
        let error = service().unwrap_err();
        (sent.swap(0, Ordering::Relaxed), error)
    };
    let failed = Error::Failed("down");
    assert_eq!(sent_for(&mut || clock.block_on(service.call(()))), (3, failed));
    assert_eq!(sent_for(&mut || clock.block_on(other.call(()))), (2, failed)); // one token was left
    assert_eq!(sent_for(&mut || clock.block_on(service.clone().call(()))), (1, failed));
    assert_eq!(sent_for(&mut || clock.block_on(other.call(()))), (0, Error::BreakerOpen));
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

/// A service that fails says so to the breaker, also where its requests cannot be sent again. What
/// would not have been retried anyway says nothing.
#[test]
fn the_failure_of_a_request_that_is_sent_once_counts_for_the_breaker() {
    type Answer = Result<u16, &'static str>;
    let opens = |answer: Option<Answer>| {
        let (clock, breaker) = (ManualClock::new(), Breaker::builder().failures(1).build());
        let layer = RetryLayer::on(&clock, &STEADY)
            .try_clone(|_: &()| None)
            .classify(|result: &Answer| match result {
                Ok(503) | Err("reset") => Some(Verdict::Retry),
                Ok(_) => None,
                Err(_) => Some(Verdict::Stop),
            })
            .policy_when(|error: &&str| *error == "throttled", &STEADY)
            .breaker(&breaker)
            .timeout(SECOND);
        let server = service_fn(|()| async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        });
        let result = clock.block_on(layer.layer(server).call(()));
        match answer {
            Some(answer) => assert_eq!(result, answer.map_err(Error::Failed)),
            None => assert_eq!(result, Err(Error::TimedOut(None))),
        }
        breaker.admit(|| clock.now()).is_none()
    };
    assert!(opens(Some(Ok(503))));
    assert!(opens(Some(Err("reset"))));
    assert!(opens(Some(Err("throttled"))));
    assert!(opens(None));
    assert!(!opens(Some(Ok(200))));
    assert!(!opens(Some(Err("denied"))));
}

#[test]
fn an_attempt_that_hangs_is_cut() {
    use std::future::pending;
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

/// A `POST` may have been processed when the answer is 502, or does not come at all.
#[cfg(feature = "http")]
#[test]
fn a_request_that_must_not_be_processed_twice_is_not_sent_after_it_may_have_been() {
    use http::{HeaderMap, Method};
    use redial::http::{is_idempotent, response_to};
    type Request = http::Request<()>;
    type Answer = Result<http::Response<()>, &'static str>;

    let sent = |method: Method, key: bool, answer: Option<Result<u16, &'static str>>| {
        let (clock, sent) = (ManualClock::new(), AtomicU32::new(0));
        let layer = RetryLayer::on(&clock, &STEADY)
            .timeout_verdict_for(|request: &Request| {
                match is_idempotent(request.method(), request.headers()) {
                    true => Verdict::Retry,
                    false => Verdict::Stop,
                }
            })
            .classify_request(|request: &Request| {
                let (method, headers) = (request.method().clone(), request.headers().clone());
                move |result: &Answer| match result {
                    Ok(answer) => response_to(&method, &headers, answer.status(), answer.headers()),
                    Err("refused") => Some(Verdict::Retry),
                    Err(_) if is_idempotent(&method, &headers) => Some(Verdict::Retry),
                    Err(_) => Some(Verdict::Stop),
                }
            })
            .on_retry(|event: &redial::Event<'_, &str>| assert!(event.attempt < 3))
            .timeout(SECOND);
        let server = service_fn(|_: Request| {
            sent.fetch_add(1, Ordering::Relaxed);
            async move {
                let status = match answer {
                    Some(answer) => answer?,
                    None => std::future::pending().await,
                };
                Ok::<_, &str>(http::Response::builder().status(status).body(()).unwrap())
            }
        });
        let mut headers = HeaderMap::new();
        if key {
            headers.insert("idempotency-key", http::HeaderValue::from_static("9c8b"));
        }
        let mut request = Request::new(());
        (*request.method_mut(), *request.headers_mut()) = (method, headers);
        let _ = clock.block_on(layer.layer(server).call(request));
        sent.load(Ordering::Relaxed)
    };
    for (answer, post) in [
        (Some(Ok(502)), 1),
        (Some(Err("reset")), 1),
        (None, 1),
        (Some(Ok(429)), 3),
        (Some(Err("refused")), 3),
    ] {
        assert_eq!(sent(Method::POST, false, answer), post, "POST, {answer:?}");
        assert_eq!(sent(Method::POST, true, answer), 3, "POST with a key, {answer:?}");
        assert_eq!(sent(Method::GET, false, answer), 3, "GET, {answer:?}");
    }
    assert_eq!(sent(Method::GET, false, Some(Ok(200))), 1);
}

#[test]
fn a_timeout_may_be_final_in_the_layer() {
    let (clock, sent) = (ManualClock::new(), AtomicU32::new(0));
    let layer = RetryLayer::on(&clock, &STEADY).timeout(SECOND).timeout_verdict(Verdict::Stop);
    let server = service_fn(|()| {
        sent.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<Result<(), &str>>()
    });
    assert_eq!(clock.block_on(layer.layer(server).call(())), Err(Error::TimedOut(None)));
    assert_eq!(sent.load(Ordering::Relaxed), 1);
}

/// Layers of tower's own give `BoxError`, and take what turns into one.
#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn a_boxed_error_stays_one_between_layers_of_towers_own() {
    use tower::{BoxError, ServiceBuilder};
    let server = service_fn(|hangs: bool| async move {
        if hangs { std::future::pending().await } else { Err::<(), _>(BoxError::from("down")) }
    });
    let breaker = std::sync::Arc::new(Breaker::builder().failures(6).build());
    let layer = RetryLayer::new(&STEADY).keep_error().breaker(breaker).timeout(SECOND * 2);
    let mut service = ServiceBuilder::new()
        .timeout(SECOND * 60)
        .layer(layer)
        .timeout(SECOND * 50)
        .service(server);
    let mut call = async |hangs| service.ready().await.unwrap().call(hangs).await.unwrap_err();
    assert_eq!(call(false).await.to_string(), "down");
    let timed_out = call(true).await;
    assert!(timed_out.is::<redial::Interrupted<BoxError>>(), "{timed_out}");
    assert_eq!(call(true).await.to_string(), "the circuit breaker is open");
}
