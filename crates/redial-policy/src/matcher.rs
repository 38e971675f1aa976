//! Which errors are worth another attempt, by the text of the error.

use std::collections::HashMap;
use std::fmt;

use redial_core::clause::Kind as Clause;
use regex::{Regex, RegexBuilder};

use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::fields::{excerpt, inside_quotes, is_typo, nearest, wrong_type};
use crate::tree::{Field, Node, Value};

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
    /// A regular expression, case-sensitive.
    Pattern(Regex),
}

const NAMES: [&str; 4] = ["network", "timeout", "server_error", "rate_limit"];

/// The longest pattern. One for a line of an error message is far shorter.
const PATTERN_MAX: usize = 1024;
const COMPILED_MAX: usize = 1 << 20;
const NESTING_MAX: u32 = 32;

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

    /// A regular expression of at most 1024 bytes.
    ///
    /// # Errors
    ///
    /// What is wrong with it, where it does not compile, or to more than 1 MiB.
    pub fn pattern(pattern: &str) -> Result<Self, regex::Error> {
        compile(pattern, Mode::Text, COMPILED_MAX).map(Self::Pattern)
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

    /// A regular expression that matches wherever this matches, and in few other places.
    pub(crate) fn approximate(&self) -> &str {
        match self {
            Self::Network => "(?i)network|connection|refused|unreachable",
            Self::Timeout => "(?i)timeout|timed out",
            Self::ServerError => r"(?i)server error|\b50[0234]\b",
            Self::RateLimit => r"(?i)rate limit|too many requests|\b429\b",
            Self::Pattern(pattern) => pattern.as_str(),
        }
    }
}

/// What a pattern is searched in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// One text: `^` is its start and `$` its end.
    Text,
    /// Lines that a program prints, which may end in CR LF: `^` and `$` are those of a line.
    Lines { any_case: bool },
}

/// Compiles a pattern, with limits on its length, its compiled size and its nesting.
fn compile(pattern: &str, mode: Mode, most: usize) -> Result<Regex, regex::Error> {
    if pattern.len() > PATTERN_MAX {
        let reason = format!("it has {} bytes, and {PATTERN_MAX} at most", pattern.len());
        return Err(regex::Error::Syntax(reason));
    }
    let mut builder = RegexBuilder::new(pattern);
    if let Mode::Lines { any_case } = mode {
        builder.multi_line(true).crlf(true).case_insensitive(any_case);
    }
    builder.size_limit(most).nest_limit(NESTING_MAX).build()
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

/// In quotes of the kind that it does not contain; where it contains both, with `\x22` for the double one.
fn quote(pattern: &str) -> String {
    let quote = if pattern.contains('"') && !pattern.contains('\'') { '\'' } else { '"' };
    let mut quoted = String::from(quote);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let escaped = if character == '\\' { characters.next() } else { None };
        match (character, escaped) {
            (_, Some(next)) if next == quote => quoted += "\\x22",
            (_, Some(next)) => quoted.extend([character, next]),
            (same, None) if same == quote => quoted += "\\x22",
            ('\0', None) => quoted += "\\x00",
            (other, None) => quoted.push(other),
        }
    }
    quoted.push(quote);
    quoted
}

/// Several as a clause writes them: `[network, timeout]`.
pub(crate) fn list(matchers: &[Matcher]) -> String {
    let all: Vec<_> = matchers.iter().map(ToString::to_string).collect();
    format!("[{}]", all.join(", "))
}

