//! What is told of runs and steps: spans, events, numbers.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use redial::testing::{ManualClock, Script};
use redial_core::policy;
use redial_flow::steps::{DeadLetter, Run, Store};
use tracing_subscriber::fmt::format::FmtSpan;

/// Two attempts of `charge`, in a loop; a map with a dead item; a step that is rejected.
async fn told(run: Run, script: Arc<Script<u32, &'static str>>) -> Result<(), DeadLetter> {
    let policy = policy!("attempts: 2, delay: 10s");
    for _ in 0..2 {
        run.step("charge", &policy, || {
            tracing::info!("called");
            script.next()
        })
        .await?;
    }
    let map = run.map("pack", &policy, ["book", "pen"], |item| async move {
        if item == "pen" { Err("no pen") } else { Ok(1) }
    });
    assert!(map.await[1].is_err());
    let ship = run.step("ship", &policy, || async { Err("refused") }).when(|_| false);
    ship.await
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn run_once(store: &Store, clock: &ManualClock) {
    let script = Arc::new(Script::new([Err("busy"), Ok(1), Ok(2)]));
    let ended = clock.block_on(store.run("order-17", |run, ()| told(run, script), ()));
    assert!(ended.is_err());
}

#[test]
fn runs_steps_and_attempts_have_spans_and_retries_and_outcomes_have_events() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let lines = Lines::default();
    let shown = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::CLOSE)
        .without_time()
        .with_ansi(false)
        .with_writer(move || shown.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || run_once(&store, &clock));
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let has = |words: &[&str]| {
        let found = text.lines().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(found, "no line has {words:?}:\n{text}");
    };
    has(&[
        "called",
        "redial.run{run=\"order-17\"",
        "redial.step{call=\"charge\" step=\"charge#2\"",
        "attempt=1",
    ]);
    has(&["called", "redial.step{call=\"charge\" step=\"charge\"", "resend_count=1"]);
    has(&[
        "close",
        "redial.attempt{attempt=1",
        "error.type=\"&str\"",
        "otel.status_code=\"ERROR\"",
    ]);
    has(&["close", "step=\"charge\"", "outcome=\"recovered\" attempts=2 waited_ms=10000"]);
    has(&["close", "redial.run{", "outcome=\"failed\" otel.status_code=\"ERROR\""]);
    has(&["INFO", "redial: retry call=\"charge\" attempt=1 delay_ms=10000 waited_ms=10000"]);
    has(&[
        "INFO",
        "outcome call=\"charge\" outcome=\"recovered\" attempts=2 waited_ms=10000 elapsed_ms=10000",
    ]);
    has(&["TRACE", "outcome call=\"charge\" outcome=\"success\""]);
    has(&["WARN", "outcome call=\"pack\" item=\"pen\" outcome=\"attempts-spent\" attempts=2"]);
    has(&["DEBUG", "outcome call=\"ship\" outcome=\"rejected\" attempts=1"]);
    assert!(!text.contains("refused"), "the text of an error may hold secrets:\n{text}");
}

#[test]
fn calls_are_counted_under_the_names_of_the_library_and_not_again_when_a_run_is_taken_up() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let counted = || {
        let values = snapshotter.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
            let labels: Vec<_> = key.key().labels().map(|label| label.value().to_owned()).collect();
            (format!("{} {}", key.key().name(), labels.join(" ")), value)
        });
        values.collect::<BTreeMap<_, _>>()
    };
    metrics::with_local_recorder(&recorder, || run_once(&store, &clock));
    let first = counted();
    let count = |name: &str| match first.get(name) {
        Some(DebugValue::Counter(count)) => *count,
        other => panic!("{name}: {other:?} of {:?}", first.keys()),
    };
    assert_eq!(count("redial_calls_total charge recovered"), 1);
    assert_eq!(count("redial_calls_total charge success"), 1);
    assert_eq!(count("redial_calls_total pack success"), 1);
    assert_eq!(count("redial_calls_total pack attempts-spent"), 1);
    assert_eq!(count("redial_calls_total ship rejected"), 1);
    assert_eq!(count("redial_retries_total charge"), 1);
    assert_eq!(count("redial_retries_total pack"), 1);
    let runs = first.keys().find(|name| name.starts_with("redial_runs_total")).unwrap();
    assert!(runs.ends_with(" failed"), "{runs}");
    let histogram = |name: &str| match first.get(name) {
        Some(DebugValue::Histogram(values)) => values.iter().map(|value| value.0).collect(),
        _ => Vec::new(),
    };
    assert_eq!(histogram("redial_attempts charge recovered"), [2.0]);
    assert_eq!(histogram("redial_waited_seconds charge recovered"), [10.0]);
    assert_eq!(histogram("redial_elapsed_seconds charge recovered"), [10.0]);
    assert_eq!(histogram("redial_delay_seconds charge"), [10.0]);

    // What the journal has already is not told again.
    let killed = store.after_a_kill(&clock);
    metrics::with_local_recorder(&recorder, || run_once(&killed, &clock));
    let calls = |name: &String| name.starts_with("redial_calls_total");
    let again: Vec<_> = counted()
        .into_iter()
        .filter(|(name, value)| calls(name) && !matches!(value, DebugValue::Counter(0)))
        .collect();
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn what_a_kill_cut_is_counted_by_whoever_goes_on_with_it() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    run_once(&store, &clock);
    // run.start, attempt.start, attempt.end, decision, attempt.start | killed
    let later = ManualClock::new();
    let killed = store.after_a_kill_at(&later, 5);
    later.advance(Duration::from_secs(60));
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let policy = policy!("attempts: 3, delay: 10s");
    let goes_on = |run: Run, (): ()| async move {
        run.step("charge", &policy, || async { Ok::<_, String>(1) }).await
    };
    metrics::with_local_recorder(&recorder, || {
        assert_eq!(later.block_on(killed.run("order-17", goes_on, ())).unwrap(), 1);
    });
    let attempts = snapshotter.snapshot().into_vec().into_iter().find_map(|(key, _, _, value)| {
        let is_it = key.key().name() == "redial_attempts";
        is_it.then_some(value)
    });
    let Some(DebugValue::Histogram(attempts)) = attempts else { panic!("{attempts:?}") };
    assert_eq!(attempts.iter().map(|value| value.0).collect::<Vec<_>>(), [3.0]);
}
