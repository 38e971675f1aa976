//! Section 3 of the contract as a table: failures and verdicts go in, decisions come out.

use core::time::Duration;

use redial_core::{
    Backoff, Budget, Call, Decision, Limits, Policy, Pretty, Random, Schedule, Stop, Time, Verdict,
};

const FAR: &str = "18446744073709551615ns";

fn duration(text: &str) -> Duration {
    let policy = clause(&format!("retry: 1, delay: {text}"));
    policy.delays(|| 0).next().expect("one delay")
}

fn clause(text: &str) -> Policy {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn verdict(text: &str) -> Verdict {
    match text.split_once(' ') {
        None if text == "stop" => Verdict::Stop,
        None if text == "retry" => Verdict::Retry,
        Some(("after", wait)) => Verdict::RetryAfter(duration(wait)),
        _ => panic!("{text} is not a verdict"),
    }
}

/// One failure as text: the decision, then whether the classifier was left out and how many words
/// were drawn. Every word is the highest, so a jitter gives the most that it can.
fn decide<P: redial_core::AsPolicy>(
    call: &mut Call<P>,
    limits: &Limits<'_>,
    at: Time,
    verdict: Verdict,
) -> String {
    let (mut asked, mut words) = (false, 0);
    let classify = || {
        asked = true;
        verdict
    };
    let mut random = || {
        words += 1;
        u64::MAX
    };
    let decision = call.failed_under(limits, || at, classify, &mut random);
    let mut text = match decision {
        Decision::Wait(delay) => format!("wait {}", Pretty(delay)),
        Decision::Stop(reason) => format!("stop {}", reason.name()),
    };
    if !asked {
        text += " unasked";
    }
    if words > 0 {
        text += &format!(" +{words}");
    }
    text
}

/// Failures such as `0s retry; 2s after 5s; 9s stop`: when the attempt failed, and what the
/// classifier says about it.
#[track_caller]
fn check_under(limits: Limits<'_>, policy: &str, failures: &str, expected: &str) {
    let policy = clause(policy);
    let mut call = policy.start(Time::ZERO);
    let decisions: Vec<_> = failures
        .split("; ")
        .map(|failure| {
            let (at, said) = failure.split_once(' ').expect("a time and a verdict");
            decide(&mut call, &limits, Time::ZERO.after(duration(at)), verdict(said))
        })
        .collect();
    assert_eq!(decisions.join("; "), expected, "{policy}: {failures}");
}

#[track_caller]
fn check(policy: &str, failures: &str, expected: &str) {
    check_under(Limits::new(), policy, failures, expected);
}

#[test]
fn one_attempt_stops_at_its_failure_and_nobody_is_asked() {
    check("attempts: 1, delay: 1s, jitter: full", "0s retry", "stop attempts-spent unasked");
    check("attempts: 1", "0s stop", "stop attempts-spent unasked");
    check("retry: 0", "0s after 999d", "stop attempts-spent unasked");
}

#[test]
fn a_policy_of_three_attempts_waits_twice() {
    check(
        "attempts: 3, delay: 1s, backoff: exponential",
        "0s retry; 1s retry; 3s retry",
        "wait 1s; wait 2s; stop attempts-spent unasked",
    );
}

#[test]
fn a_spent_call_stays_spent() {
    check(
        "attempts: 2",
        "0s retry; 0s retry; 0s retry; 0s stop",
        "wait 0s; stop attempts-spent unasked; stop attempts-spent unasked; \
         stop attempts-spent unasked",
    );
}

#[test]
fn a_rejected_error_draws_no_word() {
    check("attempts: 3, delay: 1s, jitter: full", "0s stop", "stop rejected");
    check("attempts: 3, delay: 1s, backoff: decorrelated", "0s stop", "stop rejected");
}

#[test]
fn each_source_of_chance_draws_one_word_in_its_turn() {
    check("attempts: 2, delay: 1s", "0s retry", "wait 1s");
    check("attempts: 2, delay: 1s, jitter: full", "0s retry", "wait 1s +1");
    check("attempts: 2, delay: 1s, jitter: full, jitter: +100%", "0s retry", "wait 2s +2");
    check(
        "attempts: 3, delay: 1s, backoff: decorrelated, jitter: +100%",
        "0s retry; 9s retry",
        "wait 6s +2; wait 18s +2",
    );
}

#[test]
fn a_word_is_drawn_also_from_a_range_of_one_point() {
    check("attempts: 2, jitter: full", "0s retry", "wait 0s +1");
    check("attempts: 2, delay: 1s, jitter: 0%", "0s retry", "wait 1s +1");
    check("attempts: 2, delay: 0s, backoff: decorrelated", "0s retry", "wait 0s +1");
}

#[test]
fn the_count_comes_before_the_verdict() {
    check("attempts: 1, within: 1s", "5s stop", "stop attempts-spent unasked");
}

#[test]
fn the_verdict_comes_before_the_limits() {
    check("attempts: 2, delay: 1s, within: 1s, wait_budget: 0s", "5s stop", "stop rejected");
    check("attempts: 2, within: 1s", "5s after 121s", "stop retry-after-too-long");
}

#[test]
fn the_draw_comes_before_the_limits() {
    check("attempts: 2, delay: 1s, jitter: full, within: 1s", "0s retry", "stop deadline +1");
    check(
        "attempts: 2, delay: 2s, jitter: full, wait_budget: 1s",
        "0s retry",
        "stop wait-budget +1",
    );
}

#[test]
fn the_deadline_comes_before_the_wait_budget() {
    check("attempts: 2, delay: 1s, within: 1s, wait_budget: 0s", "0s retry", "stop deadline");
}

#[test]
fn the_limits_in_time_come_before_the_shared_budget_and_leave_its_tokens() {
    let budget = Budget::builder().capacity(1.0).floor_per_second(0.0).build();
    let limits = Limits::new().budget(&budget);
    check_under(limits, "attempts: 1", "0s retry", "stop attempts-spent unasked");
    check_under(limits, "attempts: 3", "0s stop", "stop rejected");
    check_under(limits, "attempts: 3", "0s after 121s", "stop retry-after-too-long");
    check_under(limits, "attempts: 3, delay: 1s, within: 1s", "0s retry", "stop deadline");
    check_under(limits, "attempts: 3, delay: 1s, wait_budget: 0s", "0s retry", "stop wait-budget");
    assert_eq!(budget.tokens(), 1.0);
    check_under(limits, "attempts: 3", "0s retry; 0s retry", "wait 0s; stop budget");
    assert_eq!(budget.tokens(), 0.0);
    check_under(limits, "attempts: 3, jitter: full", "0s retry", "stop budget +1");
    check_under(limits, "attempts: 3, delay: 1s, wait_budget: 0s", "0s retry", "stop wait-budget");
}

#[test]
fn a_shared_budget_refills_by_the_time_of_the_failure() {
    let budget = Budget::builder().capacity(1.0).deposit(0.0).floor_per_second(1.0).build();
    check_under(
        Limits::new().budget(&budget),
        "attempts: unlimited",
        "0s retry; 999ms retry; 1s retry; 1500ms retry; 2s after 5s",
        "wait 0s; stop budget; wait 0s; stop budget; wait 5s",
    );
}

#[test]
fn a_wait_that_ends_at_the_deadline_is_not_slept() {
    let policy = "attempts: 2, delay: 1s, within: 3s";
    check(policy, "0s retry", "wait 1s");
    check(policy, "1999999999ns retry", "wait 1s");
    check(policy, "2s retry", "stop deadline");
    check(policy, "3s retry", "stop deadline");
    check(policy, &format!("{FAR} retry"), "stop deadline");
}

#[test]
fn no_time_at_all_is_a_deadline_too() {
    check("attempts: 2, within: 0s", "0s retry", "stop deadline");
    check("attempts: 2, within: 1ns", "0s retry", "wait 0s");
    check("attempts: 2, within: 1ns", "1ns retry", "stop deadline");
}

#[test]
fn a_wait_budget_may_be_spent_to_the_end() {
    check("attempts: 2, delay: 1s, wait_budget: 1s", "0s retry", "wait 1s");
    check("attempts: 2, delay: 1s, wait_budget: 999999999ns", "0s retry", "stop wait-budget");
    check(
        "attempts: 9, delay: 1s, backoff: linear, wait_budget: 6s",
        "0s retry; 0s retry; 0s retry; 0s retry",
        "wait 1s; wait 2s; wait 3s; stop wait-budget",
    );
    check(
        "attempts: 9, wait_budget: 0s",
        "0s retry; 0s retry; 0s after 1ns",
        "wait 0s; wait 0s; stop wait-budget",
    );
}

#[test]
fn time_in_attempts_is_not_waiting() {
    check(
        "attempts: 4, delay: 1s, wait_budget: 2s",
        "100s retry; 200s retry; 300s retry",
        "wait 1s; wait 1s; stop wait-budget",
    );
}

#[test]
fn a_wait_that_was_refused_is_not_counted_as_waited() {
    let policy = clause("attempts: 9, delay: 2s, wait_budget: 3s");
    let mut call = policy.start(Time::ZERO);
    let limits = Limits::new();
    assert_eq!(decide(&mut call, &limits, Time::ZERO, Verdict::Retry), "wait 2s");
    assert_eq!(decide(&mut call, &limits, Time::ZERO, Verdict::Retry), "stop wait-budget");
    assert_eq!((call.waited(), call.failures()), (duration("2s"), 2));
    let after = Verdict::RetryAfter(duration("1s"));
    assert_eq!(decide(&mut call, &limits, Time::ZERO, after), "wait 1s");
    assert_eq!((call.waited(), call.failures()), (duration("3s"), 3));
}

#[test]
fn a_throttling_server_sets_the_pace() {
    check("attempts: 3, delay: 1s, jitter: full", "0s after 7s; 9s after 0s", "wait 7s; wait 0s");
    check("attempts: 3, max_delay: 1s", "0s after 7s", "wait 7s");
    check("attempts: 3, min_delay: 9s", "0s after 7s", "wait 7s");
}

#[test]
fn limits_win_over_the_server() {
    check("attempts: 3, within: 10s", "3s after 7s", "stop deadline");
    check("attempts: 3, within: 10s", "3s after 6s", "wait 6s");
    check("attempts: 3, wait_budget: 6s", "0s after 7s", "stop wait-budget");
    check("attempts: 3, wait_budget: 7s", "0s after 7s", "wait 7s");
}

#[test]
fn a_dictated_delay_takes_its_place_in_the_count_but_not_in_the_source() {
    check(
        "attempts: 5, delay: 1s, backoff: exponential, max_delay: none",
        "0s retry; 0s after 5s; 0s retry; 0s retry",
        "wait 1s; wait 5s; wait 4s; wait 8s",
    );
    check(
        "attempts: 5, delay: 1s, backoff: decorrelated, max_delay: none",
        "0s retry; 0s after 100s; 0s after 0s; 0s retry",
        "wait 3s +1; wait 100s; wait 0s; wait 9s +1",
    );
    check(
        "attempts: 5, delay: 1s, backoff: decorrelated, max_delay: none",
        "0s after 100s; 0s retry",
        "wait 100s; wait 3s +1",
    );
}

/// Gives one second more than it gave before.
struct Counting;

impl Schedule for Counting {
    fn delay(&self, _n: u32, previous: Duration, _random: &mut impl Random) -> Duration {
        previous + Duration::from_secs(1)
    }
}

#[test]
fn a_schedule_of_the_users_own_sees_what_it_gave_itself() {
    let policy = Backoff::new(Counting).max(duration("2s")).full_jitter().attempts(6);
    let mut call = policy.start(Time::ZERO);
    let verdicts = ["retry", "after 60s", "retry", "retry", "retry", "retry"];
    let decisions =
        verdicts.map(|said| decide(&mut call, &Limits::new(), Time::ZERO, verdict(said)));
    let expected = ["wait 1s +1", "wait 1min", "wait 2s +1", "wait 2s +1", "wait 2s +1"].as_slice();
    assert_eq!(decisions[..5], *expected);
    assert_eq!(decisions[5], "stop attempts-spent unasked");
    let uncapped = Backoff::new(Counting).attempts(5);
    let seconds: Vec<_> = uncapped.delays(|| 0).map(|delay| delay.as_secs()).collect();
    assert_eq!(seconds, [1, 2, 3, 4]);
}

#[test]
fn two_minutes_are_the_most_that_a_server_may_ask_for() {
    check("attempts: 2", "0s after 120s", "wait 2min");
    check("attempts: 2", "0s after 120000000001ns", "stop retry-after-too-long");
    check("attempts: 2", &format!("0s after {FAR}"), "stop retry-after-too-long");
}

#[test]
fn the_most_that_a_server_may_ask_for_can_be_set() {
    let limits = |text| Limits::new().max_retry_after(duration(text));
    check_under(limits("0s"), "attempts: 2", "0s after 0s", "wait 0s");
    check_under(limits("0s"), "attempts: 2", "0s after 1ns", "stop retry-after-too-long");
    check_under(limits("5s"), "attempts: 2", "0s after 5s", "wait 5s");
    check_under(limits("5s"), "attempts: 2", "0s after 5000000001ns", "stop retry-after-too-long");
    check_under(limits("5s"), "attempts: 2, delay: 6s", "0s retry", "wait 6s");
    check_under(limits(FAR), "attempts: 2", &format!("0s after {FAR}"), &format!("wait {FAR}"));
}

#[test]
fn of_two_limits_the_tighter_one_holds() {
    let within = |text| Limits::new().within(duration(text));
    let policy = "attempts: 3, delay: 1s, within: 5s";
    check_under(within("9s"), policy, "3s retry; 4s retry", "wait 1s; stop deadline");
    check_under(within("4s"), policy, "2s retry; 3s retry", "wait 1s; stop deadline");
    let budget = |text| Limits::new().wait_budget(duration(text));
    let policy = "attempts: 5, delay: 1s, wait_budget: 2s";
    let thrice = "0s retry; 0s retry; 0s retry";
    check_under(budget("9s"), policy, thrice, "wait 1s; wait 1s; stop wait-budget");
    check_under(budget("1s"), policy, "0s retry; 0s retry", "wait 1s; stop wait-budget");
}

#[test]
fn unlimited_attempts_go_on_until_something_else_stops_them() {
    let policy = clause("attempts: unlimited, delay: 1ms, within: 1min");
    let mut call = policy.start(Time::ZERO);
    let mut now = Time::ZERO;
    let reason = loop {
        match call.failed(now, || Verdict::Retry, &mut || 0) {
            Decision::Wait(delay) => now = now.after(delay),
            Decision::Stop(reason) => break reason,
        }
    };
    assert_eq!((reason, call.failures()), (Stop::Deadline, 60_000));
    assert_eq!(call.waited(), duration("59999ms"));
    check("attempts: unlimited", "0s stop", "stop rejected");
}

#[test]
fn the_greatest_count_is_not_unlimited() {
    let most = clause("attempts: 4294967295");
    assert_eq!(most.attempts(), Some(u32::MAX));
    assert_eq!(clause("retry: 4294967294"), most);
    assert_eq!(clause("attempts: unlimited").attempts(), None);
}

#[test]
fn the_clock_may_start_anywhere() {
    let policy = clause("attempts: 3, delay: 1s, within: 5s");
    for start in [0, 1, u64::MAX - 5_000_000_000, u64::MAX - 1, u64::MAX] {
        let started = Time::from_nanos(start);
        let mut call = policy.start(started);
        assert_eq!(call.started(), started);
        assert_eq!(decide(&mut call, &Limits::new(), started, Verdict::Retry), "wait 1s");
        let deadline = call.deadline(&Limits::new());
        assert_eq!(deadline, Some(started.after(duration("5s"))), "from {start}");
    }
}

#[test]
fn a_clock_that_goes_backwards_stands_still() {
    let policy = clause("attempts: 2, delay: 4s, within: 5s");
    let mut call = policy.start(Time::MAX);
    assert_eq!(decide(&mut call, &Limits::new(), Time::ZERO, Verdict::Retry), "wait 4s");
}

#[test]
fn the_longest_waits_saturate_and_limits_still_hold() {
    let far = format!("attempts: 9, delay: {FAR}");
    check(&far, "0s retry; 0s retry", &format!("wait {FAR}; wait {FAR}"));
    check(&format!("{far}, within: 1s"), "0s retry", "stop deadline");
    check(&format!("{far}, within: {FAR}"), "0s retry", &format!("wait {FAR}"));
    check(&format!("{far}, wait_budget: 1s"), "0s retry", "stop wait-budget");
    let nearly = "18446744073709551614ns";
    check(&format!("{far}, wait_budget: {nearly}"), "0s retry", "stop wait-budget");
    check(
        &format!("attempts: 9, delay: {nearly}, wait_budget: {nearly}"),
        "0s retry; 0s after 0s; 0s after 1ns",
        &format!("wait {nearly}; wait 0s; stop wait-budget"),
    );
    check(
        &format!("attempts: 9, delay: 1ns, within: {nearly}"),
        "18446744073709551612ns retry; 18446744073709551613ns retry",
        "wait 1ns; stop deadline",
    );
}

#[test]
fn the_time_is_asked_for_only_where_a_limit_looks_at_it() {
    let asked = |text: &str, limits: Limits<'_>, said: Verdict| {
        let policy = clause(text);
        let mut asked = 0;
        let now = || {
            asked += 1;
            Time::ZERO
        };
        let _ = policy.start(Time::ZERO).failed_under(&limits, now, || said, &mut || 0);
        asked
    };
    let budget = Budget::new();
    for text in ["attempts: 3", "attempts: 3, delay: 1s, jitter: full"] {
        assert_eq!(asked(text, Limits::new(), Verdict::Retry), 0, "{text}");
        assert_eq!(asked(text, Limits::new().budget(&budget), Verdict::Retry), 1, "{text}");
        let within = Limits::new().within(duration("9s"));
        assert_eq!(asked(text, within, Verdict::Retry), 1, "{text}");
        assert_eq!(asked(text, within, Verdict::Stop), 0, "{text}");
        let timed = format!("{text}, within: 9s");
        assert_eq!(asked(&timed, Limits::new(), Verdict::Retry), 1, "{text}");
    }
    assert_eq!(asked("attempts: 1, within: 9s", Limits::new(), Verdict::Retry), 0);
}

