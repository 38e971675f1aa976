//! Calls: the built-in functions, which are computed, and modules, each call of which is a step with its policy.

use std::collections::BTreeSet;

use redial_policy::{FlowKind, Span};
use serde_json::Value as Json;

use super::super::Named;
use super::built_in::{self, Function};
use super::cel;
use super::lowering::{Guard, Lowering, failed};
use super::modules::{Module, Stdin, pieces};
use super::options::{self, OnError, Read};
use super::tree::{Call, Expression};
use super::value::{Form, Value};
use crate::definition::{Action, Argument, Fallback, OnFailure, OutputKind, Spelling, Type};
use crate::{Segment, Template};

/// What a module is given, by the names that it has for it.
type Given<'m> = Vec<(&'m str, Value)>;

impl<'o> Lowering<'_, 'o> {
    pub(super) fn call(&mut self, call: &Call, name: Option<&str>, span: Span) -> Value {
        let module = &call.module;
        let source = self.source;
        let known = self.modules.and_then(|modules| modules.modules.get(&module.text));
        match (known, Function::named(&module.text)) {
            (Some(known), _) => {
                let read = options::read(call, &source, &mut self.found);
                self.call_of_module(call, known, &read, name, span)
            }
            (None, Some(function)) => {
                if let Some(with) = call.with {
                    let message = format!(
                        "`{}` is computed, and cannot fail: it takes no options",
                        module.text
                    );
                    self.tell(FlowKind::NotSupported, with, message);
                }
                self.call_of_function(call, function, span)
            }
            (None, None) => {
                let read = options::read(call, &source, &mut self.found);
                for argument in &call.arguments {
                    self.expression(argument, None);
                }
                if let Some(fallback) = read.fallback {
                    self.expression(fallback, None);
                }
                if let Some(modules) = self.modules {
                    let functions = built_in::FUNCTIONS.iter().map(|function| function.name);
                    let names: Vec<&str> = modules.names().chain(functions).collect();
                    let (kind, problem) = (FlowKind::UnknownModule, "there is no module");
                    let found =
                        self.source.unknown(kind, module.span, problem, &module.text, &names);
                    self.found.push(found.note("the file of modules says what it runs"));
                }
                Value::unknown()
            }
        }
    }

    fn has_count(&mut self, call: &Call, wanted: usize) -> bool {
        let count = call.arguments.len();
        if count != wanted {
            let plural = if wanted == 1 { "" } else { "s" };
            let message = format!(
                "`{}` takes {wanted} value{plural}, and here are {count}",
                call.module.text
            );
            self.tell(FlowKind::TypeMismatch, call.module.span, message);
        }
        count == wanted
    }

    fn call_of_function(&mut self, call: &Call, function: &Function, span: Span) -> Value {
        let mut values: Vec<Value> =
            call.arguments.iter().map(|argument| self.expression(argument, None)).collect();
        if !self.has_count(call, function.takes.len()) {
            return Value::unknown();
        }
        let mut types = Vec::new();
        for ((value, kind), argument) in values.iter().zip(function.takes).zip(&call.arguments) {
            match &value.of {
                Some(of) if kind.takes(of) => types.push(of.clone()),
                Some(of) => {
                    let message =
                        format!("`{}` takes {}, and this is {of}", function.name, kind.name());
                    self.tell(FlowKind::TypeMismatch, argument.span, message);
                }
                None => {}
            }
        }
        let is_known = types.len() == values.len();
        let of = is_known.then(|| function.result(&types));
        for (at, value) in values.iter_mut().enumerate() {
            // What stands there twice is short.
            if function.cel.matches(&format!("{{{at}}}")).count() > 1 {
                let owned = std::mem::replace(value, Value::unknown());
                *value = self.atom(owned, None, function.name, call.arguments[at].span);
            }
        }
        let is_division = function.name == "divide" && of == Some(Type::Float);
        let text = if is_division { "double({0}) / double({1})" } else { function.cel };
        self.compute(of, values, span, |parts| {
            // In one pass: a text that is given may have braces of its own.
            let mut pieces = text.split('{');
            let mut text = pieces.next().unwrap_or_default().to_owned();
            for piece in pieces {
                let (at, rest) = piece.split_once('}').unwrap_or((piece, ""));
                text.extend(
                    at.parse::<usize>().ok().and_then(|at| parts.get(at)).map(String::as_str),
                );
                text.push_str(rest);
            }
            text
        })
    }

    fn call_of_module(
        &mut self,
        call: &Call,
        module: &'o Module,
        read: &Read<'_>,
        name: Option<&str>,
        span: Span,
    ) -> Value {
        let values: Vec<Value> =
            call.arguments.iter().map(|argument| self.expression(argument, None)).collect();
        let mut given = Given::new();
        if self.has_count(call, module.inputs.len()) {
            for ((value, (input, of)), argument) in
                values.into_iter().zip(&module.inputs).zip(&call.arguments)
            {
                let what = format!("`{}` of `{}`", input, call.module.text);
                let value = self.fitting(value, of, &what, argument.span);
                given.push((input, value));
            }
        }
        let out = module.out.clone();
        let Some(step) = self.step_of(call, module, read, given, name, span) else {
            return Value { of: Some(out), ..Value::unknown() };
        };
        let result = self.output(step, Some(out.clone()));
        match read.fallback {
            Some(fallback) => self.fallback(step, result, fallback, read.on_error, call),
            None => {
                if read.on_error == OnError::Zero {
                    let zero = Value::constant(out.clone(), out.zero()).json();
                    self.drafts[step].step.fallback = Some(Fallback::Value(zero));
                }
                result
            }
        }
    }

    /// The step that a call is.
    fn step_of(
        &mut self,
        call: &Call,
        module: &Module,
        read: &Read<'_>,
        given: Given<'_>,
        name: Option<&str>,
        span: Span,
    ) -> Option<usize> {
        let stdin = match &module.stdin {
            Some(Stdin::Json) => {
                let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
                let values: Vec<Value> = given.iter().map(|(_, value)| value.clone()).collect();
                let object = self.compute(None, values, span, |parts| {
                    let fields = names.iter().zip(parts);
                    let fields =
                        fields.map(|(name, part)| format!("{}: {part}", cel::quoted(name)));
                    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
                });
                Some(self.atom(object, None, "stdin", span))
            }
            _ => None,
        };
        let mut atoms = Given::new();
        for (name, value) in given {
            atoms.push((name, self.atom(value, None, name, span)));
        }
        let mut needs: BTreeSet<usize> =
            stdin.iter().flat_map(|stdin| stdin.needs.clone()).collect();
        let mut in_template = |template: &Template| templated(template, &atoms, &mut needs);
        let argv = module.argv.iter().map(|word| Argument::Text(in_template(word))).collect();
        let env =
            module.env.iter().map(|(name, value)| (name.clone(), in_template(value))).collect();
        let stdin = match &module.stdin {
            Some(Stdin::Text(template)) => Some(in_template(template)),
            _ => stdin.map(|value| value.template(false)),
        };
        let action = Action::Run { argv, spelling: Spelling::Dollar };
        let at = self.emit(name, &call.module.text, action, needs, span)?;
        let step = &mut self.drafts[at].step;
        (step.env, step.stdin, step.dir) = (env, stdin, module.dir.clone());
        (step.rules, step.idempotent) = (module.rules.clone(), module.idempotent);
        step.priority = read.priority;
        if module.out != Type::String {
            step.output = OutputKind::Json;
            step.output_type = Some(module.out.clone());
        }
        if let Some(policy) = read.policy.as_ref().and_then(redial_policy::Entry::canonical) {
            step.policy = policy;
        }
        if let Some(program) = module.program().filter(|program| !program.contains('/')) {
            self.programs.push(Named { name: program, span: call.module.span });
        }
        self.share(call, read, at);
        Some(at)
    }

    /// A throttle and a limit to what runs at once are those of the module: all calls that have them share them.
    fn share(&mut self, call: &Call, read: &Read<'_>, at: usize) {
        if read.throttle.is_none() && read.concurrency.is_none() {
            return;
        }
        let name = &call.module.text;
        let mut shared = self.shared.remove(name).unwrap_or_default();
        let line = |text: &str, span: Span| text[..span.start].matches('\n').count() + 1;
        let text = self.source.text();
        let mut differs = Vec::new();
        if let Some((rate, span)) = read.throttle {
            match shared.rate {
                Some((before, first)) if before != rate => {
                    differs.push((span, "throttle", first));
                }
                _ => shared.rate = Some((rate, span)),
            }
        }
        if let Some((slots, span)) = read.concurrency {
            match shared.slots {
                Some((before, first)) if before != slots => {
                    differs.push((span, "concurrency", first));
                }
                _ => shared.slots = Some((slots, span)),
            }
        }
        for (span, option, first) in differs {
            let message = format!(
                "`{name}` has another {option} on line {}: {}; its calls share one, so write the same",
                line(text, first),
                first.of(text)
            );
            self.tell(FlowKind::TypeMismatch, span, message);
        }
        let owner = *shared.owner.get_or_insert(at);
        if owner != at {
            self.drafts[at].step.shares = Some(self.drafts[owner].step.name.clone());
        }
        let step = &mut self.drafts[owner].step;
        step.rate = shared.rate.map(|(rate, _)| rate);
        step.slots = shared.slots.map(|(slots, _)| slots);
        self.shared.insert(name.clone(), shared);
    }

    /// What takes the place of a result. A constant, or what is there anyway, is a fallback of the step itself; what is still
    /// to be done is done only where it has failed.
    fn fallback(
        &mut self,
        step: usize,
        result: Value,
        fallback: &Expression,
        on_error: OnError,
        call: &Call,
    ) -> Value {
        let name = self.drafts[step].step.name.clone();
        let of = result.of.clone().unwrap_or(Type::String);
        let what = format!("the fallback of `{}`", call.module.text);
        let needs = BTreeSet::from([step]);
        let guard = Guard { text: failed(&name), needs };
        let is_computed = fallback.has_call();
        // Outside of the guard, where it may be that nothing has to be done for it.
        if !is_computed {
            let value = self.wanted(fallback, &of, &what);
            if value.is_atom() {
                self.drafts[step].step.fallback = Some(Fallback::Value(value.json()));
                self.drafts[step].needs.extend(value.needs);
                return result;
            }
            return self.instead(step, result, value, guard, on_error, &of, fallback.span);
        }
        let outer = match on_error {
            OnError::Zero => Some(self.caught.replace(Vec::new())),
            OnError::Propagate => None,
        };
        let value = self.under(guard.clone(), |lowering| {
            let value = lowering.wanted(fallback, &of, &what);
            lowering.atom(value, None, "fallback", fallback.span)
        });
        let value = match outer {
            Some(outer) => {
                let caught = std::mem::replace(&mut self.caught, outer).unwrap_or_default();
                self.or_zero(value, &caught, &of)
            }
            None => value,
        };
        self.instead(step, result, value, guard, OnError::Propagate, &of, fallback.span)
    }

    /// A value, or the zero value where one of these steps has failed.
    fn or_zero(&mut self, value: Value, caught: &[usize], of: &Type) -> Value {
        let have_failed: Vec<String> =
            caught.iter().map(|step| failed(&self.drafts[*step].step.name)).collect();
        if have_failed.is_empty() {
            return value;
        }
        let zero = cel::constant(&of.zero());
        let text = format!("{} ? {zero} : {}", have_failed.join(" || "), value.text());
        let needs = value.needs.iter().chain(caught).copied().collect();
        let depth = value.depth() + 2;
        Value { of: Some(of.clone()), form: Form::Computed(text, depth), needs }
    }

    /// The result, or `value` where the step has failed.
    #[expect(clippy::too_many_arguments, reason = "they are what a fallback is")]
    fn instead(
        &mut self,
        step: usize,
        result: Value,
        value: Value,
        guard: Guard,
        on_error: OnError,
        of: &Type,
        span: Span,
    ) -> Value {
        self.drafts[step].step.on_failure = OnFailure::Continue;
        let text = format!("{} ? {} : {}", guard.text, value.text(), result.text());
        let depth = value.depth() + 2;
        let needs = guard.needs.union(&value.needs).copied().collect();
        let either = Value { of: Some(of.clone()), form: Form::Computed(text, depth), needs };
        let either = self.atom(either, None, "result", span);
        if let (OnError::Zero, Some(last)) = (on_error, either.needs.first()) {
            let zero: Json = Value::constant(of.clone(), of.zero()).json();
            self.drafts[*last].step.fallback = Some(Fallback::Value(zero));
        }
        either
    }
}

