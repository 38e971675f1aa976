//! `redial help`, `redial man` and `redial completions`, all from clap's one description.

use clap::{Command, CommandFactory};

use redial_policy::RuleSet;

use super::explain;
use crate::args::{Cli, Completions, Help, Man};
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
    ["policy", "rules", "schema"].into_iter().chain(pages).collect()
}

pub(crate) fn run(help: &Help) -> Result<u8, Failure> {
    match (help.topic.as_deref(), help.set.as_deref()) {
        (Some("rules"), Some(set)) => match RuleSet::text(set) {
            Some(text) => print(text)?,
            None => return Err(Failure::Message(no_set(set))),
        },
        (Some("shared"), Some(verb)) => {
            let shared = verb_named("shared")?;
            let Some(mut command) = shared.find_subcommand(verb).cloned() else {
                let verbs: Vec<_> = shared.get_subcommands().map(Command::get_name).collect();
                return Err(Failure::Message(format!(
                    "there is no redial shared {verb}; there are {}",
                    verbs.join(", "),
                )));
            };
            print(&command.render_long_help().ansi().to_string())?;
        }
        (Some(topic), Some(set)) => {
            return Err(Failure::Message(format!(
                "`{set}` belongs to the topic rules, not to {topic}: redial help rules {set}"
            )));
        }
        (topic, _) => return about(topic),
    }
    Ok(0)
}

/// The error for an unknown set of rules.
pub(crate) fn no_set(name: &str) -> String {
    let names = RuleSet::names().collect::<Vec<_>>().join(", ");
    let meant = RuleSet::nearest(name).map(|meant| format!("did you mean `{meant}`? "));
    format!("there is no set of rules `{name}`; {}there are {names}", meant.unwrap_or_default())
}

fn about(topic: Option<&str>) -> Result<u8, Failure> {
    match topic {
        None => print(&Cli::command().render_long_help().ansi().to_string())?,
        Some("policy") => print(&explain::page(redial_policy::REFERENCE))?,
        Some("rules") => print(&explain::page(redial_policy::RULES_REFERENCE))?,
        Some("schema") => print(redial_policy::SCHEMA)?,
        Some(topic) => match PAGES.iter().find(|(name, _)| *name == topic) {
            Some((_, text)) => print(&explain::page(text))?,
            None => {
                let mut command = verb_named(topic)?;
                print(&command.render_long_help().ansi().to_string())?;
            }
        },
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
