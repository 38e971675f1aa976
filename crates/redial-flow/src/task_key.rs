//! What a task is called outside of redial, the same in all its attempts.

use std::fmt::Write as _;

/// `REDIAL_KEY`: `RUN/STEP/ITEM`, and `RUN/STEP~2/ITEM` in generation 2; of a step by itself without the item.
///
/// No two tasks and generations have the same one. The name of a run has no slash, and in that of a step slashes and tildes
/// are escaped, so everything after the second slash is the key of the item as it is, whatever it holds; and of one run no two
/// items have the same.
pub(crate) fn key(run: &str, step: &str, item: Option<&str>, generation: u32) -> String {
    let mut key = format!("{run}/");
    for letter in step.chars() {
        // As in a URL. The notations have no such names; who makes a definition in Rust may.
        match letter {
            '/' | '~' | '%' => write!(key, "%{:02X}", u32::from(letter)),
            letter => write!(key, "{letter}"),
        }
        .unwrap_or_default();
    }
    if generation > 0 {
        write!(key, "~{generation}").unwrap_or_default();
    }
    if let Some(item) = item {
        key.push('/');
        key += item;
    }
    key
}
