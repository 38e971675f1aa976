//! Our own flow file: steps by their names.

mod branches;
mod maps;

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroU32;

use redial_core::clause::Kind as Clause;
use redial_policy::notation::{Field, Node, Value as Tree};
use redial_policy::{FlowKind, Span};

use self::branches::{Branch, arms};
use self::maps::inner_steps;
pub(super) use self::maps::millionths;
use super::Reading;
use super::reader::{At, Draft, Known, Policy, Reader, excerpt, is_variable};
use crate::definition::{
    Action, Definition, Fallback, NeedKind, OnFailure, OutputKind, Rate, Secret, Spelling,
};

const TOP: [&str; 10] = [
    "flow", "policies", "default", "inputs", "steps", "outputs", "within", "slots", "secrets",
    "$schema",
];

/// The fields of every step.
const COMMON: [&str; 15] = [
    "needs",
    "policy",
    "timeout",
    "rules",
    "success_on",
    "stop_on",
    "retry_on",
    "delay_from",
    "max_retry_after",
    "when",
    "priority",
    "slots",
    "rate",
    "budget",
    "breaker",
];

/// Those of a step that runs a command.
const OF_COMMAND: [&str; 10] = [
    "run",
    "shell",
    "output",
    "fallback",
    "on_failure",
    "idempotent",
    "env",
    "dir",
    "stdin",
    "secrets",
];

/// Those of a map.
const OF_MAP: [&str; 9] =
    ["each", "steps", "where", "failures_max", "key", "sort_by", "distinct", "offset", "max_items"];

/// Those of a branch.
const OF_BRANCH: [&str; 5] = ["branch", "otherwise", "needs", "when", "output"];

/// The fields of steps of all kinds.
fn names_of_fields() -> impl Iterator<Item = &'static str> {
    let names = COMMON.into_iter().chain(OF_COMMAND).chain(OF_MAP);
    names.chain(["parallel", "branch", "otherwise"])
}

/// What a later version may have.
const LATER: [(&str, &str); 1] = [("call", "modules come later; write its command as `run`")];

const ELSEWHERE: [(&str, &str); 14] = [
    ("command", "run"),
    ("cmd", "run"),
    ("script", "shell"),
    ("depends_on", "needs"),
    ("retry", "policy"),
    ("if", "when"),
    ("filter", "where"),
    ("foreach", "each"),
    ("for_each", "each"),
    ("working_dir", "dir"),
    ("max_parallel", "slots"),
    ("environment", "env"),
    ("circuit_breaker", "breaker"),
    ("retry_budget", "budget"),
];

pub(super) fn read<'n>(mut reader: Reader<'_, 'n, '_>, root: &'n Node) -> Reading {
    if !matches!(root.value, Tree::Map(_)) {
        reader.wrong("flow", root, "write a map with steps: {name: {run: [ls]}}");
    }
    let elsewhere =
        [("name", "flow"), ("tasks", "steps"), ("jobs", "steps"), ("timeout", "within")];
    let fields = reader.fields(root, "a flow", &TOP, &elsewhere, &[]);
    let field = |name: &str| fields.iter().find(|field| field.key == name).copied();
    let mut definition = Definition::new(reader.options.name.as_deref().unwrap_or("flow"));
    if let Some(field) = field("flow") {
        definition.name = reader.name(field).unwrap_or(definition.name);
    }
    if let Some(field) = field("policies") {
        reader.policies.named(&field.value);
    }
    if let Some(field) = field("default") {
        reader.policies.default(&field.value);
    }
    if let Some(Field { value, .. }) = field("$schema")
        && !matches!(value.value, Tree::Text(_))
    {
        reader.wrong("$schema", value, "use the place of the schema, or drop it");
    }
    definition.within = field("within").and_then(|field| reader.limit(field));
    definition.slots = field("slots").and_then(|field| reader.count(field));
    reader.inputs_of(field("inputs"));
    if let Some(field) = field("secrets") {
        reader.secrets_of(field);
    }
    match field("steps") {
        Some(field) => reader.steps(field),
        None => {
            let place = Span { start: root.span.start, end: root.span.start };
            let message = "a flow has steps by their names: steps: {list: {run: [ls]}}";
            reader.tell(FlowKind::NoSteps, place, message);
        }
    }
    if let Some(field) = field("outputs") {
        definition.outputs = reader.outputs(field);
    }
    reader.finish(definition)
}

