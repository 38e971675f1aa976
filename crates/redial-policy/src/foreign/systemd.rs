//! systemd: how a service is restarted, and when it has been started too often.
//!
//! systemd/systemd `src/core/service.c` (`service_restart_usec_next`), `src/basic/ratelimit.c`.

use super::arithmetic::geometric;
use super::ini::{Setting, settings};
use super::value::{MILLISECOND, SECOND, scaled};
use super::{Draw, Found, Reader, Reads, System, Vector, duration};
use crate::Format;
use crate::convert::{Foreign, Parts, Source};
use crate::diagnostic::{Kind, Span};
use crate::document::Entry;

pub(super) const SYSTEM: System = System {
    name: "systemd",
    title: "systemd",
    clients: &[],
    vocabulary: &[("max_delay", "RestartMaxDelaySec"), ("delay", "RestartSec")],
    reads: Reads::Text(is_unit, read),
    writes: Some(write),
    page: include_str!("pages/systemd.md"),
    vectors: &[
        Vector {
            text: "[Service]\nRestart=on-failure\nRestartSec=1s\nRestartSteps=4\nRestartMaxDelaySec=160s\n",
            format: Format::Text,
            client: None,
            delays: "1s 3556558us 12649110us 44987306us 160s 160s …",
        },
        Vector {
            text: "[Service]\nRestart=always\n",
            format: Format::Text,
            client: None,
            delays: "100ms 100ms 100ms 100ms",
        },
    ],
};

const MICROSECOND: u64 = 1000;

fn is_unit(text: &str) -> bool {
    let is_restart =
        |setting: &Setting<'_>| setting.section == "Service" && setting.name.starts_with("Restart");
    text.contains("[Service]") && settings(text).iter().any(is_restart)
}

/// A time span of systemd: `1min 20s`, `5` for seconds, `infinity`.
fn time(text: &str) -> Option<u64> {
    const UNITS: [(&[&str], u64); 7] = [
        (&["us", "usec", "µs", "μs"], MICROSECOND),
        (&["ms", "msec"], MILLISECOND),
        (&["", "s", "sec", "second", "seconds"], SECOND),
        (&["m", "min", "minute", "minutes"], 60 * SECOND),
        (&["h", "hr", "hour", "hours"], 3600 * SECOND),
        (&["d", "day", "days"], 86_400 * SECOND),
        (&["w", "week", "weeks"], 604_800 * SECOND),
    ];
    if text == "infinity" {
        return Some(u64::MAX);
    }
    let (mut rest, mut sum) = (text.trim(), 0u64);
    while !rest.is_empty() {
        let is_number = |character: char| character.is_ascii_digit() || character == '.';
        let end = rest.find(|character| !is_number(character)).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let after = after.trim_start();
        let letters = after.find(|character: char| is_number(character) || character == ' ');
        let (unit, after) = after.split_at(letters.unwrap_or(after.len()));
        let (_, nanos) = UNITS.iter().find(|(names, _)| names.contains(&unit))?;
        sum = sum.checked_add(scaled(number, *nanos)?)?;
        rest = after.trim_start();
    }
    (!text.trim().is_empty()).then_some(sum / MICROSECOND * MICROSECOND)
}

fn read(reader: &mut Reader<'_>) {
    let before = reader.told();
    let text = reader.text;
    let all = settings(text);
    // The last one of a name counts.
    let get = |name: &str| all.iter().rev().find(|setting| setting.name == name);
    let value = |name: &str| get(name).map_or("", |setting| setting.value);
    let span = |name: &str| get(name).map_or(Span { start: 0, end: 0 }, |setting| setting.span);
    let mut times = |name: &str, default: u64| {
        let Some(setting) = get(name) else { return default };
        let found = time(setting.value);
        if found.is_none() {
            let value = crate::fields::excerpt(setting.value);
            let message = format!(
                "{name}: `{value}` is no time span, and systemd ignores it; use 5s or 1min 30s"
            );
            reader.tell(Kind::IgnoredThere, setting.span, message);
        }
        found.unwrap_or(default)
    };
    let sec = times("RestartSec", 100 * MILLISECOND);
    let max = times("RestartMaxDelaySec", u64::MAX);
    let random = times("RestartRandomizedDelaySec", 0);
    let interval_name = if get("StartLimitInterval").is_some() {
        "StartLimitInterval"
    } else {
        "StartLimitIntervalSec"
    };
    let interval = times(interval_name, 10 * SECOND);
    let mut number = |name: &str, default: u64| {
        let Some(setting) = get(name) else { return default };
        let found = setting.value.parse().ok();
        if found.is_none() {
            let message = format!(
                "{name}: `{}` is no number, and systemd ignores it",
                crate::fields::excerpt(setting.value)
            );
            reader.tell(Kind::IgnoredThere, setting.span, message);
        }
        found.unwrap_or(default)
    };
    let steps = number("RestartSteps", 0);
    let burst = number("StartLimitBurst", 5);
    for (one, other, missing) in [
        ("RestartSteps", "RestartMaxDelaySec", max == u64::MAX),
        ("RestartMaxDelaySec", "RestartSteps", steps == 0),
    ] {
        if get(one).is_some() && missing {
            let message = format!("{one} has no effect without {other}: every delay is RestartSec");
            reader.tell(Kind::IgnoredThere, span(one), message);
        }
    }
    let grows = steps > 0 && max < u64::MAX;
    let sec = if grows { sec.min(max) } else { sec };
    let law = Restarts { sec, max, steps: if grows { steps } else { 0 }, random };
    let restarts = match value("Restart") {
        "" | "no" => Some(0),
        "always" | "on-success" | "on-failure" | "on-abnormal" | "on-abort" | "on-watchdog" => {
            law.until_limit(burst, interval)
        }
        _ => {
            let known = "no, always, on-success, on-failure, on-abnormal, on-abort or on-watchdog";
            reader.tell(
                Kind::IgnoredThere,
                span("Restart"),
                format!("Restart is {known}; systemd ignores others"),
            );
            Some(0)
        }
    };
    let mut found = Found::new("Service", span("Restart"), law.clause(restarts));
    match restarts {
        Some(0) => found.note("Restart is no, which is the default: the service is not restarted."),
        Some(restarts) => found.note(format!(
            "A service that fails at once is started {} times within {} (StartLimitBurst, StartLimitIntervalSec), and is \
             then failed for good.",
            restarts + 1,
            duration(interval),
        )),
        None if burst == 0 || interval == 0 => found.note("There is no limit to the starts."),
        None => found.note(format!(
            "The delays are too long for the limit of {burst} starts in {}: the service is restarted for ever.",
            duration(interval)
        )),
    }
    if grows {
        found.note(format!(
            "RestartSteps is not a limit: it is the number of steps from {} to {}, each longer by the same factor.",
            duration(sec),
            duration(max)
        ));
        found.note("The count of restarts never starts over by itself, also not after months of health (systemd/systemd#43813).");
    }
    reader.law(found, before, move |n| law.delay(n));
}

