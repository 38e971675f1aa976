//! Expressions for `when`, `where` and `filter`: the Common Expression Language (CEL) over JSON.
//!
//! Everything that can be wrong with a text is found by [`Expression::parse`], before anything runs:
//! syntax, names of functions, numbers of arguments, patterns. [`Expression::references`] says which
//! values it names, so that an unknown one can be reported, too.
//!
//! ```
//! use redial_flow::{Expression, ItemScope, Value};
//!
//! let large = Expression::parse("item.width > 1024 && !(kind in ['gif', 'svg'])")?;
//! let item = Value::Json(serde_json::json!({"width": 2048, "kind": "png"}));
//! assert_eq!(large.holds(&ItemScope::new(&item)), Ok(true));
//!
//! let wrong = Expression::parse("item.name.startWith('a')").unwrap_err();
//! assert_eq!(wrong.message, "no function is called `startWith`; did you mean `startsWith`?");
//! # Ok::<(), redial_flow::BadExpression>(())
//! ```
//!
//! # What there is
//!
//! | | |
//! |---|---|
//! | literals | `null`, `true`, `12`, `0x1f`, `12u`, `1.5e3`, `'text'`, `"text"`, `'''…'''`, `r'raw'`, `[1, 2]`, `{'a': 1}` |
//! | values | `item.a.b`, `item['a b']`, `` item.`a-b` ``, `` `a-step`.output ``, `list[0]`, `object['name']` |
//! | operators | `? :`, `\|\|`, `&&`, `== != < <= > >= in`, `+ -`, `* / %`, `! -` |
//! | fields | `has(item.a)`, and `has(a)` of a bare name |
//! | text | `size`, `startsWith`, `endsWith`, `contains`, `matches` (a pattern in quotes), `lowerAscii`, `upperAscii`, `trim`, `+` |
//! | lists | `size`, `in`, `[i]`, `+`, `all`, `exists`, `exists_one`, `filter`, `map` with one variable |
//! | conversions | `int`, `double`, `string`, `bool` |
//! | comments | `// …` |
//!
//! As in CEL, `&&` and `||` do not care which side an error is on if the other decides, values of
//! different kinds are unequal and have no order, a number that does not fit is an error, and a field
//! that is not there is an error, for which there is `has`.
//!
//! # What is different from CEL
//!
//! - Numbers of JSON are whole where they are written so, with or without a sign: one kind from
//!   -2⁶³ to 2⁶⁴ - 1. A whole number and a fraction can be reckoned with together.
//! - A pattern of `matches` is text in quotes, never a value: it is checked before anything runs.
//! - `has(a)` of a bare name is allowed.
//! - Not there, and refused by name: `bytes` and `b'…'`, `timestamp`, `duration`, `type`, `dyn`,
//!   `uint`. Not there either: messages (`Type{field: 1}`), optional values (`a.?b`), names that begin with
//!   a dot, `map` with three arguments, names of object fields that are not text.
//!
//! # Bounds
//!
//! A text has at most [`TEXT_MAX`] bytes and [`DEPTH_MAX`] levels, an evaluation does at most two
//! million operations (copies of text and lists count by their size), and a pattern compiles to at
//! most 1 MiB. No text and no value makes it panic.
//!
//! # The loose dialect
//!
//! [`Dialect::Loose`] reads the filters and conditions of workflow files with `agent_template`, and gives
//! them the meaning that they have there:
//!
//! - `=` is `==`; `AND`, `OR`, `NOT` in any case are `&&`, `||`, `!`; `${…}` around a name or an expression
//!   is nothing, and names in it may have hyphens;
//! - a field that is not there is null; `<` and its like between different kinds are false; text that is a
//!   number is compared with a number as one; functions of text are false for all else;
//! - null, 0, `''`, `'0'` and `'false'` are false where true or false is asked for, and all else is true;
//! - there are `starts_with(a, b)`, `ends_with`, `contains`, `length`, `is_null`, `is_not_null`,
//!   `is_number`, `is_string`, `is_bool`, `is_array`, `is_object`, too.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use redial_policy::Span;
use serde_json::Value as Json;

use crate::Value;

pub(crate) use kinds::{Foresight, Kinds};

mod eval;
mod kinds;
mod parse;
mod token;

/// The longest expression, in bytes.
pub const TEXT_MAX: usize = 8192;

/// How deep brackets and operators go.
pub const DEPTH_MAX: usize = 64;

/// How a text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// CEL.
    #[default]
    Cel,
    /// As workflow files with `agent_template` write it: what is missing is null, and what does not fit is
    /// false.
    Loose,
}

/// An expression that was read and found right.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    dialect: Dialect,
    root: parse::Node,
    references: Vec<Reference>,
}

/// A value that an expression names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The root, and the names after it as far as they are known: of `list.output[0].id` it is
    /// `list`, `output`.
    pub path: Vec<String>,
    /// Where it stands.
    pub span: Span,
    /// Whether `has` asks for it, so that it may be missing.
    pub tested: bool,
}

/// What is wrong with the text of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadExpression {
    /// Which bytes.
    pub span: Span,
    /// What is wrong, and what to write.
    pub message: String,
}

