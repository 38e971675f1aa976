//! The checks that look at the whole clause, and the policy that it means.

use super::diagnostic::{Diagnostic, Kind, Span};
use super::option::Name;
use super::reader::{Growth, Reader, Written};
use crate::backoff::Backoff;
use crate::forecast::within_reach;
use crate::modifier::Modifier;
use crate::policy::{NO_LIMIT, Policy, UNLIMITED};
use crate::source::Kind as Formula;

/// The cap of a source that grows, where the clause writes none.
const DEFAULT_CAP: u64 = 30_000_000_000;

#[inline]
pub(crate) const fn lower(reader: &mut Reader<'_>) -> Policy {
    let mut backoff = source(reader);
    chain(reader, &mut backoff);
    if reader.diagnostics.errors == 0 {
        warn_without_effect(reader);
        warn_of_counts(reader, &backoff);
        warn_of_caps(reader, &backoff);
        warn_of_limits(reader, &backoff);
    }
    let retries = if reader.retries == u32::MAX { UNLIMITED } else { reader.retries as u64 };
    Policy::from_clause(backoff, retries, reader.within, reader.wait_budget)
}

#[inline]
const fn source(reader: &Reader<'_>) -> Backoff {
    let initial = reader.delay;
    match reader.growth {
        Growth::Fixed => Backoff::from_kind(Formula::Constant(initial)),
        Growth::Linear => {
            let written = reader.places[Name::Increment as usize].is_some();
            let increment = if written { reader.increment } else { initial };
            Backoff::from_kind(Formula::Linear { initial, increment })
        }
        Growth::Exponential => {
            Backoff::from_kind(Formula::Exponential { initial, factor: reader.factor })
        }
        Growth::Fibonacci => Backoff::from_kind(Formula::Fibonacci { initial }),
        Growth::List(delays, length) => Backoff::from_list(delays, length),
        Growth::Decorrelated => {
            let cap = if reader.uncapped { u64::MAX } else { default_cap(initial) };
            Backoff::decorrelated_below(initial, cap)
        }
    }
}

/// 30 s, and never below the delay that was written.
#[inline]
pub(crate) const fn default_cap(initial: u64) -> u64 {
    if initial > DEFAULT_CAP { initial } else { DEFAULT_CAP }
}

/// The cap of a source that grows, where the clause writes none.
#[inline]
const fn unwritten_cap(reader: &Reader<'_>) -> Option<u64> {
    let grows = !matches!(reader.growth, Growth::Fixed | Growth::List(..));
    if !grows || reader.uncapped || writes_max(reader) {
        return None;
    }
    // A floor above the default cap lifts it: the delay is the floor either way, and a clause
    // cannot have a cap below a floor.
    let (floor, cap) = (leading_floor(reader), default_cap(reader.delay));
    Some(if floor > cap { floor } else { cap })
}

#[inline]
const fn chain(reader: &mut Reader<'_>, backoff: &mut Backoff) {
    // A decorrelated source has its cap inside.
    if let (Some(cap), false) =
        (unwritten_cap(reader), matches!(reader.growth, Growth::Decorrelated))
    {
        backoff.push(Modifier::Max(cap));
    }
    let mut i = 0;
    while i < reader.modifiers_written {
        if let Some(Written { modifier, span }) = reader.modifiers[i] {
            if let Some((min, max)) = backoff.shape().chain().contradicts(modifier) {
                let inverted = Diagnostic::new(Kind::MinAboveMax, reader.text, span);
                reader.diagnostics.push(inverted.values(min, max));
            } else if backoff.shape().chain().is_full() {
                reader.push(Kind::TooManyModifiers, span, "", "");
            } else {
                backoff.push(modifier);
            }
        }
        i += 1;
    }
}

#[inline]
const fn writes_max(reader: &Reader<'_>) -> bool {
    let mut i = 0;
    while i < reader.modifiers_written {
        if let Some(Written { modifier: Modifier::Max(_), .. }) = reader.modifiers[i] {
            return true;
        }
        i += 1;
    }
    false
}

/// The highest `min_delay` before any jitter.
#[inline]
const fn leading_floor(reader: &Reader<'_>) -> u64 {
    let mut floor = 0;
    let mut i = 0;
    while i < reader.modifiers_written {
        match reader.modifiers[i] {
            Some(Written { modifier: Modifier::Min(min), .. }) if min > floor => floor = min,
            Some(Written { modifier, .. }) if modifier.is_jitter() => break,
            _ => {}
        }
        i += 1;
    }
    floor
}

