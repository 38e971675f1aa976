//! What an expression comes to.

use std::borrow::Cow;
use std::cmp::Ordering;

use redial_policy::Span;
use serde_json::{Map, Number, Value as Json};

use super::parse::{Function, Kind, Macro, Node, Operator};
use super::{EvalError, Found, Lookup, nearest};
use crate::number;

/// How much an evaluation may do: a unit is a node of the expression or of a value, or sixteen bytes
/// of text.
const WORK_MAX: u64 = 2_000_000;

pub(super) const NO_TRUTH: &str = "where true or false is expected; compare it with something";
pub(super) const IN_TEXT: &str = "`in` text; write `text.contains('part')`";
pub(super) const CONTAINS_OF_LIST: &str = "`contains` is of text; of a list, write `part in list`";
pub(super) const TO_NUMBER: &str = "; make a number of the text with `int(…)` or `double(…)`";

#[derive(Clone, Debug)]
pub(super) enum Val<'e> {
    Null,
    Bool(bool),
    /// From the least of 64 bits with a sign to the greatest without.
    Int(i128),
    Double(f64),
    Text(Cow<'e, str>),
    List(Cow<'e, [Json]>),
    Map(Cow<'e, Map<String, Json>>),
}

impl<'e> Val<'e> {
    fn of(json: &'e Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::number(number),
            Json::String(text) => Self::Text(Cow::Borrowed(text)),
            Json::Array(list) => Self::List(Cow::Borrowed(list)),
            Json::Object(map) => match number::of_fields(map) {
                Some(text) => Self::long_number(text),
                None => Self::Map(Cow::Borrowed(map)),
            },
        }
    }

    fn owned(json: Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(value),
            Json::Number(number) => Self::number(&number),
            Json::String(text) => Self::Text(Cow::Owned(text)),
            Json::Array(list) => Self::List(Cow::Owned(list)),
            Json::Object(map) => match number::of_fields(&map) {
                Some(text) => Self::long_number(text),
                None => Self::Map(Cow::Owned(map)),
            },
        }
    }

    fn number(number: &Number) -> Self {
        let int = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
        int.map_or_else(|| Self::Double(number.as_f64().unwrap_or(f64::NAN)), Self::Int)
    }

    /// One that has more digits than 64 bits hold is compared and reckoned with as the nearest double.
    fn long_number(text: &str) -> Self {
        let number = serde_json::from_str::<Number>(text);
        number.map_or_else(|_| Self::Double(text.parse().unwrap_or(f64::NAN)), |n| Self::number(&n))
    }

    /// With its article.
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Double(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }

    /// What it costs to copy it or to look through it.
    fn weight(&self) -> u64 {
        match self {
            Self::Text(text) => 1 + text.len() as u64 / 16,
            Self::List(list) => list.iter().map(weight).sum(),
            Self::Map(map) => map.values().map(weight).sum(),
            _ => 1,
        }
    }
}

fn weight(json: &Json) -> u64 {
    1 + match json {
        Json::String(text) => text.len() as u64 / 16,
        Json::Array(list) => list.iter().map(weight).sum(),
        Json::Object(map) => map.values().map(weight).sum(),
        _ => 0,
    }
}

pub(super) struct Evaluation<'e> {
    lookup: &'e dyn Lookup,
    loose: bool,
    work: u64,
    /// The variables of macros.
    locals: Vec<(&'e str, Val<'e>)>,
}

type Evaluated<T> = Result<T, EvalError>;

fn bad<T>(span: Span, message: impl Into<String>) -> Evaluated<T> {
    Err(EvalError { span, message: message.into() })
}

impl<'e> Evaluation<'e> {
    pub(super) fn new(lookup: &'e dyn Lookup, loose: bool) -> Self {
        Self { lookup, loose, work: 0, locals: Vec::new() }
    }

    fn charge(&mut self, units: u64, span: Span) -> Evaluated<()> {
        self.work = self.work.saturating_add(units);
        if self.work > WORK_MAX {
            return bad(
                span,
                format!(
                    "more than {WORK_MAX} operations; do this in a step, with a program of its own"
                ),
            );
        }
        Ok(())
    }

