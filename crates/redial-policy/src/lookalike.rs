//! A note on findings about invisible and look-alike characters.

use redial_core::clause::{Kind as Clause, Lookalike, Span};

use crate::diagnostic::Diagnostic;

/// Adds a note about the first such character in the span of a finding. Where the text does not parse at
/// all, about the last one up to the line of the error.
pub(crate) fn name(found: &mut Diagnostic, text: &str, malformed: bool) {
    let span = if malformed { up_to_line_end(found.span, text) } else { found.span };
    let place = span.of(text);
    // The parser of the clause names a single character itself.
    let named = !malformed && found.is_about_one_character(text);
    if found.note.is_some() || place.is_ascii() || named {
        return;
    }
    let mut seen = place.char_indices().filter_map(|(at, seen)| Some((at, Lookalike::of(seen)?)));
    let last = if malformed { seen.next_back() } else { seen.next() };
    found.note = last.map(|(at, seen)| {
        let line = |at: usize| text[..at].matches('\n').count() + 1;
        let place = if malformed { format!("line {}", line(span.start + at)) } else { "it".into() };
        format!("there is {} in {place}; {}", called(seen), remedy(seen))
    });
}

fn up_to_line_end(span: Span, text: &str) -> Span {
    let rest = text.get(span.end..).unwrap_or_default();
    let end = span.end + rest.find('\n').unwrap_or(rest.len());
    // A byte order mark at the start is fine.
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    Span { start, end }
}

fn called(seen: Lookalike) -> String {
    format!("{} (U+{:04X})", seen.name(), u32::from(seen.character()))
}

fn remedy(seen: Lookalike) -> String {
    match seen.meant() {
        "" => "leave it out".to_owned(),
        " " => "write a plain space".to_owned(),
        meant => format!("write `{meant}`"),
    }
}

impl Diagnostic {
    fn is_about_one_character(&self, text: &str) -> bool {
        self.kind == Clause::Syntax.into() && self.span.of(text).chars().count() == 1
    }
}
