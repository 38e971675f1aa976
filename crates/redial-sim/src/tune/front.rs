//! Which candidates are better than which.

use std::cmp::Ordering;

use super::Candidate;

/// The better first: who serves, then who does well in what it does worst, then who does well in
/// all.
pub(super) fn order(one: &Candidate, other: &Candidate) -> Ordering {
    let keys = |of: &Candidate| [of.missing, of.regret(), of.calls + of.time];
    let pairs = keys(one).into_iter().zip(keys(other));
    pairs
        .map(|(one, other)| one.total_cmp(&other))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Who takes so many times what the winner does is too far away to be a choice.
const FAR: f64 = 2.0;

/// The indices of those that no other betters, among those that serve best and are not far from the
/// best: the fewest calls first. The best in [`order`] is one of them, for what is better in calls or
/// in time and not worse in the other is before it.
pub(super) fn front(candidates: &[Candidate]) -> Vec<usize> {
    let Some(best) = candidates.iter().min_by(|one, other| order(one, other)) else {
        return vec![];
    };
    let is_near = |candidate: &Candidate| {
        candidate.missing == best.missing && candidate.regret() <= FAR * best.regret()
    };
    let mut indices: Vec<_> =
        (0..candidates.len()).filter(|&index| is_near(&candidates[index])).collect();
    let place = |index: usize| (candidates[index].calls, candidates[index].time);
    indices.sort_by(|&one, &other| {
        let (one, other) = (place(one), place(other));
        one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    let mut least_time = None;
    indices.retain(|&index| {
        let time = candidates[index].time;
        let is_sooner = least_time.is_none_or(|least| time < least);
        if is_sooner {
            least_time = Some(time);
        }
        is_sooner
    });
    indices
}

/// The indices of those worth another round, at most `count`: half of them the best, half of them
/// from all along the front, so that it is known, too.
pub(super) fn worth_keeping(candidates: &[Candidate], count: usize) -> Vec<usize> {
    let mut ranked: Vec<_> =
        (0..candidates.len()).filter(|&index| candidates[index].is_known()).collect();
    ranked.sort_by(|&one, &other| order(&candidates[one], &candidates[other]));
    let front = front(candidates);
    let along = (count / 2).min(front.len());
    let mut kept: Vec<_> = ranked.iter().copied().take(count - along).collect();
    for place in 0..along {
        let index = front[place * front.len() / along];
        if candidates[index].is_known() && !kept.contains(&index) {
            kept.push(index);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use redial_core::Policy;

    use super::*;

    fn candidates(points: &[(f64, f64, f64)]) -> Vec<Candidate> {
        let candidate = |&(missing, calls, time)| Candidate {
            policy: Policy::DEFAULT,
            calls,
            time,
            committed: 1.0 - missing,
            missing,
        };
        points.iter().map(candidate).collect()
    }

    #[test]
    fn a_front_has_nobody_whom_another_betters() {
        let all = candidates(&[
            (0.0, 1.0, 1.0),
            (0.0, 0.5, 2.0), // too far
            (0.0, 0.9, 1.0),
            (0.0, 0.9, 0.9),
            (0.0, 2.0, 0.9),
            (0.0, 1.7, 0.4),
            (0.0, 1.9, 0.3), // too far from what is best, 0.9
            (0.1, 0.1, 0.1), // does not serve
        ]);
        assert_eq!(front(&all), [3, 5]);
    }

    #[test]
    fn who_serves_comes_first() {
        let all = candidates(&[(0.1, 0.1, 0.1), (0.0, 1.0, 3.0), (0.0, 2.0, 2.0)]);
        assert_eq!(worth_keeping(&all, 1), [2]);
    }

    #[test]
    fn what_never_ended_is_not_kept() {
        let all = candidates(&[(0.1, f64::INFINITY, f64::INFINITY)]);
        assert!(worth_keeping(&all, 4).is_empty());
    }
}
