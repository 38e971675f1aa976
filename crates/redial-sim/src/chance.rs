//! Random variates from random words: uniform, exponential and normal.
//!
//! All are bit for bit the same on every platform that computes in IEEE 754 doubles: nothing here
//! calls the platform's mathematics.

use redial_core::{Random, SplitMix64};

use crate::elementary::{exp, ln, sqrt};

/// A whole number from 0 to `greatest`, each as likely as the others.
///
/// ```
/// use redial_sim::chance::uniform;
/// assert_eq!(uniform(9, &mut || 0), 0);
/// assert_eq!(uniform(9, &mut || u64::MAX), 9);
/// ```
#[inline]
pub fn uniform(greatest: u64, random: &mut impl Random) -> u64 {
    let width = u128::from(greatest) + 1;
    ((u128::from(random.word()) * width) >> 64) as u64
}

/// A number above 0 and at most 1.
///
/// ```
/// use redial_sim::chance::unit;
/// assert_eq!(unit(&mut || u64::MAX), 1.0);
/// assert!(unit(&mut || 0) > 0.0);
/// ```
#[inline]
pub fn unit(random: &mut impl Random) -> f64 {
    ((random.word() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// An exponentially distributed number of mean 1: the gap between two arrivals of a Poisson stream.
///
/// ```
/// use redial_core::SplitMix64;
/// use redial_sim::chance::exponential;
///
/// let mut random = SplitMix64::new(1);
/// let sum: f64 = (0..100_000).map(|_| exponential(&mut random)).sum();
/// assert!((sum / 100_000.0 - 1.0).abs() < 0.01);
/// ```
#[inline]
pub fn exponential(random: &mut impl Random) -> f64 {
    -ln(unit(random))
}

/// A normally distributed number of mean 0 and standard deviation 1.
///
/// Marsaglia and Tsang's ziggurat (2000) with 256 layers: 99 numbers of 100 take one word, one
/// product and one comparison.
///
/// ```
/// use redial_core::SplitMix64;
/// use redial_sim::chance::normal;
///
/// let mut random = SplitMix64::new(1);
/// let sum: f64 = (0..100_000).map(|_| normal(&mut random)).sum();
/// assert!((sum / 100_000.0).abs() < 0.01);
/// ```
#[inline]
pub fn normal(random: &mut impl Random) -> f64 {
    let word = random.word();
    let layer = (word & 0xff) as usize;
    let x = signed_unit(word) * LAYERS.edge[layer];
    if x.abs() < LAYERS.edge[layer + 1] { x } else { beside_the_layer(layer, x, random) }
}

/// From −1 to 1, from the bits of a word that do not choose the layer.
#[inline]
fn signed_unit(word: u64) -> f64 {
    ((word as i64) >> 11) as f64 * (1.0 / (1u64 << 52) as f64)
}

/// A point that is not in the inner box of its layer: in the wedge, in the tail, or to be drawn
/// again.
#[cold]
#[inline(never)]
fn beside_the_layer(mut layer: usize, mut x: f64, random: &mut impl Random) -> f64 {
    loop {
        if layer == 0 {
            return tail(x < 0.0, random);
        }
        let (outer, inner) = (LAYERS.density[layer], LAYERS.density[layer + 1]);
        if outer + (inner - outer) * unit(random) < exp(-0.5 * x * x) {
            return x;
        }
        let word = random.word();
        layer = (word & 0xff) as usize;
        x = signed_unit(word) * LAYERS.edge[layer];
        if x.abs() < LAYERS.edge[layer + 1] {
            return x;
        }
    }
}

/// Beyond the last layer's edge, by Marsaglia's method (1964).
fn tail(negative: bool, random: &mut impl Random) -> f64 {
    loop {
        let x = exponential(random) / EDGE;
        let y = exponential(random);
        if 2.0 * y >= x * x {
            return if negative { -(EDGE + x) } else { EDGE + x };
        }
    }
}

/// Where the tail begins, and the area of each layer, for 256 layers.
const EDGE: f64 = 3.654_152_885_361_009;
const AREA: f64 = 0.004_928_673_233_974_655;

struct Layers {
    /// The right edge of each layer, from the widest, which stands for the base with its tail.
    edge: [f64; 257],
    /// e^(−edge² / 2)
    density: [f64; 257],
}

static LAYERS: Layers = layers();

const fn layers() -> Layers {
    let (mut edge, mut density) = ([0.0; 257], [1.0; 257]);
    let base = exp(-0.5 * EDGE * EDGE);
    (edge[0], edge[1]) = (AREA / base, EDGE);
    (density[0], density[1]) = (exp(-0.5 * edge[0] * edge[0]), base);
    let mut i = 2;
    while i < 256 {
        // Each layer is as wide as the edge below it and as high as makes its area the same.
        density[i] = density[i - 1] + AREA / edge[i - 1];
        edge[i] = sqrt(-2.0 * ln(density[i]));
        i += 1;
    }
    Layers { edge, density }
}

/// The seed of one trial: a function of the experiment's seed and the trial's index alone, so that
/// it does not matter which thread runs it, or when.
///
/// ```
/// use redial_sim::chance::trial_seed;
/// assert_eq!(trial_seed(1, 7), trial_seed(1, 7));
/// assert_ne!(trial_seed(1, 7), trial_seed(1, 8));
/// assert_ne!(trial_seed(1, 7), trial_seed(2, 7));
/// ```
pub fn trial_seed(seed: u64, trial: u64) -> u64 {
    let start = SplitMix64::new(seed).word();
    SplitMix64::new(start.wrapping_add(trial)).word()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layers_meet_at_the_top() {
        // The last layer's height must end at the density's top, or the area was wrong.
        let top = LAYERS.density[255] + AREA / LAYERS.edge[255];
        assert!((top - 1.0).abs() < 1e-12, "{top}");
    }

    #[test]
    fn moments_and_tails_are_the_normal_distribution_s() {
        let mut random = SplitMix64::new(2026);
        let count = 4_000_000;
        let (mut sums, mut beyond) = ([0.0; 4], [0u32; 4]);
        for _ in 0..count {
            let x = normal(&mut random);
            for (power, sum) in sums.iter_mut().enumerate() {
                *sum += x.powi(power as i32 + 1);
            }
            for (sigma, beyond) in beyond.iter_mut().enumerate() {
                *beyond += u32::from(x.abs() > sigma as f64 + 1.0);
            }
        }
        let moments = sums.map(|sum| sum / f64::from(count));
        for (moment, (expected, tolerance)) in
            moments.iter().zip([(0.0, 0.002), (1.0, 0.003), (0.0, 0.008), (3.0, 0.02)])
        {
            assert!((moment - expected).abs() < tolerance, "{moments:?}");
        }
        // P(|x| > 1, 2, 3, 4)
        for (beyond, share) in beyond.iter().zip([0.317_310_5, 0.045_500_3, 0.002_699_8, 6.334e-5])
        {
            let expected = share * f64::from(count);
            assert!((f64::from(*beyond) - expected).abs() < 4.0 * expected.sqrt(), "{beyond}");
        }
    }

    #[test]
    fn the_first_draws_are_these_on_every_platform() {
        let mut random = SplitMix64::new(1);
        let bits = [0; 4].map(|_: u64| normal(&mut random).to_bits());
        assert_eq!(bits, FIRST_DRAWS);
    }

    const FIRST_DRAWS: [u64; 4] = [
        0xbfee_32dd_f398_103e,
        0xbfeb_d1e1_a345_9adf,
        0xbfba_5fdb_51e1_00d3,
        0x4004_5043_d243_5f24,
    ];
}
