//! What a circuit breaker promises: its three states at their edges, reports that come late, then
//! many threads at once.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::thread;

use redial_core::{Breaker, BreakerBuilder, BreakerState, Permit, Random, SplitMix64, Time};

const CLOSED: BreakerState = BreakerState::Closed { failures: 0 };
const SETTINGS: BreakerBuilder = Breaker::builder().failures(1).recovery(Duration::from_secs(10));

/// When a breaker of these settings that opened at zero admits its probes.
const RECOVERED: Time = second(10);

const fn second(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

#[track_caller]
fn admitted(breaker: &Breaker, now: Time) -> Permit<'_> {
    breaker.admit(|| now).expect("the breaker admits it")
}

#[track_caller]
fn assert_refused(breaker: &Breaker, now: Time) {
    assert!(breaker.admit(|| now).is_none(), "admitted at {now:?}: {breaker:?}");
}

/// A breaker that opened at `now`.
fn opened(settings: BreakerBuilder, now: Time) -> Breaker {
    let breaker = settings.failures(1).build();
    admitted(&breaker, now).failed(now);
    breaker
}

/// How many permits it gives out before it refuses; all are held until then.
fn room(breaker: &Breaker, now: Time) -> usize {
    core::iter::from_fn(|| breaker.admit(|| now)).take(100).collect::<Vec<_>>().len()
}

mod closed {
    use super::*;

    #[test]
    fn a_breaker_starts_closed_and_admits_everybody() {
        let breaker = Breaker::new();
        assert_eq!(breaker.state(Time::ZERO), CLOSED);
        assert_eq!(breaker.state(Time::MAX), CLOSED);
        assert_eq!(room(&breaker, Time::ZERO), 100);
    }

    #[test]
    fn the_defaults_are_five_failures_thirty_seconds_and_one_probe() {
        let breaker = Breaker::default();
        for failures in 0..5 {
            assert_eq!(breaker.state(Time::ZERO), BreakerState::Closed { failures });
            admitted(&breaker, Time::ZERO).failed(second(7));
        }
        assert_eq!(breaker.state(Time::ZERO), BreakerState::Open { until: second(37) });
        assert_eq!(room(&breaker, second(37)), 1);
    }

    #[test]
    fn one_failure_is_enough_where_it_is_set_to_one() {
        let breaker = SETTINGS.failures(1).build();
        admitted(&breaker, Time::ZERO).failed(Time::ZERO);
        assert_refused(&breaker, Time::ZERO);
    }

    #[test]
    fn a_success_ends_the_row_of_failures() {
        let breaker = SETTINGS.failures(2).build();
        for _ in 0..100 {
            admitted(&breaker, Time::ZERO).failed(Time::ZERO);
            admitted(&breaker, Time::ZERO).succeeded();
        }
        assert_eq!(breaker.state(Time::ZERO), CLOSED);
    }

    #[test]
    fn an_attempt_without_a_report_is_neither_success_nor_failure() {
        let breaker = SETTINGS.failures(2).build();
        admitted(&breaker, Time::ZERO).failed(Time::ZERO);
        drop(admitted(&breaker, Time::ZERO));
        assert_eq!(breaker.state(Time::ZERO), BreakerState::Closed { failures: 1 });
    }

    #[test]
    fn the_time_is_not_asked_for() {
        let breaker = Breaker::new();
        let permit = breaker.admit(|| unreachable!("a closed breaker needs no clock"));
        permit.expect("closed").succeeded();
    }

    #[test]
    fn the_largest_number_of_failures_is_not_reached_soon() {
        let breaker = SETTINGS.failures(u32::MAX).build();
        for _ in 0..10_000 {
            admitted(&breaker, Time::ZERO).failed(Time::ZERO);
        }
        assert_eq!(breaker.state(Time::ZERO), BreakerState::Closed { failures: 10_000 });
    }
}

mod open {
    use super::*;

    #[test]
    fn it_refuses_until_the_recovery_time_to_the_nanosecond() {
        let breaker = opened(SETTINGS, Time::ZERO);
        let before = Time::from_nanos(RECOVERED.as_nanos() - 1);
        for now in [Time::ZERO, second(1), before] {
            assert_eq!(breaker.state(now), BreakerState::Open { until: RECOVERED });
            assert_refused(&breaker, now);
        }
        assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
        admitted(&breaker, RECOVERED).succeeded();
    }