/// Why an expression came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    /// Which part of the text.
    pub span: Span,
    /// What was wrong with the values.
    pub message: String,
}

impl fmt::Display for BadExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl Error for BadExpression {}

impl Error for EvalError {}

/// Where the values are that an expression names.
pub trait Lookup {
    /// What a path names: first it is asked for the root, and for longer paths as long as that is a
    /// [`Found::Space`].
    fn find(&self, path: &[String]) -> Found<'_>;

    /// The names there are at a path, for an error that says which one was meant.
    fn names(&self, path: &[String]) -> Vec<String> {
        let _ = path;
        Vec::new()
    }
}

/// What a path names.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<'a> {
    /// A value; names after it are its fields.
    Value(Cow<'a, Json>),
    /// A value that is not UTF-8.
    Bytes,
    /// No value itself, but there are names below it, as `output` is below a step.
    Space,
    /// Nothing.
    Missing,
    /// A value that cannot be read, and why.
    Unreadable(String),
}

impl<'a> From<&'a Value> for Found<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Json(json) => Self::Value(Cow::Borrowed(json)),
            Value::Bytes(_) => Self::Bytes,
        }
    }
}

/// The values that a map's `where` names: the item as `item`, and its fields by their bare names.
#[derive(Clone, Copy, Debug)]
pub struct ItemScope<'a> {
    item: &'a Value,
}

impl<'a> ItemScope<'a> {
    /// The scope of one item.
    pub fn new(item: &'a Value) -> Self {
        Self { item }
    }
}

impl Lookup for ItemScope<'_> {
    fn find(&self, path: &[String]) -> Found<'_> {
        match (path, self.item) {
            ([root], item) if root == "item" => item.into(),
            ([root], Value::Json(Json::Object(fields))) => {
                fields.get(root).map_or(Found::Missing, |field| Found::Value(Cow::Borrowed(field)))
            }
            _ => Found::Missing,
        }
    }

    fn names(&self, path: &[String]) -> Vec<String> {
        match (path, self.item) {
            ([], Value::Json(Json::Object(fields))) => {
                fields.keys().cloned().chain(["item".to_owned()]).collect()
            }
            ([], _) => vec!["item".to_owned()],
            _ => Vec::new(),
        }
    }
}

impl Expression {
    /// Reads CEL.
    ///
    /// # Errors
    ///
    /// If it is none, or uses what is not there; with the place.
    pub fn parse(text: &str) -> Result<Self, BadExpression> {
        Self::parse_as(text, Dialect::Cel)
    }

    /// Reads a dialect.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    ///
    /// ```
    /// use redial_flow::{Dialect, Expression, ItemScope, Value};
    ///
    /// let filter = Expression::parse_as("severity = 'high' AND score >= 5", Dialect::Loose)?;
    /// let item = Value::Json(serde_json::json!({"severity": "high"}));
    /// assert_eq!(filter.holds(&ItemScope::new(&item)), Ok(false));
    /// # Ok::<(), redial_flow::BadExpression>(())
    /// ```
    pub fn parse_as(text: &str, dialect: Dialect) -> Result<Self, BadExpression> {
        let (root, references) = parse::parse(text, dialect)?;
        Ok(Self { text: text.to_owned(), dialect, root, references })
    }

    /// The text that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The dialect that it was read as.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Which values it names, in the order of the text. The variables of `exists` and its like are not
    /// among them.
    ///
    /// ```
    /// let expression = redial_flow::Expression::parse("list.output.exists(x, x == inputs.name)")?;
    /// let paths: Vec<String> = expression.references().iter().map(|r| r.path.join(".")).collect();
    /// assert_eq!(paths, ["list.output", "inputs.name"]);
    /// # Ok::<(), redial_flow::BadExpression>(())
    /// ```
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// Looks for kinds that never fit, whatever the values are. The loose dialect takes all of them.
    pub(crate) fn check_kinds(&self, foresight: &dyn Foresight) -> Result<(), BadExpression> {
        match self.dialect {
            Dialect::Cel => kinds::check(&self.root, foresight),
            Dialect::Loose => Ok(()),
        }
    }

    /// What it comes to.
    ///
    /// # Errors
    ///
    /// A field that is not there, kinds that do not fit, bytes that are not UTF-8, a number that has no
    /// place, or more work than an expression may do.
    pub fn eval(&self, lookup: &dyn Lookup) -> Result<Json, EvalError> {
        eval::Evaluation::new(lookup, self.dialect == Dialect::Loose).json(&self.root)
    }

    /// Whether it holds.
    ///
    /// # Errors
    ///
    /// As [`eval`](Self::eval), and where it is neither true nor false.
    pub fn holds(&self, lookup: &dyn Lookup) -> Result<bool, EvalError> {
        eval::Evaluation::new(lookup, self.dialect == Dialect::Loose).truth(&self.root)
    }
}

/// The name that differs in the fewest letters, if those are at most a third.
pub(crate) fn nearest<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let length = word.chars().count();
    if length > 64 {
        return None;
    }
    let near = names.iter().filter(|name| name.len() <= 256);
    let near = near.map(|name| (strsim::osa_distance(word, name), *name));
    let near = near.filter(|(edits, _)| *edits <= 1 + length / 3 && *edits < length.max(1));
    near.min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}
