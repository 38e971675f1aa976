//! Expressions to values: their types are checked, and what is known now is known.

use std::collections::BTreeSet;

use redial_core::clause::Kind as Clause;
use redial_policy::{Diagnostic, FlowKind, Kind as DiagnosticKind, Span};
use serde_json::Value as Json;

use super::cel;
use super::lowering::{Guard, Lowering};
use super::tree::{Expression, Kind, Name, Operator, Piece};
use super::types::{self, SIZE_MAX};
use super::value::{Form, Value};
use crate::definition::Type;

/// How many conditions one choice has. Longer ones go on in a step of their own.
const CASES_MAX: usize = 8;
/// How long a condition or a value is that stands in a choice; a longer one is a step.
const PART_MAX: usize = 200;
/// How long a text of a computed value may be at most, before parts of it become steps.
const PARTS_MAX: usize = 4000;

impl Lowering<'_, '_> {
    /// What an expression comes to. Its call, if it is one, is a step of this name.
    pub(super) fn expression(&mut self, expression: &Expression, name: Option<&str>) -> Value {
        let span = expression.span;
        match &expression.kind {
            Kind::Bad => Value::unknown(),
            Kind::Int(value) => Value::constant(Type::Int, *value),
            Kind::Float(value) => Value::constant(Type::Float, *value),
            Kind::Boolean(value) => Value::constant(Type::Boolean, *value),
            Kind::Variable(name) => self.variable(name, span),
            Kind::Parenthesised(inner) => self.expression(inner, name),
            Kind::Call(call) => self.call(call, name, span),
            Kind::Text(pieces) => self.text(pieces, span),
            Kind::Fields(of, names) => self.fields(of, names),
            Kind::List(all) => self.list(all, span),
            Kind::Record(fields) => self.record(fields, span),
            Kind::Not(of) => {
                let value = self.wanted(of, &Type::Boolean, "`not`");
                self.compute(Some(Type::Boolean), vec![value], span, |parts| {
                    format!("!{}", parts[0])
                })
            }
            Kind::Negative(of) => self.negative(of, span),
            Kind::Chain(first, rest) => self.chain(first, rest),
            Kind::Guard(both) => self.guarded(&both[0], &both[1], span),
            Kind::Coalesce(all) => self.coalesce(all, span),
            Kind::Choice(cases, otherwise) => self.choice(cases, otherwise, span),
        }
    }

    /// A value that has to be of a type.
    pub(super) fn wanted(&mut self, expression: &Expression, of: &Type, what: &str) -> Value {
        let value = self.expression(expression, None);
        self.fitting(value, of, what, expression.span)
    }

    /// The value as what it has to be; otherwise it is told what it is.
    pub(super) fn fitting(&mut self, value: Value, of: &Type, what: &str, span: Span) -> Value {
        match &value.of {
            None => value,
            Some(found) if of.takes(found) => {
                let is_whole = *of == Type::Float && *found == Type::Int;
                match value.form {
                    Form::Constant(Json::Number(number)) if is_whole => {
                        Value::constant(Type::Float, number.as_f64().unwrap_or_default())
                    }
                    _ => Value { of: Some(of.clone()), ..value },
                }
            }
            Some(found) => {
                let message = format!("{what} takes {of}, and this is {found}");
                let mut diagnostic = Diagnostic::new(FlowKind::TypeMismatch, span, message);
                if matches!(found, Type::Optional(some) if of.takes(some)) {
                    diagnostic =
                        diagnostic.note("`??` says what stands for a value that is not there");
                }
                self.found.push(diagnostic);
                Value::unknown()
            }
        }
    }

    /// Something larger, of these parts.
    pub(super) fn compute(
        &mut self,
        of: Option<Type>,
        parts: Vec<Value>,
        span: Span,
        build: impl FnOnce(&[String]) -> String,
    ) -> Value {
        let total: usize = parts.iter().map(|part| part.text().len()).sum();
        let parts: Vec<Value> = parts
            .into_iter()
            .map(|part| match part.is_large() || (total > PARTS_MAX && !part.is_atom()) {
                true => self.atom(part, None, "part", span),
                false => part,
            })
            .collect();
        let depth = parts.iter().map(Value::depth).max().unwrap_or(0) + 1;
        let texts: Vec<String> = parts.iter().map(Value::text).collect();
        let needs = parts.iter().flat_map(|part| &part.needs).copied().collect();
        Value { of, form: Form::Computed(build(&texts), depth), needs }
    }

