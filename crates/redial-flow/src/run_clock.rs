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
        said: serde_json::Value::Null,
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

/// `2026-11-15T19:57:01.123456Z`; RFC 3339 ends with the year 9999.
#[cfg(any(unix, feature = "steps", test))]
fn timestamp(since_epoch: Duration) -> String {
    const LATEST: Duration = Duration::from_secs(253_402_300_799);
    let time = std::time::SystemTime::UNIX_EPOCH + since_epoch.min(LATEST);
    humantime::format_rfc3339_micros(time).to_string()
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
