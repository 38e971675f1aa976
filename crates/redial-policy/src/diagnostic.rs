//! What is wrong with a text, where, and what would be right.

use std::fmt;

use redial_core::clause;
pub use redial_core::clause::Span;

use crate::fields::nearest;

/// The name of a diagnostic: those of the clause, and those that only files can have.
///
/// ```
/// use redial_policy::Kind;
///
/// let kind = Kind::named("unknown-option").unwrap();
/// assert!(!kind.is_warning());
/// assert!(kind.page().contains("# unknown-option"));
/// assert_eq!(Kind::all().filter(|kind| kind.name() == "bad-pattern").count(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// What a clause can have too.
    Clause(clause::Kind),
    /// A regular expression that does not compile.
    BadPattern,
    /// A map that could be in more than one notation.
    AmbiguousDialect,
    /// A name that no policy of the file has.
    UnknownPolicy,
    /// Policies that extend one another in a circle.
    CircularExtends,
    /// More text, or a deeper nesting, than a policy file can need.
    TooLarge,
    /// A text without any policy.
    NoPolicy,
}

impl Kind {
    const OF_FILES: [Self; 6] = [
        Self::BadPattern,
        Self::AmbiguousDialect,
        Self::UnknownPolicy,
        Self::CircularExtends,
        Self::TooLarge,
        Self::NoPolicy,
    ];

    /// Every kind there is.
    pub fn all() -> impl Iterator<Item = Self> {
        clause::Kind::ALL.iter().copied().map(Self::Clause).chain(Self::OF_FILES)
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// The kind whose name was probably meant.
    pub fn nearest(name: &str) -> Option<Self> {
        let names: Vec<_> = Self::all().map(Self::name).collect();
        nearest(name, &names).and_then(Self::named)
    }

    /// Its name, which does not change.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clause(kind) => kind.name(),
            Self::BadPattern => "bad-pattern",
            Self::AmbiguousDialect => "ambiguous-dialect",
            Self::UnknownPolicy => "unknown-policy",
            Self::CircularExtends => "circular-extends",
            Self::TooLarge => "too-large",
            Self::NoPolicy => "no-policy",
        }
    }

    /// Whether the policy runs all the same.
    pub const fn is_warning(self) -> bool {
        match self {
            Self::Clause(kind) => kind.is_warning(),
            Self::NoPolicy => true,
            _ => false,
        }
    }
}

impl From<clause::Kind> for Kind {
    fn from(kind: clause::Kind) -> Self {
        Self::Clause(kind)
    }
}

/// One finding in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its name.
    pub kind: Kind,
    /// Where it is, in bytes of the text that was read.
    pub span: Span,
    /// What is wrong, with the values, and what would be right.
    pub message: String,
    /// What else to know: which policy it is about, where that is not plain from the place.
    pub note: Option<String>,
    /// The text that would be right, where it is known.
    pub fix: Option<Fix>,
}

/// A change of the text that removes a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What to replace.
    pub span: Span,
    /// By what.
    pub replacement: String,
    /// Whether it can be applied without asking: nothing that runs today runs otherwise then.
    pub safe: bool,
}

impl Diagnostic {
    /// A finding with nothing but its words.
    pub(crate) fn new(kind: impl Into<Kind>, span: Span, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), span, message: printable(message.into()), note: None, fix: None }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(printable(note.into()));
        self
    }

    pub(crate) fn fix(mut self, span: Span, replacement: impl Into<String>, safe: bool) -> Self {
        self.fix = Some(Fix { span, replacement: replacement.into(), safe });
        self
    }

    /// Whether the policy runs all the same.
    pub const fn is_warning(&self) -> bool {
        self.kind.is_warning()
    }

    /// `warning` or `error`.
    pub const fn severity(&self) -> &'static str {
        if self.is_warning() { "warning" } else { "error" }
    }
}

/// What is quoted from a text may come from anywhere: it must not steer a terminal.
pub(crate) fn printable(message: String) -> String {
    if message.contains(char::is_control) {
        return message.replace(['\n', '\t'], " ").replace(char::is_control, "?");
    }
    message
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = self.severity();
        write!(f, "{severity}[{}]: {}", self.kind.name(), self.message)
    }
}
