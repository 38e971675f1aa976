//! A circuit breaker in a file.
//!
//! The file does not say how many probes run. A probe is a lock that its process holds, so the
//! locks are counted instead: one whose process was killed is gone in the same moment.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use redial_core::{Breaker, BreakerBuilder, BreakerSnapshot, BreakerState, Permit, Pretty, Time};
use serde::{Deserialize, Serialize};

use super::lock::{self, Byte, PROBES_MAX};
use super::record::{self, LOCK_TIMEOUT, Look, Record, SharedFile, VERSION};
use super::{Clock, seconds, time, wall_clock};

/// The settings, then the state. In a file that a person writes, all fields but `redial` may be missing.
#[derive(Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct BreakerRecord {
    redial: String,
    v: u32,
    failures: u32,
    recovery_seconds: f64,
    probes: u32,
    state: State,
    /// Failed attempts in a row, where it is closed.
    failed: u32,
    /// Seconds since 1970, where it is open.
    until: f64,
    /// Probes that succeeded, where it is half open.
    succeeded: u32,
    period: u16,
}

/// Whether a breaker lets attempts run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Every attempt may run.
    Closed,
    /// None may.
    Open,
    /// A few may, as probes.
    HalfOpen,
}

impl Default for BreakerRecord {
    fn default() -> Self {
        Self {
            redial: Self::KIND.to_owned(),
            v: VERSION,
            failures: 5,
            recovery_seconds: 30.0,
            probes: 1,
            state: State::Closed,
            failed: 0,
            until: 0.0,
            succeeded: 0,
            period: 0,
        }
    }
}

/// Four years. The core can count a little longer.
const RECOVERY_MAX: Duration = Duration::from_secs(4 * 366 * 24 * 60 * 60);

impl Record for BreakerRecord {
    const KIND: &'static str = "breaker";
}

impl BreakerRecord {
    fn settings(&self) -> Result<BreakerBuilder, String> {
        let recovery = Duration::try_from_secs_f64(self.recovery_seconds).ok();
        let recovery = recovery.filter(|recovery| *recovery <= RECOVERY_MAX).ok_or_else(|| {
            format!(
                "recovery_seconds: {} is out of range; use 0 or more, four years at most",
                self.recovery_seconds
            )
        })?;
        if self.probes > PROBES_MAX {
            return Err(format!("probes: {} are too many; use at most {PROBES_MAX}", self.probes));
        }
        let settings = Breaker::builder().failures(self.failures).probes(self.probes);
        Ok(settings.recovery(recovery))
    }

    fn resume(&self, running: u32, now: Time) -> Result<Breaker, String> {
        let state = match self.state {
            State::Closed => BreakerState::Closed { failures: self.failed },
            State::Open => BreakerState::Open { until: time(self.until) },
            State::HalfOpen => BreakerState::HalfOpen,
        };
        let Self { succeeded, period, .. } = *self;
        let snapshot = BreakerSnapshot { state, running, succeeded, period };
        self.settings()?.resume(snapshot, now).map_err(|invalid| invalid.to_string())
    }

    fn keep(&mut self, snapshot: BreakerSnapshot) {
        (self.state, self.failed, self.until) = match snapshot.state {
            BreakerState::Closed { failures } => (State::Closed, failures, 0.0),
            BreakerState::Open { until } => (State::Open, 0, seconds(until)),
            BreakerState::HalfOpen => (State::HalfOpen, 0, 0.0),
        };
        self.succeeded = snapshot.succeeded;
        self.period = snapshot.period;
    }

    /// How many probes of this period run now, in whatever process.
    fn running(&self, file: &File) -> Result<u32, String> {
        let probes = match self.state {
            State::HalfOpen => self.probes.min(PROBES_MAX),
            State::Closed | State::Open => 0,
        };
        let mut running = 0;
        for number in 0..probes {
            running += u32::from(lock::is_locked(file, Byte::probe(self.period, number))?);
        }
        Ok(running)
    }

