//! What a search finds, and that it finds it again.

use std::time::Duration;

use redial_core::{Backoff, Policy};
use redial_sim::contention::{Latency, Results, Trial};
use redial_sim::engine::Bounds;
use redial_sim::tune::{Candidate, Effort, Tuned};
use redial_sim::{Contention, Incomplete, Search, Watch};

/// The best policy of AWS's study.
const STUDY: Policy = Backoff::exponential(Duration::from_millis(10))
    .max(Duration::from_secs(2))
    .full_jitter()
    .unlimited();

const FOREVER: Policy = Backoff::constant(Duration::from_secs(1)).unlimited();

fn quick(scenario: Contention, clients: &[u32]) -> Search {
    Search::new(scenario.threads(2), clients).effort(Effort::Quick)
}

#[track_caller]
fn found(search: &Search) -> Tuned {
    search.run().expect("a valid search")
}

#[track_caller]
fn refused(search: Search, message: &str) {
    assert_eq!(search.run().unwrap_err().to_string(), message);
}

#[test]
fn the_best_policy_of_the_study_is_beaten_at_every_number_of_clients() {
    for seed in [1, 2, 3] {
        let search = quick(Contention::occ(1).seed(seed), &[20, 50, 100, 190]).yours(&STUDY);
        let found = found(&search);
        assert!(found.beats_yours(), "seed {seed}: {found:#?}");
        // Also on chance that has nothing to do with the search's, between those numbers.
        for clients in [30, 70, 140] {
            let scenario = Contention::occ(clients).seed(1000 + seed).threads(2).trials(400);
            let run = |policy| scenario.run(policy).expect("a valid scenario");
            let change = run(&found.winner.policy).against(&run(&STUDY)).expect("all end");
            for less in [change.calls, change.time_ms] {
                assert!(less.mean + less.ci95 < 0.0, "seed {seed}, {clients}: {change:?}");
            }
        }
    }
}

#[test]
fn a_policy_that_gives_up_is_replaced_by_one_that_serves() {
    for scenario in [Contention::ballot(1), Contention::collision(1)] {
        let scenario = scenario.latency(Latency::millis(50, 10));
        let search = quick(scenario, &[2, 5, 10]).yours(&Policy::CONTENTION);
        let found = found(&search.attempts(7..=7));
        assert!(!found.yours.meets_goal() && found.winner.meets_goal(), "{found:#?}");
        assert_eq!(found.winner.policy.attempts(), Some(7));
        assert_eq!(found.winner.policy.get_within(), Policy::CONTENTION.get_within());
        for gain in &found.gain {
            let committed = |results: Result<Results, Incomplete<Trial>>| {
                results.expect("all end").committed.mean
            };
            let (winner, yours) = (committed(gain.winner), committed(gain.yours));
            assert!(winner >= 0.99 && winner >= yours, "{gain:?}");
        }
    }
}

#[test]
fn the_share_that_was_asked_for_holds_on_new_chance() {
    for seed in 1..=3 {
        let search = quick(Contention::collision(1).seed(seed), &[8]).yours(&Policy::CONTENTION);
        let found = found(&search.attempts(4..=4).commits(0.9));
        let results = found.gain[0].winner.expect("all end");
        assert!(found.winner.meets_goal() && results.committed.mean >= 0.9, "{found:#?}");
        // Few attempts reach more by long delays alone, and those nobody has asked for.
        assert!(results.committed.mean < 0.95, "{found:#?}");
    }
}

#[test]
fn no_member_of_the_front_betters_another_and_the_winner_is_one() {
    let searches = [
        quick(Contention::occ(1), &[10, 60]),
        quick(Contention::ballot(1), &[3, 10]).yours(&Policy::CONTENTION),
        quick(Contention::collision(1), &[5]).yours(&Policy::CONTENTION).commits(0.9),
    ];
    for search in &searches {
        let Tuned { front, winner, .. } = found(search);
        assert!(front.len() > 1 && front.contains(&winner), "{front:#?}");
        assert!(front.is_sorted_by(|one, other| one.calls <= other.calls));
        for (one, other) in front.iter().flat_map(|one| front.iter().map(move |other| (one, other)))
        {
            let quantities = |of: &Candidate| [of.calls, of.time, of.regret];
            let pairs = quantities(one).into_iter().zip(quantities(other));
            let is_never_worse = pairs.clone().all(|(one, other)| one <= other);
            assert!(one == other || !is_never_worse, "{one:?} betters {other:?}");
        }
    }
}

#[test]
fn what_is_printed_is_what_was_measured() {
    let found = found(&quick(Contention::occ(1), &[5, 40]));
    for Candidate { policy, .. } in &found.front {
        assert_eq!(policy.to_string().parse(), Ok(*policy));
    }
    let clause = found.winner.policy.to_string();
    assert!(clause.len() < 110 && !clause.contains("ns"), "{clause}");
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let run = |threads, seed| {
        let scenario = Contention::ballot(1).seed(seed).trials(50).threads(threads);
        found(&Search::new(scenario, &[3, 8]).effort(Effort::Quick))
    };
    let one = run(1, 7);
    assert_eq!(one, run(2, 7));
    assert_eq!(one, run(5, 7));
    assert_ne!(one, run(1, 8));
}

