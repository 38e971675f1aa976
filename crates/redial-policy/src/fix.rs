//! The safe fixes of a text, applied.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::diagnostic::{Fix, Kind};
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
    let original = text;
    let mut text = text.to_owned();
    let mut document = read(&text, format, notation);
    let mut applied = 0;
    for _ in 0..rounds {
        let fixes = document.diagnostics().iter().filter_map(|found| found.fix.as_ref());
        let fixes: Vec<_> = apart(fixes.filter(|fix| fix.safe));
        // All at once; one by one where that would make something worse.
        let tried = std::iter::once(fixes.as_slice()).chain(fixes.chunks(1));
        let next = tried.filter(|fixes| !fixes.is_empty()).find_map(|fixes| {
            let fixed = replaced(&text, fixes);
            let after = read(&fixed, format, notation);
            is_no_worse(&document, &after).then_some((fixed, after, fixes.len()))
        });
        let Some((fixed, after, count)) = next else { return (text, applied) };
        applied += count;
        (text, document) = (fixed, after);
    }
    // A text that goes on changing was not meant to be fixed.
    (original.to_owned(), 0)
}

/// Whether there are not more errors than before, of any kind.
fn is_no_worse(before: &Document, after: &Document) -> bool {
    let errors = |document: &Document| {
        let mut errors: HashMap<Kind, usize> = HashMap::new();
        for found in document.diagnostics().iter().filter(|found| !found.is_warning()) {
            *errors.entry(found.kind).or_default() += 1;
        }
        errors
    };
    let before = errors(before);
    errors(after).iter().all(|(kind, count)| before.get(kind).is_some_and(|before| count <= before))
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
