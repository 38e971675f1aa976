//! The flags of all scenarios, put together from the scenarios' own files.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::contention::ContentionSettings;
use super::scenario::{ALL, Kind};
use crate::output::Failure;

/// The heading of these flags in the help.
const HEADING: &str = "Scenario";

/// The flags of all scenarios as clap has read them. Each scenario takes its own out of them.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioFlags(ArgMatches);

impl FromArgMatches for ScenarioFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl Args for ScenarioFlags {
    fn augment_args(command: Command) -> Command {
        command.args(all_flags().into_iter().map(described))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl ScenarioFlags {
    /// The flags of one scenario. A flag of another scenario would have no effect, so it is an error.
    pub(super) fn of<F: FromArgMatches>(&self, kind: &Kind) -> Result<F, Failure> {
        let own: Vec<_> = (kind.flags)().iter().map(|flag| flag.get_id().to_string()).collect();
        let is_given = |id: &str| self.0.value_source(id) == Some(ValueSource::CommandLine);
        let foreign = |(flag, _): &(Arg, _)| {
            let id = flag.get_id().as_str();
            !own.iter().any(|own| own == id) && is_given(id)
        };
        if let Some((flag, _)) = all_flags().iter().find(|flag| foreign(flag)) {
            let name = |id: &str| format!("--{}", id.replace('_', "-"));
            return Err(Failure::Message(format!(
                "{} is no setting of {}, which has {}",
                name(flag.get_id().as_str()),
                kind.name,
                own.iter().map(|id| name(id)).collect::<Vec<_>>().join(", "),
            )));
        }
        F::from_arg_matches(&self.0).map_err(|error| Failure::Message(error.to_string()))
    }
}

/// A scenario's name, and what it says about a flag.
type Help = (&'static str, String);

/// The flags in the order of the scenarios. One that several scenarios have is there once.
fn all_flags() -> Vec<(Arg, Vec<Help>)> {
    let mut all: Vec<(Arg, Vec<Help>)> = Vec::new();
    for kind in ALL {
        for flag in (kind.flags)() {
            let help = (kind.name, flag.get_help().map(ToString::to_string).unwrap_or_default());
            match all.iter_mut().find(|(other, _)| other.get_id() == flag.get_id()) {
                Some((_, helps)) => helps.push(help),
                None => all.push((flag, vec![help])),
            }
        }
    }
    all
}

/// The flag with the scenarios' names before its help: `outage, layers: a retry budget`.
fn described((flag, helps): (Arg, Vec<Help>)) -> Arg {
    let sentences = helps.chunk_by(|(_, one), (_, other)| one == other).map(|same| {
        let names: Vec<_> = same.iter().map(|(name, _)| *name).collect();
        format!("{}: {}", names.join(", "), same[0].1)
    });
    // A value such as -1 is out of range, which the scenario says better than clap.
    let takes_any = flag.get_action().takes_values() && flag.get_possible_values().is_empty();
    flag.help(sentences.collect::<Vec<_>>().join(". "))
        .help_heading(HEADING)
        .allow_hyphen_values(takes_any)
}

/// For `tune`, which searches for `contention` alone: hides the flags of other scenarios, which are
/// refused with a better error than clap's.
pub(crate) fn only_contention(flag: Arg) -> Arg {
    if flag.get_help_heading() != Some(HEADING) {
        return flag;
    }
    let mut own = (Kind::of::<ContentionSettings>().flags)().into_iter();
    match own.find(|own| own.get_id() == flag.get_id()).as_ref().and_then(Arg::get_help) {
        Some(help) => flag.help(help.clone()),
        None => flag.hide(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// clap panics where a flag is read as another type than it was declared with.
    #[test]
    fn a_flag_of_several_scenarios_has_one_type() {
        for kind in ALL {
            for flag in (kind.flags)() {
                let all = all_flags();
                let (first, _) = all.iter().find(|(one, _)| one.get_id() == flag.get_id()).unwrap();
                let types = [first, &flag].map(|flag| flag.get_value_parser().type_id());
                assert_eq!(types[0], types[1], "{} of {}", flag.get_id(), kind.name);
            }
        }
    }
}