    pub(super) fn json(&mut self, node: &'e Node) -> Evaluated<Json> {
        let value = self.value(node)?;
        if matches!(value, Val::List(Cow::Borrowed(_)) | Val::Map(Cow::Borrowed(_)) | Val::Text(_))
        {
            self.charge(value.weight(), node.span)?;
        }
        plain(value, node.span)
    }

    pub(super) fn truth(&mut self, node: &'e Node) -> Evaluated<bool> {
        match self.value(node)? {
            Val::Bool(value) => Ok(value),
            value if self.loose => Ok(match value {
                Val::Null => false,
                Val::Int(value) => value != 0,
                Val::Double(value) => value != 0.0,
                Val::Text(text) => !matches!(&*text, "" | "false" | "0"),
                _ => true,
            }),
            value => bad(node.span, format!("{} {NO_TRUTH}", value.kind())),
        }
    }

    fn value(&mut self, node: &'e Node) -> Evaluated<Val<'e>> {
        self.charge(1, node.span)?;
        Ok(match &node.kind {
            Kind::Null => Val::Null,
            Kind::Bool(value) => Val::Bool(*value),
            Kind::Int(value) => Val::Int(*value),
            Kind::Double(value) => Val::Double(*value),
            Kind::Text(text) => Val::Text(Cow::Borrowed(text)),
            Kind::List(nodes) => {
                let items: Evaluated<Vec<Json>> =
                    nodes.iter().map(|node| self.json(node)).collect();
                Val::List(Cow::Owned(items?))
            }
            Kind::Map(pairs) => {
                let mut map = Map::new();
                for (key, value) in pairs {
                    let name = match self.value(key)? {
                        Val::Text(name) => name.into_owned(),
                        other => {
                            let message =
                                format!("{} as the name of a field, which is text", other.kind());
                            return bad(key.span, message);
                        }
                    };
                    let value = self.json(value)?;
                    if map.contains_key(&name) {
                        return bad(key.span, format!("the field `{name}` is there twice"));
                    }
                    map.insert(name, value);
                }
                Val::Map(Cow::Owned(map))
            }
            Kind::Path(names) => match self.path(names, node.span)? {
                Ok(value) => value,
                Err(_) if self.loose => Val::Null,
                Err(message) => return bad(node.span, message),
            },
            Kind::Field(of, name) => {
                let of = self.value(of)?;
                match field(of, name) {
                    Ok(value) => value,
                    Err(_) if self.loose => Val::Null,
                    Err(message) => return bad(node.span, message),
                }
            }
            Kind::Index(of, at) => self.index(of, at, node.span)?,
            Kind::Has(of) => Val::Bool(self.has(of)?),
            Kind::Not(of) => Val::Bool(!self.truth(of)?),
            Kind::Negative(of) => match self.value(of)? {
                Val::Int(value) => in_range(-value, node.span)?,
                Val::Double(value) => Val::Double(-value),
                other => return bad(node.span, format!("minus {}", other.kind())),
            },
            Kind::And(nodes) => Val::Bool(self.all(nodes, true)?),
            Kind::Or(nodes) => Val::Bool(!self.all(nodes, false)?),
            Kind::Operation(operator, sides) => {
                let [left, right] = &**sides;
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.operation(*operator, left, right, node.span)?
            }
            Kind::Choice(nodes) => {
                let [condition, yes, no] = &**nodes;
                let taken = if self.truth(condition)? { yes } else { no };
                self.value(taken)?
            }
            Kind::Call(function, arguments) => self.call(*function, arguments, node.span)?,
            Kind::Matches(of, regex) => match self.value(of)? {
                Val::Text(text) => {
                    self.charge(text.len() as u64 / 16, node.span)?;
                    Val::Bool(regex.is_match(&text))
                }
                _ if self.loose => Val::Bool(false),
                other => {
                    return bad(of.span, format!("`matches` of {}, not of text", other.kind()));
                }
            },
            Kind::Each(macro_, name, sides) => {
                let [of, body] = &**sides;
                self.each(*macro_, name, of, body)?
            }
        })
    }

    /// Whether all are `wanted`. One that is not decides, whatever errors the others have.
    fn all(&mut self, nodes: &'e [Node], wanted: bool) -> Evaluated<bool> {
        let mut error = None;
        for node in nodes {
            match self.truth(node) {
                Ok(found) if found == wanted => {}
                Ok(_) => return Ok(false),
                Err(found) => error = error.or(Some(found)),
            }
        }
        error.map_or(Ok(true), Err)
    }

    /// The inner error says what is missing.
    fn path(&mut self, names: &'e [String], span: Span) -> Evaluated<Result<Val<'e>, String>> {
        let Some(root) = names.first() else { return bad(span, "a path without a name") };
        if let Some(at) = self.locals.iter().rposition(|(name, _)| name == root) {
            self.charge(owned_weight(&self.locals[at].1), span)?;
            let value = self.locals[at].1.clone();
            return Ok(fields(value, root, &names[1..]));
        }
        let lookup = self.lookup;
        for end in 1..=names.len() {
            let (path, rest) = names.split_at(end);
            let value = match lookup.find(path) {
                Found::Value(Cow::Borrowed(json)) => Val::of(json),
                Found::Value(Cow::Owned(json)) => Val::owned(json),
                Found::Space => continue,
                Found::Missing => return Ok(Err(self.unknown(path))),
                Found::Unreadable(why) => {
                    return bad(span, format!("`{}` cannot be read: {why}", path.join(".")));
                }
                Found::Bytes => {
                    let message = format!(
                        "`{}` is not UTF-8, and an expression is about text; hand it to a command",
                        path.join(".")
                    );
                    return bad(span, message);
                }
            };
            return Ok(fields(value, &path.join("."), rest));
        }
        Ok(Err(format!("`{}` is no value itself; name one of its fields", names.join("."))))
    }

    fn unknown(&self, path: &[String]) -> String {
        let (last, before) = path.split_last().map_or(("", path), |(last, before)| (last, before));
        let names = self.lookup.names(before);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = hint(last, &names);
        match before {
            [] => format!("nothing is called `{last}`{hint}"),
            _ => format!("`{}` has no `{last}`{hint}", before.join(".")),
        }
    }

    fn has(&mut self, of: &'e Node) -> Evaluated<bool> {
        match &of.kind {
            Kind::Path(names) => {
                let (last, before) = match names.split_last() {
                    Some((last, before)) if !before.is_empty() => (last, before),
                    // A bare name: the field of an item.
                    _ => return Ok(self.path(names, of.span)?.is_ok()),
                };
                match self.path(before, of.span)? {
                    Ok(Val::Map(map)) => Ok(map.contains_key(last)),
                    Ok(_) if self.loose => Ok(false),
                    Ok(other) => not_an_object(of, last, &other),
                    // Where the step itself is a space of names, or is missing.
                    Err(missing) => match self.path(names, of.span)? {
                        Ok(_) => Ok(true),
                        Err(_) if self.loose || self.is_space(before) => Ok(false),
                        Err(_) => bad(of.span, missing),
                    },
                }
            }
            Kind::Field(inner, name) => match self.value(inner)? {
                Val::Map(map) => Ok(map.contains_key(name)),
                _ if self.loose => Ok(false),
                other => not_an_object(of, name, &other),
            },
            _ => bad(of.span, "`has` wants a field"),
        }
    }

    fn is_space(&self, path: &[String]) -> bool {
        (1..=path.len()).all(|end| matches!(self.lookup.find(&path[..end]), Found::Space))
    }

    fn index(&mut self, of: &'e Node, at: &'e Node, span: Span) -> Evaluated<Val<'e>> {
        let (list, index) = (self.value(of)?, self.value(at)?);
        let missing = match (list, index) {
            (Val::Map(map), Val::Text(name)) => match field(Val::Map(map), &name) {
                Ok(value) => return Ok(value),
                Err(message) => message,
            },
            (Val::List(list), index @ (Val::Int(_) | Val::Double(_))) => {
                let place = match index {
                    Val::Int(value) => usize::try_from(value).ok(),
                    Val::Double(value) if value.fract() == 0.0 && (0.0..9e15).contains(&value) => {
                        Some(value as usize)
                    }
                    _ => None,
                };
                let length = list.len();
                let found = match (list, place) {
                    (Cow::Borrowed(list), Some(place)) => list.get(place).map(Val::of),
                    (Cow::Owned(mut list), Some(place)) if place < length => {
                        Some(Val::owned(list.swap_remove(place)))
                    }
                    _ => None,
                };
                match found {
                    Some(value) => return Ok(value),
                    None => format!(
                        "the list has {length} item{}, and the first is [0]",
                        if length == 1 { "" } else { "s" }
                    ),
                }
            }
            (list, index) => format!("{} has no item that {} names", list.kind(), index.kind()),
        };
        if self.loose { Ok(Val::Null) } else { bad(span, missing) }
    }

    fn operation(
        &mut self,
        operator: Operator,
        left: Val<'e>,
        right: Val<'e>,
        span: Span,
    ) -> Evaluated<Val<'e>> {
        match operator {
            Operator::Equal | Operator::Unequal => {
                self.charge(left.weight().min(right.weight()), span)?;
                let equal = equal(&left, &right, self.loose);
                Ok(Val::Bool(equal == (operator == Operator::Equal)))
            }
            Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual => {
                let order = match (&left, &right) {
                    (Val::Bool(left), Val::Bool(right)) => Some(left.cmp(right)),
                    (Val::Text(left), Val::Text(right)) => Some(left.cmp(right)),
                    (Val::Int(_) | Val::Double(_), Val::Int(_) | Val::Double(_)) => {
                        number_order(&left, &right)
                    }
                    _ if self.loose => {
                        coerced(&left, &right).and_then(|(left, right)| number_order(&left, &right))
                    }
                    _ => return cannot(operator, &left, &right, span),
                };
                // Without an order (NaN), nothing holds.
                Ok(Val::Bool(order.is_some_and(|order| match operator {
                    Operator::Less => order.is_lt(),
                    Operator::LessOrEqual => order.is_le(),
                    Operator::Greater => order.is_gt(),
                    _ => order.is_ge(),
                })))
            }
            Operator::In => match &right {
                Val::List(list) => {
                    self.charge(right.weight(), span)?;
                    let loose = self.loose;
                    Ok(Val::Bool(list.iter().any(|item| equal(&left, &Val::of(item), loose))))
                }
                Val::Map(map) => match &left {
                    Val::Text(name) => Ok(Val::Bool(map.contains_key(&**name))),
                    _ => Ok(Val::Bool(false)),
                },
                _ if self.loose => Ok(Val::Bool(false)),
                Val::Text(_) => bad(span, IN_TEXT),
                _ => cannot(operator, &left, &right, span),
            },
            _ => self.arithmetic(operator, left, right, span),
        }
    }

