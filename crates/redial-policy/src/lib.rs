//! The notations of redial: many ways to write a policy, one meaning.
//!
//! A text goes in ([`read`]): a clause, a script with clauses in it, a `retry_config`, a
//! `retryPolicy`, or our own file of named policies, in YAML, TOML or JSON. What comes out is every
//! policy in it as the engine's own [`Policy`](redial_core::Policy), and every
//! [`Diagnostic`] with its place to the byte. A [`Plan`] shows what a policy will do, and
//! [`convert()`] writes it in another notation and names what was lost.
//!
//! ```
//! use redial_policy::{Format, read};
//!
//! let text = "
//! policies:
//!   fetch: 'retry: 4, delay: 100ms, backoff: exponential, jitter: full'
//!   patient:
//!     extends: fetch
//!     atempts: 10
//! ";
//! let document = read(text, Format::Yaml, None);
//! assert_eq!(document.policies().len(), 2);
//! let found = &document.diagnostics()[0];
//! assert_eq!(found.message, "`atempts` is not a field of a policy; did you mean `attempts`?");
//! assert_eq!(found.span.of(text), "atempts");
//! ```
//!
//! Nothing here does I/O, and no text makes it panic or take unbounded time or memory: what is larger
//! or deeper than a policy file can need is refused.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// What `redial run` needs comes first: code that lies together is read from the disk together.
mod clause;
mod document;
mod draft;
mod found_delay;
mod rules;
mod script;
mod watch;

mod condition;
mod convert;
mod diagnostic;
mod explain;
mod fields;
mod file;
mod fix;
mod foreign;
mod format;
mod headers;
mod lookalike;
mod matcher;
mod names;
pub mod notation;
mod overlay;
mod place;
mod plan;
mod retry_config;
mod retry_policy;
mod rule_set;
mod sieve;
mod signal;
mod tree;

/// The language reference, in Markdown that reads well as plain text.
pub const REFERENCE: &str = include_str!("reference.md");

/// Conditions and rule sets, in Markdown that reads well as plain text.
pub const RULES_REFERENCE: &str = include_str!("rules.md");

/// The JSON Schema of our own file, for editors that complete and check it.
pub const SCHEMA: &str = include_str!("policies.schema.json");

pub use condition::{BadCondition, Condition};
pub use convert::{Converted, Loss, Target, convert, convert_to_file};
pub use diagnostic::{Diagnostic, Fix, FlowKind, Kind, Span};
pub use document::{Document, Entry, Notation, TEXT_MAX, read};
pub use fix::{fix, fixable};
pub use foreign::{Draws, Law, System, Vector};
pub use format::Format;
pub use found_delay::{read as dictated, read_at as dictated_at};
pub use matcher::Matcher;
pub use overlay::overlay_clause as overlay;
pub use plan::{Ours, Plan, Row, Timing, Total};
pub use retry_policy::{BackoffStrategy, RetryPolicy};
pub use rule_set::RuleSet;
pub use rules::{Ending, Fate, Judgement, Rules, Stream};
pub use watch::Watch;

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
