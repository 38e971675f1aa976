//! The order of candidates, and their Pareto front.

use std::cmp::Ordering;

use super::Candidate;

/// A policy with at most this regret is clearly better than yours at every number of clients. Among
/// those, the mean decides, not the regret.
const BETTER: f64 = 0.98;

/// A policy with more than so many times the winner's regret is not worth showing.
const FAR: f64 = 2.0;

/// The better first: by what is missing to the goal, then by regret where that is not clearly below
/// 1, then by calls times time on average.
pub(super) fn order(one: &Candidate, other: &Candidate) -> Ordering {
    let keys = |of: &Candidate| [of.missing, of.regret.max(BETTER), of.calls * of.time, of.regret];
    let pairs = keys(one).into_iter().zip(keys(other));
    pairs
        .map(|(one, other)| one.total_cmp(&other))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// What the front is about.
fn quantities(of: &Candidate) -> [f64; 4] {
    [of.missing, of.calls, of.time, of.regret]
}

/// Pareto dominance: whether `one` is better in something, and worse in nothing.
fn betters(one: &Candidate, other: &Candidate) -> bool {
    let (one, other) = (quantities(one), quantities(other));
    one != other && one.iter().zip(other).all(|(one, other)| *one <= other)
}

/// The indices of the Pareto front, among the candidates that serve as well as the best and are not
/// far from it: the fewest calls first, and of equals only the first. The best in [`order`] is one
/// of them, because whatever dominated it would come before it.
pub(super) fn front(candidates: &[Candidate]) -> Vec<usize> {
    let Some(best) = candidates.iter().min_by(|one, other| order(one, other)) else {
        return vec![];
    };
    let belongs = |&index: &usize| {
        let this = &candidates[index];
        let is_near = this.missing == best.missing && this.regret <= FAR * best.regret;
        let is_same = |other: &Candidate| quantities(other) == quantities(this);
        is_near
            && !candidates.iter().any(|other| betters(other, this))
            && !candidates[..index].iter().any(is_same)
    };
    let mut indices: Vec<_> = (0..candidates.len()).filter(belongs).collect();
    indices.sort_by(|&one, &other| candidates[one].calls.total_cmp(&candidates[other].calls));
    indices
}

/// The indices of those worth another round, at most `count`: half of them the best, half of them
/// spread evenly along the front, so that the front is measured as well.
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

    /// From calls, time, regret and what is missing.
    fn candidates(all: &[[f64; 4]]) -> Vec<Candidate> {
        let candidate = |&[calls, time, regret, missing]: &[f64; 4]| {
            let (policy, committed) = (Policy::DEFAULT, 1.0 - missing);
            Candidate { policy, calls, time, regret, committed, missing }
        };
        all.iter().map(candidate).collect()
    }

    #[test]
    fn a_front_has_nobody_whom_another_betters() {
        let all = candidates(&[
            [1.0, 1.0, 1.0, 0.0],
            [0.9, 0.8, 0.95, 0.0],
            [0.9, 0.8, 0.95, 0.0], // the same
            [0.9, 0.9, 0.95, 0.0], // bettered in time
            [0.9, 0.8, 0.96, 0.0], // bettered where it is worst
            [0.8, 0.8, 1.1, 0.0],
            [0.5, 1.5, 1.8, 0.0],
            [0.4, 1.6, 2.0, 0.0], // too far
            [0.1, 0.1, 0.1, 0.1], // does not serve
        ]);
        assert_eq!(front(&all), [6, 5, 1]);
    }

    #[test]
    fn who_serves_comes_first_then_who_is_never_worse_then_who_takes_the_least() {
        let all = candidates(&[
            [0.1, 0.1, 0.1, 0.1],
            [0.5, 0.5, 1.2, 0.0],
            [0.9, 0.9, 0.91, 0.0],
            [0.8, 0.8, 0.96, 0.0],
        ]);
        let mut ranked: Vec<usize> = (0..all.len()).collect();
        ranked.sort_by(|&one, &other| order(&all[one], &all[other]));
        assert_eq!(ranked, [3, 2, 1, 0]);
        assert_eq!(worth_keeping(&all, 1), [3]);
    }

    #[test]
    fn what_never_ended_is_not_kept() {
        let never = f64::INFINITY;
        let all = candidates(&[[never, never, never, 1.0]]);
        assert_eq!(front(&all), [0]);
        assert!(worth_keeping(&all, 4).is_empty());
    }
}
