//! The same policy in another notation, and what it lost on the way.
//!
//! Every conversion is checked: the text is read again, and where that gives another policy, a loss is
//! reported.

mod file;
mod parts;
mod retry_config;
mod retry_policy;
mod rust;
mod write;

use crate::Format;
use crate::document::{Entry, Notation, read};
use redial_core::{Forecast, Pretty};

use crate::foreign::System;
use crate::plan::Timing;
pub(crate) use parts::{Link, Parts, Source};
pub(crate) use write::Tree;

/// What a policy is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// `attempts: 4, delay: 1s`
    Clause,
    /// `retry_config`
    RetryConfig,
    /// `retryPolicy`
    RetryPolicy,
    /// Our own file of named policies.
    File,
    /// A constant in Rust.
    Rust,
    /// The notation of another system, where it has a place for a policy.
    Foreign(&'static System),
}

/// A policy as another system writes it.
pub(crate) enum Foreign {
    /// A tree, in the format that is usual for it.
    Tree(Tree, Format),
    /// A text of its own.
    Text(String),
}

/// Something that the other notation cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The policy that lost it.
    pub policy: String,
    /// What the policy has.
    pub what: String,
    /// Why the other notation cannot express it.
    pub why: String,
    /// What is written instead.
    pub became: String,
}

/// A policy in another notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The text.
    pub text: String,
    /// What was lost: nothing, where reading the text gives an equal policy.
    pub losses: Vec<Loss>,
}

/// Writes a policy in another notation. `format` is what the file is written in, where the notation
/// leaves a choice; a `retry_config` is YAML, a clause and Rust are text. None where the policy has
/// errors.
///
/// ```
/// use redial_policy::{Format, Target, convert, read};
///
/// let document = read("retry: 4, delay: 1s, backoff: exponential, within: 1min", Format::Text, None);
/// let entry = document.policies().next().unwrap();
/// let converted = convert(entry, Target::RetryConfig, Format::Yaml).unwrap();
/// assert_eq!(
///     converted.text,
///     "retry_config:\n  attempts: 5\n  initial_delay: \"1s\"\n  backoff:\n    exponential:\n      \
///      base: 2.0\n  max_delay: \"30s\"\n",
/// );
/// assert_eq!(converted.losses[0].what, "within: 1min");
/// ```
pub fn convert(entry: &Entry, target: Target, format: Format) -> Option<Converted> {
    let parts = Parts::of(entry)?;
    let mut losses = Losses { policy: &entry.name, list: Vec::new() };
    let (text, again) = match target {
        Target::Clause => (entry.canonical()? + "\n", Some((Format::Text, Notation::Clause))),
        Target::RetryConfig => {
            let tree = retry_config::tree(&parts, entry, &mut losses);
            let tree = Tree::map([("retry_config", tree)]);
            (write::text(&tree, format), Some((format, Notation::RetryConfig)))
        }
        Target::RetryPolicy => {
            let tree = retry_policy::tree(&parts, entry, &mut losses);
            let tree = Tree::map([("retryPolicy", tree)]);
            (write::text(&tree, format), Some((format, Notation::RetryPolicy)))
        }
        Target::File => {
            let tree = file::tree([(entry, parts)], None);
            (write::text(&tree, format), Some((format, Notation::File)))
        }
        Target::Rust => (rust::text(&parts, entry, &mut losses), None),
        Target::Foreign(system) => {
            let (text, format) = match system.write(&parts, entry)? {
                Foreign::Tree(tree, usual) => {
                    let format = if format == Format::Text { usual } else { format };
                    (write::text(&tree, format), format)
                }
                Foreign::Text(text) => (text, Format::Text),
            };
            (text, Some((format, Notation::Foreign(system))))
        }
    };
    if let (Some(law), false) = (&entry.law, matches!(target, Target::Foreign(_))) {
        losses.timing(
            &Timing::Law(law.clone()),
            &law.nearest().into(),
            entry.law.as_ref().map(|law| law.system().title()),
        );
    }
    if let Some((format, notation)) = again {
        losses.compare(entry, &text, format, notation);
    }
    Some(Converted { text, losses: losses.list })
}

