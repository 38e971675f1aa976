//! What each diagnostic means: a page of its own, with an example and the fix.

use crate::diagnostic::Kind;

/// The pages, by the name of their diagnostic.
const PAGES: &[(&str, &str)] = &[
    ("syntax", include_str!("explain/syntax.md")),
    ("unknown-option", include_str!("explain/unknown-option.md")),
    ("duplicate-option", include_str!("explain/duplicate-option.md")),
    ("two-counts", include_str!("explain/two-counts.md")),
    ("wrong-type", include_str!("explain/wrong-type.md")),
    ("missing-unit", include_str!("explain/missing-unit.md")),
    ("zero-attempts", include_str!("explain/zero-attempts.md")),
    ("negative", include_str!("explain/negative.md")),
    ("factor-below-one", include_str!("explain/factor-below-one.md")),
    ("jitter-out-of-range", include_str!("explain/jitter-out-of-range.md")),
    ("min-above-max", include_str!("explain/min-above-max.md")),
    ("too-many-digits", include_str!("explain/too-many-digits.md")),
    ("too-many-modifiers", include_str!("explain/too-many-modifiers.md")),
    ("list-too-long", include_str!("explain/list-too-long.md")),
    ("delay-without-retry", include_str!("explain/delay-without-retry.md")),
    ("backoff-without-delay", include_str!("explain/backoff-without-delay.md")),
    ("backoff-without-retry", include_str!("explain/backoff-without-retry.md")),
    ("unused-option", include_str!("explain/unused-option.md")),
    ("many-retries", include_str!("explain/many-retries.md")),
    ("cap-below-base", include_str!("explain/cap-below-base.md")),
    ("cap-erases-jitter", include_str!("explain/cap-erases-jitter.md")),
    ("jitter-above-cap", include_str!("explain/jitter-above-cap.md")),
    ("list-longer-than-attempts", include_str!("explain/list-longer-than-attempts.md")),
    ("timeout-above-deadline", include_str!("explain/timeout-above-deadline.md")),
    ("attempts-past-deadline", include_str!("explain/attempts-past-deadline.md")),
    ("unbounded", include_str!("explain/unbounded.md")),
    ("hot-loop", include_str!("explain/hot-loop.md")),
    ("bad-pattern", include_str!("explain/bad-pattern.md")),
    ("ambiguous-dialect", include_str!("explain/ambiguous-dialect.md")),
    ("unknown-policy", include_str!("explain/unknown-policy.md")),
    ("circular-extends", include_str!("explain/circular-extends.md")),
    ("too-large", include_str!("explain/too-large.md")),
    ("no-policy", include_str!("explain/no-policy.md")),
    ("ignored-there", include_str!("explain/ignored-there.md")),
    ("rejected-there", include_str!("explain/rejected-there.md")),
    ("lowered-there", include_str!("explain/lowered-there.md")),
    ("computed", include_str!("explain/computed.md")),
    ("not-read-yet", include_str!("explain/not-read-yet.md")),
    ("no-steps", include_str!("explain/no-steps.md")),
    ("one-action", include_str!("explain/one-action.md")),
    ("bad-name", include_str!("explain/bad-name.md")),
    ("unknown-step", include_str!("explain/unknown-step.md")),
    ("unknown-value", include_str!("explain/unknown-value.md")),
    ("circular-needs", include_str!("explain/circular-needs.md")),
    ("inner-step", include_str!("explain/inner-step.md")),
    ("item-outside-map", include_str!("explain/item-outside-map.md")),
    ("nested-map", include_str!("explain/nested-map.md")),
    ("bad-branch", include_str!("explain/bad-branch.md")),
    ("bad-reference", include_str!("explain/bad-reference.md")),
    ("nested-interpreter", include_str!("explain/nested-interpreter.md")),
    ("unclear-shell", include_str!("explain/unclear-shell.md")),
    ("bad-expression", include_str!("explain/bad-expression.md")),
    ("bad-path", include_str!("explain/bad-path.md")),
    ("unknown-rules", include_str!("explain/unknown-rules.md")),
    ("not-supported", include_str!("explain/not-supported.md")),
    ("no-runner", include_str!("explain/no-runner.md")),
    ("program-not-found", include_str!("explain/program-not-found.md")),
    ("no-worktrees", include_str!("explain/no-worktrees.md")),
    ("looks-like-an-option", include_str!("explain/looks-like-an-option.md")),
    ("leaves-the-directory", include_str!("explain/leaves-the-directory.md")),
    ("unknown-module", include_str!("explain/unknown-module.md")),
    ("unknown-type", include_str!("explain/unknown-type.md")),
    ("type-mismatch", include_str!("explain/type-mismatch.md")),
    ("fallback-takes-options", include_str!("explain/fallback-takes-options.md")),
];

impl Kind {
    /// The page that explains it, in Markdown: what it means, an example that has it, and the
    /// same example without it.
    pub fn page(self) -> &'static str {
        let page = PAGES.iter().find(|(name, _)| *name == self.name());
        page.expect("every kind has a page").1
    }
}
