//! Timing alone: attempts, delays, and limits in time. Which failures are worth another attempt
//! belongs to the call.

use core::fmt;
use core::iter::FusedIterator;
use core::time::Duration;

use crate::backoff::Backoff;
use crate::call::Call;
use crate::random::{Random, pick};
use crate::schedule::Schedule;
use crate::source::Source;
use crate::time::{Time, nanos};

/// No limit in time. 584 years, which is what a limit saturates at.
pub(crate) const NO_LIMIT: u64 = u64::MAX;

/// As many retries as there may be: more than anybody lives to see.
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// A retry policy: how often, how long in between, and for how long in all.
///
/// A policy is a plain value: usable in a `const`, `Copy` where its source is, `Send + Sync`,
/// comparable, and printable as the clause that would make it. It allocates nothing.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Backoff, Policy, policy};
///
/// const BUILT: Policy = Backoff::exponential(Duration::from_millis(100))
///     .max(Duration::from_secs(10))
///     .full_jitter()
///     .attempts(5)
///     .within(Duration::from_secs(30));
///
/// const WRITTEN: Policy = policy!(
///     "retry: 4, delay: 100ms, backoff: exponential, max_delay: 10s, jitter: full, within: 30s"
/// );
///
/// assert_eq!(BUILT, WRITTEN);
/// assert_eq!(
///     BUILT.to_string(),
///     "attempts: 5, delay: 100ms, backoff: exponential, max_delay: 10s, jitter: full, within: 30s",
/// );
/// assert_eq!(BUILT.to_string().parse(), Ok(BUILT));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Policy<S = Source> {
    backoff: Backoff<S>,
    /// `UNLIMITED`, or one less than the attempts. Wide, so that counting up to it never wraps.
    retries: u64,
    within: u64,
    wait_budget: u64,
    /// All retries where there is no delay, no word and no deadline, so that a failure needs
    /// nothing but the count; none otherwise.
    instant_retries: u64,
    /// As many as wait for a delay that is looked up and fully jittered, from the first one on.
    jittered_retries: u64,
    /// And the first one that does so again, because it has settled.
    jittered_from: u64,
}

impl Policy {
    /// The default policy: 3 attempts, exponential from 1 s by 2, at most 30 s, full jitter.
    ///
    /// ```
    /// use redial_core::Policy;
    /// assert_eq!(Policy::default(), Policy::DEFAULT);
    /// assert_eq!(
    ///     Policy::DEFAULT.to_string(),
    ///     "attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full",
    /// );
    /// ```
    pub const DEFAULT: Self = Backoff::exponential(Duration::from_secs(1))
        .max(Duration::from_secs(30))
        .full_jitter()
        .attempts(3);

    /// The same policy in the type of those that have a schedule of their own, for a program that holds
    /// both in one place. The schedule is never asked.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Backoff, Policy, Random, Schedule};
    ///
    /// struct Minutes;
    ///
    /// impl Schedule for Minutes {
    ///     fn delay(&self, n: u32, _: Duration, _: &mut impl Random) -> Duration {
    ///         Duration::from_secs(60 * u64::from(n))
    ///     }
    /// }
    ///
    /// let policies: [Policy<Minutes>; 2] =
    ///     [Backoff::new(Minutes).attempts(3), Policy::DEFAULT.retyped(Minutes)];
    /// let last = policies.map(|policy| policy.delays(|| u64::MAX).last());
    /// assert_eq!(last, [Some(Duration::from_secs(60)), Some(Duration::from_secs(2))]);
    /// ```
    pub fn retyped<S>(self, schedule: S) -> Policy<S> {
        Policy {
            backoff: self.backoff.retyped(schedule),
            retries: self.retries,
            within: self.within,
            wait_budget: self.wait_budget,
            instant_retries: self.instant_retries,
            jittered_retries: self.jittered_retries,
            jittered_from: self.jittered_from,
        }
    }

    /// For a few writers that collide on one record: short delays that grow to 640 ms, up to half
    /// of each on top at random, 7 attempts within 30 s.
    ///
    /// ```
    /// use redial_core::Policy;
    /// let least: Vec<_> = Policy::CONTENTION.delays(|| 0).map(|delay| delay.as_millis()).collect();
    /// assert_eq!(least, [10, 20, 40, 80, 160, 320]);
    /// let greatest: Vec<_> =
    ///     Policy::CONTENTION.delays(|| u64::MAX).map(|delay| delay.as_millis()).collect();
    /// assert_eq!(greatest, [15, 30, 60, 120, 240, 480]);
    /// ```
    pub const CONTENTION: Self = Backoff::exponential(Duration::from_millis(10))
        .max(Duration::from_millis(640))
        .additive_jitter(0.5)
        .max(Duration::from_secs(1))
        .attempts(7)
        .within(Duration::from_secs(30));
}