#[test]
fn a_call_knows_whether_it_looks_at_the_time() {
    let needs = |text: &str| clause(text).start(Time::ZERO).needs_time();
    assert!(!needs("attempts: 3, delay: 1s, wait_budget: 5s"));
    assert!(needs("attempts: 3, within: 5s"));
    let budget = Budget::new();
    assert!(!Limits::new().wait_budget(duration("1s")).need_time());
    assert!(Limits::new().within(duration("1s")).need_time());
    assert!(Limits::new().budget(&budget).need_time());
}

#[test]
fn every_reason_has_a_name_and_a_sentence() {
    let reasons = [
        (Stop::AttemptsSpent, "attempts-spent: all attempts are spent"),
        (Stop::Rejected, "rejected: the error is not worth another attempt"),
        (Stop::Deadline, "deadline: no attempt could start before the deadline"),
        (Stop::WaitBudget, "wait-budget: the wait budget is spent"),
        (
            Stop::RetryAfterTooLong,
            "retry-after-too-long: the server asked for a longer wait than is allowed",
        ),
        (Stop::Budget, "budget: the retry budget is empty"),
        (Stop::BreakerOpen, "breaker-open: the circuit breaker is open"),
    ];
    for (reason, text) in reasons {
        assert_eq!(format!("{}: {reason}", reason.name()), text);
    }
}
