//! `redial run -- true`: what it adds to a command, beside what others add to it.
//!
//! What repeats is counted of the wrapper alone, without its command, and held: its instructions, its
//! system calls, its page faults, its memory. Time is that of both, and shown. The one time that is held
//! is what a wrapper adds on a processor, as a ratio to what `timeout` adds in the same rounds.

use std::thread;
use std::time::Duration;

use nix::sys::resource::{Usage, UsageWho, getrusage};

use super::process::{Process, bytes_of, high_water, median};
use super::wrapper::{self, TIMEOUT, Wrapper};
use super::{Program, strace};
use crate::callgrind;
use crate::measure::{Measured, Table};
use crate::row::{Cell, Met, Target};
use crate::unit::Unit;

const COMMAND: &str = "true";
const ROUNDS: usize = 200;
const LOOKS: usize = 7;
/// A busy machine only ever adds time, so a batch of rounds that misses the promise is tried again. A
/// program that is too slow misses it in every batch.
const BATCHES_MAX: usize = 8;

/// Half of it above what it takes.
const PRIVATE_MEMORY_MAX: f64 = 256.0 * 1024.0;

/// What is promised of one way to build it.
pub(crate) struct Promise {
    /// A third above what it takes.
    instructions: f64,
    /// A tenth above what it takes.
    system_calls: f64,
    /// So many times what `timeout` takes on the same machine, whose kernel decides how many pages
    /// come with one fault.
    page_faults: f64,
    /// In bytes.
    memory: f64,
    /// So many times what `timeout` adds.
    added: f64,
}

/// As `scripts/static` builds it.
pub(crate) const STATIC: Promise = Promise {
    instructions: 520e3,
    system_calls: 60.0,
    page_faults: 1.25,
    memory: 4e6,
    added: 0.95,
};
/// As `cargo install` builds it.
pub(crate) const INSTALLED: Promise =
    Promise { instructions: 720e3, system_calls: 73.0, page_faults: 1.6, memory: 4e6, added: 1.3 };

type Reading = Result<f64, &'static str>;

pub(crate) fn table(program: &Program, promise: &Promise) -> Table {
    let (mut wrappers, missing) = wrapper::installed();
    let mut notes: Vec<String> = wrapper::note(&missing).into_iter().collect();
    match Wrapper::redial(program) {
        Ok(redial) => wrappers.push(redial),
        Err(reason) => {
            notes.push(format!("Nothing of redial: {reason}."));
            return Table { columns: vec!["redial"], rows: Vec::new(), notes };
        }
    }
    let columns = [COMMAND].into_iter().chain(wrappers.iter().map(|wrapper| wrapper.name));
    let mut rows = counted(&wrappers, promise, &mut notes);
    rows.extend(timed(&wrappers, promise));
    rows.extend(limited(&wrappers, promise));
    Table { columns: columns.collect(), rows, notes }
}

/// What the wrappers take for themselves. The command has no wrapper, and a cell without anything.
fn counted(wrappers: &[Wrapper], promise: &Promise, notes: &mut Vec<String>) -> Vec<Measured> {
    let measure = "around true, by itself";
    let row = |unit, most: Option<f64>, readings: Vec<Reading>| Measured {
        measure,
        unit,
        target: most.map(Target::AtMost),
        cells: [Cell::Absent].into_iter().chain(readings.into_iter().map(cell)).collect(),
    };
    let each = |read: &dyn Fn(&Process) -> Result<u64, &'static str>| {
        let read = |wrapper: &Wrapper| read(&wrapper.around(&[COMMAND])).map(|count| count as f64);
        wrappers.iter().map(read).collect::<Vec<_>>()
    };
    let mut rows =
        vec![row(Unit::Instructions, Some(promise.instructions), each(&callgrind::collected))];
    if wrapper::find("strace").is_some() {
        let calls = each(&strace::system_calls);
        rows.push(row(Unit::SystemCalls, Some(promise.system_calls), calls));
    } else {
        notes.push("Without strace, system calls are not counted.".into());
    }
    let looks: Vec<_> = wrappers.iter().map(Look::at).collect();
    let of = |read: fn(&Look) -> u64| {
        looks.iter().map(move |look| look.as_ref().map(read).map_err(|reason| *reason))
    };
    let numbers = |read| of(read).map(|number| number.map(|number| number as f64)).collect();
    let faults: Vec<Reading> = numbers(|look| look.page_faults);
    let faults_max = wrappers
        .iter()
        .zip(&faults)
        .find(|(wrapper, _)| wrapper.name == TIMEOUT)
        .and_then(|(_, faults)| faults.ok())
        .map(|of_timeout| (of_timeout * promise.page_faults).floor());
    rows.push(row(Unit::PageFaults, faults_max, faults));
    rows.push(row(Unit::Memory, Some(promise.memory), numbers(|look| look.memory)));
    rows.push(row(
        Unit::PrivateMemory,
        Some(PRIVATE_MEMORY_MAX),
        numbers(|look| look.private_memory),
    ));
    rows
}

