//! `redial run`: any command under a policy.
//!
//! Everything is read and checked here before anything runs; `course` is the run itself.

mod clock;
mod control;
mod countdown;
mod course;
mod ending;
mod github;
mod input;
mod log;
mod outlet;
mod relay;
mod say;
mod screen;
mod signals;
mod spawn;
mod store;
mod streams;
mod supervisor;
mod terminal;
mod tree;

use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::ArgMatches;
use nix::sys::signal::Signal;
use redial_core::Limits;
use redial_policy::Rules;

use self::clock::Clock;
use self::course::{Course, End, Job};
use self::log::Log;
use self::say::{Level, Say};
use self::supervisor::Supervisor;
use crate::args;
use crate::choose::{Chosen, chosen, only};
use crate::draw::{Lines, draw};
use crate::output::{Failure, print, print_note};
use crate::report;
use crate::rules::{duration, rules};
use crate::shared::{SharedBreaker, SharedBudget};
use crate::shell;
use crate::visible::visible;

pub(crate) fn run(arguments: &args::Run, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    let clock = Clock::start();
    let chosen = only(&arguments.policy, chosen(&arguments.policy, matches, false)?)?;
    let rules = rules(&arguments.rules, &chosen.entry)?;
    for (name, limit) in [("timeout", chosen.entry.timeout), ("within", chosen.policy.limit())] {
        if limit == Some(Duration::ZERO) {
            return Err(Failure::Message(format!(
                "{name}: 0s would cut every attempt at its start; leave it out for no limit"
            )));
        }
    }
    let max_retry_after = duration("--max-retry-after", &arguments.rules.max_retry_after)?;
    let kill_after = duration("--kill-after", &arguments.kill_after)?;
    let reports = reports(&arguments.report)?;
    if arguments.dry_run {
        let lines = Lines::new(&chosen.source.text);
        for found in &chosen.diagnostics {
            print_note(&draw(&chosen.source, &lines, found));
        }
        return print(&resolved(arguments, &chosen, &rules)).map(|()| 0);
    }
    apart(arguments)?;
    let budget = arguments.budget.as_deref().map(SharedBudget::open).transpose()?;
    let breaker = arguments.breaker.as_deref().map(SharedBreaker::open).transpose()?;
    let run = run_id();
    let collector = (!reports.is_empty()).then(report::Collector::default);
    let log = Log::open(&run, arguments.events.as_deref(), collector)?;
    let supervisor = Supervisor::new(clock, log, kill_after)
        .map_err(|error| Failure::Message(format!("cannot watch for signals: {error}")))?;
    let level = match (arguments.quiet, arguments.verbose) {
        (true, _) => Level::Quiet,
        (false, true) => Level::Verbose,
        (false, false) => Level::Normal,
    };
    let job = Job {
        words: &arguments.command,
        command: shell_words(&arguments.command),
        policy: chosen.policy,
        clause: chosen.entry.canonical().unwrap_or(chosen.entry.clause),
        timeout: chosen.entry.timeout,
        rules,
        limits: Limits::new().max_retry_after(max_retry_after),
        seed: arguments.seed.unwrap_or_else(word),
        stdin: arguments.stdin,
        hold: arguments.output == args::Held::Hold,
        flaky: arguments.flaky,
        run,
        budget,
        breaker,
    };
    let say = Say::new(level, arguments.progress);
    let mut course = Course::new(&job, supervisor, say);
    let end = course.run();
    signals::release();
    course.report(&reports);
    drop(course);
    Ok(match end {
        End::Code(code) => code,
        End::Signal(signal) => die(signal),
    })
}

