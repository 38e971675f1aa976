//! A policy of their own for some errors.

use core::fmt;

use redial_core::{AsPolicy, Kind, Random, Ruling, Verdict};

use crate::options::{Judge, Options};
use crate::outcome::Event;
use crate::retry::{Mode, Retried, Retry};

/// As `J`, and the errors of which the closure says so have a policy of their own.
#[derive(Clone, Debug)]
pub struct PolicyWhen<F, P, J> {
    when: F,
    kind: Kind<P>,
    judge: J,
}

impl<F, P, J> PolicyWhen<F, P, J> {
    #[inline]
    pub(crate) fn new(when: F, policy: P, judge: J) -> Self {
        Self { when, kind: Kind::new(policy), judge }
    }

    /// Who judges the other errors.
    #[cfg(feature = "tower")]
    #[inline]
    pub(crate) fn judge_mut(&mut self) -> &mut J {
        &mut self.judge
    }
}

impl<T, E, F, P, J> Judge<T, E> for PolicyWhen<F, P, J>
where
    F: FnMut(&E) -> bool,
    P: AsPolicy,
    J: Judge<T, E>,
{
    const KINDS: bool = true;

    #[inline]
    fn value(&mut self, value: &T) -> Option<Verdict> {
        self.judge.value(value)
    }

    #[inline]
    fn error(&mut self, error: &E) -> Verdict {
        self.judge.error(error)
    }

    #[inline]
    fn result(&mut self, result: &Result<T, E>) -> Option<Verdict> {
        self.judge.result(result)
    }

    fn kind(&mut self, error: &E, random: &mut dyn Random) -> Option<Ruling> {
        match (self.when)(error) {
            true => Some(self.kind.failed(&mut || random.word())),
            false => self.judge.kind(error, random),
        }
    }

    #[inline]
    fn retrying(&mut self, event: &Event<'_, E>) {
        self.judge.retrying(event);
    }

    #[inline]
    fn text<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        self.judge.text(error)
    }
}

impl<M, P, J, B, G, K, R> Retry<M, Options<P, J, B, G, K, R>>
where
    M: Mode<K, G> + Retried,
{
    /// Retries the errors of which `when` says so under a policy of their own, with its delays and its
    /// count. The policy of the call still counts every attempt, and its limits hold for all.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, blocking, policy, testing::{ManualClock, Script}};
    ///
    /// const QUICK: Policy = policy!("attempts: 10, delay: 100ms");
    /// const THROTTLED: Policy = policy!("attempts: 4, delay: 5s, backoff: exponential");
    ///
    /// let clock = ManualClock::new();
    /// let script = Script::new([Err(503), Err(429), Err(503), Err(429), Ok("page")]);
    /// let page = blocking::call(&QUICK, |_| script.call())
    ///     .policy_when(|status| *status == 429, &THROTTLED)
    ///     .clock(&clock)
    ///     .run();
    /// assert_eq!(page, Ok("page"));
    /// clock.assert_slept(&[100, 5_000, 100, 10_000].map(Duration::from_millis));
    /// ```
    ///
    /// It may be said more than once; the last that applies counts. An error with a policy of its own
    /// is worth another attempt, and [`when`](Self::when) and [`classify`](Self::classify) are asked
    /// about the others.
    #[inline]
    pub fn policy_when<F, Q>(
        self,
        when: F,
        policy: Q,
    ) -> Retry<M, Options<P, PolicyWhen<F, Q, J>, B, G, K, R>>
    where
        F: FnMut(&M::Error) -> bool,
        Q: AsPolicy,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(|judge| PolicyWhen::new(when, policy, judge)))
    }
}
