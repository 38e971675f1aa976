//! A line of `sh` with values in it that stay data.

mod lexer;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::Value;
use crate::argument_space::{ValueError, one_string};
use crate::interpreter::executed;
use crate::reference::{Lookup, Reference, look_up};
use crate::suspicion::{Suspicion, suspicious};
use crate::template::{BadTemplate, Template};

/// A line of `sh` whose values stay data.
///
/// [`Shell::parse`] turns each reference into a variable of the shell, by the quoting it stands in,
/// so that the text which `sh` parses is the same for every value and holds none of them. The values
/// go by the environment.
///
/// | where `${item.x}` stands | what `sh` reads |
/// |---|---|
/// | bare | `"${REDIAL_VALUE_1}"`: one word, whatever it holds |
/// | in `"…"` | `${REDIAL_VALUE_1}` |
/// | in `'…'` | `'…'"${REDIAL_VALUE_1}"'…'` |
/// | in a here-document | `${REDIAL_VALUE_1}`; if its delimiter is quoted, it loses its quotes and the text gets backslashes |
/// | in `$(…)`, `` `…` ``, `${x:-…}` | as its quoting there says |
/// | after `\`, or in a comment | the text that it is |
///
/// `${item.x:words}` is as many words as the value has: the elements of a list, or what blanks and
/// newlines separate. It stands alone, and not in quotes.
///
/// What begins with one of the roots (`inputs`, `item`, the names of steps) is ours, and so is
/// everything with a dot after its name; `${HOME}`, `$x` and `${x:-y}` are the shell's. `$${item}`
/// is the shell's `${item}`.
///
/// What is refused: a value in what a program parses once more (`nested-interpreter`: see
/// [`check_arguments`](crate::check_arguments), and `$((…))`, names of variables), and texts whose
/// quoting shells do not agree about (`unclear-shell`). A line without references is taken as it is.
///
/// This holds for `dash`, `bash` and `busybox sh`. Shells of the ksh family evaluate the operands of
/// `[ … -eq … ]`.
///
/// ```
/// # use std::collections::BTreeMap;
/// # use redial_flow::{Shell, Value};
/// let line = Shell::parse("tar -cf ${item}.tar '${item}' # $HOME", &["item"]).unwrap();
/// let values = BTreeMap::from([("item".to_owned(), Value::of_bytes(b"$(reboot)'".to_vec()))]);
/// let script = line.render(&values).unwrap();
/// assert_eq!(script.text, r#"tar -cf "${REDIAL_VALUE_1}".tar ''"${REDIAL_VALUE_1}"'' # $HOME"#);
/// assert_eq!(script.variables, [("REDIAL_VALUE_1".to_owned(), b"$(reboot)'".to_vec())]);
///
/// let nested = Shell::parse("ssh web 'rm ${item}'", &["item"]).unwrap_err();
/// assert_eq!(nested.kind.name(), "nested-interpreter");
/// ```
#[derive(Clone, Debug)]
pub struct Shell {
    pieces: Vec<Piece>,
    uses: Vec<Use>,
}

/// What to start for one task: `sh -c TEXT` with these variables added to its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The text. No value is in it.
    pub text: String,
    /// The variables that hold the values.
    pub variables: Vec<(String, Vec<u8>)>,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Value(usize),
}

#[derive(Clone, Debug)]
struct Use {
    reference: Reference,
    variable: String,
    quoting: Quoting,
    /// `:words`.
    words: bool,
    /// A word of a command, alone.
    alone: bool,
    /// It begins a word of a command.
    first: bool,
    /// It is a part of a word, or names the file of a redirection.
    part: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoting {
    Bare,
    Double,
    Single,
    /// The text of a here-document.
    Here,
}

impl Shell {
    /// Reads a line. `roots` are the names that references begin with.
    ///
    /// # Errors
    ///
    /// If a reference is none, a value would be parsed again, or its quoting is unclear.
    pub fn parse(line: &str, roots: &[&str]) -> Result<Self, BadTemplate> {
        let (shell, found) = Self::read(line, roots);
        found.into_iter().next().map_or(Ok(shell), Err)
    }

