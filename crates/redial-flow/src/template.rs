//! Texts with references to values.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use crate::Value;
use crate::argument_space::{ValueError, one_string};
use crate::reference::{ITEM_NUMBER, Lookup, Reference, Segment, look_up, name_at, path_at};

/// What is wrong with a template or a shell line, before any value is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadTemplate {
    /// What kind of mistake it is.
    pub kind: BadTemplateKind,
    /// Where, in bytes of the text.
    pub span: Range<usize>,
    /// What is wrong, without a full stop.
    pub message: String,
    /// What to write instead.
    pub remedy: String,
}

/// The kinds of [`BadTemplate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadTemplateKind {
    /// `${` and no reference after it.
    BadReference,
    /// A value would become part of a text that is parsed again.
    NestedInterpreter,
    /// Shells do not agree on where the quotes are, or nothing closes one.
    UnclearShell,
}

impl BadTemplateKind {
    /// `bad-reference`, `nested-interpreter` or `unclear-shell`.
    pub fn name(self) -> &'static str {
        match self {
            Self::BadReference => "bad-reference",
            Self::NestedInterpreter => "nested-interpreter",
            Self::UnclearShell => "unclear-shell",
        }
    }
}

impl BadTemplate {
    pub(crate) fn reference(
        span: Range<usize>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (message, remedy) = (message.into(), remedy.into());
        Self { kind: BadTemplateKind::BadReference, span, message, remedy }
    }
}

impl Display for BadTemplate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.remedy)
    }
}

impl std::error::Error for BadTemplate {}

/// A text with references.
///
/// There are two spellings of one [`Template`]:
///
/// | where | a reference | text that would be one |
/// |---|---|---|
/// | a flow file, [`Template::parse`] | `${inputs.url}`, `${item}`, `${list.output.pictures[0].name}`, `${item["a key"]}` | `$${item}` is the text `${item}` |
/// | the command of `redial map`, [`Template::of_argument`] | `{}` the item, `{#}` its number, `{url}`, `{owner.login}`, `{tags[0]}` its fields | `{{}}` is the text `{}` |
///
/// In a flow file `${` always begins a reference: a path of names, `.field`, `[index]` and
/// `["key"]`. Before the brace, two dollars are one: `$${x}` is text, and `$$${x}` is a dollar and
/// then a value. A dollar without a brace is a dollar.
///
/// In `redial map` only these are placeholders: `{}`, `{#}`, and a path that begins with a letter,
/// `_` or a character outside ASCII, with nothing else between the braces. Everything else is text
/// as it stands, so `awk '{print $1}'`, `{1..3}`, `{a,b}`, `{ }` and `{"a":1}` need no thought. Nor
/// is `${x}` one, which is the shell's. Around what would be a placeholder, two pairs of braces are
/// one: `{{x}}` is the text `{x}`, and `{{{x}}}` is a value in braces.
///
/// A value goes in as its bytes ([`Value::bytes`]). What a template becomes is never read again, so
/// no value can bring a reference of its own.
///
/// ```
/// # use std::collections::BTreeMap;
/// # use redial_flow::{Template, Value};
/// let values = BTreeMap::from([("item".to_owned(), Value::of_bytes(b"$(reboot)".to_vec()))]);
///
/// let argument = Template::of_argument(b"--title={}");
/// assert_eq!(argument.argument(&values).unwrap(), b"--title=$(reboot)");
///
/// let program = Template::of_argument(b"{print $1}");
/// assert_eq!(program.references().count(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Template {
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text(Vec<u8>),
    Value(Reference),
}