/// Reads `[network, pattern: "…"]`, or one matcher without brackets, from `span` of a clause.
pub(crate) fn parse(
    clause: &str,
    span: Span,
    option: &str,
    patterns: &mut Patterns,
) -> (Vec<Matcher>, Vec<Diagnostic>) {
    let mut matchers = Vec::new();
    let mut diagnostics = Vec::new();
    for item in items(clause, span) {
        match one(clause, item, option, patterns) {
            Ok(matcher) => matchers.push(matcher),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    (matchers, diagnostics)
}

/// The places between the commas, without the white space and the comments around them.
fn items(clause: &str, span: Span) -> Vec<Span> {
    let text = span.of(clause);
    let bracketed = text.starts_with('[') && text.ends_with(']') && text.len() > 1;
    let list = match bracketed {
        true => Span { start: span.start + 1, end: span.end - 1 },
        false => span,
    };
    let mut items = Vec::new();
    let mut item: Option<Span> = None;
    let mut characters = list.of(clause).char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let at = list.start + at;
        match character {
            ',' => items.push(item.take().unwrap_or(Span { start: at, end: at })),
            '#' => while characters.next_if(|(_, next)| *next != '\n').is_some() {},
            _ if character.is_whitespace() => {}
            _ => {
                let mut end = at + character.len_utf8();
                if let '"' | '\'' = character {
                    let mut escaped = false;
                    for (at, next) in characters.by_ref() {
                        end = list.start + at + next.len_utf8();
                        if next == character && !escaped {
                            break;
                        }
                        escaped = next == '\\' && !escaped;
                    }
                }
                item.get_or_insert(Span { start: at, end }).end = end;
            }
        }
    }
    // `[]` is an empty list, not a list of nothing.
    if item.is_some() || !items.is_empty() {
        items.push(item.unwrap_or(Span { start: list.end, end: list.end }));
    }
    items
}

fn one(
    clause: &str,
    span: Span,
    option: &str,
    patterns: &mut Patterns,
) -> Result<Matcher, Diagnostic> {
    let text = span.of(clause);
    if let Some(matcher) = Matcher::named(text) {
        return Ok(matcher);
    }
    let value = text.strip_prefix("pattern").map(str::trim_start);
    let Some(value) = value.and_then(|rest| rest.strip_prefix(':')).map(str::trim_start) else {
        return Err(unknown(text, span, option));
    };
    let place = Span { start: span.end - value.len(), end: span.end };
    let unquoted = ['"', '\''].iter().find_map(|quote| {
        value.strip_prefix(*quote)?.strip_suffix(*quote).map(|text| (text, quote))
    });
    match unquoted {
        Some((text, quote)) => {
            patterns.compile(&text.replace(&format!("\\{quote}"), &quote.to_string()), place)
        }
        None => {
            let value = excerpt(value);
            let message = format!("{option}: a pattern is written in quotes: pattern: \"{value}\"");
            Err(Diagnostic::new(Clause::WrongType, place, message))
        }
    }
}

/// `[network, {pattern: "…"}]`
pub(crate) fn of_list(
    node: &Node,
    option: &str,
    text: &str,
    patterns: &mut Patterns,
) -> (Vec<Matcher>, Vec<Diagnostic>) {
    let mut matchers = Vec::new();
    let mut diagnostics = Vec::new();
    let Value::List(nodes) = &node.value else {
        let advice = "use a list such as [network, timeout, {pattern: \"reset by peer\"}]";
        return (matchers, vec![wrong_type(option, node, text, advice)]);
    };
    for node in nodes {
        match of_node(node, option, text, patterns) {
            Ok(matcher) => matchers.push(matcher),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    (matchers, diagnostics)
}

fn of_node(
    node: &Node,
    option: &str,
    text: &str,
    patterns: &mut Patterns,
) -> Result<Matcher, Diagnostic> {
    const ADVICE: &str = "use network, timeout, server_error, rate_limit or {pattern: \"…\"}";
    match &node.value {
        Value::Text(name) => {
            let refused = || {
                let mut refused = unknown(name, node.span, option);
                if let Some(fix) = &mut refused.fix {
                    fix.span = inside_quotes(node.span, text);
                }
                refused
            };
            Matcher::named(name).ok_or_else(refused)
        }
        Value::Map(fields) => match fields.as_slice() {
            [Field { key, value: Node { value: Value::Text(pattern), span }, .. }]
                if key == "pattern" =>
            {
                patterns.compile(pattern, *span)
            }
            _ => Err(wrong_type(option, node, text, ADVICE)),
        },
        _ => Err(wrong_type(option, node, text, ADVICE)),
    }
}

/// A matcher that is not known, with the nearest that is.
pub(crate) fn unknown(text: &str, span: Span, option: &str) -> Diagnostic {
    let shown = excerpt(text);
    match nearest(text, &NAMES) {
        Some(meant) => {
            let message = format!("{option}: `{shown}` is not known; did you mean `{meant}`?");
            Diagnostic::new(Clause::WrongType, span, message).fix(
                span,
                meant,
                is_typo(text, meant, &NAMES),
            )
        }
        None => {
            let message = format!("{option}: `{shown}` is not known; {KNOWN}");
            Diagnostic::new(Clause::WrongType, span, message)
        }
    }
}

/// The patterns of one text. Each is compiled once, however often it is there.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: HashMap<(String, Mode), Result<Regex, String>>,
    /// The compiled size of all of them, rounded up.
    size: usize,
}

impl Patterns {
    /// Enough for 512 short ones, or for a few that are not.
    const SIZE_MAX: usize = 1 << 20;

    /// Size limits to try in turn, because a compiled pattern does not tell its size.
    const SIZES: [usize; 5] = [2 << 10, 8 << 10, 64 << 10, 256 << 10, COMPILED_MAX];

    /// A matcher with this pattern, or why it does not compile.
    pub(crate) fn compile(&mut self, pattern: &str, place: Span) -> Result<Matcher, Diagnostic> {
        let refused = |(kind, message)| Diagnostic::new(kind, place, message);
        self.regex(pattern, Mode::Text).map(Matcher::Pattern).map_err(refused)
    }

    /// A pattern, or the kind and the message of its error.
    pub(crate) fn regex(&mut self, pattern: &str, mode: Mode) -> Result<Regex, (Kind, String)> {
        let key = (pattern.to_owned(), mode);
        let compiled = match self.compiled.get(&key) {
            Some(compiled) => compiled.clone(),
            None if self.size >= Self::SIZE_MAX => {
                let message = "there are more patterns before this one than are read in one text";
                return Err((Kind::TooLarge, message.to_owned()));
            }
            None => {
                let compiled = self.fit(pattern, mode).map_err(refusal);
                self.compiled.insert(key, compiled.clone());
                compiled
            }
        };
        let named = |refusal| (Kind::BadPattern, format!("`{}` {refusal}", excerpt(pattern)));
        compiled.map_err(named)
    }

    /// A pattern that does not compile counts as well, because trying took time.
    fn fit(&mut self, pattern: &str, mode: Mode) -> Result<Regex, regex::Error> {
        for size in Self::SIZES {
            match compile(pattern, mode, size) {
                Err(regex::Error::CompiledTooBig(_)) if size < COMPILED_MAX => {}
                result => {
                    self.size += size;
                    return result;
                }
            }
        }
        compile(pattern, mode, COMPILED_MAX)
    }
}

/// What is wrong with a pattern, to stand after it.
fn refusal(error: regex::Error) -> String {
    let reason = match error {
        regex::Error::Syntax(drawn) => {
            let last = drawn.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
        regex::Error::CompiledTooBig(limit) => {
            let limit = limit / 1024;
            return format!(
                "is too large: it compiles to more than {limit} KiB; repeat less, as with `*` for \
                 `{{0,80}}`, or let a class be of ASCII, as (?-u:\\w) for \\w"
            );
        }
        other => other.to_string(),
    };
    format!("is not a regular expression: {reason}")
}
