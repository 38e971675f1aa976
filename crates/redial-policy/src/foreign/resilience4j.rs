//! resilience4j: the instances and configurations of `resilience4j.retry` in a file of Spring Boot.
//!
//! resilience4j/resilience4j `resilience4j-core` `IntervalFunction.java`, and `CommonRetryConfigurationProperties.java`
//! (`configureRetryIntervalFunction`).

use super::arithmetic::cut;
use super::value::{MILLISECOND, SECOND, scaled};
use super::{Draw, Found, Reader, Reads, System, Vector, Walk, duration, factor, field, word};
use crate::Format;
use crate::convert::{Foreign, Link, Parts, Source, Tree};
use crate::diagnostic::Kind;
use crate::document::Entry;
use crate::tree::Node;

pub(super) const SYSTEM: System = System {
    name: "resilience4j",
    title: "resilience4j",
    clients: &[],
    vocabulary: &[
        ("attempts", "maxAttempts"),
        ("max_delay", "exponentialMaxWaitDuration"),
        ("delay", "waitDuration"),
        ("factor", "exponentialBackoffMultiplier"),
        ("jitter", "randomizedWaitFactor"),
    ],
    reads: Reads::Maps(is_configuration, read),
    writes: Some(write),
    page: include_str!("pages/resilience4j.md"),
    vectors: &[
        Vector {
            text: "resilience4j.retry: {instances: {a: {maxAttempts: 7, waitDuration: 500ms, enableExponentialBackoff: true}}}",
            format: Format::Yaml,
            client: None,
            delays: "500ms 750ms 1125ms 1687ms 2530ms 3795ms",
        },
        Vector {
            text: "{resilience4j: {retry: {instances: {a: {max-attempts: 7, wait-duration: 1000, enable-exponential-backoff: true, \
                   exponential-backoff-multiplier: 2, exponential-max-wait-duration: 5s, enable-randomized-wait: true, \
                   randomized-wait-factor: 0.5}}}}}",
            format: Format::Yaml,
            client: None,
            delays: "500ms-1500ms 1000ms-3000ms 2000ms-5000ms 4000ms-5000ms 5000ms 5000ms",
        },
        Vector {
            text: "resilience4j.retry: {instances: {a: {maxAttempts: 7, waitDuration: 500ms, enableExponentialBackoff: true, \
                   enableRandomizedWait: true}}}",
            format: Format::Yaml,
            client: None,
            delays: "250ms-750ms 375ms-1125ms 562ms-1688ms 843ms-2531ms 1265ms-3795ms 1897ms-5693ms",
        },
        Vector {
            text: "resilience4j.retry: {instances: {a: {maxAttempts: 7, waitDuration: 7, enableExponentialBackoff: true, \
                   exponentialBackoffMultiplier: 1.3}}}",
            format: Format::Yaml,
            client: None,
            delays: "7ms 9ms 11ms 14ms 18ms 23ms",
        },
    ],
};

fn retry(node: &Node) -> Option<(&Node, &'static str)> {
    let nested = || field(field(node, &["resilience4j"])?, &["retry"]);
    field(node, &["resilience4j.retry"]).or_else(nested).map(|retry| (retry, "resilience4j.retry"))
}

fn is_configuration(node: &Node, _path: &str) -> bool {
    retry(node).is_some()
}

fn read(reader: &mut Reader<'_>, node: &Node, _path: &str) -> Walk {
    let Some((retry, path)) = retry(node) else { return Walk::Done };
    let configs = field(retry, &["configs"]);
    let config = |name: &str| configs.and_then(|configs| field(configs, &[name]));
    for group in ["configs", "instances", "backends"] {
        for found in field(retry, &[group]).map_or(&[][..], Node::fields) {
            let base = word(&found.value, &["baseConfig", "base-config"]);
            let base = if group == "configs" { None } else { config(base.unwrap_or("default")) };
            let name = format!("{path}.{group}.{}", found.key);
            instance(reader, &Settings { own: &found.value, base }, name);
        }
    }
    Walk::Done
}

