//! The decision machine of one call: time and random words come in, a decision goes out.

mod kind;
mod race;
mod snapshot;

pub use kind::{Kind, Ruling};
pub use race::Race;
pub use snapshot::CallSnapshot;

use core::fmt;
use core::time::Duration;

#[cfg(target_has_atomic = "64")]
use crate::budget::Budget;
use crate::gate::Gate;
use crate::policy::{AsPolicy, NO_LIMIT, Policy};
use crate::random::Random;
use crate::schedule::Schedule;
use crate::time::{Time, nanos};

/// What one failure means.
///
/// ```
/// use core::time::Duration;
/// use redial_core::Verdict;
///
/// fn judge(status: u16, retry_after: Option<Duration>) -> Verdict {
///     match (status, retry_after) {
///         (429 | 503, Some(wait)) => Verdict::RetryAfter(wait),
///         (429 | 500..=599, _) => Verdict::Retry,
///         _ => Verdict::Stop,
///     }
/// }
/// assert_eq!(judge(404, None), Verdict::Stop);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Another attempt would fail the same way.
    Stop,
    /// Worth another attempt, after the policy's delay.
    Retry,
    /// Worth another attempt after exactly this long, because the server said so. It takes the
    /// place of the policy's delay for this attempt and draws no word. The limits of the call
    /// still hold, among them the bound on what a server may ask for, 120 s unless
    /// [`max_retry_after`](Limits::max_retry_after) says otherwise. A pace of your own that is slower
    /// than that is a [`Kind`].
    RetryAfter(Duration),
}

/// What to do after a failure.
///
/// ```
/// use redial_core::{Decision, Policy, Stop, Time, Verdict};
///
/// let mut call = Policy::DEFAULT.start(Time::ZERO);
/// let decision = call.failed(Time::ZERO, || Verdict::Stop, &mut || 0);
/// assert_eq!(decision, Decision::Stop(Stop::Rejected));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a decision is meant to be followed"]
pub enum Decision {
    /// Sleep this long, then attempt again.
    Wait(Duration),
    /// It is over.
    Stop(Stop),
}

/// Why a call stopped without success.
///
/// ```
/// use redial_core::Stop;
/// assert_eq!(Stop::Deadline.name(), "deadline");
/// assert_eq!(Stop::Deadline.to_string(), "no attempt could start before the deadline");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stop {
    /// The last allowed attempt failed.
    AttemptsSpent,
    /// The classifier said that another attempt would fail the same way.
    Rejected,
    /// The wait would have ended at or after the deadline that `within` sets.
    Deadline,
    /// The wait would have gone beyond the wait budget.
    WaitBudget,
    /// The server asked for a longer wait than the call allows.
    RetryAfterTooLong,
    /// The shared retry budget had no token for this retry.
    Budget,
    /// The circuit breaker was open.
    BreakerOpen,
}

impl Stop {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::AttemptsSpent,
        Self::Rejected,
        Self::Deadline,
        Self::WaitBudget,
        Self::RetryAfterTooLong,
        Self::Budget,
        Self::BreakerOpen,
    ];

    /// A stable name in kebab-case, for logs, metrics and machines.
    ///
    /// ```
    /// assert_eq!(redial_core::Stop::AttemptsSpent.name(), "attempts-spent");
    /// ```
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AttemptsSpent => "attempts-spent",
            Self::Rejected => "rejected",
            Self::Deadline => "deadline",
            Self::WaitBudget => "wait-budget",
            Self::RetryAfterTooLong => "retry-after-too-long",
            Self::Budget => "budget",
            Self::BreakerOpen => "breaker-open",
        }
    }
}

impl fmt::Display for Stop {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AttemptsSpent => "all attempts are spent",
            Self::Rejected => "the error is not worth another attempt",
            Self::Deadline => "no attempt could start before the deadline",
            Self::WaitBudget => "the wait budget is spent",
            Self::RetryAfterTooLong => "the server asked for a longer wait than is allowed",
            Self::Budget => "the retry budget is empty",
            Self::BreakerOpen => "the circuit breaker is open",
        })
    }
}

