//! The flags of curl and wget.
//!
//! curl/curl `src/tool_operate.c` (`retry_sleep`); mirror/wget `src/retr.c` (`sleep_between_retrievals`).

use super::value::{SECOND, scaled};
use super::{Draw, Found, Reader, Reads, System, Vector, duration};
use crate::Format;
use crate::convert::{Foreign, Parts, Source};
use crate::diagnostic::{Kind, Span};
use crate::document::Entry;

pub(super) const CURL: System = System {
    name: "curl",
    title: "curl",
    clients: &[],
    vocabulary: &[("attempts", "--retry"), ("delay", "--retry-delay"), ("timeout", "--max-time")],
    reads: Reads::Command(|text| is_command(text, "curl", "--retry"), curl),
    writes: Some(write_curl),
    page: include_str!("pages/curl.md"),
    vectors: &[
        Vector {
            text: "curl --retry 12 https://example.com",
            format: Format::Text,
            client: None,
            delays: "1s 2s 4s 8s 16s 32s 64s 128s 256s 512s 600s 600s",
        },
        Vector {
            text: "curl --retry 3 --retry-delay 2 https://example.com",
            format: Format::Text,
            client: None,
            delays: "2s 2s 2s",
        },
        Vector {
            text: "curl --retry 9 --retry-max-time 10 https://example.com",
            format: Format::Text,
            client: None,
            delays: "1s 2s 4s 8s",
        },
    ],
};

pub(super) const WGET: System = System {
    name: "wget",
    title: "wget",
    clients: &[],
    vocabulary: &[("attempts", "--tries"), ("max_delay", "--waitretry"), ("timeout", "--timeout")],
    reads: Reads::Command(|text| is_command(text, "wget", "-"), wget),
    writes: Some(write_wget),
    page: include_str!("pages/wget.md"),
    vectors: &[
        Vector {
            text: "wget --tries 12 https://example.com",
            format: Format::Text,
            client: None,
            delays: "1s 2s 3s 4s 5s 6s 7s 8s 9s 10s 10s",
        },
        Vector {
            text: "wget -t 4 --waitretry=2.5 https://example.com",
            format: Format::Text,
            client: None,
            delays: "1s 2500ms 2500ms",
        },
    ],
};

/// One command of this program, with a flag that is about retries.
fn is_command(text: &str, program: &str, flag: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some(program) && words.any(|word| word.starts_with(flag))
}

/// The value of the last flag of this name, and where it is; `--name value`, `--name=value` or `-n value`.
fn flag<'t>(text: &'t str, names: &[&str]) -> Option<(&'t str, Span)> {
    let mut found = None;
    let mut words = text.split_whitespace().peekable();
    let place = |word: &str| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        Span { start, end: start + word.len() }
    };
    while let Some(word) = words.next() {
        let (name, after) =
            word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if !names.contains(&name) {
            continue;
        }
        let value = after.or_else(|| words.peek().copied()).unwrap_or("");
        let value = value.trim_matches(['\'', '"']);
        found = Some((value, if value.is_empty() { place(word) } else { place(value) }));
    }
    found
}

fn has(text: &str, name: &str) -> bool {
    text.split_whitespace().any(|word| word == name)
}

fn seconds(reader: &mut Reader<'_>, names: &[&str]) -> Option<u64> {
    let (value, span) = flag(reader.text, names)?;
    let nanos = scaled(value, SECOND);
    if nanos.is_none() {
        let message =
            format!("{}: `{}` is no number of seconds", names[0], crate::fields::excerpt(value));
        reader.tell(Kind::RejectedThere, span, message);
    }
    nanos
}

fn count(reader: &mut Reader<'_>, names: &[&str]) -> Option<u64> {
    let (value, span) = flag(reader.text, names)?;
    let count = value.parse().ok();
    if count.is_none() {
        let message =
            format!("{}: `{}` is no whole number", names[0], crate::fields::excerpt(value));
        reader.tell(Kind::RejectedThere, span, message);
    }
    count
}

fn whole(reader: &Reader<'_>) -> Span {
    let text = reader.text;
    let start = text.len() - text.trim_start().len();
    Span { start, end: start + text.trim().len() }
}

