//! The loops on real clocks and other runtimes. Real time passes here, in milliseconds.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use redial::testing::ManualClock;
use redial::{Backoff, Clock, Error, Policy, Stop, blocking, policy, retry, tries_on};

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

/// The second of three attempts hangs, and is cut.
async fn hang_once(calls: &AtomicU32) -> Result<u32, &'static str> {
    match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Err("refused"),
        1 => std::future::pending().await,
        call => Ok(call + 1),
    }
}

/// What each clock does on each executor: a call that fails, one that hangs, and the caller's loop.
async fn calls_on(clock: impl Clock + Copy) {
    let (flaky, started) = (Flaky::default(), Instant::now());
    let call = retry(&QUICK, || ready(flaky.call())).clock(clock);
    assert_eq!(call.await, Ok(3));
    assert!(started.elapsed() >= MILLI * 4);

    let calls = AtomicU32::new(0);
    let call = retry(&QUICK, || hang_once(&calls)).clock(clock);
    let outcome = call.timeout(MILLI * 5).outcome().await;
    assert_eq!((outcome.result, outcome.waited), (Ok(3), MILLI * 4));
    assert!(outcome.elapsed >= MILLI * 9, "{:?}", outcome.elapsed);

    let mut tries = tries_on(clock, QUICK).within(Duration::from_secs(60));
    while tries.failed("down").await.is_ok() {}
    assert_eq!(tries.attempt() - 1, 3);
}

/// A call that an executor may move from one thread to another.
async fn task_on(clock: impl Clock<Sleep: Send> + Send + Sync + Copy) -> Result<u32, Error<usize>> {
    let calls = Arc::new(AtomicU32::new(0));
    let operation = move || {
        let calls = Arc::clone(&calls);
        async move { hang_once(&calls).await.map_err(str::len) }
    };
    retry(QUICK, operation).clock(clock).timeout(MILLI * 5).await
}