/// What a call adds to its policy. Where both have a limit, the tighter one holds.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Decision, Limits, Policy, Stop, Time, Verdict};
///
/// let limits = Limits::new().max_retry_after(Duration::from_secs(5));
/// let mut call = Policy::DEFAULT.start(Time::ZERO);
/// let asked = || Verdict::RetryAfter(Duration::from_secs(6));
/// let decision = call.failed_under(&limits, || Time::ZERO, asked, &mut || 0);
/// assert_eq!(decision, Decision::Stop(Stop::RetryAfterTooLong));
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "limits do nothing until a call is under them"]
pub struct Limits<'b> {
    within: u64,
    wait_budget: u64,
    max_retry_after: u64,
    #[cfg(target_has_atomic = "64")]
    budget: Option<&'b Budget>,
    #[cfg(not(target_has_atomic = "64"))]
    budget: core::marker::PhantomData<&'b ()>,
}

impl<'b> Limits<'b> {
    /// No limits beyond the policy's, and at most 120 s for a delay that a server dictates.
    ///
    /// ```
    /// use core::time::Duration;
    /// let limits = redial_core::Limits::new();
    /// assert_eq!(limits.get_max_retry_after(), Duration::from_secs(120));
    /// ```
    #[inline]
    pub const fn new() -> Self {
        Self {
            within: NO_LIMIT,
            wait_budget: NO_LIMIT,
            max_retry_after: 120_000_000_000,
            #[cfg(target_has_atomic = "64")]
            budget: None,
            #[cfg(not(target_has_atomic = "64"))]
            budget: core::marker::PhantomData,
        }
    }

    /// The three in nanoseconds, for a driver that keeps them in as many words.
    #[doc(hidden)]
    #[inline]
    pub const fn from_nanos(within: u64, wait_budget: u64, max_retry_after: u64) -> Self {
        Self { within, wait_budget, max_retry_after, ..Self::new() }
    }

    /// No attempt starts once this much time has passed since the start of the first one.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Decision, Limits, Policy, Stop, Time, Verdict};
    ///
    /// let limits = Limits::new().within(Duration::from_secs(3));
    /// let mut call = Policy::DEFAULT.start(Time::ZERO);
    /// let late = Time::ZERO.after(Duration::from_secs(3));
    /// let decision = call.failed_under(&limits, || late, || Verdict::Retry, &mut || 0);
    /// assert_eq!(decision, Decision::Stop(Stop::Deadline));
    /// ```
    #[inline]
    pub const fn within(self, within: Duration) -> Self {
        Self { within: nanos(within), ..self }
    }

    /// The sum of all waits stays within this.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Decision, Limits, Policy, Stop, Time, Verdict};
    ///
    /// let limits = Limits::new().wait_budget(Duration::from_millis(10));
    /// let mut call = Policy::DEFAULT.start(Time::ZERO);
    /// let decision = call.failed_under(&limits, || Time::ZERO, || Verdict::Retry, &mut || u64::MAX);
    /// assert_eq!(decision, Decision::Stop(Stop::WaitBudget));
    /// ```
    #[inline]
    pub const fn wait_budget(self, wait_budget: Duration) -> Self {
        Self { wait_budget: nanos(wait_budget), ..self }
    }

    /// A dictated delay above this stops the call instead of being obeyed.
    ///
    /// ```
    /// use core::time::Duration;
    /// let limits = redial_core::Limits::new().max_retry_after(Duration::from_secs(3));
    /// assert_eq!(limits.get_max_retry_after(), Duration::from_secs(3));
    /// ```
    #[inline]
    pub const fn max_retry_after(self, max_retry_after: Duration) -> Self {
        Self { max_retry_after: nanos(max_retry_after), ..self }
    }

