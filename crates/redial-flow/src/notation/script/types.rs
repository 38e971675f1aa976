//! Types: those that a script and its file of modules declare, and which fits where.

use std::collections::BTreeMap;

use redial_core::clause::Kind as Clause;
use redial_policy::notation::Source;
use redial_policy::{Diagnostic, FlowKind, Span};

use super::tree::{TypeKind, TypeNode};
use crate::definition::Type;

const OWN: [&str; 4] = ["String", "Int", "Float", "Boolean"];

/// How much a type may hold, names and all: types are written once and stand in many places.
pub(super) const SIZE_MAX: usize = 200;

/// Types by their names.
pub(super) type Named = BTreeMap<String, Type>;

/// What was written, as the type that it is. `place` says where the bytes of the node are in the text.
pub(super) fn resolve(
    node: &TypeNode,
    named: &Named,
    source: &Source<'_>,
    place: &dyn Fn(Span) -> Span,
    found: &mut Vec<Diagnostic>,
) -> Option<Type> {
    let resolved = match &node.kind {
        TypeKind::Bad => return None,
        TypeKind::Optional(of) => match resolve(of, named, source, place, found)? {
            same @ Type::Optional(_) => same,
            of => Type::Optional(Box::new(of)),
        },
        TypeKind::List(of) => Type::List(Box::new(resolve(of, named, source, place, found)?)),
        TypeKind::Record(fields) => {
            let mut types: Vec<(String, Type)> = Vec::new();
            let mut is_whole = true;
            for (name, of) in fields {
                if types.iter().any(|(known, _)| *known == name.text) {
                    let message = format!("there is a field `{}` already", name.text);
                    found.push(Diagnostic::new(Clause::DuplicateOption, place(name.span), message));
                    continue;
                }
                match resolve(of, named, source, place, found) {
                    Some(of) => types.push((name.text.clone(), of)),
                    None => is_whole = false,
                }
            }
            if !is_whole {
                return None;
            }
            Type::Record(types)
        }
        TypeKind::Named(name) => match name.as_str() {
            "String" => Type::String,
            "Int" => Type::Int,
            "Float" => Type::Float,
            "Boolean" => Type::Boolean,
            name => match named.get(name) {
                Some(known) => known.clone(),
                None => {
                    let names: Vec<&str> =
                        OWN.into_iter().chain(named.keys().map(String::as_str)).collect();
                    let span = place(node.span);
                    let problem = "there is no type";
                    let unknown =
                        source.unknown(FlowKind::UnknownType, span, problem, name, &names);
                    found.push(
                        unknown
                            .note("declare it by `type`, or in the file of modules under [type]"),
                    );
                    return None;
                }
            },
        },
    };
    if size(&resolved) > SIZE_MAX {
        let message = format!("a type has at most {SIZE_MAX} parts");
        found.push(Diagnostic::new(redial_policy::Kind::TooLarge, place(node.span), message));
        return None;
    }
    Some(resolved)
}

pub(super) fn size(of: &Type) -> usize {
    1 + match of {
        Type::Optional(of) | Type::List(of) => size(of),
        Type::Record(fields) => fields.iter().map(|(_, of)| size(of)).sum(),
        _ => 0,
    }
}

impl Type {
    /// Whether a value of the `other` type can stand where one of this is wanted.
    pub(super) fn takes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float, Self::Int) => true,
            (Self::Optional(of), Self::Optional(other)) => of.takes(other),
            (Self::Optional(of), other) => of.takes(other),
            (Self::List(of), Self::List(other)) => of.takes(other),
            (Self::Record(fields), Self::Record(others)) => fields.iter().all(|(name, of)| {
                let other = others.iter().find(|(other, _)| other == name);
                other.is_some_and(|(_, other)| of.takes(other))
            }),
            (one, other) => one == other,
        }
    }

    /// The type of what may be of either.
    pub(super) fn either(self, other: Self) -> Option<Self> {
        match (self, other) {
            (one, other) if one.takes(&other) => Some(one),
            (one, other) if other.takes(&one) => Some(other),
            (Self::Optional(one), other) => Some(Self::Optional(Box::new(one.either(other)?))),
            (one, Self::Optional(other)) => Some(Self::Optional(Box::new(one.either(*other)?))),
            (Self::List(one), Self::List(other)) => Some(Self::List(Box::new(one.either(*other)?))),
            _ => None,
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Float)
    }

    /// What stands for a value where `on_error` passes over a failure.
    pub(super) fn zero(&self) -> serde_json::Value {
        match self {
            Self::String => "".into(),
            Self::Int => 0.into(),
            Self::Float => 0.0.into(),
            Self::Boolean => false.into(),
            Self::Optional(_) => serde_json::Value::Null,
            Self::List(_) => Vec::<serde_json::Value>::new().into(),
            Self::Record(fields) => {
                let zeros = fields.iter().map(|(name, of)| (name.clone(), of.zero()));
                serde_json::Value::Object(zeros.collect())
            }
        }
    }
}
