//! Why a task gave up: the names that journals have, and a page for each.
//!
//! These are no diagnostics. They are about what happens while a flow runs, and not about its text.

/// The pages, by the names of their reasons.
const PAGES: [(&str, &str); 23] = [
    ("attempts-spent", include_str!("reason/attempts-spent.md")),
    ("rejected", include_str!("reason/rejected.md")),
    ("deadline", include_str!("reason/deadline.md")),
    ("wait-budget", include_str!("reason/wait-budget.md")),
    ("retry-after-too-long", include_str!("reason/retry-after-too-long.md")),
    ("budget", include_str!("reason/budget.md")),
    ("breaker-open", include_str!("reason/breaker-open.md")),
    ("failures-max", include_str!("reason/failures-max.md")),
    ("needs-skipped", include_str!("reason/needs-skipped.md")),
    ("value-missing", include_str!("reason/value-missing.md")),
    ("value-unreadable", include_str!("reason/value-unreadable.md")),
    ("value-has-nul", include_str!("reason/value-has-nul.md")),
    ("value-too-large", include_str!("reason/value-too-large.md")),
    ("bad-condition", include_str!("reason/bad-condition.md")),
    ("bad-value", include_str!("reason/bad-value.md")),
    ("bad-source", include_str!("reason/bad-source.md")),
    ("bad-item", include_str!("reason/bad-item.md")),
    ("bad-key", include_str!("reason/bad-key.md")),
    ("bad-output", include_str!("reason/bad-output.md")),
    ("secret-in-output", include_str!("reason/secret-in-output.md")),
    ("output-lost", include_str!("reason/output-lost.md")),
    ("vanished", include_str!("reason/vanished.md")),
    ("may-have-succeeded", include_str!("reason/may-have-succeeded.md")),
];

/// The names of all of them.
pub fn names() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(name, _)| *name)
}

/// The page that explains a reason, in Markdown: what happened, an example of how it comes to that, and the remedy.
///
/// ```
/// assert!(redial_flow::reason::page("value-too-large").unwrap().starts_with("# value-too-large"));
/// ```
pub fn page(name: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| *known == name).map(|(_, page)| *page)
}
