//! The caller keeps the loop, for state that each attempt mutates.

use core::time::Duration;

use redial_core::{AsPolicy, Budget, Decision, Random, SplitMix64, Stop, Verdict};

use crate::clock::{Clock, yield_now};
use crate::options::{Always, Bounded, Bounds, Nobody, Unbounded};
use crate::random::ThreadRandom;
use crate::retry::new_session;
use crate::session::Session;
use crate::testing::switch::is_skipped;

/// A call whose loop the caller keeps: the attempt may borrow and mutate whatever it likes, and
/// the future stays `Send` where the attempt is.
///
/// ```
/// use redial::{Policy, tries};
/// # struct Connection { calls: u32 }
/// # impl Connection {
/// #     async fn read(&mut self, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
/// #         self.calls += 1;
/// #         buffer.push(self.calls as u8);
/// #         if self.calls < 3 { Err(std::io::ErrorKind::Interrupted.into()) } else { Ok(buffer.len()) }
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> std::io::Result<()> {
/// # let mut connection = Connection { calls: 0 };
/// let mut buffer = Vec::new();
/// let mut tries = tries(&Policy::DEFAULT);
/// let length = loop {
///     match connection.read(&mut buffer).await {
///         Ok(length) => break length,
///         Err(error) => tries.failed(error).await?, // waits, or gives the error back
///     }
/// };
/// assert_eq!(length, 3);
/// # Ok(()) }
/// ```
///
/// The first attempt starts now, as far as `within` is concerned.
#[cfg(feature = "tokio")]
pub fn tries<P: AsPolicy>(
    policy: P,
) -> Tries<crate::TokioClock, Session<P, Always, Nobody, Unbounded, ThreadRandom>> {
    tries_on(crate::TokioClock, policy)
}

/// `tries` on a clock of your own.
///
/// ```
/// use redial::{Policy, testing::ManualClock, tries_on};
///
/// let clock = ManualClock::new();
/// let last = clock.block_on(async {
///     let mut tries = tries_on(&clock, &Policy::DEFAULT);
///     loop {
///         if let Err(last) = tries.failed("down").await {
///             break last;
///         }
///     }
/// });
/// assert_eq!(last, "down");
/// assert_eq!(clock.slept().len(), 2);
/// ```
pub fn tries_on<K: Clock, P: AsPolicy>(
    clock: K,
    policy: P,
) -> Tries<K, Session<P, Always, Nobody, Unbounded, ThreadRandom>> {
    let mut session = new_session(policy);
    // What limits it may be given is not known yet, so the start is taken down in any case.
    session.start(true, || clock.now());
    Tries { clock, session, reason: None }
}

/// What `tries` makes.
///
/// ```
/// use std::time::Duration;
/// use redial::{Policy, tries};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let tries = tries(&Policy::DEFAULT).within(Duration::from_secs(10)).seed(7);
/// assert_eq!(tries.attempt(), 1);
/// # }
/// ```
#[derive(Debug)]
#[must_use = "tell it of each failure: `tries.failed(error).await?`"]
pub struct Tries<K, S> {
    clock: K,
    session: S,
    reason: Option<Stop>,
}

impl<P, L, K, R> Tries<K, Session<P, Always, Nobody, L, R>>
where
    P: AsPolicy,
    L: Bounds,
    K: Clock,
    R: Random,
{
    /// Waits before the next attempt, or gives the error back when it is over.
    ///
    /// ```
    /// use redial::{Policy, tries};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let mut tries = tries(&Policy::DEFAULT);
    /// assert_eq!(tries.failed("first").await, Ok(()));
    /// assert_eq!(tries.failed("second").await, Ok(()));
    /// assert_eq!(tries.failed("third").await, Err("third"));
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The error that it was given, when no attempt is left.
    pub async fn failed<E>(&mut self, error: E) -> Result<(), E> {
        self.judged(error, Verdict::Retry).await
    }

    /// The same where you know what the failure means.
    ///
    /// ```
    /// use redial::{Policy, Stop, Verdict, tries};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut tries = tries(&Policy::DEFAULT);
    /// assert_eq!(tries.judged("not found", Verdict::Stop).await, Err("not found"));
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The error that it was given, when no attempt is left.
    pub async fn judged<E>(&mut self, error: E, verdict: Verdict) -> Result<(), E> {
        let now = || self.clock.now();
        let delay = match self.session.failed(&mut (), now, Some(&error), |_| verdict) {
            Decision::Wait(delay) => delay,
            Decision::Stop(reason) => {
                self.reason = Some(reason);
                return Err(error);
            }
        };
        drop(error);
        let mut paid = self.session.bounds.paid();
        if is_skipped(delay) {
            yield_now().await;
        } else {
            self.clock.sleep(self.session.sleep_length(now, delay)).await;
        }
        L::spent(&mut paid);
        Ok(())
    }

    /// Why it gave the error back; `None` until then.
    ///
    /// ```
    /// use redial::{Policy, Stop, Verdict, tries};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut tries = tries(&Policy::DEFAULT);
    /// assert_eq!(tries.judged("not found", Verdict::Stop).await, Err("not found"));
    /// assert_eq!(tries.reason(), Some(Stop::Rejected));
    /// # }
    /// ```
    pub fn reason(&self) -> Option<Stop> {
        self.reason
    }

    /// The number of the attempt that runs now, from 1.
    ///
    /// ```
    /// use redial::{Policy, tries};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let mut tries = tries(&Policy::DEFAULT);
    /// tries.failed("once").await.unwrap();
    /// assert_eq!(tries.attempt(), 2);
    /// # }
    /// ```
    pub fn attempt(&self) -> u32 {
        self.session.call.failures().saturating_add(1)
    }

    /// No attempt starts once this much time has passed since `tries` was called.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Backoff, tries};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let policy = Backoff::constant(Duration::from_secs(1)).unlimited();
    /// let mut tries = tries(policy).within(Duration::from_secs(1));
    /// assert_eq!(tries.failed("slow").await, Err("slow"));
    /// # }
    /// ```
    pub fn within<'n>(
        self,
        within: Duration,
    ) -> Tries<K, Session<P, Always, Nobody, Bounded<'n>, R>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.limits = bounds.limits.within(within);
        Tries { clock: self.clock, reason: self.reason, session: self.session.bounded(set) }
    }

    /// The sum of all waits stays within this.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Backoff, tries};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let policy = Backoff::constant(Duration::from_secs(1)).unlimited();
    /// let mut tries = tries(policy).wait_budget(Duration::from_secs(1));
    /// assert_eq!(tries.failed("first").await, Ok(()));
    /// assert_eq!(tries.failed("second").await, Err("second"));
    /// # }
    /// ```
    pub fn wait_budget<'n>(
        self,
        wait_budget: Duration,
    ) -> Tries<K, Session<P, Always, Nobody, Bounded<'n>, R>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.limits = bounds.limits.wait_budget(wait_budget);
        Tries { clock: self.clock, reason: self.reason, session: self.session.bounded(set) }
    }

    /// A delay that a verdict dictates gives the error back if it is longer than this. 120 s
    /// unless set.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Verdict, tries};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let mut tries = tries(&Policy::DEFAULT).max_retry_after(Duration::from_secs(5));
    /// let asked = Verdict::RetryAfter(Duration::from_secs(6));
    /// assert_eq!(tries.judged("busy", asked).await, Err("busy"));
    /// # }
    /// ```
    pub fn max_retry_after<'n>(
        self,
        max_retry_after: Duration,
    ) -> Tries<K, Session<P, Always, Nobody, Bounded<'n>, R>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| {
            bounds.limits = bounds.limits.max_retry_after(max_retry_after)
        };
        Tries { clock: self.clock, reason: self.reason, session: self.session.bounded(set) }
    }

    /// Leave to wake up to this much late; see [`Retry::tolerance`](crate::Retry::tolerance).
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, tries};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let tries = tries(&Policy::DEFAULT).tolerance(Duration::from_millis(50));
    /// # assert_eq!(tries.attempt(), 1);
    /// # }
    /// ```
    pub fn tolerance<'n>(
        self,
        tolerance: Duration,
    ) -> Tries<K, Session<P, Always, Nobody, Bounded<'n>, R>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.tolerance = tolerance;
        Tries { clock: self.clock, reason: self.reason, session: self.session.bounded(set) }
    }

    /// The call's name in traces and metrics.
    ///
    /// ```
    /// use redial::{Policy, tries};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let tries = tries(&Policy::DEFAULT).name("read-page");
    /// # assert_eq!(tries.attempt(), 1);
    /// # }
    /// ```
    pub fn name<'n>(
        self,
        name: &'static str,
    ) -> Tries<K, Session<P, Always, Nobody, Bounded<'n>, R>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.name = name;
        Tries { clock: self.clock, reason: self.reason, session: self.session.bounded(set) }
    }

    /// Pays for each retry from a budget that many calls share.
    ///
    /// ```
    /// use redial::{Budget, Policy, tries};
    /// static BUDGET: Budget = Budget::new();
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let mut tries = tries(&Policy::DEFAULT).budget(&BUDGET).rng(|| 0);
    /// tries.failed("once").await.unwrap();
    /// assert_eq!(BUDGET.tokens(), 99.0);
    /// # }
    /// ```
    pub fn budget<'n>(
        self,
        budget: &'n Budget,
    ) -> Tries<K, Session<P, Always, Nobody, Bounded<'n>, R>>
    where
        L: 'n,
    {
        budget.deposit();
        Tries {
            clock: self.clock,
            reason: self.reason,
            session: self.session.bounded(|bounds| bounds.limits = bounds.limits.budget(budget)),
        }
    }

    /// Draws jitter from this seed.
    ///
    /// ```
    /// use redial::{Policy, tries};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let tries = tries(&Policy::DEFAULT).seed(42);
    /// # assert_eq!(tries.attempt(), 1);
    /// # }
    /// ```
    pub fn seed(self, seed: u64) -> Tries<K, Session<P, Always, Nobody, L, SplitMix64>> {
        self.rng(SplitMix64::new(seed))
    }

    /// Draws jitter from a source of your own.
    ///
    /// ```
    /// use redial::{Policy, tries};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let tries = tries(&Policy::DEFAULT).rng(|| u64::MAX);
    /// # assert_eq!(tries.attempt(), 1);
    /// # }
    /// ```
    pub fn rng<N: Random>(self, random: N) -> Tries<K, Session<P, Always, Nobody, L, N>> {
        Tries { clock: self.clock, reason: self.reason, session: self.session.with_random(random) }
    }
}
