//! The program `redial`: retry policies you can read, check, see, and translate.

#![deny(unsafe_code)]
#![cfg_attr(all(target_os = "linux", target_env = "gnu", not(test)), no_main)]

// What `redial run` needs comes first. The linker keeps this order, and code that lies together is
// read from the disk together: `run` starts in fewer pages.
mod args;
mod choose;
#[cfg(unix)]
mod console;
mod environment;
mod events;
mod output;
mod rules;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod shared;
mod shell;
mod source;
#[cfg(all(target_os = "linux", target_env = "gnu", not(test)))]
mod start;
mod visible;

// Its first two modules are what `run` needs of it.
mod view;

mod check;
mod classify;
mod convert;
mod explain;
mod foreign;
mod help;
mod preview;
mod report;
mod simulate;
mod tune;
#[cfg(test)]
mod xml;

use std::mem::ManuallyDrop;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use crate::args::{Cli, Verb};
#[cfg(unix)]
use crate::events::Mode;
use crate::output::{Failure, print_error};
use crate::view::{chart, duration, text};

#[cfg(not(all(target_os = "linux", target_env = "gnu", not(test))))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(exit_code())
}

/// Does what the command line asks for.
fn exit_code() -> u8 {
    #[cfg(target_os = "linux")]
    if redial_process::guard::is_asked_for(run::GUARD, std::env::args_os()) {
        redial_process::guard::serve();
        return 0;
    }
    match answer() {
        Ok(code) | Err(Failure::Told(code)) => code,
        // Whoever read our output has read enough.
        Err(Failure::BrokenPipe) => 0,
        Err(Failure::Message(message)) => {
            print_error(&message);
            output::REFUSED
        }
    }
}

fn answer() -> Result<u8, Failure> {
    let matches = match matches() {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    // The system takes it all away at once; to drop it piece by piece is a tenth of the start of `run`.
    let matches = ManuallyDrop::new(matches);
    let cli = Cli::from_arg_matches(&matches).map_err(|error| Failure::from(error.to_string()))?;
    cli.everywhere.color.apply();
    let verb = matches.subcommand().map(|(_, matches)| matches);
    match cli.verb {
        #[cfg(unix)]
        Verb::Run(arguments) => run::run(&ManuallyDrop::new(arguments), Mode::Run, verb),
        #[cfg(unix)]
        Verb::Until(arguments) => run::run(&arguments.0, Mode::Until, verb),
        Verb::Plan(plan) => preview::run(&plan, verb),
        Verb::Check(check) => check::run(&check),
        Verb::Explain(explain) => explain::run(&explain),
        Verb::Convert(convert) => convert::run(&convert, verb),
        Verb::Classify(classify) => classify::run(&classify, verb),
        Verb::Report(report) => report::run(&report),
        #[cfg(unix)]
        Verb::Shared(shared) => shared::run(&shared),
        Verb::Simulate(simulate) => simulate::run(*simulate, verb),
        Verb::Tune(tune) => tune::run(*tune, verb),
        Verb::Completions(completions) => help::completions(&completions),
        Verb::Man(man) => help::man(&man),
        Verb::Help(help) => help::run(&help),
    }
}

fn matches() -> Result<ArgMatches, clap::Error> {
    #[cfg(unix)]
    if let Some(mut command) = std::env::args_os().nth(1).and_then(|verb| Cli::command_of(&verb)) {
        let matches = command.try_get_matches_from_mut(std::env::args_os());
        // The system takes it all away at once.
        std::mem::forget(command);
        if matches.is_ok() {
            return matches;
        }
    }
    let mut command = Cli::command();
    command.try_get_matches_from_mut(std::env::args_os()).map_err(|error| {
        let words = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok());
        let verb = words.into_iter().find(|word| command.find_subcommand(word).is_some());
        foreign::suggest(error, &command, verb.as_deref())
    })
}

/// Help and version are answers; everything else that clap says is bad usage.
fn usage(error: &clap::Error) -> Result<u8, Failure> {
    let printed = error.print();
    match error.exit_code() {
        0 => printed.map(|()| 0).map_err(Failure::from),
        _ => Ok(output::REFUSED),
    }
}
