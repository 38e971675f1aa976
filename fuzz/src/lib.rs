//! What holds for every text, whatever is in it.

use peak_alloc::PeakAlloc;
use redial_core::clause;
use redial_policy::{Diagnostic, Document, Entry, Format, Notation, Span};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Runs something of ours, which may take a fixed part of memory and a multiple of its input.
///
/// # Panics
///
/// Where it takes more.
pub fn within_memory<T>(input: usize, run: impl FnOnce() -> T) -> T {
    const FIXED: usize = 8 << 20;
    const TIMES: usize = 256;
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = run();
    let taken = MEMORY.peak_usage().saturating_sub(before);
    let allowed = FIXED + TIMES * input;
    assert!(taken <= allowed, "{taken} bytes of memory for {input} of input, above {allowed}");
    result
}

/// Reads a text and checks all there is to check about what was found.
pub fn read(text: &str, format: Format, notation: Option<Notation>) -> Document {
    let document = within_memory(text.len(), || redial_policy::read(text, format, notation));
    diagnostics(document.diagnostics(), text);
    for entry in document.policies() {
        inside(entry.span, text);
        reads_again(entry);
    }
    document
}

/// How many findings refuse a policy.
pub fn errors(document: &Document) -> usize {
    document.diagnostics().iter().filter(|found| !found.is_warning()).count()
}

/// The notation that a byte of the input stands for: `0` for none, `1` to `4` for the others.
pub fn notation(byte: u8) -> Option<Notation> {
    match usize::from(byte.wrapping_sub(b'0')) % (Notation::ALL.len() + 1) {
        0 => None,
        forced => Some(Notation::ALL[forced - 1]),
    }
}

/// The whole of a target that reads a format: a byte for the notation, and the text.
pub fn read_format(text: &str, format: Format) {
    if let Some((first, text)) = head(text) {
        read(text, format, notation(first));
    }
}

/// The first byte, which chooses, and the text after it.
pub fn head(text: &str) -> Option<(u8, &str)> {
    let first = *text.as_bytes().first()?;
    Some((first, text.get(1..)?))
}

/// A place lies in the text and begins and ends between characters.
pub fn inside(span: Span, text: &str) {
    assert!(text.get(span.start..span.end).is_some(), "{span:?} is no place in {text:?}");
}

fn diagnostics(found: &[Diagnostic], text: &str) {
    assert!(found.is_sorted_by_key(|found| found.span.start), "not in order: {found:?}");
    for found in found {
        inside(found.span, text);
        if let Some(fix) = &found.fix {
            inside(fix.span, text);
        }
        assert!(!found.to_string().is_empty());
    }
}

/// What a policy prints as is read as an equal policy.
fn reads_again(entry: &Entry) {
    let Some(canonical) = entry.canonical() else { return };
    let again = redial_policy::read(&canonical, Format::Text, None);
    let mut entries = again.policies();
    let (Some(back), None) = (entries.next(), entries.next()) else {
        panic!("{canonical:?} is not one policy: {again:?}");
    };
    assert_eq!(back.policy, entry.policy, "{canonical:?}: {:?}", again.diagnostics());
    assert_eq!(back.canonical().as_ref(), Some(&canonical));
}

/// The same for the core, which knows neither files nor matchers.
pub fn read_clause(text: &str, read: fn(&str) -> clause::Reading) {
    let reading = within_memory(text.len(), || read(text));
    let found = reading.diagnostics();
    assert!(found.len() <= reading.found());
    assert!(found.is_sorted_by_key(|found| found.span().start), "not in order: {found:?}");
    for found in found {
        inside(found.span(), text);
        assert!(!found.to_string().is_empty());
    }
    for option in reading.call_options() {
        assert_eq!(option.place().of(text), option.name());
        inside(option.value(), text);
    }
    if let Some(policy) = reading.policy() {
        let printed = policy.to_string();
        assert_eq!(printed.parse().as_ref(), Ok(&policy), "{printed:?}");
    }
}