    /// Reads a line, with all that is wrong with it, each at its bytes. Where the quoting is unclear, the rest is not read.
    pub(crate) fn read(line: &str, roots: &[&str]) -> (Self, Vec<BadTemplate>) {
        lexer::lex(line, roots)
    }

    /// Refuses a value on the standard input of a line in which a program executes what it reads there: `sh`,
    /// `python3 -`.
    ///
    /// # Errors
    ///
    /// With the first value, where there is such a program.
    pub(crate) fn check_stdin(
        line: &str,
        roots: &[&str],
        stdin: &Template,
    ) -> Result<(), BadTemplate> {
        executed(lexer::executes_stdin(line, roots), stdin)
    }

    /// The references, in the order in which they stand. Those in comments are none.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.uses.iter().map(|one| &one.reference)
    }

    /// The script and its variables.
    ///
    /// # Errors
    ///
    /// If a reference has no value, or the system takes no such variable.
    pub fn render(&self, values: &dyn Lookup) -> Result<Script, ValueError> {
        let mut text = String::new();
        let mut variables = BTreeMap::new();
        for piece in &self.pieces {
            let one = match piece {
                Piece::Text(piece) => {
                    text.push_str(piece);
                    continue;
                }
                Piece::Value(index) => &self.uses[*index],
            };
            let name = &one.variable;
            if one.words {
                let words = words(&*look_up(values, &one.reference)?);
                for (index, word) in words.into_iter().enumerate() {
                    let blank = if index == 0 { "" } else { " " };
                    let name = format!("{name}_{}", index + 1);
                    text.push_str(&format!("{blank}\"${{{name}}}\""));
                    one.insert(&mut variables, name, word)?;
                }
                continue;
            }
            if !variables.contains_key(name) {
                let bytes = look_up(values, &one.reference)?.bytes().into_owned();
                one.insert(&mut variables, name.clone(), bytes)?;
            }
            text.push_str(&match one.quoting {
                Quoting::Bare => format!("\"${{{name}}}\""),
                Quoting::Single => format!("'\"${{{name}}}\"'"),
                Quoting::Double | Quoting::Here => format!("${{{name}}}"),
            });
        }
        one_string(text.as_bytes(), 0, || "the line".to_owned())?;
        Ok(Script { text, variables: variables.into_iter().collect() })
    }

    /// What is suspicious about the values. References without a value are left out: rendering tells.
    pub fn suspicions(&self, values: &dyn Lookup) -> Vec<Suspicion> {
        let mut found = Vec::new();
        for one in &self.uses {
            let Ok(value) = look_up(values, &one.reference) else { continue };
            found.extend(suspicious(&value.bytes(), one.first, one.part).map(|kind| Suspicion {
                kind,
                argument: None,
                reference: one.reference.to_string(),
                span: one.reference.span(),
            }));
        }
        found
    }
}

impl Use {
    fn insert(
        &self,
        variables: &mut BTreeMap<String, Vec<u8>>,
        name: String,
        bytes: Vec<u8>,
    ) -> Result<(), ValueError> {
        one_string(&bytes, name.len() + 1, || format!("`{}`", self.reference))?;
        variables.insert(name, bytes);
        Ok(())
    }
}

/// The words of a value: the elements of a list, or what blanks and newlines separate.
fn words(value: &Value) -> Vec<Vec<u8>> {
    match value {
        Value::Json(Json::Array(elements)) => {
            elements.iter().map(|one| Value::Json(one.clone()).bytes().into_owned()).collect()
        }
        Value::Json(Json::Object(_)) => vec![value.bytes().into_owned()],
        _ => {
            let bytes = value.bytes();
            let parts = bytes.split(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
            parts.filter(|part| !part.is_empty()).map(<[u8]>::to_vec).collect()
        }
    }
}
