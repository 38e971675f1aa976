//! exp, ln and square root from +, −, · and / alone.
//!
//! The platform's own exp and ln differ in their last bits from one system to the next, and one bit
//! is enough to swap two events. The four operations are exact to the bit wherever Rust computes
//! in IEEE 754 doubles, and the compiler may not fuse or reorder them.

const LN_2: f64 = core::f64::consts::LN_2;

/// ln 2 in two parts. The first ends in zeros, so that a whole number times it is exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// eˣ for x ≤ 0, which is all that a density needs; zero below e⁻⁷⁰⁰.
pub(crate) const fn exp(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    // x = k · ln 2 + r, |r| ≤ ln 2 / 2
    let k = (x / LN_2 - 0.5) as i64;
    let r = (x - k as f64 * LN_2_HIGH) - k as f64 * LN_2_LOW;
    // eʳ by its series, the smallest terms first; the term of r¹⁵ is below 2⁻⁵⁶.
    let mut sum = 0.0;
    let mut n = INVERSE_FACTORIALS.len();
    while n > 0 {
        n -= 1;
        sum = sum * r + INVERSE_FACTORIALS[n];
    }
    sum * f64::from_bits(((1023 + k) as u64) << 52)
}

/// 1/n!
const INVERSE_FACTORIALS: [f64; 15] = {
    let mut inverse = [1.0; 15];
    let (mut n, mut factorial) = (1, 1u64);
    while n < inverse.len() {
        factorial *= n as u64;
        inverse[n] = 1.0 / factorial as f64;
        n += 1;
    }
    inverse
};

/// The natural logarithm of a normal, positive number.
pub(crate) const fn ln(x: f64) -> f64 {
    // x = m · 2ᵏ, m from √½ to √2
    let bits = x.to_bits();
    let mut k = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 1023 << 52);
    if m > core::f64::consts::SQRT_2 {
        m /= 2.0;
        k += 1;
    }
    // ln m = 2 · (s + s³/3 + s⁵/5 + …), s = (m − 1) / (m + 1), |s| ≤ 0.172
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    let mut n = 21;
    while n > 0 {
        sum = sum * square + 1.0 / n as f64;
        n -= 2;
    }
    k as f64 * LN_2_LOW + 2.0 * s * sum + k as f64 * LN_2_HIGH
}

/// The square root by Newton's steps, in a `const`, where the hardware's is not to be had.
pub(crate) const fn sqrt(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let mut root = if x > 1.0 { x } else { 1.0 };
    let mut step = 0;
    while step < 64 {
        root = 0.5 * (root + x / root);
        step += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_agree_with_the_platform_to_the_last_bits() {
        for i in 1..2000 {
            let x = f64::from(i) * 0.01;
            assert!((ln(x) - x.ln()).abs() <= 4e-16 * (1.0 + x.ln().abs()), "ln {x}");
            assert!((exp(-x) / (-x).exp() - 1.0).abs() < 1e-15, "exp -{x}");
            assert!((sqrt(x) / x.sqrt() - 1.0).abs() < 1e-15, "sqrt {x}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(exp(-1e9), 0.0);
    }

    #[test]
    fn the_parts_of_ln_2_are_ln_2() {
        assert_eq!(LN_2_HIGH + LN_2_LOW, LN_2);
        assert_eq!(LN_2_HIGH.to_bits() & 0x7fff_ffff & 0xffff, 0);
    }
}
