//! The line of shell that `--on-end` runs, once the run is over.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::sys::signal::Signal;
use redial_process::{Command, Reactor, SlotId, Stdio, ending};

use super::reporter::{Exit, Reporter, own_variables};
use super::words;
use crate::duration::compact;

/// How long the hook may take.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Reporter<'_> {
    /// Runs the hook, if there is one. How redial ends stays as it is, unless redial was signalled
    /// while the hook ran.
    pub(super) fn run_hook(&mut self, exit: Exit, reactor: &mut Reactor, slot: SlotId) -> Exit {
        let Some(line) = &self.job.on_end else { return exit };
        self.narrator.detail(|| format!("--on-end: {}", line.to_string_lossy()));
        self.log.close();
        let variables = self.results(exit);
        let signal = hook(line, &variables, reactor, slot).unwrap_or_else(|error| {
            self.narrator.warn(&format!("--on-end: {error}"));
            None
        });
        match (exit, signal) {
            (Exit::Code(_), Some(signal)) => Exit::Signal(signal),
            _ => exit,
        }
    }

    /// The variables of the hook.
    fn results(&self, exit: Exit) -> Vec<(&'static str, OsString)> {
        let code = match exit {
            Exit::Code(code) => i32::from(code),
            Exit::Signal(signal) => 128 + signal as i32,
        };
        let mut results = vec![
            ("REDIAL_COMMAND", self.job.command()),
            ("REDIAL_RUN_ID", self.job.run.clone()),
            ("REDIAL_EXIT", code.to_string()),
        ];
        if let Some(over) = &self.over {
            let seconds = |nanos: u64| format!("{:.3}", nanos as f64 / 1e9);
            results.extend([
                ("REDIAL_OUTCOME", over.outcome.name().to_owned()),
                ("REDIAL_REASON", over.reason.clone().unwrap_or_default()),
                ("REDIAL_ATTEMPTS_MADE", over.attempts.to_string()),
                ("REDIAL_ELAPSED", seconds(over.duration_ns)),
                ("REDIAL_WAITED", seconds(over.waited_ns)),
            ]);
        }
        results.into_iter().map(|(name, value)| (name, value.into())).collect()
    }
}

/// Runs the hook. Returns the signal that redial got meanwhile, if one.
fn hook(
    line: &OsStr,
    variables: &[(&str, OsString)],
    reactor: &mut Reactor,
    slot: SlotId,
) -> Result<Option<Signal>, String> {
    let stdio = stdio().map_err(|error| error.to_string())?;
    let shell = Command::new(&["sh".into(), "-c".into(), line.to_owned()], &own_variables());
    reactor.streams(slot).close();
    reactor.reset();
    let started = reactor.clock.now();
    reactor.start(slot, &shell, variables, stdio);
    reactor.time_out_at(slot, Some(started.after(TIMEOUT)));
    let exit = reactor.wait_for_exit(slot, &mut ());
    let exit = exit.map_err(|error| format!("sh: {}", error.desc()))?;
    let took = reactor.clock.now().since(started);
    let signal = reactor.interrupted_by();
    if exit.timed_out || signal.is_some() {
        reactor.sweep(slot, &mut ());
    }
    match exit.status {
        _ if signal.is_some() => Ok(signal),
        Some(status) if status.success() && !exit.timed_out => Ok(None),
        Some(status) => {
            let ending = ending::of_status(status, exit.timed_out);
            Err(format!("{} after {}", words::ending(&ending), compact(took)))
        }
        None => Err("it cannot be killed".to_owned()),
    }
}

/// The hook reads nothing, and all that it prints goes to standard error: standard output is the
/// command's.
fn stdio() -> std::io::Result<Stdio> {
    let nothing = OwnedFd::from(File::open("/dev/null")?);
    let errors = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
    Ok([Some(nothing), Some(errors), None])
}
