//! What both notations read with: the drafts of steps, the names that there are, and plain values.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroU32;
use std::time::Duration;

use redial_core::clause::Kind as Clause;
use redial_policy::notation::{
    Field, Node, Places, Policies, Source, Used, Value as Tree, nearest,
};
use redial_policy::{Diagnostic, FlowKind, Kind, Span};
use serde_json::Value as Json;

use super::{Named, Notation, Options, STEPS_MAX};
use crate::Value;
use crate::definition::{self as flow, Action, NeedKind, Step};

/// What a reference may begin with besides the names of steps.
pub(super) const RESERVED: [&str; 4] = ["inputs", "item", "item_number", "secrets"];
/// How many names are compared in all, to suggest the nearest.
const COMPARED_MAX: usize = 1_000_000;
/// How long the name of a step may be, in bytes: it becomes a part of keys and of file names.
pub(super) const NAME_MAX: usize = 100;

/// A step whose policy and needs are not resolved yet.
pub(super) struct Draft {
    pub(super) step: Step,
    /// Where its name is.
    pub(super) place: Span,
    pub(super) policy: Policy,
    pub(super) needs: Vec<NeedDraft>,
    /// Where its conditions stand, by their fields.
    pub(super) conditions: Vec<(&'static str, Places)>,
    /// Whether it has a priority of its own, be it 0.
    pub(super) has_priority: bool,
    /// What stands on a map for its inner steps.
    pub(super) inner: Inherited,
}

impl Draft {
    pub(super) fn new(name: &str, place: Span, action: Action) -> Self {
        Self {
            step: Step::new(name, action),
            place,
            policy: Policy::Default,
            needs: Vec::new(),
            conditions: Vec::new(),
            has_priority: false,
            inner: Inherited::default(),
        }
    }
}

/// When an attempt follows another.
#[derive(Clone)]
pub(super) enum Policy {
    /// The map's, or the file's.
    Default,
    Used(Used),
    /// Of `retry_config`, with its timeout.
    Clause(String),
}

/// What a map says once for all its inner steps.
#[derive(Clone, Default)]
pub(super) struct Inherited {
    pub(super) policy: Option<Used>,
    pub(super) timeout: Option<Duration>,
    pub(super) rules: flow::Rules,
    pub(super) priority: i32,
}

pub(super) struct NeedDraft {
    pub(super) target: String,
    pub(super) kind: NeedKind,
    pub(super) span: Span,
    /// Whether `when` names it, and so deals with one that was skipped.
    pub(super) is_condition: bool,
}

/// What is known of a name before any step is read.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) is_map: bool,
    /// The map that it is inside of.
    pub(super) inside: Option<String>,
    /// The how-manieth step of the text it is; inside a map, earlier ones are done before.
    pub(super) order: usize,
    /// The steps that it stands for: those of a `parallel`; of a branch, itself and its arms.
    pub(super) group: Vec<String>,
}

impl Known {
    /// Whether it is a `parallel`, which is no step itself.
    pub(super) fn is_parallel(&self, name: &str) -> bool {
        !self.group.is_empty() && !self.group.iter().any(|one| one == name)
    }

    /// Those of its steps that have a name of their own: an arm without one is called by its branch, with a dot.
    pub(super) fn named(&self) -> impl Iterator<Item = &str> {
        self.group.iter().map(String::as_str).filter(|name| !name.contains('.'))
    }
}

/// Where a text stands.
#[derive(Clone)]
pub(super) struct At {
    /// The draft to which its references give needs.
    pub(super) owner: Option<usize>,
    /// The map whose item it may name.
    pub(super) map: Option<String>,
    /// As [`Known::order`].
    pub(super) order: usize,
    pub(super) kind: NeedKind,
    pub(super) is_condition: bool,
}

impl At {
    pub(super) fn new(owner: usize, map: Option<&str>, order: usize) -> Self {
        let (owner, map) = (Some(owner), map.map(str::to_owned));
        Self { owner, map, order, kind: NeedKind::Output, is_condition: false }
    }

