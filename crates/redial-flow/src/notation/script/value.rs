//! What an expression comes to: a constant, a path to a value, or what is computed when the script runs.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::cel;
use crate::definition::Type;

/// Beyond these, a part of an expression becomes a step of its own.
const LENGTH_MAX: usize = 1500;
const DEPTH_MAX: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Value {
    /// None where that is not known: what is wrong was told, or its module is not declared.
    pub(super) of: Option<Type>,
    pub(super) form: Form,
    /// The steps whose outputs it names.
    pub(super) needs: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Form {
    Constant(Json),
    /// The root, and the names after it.
    Path(Vec<String>),
    /// CEL, and how deep it goes.
    Computed(String, usize),
}

impl Value {
    pub(super) fn constant(of: Type, json: impl Into<Json>) -> Self {
        Self { of: Some(of), form: Form::Constant(json.into()), needs: BTreeSet::new() }
    }

    /// What stands for a value that is not known.
    pub(super) fn unknown() -> Self {
        Self { of: None, form: Form::Constant(Json::Null), needs: BTreeSet::new() }
    }

    pub(super) fn path(of: Option<Type>, path: Vec<String>, step: Option<usize>) -> Self {
        Self { of, form: Form::Path(path), needs: step.into_iter().collect() }
    }

    /// In CEL, as a part of something larger.
    pub(super) fn text(&self) -> String {
        match &self.form {
            Form::Constant(json) => cel::constant(json),
            Form::Path(names) => cel::path(names),
            Form::Computed(text, _) => format!("({text})"),
        }
    }

    pub(super) fn depth(&self) -> usize {
        match &self.form {
            Form::Constant(_) | Form::Path(_) => 1,
            Form::Computed(_, depth) => *depth,
        }
    }

    pub(super) fn is_atom(&self) -> bool {
        !matches!(self.form, Form::Computed(..))
    }

    /// Whether it is better not a part of anything larger.
    pub(super) fn is_large(&self) -> bool {
        match &self.form {
            Form::Computed(text, depth) => text.len() > LENGTH_MAX || *depth > DEPTH_MAX,
            _ => false,
        }
    }

    /// In a template, where `is_followed` says whether a reference comes next.
    pub(super) fn template(&self, is_followed: bool) -> String {
        match &self.form {
            Form::Constant(json) => {
                let value = crate::Value::Json(json.clone());
                cel::escaped(&String::from_utf8_lossy(&value.bytes()), is_followed)
            }
            Form::Path(names) => cel::reference(names),
            Form::Computed(text, _) => cel::escaped(text, is_followed),
        }
    }

    /// In a definition, where texts are templates.
    pub(super) fn json(&self) -> Json {
        match &self.form {
            Form::Constant(Json::String(text)) => cel::escaped(text, false).into(),
            Form::Constant(json) => json.clone(),
            _ => self.template(false).into(),
        }
    }
}
