//! The expected amplification in closed form, where only the number of attempts ends a call.

use redial_core::Policy;

use super::Layers;

/// Attempts at the bottom for each call at the top, in the mean. `None` where limits in time or a
/// budget may end a call, and where there is no end at all.
///
/// A layer whose attempts fail with probability *f* makes Aₙ = 1 + f + … + fⁿ⁻¹ of *n* attempts in
/// the mean, and fails with probability fⁿ, which is the *f* of the layer above. The attempts of a
/// layer are calls of the layer below, equal and independent, so the layers' means multiply.
pub(super) fn amplification<S>(layers: &Layers, policy: &Policy<S>) -> Option<f64> {
    let limited = policy.get_within().is_some() || policy.get_wait_budget().is_some();
    if limited || layers.budget.is_some() {
        return None;
    }
    let (mut amplification, mut failure) = (1.0, layers.errors);
    for _ in 0..layers.depth {
        let (attempts, gave_up) = match policy.attempts() {
            Some(attempts) => geometric(failure, attempts),
            None if failure < 1.0 => (1.0 / (1.0 - failure), 0.0),
            None => return None,
        };
        (amplification, failure) = (amplification * attempts, gave_up);
    }
    Some(amplification)
}

/// 1 + f + … + fⁿ⁻¹, and fⁿ, by binary exponentiation: without the division by 1 − f, which fails
/// for f = 1.
fn geometric(f: f64, n: u32) -> (f64, f64) {
    let (mut sum, mut power) = (0.0, 1.0);
    for bit in (0..u32::BITS).rev() {
        (sum, power) = (sum * (1.0 + power), power * power);
        if n >> bit & 1 == 1 {
            (sum, power) = (1.0 + f * sum, power * f);
        }
    }
    (sum, power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geometric_sum_is_the_sum_of_its_terms() {
        for f in [0.0, 0.3, 0.999_999_999, 1.0] {
            let (mut sum, mut power) = (0.0, 1.0);
            for n in 1..100 {
                (sum, power) = (sum + power, power * f);
                let (ours, rest) = geometric(f, n);
                assert!((ours / sum - 1.0).abs() < 1e-13, "{f}, {n}: {ours}, not {sum}");
                assert!((rest - power).abs() <= 1e-13 * power, "{f}, {n}: {rest}, not {power}");
            }
        }
        assert_eq!(geometric(1.0, u32::MAX).0, f64::from(u32::MAX));
        assert_eq!(geometric(0.5, u32::MAX), (2.0, 0.0));
    }
}