    #[test]
    fn a_recovery_that_ends_within_a_microsecond_ends_with_it() {
        let settings = SETTINGS.recovery(Duration::from_nanos(1500));
        // From 1 ns on, 1501 ns: never early, and late by less than a microsecond.
        let breaker = opened(settings, Time::from_nanos(1));
        let until = Time::from_nanos(2000);
        assert_eq!(breaker.state(Time::ZERO), BreakerState::Open { until });
        assert_refused(&breaker, Time::from_nanos(1999));
        admitted(&breaker, until).succeeded();
    }

    #[test]
    fn a_recovery_of_nothing_probes_at_once() {
        let breaker = opened(SETTINGS.recovery(Duration::ZERO), second(5));
        assert_eq!(breaker.state(second(5)), BreakerState::HalfOpen);
        admitted(&breaker, second(5)).succeeded();
        assert_eq!(breaker.state(second(5)), CLOSED);
    }

    #[test]
    fn an_endless_recovery_lasts_for_four_years() {
        // Half of what 48 bits of microseconds tell apart; nothing but a reset ends it before.
        let breaker = opened(SETTINGS.recovery(Duration::MAX), Time::ZERO);
        let years = |years: u64| second(years * 365 * 86_400);
        assert_refused(&breaker, years(4));
        breaker.reset();
        admitted(&breaker, years(4)).succeeded();
    }

    #[test]
    fn a_clock_that_goes_backwards_is_refused() {
        let breaker = opened(SETTINGS, second(100));
        for earlier in [second(99), Time::ZERO] {
            assert_eq!(breaker.state(earlier), BreakerState::Open { until: second(110) });
            assert_refused(&breaker, earlier);
        }
        admitted(&breaker, second(110)).succeeded();
    }

    #[test]
    fn at_the_end_of_time_it_is_not_stuck() {
        let breaker = opened(SETTINGS, Time::MAX);
        admitted(&breaker, Time::MAX).succeeded();
        assert_eq!(breaker.state(Time::MAX), CLOSED);
    }

    #[test]
    fn looking_at_it_changes_nothing() {
        let breaker = opened(SETTINGS.probes(2), Time::ZERO);
        for now in [Time::ZERO, RECOVERED, second(11), Time::ZERO] {
            breaker.state(now);
        }
        assert_eq!(breaker.state(Time::ZERO), BreakerState::Open { until: RECOVERED });
        assert_eq!(room(&breaker, RECOVERED), 2);
    }
}

mod half_open {
    use super::*;

    #[test]
    fn it_admits_its_probes_and_nobody_else() {
        for probes in [1, 2, 3, 50] {
            let breaker = opened(SETTINGS.probes(probes), Time::ZERO);
            assert_eq!(room(&breaker, RECOVERED), probes as usize);
            assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
        }
    }

    #[test]
    fn it_closes_with_the_last_success_and_not_before() {
        let breaker = opened(SETTINGS.probes(3), Time::ZERO);
        let permits = [(); 3].map(|()| admitted(&breaker, RECOVERED));
        for permit in permits {
            assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
            assert_refused(&breaker, RECOVERED);
            permit.succeeded();
        }
        assert_eq!(breaker.state(RECOVERED), CLOSED);
    }

    #[test]
    fn probes_may_come_one_after_the_other() {
        let breaker = opened(SETTINGS.probes(3), Time::ZERO);
        for _ in 0..3 {
            assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
            admitted(&breaker, RECOVERED).succeeded();
        }
        assert_eq!(breaker.state(RECOVERED), CLOSED);
    }

    #[test]
    fn one_failure_opens_it_again_from_its_own_time_on() {
        let breaker = opened(SETTINGS.probes(3), Time::ZERO);
        admitted(&breaker, RECOVERED).succeeded();
        admitted(&breaker, RECOVERED).failed(second(12));
        assert_eq!(breaker.state(second(12)), BreakerState::Open { until: second(22) });
        // The success of the last period is forgotten.
        assert_eq!(room(&breaker, second(22)), 3);
    }

    #[test]
    fn one_failed_probe_is_enough_however_many_failures_open_it() {
        let breaker = SETTINGS.failures(5).build();
        for _ in 0..5 {
            admitted(&breaker, Time::ZERO).failed(Time::ZERO);
        }
        admitted(&breaker, RECOVERED).failed(RECOVERED);
        assert_refused(&breaker, RECOVERED);
    }

