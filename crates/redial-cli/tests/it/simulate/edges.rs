//! What cannot be simulated, and what can only just be.

use serde_json::Value;

use super::{ENDLESS, folder, in_folder, parsed, redial, refused, simulate, stderr, stdout};

#[test]
fn what_cannot_be_simulated_says_what_could() {
    let outage = "simulate outage --rate 5 --capacity 6";
    for (line, because) in [
        (
            "simulate storm",
            "there is no scenario `storm`; there are contention, outage, wave, layers",
        ),
        ("simulate", "SCENARIO"),
        ("simulate contention --clients 0", "--clients: 0 is out of range; use 1 to"),
        ("simulate contention --clients 4294967295", "--clients: 4294967295 is out of range"),
        ("simulate contention --clients 4294967296", "is not a number of clients"),
        ("simulate contention --clients -5", "is not a number of clients"),
        ("simulate contention --clients 9..5", "9 is above 5; write it as 5..9"),
        ("simulate contention --clients 1..9:0", "a step of 0 goes nowhere"),
        ("simulate contention --clients 1..100000:1", "more than 200 crowds"),
        ("simulate contention --trials 0", "--trials: 0 is out of range; use 1 to"),
        ("simulate contention --trials 4294967295", "--trials: 4294967295 is out of range"),
        ("simulate contention --trials -1", "--trials"),
        ("simulate contention --threads 0", "--threads: 0 is out of range; use 1 to"),
        ("simulate contention --threads 4294967295", "--threads: 4294967295 is out of range"),
        ("simulate contention --seed -1", "--seed"),
        ("simulate contention --seed 18446744073709551616", "--seed"),
        ("simulate contention --latency 10", "this is not a duration; use one such as"),
        ("simulate contention --latency -1ms", "this is not a duration"),
        ("simulate contention --model paxos", "[possible values: occ, collision, ballot]"),
        (
            "simulate contention --budget 5%",
            "--budget is no setting of contention, which has --model",
        ),
        ("simulate contention --refuse", "--refuse is no setting of contention"),
        ("simulate outage --rate 5", "outage needs --capacity"),
        ("simulate outage --capacity 5", "outage needs --rate"),
        ("simulate outage --rate -5 --capacity 6", "--rate: -5 is out of range"),
        ("simulate outage --rate 0 --capacity 6", "--rate: 0 is out of range"),
        ("simulate outage --rate NaN --capacity 6", "this is not a number; use one such as"),
        ("simulate outage --rate inf --capacity 6", "this is not a number"),
        ("simulate outage --rate 1e308 --capacity 6", "is out of range; use 0.000001 to 10000000"),
        ("simulate outage --rate 5 --capacity 0", "--capacity: 0 is out of range"),
        ("simulate outage --rate 5 --capacity -0.0", "is out of range"),
        ("simulate outage --rate 5 --capacity 1e308", "is out of range"),
        (
            &format!("{outage} --after 1000000000s"),
            "--after in seconds: 1000000000 is out of range",
        ),
        (&format!("{outage} --before 1000000000s"), "--before"),
        (&format!("{outage} --down 1000000000s"), "--down"),
        (&format!("{outage} --after 0s"), "--after"),
        (&format!("{outage} -t 1000000000s"), "--timeout"),
        (&format!("{outage} --queue 0"), "--queue: 0 is out of range"),
        (&format!("{outage} --queue 4294967295"), "--queue: 4294967295 is out of range"),
        (&format!("{outage} --processes 0"), "--processes: 0 is out of range"),
        (&format!("{outage} --processes 4294967295"), "--processes: 4294967295 is out of range"),
        (&format!("{outage} --remaining 101%"), "this is not a share; use one from 0% to 100%"),
        (&format!("{outage} --errors -1%"), "this is not a share"),
        (&format!("{outage} --errors NaN"), "this is not a share"),
        (&format!("{outage} --breaker 0"), "--breaker"),
        (&format!("{outage} --breaker-recovery 5s"), "--breaker-recovery needs --breaker"),
        (&format!("{outage} --budget 5% --budget-burst 0"), "--budget"),
        (&format!("{outage} --budget 5% --budget-burst 1e308"), "--budget"),
        (&format!("{outage} --budget 0%"), "--budget: with no deposit"),
        (&format!("{outage} --budget-burst 5"), "--budget-burst needs --budget"),
        ("simulate layers --budget-burst 5", "--budget-burst needs --budget"),
        ("simulate wave --clients 0", "--clients: 0 is out of range"),
        ("simulate wave --clients 4294967295", "--clients: 4294967295 is out of range"),
        ("simulate wave --clients 16000000", "--clients: 16000000 is out of range"),
        ("simulate wave --clients 5,10", "a wave is of one crowd; name one number"),
        ("simulate wave --window 0s", "--window"),
        ("simulate wave --until 0s", "--until"),
        ("simulate layers --depth 0", "--depth: 0 is out of range; use 1 to 64"),
        ("simulate layers --depth 4294967295", "--depth: 4294967295 is out of range"),
        ("simulate layers --calls 0", "--calls: 0 is out of range"),
        ("simulate layers --calls 4294967295", "--calls: 4294967295 is out of range"),
        ("simulate layers --with 'retry: 3, dely: 1s'", "error[unknown-option]"),
        ("simulate layers --progress sometimes", "possible values"),
    ] {
        refused(line, because);
    }
}