    /// Each retry is paid for from `budget`, before its wait.
    ///
    /// ```
    /// use redial_core::{Budget, Limits};
    /// static BUDGET: Budget = Budget::new();
    /// let limits = Limits::new().budget(&BUDGET);
    /// # let _ = limits;
    /// ```
    #[cfg(target_has_atomic = "64")]
    #[inline]
    pub const fn budget<'n>(self, budget: &'n Budget) -> Limits<'n> {
        let Self { within, wait_budget, max_retry_after, .. } = self;
        Limits { within, wait_budget, max_retry_after, budget: Some(budget) }
    }

    /// The budget of [`budget`](Self::budget).
    ///
    /// ```
    /// assert!(redial_core::Limits::new().get_budget().is_none());
    /// ```
    #[cfg(target_has_atomic = "64")]
    #[inline]
    pub const fn get_budget(&self) -> Option<&'b Budget> {
        self.budget
    }

    /// The bound of [`max_retry_after`](Self::max_retry_after).
    ///
    /// ```
    /// use core::time::Duration;
    /// assert_eq!(redial_core::Limits::new().get_max_retry_after(), Duration::from_secs(120));
    /// ```
    #[inline]
    pub const fn get_max_retry_after(&self) -> Duration {
        Duration::from_nanos(self.max_retry_after)
    }

    /// Whether a decision under these limits looks at the time.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::Limits;
    /// assert!(!Limits::new().need_time());
    /// assert!(Limits::new().within(Duration::from_secs(1)).need_time());
    /// ```
    #[inline]
    pub const fn need_time(&self) -> bool {
        #[cfg(target_has_atomic = "64")]
        return self.within != NO_LIMIT || self.budget.is_some();
        #[cfg(not(target_has_atomic = "64"))]
        return self.within != NO_LIMIT;
    }
}

impl Default for Limits<'_> {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

/// One call between its attempts.
///
/// It has no clock and no randomness of its own, so every driver is a loop of a few lines, and a
/// simulator runs the very code that production runs.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Decision, Policy, SplitMix64, Stop, Time, Verdict, policy};
///
/// const POLICY: Policy = policy!("attempts: 3, delay: 1s, backoff: exponential");
///
/// let mut random = SplitMix64::new(1);
/// let mut now = Time::ZERO;
/// let mut call = POLICY.start(now);
/// let mut waits = Vec::new();
/// let reason = loop {
///     now = now.after(Duration::from_millis(20)); // the attempt, which fails
///     match call.failed(now, || Verdict::Retry, &mut random) {
///         Decision::Wait(delay) => {
///             waits.push(delay.as_secs());
///             now = now.after(delay);
///         }
///         Decision::Stop(reason) => break reason,
///     }
/// };
/// assert_eq!(reason, Stop::AttemptsSpent);
/// assert_eq!(waits, [1, 2]);
/// assert_eq!(call.failures(), 3);
/// ```
#[derive(Clone, Debug)]
pub struct Call<P> {
    policy: P,
    failures: u64,
    waits: Waits,
    started: Time,
}

/// What the waits so far have left behind.
#[derive(Clone, Copy, Debug)]
struct Waits {
    /// What the source gave last; zero before the first delay.
    previous: u64,
    /// The sum of them.
    total: u64,
}

impl<P> Call<P> {
    /// A call under `policy`, whose first attempt starts `now`.
    ///
    /// ```
    /// use redial_core::{Call, Policy, Time};
    /// let call = Call::new(Policy::DEFAULT, Time::ZERO); // owns its policy
    /// assert_eq!(call.failures(), 0);
    /// ```
    #[inline]
    pub const fn new(policy: P, now: Time) -> Self {
        Self { policy, failures: 0, waits: Waits { previous: 0, total: 0 }, started: now }
    }

    /// Moves the start of the first attempt to `now`, for a driver that is built before it runs.
    ///
    /// ```
    /// use redial_core::{Call, Policy, Time};
    /// let mut call = Call::new(Policy::DEFAULT, Time::ZERO);
    /// call.start_at(Time::MAX);
    /// assert_eq!(call.started(), Time::MAX);
    /// ```
    #[inline]
    pub const fn start_at(&mut self, now: Time) {
        self.started = now;
    }

    /// How many attempts have failed, as far as 32 bits count.
    ///
    /// ```
    /// use redial_core::{Policy, Time};
    /// assert_eq!(Policy::DEFAULT.start(Time::ZERO).failures(), 0);
    /// ```
    #[inline]
    pub const fn failures(&self) -> u32 {
        if self.failures < u32::MAX as u64 { self.failures as u32 } else { u32::MAX }
    }

