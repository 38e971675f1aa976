//! A clause by itself, or a script with clauses in it.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use redial_policy::Format;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    redial_fuzz::read(text, Format::Text, None);
    Corpus::Keep
});
