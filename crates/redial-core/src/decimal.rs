//! Exact decimals with nine digits after the point: factors, percentages, jitter bounds.

pub(crate) const BILLION: u64 = 1_000_000_000;

/// A number in billionths, below one billion: at most nine digits on either side of the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Decimal {
    billionths: u64,
}

impl Decimal {
    pub(crate) const ONE: Self = Self::from_billionths(BILLION);
    pub(crate) const TWO: Self = Self::from_billionths(2 * BILLION);
    pub(crate) const TEN: Self = Self::from_billionths(10 * BILLION);

    #[inline]
    pub(crate) const fn from_billionths(billionths: u64) -> Self {
        Self { billionths }
    }

    #[inline]
    pub(crate) const fn billionths(self) -> u64 {
        self.billionths
    }

    /// The decimal nearest to `value`, where there is one: `1.1` is 1.1, not the binary fraction
    /// beside it.
    pub(crate) const fn from_float(value: f64) -> Option<Self> {
        // Also false for NaN.
        if !(value >= 0.0 && value < BILLION as f64) {
            return None;
        }
        // Split first: the whole part is exact, and the fraction keeps all the bits it has.
        let whole = value as u64;
        let fraction = value - whole as f64;
        let billionths = (fraction * BILLION as f64 + 0.5) as u64;
        Some(Self::from_billionths(whole * BILLION + billionths))
    }

    /// It, where it is a whole number.
    #[inline]
    pub(crate) const fn whole(self) -> Option<u64> {
        // Two is what nearly everybody has, and a division is slow.
        if self.billionths == 2 * BILLION {
            Some(2)
        } else if self.billionths % BILLION == 0 {
            Some(self.billionths / BILLION)
        } else {
            None
        }
    }

    #[inline]
    pub(crate) const fn at_most(self, bound: Self) -> bool {
        self.billionths <= bound.billionths
    }

    /// ⌊`self` · `nanos`⌋, saturating.
    pub(crate) const fn of_floor(self, nanos: u64) -> u64 {
        saturate(self.billionths as u128 * nanos as u128 / BILLION as u128)
    }

    /// ⌈`self` · `nanos`⌉ − 1, from zero, saturating.
    pub(crate) const fn of_ceil_less_one(self, nanos: u64) -> u64 {
        let ceil = (self.billionths as u128 * nanos as u128).div_ceil(BILLION as u128);
        saturate(ceil.saturating_sub(1))
    }
}

pub(crate) const fn saturate(wide: u128) -> u64 {
    if wide > u64::MAX as u128 { u64::MAX } else { wide as u64 }
}