    /// The sum of the waits decided so far.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Policy, Time};
    /// assert_eq!(Policy::DEFAULT.start(Time::ZERO).waited(), Duration::ZERO);
    /// ```
    #[inline]
    pub const fn waited(&self) -> Duration {
        Duration::from_nanos(self.waits.total)
    }

    /// When the first attempt started.
    ///
    /// ```
    /// use redial_core::{Policy, Time};
    /// assert_eq!(Policy::DEFAULT.start(Time::MAX).started(), Time::MAX);
    /// ```
    #[inline]
    pub const fn started(&self) -> Time {
        self.started
    }
}

impl<P: AsPolicy> Call<P> {
    /// The policy that it is under.
    ///
    /// ```
    /// use redial_core::{Policy, Time};
    /// assert_eq!(Policy::DEFAULT.start(Time::ZERO).policy(), &Policy::DEFAULT);
    /// ```
    #[inline]
    pub fn policy(&self) -> &Policy<P::Source> {
        self.policy.as_policy()
    }

    /// Whether decisions look at the time. Where they do not, any time will do.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Policy, Time};
    /// assert!(!Policy::DEFAULT.start(Time::ZERO).needs_time());
    /// assert!(Policy::DEFAULT.within(Duration::from_secs(9)).start(Time::ZERO).needs_time());
    /// ```
    #[inline]
    pub fn needs_time(&self) -> bool {
        self.policy.as_policy().within_nanos() != NO_LIMIT
    }

    /// When the deadline is, if there is one.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Limits, Policy, Time};
    ///
    /// let policy = Policy::DEFAULT.within(Duration::from_secs(9));
    /// let call = policy.start(Time::ZERO);
    /// let limits = Limits::new().within(Duration::from_secs(4));
    /// assert_eq!(call.deadline(&limits), Some(Time::ZERO.after(Duration::from_secs(4))));
    /// ```
    #[inline]
    pub fn deadline(&self, limits: &Limits<'_>) -> Option<Time> {
        match self.policy.as_policy().within_nanos().min(limits.within) {
            NO_LIMIT => None,
            within => Some(Time::from_nanos(self.started.as_nanos().saturating_add(within))),
        }
    }

    /// Whether an attempt may start at `now`, as far as a [`Gate`] is asked about it.
    ///
    /// # Errors
    /// [`Stop::BreakerOpen`] where the gate does not admit one.
    ///
    /// ```
    /// use redial_core::{Gate, Policy, Stop, Time};
    ///
    /// struct Closed;
    ///
    /// impl Gate for Closed {
    ///     fn admit(&mut self, _now: Time) -> bool {
    ///         false
    ///     }
    ///
    ///     fn failed(&mut self, now: Time) -> Time {
    ///         now
    ///     }
    /// }
    ///
    /// let call = Policy::DEFAULT.start(Time::ZERO);
    /// assert_eq!(call.admit(&mut (), Time::ZERO), Ok(()));
    /// assert_eq!(call.admit(&mut Closed, Time::ZERO), Err(Stop::BreakerOpen));
    /// ```
    #[inline]
    pub fn admit(&self, gate: &mut impl Gate, now: Time) -> Result<(), Stop> {
        match gate.admit(now) {
            true => Ok(()),
            false => Err(Stop::BreakerOpen),
        }
    }

