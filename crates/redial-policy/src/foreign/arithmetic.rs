//! The arithmetic of other systems, of operations that give the same bits everywhere.

/// Seconds of a float in nanoseconds, to the nearest; what is too long is the end of time.
pub(super) fn nanos_of_seconds(seconds: f64) -> u64 {
    // A cast of a float saturates.
    (seconds * 1e9).round() as u64
}

/// 2ᵗ · tanh √(4*t*), by a library that computes the same bits everywhere.
pub(super) fn curve(t: f64) -> f64 {
    // Where it would be infinite the difference of two would be none.
    libm::exp2(t.min(1000.0)) * libm::tanh((4.0 * t).sqrt())
}

/// A float that is cut to a whole number, as a cast in Go, Java or C++ does it.
pub(super) fn cut(value: f64) -> u64 {
    value as u64
}

/// `math.Pow` of Go for a whole exponent: repeated squaring of the fraction, with the exponent of two kept apart, so that
/// the last bit is the one that Go's has.
pub(super) fn go_power(base: f64, exponent: u32) -> f64 {
    let (mut square, mut square_exponent) = fraction(base);
    let (mut product, mut product_exponent) = (1.0, 0i64);
    let mut rest = exponent;
    while rest != 0 {
        // Beyond this the result is infinite or zero.
        if !(-(1 << 12)..=1 << 12).contains(&square_exponent) {
            product_exponent += square_exponent;
            break;
        }
        if rest & 1 == 1 {
            product *= square;
            product_exponent += square_exponent;
        }
        square *= square;
        square_exponent *= 2;
        if square < 0.5 {
            square += square;
            square_exponent -= 1;
        }
        rest >>= 1;
    }
    scaled_by_two(product, product_exponent)
}

/// A positive number as a fraction from a half to one, and a power of two.
fn fraction(value: f64) -> (f64, i64) {
    const BIAS: i64 = 1022;
    if value <= 0.0 || !value.is_normal() {
        return (0.0, 0);
    }
    let bits = value.to_bits();
    let exponent = i64::try_from(bits >> 52 & 0x7ff).unwrap_or_default() - BIAS;
    (f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), exponent)
}

/// Times a power of two. Steps that stay in range round nothing.
fn scaled_by_two(value: f64, exponent: i64) -> f64 {
    let step = |power: i64| f64::from_bits(u64::try_from(power + 1023).unwrap_or_default() << 52);
    let (mut value, mut rest) = (value, exponent.clamp(-4000, 4000));
    while rest != 0 {
        let part = rest.clamp(-1000, 1000);
        value *= step(part);
        rest -= part;
    }
    value
}

/// ⌊*from* · (*to* / *from*)^(*n* / *steps*)⌋: the greatest x whose power x^*steps* is not above *from*^(*steps* − *n*) · *to*^*n*, found
/// by halving, in numbers of 64 bits and an exponent.
pub(super) fn geometric(from: u64, to: u64, n: u64, steps: u64) -> u64 {
    let wanted = Wide::power(from, steps - n).times(Wide::power(to, n));
    let (mut low, mut high) = (from.min(to), to.max(from).saturating_add(1));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if Wide::power(middle, steps).is_at_most(wanted, steps) {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

/// A number of 64 bits, the first of which is set, times a power of two.
#[derive(Clone, Copy)]
struct Wide {
    digits: u64,
    exponent: i64,
}

impl Wide {
    fn of(value: u64) -> Self {
        let shift = value.leading_zeros().min(63);
        Self { digits: value << shift, exponent: -i64::from(shift) }
    }

    fn times(self, other: Self) -> Self {
        let product = u128::from(self.digits) * u128::from(other.digits);
        let shift = product.leading_zeros().min(1);
        let digits = u64::try_from(product << shift >> 64).unwrap_or(u64::MAX);
        Self { digits, exponent: self.exponent + other.exponent + 64 - i64::from(shift) }
    }

    fn power(base: u64, exponent: u64) -> Self {
        let (mut square, mut product, mut rest) = (Self::of(base), Self::of(1), exponent);
        while rest > 0 {
            if rest & 1 == 1 {
                product = product.times(square);
            }
            square = square.times(square);
            rest >>= 1;
        }
        product
    }

    /// Below it, or as near to it as so many multiplications can tell.
    fn is_at_most(self, other: Self, multiplications: u64) -> bool {
        let slack = multiplications.saturating_mul(16).min(1 << 40);
        match self.exponent.cmp(&other.exponent) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.digits <= other.digits.saturating_add(slack),
            // The other one may be just below a power of two.
            std::cmp::Ordering::Greater => {
                self.exponent == other.exponent + 1
                    && self.digits - (1 << 63) <= slack
                    && other.digits >= u64::MAX - slack
            }
        }
    }
}
