//! The policies of other systems: their own vectors, an independent reference of every law, and what is said of mistakes.

use std::io::Write;
use std::process::{Command, Stdio};

use redial_core::{Call, Forecast, Pretty, SplitMix64, Time, Verdict};
use redial_policy::notation::Source;
use redial_policy::{Document, Entry, Format, Notation, System, Target, Timing, convert, read};
use redial_seeds::{Dice, Draw, asked, random};

fn read_for(text: &str, format: Format, client: Option<&str>) -> Document {
    let source = Source::new(text, format).client(client);
    source.document(source.parse().as_deref(), None)
}

fn range(delay: Forecast) -> String {
    let (least, greatest) = (Pretty(delay.least), Pretty(delay.greatest));
    if least == greatest { greatest.to_string() } else { format!("{least}-{greatest}") }
}

/// The first delays of an entry; `…` after them where there is no end to them.
fn delays(entry: &Entry, count: usize) -> String {
    let timing = Timing::of(entry).unwrap_or_else(|| panic!("{entry:?} has errors"));
    let endless = timing.attempts().is_none();
    let shown = if endless { count } else { usize::MAX };
    let mut words: Vec<_> = timing.forecasts().take(shown).map(range).collect();
    words.extend(endless.then(|| "…".to_owned()));
    words.join(" ")
}

/// What is found in a text, by name.
#[track_caller]
fn found(text: &str, format: Format) -> Vec<String> {
    let document = read(text, format, None);
    document
        .diagnostics()
        .iter()
        .map(|found| format!("{} {}", found.kind.name(), found.span.of(text)))
        .collect()
}

#[test]
fn every_system_gives_the_delays_of_its_vectors() {
    for system in System::all() {
        assert!(!system.vectors().is_empty(), "{system:?}");
        for vector in system.vectors() {
            let document = read_for(vector.text, vector.format, vector.client);
            assert!(!document.has_errors(), "{}\n{:?}", vector.text, document.diagnostics());
            let entry = document.policies().last().unwrap_or_else(|| panic!("{}", vector.text));
            assert_eq!(entry.notation, Notation::Foreign(system), "{}", vector.text);
            // As the vectors are written, so that 1min is 60s.
            let count = vector.delays.split(' ').filter(|word| *word != "…").count();
            let stated: Vec<_> = vector.delays.split(' ').map(normal).collect();
            let ours: Vec<_> = delays(entry, count).split(' ').map(normal).collect();
            assert_eq!(ours, stated, "{} of {system:?}", vector.text);
        }
    }
}

/// A delay, or a range of them, in nanoseconds.
fn normal(word: &str) -> String {
    let nanos = |word: &str| match word {
        "…" => "…".to_owned(),
        word => {
            let clause = format!("attempts: 2, delay: {word}, max_delay: none");
            let reading = redial_core::clause::read_call(&clause);
            let policy = reading.policy().unwrap_or_else(|| panic!("{word} is no duration"));
            policy.forecast(0).least.as_nanos().to_string()
        }
    };
    word.split('-').map(nanos).collect::<Vec<_>>().join("-")
}

#[test]
fn every_system_has_a_page_under_its_title_and_a_name_of_its_own() {
    let mut names: Vec<_> = System::all().map(System::name).collect();
    for system in System::all() {
        assert!(system.page().starts_with(&format!("# {}\n", system.title())), "{system:?}");
        assert_eq!(System::named(system.name()), Some(system));
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), System::all().len());
}

#[test]
fn every_retrier_of_every_state_is_a_policy_with_a_name() {
    let text = include_str!("../foreign/orders.asl.json");
    let document = read(text, Format::Json, None);
    let policies = document.policies().map(|entry| (entry.name.as_str(), delays(entry, 9)));
    assert_eq!(
        policies.collect::<Vec<_>>(),
        [
            ("States.Charge.Retry[0]", "3s 4500ms 6750ms 10s".to_owned()),
            ("States.Charge.Retry[1]", "1s 2s 4s".to_owned()),
            ("States.Ship.Branches[0].States.Label.Retry[0]", "0s-1s 0s-2s".to_owned()),
        ]
    );
    assert_eq!(document.diagnostics(), []);
}

