//! A retry budget shared by many calls: a token bucket that can never wedge.
//!
//! One call deposits a little, one retry costs more, and a floor trickles in with time. While most
//! calls succeed there is always enough; when everything fails, retries are held to the floor and
//! a fixed share of the calls, instead of multiplying the load on a service that is down.
//!
//! Why it cannot wedge: both words are changed by compare-and-exchange only; tokens are clamped to
//! [0, capacity] in the very step that changes them; and a budget without any refill is refused
//! when it is built.

use core::fmt;

use crate::atomic::{AtomicU64, Ordering};
use crate::decimal::{BILLION, Decimal, saturate};
use crate::invalid::{Invalid, Mistake};
use crate::time::Time;

/// A retry budget that many calls share: a token bucket in atomics, without a lock.
///
/// Every call under it deposits a share of a token when it starts, every retry costs some before
/// its wait, and a floor comes with time. It starts full. A retry that cannot be paid for stops
/// its call with [`Stop::Budget`](crate::Stop::Budget); a call that is dropped while it waits gets
/// its cost back.
///
/// The defaults allow one retry to five calls, ten retries a second on top, and bursts of a
/// hundred; [`builder`](Self::builder) sets others.
///
/// ```
/// use redial_core::{Budget, Time};
///
/// static BUDGET: Budget =
///     Budget::builder().capacity(2.0).deposit(0.5).floor_per_second(0.0).build();
///
/// assert!(BUDGET.withdraw(Time::ZERO)); // a retry
/// assert!(BUDGET.withdraw(Time::ZERO));
/// assert!(!BUDGET.withdraw(Time::ZERO)); // empty
/// BUDGET.deposit(); // two calls later …
/// BUDGET.deposit();
/// assert!(BUDGET.withdraw(Time::ZERO)); // … there is one again
/// ```
pub struct Budget {
    settings: BudgetBuilder,
    /// Billionths of a token, from 0 to the capacity.
    tokens: AtomicU64,
    /// Until when the floor has been paid out, in nanoseconds of the callers' clock.
    paid_until: AtomicU64,
}

/// The settings of a [`Budget`]: see [`Budget::builder`].
///
/// ```
/// use redial_core::{Budget, BudgetBuilder};
/// const SETTINGS: BudgetBuilder = Budget::builder().capacity(50.0);
/// static READS: Budget = SETTINGS.build();
/// static WRITES: Budget = SETTINGS.deposit(0.05).build();
/// assert_eq!(READS.tokens(), WRITES.tokens());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "settings do nothing until `.build()` makes them a budget"]
pub struct BudgetBuilder {
    capacity: u64,
    deposit: u64,
    cost: u64,
    floor_per_second: u64,
    invalid: Option<Invalid>,
}

/// What a [`Budget`] holds at one moment, so that it can be kept where the process ends: in a file,
/// or in the memory of a device that sleeps. See [`Budget::snapshot`] and [`BudgetBuilder::resume`].
///
/// ```
/// use redial_core::{Budget, BudgetSnapshot, Time};
/// let full = BudgetSnapshot { tokens: 100.0, paid_until: Time::ZERO };
/// assert_eq!(Budget::new().snapshot(), full);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetSnapshot {
    /// How many tokens are there: exact to the billionth up to four million, and to the sixteenth
    /// digit above.
    pub tokens: f64,
    /// Until when the floor has been paid out.
    pub paid_until: Time,
}

impl BudgetBuilder {
    /// How many tokens the budget holds at most, and at first. 100 unless set.
    ///
    /// ```
    /// use redial_core::Budget;
    /// assert_eq!(Budget::builder().capacity(5.0).build().tokens(), 5.0);
    /// ```
    #[inline]
    pub const fn capacity(self, tokens: f64) -> Self {
        let (capacity, invalid) = self.billionths(&"budget capacity", tokens);
        Self { capacity, invalid, ..self }
    }

