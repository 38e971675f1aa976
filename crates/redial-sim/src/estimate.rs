//! What trials say about a mean and about a share, and how sure they are.

/// The mean of a quantity over trials.
///
/// ```
/// use redial_sim::Estimate;
/// let estimate = Estimate::of([4.0, 6.0, 5.0, 5.0]);
/// assert_eq!(estimate.mean, 5.0);
/// assert!((estimate.ci95 - 1.299).abs() < 0.002); // 3.182 · 0.816 / √4
/// assert!((estimate.high - 6.299).abs() < 0.002);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval by Student's distribution, which takes the
    /// trials for normally distributed. Infinite where there is one trial, which says nothing about
    /// the spread.
    pub ci95: f64,
    /// The lower end of the 95 % confidence interval to rely on, which also allows for trials that
    /// are skewed, of two kinds, or rarely different: how is said where the estimate is made.
    /// Negative infinity where there is none.
    pub low: f64,
    /// The upper end. Infinite where there is none.
    pub high: f64,
}

/// The number of independent observations in a trial whose clients influence one another: the whole
/// trial is one.
pub(crate) const COUPLED: f64 = 1.0;

/// With fewer trials than this there is no interval: their variance says next to nothing.
const FEWEST: f64 = 3.0;

impl Estimate {
    /// What is known, or was the same in every trial.
    ///
    /// ```
    /// let exact = redial_sim::Estimate::exact(64.0);
    /// assert_eq!((exact.low, exact.ci95, exact.high), (64.0, 0.0, 64.0));
    /// ```
    pub const fn exact(mean: f64) -> Self {
        Self { mean, ci95: 0.0, low: mean, high: mean }
    }

