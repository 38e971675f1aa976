//! A circuit breaker: after enough failures in a row nothing is tried for a while, then a few
//! probes decide.
//!
//! The whole state is one 64-bit word that changes by compare-and-exchange, so every reader sees
//! one state and every change is one step. Each period between two changes of state has a number;
//! what a call reports counts only in the period that admitted it. A slow failure from before the
//! breaker opened can therefore not reopen it after it closed.

use core::fmt;
use core::time::Duration;

use crate::atomic::{AtomicU64, Ordering};
use crate::invalid::{Invalid, Mistake};
use crate::time::Time;

/// A circuit breaker that many calls share, in one atomic word, without a lock.
///
/// It is closed at first. [`failures`](BreakerBuilder::failures) failed attempts in a row open it:
/// every call is then refused with [`Stop::BreakerOpen`](crate::Stop::BreakerOpen) and nothing
/// runs. After the [`recovery`](BreakerBuilder::recovery) time it is half open: as many
/// [`probes`](BreakerBuilder::probes) as it is set to may run. If all of them succeed it closes; if
/// one fails it opens again. A probe that hangs holds its place: give such attempts a timeout.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Breaker, BreakerState, Time};
///
/// static BREAKER: Breaker =
///     Breaker::builder().failures(2).recovery(Duration::from_secs(30)).build();
///
/// for _ in 0..2 {
///     let permit = BREAKER.admit(|| Time::ZERO).expect("closed");
///     permit.failed(Time::ZERO);
/// }
/// assert!(BREAKER.admit(|| Time::ZERO).is_none());
///
/// let later = Time::ZERO.after(Duration::from_secs(30));
/// assert_eq!(BREAKER.state(later), BreakerState::HalfOpen);
/// BREAKER.admit(|| later).expect("a probe").succeeded();
/// assert_eq!(BREAKER.state(later), BreakerState::Closed { failures: 0 });
/// ```
pub struct Breaker {
    settings: BreakerBuilder,
    word: AtomicU64,
}

/// The settings of a [`Breaker`]: see [`Breaker::builder`].
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Breaker, BreakerBuilder};
/// const SETTINGS: BreakerBuilder = Breaker::builder().recovery(Duration::from_secs(5));
/// static ORDERS: Breaker = SETTINGS.build();
/// static STOCK: Breaker = SETTINGS.probes(3).build();
/// # let _ = (&ORDERS, &STOCK);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "settings do nothing until `.build()` makes them a breaker"]
pub struct BreakerBuilder {
    failures: u32,
    recovery: Duration,
    probes: u32,
}

impl BreakerBuilder {
    /// How many failed attempts in a row open it. 5 unless set.
    ///
    /// ```
    /// use redial_core::{Breaker, BreakerState, Time};
    /// let breaker = Breaker::builder().failures(1).build();
    /// breaker.admit(|| Time::ZERO).expect("closed").failed(Time::ZERO);
    /// assert!(matches!(breaker.state(Time::ZERO), BreakerState::Open { .. }));
    /// ```
    #[inline]
    pub const fn failures(self, failures: u32) -> Self {
        Self { failures, ..self }
    }

    /// How long it stays open, to the microsecond, four years at most. 30 s unless set.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::Breaker;
    /// let breaker = Breaker::builder().recovery(Duration::from_secs(5)).build();
    /// # let _ = breaker;
    /// ```
    #[inline]
    pub const fn recovery(self, recovery: Duration) -> Self {
        Self { recovery, ..self }
    }

    /// How many probes a half-open breaker admits, all of which must succeed to close it. 1 unless
    /// set; at most 16 777 215.
    ///
    /// ```
    /// use redial_core::Breaker;
    /// let breaker = Breaker::builder().probes(3).build();
    /// # let _ = breaker;
    /// ```
    #[inline]
    pub const fn probes(self, probes: u32) -> Self {
        Self { probes, ..self }
    }

    /// The breaker, closed.
    ///
    /// ```
    /// use redial_core::{Breaker, BreakerState, Time};
    /// static BREAKER: Breaker = Breaker::builder().failures(10).build();
    /// assert_eq!(BREAKER.state(Time::ZERO), BreakerState::Closed { failures: 0 });
    /// ```
    ///
    /// # Panics
    ///
    /// Where a setting is out of range. In a `const` or `static` that is a compile error; for
    /// values that are known only at run time there is [`try_build`](Self::try_build).
    #[track_caller]
    #[inline]
    pub const fn build(self) -> Breaker {
        match self.check() {
            Some(invalid) => invalid.refuse(),
            None => Breaker::closed(self),
        }
    }