impl Policy {
    pub(crate) const fn from_clause(
        backoff: Backoff,
        retries: u64,
        within: u64,
        wait_budget: u64,
    ) -> Self {
        let mut policy = Self::from_retries(backoff, retries);
        policy.wait_budget = wait_budget;
        policy.set_within(within);
        policy
    }
}

impl<S> Policy<S> {
    #[inline]
    pub(crate) const fn from_retries(backoff: Backoff<S>, retries: u64) -> Self {
        let mut backoff = backoff;
        let ready = backoff.ready(retries);
        Self {
            backoff,
            retries,
            within: NO_LIMIT,
            wait_budget: NO_LIMIT,
            instant_retries: ready.instant,
            jittered_retries: ready.jittered,
            jittered_from: ready.jittered_from,
        }
    }

    /// No attempt starts once this much time has passed since the start of the first one. That is
    /// decided before the wait: a timer that fires late makes its attempt late. It never interrupts
    /// an attempt by itself.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::Policy;
    /// let policy = Policy::DEFAULT.within(Duration::from_secs(20));
    /// assert_eq!(policy.get_within(), Some(Duration::from_secs(20)));
    /// ```
    #[inline]
    pub const fn within(self, within: Duration) -> Self {
        let mut policy = self;
        policy.set_within(nanos(within));
        policy
    }

    #[inline]
    const fn set_within(&mut self, within: u64) {
        self.within = within;
        let instant = self.backoff.shape().is_instant() && within == NO_LIMIT;
        self.instant_retries = if instant { self.retries } else { 0 };
    }

    /// The sum of all waits stays within this.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::Policy;
    /// let policy = Policy::DEFAULT.wait_budget(Duration::from_secs(5));
    /// assert_eq!(policy.get_wait_budget(), Some(Duration::from_secs(5)));
    /// ```
    #[inline]
    pub const fn wait_budget(self, wait_budget: Duration) -> Self {
        let mut policy = self;
        policy.wait_budget = nanos(wait_budget);
        policy
    }

    /// How many executions in all, at most; `None` where they are unlimited.
    ///
    /// ```
    /// use redial_core::Policy;
    /// assert_eq!(Policy::DEFAULT.attempts(), Some(3));
    /// ```
    pub const fn attempts(&self) -> Option<u32> {
        match self.retries {
            UNLIMITED => None,
            retries => Some(retries as u32 + 1),
        }
    }

    /// What [`within`](Self::within) set.
    ///
    /// ```
    /// use redial_core::Policy;
    /// assert_eq!(Policy::DEFAULT.get_within(), None);
    /// ```
    pub const fn get_within(&self) -> Option<Duration> {
        limited(self.within)
    }

    /// What [`wait_budget`](Self::wait_budget) set.
    ///
    /// ```
    /// use redial_core::Policy;
    /// assert_eq!(Policy::DEFAULT.get_wait_budget(), None);
    /// ```
    pub const fn get_wait_budget(&self) -> Option<Duration> {
        limited(self.wait_budget)
    }

    /// The delays of this policy, without its counts and limits, to make another policy of.
    ///
    /// ```
    /// use redial_core::Policy;
    /// let patient = Policy::DEFAULT.backoff().attempts(10);
    /// assert_eq!(patient.attempts(), Some(10));
    /// ```
    pub const fn backoff(&self) -> &Backoff<S> {
        &self.backoff
    }

    /// A call under this policy, whose first attempt starts `now`.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Decision, Policy, Time, Verdict};
    ///
    /// let mut call = Policy::DEFAULT.start(Time::ZERO);
    /// let decision = call.failed(Time::ZERO, || Verdict::Retry, &mut || 0);
    /// assert_eq!(decision, Decision::Wait(Duration::ZERO));
    /// ```
    pub const fn start(&self, now: Time) -> Call<&Self> {
        Call::new(self, now)
    }

    #[inline]
    pub(crate) const fn instant_retries(&self) -> u64 {
        self.instant_retries
    }

    #[inline]
    pub(crate) const fn retries(&self) -> u64 {
        self.retries
    }

    #[inline]
    pub(crate) const fn within_nanos(&self) -> u64 {
        self.within
    }

    #[inline]
    pub(crate) const fn wait_budget_nanos(&self) -> u64 {
        self.wait_budget
    }
}

impl<S: Schedule> Policy<S> {
    /// Delay `n`, in nanoseconds, of a retry that there is.
    #[inline(always)]
    pub(crate) fn delay(&self, n: u64, previous: &mut u64, random: &mut impl Random) -> u64 {
        if n < self.jittered_retries {
            pick(0, self.backoff.shape().looked_up(n), random.word())
        } else if n >= self.jittered_from {
            self.settled_delay(random)
        } else {
            self.next_delay(n, previous, random)
        }
    }

    /// Out of line, or the two look-ups would become one, at the expense of the first.
    #[cold]
    #[inline(never)]
    fn settled_delay(&self, random: &mut impl Random) -> u64 {
        pick(0, self.backoff.shape().looked_up(u64::MAX), random.word())
    }

