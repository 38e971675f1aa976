//! Options that override others: those of a policy over those that it extends, and flags over a policy.

use redial_core::clause::{self, OPTIONS};

use crate::diagnostic::Span;
use crate::draft::Written;
use crate::fields::{is_plain, is_plain_list, trimmed};
use crate::place::Place;

const COUNTS: [&str; 2] = ["retry", "attempts"];
/// The modifiers, which may repeat and be in any order, in their default order.
pub(crate) const CHAIN: [&str; 3] = ["min_delay", "max_delay", "jitter"];

/// `over` on top of `base`. A count replaces either count. A bound or a jitter replaces the first of its
/// name, and the others of that name are dropped. So is what a new backoff does not use. Where
/// `ordered`, the chain of `over` replaces the whole chain.
pub(crate) fn overlay(base: Vec<Written>, over: Vec<Written>, ordered: bool) -> Vec<Written> {
    let mut options = base;
    if ordered {
        options.retain(|option| !CHAIN.contains(&option.name.as_str()));
    }
    drop_unused(&mut options, &over);
    let is_count = |option: &Written| COUNTS.contains(&option.name.as_str());
    if over.iter().any(is_count) {
        options.retain(|option| !is_count(option));
    }
    for written in over {
        let name = written.name.as_str();
        let same = |option: &Written| option.name == name;
        let appended = ordered && CHAIN.contains(&name);
        match options.iter().position(same).filter(|_| !appended) {
            Some(at) => {
                let mut index = 0;
                options.retain(|option| {
                    index += 1;
                    index - 1 <= at || !same(option)
                });
                options[at] = written;
            }
            None => {
                // An ordered chain is appended to.
                let at = place(&options, if appended { "jitter" } else { name });
                options.insert(at, written);
            }
        }
    }
    options
}

/// Where to insert an option: before the first one that comes later in the order.
fn place(options: &[Written], name: &str) -> usize {
    let rank =
        |name: &str| OPTIONS.iter().position(|known| *known == name).unwrap_or(OPTIONS.len());
    let wanted = rank(name);
    options.iter().position(|option| rank(&option.name) > wanted).unwrap_or(options.len())
}

/// Drops the options that a new backoff does not use.
fn drop_unused(options: &mut Vec<Written>, over: &[Written]) {
    let Some(backoff) = over.iter().find(|option| option.name == "backoff") else { return };
    let unused: &[&str] = match backoff.value.as_str() {
        list if list.starts_with('[') => &["delay", "factor", "increment"],
        "exponential" => &["increment"],
        "linear" => &["factor"],
        _ => &["factor", "increment"],
    };
    options.retain(|option| !unused.contains(&option.name.as_str()));
}

/// A clause with options overridden, as flags do it.
///
/// ```
/// let base = "retry: 3, delay: 1s, backoff: exponential, factor: 3";
/// let flags = [("attempts", "10"), ("backoff", "linear"), ("jitter", "full")];
/// assert_eq!(
///     redial_policy::overlay(base, flags).unwrap(),
///     "attempts: 10, delay: 1s, backoff: linear, jitter: full",
/// );
/// ```
///
/// # Errors
///
/// The name of an option whose value is not one value in a clause.
pub fn overlay_clause<'f>(
    clause: &str,
    flags: impl IntoIterator<Item = (&'f str, &'f str)>,
) -> Result<String, &'f str> {
    let nowhere = || Place::Whole(Span { start: 0, end: 0 });
    let written = |name: &str, value: &str| Written {
        name: name.to_owned(),
        name_place: nowhere(),
        value: value.to_owned(),
        value_place: nowhere(),
    };
    let base = clause::options(clause);
    let base = base.map(|(name, value)| written(name.of(clause), value.of(clause))).collect();
    let mut over = Vec::new();
    for (name, value) in flags {
        if !is_plain(value) && !is_plain_list(value) {
            return Err(name);
        }
        over.push(written(name, trimmed(value)));
    }
    let options = overlay(base, over, false);
    let options = options.iter().map(|option| format!("{}: {}", option.name, option.value));
    Ok(options.collect::<Vec<_>>().join(", "))
}
