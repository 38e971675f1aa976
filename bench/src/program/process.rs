//! One process after another: how long it takes, and how much memory at the most.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

/// What is started, with nobody to listen to it.
pub(crate) struct Process {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// How many bytes it is given through a pipe; it has no input where there are none.
    input_bytes: u64,
}

impl Process {
    pub(crate) fn new(program: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().copied().map(String::from).collect();
        Self { program: program.into(), arguments, input_bytes: 0 }
    }

    pub(crate) fn fed(self, input_bytes: u64) -> Self {
        Self { input_bytes, ..self }
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        undisturbed(&mut command).args(&self.arguments).stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn spawn(&self) -> Result<Child, &'static str> {
        let mut command = self.command();
        if self.input_bytes > 0 {
            command.stdin(self.input()?);
        }
        command.stdout(Stdio::null()).spawn().map_err(|_| "it does not start")
    }

    fn input(&self) -> Result<Stdio, &'static str> {
        let count = self.input_bytes.to_string();
        let mut head = Command::new("head");
        undisturbed(&mut head).args(["-c", &count, "/dev/zero"]).stdout(Stdio::piped());
        let head = head.spawn().map_err(|_| "head does not start")?;
        // It ends by itself, and is buried when we end.
        head.stdout.map(Stdio::from).ok_or("head has no output")
    }

    pub(crate) fn timed(&self) -> Result<Duration, &'static str> {
        let start = Instant::now();
        let status = self.spawn()?.wait().map_err(|_| "it does not end")?;
        let elapsed = start.elapsed();
        if status.success() { Ok(elapsed) } else { Err("it fails") }
    }

    /// Bytes of memory at the most, over `runs` runs.
    ///
    /// The kernel's own high-water mark, looked at until the process is gone. What `wait4` reports
    /// will not do: it begins with the memory of whoever started the process, which is us, and we
    /// have had a hundred thousand tasks.
    pub(crate) fn peak(&self, runs: u32) -> Result<u64, &'static str> {
        let mut peak = None;
        for _ in 0..runs {
            peak = peak.max(self.watched()?);
        }
        peak.ok_or("no /proc")
    }

    fn watched(&self) -> Result<Option<u64>, &'static str> {
        const PAUSE: Duration = Duration::from_micros(200);
        let mut child = self.spawn()?;
        let status = format!("/proc/{}/status", child.id());
        let mut peak = None;
        loop {
            let seen = fs::read_to_string(&status).ok();
            peak = peak.max(seen.as_deref().and_then(high_water));
            match child.try_wait().map_err(|_| "it does not end")? {
                Some(status) if status.success() => return Ok(peak),
                Some(_) => return Err("it fails"),
                None => sleep(PAUSE),
            }
        }
    }
}

/// In the environment of an ordinary session: a path and a language. Cargo's own makes the dynamic linker
/// look in more places, and users ask for colours.
pub(crate) fn undisturbed(command: &mut Command) -> &mut Command {
    let path = env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("LANG", "C.UTF-8")
}

/// The median time of each in nanoseconds. They take turns, so that a busy moment hits all alike.
pub(crate) fn medians<const N: usize>(
    processes: [&Process; N],
    rounds: usize,
) -> [Result<f64, &'static str>; N] {
    let mut times = processes.map(|_| Ok(Vec::with_capacity(rounds)));
    for _ in 0..rounds {
        for (process, times) in processes.iter().zip(&mut times) {
            if let Ok(all) = times {
                match process.timed() {
                    Ok(time) => all.push(time),
                    Err(reason) => *times = Err(reason),
                }
            }
        }
    }
    times.map(|times| times.map(median))
}

pub(crate) fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_nanos() as f64)
}

/// From a line such as `VmHWM: 24680 kB`. A process that has ended has none.
pub(crate) fn high_water(status: &str) -> Option<u64> {
    bytes_of(status, "VmHWM:")
}

/// From the line of a process's status that begins with `name`.
pub(crate) fn bytes_of(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{high_water, median};

    #[test]
    fn the_high_water_mark_is_on_its_own_line() {
        let status = "Name:\tredial\nVmPeak:\t   99999 kB\nVmHWM:\t   24680 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(high_water(status), Some(24_680 * 1024));
        assert_eq!(high_water("Name:\tredial\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn one_slow_run_does_not_move_the_median() {
        let times = [5, 900, 3, 4, 6].map(Duration::from_nanos);
        assert_eq!(median(times.to_vec()), 5.0);
    }
}
