//! Workflow files of another system, in which `retry_config` comes from: `setup`, a `map` whose `agent_template` is done for
//! each item, and `reduce`; or a list of steps, alone or under `commands` or `steps`.
//!
//! Steps are done in their order. What this has and we do not run is refused by its name.

use std::num::NonZeroU32;
use std::time::Duration;

use redial_core::clause::Kind as Clause;
use redial_policy::notation::{Field, Node, Value as Tree};
use redial_policy::{FlowKind, Span};
use serde_json::Value as Json;

use super::flow_file::millionths;
use super::reader::{At, Draft, Known, Policy, Reader};
use super::{Named, Reading};
use crate::definition::{
    Action, Argument, BreakerSettings, Definition, Each, FailuresMax, Fallback, ItemFormat,
    NeedKind, OnFailure, Origin, OutputKind, Source, Spelling,
};
use crate::{FieldPath, JsonPath, SortBy, Template, check_arguments};

const TOP: [&str; 16] = [
    "name",
    "description",
    "mode",
    "env",
    "setup",
    "map",
    "reduce",
    "commands",
    "steps",
    "error_policy",
    "on_item_failure",
    "continue_on_failure",
    "max_failures",
    "failure_threshold",
    "circuit_breaker",
    "$schema",
];

const MAP: [&str; 12] = [
    "input",
    "json_path",
    "agent_template",
    "max_parallel",
    "filter",
    "sort_by",
    "max_items",
    "offset",
    "distinct",
    "agent_timeout_secs",
    "error_policy",
    "timeout",
];

const STEP: [&str; 16] = [
    "shell",
    "claude",
    "write_file",
    "name",
    "id",
    "timeout",
    "capture",
    "capture_output",
    "capture_format",
    "on_failure",
    "when",
    "env",
    "working_dir",
    "retry_config",
    "retry",
    "commit_required",
];

const ERROR_POLICY: [&str; 5] = [
    "on_item_failure",
    "continue_on_failure",
    "max_failures",
    "failure_threshold",
    "circuit_breaker",
];

/// What the other system has and we do not run, on any level.
const REFUSED: [(&str, &str); 21] = [
    (
        "run",
        "a list of steps has commands as `shell`; in a flow file of our own steps have names: steps: {list: {run: [ls]}}",
    ),
    ("validate", "nothing is validated here; write a step that checks, with `retry_config`"),
    ("step_validate", "nothing is validated here; write a step that checks"),
    ("analyze", "there is no such step here"),
    ("foreach", "it is not run; write the items as a `map`"),
    ("handler", "there are no handlers here; write its command as `shell`"),
    ("goal_seek", "there is no such step here"),
    ("test", "it is not run; write its command as `shell`"),
    ("merge", "there are no worktrees here, and nothing to merge"),
    ("profiles", "there are no profiles here; set the variables before redial starts"),
    ("secrets", "it is not read here; a flow file of our own has `secrets`"),
    ("env_files", "it is not read here; set the variables before redial starts"),
    ("on_success", "it is not run; write it as the next step"),
    ("on_exit_code", "it is not run; write the next step with `when`"),
    ("capture_streams", "standard output alone is captured"),
    ("parallel", "these steps are done one after another"),
    ("timeout_config", "it is not read here; give the steps a `timeout`"),
    ("error_collection", "it is not read here; dead letters keep every failure"),
    ("retry_defaults", "it is not read here; give the steps a `retry_config`"),
    ("auto_commit", "there are no worktrees here"),
    ("commit_config", "there are no worktrees here"),
];

