//! Randomness is an argument: 64-bit words come in, and one word picks one point of a range.

/// Where a delay's random words come from.
///
/// A closure that returns a word is one: `|| 0` gives every jitter the least value of its range,
/// `|| u64::MAX` the greatest.
///
/// ```
/// use core::time::Duration;
/// use redial_core::Backoff;
///
/// let policy = Backoff::constant(Duration::from_millis(100)).full_jitter().attempts(3);
/// let least: Vec<_> = policy.delays(|| 0).collect();
/// assert_eq!(least, [Duration::ZERO, Duration::ZERO]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no random words",
    label = "this call needs a source of chance",
    note = "on wasm32-unknown-unknown enable the feature `wasm` of redial, or say `.seed(…)` or `.rng(…)`"
)]
pub trait Random {
    /// The next word. Every value of 64 bits should be equally likely.
    fn word(&mut self) -> u64;
}

#[diagnostic::do_not_recommend]
impl<F: FnMut() -> u64> Random for F {
    #[inline]
    fn word(&mut self) -> u64 {
        self()
    }
}

/// The seedable generator: one seed replays one call, bit for bit, wherever it runs.
///
/// This is Steele, Lea and Flood's SplitMix64 (2014): 64 bits of state, every word once a period.
///
/// ```
/// use redial_core::{Random, SplitMix64};
///
/// let mut random = SplitMix64::new(42);
/// assert_eq!(random.word(), 0xbdd7_3226_2feb_6e95);
/// assert_eq!(random.word(), 0x28ef_e333_b266_f103);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The generator that starts from `seed`.
    ///
    /// ```
    /// use redial_core::{Random, SplitMix64};
    /// assert_eq!(SplitMix64::new(7).word(), SplitMix64::new(7).word());
    /// ```
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The generator of `seed` after it has given so many words, at once, however many they are.
    ///
    /// ```
    /// use redial_core::{Random, SplitMix64};
    ///
    /// let mut random = SplitMix64::new(7);
    /// let _ = (random.word(), random.word());
    /// assert_eq!(SplitMix64::resume(7, 2), random);
    /// ```
    #[inline]
    pub const fn resume(seed: u64, words: u64) -> Self {
        Self { state: seed.wrapping_add(words.wrapping_mul(STEP)) }
    }

    /// How many words it has given since it was started from `seed`.
    ///
    /// ```
    /// use redial_core::{Random, SplitMix64};
    ///
    /// let mut random = SplitMix64::new(7);
    /// assert_eq!(random.words_since(7), 0);
    /// let _ = random.word();
    /// assert_eq!(random.words_since(7), 1);
    /// ```
    #[inline]
    pub const fn words_since(&self, seed: u64) -> u64 {
        self.state.wrapping_sub(seed).wrapping_mul(STEP_INVERSE)
    }
}

/// What the state grows by for each word: 2⁶⁴ divided by the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The inverse of [`STEP`] modulo 2⁶⁴. It exists because the step is odd.
const STEP_INVERSE: u64 = 0xf1de_83e1_9937_733d;

const _: () = assert!(STEP.wrapping_mul(STEP_INVERSE) == 1);

impl Random for SplitMix64 {
    #[inline]
    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The point of the inclusive range that `word` picks: low + ⌊word · (high − low + 1) / 2⁶⁴⌋.
#[inline]
pub(crate) const fn pick(low: u64, high: u64, word: u64) -> u64 {
    // word · (width + 1) as word · width + word, so that the width may be all of 64 bits; of the
    // sum only the carry is needed.
    let product = word as u128 * (high - low) as u128;
    let (_, carry) = (product as u64).overflowing_add(word);
    low + (product >> 64) as u64 + carry as u64
}