    /// Of the text of a condition, or of what is done on failure.
    pub(super) fn handling(&self, is_condition: bool) -> Self {
        Self { kind: NeedKind::Over, is_condition, ..self.clone() }
    }
}

pub(super) struct Reader<'t, 'n, 'o> {
    pub(super) source: Source<'t>,
    pub(super) options: &'o Options<'o>,
    pub(super) notation: Notation,
    pub(super) policies: Policies<'t, 'n>,
    pub(super) found: Vec<Diagnostic>,
    pub(super) names: HashMap<String, Known>,
    pub(super) inputs: BTreeMap<String, Json>,
    /// What is known of them before anything runs.
    pub(super) values: BTreeMap<String, Value>,
    pub(super) drafts: Vec<Draft>,
    pub(super) secrets: BTreeMap<String, flow::Secret>,
    pub(super) env: Vec<(String, String)>,
    /// Names of another system, and the references that they stand for: `shell.output`, a captured variable.
    pub(super) aliases: BTreeMap<String, String>,
    pub(super) programs: Vec<Named>,
    pub(super) rule_files: Vec<Named>,
    pub(super) rule_texts: HashMap<String, Option<flow::RuleSet>>,
    pub(super) compared: usize,
    pub(super) copied: usize,
    /// Whether it was told that there are too many steps.
    pub(super) is_full: bool,
}

impl<'t, 'n, 'o> Reader<'t, 'n, 'o> {
    pub(super) fn new(source: Source<'t>, options: &'o Options<'o>, notation: Notation) -> Self {
        Self {
            source,
            options,
            notation,
            policies: Policies::new(source),
            found: Vec::new(),
            names: HashMap::new(),
            inputs: BTreeMap::new(),
            values: BTreeMap::new(),
            drafts: Vec::new(),
            secrets: BTreeMap::new(),
            env: Vec::new(),
            aliases: BTreeMap::new(),
            programs: Vec::new(),
            rule_files: Vec::new(),
            rule_texts: HashMap::new(),
            compared: 0,
            copied: 0,
            is_full: false,
        }
    }

    pub(super) fn tell(&mut self, kind: impl Into<Kind>, span: Span, message: impl Into<String>) {
        self.found.push(Diagnostic::new(kind, span, message));
    }

    pub(super) fn wrong(&mut self, field: &str, node: &Node, advice: &str) {
        self.found.push(self.source.wrong_type(field, node, advice));
    }

    pub(super) fn refuse(&mut self, field: &Field, why: &str) {
        self.tell(FlowKind::NotSupported, field.place, format!("`{}`: {why}", field.key));
    }

