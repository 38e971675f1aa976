//! What a plan says a policy will do: its rows, how far calls get, and when they give up.

use std::time::Duration;

use redial_core::{Policy, Pretty, SplitMix64};
use redial_policy::{Format, Plan, read};

fn plan(clause: &str) -> Plan {
    let document = read(clause, Format::Text, None);
    let entry = document.policies().next().expect(clause);
    Plan::new(entry.policy.expect(clause)).timeout(entry.timeout)
}

/// Each row that is shown, `1s`, `0s-1s` or `(1s)` where no call can get to it; then the total wait
/// and when it gives up, each from the least to the greatest.
#[track_caller]
fn check(clause: &str, rows: &str, total: &str, gives_up: &str) {
    let plan = plan(clause);
    let shown = plan.rows().take(12).map(|row| {
        let (least, greatest) = (Pretty(row.delay.least), Pretty(row.delay.greatest));
        let delay =
            if least == greatest { least.to_string() } else { format!("{least}-{greatest}") };
        if row.reachable { delay } else { format!("({delay})") }
    });
    assert_eq!(shown.collect::<Vec<_>>().join(" "), rows, "{clause}");
    let or_never =
        |limit: Option<Duration>| limit.map_or("never".to_owned(), |end| Pretty(end).to_string());
    let wait = plan.total_wait();
    let shown = [or_never(wait.least), or_never(wait.mean), or_never(wait.greatest)];
    assert_eq!(shown.join(" "), total, "total of {clause}");
    let (least, greatest) = plan.gives_up_after();
    assert_eq!(format!("{} {}", or_never(least), or_never(greatest)), gives_up, "end of {clause}");
}

#[test]
fn a_plan_has_one_row_for_each_wait() {
    check("attempts: 1", "", "0s 0s 0s", "0s 0s");
    check("retry: 3, delay: 1s", "1s 1s 1s", "3s 3s 3s", "3s 3s");
    check("retry: 4, delay: 1s, backoff: exponential", "1s 2s 4s 8s", "15s 15s 15s", "15s 15s");
    check("retry: 2, delay: 1s, jitter: full", "0s-1s 0s-1s", "0s 1s 2s", "0s 2s");
    check("retry: 2", "0s 0s", "0s 0s 0s", "0s 0s");
}

#[test]
fn the_example_of_the_command_line_is_as_stated() {
    check(
        "attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full",
        "0s-1s 0s-2s 0s-4s 0s-8s",
        "0s 7500ms 15s",
        "0s 15s",
    );
    let plan = plan("attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full");
    let first = plan.seed(42).rows().next().expect("a row");
    assert_eq!(first.after_attempt, 1);
    assert_eq!(first.delay.mean, Duration::from_millis(500));
    assert_eq!(first.sample, Some(Duration::from_nanos(741_564_879)));
    assert!(first.reachable);
}

#[test]
fn samples_are_what_a_call_with_that_seed_sleeps() {
    for policy in [Policy::DEFAULT, Policy::CONTENTION] {
        for seed in [0, 42, u64::MAX] {
            let rows: Vec<_> = Plan::new(policy).seed(seed).rows().collect();
            let slept: Vec<_> = policy.delays(SplitMix64::new(seed)).map(Some).collect();
            assert_eq!(rows.iter().map(|row| row.sample).collect::<Vec<_>>(), slept);
            for (row, n) in rows.iter().zip(1..) {
                assert_eq!(row.after_attempt, n);
                let sample = row.sample.expect("a sample");
                assert!(row.delay.least <= sample && sample <= row.delay.greatest, "{row:?}");
            }
        }
        assert!(Plan::new(policy).rows().all(|row| row.sample.is_none()));
    }
}

#[test]
fn a_deadline_stops_the_wait_that_would_end_at_it() {
    check("retry: 5, delay: 1s, within: 3s", "1s 1s (1s) (1s) (1s)", "2s 2s 2s", "2s 2s");
    check("retry: 5, delay: 1s, within: 3001ms", "1s 1s 1s (1s) (1s)", "3s 3s 3s", "3s 3s");
    check("retry: 2, delay: 1s, within: 0s", "(1s) (1s)", "0s 0s 0s", "0s 0s");
    check("retry: 2, within: 0s", "(0s) (0s)", "0s 0s 0s", "0s 0s");
    check("retry: 2, within: 1ns", "0s 0s", "0s 0s 0s", "0s 0s");
}

#[test]
fn a_wait_budget_may_be_spent_to_its_end() {
    check("retry: 5, delay: 1s, wait_budget: 3s", "1s 1s 1s (1s) (1s)", "3s 3s 3s", "3s 3s");
    check("retry: 5, delay: 1s, wait_budget: 2999ms", "1s 1s (1s) (1s) (1s)", "2s 2s 2s", "2s 2s");
    check("retry: 2, delay: 1s, wait_budget: 0s", "(1s) (1s)", "0s 0s 0s", "0s 0s");
    check("retry: 2, wait_budget: 0s", "0s 0s", "0s 0s 0s", "0s 0s");
}

#[test]
fn whichever_limit_is_reached_first_ends_it() {
    let rows = "1s 1s (1s) (1s)";
    check("retry: 4, delay: 1s, within: 3s, wait_budget: 9s", rows, "2s 2s 2s", "2s 2s");
    check("retry: 4, delay: 1s, within: 9s, wait_budget: 2s", rows, "2s 2s 2s", "2s 2s");
}

