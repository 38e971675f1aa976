//! What is found out: for programs, and in plain words.

use serde_json::Value;

use crate::{FULL_JITTER, METASTABLE, json, shape, simulate, stderr, stdout};

#[test]
fn the_fields_of_each_scenario_and_their_order_are_a_promise() {
    for (line, fields) in [
        (
            "contention --clients 5 --trials 3",
            "scenario(name, model, clients, latency_ms, latency_spread_ms, start_spread_ms, seed), \
             results[policy, clients, trials, calls(mean, ci95), time_ms(mean, ci95), \
             committed(mean, ci95), all_committed, attempts(mean, ci95)], complete",
        ),
        (
            "outage --rate 50 --capacity 60 --trials 3 --after 30s --refuse -n 9 --budget 50% --breaker 4000",
            "scenario(name, rate, capacity, down_s, remaining, refuses, before_s, after_s, queue, \
             service, arrivals, errors, budget(share, burst, floor_per_second), breaker(failures, recovery_s), \
             processes, timeout_s, seed), \
             results[policy, trials, recovers, recovery_s(mean, ci95), amplification(mean, ci95), \
             peak(mean, ci95), goodput(mean, ci95), gave_up(mean, ci95), \
             gave_up_during(mean, ci95), gave_up_after(mean, ci95), late_load(mean, ci95), \
             late_goodput(mean, ci95), caught_p50_s(mean, ci95), caught_p99_s(mean, ci95)], complete",
        ),
        (
            "wave --clients 100 --trials 3 --down 2s -n 5",
            "scenario(name, clients, window_ms, until_s, down_s, seed), \
             results[policy, trials, peak(mean, ci95), peak_share(mean, ci95), \
             peak_at_s(mean, ci95), retries(mean, ci95), last_s(mean, ci95), gave_up(mean, ci95), \
             still_trying(mean, ci95), back(mean, ci95), back_p50_s(mean, ci95), \
             back_p99_s(mean, ci95)], complete",
        ),
        (
            "layers --trials 3 --calls 10 --budget 10%",
            "scenario(name, depth, errors, budget(share, burst, floor_per_second), calls, attempt_time_ms, seed), \
             results[policy, trials, amplification(mean, ci95), worst, closed_form, \
             succeeded(mean, ci95), time_ms(mean, ci95), time_p99_ms(mean, ci95)], complete",
        ),
    ] {
        assert_eq!(shape(&json(line)), fields, "{line}");
    }
}

#[test]
fn what_was_asked_for_is_what_was_run() {
    let found = json(
        "contention --model ballot --clients 2..4 --latency 50ms --latency-spread 1ms \
         --start-spread 2s --trials 7 --seed 9 --with 'attempts: 3, delay: 1s' --with 'attempts: 2'",
    );
    let scenario = &found["scenario"];
    assert_eq!(scenario["model"], "ballot");
    assert_eq!(scenario["clients"], serde_json::json!([2, 3, 4]));
    assert_eq!(scenario["latency_ms"], 50.0);
    assert_eq!(scenario["latency_spread_ms"], 1.0);
    assert_eq!(scenario["start_spread_ms"], 2000.0);
    assert_eq!(scenario["seed"], 9);
    let rows: Vec<_> = found["results"].as_array().unwrap().iter().map(policy_and_crowd).collect();
    let [patient, hasty] = ["attempts: 3, delay: 1s", "attempts: 2"];
    let expected =
        [2, 3, 4].into_iter().flat_map(|clients| [(patient, clients, 7), (hasty, clients, 7)]);
    assert_eq!(rows, expected.collect::<Vec<_>>());
}

fn policy_and_crowd(result: &Value) -> (&str, u64, u64) {
    let number = |key: &str| result[key].as_u64().unwrap();
    (result["policy"].as_str().unwrap(), number("clients"), number("trials"))
}

#[test]
fn a_seed_gives_the_same_on_any_number_of_threads() {
    for line in [
        "contention --clients 5,20 --trials 20",
        "outage --rate 50 --capacity 60 --trials 6 --after 20s",
        "wave --clients 200 --trials 6 --down 2s",
        "layers --calls 20 --trials 6 --errors 50%",
    ] {
        let of = |more: &str| stdout(&simulate(&format!("{line} --json {more}"))).to_owned();
        let alone = of("--threads 1");
        assert!(alone.starts_with('{'), "{line}: {alone}");
        assert_eq!(of("--threads 2"), alone, "{line}");
        assert_eq!(of("--threads 5 --seed 1"), alone, "{line}");
        let other: Value = serde_json::from_str(&of("--seed 2")).unwrap();
        let alone: Value = serde_json::from_str(&alone).unwrap();
        assert_ne!(other["results"], alone["results"], "{line}");
    }
}

