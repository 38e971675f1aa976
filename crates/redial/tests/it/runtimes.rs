//! The loops on real clocks and other runtimes. Real time passes here, in milliseconds.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use redial::testing::ManualClock;
use redial::{Backoff, Clock, Policy, Stop, Time, blocking, policy, retry, tries_on};

const MILLI: Duration = Duration::from_millis(1);
const QUICK: Policy = policy!("retry: 2, delay: 2ms");

/// An operation that fails twice.
#[derive(Default)]
struct Flaky(AtomicU32);

impl Flaky {
    fn call(&self) -> Result<u32, &'static str> {
        match self.0.fetch_add(1, Ordering::Relaxed) {
            call @ 0..2 => Err(["refused", "reset"][call as usize]),
            call => Ok(call + 1),
        }
    }
}

/// A clock for smol, as a user would write it.
#[derive(Clone, Copy)]
struct SmolClock {
    start: Instant,
}

impl SmolClock {
    fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SmolClock {
    type Sleep = smol::future::Boxed<()>;

    fn now(&self) -> Time {
        Time::ZERO.after(self.start.elapsed())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        Box::pin(async move {
            smol::Timer::after(duration).await;
        })
    }
}

/// The second of three attempts hangs, and is cut.
async fn hang_once(calls: &AtomicU32) -> Result<u32, &'static str> {
    match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Err("refused"),
        1 => std::future::pending().await,
        call => Ok(call + 1),
    }
}

#[test]
fn smol_with_a_clock_of_the_users_own() {
    let (flaky, started) = (Flaky::default(), Instant::now());
    let clock = SmolClock::new();
    let call = async { retry(&QUICK, || ready(flaky.call())).clock(clock).await };
    assert_eq!(smol::block_on(call), Ok(3));
    assert!(started.elapsed() >= MILLI * 4);

    let calls = AtomicU32::new(0);
    let outcome = smol::block_on(async {
        retry(&QUICK, || hang_once(&calls)).clock(clock).timeout(MILLI * 5).outcome().await
    });
    assert_eq!((outcome.result, outcome.waited), (Ok(3), MILLI * 4));
    assert!(outcome.elapsed >= MILLI * 9, "{:?}", outcome.elapsed);

    let attempts = smol::block_on(async {
        let mut tries = tries_on(clock, QUICK).within(Duration::from_secs(60));
        while tries.failed("down").await.is_ok() {}
        tries.attempt() - 1
    });
    assert_eq!(attempts, 3);
}

#[test]
fn a_task_of_smols_executor() {
    let task = smol::spawn(async {
        let calls = Arc::new(AtomicU32::new(0));
        let operation = move || {
            let calls = Arc::clone(&calls);
            async move { hang_once(&calls).await.map_err(str::len) }
        };
        retry(QUICK, operation).clock(SmolClock::new()).timeout(MILLI * 5).await
    });
    assert_eq!(smol::block_on(task), Ok(3));
}

#[test]
fn no_runtime_at_all() {
    let (flaky, clock) = (Flaky::default(), ManualClock::new());
    let call = async { retry(&QUICK, || ready(flaky.call())).clock(&clock).await };
    assert_eq!(clock.block_on(call), Ok(3));
    clock.assert_slept(&[MILLI * 2; 2]);
}

#[test]
fn a_thread_really_sleeps() {
    let (flaky, started) = (Flaky::default(), Instant::now());
    assert_eq!(blocking::retry(QUICK, || flaky.call()), Ok(3));
    assert!(started.elapsed() >= MILLI * 4);

    let outcome =
        blocking::call(Backoff::constant(MILLI * 2).unlimited(), |_| Err::<(), _>("down"))
            .within(MILLI * 7)
            .outcome();
    assert_eq!(outcome.reason, Some(Stop::Deadline));
    assert!((1..=4).contains(&outcome.attempts), "{outcome:?}");
    assert!(outcome.elapsed >= outcome.waited);
}

#[cfg(feature = "tokio")]
mod on_tokio {
    use std::future::Future;

    use redial::{Breaker, Budget, Error, TokioClock};

    use super::*;

    /// A call that is refused, hangs, and succeeds; one whose time is up; and how long they took.
    async fn calls() {
        let calls = AtomicU32::new(0);
        let started = Instant::now();
        let outcome = retry(&QUICK, || hang_once(&calls)).timeout(MILLI * 5).outcome().await;
        assert_eq!((outcome.result, outcome.waited), (Ok(3), MILLI * 4));
        assert!(outcome.elapsed >= MILLI * 9 && outcome.elapsed <= started.elapsed());

        let outcome = retry(Backoff::constant(MILLI * 2).unlimited(), || ready(Err::<(), _>(1)))
            .within(MILLI * 7)
            .outcome()
            .await;
        assert_eq!(outcome.reason, Some(Stop::Deadline));
        assert!((1..=4).contains(&outcome.attempts), "{outcome:?}");
    }