    #[test]
    fn after_it_closed_the_failures_count_from_zero() {
        let breaker = SETTINGS.failures(2).build();
        for _ in 0..2 {
            admitted(&breaker, Time::ZERO).failed(Time::ZERO);
        }
        admitted(&breaker, RECOVERED).succeeded();
        admitted(&breaker, RECOVERED).failed(RECOVERED);
        assert_eq!(breaker.state(RECOVERED), BreakerState::Closed { failures: 1 });
    }

    #[test]
    fn a_dropped_probe_makes_room_and_stands_for_nothing() {
        let breaker = opened(SETTINGS.probes(2), Time::ZERO);
        for _ in 0..100 {
            drop(admitted(&breaker, RECOVERED));
        }
        admitted(&breaker, RECOVERED).succeeded();
        drop(admitted(&breaker, RECOVERED));
        assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
        assert_eq!(room(&breaker, RECOVERED), 1);
        admitted(&breaker, RECOVERED).succeeded();
        assert_eq!(breaker.state(RECOVERED), CLOSED);
    }

    #[test]
    fn a_running_probe_holds_its_place_for_as_long_as_it_runs() {
        let breaker = opened(SETTINGS, Time::ZERO);
        let probe = admitted(&breaker, RECOVERED);
        assert_refused(&breaker, second(1_000_000));
        assert_refused(&breaker, Time::ZERO);
        probe.succeeded();
        assert_eq!(breaker.state(RECOVERED), CLOSED);
    }

    #[test]
    fn the_largest_number_of_probes_counts_as_the_smallest_does() {
        let breaker = opened(SETTINGS.probes(16_777_215), Time::ZERO);
        assert_eq!(room(&breaker, RECOVERED), 100);
        for _ in 0..1000 {
            admitted(&breaker, RECOVERED).succeeded();
        }
        assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
        admitted(&breaker, RECOVERED).failed(RECOVERED);
        assert_eq!(breaker.state(RECOVERED), BreakerState::Open { until: second(20) });
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "sixteen million probes take seconds when unoptimised")]
    fn the_largest_number_of_probes_is_kept_to_the_last() {
        const MOST: u32 = 16_777_215;
        let breaker = opened(SETTINGS.probes(MOST), Time::ZERO);
        for _ in 0..MOST {
            core::mem::forget(admitted(&breaker, RECOVERED)); // it runs and runs
        }
        assert_refused(&breaker, RECOVERED);
        assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);

        let breaker = opened(SETTINGS.probes(MOST), Time::ZERO);
        for _ in 0..MOST {
            assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
            admitted(&breaker, RECOVERED).succeeded();
        }
        assert_eq!(breaker.state(RECOVERED), CLOSED);
    }
}

mod late_reports {
    use super::*;

