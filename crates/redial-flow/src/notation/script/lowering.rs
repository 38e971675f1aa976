//! Statements to the steps of a definition: a call is a step, and so is what is computed from results.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroU32;

use redial_core::clause::Kind as Clause;
use redial_policy::notation::Source;
use redial_policy::{Diagnostic, FlowKind, Kind as DiagnosticKind, Span};
use serde_json::Value as Json;

use super::super::reader::{NAME_MAX, RESERVED};
use super::super::{Named, Options, STEPS_MAX};
use super::cel;
use super::modules::Modules;
use super::tree::{Expression, Kind, Name, Statement};
use super::types::{self, Named as Types};
use super::value::{Form, Value};
use crate::definition::{Action, Condition, Need, NeedKind, Rate, Step, Type};
use crate::{Expression as Cel, TEXT_MAX};

/// A condition under which steps are run, which is true or false.
#[derive(Clone, PartialEq)]
pub(super) struct Guard {
    pub(super) text: String,
    pub(super) needs: BTreeSet<usize>,
}

/// A step, and the steps that it needs.
pub(super) struct Draft {
    pub(super) step: Step,
    pub(super) needs: BTreeSet<usize>,
}

/// What a variable stands for.
struct Binding {
    value: Value,
    lazy: Option<usize>,
}

/// A call that is run when its value is needed.
struct Lazy {
    /// Its steps.
    steps: std::ops::Range<usize>,
    /// Under which conditions it is needed, and in which other one.
    uses: Vec<(Vec<Guard>, Option<usize>)>,
}

/// The slots and the rate that the calls of a module share.
#[derive(Default)]
pub(super) struct Shared {
    /// The step that has them.
    pub(super) owner: Option<usize>,
    pub(super) rate: Option<(Rate, Span)>,
    pub(super) slots: Option<(NonZeroU32, Span)>,
}

pub(super) struct Lowering<'t, 'o> {
    pub(super) source: Source<'t>,
    pub(super) options: &'o Options<'o>,
    pub(super) modules: Option<&'o Modules>,
    pub(super) found: Vec<Diagnostic>,
    pub(super) drafts: Vec<Draft>,
    pub(super) guards: Vec<Guard>,
    /// The steps so far whose failure is dealt with, where it is.
    pub(super) caught: Option<Vec<usize>>,
    /// The variable that is being assigned.
    pub(super) subject: String,
    pub(super) shared: HashMap<String, Shared>,
    pub(super) programs: Vec<Named>,
    pub(super) inputs_missing: Vec<Named>,
    pub(super) inputs: BTreeMap<String, Json>,
    pub(super) outputs: Vec<(String, String)>,
    pub(super) types: Types,
    names: HashMap<String, usize>,
    variables: HashMap<String, Binding>,
    lazies: Vec<Lazy>,
    within: Option<usize>,
    /// How many names misspelt ones were compared with.
    compared: usize,
    pub(super) is_full: bool,
}

impl<'t, 'o> Lowering<'t, 'o> {
    pub(super) fn new(source: Source<'t>, options: &'o Options<'o>) -> Self {
        Self {
            source,
            options,
            modules: options.modules,
            found: Vec::new(),
            drafts: Vec::new(),
            guards: Vec::new(),
            caught: None,
            subject: String::new(),
            shared: HashMap::new(),
            programs: Vec::new(),
            inputs_missing: Vec::new(),
            inputs: BTreeMap::new(),
            outputs: Vec::new(),
            types: options.modules.map(|modules| modules.types.clone()).unwrap_or_default(),
            names: HashMap::new(),
            variables: HashMap::new(),
            lazies: Vec::new(),
            within: None,
            compared: 0,
            is_full: false,
        }
    }

    pub(super) fn tell(&mut self, kind: FlowKind, span: Span, message: impl Into<String>) {
        self.found.push(Diagnostic::new(kind, span, message));
    }