    fn arithmetic(
        &mut self,
        operator: Operator,
        left: Val<'e>,
        right: Val<'e>,
        span: Span,
    ) -> Evaluated<Val<'e>> {
        if operator == Operator::Add {
            match (left, right) {
                (Val::Text(left), Val::Text(right)) => {
                    self.charge((left.len() + right.len()) as u64 / 16, span)?;
                    return Ok(Val::Text(Cow::Owned(left.into_owned() + &right)));
                }
                (Val::List(left), Val::List(right)) => {
                    let both = left.iter().chain(right.iter());
                    self.charge(both.map(weight).sum(), span)?;
                    let mut list = left.into_owned();
                    list.extend(right.into_owned());
                    return Ok(Val::List(Cow::Owned(list)));
                }
                (left, right) => return numbers(operator, &left, &right, span),
            }
        }
        numbers(operator, &left, &right, span)
    }

    fn call(
        &mut self,
        function: Function,
        arguments: &'e [Node],
        span: Span,
    ) -> Evaluated<Val<'e>> {
        let Some(first) = arguments.first() else { return bad(span, "an argument is missing") };
        let value = self.value(first)?;
        let second = arguments.get(1).map(|node| self.value(node)).transpose()?;
        let of = |name: &str, value: &Val<'_>| {
            let kind = value.kind();
            bad(first.span, format!("`{name}` of {kind}, not of text"))
        };
        Ok(match (function, value, second) {
            (Function::Size, Val::Text(text), _) => {
                self.charge(text.len() as u64 / 16, span)?;
                Val::Int(text.chars().count() as i128)
            }
            (Function::Size, Val::List(list), _) => Val::Int(list.len() as i128),
            (Function::Size, Val::Map(map), _) => Val::Int(map.len() as i128),
            (Function::Size, _, _) if self.loose => Val::Null,
            (Function::Size, value, _) => {
                let kind = value.kind();
                return bad(
                    first.span,
                    format!("`size` of {kind}, not of text, a list or an object"),
                );
            }
            (
                Function::StartsWith | Function::EndsWith | Function::Contains,
                Val::Text(text),
                Some(Val::Text(part)),
            ) => {
                self.charge((text.len() + part.len()) as u64 / 16, span)?;
                Val::Bool(match function {
                    Function::StartsWith => text.starts_with(&*part),
                    Function::EndsWith => text.ends_with(&*part),
                    _ => text.contains(&*part),
                })
            }
            (Function::StartsWith | Function::EndsWith | Function::Contains, _, _)
                if self.loose =>
            {
                Val::Bool(false)
            }
            (Function::Contains, Val::List(_), _) => {
                return bad(span, CONTAINS_OF_LIST);
            }
            (Function::StartsWith | Function::EndsWith | Function::Contains, value, second) => {
                let other = match (&value, &second) {
                    (Val::Text(_), Some(second)) => second.kind(),
                    _ => value.kind(),
                };
                return bad(span, format!("a function of text is given {other}"));
            }
            (Function::LowerAscii, Val::Text(text), _) => {
                self.charge(text.len() as u64 / 16, span)?;
                Val::Text(Cow::Owned(text.to_ascii_lowercase()))
            }
            (Function::UpperAscii, Val::Text(text), _) => {
                self.charge(text.len() as u64 / 16, span)?;
                Val::Text(Cow::Owned(text.to_ascii_uppercase()))
            }
            (Function::Trim, Val::Text(text), _) => {
                self.charge(text.len() as u64 / 16, span)?;
                Val::Text(match text {
                    Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
                    Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
                })
            }
            (Function::LowerAscii, value, _) => return of("lowerAscii", &value),
            (Function::UpperAscii, value, _) => return of("upperAscii", &value),
            (Function::Trim, value, _) => return of("trim", &value),
            // Never built: the pattern is in a node of its own.
            (Function::Matches, ..) => Val::Bool(false),
            (Function::ToInt, value, _) => to_int(value, first.span)?,
            (Function::ToDouble, value, _) => to_double(value, first.span)?,
            (Function::ToString, value, _) => to_text(value, first.span)?,
            (Function::ToBool, value, _) => match value {
                Val::Bool(value) => Val::Bool(value),
                Val::Text(text) => match &*text {
                    "true" | "True" | "TRUE" | "t" | "1" => Val::Bool(true),
                    "false" | "False" | "FALSE" | "f" | "0" => Val::Bool(false),
                    _ => return bad(first.span, format!("{} is no boolean", shown(&text))),
                },
                other => {
                    return bad(first.span, format!("no boolean can be made of {}", other.kind()));
                }
            },
            (Function::IsNull, value, _) => Val::Bool(matches!(value, Val::Null)),
            (Function::IsNotNull, value, _) => Val::Bool(!matches!(value, Val::Null)),
            (Function::IsNumber, value, _) => {
                Val::Bool(matches!(value, Val::Int(_) | Val::Double(_)))
            }
            (Function::IsString, value, _) => Val::Bool(matches!(value, Val::Text(_))),
            (Function::IsBool, value, _) => Val::Bool(matches!(value, Val::Bool(_))),
            (Function::IsArray, value, _) => Val::Bool(matches!(value, Val::List(_))),
            (Function::IsObject, value, _) => Val::Bool(matches!(value, Val::Map(_))),
        })
    }

    fn each(
        &mut self,
        macro_: Macro,
        name: &'e str,
        of: &'e Node,
        body: &'e Node,
    ) -> Evaluated<Val<'e>> {
        // Of an object, its names.
        let list: Vec<Val<'e>> = match self.value(of)? {
            Val::List(Cow::Borrowed(list)) => list.iter().map(Val::of).collect(),
            Val::List(Cow::Owned(list)) => list.into_iter().map(Val::owned).collect(),
            Val::Map(Cow::Borrowed(map)) => {
                map.keys().map(|key| Val::Text(Cow::Borrowed(key))).collect()
            }
            Val::Map(Cow::Owned(map)) => {
                map.into_iter().map(|(key, _)| Val::Text(Cow::Owned(key))).collect()
            }
            other => {
                return bad(of.span, format!("{} where a list is expected", other.kind()));
            }
        };
        self.charge(list.len() as u64, of.span)?;
        let (mut count, mut error, mut kept) = (0_usize, None, Vec::new());
        for item in list {
            self.charge(1 + owned_weight(&item), of.span)?;
            self.locals.push((name, item));
            let made = match macro_ {
                Macro::Map => self.json(body).map(|json| {
                    kept.push(json);
                    None
                }),
                _ => self.truth(body).map(Some),
            };
            let item = self.locals.pop().map_or(Val::Null, |(_, item)| item);
            match (macro_, made) {
                (Macro::All, Ok(Some(false))) => return Ok(Val::Bool(false)),
                (Macro::Exists, Ok(Some(true))) => return Ok(Val::Bool(true)),
                // As with `&&` and `||`: an item that decides makes up for one that cannot be judged.
                (Macro::All | Macro::Exists, Err(found)) => error = error.or(Some(found)),
                (_, Err(found)) => return Err(found),
                (Macro::Filter, Ok(Some(true))) => {
                    self.charge(item.weight(), of.span)?;
                    kept.push(plain(item, of.span)?);
                }
                (_, Ok(Some(true))) => count += 1,
                _ => {}
            }
        }
        if let Some(error) = error {
            return Err(error);
        }
        Ok(match macro_ {
            Macro::All => Val::Bool(true),
            Macro::Exists => Val::Bool(false),
            Macro::ExistsOne => Val::Bool(count == 1),
            Macro::Filter | Macro::Map => Val::List(Cow::Owned(kept)),
        })
    }
}