#[test]
fn what_can_only_just_be_simulated_is() {
    for line in [
        "contention --clients 1 --trials 1",
        "contention --clients 5 --trials 3 --threads 1024",
        "contention --clients 5 --trials 3 --seed 18446744073709551615",
        "contention --clients 5 --trials 3 --latency 0ms",
        "contention --clients 5 --trials 3 --latency 1ns --latency-spread 1ns",
        "contention --clients 5 --trials 3 --latency 1000000000s",
        "contention --clients 5 --trials 3 --latency-spread 1000000000s",
        "contention --clients 5 --trials 3 --start-spread 1000000000s",
        "contention --clients 5 --trials 3 --start-spread 213000d",
        "contention --model ballot --clients 5 --trials 3 --latency 213000d",
        "contention --model collision --clients 5 --trials 3 --latency 213000d",
        "contention --clients 50000 --trials 1 -n 1",
        "outage --rate 0.000001 --capacity 0.000001 --trials 1",
        "outage --rate 0.000001 --capacity 10000000 --trials 1",
        "outage --rate 1000 --capacity 0.000001 --trials 1 --after 10s",
        "outage --rate 5 --capacity 6 --trials 1 --before 0s --down 0s --after 1ns",
        "outage --rate 0.1 --capacity 6 --trials 1 --down 1d --before 1d --after 1d",
        "outage --rate 5 --capacity 6 --trials 2 --queue 1 --processes 65536",
        "outage --rate 5 --capacity 6 --trials 2 --queue 16777216 --remaining 100% --errors 100%",
        "outage --rate 5 --capacity 6 --trials 2 --breaker 1 --breaker-recovery 1ns",
        "outage --rate 5 --capacity 6 --trials 2 --breaker 4294967295 --breaker-recovery 1000000000s",
        "outage --rate 5 --capacity 6 --trials 2 --budget 0.001% --budget-burst 1",
        "outage --rate 5 --capacity 6 --trials 2 --budget 100% --budget-burst 999999999",
        "outage --rate 5 --capacity 6 --trials 2 -t 1ns",
        "outage --rate 5 --capacity 6 --trials 2 -t 1d",
        "outage --rate 5 --capacity 6 --trials 2 --service constant --arrivals regular",
        "wave --clients 1 --trials 1",
        "wave --clients 200000 --trials 1 -n 2",
        "wave --clients 9 --trials 2 --window 1ns --until 1ns",
        "wave --clients 9 --trials 2 --window 1000000000s --until 1000000000s",
        "wave --clients 9 --trials 2 --down 1000000000s",
        "wave --clients 9 --trials 2 --down 0s",
        "layers --depth 64 --calls 2 --trials 2 -n 1",
        "layers --depth 64 --calls 2 --trials 2 --errors 0%",
        "layers --calls 2 --trials 2 --attempt-time 0s",
        "layers --calls 2 --trials 2 --attempt-time 1000000000s",
        "layers --calls 2 --trials 2 -d 213000d",
    ] {
        let folder = folder(&[]);
        let all = format!("simulate {line} --csv numbers.csv --html page.html");
        let output = in_folder(folder.path(), &all);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        assert_eq!(stderr(&output), "", "{line}");
        assert!(folder.path().join("page.html").exists(), "{line}");
    }
}

#[test]
fn what_has_no_end_is_cut_and_says_so() {
    let output = simulate(ENDLESS);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("There is no crowd in which each policy came to an end.\n"), "{text}");
    let note = "Policy 1 with 2 clients has no result: trial 1 of 3 was cut at the bound on time, ";
    assert!(text.replace('\n', " ").contains(note), "{text}");

    let found = parsed(&simulate(&format!("{ENDLESS} --json")));
    let result = found["results"][0].as_object().unwrap();
    assert_eq!(result.keys().collect::<Vec<_>>(), ["policy", "clients", "trials", "cut"]);
    assert!(
        result["cut"].as_str().unwrap().starts_with("trial 1 of 3 was cut at the bound on time")
    );
}

#[test]
fn what_has_an_end_is_told_beside_what_has_none() {
    let both = format!("{ENDLESS} --with 'attempts: 3, delay: 1s'");
    let text = stdout(&simulate(&both)).to_owned();
    let calls = text.lines().find(|line| line.starts_with("calls  ")).unwrap();
    assert_eq!(calls.split_whitespace().collect::<Vec<_>>(), ["calls", "cut", "6"], "{text}");
    let found = parsed(&simulate(&format!("{both} --json")));
    assert!(found["results"][0]["cut"].is_string());
    assert_eq!(found["results"][1]["cut"], Value::Null);
    assert_eq!(found["results"][1]["calls"]["mean"], 6.0);
}

#[test]
fn a_search_that_cannot_be_made_is_refused() {
    for (line, because) in [
        ("tune outage --rate 5 --capacity 6", "tune searches for contention alone, not for outage"),
        ("tune wave", "tune searches for contention alone"),
        ("tune storm", "there is no scenario `storm`"),
        (
            "tune contention --with 'attempts: 2' --with 'attempts: 3'",
            "tune compares with one policy",
        ),
        ("tune contention --commit 200%", "this is not a share; use one from 0% to 100%"),
        ("tune contention --commit NaN", "this is not a share"),
        ("tune contention --clients 0", "--clients: 0 is out of range"),
        ("tune contention --clients 4294967295", "--clients: 4294967295 is out of range"),
        ("tune contention --threads 0", "--threads: 0 is out of range"),
        ("tune contention --effort lazy", "[possible values: quick, normal, thorough]"),
        ("tune contention --rate 5", "--rate is no setting of contention"),
        ("tune contention --effort quick --clients 3 --trials 0", "--trials: 0 is out of range"),
    ] {
        let output = redial(line);
        assert_eq!(output.status.code(), Some(125), "{line}: {}", stderr(&output));
        assert!(stderr(&output).contains(because), "{line}: {}", stderr(&output));
    }
}
