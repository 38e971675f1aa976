//! The program `redial`: retry policies you can read, check, see, and translate.

#![deny(unsafe_code)]
#![cfg_attr(all(target_os = "linux", target_env = "gnu", not(test)), no_main)]

// The modules of `redial run` come first: the linker keeps this order, so that `run` touches fewer pages.
mod args;
#[cfg(unix)]
mod console;
mod environment;
mod events;
mod exit_code;
mod output;
mod policies;
mod rules;
mod shell;
mod source;
#[cfg(all(target_os = "linux", target_env = "gnu", not(test)))]
mod start;
mod visible;

// Its first module is `run`.
mod verb;

// `run` needs its first two modules.
mod view;

// After the others: none of it is needed by `run`.
mod flows;
mod scripts;

#[cfg(test)]
#[path = "../tests/it/xml.rs"]
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
    std::process::ExitCode::from(main_code())
}

/// Does what the command line asks for; gives the exit code.
fn main_code() -> u8 {
    #[cfg(target_os = "linux")]
    if redial_process::guard::is_asked_for(verb::run::GUARD, std::env::args_os()) {
        redial_process::guard::serve();
        return 0;
    }
    match run_verb() {
        Ok(code) | Err(Failure::Reported(code)) => code,
        // EPIPE: the reader, such as head, has read enough.
        Err(Failure::BrokenPipe) => 0,
        Err(Failure::Message(message)) => {
            print_error(&message);
            exit_code::ERROR
        }
    }
}

fn run_verb() -> Result<u8, Failure> {
    let matches = match matches() {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    // Never dropped: freeing it piece by piece takes a tenth of the time in which `run` starts.
    let matches = ManuallyDrop::new(matches);
    let cli = Cli::from_arg_matches(&matches).map_err(|error| Failure::from(error.to_string()))?;
    cli.everywhere.color.apply();
    let verb = matches.subcommand().map(|(_, matches)| matches);
    match cli.verb {
        #[cfg(unix)]
        Verb::Run(arguments) => verb::run::run(&ManuallyDrop::new(arguments), Mode::Run, verb),
        #[cfg(unix)]
        Verb::Until(arguments) => verb::run::run(&arguments.run, Mode::Until, verb),
        #[cfg(unix)]
        Verb::Map(map) => verb::map::run(&map.0, verb),
        Verb::Plan(plan) => verb::plan::run(&plan, verb),
        Verb::Compare(compare) => verb::compare::run(&compare, verb),
        Verb::Find(find) => verb::find::run(&find),
        Verb::Check(check) => verb::check::run(&check),
        Verb::Explain(explain) => verb::explain::run(&explain),
        Verb::Convert(convert) => verb::convert::run(&convert, verb),
        Verb::Classify(classify) => verb::classify::run(&classify, verb),
        Verb::Report(report) => verb::report::run(&report),
        #[cfg(unix)]
        Verb::Shared(shared) => verb::shared::run(&shared),
        Verb::Simulate(simulate) => verb::simulate::run(*simulate, verb),
        Verb::Tune(tune) => verb::tune::run(*tune, verb),
        Verb::Flow(flow) => verb::flow::run(&flow),
        Verb::Completions(completions) => verb::completions::run(&completions),
        Verb::Man(man) => verb::help::man(&man),
        Verb::Help(help) => verb::help::run(&help),
    }
}

fn matches() -> Result<ArgMatches, clap::Error> {
    if let Some(mut command) = std::env::args_os().nth(1).and_then(|verb| Cli::command_of(&verb)) {
        let matches = command.try_get_matches_from_mut(std::env::args_os());
        // As above, the exit frees it.
        std::mem::forget(command);
        if matches.is_ok() {
            return matches;
        }
    }
    let mut command = Cli::command();
    command.try_get_matches_from_mut(std::env::args_os()).map_err(|error| {
        let words = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok());
        let verb = words.into_iter().find(|word| command.find_subcommand(word).is_some());
        args::foreign::suggest(error, &command, verb.as_deref())
    })
}

/// What clap reports: help and version are answers, all else is bad usage.
fn usage(error: &clap::Error) -> Result<u8, Failure> {
    let printed = error.print();
    match error.exit_code() {
        0 => printed.map(|()| 0).map_err(Failure::from),
        _ => Ok(exit_code::ERROR),
    }
}