/// What copying a value costs where it is not borrowed.
fn owned_weight(value: &Val<'_>) -> u64 {
    match value {
        Val::Text(Cow::Owned(_)) | Val::List(Cow::Owned(_)) | Val::Map(Cow::Owned(_)) => {
            value.weight()
        }
        _ => 0,
    }
}

fn plain(value: Val<'_>, span: Span) -> Evaluated<Json> {
    Ok(match value {
        Val::Null => Json::Null,
        Val::Bool(value) => Json::Bool(value),
        Val::Int(value) => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => value.into(),
            (_, Ok(value)) => value.into(),
            _ => return bad(span, "a number of more than 64 bits"),
        },
        Val::Double(value) => match Number::from_f64(value) {
            Some(number) => Json::Number(number),
            None => return bad(span, format!("{value} is no number that JSON has")),
        },
        Val::Text(text) => Json::String(text.into_owned()),
        Val::List(list) => Json::Array(list.into_owned()),
        Val::Map(map) => Json::Object(map.into_owned()),
    })
}

fn field<'e>(of: Val<'e>, name: &str) -> Result<Val<'e>, String> {
    match of {
        Val::Map(map) => {
            let found = match map {
                Cow::Borrowed(map) => map.get(name).map(Val::of).ok_or(Cow::Borrowed(map)),
                Cow::Owned(mut map) => {
                    map.shift_remove(name).map(Val::owned).ok_or(Cow::Owned(map))
                }
            };
            found.map_err(|map| {
                let names: Vec<&str> = map.keys().map(String::as_str).collect();
                format!("there is no field `{name}`{}", hint(name, &names))
            })
        }
        other => Err(format!("{} has no field `{name}`", other.kind())),
    }
}

