//! A span for each call, and one for each of its attempts. Without the feature `tracing` they take
//! neither time nor room.
//!
//! The names and fields are stable, as those of the events: see `guide/observing.md`.

use core::fmt;

#[cfg(feature = "tracing")]
use tracing::{Span, field::Empty};

use crate::outcome::Report;

/// The span of a call, and that of the attempt that runs.
#[derive(Debug)]
pub(crate) struct Spans {
    #[cfg(feature = "tracing")]
    call: Span,
    pub(crate) attempt: AttemptSpan,
}

/// The span of one attempt. It is closed when this is dropped.
#[derive(Debug)]
pub(crate) struct AttemptSpan {
    #[cfg(feature = "tracing")]
    span: Span,
}

/// A clone belongs to another call.
impl Clone for Spans {
    #[inline]
    fn clone(&self) -> Self {
        Self::NONE
    }
}

impl AttemptSpan {
    pub(crate) const NONE: Self = Self {
        #[cfg(feature = "tracing")]
        span: Span::none(),
    };

    /// Does something in this span.
    #[inline(always)]
    pub(crate) fn scope<T>(&self, does: impl FnOnce() -> T) -> T {
        #[cfg(feature = "tracing")]
        return self.span.in_scope(does);
        #[cfg(not(feature = "tracing"))]
        return does();
    }

    /// For whoever runs the attempt.
    #[cfg(feature = "tracing")]
    pub(crate) fn span(&self) -> &Span {
        &self.span
    }
}

impl Spans {
    pub(crate) const NONE: Self = Self {
        #[cfg(feature = "tracing")]
        call: Span::none(),
        attempt: AttemptSpan::NONE,
    };

    /// The call starts.
    #[inline]
    pub(crate) fn open(&mut self, name: &'static str) {
        #[cfg(feature = "tracing")]
        {
            self.call = tracing::debug_span!(
                target: "redial",
                "redial.call",
                call = (!name.is_empty()).then_some(name),
                outcome = Empty,
                attempts = Empty,
                waited_ms = Empty,
                "error.type" = Empty,
                "otel.status_code" = Empty,
            );
        }
        let _ = name;
    }

    /// A call that has started is given its name.
    #[inline]
    pub(crate) fn name(&self, name: &'static str) {
        #[cfg(feature = "tracing")]
        self.call.record("call", name);
        let _ = name;
    }

    /// An attempt starts.
    #[inline]
    pub(crate) fn begin(&mut self, attempt: u32, hedge: bool) {
        #[cfg(feature = "tracing")]
        {
            self.attempt.span = self.call.in_scope(|| {
                tracing::debug_span!(
                    target: "redial",
                    "redial.attempt",
                    attempt,
                    resend_count = (attempt > 1).then_some(attempt - 1),
                    hedge = hedge.then_some(true),
                    "error.type" = Empty,
                    "exception.message" = Empty,
                    "otel.status_code" = Empty,
                )
            });
        }
        let _ = (attempt, hedge);
    }

    /// Does something in the span of the call: what is said between attempts.
    #[inline(always)]
    pub(crate) fn scope<T>(&self, does: impl FnOnce() -> T) -> T {
        #[cfg(feature = "tracing")]
        return self.call.in_scope(does);
        #[cfg(not(feature = "tracing"))]
        return does();
    }

    /// The attempt failed, and is over. The text of its error is here if it may be told.
    #[inline]
    pub(crate) fn failed(&mut self, error_type: &'static str, text: Option<&dyn fmt::Display>) {
        #[cfg(feature = "tracing")]
        if !self.attempt.span.is_disabled() {
            let span = &self.attempt.span;
            span.record("error.type", error_type);
            span.record("otel.status_code", "ERROR");
            if let Some(text) = text {
                span.record("exception.message", tracing::field::display(text));
            }
        }
        let _ = (error_type, text);
        self.attempt = AttemptSpan::NONE;
    }

    /// The call is over, and so is its last attempt.
    #[inline]
    pub(crate) fn close(&mut self, report: &Report) {
        #[cfg(feature = "tracing")]
        if !self.call.is_disabled() {
            self.call.record("outcome", super::outcome(report));
            self.call.record("attempts", report.attempts);
            self.call.record("waited_ms", super::millis(report.waited));
            if let Some(reason) = report.reason {
                self.call.record("error.type", reason.name());
                if reason != redial_core::Stop::Rejected {
                    self.call.record("otel.status_code", "ERROR");
                }
            }
        }
        let _ = report;
        *self = Self::NONE;
    }
}