    /// The known fields of a map. Those that are `refused` are told by their names, and why.
    pub(super) fn fields(
        &mut self,
        node: &'n Node,
        what: &str,
        names: &[&str],
        elsewhere: &[(&str, &'static str)],
        refused: &[(&str, &str)],
    ) -> Vec<&'n Field> {
        let why = |key: &str| refused.iter().find(|(name, _)| *name == key).map(|(_, why)| *why);
        let others = |key: &str| why(key).is_some();
        let source = self.source;
        let fields = source.known_besides(others, node, what, names, elsewhere, &mut self.found);
        for field in node.fields() {
            if let Some(why) = why(&field.key) {
                self.refuse(field, why);
            }
        }
        fields
    }

    /// Adds a draft, unless there are too many.
    pub(super) fn add(&mut self, draft: Draft) -> Option<usize> {
        if self.drafts.len() >= STEPS_MAX {
            self.too_many(draft.place);
            return None;
        }
        self.drafts.push(draft);
        Some(self.drafts.len() - 1)
    }

    fn too_many(&mut self, place: Span) {
        if !self.is_full {
            self.is_full = true;
            self.tell(Kind::TooLarge, place, format!("a flow has at most {STEPS_MAX} steps"));
        }
    }

    /// Makes a name known, if a step can have it.
    pub(super) fn declare(&mut self, name: &str, place: Span, known: Known) -> bool {
        if self.names.len() >= STEPS_MAX {
            self.too_many(place);
        } else if let Some(why) = why_no_name(name) {
            let name = excerpt(name);
            let message = format!("`{}` cannot name a step: {why}", name.escape_debug());
            self.tell(FlowKind::BadName, place, message);
        } else if self.names.contains_key(name) {
            let message = format!("there is a step `{name}` already; give it another name");
            self.tell(Clause::DuplicateOption, place, message);
        } else {
            self.names.insert(name.to_owned(), known);
            return true;
        }
        false
    }

    /// The values of the inputs. Those that are short are looked at before anything runs.
    pub(super) fn set_inputs(&mut self, inputs: BTreeMap<String, Json>) {
        const SHORT: usize = 4096;
        const MANY: usize = 64;
        let short = |value: &&Json| value.as_str().is_some_and(|text| text.len() <= SHORT);
        let known = inputs.iter().filter(|(_, value)| short(value)).take(MANY);
        let known = known.map(|(name, value)| (name.clone(), value.clone()));
        let known: serde_json::Map<_, _> = known.collect();
        self.values = BTreeMap::from([("inputs".to_owned(), Json::Object(known).into())]);
        self.inputs = inputs;
    }

    pub(super) fn unknown(
        &mut self,
        kind: FlowKind,
        span: Span,
        problem: &str,
        name: &str,
        names: &[&str],
    ) {
        self.found.push(self.source.unknown(kind, span, problem, name, names));
    }

    /// The names of steps for which this holds, sorted, as long as there is time to compare them with a misspelt one.
    pub(super) fn names_where(&mut self, holds: impl Fn(&Known) -> bool) -> Vec<String> {
        self.compared += self.names.len();
        if self.compared > COMPARED_MAX {
            return Vec::new();
        }
        let names = self.names.iter().filter(|(_, known)| holds(known));
        let mut names: Vec<_> = names.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// A scalar as text: `5` and `true` are what is written.
    pub(super) fn scalar(&mut self, field: &str, node: &'n Node, advice: &str) -> Option<String> {
        match &node.value {
            Tree::Text(text) | Tree::Number(text) => Some(text.clone()),
            Tree::Bool(_) => Some(node.span.of(self.source.text()).to_owned()),
            _ => {
                self.wrong(field, node, advice);
                None
            }
        }
    }

    pub(super) fn duration(&mut self, field: &'n Field) -> Option<Duration> {
        self.source.duration(&field.key, &field.value, &mut self.found)
    }

    /// A duration that something may take.
    pub(super) fn limit(&mut self, field: &'n Field) -> Option<Duration> {
        let limit = self.duration(field)?;
        if limit.is_zero() {
            let advice = "no attempt would have any time; leave it out for no limit";
            self.wrong(&field.key, &field.value, advice);
        }
        Some(limit)
    }

    pub(super) fn whole<N: TryFrom<u64>>(&mut self, field: &Field, advice: &str) -> Option<N> {
        let number = match &field.value.value {
            Tree::Number(text) => {
                text.parse::<u64>().ok().and_then(|number| N::try_from(number).ok())
            }
            _ => None,
        };
        if number.is_none() {
            self.wrong(&field.key, &field.value, advice);
        }
        number
    }

    pub(super) fn count(&mut self, field: &Field) -> Option<NonZeroU32> {
        let count = match &field.value.value {
            Tree::Number(text) => text.parse().ok(),
            _ => None,
        };
        if count.is_none() {
            let is_too_large =
                matches!(&field.value.value, Tree::Number(text) if is_above_zero(text));
            let most = format!("use a whole number from 1 to {}", u32::MAX);
            let advice = if is_too_large { &most } else { "use a whole number from 1 on" };
            self.wrong(&field.key, &field.value, advice);
        }
        count
    }

    /// A text that is none of these: told with the nearest of them.
    pub(super) fn none_of(&mut self, field: &Field, names: &[&str], advice: &str) {
        let meant = match &field.value.value {
            Tree::Text(text) => nearest(text, names),
            _ => None,
        };
        let advice = match meant {
            Some(meant) => format!("did you mean {meant}? {advice}"),
            None => advice.to_owned(),
        };
        self.wrong(&field.key, &field.value, &advice);
    }

    pub(super) fn boolean(&mut self, field: &Field) -> Option<bool> {
        match &field.value.value {
            Tree::Bool(value) => Some(*value),
            _ => {
                self.wrong(&field.key, &field.value, "use true or false");
                None
            }
        }
    }

    /// A value, in which every text is a template.
    pub(super) fn json(&mut self, field: &str, node: &'n Node, at: Option<&At>) -> Json {
        match &node.value {
            Tree::Null => Json::Null,
            Tree::Bool(value) => Json::Bool(*value),
            Tree::Number(text) => {
                serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.clone()))
            }
            Tree::Text(text) => match at {
                Some(at) => self.template(field, node, at).map_or(Json::Null, Json::String),
                None => Json::String(text.clone()),
            },
            Tree::List(nodes) => {
                nodes.iter().map(|node| self.json(field, node, at)).collect::<Vec<_>>().into()
            }
            Tree::Map(fields) => {
                let values =
                    fields.iter().map(|one| (one.key.clone(), self.json(field, &one.value, at)));
                Json::Object(values.collect())
            }
        }
    }

