//! Every interleaving of a few calls on one breaker.

use core::time::Duration;

use loom::thread::{self, JoinHandle};
use redial_model::{Breaker, BreakerBuilder, BreakerState, Permit, Time, bounded, exhaustive};

const SETTINGS: BreakerBuilder = Breaker::builder().recovery(Duration::from_secs(10));
const CLOSED: BreakerState = BreakerState::Closed { failures: 0 };

/// When a breaker that opened at zero admits its probes.
const RECOVERED: Time = second(10);

const fn second(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

/// A breaker for threads to share.
///
/// It is leaked, to live as long as a `static`: a model's threads cannot borrow. The look at it
/// also makes its atomic, before there is a second thread.
fn closed(settings: BreakerBuilder) -> &'static Breaker {
    let breaker: &Breaker = Box::leak(Box::new(settings.build()));
    assert_eq!(breaker.state(Time::ZERO), CLOSED);
    breaker
}

/// One that opened at zero.
fn open(settings: BreakerBuilder) -> &'static Breaker {
    let breaker = closed(settings.failures(1));
    admitted(breaker, Time::ZERO).failed(Time::ZERO);
    assert_eq!(breaker.state(Time::ZERO), BreakerState::Open { until: RECOVERED });
    breaker
}

#[track_caller]
fn admitted(breaker: &'static Breaker, now: Time) -> Permit<'static> {
    breaker.admit(|| now).expect("the breaker admits it")
}

/// As many permits, all of one period.
#[track_caller]
fn admitted_together<const N: usize>(breaker: &'static Breaker, now: Time) -> [Permit<'static>; N] {
    [(); N].map(|()| admitted(breaker, now))
}

/// Asks in a thread of its own, and hands on what it got.
fn ask(breaker: &'static Breaker, now: Time) -> JoinHandle<Option<Permit<'static>>> {
    thread::spawn(move || breaker.admit(|| now))
}

fn succeed(permit: Permit<'static>) -> JoinHandle<()> {
    thread::spawn(move || permit.succeeded())
}

fn fail(permit: Permit<'static>, now: Time) -> JoinHandle<()> {
    thread::spawn(move || _ = permit.failed(now))
}

fn reset(breaker: &'static Breaker) -> JoinHandle<()> {
    thread::spawn(|| breaker.reset())
}

fn join<const N: usize>(threads: [JoinHandle<()>; N]) {
    for thread in threads {
        thread.join().unwrap();
    }
}

/// How many permits a breaker gives out at `now` before it refuses; all are held until then.
fn room(breaker: &Breaker, now: Time) -> usize {
    core::iter::from_fn(|| breaker.admit(|| now)).take(4).collect::<Vec<_>>().len()
}

/// Whatever happened: once all have reported, calls run, or probes do after the recovery time and
/// their success closes it.
#[track_caller]
fn assert_not_stuck(breaker: &'static Breaker, probes: usize) {
    let later = second(1000);
    if !matches!(breaker.state(later), BreakerState::Closed { .. }) {
        assert_eq!(room(breaker, later), probes, "{breaker:?}");
        for _ in 0..probes {
            admitted(breaker, later).succeeded();
        }
    }
    admitted(breaker, later).succeeded();
    assert_eq!(breaker.state(later), CLOSED);
}

#[test]
fn every_one_of_three_failures_counts() {
    exhaustive(|| {
        let breaker = closed(SETTINGS.failures(3));
        let [first, other, mine] = admitted_together(breaker, Time::ZERO);
        let threads = [fail(first, second(1)), fail(other, second(2))];
        mine.failed(second(3));
        join(threads);
        let BreakerState::Open { until } = breaker.state(Time::ZERO) else {
            panic!("a failure was lost: {breaker:?}");
        };
        assert!((second(11)..=second(13)).contains(&until));
        assert_not_stuck(breaker, 1);
    });
}

#[test]
fn one_failure_opens_it_and_the_others_do_not_open_it_again() {
    exhaustive(|| {
        let breaker = closed(SETTINGS.failures(1));
        let [first, other] = admitted_together(breaker, Time::ZERO);
        let threads = [fail(first, second(1)), fail(other, second(2))];
        // Whatever is seen first stays.
        let seen = [(); 2].map(|()| breaker.state(Time::ZERO));
        join(threads);
        let end = breaker.state(Time::ZERO);
        match seen {
            [CLOSED, CLOSED] => {}
            [CLOSED, later] => assert_eq!(later, end),
            [first, second] => assert_eq!([first, second], [end, end]),
        }
        assert!(matches!(end, BreakerState::Open { .. }));
    });
}

#[test]
fn a_success_between_two_failures_may_or_may_not_break_the_row() {
    exhaustive(|| {
        let breaker = closed(SETTINGS.failures(2));
        let [first, other, good] = admitted_together(breaker, Time::ZERO);
        let threads = [fail(first, Time::ZERO), fail(other, Time::ZERO)];
        good.succeeded();
        join(threads);
        match breaker.state(Time::ZERO) {
            // The success came between them; or before both, or too late to count.
            BreakerState::Closed { failures: 1 } | BreakerState::Open { .. } => {}
            other => panic!("{other:?}"),
        }
        assert_not_stuck(breaker, 1);
    });
}

#[test]
fn of_three_that_ask_a_recovered_breaker_one_becomes_the_probe() {
    bounded(|| {
        let breaker = open(SETTINGS);
        let threads = [(); 2].map(|()| ask(breaker, RECOVERED));
        let mine = breaker.admit(|| RECOVERED);
        let theirs = threads.map(|thread| thread.join().unwrap());
        assert_eq!(mine.iter().chain(theirs.iter().flatten()).count(), 1);
        drop((mine, theirs));
        assert_not_stuck(breaker, 1);
    });
}

#[test]
fn of_three_that_ask_a_recovered_breaker_two_become_the_probes() {
    bounded(|| {
        let breaker = open(SETTINGS.probes(2));
        let threads = [(); 2].map(|()| ask(breaker, RECOVERED));
        let mine = breaker.admit(|| RECOVERED);
        let theirs = threads.map(|thread| thread.join().unwrap());
        assert_eq!(mine.iter().chain(theirs.iter().flatten()).count(), 2);
        drop((mine, theirs));
        assert_not_stuck(breaker, 2);
    });
}

#[test]
fn a_clock_that_is_behind_gets_no_probe_of_an_open_breaker() {
    exhaustive(|| {
        let breaker = open(SETTINGS);
        let early = ask(breaker, second(9));
        let probe = breaker.admit(|| RECOVERED);
        assert!(probe.is_some());
        // It is refused while the breaker is open, and while the one probe runs.
        assert!(early.join().unwrap().is_none());
        drop(probe);
        assert_not_stuck(breaker, 1);
    });
}

#[test]
fn two_probes_that_succeed_at_once_close_it() {
    exhaustive(|| {
        let breaker = open(SETTINGS.probes(2));
        let probes: [_; 2] = admitted_together(breaker, RECOVERED);
        join(probes.map(succeed));
        assert_eq!(breaker.state(RECOVERED), CLOSED);
    });
}

#[test]
fn a_probe_that_fails_wins_over_one_that_succeeds() {
    exhaustive(|| {
        let breaker = open(SETTINGS.probes(2));
        let [good, bad] = admitted_together(breaker, RECOVERED);
        join([succeed(good), fail(bad, RECOVERED)]);
        assert_eq!(breaker.state(RECOVERED), BreakerState::Open { until: second(20) });
        assert_not_stuck(breaker, 2);
    });
}

#[test]
fn two_probes_that_fail_at_once_open_it_once() {
    exhaustive(|| {
        let breaker = open(SETTINGS.probes(2));
        let [first, other] = admitted_together(breaker, RECOVERED);
        let threads = [fail(first, second(11)), fail(other, second(12))];
        let seen = breaker.state(RECOVERED);
        join(threads);
        let end = breaker.state(RECOVERED);
        assert!(matches!(end, BreakerState::Open { .. }));
        assert!(seen == BreakerState::HalfOpen || seen == end);
        assert_not_stuck(breaker, 2);
    });
}

#[test]
fn whoever_asks_while_probes_report_leaves_it_closed_or_open_never_between() {
    exhaustive(|| {
        let breaker = open(SETTINGS.failures(1));
        let good = thread::spawn(|| breaker.admit(|| RECOVERED).map(Permit::succeeded).is_some());
        let bad = breaker.admit(|| RECOVERED).map(|permit| permit.failed(RECOVERED)).is_some();
        let good = good.join().unwrap();
        assert!(good || bad);
        match breaker.state(RECOVERED) {
            CLOSED => assert!(good),
            BreakerState::Open { until } => assert!(bad && until == second(20)),
            between => panic!("{between:?}"),
        }
        assert_not_stuck(breaker, 1);
    });
}

#[test]
fn a_dropped_probe_makes_room_for_exactly_one() {
    exhaustive(|| {
        let breaker = open(SETTINGS.probes(2));
        let [dropped, kept] = admitted_together(breaker, RECOVERED);
        let thread = thread::spawn(move || drop(dropped));
        let mine = breaker.admit(|| RECOVERED); // before the drop or after it
        thread.join().unwrap();
        assert_eq!(room(breaker, RECOVERED), usize::from(mine.is_none()));
        drop((mine, kept));
        assert_eq!(room(breaker, RECOVERED), 2);
        assert_not_stuck(breaker, 2);
    });
}

#[test]
fn probes_that_come_and_go_leave_as_much_room_as_there_was() {
    exhaustive(|| {
        let breaker = open(SETTINGS);
        let thread = thread::spawn(|| drop(breaker.admit(|| RECOVERED)));
        drop(breaker.admit(|| RECOVERED));
        thread.join().unwrap();
        assert_eq!(room(breaker, RECOVERED), 1);
        assert_not_stuck(breaker, 1);
    });
}

#[test]
fn a_probe_that_is_dropped_while_another_succeeds_is_neither() {
    exhaustive(|| {
        let breaker = open(SETTINGS.probes(2));
        let [dropped, good] = admitted_together(breaker, RECOVERED);
        let thread = thread::spawn(move || drop(dropped));
        good.succeeded();
        thread.join().unwrap();
        assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
        admitted(breaker, RECOVERED).succeeded();
        assert_eq!(breaker.state(RECOVERED), CLOSED);
    });
}

#[test]
fn a_probe_that_succeeds_gives_its_place_to_nobody() {
    exhaustive(|| {
        let breaker = open(SETTINGS.probes(2));
        let [good, _running] = admitted_together(breaker, RECOVERED);
        let thread = succeed(good);
        assert_eq!(room(breaker, RECOVERED), 0);
        join([thread]);
        assert_eq!(room(breaker, RECOVERED), 0);
    });
}

/// An attempt of the breaker's first period that is still running when it opens.
fn open_with_a_straggler(settings: BreakerBuilder) -> (&'static Breaker, Permit<'static>) {
    let breaker = closed(settings.failures(1));
    let straggler = admitted(breaker, Time::ZERO);
    admitted(breaker, Time::ZERO).failed(Time::ZERO);
    (breaker, straggler)
}

#[test]
fn a_late_failure_does_not_disturb_the_probe_that_closes_it() {
    exhaustive(|| {
        let (breaker, straggler) = open_with_a_straggler(SETTINGS);
        let thread = fail(straggler, RECOVERED);
        admitted(breaker, RECOVERED).succeeded();
        assert_eq!(breaker.state(RECOVERED), CLOSED);
        join([thread]);
        assert_eq!(breaker.state(RECOVERED), CLOSED);
    });
}

#[test]
fn a_late_success_does_not_close_it_or_stand_in_for_a_probe() {
    exhaustive(|| {
        let (breaker, straggler) = open_with_a_straggler(SETTINGS);
        let thread = succeed(straggler);
        let probe = admitted(breaker, RECOVERED);
        assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
        join([thread]);
        assert_eq!(breaker.state(RECOVERED), BreakerState::HalfOpen);
        probe.failed(RECOVERED);
        assert_eq!(breaker.state(RECOVERED), BreakerState::Open { until: second(20) });
    });
}

#[test]
fn a_late_drop_does_not_free_the_place_of_a_probe() {
    exhaustive(|| {
        let (breaker, straggler) = open_with_a_straggler(SETTINGS);
        let thread = thread::spawn(move || drop(straggler));
        let _probe = admitted(breaker, RECOVERED);
        assert_eq!(room(breaker, RECOVERED), 0);
        thread.join().unwrap();
        assert_eq!(room(breaker, RECOVERED), 0);
    });
}

#[test]
fn a_probe_of_the_last_half_open_period_does_not_count_in_the_next() {
    exhaustive(|| {
        let breaker = open(SETTINGS.probes(2));
        let [late, bad] = admitted_together(breaker, RECOVERED);
        bad.failed(RECOVERED);
        let thread = succeed(late);
        admitted(breaker, second(20)).succeeded();
        thread.join().unwrap();
        // One of two has succeeded in this period.
        assert_eq!(breaker.state(second(20)), BreakerState::HalfOpen);
        assert_eq!(room(breaker, second(20)), 1);
    });
}

#[test]
fn a_permit_belongs_to_the_period_that_gave_it_whatever_comes_next() {
    exhaustive(|| {
        let breaker = open(SETTINGS.probes(2));
        let bad = admitted(breaker, RECOVERED);
        let thread = ask(breaker, RECOVERED);
        bad.failed(RECOVERED);
        let next = admitted(breaker, second(20));
        // The other was admitted beside the probe that failed, or refused, or beside this one.
        let other = thread.join().unwrap();
        let beside_this_one = room(breaker, second(20)) == 0;
        if let Some(other) = other {
            other.succeeded();
        }
        next.succeeded();
        let expected = if beside_this_one { CLOSED } else { BreakerState::HalfOpen };
        assert_eq!(breaker.state(second(20)), expected);
    });
}

#[test]
fn a_reset_wins_over_a_failure_that_was_admitted_before_it() {
    exhaustive(|| {
        let breaker = closed(SETTINGS.failures(1));
        let thread = fail(admitted(breaker, Time::ZERO), Time::ZERO);
        breaker.reset();
        join([thread]);
        assert_eq!(breaker.state(Time::ZERO), CLOSED);
    });
}

#[test]
fn a_reset_wins_over_the_reports_of_probes() {
    exhaustive(|| {
        let breaker = open(SETTINGS.probes(2));
        let [good, bad] = admitted_together(breaker, RECOVERED);
        let threads = [succeed(good), fail(bad, RECOVERED)];
        breaker.reset();
        join(threads);
        assert_eq!(breaker.state(RECOVERED), CLOSED);
    });
}

#[test]
fn a_reset_wins_over_whoever_half_opens_it() {
    exhaustive(|| {
        let breaker = open(SETTINGS.failures(1));
        let thread = reset(breaker);
        let permit = admitted(breaker, RECOVERED);
        join([thread]);
        assert_eq!(breaker.state(RECOVERED), CLOSED);
        drop(permit);
        assert_eq!(breaker.state(RECOVERED), CLOSED);
        assert_not_stuck(breaker, 1);
    });
}

#[test]
fn two_resets_are_as_good_as_one() {
    exhaustive(|| {
        let breaker = open(SETTINGS);
        let threads = [(); 2].map(|()| reset(breaker));
        if let Some(permit) = breaker.admit(|| Time::ZERO) {
            permit.succeeded();
        }
        join(threads);
        assert_eq!(breaker.state(Time::ZERO), CLOSED);
    });
}

#[test]
fn calls_that_fail_and_probe_through_two_periods_leave_it_usable() {
    bounded(|| {
        // No recovery time: opening, probing and closing can all fall into the race.
        let breaker = closed(SETTINGS.failures(1).recovery(Duration::ZERO));
        let two_calls = move || {
            if let Some(permit) = breaker.admit(|| Time::ZERO) {
                permit.failed(Time::ZERO);
            }
            if let Some(permit) = breaker.admit(|| Time::ZERO) {
                permit.succeeded();
            }
        };
        let thread = thread::spawn(two_calls);
        two_calls();
        thread.join().unwrap();
        assert_not_stuck(breaker, 1);
    });
}
