//! Numbers and durations as other systems write them.

use crate::diagnostic::{Kind, Span};
use crate::fields::{excerpt, wrong_type};
use crate::tree::{Node, Value};

use super::Reader;

pub(super) const SECOND: u64 = 1_000_000_000;
pub(super) const MILLISECOND: u64 = 1_000_000;

/// The text of a number or a string.
fn scalar(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Number(text) | Value::Text(text) => Some(text.trim()),
        _ => None,
    }
}

/// Whether a value is only known when the system runs: `$.retries`, `{{inputs.parameters.limit}}`, `${LIMIT}`, `{% … %}`.
fn is_computed(text: &str) -> bool {
    text.contains("{{") || text.contains("{%") || text.starts_with('$')
}

impl Reader<'_> {
    /// The number, or a finding.
    fn parsed<T>(
        &mut self,
        name: &str,
        node: &Node,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = scalar(node);
        if let Some(text) = text.filter(|text| is_computed(text)) {
            let message = format!(
                "{name}: `{}` is computed when {} runs, so that the delays are not known here",
                excerpt(text),
                self.system.title
            );
            self.tell(Kind::Computed, node.span, message);
            return None;
        }
        let value = text.and_then(parse);
        if value.is_none() {
            let told = wrong_type(name, node, self.text, expected);
            self.document.diagnostics.push(told);
        }
        value
    }

    /// A whole number, or its default where the field is absent. Numbers with a fraction of zero are whole, as in JSON.
    pub(super) fn whole(&mut self, name: &str, node: Option<&Node>, default: u64) -> u64 {
        let Some(node) = node else { return default };
        let whole = |text: &str| {
            let digits = text.strip_suffix(".0").unwrap_or(text);
            digits.replace('_', "").parse().ok()
        };
        self.parsed(name, node, "use a whole number", whole).unwrap_or(default)
    }

    /// A number, as an IEEE 754 double.
    pub(super) fn float(&mut self, name: &str, node: Option<&Node>, default: f64) -> f64 {
        let Some(node) = node else { return default };
        let finite = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
        self.parsed(name, node, "use a number", finite).unwrap_or(default)
    }

    /// True or false.
    pub(super) fn flag(&mut self, name: &str, node: Option<&Node>, default: bool) -> bool {
        match node.map(|node| &node.value) {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Text(text)) if text == "true" || text == "false" => text == "true",
            Some(_) => {
                let told = node.map(|node| wrong_type(name, node, self.text, "use true or false"));
                self.document.diagnostics.extend(told);
                default
            }
        }
    }

    /// A duration, as `parse` reads it.
    pub(super) fn time(
        &mut self,
        name: &str,
        node: Option<&Node>,
        advice: &str,
        parse: fn(&str) -> Option<u64>,
    ) -> Option<u64> {
        self.parsed(name, node?, advice, parse)
    }

    /// The policy is refused as a whole.
    pub(super) fn rejected(&mut self, span: Span, why: impl std::fmt::Display) {
        self.tell(Kind::RejectedThere, span, format!("{} rejects this: {why}", self.system.title));
    }
}

/// A decimal number times `unit` nanoseconds; what is below a nanosecond is cut.
pub(super) fn scaled(number: &str, unit: u64) -> Option<u64> {
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = !(whole.is_empty() && fraction.is_empty())
        && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !is_number || fraction.len() > 18 {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
    let digits = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? };
    let places = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let rest = u128::from(digits) * u128::from(unit) / places;
    let nanos = u128::from(whole) * u128::from(unit) + rest;
    u64::try_from(nanos).ok()
}

/// A duration of Go: `1.5s`, `1m30s`, `100ms`.
pub(super) fn go_duration(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 8] = [
        ("ns", 1),
        ("us", 1000),
        ("µs", 1000),
        ("μs", 1000),
        ("ms", MILLISECOND),
        ("s", SECOND),
        ("m", 60 * SECOND),
        ("h", 3600 * SECOND),
    ];
    if text == "0" {
        return Some(0);
    }
    let (mut rest, mut sum) = (text, 0u64);
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, after) = rest.split_at(end);
        let letters =
            after.find(|character: char| character.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let (_, nanos) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum = sum.checked_add(scaled(number, *nanos)?)?;
        rest = after;
    }
    (!text.is_empty() && i64::try_from(sum).is_ok()).then_some(sum)
}

/// A duration of protobuf's JSON: `1.5s`, and nothing else.
pub(super) fn proto_duration(text: &str) -> Option<u64> {
    scaled(text.strip_suffix('s')?, SECOND)
}