fn curl(reader: &mut Reader<'_>) {
    const GREATEST: u64 = 600 * SECOND;
    let before = reader.told();
    let retries = count(reader, &["--retry"]).unwrap_or(0);
    let fixed = seconds(reader, &["--retry-delay"]).filter(|delay| *delay > 0);
    let limit = seconds(reader, &["--retry-max-time"]).filter(|limit| *limit > 0);
    let timeout = seconds(reader, &["--max-time", "-m"]).filter(|limit| *limit > 0);
    let delay = move |n: u32| match fixed {
        Some(fixed) => fixed,
        None => {
            SECOND.checked_shl(n).filter(|nanos| *nanos < GREATEST && n < 32).unwrap_or(GREATEST)
        }
    };
    // Before each wait the time so far is looked at, and the wait itself is not.
    let mut possible = retries.min(u64::from(u32::MAX - 1));
    if let Some(limit) = limit {
        let mut waited = 0u64;
        for n in 0..possible.min(100_000) {
            if waited >= limit {
                possible = n;
                break;
            }
            waited = waited.saturating_add(delay(u32::try_from(n).unwrap_or(u32::MAX)));
        }
    }
    let clause = match (possible, fixed) {
        (0, _) => "attempts: 1".to_owned(),
        (retries, Some(fixed)) => {
            format!("retry: {retries}, delay: {}, max_delay: none", duration(fixed))
        }
        (retries, None) => {
            format!("retry: {retries}, delay: 1s, backoff: exponential, max_delay: 10min")
        }
    };
    let mut found = Found::new("curl", whole(reader), clause);
    found.timeout = timeout.map(std::time::Duration::from_nanos);
    if let Some(limit) = limit {
        found.note(format!(
            "--retry-max-time is looked at before each wait and never after it, so that an attempt can start later than {}: \
             {possible} of {retries} retries, where the attempts take no time.",
            duration(limit)
        ));
    }
    if !has(reader.text, "--retry-all-errors") && !has(reader.text, "--retry-connrefused") {
        found.note("A refused connection is not retried without --retry-connrefused.");
    }
    reader.law(found, before, move |n| Draw::exactly(delay(n)));
}

fn wget(reader: &mut Reader<'_>) {
    let before = reader.told();
    let tries = match flag(reader.text, &["--tries", "-t"]) {
        Some(("inf", _)) => Some(0),
        _ => count(reader, &["--tries", "-t"]),
    };
    let tries = tries.unwrap_or(20);
    let wait = seconds(reader, &["--waitretry"]).unwrap_or(10 * SECOND);
    let timeout = seconds(reader, &["--timeout", "-T"]).filter(|limit| *limit > 0);
    let delay = move |n: u32| {
        let seconds = u64::from(n).saturating_add(1);
        match (seconds + 1).saturating_mul(SECOND) <= wait {
            true => seconds * SECOND,
            false => wait,
        }
    };
    let clause = match tries {
        1 => "attempts: 1".to_owned(),
        0 => format!(
            "attempts: unlimited, delay: 1s, backoff: linear, max_delay: {}",
            duration(wait)
        ),
        tries => format!(
            "attempts: {}, delay: 1s, backoff: linear, max_delay: {}",
            tries.min(u64::from(u32::MAX)),
            duration(wait)
        ),
    };
    let mut found = Found::new("wget", whole(reader), clause);
    found.timeout = timeout.map(std::time::Duration::from_nanos);
    found.note("Refused connections and errors such as 404 are not retried without --retry-connrefused and --retry-on-http-error.");
    reader.law(found, before, move |n| Draw::exactly(delay(n)));
}

/// Seconds, as both write them.
fn written(time: std::time::Duration) -> String {
    let text = format!("{}.{:03}", time.as_secs(), time.subsec_millis());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn write_curl(parts: &Parts, entry: &Entry) -> Foreign {
    let retries = parts.attempts.map_or(i32::MAX as u32, |attempts| attempts - 1);
    let mut command = format!("curl --retry {retries} --retry-all-errors");
    match &parts.source {
        Source::Fixed(delay) | Source::Linear { delay, .. } => {
            command += &format!(" --retry-delay {}", written(*delay));
        }
        Source::List(delays) => {
            command +=
                &format!(" --retry-delay {}", written(delays.first().copied().unwrap_or_default()));
        }
        Source::Exponential { .. } | Source::Fibonacci(_) | Source::Decorrelated(_) => {}
    }
    if let Some(within) = parts.within {
        command += &format!(" --retry-max-time {}", written(within));
    }
    if let Some(timeout) = entry.timeout {
        command += &format!(" --max-time {}", written(timeout));
    }
    Foreign::Text(command + " URL\n")
}

fn write_wget(parts: &Parts, entry: &Entry) -> Foreign {
    let mut command = format!("wget --tries={}", parts.attempts.unwrap_or(0));
    let wait = parts.cap().unwrap_or(std::time::Duration::from_secs(86_400));
    command += &format!(" --waitretry={}", written(wait));
    if let Some(timeout) = entry.timeout {
        command += &format!(" --timeout={}", written(timeout));
    }
    Foreign::Text(command + " --retry-connrefused URL\n")
}