/// Whether a step is a branch, also one whose arms are missing.
fn is_branch(node: &Node) -> bool {
    node.has("branch") || node.has("otherwise")
}

/// The steps of one field of `steps`: a branch has several.
fn names_of_steps(field: &Field) -> Vec<String> {
    let arms = arms(&field.key, &field.value).into_iter().map(|arm| arm.name);
    let arms = arms.filter(|_| is_branch(&field.value));
    std::iter::once(field.key.clone()).chain(arms).collect()
}

impl<'n> Reader<'_, 'n, '_> {
    fn name(&mut self, field: &'n Field) -> Option<String> {
        const NAME_MAX: usize = 100;
        match &field.value.value {
            Tree::Text(name)
                if !name.trim().is_empty()
                    && name.len() <= NAME_MAX
                    && !name.contains(char::is_control) =>
            {
                Some(name.clone())
            }
            _ => {
                self.wrong(
                    &field.key,
                    &field.value,
                    "use a name of one line, of at most 100 bytes",
                );
                None
            }
        }
    }

    fn inputs_of(&mut self, field: Option<&'n Field>) {
        let mut inputs = BTreeMap::new();
        match field.map(|field| &field.value) {
            Some(Node { value: Tree::Map(fields), .. }) => {
                for one in fields {
                    let value = self.json("inputs", &one.value, None);
                    if inputs.insert(one.key.clone(), value).is_some() {
                        let message =
                            format!("`{}` is there already; write it once", excerpt(&one.key));
                        self.tell(Clause::DuplicateOption, one.place, message);
                    }
                }
            }
            Some(node) => self.wrong("inputs", node, "use a map of names to values"),
            None => {}
        }
        let place = field.map_or(Span { start: 0, end: 0 }, |field| field.place);
        for (name, value) in &self.options.inputs {
            if inputs.contains_key(name) {
                inputs.insert(name.clone(), value.clone());
                continue;
            }
            let names: Vec<_> = inputs.keys().map(String::as_str).collect();
            let problem = "the flow has no input";
            self.unknown(FlowKind::UnknownValue, place, problem, name, &names);
        }
        self.set_inputs(inputs);
    }

    fn secrets_of(&mut self, field: &'n Field) {
        const ADVICE: &str = "use a map of names to {env: VARIABLE} or {file: PATH}";
        let Tree::Map(fields) = &field.value.value else {
            return self.wrong("secrets", &field.value, ADVICE);
        };
        for one in fields {
            if !is_variable(&one.key) {
                let message = format!(
                    "secrets: `{}` cannot name a variable; use letters, digits and `_`",
                    excerpt(&one.key)
                );
                self.tell(FlowKind::BadName, one.place, message);
                continue;
            }
            let secret = match one.value.fields() {
                [Field { key, value: Node { value: Tree::Text(text), .. }, .. }] => {
                    match key.as_str() {
                        "env" if is_variable(text) => Some(Secret::Env(text.clone())),
                        "file" if !text.is_empty() => Some(Secret::File(text.clone())),
                        _ => None,
                    }
                }
                _ => None,
            };
            if secret.is_none() {
                self.wrong(&one.key, &one.value, "use {env: VARIABLE} or {file: PATH}");
            }
            // Also a wrong one has its name, so that steps which list it are right.
            let secret = secret.unwrap_or_else(|| Secret::Env(String::new()));
            if self.secrets.insert(one.key.clone(), secret).is_some() {
                let message = format!("`{}` is there already; write it once", one.key);
                self.tell(Clause::DuplicateOption, one.place, message);
            }
        }
    }

    fn outputs(&mut self, field: &'n Field) -> Vec<(String, String)> {
        let Tree::Map(fields) = &field.value.value else {
            self.wrong(
                "outputs",
                &field.value,
                "use a map of names to texts such as ${list.output}",
            );
            return Vec::new();
        };
        let at = At {
            owner: None,
            map: None,
            order: usize::MAX,
            kind: NeedKind::Output,
            is_condition: false,
        };
        let mut outputs = Vec::new();
        let mut seen = HashSet::new();
        for one in fields {
            if !seen.insert(one.key.as_str()) {
                let message = format!("`{}` is there already; write it once", excerpt(&one.key));
                self.tell(Clause::DuplicateOption, one.place, message);
            } else if let Some(text) = self.template(&one.key, &one.value, &at) {
                outputs.push((one.key.clone(), text));
            }
        }
        outputs
    }