    /// How many tokens a call adds when it starts: 0.2, which is the default, allows one retry to
    /// five calls.
    ///
    /// ```
    /// use redial_core::{Budget, Time};
    /// let budget = Budget::builder().deposit(0.25).build();
    /// assert!(budget.withdraw(Time::ZERO));
    /// budget.deposit();
    /// assert_eq!(budget.tokens(), 99.25);
    /// ```
    #[inline]
    pub const fn deposit(self, tokens: f64) -> Self {
        let (deposit, invalid) = self.billionths(&"budget deposit", tokens);
        Self { deposit, invalid, ..self }
    }

    /// How many tokens a retry takes. 1 unless set.
    ///
    /// ```
    /// use redial_core::{Budget, Time};
    /// let budget = Budget::builder().cost(14.0).build();
    /// assert!(budget.withdraw(Time::ZERO));
    /// assert_eq!(budget.tokens(), 86.0);
    /// ```
    #[inline]
    pub const fn cost(self, tokens: f64) -> Self {
        let (cost, invalid) = self.billionths(&"budget cost", tokens);
        Self { cost, invalid, ..self }
    }

    /// How many tokens come with each second, whatever the calls do. 10 unless set.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Budget, Time};
    ///
    /// let budget = Budget::builder().capacity(1.0).deposit(0.0).floor_per_second(2.0).build();
    /// assert!(budget.withdraw(Time::ZERO));
    /// assert!(!budget.withdraw(Time::ZERO.after(Duration::from_millis(499))));
    /// assert!(budget.withdraw(Time::ZERO.after(Duration::from_millis(500))));
    /// ```
    #[inline]
    pub const fn floor_per_second(self, tokens: f64) -> Self {
        let (floor_per_second, invalid) = self.billionths(&"budget floor per second", tokens);
        Self { floor_per_second, invalid, ..self }
    }

    /// The budget, full.
    ///
    /// ```
    /// use redial_core::Budget;
    /// static BUDGET: Budget = Budget::builder().capacity(20.0).build();
    /// assert_eq!(BUDGET.tokens(), 20.0);
    /// ```
    ///
    /// # Panics
    ///
    /// Where a setting is out of range. In a `const` or `static` that is a compile error; for
    /// values that are known only at run time there is [`try_build`](Self::try_build).
    #[track_caller]
    #[inline]
    pub const fn build(self) -> Budget {
        match self.check() {
            Some(invalid) => invalid.refuse(),
            None => Budget::full(self),
        }
    }

    /// [`build`](Self::build) for values that are known only at run time.
    ///
    /// ```
    /// use redial_core::Budget;
    ///
    /// assert!(Budget::builder().cost(0.5).try_build().is_ok());
    /// let wedged = Budget::builder().deposit(0.0).floor_per_second(0.0).try_build();
    /// assert_eq!(
    ///     wedged.unwrap_err().to_string(),
    ///     "budget: with no deposit and no floor an empty budget never refills",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// The first setting that is out of range, or a budget that could never be paid from.
    #[inline]
    pub fn try_build(self) -> Result<Budget, Invalid> {
        match self.check() {
            Some(invalid) => Err(invalid),
            None => Ok(Budget::full(self)),
        }
    }

