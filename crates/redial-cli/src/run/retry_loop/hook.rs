//! The line of shell that `--on-end` runs, once the run is over.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::Duration;

use redial_process::{Command, Ends};

use super::{End, OWN_VARIABLES, RetryLoop};
use crate::duration::compact;
use crate::run::ending::{self, Words};

/// How long the hook may take. It is there to tell somebody, and redial has an end to come to.
const PATIENCE: Duration = Duration::from_secs(60);

impl RetryLoop<'_> {
    /// Runs the hook, if there is one. How redial ends stays as it is, unless redial was signalled
    /// while the hook ran.
    pub(in crate::run) fn run_hook(&mut self, end: End) -> End {
        let Some(line) = &self.job.on_end else { return end };
        let signal = self.hook(line, end).unwrap_or_else(|trouble| {
            self.narrator.warn(&format!("--on-end: {trouble}"));
            None
        });
        match (end, signal) {
            (End::Code(_), Some(signal)) => End::Signal(signal),
            _ => end,
        }
    }

    /// The signal that redial got meanwhile, if one; or what went wrong.
    fn hook(
        &mut self,
        line: &OsString,
        end: End,
    ) -> Result<Option<nix::sys::signal::Signal>, String> {
        let streams = streams().map_err(|error| error.to_string())?;
        let shell = Command::new(&["sh".into(), "-c".into(), line.clone()], &OWN_VARIABLES);
        self.narrator.detail(|| format!("--on-end: {}", line.to_string_lossy()));
        let (results, slot) = (self.results(end), self.slot);
        let Self { reactor, log, .. } = self;
        reactor.streams(slot).close();
        reactor.begin_anew();
        log.close();
        let started = reactor.clock.now();
        reactor
            .start(slot, &shell, &results, &streams)
            .map_err(|error| format!("sh: {}", error.desc()))?;
        drop(streams);
        reactor.cut_at(slot, Some(started.after(PATIENCE)));
        let ended = reactor.attend(slot, log);
        let took = reactor.clock.now().since(started);
        let signal = reactor.interrupted_by();
        if ended.timed_out || signal.is_some() {
            reactor.sweep(slot, log);
        }
        match ended.status {
            _ if signal.is_some() => Ok(signal),
            Some(status) if status.success() && !ended.timed_out => Ok(None),
            Some(status) => {
                let ending = ending::of_status(status, ended.timed_out);
                Err(format!("{} after {}", Words(&ending), compact(took)))
            }
            None => Err("it cannot be killed".to_owned()),
        }
    }

    /// What the hook is told.
    fn results(&self, end: End) -> Vec<(&'static str, OsString)> {
        let exit = match end {
            End::Code(code) => i32::from(code),
            End::Signal(signal) => 128 + signal as i32,
        };
        let mut results = vec![
            ("REDIAL_COMMAND", self.job.command()),
            ("REDIAL_RUN_ID", self.job.run.clone()),
            ("REDIAL_EXIT", exit.to_string()),
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

/// The hook reads nothing, and all that it prints goes to standard error: standard output is the
/// command's.
fn streams() -> std::io::Result<Ends> {
    let nothing = OwnedFd::from(File::open("/dev/null")?);
    let errors = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
    Ok([Some(nothing), Some(errors), None])
}
