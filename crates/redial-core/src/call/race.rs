//! Attempts of one call that run at the same time: whether and when a hedge starts, and what the
//! failure of one of them means while others run.

use core::time::Duration;

use super::kind::{Ruled, Ruling};
use super::{Call, Decision, Limits, Stop, Verdict, paid};
use crate::gate::Gate;
use crate::policy::AsPolicy;
use crate::random::Random;
use crate::time::{Time, nanos};

/// The attempts of one call that run now. A hedge is one that starts while another runs, because
/// that one has not answered for a while.
///
/// - A hedge is an attempt: it counts against the policy's attempts, and is paid for from the
///   budget. It is no wait, so the wait budget is not touched; it does not start once the deadline
///   has come.
/// - A hedge that the budget does not pay, or a breaker does not admit, does not start; the next one
///   is thought of when another attempt has started.
/// - Where an attempt fails while others run, the failure is counted, and the call goes on. Only
///   a rejection ([`Verdict::Stop`]) ends it, for all of them. [`Verdict::RetryAfter`], and the delay
///   of a [`Kind`](crate::Kind), keep every further attempt back until then.
/// - The failure of the last one that runs is decided as any failure is: delay *n* of the policy,
///   *n* = failures so far − 1, or a stop.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{
///     Decision, Limits, Policy, Race, Ruling, SplitMix64, Time, Verdict, policy,
/// };
///
/// const POLICY: Policy = policy!("attempts: 3, delay: 1s, backoff: exponential");
/// let at = |millis| Time::ZERO.after(Duration::from_millis(millis));
/// let limits = Limits::new();
///
/// let mut call = POLICY.start(at(0));
/// let mut race = Race::new(2);
/// race.started(at(0), Some(Duration::from_millis(100)));
/// assert_eq!(call.hedge_due(&race, &limits), Some(at(100)));
/// assert_eq!(call.hedge(&mut race, &limits, &mut (), at(100)), Ok(()));
/// race.started(at(100), Some(Duration::from_millis(100)));
/// assert_eq!(call.hedge_due(&race, &limits), None); // two run already
///
/// // The first fails, the hedge still runs; then that fails, too.
/// let retry = |_: &mut _| Ruling::from(Verdict::Retry);
/// let mut random = SplitMix64::new(42);
/// assert_eq!(call.failed_beside(&mut race, &limits, &mut (), at(150), retry, &mut random), None);
/// let decision = call.failed_beside(&mut race, &limits, &mut (), at(200), retry, &mut random);
/// assert_eq!(decision, Some(Decision::Wait(Duration::from_secs(2)))); // after two failures
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Race {
    running: u32,
    running_max: u32,
    /// When a hedge may start, as far as the attempt that started last is concerned.
    due: Option<Time>,
    /// No attempt starts before, by the verdicts on those that failed.
    earliest: Time,
    /// The part of it that a server asked for, on which there is a bound.
    asked: Time,
    /// No attempt starts any more: a failure was the last of its kind.
    spent: bool,
}

impl Race {
    /// Nothing runs yet, and at most so many attempts will at a time.
    ///
    /// ```
    /// assert_eq!(redial_core::Race::new(2).running(), 0);
    /// ```
    #[inline]
    pub const fn new(running_max: u32) -> Self {
        let (earliest, asked) = (Time::ZERO, Time::ZERO);
        Self { running: 0, running_max, due: None, earliest, asked, spent: false }
    }

    /// How many attempts run.
    ///
    /// ```
    /// use redial_core::{Race, Time};
    /// let mut race = Race::new(2);
    /// race.started(Time::ZERO, None);
    /// assert_eq!(race.running(), 1);
    /// ```
    #[inline]
    pub const fn running(&self) -> u32 {
        self.running
    }

    /// An attempt starts at `now`. If it has not answered after `patience`, a hedge may start; none
    /// may where there is no patience to go by.
    ///
    /// ```
    /// use redial_core::{Race, Time};
    /// Race::new(2).started(Time::ZERO, Some(core::time::Duration::from_millis(50)));
    /// ```
    #[inline]
    pub const fn started(&mut self, now: Time, patience: Option<Duration>) {
        self.running = self.running.saturating_add(1);
        self.due = match patience {
            Some(patience) => Some(now.after(patience)),
            None => None,
        };
    }

    /// What the failure of the last one means, given what those before it asked for.
    #[inline]
    fn ruling(&self, limits: &Limits<'_>, now: Time, ruling: Ruling) -> Ruling {
        let asked = self.asked.since(now);
        Ruling(match ruling.0 {
            Ruled::Verdict(Verdict::Stop) => ruling.0,
            _ if self.spent => Ruled::Spent,
            Ruled::Verdict(_) if nanos(asked) > limits.max_retry_after => {
                Ruled::Verdict(Verdict::RetryAfter(asked))
            }
            ruled => ruled,
        })
    }

    /// The hedge that was due does not start after all.
    ///
    /// ```
    /// redial_core::Race::new(2).declined();
    /// ```
    #[inline]
    pub const fn declined(&mut self) {
        self.due = None;
    }
}

