//! Failures of a kind that has a policy of its own.

use core::time::Duration;

use super::{Call, Decision, Limits, Stop, Verdict, Waits, weigh};
use crate::gate::Gate;
use crate::policy::{AsPolicy, NO_LIMIT};
use crate::random::Random;
use crate::time::Time;

/// The failures of one kind in one call: their own policy, and where they stand under it.
///
/// Throttling wants a slower pace than a lost connection, and perhaps fewer attempts. A failure of
/// this kind waits for the next delay of the kind's own policy, whatever other failures came in
/// between, and is the last when so many of them have failed as that policy has attempts. The
/// policy of the call still counts every attempt, and the limits of both hold.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Decision, Kind, Limits, Policy, Ruling, Time, Verdict, policy};
///
/// const QUICK: Policy = policy!("attempts: 9, delay: 100ms");
/// const THROTTLED: Policy = policy!("attempts: 3, delay: 10s, backoff: exponential");
///
/// let mut throttled = Kind::new(&THROTTLED);
/// let mut call = QUICK.start(Time::ZERO);
/// let mut failed = |busy: bool| {
///     let ruling = |random: &mut _| match busy {
///         true => throttled.failed(random),
///         false => Ruling::from(Verdict::Retry),
///     };
///     call.failed_as(&Limits::new(), &mut (), || Time::ZERO, ruling, &mut || 0)
/// };
/// assert_eq!(failed(true), Decision::Wait(Duration::from_secs(10)));
/// assert_eq!(failed(false), Decision::Wait(Duration::from_millis(100)));
/// assert_eq!(failed(true), Decision::Wait(Duration::from_secs(20)));
/// ```
#[derive(Clone, Debug)]
pub struct Kind<P> {
    policy: P,
    failures: u64,
    previous: u64,
}

/// What a failure means, and under which policy: a [`Verdict`] under that of the call, or the next
/// step of a [`Kind`].
///
/// ```
/// use redial_core::{Ruling, Verdict};
/// let ruling = Ruling::from(Verdict::Stop);
/// # let _ = ruling;
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a ruling is meant for the call"]
pub struct Ruling(pub(super) Ruled);

#[derive(Clone, Copy, Debug)]
pub(super) enum Ruled {
    /// Under the policy of the call.
    Verdict(Verdict),
    /// After this delay, within these limits, of the kind's own policy.
    Kind { delay: u64, within: u64, wait_budget: u64 },
    /// It was the last of its kind.
    Spent,
}

impl From<Verdict> for Ruling {
    #[inline]
    fn from(verdict: Verdict) -> Self {
        Self(Ruled::Verdict(verdict))
    }
}

impl<P> Kind<P> {
    /// Failures of a kind under `policy`, of which there are none yet.
    ///
    /// ```
    /// use redial_core::{Kind, Policy};
    /// const THROTTLED: Kind<Policy> = Kind::new(Policy::DEFAULT);
    /// # let _ = THROTTLED;
    /// ```
    pub const fn new(policy: P) -> Self {
        Self { policy, failures: 0, previous: 0 }
    }
}

impl<P: AsPolicy> Kind<P> {
    /// Another failure of this kind. Draws the words that its policy's delay takes; none where it was
    /// the last.
    ///
    /// ```
    /// use redial_core::{Kind, Policy};
    /// let mut throttled = Kind::new(&Policy::DEFAULT);
    /// let ruling = throttled.failed(&mut || 0);
    /// # let _ = ruling;
    /// ```
    pub fn failed(&mut self, random: &mut impl Random) -> Ruling {
        let policy = self.policy.as_policy();
        let n = self.failures;
        self.failures = n.saturating_add(1);
        if n >= policy.retries() {
            return Ruling(Ruled::Spent);
        }
        Ruling(Ruled::Kind {
            delay: policy.delay(n, &mut self.previous, random),
            within: policy.within_nanos(),
            wait_budget: policy.wait_budget_nanos(),
        })
    }
}

impl<P: AsPolicy> Call<P> {
    /// As [`failed_past`](Self::failed_past), where the failure may be of a [`Kind`] with a policy of
    /// its own. On the last attempt of the call `classify` is not asked.
    ///
    /// ```
    /// use redial_core::{Decision, Kind, Limits, Policy, Stop, Time, policy};
    ///
    /// const TWICE: Policy = policy!("attempts: 2, delay: 1s");
    /// let mut throttled = Kind::new(&TWICE);
    /// let mut call = Policy::CONTENTION.start(Time::ZERO); // of 7 attempts
    /// let mut failed = || {
    ///     let classify = |random: &mut _| throttled.failed(random);
    ///     call.failed_as(&Limits::new(), &mut (), || Time::ZERO, classify, &mut || 0)
    /// };
    /// assert!(matches!(failed(), Decision::Wait(_)));
    /// assert_eq!(failed(), Decision::Stop(Stop::AttemptsSpent));
    /// ```
    pub fn failed_as<R: Random>(
        &mut self,
        limits: &Limits<'_>,
        gate: &mut impl Gate,
        now: impl FnOnce() -> Time,
        classify: impl FnOnce(&mut R) -> Ruling,
        random: &mut R,
    ) -> Decision {
        self.failed_not_before(Time::ZERO, limits, gate, now, classify, random)
    }

    /// The same where no attempt may start before `earliest`.
    pub(super) fn failed_not_before<R: Random>(
        &mut self,
        earliest: Time,
        limits: &Limits<'_>,
        gate: &mut impl Gate,
        now: impl FnOnce() -> Time,
        classify: impl FnOnce(&mut R) -> Ruling,
        random: &mut R,
    ) -> Decision {
        let policy = self.policy.as_policy();
        let n = self.failures;
        self.failures = n + 1;
        let ruled = if n < policy.retries() { classify(random).0 } else { Ruled::Spent };
        let (verdict, limits) = match ruled {
            Ruled::Verdict(Verdict::Stop) => return Decision::Stop(Stop::Rejected),
            Ruled::Verdict(verdict) => (verdict, *limits),
            // Dictated, though not by a server: the bound on what a server asks for is not for it.
            Ruled::Kind { delay, within, wait_budget } => {
                let dictated = Verdict::RetryAfter(Duration::from_nanos(delay));
                (dictated, limits.tighter(within, wait_budget))
            }
            Ruled::Spent => {
                if gate.needs_time() {
                    gate.failed(now());
                }
                return Decision::Stop(Stop::AttemptsSpent);
            }
        };
        let before = (self.started, self.waits);
        let (decision, waits): (_, Waits) =
            weigh(policy, &limits, gate, now, n, before, verdict, random, earliest);
        self.waits = waits;
        decision
    }
}

impl Limits<'_> {
    /// These and those of a kind's policy, which dictates its delays itself.
    fn tighter(&self, within: u64, wait_budget: u64) -> Self {
        Self {
            within: self.within.min(within),
            wait_budget: self.wait_budget.min(wait_budget),
            max_retry_after: NO_LIMIT,
            ..*self
        }
    }
}
