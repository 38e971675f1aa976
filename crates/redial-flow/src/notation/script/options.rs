//! The options of a call: those about retrying are a clause, and the others say what is done round it.

use std::num::NonZeroU32;

use redial_core::clause::{self, Kind as Clause};
use redial_policy::notation::Source;
use redial_policy::{Diagnostic, Entry, FlowKind, Span};

use super::tree::{Call, CallOption, Expression, Kind};
use crate::definition::Rate;

/// Those that are not a part of the clause.
const OWN: [&str; 6] = ["fallback", "throttle", "concurrency", "on_error", "lazy", "priority"];

/// What the language has, and is not run.
const REFUSED: [(&str, &str); 8] = [
    ("cache", "results are not kept from one call to another; a run that is resumed keeps its own"),
    ("cache_backend", "results are not kept from one call to another"),
    ("memoize", "results are not kept from one call to another"),
    ("batch", "streams are not run here"),
    ("batch_timeout", "streams are not run here"),
    ("window", "streams are not run here"),
    ("checkpoint", "streams are not run here; every attempt is in the journal"),
    ("join", "streams are not run here"),
];

const PRIORITIES: [(&str, i32); 5] =
    [("critical", 100), ("high", 80), ("normal", NORMAL), ("low", 20), ("background", 0)];
const NORMAL: i32 = 50;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OnError {
    Propagate,
    /// The zero value of its type takes the place of the result.
    Zero,
}

/// What the options of a call say.
pub(super) struct Read<'c> {
    pub(super) policy: Option<Entry>,
    pub(super) fallback: Option<&'c Expression>,
    pub(super) throttle: Option<(Rate, Span)>,
    pub(super) concurrency: Option<(NonZeroU32, Span)>,
    pub(super) on_error: OnError,
    pub(super) is_lazy: bool,
    /// Above or below what is said of nothing.
    pub(super) priority: i32,
}

pub(super) fn read<'c>(
    call: &'c Call,
    source: &Source<'_>,
    found: &mut Vec<Diagnostic>,
) -> Read<'c> {
    let mut read = Read {
        policy: None,
        fallback: None,
        throttle: None,
        concurrency: None,
        on_error: OnError::Propagate,
        is_lazy: false,
        priority: 0,
    };
    let mut clause = Vec::new();
    for (at, option) in call.options.iter().enumerate() {
        let name = option.name.text.as_str();
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            let message = format!("`{name}`: {why}");
            found.push(Diagnostic::new(FlowKind::NotSupported, option.name.span, message));
            continue;
        }
        let is_own = OWN.contains(&name);
        let earlier = &call.options[..at];
        if is_own && earlier.iter().any(|earlier| earlier.name.text == name) {
            let message = format!("`{name}` is there already; write it once");
            found.push(Diagnostic::new(Clause::DuplicateOption, option.name.span, message));
            continue;
        }
        match option.value {
            _ if is_own => read.own(option, source, found),
            Some(value) if clause::OPTIONS.contains(&name) || is_nearer_to_the_clause(name) => {
                clause.push((option.name.span, value));
            }
            _ => {
                let problem = "there is no option";
                let kind = Clause::UnknownOption;
                found.push(source.unknown(kind, option.name.span, problem, name, &OWN));
            }
        }
    }
    if !clause.is_empty() {
        read.policy = Some(source.policy_of(&call.module.text, &clause, found));
    }
    if let Some(fallback) = read.fallback {
        warn_of_taken_options(call, fallback, source, found);
    }
    read
}

/// Whether the clause knows better which option was meant.
fn is_nearer_to_the_clause(name: &str) -> bool {
    redial_policy::notation::nearest(name, &OWN).is_none()
}

impl<'c> Read<'c> {
    fn own(&mut self, option: &'c CallOption, source: &Source<'_>, found: &mut Vec<Diagnostic>) {
        let span = option.value.unwrap_or(option.name.span);
        let text = match option.value {
            Some(value) => value.of(source.text()),
            None => "",
        };
        let name = &option.name.text;
        let wrong_type = |advice: &str| {
            let shown = super::super::reader::excerpt(text);
            let message = format!("{name}: `{shown}` will not do; {advice}");
            Diagnostic::new(Clause::WrongType, span, message)
        };
        let mut wrong = |advice: &str| found.push(wrong_type(advice));
        match option.name.text.as_str() {
            "fallback" => self.fallback = option.expression.as_ref(),
            "concurrency" => match text.parse() {
                Ok(count) => self.concurrency = Some((count, span)),
                Err(_) => wrong("use a whole number from 1 on"),
            },
            "throttle" => {
                let Some((count, per)) = text.split_once('/') else {
                    return wrong("use a number of calls in a time, such as 100/1min");
                };
                let Ok(count) = count.trim_end().parse::<NonZeroU32>() else {
                    return wrong("the number of calls is a whole one from 1 on");
                };
                let start = span.end - per.trim_start().len();
                let per = source.duration_of("throttle", Span { start, ..span }, found);
                match per {
                    Some(per) if per.is_zero() => {
                        found.push(wrong_type("use a time longer than 0s"))
                    }
                    per => self.throttle = per.map(|per| (Rate { count, per }, span)),
                }
            }
            "on_error" => match text {
                "propagate" => {}
                "skip" | "log" => self.on_error = OnError::Zero,
                "wrap" => {
                    let message = "`on_error: wrap`: there are no values that are either an error or a \
                                   result; use skip, log or a fallback";
                    found.push(Diagnostic::new(FlowKind::NotSupported, span, message));
                }
                _ => {
                    let names = ["propagate", "skip", "log"];
                    let problem = "on_error: there is no";
                    found.push(source.unknown(Clause::WrongType, span, problem, text, &names));
                }
            },
            "lazy" => match text {
                "" | "true" => self.is_lazy = true,
                "false" => {}
                _ => wrong("use true or false"),
            },
            _ => {
                let named = PRIORITIES.iter().find(|(name, _)| *name == text);
                let number = text.parse::<i32>().ok().filter(|number| (0..=100).contains(number));
                match named.map(|(_, number)| *number).or(number) {
                    Some(priority) => self.priority = priority - NORMAL,
                    None => wrong(
                        "use critical, high, normal, low, background, or a number from 0 to 100",
                    ),
                }
            }
        }
    }
}

/// In `A(x) with fallback: B(x) with retry: 2, timeout: 3s` all options after the fallback are those of `B`.
fn warn_of_taken_options(
    call: &Call,
    fallback: &Expression,
    source: &Source<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let Kind::Call(taker) = &fallback.kind else { return };
    let Some(with) = taker.with else { return };
    let binds = |call: &Call| {
        let options = call.options.iter().map(|option| match option.value {
            Some(_) if option.name.text == "fallback" => "fallback: …".to_owned(),
            Some(value) => format!("{}: {}", option.name.text, value.of(source.text())),
            None => option.name.text.clone(),
        });
        format!("`{}` with {}", call.module.text, options.collect::<Vec<_>>().join(", "))
    };
    let message = format!(
        "the options after this `with` are those of the fallback `{}`, and none of them is one of `{}`; \
         put the fallback in parentheses",
        taker.module.text, call.module.text
    );
    let shown = format!("this is {}, and {}", binds(call), binds(taker));
    let text = fallback.span.of(source.text());
    let found_here = Diagnostic::new(FlowKind::FallbackTakesOptions, with, message).note(shown);
    found.push(found_here.fix(fallback.span, format!("({text})"), false));
}
