//! The caller keeps the loop, for state that each attempt mutates.

use core::time::Duration;

use redial_core::{AsPolicy, Decision, Kind, Random, Stop, Verdict};

use crate::clock::{Clock, yield_now};
use crate::guard::Open;
use crate::options::{Bounds, Options, RetryErrors};
use crate::retry::{Mode, OneCall, Retry};
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
#[cfg(any(
    all(feature = "tokio", not(all(target_family = "wasm", target_os = "unknown"))),
    all(feature = "wasm", target_family = "wasm", target_os = "unknown"),
))]
pub fn tries<P: AsPolicy>(policy: P) -> Retry<OwnLoop, Options<P>> {
    tries_on(crate::clock::DefaultClock::default(), policy)
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
) -> Retry<OwnLoop, Options<P, RetryErrors, crate::options::Unbounded, Open, K>> {
    let mut options = Options::new(policy, clock);
    // What limits it may be given is not known yet, so the start is taken down in any case.
    options.start(true, K::now);
    options.spans.begin(1, false);
    Retry::of(OwnLoop { reason: None }, options)
}

/// A call whose loop the caller keeps: what `tries` makes.
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
pub struct OwnLoop {
    reason: Option<Stop>,
}

impl OneCall for OwnLoop {}

impl<K: Clock> Mode<K, Open> for OwnLoop {
    type State = ();

    const STARTED: bool = true;

    #[inline]
    fn idle() {}
}

/// A wait that was paid for. Dropped before it is over, it was cancelled, and the retry is refunded.
struct Wait<'b, B: Bounds>(&'b mut B);

impl<B: Bounds> Drop for Wait<'_, B> {
    fn drop(&mut self) {
        self.0.refund();
    }
}

impl<P, B, K, R> Retry<OwnLoop, Options<P, RetryErrors, B, Open, K, R>>
where
    P: AsPolicy,
    B: Bounds,
    K: Clock,
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
    pub async fn failed<E>(&mut self, error: E) -> Result<(), E>
    where
        R: Random,
    {
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
    pub async fn judged<E>(&mut self, error: E, verdict: Verdict) -> Result<(), E>
    where
        R: Random,
    {
        self.options.attempt_failed::<(), E>(Some(&error), false);
        let decision = self.options.decide(K::now, |_| verdict);
        self.follow(error, decision).await
    }

    /// The same for a failure of a [`Kind`] with a policy of its own, which is yours to keep while the
    /// loop runs.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Kind, Policy, policy, testing::ManualClock, tries_on};
    /// const QUICK: Policy = policy!("attempts: 10, delay: 100ms");
    /// const THROTTLED: Policy = policy!("attempts: 4, delay: 5s");
    ///
    /// let clock = ManualClock::new();
    /// clock.block_on(async {
    ///     let (mut tries, mut throttled) = (tries_on(&clock, &QUICK), Kind::new(&THROTTLED));
    ///     tries.failed("reset").await.unwrap();
    ///     tries.failed_as(&mut throttled, "slow down").await.unwrap();
    /// });
    /// clock.assert_slept(&[Duration::from_millis(100), Duration::from_secs(5)]);
    /// ```
    ///
    /// # Errors
    ///
    /// The error that it was given, when no attempt is left, or none of this kind.
    pub async fn failed_as<E, Q: AsPolicy>(&mut self, kind: &mut Kind<Q>, error: E) -> Result<(), E>
    where
        R: Random,
    {
        self.options.attempt_failed::<(), E>(Some(&error), false);
        let ruling =
            |_: &mut RetryErrors, random: &mut dyn Random| kind.failed(&mut || random.word());
        let decision = self.options.decide_ruled(K::now, ruling);
        self.follow(error, decision).await
    }

    async fn follow<E>(&mut self, error: E, decision: Decision) -> Result<(), E>
    where
        R: Random,
    {
        let Self { options, mode, .. } = self;
        let delay = match decision {
            Decision::Wait(delay) => delay,
            Decision::Stop(reason) => {
                mode.reason = Some(reason);
                options.spans.close(&options.told(Some(reason)));
                return Err(error);
            }
        };
        options.retrying::<(), E>(delay, Some(&error), false);
        drop(error);
        let length = options.sleep_length(K::now, delay);
        let wait = Wait(&mut options.bounds);
        if is_skipped(delay) {
            yield_now().await;
        } else {
            options.clock.sleep(length).await;
        }
        wait.0.spent();
        drop(wait);
        options.spans.begin(options.call.failures().saturating_add(1), false);
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
        self.mode.reason
    }

    /// The span of the attempt that runs now, for an attempt that is to be in it: see the guide on
    /// [observing](crate::guide::observing).
    ///
    /// ```
    /// use redial::{Policy, tries};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let tries = tries(&Policy::DEFAULT).name("load-page");
    /// tries.span().in_scope(|| tracing::info!("in the span of attempt 1"));
    /// # }
    /// ```
    #[cfg(feature = "tracing")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
    pub fn span(&self) -> &tracing::Span {
        self.options.spans.attempt.span()
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
        self.options.call.failures().saturating_add(1)
    }

    /// How much of `within` is left now; `None` where there is no deadline.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, testing::ManualClock, tries_on};
    /// let clock = ManualClock::new();
    /// let tries = tries_on(&clock, &Policy::DEFAULT).within(Duration::from_secs(10));
    /// clock.advance(Duration::from_secs(7));
    /// assert_eq!(tries.left(), Some(Duration::from_secs(3)));
    /// ```
    pub fn left(&self) -> Option<Duration> {
        self.options.deadline().map(|deadline| deadline.since(self.options.clock.now()))
    }
}