    /// The budget as it was when the snapshot was taken, and the floor since then is owed.
    ///
    /// A snapshot cannot wedge a budget, whatever it says: tokens are clamped to what the budget
    /// can hold, and a floor that was paid until after `now`, because the clock was set back, is
    /// paid from `now` on.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{Budget, BudgetBuilder, BudgetSnapshot, Time};
    /// const SETTINGS: BudgetBuilder = Budget::builder().capacity(5.0).floor_per_second(1.0);
    ///
    /// let snapshot = BudgetSnapshot { tokens: 0.5, paid_until: Time::ZERO };
    /// let later = Time::ZERO.after(Duration::from_secs(2));
    /// let budget = SETTINGS.resume(snapshot, later)?;
    /// assert!(budget.withdraw(later)); // two seconds of the floor came in
    /// assert_eq!(budget.tokens(), 1.5);
    ///
    /// let more = BudgetSnapshot { tokens: 80.0, paid_until: Time::MAX };
    /// let budget = SETTINGS.resume(more, later)?;
    /// assert_eq!(budget.snapshot(), BudgetSnapshot { tokens: 5.0, paid_until: later });
    /// # Ok::<(), redial_core::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_build`](Self::try_build): a setting that is out of range.
    #[inline]
    pub fn resume(self, snapshot: BudgetSnapshot, now: Time) -> Result<Budget, Invalid> {
        if let Some(invalid) = self.check() {
            return Err(invalid);
        }
        let tokens = match Decimal::from_float(snapshot.tokens) {
            Some(tokens) => tokens.billionths().min(self.capacity),
            // Too many; what is negative or no number at all is none.
            None if snapshot.tokens > 0.0 => self.capacity,
            None => 0,
        };
        Ok(Budget {
            settings: self,
            tokens: AtomicU64::new(tokens),
            paid_until: AtomicU64::new(snapshot.paid_until.min(now).as_nanos()),
        })
    }

    #[inline]
    const fn check(&self) -> Option<Invalid> {
        if self.invalid.is_some() {
            self.invalid
        } else if self.cost > self.capacity {
            Some(Invalid(Mistake::CostAboveCapacity))
        } else if self.deposit == 0 && self.floor_per_second == 0 {
            Some(Invalid(Mistake::NeverRefills))
        } else {
            None
        }
    }

    /// An amount as it is counted, and the first mistake so far.
    #[inline]
    const fn billionths(
        &self,
        option: &'static &'static str,
        tokens: f64,
    ) -> (u64, Option<Invalid>) {
        match (Decimal::from_float(tokens), self.invalid) {
            // Less than a billionth would become nothing, which is another thing.
            (Some(amount), invalid) if amount.billionths() > 0 || tokens == 0.0 => {
                (amount.billionths(), invalid)
            }
            (_, None) => (0, Some(Invalid(Mistake::Amount(option, tokens.to_bits())))),
            (_, invalid) => (0, invalid),
        }
    }
}

impl Budget {
    /// A capacity of 100 tokens, 0.2 deposited per call, 1 per retry, a floor of 10 per second.
    ///
    /// ```
    /// use redial_core::Budget;
    /// static BUDGET: Budget = Budget::new();
    /// assert_eq!(BUDGET.tokens(), 100.0);
    /// ```
    #[inline]
    pub const fn new() -> Self {
        Self::builder().build()
    }

    /// The settings of a budget, the defaults of [`new`](Self::new) at first.
    ///
    /// ```
    /// use redial_core::Budget;
    /// static BUDGET: Budget = Budget::builder().deposit(0.1).floor_per_second(1.0).build();
    /// assert_eq!(BUDGET.tokens(), 100.0);
    /// ```
    #[inline]
    pub const fn builder() -> BudgetBuilder {
        BudgetBuilder {
            capacity: 100 * BILLION,
            deposit: BILLION / 5,
            cost: BILLION,
            floor_per_second: 10 * BILLION,
            invalid: None,
        }
    }

    #[inline]
    const fn full(settings: BudgetBuilder) -> Self {
        let tokens = AtomicU64::new(settings.capacity);
        Self { settings, tokens, paid_until: AtomicU64::new(0) }
    }

    /// A call starts: its share goes in.
    ///
    /// ```
    /// let budget = redial_core::Budget::new();
    /// budget.deposit();
    /// assert_eq!(budget.tokens(), 100.0); // it was full
    /// ```
    #[inline]
    pub fn deposit(&self) {
        self.add(self.settings.deposit);
    }

