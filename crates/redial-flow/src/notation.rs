//! The notations of flows: a text in YAML, TOML or JSON to a [`Definition`], with everything that is wrong with it.
//!
//! There are two: our own flow file, and the workflow files with `setup`, `map` and `reduce` (also bare lists,
//! `commands` and `steps`) in which `retry_config` comes from. Both come to the same definition.
//!
//! ```
//! use redial_flow::notation::read;
//! use redial_policy::Format;
//!
//! let text = "
//! flow: greet
//! steps:
//!   who: {run: [id, -un]}
//!   hello: {run: [echo, \"${whoo.output}\"]}
//! ";
//! let reading = read(text, Format::Yaml);
//! assert!(reading.definition.is_none());
//! let found = &reading.diagnostics[0];
//! assert_eq!(found.span.of(text), "${whoo.output}");
//! assert_eq!(found.message, "run: nothing is called `whoo`; did you mean `who`?");
//! ```
//!
//! # I/O
//!
//! There is none here. A file of rules that a step names is asked for by [`Options::rule_file`], and
//! [`Reading::programs`] are to be looked up on the `PATH`.
//!
//! # Bounds
//!
//! A text has at most 4 MiB, a flow at most [`STEPS_MAX`] steps. Of more than a thousand diagnostics, the first
//! thousand are given.

mod ending;
mod fix;
mod flow_file;
mod reader;
mod rules;
mod script;
mod shared;
mod texts;
mod work_items;

use std::collections::BTreeMap;
use std::fmt;

use redial_policy::notation::{Node, Source as Text, Value};
use redial_policy::{Diagnostic, FlowKind, Format, Kind, Span};
use serde_json::Value as Json;

use crate::definition::{Definition, Source};
use reader::Reader;

pub use script::Modules;

/// The JSON Schema of our own flow file, for editors that complete and check it.
pub const SCHEMA: &str = include_str!("flow.schema.json");

/// The reference of flow files, in Markdown that reads well as plain text.
pub const REFERENCE: &str = include_str!("flow.md");

/// How many steps a flow may have.
pub const STEPS_MAX: usize = 10_000;

const DIAGNOSTICS_MAX: usize = 1000;

/// What a flow is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Our own file: `steps` by their names.
    Flow,
    /// `setup`, `map` with an `agent_template`, and `reduce`; or a list of steps.
    WorkItems,
    /// A script: calls of modules, with `in` and `out`.
    Script,
}

/// Reads a file of rules: its text and its format, or why it cannot be read.
pub type RuleFile<'o> = &'o dyn Fn(&str) -> Result<(String, Format), String>;

/// What stands outside of the text.
#[derive(Clone, Default)]
pub struct Options<'o> {
    /// What the flow is called if the text does not say; the name of the file, for instance.
    pub name: Option<String>,
    /// Values of inputs that replace those in the text.
    pub inputs: BTreeMap<String, Json>,
    /// The items of a `map` that has no `input`.
    pub items: Option<Source>,
    /// What runs the steps of a name: `claude` by `[claude, -p, "{}"]`, where `{}` is what the step says.
    pub runners: BTreeMap<String, Vec<String>>,
    /// How a file of rules is read. Without it, the definition has their paths without texts, and
    /// [`Reading::rule_files`] names them.
    pub rule_file: Option<RuleFile<'o>>,
    /// What the calls of a script run. Without them the script is checked as far as it goes, and has no definition.
    pub modules: Option<&'o Modules>,
    /// Whether the examples of a script stand for inputs that have no value.
    pub examples: bool,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What was read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What it is written in.
    pub notation: Notation,
    /// The flow; none where there are errors.
    pub definition: Option<Definition>,
    /// Everything that was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The programs of steps with `run`, by their bare names, to be looked up on the `PATH`.
    pub programs: Vec<Named>,
    /// The files of rules that steps name.
    pub rule_files: Vec<Named>,
    /// The inputs of a script that have no value, and need one to run.
    pub inputs_missing: Vec<Named>,
}

/// A name in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Where it is.
    pub span: Span,
}

impl Named {
    /// The diagnostic of a program that is not on the `PATH`.
    pub fn program_not_found(&self) -> Diagnostic {
        let message = format!("run: there is no program `{}` on the PATH", self.name);
        Diagnostic::new(FlowKind::ProgramNotFound, self.span, message)
    }
}

impl Reading {
    /// Whether there are errors, and not only warnings.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|found| !found.is_warning())
    }

    fn refused(notation: Notation, diagnostic: Diagnostic) -> Self {
        let (programs, rule_files) = (Vec::new(), Vec::new());
        let (diagnostics, inputs_missing) = (vec![diagnostic], Vec::new());
        Self { notation, definition: None, diagnostics, programs, rule_files, inputs_missing }
    }
}

/// Reads a text with nothing from outside.
pub fn read(text: &str, format: Format) -> Reading {
    Options::default().read(text, format)
}

