//! The program `redial`: retry policies you can read, check, see, and translate.

#![deny(unsafe_code)]

// What `redial run` needs comes first. The linker keeps this order, and code that lies together is
// read from the disk together: `run` starts in fewer pages.
mod args;
mod choose;
mod duration;
mod events;
mod output;
mod rules;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod shared;
mod shell;
mod source;
mod text;
mod visible;

mod cells;
mod chart;
mod check;
mod classify;
mod convert;
mod draw;
mod explain;
mod help;
mod html;
mod plan;
mod preview;
mod report;
mod simulate;
mod tune;
#[cfg(test)]
mod xml;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use crate::args::{Cli, Verb};
use crate::output::{Failure, print_error};

fn main() -> ExitCode {
    match answer() {
        Ok(code) => ExitCode::from(code),
        Err(Failure::Told(code)) => ExitCode::from(code),
        // Whoever read our output has read enough.
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            print_error(&message);
            ExitCode::from(output::REFUSED)
        }
    }
}

fn answer() -> Result<u8, Failure> {
    let matches = match matches() {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let cli = Cli::from_arg_matches(&matches).map_err(|error| Failure::from(error.to_string()))?;
    cli.everywhere.color.apply();
    let verb = matches.subcommand().map(|(_, matches)| matches);
    match cli.verb {
        #[cfg(unix)]
        Verb::Run(arguments) => run::run(&arguments, verb),
        Verb::Plan(plan) => preview::run(&plan, verb),
        Verb::Check(check) => check::run(&check),
        Verb::Explain(explain) => explain::run(&explain),
        Verb::Convert(convert) => convert::run(&convert, verb),
        Verb::Classify(classify) => classify::run(&classify, verb),
        Verb::Report(report) => report::run(&report),
        Verb::Simulate(simulate) => simulate::run(*simulate, verb),
        Verb::Tune(tune) => tune::run(*tune, verb),
        Verb::Completions(completions) => help::completions(&completions),
        Verb::Man(man) => help::man(&man),
        Verb::Help(help) => help::run(&help),
    }
}

fn matches() -> Result<ArgMatches, clap::Error> {
    #[cfg(unix)]
    if std::env::args_os().nth(1).is_some_and(|verb| verb == "run") {
        let mut command = Cli::command_of_run();
        let matches = command.try_get_matches_from_mut(std::env::args_os());
        // The system takes it all away at once.
        std::mem::forget(command);
        if matches.is_ok() {
            return matches;
        }
    }
    Cli::command().try_get_matches()
}

/// Help and version are answers; everything else that clap says is bad usage.
fn usage(error: &clap::Error) -> Result<u8, Failure> {
    let printed = error.print();
    match error.exit_code() {
        0 => printed.map(|()| 0).map_err(Failure::from),
        _ => Ok(output::REFUSED),
    }
}
