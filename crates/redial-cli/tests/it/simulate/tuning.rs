//! `redial tune`: a policy that is better, and is one.

use std::sync::OnceLock;

use serde_json::Value;

use super::{FULL_JITTER, MEAN, parsed, redial, shape, stderr, stdout};

const SEARCH: &str = "tune contention --clients 20,50 --effort quick";

/// One search, which several tests look at.
fn tuned() -> &'static Value {
    static TUNED: OnceLock<Value> = OnceLock::new();
    TUNED.get_or_init(|| {
        let output = redial(&format!("{SEARCH} --with '{FULL_JITTER}' --json --threads 2"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        parsed(&output)
    })
}

#[test]
fn its_fields_and_their_order_are_a_promise() {
    assert_eq!(
        shape(tuned()),
        "scenario(name, model, clients, latency_ms, latency_spread_ms, start_spread_ms, learning, seed), \
         results[policy, clients, trials, calls(mean, …), time_ms(mean, …), \
         committed(mean, …), all_committed, all_committed_low, all_committed_high, attempts(mean, …)], \
         winner(policy, calls, time, committed), yours(policy, calls, time, committed), \
         front[policy, calls, time, committed], tried, complete"
            .replace("(mean, …)", MEAN),
    );
    assert_eq!(tuned()["complete"], true);
    assert_eq!(tuned()["yours"]["policy"], FULL_JITTER);
}

#[test]
fn the_winner_beats_full_jitter_in_work_and_in_time_with_every_crowd() {
    let results = tuned()["results"].as_array().unwrap();
    let of = |policy: &Value, clients: u64| {
        let is_it = |one: &&Value| one["policy"] == *policy && one["clients"] == clients;
        results.iter().find(is_it).unwrap()
    };
    for clients in [20, 50] {
        let winner = of(&tuned()["winner"]["policy"], clients);
        let yours = of(&FULL_JITTER.into(), clients);
        for measure in ["calls", "time_ms"] {
            let mean = |one: &Value| one[measure]["mean"].as_f64().unwrap();
            assert!(mean(winner) < mean(yours), "{clients}: {winner:#} {yours:#}");
        }
        assert_eq!(winner["committed"]["mean"], 1.0);
    }
}

#[test]
fn the_winner_is_a_policy_like_any_other() {
    let clause = tuned()["winner"]["policy"].as_str().unwrap();
    let output = redial(&format!("plan --json --with '{clause}'"));
    assert_eq!(output.status.code(), Some(0), "{clause}: {}", stderr(&output));
    assert_eq!(parsed(&output)["plans"][0]["policy"], clause);
}

#[test]
fn no_policy_of_the_front_betters_another_in_both() {
    let front = tuned()["front"].as_array().unwrap();
    let number = |one: &Value, key: &str| one[key].as_f64().unwrap();
    for one in front {
        for other in front {
            let fewer = number(one, "calls") < number(other, "calls");
            let sooner = number(one, "time") < number(other, "time");
            assert!(!(fewer && sooner), "{one} {other}");
        }
    }
}

#[test]
fn a_seed_finds_the_same_on_any_number_of_threads() {
    let of = |more: &str| {
        let line = format!("tune contention --clients 3,5 --effort quick --json {more}");
        let output = redial(&line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        stdout(&output).to_owned()
    };
    let alone = of("--threads 1");
    assert_eq!(of("--threads 2"), alone);
    assert_eq!(of("--threads 5"), alone);
    assert_ne!(of("--seed 2"), alone);
}

#[test]
fn the_answer_is_a_clause_to_copy() {
    let output = redial(&format!("{SEARCH} --with '{FULL_JITTER}'"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut lines = stdout(&output).lines();
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("Best of ") && first.ends_with(" policies for 20 to 50 clients:"),
        "{first}"
    );
    let clause = lines.next().unwrap();
    let output = redial(&format!("plan --json --with '{clause}'"));
    assert_eq!(output.status.code(), Some(0), "{clause}: {}", stderr(&output));
}

#[test]
fn the_front_is_drawn_as_the_policies_that_were_tried_and_no_line_between_them() {
    let output = redial("tune contention --clients 5 --effort quick --trials 3 --charts 1 --svg -");
    let svg = stdout(&output);
    assert!(
        svg.contains("the best that were found") && svg.contains("class=\"mark dot\""),
        "{svg}"
    );
    assert!(!svg.contains("class=\"line"), "{svg}");
}
