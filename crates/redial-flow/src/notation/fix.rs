//! The safe fixes of a flow, applied.

use redial_policy::notation::{apply_fixes, has_no_more_errors, safe_fixes};
use redial_policy::{Fix, Format};

use super::{Options, Reading};

/// One fix may uncover another.
const ROUNDS: usize = 16;

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
            fixed = apply_fixes(&fixed, &fixes);
        }
        // The fixes do not converge.
        (text.to_owned(), 0)
    }

    /// The fixes that [`fix`](Self::fix) applies to a text, of which this was read: the safe ones, except those that would
    /// cause another error.
    pub fn fixable(&self, text: &str, format: Format, reading: &Reading) -> Vec<Fix> {
        safe_fixes(text, &reading.diagnostics, |fixed| {
            has_no_more_errors(&reading.diagnostics, &self.read(fixed, format).diagnostics)
        })
    }
}
