//! The words of a script, one after the other.

use redial_policy::Span;

/// Signs, the longest first.
const SIGNS: [&str; 26] = [
    "??", "==", "!=", "<=", ">=", "->", "=>", "(", ")", "{", "}", "[", "]", "<", ">", ",", ":",
    ".", "=", "+", "-", "*", "/", "@", "|", "%",
];

/// One word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
    /// Whether it is the first on its line.
    pub(super) begins_line: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind {
    Name,
    /// Digits, with whatever letters, digits and dots follow: `3`, `1.5`, `500ms`.
    Number,
    /// The quote that begins a text.
    Quote,
    Sign(&'static str),
    Other(char),
    End,
}

/// The next word from `at` on. `#` begins a comment that ends with its line.
pub(super) fn next(text: &str, at: usize) -> Token {
    let mut start = at;
    let mut begins_line = at == 0;
    let rest = loop {
        let rest = &text[start..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', '\u{feff}']).len();
        begins_line |= rest[..blank].contains('\n');
        start += blank;
        let rest = &text[start..];
        match rest.starts_with('#') {
            true => start += rest.find('\n').unwrap_or(rest.len()),
            false => break rest,
        }
    };
    let Some(first) = rest.chars().next() else {
        let span = Span { start, end: start };
        return Token { kind: TokenKind::End, span, begins_line: true };
    };
    let (kind, length) = match first {
        _ if is_start(first) => (TokenKind::Name, name_length(rest)),
        '0'..='9' => (TokenKind::Number, number_length(rest)),
        '"' => (TokenKind::Quote, 1),
        _ => match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            Some(sign) => (TokenKind::Sign(sign), sign.len()),
            None => (TokenKind::Other(first), first.len_utf8()),
        },
    };
    Token { kind, span: Span { start, end: start + length }, begins_line }
}

fn is_start(first: char) -> bool {
    first.is_alphabetic() || first == '_'
}

/// Hyphens are part of a name, as in `eq-int`, but not the one of an arrow.
fn name_length(rest: &str) -> usize {
    let mut length = 0;
    for (at, next) in rest.char_indices() {
        let is_part = next.is_alphanumeric() || next == '_' || is_mark(next);
        let is_hyphen = next == '-' && !rest[at..].starts_with("->");
        if !is_part && !is_hyphen {
            break;
        }
        length = at + next.len_utf8();
    }
    length
}

/// Vowel signs and accents of scripts that write them after their letters.
fn is_mark(next: char) -> bool {
    matches!(next, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' | '\u{e31}'..='\u{e4e}' | '\u{200c}' | '\u{200d}')
}

fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let is_part = |at: usize| {
        let is_dot = bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' || is_dot
    };
    (0..bytes.len()).find(|at| !is_part(*at)).unwrap_or(bytes.len())
}
