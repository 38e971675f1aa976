//! A span for each call and each attempt, as the subscriber that most programs have writes them.

use std::future::{pending, ready};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{Backoff, Clock, Policy, blocking, policy, retry, tries_on};
use tracing_subscriber::fmt::format::FmtSpan;

use crate::child;

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = policy!("attempts: 3, delay: 1500ms");

/// Whether anybody listens to a span is remembered for the whole process, as for events.
#[test]
fn what_is_documented_of_spans_is_what_is_written() {
    child::check(child::all_under("spans::"), 12);
}

/// What was written, for whoever asks.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What `run` writes on this thread down to `level`: every event, and every span when it is closed.
fn written(level: tracing::Level, run: impl FnOnce()) -> String {
    let paper = Paper::default();
    let subscriber = {
        let paper = paper.clone();
        tracing_subscriber::fmt()
            .with_span_events(FmtSpan::CLOSE)
            .with_max_level(level)
            .with_writer(move || paper.clone())
            .without_time()
            .with_ansi(false)
            .finish()
    };
    tracing::subscriber::with_default(subscriber, run);
    let bytes = paper.0.lock().unwrap().clone();
    let text = String::from_utf8(bytes).unwrap();
    // How long a span was open is the machine's business.
    let timeless = text.lines().map(|line| line.split(" time.busy").next().unwrap().trim());
    timeless.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(run: impl FnOnce(), expected: &str) {
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    let found = written(tracing::Level::DEBUG, run);
    assert_eq!(found.lines().collect::<Vec<_>>(), expected, "written:\n{found}");
}

/// An attempt that says so in the log, and fails this often.
fn attempt(number: u32, failures: u32) -> Result<(), &'static str> {
    tracing::info!(target: "program", "at work");
    if number <= failures { Err("password=hunter2") } else { Ok(()) }
}

const RECOVERED: &str = r#"
    INFO redial.call{call="load"}:redial.attempt{attempt=1}: program: at work
    DEBUG redial.call{call="load"}:redial.attempt{attempt=1 error.type="&str" otel.status_code="ERROR"}: redial: close
    INFO redial.call{call="load"}: redial: retry call="load" attempt=1 delay_ms=1500 waited_ms=1500 timed_out=false
    INFO redial.call{call="load"}:redial.attempt{attempt=2 resend_count=1}: program: at work
    INFO redial.call{call="load"}: redial: outcome call="load" outcome="recovered" attempts=2 waited_ms=1500 elapsed_ms=1500
    DEBUG redial.call{call="load" outcome="recovered" attempts=2 waited_ms=1500}:redial.attempt{attempt=2 resend_count=1}: redial: close
    DEBUG redial.call{call="load" outcome="recovered" attempts=2 waited_ms=1500}: redial: close"#;

#[test]
#[ignore = "in a child process"]
fn a_blocking_call_and_its_attempts_are_spans() {
    if child::is_one() {
        let run = || {
            let call = blocking::call(&POLICY, |now| attempt(now.number, 1));
            assert_eq!(call.name("load").clock(&ManualClock::new()).run(), Ok(()));
        };
        check(run, RECOVERED);
    }
}

#[test]
#[ignore = "in a child process"]
fn an_async_call_and_its_attempts_are_spans() {
    if child::is_one() {
        let run = || {
            let clock = ManualClock::new();
            let call = redial::retry_with(&POLICY, |now| async move {
                redial::testing::ManualClock::new().sleep(Duration::ZERO).await;
                attempt(now.number, 1)
            });
            assert_eq!(clock.block_on(call.name("load").clock(&clock)), Ok(()));
        };
        check(run, RECOVERED);
    }
}

/// An attempt is in its span at every poll, not at the first alone.
#[test]
#[ignore = "in a child process"]
fn an_attempt_that_waits_stays_in_its_span() {
    if child::is_one() {
        let run = || {
            let clock = ManualClock::new();
            let call = retry(&POLICY, || async {
                tracing::info!(target: "program", "before");
                clock.sleep(SECOND).await;
                tracing::info!(target: "program", "after");
                Ok::<(), ()>(())
            });
            assert_eq!(clock.block_on(call.clock(&clock)), Ok(()));
            tracing::info!(target: "program", "outside");
        };
        check(
            run,
            r#"INFO redial.call:redial.attempt{attempt=1}: program: before
               INFO redial.call:redial.attempt{attempt=1}: program: after
               DEBUG redial.call{outcome="success" attempts=1 waited_ms=0}:redial.attempt{attempt=1}: redial: close
               DEBUG redial.call{outcome="success" attempts=1 waited_ms=0}: redial: close
               INFO program: outside"#,
        );
    }
}