    /// Locks the byte of a probe of this period, if there is a free one.
    fn lock_probe(&self, file: &File) -> Result<Option<Byte>, String> {
        for number in 0..self.probes {
            let byte = Byte::probe(self.period, number);
            if lock::try_lock(file, byte)? {
                return Ok(Some(byte));
            }
        }
        Ok(None)
    }
}

/// A breaker as it is now, under the names that it has in its file.
#[derive(Debug, Serialize)]
pub struct BreakerStatus {
    /// How many failed attempts in a row open it.
    pub failures: u32,
    /// How long it stays open.
    pub recovery_seconds: f64,
    /// How many attempts then decide whether it closes.
    pub probes: u32,
    /// Whether attempts may run.
    pub state: State,
    /// Failed attempts in a row, where it is closed.
    pub failed: u32,
    /// For how long it stays open, where it is open.
    pub open_for_ns: Option<u64>,
    /// Probes that succeeded, where it is half open.
    pub succeeded: u32,
    /// Probes that are running, where it is half open.
    pub running: u32,
}

impl BreakerStatus {
    pub(super) fn of(look: &Look, clock: Clock) -> Result<Self, String> {
        Self::at(&record::parse(&look.bytes)?, &look.file, clock())
    }

    fn at(record: &BreakerRecord, file: &File, now: Time) -> Result<Self, String> {
        let breaker = record.resume(record.running(file)?, now)?;
        let BreakerSnapshot { state, running, succeeded, .. } = breaker.snapshot(now);
        let (state, failed, open_for) = match state {
            BreakerState::Closed { failures } => (State::Closed, failures, None),
            BreakerState::Open { until } => (State::Open, 0, Some(until.since(now))),
            BreakerState::HalfOpen => (State::HalfOpen, 0, None),
        };
        let open_for_ns = open_for.map(|left| left.as_nanos().try_into().unwrap_or(u64::MAX));
        let BreakerRecord { failures, recovery_seconds, probes, .. } = *record;
        Ok(Self {
            failures,
            recovery_seconds,
            probes,
            state,
            failed,
            open_for_ns,
            succeeded,
            running,
        })
    }

    /// Closes the breaker. Returns its status before and after. Attempts that are running were admitted
    /// in an earlier period, so that their results do not count.
    pub(super) fn reset(path: &Path, clock: Clock) -> Result<[Self; 2], String> {
        record::change_existing(path, |record: &mut BreakerRecord, file| {
            let now = clock();
            let before = Self::at(record, file, now)?;
            let breaker = record.resume(0, now)?;
            breaker.reset();
            record.keep(breaker.snapshot(now));
            Ok([before, Self::at(record, file, now)?])
        })
    }
}

/// The settings of a new breaker; the defaults for what is not set.
#[derive(Clone, Copy, Debug, Default)]
pub struct BreakerSettings {
    /// How many failed attempts in a row open it: 5.
    pub failures: Option<u32>,
    /// How long it stays open: 30 s.
    pub recovery: Option<Duration>,
    /// How many attempts then decide whether it closes: 1.
    pub probes: Option<u32>,
}

/// A circuit breaker that is shared by all processes which name its file.
#[derive(Clone, Debug)]
pub struct SharedBreaker(SharedFile);

/// Why an attempt may not run. Its text completes "the breaker is …".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Open, for so long from now on.
    Open(Duration),
    /// Half open, and all its probes are running.
    Probing,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(left) if *left < Duration::from_secs(1) => {
                let left = left.as_micros().div_ceil(1000) as u64;
                write!(f, "open for {} more", Pretty(Duration::from_millis(left)))
            }
            Self::Open(left) => {
                let left = left.as_millis().div_ceil(1000) as u64;
                write!(f, "open for {} more", Pretty(Duration::from_secs(left)))
            }
            Self::Probing => f.write_str("half open and waits for an attempt that is running"),
        }
    }
}

/// The permission to run one attempt, whose result has to be reported. Dropped without a report it counts
/// as neither success nor failure and, if it was a probe, lets another one run. So does the death of this
/// process.
#[derive(Debug)]
#[must_use = "report how the attempt went"]
pub(crate) struct SharedPermit {
    breaker: SharedBreaker,
    period: u16,
    _lock: Option<ProbeLock>,
}