/// Every file has one purpose.
fn apart(arguments: &args::Run) -> Result<(), Failure> {
    let events = arguments.events.as_deref().filter(|path| *path != Path::new("-"));
    let reports = arguments.report.iter().map(|path| ("--report", path.as_path()));
    let one = [
        ("--events", events),
        ("--budget", arguments.budget.as_deref()),
        ("--breaker", arguments.breaker.as_deref()),
    ];
    let all = one.into_iter().filter_map(|(flag, path)| Some((flag, path?))).chain(reports);
    let all: Vec<_> = all.map(|(flag, path)| (flag, path, resolved_name(path, 0))).collect();
    let file = |path: &Path| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    for (at, (flag, path, name)) in all.iter().enumerate() {
        for (other, second, second_name) in &all[at + 1..] {
            if (name.is_some() && name == second_name)
                || (file(path).is_some() && file(path) == file(second))
            {
                let path = path.display();
                return Err(Failure::Message(format!(
                    "{flag} and {other} need a file each, and {path} is one"
                )));
            }
        }
    }
    Ok(())
}

/// What a path names in the end, also where nothing is there yet.
fn resolved_name(path: &Path, links: u32) -> Option<PathBuf> {
    const LINKS_MAX: u32 = 40;
    if let Ok(path) = path.canonicalize() {
        return Some(path);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
    match path.read_link() {
        Ok(target) if links < LINKS_MAX => resolved_name(&folder.join(target), links + 1),
        _ => Some(folder.join(path.file_name()?)),
    }
}

/// The reports that are to be written, and in what. A folder that is not there is told before
/// anything runs.
fn reports(paths: &[PathBuf]) -> Result<Vec<(&Path, report::Format)>, Failure> {
    let mut reports = Vec::new();
    for path in paths {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            let path = path.display();
            return Err(Failure::Message(format!(
                "--report: cannot write {path}: there is no such folder"
            )));
        }
        if path.metadata().is_ok_and(|file| file.file_type().is_fifo()) {
            let path = path.display();
            return Err(Failure::Message(format!("--report: {path} is a pipe; name a file")));
        }
        reports.push((path.as_path(), report::Format::of(path)?));
    }
    Ok(reports)
}

/// Ends redial as the signal does, so that shells and scripts see it and stop.
fn die(signal: Signal) -> u8 {
    // The core of interest is the command's.
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    signals::suffer(signal);
    (128 + signal as i32) as u8
}

/// What `--dry-run` prints: all that was resolved, and nothing else happens.
fn resolved(arguments: &args::Run, chosen: &Chosen, rules: &Rules) -> String {
    let mut text = format!("command  {}\n", visible(&shell_words(&arguments.command)));
    let clause = chosen.entry.canonical();
    text += &format!("policy   {}\n", visible(clause.as_deref().unwrap_or(&chosen.entry.clause)));
    for (at, rule) in rules.describe().iter().enumerate() {
        let heading = if at == 0 { "rules" } else { "" };
        text += &format!("{heading:<9}{}\n", visible(rule));
    }
    text
}

/// The words of a command as a shell would take them.
fn shell_words(words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    shell::command(&words)
}

/// A name for the run that sorts by time: 48 bits of milliseconds and 80 of chance, in the 26
/// characters of a ULID.
fn run_id() -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let chance = u128::from(word()) << 16 | u128::from(word() >> 48);
    let id = since.as_millis() << 80 | chance;
    (0..26).rev().map(|at| char::from(DIGITS[(id >> (5 * at) & 31) as usize])).collect()
}

/// A random word: the hash of anything under keys that the operating system made.
fn word() -> u64 {
    RandomState::new().hash_one(SystemTime::now())
}

/// A pipe that no command inherits: its end to read from, and its end to write to.
fn pipe() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(target_os = "linux")]
    return rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    #[cfg(not(target_os = "linux"))]
    {
        let (read, write) = rustix::pipe::pipe()?;
        rustix::io::fcntl_setfd(&read, rustix::io::FdFlags::CLOEXEC)?;
        rustix::io::fcntl_setfd(&write, rustix::io::FdFlags::CLOEXEC)?;
        Ok((read, write))
    }
}