/// What a text is written in, if it is a flow at all.
///
/// ```
/// use redial_flow::notation::{Notation, recognise};
/// use redial_policy::Format;
///
/// assert_eq!(recognise("steps: {a: {run: [ls]}}", Format::Yaml), Some(Notation::Flow));
/// assert_eq!(recognise("- shell: ls", Format::Yaml), Some(Notation::WorkItems));
/// assert_eq!(recognise("policies: {a: 'retry: 3'}", Format::Yaml), None);
/// // Policies of steps that are elsewhere.
/// assert_eq!(recognise("steps: [{retry_config: {attempts: 3}}]", Format::Yaml), None);
/// ```
pub fn recognise(text: &str, format: Format) -> Option<Notation> {
    recognise_trees(&Text::new(text, format).parse().ok()?)
}

/// The same for a text that is parsed already.
pub fn recognise_trees(roots: &[Node]) -> Option<Notation> {
    let root = roots.first()?;
    notation_of(root).filter(|notation| *notation == Notation::Flow || has_step(root))
}

/// Whether anything in it is done: a list of steps may also be a list of policies, of steps that are elsewhere.
fn has_step(root: &Node) -> bool {
    let lists = root.fields().iter().map(|field| &field.value);
    let lists = lists.filter(|node| matches!(node.value, Value::List(_)));
    let nodes: Vec<&Node> = std::iter::once(root)
        .chain(lists)
        .filter_map(|node| match &node.value {
            Value::List(nodes) => Some(nodes),
            _ => None,
        })
        .flatten()
        .collect();
    ["map", "setup", "reduce"].iter().any(|name| root.has(name)) || nodes.into_iter().any(is_step)
}

fn is_step(node: &Node) -> bool {
    node.has("shell") || node.has("claude") || node.has("write_file")
}

fn notation_of(root: &Node) -> Option<Notation> {
    let steps = root.fields().iter().find(|field| field.key == "steps");
    match (&root.value, steps.map(|field| &field.value.value)) {
        (Value::List(nodes), _) => nodes.iter().any(is_step).then_some(Notation::WorkItems),
        (Value::Map(_), _) if root.has("flow") => Some(Notation::Flow),
        (Value::Map(_), Some(Value::Map(_))) => Some(Notation::Flow),
        (Value::Map(_), Some(Value::List(_))) => Some(Notation::WorkItems),
        (Value::Map(fields), _) => {
            let telling = ["setup", "map", "reduce", "commands"];
            let holds = |value: &Value| matches!(value, Value::Map(_) | Value::List(_));
            let tells = fields
                .iter()
                .any(|field| telling.contains(&field.key.as_str()) && holds(&field.value.value));
            tells.then_some(Notation::WorkItems)
        }
        _ => None,
    }
}

impl Options<'_> {
    /// Reads a text.
    pub fn read(&self, text: &str, format: Format) -> Reading {
        let source = Text::new(text, format);
        let start = Span { start: 0, end: 0 };
        let refused = |found| Reading::refused(Notation::Flow, found);
        let roots = match source.parse() {
            Ok(roots) => roots,
            Err(found) => return refused(found),
        };
        let root = match roots.as_slice() {
            [root] => root,
            [] => {
                let message = "there is no flow in this text; write steps: {name: {run: [ls]}}";
                return refused(Diagnostic::new(FlowKind::NoSteps, start, message));
            }
            [_, second, ..] => {
                let message = "a flow is one document, and here a second one begins";
                return refused(Diagnostic::new(Kind::TooLarge, second.span, message));
            }
        };
        let notation = notation_of(root).unwrap_or(Notation::Flow);
        let reader = Reader::new(source, self, notation);
        let mut reading = match notation {
            Notation::Flow => flow_file::read(reader, root),
            _ => work_items::read(reader, root),
        };
        reading.complete();
        reading
    }

    /// Reads a script. Its findings, and what it comes to, are as those of [`read`](Self::read).
    ///
    /// ```
    /// use redial_flow::notation::{Modules, Options};
    ///
    /// let (modules, found) = Modules::read(
    ///     r#"
    ///     [module.Search]
    ///     argv = ["curl", "-fsS", "https://api.test/search?q={query}"]
    ///     in = { query = "String" }
    ///     out = "String"
    ///     "#,
    /// );
    /// assert!(found.is_empty());
    /// let text = "in query: String\nresult = Serch(query) with retry: 2, delay: 1s\nout result";
    /// let reading = Options { modules: Some(&modules), ..Options::default() }.read_script(text);
    /// let found = &reading.diagnostics[0];
    /// assert_eq!(found.message, "there is no module `Serch`; did you mean `Search`?");
    /// assert_eq!(found.span.of(text), "Serch");
    /// ```
    pub fn read_script(&self, text: &str) -> Reading {
        let mut reading = script::read(text, self);
        reading.complete();
        reading
    }
}

impl Reading {
    /// What was found in the order of the text, and no definition where there are errors.
    fn complete(&mut self) {
        let reading = self;
        let found = &mut reading.diagnostics;
        found.sort_by_key(|found| found.span.start);
        // A YAML alias brings the same finding into several steps.
        found.dedup();
        if let Some(more @ 1..) = found.len().checked_sub(DIAGNOSTICS_MAX) {
            // An error among those that are left out must not be lost.
            let errors = reading.has_errors();
            let found = &mut reading.diagnostics;
            found.sort_by_key(|found| (found.is_warning() && errors, found.span.start));
            found.truncate(DIAGNOSTICS_MAX);
            if let Some(last) = found.last_mut() {
                last.note = Some(format!("and {more} more"));
            }
        }
        if reading.has_errors() {
            reading.definition = None;
        }
    }
}