/// A wrapper as its command sees it, while both run: what it has taken for itself, without what its
/// command takes.
#[derive(Default)]
struct Look {
    page_faults: u64,
    memory: u64,
    private_memory: u64,
}

impl Look {
    fn at(wrapper: &Wrapper) -> Result<Self, &'static str> {
        let mut all = Vec::with_capacity(LOOKS);
        for _ in 0..LOOKS {
            all.push(Self::once(wrapper)?);
        }
        let mut faults: Vec<_> = all.iter().map(|look| look.page_faults).collect();
        faults.sort_unstable();
        Ok(Self {
            page_faults: faults[LOOKS / 2],
            memory: all.iter().map(|look| look.memory).max().unwrap_or(0),
            private_memory: all.iter().map(|look| look.private_memory).max().unwrap_or(0),
        })
    }

    fn once(wrapper: &Wrapper) -> Result<Self, &'static str> {
        let report =
            said(&wrapper.around(&["sh", "-c", "cat /proc/$PPID/status /proc/$PPID/stat"]))?;
        let parse = || {
            Some(Self {
                page_faults: page_faults(&report)?,
                memory: high_water(&report)?,
                private_memory: bytes_of(&report, "RssAnon:")?,
            })
        };
        parse().ok_or("no /proc")
    }
}

