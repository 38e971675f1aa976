//! How long attempts take, for hedges that start when one takes longer than most.

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use crate::invalid::{Invalid, Mistake};
use crate::time::nanos;

/// A power of two is cut into so many buckets: a percentile is exact to one part in eight.
const PARTS_LOG: u32 = 3;
/// What is shorter goes into the first bucket: 2¹⁴ ns, 16 µs.
const SHORTEST_LOG: u32 = 14;
/// What is longer goes into the last: 2⁴² ns, 73 minutes.
const LONGEST_LOG: u32 = 42;
const BUCKETS: usize = ((LONGEST_LOG - SHORTEST_LOG) << PARTS_LOG) as usize;
/// After so many, all counts are halved: what was long ago is forgotten.
const HALVED_AFTER: u32 = 1 << 12;

/// How long the attempts of many calls took, to hedge those that take longer than most.
///
/// It is a histogram of about 900 bytes: recording is two atomic additions, without a lock or an
/// allocation, and asking for a percentile reads all of it. A percentile is the upper edge of a
/// bucket, so it is up to one eighth above what was recorded. After 4096 records all counts are
/// halved: the last few thousand are what it goes by.
///
/// Share one between calls to the same service; make another for another.
///
/// ```
/// use core::time::Duration;
/// use redial_core::Latencies;
///
/// static LATENCIES: Latencies = Latencies::new();
/// for millis in 1..=100 {
///     LATENCIES.record(Duration::from_millis(millis));
/// }
/// let typical = LATENCIES.at(50).unwrap();
/// assert!(typical >= Duration::from_millis(50) && typical <= Duration::from_millis(57));
/// ```
pub struct Latencies {
    counts: [AtomicU32; BUCKETS],
    recorded: AtomicU32,
}

impl Latencies {
    /// None yet.
    ///
    /// ```
    /// static LATENCIES: redial_core::Latencies = redial_core::Latencies::new();
    /// assert_eq!(LATENCIES.at(95), None);
    /// ```
    #[inline]
    pub const fn new() -> Self {
        Self { counts: [const { AtomicU32::new(0) }; BUCKETS], recorded: AtomicU32::new(0) }
    }

    /// An attempt took this long.
    ///
    /// ```
    /// # use core::time::Duration;
    /// redial_core::Latencies::new().record(Duration::from_millis(20));
    /// ```
    #[inline]
    pub fn record(&self, took: Duration) {
        if let Some(count) = self.counts.get(bucket(nanos(took))) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        // One record in so many halves the counts; others may be added meanwhile, and none is lost.
        if self.recorded.fetch_add(1, Ordering::Relaxed) % HALVED_AFTER == HALVED_AFTER - 1 {
            for count in &self.counts {
                let half = |count| Some(count / 2);
                let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, half);
            }
        }
    }

    /// What this percentage of attempts did not take longer than; `None` before enough were seen to
    /// tell: 20 for 95, 100 for 99, that is, so many that one of them was longer.
    ///
    /// ```
    /// # use core::time::Duration;
    /// let latencies = redial_core::Latencies::new();
    /// for _ in 0..19 {
    ///     latencies.record(Duration::from_millis(10));
    /// }
    /// assert_eq!(latencies.at(95), None);
    /// latencies.record(Duration::from_secs(2));
    /// assert!(latencies.at(95).unwrap() < Duration::from_millis(12));
    /// ```
    #[inline]
    pub fn at(&self, percent: u8) -> Option<Duration> {
        let percent = u64::from(percent.min(100));
        let count = |count: &AtomicU32| u64::from(count.load(Ordering::Relaxed));
        let total: u64 = self.counts.iter().map(count).sum();
        if total == 0 || total * (100 - percent) < 100 {
            return None;
        }
        // The rank of the one that so many are not above, from 1.
        let rank = (total * percent).div_ceil(100).max(1);
        let mut below = 0;
        let found = self.counts.iter().position(|at| {
            below += count(at);
            below >= rank
        });
        // Counts that grew since the sum was taken are found later, never not at all, but for a halving.
        found.map(|bucket| Duration::from_nanos(upper_edge(bucket)))
    }

    /// A hedge that starts when an attempt takes longer than this percentage of them. Before enough
    /// were seen there is none, unless [`or`](Percentile::or) says when.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::{HedgeDelay, Latencies};
    /// static LATENCIES: Latencies = Latencies::new();
    /// assert_eq!(LATENCIES.percentile(95).patience(), None);
    /// let delay = LATENCIES.percentile(95).or(Duration::from_millis(200));
    /// assert_eq!(delay.patience(), Some(Duration::from_millis(200)));
    /// ```
    ///
    /// # Panics
    ///
    /// Unless `percent` is from 1 to 99. For run-time values, see [`Percentile::try_new`].
    #[track_caller]
    #[inline]
    pub const fn percentile(&self, percent: u8) -> Percentile<&Self> {
        if !in_range(percent) {
            Invalid(Mistake::Percentile(percent)).refuse();
        }
        Percentile { latencies: self, percent, otherwise: None }
    }
}

