//! As our own file, which can express everything.

use std::collections::{HashMap, HashSet};

use redial_core::Pretty;

use super::parts::{Link, Parts, Source};
use super::write::Tree;
use crate::document::Entry;
use crate::matcher::Matcher;
use crate::overlay::CHAIN;

/// The name of a policy that has none.
const UNNAMED: &str = "policy";

pub(super) fn tree<'e>(
    policies: impl IntoIterator<Item = (&'e Entry, Parts)>,
    default: Option<&str>,
) -> Tree {
    let policies: Vec<_> = policies.into_iter().collect();
    // A script may assign a variable twice; names in a file are unique.
    let mut taken: HashSet<String> = policies.iter().map(|(entry, _)| entry.name.clone()).collect();
    let mut times: HashMap<&str, usize> = HashMap::new();
    let policies = policies.iter().map(|(entry, parts)| {
        let name = if entry.name.is_empty() { UNNAMED } else { &entry.name };
        let times = times.entry(name).or_default();
        let own = loop {
            *times += 1;
            if *times == 1 {
                break name.to_owned();
            }
            let numbered = format!("{name}-{times}");
            if taken.insert(numbered.clone()) {
                break numbered;
            }
        };
        (own, policy(entry, parts))
    });
    let policies = ("policies".to_owned(), Tree::Map(policies.collect()));
    let default = default.map(|name| ("default".to_owned(), Tree::text(name)));
    Tree::Map(default.into_iter().chain([policies]).collect())
}

fn policy(entry: &Entry, parts: &Parts) -> Tree {
    let mut fields = vec![(
        "attempts",
        match parts.attempts {
            Some(attempts) => Tree::bare(attempts),
            None => Tree::text("unlimited"),
        },
    )];
    fields.extend(source(&parts.source));
    fields.extend(chain(parts));
    let limits =
        [("within", parts.within), ("wait_budget", parts.wait_budget), ("timeout", entry.timeout)];
    for (name, limit) in limits {
        fields.extend(limit.map(|limit| (name, Tree::text(Pretty(limit).to_string()))));
    }
    for (name, matchers) in [("retry_on", &entry.retry_on), ("stop_on", &entry.stop_on)] {
        if !matchers.is_empty() {
            fields.push((name, rules(matchers)));
        }
    }
    Tree::map(fields)
}

fn source(source: &Source) -> Vec<(&'static str, Tree)> {
    let text = |duration| Tree::text(Pretty(duration).to_string());
    let growing =
        |delay, backoff: &str| vec![("delay", text(delay)), ("backoff", Tree::text(backoff))];
    match source {
        Source::Fixed(delay) if delay.is_zero() => Vec::new(),
        Source::Fixed(delay) => vec![("delay", text(*delay))],
        Source::Linear { delay, increment } => {
            let mut fields = growing(*delay, "linear");
            fields.push(("increment", text(*increment)));
            fields
        }
        Source::Exponential { delay, factor } => {
            let mut fields = growing(*delay, "exponential");
            fields.push(("factor", Tree::bare(factor)));
            fields
        }
        Source::Fibonacci(delay) => growing(*delay, "fibonacci"),
        Source::Decorrelated(delay) => growing(*delay, "decorrelated"),
        Source::List(delays) => {
            vec![("backoff", Tree::List(delays.iter().map(|delay| text(*delay)).collect()))]
        }
    }
}

/// As plain fields where they are in the default order, and otherwise as a list.
fn chain(parts: &Parts) -> Vec<(&'static str, Tree)> {
    let uncapped = parts.uncapped.then(|| ("max_delay", Tree::text("none")));
    let links = uncapped.into_iter().chain(parts.chain.iter().map(link));
    let links: Vec<_> = links.collect();
    let rank = |name: &str| CHAIN.iter().position(|known| *known == name);
    let in_order = links.windows(2).all(|pair| rank(pair[0].0) < rank(pair[1].0));
    if in_order {
        return links;
    }
    let links = links.into_iter().map(|link| Tree::map([link]));
    vec![("modifiers", Tree::List(links.collect()))]
}

fn link(link: &Link) -> (&'static str, Tree) {
    let text = |duration| Tree::text(Pretty(duration).to_string());
    match link {
        Link::Min(min) => ("min_delay", text(*min)),
        Link::Max(max) => ("max_delay", text(*max)),
        Link::Full => ("jitter", Tree::text("full")),
        Link::Equal => ("jitter", Tree::text("equal")),
        Link::Proportional(percent) => ("jitter", Tree::text(format!("{percent}%"))),
        Link::Additive(percent) => ("jitter", Tree::text(format!("+{percent}%"))),
        Link::Spread(low, high) => ("jitter", Tree::List(vec![Tree::bare(low), Tree::bare(high)])),
    }
}

pub(super) fn rules(matchers: &[Matcher]) -> Tree {
    let rule = |matcher: &Matcher| match matcher {
        Matcher::Pattern(pattern) => Tree::map([("pattern", Tree::text(pattern.as_str()))]),
        named => Tree::text(named.to_string()),
    };
    Tree::List(matchers.iter().map(rule).collect())
}
