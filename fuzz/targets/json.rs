//! JSON, with the notation recognised or forced.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use redial_policy::Format;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    redial_fuzz::read_format(text, Format::Json);
    Corpus::Keep
});
