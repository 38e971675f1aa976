//! A flow as it is written down: what `flow.json` of a run holds.
//!
//! Every notation comes to a [`Definition`], and a run is made from one alone: what a run does is what was
//! pinned when it began, whatever has become of the files since. Texts are kept as they were written
//! (templates, expressions, clauses), so that a reader of `flow.json` finds them again; they were checked
//! before, and the engine reads them again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use crate::value_type::Type;

pub use crate::flow::{BreakerSettings, BudgetSettings, FailuresMax, NeedKind, OnFailure, Rate};

/// The version of `flow.json`. Fields are only ever added.
pub const VERSION: u32 = 1;

/// A flow with all that it needs to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// The [version](VERSION).
    pub v: u32,
    /// What it is called.
    pub name: String,
    /// The values of its inputs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Json>,
    /// Its steps. Those inside a map follow it, in the order in which they are done for each item.
    pub steps: Vec<Step>,
    /// What it prints when all is done: templates by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<(String, String)>,
    /// How long all of it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Duration>,
    /// How many attempts run at once at most, unless the command line says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<NonZeroU32>,
    /// Environment variables whose values are secrets, by the names that steps use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, Secret>,
    /// Its steps are functions of a Rust program, which are known as they are called: [`steps`](Self::steps) has none of
    /// them, and only that program can run them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub program: bool,
}

impl Definition {
    /// A flow without anything but its name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            v: VERSION,
            name: name.into(),
            inputs: BTreeMap::new(),
            steps: Vec::new(),
            outputs: Vec::new(),
            within: None,
            slots: None,
            secrets: BTreeMap::new(),
            program: false,
        }
    }

    /// What references can begin with, for [`Shell::parse`](crate::Shell::parse): `inputs`, `item`, `item_number` and the
    /// names of steps.
    pub fn roots(&self) -> Vec<&str> {
        let steps = self.steps.iter().map(|step| step.name.as_str());
        crate::prepared::ROOTS.into_iter().chain(steps).collect()
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, which no other step has.
    pub name: String,
    /// The map whose items it is done for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// What it does.
    pub action: Action,
    /// What must be over before it starts, also what its references need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// When an attempt follows another: a clause, with `timeout`, `retry_on` and `stop_on` if it has them.
    pub policy: String,
    /// How long one attempt may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Which endings are a success, final, or retried.
    #[serde(default, skip_serializing_if = "Rules::is_empty")]
    pub rules: Rules,
    /// What its standard output is read as.
    #[serde(default, skip_serializing_if = "is_default")]
    pub output: OutputKind,
    /// What its output has to be. An attempt whose output is something else has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_type: Option<Type>,
    /// Whether it is run at all; of an arm, whether its branch takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// What takes its place once it has given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// What becomes of it once it has given up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_failure: OnFailure,
    /// Whether it may run again when it is not known whether it has succeeded.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub idempotent: bool,
    /// Variables, whose values are templates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Where it runs: a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// Its standard input: a template. Nothing, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Of what is ready at the same time, the highest starts first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// How many of its attempts run at once at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<NonZeroU32>,
    /// How many of its attempts start in a time at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A step whose `slots` and `rate` are also this one's: both take from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<String>,
    /// What its retries are paid from; of a map, those of all its inner steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetSettings>,
    /// What starts none of its attempts for a while after failures in a row; of a map, none of its inner steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerSettings>,
    /// The secrets that it gets, as variables of these names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

impl Step {
    /// A step by itself that makes one attempt.
    pub fn new(name: impl Into<String>, action: Action) -> Self {
        Self {
            name: name.into(),
            inside: None,
            action,
            needs: Vec::new(),
            policy: "attempts: 1".into(),
            timeout: None,
            rules: Rules::default(),
            output: OutputKind::Text,
            output_type: None,
            when: None,
            fallback: None,
            on_failure: OnFailure::Stop,
            idempotent: true,
            env: Vec::new(),
            dir: None,
            stdin: None,
            priority: 0,
            slots: None,
            rate: None,
            shares: None,
            budget: None,
            breaker: None,
            secrets: Vec::new(),
        }
    }
}

/// What a step does.
#[expect(clippy::large_enum_variant, reason = "a flow has at most ten thousand of them")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A program and its arguments.
    Run {
        /// Each of them a template.
        argv: Vec<Argument>,
        /// How references are written in them.
        #[serde(default, skip_serializing_if = "is_default")]
        spelling: Spelling,
    },
    /// A line of `sh`, with references whose values become its variables.
    Shell(String),
    /// A file with this content, both of them templates: done by redial itself.
    WriteFile {
        /// Where.
        path: String,
        /// What.
        content: String,
    },
    /// Its inner steps, for each item.
    Each(Each),
    /// One of these steps, its arms: the first whose `when` holds, or that has none. They follow it, each with a
    /// need of [kind](NeedKind) `taken`; what needs the branch needs all of them.
    Branch(Vec<String>),
    /// A value that redial computes itself, without an attempt: an expression in CEL.
    Value(String),
}

