//! What compiles: futures that are `Send` where the operation is, borrowed state, every way to hand
//! over a policy, a budget or a breaker. Most of these tests have done their work when they build.

use std::cell::Cell;
use std::future::{Future, IntoFuture, ready};
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use redial::testing::{ManualClock, Script};
use redial::{
    AsPolicy, Backoff, Breaker, Budget, Error, Policy, Random, Schedule, Source, Verdict, blocking,
    policy, retry, tries_on,
};

const SECOND: Duration = Duration::from_secs(1);
const QUICK: Policy = policy!("retry: 2, delay: 1s");
static BUDGET: Budget = Budget::new();
static BREAKER: Breaker = Breaker::new();

fn assert_send<T: Send>(value: T) -> T {
    value
}

fn assert_static<T: 'static>(value: T) -> T {
    value
}

/// A client as most are: its futures borrow it.
struct Client {
    calls: std::sync::atomic::AtomicU32,
}

#[derive(Debug, PartialEq)]
struct Down;

impl std::fmt::Display for Down {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Down {}

impl Client {
    fn new() -> Self {
        Self { calls: 0.into() }
    }

    async fn get(&self, url: &str) -> Result<String, Down> {
        let call = self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        // An await, so that what is borrowed is held across one.
        ready(()).await;
        if call < 2 { Err(Down) } else { Ok(url.to_owned()) }
    }
}

#[test]
fn an_operation_may_borrow() {
    let (client, url, clock) = (Client::new(), String::from("/"), ManualClock::new());
    let call = retry(&QUICK, || client.get(&url)).clock(&clock).into_future();
    assert_eq!(clock.block_on(assert_send(call)), Ok("/".to_owned()));
}

#[test]
fn an_operation_may_own() {
    let clock = ManualClock::new();
    let client = Arc::new(Client::new());
    let operation = move || {
        let client = Arc::clone(&client);
        async move { client.get("/").await }
    };
    let call = retry(QUICK, operation).clock(clock.clone()).into_future();
    assert_eq!(clock.block_on(assert_static(assert_send(call))), Ok("/".to_owned()));
}

#[test]
fn an_operation_may_be_an_async_closure() {
    let (client, clock) = (Client::new(), ManualClock::new());
    let call = retry(&QUICK, async || client.get("/").await).clock(&clock).into_future();
    assert_eq!(clock.block_on(assert_send(call)), Ok("/".to_owned()));
    let call = retry(&QUICK, async || Ok::<_, ()>(1)).clock(&clock).into_future();
    assert_eq!(clock.block_on(assert_send(call)), Ok(1));
}

#[test]
fn an_operation_may_be_a_function() {
    async fn fetch() -> Result<u8, Down> {
        Ok(7)
    }
    let clock = ManualClock::new();
    let call = retry(QUICK, fetch).clock(clock.clone()).into_future();
    assert_eq!(clock.block_on(assert_static(assert_send(call))), Ok(7));
    assert_eq!(blocking::retry(QUICK, || Ok::<_, ()>(7)), Ok(7));
}

#[test]
fn an_operation_may_count() {
    let clock = ManualClock::new();
    let mut calls = 0;
    let operation = || {
        calls += 1;
        ready(if calls < 3 { Err("flaky") } else { Ok(calls) })
    };
    let call = retry(&QUICK, operation).clock(&clock).into_future();
    assert_eq!(clock.block_on(assert_send(call)), Ok(3));
}

#[test]
fn every_option_leaves_it_send() {
    let (client, clock) = (Client::new(), ManualClock::new());
    let (budget, breaker) = (Budget::new(), Breaker::new());
    let mut heard = 0;
    let call = retry(&QUICK, || client.get("/"))
        .clock(&clock)
        .classify(|_| Verdict::Retry)
        .on_retry(|_| heard += 1)
        .timeout(SECOND)
        .timeout_verdict(Verdict::Stop)
        .within(SECOND * 60)
        .wait_budget(SECOND * 60)
        .max_retry_after(SECOND)
        .tolerance(SECOND)
        .name("fetch")
        .budget(&budget)
        .breaker(&breaker)
        .seed(42);
    let outcome = clock.block_on(assert_send(call.outcome()));
    assert_eq!((outcome.result, outcome.attempts), (Ok("/".to_owned()), 3));
    assert_eq!(heard, 2);
}

/// The error is judged and dropped before the wait; only the last one is kept, and it is returned.
#[test]
fn an_error_that_is_not_send_is_fine_in_a_plain_call() {
    let clock = ManualClock::new();
    let call = retry(&QUICK, || async { Err::<(), Rc<str>>("down".into()) })
        .clock(&clock)
        .when(|error| &**error == "down")
        .on_retry(|event| assert!(event.error.is_some()))
        .within(SECOND * 60)
        .budget(&BUDGET)
        .seed(1);
    assert_eq!(clock.block_on(assert_send(call.into_future())), Err("down".into()));
}

#[test]
fn a_value_that_is_not_send_is_fine_too() {
    let clock = ManualClock::new();
    let call = retry(&QUICK, || async { Ok::<_, ()>(Rc::new(1)) }).clock(&clock);
    assert_eq!(clock.block_on(assert_send(call.into_future())), Ok(Rc::new(1)));
}

/// Whether a type is `Send`, as a value: where it is, the method of the type itself comes first.
struct Probe<T>(PhantomData<T>);

trait NotSend {
    fn is_send(&self) -> bool {
        false
    }
}

impl<T> NotSend for Probe<T> {}

impl<T: Send> Probe<T> {
    fn is_send(&self) -> bool {
        true
    }
}

fn probe<T>(_: &T) -> Probe<T> {
    Probe(PhantomData)
}

fn call_with_send_operation(clock: &ManualClock) -> impl Future<Output = Result<u8, ()>> {
    retry(&QUICK, || ready(Ok(1))).clock(clock).into_future()
}

fn call_with_local_operation(clock: &ManualClock) -> impl Future<Output = Result<u8, ()>> {
    let local = Rc::new(1);
    let operation = move || {
        let local = Rc::clone(&local);
        async move { Ok(*local) }
    };
    retry(&QUICK, operation).clock(clock).into_future()
}

/// So that the assertions above are known to assert something.
#[test]
fn an_operation_that_is_not_send_makes_a_call_that_is_not() {
    let clock = ManualClock::new();
    assert!(probe(&call_with_send_operation(&clock)).is_send());
    let local = call_with_local_operation(&clock);
    assert!(!probe(&local).is_send());
    assert_eq!(clock.block_on(local), Ok(1));
}

#[test]
fn a_call_may_be_boxed_as_in_a_trait() {
    trait Fetch {
        fn fetch<'a>(
            &'a self,
            url: &'a str,
        ) -> Pin<Box<dyn Future<Output = Result<String, Down>> + Send + 'a>>;
    }
    struct Retried {
        client: Client,
        clock: ManualClock,
    }
    impl Fetch for Retried {
        fn fetch<'a>(
            &'a self,
            url: &'a str,
        ) -> Pin<Box<dyn Future<Output = Result<String, Down>> + Send + 'a>> {
            let call = retry(&QUICK, move || self.client.get(url)).clock(&self.clock);
            Box::pin(call.into_future())
        }
    }
    let retried = Retried { client: Client::new(), clock: ManualClock::new() };
    let dynamic: &dyn Fetch = &retried;
    assert_eq!(retried.clock.block_on(dynamic.fetch("/")), Ok("/".to_owned()));
}

