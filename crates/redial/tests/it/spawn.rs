//! Calls inside of spawned tasks. A task is `Send` or it does not build, and what the compiler knows
//! of lifetimes inside of a task is little: whatever the future of a call holds must be `Send` for
//! every lifetime, each by itself.

use std::future::{IntoFuture, pending, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{Backoff, Breaker, Budget, Error, Policy, Verdict, policy, retry, tries, tries_on};

const QUICK: Policy = policy!("retry: 2, delay: 1s");
const SECOND: Duration = Duration::from_secs(1);
static BUDGET: Budget = Budget::builder().capacity(10_000.0).build();
static BREAKER: Breaker = Breaker::new();

#[derive(Debug, PartialEq)]
struct Down;

impl std::fmt::Display for Down {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Down {}

/// A client as most are: its futures borrow it and what it is given.
#[derive(Default)]
struct Client {
    calls: AtomicU32,
}

impl Client {
    async fn get(&self, url: &str) -> Result<String, Down> {
        self.part(url).await.map(str::to_owned)
    }

    async fn part<'u>(&self, url: &'u str) -> Result<&'u str, Down> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        if call < 2 { Err(Down) } else { Ok(url) }
    }
}

/// Runs a call as a task of its own, on a paused clock.
async fn spawned<T: Send + 'static>(call: impl Future<Output = T> + Send + 'static) -> T {
    tokio::spawn(call).await.expect("no panic")
}