pub(super) fn read<'n>(mut reader: Reader<'_, 'n, '_>, root: &'n Node) -> Reading {
    let mut definition = Definition::new(reader.options.name.as_deref().unwrap_or("workflow"));
    let mut phases = Phases { last: None };
    if let Tree::List(_) = root.value {
        reader.sequence(&mut phases, "step", root);
        return reader.finish(definition);
    }
    let fields = reader.fields(root, "a workflow", &TOP, &[], &REFUSED);
    let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
    if let Some(Field { value: Node { value: Tree::Text(name), .. }, .. }) = child("name") {
        definition.name = name.chars().filter(|one| !one.is_control()).take(100).collect();
    }
    if let Some(field) = child("mode") {
        reader.mode(field);
    }
    if let Some(field) = child("env") {
        let at = reader.nowhere();
        reader.env = reader.variables(field, &at);
    }
    if let Some(field) = child("setup") {
        let node = reader.commands_of(field);
        reader.phase(&mut phases, "setup", node);
    }
    for name in ["commands", "steps"] {
        if let Some(field) = child(name) {
            reader.phase(&mut phases, "step", Some(&field.value));
        }
    }
    if let Some(field) = child("map") {
        let mut errors = reader.error_policy(&fields);
        if let Some(field) = child("error_policy") {
            errors = reader.error_policy_of(field).or(errors);
        }
        reader.map_phase(&mut phases, field, errors);
    }
    if let Some(field) = child("reduce") {
        let node = reader.commands_of(field);
        reader.phase(&mut phases, "reduce", node);
    }
    if phases.last.is_none() && reader.found.is_empty() {
        let message = "there are no steps in this workflow; write for example - shell: ls";
        reader.tell(
            FlowKind::NoSteps,
            Span { start: root.span.start, end: root.span.start },
            message,
        );
    }
    reader.finish(definition)
}

/// The step after which the next one starts.
struct Phases {
    last: Option<String>,
}

impl<'n> Reader<'_, 'n, '_> {
    fn nowhere(&self) -> At {
        At { owner: None, map: None, order: 0, kind: NeedKind::Output, is_condition: false }
    }

    fn mode(&mut self, field: &'n Field) {
        match &field.value.value {
            Tree::Text(mode)
                if mode == "mapreduce" || mode == "standard" || mode == "sequential" => {}
            _ => self.wrong("mode", &field.value, "use mapreduce, or leave it out"),
        }
    }