#[test]
fn an_operation_may_give_boxed_futures() {
    type Boxed<'a> = Pin<Box<dyn Future<Output = Result<String, Down>> + Send + 'a>>;
    let (client, clock) = (Client::new(), ManualClock::new());
    let operation = || -> Boxed<'_> { Box::pin(client.get("/")) };
    let call = retry(&QUICK, operation).clock(&clock).timeout(SECOND).into_future();
    assert_eq!(clock.block_on(assert_send(call)), Ok("/".to_owned()));
}

/// A connection that an attempt needs to itself, and a buffer that it fills.
struct Connection {
    reads: u8,
}

impl Connection {
    async fn read(&mut self, buffer: &mut Vec<u8>) -> Result<usize, Down> {
        self.reads += 1;
        ready(()).await;
        buffer.push(self.reads);
        if self.reads < 3 { Err(Down) } else { Ok(buffer.len()) }
    }
}

#[test]
fn the_callers_own_loop_may_mutate_whatever_it_likes() {
    let clock = ManualClock::new();
    let (mut connection, mut buffer) = (Connection { reads: 0 }, Vec::new());
    let read = async {
        let mut tries = tries_on(&clock, &QUICK).within(SECOND * 60).budget(&BUDGET).seed(1);
        loop {
            match connection.read(&mut buffer).await {
                Ok(length) => break Ok(length),
                Err(error) => tries.failed(error).await?,
            }
        }
    };
    assert_eq!(clock.block_on(assert_send(read)), Ok::<_, Down>(3));
    assert_eq!(buffer, [1, 2, 3]);
}