/// `path` is where the value was found.
fn fields<'e>(mut value: Val<'e>, path: &str, names: &[String]) -> Result<Val<'e>, String> {
    for (at, name) in names.iter().enumerate() {
        value = field(value, name).map_err(|message| {
            let mut of = path.to_owned();
            for name in &names[..at] {
                of.push('.');
                of.push_str(name);
            }
            format!("in `{of}`: {message}")
        })?;
    }
    Ok(value)
}

/// The nearest name, or all of a few.
fn hint(name: &str, names: &[&str]) -> String {
    match (nearest(name, names), names) {
        (Some(meant), _) => format!("; did you mean `{meant}`?"),
        (None, []) => String::new(),
        (None, names @ ([_] | [_, ..])) if names.len() <= 8 => {
            let names: Vec<String> = names.iter().map(|name| shown(name)).collect();
            format!("; there is {}", names.join(", "))
        }
        _ => format!("; there are {} others", names.len()),
    }
}

/// Text from outside in a message: no control characters, and not all of a long one.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    format!("`{short}`")
}

fn not_an_object<T>(of: &Node, name: &str, found: &Val<'_>) -> Evaluated<T> {
    bad(of.span, format!("{} has no field `{name}`", found.kind()))
}

fn cannot<T>(operator: Operator, left: &Val<'_>, right: &Val<'_>, span: Span) -> Evaluated<T> {
    let sign = operator.sign();
    let remedy = match (left, right) {
        (Val::Text(_), Val::Int(_) | Val::Double(_))
        | (Val::Int(_) | Val::Double(_), Val::Text(_)) => TO_NUMBER,
        (Val::Null, _) | (_, Val::Null) => "; test it with `!= null` before",
        _ => "",
    };
    bad(span, format!("`{sign}` between {} and {}{remedy}", left.kind(), right.kind()))
}

