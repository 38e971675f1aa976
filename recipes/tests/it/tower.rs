use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;
use tower::retry::backoff::{Backoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::util::rng::HasherRng;

use crate::SECOND;

fn maker(base: Duration, max: Duration) -> ExponentialBackoffMaker {
    ExponentialBackoffMaker::new(base, max, 1.0, HasherRng::default()).expect("a backoff")
}

/// The first delay of a request; the clock stands still.
fn first(maker: &mut ExponentialBackoffMaker) -> Duration {
    maker.make_backoff().next_backoff().deadline() - Instant::now()
}

#[tokio::test(start_paused = true)]
async fn requests_of_one_maker_share_their_jitter() {
    let mut maker = maker(Duration::from_millis(700), SECOND * 60);
    let delays: HashSet<Duration> = (0..5).map(|_| first(&mut maker)).collect();
    assert_eq!(delays.len(), 1, "{delays:?}");
}

#[tokio::test(start_paused = true)]
async fn whole_seconds_have_no_jitter_or_whole_steps_of_it() {
    let delays = |base, max| -> HashSet<Duration> {
        (0..200).map(|_| first(&mut maker(base, max))).collect()
    };
    assert_eq!(delays(SECOND, SECOND * 60), HashSet::from([SECOND]));
    assert_eq!(
        delays(SECOND * 4, SECOND * 60),
        HashSet::from([SECOND * 4, SECOND * 5, SECOND * 6, SECOND * 7]),
    );
    // At the cap everybody waits for exactly it.
    assert_eq!(delays(SECOND * 10, SECOND * 10), HashSet::from([SECOND * 10]));
}

#[tokio::test(start_paused = true)]
async fn a_budget_lets_more_through_than_it_says() {
    let let_through = |percent| {
        let budget = TpsBudget::new(SECOND * 10, 0, percent);
        for _ in 0..100 {
            budget.deposit();
        }
        (0..200).filter(|_| budget.withdraw()).count()
    };
    assert_eq!((let_through(0.6), let_through(0.3)), (100, 33));
}