    fn steps(&mut self, field: &'n Field) {
        let Tree::Map(fields) = &field.value.value else {
            return self.wrong(
                "steps",
                &field.value,
                "use a map of names to steps: {list: {run: [ls]}}",
            );
        };
        if fields.is_empty() {
            let message = "there are no steps here; write for example {list: {run: [ls]}}";
            return self.tell(FlowKind::NoSteps, field.value.span, message);
        }
        let mut order = 0;
        for one in fields {
            self.declare_step(one, &mut order);
        }
        let mut order = 0;
        for one in fields {
            self.step(one, &[], &mut order);
        }
    }

    /// Makes known the name of a step and of those inside it, so that references can come before what they name.
    fn declare_step(&mut self, field: &'n Field, order: &mut usize) {
        let node = &field.value;
        let (is_map, inside) = (node.has("each"), None);
        *order += 1;
        let mut known = Known { is_map, inside, order: *order, group: Vec::new() };
        let child = |name: &str| node.fields().iter().find(|field| field.key == name);
        if let Some(Node { value: Tree::Map(fields), .. }) =
            child("parallel").map(|field| &field.value)
        {
            known.group = fields.iter().flat_map(names_of_steps).collect();
            self.declare(&field.key, field.place, known);
            for one in fields {
                // A `parallel` in a `parallel` is refused when it is read.
                if !one.value.has("parallel") {
                    self.declare_step(one, order);
                }
            }
            return;
        }
        if is_branch(node) && !is_map {
            return self.declare_branch(&field.key, field.place, node, known);
        }
        let declared = self.declare(&field.key, field.place, known);
        let Some(inner) = child("steps").filter(|_| is_map && declared) else { return };
        for ((name, place, node), number) in inner_steps(&inner.value).into_iter().zip(1..) {
            *order += 1;
            let inside = Some(field.key.clone());
            let known = Known { is_map: false, inside, order: *order, group: Vec::new() };
            match name {
                Some(name) if is_branch(node) => self.declare_branch(name, place, node, known),
                None if is_branch(node) => {
                    let name = format!("{}.{number}", field.key);
                    self.declare_arms(&name, node, &known);
                }
                Some(name) => _ = self.declare(name, place, known),
                None => {}
            }
        }
    }

    fn declare_branch(&mut self, name: &str, place: Span, node: &'n Node, known: Known) {
        let mut known = known;
        known.group = arms(name, node).into_iter().map(|arm| arm.name).collect();
        known.group.insert(0, name.to_owned());
        self.declare(name, place, known.clone());
        self.declare_arms(name, node, &Known { group: Vec::new(), ..known });
    }

    /// The arms of a branch that have names. They stand where it stands.
    fn declare_arms(&mut self, branch: &str, node: &'n Node, known: &Known) {
        for arm in arms(branch, node).into_iter().filter(|arm| arm.is_named) {
            self.declare(&arm.name, arm.place, known.clone());
        }
    }