fn equal(left: &Val<'_>, right: &Val<'_>, loose: bool) -> bool {
    match (left, right) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(left), Val::Bool(right)) => left == right,
        (Val::Text(left), Val::Text(right)) => left == right,
        (Val::Int(_) | Val::Double(_), Val::Int(_) | Val::Double(_)) => {
            number_order(left, right).is_some_and(Ordering::is_eq)
        }
        (Val::List(left), Val::List(right)) => {
            let same = |(left, right)| equal(&Val::of(left), &Val::of(right), loose);
            left.len() == right.len() && left.iter().zip(right.iter()).all(same)
        }
        (Val::Map(left), Val::Map(right)) => {
            let same = |(name, left): (&String, &Json)| {
                right.get(name).is_some_and(|right| equal(&Val::of(left), &Val::of(right), loose))
            };
            left.len() == right.len() && left.iter().all(same)
        }
        (left, right) if loose => coerced(left, right)
            .and_then(|(left, right)| number_order(&left, &right))
            .is_some_and(Ordering::is_eq),
        _ => false,
    }
}

/// Of a number and text that is one, two numbers.
fn coerced(left: &Val<'_>, right: &Val<'_>) -> Option<(Val<'static>, Val<'static>)> {
    let number = |value: &Val<'_>| match value {
        Val::Int(value) => Some(Val::Int(*value)),
        Val::Double(value) => Some(Val::Double(*value)),
        Val::Text(text) => match (text.trim().parse::<i64>(), text.trim().parse::<f64>()) {
            (Ok(value), _) => Some(Val::Int(value.into())),
            (_, Ok(value)) => Some(Val::Double(value)),
            _ => None,
        },
        _ => None,
    };
    let texts = matches!((left, right), (Val::Text(_), Val::Text(_)));
    if texts { None } else { Some((number(left)?, number(right)?)) }
}