/// The reference is 500 trials of AWS's own simulator: 796.1 ± 0.6 calls, 4861 ± 48 ms.
#[test]
fn a_hundred_writers_with_full_jitter_need_what_aws_found() {
    let found = json(&format!("contention --clients 100 --with '{FULL_JITTER}'"));
    let result = &found["results"][0];
    let near = |key: &str, reference: f64, tolerance: f64| {
        let mean = result[key]["mean"].as_f64().unwrap();
        assert!((mean / reference - 1.0).abs() < tolerance, "{key}: {mean}, not {reference}");
        let interval = result[key]["ci95"].as_f64().unwrap();
        assert!(interval > 0.0 && interval < tolerance * reference, "{key}: ±{interval}");
    };
    assert_eq!(result["trials"], 500);
    near("calls", 796.1, 0.01);
    near("time_ms", 4861.2, 0.03);
    assert_eq!(result["committed"]["mean"], 1.0);
    assert_eq!(result["all_committed"], 1.0);
}

#[test]
fn a_service_under_retries_does_not_recover_and_the_first_line_says_so() {
    let output = simulate(&format!("{METASTABLE} --with 'retry: 1, delay: 0s'"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let answer = stdout(&output).split("\n\n").next().unwrap().replace('\n', " ");
    assert!(answer.starts_with("With this policy the service does not recover within 5min: "));
    assert!(answer.contains("capacity is 300"), "{answer}");
    let load = answer.split_once("5min: ").unwrap().1.split_once(" requests/s keep coming");
    let load: f64 = load.unwrap().0.parse().unwrap();
    assert!((load / 560.0 - 1.0).abs() < 0.1, "{answer}");

    let result = &json(&format!("{METASTABLE} --with 'retry: 1, delay: 0s'"))["results"][0];
    assert_eq!((&result["recovers"], &result["recovery_s"]), (&0.0.into(), &Value::Null));
}

#[test]
fn the_same_service_recovers_when_nobody_retries() {
    let line = format!("{METASTABLE} --with 'attempts: 1'");
    let output = simulate(&line);
    let answer = stdout(&output).lines().next().unwrap();
    assert!(answer.starts_with("With this policy the service recovers "), "{answer}");
    let result = &json(&line)["results"][0];
    assert_eq!(result["recovers"], 1.0);
    assert!(result["recovery_s"]["mean"].as_f64().unwrap() < 300.0);
}

#[test]
fn the_answer_is_the_first_line_of_every_scenario() {
    for (line, answer) in [
        ("contention --clients 1 --trials 2", "One client needs 1 call, and "),
        ("contention --clients 5 --trials 2 -n 20", "5 clients need "),
        ("wave --clients 50 --trials 2 -n 1", "With this policy nobody comes back."),
        ("wave --clients 50 --trials 2 -d 1s -j none", "With this policy up to 50 of 50 clients"),
        (
            "wave --clients 50 --trials 2 -n 3 --window 1min",
            "With this policy up to 100 retries of 50 clients come back within the same 1min (200%).",
        ),
        (
            "wave --clients 50 --trials 2 -d 1s -j none --down 1h",
            "With this policy up to 50 of 50 clients come back within the same 20ms (100%). Nobody succeeds in the end.",
        ),
        (
            "layers --trials 2 --calls 5 -n 4",
            "With this policy at each of 3 layers, one call becomes 64 attempts at the bottom",
        ),
        (
            "layers --trials 2 --calls 5 --depth 1 -n 1",
            "With this policy at one layer, one call becomes one attempt at the bottom",
        ),
    ] {
        let output = simulate(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        let text = stdout(&output).replace('\n', " ");
        assert!(text.starts_with(answer), "{line}: {text}");
        assert_eq!(stderr(&output), "", "{line}");
    }
}

#[test]
fn policies_are_compared_by_their_numbers() {
    let output =
        simulate(&format!("{METASTABLE} --with 'attempts: 1' --with 'retry: 1, delay: 0s'"));
    let answer = stdout(&output);
    // Who never recovers is named first.
    assert!(answer.starts_with("With policy 2 the service does not recover"), "{answer}");
    assert!(answer.contains("\n 1  attempts: 1\n 2  attempts: 2\n"), "{answer}");
}