    /// Takes the cost of one retry, if it is there.
    ///
    /// ```
    /// use redial_core::{Budget, Time};
    /// assert!(Budget::new().withdraw(Time::ZERO));
    /// ```
    #[must_use = "a retry that was not paid for must not happen"]
    #[inline]
    pub fn withdraw(&self, now: Time) -> bool {
        let owed = self.claim_floor(now);
        let capacity = self.settings.capacity;
        let filled = |tokens: u64| tokens.saturating_add(owed).min(capacity);
        let paid = self.change(|tokens| filled(tokens).checked_sub(self.settings.cost));
        if !paid && owed > 0 {
            self.add(owed);
        }
        paid
    }

    /// Gives the cost of one retry back: it was paid for, and did not happen.
    ///
    /// ```
    /// use redial_core::{Budget, Time};
    /// let budget = Budget::new();
    /// assert!(budget.withdraw(Time::ZERO));
    /// budget.refund();
    /// assert_eq!(budget.tokens(), 100.0);
    /// ```
    #[inline]
    pub fn refund(&self) {
        self.add(self.settings.cost);
    }

    /// How many tokens are there. By the time you look at it, it may be otherwise.
    ///
    /// ```
    /// assert_eq!(redial_core::Budget::new().tokens(), 100.0);
    /// ```
    #[inline]
    pub fn tokens(&self) -> f64 {
        self.tokens.load(Ordering::Relaxed) as f64 / BILLION as f64
    }

    /// What it holds, for [`resume`](BudgetBuilder::resume). Between calls it is exact; a retry that
    /// pays in this very moment may be in it by half.
    ///
    /// ```
    /// use redial_core::{Budget, Time};
    /// let budget = Budget::new();
    /// assert!(budget.withdraw(Time::ZERO));
    /// let resumed = Budget::builder().resume(budget.snapshot(), Time::ZERO)?;
    /// assert_eq!(resumed.tokens(), 99.0);
    /// # Ok::<(), redial_core::Invalid>(())
    /// ```
    #[inline]
    pub fn snapshot(&self) -> BudgetSnapshot {
        let paid_until = Time::from_nanos(self.paid_until.load(Ordering::Relaxed));
        BudgetSnapshot { tokens: self.tokens(), paid_until }
    }

    /// What the floor comes to since it was last paid, for the caller to put in. Whoever moves the
    /// mark forward gets it, so no moment is paid for twice; a caller whose clock is behind the mark
    /// gets nothing.
    #[inline]
    fn claim_floor(&self, now: Time) -> u64 {
        let now = now.as_nanos();
        let floor = self.floor_by(now);
        let moved = self.paid_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |until| {
            (now > until && floor > self.floor_by(until)).then_some(now)
        });
        moved.map_or(0, |until| saturate(floor - self.floor_by(until)))
    }

    /// What the floor comes to by a time, counted from the origin of the clock: ⌊time · floor⌋. A
    /// payment is the difference of two of these: what one rounds off, the next makes up for.
    #[inline]
    fn floor_by(&self, nanos: u64) -> u128 {
        // By seconds and by whole tokens, so that nothing is divided in 128 bits, which is slow.
        let floor = self.settings.floor_per_second;
        let (seconds, nanos) = (nanos / BILLION, nanos % BILLION);
        let (tokens, billionths) = (floor / BILLION, floor % BILLION);
        seconds as u128 * floor as u128 + (nanos * tokens + nanos * billionths / BILLION) as u128
    }

    /// Puts so much in. A budget that is full stays as it is, without a write that would take its
    /// cache line from other threads.
    #[inline]
    fn add(&self, amount: u64) {
        let capacity = self.settings.capacity;
        self.change(|tokens| {
            (tokens < capacity).then(|| tokens.saturating_add(amount).min(capacity))
        });
    }

    /// One atomic step from what is there to what it becomes; false where it becomes nothing.
    #[inline]
    fn change(&self, step: impl Fn(u64) -> Option<u64>) -> bool {
        self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).is_ok()
    }
}

impl Default for Budget {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Budget {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("tokens", &self.tokens()).finish_non_exhaustive()
    }
}
