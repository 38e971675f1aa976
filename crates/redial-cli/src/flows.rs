//! Flows from files, with all that they name: inputs, items, rules, runners, and programs on the `PATH`.

use std::collections::BTreeMap;
use std::path::Path;

use redial_flow::definition::{Definition, ItemFormat, Origin, Source as Items};
use redial_flow::notation::{Options, Reading};
use redial_policy::notation::{Node, Source as Text, Value as Tree};
use redial_policy::{Diagnostic, Fix, FlowKind, Format, Kind};
use serde_json::Value as Json;

use crate::exit_code;
use crate::output::{Failure, print_note};
use crate::scripts;
use crate::source::Source;
use crate::view::diagnostic::Drawing;
use crate::visible::visible;

/// Which programs run the steps of workflow files that are neither `shell` nor `write_file`.
pub(crate) const RUNNERS: &str = ".redial/runners.toml";

/// A flow that has no errors.
pub(crate) struct Loaded {
    pub(crate) definition: Definition,
    /// Its warnings. They are printed already.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// What the command line says about a flow or a script.
#[derive(Default)]
pub(crate) struct Asked<'a> {
    pub(crate) file: &'a str,
    pub(crate) inputs: &'a [String],
    pub(crate) items: Option<&'a Path>,
    /// The file of modules of a script.
    pub(crate) modules: Option<&'a str>,
    /// Whether the examples of a script stand for inputs.
    pub(crate) examples: bool,
    /// Whether it is to be run, so that every input needs a value.
    pub(crate) is_run: bool,
}

/// Reads a flow or a script, and everything that it names. What is wrong with it is printed, all at once.
pub(crate) fn load(asked: &Asked<'_>) -> Result<Loaded, Failure> {
    let Asked { file, inputs, items, .. } = *asked;
    let mut source = Source::open(file, None)?;
    if scripts::is_script(file) {
        return scripts::load(&source, asked);
    }
    if asked.modules.is_some() || asked.examples {
        let message = "--modules and --example belong to a script, whose name ends with .cst";
        return Err(Failure::from(message));
    }
    if source.format == Format::Text {
        source.format = Format::Yaml;
    }
    let outside =
        Outside { inputs: inputs_of(&source, inputs)?, items: items.map(items_of).transpose()? };
    let (reading, fixes) = outside.read(&source)?;
    let drawing = Drawing::of(&source).applying(fixes);
    for found in &reading.diagnostics {
        print_note(&drawing.draw(found));
    }
    match reading.definition {
        Some(definition) => Ok(Loaded { definition, warnings: reading.diagnostics }),
        None => Err(Failure::Reported(exit_code::ERROR)),
    }
}

/// What the command line says about a flow.
#[derive(Default)]
pub(crate) struct Outside {
    inputs: BTreeMap<String, Json>,
    items: Option<Items>,
}

impl Outside {
    /// Reads a flow, and gives the fixes that [`fix`] applies to it.
    pub(crate) fn read(self, source: &Source) -> Result<(Reading, Vec<Fix>), Failure> {
        let folder = folder_of(&source.name);
        let rule_file = |name: &str| rule_file(folder, name);
        let options = Options {
            name: name_of(&source.name),
            inputs: self.inputs,
            items: self.items,
            runners: runners()?,
            rule_file: Some(&rule_file),
            ..Options::default()
        };
        let mut reading = options.read(&source.text, source.format);
        let fixes = options.fixable(&source.text, source.format, &reading);
        let missing = reading.programs.iter().filter(|program| !is_on_path(&program.name));
        let missing: Vec<_> = missing.map(|program| program.program_not_found()).collect();
        reading.diagnostics.extend(missing);
        reading.diagnostics.sort_by_key(|found| found.span.start);
        for found in &mut reading.diagnostics {
            if found.kind == Kind::Flow(FlowKind::NoRunner) && found.note.is_none() {
                let name = found.span.of(&source.text);
                found.note = Some(format!(
                    "a line in {RUNNERS} says it: {name} = [\"{name}\", \"-p\", \"{{}}\"]"
                ));
            }
        }
        if reading.has_errors() {
            reading.definition = None;
        }
        Ok((reading, fixes))
    }
}

/// A flow with its safe fixes applied, and how many there were.
pub(crate) fn fix(source: &Source) -> Result<(String, usize), Failure> {
    let folder = folder_of(&source.name);
    let rule_file = |name: &str| rule_file(folder, name);
    let options =
        Options { runners: runners()?, rule_file: Some(&rule_file), ..Options::default() };
    Ok(options.fix(&source.text, source.format))
}

/// Files of rules are beside the flow that names them.
fn folder_of(file: &str) -> &Path {
    Path::new(file).parent().unwrap_or(Path::new(""))
}

pub(crate) fn name_of(file: &str) -> Option<String> {
    let stem = Path::new(file).file_stem()?.to_string_lossy();
    (file != "-").then(|| stem.into_owned())
}

fn rule_file(folder: &Path, name: &str) -> Result<(String, Format), String> {
    let path = folder.join(name);
    let source = Source::open(&path.to_string_lossy(), None)?;
    Ok((source.text, source.format))
}

