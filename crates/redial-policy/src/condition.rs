//! A condition on how an attempt of a command ended: `exit:1,2 & !stderr:/quota/`.

use std::fmt;
use std::str::FromStr;

use redial_core::clause::Kind as Clause;
use regex::Regex;

use crate::diagnostic::{Kind, Span, printable};
use crate::fields::{excerpt, nearest};
use crate::matcher::{Matcher, Mode, Patterns};
use crate::rules::{Ending, Stream};
use crate::signal;

/// How an attempt must have ended, or what it must have printed.
///
/// Its text is the grammar of `--retry-on`, and its `Display` is the canonical text. What it is
/// about is described in [`RULES_REFERENCE`](crate::RULES_REFERENCE).
///
/// ```
/// use redial_policy::Condition;
///
/// let condition: Condition = "exit:2,1 &!stderr:/quota|billing/i".parse()?;
/// assert_eq!(condition.to_string(), "exit:2,1 & !stderr:/quota|billing/i");
///
/// let bad = "exti:1".parse::<Condition>().unwrap_err();
/// assert_eq!(bad.to_string(), "`exti:1` is not a condition; did you mean `exit:1`?");
/// # Ok::<(), redial_policy::BadCondition>(())
/// ```
#[derive(Clone, Debug)]
pub struct Condition {
    pub(crate) terms: Vec<Term>,
}

/// One test, or its opposite.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) negated: bool,
    pub(crate) test: Test,
}

/// A test of how an attempt ended or what it printed.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Any,
    Exit(Vec<(u8, u8)>),
    Signal(Vec<Signal>),
    Timeout,
    Spawn,
    Lost,
    Output(Output),
    /// A matcher of policies, on standard error.
    Text(Matcher),
}

/// A signal as it is written: numbers differ between systems, names do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Named(&'static str),
    Numbered(i32),
}

/// A pattern on what is printed.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) place: Printed,
    pub(crate) pattern: Regex,
    any_case: bool,
}

impl Output {
    pub(crate) fn mode(&self) -> Mode {
        Mode::Lines { any_case: self.any_case }
    }
}

/// On which stream it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    On(Stream),
    OnEither,
}

impl Printed {
    const ALL: [Self; 3] = [Self::On(Stream::Stdout), Self::On(Stream::Stderr), Self::OnEither];

    fn name(self) -> &'static str {
        match self {
            Self::On(Stream::Stdout) => "stdout",
            Self::On(Stream::Stderr) => "stderr",
            Self::OnEither => "output",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }
}

/// Where a program prints how long to wait.
#[derive(Clone, Debug)]
pub(crate) enum DelayFrom {
    /// In a capture group of a pattern.
    Pattern(Output),
    /// In the header of an HTTP response.
    RetryAfter(Printed),
}

/// What is wrong with a condition, where in its text, and what would be right.
///
/// ```
/// use redial_policy::Condition;
///
/// let text = "timeout & signal:SEGF";
/// let bad = text.parse::<Condition>().unwrap_err();
/// assert_eq!(bad.to_string(), "signal: `SEGF` is not a signal; did you mean `SEGV`?");
/// assert_eq!(bad.span.of(text), "SEGF");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCondition {
    /// What is wrong, in one line, and what would be right.
    pub message: String,
    /// Where it is, in bytes of the text.
    pub span: Span,
    /// The diagnostic that it is in a file.
    pub kind: Kind,
}

impl fmt::Display for BadCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadCondition {}

/// The longest condition that is read, and the most terms in it: people write a line.
const TEXT_MAX: usize = 16 << 10;
const TERMS_MAX: usize = 32;

const NAMES: [&str; 13] = [
    "exit",
    "signal",
    "timeout",
    "spawn",
    "lost",
    "stdout",
    "stderr",
    "output",
    "network",
    "server_error",
    "rate_limit",
    "pattern",
    "any",
];

const KNOWN: &str = "use exit:1,2, signal:SEGV, timeout, spawn, lost, stdout:/…/, stderr:/…/, output:/…/, \
                     network, server_error, rate_limit, pattern:/…/ or any";

