//! `redial help` and `redial man`, from clap's one description.

use clap::{Command, CommandFactory};

use redial_policy::RuleSet;

use super::explain;
use crate::args::{Cli, Help, Man};
use crate::output::{Failure, print};

/// Topics that concern several verbs. Tests run the sessions in these pages.
const PAGES: [(&str, &str); 5] = [
    ("budget", include_str!("../help/budget.md")),
    ("breaker", include_str!("../help/breaker.md")),
    ("events", include_str!("../help/events.md")),
    ("exit-codes", include_str!("../help/exit-codes.md")),
    ("environment", include_str!("../help/environment.md")),
];

/// The topics that are not verbs.
pub(crate) fn topics() -> Vec<&'static str> {
    let pages = PAGES.iter().map(|(topic, _)| *topic);
    let references = ["policy", "rules", "schema", "flows", "flow-schema"];
    references.into_iter().chain(pages).collect()
}

pub(crate) fn run(help: &Help) -> Result<u8, Failure> {
    match (help.topic.as_deref(), help.more.as_slice()) {
        (topic, []) => about(topic),
        (Some("rules"), [set]) => match RuleSet::text(set) {
            Some(text) => print(text).map(|()| 0),
            None => Err(Failure::Message(no_set(set))),
        },
        (Some(verb @ ("shared" | "flow")), more) => about_subcommand(verb_named(verb)?, more),
        (topic, more) => {
            let (topic, more) = (topic.unwrap_or_default(), more.join(" "));
            Err(Failure::Message(format!(
                "there is no help about {topic} {more}; see redial help {topic}"
            )))
        }
    }
}

fn about_subcommand(mut command: Command, names: &[String]) -> Result<u8, Failure> {
    let mut path = format!("redial {}", command.get_name());
    for name in names {
        let Some(found) = command.find_subcommand(name).cloned() else {
            let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            let known = match names.as_slice() {
                [] => "it has no subcommands".to_owned(),
                names => format!("there are {}", names.join(", ")),
            };
            return Err(Failure::Message(format!("there is no {path} {name}; {known}")));
        };
        path += &format!(" {name}");
        command = found;
    }
    print_help(command)
}

fn print_help(mut command: Command) -> Result<u8, Failure> {
    print(&command.render_long_help().ansi().to_string()).map(|()| 0)
}

/// The error for an unknown set of rules.
pub(crate) fn no_set(name: &str) -> String {
    let names = RuleSet::names().collect::<Vec<_>>().join(", ");
    let meant = RuleSet::nearest(name).map(|meant| format!("did you mean `{meant}`? "));
    format!("there is no set of rules `{name}`; {}there are {names}", meant.unwrap_or_default())
}

fn about(topic: Option<&str>) -> Result<u8, Failure> {
    let page = match topic {
        None => return print_help(Cli::command()),
        Some("policy") => redial_policy::REFERENCE,
        Some("rules") => redial_policy::RULES_REFERENCE,
        Some("flows") => redial_flow::notation::REFERENCE,
        Some("flow-schema") => return print(redial_flow::notation::SCHEMA).map(|()| 0),
        Some("schema") => return print(redial_policy::SCHEMA).map(|()| 0),
        Some(topic) => match PAGES.iter().find(|(name, _)| *name == topic) {
            Some((_, page)) => page,
            None => return print_help(verb_named(topic)?),
        },
    };
    print(&explain::page(page)).map(|()| 0)
}

/// A verb as a command of its own, under its full name.
fn verb_named(verb: &str) -> Result<Command, Failure> {
    let mut command = Cli::command();
    command.build();
    match command.find_subcommand(verb) {
        Some(found) => Ok(found.clone()),
        None => {
            let verbs: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
            let meant = nearest(verb, topics().into_iter().chain(verbs.iter().copied()));
            let meant = meant.map(|meant| format!("did you mean `{meant}`? "));
            Err(Failure::Message(format!(
                "there is no help about `{verb}`; {}there is some about {}, {}",
                meant.unwrap_or_default(),
                topics().join(", "),
                verbs.join(", "),
            )))
        }
    }
}

/// The name that starts with this word: `env`, `rule`, `exit_codes`.
fn nearest<'n>(word: &str, mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let word = word.to_lowercase().replace('_', "-");
    names.find(|name| word.len() > 1 && name.starts_with(&word))
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