#[cfg(feature = "smol")]
#[test]
fn smol() {
    use redial::SmolClock;

    smol::block_on(calls_on(SmolClock));
    assert_eq!(smol::block_on(smol::spawn(task_on(SmolClock))), Ok(3));
    // The reactor has a thread of its own, for executors that do not know it.
    futures_executor::block_on(calls_on(SmolClock));
    pollster::block_on(calls_on(SmolClock));
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

mod on_a_thread_of_its_own {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::mpsc;
    use std::task::{Context, Poll, Wake, Waker};

    use redial::{Breaker, ThreadClock, ThreadSleep};

    use super::*;

    #[test]
    fn any_executor_will_do() {
        pollster::block_on(calls_on(ThreadClock));
        futures_executor::block_on(calls_on(ThreadClock));
        smol::block_on(calls_on(ThreadClock));
        assert_eq!(smol::block_on(smol::spawn(task_on(ThreadClock))), Ok(3));
    }

    /// More tasks than anybody would have threads for. They wait for different times, so the first
    /// timer changes often.
    #[test]
    fn a_thousand_calls_have_one_thread() {
        let call = |n: u64| async move {
            let policy = Backoff::constant(MILLI * 20).full_jitter().attempts(3);
            retry(policy, || ready(Err::<(), _>(n))).seed(n).clock(ThreadClock).await
        };
        let tasks: Vec<_> = (0..1000).map(|n| smol::spawn(call(n))).collect();
        for (n, task) in (0..).zip(tasks) {
            assert_eq!(smol::block_on(task), Err(n));
        }
        #[cfg(target_os = "linux")]
        assert_eq!(timer_threads(), 1);
    }

    #[cfg(target_os = "linux")]
    fn timer_threads() -> usize {
        let threads = std::fs::read_dir("/proc/self/task").expect("/proc");
        let names = threads.filter_map(|thread| {
            std::fs::read_to_string(thread.expect("a thread").path().join("comm")).ok()
        });
        names.filter(|name| name.trim_end() == "redial-timers").count()
    }

    /// Calls back when it is woken.
    struct OnWake<F: Fn() + Send + Sync>(F);

    impl<F: Fn() + Send + Sync + 'static> Wake for OnWake<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }

    fn poll(sleep: &mut ThreadSleep, waker: &Waker) -> Poll<()> {
        pin!(sleep).poll(&mut Context::from_waker(waker))
    }

    #[test]
    fn a_sleep_that_is_dropped_leaves_nothing_behind() {
        let woken = Arc::new(OnWake(|| {}));
        let waker = Waker::from(Arc::clone(&woken));
        for wait in [MILLI * 3_600_000, Duration::MAX] {
            let mut sleep = ThreadClock.sleep(wait);
            assert_eq!(poll(&mut sleep, &waker), Poll::Pending);
            assert_eq!(poll(&mut sleep, &waker), Poll::Pending);
            drop(sleep);
            assert_eq!(Arc::strong_count(&woken), 2, "the task and its waker here");
        }
    }

    /// A short sleep that was polled before it was over, however busy the machine is.
    fn short_sleep(waker: &Waker) -> ThreadSleep {
        let sleeps = (0..).map(|doubled| ThreadClock.sleep(MILLI * 5 * (1 << doubled)));
        let mut pending = sleeps.filter_map(|mut sleep| {
            let is_pending = poll(&mut sleep, waker).is_pending();
            is_pending.then_some(sleep)
        });
        pending.next().expect("hours are longer than any pause")
    }

    #[test]
    fn the_waker_of_the_last_poll_is_the_one_that_is_woken() {
        let (sender, woken) = mpsc::channel();
        let waker_of = |name: &'static str| {
            let sender = sender.clone();
            Waker::from(Arc::new(OnWake(move || sender.send(name).expect("this test waits"))))
        };
        let (first, last) = (waker_of("first"), waker_of("last"));
        let (mut sleep, mut too_late) = (short_sleep(&first), 0);
        while poll(&mut sleep, &last).is_ready() {
            (sleep, too_late) = (short_sleep(&first), too_late + 1);
        }
        let firsts = woken.iter().take_while(|name| *name != "last").count();
        assert!(firsts <= too_late, "{firsts} of {too_late}");
        assert_eq!(poll(&mut sleep, Waker::noop()), Poll::Ready(()));
    }

    /// What a task's waker does is the executor's: it may panic, and dropping it may drop the task,
    /// with another sleep in it.
    #[test]
    fn wakers_of_any_kind_do_not_stop_the_timers() {
        let panicking =
            Waker::from(Arc::new(OnWake(|| panic!("a waker that panics, as it should"))));
        let _panicking = short_sleep(&panicking);

        let mut held = ThreadClock.sleep(MILLI * 3_600_000);
        assert_eq!(poll(&mut held, Waker::noop()), Poll::Pending);
        let waker = Waker::from(Arc::new(OnWake(move || {
            let _ = &held;
        })));
        let mut sleep = ThreadClock.sleep(MILLI * 3_600_000);
        assert_eq!(poll(&mut sleep, &waker), Poll::Pending);
        drop(waker);
        assert_eq!(poll(&mut sleep, Waker::noop()), Poll::Pending);

        drop(short_sleep(Waker::noop()));
        pollster::block_on(ThreadClock.sleep(MILLI * 50)); // by now the waker has panicked
    }

    /// All clocks of the system's time count from one origin.
    #[test]
    fn threads_and_tasks_share_a_breaker() {
        let breaker = Breaker::builder().failures(1).recovery(MILLI * 3_600_000).build();
        let once = Backoff::none().attempts(1);
        let call = retry(once, || ready(Err::<(), _>("down"))).clock(ThreadClock);
        assert_eq!(pollster::block_on(call.breaker(&breaker)), Err(Error::Failed("down")));
        let call = blocking::call(once, |_| Err::<(), _>("down")).breaker(&breaker);
        assert_eq!(call.run(), Err(Error::BreakerOpen));
    }
}

#[cfg(feature = "tokio")]
mod on_tokio {
    use std::future::Future;

    use redial::{Breaker, Budget, TokioClock};

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