    fn on(mut runtime: tokio::runtime::Builder, future: impl Future<Output = ()>) {
        runtime.enable_time().build().expect("a runtime").block_on(future);
    }

    #[test]
    fn tokio_on_one_thread() {
        on(tokio::runtime::Builder::new_current_thread(), calls());
    }

    #[test]
    fn tokio_on_many_threads() {
        on(tokio::runtime::Builder::new_multi_thread(), calls());
    }

    /// A future may be polled on one thread, sleep, and go on on another.
    #[test]
    fn a_thousand_calls_on_many_threads() {
        let budget = Arc::new(Budget::builder().capacity(10_000.0).build());
        on(tokio::runtime::Builder::new_multi_thread(), async {
            let call = |n: u32| {
                let budget = Arc::clone(&budget);
                async move {
                    let mut left = 2;
                    let operation = move || {
                        left -= i32::from(left > 0);
                        ready(if left > 0 { Err(n) } else { Ok(n) })
                    };
                    let policy = Backoff::constant(MILLI).full_jitter().attempts(3);
                    retry(policy, operation).budget(&budget).await
                }
            };
            let tasks: Vec<_> = (0..1000).map(|n| tokio::spawn(call(n))).collect();
            for (n, task) in (0..).zip(tasks) {
                assert_eq!(task.await.unwrap(), Ok(n));
            }
        });
    }

    /// Calls on several runtimes, one of them paused and years ahead, have one clock type.
    #[test]
    fn a_paused_runtime_and_a_real_one_do_not_disturb_each_other() {
        let years = Duration::from_secs(10 * 365 * 86_400);
        let mut paused = tokio::runtime::Builder::new_current_thread();
        paused.start_paused(true);
        on(paused, async {
            let started = TokioClock.now();
            tokio::time::advance(years).await;
            assert_eq!(TokioClock.now().since(started), years);
            let call = retry(Backoff::constant(years).attempts(2), || ready(Err::<(), _>(1)));
            assert_eq!(call.within(years * 2).outcome().await.attempts, 2);
        });
        on(tokio::runtime::Builder::new_current_thread(), calls());
    }

    /// A call of one attempt, which fails unless the breaker refuses it.
    fn fail_async(breaker: &Breaker) -> Result<(), Error<&'static str>> {
        let once = Backoff::none().attempts(1);
        let mut failed = Ok(());
        on(tokio::runtime::Builder::new_current_thread(), async {
            failed = retry(once, || ready(Err("down"))).breaker(breaker).await;
        });
        failed
    }

    fn fail_blocking(breaker: &Breaker) -> Result<(), Error<&'static str>> {
        blocking::call(Backoff::none().attempts(1), |_| Err("down")).breaker(breaker).run()
    }

    /// One service behind one breaker, called from tasks and from threads: each must understand
    /// the other's times. An hour is never over here, and a millisecond always is.
    #[test]
    fn async_and_blocking_calls_share_a_breaker() {
        type Fail = fn(&Breaker) -> Result<(), Error<&'static str>>;
        for (first, second) in
            [(fail_async as Fail, fail_blocking as Fail), (fail_blocking, fail_async)]
        {
            let breaker = Breaker::builder().failures(1).recovery(MILLI * 3_600_000).build();
            assert_eq!(first(&breaker), Err(Error::Failed("down")));
            assert_eq!(second(&breaker), Err(Error::BreakerOpen));

            let breaker = Breaker::builder().failures(1).recovery(MILLI).build();
            assert_eq!(first(&breaker), Err(Error::Failed("down")));
            std::thread::sleep(MILLI * 5);
            assert_eq!(second(&breaker), Err(Error::Failed("down")), "it has recovered");
        }
    }

    /// The floor of a budget comes with time, also to threads after a task has been paid from it.
    #[test]
    fn async_and_blocking_calls_share_the_floor_of_a_budget() {
        let budget = Budget::builder().capacity(1.0).deposit(0.0).floor_per_second(100.0).build();
        let twice = Backoff::none().attempts(2);
        on(tokio::runtime::Builder::new_current_thread(), async {
            let call = retry(twice, || ready(Err::<(), _>("down"))).budget(&budget);
            assert_eq!(call.outcome().await.reason, Some(Stop::AttemptsSpent));
        });
        std::thread::sleep(Duration::from_millis(20)); // two tokens, of which one has room
        let call = blocking::call(twice, |_| Err::<(), _>("down")).budget(&budget);
        assert_eq!(call.outcome().reason, Some(Stop::AttemptsSpent));
    }
}
