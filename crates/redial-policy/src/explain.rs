//! What each diagnostic means: a page of its own, with an example and the fix.

use redial_core::clause::Kind as Clause;

use crate::diagnostic::Kind;

impl Kind {
    /// The page that explains it, in Markdown: what it means, an example that has it, and the
    /// same example without it.
    pub const fn page(self) -> &'static str {
        match self {
            Self::Clause(Clause::UnknownOption) => include_str!("explain/unknown-option.md"),
            _ => "",
        }
    }
}
