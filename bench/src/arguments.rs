//! The command line.

use std::num::ParseIntError;
use std::path::PathBuf;

use crate::simulate::cost::Counted;
use crate::subject::Call;

pub(crate) const USAGE: &str = "\
Usage: redial-bench [--only TABLE] [--peers all|none] [--redial PATH] [--json] [--check]

  --only TABLE   one table alone: calls, everyday, builds, simulate, plan, check, many, run,
                 installed, streams or patterns
  --peers none   only a bare call, a hand-written loop and redial
  --redial PATH  the program redial; without this it is built first
  --json         for machines
  --check        fail where redial misses a target; time is never held against it, but for that of
                 what takes turns: the simulator with a bare loop, watched output with grep,
                 `redial run` with timeout, and a call with the loop by hand
";

pub(crate) enum Arguments {
    Help,
    Table {
        peers: bool,
        only: Option<Which>,
        /// The program `redial`, where it is not to be built.
        redial: Option<PathBuf>,
        json: bool,
        check: bool,
    },
    /// One loop and nothing else: what runs under callgrind.
    Case {
        subject: String,
        call: Call,
        times: u64,
    },
    /// And the same for a crowd.
    Crowd(Counted),
}

/// One of the tables.
#[derive(Clone, Copy)]
pub(crate) enum Which {
    Calls,
    Everyday,
    Builds,
    Simulate,
    Plan,
    Check,
    Many,
    #[cfg(unix)]
    Run,
    #[cfg(unix)]
    Installed,
    #[cfg(unix)]
    Streams,
    #[cfg(unix)]
    Patterns,
    #[cfg(unix)]
    Jobs,
}

impl Which {
    /// In the order in which they are printed.
    pub(crate) const ALL: &[Self] = &[
        Self::Calls,
        Self::Everyday,
        Self::Builds,
        Self::Simulate,
        Self::Plan,
        Self::Check,
        Self::Many,
        #[cfg(unix)]
        Self::Run,
        #[cfg(unix)]
        Self::Installed,
        #[cfg(unix)]
        Self::Streams,
        #[cfg(unix)]
        Self::Patterns,
        #[cfg(unix)]
        Self::Jobs,
    ];

    /// What stands above it.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Calls => "Calls, fat LTO and one codegen unit:",
            Self::Everyday => "The same as people write it, and what they share:",
            Self::Builds => "What it takes to build:",
            Self::Simulate => "The simulator:",
            Self::Plan => {
                "The program `redial`, as `scripts/static` builds it; each command is a process of its own:"
            }
            Self::Check => "`redial check`:",
            Self::Many => "Many policies in one file:",
            #[cfg(unix)]
            Self::Run => {
                "`redial run`, beside coreutils' `timeout`, as `scripts/static` builds it:"
            }
            #[cfg(unix)]
            Self::Installed => "As `cargo install` builds it:",
            #[cfg(unix)]
            Self::Streams => "What passes through `redial run`:",
            #[cfg(unix)]
            Self::Patterns => "And what it looks for in it:",
            #[cfg(unix)]
            Self::Jobs => "`redial map` and `redial flow`, with 8 jobs at once:",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Everyday => "everyday",
            Self::Builds => "builds",
            Self::Simulate => "simulate",
            Self::Plan => "plan",
            Self::Check => "check",
            Self::Many => "many",
            #[cfg(unix)]
            Self::Run => "run",
            #[cfg(unix)]
            Self::Installed => "installed",
            #[cfg(unix)]
            Self::Streams => "streams",
            #[cfg(unix)]
            Self::Patterns => "patterns",
            #[cfg(unix)]
            Self::Jobs => "jobs",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|which| which.name() == name)
    }
}

/// Reads `arguments`, which do not begin with the program's name.
pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let (mut peers, mut only, mut redial, mut json, mut check) = (true, None, None, false, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(Arguments::Help),
            "--json" => json = true,
            "--check" => check = true,
            "--peers" => {
                peers = match arguments.next().as_deref() {
                    Some("all") => true,
                    Some("none") => false,
                    _ => return Err("--peers takes all or none".into()),
                }
            }
            "--only" => {
                let name = arguments.next().ok_or("--only takes a table")?;
                only = Some(Which::from_name(&name).ok_or("there is no such table")?);
            }
            "--redial" => {
                let path = arguments.next().ok_or("--redial takes a path")?;
                redial = Some(PathBuf::from(path));
            }
            "--case" => return case(arguments),
            "--crowd" => return Counted::parse(&mut arguments).map(Arguments::Crowd),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(Arguments::Table { peers, only, redial, json, check })
}

/// The rest of `--case SUBJECT CALL --times N`.
fn case(mut arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut next = || arguments.next().ok_or("--case SUBJECT CALL --times N");
    let subject = next()?;
    let call = next()?;
    let call = Call::from_name(&call).ok_or_else(|| format!("unknown call {call}"))?;
    if next()? != "--times" {
        return Err("--case SUBJECT CALL --times N".into());
    }
    let times = next()?.parse().map_err(|error: ParseIntError| error.to_string())?;
    Ok(Arguments::Case { subject, call, times })
}