// Policies. That a reference will do is the point, though they are `Copy`.

/// Retried, whatever the policy is handed over as: one line for each loop.
#[track_caller]
fn check_policy<P: AsPolicy + Copy>(policy: P, millis: &[u64]) {
    let expected: Vec<_> = millis.iter().map(|millis| Duration::from_millis(*millis)).collect();
    let clock = ManualClock::new();
    let failed = blocking::call(policy, |_| Err::<(), _>("down")).clock(&clock).run();
    assert_eq!(failed, Err("down"));
    clock.assert_slept(&expected);

    let clock = ManualClock::new();
    let call = retry(policy, || ready(Err::<(), _>("down"))).clock(&clock);
    assert_eq!(clock.block_on(call.into_future()), Err("down"));
    clock.assert_slept(&expected);

    let clock = ManualClock::new();
    clock.block_on(async {
        let mut tries = tries_on(&clock, policy);
        while tries.failed("down").await.is_ok() {}
    });
    clock.assert_slept(&expected);
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "a reference is what is tested")]
fn a_policy_may_be_given_by_value_or_by_reference() {
    check_policy(QUICK, &[1000, 1000]);
    check_policy(&QUICK, &[1000, 1000]);
    check_policy(&&QUICK, &[1000, 1000]);
    let shared = Arc::new(QUICK);
    check_policy(&*shared, &[1000, 1000]);
}

/// A policy that the program keeps in a type of its own.
#[derive(Clone, Copy)]
struct Configured {
    policy: Policy,
}

impl AsPolicy for Configured {
    type Source = Source;

    fn as_policy(&self) -> &Policy {
        &self.policy
    }
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "a reference is what is tested")]
fn a_type_of_the_users_own_may_stand_for_a_policy() {
    check_policy(Configured { policy: QUICK }, &[1000, 1000]);
    check_policy(&Configured { policy: QUICK }, &[1000, 1000]);
    let dynamic: &dyn AsPolicy<Source = Source> = &Configured { policy: QUICK };
    check_policy(dynamic, &[1000, 1000]);
}

#[derive(Clone, Copy)]
struct Squares;

impl Schedule for Squares {
    fn delay(&self, n: u32, _previous: Duration, _random: &mut impl Random) -> Duration {
        SECOND * (n + 1).pow(2)
    }
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "a reference is what is tested")]
fn a_schedule_of_the_users_own_runs_in_every_loop() {
    const POLICY: Policy<Squares> = Backoff::new(Squares).max(SECOND.saturating_mul(5)).attempts(4);
    check_policy(POLICY, &[1000, 4000, 5000]);
    check_policy(&POLICY, &[1000, 4000, 5000]);
    let step = Duration::from_millis(10);
    let from_fn = Backoff::from_fn(|n| step * n).min(step).attempts(4);
    check_policy(&from_fn, &[10, 10, 20]);
    check_policy(from_fn, &[10, 10, 20]);
}