    /// What a straggler can do.
    const REPORTS: [fn(Permit<'_>); 3] = [
        |permit| permit.succeeded(),
        |permit| _ = permit.failed(second(11)),
        |permit| drop(permit),
    ];

    #[test]
    fn from_before_it_opened_do_not_touch_an_open_breaker() {
        for report in REPORTS {
            let breaker = SETTINGS.build();
            let straggler = admitted(&breaker, Time::ZERO);
            admitted(&breaker, Time::ZERO).failed(Time::ZERO);
            report(straggler);
            assert_eq!(breaker.state(Time::ZERO), BreakerState::Open { until: RECOVERED });
        }
    }

    #[test]
    fn from_before_it_opened_do_not_touch_the_probes() {
        for report in REPORTS {
            let breaker = SETTINGS.build();
            let straggler = admitted(&breaker, Time::ZERO);
            admitted(&breaker, Time::ZERO).failed(Time::ZERO);
            let probe = admitted(&breaker, RECOVERED);
            report(straggler);
            assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
            assert_eq!(room(&breaker, RECOVERED), 0);
            probe.succeeded();
            assert_eq!(breaker.state(RECOVERED), CLOSED);
        }
    }

    #[test]
    fn from_before_it_opened_do_not_touch_it_after_it_closed() {
        for report in REPORTS {
            let breaker = SETTINGS.failures(2).build();
            let straggler = admitted(&breaker, Time::ZERO);
            for _ in 0..2 {
                admitted(&breaker, Time::ZERO).failed(Time::ZERO);
            }
            admitted(&breaker, RECOVERED).succeeded();
            admitted(&breaker, RECOVERED).failed(RECOVERED);
            report(straggler);
            assert_eq!(breaker.state(RECOVERED), BreakerState::Closed { failures: 1 });
        }
    }

    #[test]
    fn from_a_probe_do_not_touch_the_next_probes() {
        for report in REPORTS {
            let breaker = opened(SETTINGS.probes(2), Time::ZERO);
            let straggler = admitted(&breaker, RECOVERED);
            admitted(&breaker, RECOVERED).failed(RECOVERED);
            let probe = admitted(&breaker, second(20));
            report(straggler);
            assert_eq!(breaker.state(second(20)), BreakerState::HalfOpen);
            assert_eq!(room(&breaker, second(20)), 1);
            probe.succeeded();
            admitted(&breaker, second(20)).succeeded();
            assert_eq!(breaker.state(second(20)), CLOSED);
        }
    }

    #[test]
    fn from_before_a_reset_do_not_count_after_it() {
        for report in REPORTS {
            let breaker = SETTINGS.build();
            let straggler = admitted(&breaker, Time::ZERO);
            breaker.reset();
            report(straggler);
            assert_eq!(breaker.state(Time::ZERO), CLOSED);
        }
    }

    #[test]
    fn do_not_count_for_sixteen_thousand_changes_of_state() {
        // Periods have fourteen bits; the 16 384th has the first one's number again.
        let breaker = SETTINGS.build();
        for changes in (0..14).map(|bit| 1 << bit).chain([16_383]) {
            let straggler = admitted(&breaker, Time::ZERO);
            for _ in 0..changes {
                breaker.reset();
            }
            straggler.failed(Time::ZERO);
            assert_eq!(breaker.state(Time::ZERO), CLOSED, "after {changes}");
        }
    }
}

mod reset {
    use super::*;

    #[test]
    fn closes_it_in_any_state_and_forgets_the_failures() {
        let breaker = SETTINGS.failures(2).build();
        breaker.reset();
        assert_eq!(breaker.state(Time::ZERO), CLOSED);

        admitted(&breaker, Time::ZERO).failed(Time::ZERO);
        breaker.reset();
        assert_eq!(breaker.state(Time::ZERO), CLOSED);

        for _ in 0..2 {
            admitted(&breaker, Time::ZERO).failed(Time::ZERO);
        }
        assert_refused(&breaker, Time::ZERO);
        breaker.reset();
        assert_eq!(breaker.state(Time::ZERO), CLOSED);

        for _ in 0..2 {
            admitted(&breaker, Time::ZERO).failed(Time::ZERO);
        }
        let probe = admitted(&breaker, RECOVERED);
        assert_refused(&breaker, RECOVERED);
        breaker.reset();
        assert_eq!(breaker.state(RECOVERED), CLOSED);
        assert_eq!(room(&breaker, RECOVERED), 100);
        probe.failed(RECOVERED);
        assert_eq!(breaker.state(RECOVERED), CLOSED);
    }
}

mod settings {
    use super::*;

    fn message(settings: BreakerBuilder) -> String {
        settings.try_build().map(drop).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_is_refused_and_named() {
        let zero = "0 is not allowed; use 1 or more";
        assert_eq!(message(SETTINGS.failures(0)), format!("breaker failures: {zero}"));
        assert_eq!(message(SETTINGS.probes(0)), format!("breaker probes: {zero}"));
        let many = "breaker probes: 16777216 are too many; use at most 16777215";
        assert_eq!(message(SETTINGS.probes(16_777_216)), many);
        assert!(message(SETTINGS.probes(u32::MAX)).starts_with("breaker probes: 4294967295 "));
    }

    #[test]
    fn the_smallest_and_the_largest_are_allowed() {
        assert!(SETTINGS.failures(1).probes(1).recovery(Duration::ZERO).try_build().is_ok());
        let largest = SETTINGS.failures(u32::MAX).probes(16_777_215).recovery(Duration::MAX);
        assert!(largest.try_build().is_ok());
    }

    #[test]
    #[should_panic(expected = "breaker failures: 0 is not allowed; use 1 or more")]
    fn build_panics_with_the_message() {
        SETTINGS.failures(0).build();
    }

    #[test]
    fn one_set_of_settings_makes_breakers_that_share_nothing() {
        static ORDERS: Breaker = SETTINGS.build();
        static STOCK: Breaker = SETTINGS.build();
        admitted(&ORDERS, Time::ZERO).failed(Time::ZERO);
        assert_refused(&ORDERS, Time::ZERO);
        assert_eq!(STOCK.state(Time::ZERO), CLOSED);
    }

    #[test]
    fn a_breaker_and_its_permits_can_be_sent_and_shown() {
        fn sent<T: Send + Sync>(_: &T) {}
        let breaker = SETTINGS.build();
        sent(&breaker);
        sent(&admitted(&breaker, Time::ZERO));
        assert!(format!("{breaker:?}").contains("Closed { failures: 0 }"));
    }
}

/// Real threads on a real machine: the orders that the models of `redial-model` leave out, by
/// their number.
mod many_threads {
    use super::*;