    fn text(&mut self, pieces: &[Piece], span: Span) -> Value {
        if let [Piece::Text(text)] = pieces {
            return Value::constant(Type::String, text.as_str());
        }
        let mut parts = Vec::new();
        for piece in pieces {
            let part = match piece {
                Piece::Text(text) => Value::constant(Type::String, text.as_str()),
                Piece::Value(expression) => {
                    let value = self.expression(expression, None);
                    match &value.of {
                        Some(Type::List(_) | Type::Record(_) | Type::Optional(_)) => {
                            let of = value.of.unwrap_or(Type::String);
                            let message = format!(
                                "a text takes a String, a number or a Boolean, and this is {of}"
                            );
                            self.tell(FlowKind::TypeMismatch, expression.span, message);
                            Value::unknown()
                        }
                        Some(Type::String) | None => value,
                        Some(_) => {
                            let span = expression.span;
                            let of = Some(Type::String);
                            self.compute(of, vec![value], span, |part| {
                                format!("string({})", part[0])
                            })
                        }
                    }
                }
            };
            parts.push(part);
        }
        self.compute(Some(Type::String), parts, span, |parts| parts.join(" + "))
    }

    fn fields(&mut self, of: &Expression, names: &[Name]) -> Value {
        let mut value = self.expression(of, None);
        value = self.atom(value, None, "record", of.span);
        for name in names {
            let found = match &value.of {
                None => None,
                Some(Type::Record(fields)) => {
                    match fields.iter().find(|(field, _)| *field == name.text) {
                        Some((_, of)) => Some(of.clone()),
                        None => {
                            let known: Vec<&str> =
                                fields.iter().map(|(field, _)| field.as_str()).collect();
                            let problem = "the record has no field";
                            let kind = FlowKind::UnknownValue;
                            let unknown =
                                self.source.unknown(kind, name.span, problem, &name.text, &known);
                            self.found.push(unknown);
                            return Value::unknown();
                        }
                    }
                }
                Some(other) => {
                    let message = format!("only a record has fields, and this is {other}");
                    self.tell(FlowKind::TypeMismatch, name.span, message);
                    return Value::unknown();
                }
            };
            let is_known = value.of.is_some();
            value = match value.form {
                Form::Path(mut path) => {
                    path.push(name.text.clone());
                    Value { form: Form::Path(path), ..value }
                }
                Form::Constant(Json::Object(fields)) => {
                    let field = fields.get(&name.text).cloned().unwrap_or_default();
                    Value { form: Form::Constant(field), ..value }
                }
                form => Value { form, ..value },
            };
            value.of = found.filter(|_| is_known);
        }
        value
    }

    fn list(&mut self, all: &[Expression], span: Span) -> Value {
        let values: Vec<Value> = all.iter().map(|one| self.expression(one, None)).collect();
        let mut of: Option<Type> = None;
        for (value, expression) in values.iter().zip(all) {
            let Some(found) = &value.of else { continue };
            of = match of {
                None => Some(found.clone()),
                Some(before) => match before.clone().either(found.clone()) {
                    Some(both) => Some(both),
                    None => {
                        let message = format!(
                            "the values of a list are of one type: {before} before, and {found} here"
                        );
                        self.tell(FlowKind::TypeMismatch, expression.span, message);
                        return Value::unknown();
                    }
                },
            };
        }
        // Of an empty list nothing is known but that it is one.
        let is_known = values.iter().all(|value| value.of.is_some());
        let of = of.filter(|_| is_known).map(|of| Type::List(Box::new(of)));
        let constants: Option<Vec<Json>> = values.iter().map(constant).collect();
        if let Some(constants) = constants.filter(|_| is_known) {
            return Value { of, form: Form::Constant(constants.into()), needs: BTreeSet::new() };
        }
        self.compute(of, values, span, |parts| format!("[{}]", parts.join(", ")))
    }

