//! The AWS SDKs: `retry_mode` and `max_attempts` of a profile in `~/.aws/config`.
//!
//! boto/botocore `botocore/retries/standard.py` (`ExponentialBackoff`) and `botocore/retryhandler.py`
//! (`delay_exponential`); aws/aws-sdk-go-v2 `aws/retry/jitter_backoff.go`.

use super::ini::{Setting, settings};
use super::value::{MILLISECOND, SECOND};
use super::{Draw, Found, Reader, Reads, System, Vector, duration};
use crate::Format;
use crate::convert::{Foreign, Parts};
use crate::diagnostic::{Kind, Span};
use crate::document::Entry;

pub(super) const SYSTEM: System = System {
    name: "aws",
    title: "AWS SDKs",
    clients: &["python", "python-1.43", "go"],
    vocabulary: &[("attempts", "max_attempts")],
    reads: Reads::Text(is_config, read),
    writes: Some(write),
    page: include_str!("pages/aws.md"),
    vectors: &[
        Vector {
            text: "[default]\nretry_mode = standard\nmax_attempts = 7\n",
            format: Format::Text,
            client: None,
            delays: "0s-50ms 0s-100ms 0s-200ms 0s-400ms 0s-800ms 0s-1600ms",
        },
        Vector {
            text: "[default]\nretry_mode = standard\nmax_attempts = 7\n",
            format: Format::Text,
            client: Some("python-1.43"),
            delays: "0s-1s 0s-2s 0s-4s 0s-8s 0s-16s 0s-20s",
        },
        Vector {
            text: "[default]\nretry_mode = standard\nmax_attempts = 7\n",
            format: Format::Text,
            client: Some("go"),
            delays: "0s-2s 0s-4s 0s-8s 0s-16s 20s 20s",
        },
        Vector {
            text: "[profile old]\nmax_attempts = 7\n",
            format: Format::Text,
            client: Some("python-1.43"),
            delays: "0s-1s 0s-2s 0s-4s 0s-8s 0s-16s 0s-32s",
        },
    ],
};

const OWN: [&str; 2] = ["retry_mode", "max_attempts"];

/// No delay of the standard mode is longer.
const LONGEST: u64 = 20 * SECOND;

fn is_profile(section: &str) -> bool {
    section == "default" || section.starts_with("profile ")
}

fn is_config(text: &str) -> bool {
    let is_its = |setting: &Setting<'_>| is_profile(setting.section) && OWN.contains(&setting.name);
    text.contains('[') && settings(text).iter().any(is_its)
}

fn read(reader: &mut Reader<'_>) {
    let all = settings(reader.text);
    let of_profile =
        |setting: &&Setting<'_>| is_profile(setting.section) && OWN.contains(&setting.name);
    let mut profiles: Vec<&str> = Vec::new();
    for setting in all.iter().filter(of_profile) {
        if !profiles.contains(&setting.section) {
            profiles.push(setting.section);
        }
    }
    for section in profiles {
        profile(reader, section, &all);
    }
}

fn profile(reader: &mut Reader<'_>, section: &str, all: &[Setting<'_>]) {
    let before = reader.told();
    let its =
        |name: &str| all.iter().rfind(|setting| setting.section == section && setting.name == name);
    let (mode, most) = (its("retry_mode"), its("max_attempts"));
    let span = mode.or(most).map_or(Span { start: 0, end: 0 }, |setting| setting.span);
    let is_go = reader.client == "go";
    let is_old = reader.client == "python-1.43";
    let default = if is_old { "legacy" } else { "standard" };
    let written = mode.map_or(default, |setting| setting.value);
    let known = matches!((written, is_go), ("standard" | "adaptive", _) | ("legacy", false));
    if !known {
        let modes = if is_go { "standard or adaptive" } else { "legacy, standard or adaptive" };
        reader.rejected(span, format!("retry_mode is {modes}"));
    }
    let legacy = written == "legacy";
    let attempts =
        most.map_or(Some(if legacy { 5 } else { 3 }), |setting| setting.value.parse().ok());
    let attempts: u32 = match attempts {
        Some(attempts) if attempts > 0 => attempts,
        _ => {
            let at = most.map_or(span, |setting| setting.span);
            reader.rejected(at, "max_attempts must be a whole number of at least 1");
            1
        }
    };
    let cap = if legacy { "none" } else { "20s" };
    let first = match (is_go, is_old || legacy) {
        (true, _) => 2 * SECOND,
        (false, true) => SECOND,
        (false, false) => 50 * MILLISECOND,
    };
    let clause = match attempts {
        1 => "attempts: 1".to_owned(),
        _ => format!(
            "attempts: {attempts}, delay: {}, backoff: exponential, max_delay: {cap}, jitter: full",
            duration(first)
        ),
    };
    let mut found = Found::new(section, span, clause);
    match (reader.client, legacy) {
        ("go", _) => found.note(
            "Go draws its first delay from 0 to 2 s, Python from 0 to 1 s; from the fifth retry on Go waits exactly 20 s.",
        ),
        (_, true) => found.note(
            "The legacy mode has no cap, and 5 attempts unless max_attempts says otherwise; until botocore 1.43 it is the default. \
             DynamoDB has another law.",
        ),
        ("python", _) => found.note(
            "Delays begin at 50 ms since botocore 1.44, where they began at 1 s (--client python-1.43), and at 1 s where the service \
             throttles; DynamoDB has 25 ms.",
        ),
        _ => found.note("Where the variable AWS_NEW_RETRIES_2026 is true, the delays are others: 50 ms · 2ⁿ, at most 20 s."),
    }
    if !legacy {
        found.note("Retries are paid for from a quota of 500 tokens, which is not shown.");
    }
    if written == "adaptive" {
        reader.tell(
            Kind::IgnoredThere,
            span,
            "the adaptive mode also holds back attempts by a rate that it measures, which is not shown",
        );
    }
    reader.law(found, before, move |n| match (is_go, legacy) {
        (true, _) if n >= 4 => Draw::exactly(LONGEST),
        (true, _) => Draw::between(0, (2 * SECOND) << n),
        (false, true) => {
            Draw::between(0, SECOND.saturating_mul(1u64.checked_shl(n).unwrap_or(u64::MAX)))
        }
        (false, false) => Draw::between(0, (first << n.min(9)).min(LONGEST)),
    });
}

fn write(parts: &Parts, _entry: &Entry) -> Foreign {
    let attempts = parts.attempts.unwrap_or(u32::MAX);
    Foreign::Text(format!("[default]\nretry_mode = standard\nmax_attempts = {attempts}\n"))
}
