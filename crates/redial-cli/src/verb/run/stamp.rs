//! Times of day, as they stand in the event log and in the name of a run. A clock that is wrong keeps no command
//! from running: what is before 1970 or after 9999 is shown as the nearest time within.

use std::time::{Duration, SystemTime};

/// The last nanosecond of 9999, where RFC 3339 ends.
const LATEST: Duration = Duration::new(253_402_300_799, 999_999_999);

/// The time in UTC as RFC 3339 writes it, to the microsecond: `2026-11-15T19:57:01.123456Z`.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    humantime::format_rfc3339_micros(SystemTime::UNIX_EPOCH + since.min(LATEST)).to_string()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_show_anything() {
        let epoch = SystemTime::UNIX_EPOCH;
        let far = Duration::from_secs(i64::MAX as u64);
        let now = epoch + Duration::new(1_794_772_621, 123_456_789);
        let times = [epoch - far, now, epoch + far];
        let [before, at, after] = times.map(rfc3339);
        assert_eq!(before, "1970-01-01T00:00:00.000000Z");
        assert_eq!(at, "2026-11-15T19:57:01.123456Z");
        assert_eq!(after, "9999-12-31T23:59:59.999999Z");
        let names = times.map(|time| run_id(time, u128::MAX));
        assert_eq!(names[0], "0000000000ZZZZZZZZZZZZZZZZ");
        assert!(names[0] < names[1] && names[1] < names[2] && names[1].len() == 26, "{names:?}");
        assert_eq!(names[2], "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    }
}
