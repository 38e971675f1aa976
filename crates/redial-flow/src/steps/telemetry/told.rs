//! What is told where somebody listens.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use redial_core::Time;
#[cfg(feature = "tracing")]
use tracing::{Instrument, Span, field::Empty};

use crate::program::map_of;
use crate::record::{Action, Event, Outcome, Record};

/// The span of a run.
pub(crate) struct RunSpan {
    function: String,
    #[cfg(feature = "tracing")]
    span: Span,
}

impl RunSpan {
    pub(crate) fn open(run: &str, function: &str) -> Self {
        #[cfg(feature = "tracing")]
        let span = tracing::debug_span!(
            target: "redial",
            "redial.run",
            run,
            function,
            outcome = Empty,
            "otel.status_code" = Empty,
        );
        let _ = run;
        Self {
            function: function.to_owned(),
            #[cfg(feature = "tracing")]
            span,
        }
    }

    /// Calls the function in its span.
    pub(crate) async fn around<F: Future>(&self, function: F) -> F::Output {
        #[cfg(feature = "tracing")]
        return function.instrument(self.span.clone()).await;
        #[cfg(not(feature = "tracing"))]
        return function.await;
    }

    /// It was opened, and has ended so.
    pub(crate) fn ended(&self, outcome: &'static str) {
        #[cfg(feature = "tracing")]
        {
            self.span.record("outcome", outcome);
            if outcome != "success" {
                self.span.record("otel.status_code", "ERROR");
            }
        }
        #[cfg(feature = "metrics")]
        metrics::counter!("redial_runs_total", "function" => self.function.clone(), "outcome" => outcome)
            .increment(1);
        let _ = (&self.function, outcome);
    }
}

/// What is told of one call of a step, or of a map.
pub(crate) struct Watch {
    /// The name of the step, whichever call of it this is.
    name: String,
    tasks: HashMap<Option<u32>, Tally>,
    #[cfg(feature = "tracing")]
    span: Span,
}

/// How far a task has come.
#[derive(Clone, Copy, Default)]
struct Tally {
    started: Option<Time>,
    waited: Duration,
}

impl Watch {
    /// Opens its span.
    pub(crate) fn open(step: &str) -> Self {
        let (name, number) = step.split_once('#').unwrap_or((step, "1"));
        #[cfg(feature = "tracing")]
        let span = tracing::debug_span!(
            target: "redial",
            "redial.step",
            call = name,
            step,
            outcome = Empty,
            attempts = Empty,
            waited_ms = Empty,
            "error.type" = Empty,
            "otel.status_code" = Empty,
        );
        let _ = number;
        Self {
            name: name.to_owned(),
            tasks: HashMap::new(),
            #[cfg(feature = "tracing")]
            span,
        }
    }

    /// Does the work of the step in its span.
    pub(crate) async fn around<F: Future>(self, work: impl FnOnce(Self) -> F) -> F::Output {
        #[cfg(feature = "tracing")]
        {
            let span = self.span.clone();
            work(self).instrument(span).await
        }
        #[cfg(not(feature = "tracing"))]
        work(self).await
    }

    /// The span of an attempt, in that of the step.
    pub(crate) fn attempt(&self, attempt: u32, item: Option<&str>) -> AttemptSpan {
        #[cfg(feature = "tracing")]
        let span = self.span.in_scope(|| {
            tracing::debug_span!(
                target: "redial",
                "redial.attempt",
                attempt,
                item,
                resend_count = (attempt > 1).then(|| attempt - 1),
                "error.type" = Empty,
                "otel.status_code" = Empty,
            )
        });
        let _ = (attempt, item);
        AttemptSpan {
            #[cfg(feature = "tracing")]
            span,
        }
    }

    /// A record that the journal had before this process.
    pub(crate) fn recall(&mut self, record: &Record) {
        let tally = self.tasks.entry(record.item).or_default();
        match record.event {
            Event::AttemptStart => {
                tally.started.get_or_insert(record.time());
            }
            Event::Decision => {
                let waited = record.call.map_or(0, |call| call.waited_ns);
                tally.waited = Duration::from_nanos(waited);
            }
            Event::DeadRetry => *tally = Tally::default(),
            _ => {}
        }
    }

