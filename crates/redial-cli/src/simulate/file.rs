//! A scenario in a file: the flags, written down.
//!
//! ```toml
//! scenario = "outage"
//! rate = 280
//! capacity = 300
//! with = ["retry: 1, delay: 0s", "attempts: 1"]
//! assert = "recovers < 1min"
//! ```

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use toml::de::{DeTable, DeValue};

use crate::args::PolicyFlags;
use crate::draw::Lines;
use crate::output::Failure;
use crate::source::Source;

/// The flags of a verb as they are in a file, with those of the command line over them; and the
/// flags in which the policies stand.
pub(crate) struct Written<A> {
    pub(crate) arguments: A,
    pub(crate) matches: Vec<ArgMatches>,
}

/// What a verb has to give so that its flags can come from a file.
pub(crate) trait FromFile: Args + FromArgMatches {
    fn policy(&mut self) -> &mut PolicyFlags;
}

/// Reads the file, and lays the flags of the command line over it. Policies of the command line
/// take the place of those in the file.
pub(crate) fn read<A: FromFile>(path: &str, over: &ArgMatches) -> Result<Written<A>, Failure> {
    let source = Source::open(path, None)?;
    let words = words(&source)?;
    let command =
        A::augment_args(Command::new(path.to_owned()).no_binary_name(true)).disable_help_flag(true);
    let matches = command
        .try_get_matches_from(words)
        .map_err(|error| Failure::Message(format!("{path}: {}", why(&error))))?;
    let refused = |error: clap::Error| Failure::Message(format!("{path}: {}", why(&error)));
    let mut arguments = A::from_arg_matches(&matches).map_err(refused)?;
    let named_over = ["with", "policy", "preset"].iter().any(|id| over.contains_id(id));
    if named_over {
        let policy = arguments.policy();
        (policy.with, policy.policy, policy.preset) = Default::default();
    }
    let scenario = over.clone();
    arguments.update_from_arg_matches(&scenario).map_err(refused)?;
    // The policies are found by their places in the flags that name them.
    let matches =
        if named_over { vec![over.clone(), matches] } else { vec![matches, over.clone()] };
    Ok(Written { arguments, matches })
}

/// The file as words of a command line.
fn words(source: &Source) -> Result<Vec<String>, Failure> {
    let lines = Lines::new(&source.text);
    let at = |place: usize| lines.position(place).line;
    let table = DeTable::parse(&source.text).map_err(|error| {
        let line = error.span().map_or(1, |span| at(span.start));
        let message = error.message();
        Failure::Message(format!("{}:{line}: this is not TOML: {message}", source.name))
    })?;
    let folder = Path::new(&source.name).parent().unwrap_or(Path::new(""));
    let mut scenario = None;
    let mut words = Vec::new();
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    // The order of policies is that of the text.
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in entries {
        let (name, line) = (key.get_ref().replace('_', "-"), at(key.span().start));
        let wrong = |what: &str| Failure::Message(format!("{}:{line}: {name} {what}", source.name));
        for value in one_or_many(value.get_ref()) {
            match (name.as_str(), value) {
                ("scenario", DeValue::String(text)) => scenario = Some(text.to_string()),
                ("scenario", _) => return Err(wrong("is the name of one, such as \"outage\"")),
                (_, DeValue::Boolean(true)) => words.push(format!("--{name}")),
                (_, DeValue::Boolean(false)) => {}
                (_, DeValue::String(text)) => {
                    let beside = name == "policy" && !text.starts_with('-');
                    let text = if beside {
                        folder.join(&**text).to_string_lossy().into_owned()
                    } else {
                        text.to_string()
                    };
                    words.push(format!("--{name}={text}"));
                }
                (_, DeValue::Integer(number)) => {
                    words.push(format!("--{name}={}", number.as_str()))
                }
                (_, DeValue::Float(number)) => words.push(format!("--{name}={}", number.as_str())),
                _ => {
                    return Err(wrong("takes a text, a number, true or false, or a list of texts"));
                }
            }
        }
    }
    let Some(scenario) = scenario else {
        return Err(Failure::Message(format!(
            "{}: there is no `scenario = \"outage\"` in it; see redial simulate --help",
            source.name,
        )));
    };
    words.insert(0, scenario);
    Ok(words)
}

fn one_or_many<'v, 't>(value: &'v DeValue<'t>) -> Vec<&'v DeValue<'t>> {
    match value {
        DeValue::Array(array) => array.iter().map(|element| element.get_ref()).collect(),
        one => vec![one],
    }
}

/// What clap has to say, in a line.
fn why(error: &clap::Error) -> String {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    if error.kind() == ErrorKind::UnknownArgument {
        let key = of(ContextKind::InvalidArg).unwrap_or_default();
        let key = key.trim_start_matches("--").split('=').next().unwrap_or_default().to_owned();
        let meant = of(ContextKind::SuggestedArg)
            .map(|flag| format!("; did you mean `{}`?", flag.trim_start_matches("--")));
        return format!("there is no setting `{key}`{}", meant.unwrap_or_default());
    }
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let text = text.split("\n\nUsage").next().unwrap_or(text).split("\n\nFor more").next();
    text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
