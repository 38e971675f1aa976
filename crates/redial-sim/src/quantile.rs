//! The value that a share of all values does not exceed.

/// The nearest-rank percentile: the least value that at least `percent` % of the values do not
/// exceed. `None` where there are no values. Reorders the values (quickselect).
pub(crate) fn quantile(values: &mut [u64], percent: usize) -> Option<u64> {
    let rank = (values.len() * percent).div_ceil(100).max(1);
    (rank <= values.len()).then(|| *values.select_nth_unstable(rank - 1).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let quantile = |values: &[u64], percent| quantile(&mut values.to_vec(), percent);
        assert_eq!(quantile(&[], 50), None);
        assert_eq!(quantile(&[7], 0), Some(7));
        assert_eq!(quantile(&[7], 100), Some(7));
        assert_eq!(quantile(&[3, 1, 2], 50), Some(2));
        assert_eq!(quantile(&[4, 3, 1, 2], 50), Some(2));
        let hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(quantile(&hundred, 99), Some(99));
        assert_eq!(quantile(&hundred, 100), Some(100));
    }
}
