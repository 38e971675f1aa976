//! Durations: reading them, and writing them for people, rounded and short.

use std::time::Duration;

const MICROSECOND: u128 = 1_000;
const MILLISECOND: u128 = 1_000_000;
const SECOND: u128 = 1_000_000_000;
const MINUTE: u128 = 60 * SECOND;
const HOUR: u128 = 60 * MINUTE;
const DAY: u128 = 24 * HOUR;
/// 365.25 days.
const YEAR: u128 = 8766 * HOUR;

/// What a duration should look like.
pub(crate) const EXPECTED: &str = "use one such as 500ms, 10s or 1m30s";

/// Reads a duration. The unit is required.
// Inlined: `run` would touch one more page for it.
#[inline(always)]
pub(crate) fn read(text: &str) -> Option<Duration> {
    let has_unit = text.ends_with(|end: char| end.is_alphabetic());
    redial_policy::dictated(text).filter(|_| has_unit)
}

/// Whole nanoseconds, as JSON has them; what does not fit in 64 bits saturates.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A duration to four digits, in the units people use: `100ms`, `1.5s`, `2min 30s`, `584.5 years`.
pub(crate) fn human(duration: Duration) -> String {
    // Rounded first, so that 59.9999s is 1min and not 60s.
    let nanos = rounded(duration.as_nanos());
    match nanos {
        0 => "0s".into(),
        1..MICROSECOND => format!("{nanos}ns"),
        MICROSECOND..MILLISECOND => format!("{}µs", decimal(nanos, MICROSECOND)),
        MILLISECOND..SECOND => format!("{}ms", decimal(nanos, MILLISECOND)),
        SECOND..MINUTE => format!("{}s", decimal(nanos, SECOND)),
        MINUTE..HOUR => two((nanos / MINUTE, "min"), &decimal(nanos % MINUTE, SECOND), "s"),
        HOUR..DAY => two((nanos / HOUR, "h"), &(nanos % HOUR / MINUTE).to_string(), "min"),
        DAY..YEAR => two((nanos / DAY, "d"), &(nanos % DAY / HOUR).to_string(), "h"),
        _ => years(nanos),
    }
}

/// A duration in one unit and three digits, where there is no room: `9.99min`.
pub(crate) fn compact(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let (unit, name) = match nanos {
        0 => return "0s".into(),
        1..MICROSECOND => (1, "ns"),
        MICROSECOND..MILLISECOND => (MICROSECOND, "µs"),
        MILLISECOND..SECOND => (MILLISECOND, "ms"),
        SECOND..MINUTE => (SECOND, "s"),
        MINUTE..HOUR => (MINUTE, "min"),
        HOUR..DAY => (HOUR, "h"),
        DAY..YEAR => (DAY, "d"),
        _ => (YEAR, "y"),
    };
    // Rounded once: to hundredths, tenths or ones.
    let quantum = match nanos / unit {
        0..10 => 1,
        10..100 => 10,
        _ => 100,
    };
    let hundredths = (nanos * 100 / quantum + unit / 2) / unit * quantum;
    format!("{}{name}", decimal(hundredths, 100))
}

/// Rounded to about four digits.
fn rounded(nanos: u128) -> u128 {
    const DIGITS: u32 = 4;
    let quantum = match nanos {
        0..MINUTE => {
            let digits = nanos.checked_ilog10().unwrap_or(0) + 1;
            10u128.pow(digits.saturating_sub(DIGITS))
        }
        _ if nanos < 10 * MINUTE => SECOND / 10,
        MINUTE..HOUR => SECOND,
        HOUR..DAY => MINUTE,
        DAY..YEAR => HOUR,
        _ => YEAR / 10,
    };
    (nanos + quantum / 2) / quantum * quantum
}

/// A number of units that is a power of ten, without zeros at its end.
fn decimal(number: u128, unit: u128) -> String {
    let whole = number / unit;
    if number.is_multiple_of(unit) {
        return whole.to_string();
    }
    let digits = unit.ilog10() as usize;
    let fraction = format!("{:0digits$}", number % unit);
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

fn two((large, unit): (u128, &str), small: &str, small_unit: &str) -> String {
    match small {
        "0" => format!("{large}{unit}"),
        small => format!("{large}{unit} {small}{small_unit}"),
    }
}

fn years(nanos: u128) -> String {
    match decimal(nanos / (YEAR / 10), 10).as_str() {
        "1" => "1 year".into(),
        years => format!("{years} years"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_say_them() {
        let cases: [(u64, &str, &str); 24] = [
            (0, "0s", "0s"),
            (1, "1ns", "1ns"),
            (999, "999ns", "999ns"),
            (1_500, "1.5µs", "1.5µs"),
            (999_999, "1ms", "1000µs"),
            (100_000_000, "100ms", "100ms"),
            (741_564_879, "741.6ms", "742ms"),
            (999_960_000, "1s", "1000ms"),
            (1_500_000_000, "1.5s", "1.5s"),
            (12_345_678_901, "12.35s", "12.3s"),
            (59_996_000_000, "1min", "60s"),
            (60_000_000_000, "1min", "1min"),
            (90_500_000_000, "1min 30.5s", "1.51min"),
            (150_000_000_000, "2min 30s", "2.5min"),
            (599_960_000_000, "10min", "10min"),
            (3_599_400_000_000, "59min 59s", "60min"),
            (3_599_600_000_000, "1h", "60min"),
            (5_400_000_000_000, "1h 30min", "1.5h"),
            (86_399_000_000_000, "1d", "24h"),
            (90_000_000_000_000, "1d 1h", "1.04d"),
            (31_536_000_000_000_000, "365d", "365d"),
            (31_557_600_000_000_000, "1 year", "1y"),
            (47_336_400_000_000_000, "1.5 years", "1.5y"),
            (u64::MAX, "584.5 years", "585y"),
        ];
        for (nanos, people, short) in cases {
            assert_eq!(human(Duration::from_nanos(nanos)), people, "{nanos}ns");
            assert_eq!(compact(Duration::from_nanos(nanos)), short, "{nanos}ns");
        }
        assert!(human(Duration::MAX).ends_with(" years"));
    }
}
