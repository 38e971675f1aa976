//! Instructions of an attempt as the crowd grows: by this program again, under callgrind, without
//! those of making the crowd.

use std::num::ParseIntError;
use std::{env, thread};

use super::crowd;
use crate::callgrind;
use crate::program::process::Process;

/// Small ones are run more often, so that each has attempts enough to count. The largest is as large
/// as patience is long.
const CROWDS: [Crowds; 3] = [
    Crowds { clients: 100, crowds: 1000 },
    Crowds { clients: 10_000, crowds: 10 },
    Crowds { clients: 1_000_000, crowds: 1 },
];

/// So many crowds of so many clients, one after another.
#[derive(Clone, Copy)]
struct Crowds {
    clients: u32,
    crowds: u64,
}

type Reading = Result<f64, &'static str>;

/// Per attempt, by crowd. At the same time: instructions do not mind.
pub(super) fn instructions() -> [Reading; CROWDS.len()] {
    thread::scope(|scope| {
        CROWDS
            .map(|crowds| scope.spawn(move || crowds.instructions()))
            .map(|counting| counting.join().unwrap_or(Err("callgrind fails")))
    })
}

impl Crowds {
    /// Between half of the first attempts and all of them. Nearly every client is still there, and
    /// its second attempt goes behind most of what is pending, which is as far as the queue moves an
    /// event.
    fn instructions(self) -> Reading {
        let Self { clients, crowds } = self;
        let (half, all) = (u64::from(clients / 2), u64::from(clients));
        let attempts = (all - half) * crowds;
        let instructions = self.until(all)? as f64 - self.until(half)? as f64;
        Ok((instructions / attempts as f64).round())
    }

    fn until(self, attempts: u64) -> Result<u64, &'static str> {
        let program = env::current_exe().map_err(|_| "where is this program?")?;
        let numbers = [u64::from(self.clients), attempts, self.crowds].map(|n| n.to_string());
        let [clients, attempts, crowds] = numbers.each_ref().map(String::as_str);
        callgrind::collected(&Process::new(program, &["--crowd", clients, attempts, crowds]))
    }
}

/// What runs under callgrind: `--crowd CLIENTS ATTEMPTS CROWDS`.
pub(crate) struct Counted {
    clients: u32,
    attempts: u64,
    crowds: u64,
}

impl Counted {
    pub(crate) fn parse(arguments: &mut impl Iterator<Item = String>) -> Result<Self, String> {
        let mut number = || -> Result<u64, String> {
            let text = arguments.next().ok_or("--crowd CLIENTS ATTEMPTS CROWDS")?;
            text.parse().map_err(|error: ParseIntError| error.to_string())
        };
        let clients = u32::try_from(number()?).map_err(|error| error.to_string())?;
        Ok(Self { clients, attempts: number()?, crowds: number()? })
    }

    pub(crate) fn run(&self) -> Result<(), &'static str> {
        crowd::first_attempts(self.clients, self.attempts, self.crowds)
    }
}
