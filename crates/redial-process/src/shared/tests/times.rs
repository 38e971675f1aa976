//! What the clock may do: stand still, go on, jump either way.

use std::cell::Cell;
use std::time::Duration;

use redial_core::Time;

use super::super::breaker::{BreakerStatus, State};
use super::super::budget::BudgetStatus;
use super::super::{
    LOCK_TIMEOUT, Refusal, SharedBreaker, SharedBudget, record, seconds, time, wall_clock,
};
use super::{Place, permitted, refused};

thread_local! {
    static NOW: Cell<Time> = const { Cell::new(Time::ZERO) };
}

/// Sets this thread's clock to so many seconds after 2025 began.
fn set(seconds: f64) {
    NOW.set(time(1_735_689_600.0 + seconds));
}

fn budget(place: &Place) -> SharedBudget {
    SharedBudget::open_within(&place.path(), || NOW.get(), LOCK_TIMEOUT).expect("the file is sound")
}

fn breaker(place: &Place) -> SharedBreaker {
    SharedBreaker::open_within(&place.path(), || NOW.get(), LOCK_TIMEOUT)
        .expect("the file is sound")
}

fn fail(breaker: &SharedBreaker) {
    permitted(breaker).failed().expect("the file is sound");
}

#[track_caller]
fn withdraws(budget: &SharedBudget) -> bool {
    budget.withdraw().expect("the file is sound")
}

#[test]
fn a_time_is_the_same_after_it_was_in_a_file() {
    for micros in [0, 1, 999_999, 1_735_689_600_123_456, 4_102_444_800_999_999] {
        let before = Time::from_nanos(micros * 1000);
        let text = serde_json::to_string(&seconds(before)).expect("a number has a text");
        assert_eq!(time(serde_json::from_str(&text).expect("it is a number")), before, "{text}");
    }
    assert_eq!(wall_clock().as_nanos() % 1000, 0);
    assert_eq!((time(f64::NAN), time(-1.0)), (Time::ZERO, Time::ZERO));
    assert_eq!(time(f64::INFINITY), Time::MAX);
}

const SMALL: &str = r#"{"redial":"budget","capacity":2,"deposit":0.5,"floor_per_second":0.1}"#;

#[test]
fn the_floor_comes_with_time_to_the_microsecond() {
    set(0.0);
    let place = Place::holding(SMALL);
    let budget = budget(&place);
    assert!(withdraws(&budget) && withdraws(&budget) && !withdraws(&budget));
    set(9.999999);
    assert!(!withdraws(&budget));
    set(10.0);
    assert!(withdraws(&budget) && !withdraws(&budget));
}

#[test]
fn deposits_and_refunds_count_for_everybody() {
    set(0.0);
    let place = Place::holding(SMALL);
    let (one, other) = (budget(&place), budget(&place));
    assert!(withdraws(&one) && withdraws(&other) && !withdraws(&one));
    one.deposit().expect("the file is sound");
    assert!(!withdraws(&one));
    other.deposit().expect("the file is sound");
    assert!(withdraws(&one) && !withdraws(&other));
    one.refund().expect("the file is sound");
    assert!(withdraws(&other));
}

#[test]
fn a_clock_that_is_set_back_pays_the_floor_from_its_new_time_on() {
    set(1e9);
    let place = Place::holding(SMALL);
    let budget = budget(&place);
    assert!(withdraws(&budget) && withdraws(&budget));
    set(0.0);
    assert!(!withdraws(&budget), "nothing is paid for going back");
    set(9.0);
    assert!(!withdraws(&budget));
    set(10.0);
    assert!(withdraws(&budget));
}

