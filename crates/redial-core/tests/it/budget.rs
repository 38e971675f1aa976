//! What a retry budget promises: amounts and times at their edges, then many threads at once.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::thread;

use redial_core::{Budget, BudgetBuilder, Invalid, Random, SplitMix64, Time};

/// Whole tokens, and no floor unless a test adds one.
const PLAIN: BudgetBuilder =
    Budget::builder().capacity(10.0).cost(1.0).deposit(1.0).floor_per_second(0.0);

/// One token a second and nothing else.
const FLOOR: BudgetBuilder = PLAIN.deposit(0.0).floor_per_second(1.0);

const fn second(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

/// How many retries it pays for at `now` before it refuses one.
fn drain(budget: &Budget, now: Time) -> usize {
    core::iter::from_fn(|| budget.withdraw(now).then_some(())).count()
}

/// The budget, with nothing left in it.
fn empty(settings: BudgetBuilder) -> Budget {
    let budget = settings.build();
    drain(&budget, Time::ZERO);
    assert_eq!(budget.tokens(), 0.0);
    budget
}

/// The smallest part of a token that is counted.
fn billionths(budget: &Budget) -> u64 {
    (budget.tokens() * 1e9).round() as u64
}

mod amounts {
    use super::*;

    #[test]
    fn a_budget_starts_full() {
        assert_eq!(Budget::new().tokens(), 100.0);
        assert_eq!(PLAIN.build().tokens(), 10.0);
        assert_eq!(drain(&PLAIN.build(), Time::ZERO), 10);
    }

    #[test]
    fn the_defaults_are_a_hundred_at_once_one_to_five_calls_and_ten_a_second() {
        let budget = Budget::default();
        assert_eq!(drain(&budget, Time::ZERO), 100);
        for _ in 0..4 {
            budget.deposit();
        }
        assert_eq!(drain(&budget, Time::ZERO), 0);
        budget.deposit();
        assert_eq!(drain(&budget, Time::ZERO), 1);
        assert_eq!(drain(&budget, second(1)), 10);
    }

    #[test]
    fn a_refused_retry_takes_nothing() {
        let budget = empty(PLAIN.deposit(0.999_999_999));
        budget.deposit();
        assert!(!budget.withdraw(Time::ZERO));
        assert_eq!(billionths(&budget), 999_999_999);
    }

    #[test]
    fn the_last_billionth_makes_the_difference() {
        let budget = empty(PLAIN.cost(0.000_000_003).capacity(0.000_000_003).deposit(1e-9));
        budget.deposit();
        budget.deposit();
        assert!(!budget.withdraw(Time::ZERO));
        budget.deposit();
        assert!(budget.withdraw(Time::ZERO));
    }

    #[test]
    fn ten_tenths_are_one_and_three_thirds_of_nine_digits_are_not() {
        let tenths = empty(PLAIN.deposit(0.1));
        (0..10).for_each(|_| tenths.deposit());
        assert_eq!(tenths.tokens(), 1.0);
        assert!(tenths.withdraw(Time::ZERO));

        let thirds = empty(PLAIN.deposit(1.0 / 3.0));
        (0..3).for_each(|_| thirds.deposit());
        assert_eq!(billionths(&thirds), 999_999_999);
        assert!(!thirds.withdraw(Time::ZERO));
    }

    #[test]
    fn a_full_budget_takes_no_more_from_any_side() {
        let budget = PLAIN.floor_per_second(1.0).build();
        budget.deposit();
        assert_eq!(budget.tokens(), 10.0);
        budget.refund();
        assert_eq!(budget.tokens(), 10.0);
        assert!(budget.withdraw(second(1_000_000)));
        assert_eq!(budget.tokens(), 9.0);
    }

    #[test]
    fn a_deposit_above_the_capacity_fills_it() {
        let budget = empty(PLAIN.deposit(999_999_999.0));
        budget.deposit();
        budget.deposit();
        assert_eq!(budget.tokens(), 10.0);
    }

    #[test]
    fn a_refund_restores_exactly_what_was_taken() {
        let budget = PLAIN.cost(0.123_456_789).build();
        assert!(budget.withdraw(Time::ZERO));
        let before = billionths(&budget);
        for _ in 0..1000 {
            assert!(budget.withdraw(Time::ZERO));
            budget.refund();
        }
        assert_eq!(billionths(&budget), before);
    }

    #[test]
    fn a_retry_may_cost_the_whole_capacity() {
        let budget = PLAIN.cost(10.0).build();
        assert_eq!(drain(&budget, Time::ZERO), 1);
        (0..10).for_each(|_| budget.deposit());
        assert_eq!(drain(&budget, Time::ZERO), 1);
    }

    #[test]
    fn a_retry_that_costs_nothing_is_always_paid_for() {
        let budget = PLAIN.capacity(0.0).cost(0.0).build();
        assert_eq!(budget.tokens(), 0.0);
        for _ in 0..1000 {
            assert!(budget.withdraw(Time::ZERO));
        }
    }

    #[test]
    fn the_largest_amounts_do_not_overflow() {
        const MOST: f64 = 999_999_999.0;
        let budget =
            Budget::builder().capacity(MOST).cost(MOST).deposit(MOST).floor_per_second(MOST);
        let budget = budget.build();
        for now in [Time::ZERO, second(1), Time::MAX] {
            budget.deposit();
            budget.refund();
            assert_eq!(budget.tokens(), MOST);
            assert!(budget.withdraw(now));
            assert_eq!(budget.tokens(), 0.0);
        }
    }
}

mod settings {
    use super::*;

    fn message(settings: BudgetBuilder) -> String {
        settings.try_build().map(drop).unwrap_err().to_string()
    }

    #[test]
    fn a_budget_that_nothing_refills_is_refused() {
        assert!(message(PLAIN.deposit(0.0)).contains("never refills"));
        // Less than half a billionth would be nothing, which is not what was asked for.
        assert!(message(PLAIN.deposit(4e-10)).contains("out of range"));
        assert!(message(PLAIN.cost(4e-10)).contains("out of range"));
        assert!(PLAIN.deposit(1e-9).try_build().is_ok());
        assert!(FLOOR.floor_per_second(1e-9).try_build().is_ok());
    }

    #[test]
    fn a_cost_that_the_capacity_cannot_pay_is_refused() {
        assert!(message(PLAIN.capacity(0.0)).contains("costs more than the capacity"));
        assert!(message(PLAIN.cost(10.000_000_001)).contains("costs more than the capacity"));
        assert!(PLAIN.cost(10.0).try_build().is_ok());
    }

    #[test]
    fn an_amount_that_is_no_amount_is_named() {
        for (amount, text) in [
            (-1.0, "-1"),
            (-1e-9, "-0.000000001"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "infinity"),
            (f64::NEG_INFINITY, "-infinity"),
            (1e9, "1000000000"),
        ] {
            let range = "is out of range; use 0 or more, below 1000000000";
            for (settings, option) in [
                (PLAIN.capacity(amount), "budget capacity"),
                (PLAIN.cost(amount), "budget cost"),
                (PLAIN.deposit(amount), "budget deposit"),
                (PLAIN.floor_per_second(amount), "budget floor per second"),
            ] {
                assert_eq!(message(settings), format!("{option}: {text} {range}"));
            }
        }
    }

    #[test]
    fn minus_zero_is_zero() {
        assert!(PLAIN.floor_per_second(-0.0).try_build().is_ok());
    }

    #[test]
    fn of_several_mistakes_the_first_is_reported() {
        let twice = PLAIN.cost(-2.0).capacity(-3.0).deposit(0.0);
        assert!(message(twice).starts_with("budget cost: -2 "));
    }

    #[test]
    #[should_panic(expected = "budget: with no deposit and no floor an empty budget never refills")]
    fn build_panics_with_the_message() {
        PLAIN.deposit(0.0).build();
    }

    #[test]
    fn one_set_of_settings_makes_budgets_that_share_nothing() {
        static READS: Budget = PLAIN.build();
        static WRITES: Budget = PLAIN.build();
        assert!(READS.withdraw(Time::ZERO));
        assert_eq!((READS.tokens(), WRITES.tokens()), (9.0, 10.0));
    }

    #[test]
    fn a_budget_can_be_shared_and_shown() {
        fn shared<T: Send + Sync + 'static>(_: &T) {}
        let budget: Result<Budget, Invalid> = PLAIN.try_build();
        let budget = budget.unwrap();
        shared(&budget);
        assert!(format!("{budget:?}").contains("tokens: 10.0"));
    }
}

mod the_floor {
    use super::*;

    #[test]
    fn a_token_is_there_at_its_nanosecond_and_not_before() {
        let budget = empty(FLOOR);
        assert!(!budget.withdraw(Time::from_nanos(999_999_999)));
        assert!(budget.withdraw(second(1)));
        assert!(!budget.withdraw(Time::from_nanos(1_999_999_999)));
        assert!(budget.withdraw(second(2)));
    }

    #[test]
    fn it_is_paid_once_however_often_somebody_asks() {
        let budget = empty(FLOOR);
        assert_eq!(drain(&budget, second(3)), 3);
        assert_eq!(drain(&budget, second(3)), 0);
    }

    #[test]
    fn it_is_not_saved_up_beyond_the_capacity() {
        let budget = empty(FLOOR);
        assert_eq!(drain(&budget, second(3600)), 10);
        assert_eq!(drain(&budget, second(3601)), 1);
    }

    #[test]
    fn the_next_withdrawal_pays_it_and_nothing_else_does() {
        let budget = empty(FLOOR.deposit(0.5));
        budget.deposit();
        assert_eq!(budget.tokens(), 0.5);
        assert!(budget.withdraw(second(2)));
        assert_eq!(budget.tokens(), 1.5);
    }

    #[test]
    fn a_step_too_small_for_a_billionth_is_kept_for_the_next() {
        // Half a billionth comes with each nanosecond.
        let budget = empty(FLOOR.floor_per_second(0.5));
        for nanos in 1..=1001 {
            assert!(!budget.withdraw(Time::from_nanos(nanos)));
        }
        assert_eq!(billionths(&budget), 500);
    }

    #[test]
    fn the_slowest_floor_arrives_however_small_the_steps() {
        let budget = empty(FLOOR.floor_per_second(1e-9));
        for millis in 1..=5_999 {
            assert!(!budget.withdraw(Time::ZERO.after(Duration::from_millis(millis))));
        }
        assert_eq!(billionths(&budget), 5);
    }

    #[test]
    fn whole_billionths_are_never_lost_in_uneven_steps() {
        // Ten billionths to the nanosecond: any step is worth a whole number of them.
        let budget = empty(FLOOR.floor_per_second(10.0).capacity(100.0).cost(100.0));
        let mut steps = SplitMix64::new(7);
        let mut now = 0;
        for _ in 0..100_000 {
            now += steps.word() % 100;
            assert!(!budget.withdraw(Time::from_nanos(now)));
        }
        assert_eq!(billionths(&budget), 10 * now);
    }

    #[test]
    fn a_payment_is_never_too_much_and_never_a_billionth_short() {
        // Three tenths of a billionth to the nanosecond: no step is worth a whole number.
        let budget = empty(FLOOR.floor_per_second(0.3));
        let mut payments = 0;
        let mut paid = 0;
        for now in 1..=100_000 {
            assert!(!budget.withdraw(Time::from_nanos(now)));
            payments += u64::from(billionths(&budget) > paid);
            paid = billionths(&budget);
            assert!(10 * paid <= 3 * now, "{paid} billionths in {now} ns are too many");
            assert!(10 * (paid + payments + 1) > 3 * now, "{paid} in {now} ns are too few");
        }
    }

    #[test]
    fn a_clock_that_goes_backwards_neither_pays_nor_costs_anything() {
        let budget = empty(FLOOR);
        assert_eq!(drain(&budget, second(10)), 10);
        for earlier in [second(9), second(5), Time::ZERO, second(10)] {
            assert_eq!(drain(&budget, earlier), 0);
        }
        assert_eq!(drain(&budget, second(11)), 1);
    }

    #[test]
    fn a_clock_may_start_anywhere() {
        let unix = second(1_700_000_000);
        let budget = FLOOR.build();
        assert_eq!(drain(&budget, unix), 10);
        assert!(!budget.withdraw(unix));
        assert!(budget.withdraw(unix.after(Duration::from_secs(1))));
    }

    #[test]
    fn more_than_a_number_can_hold_fills_it() {
        // Sixteen a second for 2^60 nanoseconds are 2^64 billionths.
        let budget = empty(FLOOR.floor_per_second(16.0));
        assert_eq!(drain(&budget, Time::from_nanos(1 << 60)), 10);
    }

    #[test]
    fn at_the_end_of_time_it_has_all_been_paid_and_deposits_still_count() {
        let budget = empty(FLOOR.deposit(1.0));
        assert_eq!(drain(&budget, Time::MAX), 10);
        assert_eq!(drain(&budget, Time::MAX), 0);
        budget.deposit();
        assert_eq!(drain(&budget, Time::MAX), 1);
    }
}

/// Real threads on a real machine: the orders that the models of `redial-model` leave out, by
/// their number.
mod many_threads {
    use super::*;

    const THREADS: u64 = 8;
    const OPERATIONS: u64 = 50_000;

    /// What a thread did, or all of them.
    #[derive(Clone, Copy, Debug, Default)]
    struct Ledger {
        granted: u64,
        refunded: u64,
        deposited: u64,
    }

    /// Deposits, retries and cancelled retries at random on a clock that all threads push on.
    fn hammer(budget: &Budget, look: impl Fn(&Budget) + Sync) -> (Ledger, Time) {
        let clock = AtomicU64::new(0);
        let work = |seed| {
            let mut random = SplitMix64::new(seed);
            let mut ledger = Ledger::default();
            for _ in 0..OPERATIONS {
                let word = random.word();
                let now = Time::from_nanos(clock.fetch_add(word >> 32 & 1023, Ordering::Relaxed));
                if word % 3 == 0 {
                    budget.deposit();
                    ledger.deposited += 1;
                } else if budget.withdraw(now) {
                    ledger.granted += 1;
                    if word % 3 == 1 {
                        budget.refund();
                        ledger.refunded += 1;
                    }
                }
                look(budget);
            }
            ledger
        };
        let total = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..THREADS).map(|seed| scope.spawn(move || work(seed))).collect();
            let ledgers = threads.into_iter().map(|thread| thread.join().unwrap());
            ledgers.fold(Ledger::default(), |sum, one| Ledger {
                granted: sum.granted + one.granted,
                refunded: sum.refunded + one.refunded,
                deposited: sum.deposited + one.deposited,
            })
        });
        (total, Time::from_nanos(clock.into_inner()))
    }

    #[test]
    fn to_the_billionth_nothing_is_lost_and_nothing_comes_from_nothing() {
        // Emptied first, and too large to fill up again: no clamp hides a difference. The floor
        // is a whole number of billionths to the nanosecond.
        let settings = Budget::builder().capacity(200_000.0).deposit(0.25).floor_per_second(1000.0);
        let budget = empty(settings.cost(1.0));
        let (ledger, end) = hammer(&budget, |_| {});

        let last = u64::from(budget.withdraw(end)); // the rest of the floor
        let came = ledger.deposited * 250_000_000 + 1000 * end.as_nanos();
        let went = (ledger.granted - ledger.refunded + last) * 1_000_000_000;
        assert!(ledger.granted > 0 && ledger.refunded > 0, "{ledger:?}");
        assert_eq!(billionths(&budget), came - went, "{ledger:?}");
    }

    #[test]
    fn at_both_edges_it_stays_between_them() {
        // So small that it is empty and full all the time.
        let budget = PLAIN.capacity(3.0).deposit(0.7).floor_per_second(100_000.0).build();
        let (ledger, end) = hammer(&budget, |budget| {
            let tokens = budget.tokens();
            assert!((0.0..=3.0).contains(&tokens), "{tokens}");
        });

        let came = 3.0 + ledger.deposited as f64 * 0.7 + end.as_nanos() as f64 * 1e-4;
        assert!((ledger.granted - ledger.refunded) as f64 <= came, "{ledger:?}");
        // And it is not wedged: the floor fills it, and it pays for as many as it holds.
        assert_eq!(drain(&budget, end.after(Duration::from_secs(1))), 3);
        assert_eq!(drain(&budget, end.after(Duration::from_secs(1))), 0);
        (0..10).for_each(|_| budget.deposit());
        assert_eq!(drain(&budget, end), 3);
    }

    #[test]
    fn the_last_tokens_go_to_as_many_as_there_are() {
        static BUDGET: Budget = PLAIN.capacity(1000.0).build();
        let granted: usize = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..THREADS).map(|_| scope.spawn(|| drain(&BUDGET, Time::ZERO))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(granted, 1000);
        assert_eq!(BUDGET.tokens(), 0.0);
    }
}