/// A template of a module with what it is given.
fn templated(template: &Template, given: &Given<'_>, needs: &mut BTreeSet<usize>) -> String {
    let all: Vec<Result<String, &[Segment]>> = pieces(template).collect();
    let mut text = String::new();
    for (at, piece) in all.iter().enumerate() {
        let value = match piece {
            Ok(literal) => Value::constant(Type::String, literal.as_str()),
            Err(path) => match chosen(path, given) {
                Some(value) => value,
                None => continue,
            },
        };
        needs.extend(&value.needs);
        // A constant may end with a dollar, and a reference follow.
        let is_followed = all.get(at + 1).is_some_and(Result::is_err);
        text.push_str(&value.template(is_followed));
    }
    text
}

/// What stands for `{query}` or `{user.name}`.
fn chosen(path: &[Segment], given: &Given<'_>) -> Option<Value> {
    let (Segment::Field(name), rest) = path.split_first()? else { return None };
    let (_, value) = given.iter().find(|(given, _)| given == name)?;
    let mut value = value.clone();
    for segment in rest {
        value.form = match (value.form, segment) {
            (Form::Path(mut names), Segment::Field(name)) => {
                names.push(name.clone());
                Form::Path(names)
            }
            (Form::Constant(Json::Object(fields)), Segment::Field(name)) => {
                Form::Constant(fields.get(name).cloned().unwrap_or_default())
            }
            (form, _) => form,
        };
    }
    Some(value)
}