    /// A list of steps, or `{commands: […]}`.
    fn commands_of(&mut self, field: &'n Field) -> Option<&'n Node> {
        match &field.value.value {
            Tree::Map(_) => {
                let fields = self.fields(&field.value, &field.key, &["commands"], &[], &REFUSED);
                fields.first().map(|field| &field.value)
            }
            _ => Some(&field.value),
        }
    }

    fn phase(&mut self, phases: &mut Phases, name: &str, node: Option<&'n Node>) {
        if let Some(node) = node {
            self.sequence(phases, name, node);
        }
    }

    /// Steps, each after the one before.
    fn sequence(&mut self, phases: &mut Phases, phase: &str, node: &'n Node) {
        let Tree::List(nodes) = &node.value else {
            return self.wrong(phase, node, STEPS);
        };
        self.aliases.remove("shell.output");
        for (number, node) in nodes.iter().enumerate() {
            let Some((name, place)) = self.step_name(phase, number, node, None) else { continue };
            let action = Action::Shell(String::new());
            let Some(owner) = self.add(Draft::new(&name, place, action)) else { return };
            let at = At::new(owner, None, owner);
            if let Some(last) = &phases.last {
                self.need(&last.clone(), place, &At { kind: NeedKind::Over, ..at.clone() });
            }
            self.work_step(owner, node, &at, None);
            phases.last = Some(name);
        }
    }

    /// What a step is called: by its phase and number. Its `id` and `name` are for people, and need not be unique.
    fn step_name(
        &mut self,
        phase: &str,
        number: usize,
        node: &'n Node,
        inside: Option<&str>,
    ) -> Option<(String, Span)> {
        if !matches!(node.value, Tree::Map(_)) {
            self.wrong(phase, node, STEPS);
            return None;
        }
        let place = node.fields().first().map_or(node.span, |field| field.place);
        let name = format!("{phase}_{}", number + 1);
        let known = Known {
            is_map: false,
            inside: inside.map(str::to_owned),
            order: self.drafts.len(),
            group: Vec::new(),
        };
        self.declare(&name, place, known).then_some((name, place))
    }

    /// One step.
    fn work_step(&mut self, index: usize, node: &'n Node, at: &At, timeout: Option<Duration>) {
        let fields = self.fields(node, "a step", &STEP, &[], &REFUSED);
        let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
        let actions: Vec<_> =
            ["shell", "claude", "write_file"].iter().filter_map(|name| child(name)).collect();
        match actions.as_slice() {
            [action] => {
                if let Some(action) = self.work_action(action, at) {
                    self.drafts[index].step.action = action;
                }
            }
            [] => {
                // What was refused by its name was meant to be it.
                let refused = REFUSED.iter().any(|(name, _)| node.has(name));
                if !refused {
                    let place = self.drafts[index].place;
                    let message = "this step does not say what it does; write `shell`, `claude` or `write_file`";
                    self.tell(FlowKind::OneAction, place, message);
                }
            }
            [.., last] => {
                let message = format!(
                    "`{}` stands beside another action; make it a step of its own",
                    last.key
                );
                self.tell(FlowKind::OneAction, last.place, message);
            }
        }
        let shared = self.env.iter().map(|(name, value)| name.len() + value.len()).sum();
        let mut env = Vec::new();
        if self.copy(shared, self.drafts[index].place) {
            env.clone_from(&self.env);
        }
        if let Some(field) = child("env") {
            let own = self.variables(field, at);
            env.retain(|(name, _)| own.iter().all(|(other, _)| other != name));
            env.extend(own);
        }
        self.drafts[index].step.env = env;
        let own = child("timeout").and_then(|field| self.seconds(field));
        self.drafts[index].step.timeout = own.or(timeout);
        if let Some(field) = child("when") {
            self.drafts[index].step.when = self.condition("when", &field.value, at);
        }
        if let Some(field) = child("working_dir") {
            self.drafts[index].step.dir = self.template("working_dir", &field.value, at);
        }
        if let Some(field) = child("on_failure") {
            self.handle_failure(index, field, at);
        }
        if let Some(field) = child("commit_required")
            && self.boolean(field) == Some(true)
        {
            let message = "`commit_required` has no effect: there are no worktrees here, and all steps run in one directory";
            self.tell(FlowKind::NoWorktrees, field.place, message);
        }
        self.retry(index, child("retry_config"), child("retry"));
        self.capture(index, &fields);
        if child("shell").is_some() {
            let name = &self.drafts[index].step.name;
            let output = format!("{name}.output");
            self.aliases.insert("shell.output".to_owned(), output);
        }
    }

    fn work_action(&mut self, field: &'n Field, at: &At) -> Option<Action> {
        match field.key.as_str() {
            "shell" => self.shell("shell", &field.value, at).map(Action::Shell),
            "write_file" => self.write_file(field, at),
            _ => self.runner(field, at),
        }
    }

    fn write_file(&mut self, field: &'n Field, at: &At) -> Option<Action> {
        let fields =
            self.fields(&field.value, "write_file", &["path", "content", "format"], &[], &REFUSED);
        let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
        if let Some(format) = child("format")
            && !matches!(&format.value.value, Tree::Text(text) if text == "text")
        {
            self.refuse(format, "the content is written as it is; leave it out");
        }
        match (child("path"), child("content")) {
            (Some(path), Some(content)) => {
                let path = self.template("path", &path.value, at)?;
                let content = self.template("content", &content.value, at)?;
                Some(Action::WriteFile { path, content })
            }
            _ => {
                self.wrong("write_file", &field.value, "use {path: FILE, content: TEXT}");
                None
            }
        }
    }

    /// A step for a program that is configured: what the step says is one of its arguments.
    fn runner(&mut self, field: &'n Field, at: &At) -> Option<Action> {
        let said = self.template(&field.key, &field.value, at)?;
        let Some(words) = self.options.runners.get(&field.key).filter(|words| !words.is_empty())
        else {
            let message = format!(
                "no runner is configured for `{0}`; say which program it is: runners: {{{0}: [{0}, -p, \"{{}}\"]}}",
                field.key
            );
            self.tell(FlowKind::NoRunner, field.place, message);
            return None;
        };
        let program = words[0].clone();
        let argv = words.iter().map(|word| match word.as_str() {
            "{}" => said.clone(),
            // A word of the configuration has no references.
            word => word.replace("${", "$${"),
        });
        let argv: Vec<String> = argv.collect();
        let templates: Vec<_> = argv.iter().flat_map(|word| Template::parse(word)).collect();
        if let Err((_, bad)) = check_arguments(&templates) {
            let message = format!("{}: {bad}", field.key);
            self.tell(FlowKind::NestedInterpreter, field.value.span, message);
            return None;
        }
        if !program.contains('/') {
            self.programs.push(Named { name: program, span: field.place });
        }
        let argv = argv.into_iter().map(Argument::Text).collect();
        Some(Action::Run { argv, spelling: Spelling::Dollar })
    }

    /// Seconds, or a duration.
    pub(super) fn seconds(&mut self, field: &'n Field) -> Option<Duration> {
        match &field.value.value {
            Tree::Number(text) if text.parse::<u64>().is_ok() => {
                Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)))
            }
            _ => self.source.duration("timeout", &field.value, &mut self.found),
        }
    }

    fn retry(&mut self, index: usize, config: Option<&'n Field>, retry: Option<&'n Field>) {
        let field = match (config, retry) {
            (Some(_), Some(field)) => {
                let message = "`retry` and `retry_config` are the same; write one of them";
                return self.tell(Clause::DuplicateOption, field.place, message);
            }
            (Some(field), None) | (None, Some(field)) => field,
            (None, None) => return,
        };
        let entry = self.policies.retry_config(&field.value);
        if let Some(clause) = entry.canonical() {
            self.drafts[index].policy = Policy::Clause(clause);
        }
    }

    /// `on_failure: {shell: …}` takes the place of the step; `{fail_workflow: false}` goes on without it.
    fn handle_failure(&mut self, index: usize, field: &'n Field, at: &At) {
        const ADVICE: &str = "use {shell: LINE}, or {fail_workflow: false}";
        if !matches!(field.value.value, Tree::Map(_)) {
            return self.wrong("on_failure", &field.value, ADVICE);
        }
        let known = ["shell", "claude", "max_attempts", "fail_workflow", "commit_required"];
        let fields = self.fields(&field.value, "on_failure", &known, &[], &REFUSED);
        let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
        if let Some(field) = child("max_attempts") {
            let once = matches!(&field.value.value, Tree::Number(text) if text == "1");
            if !once {
                self.refuse(
                    field,
                    "what is done on failure is done once; retry the step with `retry_config`",
                );
            }
        }
        let handler = child("shell").or_else(|| child("claude"));
        let fails = child("fail_workflow").and_then(|field| self.boolean(field));
        match handler {
            Some(field) => {
                if let (Some(true), Some(fails)) = (fails, child("fail_workflow")) {
                    self.refuse(fails, "what is done on failure takes the place of the step");
                }
                // There, `shell.output` is that of the attempt that failed, which is never a value.
                let output = self.aliases.remove("shell.output");
                let action = self.work_action(field, &at.handling(false));
                self.aliases.extend(output.map(|output| ("shell.output".to_owned(), output)));
                if let Some(action) = action {
                    let step = &mut self.drafts[index].step;
                    step.fallback = Some(Fallback::Step(Box::new(action)));
                    step.on_failure = OnFailure::Fallback;
                }
            }
            None if fails == Some(false) => {
                self.drafts[index].step.on_failure = OnFailure::Continue;
            }
            None if fails == Some(true) => {}
            None => self.wrong("on_failure", &field.value, ADVICE),
        }
    }

    /// `capture: name`, also as `capture_output`: the output under a name of its own.
    fn capture(&mut self, index: usize, fields: &[&'n Field]) {
        let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
        if let Some(field) = child("capture_format") {
            let kind = match &field.value.value {
                Tree::Text(text) => match text.as_str() {
                    "string" | "text" => Some(OutputKind::Text),
                    "json" | "number" | "boolean" => Some(OutputKind::Json),
                    "lines" => Some(OutputKind::Lines),
                    _ => None,
                },
                _ => None,
            };
            match kind {
                Some(kind) => self.drafts[index].step.output = kind,
                None => {
                    let advice = "use string, json, lines, number or boolean";
                    self.wrong("capture_format", &field.value, advice);
                }
            }
        }
        for field in [child("capture"), child("capture_output")].into_iter().flatten() {
            match &field.value.value {
                Tree::Bool(_) if field.key == "capture_output" => {}
                Tree::Text(name) if is_capture(name) => {
                    let output = format!("{}.output", self.drafts[index].step.name);
                    self.aliases.insert(name.clone(), output);
                }
                Tree::Text(_) => {
                    let message = format!(
                        "{}: this cannot name a value; use letters, digits and `_`, and not item or map",
                        field.key
                    );
                    self.tell(FlowKind::BadName, field.value.span, message);
                }
                _ => self.wrong(&field.key, &field.value, "use a name"),
            }
        }
    }

    fn map_phase(&mut self, phases: &mut Phases, field: &'n Field, errors: Option<Errors>) {
        let node = &field.value;
        if !matches!(node.value, Tree::Map(_)) {
            return self.wrong("map", node, "use a map with input and agent_template");
        }
        let fields = self.fields(node, "map", &MAP, &[], &REFUSED);
        let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
        let errors = match child("error_policy") {
            Some(field) => self.error_policy_of(field).or(errors),
            None => errors,
        };
        let path = child("json_path")
            .and_then(|field| self.path("json_path", &field.value, JsonPath::parse));
        let (source, listed) = self.input(phases, child("input"), path);
        let known =
            Known { is_map: true, inside: None, order: self.drafts.len(), group: Vec::new() };
        if !self.declare("map", field.place, known) {
            return;
        }
        let mut each = Each::new(source);
        self.select(&mut each, &fields);
        each.failures_max = errors.and_then(|errors| errors.failures_max);
        let slots = child("max_parallel").and_then(|field| self.parallelism(field));
        let Some(owner) = self.add(Draft::new("map", field.place, Action::Each(each))) else {
            return;
        };
        self.drafts[owner].step.slots = slots;
        self.drafts[owner].step.breaker = errors.and_then(|errors| errors.breaker);
        self.drafts[owner].policy = Policy::Clause("attempts: 1".to_owned());
        let at = At { kind: NeedKind::Over, ..At::new(owner, None, owner) };
        if let Some(last) = phases.last.clone() {
            let kind = if listed { NeedKind::Output } else { NeedKind::Over };
            self.need(&last, field.place, &At { kind, ..at.clone() });
        }
        // Its source was read before it was there.
        if let Action::Each(each) = &self.drafts[owner].step.action
            && let Origin::Value(text) | Origin::File(text) = &each.source.from
            && let Ok(template) = Template::parse(text)
        {
            let roots: Vec<String> =
                template.references().map(|one| one.root().to_owned()).collect();
            for root in roots {
                if self.names.contains_key(&root) {
                    self.need(&root, field.place, &At { kind: NeedKind::Output, ..at.clone() });
                }
            }
        }
        self.template_steps(&fields, field, owner);
        phases.last = Some("map".to_owned());
        self.aliases.insert("map.successful".to_owned(), "map.succeeded".to_owned());
    }

    /// Where the items come from, and whether a step lists them.
    fn input(
        &mut self,
        phases: &mut Phases,
        field: Option<&'n Field>,
        path: Option<String>,
    ) -> (Source, bool) {
        let empty = || Json::Object(serde_json::Map::new());
        let once = Source { from: Origin::Once(empty()), format: ItemFormat::Lines };
        let Some(field) = field else {
            return (self.options.items.clone().unwrap_or(once), false);
        };
        let Tree::Text(text) = &field.value.value else {
            self.wrong("input", &field.value, "use the name of a file, or a command");
            return (once, false);
        };
        let is_value = Template::parse(text).is_ok_and(|one| one.reference().is_some());
        // A file has no blanks or pipes in its name; what has some is a command.
        if !is_value && text.trim().contains([' ', '|', ';', '\n']) {
            return (self.listing(phases, field, path).unwrap_or(once), true);
        }
        let at = self.nowhere();
        let Some(text) = self.template("input", &field.value, &at) else { return (once, false) };
        let is_json = path.is_some() || text.to_ascii_lowercase().ends_with(".json");
        let format = if is_json { ItemFormat::Json(path) } else { ItemFormat::Lines };
        let from = if is_value { Origin::Value(text) } else { Origin::File(text) };
        (Source { from, format }, false)
    }

    /// The step of an `input` that is a command.
    fn listing(
        &mut self,
        phases: &mut Phases,
        field: &'n Field,
        path: Option<String>,
    ) -> Option<Source> {
        let name = "map_input".to_owned();
        let known =
            Known { is_map: false, inside: None, order: self.drafts.len(), group: Vec::new() };
        if !self.declare(&name, field.place, known) {
            return None;
        }
        let owner = self.add(Draft::new(&name, field.place, Action::Shell(String::new())))?;
        let at = At::new(owner, None, owner);
        if let Some(last) = phases.last.clone() {
            self.need(&last, field.place, &At { kind: NeedKind::Over, ..at.clone() });
        }
        let line = self.shell("input", &field.value, &at)?;
        let step = &mut self.drafts[owner].step;
        step.action = Action::Shell(line);
        step.env = self.env.clone();
        step.output = if path.is_some() { OutputKind::Json } else { OutputKind::Lines };
        let from = Origin::Value(format!("${{{name}.output}}"));
        phases.last = Some(name);
        let format = path.map_or(ItemFormat::Lines, |path| ItemFormat::Json(Some(path)));
        Some(Source { from, format })
    }

    fn select(&mut self, each: &mut Each, fields: &[&'n Field]) {
        const WHOLE: &str = "use a whole number from 0 on";
        for field in fields {
            let value = &field.value;
            match field.key.as_str() {
                "filter" => each.filter = self.filter("filter", value),
                "sort_by" => each.sort_by = self.path("sort_by", value, SortBy::parse),
                "distinct" => each.distinct = self.path("distinct", value, FieldPath::parse),
                "offset" => each.offset = self.whole(field, WHOLE).unwrap_or_default(),
                "max_items" => each.max_items = self.whole(field, WHOLE),
                _ => {}
            }
        }
    }

    /// A number, which may stand in quotes.
    fn parallelism(&mut self, field: &'n Field) -> Option<NonZeroU32> {
        match &field.value.value {
            Tree::Text(text) if text.parse::<NonZeroU32>().is_ok() => text.parse().ok(),
            _ => self.count(field),
        }
    }

    /// The steps that are done for each item.
    fn template_steps(&mut self, fields: &[&'n Field], map: &'n Field, owner: usize) {
        let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
        let timeout = child("agent_timeout_secs").or_else(|| child("timeout"));
        let timeout = timeout.and_then(|field| self.seconds(field));
        let Some(field) = child("agent_template") else {
            let message = "a map has an `agent_template`, whose steps are done for each item";
            return self.tell(FlowKind::NoSteps, map.place, message);
        };
        let Some(node) = self.commands_of(field) else { return };
        let Tree::List(nodes) = &node.value else {
            return self.wrong("agent_template", node, STEPS);
        };
        if nodes.is_empty() {
            let message = "agent_template: there are no steps here";
            return self.tell(FlowKind::NoSteps, node.span, message);
        }
        // What is captured for an item is known there alone.
        let outside = self.aliases.clone();
        self.aliases.remove("shell.output");
        self.aliases.insert("item_id".to_owned(), "item_number".to_owned());
        for (number, node) in nodes.iter().enumerate() {
            let Some((name, place)) = self.step_name("agent", number, node, Some("map")) else {
                continue;
            };
            let action = Action::Shell(String::new());
            let Some(index) = self.add(Draft::new(&name, place, action)) else { break };
            let step = &mut self.drafts[index].step;
            step.inside = Some("map".to_owned());
            step.on_failure = OnFailure::DeadLetter;
            let at = At::new(owner, Some("map"), index);
            self.work_step(index, node, &at, timeout);
        }
        self.aliases = outside;
    }

    fn error_policy_of(&mut self, field: &'n Field) -> Option<Errors> {
        if !matches!(field.value.value, Tree::Map(_)) {
            self.wrong("error_policy", &field.value, "use a map such as {max_failures: 5}");
            return None;
        }
        let fields = self.fields(&field.value, "error_policy", &ERROR_POLICY, &[], &REFUSED);
        self.error_policy(&fields)
    }

    fn error_policy(&mut self, fields: &[&'n Field]) -> Option<Errors> {
        let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
        let mut errors = Errors::default();
        let mut is_told = false;
        if let Some(field) = child("on_item_failure") {
            is_told = true;
            errors.failures_max = self.on_item_failure(field);
        }
        if let Some(field) = child("continue_on_failure")
            && self.boolean(field) == Some(false)
        {
            is_told = true;
            errors.failures_max = Some(FailuresMax::Count(0));
        }
        if let Some(field) = child("max_failures") {
            is_told = true;
            let count: Option<u64> = self.whole(field, "use a whole number");
            // It stops with that many, and ours beyond that many.
            errors.failures_max = count.map(|count| FailuresMax::Count(count.saturating_sub(1)));
        }
        if let Some(field) = child("failure_threshold") {
            if let Some(other) = child("max_failures") {
                let message = "`max_failures` stands beside `failure_threshold`; one of them bounds the failures here";
                self.tell(FlowKind::NotSupported, other.place, message);
            }
            is_told = true;
            errors.failures_max = self.failure_share(field);
        }
        if let Some(field) = child("circuit_breaker") {
            is_told = true;
            errors.breaker = self.circuit_breaker(field);
        }
        is_told.then_some(errors)
    }

    fn on_item_failure(&mut self, field: &'n Field) -> Option<FailuresMax> {
        match &field.value.value {
            Tree::Text(text) if text == "dlq" || text == "skip" => None,
            Tree::Text(text) if text == "stop" => Some(FailuresMax::Count(0)),
            Tree::Text(text) if text == "retry" => {
                self.refuse(field, "an item is retried by the `retry_config` of its steps");
                None
            }
            _ => {
                self.wrong("on_item_failure", &field.value, "use dlq, skip or stop");
                None
            }
        }
    }

    /// A share from 0 to 1.
    fn failure_share(&mut self, field: &'n Field) -> Option<FailuresMax> {
        let share = match &field.value.value {
            Tree::Number(text) => of_one(text),
            _ => None,
        };
        if share.is_none() {
            self.wrong("failure_threshold", &field.value, "use a share from 0 to 1 such as 0.2");
        }
        share.map(FailuresMax::Millionths)
    }
}

/// What becomes of a map whose items fail.
#[derive(Clone, Copy, Default)]
struct Errors {
    failures_max: Option<FailuresMax>,
    breaker: Option<BreakerSettings>,
}

const STEPS: &str = "use a list of steps such as - shell: ls";

/// `0.25` in millionths.
fn of_one(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 6 {
        return None;
    }
    let fraction = format!("{fraction:0<6}");
    millionths(&format!("{whole}{}.{}", &fraction.get(..2)?, &fraction.get(2..)?))
}

/// Whether a captured output can have this name: a variable of references, and none that means something else.
fn is_capture(name: &str) -> bool {
    let plain = |one: char| one.is_alphanumeric() || one == '_' || one == '-';
    !name.is_empty()
        && name.len() <= 100
        && name.chars().all(plain)
        && !name.starts_with(|first: char| first.is_ascii_digit() || first == '-')
        && !["item", "item_id", "item_number", "map", "inputs", "shell"].contains(&name)
}