#[inline]
const fn warn_without_effect(reader: &mut Reader<'_>) {
    let delay = reader.places[Name::Delay as usize];
    let backoff = reader.places[Name::Backoff as usize];
    let list = matches!(reader.growth, Growth::List(..));
    if let (Some(place), 0) = (delay, reader.retries) {
        reader.push(Kind::DelayWithoutRetry, place, "", "");
    }
    if let Some(place) = backoff {
        let empty_list = matches!(reader.growth, Growth::List(_, 0)) && !writes_max(reader);
        let grows_from_zero = matches!(reader.growth, Growth::Linear) && reader.increment > 0;
        if empty_list {
            let advice = "backoff: an empty list waits for nothing; write delays in it";
            reader.push(Kind::BackoffWithoutDelay, place, "", advice);
        } else if delay.is_none() && !list && !grows_from_zero {
            let advice =
                "backoff has no effect without a delay to grow from; add delay: 1s, or drop it";
            reader.push(Kind::BackoffWithoutDelay, place, "", advice);
        }
        if reader.retries == 0 {
            reader.push(Kind::BackoffWithoutRetry, place, "", "");
        }
    }
    if let (Some(place), true) = (backoff, never_grows(reader)) {
        let advice =
            "the default cap holds it at its first delay; write max_delay, or max_delay: none";
        reader.push(Kind::UnusedOption, place, "backoff", advice);
    }
    if let (Some(place), true) = (delay, list) {
        let advice = "a list has its own delays";
        reader.push(Kind::UnusedOption, place, "delay", advice);
    }
    if let (Some(place), false) =
        (reader.places[Name::Factor as usize], matches!(reader.growth, Growth::Exponential))
    {
        let advice = "only backoff: exponential has a factor";
        reader.push(Kind::UnusedOption, place, "factor", advice);
    }
    if let (Some(place), false) =
        (reader.places[Name::Increment as usize], matches!(reader.growth, Growth::Linear))
    {
        let advice = "only backoff: linear has an increment";
        reader.push(Kind::UnusedOption, place, "increment", advice);
    }
}

/// Whether a source that should grow starts at the default cap.
#[inline]
const fn never_grows(reader: &Reader<'_>) -> bool {
    unwritten_cap(reader).is_some() && reader.delay >= DEFAULT_CAP
}

#[inline]
const fn warn_of_counts(reader: &mut Reader<'_>, backoff: &Backoff) {
    let (option, place) =
        match (reader.places[Name::Retry as usize], reader.places[Name::Attempts as usize]) {
            (Some(place), _) => ("retry", place),
            (None, Some(place)) => ("attempts", place),
            (None, None) => return,
        };
    let retries = reader.retries;
    if retries == u32::MAX {
        let timed = reader.within != NO_LIMIT;
        let instant = never_waits(reader, backoff);
        if !timed && (reader.wait_budget == NO_LIMIT || instant) {
            reader.push(Kind::Unbounded, place, "", "");
            if instant {
                reader.push(Kind::HotLoop, place, "", "");
            }
        }
        return;
    }
    if retries > 10 {
        let many = Diagnostic::new(Kind::ManyRetries, reader.text, place);
        reader.diagnostics.push(many.option(option).values(retries as u64, 0));
    }
    if let (Growth::List(_, length), Some(place)) =
        (reader.growth, reader.places[Name::Backoff as usize])
    {
        if length as u64 > retries as u64 && retries > 0 {
            let unused = Diagnostic::new(Kind::ListLongerThanAttempts, reader.text, place);
            reader.diagnostics.push(unused.values(length as u64, retries as u64));
        }
    }
}

/// Whether no delay is ever longer than nothing.
#[inline]
const fn never_waits(reader: &Reader<'_>, backoff: &Backoff) -> bool {
    let mut greatest = greatest_source(reader, backoff);
    let modifiers = backoff.shape().chain();
    let mut i = 0;
    while i < modifiers.len() {
        greatest = modifiers.get(i).range(greatest).1;
        i += 1;
    }
    greatest == 0
}

#[inline]
const fn warn_of_caps(reader: &mut Reader<'_>, backoff: &Backoff) {
    if let Some(cap) = unwritten_cap(reader) {
        warn_of_excess(reader, backoff, 0, cap);
    }
    let mut i = 0;
    let mut first_max = true;
    while i < reader.modifiers_written {
        if let Some(Written { modifier: Modifier::Max(max), span }) = reader.modifiers[i] {
            if first_max {
                warn_of_cap_below_base(reader, backoff, max, span);
                first_max = false;
            }
            warn_of_pile(reader, backoff, i, max, span);
            warn_of_excess(reader, backoff, i + 1, max);
        }
        i += 1;
    }
}

#[inline]
const fn warn_of_cap_below_base(reader: &mut Reader<'_>, backoff: &Backoff, max: u64, span: Span) {
    let (base, what) = match reader.growth {
        Growth::List(delays, length) => {
            let mut longest = 0;
            let mut i = 0;
            while i < length {
                if delays[i] > longest {
                    longest = delays[i];
                }
                i += 1;
            }
            (longest, "longest delay of the list")
        }
        Growth::Decorrelated => (reader.delay, "delay"),
        _ => (backoff.shape().at(0), "delay"),
    };
    if max < base {
        let below = Diagnostic::new(Kind::CapBelowBase, reader.text, span);
        reader.diagnostics.push(below.advice(what).values(base, max));
    }
}

