//! The program `redial`: retry policies you can read, check, see, and translate.

#![deny(unsafe_code)]

mod args;
mod check;
mod choose;
mod classify;
mod convert;
mod draw;
mod duration;
mod events;
mod explain;
mod help;
mod output;
mod plan;
mod preview;
mod report;
mod rules;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod shared;
mod shell;
mod source;
mod text;
mod visible;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

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
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let cli = Cli::from_arg_matches(&matches).map_err(|error| Failure::from(error.to_string()))?;
    cli.color.apply();
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
        Verb::Completions(completions) => help::completions(&completions),
        Verb::Man(man) => help::man(&man),
        Verb::Help(help) => help::run(&help),
    }
}

/// Help and version are answers; everything else that clap says is bad usage.
fn usage(error: &clap::Error) -> Result<u8, Failure> {
    let printed = error.print();
    match error.exit_code() {
        0 => printed.map(|()| 0).map_err(Failure::from),
        _ => Ok(output::REFUSED),
    }
}
