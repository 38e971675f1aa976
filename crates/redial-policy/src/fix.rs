//! The safe fixes of a text, applied.

use std::ops::RangeInclusive;

use crate::diagnostic::Fix;
use crate::document::{Document, Format, Notation, read};

/// A text with its safe fixes applied, and how many there were.
///
/// ```
/// use redial_policy::{Format, fix};
///
/// let (text, applied) = fix("retry: 3, dely: 1s, jitter: true,", Format::Text, None);
/// assert_eq!((text.as_str(), applied), ("retry: 3, delay: 1s, jitter: full", 3));
/// ```
pub fn fix(text: &str, format: Format, notation: Option<Notation>) -> (String, usize) {
    /// One fix can make room for another, and of a clause only so many findings are told at once.
    const ROUNDS: RangeInclusive<usize> = 16..=1024;
    /// How much text is read for a fix in all, so that a long one does not take minutes.
    const READ_MAX: usize = 1 << 20;
    let rounds = (READ_MAX / text.len().max(1)).clamp(*ROUNDS.start(), *ROUNDS.end());
    let errors = |document: &Document| {
        document.diagnostics().iter().filter(|found| !found.is_warning()).count()
    };
    let original = text;
    let mut text = text.to_owned();
    let mut document = read(&text, format, notation);
    let mut applied = 0;
    for _ in 0..rounds {
        let fixes = document.diagnostics().iter().filter_map(|found| found.fix.as_ref());
        let fixes: Vec<_> = apart(fixes.filter(|fix| fix.safe));
        if fixes.is_empty() {
            return (text, applied);
        }
        let fixed = replaced(&text, &fixes);
        let after = read(&fixed, format, notation);
        if errors(&after) > errors(&document) {
            return (text, applied);
        }
        applied += fixes.len();
        (text, document) = (fixed, after);
    }
    // A text that goes on changing was not meant to be fixed.
    (original.to_owned(), 0)
}

/// Those that do not touch one another, in the order of the text.
fn apart<'f>(fixes: impl Iterator<Item = &'f Fix>) -> Vec<&'f Fix> {
    let mut all: Vec<_> = fixes.collect();
    all.sort_by_key(|fix| (fix.span.start, fix.span.end));
    let mut free = 0;
    all.retain(|fix| {
        let apart = fix.span.start >= free;
        if apart {
            free = fix.span.end.max(fix.span.start + 1);
        }
        apart
    });
    all
}

fn replaced(text: &str, fixes: &[&Fix]) -> String {
    let mut fixed = String::with_capacity(text.len());
    let mut from = 0;
    for fix in fixes {
        fixed += text.get(from..fix.span.start).unwrap_or_default();
        fixed += &fix.replacement;
        from = fix.span.end;
    }
    fixed + text.get(from..).unwrap_or_default()
}
