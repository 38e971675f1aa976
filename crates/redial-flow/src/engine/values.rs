//! What references stand for in a run.

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value as Json;

use super::sources::Sources;
use super::{Engine, Refusal, VALUE_MAX};
use crate::argument_space::ValueError;
use crate::definition::OutputKind;
use crate::expression::{self, Expression, Found};
use crate::flow::StepId;
use crate::machine::{End, ItemState, Machine, TaskId};
use crate::prepared::{Prepared, ReadyAction};
use crate::record::{Event, Outcome, Place, Record};
use crate::reference::{ITEM_NUMBER, Lookup, Missing, Reference, Segment};
use crate::store::{Held, OutputReader};
use crate::{Template, Value, number};

/// An output that others refer to.
#[derive(Clone, Debug)]
pub enum Stored {
    /// The value itself.
    Value(Value),
    /// Where it lies.
    At(Place),
}

/// The values of a run, as a task sees them.
pub(super) struct Values<'e> {
    prepared: &'e Prepared,
    machine: &'e Machine,
    sources: &'e Sources,
    outputs: &'e HashMap<TaskId, Stored>,
    held: Option<&'e Held>,
    task: Option<TaskId>,
}

impl Engine {
    pub(super) fn values(&self, task: Option<TaskId>) -> Values<'_> {
        Values {
            prepared: &self.prepared,
            machine: &self.machine,
            sources: &self.sources,
            outputs: &self.outputs,
            held: self.journal.as_ref().map(|journal| &journal.held),
            task,
        }
    }

    /// Whether the condition of a task holds.
    pub(super) fn is_wanted(&self, task: TaskId) -> Result<bool, String> {
        let ready = self.prepared.step(task.step);
        // A substitute runs where the step has failed whose place it takes.
        if let Some(original) = ready.instead_of {
            let original = TaskId { step: original, item: task.item };
            if !self.values(Some(task)).has_failed(original) {
                return Ok(false);
            }
        }
        match &ready.when {
            Some(when) if !ready.is_arm => self.holds(when, task),
            _ => Ok(true),
        }
    }

    /// Whether a task of an item names the output of a step that was skipped for it. Outside of maps the machine knows.
    pub(super) fn names_skipped(&self, task: TaskId) -> bool {
        let mut named = self.prepared.step(task.step).names.iter();
        named.any(|step| self.machine.was_skipped(TaskId { step: *step, ..task }))
    }

    /// The first arm whose condition holds, or that has none.
    pub(super) fn chosen(&self, task: TaskId, arms: &[StepId]) -> Result<Option<StepId>, String> {
        for arm in arms {
            let when = self.prepared.step(*arm).when.as_ref();
            if when.map_or(Ok(true), |when| self.holds(when, task))? {
                return Ok(Some(*arm));
            }
        }
        Ok(None)
    }

    /// The value of a step that is computed.
    pub(super) fn computed(&self, value: &Expression, task: TaskId) -> Result<Json, String> {
        let json = value.eval(&self.values(Some(task)));
        let json = json.map_err(|error| format!("`{}`: {error}", value.text()))?;
        match number::text(&json).len() as u64 {
            length if length > VALUE_MAX => {
                Err(format!("it comes to {length} bytes, and {VALUE_MAX} are the most"))
            }
            _ => Ok(json),
        }
    }

    fn holds(&self, when: &Expression, task: TaskId) -> Result<bool, String> {
        let holds = when.holds(&self.values(Some(task)));
        holds.map_err(|error| format!("`{}`: {error}", when.text()))
    }
}

/// The names of what a step has beside its output.
const OF_STEP: [&str; 4] = ["output", "failed", "skipped", "succeeded"];
/// The names of what a map has.
const OF_MAP: [&str; 8] =
    ["succeeded", "successful", "recovered", "failed", "dead", "dropped", "total", "results"];