    /// A step that stands by itself, with what it needs besides what it says.
    fn step(&mut self, field: &'n Field, before: &[&'n Node], order: &mut usize) {
        *order += 1;
        let own = *order;
        let (name, node) = (&field.key, &field.value);
        if !matches!(node.value, Tree::Map(_)) {
            return self.wrong(&excerpt(name), node, "use a map such as {run: [ls, -l]}");
        }
        if node.has("parallel") {
            return self.parallel(field, order);
        }
        if node.has("each") {
            return self.map(field, before, order);
        }
        if is_branch(node) {
            let (place, map, has_name_inside) = (field.place, None, false);
            let order = own;
            return self.branch(&Branch { name, place, node, before, map, order, has_name_inside });
        }
        let fields = self.fields_of(node, "a step", &OF_COMMAND, None);
        let Some(owner) = self.add(Draft::new(name, field.place, Action::Shell(String::new())))
        else {
            return;
        };
        let at = At::new(owner, None, own);
        self.command(owner, field.place, node, &fields, &at);
        for needs in before {
            self.needs(needs, &at);
        }
    }

    /// Steps side by side: plain steps, each with what all of them need.
    fn parallel(&mut self, field: &'n Field, order: &mut usize) {
        let fields = self.fields(&field.value, "parallel", &["parallel", "needs"], &[], &[]);
        let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
        let Some(steps) = child("parallel") else { return };
        let Tree::Map(inner) = &steps.value.value else {
            return self.wrong("parallel", &steps.value, "use a map of names to steps");
        };
        if inner.is_empty() {
            let message = "parallel: there are no steps here";
            return self.tell(FlowKind::NoSteps, steps.value.span, message);
        }
        let needs: Vec<_> = child("needs").map(|field| &field.value).into_iter().collect();
        for one in inner {
            if let Some(nested) = one.value.fields().iter().find(|field| field.key == "parallel") {
                self.refuse(nested, "it stands in a `parallel` already; put its steps there");
                continue;
            }
            self.step(one, &needs, order);
        }
    }

    /// The fields of a step; those of another kind of step, and of a later version, are refused by their names.
    fn fields_of(
        &mut self,
        node: &'n Node,
        what: &str,
        own: &[&str],
        more: Option<&'static str>,
    ) -> Vec<&'n Field> {
        let names: Vec<&str> = names_of_fields().chain(more).collect();
        let fields = self.fields(node, what, &names, &ELSEWHERE, &LATER);
        let mut kept = Vec::with_capacity(fields.len());
        for field in fields {
            let key = field.key.as_str();
            if COMMON.contains(&key) || own.contains(&key) || more == Some(key) {
                kept.push(field);
            } else {
                let message = match OF_MAP.contains(&key) {
                    true => format!("`{key}` is a field of a map, and {what} has no `each`"),
                    false => format!("`{key}` is not a field of {what}; put it on its inner steps"),
                };
                self.tell(Clause::UnknownOption, field.place, message);
            }
        }
        kept
    }

    /// What all steps have.
    fn common(&mut self, owner: usize, fields: &[&'n Field], at: &At) {
        for field in fields {
            let value = &field.value;
            match field.key.as_str() {
                "needs" => self.needs(value, at),
                "policy" => {
                    self.drafts[owner].policy = match self.policies.foreign(value) {
                        Some(written) => Policy::Clause(written),
                        None => Policy::Used(self.policies.used(value)),
                    };
                }
                "timeout" => self.drafts[owner].step.timeout = self.limit(field),
                "rules" => self.drafts[owner].step.rules.sets = self.rule_sets(field),
                "success_on" => self.drafts[owner].step.rules.success_on = self.conditions(field),
                "stop_on" => self.drafts[owner].step.rules.stop_on = self.conditions(field),
                "retry_on" => self.drafts[owner].step.rules.retry_on = self.conditions(field),
                "delay_from" => self.drafts[owner].step.rules.delay_from = self.conditions(field),
                "max_retry_after" => {
                    self.drafts[owner].step.rules.max_retry_after = self.duration(field);
                }
                "when" => self.when(owner, value, at),
                "priority" => {
                    self.drafts[owner].step.priority = self.priority(field);
                    self.drafts[owner].has_priority = true;
                }
                "slots" => self.drafts[owner].step.slots = self.count(field),
                "rate" => self.drafts[owner].step.rate = self.rate(field),
                "budget" => self.drafts[owner].step.budget = self.budget(field),
                "breaker" => self.drafts[owner].step.breaker = self.breaker(field),
                _ => {}
            }
        }
    }

    /// A step that runs a command.
    fn command(
        &mut self,
        owner: usize,
        place: Span,
        node: &'n Node,
        fields: &[&'n Field],
        at: &At,
    ) {
        self.common(owner, fields, at);
        let field = |name: &str| fields.iter().find(|field| field.key == name).copied();
        if let Some(action) = self.action(place, node, field("run"), field("shell"), at) {
            self.drafts[owner].step.action = action;
        }
        let sets_path = field("env").is_some_and(|field| field.value.has("PATH"));
        if let Some(run) = field("run").filter(|_| !sets_path) {
            self.program(&run.value);
        }
        if let Some(field) = field("output") {
            self.drafts[owner].step.output = self.output(field);
        }
        if let Some(field) = field("on_failure") {
            self.drafts[owner].step.on_failure = self.on_failure(field);
        }
        if let Some(field) = field("idempotent") {
            self.drafts[owner].step.idempotent = self.boolean(field).unwrap_or(true);
        }
        if let Some(field) = field("env") {
            self.drafts[owner].step.env = self.variables(field, at);
        }
        if let Some(field) = field("dir") {
            self.drafts[owner].step.dir = self.template("dir", &field.value, at);
        }
        if let Some(field) = field("stdin") {
            self.drafts[owner].step.stdin = self.template("stdin", &field.value, at);
            let action = self.drafts[owner].step.action.clone();
            self.check_stdin(&action, &field.value);
        }
        if let Some(field) = field("secrets") {
            self.drafts[owner].step.secrets = self.secret_names(field);
        }
        if let Some(fallback) = field("fallback") {
            if let Some(beside) = field("on_failure") {
                let message =
                    "`on_failure` stands beside `fallback`, which says what follows a failure";
                self.tell(Clause::DuplicateOption, beside.place, message);
            }
            self.drafts[owner].step.fallback = self.fallback(fallback, at);
            self.drafts[owner].step.on_failure = OnFailure::Fallback;
        }
    }

    fn action(
        &mut self,
        place: Span,
        node: &'n Node,
        run: Option<&'n Field>,
        shell: Option<&'n Field>,
        at: &At,
    ) -> Option<Action> {
        match (run, shell) {
            (Some(field), None) => {
                let argv = self.arguments("run", &field.value, at)?;
                Some(Action::Run { argv, spelling: Spelling::Dollar })
            }
            (None, Some(field)) => self.shell("shell", &field.value, at).map(Action::Shell),
            (Some(run), Some(shell)) => {
                let later = if run.place.start > shell.place.start { run } else { shell };
                let message = "a step has `run` or `shell`, not both; make it two steps";
                self.tell(FlowKind::OneAction, later.place, message);
                None
            }
            (None, None) => {
                // What was refused by its name was meant to be it.
                let refused = LATER.iter().any(|(name, _)| node.has(name));
                let place = if place.start == place.end { node.span } else { place };
                if !refused {
                    let message = "this step does not say what it does; write `run`, `shell`, or `each` and `steps`";
                    self.tell(FlowKind::OneAction, place, message);
                }
                None
            }
        }
    }

    fn needs(&mut self, node: &'n Node, at: &At) {
        const ADVICE: &str = "use the name of a step, a list of names, or {name: all}";
        let at = At { kind: NeedKind::Over, is_condition: false, ..at.clone() };
        match &node.value {
            Tree::Text(name) => self.need_of(name, node.span, &at),
            Tree::List(nodes) => {
                for node in nodes {
                    match &node.value {
                        Tree::Text(name) => self.need_of(name, node.span, &at),
                        _ => self.wrong("needs", node, ADVICE),
                    }
                }
            }
            Tree::Map(fields) => {
                for field in fields {
                    let all = match &field.value.value {
                        Tree::Text(text) if text == "all" => true,
                        Tree::Text(text) if text == "over" => false,
                        _ => {
                            self.wrong(
                                "needs",
                                &field.value,
                                "use all, where no item may be dead, or over",
                            );
                            continue;
                        }
                    };
                    if all && self.names.get(&field.key).is_some_and(|known| !known.is_map) {
                        let message = format!("needs: `{}` is no map, and has no items", field.key);
                        self.tell(Clause::WrongType, field.value.span, message);
                        continue;
                    }
                    let kind = if all { NeedKind::All } else { NeedKind::Over };
                    self.need_of(&field.key, field.place, &At { kind, ..at.clone() });
                }
            }
            _ => self.wrong("needs", node, ADVICE),
        }
    }

    fn need_of(&mut self, name: &str, span: Span, at: &At) {
        let Some(known) = self.names.get(name) else {
            let names = self.names_where(|known| known.inside.is_none());
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            return self.unknown(
                FlowKind::UnknownStep,
                span,
                "needs: there is no step",
                name,
                &names,
            );
        };
        if let Some(map) = &known.inside {
            let message = match at.map.as_ref() == Some(map) {
                true => "needs: the steps of a map are done in their order, and need not say so"
                    .to_owned(),
                false => format!("needs: `{name}` is done for each item of `{map}`; need `{map}`"),
            };
            return self.tell(FlowKind::InnerStep, span, message);
        }
        self.need(name, span, at);
    }

    fn priority(&mut self, field: &'n Field) -> i32 {
        let priority = match &field.value.value {
            Tree::Number(text) => text.parse().ok(),
            _ => None,
        };
        if priority.is_none() {
            let (least, most) = (i32::MIN, i32::MAX);
            let advice =
                format!("use a whole number from {least} to {most}; the highest starts first");
            self.wrong("priority", &field.value, &advice);
        }
        priority.unwrap_or_default()
    }

    /// `100/1min`
    fn rate(&mut self, field: &'n Field) -> Option<Rate> {
        const ADVICE: &str = "use a count and a time such as 100/1min";
        let Tree::Text(text) = &field.value.value else {
            self.wrong("rate", &field.value, ADVICE);
            return None;
        };
        let split = text.split_once('/');
        let count = split.and_then(|(count, _)| count.trim().parse::<NonZeroU32>().ok());
        let (Some((before, _)), Some(count)) = (split, count) else {
            self.wrong("rate", &field.value, ADVICE);
            return None;
        };
        let part = before.len() + 1..text.len();
        let per = self.source.duration_in("rate", &field.value, part, &mut self.found)?;
        if per.is_zero() {
            self.wrong("rate", &field.value, "a time above zero has to follow the slash: 100/1min");
            return None;
        }
        Some(Rate { count, per })
    }

    fn output(&mut self, field: &'n Field) -> OutputKind {
        match &field.value.value {
            Tree::Text(text) if text == "text" => OutputKind::Text,
            Tree::Text(text) if text == "json" => OutputKind::Json,
            Tree::Text(text) if text == "lines" => OutputKind::Lines,
            Tree::Text(text) if text == "none" => OutputKind::None,
            _ => {
                let names = ["text", "json", "lines", "none"];
                self.none_of(field, &names, "use text, json, lines or none");
                OutputKind::Text
            }
        }
    }

    fn on_failure(&mut self, field: &'n Field) -> OnFailure {
        match &field.value.value {
            Tree::Text(text) if text == "stop" => OnFailure::Stop,
            Tree::Text(text) if text == "dead-letter" => OnFailure::DeadLetter,
            Tree::Text(text) if text == "continue" => OnFailure::Continue,
            _ => {
                let names = ["stop", "dead-letter", "continue"];
                self.none_of(field, &names, "use stop, dead-letter or continue");
                OnFailure::Stop
            }
        }
    }

    fn fallback(&mut self, field: &'n Field, at: &At) -> Option<Fallback> {
        const ADVICE: &str = "use {value: …}, {run: [ls]} or {shell: ls}";
        let at = at.handling(false);
        let [one] = field.value.fields() else {
            self.wrong("fallback", &field.value, ADVICE);
            return None;
        };
        match one.key.as_str() {
            "value" => Some(Fallback::Value(self.json("fallback", &one.value, Some(&at)))),
            "run" => {
                let argv = self.arguments("fallback", &one.value, &at)?;
                self.program(&one.value);
                let run = Action::Run { argv, spelling: Spelling::Dollar };
                Some(Fallback::Step(Box::new(run)))
            }
            "shell" => {
                let line = self.shell("fallback", &one.value, &at)?;
                Some(Fallback::Step(Box::new(Action::Shell(line))))
            }
            other => {
                let names = ["value", "run", "shell"];
                let problem = "fallback: there is no";
                let mut found =
                    self.source.unknown(Clause::UnknownOption, one.place, problem, other, &names);
                found.note = Some(ADVICE.to_owned());
                self.found.push(found);
                None
            }
        }
    }

    fn secret_names(&mut self, field: &'n Field) -> Vec<String> {
        let nodes = match &field.value.value {
            Tree::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(&field.value),
        };
        let mut names = Vec::new();
        for node in nodes {
            match &node.value {
                Tree::Text(name) if self.secrets.contains_key(name) => names.push(name.clone()),
                Tree::Text(name) => {
                    let known: Vec<_> = self.secrets.keys().take(100).cloned().collect();
                    let known: Vec<_> = known.iter().map(String::as_str).collect();
                    let problem = "secrets: the flow has no secret";
                    self.unknown(FlowKind::UnknownValue, node.span, problem, name, &known);
                }
                _ => self.wrong("secrets", node, "use a list of names of the flow's secrets"),
            }
        }
        names
    }
}
