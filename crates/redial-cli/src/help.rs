//! Help, manual pages and completions, all from the one description of the command line.

use clap::{Command, CommandFactory};

use crate::args::{Cli, Completions, Help, Man};
use crate::explain;
use crate::output::{Failure, print};

pub(crate) fn run(help: &Help) -> Result<u8, Failure> {
    match help.topic.as_deref() {
        None => print(&Cli::command().render_long_help().ansi().to_string())?,
        Some("policy") => print(&explain::page(redial_policy::REFERENCE))?,
        Some("schema") => print(redial_policy::SCHEMA)?,
        Some(verb) => {
            let mut command = verb_named(verb)?;
            print(&command.render_long_help().ansi().to_string())?;
        }
    }
    Ok(0)
}

/// A verb as a command of its own, under its full name.
fn verb_named(verb: &str) -> Result<Command, Failure> {
    let mut command = Cli::command();
    command.build();
    match command.find_subcommand(verb) {
        Some(found) => Ok(found.clone()),
        None => {
            let verbs: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            Err(Failure::Message(format!(
                "there is no help about `{verb}`; there is some about policy, schema, {}",
                verbs.join(", "),
            )))
        }
    }
}

pub(crate) fn completions(completions: &Completions) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Cli::command(), "redial", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

pub(crate) fn man(man: &Man) -> Result<u8, Failure> {
    let command = match &man.verb {
        None => Cli::command(),
        Some(verb) => verb_named(verb)?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
