//! A delay as programs print it: `30`, `1.5 seconds`, `2 min`, `1m30s`, or an HTTP date.

use std::time::{Duration, SystemTime};

use redial_core::clause;

/// The names of a unit, that of the core, and how many digits of its fraction are whole nanoseconds.
const UNITS: [(&[&str], &str, usize); 7] = [
    (&["ns", "nsec", "nanosecond", "nanoseconds"], "ns", 0),
    (&["us", "µs", "μs", "usec", "microsecond", "microseconds"], "us", 3),
    (&["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"], "ms", 6),
    (&["", "s", "sec", "secs", "second", "seconds"], "s", 9),
    (&["m", "min", "mins", "minute", "minutes"], "min", 9),
    (&["h", "hr", "hrs", "hour", "hours"], "h", 9),
    (&["d", "day", "days"], "d", 9),
];

/// A duration, or the time until a date in one of the three forms of RFC 9110; zero for one in the past.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use redial_policy::dictated_at;
///
/// let now = SystemTime::UNIX_EPOCH;
/// assert_eq!(dictated_at("90", now), Some(Duration::from_secs(90)));
/// assert_eq!(dictated_at("Thu, 01 Jan 1970 00:01:00 GMT", now), Some(Duration::from_secs(60)));
/// ```
pub fn read_at(text: &str, now: SystemTime) -> Option<Duration> {
    let until = |date: SystemTime| date.duration_since(now).unwrap_or(Duration::ZERO);
    read(text).or_else(|| httpdate::parse_http_date(text).ok().map(until))
}

/// A duration, in seconds where it has no unit. Saturates.
pub fn read(text: &str) -> Option<Duration> {
    let text = text.trim().trim_end_matches(['.', ',', ';']).to_lowercase();
    let mut clause = String::from("timeout: ");
    let mut rest = text.as_str();
    let mut zero = true;
    while !rest.is_empty() {
        let (number, after) =
            split(rest, |character| character.is_ascii_digit() || character == '.');
        let (unit, after) = split(after.trim_start(), char::is_alphabetic);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let (_, unit, digits) = UNITS.iter().find(|(names, ..)| names.contains(&unit))?;
        // A number without a unit has to be the only one: `1m30` is ambiguous.
        let alone = rest.len() == text.len() && after.is_empty();
        let named = number.len() < rest.len() - after.len();
        if number.is_empty() || fraction.contains('.') || whole.is_empty() || !(named || alone) {
            return None;
        }
        let fraction = &fraction[..fraction.len().min(*digits)];
        let point = if fraction.is_empty() { "" } else { "." };
        clause += &format!("{whole}{point}{fraction}{unit}");
        zero &= !whole.contains(|digit| digit != '0') && !fraction.contains(|digit| digit != '0');
        let after = after.trim_start();
        rest = after.strip_prefix(',').or(after.strip_prefix("and ")).unwrap_or(after).trim_start();
    }
    match clause::read_call(&clause).timeout() {
        None if zero && !text.is_empty() => Some(Duration::ZERO),
        read => read,
    }
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|character| !belongs(character)).unwrap_or(text.len()))
}