    pub(super) fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Type(name, node) => {
                let (source, types) = (self.source, &self.types);
                let of = types::resolve(node, types, &source, &|span| span, &mut self.found);
                match of {
                    _ if self.types.contains_key(&name.text) => self.tell_twice(name, "type"),
                    Some(of) => drop(self.types.insert(name.text.clone(), of)),
                    None => {}
                }
            }
            Statement::In(name, node, example) => {
                let (source, types) = (self.source, &self.types);
                let of = types::resolve(node, types, &source, &|span| span, &mut self.found);
                self.input(name, of, example.as_ref());
            }
            Statement::Out(name) => {
                self.subject = format!("out-{}", name.text);
                let value = self.variable(&name.text, name.span);
                if self.outputs.iter().any(|(known, _)| *known == name.text) {
                    return self.tell_twice(name, "output");
                }
                if self.outputs.len() >= STEPS_MAX {
                    return self.too_many(name.span);
                }
                let value = match value.form {
                    Form::Constant(Json::Null) => {
                        Value { form: Form::Constant("".into()), ..value }
                    }
                    _ => value,
                };
                self.outputs.push((name.text.clone(), value.template(false)));
            }
            Statement::Assign(name, expression) => {
                if self.is_sound(name) {
                    self.assign(name, expression);
                }
            }
        }
    }

    fn tell_twice(&mut self, name: &Name, what: &str) {
        let message = format!(
            "there is a{} {what} `{}` already",
            if what == "output" { "n" } else { "" },
            name.text
        );
        self.found.push(Diagnostic::new(Clause::DuplicateOption, name.span, message));
    }

    /// Whether a value can have this name.
    fn is_sound(&mut self, name: &Name) -> bool {
        if name.text.len() > NAME_MAX {
            let message = format!("a name has at most {} bytes", NAME_MAX);
            self.tell(FlowKind::BadName, name.span, message);
            return false;
        }
        if self.variables.contains_key(&name.text) {
            self.tell_twice(name, "value");
            return false;
        }
        if self.variables.len() >= STEPS_MAX {
            self.too_many(name.span);
            return false;
        }
        true
    }

    fn bind(&mut self, name: &Name, value: Value, lazy: Option<usize>) {
        self.variables.insert(name.text.clone(), Binding { value, lazy });
    }

    fn assign(&mut self, name: &Name, expression: &Expression) {
        self.subject.clone_from(&name.text);
        let first = self.drafts.len();
        let lazy = self.is_lazy(expression).then(|| {
            self.lazies.push(Lazy { steps: first..first, uses: Vec::new() });
            self.lazies.len() - 1
        });
        self.within = lazy;
        let value = self.expression(expression, Some(&name.text));
        let value = self.atom(value, Some(&name.text), "", expression.span);
        self.within = None;
        if let Some(lazy) = lazy {
            self.lazies[lazy].steps = first..self.drafts.len();
        }
        self.bind(name, value, lazy);
    }

    fn is_lazy(&self, expression: &Expression) -> bool {
        match &expression.kind {
            Kind::Parenthesised(inner) => self.is_lazy(inner),
            Kind::Call(call) => call.options.iter().any(|option| {
                let value = option.value.map(|value| value.of(self.source.text()));
                option.name.text == "lazy" && value != Some("false")
            }),
            _ => false,
        }
    }

    fn input(&mut self, name: &Name, of: Option<Type>, example: Option<&Expression>) {
        if !self.is_sound(name) {
            return;
        }
        let example = example.and_then(|example| {
            let value = self.expression(example, None);
            let wanted = of.as_ref()?;
            let value = self.fitting(value, wanted, "the example", example.span);
            match value.form {
                Form::Constant(json) => Some(json),
                _ => {
                    let message = "an example is a literal: nothing is run for it";
                    self.tell(FlowKind::TypeMismatch, example.span, message);
                    None
                }
            }
        });
        let given = self.options.inputs.get(&name.text).cloned();
        let given = given.or_else(|| example.filter(|_| self.options.examples));
        let json = match (&of, given) {
            (Some(of), Some(json)) => self.given(name, of, json),
            (Some(Type::Optional(_)) | None, _) => Json::Null,
            (Some(_), None) => {
                self.inputs_missing.push(Named { name: name.text.clone(), span: name.span });
                Json::Null
            }
        };
        self.inputs.insert(name.text.clone(), json);
        let value = Value::path(of, vec!["inputs".to_owned(), name.text.clone()], None);
        self.bind(name, value, None);
    }

    /// A value from the command line is text; it is read as what is wanted.
    fn given(&mut self, name: &Name, of: &Type, json: Json) -> Json {
        let is_text = |of: &Type| match of {
            Type::Optional(of) => **of == Type::String,
            of => *of == Type::String,
        };
        let read = match &json {
            Json::String(text) if !is_text(of) => {
                serde_json::from_str(text).map_err(|_| format!("is {text}, and not of type {of}"))
            }
            _ => Ok(json),
        };
        match read.and_then(|json| of.check(&json).map(|()| json)) {
            Ok(json) => json,
            Err(why) => {
                let message = format!("input `{}`: its value {why}", name.text);
                self.tell(FlowKind::TypeMismatch, name.span, message);
                Json::Null
            }
        }
    }

    /// The inputs that were given, and are none.
    pub(super) fn check_given(&mut self) {
        let options = self.options;
        for name in options.inputs.keys().filter(|name| !self.inputs.contains_key(*name)) {
            let names: Vec<&str> = self.inputs.keys().map(String::as_str).take(1000).collect();
            let start = Span { start: 0, end: 0 };
            let problem = "--input: the script has no input";
            let found = self.source.unknown(FlowKind::UnknownValue, start, problem, name, &names);
            self.found.push(Diagnostic { fix: None, ..found });
        }
    }

    /// What a name stands for.
    pub(super) fn variable(&mut self, name: &str, span: Span) -> Value {
        let (guards, within) = (&self.guards, self.within);
        if let Some(binding) = self.variables.get(name) {
            if let Some(lazy) = binding.lazy {
                self.lazies[lazy].uses.push((guards.clone(), within));
            }
            return binding.value.clone();
        }
        const COMPARED_MAX: usize = 1_000_000;
        self.compared += self.variables.len();
        let mut names: Vec<&str> = match self.compared > COMPARED_MAX {
            true => Vec::new(),
            false => self.variables.keys().map(String::as_str).collect(),
        };
        names.sort_unstable();
        let problem = "nothing is called";
        let found = self.source.unknown(FlowKind::UnknownValue, span, problem, name, &names);
        self.found.push(found);
        Value::unknown()
    }

    /// A step of its own, where the value is more than a constant or a path.
    pub(super) fn atom(
        &mut self,
        value: Value,
        name: Option<&str>,
        suffix: &str,
        span: Span,
    ) -> Value {
        let Form::Computed(text, _) = &value.form else { return value };
        if text.len() > TEXT_MAX || Cel::parse(text).is_err() {
            let message = format!("this comes to more than {TEXT_MAX} bytes; name parts of it");
            self.found.push(Diagnostic::new(DiagnosticKind::TooLarge, span, message));
            return Value { of: value.of, ..Value::unknown() };
        }
        let action = Action::Value(text.clone());
        match self.emit(name, suffix, action, value.needs, span) {
            Some(step) => self.output(step, value.of),
            None => Value { of: value.of, ..Value::unknown() },
        }
    }

    /// The output of a step.
    pub(super) fn output(&self, step: usize, of: Option<Type>) -> Value {
        let path = vec![self.drafts[step].step.name.clone(), "output".to_owned()];
        Value::path(of, path, Some(step))
    }

    /// Adds a step that is run under the conditions that hold here.
    pub(super) fn emit(
        &mut self,
        name: Option<&str>,
        suffix: &str,
        action: Action,
        mut needs: BTreeSet<usize>,
        span: Span,
    ) -> Option<usize> {
        if self.drafts.len() >= STEPS_MAX {
            self.too_many(span);
            return None;
        }
        let name = match name {
            Some(name) => name.to_owned(),
            None => format!("{}-{suffix}", self.subject),
        };
        let name = self.free_name(name);
        let mut step = Step::new(name, action);
        let mut conditions: Vec<String> = Vec::new();
        for guard in &self.guards {
            conditions.push(guard.text.clone());
            needs.extend(&guard.needs);
        }
        for caught in self.caught.iter().flatten() {
            conditions.push(format!("!{}", failed(&self.drafts[*caught].step.name)));
            needs.insert(*caught);
        }
        conditions.dedup();
        if !conditions.is_empty() {
            step.when = Some(Condition { text: conditions.join(" && "), loose: false });
        }
        if self.caught.is_some() {
            step.on_failure = crate::definition::OnFailure::Continue;
        }
        self.drafts.push(Draft { step, needs });
        let step = self.drafts.len() - 1;
        self.caught.iter_mut().for_each(|caught| caught.push(step));
        Some(step)
    }

    pub(super) fn too_many(&mut self, span: Span) {
        if !std::mem::replace(&mut self.is_full, true) {
            let message = format!("a flow has at most {STEPS_MAX} steps, and as many names");
            self.found.push(Diagnostic::new(DiagnosticKind::TooLarge, span, message));
        }
    }

    fn free_name(&mut self, name: String) -> String {
        let is_free = !RESERVED.contains(&name.as_str()) && !self.names.contains_key(&name);
        let free = match is_free {
            true => name,
            // No name of a script ends with a number after two hyphens that was not given here.
            false => {
                let count = self.names.entry(name.clone()).or_insert(1);
                *count += 1;
                format!("{name}--{count}")
            }
        };
        self.names.entry(free.clone()).or_insert(1);
        free
    }

    /// The steps, once all is read. A lazy call is run where one of the conditions holds under which it is needed.
    pub(super) fn finish(mut self) -> Self {
        for at in (0..self.lazies.len()).rev() {
            let Lazy { steps, uses } =
                std::mem::replace(&mut self.lazies[at], Lazy { steps: 0..0, uses: Vec::new() });
            let mut wanted: Vec<Vec<Guard>> = Vec::new();
            for (guards, within) in uses {
                let outer = within.and_then(|lazy| self.lazies[lazy].uses.first());
                let outer = outer.map(|(guards, _)| guards.clone()).unwrap_or_default();
                let all: Vec<Guard> = outer.into_iter().chain(guards).collect();
                if !wanted.contains(&all) {
                    wanted.push(all);
                }
            }
            let guard = self.any_of(&wanted, &steps);
            if let Some(guard) = &guard {
                for step in steps.clone() {
                    self.add_guard(step, guard);
                }
            }
            // For those that are used in it.
            self.lazies[at] = Lazy { steps, uses: vec![(guard.into_iter().collect(), None)] };
        }
        for at in 0..self.drafts.len() {
            let needs = self.drafts[at].needs.iter();
            let needs = needs.map(|need| self.drafts[*need].step.name.clone());
            let needs = needs.map(|step| Need { step, kind: NeedKind::Over }).collect();
            self.drafts[at].step.needs = needs;
        }
        self
    }

    /// The condition that one of these holds; none where the steps are run in any case: because one of them always does, or one
    /// of them asks for what the steps give.
    fn any_of(&self, wanted: &[Vec<Guard>], steps: &std::ops::Range<usize>) -> Option<Guard> {
        let needs: BTreeSet<usize> =
            wanted.iter().flatten().flat_map(|guard| &guard.needs).copied().collect();
        let text: Vec<String> = wanted
            .iter()
            .map(|all| {
                let texts: Vec<&str> = all.iter().map(|guard| guard.text.as_str()).collect();
                texts.join(" && ")
            })
            .collect();
        let text = match text.is_empty() {
            true => "false".to_owned(),
            false => format!("({})", text.join(" || ")),
        };
        let is_always = wanted.iter().any(Vec::is_empty);
        let is_bounded = text.len() <= TEXT_MAX / 2;
        (!is_always && is_bounded && !self.reach(&needs, steps)).then_some(Guard { text, needs })
    }

    /// Whether any of these steps needs one of those, be it through others.
    fn reach(&self, from: &BTreeSet<usize>, those: &std::ops::Range<usize>) -> bool {
        let mut seen = from.clone();
        let mut left: Vec<usize> = from.iter().copied().collect();
        while let Some(at) = left.pop() {
            if those.contains(&at) {
                return true;
            }
            left.extend(self.drafts[at].needs.iter().filter(|need| seen.insert(**need)));
        }
        false
    }

    fn add_guard(&mut self, at: usize, guard: &Guard) {
        let draft = &mut self.drafts[at];
        draft.needs.extend(&guard.needs);
        let text = match &draft.step.when {
            Some(when) => format!("{} && {}", guard.text, when.text),
            None => guard.text.clone(),
        };
        draft.step.when = Some(Condition { text, loose: false });
    }
}

/// In CEL, that a step has failed.
pub(super) fn failed(step: &str) -> String {
    cel::path(&[step.to_owned(), "failed".to_owned()])
}