impl Default for Latencies {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Latencies {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p95, p99) = (self.at(50), self.at(95), self.at(99));
        let mut latencies = f.debug_struct("Latencies");
        latencies.field("p50", &p50).field("p95", &p95).field("p99", &p99).finish_non_exhaustive()
    }
}

#[inline]
const fn bucket(nanos: u64) -> usize {
    let nanos = if nanos < 1 << SHORTEST_LOG { 1 << SHORTEST_LOG } else { nanos };
    let log = nanos.ilog2();
    if log >= LONGEST_LOG {
        return BUCKETS - 1;
    }
    // The bits after the highest one.
    let part = (nanos >> (log - PARTS_LOG)) & ((1 << PARTS_LOG) - 1);
    (((log - SHORTEST_LOG) << PARTS_LOG) as u64 + part) as usize
}

/// The longest time in a bucket.
#[inline]
const fn upper_edge(bucket: usize) -> u64 {
    let log = SHORTEST_LOG + (bucket as u32 >> PARTS_LOG);
    let part = bucket as u64 & ((1 << PARTS_LOG) - 1);
    (((1 << PARTS_LOG) + part + 1) << (log - PARTS_LOG)) - 1
}

/// How long an attempt may take before a hedge starts beside it: a [`Duration`], a [`Percentile`] of
/// what was seen, or your own.
///
/// ```
/// use core::time::Duration;
/// use redial_core::HedgeDelay;
/// assert_eq!(Duration::from_millis(50).patience(), Some(Duration::from_millis(50)));
/// ```
pub trait HedgeDelay {
    /// It; `None` for no hedge this time. Asked when an attempt starts.
    fn patience(&self) -> Option<Duration>;

    /// An attempt took this long, or at least this long: it answered, or was still running when it
    /// was cut or another answered.
    #[inline]
    fn took(&self, took: Duration) {
        let _ = took;
    }
}

impl HedgeDelay for Duration {
    #[inline]
    fn patience(&self) -> Option<Duration> {
        Some(*self)
    }
}

/// What a percentage of attempts did not take longer than: see [`Latencies::percentile`]. `L` leads
/// to the latencies: a reference, or an `Arc`.
///
/// ```
/// use std::sync::Arc;
/// use redial_core::{Latencies, Percentile};
/// let delay = Percentile::try_new(Arc::new(Latencies::new()), 95)?;
/// # let _ = delay;
/// # Ok::<(), redial_core::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Percentile<L> {
    latencies: L,
    percent: u8,
    otherwise: Option<Duration>,
}

#[inline]
const fn in_range(percent: u8) -> bool {
    0 < percent && percent < 100
}

impl<L> Percentile<L> {
    /// This percentile of those latencies.
    ///
    /// ```
    /// use redial_core::{Latencies, Percentile};
    /// assert_eq!(
    ///     Percentile::try_new(&Latencies::new(), 100).unwrap_err().to_string(),
    ///     "percentile: 100 is out of range; use 1 to 99",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// Unless `percent` is from 1 to 99.
    #[inline]
    pub fn try_new(latencies: L, percent: u8) -> Result<Self, Invalid> {
        match in_range(percent) {
            true => Ok(Self { latencies, percent, otherwise: None }),
            false => Err(Invalid(Mistake::Percentile(percent))),
        }
    }

    /// The delay before enough latencies were seen.
    ///
    /// ```
    /// # use core::time::Duration;
    /// use redial_core::{HedgeDelay, Latencies};
    /// let latencies = Latencies::new();
    /// let delay = latencies.percentile(95).or(Duration::from_secs(1));
    /// assert_eq!(delay.patience(), Some(Duration::from_secs(1)));
    /// ```
    #[inline]
    pub fn or(self, otherwise: Duration) -> Self {
        Self { otherwise: Some(otherwise), ..self }
    }
}

impl<L: core::ops::Deref<Target = Latencies>> HedgeDelay for Percentile<L> {
    #[inline]
    fn patience(&self) -> Option<Duration> {
        self.latencies.at(self.percent).or(self.otherwise)
    }

    #[inline]
    fn took(&self, took: Duration) {
        self.latencies.record(took);
    }
}