/// `NAME=VALUE`, where a script says what each value is.
pub(crate) fn json_inputs(inputs: &[String]) -> Result<BTreeMap<String, Json>, Failure> {
    let split = |input: &String| {
        let (name, text) = named(input)?;
        Ok((name.to_owned(), Json::from(text)))
    };
    inputs.iter().map(split).collect()
}

fn named(input: &str) -> Result<(&str, &str), Failure> {
    input.split_once('=').ok_or_else(|| {
        Failure::Message(format!(
            "--input: `{}` has no `=`; write --input NAME=VALUE",
            visible(input)
        ))
    })
}

/// `NAME=VALUE`. Where the value in the flow is text, so is this one; any other is read as JSON.
fn inputs_of(source: &Source, inputs: &[String]) -> Result<BTreeMap<String, Json>, Failure> {
    let roots = match inputs.is_empty() {
        true => Vec::new(),
        false => Text::new(&source.text, source.format).parse().unwrap_or_default(),
    };
    let fields = roots.first().map(Node::fields).unwrap_or_default();
    let known = fields.iter().find(|field| field.key == "inputs");
    let known = known.map(|field| field.value.fields()).unwrap_or_default();
    let mut values = BTreeMap::new();
    for input in inputs {
        let (name, text) = named(input)?;
        let in_file = known.iter().find(|field| field.key == name).map(|field| &field.value.value);
        let what = match in_file {
            None | Some(Tree::Text(_) | Tree::Null) => None,
            Some(Tree::Bool(_)) => Some("true or false"),
            Some(Tree::Number(_)) => Some("a number"),
            Some(Tree::List(_)) => Some("a list"),
            Some(Tree::Map(_)) => Some("an object"),
        };
        let value = match what {
            None => Json::from(text),
            Some(what) => {
                let read = serde_json::from_str::<Json>(text);
                let read = read.ok().filter(|value| is(what, value));
                read.ok_or_else(|| {
                    Failure::Message(format!(
                        "--input {}: `{}` is not {what} in JSON, and the flow has {what} there",
                        visible(name),
                        visible(text)
                    ))
                })?
            }
        };
        values.insert(name.to_owned(), value);
    }
    Ok(values)
}

fn is(what: &str, value: &Json) -> bool {
    match value {
        Json::Bool(_) => what == "true or false",
        Json::Number(_) => what == "a number",
        Json::Array(_) => what == "a list",
        Json::Object(_) => what == "an object",
        Json::Null | Json::String(_) => false,
    }
}

/// The items of a map that names no source.
fn items_of(path: &Path) -> Result<Items, Failure> {
    let text = path.to_str().ok_or("--items: the name of the file is not UTF-8")?;
    if text == "-" {
        return Ok(Items { from: Origin::Stdin, format: ItemFormat::Lines });
    }
    if let Err(error) = std::fs::File::open(path) {
        return Err(Failure::Message(format!("--items: cannot read {}: {error}", path.display())));
    }
    let format = match path.extension().and_then(std::ffi::OsStr::to_str) {
        Some("json") => ItemFormat::Json(None),
        Some("jsonl" | "ndjson") => ItemFormat::JsonLines,
        Some("csv") => ItemFormat::Csv { delimiter: ',' },
        Some("tsv") => ItemFormat::Csv { delimiter: '\t' },
        _ => ItemFormat::Lines,
    };
    // A file of items is named, not referred to.
    Ok(Items { from: Origin::File(text.replace("${", "$${")), format })
}

/// What runs steps by their names: lists of words, in one of which `{}` stands for what the step says.
fn runners() -> Result<BTreeMap<String, Vec<String>>, Failure> {
    if !Path::new(RUNNERS).exists() {
        return Ok(BTreeMap::new());
    }
    let source = Source::open(RUNNERS, None)?;
    let roots = Text::new(&source.text, Format::Toml).parse().map_err(|found| {
        print_note(&Drawing::of(&source).draw(&found));
        Failure::Reported(exit_code::ERROR)
    })?;
    let fields = roots.first().map(Node::fields).unwrap_or_default();
    let runner = |field: &redial_policy::notation::Field| {
        let words = match &field.value.value {
            Tree::List(nodes) => nodes.iter().map(word).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let words = words.filter(|words| words.first().is_some_and(|program| program != "{}"));
        let words = words.filter(|words| words.iter().any(|word| word == "{}"));
        words.map(|words| (field.key.clone(), words)).ok_or_else(|| {
            let name = visible(&field.key);
            Failure::Message(format!(
                "{RUNNERS}: `{name}` is not a program and its arguments, one of which is \"{{}}\"; write \
                 {name} = [\"{name}\", \"-p\", \"{{}}\"]"
            ))
        })
    };
    fields.iter().map(runner).collect()
}

fn word(node: &Node) -> Option<String> {
    match &node.value {
        Tree::Text(text) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(unix)]
pub(crate) fn is_on_path(name: &str) -> bool {
    // Without a PATH, execvp looks here.
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path).any(|folder| {
        let file = folder.join(name);
        file.is_file() && nix::unistd::access(&file, nix::unistd::AccessFlags::X_OK).is_ok()
    })
}

/// Where nothing is run, nothing is missing.
#[cfg(not(unix))]
pub(crate) fn is_on_path(_: &str) -> bool {
    true
}