#[test]
fn where_yours_cannot_be_bettered_it_wins() {
    // One client succeeds at its first attempt, whatever the policy.
    let found = found(&quick(Contention::occ(1), &[1]).yours(&STUDY));
    assert_eq!((found.winner, found.winner.policy), (found.yours, STUDY));
    assert_eq!(found.winner.regret, 1.0);
    assert!(!found.beats_yours());
}

#[test]
fn a_search_that_is_stopped_tells_what_it_knows() {
    static STOPPED: Watch = Watch::new();
    STOPPED.stop();
    let search = quick(Contention::occ(1).watch(&STOPPED), &[100]).yours(&STUDY);
    let at_once = found(&search);
    assert!(!at_once.is_complete && at_once.gain.is_empty());
    assert_eq!((at_once.winner.policy, at_once.tried), (STUDY, 0));

    static WATCH: Watch = Watch::new();
    let search = Search::new(Contention::occ(1).watch(&WATCH).threads(2), &[100]);
    let later = std::thread::scope(|scope| {
        let search = scope.spawn(|| found(&search));
        // The first round is a twentieth of all trials or so.
        while WATCH.trials() < 8000 {
            std::thread::yield_now();
        }
        WATCH.stop();
        search.join().expect("no panic")
    });
    assert!(!later.is_complete && later.gain.is_empty());
    assert!(later.tried >= 700 && later.winner.regret < 1.0, "{later:#?}");
    assert!(WATCH.trials() < search.trials());
}

#[test]
fn what_makes_no_sense_is_refused_with_its_value() {
    let occ = Contention::occ(1);
    refused(quick(occ, &[]), "numbers of clients: 0 is out of range; use 1 to 100");
    refused(quick(occ, &[5; 101]), "numbers of clients: 101 is out of range; use 1 to 100");
    refused(quick(occ, &[5, 0]), "clients: 0 is out of range; use 1 to 4194304");
    refused(Search::over(occ, 0..=9), "clients: 0 is out of range; use 1 to 4194304");
    refused(
        Search::over(occ, 1..=u32::MAX),
        "clients: 4294967295 is out of range; use 1 to 4194304",
    );
    refused(Search::new(occ.threads(0), &[5]), "threads: 0 is out of range; use 1 to 1024");
    refused(quick(occ.trials(0), &[5]), "trials: 0 is out of range; use 1 to 1000000");
    refused(quick(occ, &[5]).commits(1.5), "commits: 1.5 is out of range; use 0 to 1");
    refused(quick(occ, &[5]).commits(f64::NAN), "commits: NaN is out of range; use 0 to 1");
    refused(quick(occ, &[5]).attempts(0..=3), "attempts: 0 is out of range; use 1 to 3");
    #[expect(clippy::reversed_empty_ranges, reason = "that is the mistake")]
    refused(quick(occ, &[5]).attempts(4..=3), "attempts: 4 is out of range; use 1 to 3");
    assert_eq!(quick(occ, &[0]).trials(), 0);
}

#[test]
fn a_crowd_that_nobody_can_serve_has_no_winner_but_yours() {
    // In step, and with a bound that leaves nobody the time to get out of it.
    let scenario = Contention::collision(1)
        .latency(Latency::millis(20, 0))
        .bounds(Bounds { events: 300, ..Bounds::DEFAULT });
    let found = found(&quick(scenario, &[200]).yours(&FOREVER));
    assert_eq!(found.winner.policy, FOREVER);
    assert_eq!((found.winner.regret, found.winner.committed), (f64::INFINITY, 0.0));
    assert!(found.is_complete && !found.winner.meets_goal() && !found.beats_yours());
    assert!(found.gain[0].winner.is_err() && found.gain[0].change.is_none());
    assert_eq!(found.front, [found.winner]);
}

#[test]
fn where_yours_comes_to_no_end_another_may() {
    let scenario = Contention::collision(1).latency(Latency::millis(20, 0));
    let found = found(&quick(scenario, &[2, 20]).yours(&FOREVER));
    assert_eq!(found.yours.regret, f64::INFINITY);
    assert!(found.winner.meets_goal() && found.winner.regret.is_finite(), "{found:#?}");
    let gain = &found.gain[1];
    assert!(gain.yours.is_err() && gain.winner.is_ok_and(|of| of.committed.mean == 1.0));
}

#[test]
fn where_hardly_anybody_is_served_the_winner_serves_the_most() {
    let scenario = Contention::collision(1).latency(Latency::millis(50, 10));
    let search = quick(scenario, &[200]).yours(&Policy::CONTENTION).attempts(2..=4);
    let found = found(&search);
    assert!(!found.winner.meets_goal());
    assert!(found.winner.committed > found.yours.committed, "{found:#?}");
}

#[test]
fn no_latency_and_endless_latency_are_searched_too() {
    let none = quick(Contention::occ(1).latency(Latency::millis(0, 0)), &[3]);
    assert!(found(&none).is_complete);
    let endless = Latency { mean: Duration::MAX, spread: Duration::ZERO };
    let endless = quick(Contention::ballot(1).latency(endless), &[3]);
    assert_eq!(found(&endless).winner.regret, f64::INFINITY);
}
