//! Times of day, as they stand in the event log and in the name of a run. The system's clock may
//! show anything: a board without a battery starts in 1970 or before, and a broken clock may be
//! thousands of years ahead. None of that keeps a command from running.

use std::time::{Duration, SystemTime};

const SECONDS_OF_DAY: i64 = 86_400;

/// The years that RFC 3339 has room for. A clock beyond them is shown as the nearest time within.
const FIRST: i64 = -62_167_219_200;
const LAST: i64 = 253_402_300_799;

/// The time in UTC as RFC 3339 writes it, to the microsecond: `2026-11-15T19:57:01.123456Z`.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let (seconds, micros) = match since_1970(time) {
        (seconds, _) if seconds < FIRST => (FIRST, 0),
        (seconds, _) if seconds > LAST => (LAST, 999_999),
        within => within,
    };
    let (year, month, day) = date(seconds.div_euclid(SECONDS_OF_DAY));
    let second = seconds.rem_euclid(SECONDS_OF_DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// A name for a run that sorts by time: 48 bits of milliseconds and 80 of chance, in the 26
/// characters of a ULID. A time that does not fit is the first or the last one that does.
pub(super) fn run_id(time: SystemTime, chance: u128) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const MILLIS_MAX: u128 = (1 << 48) - 1;
    const CHANCE_MAX: u128 = (1 << 80) - 1;
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let id = since.as_millis().min(MILLIS_MAX) << 80 | chance & CHANCE_MAX;
    (0..26).rev().map(|at| char::from(DIGITS[(id >> (5 * at) & 31) as usize])).collect()
}

/// Whole seconds, negative before 1970, and the microseconds after them.
fn since_1970(time: SystemTime) -> (i64, u32) {
    let whole = |since: Duration| i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (whole(after), after.subsec_micros()),
        Err(before) => {
            let before = before.duration();
            match before.subsec_nanos().div_ceil(1000) {
                0 => (-whole(before), 0),
                micros => (-whole(before) - 1, 1_000_000 - micros),
            }
        }
    }
}

/// The year, month and day that begins so many days after 1 January 1970, in the Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last day of its year.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    const DAYS_FROM_MARCH_OF_YEAR_0: i64 = 719_468;
    let days = days + DAYS_FROM_MARCH_OF_YEAR_0;
    let (cycle, day) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    // One leap day in 4 years, none in 100, one in 400.
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    // From March on, every five months have 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let year = 400 * cycle + year + i64::from(month >= 10);
    (year, if month < 10 { month + 3 } else { month - 9 }, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64, nanos: u32) -> SystemTime {
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let time = match seconds {
            0.. => SystemTime::UNIX_EPOCH.checked_add(whole),
            _ => SystemTime::UNIX_EPOCH.checked_sub(whole),
        };
        time.unwrap() + Duration::from_nanos(nanos.into())
    }

    #[test]
    fn a_time_of_day_is_written_as_rfc_3339_has_it() {
        for (seconds, nanos, text) in [
            (0, 0, "1970-01-01T00:00:00.000000Z"),
            (1_794_772_621, 123_456_789, "2026-11-15T19:57:01.123456Z"),
            (951_782_400, 0, "2000-02-29T00:00:00.000000Z"),
            (4_107_542_399, 999_999_999, "2100-02-28T23:59:59.999999Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000000Z"),
            (-1, 0, "1969-12-31T23:59:59.000000Z"),
            (-1, 999_999_000, "1969-12-31T23:59:59.999999Z"),
            (-315_619_200, 0, "1960-01-01T00:00:00.000000Z"),
            (FIRST, 0, "0000-01-01T00:00:00.000000Z"),
            (LAST, 999_999_999, "9999-12-31T23:59:59.999999Z"),
        ] {
            assert_eq!(rfc3339(at(seconds, nanos)), text, "{seconds}");
        }
    }

    #[test]
    fn a_clock_beyond_the_calendar_shows_its_nearest_end() {
        let beyond = [at(LAST + 1, 0), at(i64::MAX, 0)];
        assert!(beyond.iter().all(|time| rfc3339(*time) == "9999-12-31T23:59:59.999999Z"));
        let before = [at(FIRST - 1, 1), at(-i64::MAX, 0)];
        assert!(before.iter().all(|time| rfc3339(*time) == "0000-01-01T00:00:00.000000Z"));
    }

    /// Day by day, with no arithmetic but that of a calendar on the wall.
    #[test]
    fn every_day_is_followed_by_the_next() {
        let (mut year, mut month, mut day) = (1600, 1, 1);
        for days in -135_140..=SECONDS_OF_DAY {
            assert_eq!(date(days), (year, month, day), "{days}");
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i64::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn the_name_of_a_run_sorts_by_time_at_any_time() {
        let times =
            [at(-i64::MAX, 0), at(1, 0), at(1_794_772_621, 0), at(LAST, 0), at(i64::MAX, 0)];
        let names = times.map(|time| run_id(time, u128::MAX));
        assert!(names.is_sorted(), "{names:?}");
        assert!(names.iter().all(|name| name.len() == 26), "{names:?}");
        assert_eq!(names[0], "0000000000ZZZZZZZZZZZZZZZZ");
        assert_eq!(names[4], "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    }
}
