//! One number for a whole trace: two runs with the same one had the same events.

/// A running digest of words, in order.
///
/// It multiplies and folds like wyhash. It tells runs apart; it does not withstand an adversary.
///
/// ```
/// use redial_sim::Digest;
///
/// let mut one = Digest::new();
/// one.add(1);
/// one.add(2);
/// let mut other = Digest::new();
/// other.add(2);
/// other.add(1);
/// assert_ne!(one, other);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(u64);

impl Digest {
    /// The digest of nothing.
    ///
    /// ```
    /// assert_eq!(redial_sim::Digest::new(), redial_sim::Digest::default());
    /// ```
    pub const fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// One more word.
    ///
    /// ```
    /// let mut digest = redial_sim::Digest::new();
    /// digest.add(7);
    /// assert_ne!(digest, redial_sim::Digest::new());
    /// ```
    #[inline]
    pub const fn add(&mut self, word: u64) {
        let product = (self.0 ^ word) as u128 * 0xa076_1d64_78bd_642f;
        // Without the addition, a state of zero would stay zero whatever word follows.
        self.0 = ((product as u64) ^ (product >> 64) as u64).wrapping_add(0xe703_7ed1_a0b4_28db);
    }

    /// One more event of a trace.
    ///
    /// ```
    /// let (mut one, mut other) = (redial_sim::Digest::new(), redial_sim::Digest::new());
    /// one.add_event(10, 3, 0);
    /// other.add_event(10, 3, 1);
    /// assert_ne!(one, other);
    /// ```
    #[inline]
    pub const fn add_event(&mut self, tick: u64, client: u32, kind: u8) {
        self.add(tick.rotate_left(32) ^ (client as u64) << 8 ^ kind as u64);
    }

    /// The number.
    ///
    /// ```
    /// assert_ne!(redial_sim::Digest::new().value(), 0);
    /// ```
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}