fn number_order(left: &Val<'_>, right: &Val<'_>) -> Option<Ordering> {
    match (left, right) {
        (Val::Int(left), Val::Int(right)) => Some(left.cmp(right)),
        (Val::Double(left), Val::Double(right)) => left.partial_cmp(right),
        (Val::Int(left), Val::Double(right)) => int_to_double(*left, *right),
        (Val::Double(left), Val::Int(right)) => int_to_double(*right, *left).map(Ordering::reverse),
        _ => None,
    }
}

/// Exactly, where a cast would round: 2⁵³ + 1 is not 2⁵³.
fn int_to_double(int: i128, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    // The cast of a float saturates, and 64 bits are far from the ends of 128.
    let whole = double.trunc() as i128;
    Some(int.cmp(&whole).then_with(|| 0.0.partial_cmp(&double.fract()).unwrap_or(Ordering::Equal)))
}

fn in_range(value: i128, span: Span) -> Evaluated<Val<'static>> {
    if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value) {
        Ok(Val::Int(value))
    } else {
        bad(span, "the result needs more than 64 bits; reckon with `double(…)`")
    }
}

fn numbers(
    operator: Operator,
    left: &Val<'_>,
    right: &Val<'_>,
    span: Span,
) -> Evaluated<Val<'static>> {
    let double = |value: &Val<'_>| match value {
        Val::Int(value) => Some(*value as f64),
        Val::Double(value) => Some(*value),
        _ => None,
    };
    if let (Val::Int(left), Val::Int(right)) = (left, right) {
        // Products and sums of 65 bits fit into 128.
        let result = match operator {
            Operator::Add => Some(left + right),
            Operator::Subtract => Some(left - right),
            Operator::Multiply => left.checked_mul(*right),
            Operator::Divide => {
                if *right == 0 {
                    return bad(span, format!("{left} divided by zero"));
                }
                left.checked_div(*right)
            }
            _ => {
                if *right == 0 {
                    return bad(span, format!("the remainder of {left} by zero"));
                }
                left.checked_rem(*right)
            }
        };
        return in_range(result.unwrap_or(i128::MAX), span);
    }
    match (double(left), double(right)) {
        (Some(left), Some(right)) => Ok(Val::Double(match operator {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
            _ => return bad(span, "`%` is of whole numbers"),
        })),
        _ => cannot(operator, left, right, span),
    }
}