/// The lock of a running probe, until it is dropped.
#[derive(Debug)]
struct ProbeLock {
    file: File,
    byte: Byte,
}

impl Drop for ProbeLock {
    fn drop(&mut self) {
        lock::unlock(&self.file, self.byte);
    }
}

impl SharedBreaker {
    /// Creates a closed breaker, in a new file or an empty one.
    ///
    /// # Errors
    /// Where the file is not empty or cannot be written, or a setting is out of range.
    pub fn create(path: &Path, settings: &BreakerSettings) -> Result<(), String> {
        let mut record = BreakerRecord::default();
        record.failures = settings.failures.unwrap_or(record.failures);
        record.probes = settings.probes.unwrap_or(record.probes);
        let recovery = settings.recovery.map(|time| time.as_secs_f64());
        record.recovery_seconds = recovery.unwrap_or(record.recovery_seconds);
        record.resume(0, Time::ZERO)?;
        record::create(path, &record)
    }

    /// The breaker in this file, which is created if it does not exist.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn open(path: &Path) -> Result<Self, String> {
        Self::open_within(path, wall_clock, LOCK_TIMEOUT)
    }

    pub(super) fn open_within(path: &Path, clock: Clock, lock: Duration) -> Result<Self, String> {
        SharedFile::open(path, clock, lock, |file| Self(file).change(|_, _| ())).map(Self)
    }

    /// Asks whether an attempt may run. A process has one permit at a time.
    pub(crate) fn admit(&self) -> Result<Result<SharedPermit, Refusal>, String> {
        let (decision, file) = self.0.change(|record: &mut BreakerRecord, file, now| {
            let breaker = record.resume(record.running(file)?, now)?;
            let admitted = breaker.admit(|| now).map(Permit::into_period);
            record.keep(breaker.snapshot(now));
            Ok(match (admitted, breaker.state(now)) {
                (Some(period), BreakerState::HalfOpen) => match record.lock_probe(file)? {
                    Some(byte) => Ok((period, Some(byte))),
                    None => Err(Refusal::Probing),
                },
                (Some(period), _) => Ok((period, None)),
                (None, BreakerState::Open { until }) => Err(Refusal::Open(until.since(now))),
                (None, _) => Err(Refusal::Probing),
            })
        })?;
        Ok(decision.map(|(period, byte)| SharedPermit {
            breaker: self.clone(),
            period,
            _lock: byte.map(|byte| ProbeLock { file, byte }),
        }))
    }

    /// For how long it stays open; zero where it is not open.
    pub(crate) fn open_for(&self) -> Result<Duration, String> {
        self.change(|breaker, now| match breaker.state(now) {
            BreakerState::Open { until } => until.since(now),
            BreakerState::Closed { .. } | BreakerState::HalfOpen => Duration::ZERO,
        })
    }

    fn change<T>(&self, step: impl FnOnce(&Breaker, Time) -> T) -> Result<T, String> {
        let changed = self.0.change(|record: &mut BreakerRecord, _, now| {
            // The caller may have a probe running. How many others run makes no difference here.
            let breaker = record.resume(1, now)?;
            let result = step(&breaker, now);
            record.keep(breaker.snapshot(now));
            Ok(result)
        });
        changed.map(|(result, _)| result)
    }
}

impl SharedPermit {
    /// The attempt succeeded.
    pub(crate) fn succeeded(self) -> Result<(), String> {
        self.breaker.change(|breaker, _| breaker.permit(self.period).succeeded())
    }

    /// The attempt failed. Returns for how long the breaker stays open; zero where it is not open.
    pub(crate) fn failed(self) -> Result<Duration, String> {
        self.breaker.change(|breaker, now| breaker.permit(self.period).failed(now).since(now))
    }
}

#[test]
fn the_defaults_are_those_of_the_core() {
    assert_eq!(BreakerRecord::default().settings(), Ok(Breaker::builder()));
}
