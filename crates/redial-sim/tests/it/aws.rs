//! A few cells of AWS's table; the example `aws_table` prints them all.

#[path = "aws/reference.rs"]
mod reference;

use redial_sim::Contention;
use reference::{POLICIES, REFERENCE};

fn check(clients: u32) {
    let row = REFERENCE.iter().find(|row| row.0 == clients);
    let (_, calls, times) = row.expect("a row of the table");
    for (i, (name, policy)) in POLICIES.iter().enumerate() {
        let run = Contention::occ(clients).threads(2).run(policy).expect("a valid scenario");
        let results = run.results().expect("no bound is near");
        let time_tolerance = if clients == 10 && *name == "exponential" { 0.06 } else { 0.03 };
        for (quantity, ours, reference, tolerance) in [
            ("calls", results.calls.mean, calls[i], 0.01),
            ("time", results.time_ms.mean, times[i], time_tolerance),
        ] {
            let off = ours / reference - 1.0;
            let cell = format!("{quantity} of {name} at {clients}: {ours}, not {reference}");
            assert!(off.abs() < tolerance, "{cell}");
        }
        assert_eq!(results.all_committed.mean, 1.0);
    }
}

#[test]
fn ten_clients_need_the_study_s_calls_and_time() {
    check(10);
}

#[test]
fn a_hundred_clients_need_the_study_s_calls_and_time() {
    check(100);
}

#[test]
fn a_hundred_and_ninety_clients_need_the_study_s_calls_and_time() {
    check(190);
}