impl Values<'_> {
    /// The step that a path begins with, and how many names of the path are its name. A branch stands for the
    /// arm that it took.
    fn step(&self, root: &str, next: Option<&str>) -> Option<(StepId, usize)> {
        let longer = next.and_then(|next| self.prepared.named(&format!("{root}.{next}")));
        let found = longer.map(|step| (step, 1)).or_else(|| Some((self.prepared.named(root)?, 0)));
        found.map(|(step, used)| (self.machine.taken(self.seen(step)).unwrap_or(step), used))
    }

    /// The task of another step that this task sees.
    fn seen(&self, step: StepId) -> TaskId {
        let is_inside =
            matches!(self.prepared.flow.steps[step as usize].place, crate::flow::Place::Inside(_));
        let item = self.task.and_then(|task| task.item).filter(|_| is_inside);
        TaskId { step, item }
    }

    fn has_failed(&self, task: TaskId) -> bool {
        match task.item {
            None => matches!(
                self.machine.end(task.step),
                Some(End::Dead | End::Blocked | End::Continued)
            ),
            // Of an item that is under way, what has no output by now has failed or was skipped.
            Some(_) => self.machine.has_continued(task),
        }
    }

    /// The value of a name of a step, such as `output`; an error says why there is one that cannot be read.
    fn of_step(&self, step: StepId, name: &str) -> Result<Option<Cow<'_, Value>>, String> {
        let task = self.seen(step);
        let json = |json: Json| Ok(Some(Cow::Owned(Value::Json(json))));
        if matches!(self.prepared.step(step).action, ReadyAction::Each(_)) {
            let counts = self.machine.counts(step);
            return match name {
                "succeeded" | "successful" => json((counts.succeeded + counts.recovered).into()),
                "recovered" => json(counts.recovered.into()),
                "failed" | "dead" => json(counts.dead.into()),
                "dropped" => json(counts.dropped.into()),
                "total" => json(counts.finished().into()),
                "results" => json(self.results(step)?),
                _ => Ok(None),
            };
        }
        match name {
            "failed" => json(self.has_failed(task).into()),
            "succeeded" => json((!self.has_failed(task)).into()),
            "skipped" => json(self.machine.was_skipped(task).into()),
            "output" => self.output(self.speaker(task)).map(Some),
            _ => Ok(None),
        }
    }

    /// Why there is nothing that a template could stand for: it names the output of a step that failed or was not run. What
    /// an earlier generation of the step gave is not it.
    pub(super) fn lacking(&self, template: &Template) -> Option<String> {
        template.references().find_map(|reference| {
            let names: Vec<&str> = reference.path().iter().map_while(field).collect();
            let (step, used) = self.step(reference.root(), names.first().copied())?;
            let task = self.speaker(self.seen(step));
            let name = &self.prepared.flow.steps[step as usize].name;
            match self.machine.end(task.step).filter(|_| names.get(used) == Some(&"output"))? {
                End::Dead => Some(format!("step `{name}` has failed")),
                End::Blocked => {
                    Some(format!("step `{name}` was not run, because what it needs has failed"))
                }
                _ => None,
            }
        })
    }

    /// The task whose output is that of this one: the one that took its place, if it has failed.
    fn speaker(&self, task: TaskId) -> TaskId {
        let substitute = self.prepared.step(task.step).substitute;
        let substitute = substitute.filter(|_| self.has_failed(task));
        substitute.map_or(task, |step| TaskId { step, ..task })
    }

    fn output(&self, task: TaskId) -> Result<Cow<'_, Value>, String> {
        match self.outputs.get(&task) {
            Some(Stored::Value(value)) => Ok(Cow::Borrowed(value)),
            Some(Stored::At(place)) if place.length > VALUE_MAX => Err(format!(
                "it has {} bytes, and more than {VALUE_MAX} are read by `stdin` and `each` alone, where the reference is \
                 all of their text; to add something to it, let a command do that",
                place.length
            )),
            Some(Stored::At(place)) => self.read(task.step, place).map(Cow::Owned),
            // Text without a byte is not kept; and what was passed over has null.
            None if self.has_failed(task) => Ok(Cow::Owned(Value::Json(Json::Null))),
            None => Ok(Cow::Owned(Value::Json(Json::String(String::new())))),
        }
    }

    /// What lies in a segment, as the value that it was.
    fn read(&self, step: StepId, place: &Place) -> Result<Value, String> {
        let held = self.held.ok_or("nothing of the run was kept")?;
        let bytes = held.output(place).map_err(|error| error.to_string())?;
        of_output(self.prepared.step(step).output, bytes).map_err(|refusal| refusal.message)
    }

    /// An output that is too large to be a value, for who reads it as a stream, if that is what the template is: as it was
    /// written, and text without the newlines at its end, as a value would be.
    pub(super) fn stream(
        &self,
        template: &Template,
    ) -> Result<Option<(OutputReader, OutputKind)>, ValueError> {
        let Some((reference, task, place)) = self.large(template) else { return Ok(None) };
        let Some(held) = self.held else { return Ok(None) };
        let reader = held.output_reader(place);
        let reader =
            reader.map_err(|error| Missing::unreadable(error.to_string()).error(reference))?;
        Ok(Some(match self.prepared.step(task.step).output {
            OutputKind::Text => (reader.without_last_newlines(), OutputKind::Text),
            kind => (reader, kind),
        }))
    }

    /// The output that a template is, where that is too large to be a value: whose it is, and where it lies.
    fn large<'t>(&self, template: &'t Template) -> Option<(&'t Reference, TaskId, &Place)> {
        let reference = template.reference()?;
        let names: Vec<&str> = reference.path().iter().map_while(field).collect();
        let (step, used) = self.step(reference.root(), names.first().copied())?;
        if names.get(used) != Some(&"output") || reference.path().len() != used + 1 {
            return None;
        }
        let task = self.speaker(self.seen(step));
        match self.outputs.get(&task) {
            Some(Stored::At(place)) if place.length > VALUE_MAX => Some((reference, task, place)),
            _ => None,
        }
    }

    /// The outputs of the items of a map that have succeeded, one for each, in their order. What has no output has null.
    fn results(&self, map: StepId) -> Result<Json, String> {
        let steps = results_of(self.prepared, map);
        let known = u32::try_from(self.machine.counts(map).known).unwrap_or(u32::MAX);
        let is_good = |item: &u32| {
            let state = self.machine.item(map, *item);
            matches!(state, Some(ItemState::Succeeded | ItemState::Recovered))
        };
        let results = (0..known).filter(is_good).map(|item| {
            let stored = |step: &StepId| {
                let id = TaskId { step: *step, item: Some(item) };
                self.outputs.get(&id).map(|stored| (*step, stored))
            };
            let Some((step, stored)) = steps.iter().rev().find_map(stored) else {
                return Ok(Json::Null);
            };
            let value = match stored {
                Stored::Value(value) => Ok(Cow::Borrowed(value)),
                Stored::At(place) => self.read(step, place).map(Cow::Owned),
            };
            value.map(|value| match value.into_owned() {
                Value::Json(json) => json,
                Value::Bytes(bytes) => BASE64_STANDARD.encode(bytes).into(),
            })
        });
        results.collect::<Result<_, _>>().map(Json::Array)
    }

    fn names(&self) -> Vec<String> {
        let steps = self.prepared.flow.steps.iter().map(|step| step.name.clone());
        steps.chain(crate::prepared::ROOTS.map(str::to_owned)).collect()
    }
}

