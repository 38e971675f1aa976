//! Which errors are worth another attempt, by the text of the error.

use std::fmt;

use redial_core::clause::Kind as Clause;
use regex::Regex;

use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::fields::nearest;

/// A condition on an error. Several are an *or*; an empty list retries everything.
///
/// ```
/// use redial_policy::Matcher;
///
/// assert!(Matcher::Network.matches("Connection refused", false));
/// assert!(Matcher::ServerError.matches("HTTP 503", false));
/// assert!(!Matcher::ServerError.matches("took 1500ms", false));
/// assert!(Matcher::Timeout.matches("", true)); // a real timeout
/// let reset = Matcher::pattern("reset by (peer|host)").unwrap();
/// assert!(reset.matches("connection reset by peer", false));
/// ```
#[derive(Clone, Debug)]
pub enum Matcher {
    /// `network`, `connection`, `refused`, `unreachable`, in any case.
    Network,
    /// `timeout`, `timed out`, in any case; also a real timeout.
    Timeout,
    /// `500`, `502`, `503`, `504` as whole words, `server error`, in any case.
    ServerError,
    /// `rate limit`, `429` as a whole word, `too many requests`, in any case.
    RateLimit,
    /// A regular expression, which minds the case.
    Pattern(Regex),
}

const NAMES: [&str; 4] = ["network", "timeout", "server_error", "rate_limit"];
const KNOWN: &str = "use network, timeout, server_error, rate_limit or pattern: \"…\"";

impl Matcher {
    /// The matcher with this name; a pattern has none.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "network" => Some(Self::Network),
            "timeout" => Some(Self::Timeout),
            "server_error" => Some(Self::ServerError),
            "rate_limit" => Some(Self::RateLimit),
            _ => None,
        }
    }

    /// A regular expression.
    ///
    /// # Errors
    ///
    /// What is wrong with it, where it does not compile.
    pub fn pattern(pattern: &str) -> Result<Self, regex::Error> {
        Regex::new(pattern).map(Self::Pattern)
    }

    /// Whether an error with this text matches.
    pub fn matches(&self, error: &str, timed_out: bool) -> bool {
        let lower = || error.to_lowercase();
        match self {
            Self::Network => any(&lower(), &["network", "connection", "refused", "unreachable"]),
            Self::Timeout => timed_out || any(&lower(), &["timeout", "timed out"]),
            Self::ServerError => {
                any(&lower(), &["server error"]) || any_word(error, &["500", "502", "503", "504"])
            }
            Self::RateLimit => {
                any(&lower(), &["rate limit", "too many requests"]) || any_word(error, &["429"])
            }
            Self::Pattern(pattern) => pattern.is_match(error),
        }
    }
}

fn any(error: &str, words: &[&str]) -> bool {
    words.iter().any(|word| error.contains(word))
}

/// Whether one of the numbers stands by itself: `HTTP 500`, not `1500ms` or `500ms`.
fn any_word(error: &str, numbers: &[&str]) -> bool {
    let mut words =
        error.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    words.any(|word| numbers.contains(&word))
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Matcher {}

/// As a clause writes it.
impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network => f.write_str("network"),
            Self::Timeout => f.write_str("timeout"),
            Self::ServerError => f.write_str("server_error"),
            Self::RateLimit => f.write_str("rate_limit"),
            Self::Pattern(pattern) => write!(f, "pattern: {}", quote(pattern.as_str())),
        }
    }
}

/// In quotes of the kind that it does not contain; where it has both, one of them as its code.
fn quote(pattern: &str) -> String {
    match (pattern.contains('"'), pattern.contains('\'')) {
        (false, _) => format!("\"{pattern}\""),
        (true, false) => format!("'{pattern}'"),
        (true, true) => {
            let escaped = pattern.replace("\\\"", "\"").replace('"', "\\x22");
            format!("\"{escaped}\"")
        }
    }
}