    fn record(&mut self, fields: &[(Name, Expression)], span: Span) -> Value {
        let mut values: Vec<Value> = Vec::new();
        let mut types: Option<Vec<(String, Type)>> = Some(Vec::new());
        let mut names: Vec<&str> = Vec::new();
        for (name, expression) in fields {
            if names.contains(&name.text.as_str()) {
                let message = format!("there is a field `{}` already", name.text);
                self.found.push(Diagnostic::new(Clause::DuplicateOption, name.span, message));
                continue;
            }
            if names.len() >= SIZE_MAX {
                let message = format!("a record has at most {SIZE_MAX} fields");
                self.found.push(Diagnostic::new(DiagnosticKind::TooLarge, name.span, message));
                return Value::unknown();
            }
            let value = self.expression(expression, None);
            types = types.zip(value.of.clone()).map(|(mut types, of)| {
                types.push((name.text.clone(), of));
                types
            });
            names.push(&name.text);
            values.push(value);
        }
        let of = types.map(Type::Record);
        if of.as_ref().is_some_and(|of| types::size(of) > SIZE_MAX) {
            let message =
                format!("a record has at most {SIZE_MAX} parts, those of its fields included");
            self.found.push(Diagnostic::new(DiagnosticKind::TooLarge, span, message));
            return Value::unknown();
        }
        let constants: Option<Vec<Json>> = values.iter().map(constant).collect();
        if let (Some(constants), Some(_)) = (constants, &of) {
            let fields = names.iter().map(|name| (*name).to_owned()).zip(constants);
            let json = Json::Object(fields.collect());
            return Value { of, form: Form::Constant(json), needs: BTreeSet::new() };
        }
        self.compute(of, values, span, |parts| {
            let fields = names.iter().zip(parts);
            let fields = fields.map(|(name, part)| format!("{}: {part}", cel::quoted(name)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        })
    }

    fn negative(&mut self, of: &Expression, span: Span) -> Value {
        let value = self.expression(of, None);
        match (&value.of, &value.form) {
            (Some(Type::Int), Form::Constant(json)) => {
                Value::constant(Type::Int, json.as_i64().map_or(0, i64::saturating_neg))
            }
            (Some(Type::Float), Form::Constant(json)) => {
                Value::constant(Type::Float, -json.as_f64().unwrap_or_default())
            }
            (Some(of), _) if of.is_number() => {
                let of = Some(of.clone());
                self.compute(of, vec![value], span, |parts| format!("-{}", parts[0]))
            }
            (None, _) => value,
            (Some(found), _) => {
                let message = format!("`-` takes a number, and this is {found}");
                self.tell(FlowKind::TypeMismatch, of.span, message);
                Value::unknown()
            }
        }
    }

    fn chain(&mut self, first: &Expression, rest: &[(Operator, Expression)]) -> Value {
        let mut value = self.expression(first, None);
        let mut span = first.span;
        for (operator, second) in rest {
            let right = self.expression(second, None);
            let of = match (&value.of, &right.of) {
                (Some(left), Some(right)) => {
                    let result = result(*operator, left, right);
                    if result.is_none() {
                        self.tell_operator(
                            *operator,
                            [left.clone(), right.clone()],
                            span,
                            second.span,
                        );
                    }
                    result
                }
                _ => None,
            };
            span.end = second.span.end;
            let is_division = *operator == Operator::Divide && of == Some(Type::Float);
            value = self.compute(of, vec![value, right], span, |parts| match is_division {
                true => format!("double({}) / double({})", parts[0], parts[1]),
                false => format!("{} {} {}", parts[0], operator.in_cel(), parts[1]),
            });
        }
        value
    }

    fn tell_operator(&mut self, operator: Operator, of: [Type; 2], left: Span, right: Span) {
        let [first, second] = of;
        let sign = operator.sign();
        let span = Span { start: left.start, end: right.end };
        let (kind, advice) = match (operator, &first) {
            (Operator::Add, Type::Record(_)) => {
                (FlowKind::NotSupported, "joining records is not run here; write the fields")
            }
            (Operator::Add, Type::String) => {
                (FlowKind::TypeMismatch, "texts are joined as in \"${a}${b}\"")
            }
            (Operator::And | Operator::Or, _) => {
                (FlowKind::TypeMismatch, "it stands between two Booleans")
            }
            (Operator::Equal | Operator::Unequal, _) => {
                (FlowKind::TypeMismatch, "only values of one type are compared")
            }
            (
                Operator::Less
                | Operator::LessOrEqual
                | Operator::Greater
                | Operator::GreaterOrEqual,
                _,
            ) => (FlowKind::TypeMismatch, "it compares two numbers or two Strings"),
            _ => (FlowKind::TypeMismatch, "it stands between two numbers"),
        };
        self.tell(kind, span, format!("`{sign}` between {first} and {second}: {advice}"));
    }

    fn condition(&mut self, condition: &Expression, what: &str) -> Value {
        let value = self.wanted(condition, &Type::Boolean, what);
        self.short(value, "condition", condition.span)
    }

    /// A value that is asked for only under a condition becomes a step here, where that condition holds, if at all.
    fn short(&mut self, value: Value, suffix: &str, span: Span) -> Value {
        match value.is_large() || value.text().len() > PART_MAX {
            true => self.atom(value, None, suffix, span),
            false => value,
        }
    }

    /// Reads on under a condition.
    pub(super) fn under<T>(&mut self, guard: Guard, read: impl FnOnce(&mut Self) -> T) -> T {
        self.guards.push(guard);
        let read = read(self);
        self.guards.pop();
        read
    }

    fn guarded(&mut self, value: &Expression, condition: &Expression, span: Span) -> Value {
        let condition = self.condition(condition, "`when`");
        let guard = Guard { text: condition.text(), needs: condition.needs.clone() };
        let value = self.under(guard, |lowering| {
            let inner = lowering.expression(value, None);
            lowering.short(inner, "value", value.span)
        });
        let of = value.of.clone().map(|of| match of {
            same @ Type::Optional(_) => same,
            of => Type::Optional(Box::new(of)),
        });
        let parts = vec![condition, value];
        self.compute(of, parts, span, |parts| format!("{} ? {} : null", parts[0], parts[1]))
    }

    fn coalesce(&mut self, all: &[Expression], span: Span) -> Value {
        let Some((first, rest)) = all.split_first() else { return Value::unknown() };
        let mut value = self.expression(first, None);
        let mut at = first.span;
        for next in rest {
            // It stands there twice.
            value = self.atom(value, None, "optional", at);
            let some = match value.of.take() {
                Some(Type::Optional(some)) => Some(*some),
                Some(other) => {
                    let message = format!("`??` follows an Optional, and this is {other}");
                    self.tell(FlowKind::TypeMismatch, at, message);
                    return Value::unknown();
                }
                None => None,
            };
            let guard =
                Guard { text: format!("{} == null", value.text()), needs: value.needs.clone() };
            let other = self.under(guard, |lowering| {
                let inner = lowering.expression(next, None);
                lowering.short(inner, "otherwise", next.span)
            });
            let of = match (some, other.of.clone()) {
                (Some(some), Some(other)) => {
                    let both = some.clone().either(other.clone());
                    if both.is_none() {
                        let message = format!("`??` between an Optional<{some}> and {other}");
                        self.tell(FlowKind::TypeMismatch, next.span, message);
                    }
                    both
                }
                _ => None,
            };
            at.end = next.span.end;
            value = self.compute(of, vec![value, other], span, |parts| {
                format!("{} == null ? {} : {}", parts[0], parts[1], parts[0])
            });
        }
        value
    }

    fn choice(
        &mut self,
        cases: &[(Expression, Expression)],
        otherwise: &Expression,
        span: Span,
    ) -> Value {
        const ALL_MAX: usize = 1000;
        if cases.len() > ALL_MAX {
            let message = format!("a choice has at most {ALL_MAX} conditions");
            self.found.push(Diagnostic::new(DiagnosticKind::TooLarge, span, message));
            return Value::unknown();
        }
        let (now, later) = cases.split_at(cases.len().min(CASES_MAX));
        let before = self.guards.len();
        let mut taken = Vec::new();
        for (condition, then) in now {
            let holds = self.condition(condition, "a condition");
            let guard = Guard { text: holds.text(), needs: holds.needs.clone() };
            let value = self.under(guard.clone(), |lowering| {
                let inner = lowering.expression(then, None);
                lowering.short(inner, "then", then.span)
            });
            self.guards.push(Guard { text: format!("!{}", guard.text), ..guard });
            taken.push((holds, value, then.span));
        }
        let last = match later {
            [] => {
                let inner = self.expression(otherwise, None);
                self.short(inner, "else", otherwise.span)
            }
            later => {
                let inner = self.choice(later, otherwise, span);
                self.short(inner, "else", span)
            }
        };
        self.guards.truncate(before);
        let mut of = last.of.clone();
        for (_, value, place) in &taken {
            of = match (of, value.of.clone()) {
                (Some(before), Some(found)) => {
                    let both = found.clone().either(before.clone());
                    if both.is_none() {
                        let message = format!(
                            "both sides are of one type, and this is {found}, not {before}"
                        );
                        self.tell(FlowKind::TypeMismatch, *place, message);
                    }
                    both
                }
                _ => None,
            };
        }
        let count = taken.len();
        let mut parts = Vec::new();
        for (holds, value, _) in taken {
            parts.extend([holds, value]);
        }
        parts.push(last);
        self.compute(of, parts, span, |parts| {
            let mut text = parts[2 * count].clone();
            for at in (0..count).rev() {
                text = format!("{} ? {} : ({text})", parts[2 * at], parts[2 * at + 1]);
            }
            text
        })
        .deeper(count)
    }
}

impl Value {
    fn deeper(mut self, levels: usize) -> Self {
        if let Form::Computed(_, depth) = &mut self.form {
            *depth += levels;
        }
        self
    }
}

fn constant(value: &Value) -> Option<Json> {
    match &value.form {
        Form::Constant(json) => Some(json.clone()),
        _ => None,
    }
}

fn result(operator: Operator, left: &Type, right: &Type) -> Option<Type> {
    let are_numbers = left.is_number() && right.is_number();
    match operator {
        Operator::And | Operator::Or => {
            (*left == Type::Boolean && *right == Type::Boolean).then_some(Type::Boolean)
        }
        Operator::Equal | Operator::Unequal => {
            left.clone().either(right.clone()).map(|_| Type::Boolean)
        }
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            let are_texts = *left == Type::String && *right == Type::String;
            (are_numbers || are_texts).then_some(Type::Boolean)
        }
        _ if !are_numbers => None,
        _ if *left == Type::Int && *right == Type::Int => Some(Type::Int),
        _ => Some(Type::Float),
    }
}