/// The words of the call reach a schedule that asks for them, and what it gave last does too.
#[test]
fn a_schedule_with_chance_and_memory_runs_in_every_loop() {
    #[derive(Clone, Copy)]
    struct Climbing;
    impl Schedule for Climbing {
        fn delay(&self, _n: u32, previous: Duration, random: &mut impl Random) -> Duration {
            previous + Duration::from_millis(1 + random.word() % 10)
        }
    }
    let policy = Backoff::new(Climbing).attempts(5);
    let foretold: Vec<_> = policy.delays(redial::SplitMix64::new(7)).collect();
    assert!(foretold.is_sorted() && foretold[0] < foretold[3]);
    let clock = ManualClock::new();
    let _ = blocking::call(policy, |_| Err::<(), _>(())).seed(7).clock(&clock).run();
    clock.assert_slept(&foretold);
    let clock = ManualClock::new();
    let call = retry(policy, || ready(Err::<(), _>(()))).clock(&clock).seed(7);
    let _ = clock.block_on(assert_send(call.into_future()));
    clock.assert_slept(&foretold);
}

// What calls share.

#[test]
fn a_budget_may_be_static_borrowed_or_shared() {
    let (local, shared) = (Budget::new(), Arc::new(Budget::new()));
    let clock = ManualClock::new();
    let call = || retry(QUICK, || ready(Ok::<_, ()>(1))).clock(clock.clone());
    let lasting = assert_static(call().budget(&BUDGET).into_future());
    assert_eq!(clock.block_on(assert_send(lasting)), Ok(1));
    assert_eq!(clock.block_on(assert_send(call().budget(&local).into_future())), Ok(1));
    assert_eq!(clock.block_on(assert_send(call().budget(&shared).into_future())), Ok(1));
    let blocking = || blocking::call(QUICK, |_| Ok::<_, ()>(1));
    assert_eq!(blocking().budget(&BUDGET).run(), Ok(1));
    assert_eq!(blocking().budget(&local).run(), Ok(1));
    assert_eq!(blocking().budget(&shared).run(), Ok(1));
}

#[test]
fn a_breaker_may_be_static_borrowed_or_shared() {
    let (local, shared) = (Breaker::new(), Arc::new(Breaker::new()));
    let clock = ManualClock::new();
    let call = || retry(QUICK, || ready(Ok::<_, ()>(1))).clock(clock.clone());
    let lasting = assert_static(call().breaker(&BREAKER).into_future());
    assert_eq!(clock.block_on(assert_send(lasting)), Ok(1));
    assert_eq!(clock.block_on(assert_send(call().breaker(&local).into_future())), Ok(1));
    assert_eq!(clock.block_on(assert_send(call().breaker(&shared).into_future())), Ok(1));
    let blocking = || blocking::call(QUICK, |_| Ok::<_, ()>(1));
    assert_eq!(blocking().breaker(&BREAKER).run(), Ok(1));
    assert_eq!(blocking().breaker(&local).run(), Ok(1));
    assert_eq!(blocking().breaker(&shared).run(), Ok(1));
}

/// Options may come in any order: the last word on each counts.
#[test]
fn options_may_come_in_any_order_and_be_said_twice() {
    let clock = ManualClock::new();
    let breaker = Breaker::new();
    let calls = Cell::new(0);
    let operation = || {
        calls.set(calls.get() + 1);
        std::future::pending::<Result<(), ()>>()
    };
    let call = retry(Backoff::none().unlimited(), operation)
        .clock(&clock)
        .seed(1)
        .within(SECOND * 60)
        .timeout(SECOND)
        .breaker(&breaker)
        .timeout(SECOND * 2)
        .within(SECOND * 5)
        .name("twice");
    assert_eq!(clock.block_on(call.into_future()), Err(Error::TimedOut(None)));
    assert_eq!((calls.get(), clock.elapsed()), (3, SECOND * 5));
}

#[test]
fn what_can_be_printed_for_debugging_is() {
    let call = retry(&QUICK, || ready(Ok::<_, ()>(1)));
    assert_eq!(format!("{call:?}"), "Retry { .. }");
    let call = blocking::call(&QUICK, |_| Ok::<_, ()>(1));
    assert_eq!(format!("{call:?}"), "Retry { .. }");
    let script: Script<(), ()> = Script::new([Ok(())]);
    assert_eq!(format!("{script:?}"), "Script { calls: 0, .. }");
}