/// How references are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spelling {
    /// `${item.url}`, as in a flow file.
    #[default]
    Dollar,
    /// `{url}`, as in `redial map`.
    Braces,
}

/// An argument; bytes that are not UTF-8 are kept as base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// Text.
    Text(String),
    /// Other bytes.
    Bytes {
        /// As base64.
        base64: String,
    },
}

impl Argument {
    /// The bytes of it; of base64 that is none, nothing.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Bytes { base64 } => BASE64_STANDARD.decode(base64).unwrap_or_default(),
        }
    }
}

impl From<Vec<u8>> for Argument {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Bytes { base64: BASE64_STANDARD.encode(error.as_bytes()) },
        }
    }
}

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<OsString> for Argument {
    fn from(word: OsString) -> Self {
        word.into_encoded_bytes().into()
    }
}

/// A map over items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Each {
    /// Where the items come from.
    pub source: Source,
    /// Which of them.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<Condition>,
    /// In which order: `severity DESC, score`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_by: Option<String>,
    /// Of those with the same value of this field, the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<String>,
    /// How many of the first are left out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub offset: u64,
    /// How many are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The field that an item is known by; its content, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Beyond this, no new item is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_max: Option<FailuresMax>,
    /// What the item's own output is: that of the last of its steps, unless one is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

impl Each {
    /// All items of a source.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            filter: None,
            sort_by: None,
            distinct: None,
            offset: 0,
            max_items: None,
            key: None,
            failures_max: None,
            result: None,
        }
    }
}

/// Where items come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// What is read.
    pub from: Origin,
    /// How.
    pub format: ItemFormat,
}

/// What is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A file, whose path is a template.
    File(String),
    /// Standard input.
    Stdin,
    /// The value of a template that is one reference: a list, or lines of text.
    Value(String),
    /// One item that is this value: a map without a source runs its steps once.
    Once(Json),
}

/// How items are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemFormat {
    /// A line each.
    #[default]
    Lines,
    /// What stands between NUL bytes.
    Nul,
    /// A JSON value on each line.
    JsonLines,
    /// What a JSON path selects; the items of the list, where there is none.
    Json(Option<String>),
    /// Rows, the first of which names the columns.
    Csv {
        /// What stands between two fields.
        delimiter: char,
    },
}

/// What a step needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// The other step.
    pub step: String,
    /// What of it.
    pub kind: NeedKind,
}

/// Rules on how a command ended, as flags and fields write them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// Sets, built in or from a file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<RuleSet>,
    /// Conditions of a success.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub success_on: Vec<String>,
    /// Conditions of what is not worth another attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_on: Vec<String>,
    /// Conditions of what is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retry_on: Vec<String>,
    /// Where a delay stands that the command asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delay_from: Vec<String>,
    /// The longest such delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retry_after: Option<Duration>,
}

impl Rules {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A set of rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSet {
    /// Its name.
    pub name: String,
    /// The file that it was read from: its text and its format, `yaml`, `toml` or `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<(String, String)>,
}

/// What an output is read as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// Text without its trailing newlines, as in `$( )`.
    #[default]
    Text,
    /// A JSON value.
    Json,
    /// A list of lines.
    Lines,
    /// Nothing is kept of it.
    None,
}

impl OutputKind {
    /// How a flow file writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Lines => "lines",
            Self::None => "none",
        }
    }
}

/// An expression, and how it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The text.
    pub text: String,
    /// Whether it is the loose dialect of workflow files with `agent_template`, and not CEL.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loose: bool,
}

/// What takes the place of a step that has given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// A value; text in it is a template.
    Value(Json),
    /// A command, run once: a program and its arguments, or a line of `sh`.
    Step(Box<Action>),
}

/// Where the value of a secret comes from when a run starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Secret {
    /// A variable of redial's own environment.
    Env(String),
    /// A file, without the newline at its end.
    File(String),
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}
