//! The documented names: an event per retry and per outcome, counters and histograms of the same.

use std::fmt::{Debug, Write};
use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use redial::testing::ManualClock;
use redial::{Backoff, Breaker, Budget, Clock, Policy, Verdict, blocking, policy, retry, tries_on};
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber, span};

use crate::child;

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = policy!("attempts: 3, delay: 1500ms, backoff: exponential");

/// Whether anybody listens to an event is remembered for the whole process, by whoever comes first:
/// a test beside these, to which nobody listens, could switch it off for them.
#[test]
fn what_is_documented_is_what_is_heard() {
    child::check(child::all_under("telemetry::"), 9);
}

/// Writes events down as text: level, target, message, fields in their order.
#[derive(Clone, Default)]
struct Notebook(Arc<Mutex<String>>);

struct Line<'t>(&'t mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let name = if field.name() == "message" { "" } else { field.name() };
        let equals = if name.is_empty() { "" } else { "=" };
        write!(self.0, " {name}{equals}{value:?}").unwrap();
    }
}

impl Subscriber for Notebook {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = self.0.lock().unwrap();
        write!(text, "{} {}", event.metadata().level(), event.metadata().target()).unwrap();
        event.record(&mut Line(&mut text));
        text.push('\n');
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The events and the numbers of what `run` does on this thread, as text.
fn observed(run: impl FnOnce()) -> (String, String) {
    let notebook = Notebook::default();
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    tracing::subscriber::with_default(notebook.clone(), || {
        metrics::with_local_recorder(&recorder, run);
    });
    let mut numbers: Vec<_> = snapshotter
        .snapshot()
        .into_vec()
        .into_iter()
        .map(|(key, _, _, value)| {
            let labels: Vec<_> =
                key.key().labels().map(|l| format!("{}={}", l.key(), l.value())).collect();
            let value = match value {
                DebugValue::Counter(count) => format!("counter {count}"),
                DebugValue::Gauge(value) => format!("gauge {value}"),
                DebugValue::Histogram(values) => {
                    format!("histogram {:?}", values.iter().map(|v| v.0).collect::<Vec<_>>())
                }
            };
            format!("{} {} {value}", key.key().name(), labels.join(" "))
        })
        .collect();
    numbers.sort();
    (notebook.0.lock().unwrap().trim_end().to_owned(), numbers.join("\n"))
}

#[track_caller]
fn check(run: impl FnOnce(), events: &str, numbers: &str) {
    let trimmed = |text: &str| -> Vec<String> {
        text.trim().lines().map(|line| line.trim().to_owned()).collect()
    };
    let found = observed(run);
    assert_eq!(trimmed(&found.0), trimmed(events), "events:\n{}", found.0);
    assert_eq!(trimmed(&found.1), trimmed(numbers), "numbers:\n{}", found.1);
}

/// A blocking call that fails this often, each attempt taking 100 ms, and then succeeds.
fn fail(times: u32) {
    let clock = ManualClock::new();
    let _ = blocking::call(&POLICY, |attempt| {
        clock.advance(SECOND / 10);
        if attempt.number <= times { Err("down") } else { Ok(()) }
    })
    .name("load")
    .clock(&clock)
    .run();
}

/// The same in the async loop.
fn fail_async(times: u32) {
    let clock = ManualClock::new();
    let mut attempt = 0;
    let _ = clock.block_on(async {
        let operation = || {
            attempt += 1;
            clock.advance(SECOND / 10);
            ready(if attempt <= times { Err("down") } else { Ok(()) })
        };
        retry(&POLICY, operation).clock(&clock).name("load").await
    });
}

#[test]
#[ignore = "in a child process"]
fn a_success_at_once_is_one_quiet_event() {
    if !child::is_one() {
        return;
    }
    for run in [fail, fail_async] {
        check(
            || run(0),
            r#"TRACE redial outcome call="load" outcome="success" attempts=1 waited_ms=0 elapsed_ms=100"#,
            "redial_attempts call=load outcome=success histogram [1.0]
             redial_calls_total call=load outcome=success counter 1
             redial_elapsed_seconds call=load outcome=success histogram [0.1]
             redial_waited_seconds call=load outcome=success histogram [0.0]",
        );
    }
}

#[test]
#[ignore = "in a child process"]
fn a_success_after_retries_is_an_event_for_each_and_one_for_the_outcome() {
    if !child::is_one() {
        return;
    }
    for run in [fail, fail_async] {
        check(
            || run(2),
            r#"INFO redial retry call="load" attempt=1 delay_ms=1500 waited_ms=1500 timed_out=false
               INFO redial retry call="load" attempt=2 delay_ms=3000 waited_ms=4500 timed_out=false
               INFO redial outcome call="load" outcome="recovered" attempts=3 waited_ms=4500 elapsed_ms=4800"#,
            "redial_attempts call=load outcome=recovered histogram [3.0]
             redial_calls_total call=load outcome=recovered counter 1
             redial_delay_seconds call=load histogram [1.5, 3.0]
             redial_elapsed_seconds call=load outcome=recovered histogram [4.8]
             redial_retries_total call=load counter 2
             redial_waited_seconds call=load outcome=recovered histogram [4.5]",
        );
    }
}

#[test]
#[ignore = "in a child process"]
fn a_failure_is_a_warning() {
    if !child::is_one() {
        return;
    }
    for run in [fail, fail_async] {
        check(
            || run(3),
            r#"INFO redial retry call="load" attempt=1 delay_ms=1500 waited_ms=1500 timed_out=false
               INFO redial retry call="load" attempt=2 delay_ms=3000 waited_ms=4500 timed_out=false
               WARN redial outcome call="load" outcome="attempts-spent" attempts=3 waited_ms=4500 elapsed_ms=4800"#,
            "redial_attempts call=load outcome=attempts-spent histogram [3.0]
             redial_calls_total call=load outcome=attempts-spent counter 1
             redial_delay_seconds call=load histogram [1.5, 3.0]
             redial_elapsed_seconds call=load outcome=attempts-spent histogram [4.8]
             redial_retries_total call=load counter 2
             redial_waited_seconds call=load outcome=attempts-spent histogram [4.5]",
        );
    }
}

/// A 404 on every call is not what one is woken for.
#[test]
#[ignore = "in a child process"]
fn a_failure_that_was_rejected_is_no_warning() {
    if !child::is_one() {
        return;
    }
    let (events, _) = observed(|| {
        let call = blocking::call(Backoff::none().attempts(2), |_| Err::<(), _>(404));
        assert_eq!(call.when(|status| *status >= 500).clock(ManualClock::new()).run(), Err(404));
    });
    assert!(events.trim().starts_with("DEBUG redial outcome"), "{events}");
    assert!(events.contains("outcome=\"rejected\""), "{events}");
}

#[test]
#[ignore = "in a child process"]
fn a_timeout_is_told_apart() {
    if !child::is_one() {
        return;
    }
    let run = || {
        let clock = ManualClock::new();
        let hung = std::future::pending::<Result<(), ()>>;
        let policy = Backoff::none().attempts(2);
        let call = async { retry(policy, hung).clock(&clock).timeout(SECOND).outcome().await };
        let _ = clock.block_on(call);
    };
    check(
        run,
        r#"INFO redial retry call="" attempt=1 delay_ms=0 waited_ms=0 timed_out=true
           WARN redial outcome call="" outcome="attempts-spent" attempts=2 waited_ms=0 elapsed_ms=2000"#,
        "redial_attempts call= outcome=attempts-spent histogram [2.0]
         redial_calls_total call= outcome=attempts-spent counter 1
         redial_delay_seconds call= histogram [0.0]
         redial_elapsed_seconds call= outcome=attempts-spent histogram [2.0]
         redial_retries_total call= counter 1
         redial_waited_seconds call= outcome=attempts-spent histogram [0.0]",
    );
}

/// Every reason is an outcome of its own, under its stable name.
#[test]
#[ignore = "in a child process"]
fn every_reason_has_its_name() {
    if !child::is_one() {
        return;
    }
    let outcomes = |run: &dyn Fn()| {
        let (events, numbers) = observed(run);
        let named = |text: &str, before: &str, after: char| {
            let (_, rest) = text.split_once(before).expect("an outcome");
            rest.split(after).next().expect("a name").to_owned()
        };
        let event = named(&events, "outcome=\"", '"');
        assert_eq!(event, named(&numbers, "redial_calls_total call= outcome=", ' '));
        event
    };
    let call = || {
        blocking::call(Backoff::constant(SECOND).attempts(2), |_| Err::<(), _>("down"))
            .clock(ManualClock::new())
    };
    let (budget, breaker) =
        (Budget::builder().capacity(1.0).build(), Breaker::builder().failures(1));
    let breaker = breaker.build();
    assert!(budget.withdraw(redial::Time::ZERO));
    breaker.admit(|| redial::Time::ZERO).unwrap().failed(redial::Time::ZERO);
    let after = |_: &&str| Verdict::RetryAfter(SECOND * 121);
    assert_eq!(outcomes(&|| assert!(call().run().is_err())), "attempts-spent");
    assert_eq!(outcomes(&|| assert!(call().when(|_| false).run().is_err())), "rejected");
    assert_eq!(outcomes(&|| assert!(call().within(SECOND).run().is_err())), "deadline");
    assert_eq!(outcomes(&|| assert!(call().wait_budget(SECOND / 2).run().is_err())), "wait-budget");
    assert_eq!(
        outcomes(&|| assert!(call().classify(after).run().is_err())),
        "retry-after-too-long"
    );
    assert_eq!(outcomes(&|| assert!(call().budget(&budget).run().is_err())), "budget");
    assert_eq!(outcomes(&|| assert!(call().breaker(&breaker).run().is_err())), "breaker-open");
}

/// As documented: its retries are counted, and it has no outcome.
#[test]
#[ignore = "in a child process"]
fn a_call_that_is_dropped_has_no_outcome() {
    if !child::is_one() {
        return;
    }
    let run = || {
        let clock = ManualClock::new();
        let mut call = Box::pin(
            retry(&POLICY, || ready(Err::<(), _>("down"))).clock(&clock).name("load").outcome(),
        );
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
    };
    check(
        run,
        r#"INFO redial retry call="load" attempt=1 delay_ms=1500 waited_ms=1500 timed_out=false"#,
        "redial_delay_seconds call=load histogram [1.5]
         redial_retries_total call=load counter 1",
    );
}

/// As documented: the caller's own loop does not say how it ended.
#[test]
#[ignore = "in a child process"]
fn the_callers_own_loop_is_heard_of_only_by_its_retries() {
    if !child::is_one() {
        return;
    }
    let run = || {
        let clock = ManualClock::new();
        clock.block_on(async {
            let mut tries = tries_on(&clock, &POLICY);
            while tries.failed("down").await.is_ok() {
                clock.sleep(SECOND).await;
            }
        });
    };
    check(
        run,
        r#"INFO redial retry call="" attempt=1 delay_ms=1500 waited_ms=1500 timed_out=false
           INFO redial retry call="" attempt=2 delay_ms=3000 waited_ms=4500 timed_out=false"#,
        "redial_delay_seconds call= histogram [1.5, 3.0]
         redial_retries_total call= counter 2",
    );
}

/// Events might be sent anywhere, and an error's text might hold a secret.
#[test]
#[ignore = "in a child process"]
fn no_event_carries_the_text_of_an_error() {
    if !child::is_one() {
        return;
    }
    let run = || {
        let clock = ManualClock::new();
        let call = blocking::call(&POLICY, |_| Err::<(), _>("password=hunter2")).clock(&clock);
        let _ = call.outcome();
    };
    let (events, numbers) = observed(run);
    assert!(!events.is_empty() && !events.contains("hunter2"));
    assert!(!numbers.is_empty() && !numbers.contains("hunter2"));
}