/// Jitter, then a cap that the source reaches, and no jitter after it.
#[inline]
const fn warn_of_pile(
    reader: &mut Reader<'_>,
    backoff: &Backoff,
    cap: usize,
    max: u64,
    span: Span,
) {
    if !jitter_in(reader, 0, cap) || jitter_in(reader, cap + 1, reader.modifiers_written) {
        return;
    }
    let reached = greatest_source(reader, backoff);
    let mut before = reached;
    let mut i = 0;
    // Bounds before the jitter hold the source back; the jitter itself is left out.
    while i < cap {
        if let Some(Written { modifier, .. }) = reader.modifiers[i] {
            if !modifier.is_jitter() {
                before = modifier.range(before).1;
            }
        }
        i += 1;
    }
    if before >= max && max > 0 {
        let pile = Diagnostic::new(Kind::CapErasesJitter, reader.text, span);
        reader.diagnostics.push(pile.values(before, max));
    }
}

/// A cap, then a jitter that takes a delay above it, and no cap after that. `after` is the index of
/// the first modifier after the cap: 0 for the default one.
#[inline]
const fn warn_of_excess(reader: &mut Reader<'_>, backoff: &Backoff, after: usize, max: u64) {
    let mut value = greatest_source(reader, backoff);
    if after == 0 && value > max {
        value = max;
    }
    let mut i = 0;
    let mut exceeding = None;
    while i < reader.modifiers_written {
        if let Some(Written { modifier, span }) = reader.modifiers[i] {
            value = modifier.range(value).1;
            if i >= after {
                match modifier {
                    Modifier::Max(_) => return,
                    Modifier::Min(_) => {}
                    _ if exceeding.is_none() && value > max => exceeding = Some(span),
                    _ => {}
                }
            }
        }
        i += 1;
    }
    if let Some(span) = exceeding {
        let excess = Diagnostic::new(Kind::JitterAboveCap, reader.text, span);
        let excess = if after == 0 { excess.advice("the default cap of ") } else { excess };
        reader.diagnostics.push(excess.values(value, max));
    }
}

#[inline]
const fn jitter_in(reader: &Reader<'_>, from: usize, to: usize) -> bool {
    let mut i = from;
    while i < to {
        if let Some(Written { modifier, .. }) = reader.modifiers[i] {
            if modifier.is_jitter() {
                return true;
            }
        }
        i += 1;
    }
    false
}

/// The greatest value that the source gives in any retry.
#[inline]
const fn greatest_source(reader: &Reader<'_>, backoff: &Backoff) -> u64 {
    if reader.retries == 0 {
        return 0;
    }
    match reader.growth {
        Growth::List(delays, length) => {
            let mut greatest = backoff.shape().at(reader.retries as u64 - 1);
            let mut i = 0;
            while i < length && (i as u64) < reader.retries as u64 {
                if delays[i] > greatest {
                    greatest = delays[i];
                }
                i += 1;
            }
            greatest
        }
        Growth::Decorrelated if reader.delay == 0 => 0,
        Growth::Decorrelated => backoff.shape().source_cap(),
        _ => backoff.shape().at(reader.retries as u64 - 1),
    }
}

/// Attempts that cannot start however lucky the draws and however quick the attempts are.
#[inline]
const fn warn_of_limits(reader: &mut Reader<'_>, backoff: &Backoff) {
    if let (Some(timeout), Some(call)) = (reader.timeout, reader.call_options[0]) {
        if timeout > reader.within {
            let above = Diagnostic::new(Kind::TimeoutAboveDeadline, reader.text, call.value());
            reader.diagnostics.push(above.values(timeout, reader.within));
        }
    }
    if reader.retries == 0 || reader.retries == u32::MAX {
        return;
    }
    let limited = [
        (Name::Within, reader.within, NO_LIMIT, "the deadline"),
        (Name::WaitBudget, NO_LIMIT, reader.wait_budget, "the wait budget"),
    ];
    let mut i = 0;
    while i < limited.len() {
        let (option, within, wait_budget, what) = limited[i];
        if let Some(place) = reader.places[option as usize] {
            let reached = within_reach(backoff, reader.retries as u64, within, wait_budget);
            if reached < reader.retries as u64 {
                let limit = if within < wait_budget { within } else { wait_budget };
                let never = Diagnostic::new(Kind::AttemptsPastDeadline, reader.text, place)
                    .advice(what)
                    .values(reached + 2, reader.retries as u64 + 1)
                    .limit(limit);
                reader.diagnostics.push(never);
            }
        }
        i += 1;
    }
}