    /// A record that is made now.
    pub(crate) fn see(&mut self, record: &Record) {
        self.recall(record);
        match (record.event, record.action, record.outcome) {
            (Event::Decision, Some(Action::Retry), _) => self.retried(record),
            (Event::AttemptEnd, _, Some(Outcome::Succeeded)) => {
                let is_first = record.attempt == Some(1);
                self.over(record, if is_first { "success" } else { "recovered" });
            }
            (Event::Dead, ..) => {
                self.over(record, record.reason.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn retried(&self, record: &Record) {
        let delay = Duration::from_nanos(record.delay_ns.unwrap_or(0));
        let tally = self.tasks.get(&record.item).copied().unwrap_or_default();
        #[cfg(feature = "tracing")]
        tracing::info!(
            target: "redial",
            parent: &self.span,
            call = self.name,
            item = record.key.as_deref(),
            attempt = record.attempt,
            delay_ms = millis(delay),
            waited_ms = millis(tally.waited),
            "retry"
        );
        #[cfg(feature = "metrics")]
        {
            metrics::counter!("redial_retries_total", "call" => self.name.clone()).increment(1);
            metrics::histogram!("redial_delay_seconds", "call" => self.name.clone()).record(delay);
        }
        let _ = (delay, tally);
    }

    /// A task is over, at once, after retries, or for the reason why not.
    fn over(&mut self, record: &Record, outcome: &str) {
        let tally = self.tasks.remove(&record.item).unwrap_or_default();
        let attempts = record.attempt.unwrap_or(0);
        let elapsed = tally.started.map_or(Duration::ZERO, |from| record.time().since(from));
        #[cfg(feature = "tracing")]
        self.trace(record, outcome, tally.waited, elapsed);
        #[cfg(feature = "metrics")]
        {
            let labels = [("call", self.name.clone()), ("outcome", outcome.to_owned())];
            metrics::counter!("redial_calls_total", &labels).increment(1);
            metrics::histogram!("redial_attempts", &labels).record(attempts);
            metrics::histogram!("redial_waited_seconds", &labels).record(tally.waited);
            metrics::histogram!("redial_elapsed_seconds", &labels).record(elapsed);
        }
        let _ = (attempts, elapsed, outcome);
    }

    #[cfg(feature = "tracing")]
    fn trace(&self, record: &Record, outcome: &str, waited: Duration, elapsed: Duration) {
        let attempts = record.attempt.unwrap_or(0);
        macro_rules! outcome_at {
            ($level:ident) => {
                tracing::event!(
                    target: "redial",
                    parent: &self.span,
                    tracing::Level::$level,
                    call = self.name,
                    item = record.key.as_deref(),
                    outcome,
                    attempts,
                    waited_ms = millis(waited),
                    elapsed_ms = millis(elapsed),
                    "outcome"
                )
            };
        }
        match outcome {
            "rejected" => outcome_at!(DEBUG),
            "success" => outcome_at!(TRACE),
            "recovered" => outcome_at!(INFO),
            _ => outcome_at!(WARN),
        }
        // The span of a map is that of all its items.
        if record.step.as_deref().is_some_and(|step| map_of(step).is_some()) {
            return;
        }
        self.span.record("outcome", outcome);
        self.span.record("attempts", attempts);
        self.span.record("waited_ms", millis(waited));
        if record.event == Event::Dead {
            self.span.record("error.type", outcome);
            if outcome != "rejected" {
                self.span.record("otel.status_code", "ERROR");
            }
        }
    }
}

/// The span of one attempt.
pub(crate) struct AttemptSpan {
    #[cfg(feature = "tracing")]
    span: Span,
}

impl AttemptSpan {
    /// Makes the future of an attempt in this span.
    pub(crate) fn scope<T>(&self, does: impl FnOnce() -> T) -> T {
        #[cfg(feature = "tracing")]
        return self.span.in_scope(does);
        #[cfg(not(feature = "tracing"))]
        return does();
    }

    /// Runs it there, until it ends or took too long.
    pub(crate) async fn around<T, E>(
        self,
        attempt: impl Future<Output = Option<Result<T, E>>>,
    ) -> Option<Result<T, E>> {
        #[cfg(feature = "tracing")]
        {
            let ended = attempt.instrument(self.span.clone()).await;
            let error = match &ended {
                Some(Ok(_)) => return ended,
                Some(Err(_)) => std::any::type_name::<E>(),
                None => "timeout",
            };
            self.span.record("error.type", error);
            self.span.record("otel.status_code", "ERROR");
            ended
        }
        #[cfg(not(feature = "tracing"))]
        attempt.await
    }
}

#[cfg(feature = "tracing")]
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
