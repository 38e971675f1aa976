//! Events, spans and numbers for the world outside, where a feature asks for them.
//!
//! The names are stable; the table of them is in the guide, in `guide/observing.md`.

mod spans;

pub(crate) use spans::{AttemptSpan, Spans};

use core::fmt;

#[cfg(feature = "tracing")]
use redial_core::Stop;

use crate::outcome::{Event, Report};

/// Whether anybody listens. Where nobody does, nothing here is compiled in.
pub(crate) const ENABLED: bool = cfg!(any(feature = "tracing", feature = "metrics"));

/// An attempt failed, and the wait before the next is about to begin.
#[inline]
pub(crate) fn retried<E>(
    name: &'static str,
    event: &Event<'_, E>,
    text: Option<&dyn fmt::Display>,
) {
    if event.hedge {
        return hedged(name, event);
    }
    #[cfg(feature = "tracing")]
    tracing::info!(
        target: "redial",
        call = name,
        attempt = event.attempt,
        delay_ms = millis(event.delay),
        waited_ms = millis(event.waited),
        timed_out = event.timed_out,
        error = text.map(tracing::field::display),
        "retry"
    );
    #[cfg(feature = "metrics")]
    {
        metrics::counter!("redial_retries_total", "call" => name).increment(1);
        metrics::histogram!("redial_delay_seconds", "call" => name).record(event.delay);
    }
    let _ = (name, event, text);
}

/// A hedge starts beside an attempt that has not answered.
#[inline]
fn hedged<E>(name: &'static str, event: &Event<'_, E>) {
    #[cfg(feature = "tracing")]
    tracing::info!(target: "redial", call = name, attempt = event.attempt, "hedge");
    #[cfg(feature = "metrics")]
    metrics::counter!("redial_hedges_total", "call" => name).increment(1);
    let _ = (name, event);
}

/// A call ended, one way or the other.
#[inline]
pub(crate) fn ended(name: &'static str, report: &Report) {
    #[cfg(feature = "tracing")]
    trace_outcome(name, report);
    #[cfg(feature = "metrics")]
    {
        let outcome = outcome(report);
        metrics::counter!("redial_calls_total", "call" => name, "outcome" => outcome).increment(1);
        metrics::histogram!("redial_attempts", "call" => name, "outcome" => outcome)
            .record(report.attempts);
        metrics::histogram!("redial_waited_seconds", "call" => name, "outcome" => outcome)
            .record(report.waited);
        metrics::histogram!("redial_elapsed_seconds", "call" => name, "outcome" => outcome)
            .record(report.elapsed);
    }
    let _ = (name, report);
}

/// At once, after retries, or the reason why not.
#[cfg(any(feature = "tracing", feature = "metrics"))]
fn outcome(report: &Report) -> &'static str {
    match (report.reason, report.attempt) {
        (Some(reason), _) => reason.name(),
        (None, 1) => "success",
        (None, _) => "recovered",
    }
}

#[cfg(feature = "tracing")]
fn trace_outcome(name: &'static str, report: &Report) {
    macro_rules! outcome_at {
        ($level:ident) => {
            tracing::event!(
                target: "redial",
                tracing::Level::$level,
                call = name,
                outcome = outcome(report),
                attempts = report.attempts,
                waited_ms = millis(report.waited),
                elapsed_ms = millis(report.elapsed),
                "outcome"
            )
        };
    }
    match (report.reason, report.attempt) {
        // What the caller would not have retried, such as a 404, is the caller's to log.
        (Some(Stop::Rejected), _) => outcome_at!(DEBUG),
        (Some(_), _) => outcome_at!(WARN),
        (None, 1) => outcome_at!(TRACE),
        (None, _) => outcome_at!(INFO),
    }
}

#[cfg(feature = "tracing")]
fn millis(duration: core::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