    /// [`build`](Self::build) for values that are known only at run time.
    ///
    /// ```
    /// use redial_core::Breaker;
    /// assert_eq!(
    ///     Breaker::builder().failures(0).try_build().unwrap_err().to_string(),
    ///     "breaker failures: 0 is not allowed; use 1 or more",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// The first setting that is out of range.
    #[inline]
    pub fn try_build(self) -> Result<Breaker, Invalid> {
        match self.check() {
            Some(invalid) => Err(invalid),
            None => Ok(Breaker::closed(self)),
        }
    }

    /// The breaker as it was when the snapshot was taken.
    ///
    /// A snapshot cannot wedge a breaker, whatever it says: counts are clamped to where the next
    /// report decides, and it stays open for the recovery time from `now` at most, also where the
    /// clock was set back.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Breaker, BreakerBuilder, BreakerSnapshot, BreakerState, Time};
    /// const SETTINGS: BreakerBuilder = Breaker::builder().recovery(Duration::from_secs(5));
    ///
    /// let endless = BreakerState::Open { until: Time::MAX };
    /// let snapshot = BreakerSnapshot { state: endless, running: 0, succeeded: 0, period: 1 };
    /// let breaker = SETTINGS.resume(snapshot, Time::ZERO)?;
    /// let until = Time::ZERO.after(Duration::from_secs(5));
    /// assert_eq!(breaker.state(Time::ZERO), BreakerState::Open { until });
    /// # Ok::<(), redial_core::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_build`](Self::try_build): a setting that is out of range.
    #[inline]
    pub fn resume(self, snapshot: BreakerSnapshot, now: Time) -> Result<Breaker, Invalid> {
        if let Some(invalid) = self.check() {
            return Err(invalid);
        }
        let state = match snapshot.state {
            BreakerState::Closed { failures } => {
                State::Closed { failures: failures.min(self.failures - 1) as u64 }
            }
            BreakerState::Open { until } => {
                State::Open { until_micros: until_micros(now, until.since(now).min(self.recovery)) }
            }
            BreakerState::HalfOpen => {
                let succeeded = snapshot.succeeded.min(self.probes - 1);
                let running = snapshot.running.min(self.probes - succeeded);
                State::HalfOpen { running: running as u64, succeeded: succeeded as u64 }
            }
        };
        let word = state.in_period(snapshot.period as u64 & PERIOD);
        Ok(Breaker { settings: self, word: AtomicU64::new(word) })
    }

    #[inline]
    const fn check(&self) -> Option<Invalid> {
        if self.failures == 0 {
            Some(Invalid(Mistake::Zero(&"breaker failures")))
        } else if self.probes == 0 {
            Some(Invalid(Mistake::Zero(&"breaker probes")))
        } else if self.probes as u64 > PROBES_MAX {
            Some(Invalid(Mistake::Probes(self.probes)))
        } else {
            None
        }
    }
}

/// What a breaker does with the next call.
///
/// ```
/// use redial_core::{Breaker, BreakerState, Time};
/// assert_eq!(Breaker::new().state(Time::ZERO), BreakerState::Closed { failures: 0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreakerState {
    /// Calls run.
    Closed {
        /// Failed attempts in a row so far.
        failures: u32,
    },
    /// Calls are refused.
    Open {
        /// When probes will be admitted.
        until: Time,
    },
    /// Probes run, other calls are refused.
    HalfOpen,
}

/// All that a [`Breaker`] knows at one moment, so that it can be kept where the process ends. See
/// [`Breaker::snapshot`] and [`BreakerBuilder::resume`].
///
/// ```
/// use redial_core::{Breaker, BreakerSnapshot, BreakerState, Time};
/// let state = BreakerState::Closed { failures: 0 };
/// let new = BreakerSnapshot { state, running: 0, succeeded: 0, period: 0 };
/// assert_eq!(Breaker::new().snapshot(Time::ZERO), new);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BreakerSnapshot {
    /// What it does with the next call.
    pub state: BreakerState,
    /// Where it is half open, how many probes hold a place. Whoever resumes it gives the number of
    /// those that will still report, by [`Breaker::permit`]; a place that nobody gives back is
    /// never free again.
    pub running: u32,
    /// Where it is half open, how many probes have succeeded.
    pub succeeded: u32,
    /// The number of the time between two changes of state, from 0 to 16 383 and round again. What
    /// an attempt reports counts only in the period that admitted it.
    pub period: u16,
}

