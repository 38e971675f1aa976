//! The settings of a budget and of a breaker in words, wherever they are kept: in a shared file, or in a flow.

use std::time::Duration;

use crate::duration::human;
use crate::output::count;

/// `who` is what brings the deposit: a run, or a task of a flow.
pub(crate) fn budget(who: &str, deposit: f64, cost: f64, floor_per_second: f64) -> String {
    let floor = if floor_per_second == 0.0 { "none".into() } else { floor_per_second.to_string() };
    format!("{who} brings {deposit}, a retry costs {cost}, {floor} come every second")
}

pub(crate) fn breaker(failures: u32, recovery: Duration, probes: u32) -> String {
    let opens = count(failures as usize, "failed attempt");
    let row = if failures == 1 { "opens" } else { "in a row open" };
    let decide = if probes == 1 { "decides" } else { "decide" };
    let probes = count(probes as usize, "probe");
    format!("{opens} {row} it for {}; then {probes} {decide}", human(recovery))
}