mod snapshot {
    use super::*;
    use redial_core::{BudgetSnapshot, Random, SplitMix64};

    const SETTINGS: BudgetBuilder = Budget::builder().capacity(5.0).floor_per_second(1.0);

    fn resumed(tokens: f64, paid_until: Time, now: Time) -> BudgetSnapshot {
        SETTINGS.resume(BudgetSnapshot { tokens, paid_until }, now).unwrap().snapshot()
    }

    #[test]
    fn any_number_of_tokens_becomes_one_that_it_can_hold() {
        for (tokens, held) in [
            (2.5, 2.5),
            (5.0, 5.0),
            (5.000000001, 5.0),
            (1e300, 5.0),
            (f64::INFINITY, 5.0),
            (-0.0, 0.0),
            (-1.0, 0.0),
            (f64::NEG_INFINITY, 0.0),
            (f64::NAN, 0.0),
        ] {
            assert_eq!(resumed(tokens, Time::ZERO, Time::ZERO).tokens, held, "of {tokens}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_pays_the_floor_from_its_new_time_on() {
        let now = Time::ZERO.after(Duration::from_secs(1));
        assert_eq!(resumed(0.0, Time::MAX, now).paid_until, now);
        let budget = SETTINGS.resume(BudgetSnapshot { tokens: 0.0, paid_until: Time::MAX }, now);
        let budget = budget.unwrap();
        assert!(!budget.withdraw(now));
        assert!(budget.withdraw(now.after(Duration::from_secs(1))));
    }

    #[test]
    fn settings_are_checked_as_when_it_is_built() {
        let snapshot = Budget::new().snapshot();
        let refused = Budget::builder().cost(101.0).resume(snapshot, Time::ZERO);
        assert_eq!(refused.unwrap_err(), Budget::builder().cost(101.0).try_build().unwrap_err());
    }

    /// One budget lives on, the other is taken down and resumed at every step.
    #[test]
    fn a_budget_that_is_resumed_at_every_step_is_as_one_that_never_stopped() {
        let settings = Budget::builder().capacity(9.0).deposit(0.3).cost(1.1).floor_per_second(0.7);
        let lasting = settings.build();
        let mut snapshot = lasting.snapshot();
        let mut random = SplitMix64::new(7);
        let mut now = Time::ZERO;
        for step in 0..20_000 {
            now = now.after(Duration::from_nanos(random.word() % 900_000_000));
            let resumed = settings.resume(snapshot, now).unwrap();
            match random.word() % 3 {
                0 => (lasting.deposit(), resumed.deposit()).0,
                1 => (lasting.refund(), resumed.refund()).0,
                _ => assert_eq!(lasting.withdraw(now), resumed.withdraw(now), "step {step}"),
            }
            snapshot = resumed.snapshot();
            assert_eq!(lasting.snapshot(), snapshot, "step {step}");
        }
    }
}