impl<P: AsPolicy> Call<P> {
    /// When the next hedge may start; `None` where none may: as many attempts run as may at a time,
    /// or have started as the policy has, or the deadline comes first.
    ///
    /// ```
    /// use redial_core::{Limits, Policy, Race, Time};
    /// let call = Policy::DEFAULT.start(Time::ZERO);
    /// assert_eq!(call.hedge_due(&Race::new(2), &Limits::new()), None); // nothing runs
    /// ```
    #[inline]
    pub fn hedge_due(&self, race: &Race, limits: &Limits<'_>) -> Option<Time> {
        let started = self.failures.saturating_add(race.running.into());
        let may = race.running > 0
            && race.running < race.running_max
            && !race.spent
            && started <= self.policy.as_policy().retries();
        let due = race.due?.max(race.earliest);
        let in_time = self.deadline(limits).is_none_or(|deadline| due < deadline);
        (may && in_time).then_some(due)
    }

    /// Whether a hedge starts at `now`, which is then paid for. A breaker has the last word: see
    /// [`admit`](Self::admit).
    ///
    /// # Errors
    ///
    /// Why it does not: [`Stop::AttemptsSpent`], [`Stop::Deadline`] or [`Stop::Budget`]. The call goes
    /// on with the attempts that run.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Budget, Limits, Policy, Race, Stop, Time};
    ///
    /// let budget = Budget::builder().capacity(1.0).floor_per_second(0.0).build();
    /// let limits = Limits::new().budget(&budget);
    /// let mut call = Policy::DEFAULT.start(Time::ZERO);
    /// let mut race = Race::new(3);
    /// race.started(Time::ZERO, Some(Duration::ZERO));
    /// assert_eq!(call.hedge(&mut race, &limits, &mut (), Time::ZERO), Ok(()));
    /// race.started(Time::ZERO, Some(Duration::ZERO));
    /// assert_eq!(call.hedge(&mut race, &limits, &mut (), Time::ZERO), Err(Stop::Budget));
    /// ```
    #[inline]
    pub fn hedge(
        &mut self,
        race: &mut Race,
        limits: &Limits<'_>,
        gate: &mut impl Gate,
        now: Time,
    ) -> Result<(), Stop> {
        let refusal = match self.hedge_due(race, limits) {
            None => Some(Stop::AttemptsSpent),
            Some(_) if self.deadline(limits).is_some_and(|deadline| now >= deadline) => {
                Some(Stop::Deadline)
            }
            Some(_) if !paid(limits, gate, now) => Some(Stop::Budget),
            Some(_) => None,
        };
        race.due = None;
        refusal.map_or(Ok(()), Err)
    }

    /// One of the attempts that run failed at `now`: `None` where the others go on, and otherwise what
    /// to do.
    ///
    /// `classify` is asked unless no attempt runs or could follow. A gate hears of the failure as in
    /// [`failed_past`](Self::failed_past).
    ///
    /// ```
    /// use redial_core::{Decision, Limits, Policy, Race, Ruling, Stop, Time, Verdict};
    ///
    /// let mut call = Policy::DEFAULT.start(Time::ZERO);
    /// let mut race = Race::new(2);
    /// race.started(Time::ZERO, None);
    /// race.started(Time::ZERO, None);
    /// let stop = |_: &mut _| Ruling::from(Verdict::Stop);
    /// let (limits, now) = (Limits::new(), Time::ZERO);
    /// let decision = call.failed_beside(&mut race, &limits, &mut (), now, stop, &mut || 0);
    /// assert_eq!(decision, Some(Decision::Stop(Stop::Rejected))); // for both
    /// ```
    #[inline]
    pub fn failed_beside<R: Random>(
        &mut self,
        race: &mut Race,
        limits: &Limits<'_>,
        gate: &mut impl Gate,
        now: Time,
        classify: impl FnOnce(&mut R) -> Ruling,
        random: &mut R,
    ) -> Option<Decision> {
        race.running = race.running.saturating_sub(1);
        if race.running == 0 {
            race.due = None;
            let classify = |random: &mut R| race.ruling(limits, now, classify(random));
            let earliest = race.earliest;
            return Some(self.failed_not_before(earliest, limits, gate, || now, classify, random));
        }
        self.failures = self.failures.saturating_add(1);
        match classify(random).0 {
            Ruled::Verdict(Verdict::Stop) => return Some(Decision::Stop(Stop::Rejected)),
            Ruled::Verdict(Verdict::Retry) => {}
            Ruled::Verdict(Verdict::RetryAfter(asked)) => {
                race.asked = race.asked.max(now.after(asked));
                race.earliest = race.earliest.max(race.asked);
            }
            Ruled::Kind { delay, .. } => {
                race.earliest = race.earliest.max(now.after(Duration::from_nanos(delay)));
            }
            Ruled::Spent => race.spent = true,
        }
        if gate.needs_time() {
            gate.failed(now);
        }
        None
    }
}
