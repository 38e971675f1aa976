//! `redial help`, `redial man` and `redial completions`.

use clap::Args;

use super::rules::rule_sets;
use super::{Suggested, verbs};

fn topics() -> Vec<String> {
    let topics = crate::verb::help::topics().into_iter().map(str::to_owned);
    topics.chain(verbs()).collect()
}

/// `redial completions`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial completions bash > ~/.local/share/bash-completion/completions/redial
  redial completions zsh > ~/.zfunc/_redial
  redial completions fish > ~/.config/fish/completions/redial.fish

In bash, zsh and fish, also the names of runs and the keys of dead letters are completed, as the store has them.")]
pub(crate) struct Completions {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
    /// What the script of a shell asks with: the words of the line, the last being typed
    #[arg(value_name = "WORD", last = true, hide = true)]
    pub(crate) words: Vec<std::ffi::OsString>,
}

/// `redial man`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial man | man -l -
  redial man plan > redial-plan.1")]
pub(crate) struct Man {
    /// Verb [default: the page of redial itself]
    #[arg(value_name = "VERB", value_parser = Suggested(verbs), hide_possible_values = true)]
    pub(crate) verb: Option<String>,
}

/// `redial help`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial help plan
  redial help policy                the language, with examples
  redial help rules                 conditions, and sets of them
  redial help rules git > git.toml  a set as a file, to read or to extend
  redial help flows                 flow files, with examples
  redial help shared create budget
  redial help budget                one retry budget for many processes; also breaker
  redial help events                the lines that run --events writes
  redial help exit-codes            of every verb
  redial help environment           defaults for a CI job or a host
  redial help schema > policies.schema.json
  redial help flow-schema > flow.schema.json")]
pub(crate) struct Help {
    /// Verb, or topic: policy, rules, schema, flows, flow-schema, budget, breaker, events, exit-codes or environment
    #[arg(value_name = "TOPIC", value_parser = Suggested(topics), hide_possible_values = true)]
    pub(crate) topic: Option<String>,
    /// After rules, the set to print; after shared and flow, their subcommands
    #[arg(value_name = "MORE", value_parser = Suggested(rule_sets), hide_possible_values = true)]
    pub(crate) more: Vec<String>,
}