fn to_int(value: Val<'_>, span: Span) -> Evaluated<Val<'static>> {
    match value {
        Val::Int(value) => Ok(Val::Int(value)),
        Val::Double(value) if value.is_finite() => in_range(value.trunc() as i128, span),
        Val::Double(value) => bad(span, format!("{value} is no whole number")),
        Val::Text(text) => match text.parse::<i128>() {
            Ok(value) => in_range(value, span),
            Err(_) => bad(span, format!("{} is no whole number", shown(&text))),
        },
        other => bad(span, format!("no number can be made of {}", other.kind())),
    }
}

fn to_double(value: Val<'_>, span: Span) -> Evaluated<Val<'static>> {
    match value {
        Val::Int(value) => Ok(Val::Double(value as f64)),
        Val::Double(value) => Ok(Val::Double(value)),
        Val::Text(text) => match text.parse() {
            Ok(value) => Ok(Val::Double(value)),
            Err(_) => bad(span, format!("{} is no number", shown(&text))),
        },
        other => bad(span, format!("no number can be made of {}", other.kind())),
    }
}

fn to_text<'e>(value: Val<'e>, span: Span) -> Evaluated<Val<'e>> {
    match value {
        Val::Text(text) => Ok(Val::Text(text)),
        Val::Bool(value) => Ok(Val::Text(Cow::Owned(value.to_string()))),
        Val::Int(value) => Ok(Val::Text(Cow::Owned(value.to_string()))),
        Val::Double(value) => Ok(Val::Text(Cow::Owned(value.to_string()))),
        other => bad(span, format!("no text can be made of {}", other.kind())),
    }
}
