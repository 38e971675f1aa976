//! A scenario in a file: the flags, written down.
//!
//! ```toml
//! scenario = "outage"
//! rate = 280
//! capacity = 300
//! with = ["retry: 1, delay: 0s", "attempts: 1"]
//! assert = "recovers < 1min"
//! ```

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use toml::de::{DeTable, DeValue};

use crate::output::Failure;
use crate::source::Source;
use crate::view::diagnostic::Lines;

/// The flags of a verb, wherever they were written.
pub(crate) struct Written<A> {
    pub(crate) arguments: A,
    /// The same as clap has them; the policies are found by their places here.
    pub(crate) matches: Option<ArgMatches>,
}

/// Flags that exclude each other: one of them on the command line replaces all of them in the file.
const INSTEAD: [&[&str]; 2] = [&["with", "policy", "preset"], &["attempts", "retries"]];

/// Reads the file, and lays the flags of the command line over it.
pub(crate) fn read<A: Args + FromArgMatches>(
    path: &str,
    over: &ArgMatches,
) -> Result<Written<A>, Failure> {
    let source = Source::open(path, None)?;
    let command =
        A::augment_args(Command::new(path.to_owned()).no_binary_name(true)).disable_help_flag(true);
    let given: Vec<&Arg> = command.get_opts().filter(|flag| is_given(flag, over)).collect();
    let is_replaced = |name: &str| {
        let same = INSTEAD.iter().find(|same| same.contains(&name)).map_or(&[][..], |same| *same);
        let mut names = given.iter().filter_map(|flag| flag.get_long());
        names.any(|given| given == name || same.contains(&given))
    };
    let mut words = words(&source, is_replaced)?;
    words.extend(as_words(&given, over));
    let refused = |error: clap::Error| Failure::Message(format!("{path}: {}", why(&error)));
    let matches = command.clone().try_get_matches_from(words).map_err(refused)?;
    let arguments = A::from_arg_matches(&matches).map_err(refused)?;
    Ok(Written { arguments, matches: Some(matches) })
}

fn is_given(flag: &Arg, over: &ArgMatches) -> bool {
    over.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine)
}

/// Flags as they were given, in their order, which is that of the policies.
fn as_words(flags: &[&Arg], over: &ArgMatches) -> impl Iterator<Item = OsString> {
    let mut words = Vec::new();
    for flag in flags {
        let id = flag.get_id().as_str();
        let name = OsString::from(format!("--{}", flag.get_long().unwrap_or_default()));
        let places = over.indices_of(id).into_iter().flatten();
        if flag.get_action().takes_values() {
            let values = over.get_raw(id).into_iter().flatten();
            let word = |value| [name.as_os_str(), "=".as_ref(), value].into_iter().collect();
            words.extend(places.zip(values.map(word)));
        } else {
            words.extend(places.map(|place| (place, name.clone())));
        }
    }
    words.sort_by_key(|(place, _)| *place);
    words.into_iter().map(|(_, word)| word)
}

/// The file as words of a command line, without the flags that are replaced.
fn words(source: &Source, is_replaced: impl Fn(&str) -> bool) -> Result<Vec<OsString>, Failure> {
    let lines = Lines::new(&source.text);
    let at = |place: usize| lines.position(place).line;
    let table = DeTable::parse(&source.text).map_err(|error| {
        let line = error.span().map_or(1, |span| at(span.start));
        let message = error.message();
        Failure::Message(format!("{}:{line}: this is not TOML: {message}", source.name))
    })?;
    let folder = Path::new(&source.name).parent().unwrap_or(Path::new(""));
    let mut scenario = None;
    let mut words: Vec<OsString> = Vec::new();
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    // The order of policies is that of the text.
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in entries {
        let (name, line) = (key.get_ref().replace('_', "-"), at(key.span().start));
        let wrong = |what: &str| Failure::Message(format!("{}:{line}: {name} {what}", source.name));
        if name == "scenario" {
            let DeValue::String(text) = value.get_ref() else {
                return Err(wrong("is the name of one, such as \"outage\""));
            };
            scenario = Some(OsString::from(&**text));
            continue;
        }
        let values = values(&name, value.get_ref()).ok_or_else(|| {
            wrong("takes a text, a number, true or false, or a list of texts or numbers")
        })?;
        let word = |value: Option<String>| match value {
            None => format!("--{name}").into(),
            // A path in the file is relative to the file.
            Some(text) if name == "policy" && !text.starts_with('-') => {
                [OsString::from("--policy="), folder.join(text).into()].into_iter().collect()
            }
            Some(text) => format!("--{name}={text}").into(),
        };
        if !is_replaced(&name) {
            words.extend(values.into_iter().map(word));
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

/// The values of a flag, one for each time that it is given: `None` for a flag without a value. No
/// list at all where the type fits no flag.
fn values(name: &str, value: &DeValue<'_>) -> Option<Vec<Option<String>>> {
    match value {
        DeValue::Boolean(is_given) => Some(vec![None; usize::from(*is_given)]),
        DeValue::Array(array) => {
            let texts = array.iter().map(|one| text(one.get_ref())).collect::<Option<Vec<_>>>()?;
            Some(match name {
                // One flag with a list, as in `5,10,20`.
                "clients" => vec![Some(texts.join(","))],
                _ => texts.into_iter().map(Some).collect(),
            })
        }
        one => text(one).map(|text| vec![Some(text)]),
    }
}

fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// clap's error in one line.
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
