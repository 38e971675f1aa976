//! `redial run` and `redial until`: any command under a policy.
//!
//! Everything is read and checked here before anything runs. `redial_process::AttemptLoop` does the run,
//! and [`Reporter`] prints and logs it.

mod conclusion;
mod hook;
mod log;
mod reporter;
mod stamp;
mod words;

use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::mem::ManuallyDrop;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::ArgMatches;
use clap::parser::ValueSource;
use nix::sys::signal::Signal;
use redial_core::Limits;
use redial_policy::Rules;
use redial_process::shared::{SharedBreaker, SharedBudget, SharedGate};
use redial_process::{
    AttemptLoop, Clock, Command, Options, Reactor, Sink, Sinks, Stdin, Task, signals,
};

use self::conclusion::Conclusion;
use self::log::Log;
use self::reporter::{Exit, Job, Reporter, own_variables};
use crate::args;
use crate::console::narrator::{Level, Narrator};
use crate::environment::{self, NamedFile};
use crate::events::Mode;
use crate::output::{Failure, print, try_replace_file};
use crate::policies::{SelectedPolicy, exactly_one, print_warnings, selected, selected_for_until};
use crate::rules::{duration_or, from_environment, max_retry_after, rules};
use crate::shell;
use crate::verb::report;
use crate::visible::visible;

/// The argument with which redial runs as a guard process.
pub(crate) const GUARD: &std::ffi::CStr = c"__guard";

/// How long a command that is cut has to end by itself before it gets KILL.
pub(crate) const KILL_AFTER: Duration = Duration::from_secs(5);