impl Breaker {
    /// Opens after 5 failures in a row, for 30 s; one probe.
    ///
    /// ```
    /// static BREAKER: redial_core::Breaker = redial_core::Breaker::new();
    /// # let _ = &BREAKER;
    /// ```
    #[inline]
    pub const fn new() -> Self {
        Self::builder().build()
    }

    /// The settings of a breaker, the defaults of [`new`](Self::new) at first.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::Breaker;
    /// static BREAKER: Breaker =
    ///     Breaker::builder().failures(3).recovery(Duration::from_secs(10)).probes(2).build();
    /// # let _ = &BREAKER;
    /// ```
    #[inline]
    pub const fn builder() -> BreakerBuilder {
        BreakerBuilder { failures: 5, recovery: Duration::from_secs(30), probes: 1 }
    }

    #[inline]
    const fn closed(settings: BreakerBuilder) -> Self {
        let word = State::Closed { failures: 0 }.in_period(0);
        Self { settings, word: AtomicU64::new(word) }
    }

    /// Leave to run one attempt, or `None` where the breaker refuses it. The time is asked for
    /// only where the breaker is not closed.
    ///
    /// ```
    /// use redial_core::{Breaker, Time};
    /// let breaker = Breaker::new();
    /// let permit = breaker.admit(|| Time::ZERO).expect("closed");
    /// permit.succeeded();
    /// ```
    #[inline]
    pub fn admit(&self, now: impl FnOnce() -> Time) -> Option<Permit<'_>> {
        let word = self.word.load(Ordering::Acquire);
        match State::of(word) {
            State::Closed { .. } => Some(Permit { breaker: self, period: period(word) }),
            _ => self.admit_probe(now()),
        }
    }

    /// One of the probes of a half-open breaker; the first one half-opens it.
    #[inline]
    fn admit_probe(&self, now: Time) -> Option<Permit<'_>> {
        let admitted = self.change(|state, period| match state {
            State::Open { until_micros } if micros_left(until_micros, now) == 0 => {
                Some((State::HalfOpen { running: 1, succeeded: 0 }, next(period)))
            }
            State::HalfOpen { running, succeeded }
                if running + succeeded < self.settings.probes as u64 =>
            {
                Some((State::HalfOpen { running: running + 1, succeeded }, period))
            }
            // Somebody else closed it in the meantime: an ordinary attempt.
            State::Closed { .. } => Some((state, period)),
            _ => None,
        });
        admitted.ok().map(|word| Permit { breaker: self, period: period(word) })
    }

    /// What it would do with a call at `now`.
    ///
    /// ```
    /// use redial_core::{Breaker, BreakerState, Time};
    /// let breaker = Breaker::new();
    /// breaker.admit(|| Time::ZERO).expect("closed").failed(Time::ZERO);
    /// assert_eq!(breaker.state(Time::ZERO), BreakerState::Closed { failures: 1 });
    /// ```
    #[inline]
    pub fn state(&self, now: Time) -> BreakerState {
        State::of(self.word.load(Ordering::Acquire)).at(now)
    }

    /// All that it knows at `now`, for [`resume`](BreakerBuilder::resume).
    ///
    /// ```
    /// use redial_core::{Breaker, BreakerState, Time};
    /// let breaker = Breaker::new();
    /// breaker.admit(|| Time::ZERO).expect("closed").failed(Time::ZERO);
    /// let resumed = Breaker::builder().resume(breaker.snapshot(Time::ZERO), Time::ZERO)?;
    /// assert_eq!(resumed.state(Time::ZERO), BreakerState::Closed { failures: 1 });
    /// # Ok::<(), redial_core::Invalid>(())
    /// ```
    #[inline]
    pub fn snapshot(&self, now: Time) -> BreakerSnapshot {
        let word = self.word.load(Ordering::Acquire);
        let (running, succeeded) = match State::of(word) {
            State::HalfOpen { running, succeeded } => (running as u32, succeeded as u32),
            _ => (0, 0),
        };
        let period = period(word) as u16;
        BreakerSnapshot { state: State::of(word).at(now), running, succeeded, period }
    }

    /// The permit of an attempt that is under way since before this breaker was resumed: the period
    /// that admitted it is what [`Permit::into_period`] gave.
    ///
    /// ```
    /// use redial_core::{Breaker, BreakerState, Time};
    /// let breaker = Breaker::new();
    /// let period = breaker.admit(|| Time::ZERO).expect("closed").into_period();
    ///
    /// let resumed = Breaker::builder().resume(breaker.snapshot(Time::ZERO), Time::ZERO)?;
    /// resumed.permit(period).failed(Time::ZERO);
    /// assert_eq!(resumed.state(Time::ZERO), BreakerState::Closed { failures: 1 });
    /// # Ok::<(), redial_core::Invalid>(())
    /// ```
    #[inline]
    pub const fn permit(&self, period: u16) -> Permit<'_> {
        Permit { breaker: self, period: period as u64 & PERIOD }
    }

    /// Closes it and forgets the failures, whatever its state.
    ///
    /// ```
    /// use redial_core::{Breaker, BreakerState, Time};
    /// let breaker = Breaker::builder().failures(1).build();
    /// breaker.admit(|| Time::ZERO).expect("closed").failed(Time::ZERO);
    /// breaker.reset();
    /// assert_eq!(breaker.state(Time::ZERO), BreakerState::Closed { failures: 0 });
    /// ```
    #[inline]
    pub fn reset(&self) {
        let _ = self.change(|_, period| Some((State::Closed { failures: 0 }, next(period))));
    }

    #[inline]
    fn report_success(&self, admitted_in: u64) {
        let _ = self.change(|state, period| match state {
            _ if period != admitted_in => None,
            State::Closed { failures: 0 } => None,
            State::Closed { .. } => Some((State::Closed { failures: 0 }, period)),
            State::HalfOpen { running, succeeded } => {
                let succeeded = succeeded + 1;
                if succeeded < self.settings.probes as u64 {
                    let running = running.saturating_sub(1);
                    Some((State::HalfOpen { running, succeeded }, period))
                } else {
                    Some((State::Closed { failures: 0 }, next(period)))
                }
            }
            State::Open { .. } => None,
        });
    }

    /// The state after the report, whether it counted or not.
    #[inline]
    fn report_failure(&self, admitted_in: u64, now: Time) -> BreakerState {
        let until_micros = until_micros(now, self.settings.recovery);
        let changed = self.change(|state, period| match state {
            _ if period != admitted_in => None,
            State::Closed { failures } if failures + 1 < self.settings.failures as u64 => {
                Some((State::Closed { failures: failures + 1 }, period))
            }
            State::Closed { .. } | State::HalfOpen { .. } => {
                Some((State::Open { until_micros }, next(period)))
            }
            State::Open { .. } => None,
        });
        let (Ok(word) | Err(word)) = changed;
        State::of(word).at(now)
    }

    /// A probe that never reported makes room for another.
    #[inline]
    fn release(&self, admitted_in: u64) {
        let _ = self.change(|state, period| match state {
            State::HalfOpen { running, succeeded } if period == admitted_in => {
                Some((State::HalfOpen { running: running.saturating_sub(1), succeeded }, period))
            }
            _ => None,
        });
    }

    /// One atomic step to the state and period that `step` gives, and the new word; the word as it
    /// is where `step` gave nothing.
    #[inline]
    fn change(&self, step: impl Fn(State, u64) -> Option<(State, u64)>) -> Result<u64, u64> {
        let step = |word| {
            step(State::of(word), period(word)).map(|(state, period)| state.in_period(period))
        };
        let old = self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, &step)?;
        // `fetch_update` hands out the old word; the step is pure, so asking again is exact.
        step(old).ok_or(old)
    }
}

