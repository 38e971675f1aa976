//! What trials say about a mean and about a share, and how sure they are.

/// The mean of a quantity over trials.
///
/// ```
/// use redial_sim::Estimate;
/// let estimate = Estimate::of([4.0, 6.0, 5.0, 5.0]);
/// assert_eq!(estimate.mean, 5.0);
/// assert!((estimate.ci95 - 1.299).abs() < 0.002); // 3.182 · 0.816 / √4
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval, by Student's distribution. Infinite where
    /// there is one trial, which says nothing about the spread.
    pub ci95: f64,
}

impl Estimate {
    /// The estimate from these values, which are added in this order. Of no values it is not a
    /// number.
    ///
    /// ```
    /// use redial_sim::Estimate;
    /// assert_eq!(Estimate::of([7.0; 3]), Estimate { mean: 7.0, ci95: 0.0 });
    /// assert_eq!(Estimate::of([7.0]).ci95, f64::INFINITY);
    /// ```
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        // Welford's update, which does not lose a small spread around a large mean.
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for value in values {
            count += 1.0;
            let off = value - mean;
            mean += off / count;
            squares += off * (value - mean);
        }
        if count == 0.0 {
            return Self { mean: f64::NAN, ci95: f64::NAN };
        }
        if count == 1.0 {
            return Self { mean, ci95: f64::INFINITY };
        }
        let error = (squares / (count - 1.0) / count).sqrt();
        Self { mean, ci95: student_97_5(count - 1.0) * error }
    }
}

/// How many of the trials.
///
/// ```
/// use redial_sim::Share;
/// let share = Share::of(0, 100);
/// assert_eq!(share.mean, 0.0);
/// assert!(share.high > 0.03 && share.high < 0.04); // none in a hundred is not never
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share of the trials.
    pub mean: f64,
    /// The lower end of its 95 % confidence interval, by Wilson's formula.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Share {
    /// The share that `count` is of `total`. Of a total of zero it is not a number.
    ///
    /// ```
    /// assert_eq!(redial_sim::Share::of(1, 4).mean, 0.25);
    /// ```
    pub fn of(count: u32, total: u32) -> Self {
        let (n, mean) = (f64::from(total), f64::from(count) / f64::from(total));
        let z_squared = NORMAL_97_5 * NORMAL_97_5;
        let center = (mean + z_squared / (2.0 * n)) / (1.0 + z_squared / n);
        let spread = mean * (1.0 - mean) / n + z_squared / (4.0 * n * n);
        let half = NORMAL_97_5 * spread.sqrt() / (1.0 + z_squared / n);
        Self { mean, low: (center - half).max(0.0), high: (center + half).min(1.0) }
    }
}

/// The normal distribution's 97.5 % point.
const NORMAL_97_5: f64 = 1.959_963_984_540_054;

/// Student's 97.5 % point for `freedom` degrees of freedom. Exact for one and two; from three on by
/// the expansion in 1/freedom (Abramowitz and Stegun 26.7.5), which is off by 0.2 % at most.
fn student_97_5(freedom: f64) -> f64 {
    if freedom < 1.5 {
        return 12.706_204_736;
    }
    if freedom < 2.5 {
        return 4.302_652_73;
    }
    let z = NORMAL_97_5;
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    let first = (z3 + z) / 4.0;
    let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0;
    let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0;
    let fourth = (79.0 * z.powi(9) + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * z) / 92160.0;
    let f = freedom;
    z + first / f + second / (f * f) + third / f.powi(3) + fourth / f.powi(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_s_points_are_those_of_the_tables() {
        for (freedom, point) in
            [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (499, 1.965)]
        {
            let ours = student_97_5(f64::from(freedom));
            assert!((ours - point).abs() < 0.004, "{freedom}: {ours}, not {point}");
        }
    }
}