/// Calls that a limit may end: what they wait at least and at most, exactly, and on average as
/// delays that are drawn and stopped by hand say.
#[track_caller]
fn check_limited(clause: &str, least: &str, greatest: &str) {
    let plan = plan(clause);
    let policy = plan.policy();
    let within = policy.get_within().unwrap_or(Duration::MAX);
    let budget = policy.get_wait_budget().unwrap_or(Duration::MAX);
    let calls = 60_000;
    let waited = |seed: u64| {
        let mut sum = Duration::ZERO;
        for delay in policy.delays(seed) {
            if sum + delay >= within || sum + delay > budget {
                break;
            }
            sum += delay;
        }
        sum
    };
    let all: Vec<_> = (0..calls).map(|call| waited(1_000_000 + call)).collect();
    let mean = all.iter().sum::<Duration>().as_secs_f64() / calls as f64;
    let total = plan.total_wait();
    let shown = [total.least, total.greatest].map(|end| Pretty(end.unwrap()).to_string());
    assert_eq!(shown, [least, greatest], "{clause}");
    let told = total.mean.unwrap().as_secs_f64();
    assert!((told / mean - 1.0).abs() < 0.01, "{clause}: {told} s, and by hand {mean} s");
    let (low, high) = (total.least.unwrap(), total.greatest.unwrap());
    assert!(all.iter().all(|wait| (low..=high).contains(wait)), "{clause}");
    assert_eq!(plan.gives_up_after().0, total.least, "{clause}");
}

#[test]
fn where_a_limit_ends_some_calls_the_totals_are_those_of_calls() {
    let equal = "retry: 4, delay: 2s, jitter: equal, wait_budget: 3s";
    assert_eq!(plan(equal).rows().filter(|row| row.reachable).count(), 3);
    check_limited(equal, "1000000001ns", "3s");
    check_limited("retry: 5, delay: 1s, jitter: equal, within: 2s", "1s", "1999999999ns");
    check_limited("retry: 2, delay: 40s, jitter: full, within: 30s", "0s", "29999999999ns");
    check_limited("retry: 100, delay: 1s, jitter: full, within: 3s", "0s", "2999999999ns");
    let endless = "attempts: unlimited, delay: 1s, jitter: full";
    check_limited(&format!("{endless}, within: 30s"), "29s", "29999999999ns");
    check_limited(&format!("{endless}, wait_budget: 30s"), "29000000001ns", "30s");
}

#[test]
fn timeouts_are_added_to_the_latest_end() {
    check("retry: 2, delay: 1s, timeout: 5s", "1s 1s", "2s 2s 2s", "2s 17s");
    check("attempts: 1, timeout: 5s", "", "0s 0s 0s", "0s 5s");
    check("retry: 2, delay: 1s, timeout: 5s, within: 10s", "1s 1s", "2s 2s 2s", "2s 10s");
    check(
        "retry: 5, delay: 1s, timeout: 5s, wait_budget: 2s",
        "1s 1s (1s) (1s) (1s)",
        "2s 2s 2s",
        "2s 17s",
    );
}

#[test]
fn attempts_without_end_end_at_a_limit_or_never() {
    let ten = "1s ".repeat(12);
    let ten = ten.trim();
    check("attempts: unlimited, delay: 1s", ten, "never never never", "never never");
    check("attempts: unlimited, delay: 1s, timeout: 5s", ten, "never never never", "never never");
    check("attempts: unlimited, delay: 1s, within: 100s", ten, "99s 99s 99s", "99s 99s");
    check("attempts: unlimited, delay: 1s, wait_budget: 100s", ten, "100s 100s 100s", "100s 100s");
    check(
        "attempts: unlimited, delay: 1s, wait_budget: 100s, timeout: 1s",
        ten,
        "100s 100s 100s",
        "100s 201s",
    );
    check(
        "attempts: unlimited, delay: 1s, within: 100s, timeout: 1s",
        ten,
        "99s 99s 99s",
        "99s 100s",
    );
}

#[test]
fn draws_without_end_and_without_a_limit_have_no_sum() {
    let rows = "0s-1s ".repeat(12);
    let clause = "attempts: unlimited, delay: 1s, jitter: full";
    check(clause, rows.trim(), "never never never", "never never");
}

#[test]
fn no_delays_without_end_are_no_wait_and_no_end() {
    let rows = "0s ".repeat(12);
    let rows = rows.trim();
    check("attempts: unlimited", rows, "0s 0s 0s", "never never");
    check("attempts: unlimited, wait_budget: 30s", rows, "0s 0s 0s", "never never");
    check("attempts: unlimited, within: 30s", rows, "0s 0s 0s", "0s 30s");
    let list = format!("5s {}", "0s ".repeat(11));
    check("attempts: unlimited, backoff: [5s, 0s], within: 30s", list.trim(), "5s 5s 5s", "5s 30s");
}

#[test]
fn what_is_longer_than_there_is_time_is_all_the_time_there_is() {
    let all = Pretty(Duration::from_nanos(u64::MAX)).to_string();
    let rows = format!("{all} {all}");
    let total = format!("{all} {all} {all}");
    check(&format!("retry: 2, delay: {all}"), &rows, &total, &format!("{all} {all}"));
    let most = plan(&format!("retry: 2, delay: 1s, timeout: {all}"));
    assert_eq!(most.gives_up_after().1.map(|end| Pretty(end).to_string()), Some(all));
    let many = plan("attempts: 4294967295, delay: 1s");
    assert_eq!(many.total_wait().greatest, Some(Duration::from_secs(4_294_967_294)));
    assert_eq!(many.rows().nth(5000).map(|row| row.after_attempt), Some(5001));
}
