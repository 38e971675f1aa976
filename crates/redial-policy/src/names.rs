//! The fields of a notation by the names that other systems give them. The core has the one table of
//! foreign names; a notation adds only its own names for our options.

use redial_core::clause;

/// What a notation calls the options of a clause: pairs of our name and theirs.
pub(crate) type Vocabulary = &'static [(&'static str, &'static str)];

/// Foreign names that can mean only one option, so that `--fix` may replace them.
const UNAMBIGUOUS: [&str; 21] = [
    "backoff_factor",
    "backoff_strategy",
    "base",
    "base_delay",
    "budget",
    "cap",
    "deadline",
    "initial_delay",
    "initial_interval",
    "interval",
    "max_attempts",
    "max_elapsed",
    "max_elapsed_time",
    "max_interval",
    "max_retries",
    "max_tries",
    "multiplier",
    "retries",
    "retry_budget",
    "strategy",
    "tries",
];

/// The field that is meant by a foreign name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synonym {
    pub(crate) field: &'static str,
    /// Whether `--fix` may replace the name.
    pub(crate) safe: bool,
}

/// The field of a notation that is meant by the foreign name of an option.
pub(crate) fn synonym(
    name: &str,
    fields: &[&'static str],
    vocabulary: Vocabulary,
) -> Option<Synonym> {
    let option = clause::counterpart(name)?;
    let theirs = vocabulary.iter().find(|(ours, _)| *ours == option).map(|(_, theirs)| *theirs);
    let field = theirs.unwrap_or(option);
    fields.contains(&field).then(|| Synonym { field, safe: is_unambiguous(name) })
}

/// The same from a table, for fields that are not options of a policy.
pub(crate) fn synonym_in(name: &str, table: &[(&str, &'static str)]) -> Option<Synonym> {
    let entry = table.iter().find(|(theirs, _)| is_same_name(name, theirs));
    entry.map(|(_, field)| Synonym { field, safe: true })
}

/// Whether a name is an option of ours, or means one of them and nothing else.
pub(crate) fn is_unambiguous(name: &str) -> bool {
    clause::OPTIONS.contains(&name) || UNAMBIGUOUS.iter().any(|known| is_same_name(name, known))
}

/// Whatever the case and the separators: `maxRetries`, `max-retries`.
fn is_same_name(name: &str, known: &str) -> bool {
    known.replace('_', "").eq_ignore_ascii_case(&name.replace(['_', '-'], ""))
}
