//! One policy after the other.

use core::fmt;
use core::time::Duration;

use crate::backoff::Backoff;
use crate::invalid::{Invalid, Mistake};
use crate::policy::{NO_LIMIT, Policy, UNLIMITED};
use crate::random::Random;
use crate::schedule::Schedule;
use crate::source::Source;
use crate::time::nanos;

/// The delays of one policy, then those of another: what [`Policy::then`] makes.
///
/// ```
/// use redial_core::{Policy, Sequence, policy};
///
/// const QUICK: Policy = policy!("attempts: 3, delay: 100ms");
/// const SLOW: Policy = policy!("attempts: unlimited, delay: 1min, within: 1h");
/// const BOTH: Policy<Sequence> = QUICK.then(SLOW);
/// # let _ = BOTH;
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sequence<First = Source, Second = Source> {
    first: Policy<First>,
    second: Policy<Second>,
}

impl<First> Policy<First> {
    /// This policy until its attempts are spent, and then `second`: three quick attempts, then a
    /// slow pace for an hour.
    ///
    /// Attempts add up. Each attempt of the second policy comes after one of its delays, from its
    /// first one on. Limits are those of the second policy and hold for the whole: `within` counts
    /// from the start of the first attempt, as ever, and the wait budget counts every wait.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Policy, Sequence, policy};
    ///
    /// const QUICK: Policy = policy!("attempts: 3, delay: 100ms");
    /// const SLOW: Policy = policy!("attempts: 2, delay: 1min, backoff: exponential, max_delay: 1h");
    /// const BOTH: Policy<Sequence> = QUICK.then(SLOW).within(Duration::from_secs(3600));
    ///
    /// assert_eq!(BOTH.attempts(), Some(5));
    /// let delays: Vec<_> = BOTH.delays(|| 0).map(|delay| delay.as_millis()).collect();
    /// assert_eq!(delays, [100, 100, 60_000, 120_000]);
    /// ```
    ///
    /// # Panics
    ///
    /// Where the first policy would never come to its end, or has a limit in time, which would end the
    /// whole: say it of the second policy, or of both. In a constant, the build fails:
    ///
    /// ```compile_fail
    /// # use redial_core::{Policy, Sequence, policy};
    /// const QUICK: Policy = policy!("attempts: 3, delay: 100ms, within: 1s");
    /// const BOTH: Policy<Sequence> = QUICK.then(Policy::DEFAULT);
    /// ```
    #[track_caller]
    pub const fn then<Second>(self, second: Policy<Second>) -> Policy<Sequence<First, Second>>
    where
        First: Copy,
        Second: Copy,
    {
        match self.try_then(second) {
            Ok(policy) => policy,
            Err(invalid) => invalid.refuse(),
        }
    }

    /// [`then`](Self::then) for policies that are known only at run time.
    ///
    /// ```
    /// use redial_core::{Backoff, Policy};
    /// let endless = Backoff::none().unlimited();
    /// assert_eq!(
    ///     endless.try_then(Policy::DEFAULT).unwrap_err().to_string(),
    ///     "then: the first policy has unlimited attempts and would never come to its end; give it a number",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// Where the first policy has unlimited attempts, `within` or a wait budget.
    pub const fn try_then<Second>(
        self,
        second: Policy<Second>,
    ) -> Result<Policy<Sequence<First, Second>>, Invalid>
    where
        First: Copy,
        Second: Copy,
    {
        let mistake = if self.retries() == UNLIMITED {
            Some(Mistake::EndlessFirst)
        } else if self.within_nanos() != NO_LIMIT {
            Some(Mistake::LimitedFirst(&"within", self.within_nanos()))
        } else if self.wait_budget_nanos() != NO_LIMIT {
            Some(Mistake::LimitedFirst(&"wait_budget", self.wait_budget_nanos()))
        } else {
            None
        };
        if let Some(mistake) = mistake {
            return Err(Invalid(mistake));
        }
        let retries = match second.retries() {
            UNLIMITED => UNLIMITED,
            // As large as a number of attempts can be.
            more => match self.retries() + 1 + more {
                sum if sum < u32::MAX as u64 => sum,
                _ => u32::MAX as u64 - 1,
            },
        };
        let (within, wait_budget) = (second.within_nanos(), second.wait_budget_nanos());
        // It has one delay more than alone, before its first attempt, and must know when it works them out.
        let second = Policy::from_retries(*second.backoff(), second.retries().saturating_add(1));
        let both = Backoff::new(Sequence { first: self, second });
        let both = Policy::from_retries(both, retries);
        let both = match within {
            NO_LIMIT => both,
            within => both.within(Duration::from_nanos(within)),
        };
        Ok(match wait_budget {
            NO_LIMIT => both,
            budget => both.wait_budget(Duration::from_nanos(budget)),
        })
    }
}

impl<First: Schedule, Second: Schedule> Schedule for Sequence<First, Second> {
    fn delay(&self, n: u32, previous: Duration, random: &mut impl Random) -> Duration {
        Duration::from_nanos(self.advance(n, &mut nanos(previous), random))
    }

    fn advance(&self, n: u32, previous: &mut u64, random: &mut impl Random) -> u64 {
        let n = u64::from(n);
        match n.checked_sub(self.first.retries()) {
            None => self.first.delay(n, previous, random),
            Some(n) => {
                if n == 0 {
                    *previous = 0; // the second begins at its beginning
                }
                self.second.delay(n, previous, random)
            }
        }
    }
}

impl<First: fmt::Debug, Second: fmt::Debug> fmt::Debug for Sequence<First, Second> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = (&self.first, self.second.backoff());
        f.debug_struct("Sequence").field("first", first).field("then", second).finish()
    }
}