impl Default for Breaker {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Breaker {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = State::of(self.word.load(Ordering::Acquire));
        f.debug_struct("Breaker").field("state", &state).finish_non_exhaustive()
    }
}

/// Leave to run one attempt. Report how it went; one that is dropped without a report counts as
/// neither success nor failure and, if it was a probe, makes room for another.
///
/// ```
/// use redial_core::{Breaker, BreakerState, Time};
/// let breaker = Breaker::builder().failures(1).build();
/// drop(breaker.admit(|| Time::ZERO)); // cancelled
/// assert_eq!(breaker.state(Time::ZERO), BreakerState::Closed { failures: 0 });
/// ```
#[derive(Debug)]
#[must_use = "report how the attempt went"]
pub struct Permit<'b> {
    breaker: &'b Breaker,
    period: u64,
}

impl Permit<'_> {
    /// The attempt succeeded.
    ///
    /// ```
    /// use redial_core::{Breaker, Time};
    /// Breaker::new().admit(|| Time::ZERO).expect("closed").succeeded();
    /// ```
    #[inline]
    pub fn succeeded(self) {
        self.breaker.report_success(self.period);
        core::mem::forget(self);
    }

    /// The attempt failed at `now`. Gives the time from which on the breaker admits another one:
    /// `now`, unless it is open.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Breaker, Time};
    /// let breaker = Breaker::builder().failures(2).recovery(Duration::from_secs(30)).build();
    /// let fail = || breaker.admit(|| Time::ZERO).expect("closed").failed(Time::ZERO);
    /// assert_eq!(fail(), Time::ZERO);
    /// assert_eq!(fail(), Time::ZERO.after(Duration::from_secs(30)));
    /// ```
    #[inline]
    pub fn failed(self, now: Time) -> Time {
        let state = self.breaker.report_failure(self.period, now);
        core::mem::forget(self);
        match state {
            BreakerState::Open { until } => until,
            BreakerState::Closed { .. } | BreakerState::HalfOpen => now,
        }
    }

    /// The attempt goes on, and its report will come from elsewhere, by [`Breaker::permit`]. A probe
    /// keeps its place.
    ///
    /// ```
    /// use redial_core::{Breaker, Time};
    /// let permit = Breaker::new().admit(|| Time::ZERO).expect("closed").into_period();
    /// assert_eq!(permit, 0);
    /// ```
    #[inline]
    pub fn into_period(self) -> u16 {
        let period = self.period as u16;
        core::mem::forget(self);
        period
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.breaker.release(self.period);
    }
}

