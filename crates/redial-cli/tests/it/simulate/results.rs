//! What is found out: for programs, and in plain words.

use serde_json::Value;

use super::{
    FULL_JITTER, MEAN, METASTABLE, folder, in_folder, json, shape, simulate, stderr, stdout,
};

#[test]
fn the_fields_of_each_scenario_and_their_order_are_a_promise() {
    for (line, fields) in [
        (
            "contention --clients 5 --trials 3",
            "scenario(name, model, clients, latency_ms, latency_spread_ms, start_spread_ms, learning, seed), \
             results[policy, clients, trials, calls(mean, …), time_ms(mean, …), \
             committed(mean, …), all_committed, all_committed_low, all_committed_high, attempts(mean, …)], complete",
        ),
        (
            "outage --rate 50 --capacity 60 --trials 3 --after 30s --refuse -n 9 --budget 50% --breaker 4000",
            "scenario(name, rate, capacity, down_s, remaining, refuses, before_s, after_s, queue, \
             service, arrivals, errors, budget(share, burst, floor_per_second), breaker(failures, recovery_s), \
             processes, timeout_s, seed), \
             results[policy, trials, recovers, recovers_low, recovers_high, recovery_s(mean, …), amplification(mean, …), \
             peak(mean, …), goodput(mean, …), gave_up(mean, …), \
             gave_up_during(mean, …), gave_up_after(mean, …), late_load(mean, …), \
             late_goodput(mean, …), caught_p50_s(mean, …), caught_p99_s(mean, …)], complete",
        ),
        (
            "wave --clients 100 --trials 3 --down 2s -n 5",
            "scenario(name, clients, window_ms, until_s, down_s, seed), \
             results[policy, trials, peak(mean, …), peak_share(mean, …), \
             peak_at_s(mean, …), retries(mean, …), last_s(mean, …), gave_up(mean, …), \
             still_trying(mean, …), back(mean, …), back_p50_s(mean, …), \
             back_p99_s(mean, …)], complete",
        ),
        (
            "layers --trials 3 --calls 10 --budget 10%",
            "scenario(name, depth, errors, budget(share, burst, floor_per_second), calls, attempt_time_ms, seed), \
             results[policy, trials, amplification(mean, …), worst, closed_form, \
             succeeded(mean, …), time_ms(mean, …), time_p99_ms(mean, …)], complete",
        ),
    ] {
        assert_eq!(shape(&json(line)), fields.replace("(mean, …)", MEAN), "{line}");
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
        (
            "wave --clients 50 --trials 2 -d 1s --jitter none",
            "With this policy up to 50 of 50 clients",
        ),
        (
            "wave --clients 50 --trials 2 -n 3 --window 1min",
            "With this policy up to 100 retries of 50 clients come back within the same 1min (200%).",
        ),
        (
            "wave --clients 50 --trials 2 -d 1s --jitter none --down 1h",
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

/// At 142 calls a second some trials recover within two minutes and others do not.
#[test]
fn where_some_trials_recover_the_words_the_table_and_the_numbers_agree() {
    let line = "outage --rate 142 --capacity 300 --after 2min --with 'retry: 1' --charts 0";
    let output = simulate(line);
    let text = stdout(&output);
    let answer = text.split("\n\n").next().unwrap().replace('\n', " ");
    assert!(answer.contains("recovers in 3 of 20 trials only, 15% [5–36%]"), "{text}");
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(row("recovers  ").ends_with(" 15% [5–36%]"), "{text}");
    assert!(row("recovers after").contains(" if so, 114s "), "{text}");
    let result = &json(line)["results"][0];
    assert_eq!((&result["recovers"], &result["recovery_s"]), (&0.15.into(), &Value::Null));
    let end = |key: &str| (result[key].as_f64().unwrap() * 1000.0).round();
    assert_eq!((end("recovers_low"), end("recovers_high")), (52.0, 360.0));
}

#[test]
fn a_difference_is_shown_with_its_interval_and_shares_differ_by_points() {
    let line = "contention --clients 10 --trials 200 --charts 0 --with 'attempts: 4, delay: 20ms, \
                jitter: full' --with 'attempts: 4, delay: 21ms, jitter: full'";
    let output = simulate(line);
    let text = stdout(&output);
    assert!(!text.contains("no difference"), "{text}");
    let (_, changes) = text.split_once("Against policy 1").unwrap();
    let row = |name: &str| changes.lines().find(|line| line.starts_with(name)).unwrap();
    let cell = row("clients that succeed");
    assert!(cell.contains(" points") && !cell.contains('%'), "{text}");
    assert!(cell.contains('±') || cell.contains(" to "), "{text}");
    assert!(row("trials in which all do").contains("none seen [±"), "{text}");
    let change = &json(line)["results"][1]["against_first"]["committed"];
    let end = |key: &str| change[key].as_f64().unwrap();
    assert!(end("low") < end("mean") && end("mean") < end("high"), "{change}");
}

#[test]
fn fewer_than_three_trials_have_no_interval_and_say_so() {
    for trials in [1, 2] {
        for line in [
            "contention --clients 5",
            "outage --rate 50 --capacity 60 --after 20s",
            "wave --clients 50 -n 3",
            "layers --calls 5 --errors 50%",
        ] {
            let output = simulate(&format!("{line} --trials {trials} --charts 0"));
            let text = stdout(&output);
            assert!(text.contains(" ±?"), "{text}");
            assert!(text.contains("too few trials for an interval"), "{text}");
            assert!(!text.contains(" ±0") && !text.contains(" ±1"), "{text}");
        }
    }
}

#[test]
fn who_learns_of_the_round_from_refusals_commits_less() {
    let ballots = "contention --model ballot --latency 1ms --clients 10 --preset contention";
    let committed = |line: &str| json(line)["results"][0]["committed"]["mean"].as_f64().unwrap();
    assert_eq!(committed(ballots), 1.0);
    assert_eq!(committed(&format!("{ballots} --learning at-start")), 1.0);
    let refused = json(&format!("{ballots} --learning from-refusals"));
    assert_eq!(refused["scenario"]["learning"], "from-refusals");
    let share = refused["results"][0]["committed"]["mean"].as_f64().unwrap();
    assert!((share - 0.6).abs() < 0.02, "{share}");
    for model in ["occ", "collision"] {
        let line = format!("simulate contention --model {model} --learning from-refusals");
        super::refused(&line, "--learning is about ballots; it needs --model ballot");
    }
    super::refused("simulate wave --learning at-start", "--learning is no setting of wave");
}

#[test]
fn policies_with_names_are_called_by_them_and_namesakes_by_number_too() {
    let policy = "policies:\n  fetch:\n    attempts: 2\n  quick:\n    attempts: 1\n";
    let folder = folder(&[("a.yaml", policy), ("b.yaml", policy)]);
    let layers = "simulate layers --calls 5 --trials 2 --charts 0";
    for (policies, called, against) in [
        (
            "--policy a.yaml#fetch --policy a.yaml#quick",
            "With policy fetch at",
            "Against policy fetch,",
        ),
        ("--policy a.yaml#fetch --with 'retry: 2'", "With policy 2 at", "Against policy fetch,"),
        (
            "--policy a.yaml#fetch --policy b.yaml#fetch",
            "With policy 2 fetch at",
            "Against policy 1 fetch,",
        ),
    ] {
        let output = in_folder(folder.path(), &format!("{layers} {policies}"));
        let text = stdout(&output);
        assert!(text.contains(called) && text.contains(against), "{text}{}", stderr(&output));
    }
}
