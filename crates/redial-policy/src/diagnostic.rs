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
    /// A field that another system ignores where it stands.
    IgnoredThere,
    /// A policy that another system refuses as a whole.
    RejectedThere,
    /// A number that another system lowers in silence.
    LoweredThere,
    /// A value that is only known when another system runs.
    Computed,
    /// A policy of a system that is known and not read yet.
    NotReadYet,
    /// What only a flow can have.
    Flow(FlowKind),
}

impl Kind {
    const OF_FILES: [Self; 11] = [
        Self::BadPattern,
        Self::AmbiguousDialect,
        Self::UnknownPolicy,
        Self::CircularExtends,
        Self::TooLarge,
        Self::NoPolicy,
        Self::IgnoredThere,
        Self::RejectedThere,
        Self::LoweredThere,
        Self::Computed,
        Self::NotReadYet,
    ];

    /// Every kind there is.
    pub fn all() -> impl Iterator<Item = Self> {
        clause::Kind::ALL
            .iter()
            .copied()
            .map(Self::Clause)
            .chain(Self::OF_FILES)
            .chain(FlowKind::ALL.map(Self::Flow))
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
            Self::IgnoredThere => "ignored-there",
            Self::RejectedThere => "rejected-there",
            Self::LoweredThere => "lowered-there",
            Self::Computed => "computed",
            Self::NotReadYet => "not-read-yet",
            Self::Flow(kind) => kind.name(),
        }
    }

    /// Whether it is a warning, so that the policy can run.
    pub const fn is_warning(self) -> bool {
        match self {
            Self::Clause(kind) => kind.is_warning(),
            Self::NoPolicy | Self::IgnoredThere | Self::LoweredThere => true,
            Self::Flow(kind) => kind.is_warning(),
            _ => false,
        }
    }
}

/// The name of a diagnostic that only a flow can have: a file of steps, which `redial-flow` reads. The names stand here so
/// that all diagnostics are one list, with a page each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlowKind {
    /// A flow or a map without steps.
    NoSteps,
    /// A step that does not say what it does, or says it twice.
    OneAction,
    /// A name that a step cannot have.
    BadName,
    /// A name that no step has.
    UnknownStep,
    /// A reference to what is not there.
    UnknownValue,
    /// Steps that need one another in a circle.
    CircularNeeds,
    /// A reference from outside to a step of a map.
    InnerStep,
    /// A reference to the item where there is none.
    ItemOutsideMap,
    /// A map inside a map.
    NestedMap,
    /// An arm without a condition, or arms that do not go together.
    BadBranch,
    /// `${` and no reference after it.
    BadReference,
    /// A value that would become a part of code.
    NestedInterpreter,
    /// A shell line whose quoting is unclear.
    UnclearShell,
    /// An expression that is none.
    BadExpression,
    /// A path into items that is none.
    BadPath,
    /// Rules that are not there.
    UnknownRules,
    /// What another system has, or a later version may have, and this one does not.
    NotSupported,
    /// A step for a runner that is not configured.
    NoRunner,
    /// A program that is not on the `PATH`.
    ProgramNotFound,
    /// A step that expects a worktree of its own.
    NoWorktrees,
    /// A value that begins with `-`.
    LooksLikeAnOption,
    /// A value with `..` in a file name.
    LeavesTheDirectory,
    /// A call of a module that is not declared.
    UnknownModule,
    /// A name that no type has.
    UnknownType,
    /// A value of another type than what takes it.
    TypeMismatch,
    /// Options that belong to the fallback of a call, and look as if they belonged to the call.
    FallbackTakesOptions,
}

impl FlowKind {
    const ALL: [Self; 26] = [
        Self::NoSteps,
        Self::OneAction,
        Self::BadName,
        Self::UnknownStep,
        Self::UnknownValue,
        Self::CircularNeeds,
        Self::InnerStep,
        Self::ItemOutsideMap,
        Self::NestedMap,
        Self::BadBranch,
        Self::BadReference,
        Self::NestedInterpreter,
        Self::UnclearShell,
        Self::BadExpression,
        Self::BadPath,
        Self::UnknownRules,
        Self::NotSupported,
        Self::NoRunner,
        Self::ProgramNotFound,
        Self::NoWorktrees,
        Self::LooksLikeAnOption,
        Self::LeavesTheDirectory,
        Self::UnknownModule,
        Self::UnknownType,
        Self::TypeMismatch,
        Self::FallbackTakesOptions,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::NoSteps => "no-steps",
            Self::OneAction => "one-action",
            Self::BadName => "bad-name",
            Self::UnknownStep => "unknown-step",
            Self::UnknownValue => "unknown-value",
            Self::CircularNeeds => "circular-needs",
            Self::InnerStep => "inner-step",
            Self::ItemOutsideMap => "item-outside-map",
            Self::NestedMap => "nested-map",
            Self::BadBranch => "bad-branch",
            Self::BadReference => "bad-reference",
            Self::NestedInterpreter => "nested-interpreter",
            Self::UnclearShell => "unclear-shell",
            Self::BadExpression => "bad-expression",
            Self::BadPath => "bad-path",
            Self::UnknownRules => "unknown-rules",
            Self::NotSupported => "not-supported",
            Self::NoRunner => "no-runner",
            Self::ProgramNotFound => "program-not-found",
            Self::NoWorktrees => "no-worktrees",
            Self::LooksLikeAnOption => "looks-like-an-option",
            Self::LeavesTheDirectory => "leaves-the-directory",
            Self::UnknownModule => "unknown-module",
            Self::UnknownType => "unknown-type",
            Self::TypeMismatch => "type-mismatch",
            Self::FallbackTakesOptions => "fallback-takes-options",
        }
    }

    const fn is_warning(self) -> bool {
        matches!(
            self,
            Self::NoWorktrees
                | Self::LooksLikeAnOption
                | Self::LeavesTheDirectory
                | Self::FallbackTakesOptions
        )
    }
}

impl From<FlowKind> for Kind {
    fn from(kind: FlowKind) -> Self {
        Self::Flow(kind)
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
    /// More about it, such as which policy it is about where the place does not tell.
    pub note: Option<String>,
    /// How to fix it, where that is known.
    pub fix: Option<Fix>,
}

/// A change of the text that removes a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What to replace.
    pub span: Span,
    /// By what.
    pub replacement: String,
    /// Whether it can be applied without asking, because it changes no delay of a policy that runs.
    pub safe: bool,
}

impl Diagnostic {
    /// A diagnostic without a note or a fix.
    pub fn new(kind: impl Into<Kind>, span: Span, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), span, message: printable(message.into()), note: None, fix: None }
    }

    /// With a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(printable(note.into()));
        self
    }

    /// With a fix; see [`Fix`].
    #[must_use]
    pub fn fix(mut self, span: Span, replacement: impl Into<String>, safe: bool) -> Self {
        self.fix = Some(Fix { span, replacement: replacement.into(), safe });
        self
    }

    /// Whether it is a warning, so that the policy can run.
    pub const fn is_warning(&self) -> bool {
        self.kind.is_warning()
    }

    /// `warning` or `error`.
    pub const fn severity(&self) -> &'static str {
        if self.is_warning() { "warning" } else { "error" }
    }
}

/// Without control characters: text that is quoted from a file must not control a terminal.
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
