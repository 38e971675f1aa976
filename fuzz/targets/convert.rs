//! Every policy of a text to every notation and format, and back.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use redial_fuzz::within_memory;
use redial_policy::{Converted, Entry, Format, Notation, Target, convert, convert_to_file};

const FORMATS: [Format; 3] = [Format::Yaml, Format::Toml, Format::Json];
const TREES: [(Target, Notation); 3] = [
    (Target::RetryConfig, Notation::RetryConfig),
    (Target::RetryPolicy, Notation::RetryPolicy),
    (Target::File, Notation::File),
];

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    let document = redial_fuzz::read(text, Format::Text, None);
    for entry in document.policies() {
        let to = |target, format| {
            let converted = within_memory(text.len(), || convert(entry, target, format));
            assert_eq!(converted.is_some(), entry.nearest().is_some());
            converted
        };
        to(Target::Rust, Format::Text);
        if let Some(clause) = to(Target::Clause, Format::Text) {
            same(&clause, [entry], Format::Text, Notation::Clause);
        }
        for (target, notation) in TREES {
            for format in FORMATS {
                if let Some(converted) = to(target, format) {
                    same(&converted, [entry], format, notation);
                }
            }
        }
    }
    for format in FORMATS {
        let converted =
            within_memory(text.len(), || convert_to_file(document.policies(), None, format));
        if let Some(converted) = converted {
            same(&converted, document.policies(), format, Notation::File);
        }
    }
    Corpus::Keep
});

/// What is said to have lost nothing has lost nothing, whether or not its notation is named.
fn same<'e>(
    converted: &Converted,
    entries: impl IntoIterator<Item = &'e Entry>,
    format: Format,
    notation: Notation,
) {
    let expected: Vec<_> = entries.into_iter().map(Entry::canonical).collect();
    for notation in [Some(notation), None] {
        let again = redial_fuzz::read(&converted.text, format, notation);
        let back: Vec<_> = again.policies().map(Entry::canonical).collect();
        if converted.losses.is_empty() {
            assert_eq!(back, expected, "{}{:?}", converted.text, again.diagnostics());
        }
    }
}
