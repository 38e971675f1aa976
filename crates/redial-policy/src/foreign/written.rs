//! A law as one line of text, from which another process makes the same law: what a flow remembers of it.
//!
//! `law of envoy; delays: 0-24999999/1000000, 0-49999999/1000000; nearest: attempts: 3, …; name: route.retry_policy`
//!
//! The delays are nanoseconds: the range that is drawn from, then `/` and what the draw is cut down to a multiple of, then
//! `<` and the most that it can be. After `^` is the height of a [curve](Draw::curve).

use redial_core::Pretty;
use redial_core::clause::Kind as Clause;

use super::law::{DELAYS_MAX, Draw};
use super::{Law, System};
use crate::Format;
use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::document::{Document, Entry, Notation, read as read_text};

const START: &str = "law of ";

/// Whether a text is a law that was written down.
pub(crate) fn is_one(text: &str) -> bool {
    text.starts_with(START)
}

/// The line.
pub(crate) fn write(law: &Law, timeout: Option<std::time::Duration>) -> String {
    let delays: Vec<_> = law.draws().iter().map(draw).collect();
    let timeout = timeout.map(|timeout| format!(", timeout: {}", Pretty(timeout)));
    format!(
        "{START}{}; delays: {}; nearest: {}{}; name: {}",
        law.system().name(),
        delays.join(", "),
        law.nearest(),
        timeout.unwrap_or_default(),
        law.name(),
    )
}

fn draw(draw: &Draw) -> String {
    let Draw { least, greatest, unit, cap, height } = *draw;
    let mut text = least.to_string();
    if height > 0 {
        text += &format!("^{height}");
    }
    if greatest > least {
        text += &format!("-{greatest}");
    }
    if unit > 1 {
        text += &format!("/{unit}");
    }
    if cap < u64::MAX {
        text += &format!("<{cap}");
    }
    text
}

/// The law of such a line.
pub(crate) fn read(text: &str) -> Document {
    match law(text) {
        Some(entry) => Document::of_entry(entry),
        None => {
            let span = Span { start: 0, end: text.len() };
            let message =
                "this law is not as redial writes one down; take the policy that it was read from";
            Document::refuse(Diagnostic::new(Kind::Clause(Clause::Syntax), span, message))
        }
    }
}

fn law(text: &str) -> Option<Entry> {
    let rest = text.strip_prefix(START)?;
    let (system, rest) = rest.split_once("; delays: ")?;
    let (delays, rest) = rest.split_once("; nearest: ")?;
    let (clause, name) = rest.split_once("; name: ")?;
    let system = System::named(system)?;
    let delays = delays.split(", ").filter(|delay| !delay.is_empty()).map(drawn);
    let delays: Vec<Draw> = delays.collect::<Option<_>>()?;
    let nearest = read_text(clause, Format::Text, Some(Notation::Clause));
    let nearest = nearest.policies().next().filter(|_| !nearest.has_errors())?;
    let known = (1..=DELAYS_MAX).contains(&delays.len());
    let law = Law::new(&delays, nearest.policy?, system, name.to_owned()).filter(|_| known)?;
    Some(Entry {
        name: name.to_owned(),
        notation: Notation::Foreign(system),
        span: Span { start: 0, end: text.len() },
        clause: clause.to_owned(),
        policy: None,
        law: Some(law),
        warnings: Vec::new(),
        ..nearest.clone()
    })
}

fn drawn(text: &str) -> Option<Draw> {
    let (text, cap) = text.split_once('<').map_or((text, None), |(text, cap)| (text, Some(cap)));
    let (range, unit) =
        text.split_once('/').map_or((text, None), |(range, unit)| (range, Some(unit)));
    let (range, height) =
        range.split_once('^').map_or((range, None), |(n, height)| (n, Some(height)));
    let (least, greatest) = range.split_once('-').unwrap_or((range, range));
    let draw = match height {
        Some(height) => Draw::curve(u32::try_from(number(range)?).ok()?, number(height)?),
        None => Draw::between(number(least)?, number(greatest)?),
    };
    let draw = unit.map_or(Some(draw), |unit| Some(draw.cut_to(number(unit)?)))?;
    cap.map_or(Some(draw), |cap| Some(draw.capped(number(cap)?)))
}

/// As it is written above, and in no other way: without a sign.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}
