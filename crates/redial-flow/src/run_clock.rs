//! The clock of a run, which goes on while no process runs it.

use std::time::{Duration, SystemTime};

use crate::record::Start;

/// What the clock starts from, for the journal.
#[cfg(any(unix, feature = "steps"))]
pub(crate) fn start(seed: u64, argv: Vec<String>) -> Start {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let cwd = std::env::current_dir().unwrap_or_default();
    Start {
        ts: timestamp(wall).into(),
        wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        boot_id: boot_id().into(),
        boot_ns: boot_ns(),
        pid: std::process::id(),
        seed,
        argv,
        cwd: cwd.to_string_lossy().into_owned(),
        flow_crc: None,
    }
}

/// How long ago that was: by the boot clock within a boot, by the time of day across boots; never negative.
pub(crate) fn since(start: &Start) -> Duration {
    let nanos = match !start.boot_id.is_empty() && *start.boot_id == boot_id() {
        true => boot_ns().saturating_sub(start.boot_ns),
        false => {
            let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let wall = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
            wall.saturating_sub(start.wall_ns)
        }
    };
    Duration::from_nanos(nanos)
}

fn boot_id() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn boot_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
fn boot_ns() -> u64 {
    0
}

/// `2026-11-15T19:57:01.123456Z`, by the days of the civil calendar.
#[cfg(any(unix, feature = "steps", test))]
fn timestamp(since_epoch: Duration) -> String {
    const LATEST: u64 = 253_402_300_799;
    let seconds = since_epoch.as_secs().min(LATEST);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Of Howard Hinnant's algorithms for dates: years begin in March, so that a leap day comes last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let micros = since_epoch.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[test]
fn times_of_day_are_those_of_the_calendar() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00.000000Z"),
        (951_782_400, "2000-02-29T00:00:00.000000Z"),
        (1_763_236_621, "2025-11-15T19:57:01.000000Z"),
        (4_102_444_799, "2099-12-31T23:59:59.000000Z"),
        (u64::MAX, "9999-12-31T23:59:59.000000Z"),
    ] {
        assert_eq!(timestamp(Duration::from_secs(seconds)), text);
    }
}