/// Writes several policies as one file of ours, with the default that they had. None where one of
/// them has errors.
pub fn convert_to_file<'e>(
    entries: impl IntoIterator<Item = &'e Entry>,
    default: Option<&str>,
    format: Format,
) -> Option<Converted> {
    let entries: Vec<_> = entries.into_iter().collect();
    let parts = entries.iter().map(|entry| Some((*entry, Parts::of(entry)?)));
    let tree = file::tree(parts.collect::<Option<Vec<_>>>()?, default);
    let text = write::text(&tree, format);
    let again = read(&text, format, Some(Notation::File));
    let mut losses = Vec::new();
    let mut back = again.policies();
    for entry in &entries {
        let mut lost = Losses { policy: &entry.name, list: Vec::new() };
        lost.compare_with(entry, back.next());
        losses.append(&mut lost.list);
    }
    Some(Converted { text, losses })
}

/// What one policy has lost so far.
struct Losses<'e> {
    policy: &'e str,
    list: Vec<Loss>,
}

impl Losses<'_> {
    fn add(&mut self, what: impl Into<String>, why: impl Into<String>, became: impl Into<String>) {
        self.list.push(Loss {
            policy: self.policy.to_owned(),
            what: what.into(),
            why: why.into(),
            became: became.into(),
        });
    }

    fn compare(&mut self, entry: &Entry, text: &str, format: Format, notation: Notation) {
        let document = read(text, format, Some(notation));
        match notation {
            Notation::Foreign(_) => self.compare_foreign(entry, document.policies().next()),
            _ => self.compare_with(entry, document.policies().next()),
        }
    }

    /// What the delays and the counts have become in another system, or a law in a clause: every difference, with numbers.
    fn timing(&mut self, from: &Timing, to: &Timing, law: Option<&str>) {
        const NAMED: usize = 3;
        let why = match law {
            Some(title) => format!("no clause says the law of {title}"),
            None => "the notation cannot express it".to_owned(),
        };
        if from.attempts() != to.attempts() {
            let said = |attempts: Option<u32>| match attempts {
                Some(attempts) => format!("attempts: {attempts}"),
                None => "attempts: unlimited".to_owned(),
            };
            self.add(said(from.attempts()), &*why, said(to.attempts()));
        }
        let pairs = from.forecasts().zip(to.forecasts()).zip(1..).take(1000);
        let changed: Vec<_> = pairs.filter(|((from, to), _)| from != to).collect();
        for ((from, to), n) in changed.iter().take(NAMED) {
            self.add(format!("delay {n}: {}", range(from)), &*why, range(to));
        }
        if let Some(((from, to), n)) = changed.last().filter(|_| changed.len() > NAMED) {
            let more = changed.len() - NAMED;
            self.add(format!("{more} more, up to delay {n}: {}", range(from)), &*why, range(to));
        }
        for (name, from, to) in [
            ("within", from.get_within(), to.get_within()),
            ("wait_budget", from.get_wait_budget(), to.get_wait_budget()),
        ] {
            if from != to {
                let said = |limit: Option<std::time::Duration>| match limit {
                    Some(limit) => format!("{name}: {}", Pretty(limit)),
                    None => format!("no {name}"),
                };
                self.add(said(from), &*why, said(to));
            }
        }
    }

    /// A policy in another system: what it reads its own text as.
    fn compare_foreign(&mut self, entry: &Entry, back: Option<&Entry>) {
        let timing = |entry: &Entry| Timing::of(entry);
        match (timing(entry), back.and_then(timing)) {
            (Some(from), Some(to)) => self.timing(&from, &to, None),
            _ => return self.compare_with(entry, back),
        }
        let timeout = back.and_then(|back| back.timeout);
        if let Some(was) = entry.timeout.filter(|was| Some(*was) != timeout) {
            self.add(
                format!("timeout: {}", Pretty(was)),
                "the policy has no place for it there",
                "nothing",
            );
        }
        for (name, matchers) in [("retry_on", &entry.retry_on), ("stop_on", &entry.stop_on)] {
            if !matchers.is_empty() {
                let what = format!("{name}: {}", crate::matcher::list(matchers));
                self.add(what, "errors have other names there", "every error is retried");
            }
        }
    }

    /// A difference that the writer of the notation has not reported is a loss too.
    fn compare_with(&mut self, entry: &Entry, back: Option<&Entry>) {
        let back = back.and_then(Entry::canonical);
        if self.list.is_empty() && back != entry.canonical() {
            let became = back.unwrap_or_else(|| "a text that cannot be read".to_owned());
            let what = entry.canonical().unwrap_or_default();
            self.add(what, "the notation cannot express it", became);
        }
    }
}

/// What a delay can be: `1s`, or `0ns-24ms`.
fn range(delay: &Forecast) -> String {
    match delay.least == delay.greatest {
        true => Pretty(delay.least).to_string(),
        false => format!("{}-{}", Pretty(delay.least), Pretty(delay.greatest)),
    }
}
