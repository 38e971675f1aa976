//! The safe fixes of a flow, applied.

use std::collections::HashMap;

use redial_policy::{Fix, Format, Kind};

use super::{Options, Reading};

/// One fix may uncover another.
const ROUNDS: usize = 16;
/// How much text is read to try fixes one by one.
const READ_MAX: usize = 8 << 20;

impl Options<'_> {
    /// A text with its safe fixes applied, and how many there were.
    ///
    /// ```
    /// use redial_flow::notation::Options;
    /// use redial_policy::Format;
    ///
    /// let text = "steps: {a: {run: [ls], timeot: 5s}}";
    /// let (fixed, count) = Options::default().fix(text, Format::Yaml);
    /// assert_eq!((fixed.as_str(), count), ("steps: {a: {run: [ls], timeout: 5s}}", 1));
    /// ```
    pub fn fix(&self, text: &str, format: Format) -> (String, usize) {
        let (mut fixed, mut applied) = (text.to_owned(), 0);
        for _ in 0..ROUNDS {
            let fixes = self.fixable(&fixed, format, &self.read(&fixed, format));
            if fixes.is_empty() {
                return (fixed, applied);
            }
            applied += fixes.len();
            fixed = replaced(&fixed, &fixes);
        }
        // The fixes do not converge.
        (text.to_owned(), 0)
    }

    /// The fixes that [`fix`](Self::fix) applies to a text, of which this was read: the safe ones, except those that would
    /// cause another error.
    pub fn fixable(&self, text: &str, format: Format, reading: &Reading) -> Vec<Fix> {
        let fixes = reading.diagnostics.iter().filter_map(|found| found.fix.as_ref());
        let all = without_overlaps(fixes.filter(|fix| fix.safe));
        let before = errors(reading);
        let helps = |fixes: &[Fix]| {
            let after = errors(&self.read(&replaced(text, fixes), format));
            let is_no_more =
                |(kind, count): (&Kind, &usize)| before.get(kind).is_some_and(|was| count <= was);
            after.iter().all(is_no_more)
        };
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
}

fn errors(reading: &Reading) -> HashMap<Kind, usize> {
    let mut errors = HashMap::new();
    for found in reading.diagnostics.iter().filter(|found| !found.is_warning()) {
        *errors.entry(found.kind).or_default() += 1;
    }
    errors
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

fn replaced(text: &str, fixes: &[Fix]) -> String {
    let mut fixed = String::with_capacity(text.len());
    let mut from = 0;
    for fix in fixes {
        fixed += text.get(from..fix.span.start).unwrap_or_default();
        fixed += &fix.replacement;
        from = fix.span.end;
    }
    fixed + text.get(from..).unwrap_or_default()
}