    /// The estimate from these values, which are added in this order. Of no values it is not a
    /// number. The interval is Student's with Hall's correction for skewness (1992), which is
    /// longer on the side of the rare values; there is none for fewer than three of them.
    ///
    /// ```
    /// use redial_sim::Estimate;
    /// assert_eq!(Estimate::of([7.0; 3]), Estimate::exact(7.0));
    /// assert_eq!(Estimate::of([7.0]).ci95, f64::INFINITY);
    /// assert!(!Estimate::of([7.0, 8.0]).has_interval());
    /// let skewed = Estimate::of([1.0, 1.0, 1.0, 1.0, 6.0]);
    /// assert!(skewed.high - skewed.mean > 3.0 * (skewed.mean - skewed.low));
    /// ```
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let moments = Moments::of(values);
        let Moments { count, mean, .. } = moments;
        let (low, high) = match moments.is_constant() {
            true => (mean, mean),
            false if count < FEWEST => (f64::NEG_INFINITY, f64::INFINITY),
            false => moments.hall(student_97_5(count - 1.0)),
        };
        Self { mean, ci95: moments.student(), low, high }
    }

    /// An estimate over the values that there are, or `None` where there is none.
    pub(crate) fn of_some(
        values: impl IntoIterator<Item = Option<f64>>,
        of: impl FnOnce(Vec<f64>) -> Self,
    ) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().flatten().collect();
        (!values.is_empty()).then(|| of(values))
    }

    /// The mean of shares, one for each trial, each the share of so many `independent`
    /// observations. Where the clients of a trial influence one another, as those that contend do,
    /// a trial is one observation.
    ///
    /// The interval is Wilson's score interval for the effective sample size (Korn and Graubard,
    /// 1998): the number of independent observations that would have the variance that was seen.
    /// Where all shares are 0, or all are 1, the sample size is that of all observations, and the
    /// interval is about the rule of three's.
    ///
    /// ```
    /// use redial_sim::Estimate;
    /// let rare = Estimate::of_shares([0.0; 500], 1.0);
    /// assert!((rare.mean, rare.low) == (0.0, 0.0) && rare.high > 0.007 && rare.high < 0.008);
    /// let two_kinds = Estimate::of_shares([0.0, 0.0, 0.0, 1.0], 1.0);
    /// assert!(two_kinds.low > 0.0 && two_kinds.high < 1.0);
    /// ```
    pub fn of_shares(values: impl IntoIterator<Item = f64>, independent: f64) -> Self {
        let moments = Moments::of(values);
        let Moments { count, mean, .. } = moments;
        let is_extreme = mean <= 0.0 || mean >= 1.0;
        let (low, high) = match moments.is_constant() {
            true if is_extreme => wilson(mean, count * independent, NORMAL_97_5),
            true => (mean, mean),
            false if count < FEWEST => (f64::NEG_INFINITY, f64::INFINITY),
            false => {
                let effective = mean * (1.0 - mean) / moments.error().powi(2);
                wilson(mean, effective, student_97_5(count - 1.0))
            }
        };
        Self { mean, ci95: moments.student(), low, high }
    }

    /// The mean of differences of shares, one for each trial, each of so many `independent`
    /// observations. The interval is that of [`of`](Self::of), but where no trial differs it is as
    /// wide as that of a share of which nothing was seen.
    ///
    /// ```
    /// use redial_sim::Estimate;
    /// let none_seen = Estimate::of_share_differences([0.0; 20], 1.0);
    /// assert!(none_seen.high > 0.16 && none_seen.low < -0.16);
    /// ```
    pub fn of_share_differences(values: impl IntoIterator<Item = f64>, independent: f64) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let estimate = Self::of(values.iter().copied());
        let count = values.len() as f64;
        if estimate.ci95 != 0.0 {
            let is_possible = |end: f64| if end.is_finite() { end.clamp(-1.0, 1.0) } else { end };
            let (low, high) = (is_possible(estimate.low), is_possible(estimate.high));
            return Self { low, high, ..estimate };
        }
        let (_, unseen) = wilson(0.0, count * independent, NORMAL_97_5);
        let (low, high) = (estimate.mean - unseen, estimate.mean + unseen);
        Self { low: low.max(-1.0), high: high.min(1.0), ..estimate }
    }

    /// By how much something happens in more of our trials than of theirs; each pair says whether
    /// it did in ours and in theirs. The interval is Tango's for paired proportions (1998), which
    /// is to differences what Wilson's is to shares.
    ///
    /// ```
    /// use redial_sim::Estimate;
    /// let pairs = [(true, true), (true, false), (true, false), (false, false)];
    /// let change = Estimate::of_pairs(pairs);
    /// assert_eq!(change.mean, 0.5);
    /// assert!(change.low < 0.0 && change.high < 0.9); // four pairs may be by chance
    /// ```
    pub fn of_pairs(pairs: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let pairs: Vec<(bool, bool)> = pairs.into_iter().collect();
        let change = |(ours, theirs): &(bool, bool)| f64::from(*ours as i8 - *theirs as i8);
        let change = Moments::of(pairs.iter().map(change));
        let count = |is: (bool, bool)| pairs.iter().filter(|pair| **pair == is).count() as f64;
        let (low, high) = tango(count((true, false)), count((false, true)), pairs.len() as f64);
        Self { mean: change.mean, ci95: change.student(), low, high }
    }

    /// Whether there is an interval to rely on.
    ///
    /// ```
    /// assert!(!redial_sim::Estimate::of([7.0]).has_interval());
    /// ```
    pub const fn has_interval(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

/// The count, the mean, and the second and third central moments, as sums.
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
    cubes: f64,
}

impl Moments {
    fn of(values: impl IntoIterator<Item = f64>) -> Self {
        // Welford's update, which does not cancel where the spread is small and the mean large;
        // Pébay's for the third moment.
        let (mut count, mut mean, mut squares, mut cubes) = (0.0, 0.0, 0.0, 0.0);
        for value in values {
            count += 1.0;
            let off: f64 = value - mean;
            let step = off / count;
            mean += step;
            cubes += step * (step * off * (count - 1.0) * (count - 2.0) - 3.0 * squares);
            squares += off * (value - mean);
        }
        if count == 0.0 {
            mean = f64::NAN;
        }
        Self { count, mean, squares, cubes }
    }

    fn is_constant(&self) -> bool {
        self.count > 1.0 && self.squares == 0.0
    }