#[tokio::test(start_paused = true)]
async fn an_operation_may_borrow_what_the_task_owns() {
    let page = spawned(async {
        let (client, url) = (Client::default(), String::from("/page"));
        retry(&QUICK, || client.get(&url)).await
    });
    assert_eq!(page.await, Ok("/page".to_owned()));
    let page = spawned(async {
        let (client, url) = (Client::default(), String::from("/page"));
        retry(&QUICK, || async { client.get(&url).await }).await
    });
    assert_eq!(page.await, Ok("/page".to_owned()));
    let page = spawned(async {
        let (client, url) = (Client::default(), String::from("/page"));
        retry(&QUICK, async || client.get(&url).await).await
    });
    assert_eq!(page.await, Ok("/page".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_policy_a_budget_and_a_breaker_may_belong_to_the_task() {
    let done = spawned(async {
        let (client, policy) = (Client::default(), Backoff::none().attempts(3));
        let (budget, breaker) = (Budget::new(), Breaker::new());
        retry(&policy, || client.get("/")).budget(&budget).breaker(&breaker).await
    });
    assert_eq!(done.await, Ok("/".to_owned()));
    let done = spawned(async {
        let (client, budget) = (Client::default(), Budget::new());
        let mut tries = tries(&QUICK).budget(&budget).within(SECOND * 60);
        loop {
            match client.get("/").await {
                Ok(page) => break Ok(page),
                Err(error) => tries.failed(error).await?,
            }
        }
    });
    assert_eq!(done.await, Ok::<_, Down>("/".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn every_option_may_be_used_in_a_task() {
    let outcome = spawned(async {
        let (client, url) = (Client::default(), String::from("/page"));
        let mut heard = 0;
        let outcome = retry(&QUICK, || client.get(&url))
            .classify(|_| Verdict::Retry)
            .on_retry(|event| heard += event.attempt)
            .timeout(SECOND)
            .within(SECOND * 60)
            .wait_budget(SECOND * 60)
            .tolerance(SECOND)
            .name("fetch")
            .budget(&BUDGET)
            .breaker(&BREAKER)
            .seed(42)
            .outcome()
            .await;
        (outcome.result, outcome.attempts, heard)
    });
    assert_eq!(outcome.await, (Ok("/page".to_owned()), 3, 3));
}

/// As the macros for async traits write it.
#[tokio::test(start_paused = true)]
async fn a_call_may_be_awaited_in_a_boxed_future() {
    type Boxed<'a> = Pin<Box<dyn Future<Output = Result<String, Down>> + Send + 'a>>;
    trait Fetch: Send + Sync {
        fn fetch<'a>(&'a self, url: &'a str) -> Boxed<'a>;
    }
    impl Fetch for Client {
        fn fetch<'a>(&'a self, url: &'a str) -> Boxed<'a> {
            Box::pin(async move { retry(&QUICK, || self.get(url)).budget(&BUDGET).await })
        }
    }
    let client: Arc<dyn Fetch> = Arc::new(Client::default());
    assert_eq!(spawned(async move { client.fetch("/").await }).await, Ok("/".to_owned()));
}

#[test]
fn a_future_is_send_for_as_long_as_what_it_borrows() {
    fn assert_send<T: Send>(value: T) -> T {
        value
    }
    let (clock, budget, breaker) = (ManualClock::new(), Budget::new(), Breaker::new());
    let call = || retry(QUICK, || ready(Ok::<_, ()>(1))).clock(&clock);
    assert_eq!(clock.block_on(assert_send(call().budget(&budget).into_future())), Ok(1));
    assert_eq!(clock.block_on(assert_send(call().breaker(&breaker).into_future())), Ok(1));
    let own = async {
        let mut tries = tries_on(&clock, QUICK).budget(&budget);
        tries.failed("down").await
    };
    assert_eq!(clock.block_on(assert_send(own)), Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_on_many_threads() {
    const POLICY: Policy = policy!("retry: 2, delay: 1ms, jitter: full");
    let calls: Vec<_> = (0..100)
        .map(|_| {
            tokio::spawn(async {
                let client = Client::default();
                retry(&POLICY, || client.get("/")).timeout(SECOND * 10).budget(&BUDGET).await
            })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok("/".to_owned()));
    }
}

/// Everything that can win against a call: an abort, a timeout around it, another branch.
#[tokio::test(start_paused = true)]
async fn a_task_that_is_given_up_gives_its_token_back() {
    static BUDGET: Budget = Budget::builder().capacity(5.0).floor_per_second(0.0).build();
    let call = || retry(Backoff::constant(SECOND).attempts(2), || async { Err::<(), _>(Down) });

    let task = tokio::spawn(async move { call().budget(&BUDGET).await });
    tokio::time::sleep(SECOND / 2).await;
    assert_eq!(BUDGET.tokens(), 4.0);
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(BUDGET.tokens(), 5.0);

    assert!(tokio::time::timeout(SECOND / 2, call().budget(&BUDGET)).await.is_err());
    assert_eq!(BUDGET.tokens(), 5.0);

    tokio::select! {
        _ = call().budget(&BUDGET) => unreachable!(),
        () = tokio::time::sleep(SECOND / 2) => {}
    }
    assert_eq!(BUDGET.tokens(), 5.0);

    assert_eq!(call().budget(&BUDGET).await, Err(Down));
    assert_eq!(BUDGET.tokens(), 4.0);
    let hung = retry(QUICK, pending::<Result<(), ()>>).timeout(SECOND);
    assert_eq!(spawned(hung).await, Err(Error::TimedOut(None)));
}

/// Where the value or the error has a lifetime in it.
mod with_lifetimes {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_value_may_borrow_what_the_task_owns() {
        let length = spawned(async {
            let (client, url) = (Client::default(), String::from("/page"));
            retry(&QUICK, || client.part(&url)).await.map(str::len)
        });
        assert_eq!(length.await, Ok(5));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_may_have_a_lifetime() {
        async fn refuse() -> Result<(), &'static str> {
            Err("refused")
        }
        assert_eq!(spawned(async { retry(&QUICK, refuse).await }).await, Err("refused"));
        assert_eq!(
            spawned(async { retry(&QUICK, || ready(Err::<(), _>("down"))).await }).await,
            Err("down")
        );
        let timed = spawned(async { retry(&QUICK, refuse).timeout(SECOND).await });
        assert_eq!(timed.await, Err(Error::Failed("refused")));
        assert_eq!(spawned(retry(&QUICK, refuse).into_future()).await, Err("refused"));
    }
}