/// Several as a clause writes them: `[network, timeout]`.
pub(crate) fn list(matchers: &[Matcher]) -> String {
    let all: Vec<_> = matchers.iter().map(ToString::to_string).collect();
    format!("[{}]", all.join(", "))
}

/// Reads `[network, pattern: "…"]`, or one matcher without brackets, from `span` of a clause.
pub(crate) fn parse(clause: &str, span: Span, option: &str) -> (Vec<Matcher>, Vec<Diagnostic>) {
    let mut matchers = Vec::new();
    let mut diagnostics = Vec::new();
    for item in items(clause, span) {
        match one(clause, item, option) {
            Ok(matcher) => matchers.push(matcher),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    (matchers, diagnostics)
}

/// The places between the commas.
fn items(clause: &str, span: Span) -> Vec<Span> {
    let text = span.of(clause);
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let start = span.start + usize::from(inside.is_some());
    let inside = inside.unwrap_or(text);
    let mut items = Vec::new();
    let mut from = 0;
    let mut quote = None;
    let mut escaped = false;
    for (at, character) in inside.char_indices().chain([(inside.len(), ',')]) {
        match (quote, character) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, ',') => {
                let item = &inside[from..at];
                let lead = item.len() - item.trim_start().len();
                let begin = start + from + lead;
                items.push(Span { start: begin, end: begin + item.trim().len() });
                from = at + 1;
            }
            _ => {}
        }
    }
    match items.as_slice() {
        // `[]` is an empty list, not a list of nothing.
        [only] if only.start == only.end => Vec::new(),
        _ => items,
    }
}

fn one(clause: &str, span: Span, option: &str) -> Result<Matcher, Diagnostic> {
    let text = span.of(clause);
    if let Some(matcher) = Matcher::named(text) {
        return Ok(matcher);
    }
    let Some(value) = text.strip_prefix("pattern").map(str::trim_start) else {
        return Err(unknown(text, span, option));
    };
    let Some(value) = value.strip_prefix(':').map(str::trim_start) else {
        return Err(unknown(text, span, option));
    };
    let place = Span { start: span.end - value.len(), end: span.end };
    let unquoted = ['"', '\''].iter().find_map(|quote| {
        value.strip_prefix(*quote)?.strip_suffix(*quote).map(|text| (text, quote))
    });
    match unquoted {
        Some((text, quote)) => {
            compile(&text.replace(&format!("\\{quote}"), &quote.to_string()), place)
        }
        None => {
            let message = format!("{option}: a pattern is written in quotes: pattern: \"{value}\"");
            Err(Diagnostic::new(Clause::WrongType, place, message))
        }
    }
}

/// A matcher that is not known, with the nearest that is.
pub(crate) fn unknown(text: &str, span: Span, option: &str) -> Diagnostic {
    match nearest(text, &NAMES) {
        Some(meant) => {
            let message = format!("{option}: `{text}` is not known; did you mean `{meant}`?");
            Diagnostic::new(Clause::WrongType, span, message).fix(span, meant, true)
        }
        None => {
            let message = format!("{option}: `{text}` is not known; {KNOWN}");
            Diagnostic::new(Clause::WrongType, span, message)
        }
    }
}

/// A pattern, or what is wrong with it in one line.
pub(crate) fn compile(pattern: &str, place: Span) -> Result<Matcher, Diagnostic> {
    Matcher::pattern(pattern).map_err(|error| {
        let reason = match error {
            regex::Error::Syntax(drawn) => {
                let last = drawn.lines().last().unwrap_or_default();
                last.trim_start_matches("error: ").to_owned()
            }
            regex::Error::CompiledTooBig(limit) => {
                format!("it compiles to more than {limit} bytes")
            }
            other => other.to_string(),
        };
        let message = format!("`{pattern}` is not a regular expression: {reason}");
        Diagnostic::new(Kind::BadPattern, place, message)
    })
}