    /// Variables of the environment, whose values are templates.
    pub(super) fn variables(&mut self, field: &'n Field, at: &At) -> Vec<(String, String)> {
        let Tree::Map(fields) = &field.value.value else {
            self.wrong(&field.key, &field.value, "use a map of names to values");
            return Vec::new();
        };
        let mut variables: Vec<(String, String)> = Vec::new();
        let mut seen = HashSet::new();
        for one in fields {
            if !is_variable(&one.key) {
                let message = format!(
                    "{}: `{}` cannot name a variable; use letters, digits and `_`",
                    field.key,
                    excerpt(&one.key)
                );
                self.tell(FlowKind::BadName, one.place, message);
            } else if !seen.insert(one.key.as_str()) {
                let message = format!("`{}` is there already; write it once", one.key);
                self.tell(Clause::DuplicateOption, one.place, message);
            } else if let Some(value) = self.template(&one.key, &one.value, at) {
                variables.push((one.key.clone(), value));
            }
        }
        variables
    }
}

/// Why a step cannot have this name.
fn why_no_name(name: &str) -> Option<String> {
    let odd = |character: &char| !character.is_alphanumeric() && !matches!(character, '_' | '-');
    if name.is_empty() {
        return Some("it is empty".to_owned());
    }
    if name.len() > NAME_MAX {
        return Some(format!("it has {} bytes, and {NAME_MAX} are the most", name.len()));
    }
    if RESERVED.contains(&name) {
        return Some("references have another meaning for it".to_owned());
    }
    if let Some(odd) = name.chars().find(odd) {
        return Some(format!(
            "it has `{}` in it; use letters, digits, `_` and `-`",
            odd.escape_debug()
        ));
    }
    let first = name.chars().next().filter(|first| first.is_ascii_digit() || *first == '-');
    first.map(|first| format!("it begins with `{first}`; begin with a letter"))
}

pub(super) fn is_variable(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The first 40 characters of a text.
pub(super) fn excerpt(text: &str) -> String {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(40).collect();
    if characters.next().is_some() { start + "…" } else { start }
}

/// Whether it is a whole number without a sign, and not zero, however many digits it has.
fn is_above_zero(number: &str) -> bool {
    number.bytes().all(|byte| byte.is_ascii_digit()) && number.bytes().any(|byte| byte != b'0')
}