impl FromStr for Condition {
    type Err = BadCondition;

    fn from_str(text: &str) -> Result<Self, BadCondition> {
        Self::read(text, &mut Patterns::default())
    }
}

impl Condition {
    /// Reads a condition beside others of the same file, whose patterns are bounded together.
    pub(crate) fn read(text: &str, patterns: &mut Patterns) -> Result<Self, BadCondition> {
        Ok(Self { terms: Reader::new(text, patterns)?.terms()? })
    }

    /// Whether it can only hold where the command could not be started.
    pub(crate) fn is_about_spawn(&self) -> bool {
        self.terms.iter().any(|term| !term.negated && matches!(term.test, Test::Spawn))
    }
}

impl Test {
    /// Whether the ending alone passes the test, whatever was printed.
    pub(crate) fn holds_of(&self, ending: &Ending) -> bool {
        match (self, ending) {
            (Self::Any, _) | (Self::Timeout, Ending::TimedOut) => true,
            (Self::Text(Matcher::Timeout), Ending::TimedOut) => true,
            (Self::Lost, Ending::Lost) => true,
            (Self::Spawn, Ending::NotFound | Ending::NotExecutable) => true,
            (Self::Exit(ranges), Ending::Exit(code)) => ranges
                .iter()
                .any(|(first, last)| (i32::from(*first)..=i32::from(*last)).contains(code)),
            (Self::Signal(signals), Ending::Signal { number, name }) => {
                signals.iter().any(|signal| match signal {
                    Signal::Named(known) => known == name,
                    Signal::Numbered(known) => known == number,
                })
            }
            _ => false,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            let join = if at > 0 { " & " } else { "" };
            let not = if term.negated { "!" } else { "" };
            write!(f, "{join}{not}{}", term.test)?;
        }
        Ok(())
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Timeout => f.write_str("timeout"),
            Self::Spawn => f.write_str("spawn"),
            Self::Lost => f.write_str("lost"),
            Self::Exit(ranges) => {
                for (at, (first, last)) in ranges.iter().enumerate() {
                    f.write_str(if at == 0 { "exit:" } else { "," })?;
                    match first == last {
                        true => write!(f, "{first}")?,
                        false => write!(f, "{first}-{last}")?,
                    }
                }
                Ok(())
            }
            Self::Signal(signals) => {
                for (at, signal) in signals.iter().enumerate() {
                    f.write_str(if at == 0 { "signal:" } else { "," })?;
                    match signal {
                        Signal::Named(name) => f.write_str(name)?,
                        Signal::Numbered(number) => write!(f, "{number}")?,
                    }
                }
                Ok(())
            }
            Self::Output(output) => write!(f, "{output}"),
            Self::Text(Matcher::Pattern(pattern)) => write!(f, "pattern:/{pattern}/"),
            Self::Text(matcher) => write!(f, "{matcher}"),
        }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.name();
        write!(f, "{place}:/{}/{}", self.pattern, if self.any_case { "i" } else { "" })
    }
}

impl fmt::Display for DelayFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(output) => write!(f, "{output}"),
            Self::RetryAfter(place) => write!(f, "{}:{RETRY_AFTER}", place.name()),
        }
    }
}

const RETRY_AFTER: &str = "retry-after";

/// `stderr:/retry after (\d+)/`: where to look for a delay, with a capture group for it; or
/// `stderr:retry-after`.
pub(crate) fn delay_from(text: &str, patterns: &mut Patterns) -> Result<DelayFrom, BadCondition> {
    const EXAMPLE: &str = r"stderr:/retry after (\d+ ?[a-z]*)/";
    if let Some((place, header)) = text.split_once(':')
        && header.trim().eq_ignore_ascii_case(RETRY_AFTER)
        && let Some(place) = Printed::named(place.trim())
    {
        return Ok(DelayFrom::RetryAfter(place));
    }
    let condition = Condition::read(text, patterns)?;
    let whole = Span { start: 0, end: text.len() };
    match condition.terms.as_slice() {
        [Term { negated: false, test: Test::Output(output) }] => {
            if output.pattern.captures_len() < 2 {
                let message = format!(
                    "`{}` has no capture group; write ( ) around the delay: {EXAMPLE}",
                    excerpt(text.trim()),
                );
                return Err(refused(whole, message));
            }
            Ok(DelayFrom::Pattern(output.clone()))
        }
        _ => {
            let message = format!(
                "`{}` does not say where the delay is; use one pattern of stdout, stderr or output: {EXAMPLE}",
                excerpt(text.trim()),
            );
            Err(refused(whole, message))
        }
    }
}