pub(crate) fn run(
    arguments: &args::Run,
    mode: Mode,
    matches: Option<&ArgMatches>,
) -> Result<u8, Failure> {
    let clock = Clock::start();
    let policies = match mode {
        Mode::Run => selected(&arguments.policy, matches, false)?,
        Mode::Until if arguments.flaky.is_some() => {
            return Err(Failure::from(
                "--flaky: until is there to wait, so that no success is flaky; drop --flaky",
            ));
        }
        Mode::Until => selected_for_until(&arguments.policy, matches)?,
    };
    let selected = exactly_one(&arguments.policy, policies)?;
    let rules = rules(&arguments.rules, &selected.entry, Some(&arguments.command), mode)?;
    let rules_from = from_environment(&arguments.rules, mode)?;
    selected.refuse_no_time()?;
    let max_retry_after = max_retry_after(&arguments.rules)?;
    let kill_after = duration_or("--kill-after", arguments.kill_after.as_deref(), KILL_AFTER)?;
    let timeout_signal = signals::terminating(&arguments.signal)
        .map_err(|error| Failure::Message(format!("--signal: {error}")))?;
    let reports = reports(&arguments.report)?;
    let events = NamedFile::of("--events", arguments.events.as_deref(), environment::EVENTS);
    let budget = NamedFile::of("--budget", arguments.budget.as_deref(), environment::BUDGET);
    // The budget of a job is for retries; the looks of one poll would spend it.
    let budget = budget.filter(|file| mode == Mode::Run || file.variable().is_none());
    if arguments.dry_run {
        print_warnings(std::slice::from_ref(&selected));
        let mut text = resolved(arguments, &selected, &rules, rules_from.as_deref());
        text += &files([("events", &events), ("budget", &budget)], arguments);
        text += &other_flags(matches);
        return print(&text).map(|()| 0);
    }
    refuse_one_file_for_two(arguments, events.as_ref(), budget.as_ref())?;
    for (path, _) in &reports {
        try_replace_file(path).map_err(|error| {
            Failure::Message(format!("--report: cannot write {}: {error}", path.display()))
        })?;
    }
    let budget = budget.map(|file| {
        SharedBudget::open(&file.path).map_err(|error| match file.variable() {
            Some(variable) => format!("{variable}: {error}"),
            None => error,
        })
    });
    let budget = budget.transpose()?;
    let breaker = arguments.breaker.as_deref().map(SharedBreaker::open).transpose()?;
    let run = new_run_id();
    let collector = (!reports.is_empty()).then(report::Collector::default);
    let log = Log::open(&run, events.as_ref(), collector)?;
    let mut reactor =
        Reactor::new(clock, Options { timeout_signal, kill_after, ..Options::default() })
            .map_err(|error| Failure::Message(format!("cannot watch for signals: {error}")))?;
    let level = match (arguments.quiet, arguments.verbose) {
        (true, _) => Level::Quiet,
        (false, true) => Level::Verbose,
        (false, false) => Level::Normal,
    };
    let sink = |holds| if holds { Sink::Hold } else { Sink::Pass };
    let stderr = sink(arguments.stderr == args::HoldErrors::Hold);
    let sinks = Sinks {
        stdout: sink(arguments.output == args::HoldOutput::Hold),
        stderr,
        backlog: stderr == Sink::Hold && mode == Mode::Run,
    };
    let task = Task {
        command: Command::new(&arguments.command, &own_variables()),
        variables: vec![("REDIAL_RUN_ID", run.clone().into())],
        stdin: match arguments.stdin {
            args::Stdin::Auto => Stdin::Auto,
            args::Stdin::Inherit => Stdin::Inherit,
            args::Stdin::Null => Stdin::Null,
        },
        sinks,
        policy: selected.engine(),
        limits: Limits::new().max_retry_after(max_retry_after),
        timeout: selected.entry.timeout,
        rules,
        seed: arguments.seed.unwrap_or_else(random_word),
        is_poll: mode == Mode::Until,
        measures_times: log.is_on(),
    };
    // Not dropped: the end of the process frees it faster.
    let job = ManuallyDrop::new(Job {
        mode,
        words: &arguments.command,
        task,
        from: selected.from,
        entry: selected.entry,
        warnings: selected.diagnostics,
        rules_from,
        flaky: arguments.flaky,
        exit_codes: arguments.exit_codes,
        on_end: arguments.on_end.clone(),
        run,
    });
    let slot = match arguments.guard {
        true => reactor
            .guarded_slot(job.task.streams(), GUARD)
            .map_err(|error| Failure::Message(format!("--guard: {}", error.desc())))?,
        false => reactor.only_slot(job.task.streams()),
    };
    let narrator = Narrator::new(level, arguments.progress, sinks.backlog);
    let mut reporter = Reporter::new(&job, log, narrator);
    reporter.begin(&reactor.clock);
    let gate = SharedGate::new(budget, breaker);
    let mut attempts = AttemptLoop::new(&job.task, &reactor, slot, gate);
    let end = attempts.run(&mut reactor, &mut reporter);
    let exit = Conclusion {
        job: &job,
        reporter: &mut reporter,
        reactor: &mut reactor,
        attempts: &attempts,
    }
    .of(end);
    if job.on_end.is_none() {
        signals::release();
    }
    reporter.write_reports(&reports);
    let exit = reporter.run_hook(exit, &mut reactor, slot);
    signals::release();
    drop(attempts);
    drop(reactor);
    Ok(match exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => die(signal),
    })
}