/// The span that was current when the call began is its parent.
#[test]
#[ignore = "in a child process"]
fn a_call_is_in_the_span_of_its_caller() {
    if child::is_one() {
        let found = written(tracing::Level::DEBUG, || {
            let _request = tracing::info_span!(target: "program", "request").entered();
            let call = blocking::call(&POLICY, |now| attempt(now.number, 0));
            assert_eq!(call.run(), Ok(()));
        });
        let first = r#"INFO request:redial.call:redial.attempt{attempt=1}: program: at work"#;
        assert_eq!(found.lines().next(), Some(first), "{found}");
    }
}

#[test]
#[ignore = "in a child process"]
fn the_text_of_an_error_is_told_on_request() {
    if child::is_one() {
        let run = || {
            let call = blocking::call(&POLICY, |now| attempt(now.number, 3)).name("load");
            let call = call.within(SECOND).clock(ManualClock::new());
            assert!(call.trace_errors().run().is_err());
        };
        check(
            run,
            r#"INFO redial.call{call="load"}:redial.attempt{attempt=1}: program: at work
               DEBUG redial.call{call="load"}:redial.attempt{attempt=1 error.type="&str" otel.status_code="ERROR" exception.message=password=hunter2}: redial: close
               WARN redial.call{call="load"}: redial: outcome call="load" outcome="deadline" attempts=1 waited_ms=0 elapsed_ms=0
               DEBUG redial.call{call="load" outcome="deadline" attempts=1 waited_ms=0 error.type="deadline" otel.status_code="ERROR"}: redial: close"#,
        );
        let found = written(tracing::Level::INFO, || {
            let call = blocking::call(&POLICY, |now| attempt(now.number, 1)).trace_errors();
            let call = call.when(|_| true).on_retry(|_| {}).clock(ManualClock::new());
            assert!(call.run().is_ok());
        });
        assert!(found.contains("timed_out=false error=password=hunter2"), "{found}");
    }
}

#[test]
#[ignore = "in a child process"]
fn no_span_carries_the_text_of_an_error_unasked() {
    if child::is_one() {
        let found = written(tracing::Level::TRACE, || {
            let call = blocking::call(&POLICY, |now| attempt(now.number, 3));
            assert!(call.name("load").clock(ManualClock::new()).run().is_err());
        });
        assert!(found.contains("error.type") && !found.contains("hunter2"), "{found}");
    }
}