/// `/^--include$/`: what the arguments of a command must match, of which each is a line.
pub(crate) fn arguments(text: &str, patterns: &mut Patterns) -> Result<Regex, BadCondition> {
    const NAME: &str = "arguments";
    let mut reader = Reader::new(text, patterns)?;
    reader.skip_space();
    let (pattern, span, any_case) = reader.between_slashes(NAME)?;
    let regex = reader.compile(NAME, pattern, Mode::Lines { any_case }, span)?;
    reader.skip_space();
    match reader.rest() {
        "" => Ok(regex),
        rest => {
            let span = Span { start: reader.at, end: text.len() };
            let rest = excerpt(rest);
            Err(refused(span, format!("`{rest}` after the pattern; there is one pattern here")))
        }
    }
}

fn refused(span: Span, message: String) -> BadCondition {
    BadCondition { message: printable(message), span, kind: Clause::WrongType.into() }
}

/// Parses a condition from left to right.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    patterns: &'t mut Patterns,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, patterns: &'t mut Patterns) -> Result<Self, BadCondition> {
        if text.len() > TEXT_MAX {
            let message =
                format!("this has {} bytes, and a condition {TEXT_MAX} at most", text.len());
            let refused = refused(Span { start: 0, end: 0 }, message);
            return Err(BadCondition { kind: Kind::TooLarge, ..refused });
        }
        Ok(Self { text, at: 0, patterns })
    }

    fn terms(mut self) -> Result<Vec<Term>, BadCondition> {
        let mut terms = Vec::new();
        loop {
            terms.push(self.term()?);
            self.skip_space();
            match self.rest().chars().next() {
                None => return Ok(terms),
                Some('&') if terms.len() == TERMS_MAX => {
                    let message = format!("a condition joins at most {TERMS_MAX} with `&`");
                    return Err(refused(self.next_character(), message));
                }
                Some('&') if self.rest().starts_with("&&") => {
                    let span = Span { start: self.at, end: self.at + 2 };
                    return Err(refused(span, "`&&`: and is a single `&` here".to_owned()));
                }
                Some('&') => self.at += 1,
                Some(_) => return Err(self.not_joined()),
            }
        }
    }

    fn term(&mut self) -> Result<Term, BadCondition> {
        let mut negated = false;
        self.skip_space();
        while self.rest().starts_with('!') {
            negated = !negated;
            self.at += 1;
            self.skip_space();
        }
        let start = self.at;
        let name =
            self.take_while(|character| character.is_alphanumeric() || "_-".contains(character));
        let valued = self.rest().trim_start().starts_with(':');
        let bare = |test| if valued { None } else { Some(test) };
        let test = match name {
            "any" => bare(Test::Any),
            "timeout" => bare(Test::Timeout),
            "spawn" => bare(Test::Spawn),
            "lost" => bare(Test::Lost),
            "network" | "server_error" | "rate_limit" => {
                Matcher::named(name).and_then(|matcher| bare(Test::Text(matcher)))
            }
            "exit" | "signal" | "stdout" | "stderr" | "output" | "pattern" if valued => {
                self.skip_space();
                self.at += 1;
                self.skip_space();
                Some(match name {
                    "exit" => Test::Exit(self.list("exit", "exit:1,2,10-20", codes)?),
                    "signal" => Test::Signal(self.list("signal", "signal:SEGV,TERM", signal)?),
                    _ => self.pattern(name)?,
                })
            }
            _ => None,
        };
        match test {
            Some(test) => Ok(Term { negated, test }),
            None => Err(self.unknown(start, name)),
        }
    }

    /// `1,2,10-20`, each item read by `one`.
    fn list<T>(
        &mut self,
        name: &str,
        example: &str,
        one: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, BadCondition> {
        let mut items = Vec::new();
        loop {
            self.skip_space();
            let start = self.at;
            // Up to what ends the item, so that a wrong item is reported whole.
            let item = self
                .take_while(|character| !character.is_whitespace() && !",&".contains(character));
            let span = Span { start, end: self.at };
            if item.is_empty() {
                return Err(refused(span, format!("{name}: a value is missing; write {example}")));
            }
            items.push(one(item).map_err(|reason| refused(span, format!("{name}: {reason}")))?);
            self.skip_space();
            if !self.rest().starts_with(',') {
                return Ok(items);
            }
            self.at += 1;
        }
    }

    fn pattern(&mut self, name: &str) -> Result<Test, BadCondition> {
        let (pattern, span, any_case) = self.between_slashes(name)?;
        let Some(place) = Printed::named(name) else {
            let compiled = self.compile(name, pattern, Mode::Text, span)?;
            return Ok(Test::Text(Matcher::Pattern(compiled)));
        };
        let pattern = self.compile(name, pattern, Mode::Lines { any_case }, span)?;
        Ok(Test::Output(Output { place, pattern, any_case }))
    }

    /// `/re/` or `/re/i`, in which only a slash needs a backslash; and whether it is for any case.
    fn between_slashes(&mut self, name: &str) -> Result<(&'t str, Span, bool), BadCondition> {
        let start = self.at;
        let Some(inside) = self.rest().strip_prefix('/') else {
            let value = self.rest().split('&').next().unwrap_or_default().trim_end();
            let span = Span { start, end: start + value.len() };
            let value = if value.is_empty() { "…".to_owned() } else { excerpt(value) };
            let message = format!("{name}: a pattern stands between slashes: {name}:/{value}/");
            return Err(refused(span, message));
        };
        let Some(length) = closing_slash(inside) else {
            let span = Span { start, end: self.text.len() };
            let message = format!("{name}: the slash that ends the pattern is missing: {name}:/…/");
            return Err(refused(span, message));
        };
        let pattern = &inside[..length];
        self.at = start + 1 + length + 1;
        let span = Span { start: start + 1, end: start + 1 + length };
        let flags = Span { start: self.at, end: self.at };
        let letters = self.take_while(char::is_alphanumeric);
        let flags = Span { end: flags.start + letters.len(), ..flags };
        let any_case = match (name, letters) {
            (_, "") => false,
            ("pattern", _) => {
                let message =
                    format!("pattern: `{letters}` after it; write (?i) in it for any case");
                return Err(refused(flags, message));
            }
            (_, "i") => true,
            _ => {
                let message = format!(
                    "{name}: `{}` after the pattern is not known; `i` is any case",
                    excerpt(letters)
                );
                return Err(refused(flags, message));
            }
        };
        Ok((pattern, span, any_case))
    }

    fn compile(
        &mut self,
        name: &str,
        pattern: &str,
        mode: Mode,
        span: Span,
    ) -> Result<Regex, BadCondition> {
        self.patterns.regex(pattern, mode).map_err(|(kind, reason)| {
            let message = printable(format!("{name}: {reason}"));
            BadCondition { message, span, kind }
        })
    }

    /// The error for an unknown condition, with the one that was probably meant.
    fn unknown(&mut self, start: usize, name: &str) -> BadCondition {
        let rest = &self.text[start..];
        let shown = rest.split('&').next().unwrap_or_default().trim_end();
        let span = Span { start, end: start + shown.len() };
        if shown.is_empty() {
            let message = format!("a condition is missing here; {KNOWN}");
            return refused(span, message);
        }
        let after = &shown[name.len()..];
        let meant = match name {
            "timeout" | "spawn" | "lost" | "any" | "network" | "server_error" | "rate_limit" => {
                let message =
                    format!("`{}`: {name} takes no value; write `{name}`", excerpt(shown));
                return refused(span, message);
            }
            "exit" => Some("exit:1".to_owned()),
            "signal" => Some("signal:TERM".to_owned()),
            "stdout" | "stderr" | "output" | "pattern" => Some(format!("{name}:/…/")),
            "" if shown.starts_with('/') => Some(format!("stderr:{shown}")),
            _ if name.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() => {
                Some(format!("exit:{shown}"))
            }
            _ if after.is_empty() && signal::named(name).is_some() => {
                signal::named(name).map(|signal| format!("signal:{signal}"))
            }
            _ => nearest(name, &NAMES).map(|meant| match (meant, after) {
                ("exit", "") => "exit:1".to_owned(),
                ("signal", "") => "signal:TERM".to_owned(),
                ("stdout" | "stderr" | "output" | "pattern", "") => format!("{meant}:/…/"),
                ("exit" | "signal" | "stdout" | "stderr" | "output" | "pattern", after) => {
                    format!("{meant}{after}")
                }
                _ => meant.to_owned(),
            }),
        };
        let message = match meant {
            Some(meant) => {
                let (shown, meant) = (excerpt(shown), excerpt(&meant));
                format!("`{shown}` is not a condition; did you mean `{meant}`?")
            }
            None => format!("`{}` is not a condition; {KNOWN}", excerpt(shown)),
        };
        refused(span, message)
    }

    /// The error for two conditions without `&` between them.
    fn not_joined(&self) -> BadCondition {
        let rest = self.rest();
        let word = rest.split_whitespace().next().unwrap_or_default();
        let span = Span { start: self.at, end: self.at + word.len() };
        let is_or = word.starts_with([',', '|', ';']) || word.eq_ignore_ascii_case("or");
        let message = match is_or {
            true => format!("`{}`: for or, write a second condition by itself", excerpt(word)),
            false => format!(
                "`{}` follows a condition; `&` between two is and, a second one by itself is or",
                excerpt(word)
            ),
        };
        refused(span, message)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn next_character(&self) -> Span {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        Span { start: self.at, end: self.at + length }
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
}

/// Where the pattern ends: a slash with no backslash before it.
fn closing_slash(inside: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'/' if !escaped => return Some(at),
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    None
}

/// `7` or `10-20`.
fn codes(item: &str) -> Result<(u8, u8), String> {
    let (first, last) = item.split_once('-').unwrap_or((item, item));
    let shown = excerpt(item);
    let (first, last) = match (code(first), code(last)) {
        (Some(first), Some(last)) => (first, last),
        _ => return Err(format!("`{shown}` is not an exit code; use 0 to 255, or 10-20")),
    };
    match (u8::try_from(first), u8::try_from(last)) {
        (Ok(first), Ok(last)) if first > last => {
            Err(format!("`{shown}` ends before it starts; write {last}-{first}"))
        }
        (Ok(first), Ok(last)) => Ok((first, last)),
        _ => Err(format!("`{shown}` is out of range; exit codes are 0 to 255")),
    }
}

fn code(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

/// `SEGV`, `SIGSEGV` or `11`.
fn signal(item: &str) -> Result<Signal, String> {
    if let Some(number) = code(item) {
        let known =
            i32::try_from(number).ok().filter(|number| (1..=signal::NUMBER_MAX).contains(number));
        let refused = || {
            format!("`{}` is out of range; signals are 1 to {}", excerpt(item), signal::NUMBER_MAX)
        };
        return known.map(Signal::Numbered).ok_or_else(refused);
    }
    signal::named(item).map(Signal::Named).ok_or_else(|| {
        let shown = excerpt(item);
        match signal::meant(item) {
            Some(meant) => format!("`{shown}` is not a signal; did you mean `{meant}`?"),
            None => format!("`{shown}` is not a signal; use a name such as SEGV, or a number"),
        }
    })
}