#[derive(Clone, Copy)]
struct Restarts {
    sec: u64,
    max: u64,
    /// 0 where the delays do not grow.
    steps: u64,
    random: u64,
}

impl Restarts {
    /// *sec* · (*max* / *sec*)^(*n* / *steps*), cut to microseconds.
    fn nanos(&self, n: u64) -> u64 {
        match self.steps {
            0 => self.sec,
            steps if n >= steps => self.max,
            _ if n == 0 || self.sec == 0 => self.sec,
            steps => {
                let (from, to) = (self.sec / MICROSECOND, self.max / MICROSECOND);
                geometric(from, to, n, steps).saturating_mul(MICROSECOND)
            }
        }
    }

    fn delay(&self, n: u32) -> Draw {
        let nanos = self.nanos(n.into());
        match self.random {
            0 => Draw::exactly(nanos),
            more => {
                Draw::between(nanos, nanos.saturating_add(more).saturating_add(MICROSECOND - 1))
                    .cut_to(MICROSECOND)
            }
        }
    }

    /// How many restarts there are before so many starts have been made in an interval, where the service fails at once and
    /// chance is not kind; none where that never happens.
    fn until_limit(&self, burst: u64, interval: u64) -> Option<u64> {
        /// By then the delays have settled, or there are more steps than anybody has.
        const LOOKED_AT: u64 = 4096;
        if burst == 0 || interval == 0 {
            return None;
        }
        let (mut now, mut begin, mut starts) = (0u64, 0u64, 1u64);
        for n in 0..LOOKED_AT {
            now = now.saturating_add(self.nanos(n));
            if now.saturating_sub(begin) > interval {
                (begin, starts) = (now, 1);
            } else if starts < burst {
                starts += 1;
            } else {
                return Some(n);
            }
        }
        None
    }

    fn clause(&self, restarts: Option<u64>) -> String {
        let mut clause = match restarts {
            Some(0) => return "attempts: 1".to_owned(),
            Some(restarts) => format!("retry: {restarts}"),
            None => "attempts: unlimited".to_owned(),
        };
        let shown = restarts.unwrap_or(u64::MAX).min(32).min(self.steps);
        match shown {
            0 | 1 => clause += &format!(", delay: {}, max_delay: none", duration(self.sec)),
            shown => {
                let listed: Vec<_> = (0..shown).map(|n| duration(self.nanos(n))).collect();
                clause += &format!(
                    ", backoff: [{}], max_delay: {}",
                    listed.join(", "),
                    duration(self.max)
                );
            }
        }
        clause
    }
}

fn write(parts: &Parts, _entry: &Entry) -> Foreign {
    let (sec, steps) = match &parts.source {
        Source::Exponential { delay, factor } => {
            let factor = factor.parse::<f64>().unwrap_or(2.0);
            (*delay, parts.cap().map_or(0, |cap| steps(*delay, cap, factor)))
        }
        Source::Fibonacci(delay) | Source::Decorrelated(delay) => {
            (*delay, parts.cap().map_or(0, |cap| steps(*delay, cap, 2.0)))
        }
        Source::Fixed(delay) | Source::Linear { delay, .. } => (*delay, 0),
        Source::List(delays) => (delays.first().copied().unwrap_or_default(), 0),
    };
    let time = |time: std::time::Duration| {
        let micros = time.as_micros();
        if micros.is_multiple_of(1_000_000) {
            format!("{}s", micros / 1_000_000)
        } else {
            format!("{micros}us")
        }
    };
    let mut unit = match parts.attempts {
        Some(attempts) => {
            format!("[Unit]\nStartLimitBurst={attempts}\nStartLimitIntervalSec=infinity\n\n")
        }
        None => "[Unit]\nStartLimitIntervalSec=0\n\n".to_owned(),
    };
    unit += &format!("[Service]\nRestart=on-failure\nRestartSec={}\n", time(sec));
    if let Some(cap) = parts.cap().filter(|_| steps > 0) {
        unit += &format!("RestartSteps={steps}\nRestartMaxDelaySec={}\n", time(cap));
    }
    Foreign::Text(unit)
}

/// How many times the delay grows before it gets to the cap.
fn steps(delay: std::time::Duration, cap: std::time::Duration, factor: f64) -> u64 {
    let (mut current, mut steps) = (delay.as_secs_f64(), 0);
    while current < cap.as_secs_f64() * 0.999_999 && steps < 64 && factor > 1.0 && current > 0.0 {
        current *= factor;
        steps += 1;
    }
    steps
}