fn field(segment: &Segment) -> Option<&str> {
    match segment {
        Segment::Field(name) => Some(name.as_str()),
        Segment::Index(_) => None,
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl Lookup for Values<'_> {
    fn value(&self, reference: &Reference) -> Result<Cow<'_, Value>, Missing> {
        let inputs = &self.prepared.definition.inputs;
        let names: Vec<&str> = reference.path().iter().map_while(field).collect();
        match reference.root() {
            "inputs" => {
                let Some(name) = names.first() else {
                    let all = inputs.iter().map(|(name, json)| (name.clone(), json.clone()));
                    return Ok(Cow::Owned(Value::Json(Json::Object(all.collect()))));
                };
                let input = inputs.get(*name);
                let input = input.ok_or_else(|| {
                    Missing::new(0, "the inputs of the flow", inputs.keys().cloned())
                })?;
                reference.follow(1, Cow::Owned(Value::Json(input.clone())))
            }
            "item" => match self.task.and_then(|task| self.sources.item(self.machine, task)) {
                Some(item) => reference.follow(0, Cow::Borrowed(item)),
                None => Err(Missing::root(self.names())),
            },
            ITEM_NUMBER | "item_number" => {
                let item = self.task.and_then(|task| task.item);
                let number = item.map_or(0, |item| u64::from(item) + 1);
                Ok(Cow::Owned(Value::Json(number.into())))
            }
            root => {
                let step = self.step(root, names.first().copied());
                let (step, used) = step.ok_or_else(|| Missing::root(self.names()))?;
                let is_map = matches!(self.prepared.step(step).action, ReadyAction::Each(_));
                let known = owned(if is_map { &OF_MAP } else { &OF_STEP });
                let missing = || Missing::new(used, "a step", known.clone());
                let name = names.get(used).ok_or_else(missing)?;
                let value = self.of_step(step, name).map_err(Missing::unreadable)?;
                let value = value.ok_or_else(missing)?;
                reference.follow(used + 1, value)
            }
        }
    }
}

