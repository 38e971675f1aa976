//! The safe fixes of a text, applied.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::Format;
use crate::diagnostic::{Diagnostic, Fix, Kind};
use crate::document::{Document, Notation, read};

/// A text with its safe fixes applied, and how many there were.
///
/// ```
/// use redial_policy::{Format, fix};
///
/// let (text, applied) = fix("retry: 3, dely: 1s, jitter: true,", Format::Text, None);
/// assert_eq!((text.as_str(), applied), ("retry: 3, delay: 1s, jitter: full", 3));
/// ```
pub fn fix(text: &str, format: Format, notation: Option<Notation>) -> (String, usize) {
    /// One fix may uncover another, and only so many findings of a clause are reported at once.
    const ROUNDS: RangeInclusive<usize> = 16..=1024;
    /// How much text is read in all, so that a long one does not take minutes.
    const READ_MAX: usize = 1 << 20;
    let rounds = (READ_MAX / text.len().max(1)).clamp(*ROUNDS.start(), *ROUNDS.end());
    let original = text;
    let mut text = text.to_owned();
    let mut document = read(&text, format, notation);
    let mut applied = 0;
    for _ in 0..rounds {
        let fixes = fixable(&text, &document, format, notation);
        if fixes.is_empty() {
            return (text, applied);
        }
        applied += fixes.len();
        let fixed = apply_fixes(&text, &fixes);
        document = read(&fixed, format, notation);
        text = fixed;
    }
    // The fixes do not converge.
    (original.to_owned(), 0)
}

/// The fixes of a document that [`fix`] applies to its text: the safe ones, except those that would cause
/// another error.
///
/// ```
/// use redial_policy::{Format, fixable, read};
///
/// let applied = |text: &str| {
///     let document = read(text, Format::Text, None);
///     fixable(text, &document, Format::Text, None).len()
/// };
/// assert_eq!(applied("retry: 3, dely: 1s"), 1);
/// // As `delay` it would still lack a unit.
/// assert_eq!(applied("retry: 3, dely: 1"), 0);
/// ```
pub fn fixable(
    text: &str,
    document: &Document,
    format: Format,
    notation: Option<Notation>,
) -> Vec<Fix> {
    safe_fixes(text, document.diagnostics(), |fixed| {
        is_no_worse(document, &read(fixed, format, notation))
    })
}

/// All safe fixes of these findings; where those would make something worse, each one that does not, in the order of the
/// text.
pub fn safe_fixes(
    text: &str,
    found: &[Diagnostic],
    is_no_worse: impl Fn(&str) -> bool,
) -> Vec<Fix> {
    /// How much text is read to try them one by one.
    const READ_MAX: usize = 8 << 20;
    let fixes = found.iter().filter_map(|found| found.fix.as_ref());
    let all = without_overlaps(fixes.filter(|fix| fix.safe));
    let helps = |fixes: &[Fix]| is_no_worse(&apply_fixes(text, fixes));
    if all.is_empty() || helps(&all) {
        return all;
    }
    let mut kept = Vec::new();
    for fix in all.into_iter().take(READ_MAX / text.len().max(1)) {
        kept.push(fix);
        if !helps(&kept) {
            kept.pop();
        }
    }
    kept
}

/// Whether there are not more errors of any kind than before, and every policy that could run is still
/// there: a quote or bracket that is added may close in the wrong place.
fn is_no_worse(before: &Document, after: &Document) -> bool {
    let mut kept = after.policies();
    let mut ran = before.policies().filter(|entry| entry.policy.is_some());
    let keeps_all =
        ran.all(|entry| kept.any(|other| other.name == entry.name && other.clause == entry.clause));
    keeps_all && has_no_more_errors(before.diagnostics(), after.diagnostics())
}

/// Whether there are not more errors of any kind than before.
pub fn has_no_more_errors(before: &[Diagnostic], after: &[Diagnostic]) -> bool {
    let errors = |found: &[Diagnostic]| {
        let mut errors: HashMap<Kind, usize> = HashMap::new();
        for found in found.iter().filter(|found| !found.is_warning()) {
            *errors.entry(found.kind).or_default() += 1;
        }
        errors
    };
    let before = errors(before);
    let is_fewer =
        |(kind, count): (&Kind, &usize)| before.get(kind).is_some_and(|before| count <= before);
    errors(after).iter().all(is_fewer)
}

/// The first of those that overlap, in the order of the text.
fn without_overlaps<'f>(fixes: impl Iterator<Item = &'f Fix>) -> Vec<Fix> {
    let mut all: Vec<Fix> = fixes.cloned().collect();
    all.sort_by_key(|fix| (fix.span.start, fix.span.end));
    let mut end = 0;
    all.retain(|fix| {
        let is_free = fix.span.start >= end;
        if is_free {
            end = fix.span.end.max(fix.span.start + 1);
        }
        is_free
    });
    all
}

/// A text with these fixes, which do not overlap and are in its order.
pub fn apply_fixes(text: &str, fixes: &[Fix]) -> String {
    let mut fixed = String::with_capacity(text.len());
    let mut from = 0;
    for fix in fixes {
        fixed += text.get(from..fix.span.start).unwrap_or_default();
        fixed += &fix.replacement;
        from = fix.span.end;
    }
    fixed + text.get(from..).unwrap_or_default()
}
