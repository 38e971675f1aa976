//! The core reads a clause, with and without the options of a call.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use redial_core::clause;
use redial_fuzz::{inside, read_clause, within_memory};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    read_clause(text, clause::read);
    read_clause(text, clause::read_call);
    let options: Vec<_> = within_memory(text.len(), || clause::options(text).collect());
    let mut from = 0;
    for (name, value) in options {
        inside(name, text);
        inside(value, text);
        assert!(from <= name.start && name.end <= value.start, "{name:?} {value:?} in {text:?}");
        from = value.end;
    }
    Corpus::Keep
});