impl Template {
    /// Reads the text of a flow file: `${inputs.url}` refers, `$${` is the text `${`.
    ///
    /// # Errors
    ///
    /// Where `${` begins no reference.
    pub fn parse(text: &str) -> Result<Self, BadTemplate> {
        let bytes = text.as_bytes();
        let mut pieces = Pieces::default();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let dollars = run(bytes, at, b'$');
            if dollars == 0 {
                pieces.text.push(byte);
                at += 1;
                continue;
            }
            at += dollars;
            if bytes.get(at) != Some(&b'{') {
                pieces.text.extend(vec![b'$'; dollars]);
                continue;
            }
            pieces.text.extend(vec![b'$'; dollars / 2]);
            if dollars % 2 == 1 {
                let (reference, end) = reference_at(text, at - 1)?;
                pieces.value(reference);
                at = end;
            }
        }
        Ok(pieces.end())
    }

    /// Reads an argument of `redial map`: `{}`, `{#}` and `{field}` refer, and every other brace is text.
    pub fn of_argument(text: &[u8]) -> Self {
        let mut pieces = Pieces::default();
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let open = run(text, at, b'{');
            if open == 0 {
                pieces.text.push(byte);
                at += 1;
                continue;
            }
            let inside = at + open;
            let shells = at > 0 && text[at - 1] == b'$';
            let Some((root, path, end)) = placeholder(text, inside).filter(|_| !shells) else {
                pieces.text.extend(&text[at..inside]);
                at = inside;
                continue;
            };
            let pairs = open.min(run(text, end, b'}'));
            pieces.text.extend(vec![b'{'; open - pairs + pairs / 2]);
            if pairs % 2 == 1 {
                pieces.value(Reference::new(root, path, inside - 1..end + 1));
            } else {
                pieces.text.extend(&text[inside..end]);
            }
            pieces.text.extend(vec![b'}'; pairs / 2]);
            at = end + pairs;
        }
        pieces.end()
    }

    /// The references, in the order in which they stand.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Value(reference) => Some(reference),
            Piece::Text(_) => None,
        })
    }

    /// The reference, if the whole text is one.
    pub fn reference(&self) -> Option<&Reference> {
        match self.pieces.as_slice() {
            [Piece::Value(reference)] => Some(reference),
            _ => None,
        }
    }

    /// The text, if nothing in it is a reference.
    pub fn text(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(&[]),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The bytes that stand before the first reference.
    pub(crate) fn before(&self) -> &[u8] {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => &[],
        }
    }

    /// The bytes, with each value in its place: for standard input and files, which take any.
    ///
    /// # Errors
    ///
    /// If a reference has no value.
    pub fn render(&self, values: &dyn Lookup) -> Result<Vec<u8>, ValueError> {
        let mut bytes = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => bytes.extend_from_slice(text),
                Piece::Value(reference) => {
                    bytes.extend_from_slice(&look_up(values, reference)?.bytes());
                }
            }
        }
        Ok(bytes)
    }

    /// The value itself if the whole text is one reference, so that a list stays a list; else the
    /// rendered text.
    ///
    /// # Errors
    ///
    /// If a reference has no value.
    pub fn value(&self, values: &dyn Lookup) -> Result<Value, ValueError> {
        match self.reference() {
            Some(reference) => look_up(values, reference).map(Cow::into_owned),
            None => self.render(values).map(Value::of_bytes),
        }
    }

    /// The bytes as one argument of a command, or the name of a file.
    ///
    /// # Errors
    ///
    /// If a reference has no value, or the system takes no such argument.
    pub fn argument(&self, values: &dyn Lookup) -> Result<Vec<u8>, ValueError> {
        let bytes = self.render(values)?;
        one_string(&bytes, 0, || self.place("the argument"))?;
        Ok(bytes)
    }

    /// The bytes as the value of the variable `name`.
    ///
    /// # Errors
    ///
    /// If a reference has no value, or the system takes no such variable.
    pub fn variable(&self, name: &str, values: &dyn Lookup) -> Result<Vec<u8>, ValueError> {
        let bytes = self.render(values)?;
        one_string(&bytes, name.len() + 1, || self.place(&format!("the variable `{name}`")))?;
        Ok(bytes)
    }

    fn place(&self, noun: &str) -> String {
        let references: Vec<_> = self.references().take(3).map(|one| format!("`{one}`")).collect();
        match references.is_empty() {
            true => noun.to_owned(),
            false => format!("{noun} with {}", references.join(", ")),
        }
    }
}

#[derive(Default)]
struct Pieces {
    done: Vec<Piece>,
    text: Vec<u8>,
}

impl Pieces {
    fn value(&mut self, reference: Reference) {
        self.flush();
        self.done.push(Piece::Value(reference));
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.done.push(Piece::Text(std::mem::take(&mut self.text)));
        }
    }

    fn end(mut self) -> Template {
        self.flush();
        Template { pieces: self.done }
    }
}

/// How often `byte` stands from `at` on.
fn run(bytes: &[u8], at: usize, byte: u8) -> usize {
    bytes[at..].iter().take_while(|&&one| one == byte).count()
}

/// The reference whose dollar is at `dollar`, and where it ends.
fn reference_at(text: &str, dollar: usize) -> Result<(Reference, usize), BadTemplate> {
    const ESCAPE: &str = "write `$${` for the text `${`";
    let bytes = text.as_bytes();
    let (root, mut at) = name_at(bytes, dollar + 2)
        .filter(|(name, _)| !name.starts_with(|first: char| first.is_ascii_digit() || first == '-'))
        .ok_or_else(|| {
            BadTemplate::reference(
                dollar..dollar + 2,
                "`${` begins a reference, and no name follows",
                format!("{ESCAPE}, or a name such as `${{item.id}}`"),
            )
        })?;
    let (path, end) = path_at(bytes, at);
    at = end;
    match bytes.get(at) {
        Some(b'}') => Ok((Reference::new(root, path, dollar..at + 1), at + 1)),
        None => Err(BadTemplate::reference(
            dollar..at,
            "no `}` closes this reference",
            format!("close it, or {ESCAPE}"),
        )),
        Some(b':') if bytes[at..].starts_with(b":words}") => Err(BadTemplate::reference(
            at..at + 6,
            "a value is one argument or a part of one, and only a `shell` line can split it into words",
            "list the arguments one by one",
        )),
        Some(_) => {
            let letter = text[at..].chars().next().unwrap_or(' ');
            Err(BadTemplate::reference(
                at..at + letter.len_utf8(),
                format!(
                    "a reference is a path of `.field`, `[0]` and `[\"key\"]`, and {letter:?} is no part of one"
                ),
                ESCAPE,
            ))
        }
    }
}

/// What stands between the braces of `redial map`: the root, the path in it, and where the closing brace is.
fn placeholder(text: &[u8], at: usize) -> Option<(String, Vec<Segment>, usize)> {
    let item = || "item".to_owned();
    match text.get(at)? {
        b'}' => Some((item(), Vec::new(), at)),
        b'#' if text.get(at + 1) == Some(&b'}') => {
            Some((ITEM_NUMBER.to_owned(), Vec::new(), at + 1))
        }
        b'0'..=b'9' | b'-' => None,
        _ => {
            let (name, end) = name_at(text, at)?;
            let (rest, end) = path_at(text, end);
            let path = std::iter::once(Segment::Field(name)).chain(rest).collect();
            (text.get(end) == Some(&b'}')).then_some((item(), path, end))
        }
    }
}
