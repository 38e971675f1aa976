//! What the decision asks that the core does not keep itself.

#[cfg(target_has_atomic = "64")]
use crate::breaker::Permit;
use crate::time::Time;

/// What a retry has to get past besides its policy and its limits: a circuit breaker, and a retry
/// budget that is not in [`Limits`](crate::Limits) because it is kept outside of this process.
///
/// The engine asks it inside its decision, see [`Call::failed_past`](crate::Call::failed_past). So
/// there is one place that stops a call, wherever the state is: in an atomic, in a file under a
/// lock, in a database. `()` is no gate at all; the [`Permit`](crate::Permit) of an attempt is the
/// gate of its breaker.
///
/// ```
/// use redial_core::{Decision, Gate, Limits, Policy, Stop, Time, Verdict};
///
/// /// Three retries for the whole program.
/// struct Three(u32);
///
/// impl Gate for Three {
///     fn failed(&mut self, now: Time) -> Time {
///         now // it has no breaker
///     }
///
///     fn withdraw(&mut self, _now: Time) -> bool {
///         self.0 = self.0.saturating_sub(1);
///         self.0 > 0
///     }
/// }
///
/// let mut gate = Three(1);
/// let mut call = Policy::DEFAULT.start(Time::ZERO);
/// let (limits, now) = (Limits::new(), || Time::ZERO);
/// let decision = call.failed_past(&limits, &mut gate, now, || Verdict::Retry, &mut || 0);
/// assert_eq!(decision, Decision::Stop(Stop::Budget));
/// ```
pub trait Gate {
    /// Leave to start an attempt at `now`: `false` while the breaker is open. Asked before each
    /// attempt by [`Call::admit`](crate::Call::admit).
    #[inline]
    fn admit(&mut self, now: Time) -> bool {
        let _ = now;
        true
    }

    /// The attempt failed at `now`, and not by what another attempt would meet again. Gives the time
    /// from which on the breaker admits another attempt: `now`, unless it is open.
    fn failed(&mut self, now: Time) -> Time;

    /// Takes the cost of one retry, if it is there. Asked last, when nothing else stops the call.
    #[must_use = "a retry that was not paid for must not happen"]
    #[inline]
    fn withdraw(&mut self, now: Time) -> bool {
        let _ = now;
        true
    }

    /// Whether it has a word in this decision, and so needs the time. One that has none is not asked.
    #[inline]
    fn needs_time(&self) -> bool {
        true
    }
}

/// No gate.
impl Gate for () {
    #[inline]
    fn failed(&mut self, now: Time) -> Time {
        now
    }

    #[inline]
    fn needs_time(&self) -> bool {
        false
    }
}

/// The permit of an attempt is the gate of its breaker, which hears of the failure and lets no wait
/// lead into the time for which it is open. No permit is no gate. A permit is used up by this.
#[cfg(target_has_atomic = "64")]
impl Gate for Option<Permit<'_>> {
    #[inline]
    fn failed(&mut self, now: Time) -> Time {
        self.take().map_or(now, |permit| permit.failed(now))
    }

    #[inline]
    fn needs_time(&self) -> bool {
        self.is_some()
    }
}