#[test]
fn an_open_breaker_says_for_how_long() {
    set(0.0);
    let place = Place::holding(r#"{"redial":"breaker","failures":2}"#);
    let breaker = breaker(&place);
    fail(&breaker);
    assert_eq!(place.number("failed"), 1.0);
    fail(&breaker);
    assert_eq!(refused(&breaker), Refusal::Open(Duration::from_secs(30)));
    set(18.2);
    assert_eq!(refused(&breaker).to_string(), "open for 12s more");
    set(29.9995);
    assert_eq!(refused(&breaker).to_string(), "open for 1ms more");
    set(30.0);
    let probe = permitted(&breaker);
    assert_eq!(refused(&breaker), Refusal::Probing);
    probe.succeeded().expect("the file is sound");
    assert_eq!(place.json()["state"], "closed");
}

#[test]
fn a_success_ends_the_row_and_a_dropped_permit_is_neither() {
    set(0.0);
    let place = Place::holding(r#"{"redial":"breaker","failures":2}"#);
    let breaker = breaker(&place);
    fail(&breaker);
    drop(permitted(&breaker));
    assert_eq!(place.number("failed"), 1.0);
    permitted(&breaker).succeeded().expect("the file is sound");
    assert_eq!(place.number("failed"), 0.0);
}

#[test]
fn a_clock_that_is_set_back_leaves_it_open_for_its_recovery_and_no_longer() {
    set(1e9);
    let place = Place::holding(r#"{"redial":"breaker","failures":1}"#);
    let breaker = breaker(&place);
    fail(&breaker);
    set(0.0);
    assert_eq!(refused(&breaker), Refusal::Open(Duration::from_secs(30)));
    set(29.0);
    assert_eq!(refused(&breaker), Refusal::Open(Duration::from_secs(1)));
    set(30.0);
    let _probe = permitted(&breaker);
}

#[test]
fn after_years_of_rest_it_probes() {
    set(0.0);
    let place = Place::holding(r#"{"redial":"breaker","failures":1}"#);
    let breaker = breaker(&place);
    fail(&breaker);
    set(6.0 * 366.0 * 86_400.0);
    permitted(&breaker).succeeded().expect("the file is sound");
    assert_eq!(place.json()["state"], "closed");
}

#[test]
fn a_dropped_probe_makes_room_and_a_failed_one_opens_it_again() {
    set(0.0);
    let place = Place::holding(r#"{"redial":"breaker","failures":1,"probes":2}"#);
    let breaker = breaker(&place);
    fail(&breaker);
    set(30.0);
    let (one, other) = (permitted(&breaker), permitted(&breaker));
    assert_eq!(refused(&breaker), Refusal::Probing);
    drop(one);
    let third = permitted(&breaker);
    other.failed().expect("the file is sound");
    assert_eq!(refused(&breaker), Refusal::Open(Duration::from_secs(30)));

    // Of the next period the third is no probe, though it still runs.
    set(60.0);
    let next = [permitted(&breaker), permitted(&breaker)];
    third.failed().expect("the file is sound");
    for probe in next {
        probe.succeeded().expect("the file is sound");
    }
    assert_eq!(place.json()["state"], "closed");
}

#[test]
fn a_probe_that_runs_and_one_that_succeeded_leave_no_room_for_a_third() {
    set(0.0);
    let place = Place::holding(r#"{"redial":"breaker","probes":2,"state":"half-open"}"#);
    let breaker = breaker(&place);
    let running = permitted(&breaker);
    permitted(&breaker).succeeded().expect("the file is sound");
    assert_eq!(place.number("succeeded"), 1.0);
    assert_eq!(refused(&breaker), Refusal::Probing);
    running.succeeded().expect("the file is sound");
    assert_eq!(place.json()["state"], "closed");
}

fn budget_status(place: &Place) -> BudgetStatus {
    let look = record::look(&place.path()).expect("the file is there");
    BudgetStatus::of(&look, || NOW.get()).expect("the file is sound")
}

fn breaker_status(place: &Place) -> BreakerStatus {
    let look = record::look(&place.path()).expect("the file is there");
    BreakerStatus::of(&look, || NOW.get()).expect("the file is sound")
}

#[test]
fn a_budget_is_shown_with_what_the_floor_owes_and_when_it_is_full() {
    set(0.0);
    let place = Place::holding(SMALL);
    assert_eq!((budget_status(&place).tokens, budget_status(&place).full_in_ns), (2.0, Some(0)));
    let budget = budget(&place);
    assert!(withdraws(&budget) && withdraws(&budget));
    let kept = place.text();
    for (now, tokens, full_in) in [
        (0.0, 0.0, 20_000_000_000),
        (5.0, 0.5, 15_000_000_000),
        (19.0, 1.9, 1_000_000_000),
        (20.0, 2.0, 0),
        (1e9, 2.0, 0),
        (-1e9, 0.0, 20_000_000_000),
    ] {
        set(now);
        let status = budget_status(&place);
        assert!((status.tokens - tokens).abs() < 1e-6, "{now}: {}", status.tokens);
        let off = status.full_in_ns.expect("there is a floor").abs_diff(full_in);
        assert!(off < 1000, "{now}: {:?}", status.full_in_ns);
    }
    assert_eq!(place.text(), kept, "who looks changes nothing");
}

#[test]
fn a_budget_that_is_reset_is_full_from_now_on() {
    set(0.0);
    let place = Place::holding(SMALL);
    let budget = budget(&place);
    assert!(withdraws(&budget) && withdraws(&budget) && !withdraws(&budget));
    set(5.0);
    let [before, after] =
        BudgetStatus::reset(&place.path(), || NOW.get()).expect("the file is sound");
    assert_eq!((before.tokens, after.tokens), (0.5, 2.0));
    assert_eq!((place.number("capacity"), place.number("floor_per_second")), (2.0, 0.1));
    // The floor of the time before is not paid on top.
    assert!(withdraws(&budget) && withdraws(&budget) && !withdraws(&budget));
    set(15.0);
    assert!(withdraws(&budget) && !withdraws(&budget));
}

#[test]
fn a_breaker_is_shown_as_the_next_attempt_would_find_it() {
    set(0.0);
    let place = Place::holding(r#"{"redial":"breaker","failures":2,"recovery_seconds":10}"#);
    let breaker = breaker(&place);
    fail(&breaker);
    let status = breaker_status(&place);
    assert_eq!((status.state, status.failed, status.open_for_ns), (State::Closed, 1, None));
    fail(&breaker);
    for (now, left) in [(0.0, 10_000_000_000), (9.5, 500_000_000), (-1e9, 10_000_000_000)] {
        set(now);
        let status = breaker_status(&place);
        assert_eq!((status.state, status.failed), (State::Open, 0), "{now}");
        assert_eq!(status.open_for_ns, Some(left), "{now}");
    }
    set(10.0);
    let status = breaker_status(&place);
    assert_eq!((status.state, status.open_for_ns), (State::HalfOpen, None));
    assert_eq!((status.running, status.succeeded), (0, 0));
    // A probe is a lock, which is counted from another opening of the file.
    let probe = permitted(&breaker);
    assert_eq!(
        (breaker_status(&place).state, breaker_status(&place).running),
        (State::HalfOpen, 1)
    );
    probe.succeeded().expect("the file is sound");
    assert_eq!(breaker_status(&place).state, State::Closed);
}

#[test]
fn a_breaker_that_is_reset_is_closed_and_forgets_what_runs() {
    set(0.0);
    let place = Place::holding(
        r#"{"redial":"breaker","failures":1,"recovery_seconds":10,"state":"half-open","period":16383}"#,
    );
    let breaker = breaker(&place);
    let probe = permitted(&breaker);
    assert_eq!(refused(&breaker), Refusal::Probing);
    let [before, after] =
        BreakerStatus::reset(&place.path(), || NOW.get()).expect("the file is sound");
    assert_eq!((before.state, before.running), (State::HalfOpen, 1));
    assert_eq!((after.state, after.running, after.failed), (State::Closed, 0, 0));
    assert_eq!((after.failures, after.recovery_seconds), (1, 10.0));
    // It was admitted before, and reports too late to open it again.
    probe.failed().expect("the file is sound");
    permitted(&breaker).succeeded().expect("the file is sound");
    assert_eq!(breaker_status(&place).state, State::Closed);
}

#[test]
fn nothing_is_made_where_nothing_is() {
    let place = Place::new();
    assert_eq!(record::look(&place.path()).err().as_deref(), Some("there is no such file"));
    for error in [
        BudgetStatus::reset(&place.path(), || NOW.get()).err(),
        BreakerStatus::reset(&place.path(), || NOW.get()).err(),
    ] {
        assert!(error.is_some_and(|error| error.ends_with(": there is no such file")));
    }
    assert!(!place.path().exists());
}
