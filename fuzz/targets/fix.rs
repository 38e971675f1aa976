//! Fixes make no text worse, and leave nothing for a second time.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use redial_fuzz::{errors, head, notation, read, within_memory};
use redial_policy::{Format, fix};

const FORMATS: [Format; 4] = [Format::Text, Format::Yaml, Format::Toml, Format::Json];

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    let Some((first, text)) = head(text) else { return Corpus::Reject };
    // `0` to `3` are the formats; every fourth character after that is the same format with the
    // next notation.
    let choice = first.wrapping_sub(b'0');
    let format = FORMATS[usize::from(choice) % FORMATS.len()];
    let notation = notation(b'0'.wrapping_add(choice / 4));
    let (fixed, applied) = within_memory(text.len(), || fix(text, format, notation));
    let before = read(text, format, notation);
    if applied == 0 {
        assert_eq!(fixed, text);
        return Corpus::Keep;
    }
    let after = read(&fixed, format, notation);
    assert!(errors(&after) <= errors(&before), "{text:?} became {fixed:?}: {after:?}");
    assert_eq!(fix(&fixed, format, notation), (fixed.clone(), 0), "{text:?}");
    Corpus::Keep
});
