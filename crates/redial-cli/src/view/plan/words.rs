//! A plan in plain words, for a colleague who has not read the manual.
//!
//! The words are derived from the numbers of the plan, and so do not depend on how the policy was
//! written.

use std::time::Duration;

use redial_core::Forecast;

use super::Planned;
use super::totals::Sums;
use crate::duration::human;

/// What the policy does, in a few sentences.
pub(super) fn words(planned: &Planned, sums: &Sums) -> String {
    let runs_once = planned.reachable() == Some(0);
    let sentences = [
        Some(counting(planned)),
        (!runs_once).then(|| waiting(planned, sums)),
        (!runs_once).then(|| limits(planned)).flatten(),
        ending(planned, sums),
    ];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// How many attempts there are.
fn counting(planned: &Planned) -> String {
    match (planned.plan.policy().attempts(), planned.reachable()) {
        (Some(1), _) => "It runs once; nothing is retried.".into(),
        (_, Some(0)) => {
            let limit = limit_words(planned);
            format!("No second attempt can start {limit}, so it runs once; nothing is retried.")
        }
        (Some(attempts), Some(reachable)) if reachable < attempts - 1 => {
            let limit = limit_words(planned);
            format!(
                "Up to {attempts} attempts, of which at most {} can start {limit}.",
                reachable + 1
            )
        }
        (Some(attempts), _) => format!("Up to {attempts} attempts."),
        (None, Some(reachable)) => {
            let limit = limit_words(planned);
            format!("As many attempts as can start {limit}, which are {} at most.", reachable + 1)
        }
        (None, None) if is_limited(planned) => {
            format!("As many attempts as can start {}.", limit_words(planned))
        }
        (None, None) => "As many attempts as it takes.".into(),
    }
}

/// Whether a limit ends it; waits of no time never use up a budget.
fn is_limited(planned: &Planned) -> bool {
    let policy = planned.plan.policy();
    policy.get_within().is_some()
        || (policy.get_wait_budget().is_some() && !Waits::new(planned).are_none())
}

/// Whether a call that always fails goes on for good.
pub(super) fn is_endless(planned: &Planned) -> bool {
    planned.reachable().is_none() && !is_limited(planned)
}

/// The limits as they stand after "can start".
fn limit_words(planned: &Planned) -> String {
    let policy = planned.plan.policy();
    match (policy.get_within(), policy.get_wait_budget()) {
        (Some(within), Some(budget)) => {
            let (within, budget) = (human(within), human(budget));
            format!("within {within} and before {budget} of waiting are used up")
        }
        (Some(within), None) => format!("within {}", human(within)),
        (None, Some(budget)) => format!("before {} of waiting are used up", human(budget)),
        (None, None) => "at all".into(),
    }
}

/// How long the waits are, and what they add up to.
fn waiting(planned: &Planned, sums: &Sums) -> String {
    let waits = Waits::new(planned);
    if waits.are_none() {
        return "It tries again at once, without waiting.".into();
    }
    match sum(planned, sums) {
        Some(sum) => format!("{}; {sum}.", waits.describe()),
        None => format!("{}.", waits.describe()),
    }
}

/// What the waits add up to, where there is more than one and an end to them.
fn sum(planned: &Planned, sums: &Sums) -> Option<String> {
    if planned.reachable()? < 2 {
        return None;
    }
    let (least, mean, greatest) = (sums.waits.least?, sums.waits.mean?, sums.waits.greatest?);
    let [low, middle, high] = [least, mean, greatest].map(human);
    // The sum has saturated.
    if mean == Duration::from_nanos(u64::MAX) {
        return Some(format!("the waits add up to {high} or more"));
    }
    Some(match (low == high, least.is_zero()) {
        (true, _) => format!("the waits add up to {high}"),
        (_, true) => format!("the waits add up to {middle} on average and {high} at most"),
        (_, false) => {
            format!("the waits add up to {middle} on average, {low} at least and {high} at most")
        }
    })
}

/// What the limits do, where the count of attempts has not said it.
fn limits(planned: &Planned) -> Option<String> {
    if planned.retries().is_none() || planned.is_cut_short() {
        return None;
    }
    let policy = planned.plan.policy();
    let within = policy
        .get_within()
        .map(|within| format!("No attempt starts {} or more after the first one.", human(within)));
    let budget = policy
        .get_wait_budget()
        .map(|budget| format!("It stops rather than wait more than {} in all.", human(budget)));
    match (within, budget) {
        (Some(within), Some(budget)) => Some(format!("{within} {budget}")),
        (within, budget) => within.or(budget),
    }
}

/// How it ends.
fn ending(planned: &Planned, sums: &Sums) -> Option<String> {
    let endless = is_endless(planned);
    let end = match sums.gives_up.1 {
        _ if endless => "; it never gives up by itself".into(),
        Some(latest) => format!(", so it gives up after {} at the latest", human(latest)),
        None => String::new(),
    };
    match planned.plan.get_timeout().map(human) {
        Some(timeout) if planned.reachable() == Some(0) => {
            Some(format!("The attempt may take {timeout}."))
        }
        Some(timeout) => Some(format!("Each attempt may take {timeout}{end}.")),
        None => endless.then(|| "It never gives up by itself.".into()),
    }
}

/// The first reachable waits, from which the rule of growth is derived.
struct Waits {
    rows: Vec<Forecast>,
    /// Whether there are more than these.
    more: bool,
    /// What a wait far beyond these can be.
    far: Forecast,
    /// Whether the waits stop growing before they get there.
    settled: bool,
}

/// How the greatest waits grow, until they stay the same.
enum Growth {
    /// By this factor.
    Times(String),
    /// By this much.
    Plus(Duration),
    /// To the sum of the last two.
    Sums,
}

impl Waits {
    /// More than a list can be long.
    const LOOKED_AT: usize = 64;

    fn new(planned: &Planned) -> Self {
        let policy = planned.plan.policy();
        let count = planned.reachable().map_or(usize::MAX, |reachable| reachable as usize);
        let rows: Vec<Forecast> =
            planned.plan.rows().take(count.min(Self::LOOKED_AT)).map(|row| row.delay).collect();
        let (far, before) = (policy.forecast(u32::MAX), policy.forecast(u32::MAX / 2));
        let settled = far.greatest == before.greatest;
        Self { more: count > rows.len(), rows, far, settled }
    }

    /// The greatest wait, however many there are; none where only the saturation of time bounds it.
    fn cap(&self) -> Option<Duration> {
        let saturated = self.far.greatest == Duration::from_nanos(u64::MAX);
        (self.settled && !saturated).then_some(self.far.greatest)
    }

    fn are_none(&self) -> bool {
        let at_all = self.rows.iter().any(|row| !row.greatest.is_zero());
        !at_all && (!self.more || self.far.greatest.is_zero())
    }

    fn describe(&self) -> String {
        if self.are_constant() {
            let first = if self.rows.len() == 1 { "the first" } else { "each" };
            return format!("After {first} failure it waits {}", span(&self.rows[0]));
        }
        if self.rows.len() <= 3 {
            return self.one_by_one();
        }
        match self.growth() {
            Some(growth) => self.growing(&growth),
            None => self.listed(),
        }
    }

    fn are_constant(&self) -> bool {
        let mut others = self.rows.iter().skip(1);
        others.all(|row| same(row, &self.rows[0])) && (!self.more || same(&self.far, &self.rows[0]))
    }

    fn one_by_one(&self) -> String {
        let ordinals = ["the first failure", "the second", "the third"];
        let waits = self.rows.iter().zip(ordinals).map(|(row, ordinal)| {
            let span = span(row);
            format!("{span} after {ordinal}")
        });
        format!("It waits {}", and(&waits.collect::<Vec<_>>()))
    }

    fn growing(&self, growth: &Growth) -> String {
        // Where the lower ends do not grow, the growth is that of the upper ends.
        let up_to = if self.are_exact() || self.lower_ends_follow() { "" } else { "up to " };
        let step = match growth {
            Growth::Times(factor) if factor == "2" => format!("{up_to}twice as long each time"),
            Growth::Times(factor) => format!("{up_to}{factor} times as long each time"),
            Growth::Plus(more) if self.are_exact() => format!("{} more each time", human(*more)),
            Growth::Plus(more) => format!("up to {} more each time", human(*more)),
            Growth::Sums => format!("{up_to}as long as the last two waits together"),
        };
        let first = span(&self.rows[0]);
        format!("After the first failure it waits {first}, then {step}{}", self.bounds())
    }

    /// Words for the bounds of the waits.
    fn bounds(&self) -> String {
        let lowest = self.rows[0].least;
        let stays = !self.are_exact() && self.rows.iter().all(|row| row.least == lowest);
        let floor = (stays && !lowest.is_zero()).then(|| human(lowest));
        match (floor, self.cap().map(human)) {
            (Some(floor), Some(cap)) => format!(", never less than {floor} nor more than {cap}"),
            (Some(floor), None) => format!(", never less than {floor}"),
            (None, Some(cap)) => format!(", never more than {cap}"),
            (None, None) => String::new(),
        }
    }

    /// Lists the waits, where they follow no rule.
    fn listed(&self) -> String {
        const LISTED: usize = 8;
        let settles = self.settles();
        let stays = !self.more || same(&self.far, &self.rows[self.rows.len() - 1]);
        let spans: Vec<String> = self.rows.iter().take(LISTED).map(span).collect();
        let ends = !self.more && self.rows.len() <= LISTED;
        if stays && settles < LISTED && !(ends && settles + 1 == self.rows.len()) {
            let last = &spans[settles];
            return format!("It waits {}, then {last} each time", spans[..settles].join(", "));
        }
        if ends {
            return format!("It waits {}", and(&spans));
        }
        let grows = self.rows.windows(2).all(|pair| pair[0].greatest <= pair[1].greatest);
        match (grows, self.cap()) {
            (true, Some(cap)) => {
                let first = spans[..3].join(", ");
                format!(
                    "It waits {first} and then longer and longer, never more than {}",
                    human(cap)
                )
            }
            (true, None) => {
                format!("It waits {} and then longer and longer", spans[..3].join(", "))
            }
            (false, _) => format!("It waits {} and so on", spans.join(", ")),
        }
    }

    /// The index from which on all waits are the same.
    fn settles(&self) -> usize {
        let last = &self.rows[self.rows.len() - 1];
        let same = self.rows.iter().rev().take_while(|row| same(row, last)).count();
        self.rows.len() - same
    }

    fn are_exact(&self) -> bool {
        self.rows.iter().all(|row| row.least == row.greatest)
    }

    /// Whether the lower ends are above zero, and the same share of the upper ends everywhere.
    fn lower_ends_follow(&self) -> bool {
        let (least, greatest) = (self.rows[0].least, self.rows[0].greatest);
        let follows = |row: &Forecast| {
            near(
                row.least.as_nanos() * greatest.as_nanos(),
                row.greatest.as_nanos() * least.as_nanos(),
            )
        };
        !least.is_zero() && self.rows.iter().all(follows)
    }

    fn growth(&self) -> Option<Growth> {
        let greatest: Vec<u128> = self.rows.iter().map(|row| row.greatest.as_nanos()).collect();
        let settles = greatest.iter().rposition(|wait| Some(wait) != greatest.last())? + 1;
        if settles < 2 || greatest.windows(2).any(|pair| pair[0] > pair[1]) {
            return None;
        }
        // The first of the equal waits may have been cut to the cap; those before follow the rule.
        let capped = self.settled && self.far.greatest.as_nanos() == greatest[settles];
        let ruled = &greatest[..settles + usize::from(!capped)];
        let goes_on = capped || settles + 1 == greatest.len();
        goes_on.then(|| rule(ruled)).flatten()
    }
}

/// The rule that these numbers follow.
fn rule(waits: &[u128]) -> Option<Growth> {
    let (first, second) = (*waits.first()?, *waits.get(1)?);
    // A factor close to one cannot be told from an increment.
    if first > 0 && second - first > first / 100 {
        let is_power = |pair: &[u128]| near(pair[1] * first, pair[0] * second);
        if waits.windows(2).all(is_power) {
            return Some(Growth::Times(factor(second, first)));
        }
    }
    let is_sum = |pair: &[u128]| pair[1] - pair[0] == second - first;
    if second > first && waits.windows(2).all(is_sum) {
        let nanos = u64::try_from(second - first).unwrap_or(u64::MAX);
        return Some(Growth::Plus(Duration::from_nanos(nanos)));
    }
    let adds_up = |three: &[u128]| near(three[0] + three[1], three[2]);
    (waits.len() > 3 && waits.windows(3).all(adds_up)).then_some(Growth::Sums)
}

/// Equal except for rounding.
fn near(one: u128, other: u128) -> bool {
    one.abs_diff(other) <= one.max(other) / 10_000
}

/// The ratio of two waits, to two decimals.
fn factor(wait: u128, before: u128) -> String {
    let factor = wait as f64 / before as f64;
    let rounded = (factor * 100.0).round() / 100.0;
    let about = if (factor - rounded).abs() > 1e-6 { "about " } else { "" };
    format!("{about}{rounded}")
}

fn same(one: &Forecast, other: &Forecast) -> bool {
    one.least == other.least && one.greatest == other.greatest
}

/// What a wait can be.
fn span(row: &Forecast) -> String {
    let (least, greatest) = (human(row.least), human(row.greatest));
    if least == greatest { greatest } else { format!("{least} to {greatest}") }
}

fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