#[test]
fn what_a_system_rejects_is_an_error_at_its_place() {
    for (text, expected) in [
        (r#"{"Retry": [{"ErrorEquals": ["A"], "IntervalSeconds": 0}]}"#, "rejected-there 0"),
        (r#"{"MaxRetryAttempts": 0}"#, "rejected-there 0"),
        (r#"{"BackoffType": "Fibonacci"}"#, "rejected-there \"Fibonacci\""),
        (r#"{"MaxRetryAttempts": 2, "Delay": "1.00:00:01"}"#, "rejected-there \"1.00:00:01\""),
        (r#"{"MaxRetryAttempts": 2, "Delay": "2s"}"#, "wrong-type \"2s\""),
        (r#"{"Retry": [{"ErrorEquals": ["A"], "BackoffRate": 0.9}]}"#, "rejected-there 0.9"),
        (r#"{"Retry": [{"ErrorEquals": ["A"], "MaxDelaySeconds": 0}]}"#, "rejected-there 0"),
        (
            r#"{"Retry": [{"ErrorEquals": ["A"], "JitterStrategy": "EQUAL"}]}"#,
            "rejected-there \"EQUAL\"",
        ),
        (r#"{"Retry": [{"ErrorEquals": ["States.ALL", "B"]}]}"#, "rejected-there \"States.ALL\""),
        (
            r#"{"Retry": [{"ErrorEquals": ["States.ALL"]}, {"ErrorEquals": ["B"]}]}"#,
            "rejected-there \"States.ALL\"",
        ),
        (
            r#"{"Retry": [{"ErrorEquals": ["A"], "BackofRate": 2}]}"#,
            "unknown-option \"BackofRate\"",
        ),
        (r#"{"Retry": [{"ErrorEquals": ["A"], "MaxAttempts": "$.n"}]}"#, "computed \"$.n\""),
        (r#"{"Retry": [{"ErrorEquals": ["A"], "MaxAttempts": 1.5}]}"#, "wrong-type 1.5"),
        ("{kind: Job, spec: {template: {spec: {restartPolicy: Always}}}}", "rejected-there Always"),
        ("{initialInterval: 10s, maximumInterval: 1s}", "rejected-there 1s"),
        ("{initialInterval: 1s, backoffCoefficient: 0.5}", "rejected-there 0.5"),
        (
            "{retry_policy: {retry_on: 5xx, retry_back_off: {base_interval: 1s, max_interval: 0.5s}}}",
            "rejected-there 0.5s",
        ),
        ("retryStrategy: {limit: 3, backoff: {duration: 1, factor: 1.5}}", "wrong-type 1.5"),
        ("retryStrategy: {limit: '{{inputs.parameters.n}}'}", "computed '{{inputs.parameters.n}}'"),
        (
            "{kind: VirtualService, spec: {http: [{retries: {attempts: 0, retryOn: 5xx}}]}}",
            "rejected-there 5xx",
        ),
        ("{max_deliver: 5, ack_wait: 30s}", "not-read-yet max_deliver"),
        (
            "resilience4j.retry: {instances: {a: {waitDuration: 1s, enableRandomizedWait: true, randomizedWaitFactor: 1}}}",
            "rejected-there 1",
        ),
    ] {
        assert_eq!(found(text, Format::Yaml), [expected], "{text}");
    }
}

#[test]
fn what_a_system_ignores_or_lowers_is_a_warning() {
    for (text, expected) in [
        (
            r#"{"retryPolicy": {"maxAttempts": 9, "initialBackoff": "1s", "maxBackoff": "9s", "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"]}}"#,
            "lowered-there 9",
        ),
        (
            "retry_policy: {retry_on: 5xx, num_retries: 2, retriable_status_codes: [418]}",
            "ignored-there [418]",
        ),
        (
            "retry_policy: {retry_on: '5xx,gatewayerror', num_retries: 2}",
            "ignored-there '5xx,gatewayerror'",
        ),
    ] {
        assert_eq!(found(text, Format::Yaml), [expected], "{text}");
        assert!(!read(text, Format::Yaml, None).has_errors(), "{text}");
    }
    let unit = "[Service]\nRestart=always\nRestartSteps=5\n";
    assert_eq!(found(unit, Format::of("a.service", unit)), ["ignored-there 5"]);
    let hot = found("retryStrategy: {backoff: {duration: 1m}}", Format::Yaml);
    assert!(hot.iter().any(|found| found.starts_with("ignored-there")), "{hot:?}");
    assert!(hot.iter().any(|found| found.starts_with("hot-loop")), "{hot:?}");
}

#[test]
fn a_client_whose_law_is_not_known_is_refused_by_name() {
    let text = r#"{"maxAttempts": 3, "initialBackoff": "1s", "maxBackoff": "9s", "backoffMultiplier": 2,
                   "retryableStatusCodes": ["UNAVAILABLE"]}"#;
    let document = read_for(text, Format::Json, Some("swift"));
    let message = &document.diagnostics()[0].message;
    assert_eq!(
        message,
        "the law of gRPC is not known for `swift`; it is for go, core, java and js"
    );
}

#[test]
fn our_own_notations_read_as_before() {
    let text = "retryPolicy: {maxAttempts: 5, baseDelayMs: 100, backoffStrategy: EXPONENTIAL}";
    let document = read(text, Format::Yaml, None);
    assert_eq!(document.policies().next().map(|entry| entry.notation), Some(Notation::RetryPolicy));
    let text = "{retry: 3, delay: 1s, backoff: exponential, retry_on: network}";
    let document = read(text, Format::Yaml, None);
    assert_eq!(document.policies().next().map(|entry| entry.notation), Some(Notation::Clause));
}

#[test]
fn what_a_system_writes_it_reads_again_and_every_loss_has_numbers() {
    let written = |clause: &str, system: &str| {
        let document = read(clause, Format::Text, None);
        let entry = document.policies().next().expect("a policy");
        let system = System::named(system).expect("a system");
        convert(entry, Target::Foreign(system), Format::Text).expect("a conversion")
    };
    let exact = [
        (
            "attempts: 4, delay: 2s, backoff: exponential, max_delay: 20s, jitter: full",
            "step-functions",
        ),
        (
            "attempts: 4, delay: 100ms, backoff: exponential, factor: 1.5, max_delay: 1s, jitter: 20%",
            "grpc",
        ),
        (
            "attempts: 9, delay: 1s, backoff: exponential, factor: 1.5, max_delay: 1min, within: 5min",
            "temporal",
        ),
        ("attempts: 5, delay: 10s, backoff: exponential, factor: 3, max_delay: 1min", "argo"),
        ("attempts: 7, delay: 10s, backoff: exponential, max_delay: 10min", "kubernetes"),
        ("attempts: 4, delay: 500ms, backoff: exponential, max_delay: 5s", "resilience4j"),
        ("attempts: 4, delay: 1s, max_delay: none", "systemd"),
        ("attempts: 6, delay: 1s, backoff: exponential, max_delay: 10min", "curl"),
        ("attempts: 6, delay: 1s, backoff: linear, max_delay: 10s", "wget"),
    ];
    for (clause, system) in exact {
        assert_eq!(written(clause, system).losses, [], "{clause} as {system}");
    }
    let lossy = written("attempts: 3, delay: 20s, max_delay: 30s", "grpc");
    let losses: Vec<_> =
        lossy.losses.iter().map(|loss| format!("{} → {}", loss.what, loss.became)).collect();
    assert_eq!(losses, ["delay 1: 20s → 16s-24s", "delay 2: 20s → 16s-24s"]);
    let lossy = written(
        "attempts: 9, delay: 25ms, backoff: exponential, max_delay: 250ms, jitter: full",
        "envoy",
    );
    assert_eq!(lossy.losses[0].what, "delay 1: 0s-25ms");
    assert_eq!(lossy.losses[0].became, "0s-24ms");
}

#[test]
fn a_law_runs_in_the_engine_and_is_written_down_with_a_call() {
    use redial_core::{Call, Decision, SplitMix64, Time, Verdict};
    let document = read("retry_policy: {retry_on: 5xx, num_retries: 9}", Format::Yaml, None);
    let entry = document.policies().next().expect("a policy");
    let law = entry.law.clone().expect("whole milliseconds are no clause");
    assert_eq!(entry.policy, None);
    let mut random = SplitMix64::new(7);
    let mut call = law.policy().start(Time::ZERO);
    let mut now = Time::ZERO;
    let mut slept = Vec::new();
    while let Decision::Wait(delay) = call.failed(now, || Verdict::Retry, &mut random) {
        slept.push(delay);
        now = now.after(delay);
        // Written down and taken up again after each attempt.
        let snapshot = call.snapshot(now, random.words_since(7));
        call = Call::resume(law.policy(), snapshot, now).expect("its own snapshot");
        random = SplitMix64::resume(7, snapshot.words_drawn);
    }
    assert_eq!(slept, law.policy().delays(SplitMix64::new(7)).collect::<Vec<_>>());
    assert!(slept.iter().all(|delay| delay.subsec_nanos() % 1_000_000 == 0));
}

/// A random policy of a system: a text, and the numbers in it for the reference.
type Case = (&'static str, String, Option<&'static str>, Vec<String>);

fn step_functions(draw: &mut Dice) -> Case {
    let interval = draw.below(60_u64) + 1;
    let retries = draw.below(12_u64);
    let rate = 1.0 + draw.below(40_u64) as f64 / 16.0;
    let cap = draw.one_in(2).then(|| draw.below(600_u64) + 1);
    let full = draw.one_in(2);
    let mut text = format!(
        r#"{{"Retry": [{{"ErrorEquals": ["A"], "IntervalSeconds": {interval}, "MaxAttempts": {retries}, "BackoffRate": {rate:?}"#
    );
    if let Some(cap) = cap {
        text += &format!(r#", "MaxDelaySeconds": {cap}"#);
    }
    if full {
        text += r#", "JitterStrategy": "FULL""#;
    }
    let cap = cap.map_or("none".to_owned(), |cap| cap.to_string());
    let numbers =
        vec![interval.to_string(), retries.to_string(), format!("{rate:?}"), cap, full.to_string()];
    ("step-functions", text + "}]}", None, numbers)
}

fn grpc(draw: &mut Dice) -> Case {
    let client = ["go", "core", "java", "js"][draw.below(4_u64) as usize];
    let attempts = draw.below(7_u64) + 2;
    let initial = draw.below(20_000_u64) + 1;
    let max = draw.below(60_000_u64) + 1;
    let multiplier = (draw.below(60_u64) + 1) as f64 / 20.0;
    let text = format!(
        r#"{{"maxAttempts": {attempts}, "initialBackoff": "{}s", "maxBackoff": "{}s", "backoffMultiplier": {multiplier:?}, "retryableStatusCodes": ["ABORTED"]}}"#,
        initial as f64 / 1000.0,
        max as f64 / 1000.0,
    );
    let numbers = [
        client.to_owned(),
        attempts.to_string(),
        initial.to_string(),
        max.to_string(),
        format!("{multiplier:?}"),
    ];
    ("grpc", text, Some(client), numbers.to_vec())
}

fn temporal(draw: &mut Dice) -> Case {
    let attempts = draw.below(20_u64) + 2;
    let initial = draw.below(100_000_u64) + 1;
    let coefficient = 1.0 + draw.below(300_u64) as f64 / 100.0;
    let max = initial * (draw.below(1000_u64) + 1);
    let text = format!(
        r#"{{"initialInterval": "{initial}ms", "backoffCoefficient": {coefficient:?}, "maximumInterval": "{max}ms", "maximumAttempts": {attempts}}}"#
    );
    (
        "temporal",
        text,
        None,
        vec![
            attempts.to_string(),
            initial.to_string(),
            format!("{coefficient:?}"),
            max.to_string(),
        ],
    )
}

fn envoy(draw: &mut Dice) -> Case {
    let (retries, base) = (draw.below(12_u64) + 1, draw.below(2000_u64) + 1);
    let max = base + draw.below(20_000_u64);
    let text = format!(
        r#"{{"retry_policy": {{"retry_on": "5xx", "num_retries": {retries}, "retry_back_off": {{"base_interval": "{}s", "max_interval": "{}s"}}}}}}"#,
        base as f64 / 1000.0,
        max as f64 / 1000.0,
    );
    ("envoy", text, None, vec![retries.to_string(), base.to_string(), max.to_string()])
}

fn argo(draw: &mut Dice) -> Case {
    let (retries, initial, factor) =
        (draw.below(12_u64) + 1, draw.below(120_u64) + 1, draw.below(5_u64));
    let cap = draw.one_in(2).then(|| draw.below(600_u64) + 1);
    let shown = cap.map_or(String::new(), |cap| format!(r#", "cap": "{cap}""#));
    let text = format!(
        r#"{{"retryStrategy": {{"limit": "{retries}", "backoff": {{"duration": "{initial}", "factor": "{factor}"{shown}}}}}}}"#
    );
    let cap = cap.map_or("none".to_owned(), |cap| cap.to_string());
    ("argo", text, None, vec![retries.to_string(), initial.to_string(), factor.to_string(), cap])
}

fn resilience4j(draw: &mut Dice) -> Case {
    let (attempts, wait) = (draw.below(10_u64) + 2, draw.below(5000_u64) + 1);
    let times = (draw.below(60_u64) + 5) as f64 / 20.0;
    let share = draw.one_in(2).then(|| draw.below(95_u64) as f64 / 100.0);
    let cap = draw.one_in(2).then(|| draw.below(20_000_u64) + 1);
    let mut text = format!(
        r#"{{"resilience4j": {{"retry": {{"instances": {{"a": {{"maxAttempts": {attempts}, "waitDuration": {wait}, "enableExponentialBackoff": true, "exponentialBackoffMultiplier": {times:?}"#
    );
    if let Some(share) = share {
        text += &format!(r#", "enableRandomizedWait": true, "randomizedWaitFactor": {share:?}"#);
    }
    if let Some(cap) = cap {
        text += &format!(r#", "exponentialMaxWaitDuration": {cap}"#);
    }
    let share = share.map_or("none".to_owned(), |share| format!("{share:?}"));
    let cap = cap.map_or("none".to_owned(), |cap| cap.to_string());
    let numbers = vec![attempts.to_string(), wait.to_string(), format!("{times:?}"), share, cap];
    ("resilience4j", text + "}}}}}", None, numbers)
}

fn systemd(draw: &mut Dice) -> Case {
    let (sec, steps) = (draw.below(100_000_000_u64) + 1, draw.below(20_u64) + 1);
    let max = sec + draw.below(1_000_000_000_u64);
    let random = if draw.one_in(2) { 0 } else { draw.below(1_000_000_u64) };
    let burst = draw.below(30_u64) + 2;
    let text = format!(
        "[Unit]\nStartLimitBurst={burst}\nStartLimitIntervalSec=infinity\n[Service]\nRestart=always\nRestartSec={sec}us\n\
         RestartSteps={steps}\nRestartMaxDelaySec={max}us\nRestartRandomizedDelaySec={random}us\n"
    );
    let numbers = [burst, sec, steps, max, random].map(|number| number.to_string());
    ("systemd", text, None, numbers.to_vec())
}

fn curl(draw: &mut Dice) -> Case {
    let (retries, fixed, limit) =
        (draw.below(20_u64), draw.below(4_u64) * 2, draw.below(3_u64) * draw.below(900_u64));
    let text = format!(
        "curl --retry {retries} --retry-delay {fixed} --retry-max-time {limit} http://localhost/"
    );
    ("curl", text, None, [retries, fixed, limit].map(|number| number.to_string()).to_vec())
}

fn wget(draw: &mut Dice) -> Case {
    let (tries, tenths) = (draw.below(30_u64) + 1, draw.below(200_u64));
    let text = format!(
        "wget --tries {tries} --waitretry {}.{} http://localhost/",
        tenths / 10,
        tenths % 10
    );
    ("wget", text, None, vec![tries.to_string(), tenths.to_string()])
}

fn polly(draw: &mut Dice) -> Case {
    let (retries, base) = (draw.below(12_u64) + 1, draw.below(20_000_u64) + 1);
    let kind = ["Constant", "Linear", "Exponential"][draw.below(3_usize)];
    let jitter = draw.one_in(2);
    let max = draw.one_in(2).then(|| draw.below(50_000_u64) + 1);
    let time = |millis: u64| format!("00:00:{:02}.{:03}", millis / 1000 % 60, millis % 1000);
    let shown = max.map_or(String::new(), |max| format!(r#", "MaxDelay": "{}""#, time(max)));
    let text = format!(
        r#"{{"MaxRetryAttempts": {retries}, "Delay": "{}", "BackoffType": "{kind}", "UseJitter": {jitter}{shown}}}"#,
        time(base)
    );
    let max = max.map_or("none".to_owned(), |max| max.to_string());
    let numbers =
        vec![retries.to_string(), base.to_string(), max, kind.to_owned(), jitter.to_string()];
    ("polly", text, None, numbers)
}

fn aws(draw: &mut Dice) -> Case {
    let attempts = draw.below(30_u64) + 1;
    let (client, mode) = [
        ("go", "standard"),
        ("python", "legacy"),
        ("python-1.43", "adaptive"),
        ("python", "standard"),
    ][draw.below(4_usize)];
    let text = format!("[profile p]\nmax_attempts = {attempts}\nretry_mode = {mode}\n");
    ("aws", text, Some(client), vec![client.to_owned(), mode.to_owned(), attempts.to_string()])
}

/// Random policies of every system that has a reference in `tests/foreign/reference.py`, which knows nothing of this code.
const CASES: [fn(&mut Dice) -> Case; 11] =
    [step_functions, grpc, temporal, envoy, argo, resilience4j, systemd, curl, wget, polly, aws];

#[test]
fn random_policies_have_the_delays_of_an_independent_reference() {
    let seeds = || asked().map_or(0..500, |seed| seed..seed + 1);
    for make in CASES {
        let cases: Vec<Case> = seeds().map(|seed| make(&mut random(seed))).collect();
        let Some(answers) = reference(&cases) else {
            let _ = writeln!(std::io::stderr(), "left out: there is no python3");
            return;
        };
        assert_eq!(answers.len(), cases.len());
        for (((system, text, client, numbers), answer), seed) in
            cases.iter().zip(answers).zip(seeds())
        {
            let format = Format::of("", text);
            let document = read_for(text, format, *client);
            assert!(!document.has_errors(), "{text}: {:?}", document.diagnostics());
            let entry = document.policies().next().expect("a policy");
            let timing = Timing::of(entry).expect("no errors");
            let ours =
                timing.forecasts().map(|delay| (delay.least.as_nanos(), delay.greatest.as_nanos()));
            let theirs = answer.split_whitespace().map(|range| {
                let (least, greatest) = range.split_once('-').expect("a range");
                (least.parse().expect("a number"), greatest.parse().expect("a number"))
            });
            let (ours, theirs): (Vec<(u128, u128)>, Vec<(u128, u128)>) =
                (ours.collect(), theirs.collect());
            // One nanosecond for the last bit of a power, which Python and Go round each in their way, and one for its jitter.
            let near = |a: u128, b: u128| a.abs_diff(b) <= 2;
            let same = |(ours, theirs): (&(u128, u128), &(u128, u128))| {
                near(ours.0, theirs.0) && near(ours.1, theirs.1)
            };
            assert_eq!(
                ours.len(),
                theirs.len(),
                "REDIAL_SEED={seed}: {system} {numbers:?}\n{text}"
            );
            assert!(
                ours.iter().zip(&theirs).all(same),
                "REDIAL_SEED={seed}: {system} {numbers:?}\n{text}\n{ours:?}\n{theirs:?}"
            );
        }
    }
}

/// What the reference says of each case, a line each; none where there is no Python.
fn reference(cases: &[Case]) -> Option<Vec<String>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/reference.py");
    let child =
        Command::new("python3").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.ok()?;
    let mut input = child.stdin.take().expect("a pipe");
    let lines: String = cases
        .iter()
        .map(|(system, _, _, numbers)| format!("{system} {}\n", numbers.join(" ")))
        .collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("its output");
    writer.join().expect("no panic").expect("it reads");
    assert!(output.status.success(), "the reference failed");
    Some(String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect())
}

/// The one policy of a line that a law was written down in.
fn taken_up(line: &str) -> Option<Entry> {
    let document = read(line, Format::Text, Some(Notation::Clause));
    document.policies().next().filter(|_| !document.has_errors()).cloned()
}

#[test]
fn a_law_that_is_written_down_is_the_same_law_when_it_is_read() {
    let mut laws = 0;
    let vectors = System::all().flat_map(System::vectors);
    let texts = vectors.map(|vector| (vector.text.to_owned(), vector.format, vector.client));
    let random = (0..50).flat_map(|seed| {
        CASES.map(|make| {
            let (_, text, client, _) = make(&mut random(seed));
            let format = Format::of("", &text);
            (text, format, client)
        })
    });
    for (text, format, client) in texts.chain(random) {
        for entry in read_for(&text, format, client).policies() {
            let written = entry.written().expect("no errors");
            assert!(!written.contains('\n'), "{written}");
            let again = taken_up(&written).unwrap_or_else(|| panic!("{text}\n{written}"));
            assert_eq!((&again.law, again.timeout), (&entry.law, entry.timeout), "{written}");
            assert_eq!(again.nearest(), entry.nearest(), "{written}");
            laws += usize::from(entry.law.is_some());
        }
    }
    assert!(laws > 100, "{laws}");
}

#[test]
fn a_law_that_somebody_has_changed_is_refused_or_is_a_law() {
    let good = "law of envoy; delays: 0-24999999/1000000, 0-49999999/1000000<9; nearest: attempts: 3, delay: 25ms; name: a; b";
    let law = taken_up(good).and_then(|entry| entry.law).expect("a law");
    assert_eq!((law.name(), law.forecast(1).greatest.as_nanos()), ("a; b", 9));
    for bad in [
        "law of ",
        "law of nobody; delays: 1; nearest: attempts: 3; name: a",
        "law of envoy; delays: ; nearest: attempts: 3; name: a",
        "law of envoy; delays: -1; nearest: attempts: 3; name: a",
        "law of envoy; delays: 1-; nearest: attempts: 3; name: a",
        "law of envoy; delays: +1; nearest: attempts: 3; name: a",
        "law of envoy; delays: 18446744073709551616; nearest: attempts: 3; name: a",
        "law of envoy; delays: 1; nearest: attempts: 0; name: a",
        "law of envoy; delays: 1; nearest: law of envoy; name: a",
        "law of envoy; delays: 1; name: a",
        &format!("law of envoy; delays: 1{}; nearest: attempts: 3; name: a", ", 1".repeat(4096)),
    ] {
        assert!(taken_up(bad).is_none(), "{bad}");
    }
    // Any of its bytes may be missing.
    for at in 0..good.len() {
        let _ = taken_up(&good[..at]);
        let _ = taken_up(&format!("{}{}", &good[..at], &good[at + 1..]));
    }
    let most = format!(
        "law of envoy; delays: 0-{0}/{0}<{0}; nearest: attempts: unlimited; name: ",
        u64::MAX
    );
    let law = taken_up(&most).and_then(|entry| entry.law).expect("a law");
    assert_eq!(law.forecast(u32::MAX).greatest.as_nanos(), u128::from(u64::MAX));
}

#[test]
fn a_wait_of_polly_begins_where_the_draw_before_it_ended() {
    let text = r#"{"MaxRetryAttempts": 12, "BackoffType": "Exponential", "Delay": "00:00:01", "UseJitter": true}"#;
    let entry = read(text, Format::Json, None).policies().next().expect("a policy").clone();
    let law = entry.law.expect("no clause says it");
    let (calls, retries) = (4000, 12);
    let mut sums = vec![0.0; retries];
    let forecasts: Vec<_> = (0..).map(|n| law.forecast(n)).take(retries).collect();
    for seed in 0..calls {
        let slept: Vec<_> = law.policy().delays(SplitMix64::new(seed)).collect();
        // All that was waited is the height of the curve where the last draw was, whatever came before.
        let mut words = SplitMix64::new(seed);
        let mut waited = 0.0;
        for (n, delay) in slept.iter().enumerate() {
            let t = n as f64
                + (redial_core::Random::word(&mut words) >> 11) as f64 / (1u64 << 53) as f64;
            waited += delay.as_secs_f64();
            let height = t.exp2() * (4.0 * t).sqrt().tanh() / 1.4;
            assert!((waited - height).abs() < 1e-5, "seed {seed}, delay {n}: {waited} {height}");
            sums[n] += delay.as_secs_f64();
            let forecast = forecasts[n];
            assert!(forecast.least <= *delay && *delay <= forecast.greatest, "seed {seed}");
        }
    }
    for (n, sum) in sums.iter().enumerate() {
        let (mean, stated) = (sum / calls as f64, forecasts[n].mean.as_secs_f64());
        assert!(
            (mean / stated - 1.0).abs() < 0.05,
            "delay {n}: {mean} on average, {stated} is stated"
        );
    }
    // A call that is written down in the middle goes on along the same curve.
    let mut call = law.policy().start(Time::ZERO);
    let mut random = SplitMix64::new(5);
    let mut snapshot = call.snapshot(Time::ZERO, 0);
    for _ in 0..retries {
        let mut again = Call::resume(law.policy(), snapshot, Time::ZERO).expect("a call");
        let mut words = SplitMix64::resume(5, snapshot.words_drawn);
        let decided = call.failed(Time::ZERO, || Verdict::Retry, &mut random);
        assert_eq!(again.failed(Time::ZERO, || Verdict::Retry, &mut words), decided);
        snapshot = again.snapshot(Time::ZERO, words.words_since(5));
    }
}

/// `tests/foreign/real.txt` is what `tests/foreign/real.py` printed, which says how it is run again.
#[test]
fn the_systems_themselves_sleep_the_delays_of_their_laws() {
    let mut compared = 0;
    for line in include_str!("../foreign/real.txt").lines() {
        let run: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let text = run["text"].as_str().expect("a text");
        let document = read_for(text, Format::of("", text), run["client"].as_str());
        let entry = document.policies().next().expect("a policy");
        assert_eq!(entry.notation.system().map(System::name), run["dialect"].as_str(), "{line}");
        let timing = Timing::of(entry).expect("no errors");
        let ours: Vec<_> = timing
            .forecasts()
            .map(|delay| (delay.least.as_millis(), delay.greatest.as_millis()))
            .collect();
        let theirs = run["delays_ms"].as_array().expect("delays").iter().map(|ends| {
            let end = |at: usize| u128::from(ends[at].as_u64().expect("milliseconds"));
            (end(0), end(1))
        });
        assert_eq!(ours, theirs.collect::<Vec<_>>(), "{line}");
        compared += 1;
    }
    assert_eq!(compared, 8);
}
