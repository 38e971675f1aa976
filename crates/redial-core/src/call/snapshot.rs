//! A call written down between two attempts, and taken up again, perhaps by another process.

use super::{Call, Waits};
use crate::invalid::{Invalid, Mistake};
use crate::policy::AsPolicy;
use crate::time::{Time, nanos};

/// All that a [`Call`] has to remember between two attempts, as plain integers that any format can
/// hold: a line of a journal, a row of a table, the payload of a message.
///
/// The policy and the seed are not part of it; whoever resumes the call brings them again.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Call, Decision, Policy, SplitMix64, Time, Verdict, policy};
///
/// const POLICY: Policy = policy!("attempts: 9, delay: 1s, backoff: decorrelated");
/// const SEED: u64 = 42;
///
/// let mut call = POLICY.start(Time::ZERO);
/// let mut random = SplitMix64::new(SEED);
/// let now = Time::ZERO.after(Duration::from_millis(20));
/// let _ = call.failed(now, || Verdict::Retry, &mut random);
/// let snapshot = call.snapshot(now, random.words_since(SEED));
///
/// // Later, in another process, whose clock has another origin:
/// let now = Time::ZERO.after(Duration::from_secs(86_400));
/// let mut resumed = Call::resume(&POLICY, snapshot, now)?;
/// let mut same = SplitMix64::resume(SEED, snapshot.words_drawn);
/// assert_eq!(
///     resumed.failed(now, || Verdict::Retry, &mut same),
///     call.failed(now, || Verdict::Retry, &mut random),
/// );
/// # Ok::<(), redial_core::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallSnapshot {
    /// How many attempts have failed.
    pub failures: u64,
    /// The delay that the source gave last, before its modifiers; zero before the first one. A
    /// decorrelated source and a schedule of one's own start from it.
    pub previous_delay_nanos: u64,
    /// The sum of the waits decided so far.
    pub waited_nanos: u64,
    /// How many random words were drawn, see [`SplitMix64::resume`](crate::SplitMix64::resume).
    pub words_drawn: u64,
    /// The time since the first attempt started. Whoever wants the time between the snapshot and the
    /// resumption to count for `within` adds it here.
    pub elapsed_nanos: u64,
}

impl<P> Call<P> {
    /// What to write down at `now`, when so many random words have been drawn for this call.
    ///
    /// ```
    /// use redial_core::{CallSnapshot, Policy, Time};
    /// let call = Policy::DEFAULT.start(Time::ZERO);
    /// assert_eq!(call.snapshot(Time::ZERO, 0), CallSnapshot::default());
    /// ```
    #[inline]
    pub const fn snapshot(&self, now: Time, words_drawn: u64) -> CallSnapshot {
        CallSnapshot {
            failures: self.failures,
            previous_delay_nanos: self.waits.previous,
            waited_nanos: self.waits.total,
            words_drawn,
            elapsed_nanos: nanos(now.since(self.started)),
        }
    }
}

impl<P: AsPolicy> Call<P> {
    /// The call that a snapshot was taken of, at `now`: it decides as if it had never been
    /// interrupted.
    ///
    /// `now` may come from another clock than the one before. Where that clock began less than
    /// [`elapsed_nanos`](CallSnapshot::elapsed_nanos) ago, count from an earlier origin, for
    /// example from the start of the call: `Time::from_nanos(snapshot.elapsed_nanos)`.
    ///
    /// # Errors
    ///
    /// A state in which no call under this policy can be: more failures than retries, waits above
    /// the wait budget, something drawn or waited for before the first failure, a start before the
    /// clock's origin.
    ///
    /// ```
    /// use redial_core::{Call, CallSnapshot, Policy, Time};
    /// let spent = CallSnapshot { failures: 3, ..CallSnapshot::default() };
    /// let error = Call::resume(Policy::DEFAULT, spent, Time::ZERO).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "failures: after 3 of them a call of 3 attempts is over, and cannot be resumed",
    /// );
    /// ```
    #[inline]
    pub fn resume(policy: P, snapshot: CallSnapshot, now: Time) -> Result<Self, Invalid> {
        let CallSnapshot { failures, previous_delay_nanos, waited_nanos, elapsed_nanos, .. } =
            snapshot;
        if let Some(mistake) = mistake(&policy, &snapshot, now) {
            return Err(Invalid(mistake));
        }
        let started = Time::from_nanos(now.as_nanos() - elapsed_nanos);
        let waits = Waits { previous: previous_delay_nanos, total: waited_nanos };
        Ok(Self { policy, failures, waits, started })
    }
}

/// What no call under this policy can have come to.
#[inline]
fn mistake(policy: &impl AsPolicy, snapshot: &CallSnapshot, now: Time) -> Option<Mistake> {
    let policy = policy.as_policy();
    // Unlimited ones, too, end somewhere: so that counting on never overflows.
    let attempts = policy.retries().saturating_add(1).min(1 << 63);
    if snapshot.failures >= attempts {
        return Some(Mistake::CallIsOver(snapshot.failures, attempts));
    }
    if snapshot.waited_nanos > policy.wait_budget_nanos() {
        return Some(Mistake::WaitedPastBudget(snapshot.waited_nanos, policy.wait_budget_nanos()));
    }
    let begun = [
        (&"previous_delay_nanos", snapshot.previous_delay_nanos),
        (&"waited_nanos", snapshot.waited_nanos),
        (&"words_drawn", snapshot.words_drawn),
    ];
    for (name, value) in begun {
        if snapshot.failures == 0 && value != 0 {
            return Some(Mistake::BeforeFirstFailure(name, value));
        }
    }
    let (elapsed, now) = (snapshot.elapsed_nanos, now.as_nanos());
    (elapsed > now).then_some(Mistake::BeforeOrigin(elapsed, now))
}