impl expression::Lookup for Values<'_> {
    fn find(&self, path: &[String]) -> Found<'_> {
        let found = |value: Result<Option<Cow<'_, Value>>, String>| match value {
            Ok(Some(value)) => match value.into_owned() {
                Value::Json(json) => Found::Value(Cow::Owned(json)),
                Value::Bytes(_) => Found::Bytes,
            },
            Ok(None) => Found::Missing,
            Err(why) => Found::Unreadable(why),
        };
        let inputs = &self.prepared.definition.inputs;
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["inputs"] => Found::Space,
            ["inputs", name] => match inputs.get(*name) {
                Some(json) => Found::Value(Cow::Borrowed(json)),
                None => Found::Missing,
            },
            ["item"] => match self.task.and_then(|task| self.sources.item(self.machine, task)) {
                Some(item) => item.into(),
                None => Found::Missing,
            },
            ["item_number"] => {
                let item = self.task.and_then(|task| task.item);
                Found::Value(Cow::Owned(item.map_or(0, |item| u64::from(item) + 1).into()))
            }
            [root, rest @ ..] => match self.step(root, rest.first().copied()) {
                Some((step, used)) => match rest.get(used) {
                    Some(name) if rest.len() == used + 1 => found(self.of_step(step, name)),
                    None => Found::Space,
                    Some(_) => Found::Missing,
                },
                // The first part of a name with a dot in it.
                None if rest.is_empty() => {
                    let start = format!("{root}.");
                    let mut steps = self.prepared.flow.steps.iter();
                    match steps.any(|step| step.name.starts_with(&start)) {
                        true => Found::Space,
                        false => Found::Missing,
                    }
                }
                None => Found::Missing,
            },
            [] => Found::Missing,
        }
    }

    fn names(&self, path: &[String]) -> Vec<String> {
        match path {
            [] => self.names(),
            [root] if root == "inputs" => self.prepared.definition.inputs.keys().cloned().collect(),
            _ => owned(&OF_STEP),
        }
    }
}

/// What a command wrote, as the value that it is.
pub(super) fn of_output(kind: OutputKind, mut bytes: Vec<u8>) -> Result<Value, Refusal> {
    match kind {
        OutputKind::None => Ok(Value::Json(Json::Null)),
        OutputKind::Text => {
            while bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            Ok(Value::of_bytes(bytes))
        }
        OutputKind::Json => number::read(&bytes).map(Value::Json).map_err(|error| Refusal {
            name: "bad-output",
            message: format!("its output is not JSON: {error}"),
        }),
        OutputKind::Lines => {
            let text = String::from_utf8(bytes).map_err(|_| Refusal {
                name: "bad-output",
                message: "its output is not UTF-8, and has no lines".into(),
            })?;
            Ok(Value::Json(text.lines().map(Json::from).collect()))
        }
    }
}

/// Keeps the output of what is over, if somebody refers to it.
pub(super) fn remember(
    outputs: &mut HashMap<TaskId, Stored>,
    machine: &Machine,
    prepared: &Prepared,
    record: &Record,
) {
    let is_over = matches!(
        (record.event, record.outcome),
        (Event::AttemptEnd | Event::StepEnd, Some(Outcome::Succeeded))
            | (Event::StepEnd, Some(Outcome::Recovered))
    );
    if !is_over {
        return;
    }
    let Some(task) = machine.task(record).filter(|task| is_referred_to(prepared, task.step)) else {
        return;
    };
    let stored = match (&record.output, &record.output_base64, &record.output_at) {
        (Some(json), ..) => Stored::Value(Value::Json(json.clone())),
        (_, Some(base64), _) => {
            Stored::Value(Value::of_bytes(BASE64_STANDARD.decode(&**base64).unwrap_or_default()))
        }
        (.., Some(place)) => Stored::At(*place),
        // A command that printed nothing has text without a byte; what prints none at all has no output.
        _ if prints_text(prepared, task.step) => Stored::Value(Value::Json("".into())),
        _ => return,
    };
    outputs.insert(task, stored);
}

/// Whether what a step prints is its output, as text.
fn prints_text(prepared: &Prepared, step: StepId) -> bool {
    let ready = prepared.step(step);
    let is_command = matches!(ready.action, ReadyAction::Run(_) | ReadyAction::Shell(_));
    is_command && ready.output == OutputKind::Text
}

/// Whether the output of a step is a value that somebody may ask for.
pub(super) fn is_referred_to(prepared: &Prepared, step: StepId) -> bool {
    prepared.step(step).is_referred_to
}

/// The inner steps of which one has the result of an item, if somebody asks for the results of the map.
pub(super) fn results_of(prepared: &Prepared, map: StepId) -> &[StepId] {
    match &prepared.step(map).action {
        ReadyAction::Each(each) if prepared.step(map).is_referred_to => &each.results,
        _ => &[],
    }
}

/// A value whose texts are templates.
pub(super) fn rendered(json: &Json, values: &Values<'_>) -> Result<Json, String> {
    Ok(match json {
        Json::String(text) => {
            let template = Template::parse(text).map_err(|bad| bad.to_string())?;
            match template.value(values).map_err(|error| error.to_string())? {
                Value::Json(json) => json,
                Value::Bytes(_) => return Err(format!("`{text}` is not UTF-8")),
            }
        }
        Json::Array(list) => {
            let list = list.iter().map(|json| rendered(json, values));
            Json::Array(list.collect::<Result<_, _>>()?)
        }
        Json::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, json)| Ok((name.clone(), rendered(json, values)?)));
            Json::Object(fields.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}