    /// The standard error of the mean.
    fn error(&self) -> f64 {
        (self.squares / (self.count - 1.0) / self.count).sqrt()
    }

    /// Half the width of Student's interval.
    fn student(&self) -> f64 {
        match self.count {
            0.0 => f64::NAN,
            1.0 => f64::INFINITY,
            count => student_97_5(count - 1.0) * self.error(),
        }
    }

    /// Student's interval after Hall's transformation (*On the removal of skewness by
    /// transformation*, 1992), whose cubic can be inverted: with a skewness of zero it is
    /// Student's.
    fn hall(&self, point: f64) -> (f64, f64) {
        let Self { count, mean, squares, cubes } = *self;
        let spread = (squares / (count - 1.0)).sqrt();
        let skewness = cubes / squares / (squares / count).sqrt();
        let off = |point: f64| match skewness.abs() < 1e-6 {
            true => point / count.sqrt(),
            false => {
                let off = point / count.sqrt() - skewness / (6.0 * count);
                3.0 / skewness * ((1.0 + skewness * off).cbrt() - 1.0)
            }
        };
        (mean - spread * off(point), mean - spread * off(-point))
    }
}

/// Tango's score interval (1998) for the difference of paired proportions: all differences whose
/// score is within ±1.96. Only the discordant pairs matter, `ours` of them in one direction and
/// `theirs` in the other.
fn tango(ours: f64, theirs: f64, all: f64) -> (f64, f64) {
    let score = |change: f64| {
        // The maximum-likelihood estimate of theirs, given this difference.
        let b = (2.0 * all - ours + theirs) * change - ours - theirs;
        let c = theirs * change * (1.0 - change);
        let likeliest = ((b * b + 8.0 * all * c).max(0.0).sqrt() - b) / (4.0 * all);
        let variance = all * (2.0 * likeliest + change * (1.0 - change));
        (ours - theirs - all * change) / variance.max(f64::MIN_POSITIVE).sqrt()
    };
    // The score falls monotonically, so its ends are found by bisection.
    let where_score_is = |point: f64| {
        let (mut low, mut high) = (-1.0, 1.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if score(middle) > point { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    };
    (where_score_is(NORMAL_97_5), where_score_is(-NORMAL_97_5))
}

/// Wilson's interval for a share of `n` things, with the point of a distribution.
fn wilson(mean: f64, n: f64, point: f64) -> (f64, f64) {
    let squared = point * point;
    let center = (mean + squared / (2.0 * n)) / (1.0 + squared / n);
    let spread = mean * (1.0 - mean) / n + squared / (4.0 * n * n);
    let half = point * spread.max(0.0).sqrt() / (1.0 + squared / n);
    ((center - half).max(0.0).min(mean), (center + half).min(1.0).max(mean))
}

/// How many of the trials.
///
/// ```
/// use redial_sim::Share;
/// let share = Share::of(0, 100);
/// assert_eq!(share.mean, 0.0);
/// assert!(share.high > 0.03 && share.high < 0.04); // none in a hundred is not never
/// let share = Share::of(3, 20);
/// assert_eq!(format!("{:.3} to {:.3}", share.low, share.high), "0.052 to 0.360");
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
        let mean = f64::from(count) / f64::from(total);
        let (low, high) = wilson(mean, f64::from(total), NORMAL_97_5);
        Self { mean, low, high }
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

    /// Airway responsiveness before and after a transplantation, the example of Fagerland, Lydersen
    /// and Laake (2014): of 21 pairs, 1 and 7 differ.
    #[test]
    fn a_difference_of_pairs_has_the_published_interval() {
        let (low, high) = tango(1.0, 7.0, 21.0);
        assert!((low + 0.517).abs() < 5e-4 && (high + 0.026).abs() < 5e-4, "{low} to {high}");
        let (low, high) = tango(0.0, 0.0, 20.0);
        assert!((high - 0.1611).abs() < 1e-4 && (low + high).abs() < 1e-9, "{low} to {high}");
        assert_eq!(tango(20.0, 0.0, 20.0).1.round(), 1.0);
    }

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