    const THREADS: u64 = 8;
    const OPERATIONS: u64 = 50_000;

    fn in_threads(work: impl Fn(u64) + Sync) {
        let work = &work;
        thread::scope(|scope| {
            for number in 0..THREADS {
                scope.spawn(move || work(number));
            }
        });
    }

    #[test]
    fn every_failure_counts() {
        static BREAKER: Breaker = SETTINGS.failures(u32::MAX).build();
        in_threads(|_| {
            for _ in 0..OPERATIONS {
                admitted(&BREAKER, Time::ZERO).failed(Time::ZERO);
            }
        });
        let failures = (THREADS * OPERATIONS) as u32;
        assert_eq!(BREAKER.state(Time::ZERO), BreakerState::Closed { failures });
    }

    #[test]
    fn never_more_probes_run_than_it_is_set_to() {
        let breaker = opened(SETTINGS.probes(3), Time::ZERO);
        let running = AtomicU64::new(0);
        let ran = AtomicU64::new(0);
        in_threads(|_| {
            for _ in 0..OPERATIONS {
                if let Some(probe) = breaker.admit(|| RECOVERED) {
                    assert!(running.fetch_add(1, Ordering::SeqCst) < 3);
                    ran.fetch_add(1, Ordering::Relaxed);
                    running.fetch_sub(1, Ordering::SeqCst);
                    drop(probe);
                }
            }
        });
        assert!(ran.into_inner() >= 3);
        assert_eq!(room(&breaker, RECOVERED), 3);
    }

    #[test]
    fn whatever_calls_and_resets_do_it_is_not_stuck() {
        let breaker = SETTINGS.failures(3).probes(2).recovery(Duration::from_micros(50)).build();
        let clock = AtomicU64::new(0);
        let admissions = AtomicU64::new(0);
        in_threads(|seed| {
            let mut random = SplitMix64::new(seed);
            for _ in 0..OPERATIONS {
                let word = random.word();
                let now = Time::from_nanos(clock.fetch_add(word >> 32 & 1023, Ordering::Relaxed));
                let Some(permit) = breaker.admit(|| now) else { continue };
                admissions.fetch_add(1, Ordering::Relaxed);
                match word % 1000 {
                    0..500 => _ = permit.failed(now),
                    500..900 => permit.succeeded(),
                    900..999 => drop(permit),
                    _ => {
                        breaker.reset();
                        permit.failed(now);
                    }
                }
            }
        });
        assert!(admissions.into_inner() > 1000);

        // All have reported, so nobody holds a place: two successes close it, wherever it stands.
        let later = Time::from_nanos(clock.into_inner()).after(Duration::from_secs(1));
        if !matches!(breaker.state(later), BreakerState::Closed { .. }) {
            let places = room(&breaker, later);
            assert!((1..=2).contains(&places), "{breaker:?}");
            for _ in 0..places {
                admitted(&breaker, later).succeeded();
            }
        }
        admitted(&breaker, later).succeeded();
        assert_eq!(breaker.state(later), CLOSED);
    }
}

mod snapshot {
    use super::*;
    use redial_core::BreakerSnapshot;

    const EMPTY: BreakerSnapshot =
        BreakerSnapshot { state: CLOSED, running: 0, succeeded: 0, period: 0 };

    fn resumed(settings: BreakerBuilder, snapshot: BreakerSnapshot, now: Time) -> Breaker {
        settings.resume(snapshot, now).expect("the settings are in range")
    }

