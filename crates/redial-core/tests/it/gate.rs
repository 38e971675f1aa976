//! What a decision asks a gate, and when: the breaker hears of each failure that counts, no wait
//! leads into an open breaker, and nothing is paid for a retry that does not happen.

use core::time::Duration;

use redial_core::{
    AsPolicy, Breaker, BreakerState, Call, Decision, Gate, Limits, Policy, Stop, Time, Verdict,
};

/// A gate that writes down what it is asked.
#[derive(Default)]
struct Recorder {
    log: Vec<&'static str>,
    /// For how long after a failure it is open.
    open: Duration,
    broke: bool,
}

impl Gate for Recorder {
    fn failed(&mut self, now: Time) -> Time {
        self.log.push("failed");
        now.after(self.open)
    }

    fn withdraw(&mut self, _now: Time) -> bool {
        self.log.push("withdraw");
        !self.broke
    }
}

fn clause(text: &str) -> Policy {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn failed<P: AsPolicy>(call: &mut Call<P>, gate: &mut impl Gate, verdict: Verdict) -> Decision {
    call.failed_past(&Limits::new(), gate, || Time::ZERO, || verdict, &mut || u64::MAX)
}

#[track_caller]
fn check(policy: &str, verdict: Verdict, gate: Recorder, decision: Decision, log: &[&str]) {
    let mut gate = gate;
    let policy = clause(policy);
    assert_eq!(failed(&mut policy.start(Time::ZERO), &mut gate, verdict), decision, "{policy}");
    assert_eq!(gate.log, log, "{policy}");
}

#[test]
fn a_gate_hears_of_the_failure_and_is_paid_last() {
    let (wait, retry) = (|delay| Decision::Wait(seconds(delay)), Verdict::Retry);
    let gate = Recorder::default;
    check("attempts: 2, delay: 1s", retry, gate(), wait(1), &["failed", "withdraw"]);
    check("attempts: 2", retry, gate(), wait(0), &["failed", "withdraw"]);
    let dictated = Verdict::RetryAfter(seconds(5));
    check("attempts: 2, delay: 1s", dictated, gate(), wait(5), &["failed", "withdraw"]);
}

#[test]
fn nothing_is_paid_for_a_retry_that_something_else_forbids() {
    let check = |policy: &str, verdict, stop| {
        check(policy, verdict, Recorder::default(), Decision::Stop(stop), &["failed"]);
    };
    check("attempts: 1", Verdict::Retry, Stop::AttemptsSpent);
    check("attempts: 2, delay: 1s, within: 1s", Verdict::Retry, Stop::Deadline);
    check("attempts: 2, delay: 1s, wait_budget: 999ms", Verdict::Retry, Stop::WaitBudget);
    check("attempts: 2", Verdict::RetryAfter(seconds(121)), Stop::RetryAfterTooLong);
}

#[test]
fn what_is_rejected_the_gate_does_not_hear_of() {
    let stop = Decision::Stop(Stop::Rejected);
    check("attempts: 2, delay: 1s", Verdict::Stop, Recorder::default(), stop, &[]);
}

#[test]
fn an_empty_budget_behind_the_gate_stops_the_call() {
    let gate = Recorder { broke: true, ..Recorder::default() };
    let stop = Decision::Stop(Stop::Budget);
    check("attempts: 2, delay: 1s", Verdict::Retry, gate, stop, &["failed", "withdraw"]);
}

#[test]
fn a_wait_ends_no_sooner_than_the_breaker_admits_an_attempt() {
    let open = |open| Recorder { open, ..Recorder::default() };
    let stop = Decision::Stop(Stop::BreakerOpen);
    let policy = "attempts: 2, delay: 10s";
    let nanosecond = Duration::from_nanos(1);
    let paid: &[_] = &["failed", "withdraw"];
    check(policy, Verdict::Retry, open(seconds(10)), Decision::Wait(seconds(10)), paid);
    check(policy, Verdict::Retry, open(seconds(10) + nanosecond), stop, &["failed"]);
    check(policy, Verdict::Retry, open(Duration::MAX), stop, &["failed"]);
    // A server that says when to come back is believed by the breaker's clock, too.
    let dictated = Verdict::RetryAfter(seconds(9));
    check(policy, dictated, open(seconds(10)), stop, &["failed"]);
}

/// A deadline is the call's own affair, and says more than a breaker that will be closed some day.
#[test]
fn the_limits_in_time_come_before_the_breaker() {
    let gate = Recorder { open: seconds(60), ..Recorder::default() };
    let stop = Decision::Stop(Stop::Deadline);
    check("attempts: 2, delay: 1s, within: 1s", Verdict::Retry, gate, stop, &["failed"]);
}

#[test]
fn a_permit_is_the_gate_of_its_breaker() {
    let breaker = Breaker::builder().failures(2).recovery(seconds(30)).build();
    let policy = clause("attempts: 9, delay: 1s");
    let mut call = policy.start(Time::ZERO);

    let mut first = breaker.admit(|| Time::ZERO);
    assert_eq!(failed(&mut call, &mut first, Verdict::Retry), Decision::Wait(seconds(1)));
    assert!(first.is_none(), "a permit reports once");
    assert_eq!(breaker.state(Time::ZERO), BreakerState::Closed { failures: 1 });

    let mut rejected = breaker.admit(|| Time::ZERO);
    assert_eq!(failed(&mut call, &mut rejected, Verdict::Stop), Decision::Stop(Stop::Rejected));
    assert!(rejected.is_some(), "a rejected failure is not reported");
    drop(rejected);
    assert_eq!(breaker.state(Time::ZERO), BreakerState::Closed { failures: 1 });

    let mut second = breaker.admit(|| Time::ZERO);
    let stop = Decision::Stop(Stop::BreakerOpen);
    assert_eq!(failed(&mut call, &mut second, Verdict::Retry), stop);
    assert_eq!(call.waited(), seconds(1), "a wait that is not slept is not counted");
}

/// Somebody else opened it while this attempt ran: the report of this one counts for nothing, and
/// the breaker is open all the same.
#[test]
fn a_breaker_that_another_call_opened_is_open_for_this_one() {
    let breaker = Breaker::builder().failures(1).recovery(seconds(30)).build();
    let (mut mine, theirs) = (breaker.admit(|| Time::ZERO), breaker.admit(|| Time::ZERO));
    let _ = theirs.map(|permit| permit.failed(Time::ZERO));
    let policy = clause("attempts: 9, delay: 1s");
    let decision = failed(&mut policy.start(Time::ZERO), &mut mine, Verdict::Retry);
    assert_eq!(decision, Decision::Stop(Stop::BreakerOpen));
}

#[test]
fn without_a_gate_the_time_is_not_asked_for() {
    let policy = clause("attempts: 2, delay: 1s");
    let now = || -> Time { panic!("asked for the time") };
    let mut none: Option<redial_core::Permit<'_>> = None;
    let limits = Limits::new();
    let mut call = policy.start(Time::ZERO);
    let decision = call.failed_past(&limits, &mut none, now, || Verdict::Retry, &mut || 0);
    assert_eq!(decision, Decision::Wait(seconds(1)));
    let decision = call.failed_past(&limits, &mut (), now, || Verdict::Retry, &mut || 0);
    assert_eq!(decision, Decision::Stop(Stop::AttemptsSpent));
}
