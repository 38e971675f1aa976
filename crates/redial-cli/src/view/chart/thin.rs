//! Fewer points that look the same.

/// Of points in order, those that can be seen where a stretch of this width is one column of a
/// picture: the first, the lowest, the highest and the last of each.
pub(super) fn thinned(points: &[(f64, f64)], width: f64) -> Vec<(f64, f64)> {
    let column = |point: &(f64, f64)| libm::floor(point.0 / width);
    let columns = points.chunk_by(|one, other| column(one) == column(other));
    columns.flat_map(seen).collect()
}

fn seen(column: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let by_height = |one: &usize, other: &usize| column[*one].1.total_cmp(&column[*other].1);
    let indices = || 0..column.len();
    let lowest = indices().min_by(by_height).unwrap_or(0);
    let highest = indices().max_by(by_height).unwrap_or(0);
    let mut kept = vec![0, lowest, highest, column.len() - 1];
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|index| column[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_stay_and_of_many_the_extremes() {
        let few = [(0.0, 1.0), (2.0, 3.0), (4.0, 2.0)];
        assert_eq!(thinned(&few, 1.0), few);
        let many: Vec<(f64, f64)> =
            (0..10_000).map(|i| (f64::from(i) / 100.0, f64::from(i * 7919 % 1000))).collect();
        let left = thinned(&many, 1.0);
        assert!(left.len() <= 400, "{}", left.len());
        let highest =
            |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
        assert_eq!(highest(&left), highest(&many));
        assert_eq!((left.first(), left.last()), (many.first(), many.last()));
        assert_eq!(thinned(&[], 1.0), []);
    }
}
