//! The parts of a policy, parsed from the clause that it prints. The clause expresses all that a policy
//! can be.

use std::time::Duration;

use redial_core::clause;

use crate::document::Entry;

/// The parts of a policy.
pub(crate) struct Parts {
    pub(crate) attempts: Option<u32>,
    pub(crate) source: Source,
    pub(crate) chain: Vec<Link>,
    /// Whether the default cap is lifted.
    pub(crate) uncapped: bool,
    pub(crate) within: Option<Duration>,
    pub(crate) wait_budget: Option<Duration>,
}

/// Where delays come from.
#[derive(Clone)]
pub(crate) enum Source {
    Fixed(Duration),
    Linear { delay: Duration, increment: Duration },
    Exponential { delay: Duration, factor: String },
    Fibonacci(Duration),
    List(Vec<Duration>),
    Decorrelated(Duration),
}

/// A bound or a jitter, as the clause writes it.
#[derive(Clone)]
pub(crate) enum Link {
    Min(Duration),
    Max(Duration),
    Full,
    Equal,
    /// A percentage without its sign.
    Proportional(String),
    Additive(String),
    Spread(String, String),
}

impl Parts {
    pub(crate) fn of(entry: &Entry) -> Option<Self> {
        let clause = entry.nearest()?.to_string();
        let options: Vec<_> = clause::options(&clause)
            .map(|(name, value)| (name.of(&clause), value.of(&clause)))
            .collect();
        let option = |wanted: &str| {
            options.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
        };
        let uncapped = |(name, value): &(&str, &str)| *name == "max_delay" && *value == "none";
        Some(Self {
            attempts: option("attempts").and_then(|attempts| attempts.parse().ok()),
            source: source(&option),
            chain: options.iter().filter_map(|(name, value)| link(name, value)).collect(),
            uncapped: options.iter().any(uncapped),
            within: option("within").map(duration),
            wait_budget: option("wait_budget").map(duration),
        })
    }

    /// The first cap, which is also the tail of a list.
    pub(crate) fn cap(&self) -> Option<Duration> {
        self.chain.iter().find_map(|link| match link {
            Link::Max(cap) => Some(*cap),
            _ => None,
        })
    }
}

fn source<'c>(option: &impl Fn(&str) -> Option<&'c str>) -> Source {
    let delay = option("delay").map(duration).unwrap_or_default();
    match option("backoff") {
        None => Source::Fixed(delay),
        Some("linear") => {
            Source::Linear { delay, increment: option("increment").map_or(delay, duration) }
        }
        Some("exponential") => {
            Source::Exponential { delay, factor: option("factor").unwrap_or("2").to_owned() }
        }
        Some("fibonacci") => Source::Fibonacci(delay),
        Some("decorrelated") => Source::Decorrelated(delay),
        Some(list) => Source::List(items(list).map(duration).collect()),
    }
}

fn link(name: &str, value: &str) -> Option<Link> {
    match (name, value) {
        ("min_delay", value) => Some(Link::Min(duration(value))),
        ("max_delay", "none") => None,
        ("max_delay", value) => Some(Link::Max(duration(value))),
        ("jitter", "full") => Some(Link::Full),
        ("jitter", "equal") => Some(Link::Equal),
        ("jitter", value) => Some(match (value.strip_prefix('+'), value.strip_prefix('[')) {
            (Some(percent), _) => Link::Additive(percent.trim_end_matches('%').to_owned()),
            (_, Some(_)) => {
                let mut ends = items(value).map(str::to_owned);
                Link::Spread(ends.next().unwrap_or_default(), ends.next().unwrap_or_default())
            }
            _ => Link::Proportional(value.trim_end_matches('%').to_owned()),
        }),
        _ => None,
    }
}

fn items(list: &str) -> impl Iterator<Item = &str> {
    let inside = list.trim_start_matches('[').trim_end_matches(']');
    inside.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// A duration that the core has printed, read by the core.
fn duration(text: &str) -> Duration {
    clause::read_call(&format!("timeout: {text}")).timeout().unwrap_or_default()
}