/// What the command of a process says.
fn said(process: &Process) -> Result<String, &'static str> {
    let output = process.command().output().map_err(|_| "it does not start")?;
    if !output.status.success() {
        return Err("it fails");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Those that needed no disk, from a line such as `4711 (redial) S 1 4711 4711 0 -1 4194304 244 …`.
fn page_faults(report: &str) -> Option<u64> {
    let line = report.lines().rfind(|line| line.contains(") "))?;
    let (_, after_name) = line.rsplit_once(") ")?;
    after_name.split_whitespace().nth(7)?.parse().ok()
}

/// How long the command takes, alone and in every wrapper.
fn timed(wrappers: &[Wrapper], promise: &Promise) -> Vec<Measured> {
    // By its path, as the wrappers are: std forks for a bare name, and a fork copies the page tables of
    // this large process.
    let alone = wrapper::find(COMMAND).unwrap_or_else(|| COMMAND.into());
    let alone = Process::new(alone, &[]);
    let wrapped = wrappers.iter().map(|wrapper| wrapper.around(&[COMMAND]));
    let processes: Vec<_> = [alone].into_iter().chain(wrapped).collect();
    let timeout = wrappers.iter().position(|wrapper| wrapper.name == TIMEOUT).map(|at| at + 1);
    let target = Target::AtMost(promise.added);
    let batches = (0..BATCHES_MAX).map(|_| batch(&processes));
    let mut best: Option<(Vec<Spent>, Vec<Cell>)> = None;
    for spent in batches {
        let quiet: Vec<_> = spent.iter().map(|spent| spent.map(|spent| spent.quiet_cpu)).collect();
        let added = ratios(&quiet, timeout);
        let is_better = best.as_ref().is_none_or(|(_, best)| number(&added) < number(best));
        let is_met = added.last().is_some_and(|cell| target.met(*cell) == Met::Yes);
        if is_better {
            best = Some((spent, added));
        }
        if is_met {
            break;
        }
    }
    let Some((spent, added)) = best else { return Vec::new() };
    let read = |read: fn(&Times) -> f64| -> Vec<Reading> {
        spent.iter().map(|spent| spent.as_ref().map(read).map_err(|reason| *reason)).collect()
    };
    let (cpu, wall) = (read(|times| times.cpu), read(|times| times.wall));
    let row = |measure, unit, cells| Measured { measure, unit, target: None, cells };
    let cells = |readings: &[Reading]| readings.iter().copied().map(cell).collect();
    let (all, over) = ("true, all in all", "what that adds, over timeout's");
    vec![
        row(all, Unit::CpuTime, cells(&cpu)),
        row(all, Unit::Nanoseconds, cells(&wall)),
        row(over, Unit::CpuRatio, ratios(&cpu, timeout)),
        row(over, Unit::TimeRatio, ratios(&wall, timeout)),
        Measured { measure: over, unit: Unit::QuietCpuRatio, target: Some(target), cells: added },
    ]
}

/// What the last one says: redial is the last wrapper.
fn number(cells: &[Cell]) -> f64 {
    match cells.last() {
        Some(Cell::Number(number)) => *number,
        _ => f64::INFINITY,
    }
}

/// What each adds to the first, over what the one at `unit` adds to it.
fn ratios(readings: &[Reading], unit: Option<usize>) -> Vec<Cell> {
    let alone = readings[0];
    let added = |reading: Reading| Ok(reading? - alone?);
    let unit = unit.map_or(Err("install coreutils"), |at| added(readings[at]));
    let ratio = |reading: &Reading| match (added(*reading), unit) {
        (Ok(added), Ok(unit)) if unit > 0.0 => Ok(added / unit),
        (Err(reason), _) | (_, Err(reason)) => Err(reason),
        _ => Err("too noisy"),
    };
    [Cell::Absent]
        .into_iter()
        .chain(readings[1..].iter().map(|reading| cell(ratio(reading))))
        .collect()
}

#[derive(Clone, Copy)]
struct Times {
    wall: f64,
    cpu: f64,
    /// The tenth percentile of the time on a processor.
    quiet_cpu: f64,
}

type Spent = Result<Times, &'static str>;

/// Medians in nanoseconds. The processes take turns, so that a busy moment hits all alike.
fn batch(processes: &[Process]) -> Vec<Spent> {
    let mut all: Vec<_> = processes.iter().map(|_| Ok((Vec::new(), Vec::new()))).collect();
    for _ in 0..ROUNDS {
        for (process, spent) in processes.iter().zip(&mut all) {
            let Ok((wall, cpu)) = spent else { continue };
            let before = cpu_of_children();
            match process.timed() {
                Ok(time) => {
                    wall.push(time);
                    cpu.push(cpu_of_children().saturating_sub(before));
                }
                Err(reason) => *spent = Err(reason),
            }
        }
    }
    let times = |(wall, mut cpu): (Vec<Duration>, Vec<Duration>)| {
        cpu.sort_unstable();
        let quiet_cpu = cpu.get(cpu.len() / 10).map_or(0.0, |time| time.as_nanos() as f64);
        Times { wall: median(wall), cpu: median(cpu), quiet_cpu }
    };
    all.into_iter().map(|spent| spent.map(times)).collect()
}

/// What all processes that we have waited for took, and theirs.
fn cpu_of_children() -> Duration {
    let time = |usage: Usage| {
        let all = usage.user_time() + usage.system_time();
        Duration::new(all.tv_sec().unsigned_abs(), all.tv_usec().unsigned_abs() as u32 * 1000)
    };
    getrusage(UsageWho::RUSAGE_CHILDREN).map(time).unwrap_or_default()
}

/// The same with a timeout of an attempt: what it takes to set one, and what to wait for it.
fn limited(wrappers: &[Wrapper], promise: &Promise) -> Vec<Measured> {
    let row = |measure, unit, most, readings: Vec<Option<Reading>>| Measured {
        measure,
        unit,
        target: Some(Target::AtMost(most)),
        cells: [Cell::Absent]
            .into_iter()
            .chain(readings.into_iter().map(|reading| reading.map_or(Cell::Absent, cell)))
            .collect(),
    };
    let instructions = wrappers.iter().map(|wrapper| {
        let process = wrapper.limited(&[COMMAND])?;
        Some(callgrind::collected(&process).map(|count| count as f64))
    });
    let instructions = instructions.collect();
    // All of them at once: they sleep.
    let wake_ups = thread::scope(|scope| {
        let sleeping: Vec<_> =
            wrappers.iter().map(|wrapper| scope.spawn(|| wake_ups(wrapper))).collect();
        let joined = sleeping.into_iter().map(|each| each.join().unwrap_or(Some(Err("it fails"))));
        joined.collect()
    });
    vec![
        row("around true, with -t", Unit::Instructions, promise.instructions, instructions),
        row("in 1 s of sleep, with -t", Unit::WakeUps, 0.0, wake_ups),
    ]
}

/// How often a wrapper goes on while its command does nothing for a second.
fn wake_ups(wrapper: &Wrapper) -> Option<Reading> {
    // The first look waits until the wrapper does.
    const LOOK: &str = "sleep .2; cat /proc/$PPID/status; sleep 1; cat /proc/$PPID/status";
    let process = wrapper.limited(&["sh", "-c", LOOK])?;
    Some(said(&process).and_then(|report| waits(&report).ok_or("no /proc")))
}

/// The difference between the two counts in a report.
fn waits(report: &str) -> Option<f64> {
    let counts = report.lines().filter_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    let counts: Vec<u64> = counts.filter_map(|count| count.trim().parse().ok()).collect();
    match counts[..] {
        [before, after] => Some(after.saturating_sub(before) as f64),
        _ => None,
    }
}

fn cell(reading: Reading) -> Cell {
    reading.map_or_else(Cell::Unmeasured, Cell::Number)
}

#[cfg(test)]
mod tests {
    use super::{Cell, page_faults, ratios, waits};

    #[test]
    fn page_faults_are_counted_after_the_name_whatever_that_is() {
        let report = "Name:\tredial\n4711 (a) b) S 1 4711 4711 0 -1 4194304 244 7 0 0 0\n";
        assert_eq!(page_faults(report), Some(244));
        assert_eq!(page_faults("Name:\tredial\n"), None);
    }

    #[test]
    fn waits_are_the_difference_of_two_looks() {
        let line = |count| format!("State:\tS\nvoluntary_ctxt_switches:\t{count}\nnon");
        assert_eq!(waits(&format!("{}\n{}", line(2), line(5))), Some(3.0));
        assert_eq!(waits(&line(2)), None);
    }

    #[test]
    fn what_is_added_is_compared_and_not_the_whole() {
        let cells = ratios(&[Ok(10.0), Ok(20.0), Ok(25.0), Err("it fails")], Some(1));
        assert!(matches!(
            cells[..],
            [Cell::Absent, Cell::Number(1.0), Cell::Number(1.5), Cell::Unmeasured("it fails")]
        ));
    }
}
