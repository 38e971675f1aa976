//! Maps: where their items come from, which of them, and the steps that are done for each.

use redial_policy::notation::{Field, Node, Value as Tree};
use redial_policy::{FlowKind, Span};
use serde_json::Value as Json;

use super::{Branch, OF_COMMAND, OF_MAP, is_branch};
use crate::definition::{
    Action, Each, FailuresMax, ItemFormat, OnFailure, Origin, OutputKind, Source, Spelling,
};
use crate::notation::reader::{At, Draft, Inherited, Known, Policy, Reader};
use crate::{FieldPath, JsonPath, SortBy, Template};
impl<'n> Reader<'_, 'n, '_> {
    pub(super) fn map(&mut self, field: &'n Field, before: &[&'n Node], order: &mut usize) {
        let (name, node) = (&field.key, &field.value);
        let fields = self.fields_of(node, "a map", &OF_MAP, None);
        let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
        let once = Source { from: Origin::Once(Json::Null), format: ItemFormat::Lines };
        let action = Action::Each(Each::new(once));
        // What lists the items stands before the map, so that the inner steps follow it.
        let listed = child("each").and_then(|each| self.command_of_items(each));
        let source = match listed {
            Some(command) => {
                let needs = before.iter().copied().chain(child("needs").map(|field| &field.value));
                let needs: Vec<_> = needs.collect();
                self.items_step(name, command, &needs, child("when"), *order)
            }
            None => None,
        };
        let Some(owner) = self.add(Draft::new(name, field.place, action)) else { return };
        let here = At::new(owner, None, *order);
        self.common(owner, &fields, &here);
        for needs in before {
            self.needs(needs, &here);
        }
        let source = match (listed, child("each")) {
            (Some(_), _) => {
                if let Some((_, place)) = &source {
                    self.need(&items_name(name), *place, &here);
                }
                source.map(|(source, _)| source)
            }
            (None, Some(each)) => self.source_of(each, &here),
            (None, None) => None,
        };
        let mut each = self.selection(&fields);
        if let Some(source) = source {
            each.source = source;
        }
        if let Some(filter) = child("where") {
            self.drafts[owner].conditions.push(("where", self.source.places(&filter.value)));
        }
        self.drafts[owner].step.action = Action::Each(each);
        self.share(owner);
        match child("steps") {
            Some(steps) => self.inner(name, owner, steps, order),
            None => {
                let message = "a map has `steps`, which are done for each item";
                self.tell(FlowKind::NoSteps, field.place, message);
            }
        }
    }

    /// Leaves to the inner steps what the map says for them.
    fn share(&mut self, owner: usize) {
        let draft = &mut self.drafts[owner];
        draft.inner = Inherited {
            policy: match draft.policy {
                Policy::Used(used) => Some(used),
                _ => None,
            },
            timeout: draft.step.timeout.take(),
            rules: std::mem::take(&mut draft.step.rules),
            priority: draft.step.priority,
        };
        draft.policy = Policy::Clause("attempts: 1".to_owned());
    }

    fn selection(&mut self, fields: &[&'n Field]) -> Each {
        let once = Source { from: Origin::Once(Json::Null), format: ItemFormat::Lines };
        let mut each = Each::new(once);
        for field in fields {
            let value = &field.value;
            match field.key.as_str() {
                "where" => each.filter = self.filter("where", value),
                "sort_by" => each.sort_by = self.path("sort_by", value, SortBy::parse),
                "distinct" => each.distinct = self.path("distinct", value, FieldPath::parse),
                "key" => each.key = self.path("key", value, FieldPath::parse),
                "offset" => each.offset = self.whole(field, WHOLE).unwrap_or_default(),
                "max_items" => each.max_items = self.whole(field, WHOLE),
                "failures_max" => each.failures_max = self.failures_max(field),
                _ => {}
            }
        }
        each
    }

    /// `10` or `5%`
    fn failures_max(&mut self, field: &'n Field) -> Option<FailuresMax> {
        const ADVICE: &str = "use a count such as 10, or a share such as 5%";
        let bound = match &field.value.value {
            Tree::Number(text) => text.parse().ok().map(FailuresMax::Count),
            Tree::Text(text) => {
                text.strip_suffix('%').and_then(millionths).map(FailuresMax::Millionths)
            }
            _ => None,
        };
        if bound.is_none() {
            self.wrong("failures_max", &field.value, ADVICE);
        }
        bound
    }

    /// `{command: […]}`, and the path into its output.
    fn command_of_items(&mut self, each: &'n Field) -> Option<(&'n Field, Option<&'n Field>)> {
        let fields = each.value.fields();
        let child = |name: &str| fields.iter().find(|field| field.key == name);
        child("command").map(|command| (command, child("json_path")))
    }

    /// The step that lists the items of a map, and the source that reads its output.
    fn items_step(
        &mut self,
        map: &str,
        (command, json_path): (&'n Field, Option<&'n Field>),
        needs: &[&'n Node],
        when: Option<&'n Field>,
        order: usize,
    ) -> Option<(Source, Span)> {
        let name = items_name(map);
        let known = Known { is_map: false, inside: None, order, group: Vec::new() };
        if !self.declare(&name, command.place, known) {
            return None;
        }
        let action = Action::Shell(String::new());
        let owner = self.add(Draft::new(&name, command.place, action))?;
        let at = At::new(owner, None, order);
        for needs in needs {
            self.needs(needs, &at);
        }
        // A map that is skipped has no use for its items.
        let when = when.and_then(|field| self.condition("when", &field.value, &at));
        let action = match &command.value.value {
            Tree::Text(_) => self.shell("command", &command.value, &at).map(Action::Shell)?,
            _ => {
                let argv = self.arguments("command", &command.value, &at)?;
                self.program(&command.value);
                Action::Run { argv, spelling: Spelling::Dollar }
            }
        };
        let path =
            json_path.and_then(|field| self.path("json_path", &field.value, JsonPath::parse));
        let (output, format) = match path {
            Some(path) => (OutputKind::Json, ItemFormat::Json(Some(path))),
            None => (OutputKind::Lines, ItemFormat::Lines),
        };
        let step = &mut self.drafts[owner].step;
        (step.action, step.output, step.when) = (action, output, when);
        let from = Origin::Value(format!("${{{name}.output}}"));
        Some((Source { from, format }, command.place))
    }

    fn source_of(&mut self, each: &'n Field, at: &At) -> Option<Source> {
        const ADVICE: &str = "use a value such as ${list.output}, or {lines: FILE}, {file: FILE, json_path: $.items[*]}, \
                              {jsonl: FILE}, {csv: FILE}, {nul: FILE}, {stdin: lines} or {command: [ls]}";
        let node = &each.value;
        let fields = match &node.value {
            Tree::Text(text) => {
                let is_reference = Template::parse(text).is_ok_and(|one| one.reference().is_some());
                let value = self.template("each", node, at)?;
                if !is_reference {
                    self.wrong("each", node, ADVICE);
                    return None;
                }
                return Some(Source { from: Origin::Value(value), format: ItemFormat::Lines });
            }
            Tree::Map(_) => {
                const NAMES: [&str; 9] = [
                    "file",
                    "json_path",
                    "lines",
                    "csv",
                    "jsonl",
                    "nul",
                    "stdin",
                    "command",
                    "delimiter",
                ];
                let before = self.found.len();
                let fields = self.fields(node, "each", &NAMES, &[("json", "file")], &[]);
                let is_wrong = self.found.len() > before;
                if is_wrong {
                    return None;
                }
                fields
            }
            Tree::List(_) => {
                let advice =
                    "write it among the `inputs`, and its name here, such as ${inputs.names}";
                self.wrong("each", node, advice);
                return None;
            }
            _ => {
                self.wrong("each", node, ADVICE);
                return None;
            }
        };
        let child = |name: &str| fields.iter().find(|field| field.key == name).copied();
        let path = child("json_path");
        let delimiter = child("delimiter");
        let kinds = ["file", "lines", "csv", "jsonl", "nul", "stdin"];
        let mut sources = fields.iter().filter(|field| kinds.contains(&field.key.as_str()));
        let (Some(source), None) = (sources.next(), sources.next()) else {
            self.wrong("each", node, ADVICE);
            return None;
        };
        let kind = match source.key.as_str() {
            "stdin" => match &source.value.value {
                Tree::Text(text) => text.as_str(),
                _ => "",
            },
            kind => kind,
        };
        let path = match path {
            Some(field) => Some(self.path("json_path", &field.value, JsonPath::parse)?),
            None => None,
        };
        let delimiter = match delimiter {
            Some(field) => Some(self.delimiter(field)?),
            None => None,
        };
        let format = match (kind, &path, delimiter) {
            ("lines", None, None) => ItemFormat::Lines,
            ("nul", None, None) => ItemFormat::Nul,
            ("jsonl", None, None) => ItemFormat::JsonLines,
            ("csv", None, _) => ItemFormat::Csv { delimiter: delimiter.unwrap_or(',') },
            ("json", _, None) => ItemFormat::Json(path),
            ("file", Some(_), None) => ItemFormat::Json(path),
            ("file", None, None) => by_name(&source.value),
            _ if source.key == "stdin" && path.is_none() && delimiter.is_none() => {
                self.wrong("stdin", &source.value, "use lines, nul, json, jsonl or csv");
                return None;
            }
            _ => {
                self.wrong("each", node, ADVICE);
                return None;
            }
        };
        let from = match source.key.as_str() {
            "stdin" => Origin::Stdin,
            key => Origin::File(self.template(key, &source.value, at)?),
        };
        Some(Source { from, format })
    }

    fn delimiter(&mut self, field: &'n Field) -> Option<char> {
        let mut characters = match &field.value.value {
            Tree::Text(text) => text.chars(),
            _ => "".chars(),
        };
        match (characters.next(), characters.next()) {
            (Some(one), None) if one.is_ascii() && !matches!(one, '"' | '\n' | '\r') => Some(one),
            _ => {
                self.wrong("delimiter", &field.value, "use one character such as \";\"");
                None
            }
        }
    }

    fn inner(&mut self, map: &str, owner: usize, steps: &'n Field, order: &mut usize) {
        let is_list = matches!(steps.value.value, Tree::List(_) | Tree::Map(_));
        let inner = inner_steps(&steps.value);
        if !is_list {
            return self.wrong(
                "steps",
                &steps.value,
                "use a list of steps, or a map of names to steps",
            );
        }
        if inner.is_empty() {
            let message = "there are no steps here; write for example [{run: [ls]}]";
            return self.tell(FlowKind::NoSteps, steps.value.span, message);
        }
        for (number, (name, place, node)) in inner.into_iter().enumerate() {
            *order += 1;
            if !matches!(node.value, Tree::Map(_)) {
                self.wrong("steps", node, "use a map such as {run: [ls, -l]}");
                continue;
            }
            if let Some(nested) = node.fields().iter().find(|field| field.key == "each") {
                let message = "a map inside a map is not run; let its items be those of one map, or make it a map of its own";
                self.tell(FlowKind::NestedMap, nested.place, message);
                continue;
            }
            let named = name.map_or_else(|| format!("{map}.{}", number + 1), str::to_owned);
            if is_branch(node) {
                let (name, before, order) = (&*named, &[][..], *order);
                let map = Some((map, owner));
                let has_name_inside = matches!(steps.value.value, Tree::List(_));
                let branch = Branch { name, place, node, before, map, order, has_name_inside };
                self.branch(&branch);
                continue;
            }
            let more = matches!(steps.value.value, Tree::List(_)).then_some("name");
            let fields = self.fields_of(node, "an inner step", &OF_COMMAND, more);
            if let Some(field) = fields.iter().find(|field| field.key == "name")
                && !matches!(field.value.value, Tree::Text(_))
            {
                self.wrong("name", &field.value, "use a text");
            }
            let Some(index) = self.add(Draft::new(&named, place, Action::Shell(String::new())))
            else {
                return;
            };
            let step = &mut self.drafts[index].step;
            (step.inside, step.on_failure) = (Some(map.to_owned()), OnFailure::DeadLetter);
            let at = At::new(owner, Some(map), *order);
            self.command(index, place, node, &fields, &at);
        }
    }
}

const WHOLE: &str = "use a whole number from 0 on";

fn items_name(map: &str) -> String {
    format!("{map}-items")
}

/// The steps of a map: a list, in which they may have a `name`, or a map of names.
pub(super) fn inner_steps(node: &Node) -> Vec<(Option<&str>, Span, &Node)> {
    match &node.value {
        Tree::List(nodes) => nodes.iter().map(unnamed).collect(),
        Tree::Map(fields) => fields
            .iter()
            .map(|field| (Some(field.key.as_str()), field.place, &field.value))
            .collect(),
        _ => Vec::new(),
    }
}

fn unnamed(node: &Node) -> (Option<&str>, Span, &Node) {
    let start = Span { start: node.span.start, end: node.span.start };
    let name = node.fields().iter().find(|field| field.key == "name");
    match name.map(|field| &field.value) {
        Some(Node { value: Tree::Text(name), span }) => (Some(name), *span, node),
        _ => (None, start, node),
    }
}

/// The format of a file by the end of its name.
fn by_name(node: &Node) -> ItemFormat {
    let Tree::Text(name) = &node.value else { return ItemFormat::Lines };
    match name.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase().as_str() {
        "json" => ItemFormat::Json(None),
        "jsonl" | "ndjson" => ItemFormat::JsonLines,
        "csv" => ItemFormat::Csv { delimiter: ',' },
        "tsv" => ItemFormat::Csv { delimiter: '\t' },
        _ => ItemFormat::Lines,
    }
}

/// A percentage with at most four digits after the point, in millionths.
pub(in crate::notation) fn millionths(percent: &str) -> Option<u32> {
    let (whole, fraction) = percent.split_once('.').unwrap_or((percent, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 4 {
        return None;
    }
    let share = format!("{whole}{fraction:0<4}").parse::<u32>().ok()?;
    (share <= 1_000_000).then_some(share)
}
