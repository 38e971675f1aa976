//! Every interleaving of a few calls on one budget. Amounts are whole tokens, so that sums are
//! exact.

use loom::thread::{self, JoinHandle};
use redial_model::{Budget, BudgetBuilder, Time, bounded, exhaustive};

/// Retries cost one token; nothing comes in with time unless a model says so.
const SETTINGS: BudgetBuilder = Budget::builder().cost(1.0).deposit(1.0).floor_per_second(0.0);

/// A budget for threads to share, with `tokens` in it.
///
/// It is leaked, to live as long as a `static`: a model's threads cannot borrow. The withdrawals
/// also make both atomics, before there is a second thread.
fn shared(settings: BudgetBuilder, capacity: u32, tokens: u32) -> &'static Budget {
    let budget: &Budget = Box::leak(Box::new(settings.capacity(capacity.into()).build()));
    for _ in tokens..capacity {
        assert!(budget.withdraw(Time::ZERO));
    }
    if tokens == capacity {
        assert!(budget.withdraw(Time::ZERO));
        budget.refund();
    }
    assert_eq!(budget.tokens(), f64::from(tokens));
    budget
}

fn second(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

/// A retry in a thread of its own: was it paid for?
fn retry(budget: &'static Budget, now: Time) -> JoinHandle<bool> {
    thread::spawn(move || budget.withdraw(now))
}

/// A retry that is cancelled in its wait, if it was paid for.
fn cancelled_retry(budget: &'static Budget, now: Time) -> JoinHandle<bool> {
    thread::spawn(move || {
        let paid = budget.withdraw(now);
        if paid {
            budget.refund();
        }
        paid
    })
}

fn deposit(budget: &'static Budget) -> JoinHandle<()> {
    thread::spawn(|| budget.deposit())
}

/// How many of the threads were paid for.
fn granted<const N: usize>(threads: [JoinHandle<bool>; N]) -> usize {
    threads.map(|thread| thread.join().unwrap()).iter().filter(|paid| **paid).count()
}

/// How many retries could be paid for at `now`, once everything is quiet.
fn left(budget: &Budget, now: Time) -> usize {
    if budget.withdraw(now) {
        budget.refund();
    }
    budget.tokens() as usize
}

/// By any order of events, and by any stale view of them.
#[track_caller]
fn assert_within(budget: &Budget, bounds: core::ops::RangeInclusive<f64>) {
    let tokens = budget.tokens();
    assert!(bounds.contains(&tokens), "{tokens} is not in {bounds:?}");
}

#[test]
fn three_retries_on_two_tokens_are_two_grants() {
    bounded(|| {
        let budget = shared(SETTINGS, 2, 2);
        let threads = [(); 2].map(|()| retry(budget, Time::ZERO));
        let mine = usize::from(budget.withdraw(Time::ZERO));
        assert_eq!(granted(threads) + mine, 2);
        assert_eq!(budget.tokens(), 0.0);

        budget.deposit();
        assert!(budget.withdraw(Time::ZERO), "emptied in a race, and it refills");
    });
}

#[test]
fn nobody_ever_sees_more_than_there_was_or_less_than_nothing() {
    exhaustive(|| {
        let budget = shared(SETTINGS, 2, 1);
        let threads = [(); 2].map(|()| retry(budget, Time::ZERO));
        assert_within(budget, 0.0..=1.0);
        assert_within(budget, 0.0..=1.0);
        assert_eq!(granted(threads), 1);
        assert_eq!(budget.tokens(), 0.0);
    });
}

#[test]
fn deposits_at_the_brim_never_spill() {
    exhaustive(|| {
        let budget = shared(SETTINGS, 2, 1);
        let threads = [(); 2].map(|()| deposit(budget));
        assert_within(budget, 1.0..=2.0);
        assert_within(budget, 1.0..=2.0);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(budget.tokens(), 2.0);
    });
}

#[test]
fn the_floor_at_the_brim_never_spills() {
    exhaustive(|| {
        let budget = shared(SETTINGS.floor_per_second(2.0), 2, 2);
        let floor = retry(budget, second(1));
        let deposit = deposit(budget);
        assert_within(budget, 0.0..=2.0);
        deposit.join().unwrap();
        assert_eq!(granted([floor]), 1);
        assert_within(budget, 1.0..=2.0);
    });
}

/// Retries by several clocks, one of them `mine`, on an empty budget with a floor of one token a
/// second.
///
/// Conservation, as an equation: what they were granted and what is left for whoever comes next
/// are the seconds that passed by the latest clock, neither more nor fewer.
fn retries_on_a_floor_alone<const N: usize>(others: [u64; N], mine: u64) {
    let budget = shared(SETTINGS.deposit(0.0).floor_per_second(1.0), 3, 0);
    let latest = others.into_iter().fold(mine, u64::max);
    let threads = others.map(|clock| retry(budget, second(clock)));
    let mine = usize::from(budget.withdraw(second(mine)));
    let raced = granted(threads) + mine;
    assert!(raced > 0, "whoever moved the mark put tokens in: they went to somebody");
    let left_over = left(budget, second(latest));
    assert_eq!((raced + left_over) as u64, latest);
    assert_eq!(left(budget, second(latest + 1)), left_over + 1, "the floor goes on after a race");
}

#[test]
fn a_second_that_two_notice_at_once_is_paid_once() {
    exhaustive(|| retries_on_a_floor_alone([1], 1));
}

#[test]
fn a_second_that_three_notice_at_once_is_paid_once() {
    bounded(|| retries_on_a_floor_alone([1, 1], 1));
}

#[test]
fn of_two_clocks_neither_loses_nor_repeats_a_second() {
    exhaustive(|| retries_on_a_floor_alone([1], 3));
    exhaustive(|| retries_on_a_floor_alone([3], 1));
}

#[test]
fn of_three_clocks_none_loses_or_repeats_a_second() {
    bounded(|| retries_on_a_floor_alone([1, 3], 2));
}

#[test]
fn a_clock_that_is_behind_the_mark_pays_nothing_and_takes_nothing_back() {
    exhaustive(|| {
        let budget = shared(SETTINGS.floor_per_second(1.0), 3, 0);
        assert!(budget.withdraw(second(2))); // one of the two
        let threads = [retry(budget, second(1)), retry(budget, second(3))];
        assert_eq!(granted(threads) + left(budget, second(3)), 2);
    });
}

#[test]
fn the_floor_and_a_deposit_both_arrive() {
    bounded(|| {
        let budget = shared(SETTINGS.floor_per_second(1.0), 3, 0);
        let deposit = deposit(budget);
        let thread = retry(budget, second(1));
        let mine = usize::from(budget.withdraw(second(2)));
        let raced = granted([thread]) + mine;
        deposit.join().unwrap();
        assert_eq!(raced + left(budget, second(2)), 3);
    });
}

#[test]
fn cancelled_retries_leave_exactly_what_they_found() {
    exhaustive(|| {
        let budget = shared(SETTINGS, 2, 1);
        let threads = [(); 2].map(|()| cancelled_retry(budget, Time::ZERO));
        assert!(granted(threads) >= 1);
        assert_eq!(budget.tokens(), 1.0);
    });
}

#[test]
fn a_cancelled_retry_costs_the_others_nothing() {
    bounded(|| {
        let budget = shared(SETTINGS, 3, 2);
        let deposit = deposit(budget);
        let cancelled = cancelled_retry(budget, Time::ZERO);
        assert!(budget.withdraw(Time::ZERO), "two tokens are enough for two, in any order");
        assert_eq!(granted([cancelled]), 1);
        deposit.join().unwrap();
        assert_eq!(budget.tokens(), 2.0);
    });
}

#[test]
fn a_refund_that_meets_the_floor_creates_nothing() {
    exhaustive(|| {
        let budget = shared(SETTINGS.floor_per_second(1.0), 1, 1);
        let threads = [cancelled_retry(budget, Time::ZERO), retry(budget, second(1))];
        let [cancelled, kept] = threads.map(|thread| usize::from(thread.join().unwrap()));
        assert_within(budget, 0.0..=1.0);
        // There was one, one came with the second, and a refund is no third.
        assert!(kept + left(budget, second(1)) <= 2, "cancelled: {cancelled}");
        assert_eq!(left(budget, second(2)), 1, "never wedged");
    });
}