    /// A delay that is not looked up.
    #[cold]
    #[inline(never)]
    fn next_delay(&self, n: u64, previous: &mut u64, random: &mut impl Random) -> u64 {
        if self.jittered_retries == 0 {
            return self.backoff.next(n, previous, random);
        }
        // A formula under full jitter, past its first delays and still growing.
        let shape = self.backoff.shape();
        let delay = shape.worked_out(n).min(shape.looked_up(u64::MAX));
        pick(0, delay, random.word())
    }

    /// The delays that a call under this policy would sleep if every attempt failed: what the loop
    /// asks for, in the order in which it asks, from the same words. Limits in time are left out,
    /// for they depend on how long the attempts take.
    ///
    /// ```
    /// use redial_core::{Policy, SplitMix64};
    ///
    /// let delays: Vec<_> = Policy::DEFAULT.delays(SplitMix64::new(42)).collect();
    /// assert_eq!(delays.len(), 2); // three attempts, two waits
    /// assert_eq!(delays[0].as_nanos(), 741_564_879);
    /// ```
    pub fn delays<R: Random>(&self, random: R) -> Delays<'_, S, R> {
        Delays { policy: self, n: 0, previous: 0, random }
    }
}

const fn limited(nanos: u64) -> Option<Duration> {
    match nanos {
        NO_LIMIT => None,
        nanos => Some(Duration::from_nanos(nanos)),
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl<S: fmt::Debug> fmt::Debug for Policy<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("attempts", &self.attempts())
            .field("backoff", &self.backoff)
            .field("within", &self.get_within())
            .field("wait_budget", &self.get_wait_budget())
            .finish()
    }
}

/// A policy, or something that leads to one: `Policy`, `&Policy`, and references to those. What
/// every loop takes, so that it can be given either.
///
/// ```
/// use redial_core::{AsPolicy, Policy};
///
/// fn attempts(policy: impl AsPolicy) -> Option<u32> {
///     policy.as_policy().attempts()
/// }
/// assert_eq!(attempts(Policy::DEFAULT), Some(3));
/// assert_eq!(attempts(&Policy::DEFAULT), Some(3));
/// ```
pub trait AsPolicy {
    /// The policy's source of delays.
    type Source: Schedule;

    /// The policy.
    fn as_policy(&self) -> &Policy<Self::Source>;
}

impl<S: Schedule> AsPolicy for Policy<S> {
    type Source = S;

    #[inline]
    fn as_policy(&self) -> &Self {
        self
    }
}

impl<P: AsPolicy + ?Sized> AsPolicy for &P {
    type Source = P::Source;

    #[inline]
    fn as_policy(&self) -> &Policy<P::Source> {
        (**self).as_policy()
    }
}

#[cfg(feature = "alloc")]
impl<P: AsPolicy + ?Sized> AsPolicy for alloc::sync::Arc<P> {
    type Source = P::Source;

    #[inline]
    fn as_policy(&self) -> &Policy<P::Source> {
        (**self).as_policy()
    }
}

/// The delays of a policy, one by one: see [`Policy::delays`].
///
/// ```
/// use redial_core::{Policy, policy};
/// const FOREVER: Policy = policy!(allow(unbounded), "attempts: unlimited, delay: 1s");
/// assert_eq!(FOREVER.delays(|| 0).take(1000).count(), 1000);
/// ```
#[derive(Clone, Debug)]
#[must_use = "an iterator does nothing until it is asked"]
pub struct Delays<'p, S, R> {
    policy: &'p Policy<S>,
    n: u64,
    previous: u64,
    random: R,
}

impl<S: Schedule, R: Random> Delays<'_, S, R> {
    /// The next delay in nanoseconds, the engine's own unit: for simulators, and whoever else
    /// counts in them.
    ///
    /// ```
    /// use redial_core::{Policy, SplitMix64};
    /// let mut delays = Policy::DEFAULT.delays(SplitMix64::new(42));
    /// assert_eq!(delays.next_nanos(), Some(741_564_879));
    /// ```
    #[inline(always)]
    pub fn next_nanos(&mut self) -> Option<u64> {
        // Looked up, there is one for sure.
        if self.n >= self.policy.jittered_retries && self.n >= self.policy.retries {
            return None;
        }
        let delay = self.policy.delay(self.n, &mut self.previous, &mut self.random);
        self.n += 1;
        Some(delay)
    }
}

impl<S: Schedule, R: Random> Iterator for Delays<'_, S, R> {
    type Item = Duration;

    #[inline]
    fn next(&mut self) -> Option<Duration> {
        self.next_nanos().map(Duration::from_nanos)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self.policy.retries {
            UNLIMITED => (usize::MAX, None),
            retries => {
                let left = usize::try_from(retries - self.n).unwrap_or(usize::MAX);
                (left, Some(left))
            }
        }
    }
}

impl<S: Schedule, R: Random> FusedIterator for Delays<'_, S, R> {}