    /// The attempt failed at `now`: wait and attempt again, or stop?
    ///
    /// On the last allowed attempt neither `classify` nor `random` is asked; `random` is asked only
    /// for a delay of the policy that has chance in it.
    ///
    /// ```
    /// use redial_core::{Decision, Policy, Stop, Time, Verdict, policy};
    ///
    /// const ONCE: Policy = policy!("attempts: 1");
    /// let mut call = ONCE.start(Time::ZERO);
    /// let decision = call.failed(Time::ZERO, || unreachable!(), &mut || unreachable!());
    /// assert_eq!(decision, Decision::Stop(Stop::AttemptsSpent));
    /// ```
    #[inline]
    pub fn failed(
        &mut self,
        now: Time,
        classify: impl FnOnce() -> Verdict,
        random: &mut impl Random,
    ) -> Decision {
        // As `failed_under`, which is not asked: it keeps the weighing apart, and through one function
        // for both a driver's loop would pay for what a simulator saves.
        let policy = self.policy.as_policy();
        let n = self.failures;
        self.failures = n + 1;
        let instant = n < policy.instant_retries();
        if !instant && n >= policy.retries() {
            return Decision::Stop(Stop::AttemptsSpent);
        }
        match classify() {
            Verdict::Stop => Decision::Stop(Stop::Rejected),
            Verdict::Retry if instant => Decision::Wait(Duration::ZERO),
            verdict => {
                let before = (self.started, self.waits);
                let limits = Limits::new();
                let (decision, waits) =
                    weigh(policy, &limits, &mut (), || now, n, before, verdict, random, Time::ZERO);
                self.waits = waits;
                decision
            }
        }
    }

    /// The same under limits that the call adds to its policy. The time is asked for only where a
    /// limit looks at it.
    ///
    /// ```
    /// use redial_core::{Budget, Decision, Limits, Policy, Stop, Time, Verdict};
    ///
    /// let budget = Budget::builder().capacity(1.0).floor_per_second(0.0).build();
    /// let limits = Limits::new().budget(&budget);
    /// let mut call = Policy::DEFAULT.start(Time::ZERO);
    ///
    /// let first = call.failed_under(&limits, || Time::ZERO, || Verdict::Retry, &mut || 0);
    /// assert!(matches!(first, Decision::Wait(_)));
    /// let second = call.failed_under(&limits, || Time::ZERO, || Verdict::Retry, &mut || 0);
    /// assert_eq!(second, Decision::Stop(Stop::Budget));
    /// ```
    #[inline]
    pub fn failed_under(
        &mut self,
        limits: &Limits<'_>,
        now: impl FnOnce() -> Time,
        classify: impl FnOnce() -> Verdict,
        random: &mut impl Random,
    ) -> Decision {
        self.failed_past(limits, &mut (), now, classify, random)
    }

    /// The same where a circuit breaker or a retry budget has a word in it that is kept elsewhere: a
    /// [`Gate`] is asked inside the decision, so that no wait is slept which no attempt could follow,
    /// and no token is spent for one.
    ///
    /// The gate hears of the failure first, unless it was rejected. Then come the limits in time,
    /// the breaker, and the budget last.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Breaker, Decision, Limits, Policy, Stop, Time, Verdict, policy};
    ///
    /// const POLICY: Policy = policy!("attempts: 9, delay: 1s");
    /// let breaker = Breaker::builder().failures(1).recovery(Duration::from_secs(30)).build();
    ///
    /// let mut call = POLICY.start(Time::ZERO);
    /// let mut permit = breaker.admit(|| Time::ZERO); // a permit is the gate of its breaker
    /// let (limits, now) = (Limits::new(), || Time::ZERO);
    /// let decision = call.failed_past(&limits, &mut permit, now, || Verdict::Retry, &mut || 0);
    /// assert_eq!(decision, Decision::Stop(Stop::BreakerOpen)); // and not Wait(1s)
    /// ```
    #[inline]
    pub fn failed_past(
        &mut self,
        limits: &Limits<'_>,
        gate: &mut impl Gate,
        now: impl FnOnce() -> Time,
        classify: impl FnOnce() -> Verdict,
        random: &mut impl Random,
    ) -> Decision {
        let policy = self.policy.as_policy();
        let n = self.failures;
        self.failures = n + 1;
        let instant = n < policy.instant_retries() && !limits.need_time() && !gate.needs_time();
        if !instant && n >= policy.retries() {
            if gate.needs_time() {
                gate.failed(now());
            }
            return Decision::Stop(Stop::AttemptsSpent);
        }
        match classify() {
            Verdict::Stop => Decision::Stop(Stop::Rejected),
            Verdict::Retry if instant => Decision::Wait(Duration::ZERO),
            verdict => {
                let before = (self.started, self.waits);
                let (decision, waits) =
                    weigh_out_of_line(policy, limits, gate, now, n, before, verdict, random);
                self.waits = waits;
                decision
            }
        }
    }
}