    #[test]
    fn every_state_comes_back_as_it_was() {
        let settings = SETTINGS.failures(3).probes(3);
        let states = [
            (BreakerState::Closed { failures: 2 }, 0, 0, 0),
            (BreakerState::Open { until: second(14) }, 0, 0, 1),
            (BreakerState::HalfOpen, 0, 0, 2),
            (BreakerState::HalfOpen, 1, 2, 16_383),
        ];
        for (state, running, succeeded, period) in states {
            let snapshot = BreakerSnapshot { state, running, succeeded, period };
            assert_eq!(resumed(settings, snapshot, second(5)).snapshot(second(5)), snapshot);
        }
    }

    #[test]
    fn a_recovery_that_is_over_is_half_open() {
        let breaker = opened(SETTINGS, Time::ZERO);
        let snapshot = breaker.snapshot(RECOVERED);
        assert_eq!(snapshot.state, BreakerState::HalfOpen);
        assert_eq!(room(&resumed(SETTINGS, snapshot, RECOVERED), RECOVERED), 1);
        // Five years later, which is more than the word can tell apart.
        let later = second(5 * 365 * 86_400);
        let snapshot = breaker.snapshot(Time::ZERO);
        assert_eq!(
            room(&resumed(SETTINGS, snapshot, later), later.after(Duration::from_micros(1))),
            1
        );
    }

    #[test]
    fn it_is_never_open_for_longer_than_its_recovery_from_now() {
        for until in [second(111), second(1_000_000_000), Time::MAX] {
            let snapshot = BreakerSnapshot { state: BreakerState::Open { until }, ..EMPTY };
            let breaker = resumed(SETTINGS, snapshot, second(100));
            assert_eq!(breaker.state(second(100)), BreakerState::Open { until: second(110) });
        }
    }

    #[test]
    fn more_failures_than_open_it_open_it_with_the_next() {
        let state = BreakerState::Closed { failures: u32::MAX };
        let breaker = resumed(SETTINGS.failures(3), BreakerSnapshot { state, ..EMPTY }, Time::ZERO);
        assert_eq!(breaker.state(Time::ZERO), BreakerState::Closed { failures: 2 });
        admitted(&breaker, Time::ZERO).failed(Time::ZERO);
        assert_refused(&breaker, Time::ZERO);
    }

    #[test]
    fn more_probes_than_there_are_leave_one_that_decides() {
        let settings = SETTINGS.probes(2);
        let state = BreakerState::HalfOpen;
        let snapshot = BreakerSnapshot { state, succeeded: u32::MAX, ..EMPTY };
        let breaker = resumed(settings, snapshot, Time::ZERO);
        assert_eq!(room(&breaker, Time::ZERO), 1);
        admitted(&breaker, Time::ZERO).succeeded();
        assert_eq!(breaker.state(Time::ZERO), CLOSED);

        // Places that are taken are given back by those who took them.
        let snapshot = BreakerSnapshot { running: u32::MAX, period: u16::MAX, ..snapshot };
        let breaker = resumed(settings, snapshot, Time::ZERO);
        assert_refused(&breaker, Time::ZERO);
        assert_eq!(breaker.snapshot(Time::ZERO).period, 16_383);
        drop(breaker.permit(u16::MAX));
        assert_eq!(room(&breaker, Time::ZERO), 1);
    }

    #[test]
    fn a_report_from_before_counts_in_its_own_period_alone() {
        let breaker = opened(SETTINGS.probes(2), Time::ZERO);
        let probe = admitted(&breaker, RECOVERED).into_period();
        assert_eq!(breaker.snapshot(RECOVERED).running, 1);

        let later = resumed(SETTINGS.probes(2), breaker.snapshot(RECOVERED), RECOVERED);
        later.permit(probe - 1).succeeded();
        later.permit(probe + 1).failed(RECOVERED);
        assert_eq!(later.snapshot(RECOVERED), breaker.snapshot(RECOVERED));
        later.permit(probe).succeeded();
        assert_eq!(later.snapshot(RECOVERED).succeeded, 1);
        assert_eq!(later.snapshot(RECOVERED).running, 0);
    }

    #[test]
    fn settings_are_checked_as_when_it_is_built() {
        let refused = SETTINGS.probes(0).resume(EMPTY, Time::ZERO).unwrap_err();
        assert_eq!(refused, SETTINGS.probes(0).try_build().unwrap_err());
    }
}