/// The state as it stands in the word: two bits of tag, 14 of period, 48 of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed { failures: u64 },
    Open { until_micros: u64 },
    HalfOpen { running: u64, succeeded: u64 },
}

const PAYLOAD_BITS: u32 = 48;
const PAYLOAD: u64 = (1 << PAYLOAD_BITS) - 1;
const PERIOD: u64 = (1 << 14) - 1;
const HALF_BITS: u32 = PAYLOAD_BITS / 2;
const PROBES_MAX: u64 = (1 << HALF_BITS) - 1;

impl State {
    #[inline]
    const fn in_period(self, period: u64) -> u64 {
        let (tag, payload) = match self {
            Self::Closed { failures } => (0, failures),
            Self::Open { until_micros } => (1, until_micros),
            Self::HalfOpen { running, succeeded } => (2, running << HALF_BITS | succeeded),
        };
        tag << 62 | period << PAYLOAD_BITS | payload
    }

    #[inline]
    const fn of(word: u64) -> Self {
        let payload = word & PAYLOAD;
        match word >> 62 {
            0 => Self::Closed { failures: payload },
            1 => Self::Open { until_micros: payload },
            _ => Self::HalfOpen { running: payload >> HALF_BITS, succeeded: payload & PROBES_MAX },
        }
    }

    /// As callers see it: a breaker that has been open for long enough is half open.
    #[inline]
    const fn at(self, now: Time) -> BreakerState {
        match self {
            Self::Closed { failures } => BreakerState::Closed { failures: failures as u32 },
            Self::Open { until_micros } if micros_left(until_micros, now) > 0 => {
                let until = micros(now) + micros_left(until_micros, now);
                BreakerState::Open { until: Time::from_nanos(until.saturating_mul(1000)) }
            }
            Self::Open { .. } | Self::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }
}

#[inline]
const fn period(word: u64) -> u64 {
    word >> PAYLOAD_BITS & PERIOD
}

#[inline]
const fn next(period: u64) -> u64 {
    (period + 1) & PERIOD
}

/// The longest recovery, four years: half of what 48 bits of microseconds can tell apart.
const RECOVERY_MAX: u64 = PAYLOAD >> 1;

#[inline]
const fn micros(time: Time) -> u64 {
    time.as_nanos() / 1000
}

/// When a breaker that opens at `now` admits its probes: microseconds, rounded up, of which 48
/// bits are kept. A clock may have any origin, the Unix epoch too: its low bits are enough to tell
/// how long there is still to wait.
#[inline]
const fn until_micros(now: Time, recovery: Duration) -> u64 {
    let until = now.after(recovery).as_nanos();
    // At the end of time there is no next microsecond.
    let until = if until == u64::MAX { until / 1000 } else { until.div_ceil(1000) };
    let latest = micros(now) + RECOVERY_MAX;
    (if until < latest { until } else { latest }) & PAYLOAD
}

#[inline]
const fn micros_left(until_micros: u64, now: Time) -> u64 {
    let ahead = until_micros.wrapping_sub(micros(now)) & PAYLOAD;
    if ahead <= RECOVERY_MAX { ahead } else { 0 }
}