#[test]
#[ignore = "in a child process"]
fn a_timeout_and_a_value_that_will_not_do_have_types_of_their_own() {
    if child::is_one() {
        let clock = ManualClock::new();
        let found = written(tracing::Level::DEBUG, || {
            let policy = Backoff::none().attempts(1);
            let call = retry(policy, pending::<Result<(), ()>>).timeout(SECOND).clock(&clock);
            assert!(clock.block_on(call).is_err());
        });
        assert!(found.contains(r#"attempt{attempt=1 error.type="timeout""#), "{found}");
        let found = written(tracing::Level::DEBUG, || {
            let call = retry(&POLICY, || ready(Ok::<_, ()>(503))).retry_ok_if(|_| true);
            assert_eq!(clock.block_on(call.clock(&clock)), Ok(503));
        });
        assert!(
            found.contains(r#"attempt{attempt=3 resend_count=2 error.type="unaccepted""#),
            "{found}"
        );
    }
}

/// A 404 is an error of its attempt. Whether it is one of the call is for the caller to say.
#[test]
#[ignore = "in a child process"]
fn a_call_that_was_rejected_has_no_error_status() {
    if child::is_one() {
        let run = || {
            let call = blocking::call(&POLICY, |_| Err::<(), _>(404)).when(|_| false);
            assert_eq!(call.run(), Err(404));
        };
        check(
            run,
            r#"DEBUG redial.call:redial.attempt{attempt=1 error.type="i32" otel.status_code="ERROR"}: redial: close
               DEBUG redial.call: redial: outcome call="" outcome="rejected" attempts=1 waited_ms=0 elapsed_ms=0
               DEBUG redial.call{outcome="rejected" attempts=1 waited_ms=0 error.type="rejected"}: redial: close"#,
        );
    }
}

#[test]
#[ignore = "in a child process"]
fn the_callers_own_loop_is_given_the_span_of_its_attempt() {
    if child::is_one() {
        let run = || {
            let clock = ManualClock::new();
            clock.block_on(async {
                let mut tries = tries_on(&clock, &POLICY).name("load");
                for number in 1.. {
                    let result = tries.span().in_scope(|| attempt(number, 1));
                    let Err(error) = result else { break };
                    tries.failed(error).await.unwrap();
                }
            });
        };
        check(
            run,
            r#"INFO redial.call{call="load"}:redial.attempt{attempt=1}: program: at work
               DEBUG redial.call{call="load"}:redial.attempt{attempt=1 error.type="&str" otel.status_code="ERROR"}: redial: close
               INFO redial.call{call="load"}: redial: retry call="load" attempt=1 delay_ms=1500 waited_ms=1500 timed_out=false
               INFO redial.call{call="load"}:redial.attempt{attempt=2 resend_count=1}: program: at work
               DEBUG redial.call{call="load"}:redial.attempt{attempt=2 resend_count=1}: redial: close
               DEBUG redial.call{call="load"}: redial: close"#,
        );
    }
}

#[test]
#[ignore = "in a child process"]
fn a_request_through_a_layer_and_its_attempts_are_spans() {
    use tower::{Layer, Service, service_fn};
    if child::is_one() {
        let run = || {
            let clock = ManualClock::new();
            let mut number = 0;
            let service = std::cell::RefCell::new(move || {
                number += 1;
                attempt(number, 1)
            });
            let layer = redial::tower::RetryLayer::on(clock.clone(), &POLICY).name("load");
            let mut service = layer.layer(service_fn(|_: ()| ready(service.borrow_mut()())));
            assert_eq!(clock.block_on(service.call(())), Ok(()));
        };
        check(run, RECOVERED);
    }
}

/// A hedge has a span of its own, beside that of the attempt that is slow.
#[test]
#[ignore = "in a child process"]
fn a_hedge_is_a_span_beside_that_of_the_slow_attempt() {
    if child::is_one() {
        let run = || {
            let clock = ManualClock::new();
            let call = redial::retry_with(&POLICY, |now| {
                let clock = &clock;
                async move {
                    clock.sleep(SECOND * if now.number == 1 { 9 } else { 2 }).await;
                    attempt(now.number, 0)
                }
            });
            let call = call.hedge(SECOND).name("load").clock(&clock);
            assert_eq!(clock.block_on(call), Ok(()));
        };
        check(
            run,
            r#"INFO redial.call{call="load"}: redial: hedge call="load" attempt=1
               INFO redial.call{call="load"}:redial.attempt{attempt=2 resend_count=1 hedge=true}: program: at work
               DEBUG redial.call{call="load"}:redial.attempt{attempt=1}: redial: close
               INFO redial.call{call="load"}: redial: outcome call="load" outcome="recovered" attempts=2 waited_ms=0 elapsed_ms=3000
               DEBUG redial.call{call="load" outcome="recovered" attempts=2 waited_ms=0}:redial.attempt{attempt=2 resend_count=1 hedge=true}: redial: close
               DEBUG redial.call{call="load" outcome="recovered" attempts=2 waited_ms=0}: redial: close"#,
        );
    }
}

/// Whoever listens to what is important alone has no spans, and the events are what they were.
#[test]
#[ignore = "in a child process"]
fn nobody_who_does_not_listen_gets_a_span() {
    if child::is_one() {
        let found = written(tracing::Level::INFO, || {
            let call = blocking::call(&POLICY, |now| attempt(now.number, 1));
            assert!(call.name("load").clock(ManualClock::new()).run().is_ok());
        });
        assert!(found.contains("INFO redial: retry"), "{found}");
        assert!(!found.contains("redial.call") && !found.contains("redial.attempt"), "{found}");
    }
}