/// Refuses a file that is named for two purposes.
fn refuse_one_file_for_two(
    arguments: &args::Run,
    events: Option<&NamedFile>,
    budget: Option<&NamedFile>,
) -> Result<(), Failure> {
    let events = events.filter(|events| events.path != Path::new("-"));
    let named = [events, budget].into_iter().flatten().map(|file| (file.by, file.path.as_path()));
    let breaker = arguments.breaker.iter().map(|path| ("--breaker", path.as_path()));
    let reports = arguments.report.iter().map(|path| ("--report", path.as_path()));
    let all = named.chain(breaker).chain(reports);
    let all: Vec<_> = all.map(|(by, path)| (by, path, resolved_name(path, 0))).collect();
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

/// The absolute path without symbolic links, also of a file that does not exist yet.
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

/// The reports to write, and their formats.
fn reports(paths: &[PathBuf]) -> Result<Vec<(&Path, report::Format)>, Failure> {
    let mut reports = Vec::new();
    for path in paths {
        if path.metadata().is_ok_and(|file| file.file_type().is_fifo()) {
            let path = path.display();
            return Err(Failure::Message(format!("--report: {path} is a pipe; name a file")));
        }
        reports.push((path.as_path(), report::Format::of(path)?));
    }
    Ok(reports)
}

/// Ends redial as the signal does, so that shells and scripts see it and stop.
pub(crate) fn die(signal: Signal) -> u8 {
    // No core dump of redial: the command's own is the one that is wanted.
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    signals::take_default_action(signal);
    (128 + signal as i32) as u8
}

/// What `--dry-run` prints of the command, the policy and the rules.
fn resolved(
    arguments: &args::Run,
    selected: &SelectedPolicy,
    rules: &Rules,
    rules_from: Option<&str>,
) -> String {
    let mut text = format!("command  {}\n", visible(&shell::command(&arguments.command)));
    text += &format!("policy   {}\n", visible(&selected.entry.said()));
    if let Some(variable) = selected.from {
        text += &format!("         from {variable}\n");
    }
    for (at, rule) in rules.describe().iter().enumerate() {
        let heading = if at == 0 { "rules" } else { "" };
        text += &format!("{heading:<9}{}\n", visible(rule));
    }
    if let Some(rules) = rules_from {
        text += &format!("         {}\n", visible(rules));
    }
    if let Some(line) = &arguments.on_end {
        text += &format!("on end   {}\n", visible(&line.to_string_lossy()));
    }
    text
}

/// The files that a run would use or write.
fn files(named: [(&str, &Option<NamedFile>); 2], arguments: &args::Run) -> String {
    let line = |what: &str, path: &Path, from: Option<&str>| {
        let from = from.map(|variable| format!(", from {variable}")).unwrap_or_default();
        format!("{what:<9}{}{from}\n", visible(&path.display().to_string()))
    };
    let named = named.into_iter().filter_map(|(what, file)| Some((what, file.as_ref()?)));
    let named = named.map(|(what, file)| line(what, &file.path, file.variable()));
    let breaker = arguments.breaker.iter().map(|path| line("breaker", path, None));
    let reports = arguments.report.iter().map(|path| line("report", path, None));
    named.chain(breaker).chain(reports).collect()
}

/// The flags that were given, without those of the policy, the rules and files.
fn other_flags(matches: Option<&ArgMatches>) -> String {
    const OTHERS: [&str; 9] = [
        "seed",
        "max_retry_after",
        "stdin",
        "output",
        "stderr",
        "signal",
        "kill_after",
        "flaky",
        "exit_codes",
    ];
    let mut words = Vec::new();
    for (id, matches) in OTHERS.iter().filter_map(|id| Some((id, matches?))) {
        if matches.value_source(id) == Some(ValueSource::CommandLine) {
            words.push(OsString::from(format!("--{}", id.replace('_', "-"))));
            words.extend(matches.get_raw(id).into_iter().flatten().map(OsString::from));
        }
    }
    match words.is_empty() {
        true => String::new(),
        false => format!("flags    {}\n", visible(&shell::command(&words))),
    }
}

/// A name that no other run has.
pub(crate) fn new_run_id() -> String {
    let chance = u128::from(random_word()) << 64 | u128::from(random_word());
    stamp::run_id(SystemTime::now(), chance)
}

/// A random word from the operating system.
pub(crate) fn random_word() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let mut bytes = [0; 8];
        if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) == Ok(8) {
            return u64::from_ne_bytes(bytes);
        }
    }
    // SipHash of anything, with random keys of the operating system.
    RandomState::new().hash_one(SystemTime::now())
}