/// The settings of an instance, over those of its configuration.
struct Settings<'n> {
    own: &'n Node,
    base: Option<&'n Node>,
}

impl<'n> Settings<'n> {
    /// In camel case, or with hyphens.
    fn get(&self, name: &str) -> Option<&'n Node> {
        let hyphened = name.chars().fold(String::new(), |text, character| match character {
            capital if capital.is_ascii_uppercase() => {
                format!("{text}-{}", capital.to_ascii_lowercase())
            }
            other => text + &other.to_string(),
        });
        let names = [name, hyphened.as_str()];
        field(self.own, &names).or_else(|| field(self.base?, &names))
    }
}

/// A duration of Spring: a number of milliseconds, one with a unit, or ISO 8601.
fn time(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 6] = [
        ("ms", MILLISECOND),
        ("us", 1000),
        ("ns", 1),
        ("s", SECOND),
        ("m", 60 * SECOND),
        ("h", 3600 * SECOND),
    ];
    if let Some(iso) = text.strip_prefix("PT") {
        let letter = iso.chars().last()?;
        let (_, unit) =
            UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&letter.to_string()))?;
        return scaled(&iso[..iso.len() - 1], *unit);
    }
    let written = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)));
    let (number, unit) = written.unwrap_or((text, MILLISECOND));
    scaled(number.trim(), unit)
}

fn instance(reader: &mut Reader<'_>, settings: &Settings<'_>, name: String) {
    const UNITS: &str = "use milliseconds, or a number with a unit such as 2s";
    let before = reader.told();
    let attempts = settings.get("maxAttempts").or_else(|| settings.get("maxRetryAttempts"));
    let attempts = reader.whole("maxAttempts", attempts, 3);
    let wait = settings.get("waitDuration");
    let wait_ms =
        reader.time("waitDuration", wait, UNITS, time).map_or(500, |nanos| nanos / MILLISECOND);
    let multiplier = settings.get("exponentialBackoffMultiplier");
    let times = reader.float("exponentialBackoffMultiplier", multiplier, 1.5);
    let cap = settings.get("exponentialMaxWaitDuration");
    let cap_ms = reader
        .time("exponentialMaxWaitDuration", cap, UNITS, time)
        .map(|nanos| nanos / MILLISECOND);
    let share = settings.get("randomizedWaitFactor");
    let spread = reader.float("randomizedWaitFactor", share, 0.5);
    let grows = settings.get("enableExponentialBackoff");
    let grows_on = reader.flag("enableExponentialBackoff", grows, false);
    let random = settings.get("enableRandomizedWait");
    let random_on = reader.flag("enableRandomizedWait", random, false);
    let at = |node: Option<&Node>| node.map_or(settings.own.span, |node| node.span);
    if attempts == 0 {
        reader.rejected(settings.own.span, "maxAttempts must be at least 1");
    }
    if grows_on && times <= 0.0 {
        reader.rejected(at(multiplier), "exponentialBackoffMultiplier must be greater than 0");
    }
    if random_on && !(0.0..1.0).contains(&spread) {
        reader.rejected(at(share), "randomizedWaitFactor must be from 0 to less than 1");
    }
    for (on, node, name) in
        [(grows_on, grows, "enableExponentialBackoff"), (random_on, random, "enableRandomizedWait")]
    {
        if on && wait.is_none() {
            let message =
                format!("{name} has no effect without waitDuration: every delay is 500 ms");
            reader.tell(Kind::IgnoredThere, at(node), message);
        }
    }
    let (grows_on, random_on) = (grows_on && wait.is_some(), random_on && wait.is_some());
    // The cap is handed on only where all that stands before it in the call is written, too.
    let hands_on = grows_on && multiplier.is_some() && (!random_on || share.is_some());
    if let Some(node) = cap.filter(|_| !hands_on) {
        let needed = match (grows_on, multiplier) {
            (false, _) => "enableExponentialBackoff and waitDuration",
            (true, None) => "exponentialBackoffMultiplier",
            (true, Some(_)) => "randomizedWaitFactor",
        };
        let message =
            format!("exponentialMaxWaitDuration is dropped unless {needed} is written, too");
        reader.tell(Kind::IgnoredThere, node.span, message);
    }
    let cap_ms = cap_ms.filter(|_| hands_on);
    let times = if grows_on { times } else { 1.0 };
    let mut clause = format!(
        "attempts: {}, delay: {}",
        attempts.clamp(1, u64::from(u32::MAX)),
        duration(wait_ms * MILLISECOND)
    );
    if times > 1.0 {
        clause += &format!(", backoff: exponential, factor: {}", factor(times));
    }
    if random_on {
        clause += &format!(", jitter: {}%", factor(spread * 100.0));
    }
    match cap_ms {
        Some(cap) => clause += &format!(", max_delay: {}", duration(cap * MILLISECOND)),
        None => clause += ", max_delay: none",
    }
    if attempts == 1 {
        clause = "attempts: 1".to_owned();
    }
    let mut found = Found::new(name, settings.own.span, clause);
    if grows_on {
        found.note("Delays are whole milliseconds, cut at every step.");
    }
    if cap_ms.is_some() && random_on {
        found.note("The jitter comes before the cap, so that delays pile up at the cap.");
    }
    let (mut current, mut at) = (wait_ms, 0);
    let cap = cap_ms.map_or(u64::MAX, |cap| cap.saturating_mul(MILLISECOND));
    reader.law(found, before, move |n| {
        while at < n {
            current = cut(current as f64 * times);
            at += 1;
        }
        match random_on {
            true => randomised(current, spread).capped(cap),
            false => Draw::exactly(current.saturating_mul(MILLISECOND).min(cap)),
        }
    });
}