/// [`weigh`] for drivers: out of line and without a reference to the call. What follows is a sleep,
/// and what comes before may be a loop without one, whose state then stays in registers.
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "a struct of them would be a reference to the call")]
fn weigh_out_of_line<S: Schedule>(
    policy: &Policy<S>,
    limits: &Limits<'_>,
    gate: &mut impl Gate,
    now: impl FnOnce() -> Time,
    n: u64,
    before: (Time, Waits),
    verdict: Verdict,
    random: &mut impl Random,
) -> (Decision, Waits) {
    weigh(policy, limits, gate, now, n, before, verdict, random, Time::ZERO)
}

/// The wait that a verdict means, if the limits and the gate allow it. It ends at `earliest` or later.
///
/// Inline, because who knows that there are no limits pays for none: a simulator makes decisions by
/// the million.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "as weigh_out_of_line")]
fn weigh<S: Schedule>(
    policy: &Policy<S>,
    limits: &Limits<'_>,
    gate: &mut impl Gate,
    now: impl FnOnce() -> Time,
    n: u64,
    (started, mut waits): (Time, Waits),
    verdict: Verdict,
    random: &mut impl Random,
    earliest: Time,
) -> (Decision, Waits) {
    let timed = policy.within_nanos() != NO_LIMIT || limits.need_time() || gate.needs_time();
    let timed = timed || earliest.as_nanos() > 0;
    let now = if timed { now() } else { Time::ZERO };
    // Whatever becomes of this call, the breaker hears of the failure.
    let admits_from = if gate.needs_time() { gate.failed(now) } else { Time::ZERO };
    let delay = match verdict {
        Verdict::RetryAfter(dictated) if nanos(dictated) > limits.max_retry_after => {
            return (Decision::Stop(Stop::RetryAfterTooLong), waits);
        }
        Verdict::RetryAfter(dictated) => nanos(dictated),
        _ => policy.delay(n, &mut waits.previous, random),
    };
    let delay = delay.max(nanos(earliest.since(now)));
    let total = waits.total.saturating_add(delay);
    let starts = now.as_nanos().saturating_add(delay);
    let elapsed = now.as_nanos().saturating_sub(started.as_nanos()).saturating_add(delay);
    let refusal = match past_limits(policy, limits, elapsed, total) {
        None if starts < admits_from.as_nanos() => Some(Stop::BreakerOpen),
        // Last, so that nothing is paid for a retry that something else forbids.
        None if !paid(limits, gate, now) => Some(Stop::Budget),
        refusal => refusal,
    };
    match refusal {
        Some(reason) => (Decision::Stop(reason), waits),
        None => (Decision::Wait(Duration::from_nanos(delay)), Waits { total, ..waits }),
    }
}

/// The limit in time that the next attempt would break: so much time will have passed when it starts,
/// and so much of it in waits. Limits always win, also over a dictated delay.
#[inline(always)]
fn past_limits<S>(
    policy: &Policy<S>,
    limits: &Limits<'_>,
    elapsed: u64,
    waited: u64,
) -> Option<Stop> {
    let within = policy.within_nanos().min(limits.within);
    if within != NO_LIMIT && elapsed >= within {
        return Some(Stop::Deadline);
    }
    let wait_budget = policy.wait_budget_nanos().min(limits.wait_budget);
    (waited > wait_budget).then_some(Stop::WaitBudget)
}

/// Takes the cost of one retry from whatever it is paid from.
#[inline(always)]
fn paid(limits: &Limits<'_>, gate: &mut impl Gate, now: Time) -> bool {
    #[cfg(target_has_atomic = "64")]
    if limits.budget.is_some_and(|budget| !budget.withdraw(now)) {
        return false;
    }
    #[cfg(not(target_has_atomic = "64"))]
    let _ = limits;
    !gate.needs_time() || gate.withdraw(now)
}