/// From x − fx to less than x + fx + 1 milliseconds, one at least, cut to whole ones.
fn randomised(current: u64, share: f64) -> Draw {
    let (middle, unit) = (current as f64, MILLISECOND as f64);
    let least = cut((middle - middle * share).max(1.0) * unit);
    let end = cut((middle + middle * share + 1.0) * unit);
    Draw::between(least, end.saturating_sub(1)).cut_to(MILLISECOND)
}

fn write(parts: &Parts, _entry: &Entry) -> Foreign {
    let milliseconds = |time: std::time::Duration| {
        Tree::text(format!("{}ms", time.as_nanos().div_ceil(u128::from(MILLISECOND))))
    };
    let (wait, times) = match &parts.source {
        Source::Exponential { delay, factor } => (*delay, Some(factor.clone())),
        Source::Fibonacci(delay) | Source::Decorrelated(delay) => (*delay, Some("2".to_owned())),
        Source::Fixed(delay) | Source::Linear { delay, .. } => (*delay, None),
        Source::List(delays) => (delays.first().copied().unwrap_or_default(), None),
    };
    let share = parts.chain.iter().find_map(|link| match link {
        Link::Proportional(percent) => percent.parse::<f64>().ok().map(|percent| percent / 100.0),
        Link::Full | Link::Equal | Link::Additive(_) | Link::Spread(..) => Some(0.5),
        Link::Min(_) | Link::Max(_) => None,
    });
    let mut settings = vec![
        ("maxAttempts", Tree::bare(parts.attempts.unwrap_or(u32::MAX >> 1))),
        ("waitDuration", milliseconds(wait)),
    ];
    if times.is_some() || parts.cap().is_some() {
        let times = times.unwrap_or_else(|| "1.0".to_owned());
        settings.push(("enableExponentialBackoff", Tree::bare(true)));
        settings.push(("exponentialBackoffMultiplier", Tree::bare(times)));
    }
    if let Some(cap) = parts.cap() {
        settings.push(("exponentialMaxWaitDuration", milliseconds(cap)));
    }
    if let Some(share) = share {
        settings.push(("enableRandomizedWait", Tree::bare(true)));
        settings.push(("randomizedWaitFactor", Tree::bare(share.clamp(0.0, 0.999))));
    }
    let instances = Tree::map([("policy", Tree::map(settings))]);
    let retry = Tree::map([("retry", Tree::map([("instances", instances)]))]);
    Foreign::Tree(Tree::map([("resilience4j", retry)]), Format::Yaml)
}
