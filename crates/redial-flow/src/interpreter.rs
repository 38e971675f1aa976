//! Which words of a command are code: the text after `sh -c`, the program of `awk`, what `ssh` sends
//! to a shell.

mod settings;
mod table;

use std::ops::Range;

use table::{INTERPRETERS, Interpreter, WRAPPERS, Wrapper};

use crate::template::{BadTemplate, BadTemplateKind, Template};

/// A word of a command as far as it is known before it runs.
#[derive(Debug, Default)]
pub(crate) struct Word {
    /// Without its quotes, and with a NUL for each part that is not known yet.
    pub(crate) text: Vec<u8>,
    /// The first of our values in it.
    pub(crate) value: Option<Range<usize>>,
    /// The shell's own variable, if the word is nothing else: `$SHELL -c` is a shell, too.
    pub(crate) variable: Option<String>,
    /// Nothing but expansions of the shell without quotes: no word at all if they are empty.
    pub(crate) may_vanish: bool,
}

impl Word {
    fn is(&self, text: &str) -> bool {
        self.text == text.as_bytes()
    }

    /// The program's name without its directory and version, if its end is known.
    fn program(&self) -> Option<&str> {
        if self.text == [0] {
            return self.variable.as_deref();
        }
        // `$BIN/sh` and `${PREFIX}sh` end like what they are.
        let name = self.text.rsplit(|byte| matches!(byte, b'/' | b'\\' | 0)).next()?;
        let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
        let name = name.strip_suffix(".exe").unwrap_or(name);
        let plain =
            name.trim_end_matches(|last: char| last.is_ascii_digit() || matches!(last, '.' | '-'));
        // `sqlite3` and `base64` have digits that are no version.
        Some(if plain.is_empty() || INTERPRETERS.iter().any(|one| one.names.contains(&name)) {
            name
        } else {
            plain
        })
    }
}

/// What a command does with values.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Where a value stands in code, and why that is refused.
    pub(crate) refused: Option<Refused>,
    /// The program that reads its standard input as code.
    pub(crate) stdin: Option<&'static str>,
    /// It writes its arguments or its input to its output.
    pub(crate) speaks: bool,
    /// It has its code, and whatever follows is for that.
    has_code: bool,
}

/// A value in code.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) word: usize,
    pub(crate) program: String,
    pub(crate) remedy: &'static str,
}

/// How a command reads its words; in a shell, where variables have names that a word can give.
pub(crate) fn read(words: &[Word], in_shell: bool) -> Reading {
    read_at(words, in_shell, 0)
}

/// How many wrappers are looked through, and how many words of an interpreter that stands among the
/// arguments of another program.
const WRAPPERS_MAX: usize = 16;
const WORDS_MAX: usize = 64;

fn read_at(words: &[Word], in_shell: bool, depth: usize) -> Reading {
    let mut reading = Reading::default();
    let has_values = words.iter().any(|word| word.value.is_some());
    let mut start = 0;
    let mut filled_in: Option<Vec<u8>> = None;
    for _ in depth..WRAPPERS_MAX {
        let Some(first) = words.get(start) else { break };
        // `$SUDO awk …`: whatever it is, and if it is nothing, the next word may be the program.
        let may_vanish = first.may_vanish || first.text == [0];
        let Some(name) = first.program() else {
            if !may_vanish {
                break;
            }
            start += 1;
            continue;
        };
        let here = &words[start..];
        let refuse = |word: usize, remedy| {
            Some(Refused { word: start + word, program: name.to_owned(), remedy })
        };
        if in_shell && let Some(word) = name_given(name, here) {
            let remedy = "it takes the name of a variable here; write that name as it is";
            reading.refused = refuse(word, remedy);
            return reading;
        }
        if let Some((word, remedy)) = settings::code_in(name, here) {
            reading.refused = refuse(word, remedy);
            return reading;
        }
        if matches!(name, "echo" | "printf" | "cat" | "tee") {
            reading.speaks = true;
        }
        if name == "find" {
            find(&mut reading, start, here, has_values, depth);
        } else if let Some(interpreter) = interpreter(name) {
            code(&mut reading, interpreter, start, here, filled_in.as_deref());
        }
        let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name));
        match wrapper {
            Some(wrapper) if reading.refused.is_none() => {
                if name == "xargs" {
                    filled_in = Some(xargs_marker(here));
                }
                start += wrapper.skip(here);
            }
            None if may_vanish && reading.refused.is_none() => start += 1,
            _ => break,
        }
    }
    // Somebody else's wrapper: `docker exec web sh -c …`.
    for other in start + 1..words.len() {
        if reading.refused.is_some() || reading.has_code || !has_values {
            break;
        }
        let Some(interpreter) = words[other].program().and_then(interpreter) else { continue };
        if interpreter.operands.is_empty() && !interpreter.names.contains(&"env") {
            let mut inner = Reading::default();
            let near = &words[other..words.len().min(other + WORDS_MAX)];
            code(&mut inner, interpreter, other, near, None);
            reading.refused = inner.refused;
        }
    }
    reading
}

/// Refuses an argument list in which a value is a part of code.
///
/// A value in such a word would be parsed again, whatever the quotes around it, so it is refused
/// before anything runs. The table names what flows use; it cannot name every program that parses an
/// argument, nor a script that a flow writes and then runs.
///
/// | | code |
/// |---|---|
/// | `sh`, `bash`, `dash`, `zsh`, `fish` … | the text after `-c`; standard input without a script |
/// | `python`, `perl`, `ruby`, `node`, `php`, `lua` … | the text after `-c`, `-e`, `-r`; standard input without a script |
/// | `awk`, `sed`, `jq`, `yq` | the first operand, or the text after `-e` |
/// | `ssh`, `parallel`, `watch`, `eval`, `trap`, `alias`, `let` | what follows |
/// | `psql`, `mysql`, `sqlite3` | the statement; standard input without one |
/// | `tmux`, `screen -X`, `git -c alias.x=`, `git config`, `make X=` | what they hand to a shell |
/// | `printf` | the format |
///
/// `env`, `sudo`, `nice`, `nohup`, `timeout`, `setsid`, `stdbuf`, `time`, `xargs`, `find -exec` and
/// their like are looked through; so is every program before a word that is one of the first two
/// rows, such as `docker exec web sh -c`.
///
/// The error comes with the number of the argument, counted from zero.
///
/// ```
/// # use redial_flow::{Template, check_arguments};
/// let command = |words: &[&str]| -> Vec<_> {
///     words.iter().map(|word| Template::of_argument(word.as_bytes())).collect()
/// };
///
/// let (argument, error) = check_arguments(&command(&["sh", "-c", "rm {}"])).unwrap_err();
/// assert_eq!(argument, 2);
/// assert_eq!(error.kind.name(), "nested-interpreter");
///
/// assert!(check_arguments(&command(&["sh", "-c", "rm \"$1\"", "sh", "{}"])).is_ok());
/// ```
///
/// # Errors
///
/// With the first such argument.
pub fn check_arguments(arguments: &[Template]) -> Result<(), (usize, BadTemplate)> {
    let words: Vec<_> = arguments.iter().map(word_of).collect();
    let Some(refused) = read(&words, false).refused else { return Ok(()) };
    let span = words[refused.word].value.clone().unwrap_or_default();
    Err((refused.word, refused.into_error(span)))
}

/// Refuses a value on the standard input of a command that executes what it reads there: `sh`, `bash -s`, `python3 -`.
///
/// # Errors
///
/// With the first value, where the command is such a one.
pub(crate) fn check_stdin(arguments: &[Template], stdin: &Template) -> Result<(), BadTemplate> {
    let words: Vec<_> = arguments.iter().map(word_of).collect();
    executed(read(&words, false).stdin, stdin)
}

/// The same where it is known which program reads its standard input as code.
pub(crate) fn executed(program: Option<&str>, stdin: &Template) -> Result<(), BadTemplate> {
    match (program, stdin.references().next()) {
        (Some(program), Some(reference)) => Err(stdin_is_code(reference.span(), program)),
        _ => Ok(()),
    }
}

/// The error of a value that a program would execute from its standard input.
pub(crate) fn stdin_is_code(span: Range<usize>, program: &str) -> BadTemplate {
    let remedy = "its standard input is a program; name the value in `env`, and use that variable in quotes there";
    let program = program.to_owned();
    Refused { word: 0, program, remedy }.into_error(span)
}

fn word_of(template: &Template) -> Word {
    let text = template.text().map(<[u8]>::to_vec).unwrap_or_else(|| {
        let mut text = template.before().to_vec();
        text.push(0);
        text
    });
    let value = template.references().next().map(|reference| reference.span());
    Word { text, value, ..Word::default() }
}

impl Refused {
    pub(crate) fn into_error(self, span: Range<usize>) -> BadTemplate {
        BadTemplate {
            kind: BadTemplateKind::NestedInterpreter,
            span,
            message: format!("`{}` would parse the value", self.program),
            remedy: self.remedy.to_owned(),
        }
    }
}

fn interpreter(name: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|interpreter| interpreter.names.contains(&name))
}

/// Looks for values in the code of `words`, which begin at `start` of the command.
fn code(
    reading: &mut Reading,
    interpreter: &'static Interpreter,
    start: usize,
    words: &[Word],
    filled_in: Option<&[u8]>,
) {
    let name = words[0].program().unwrap_or_default().to_owned();
    let found = interpreter.code_in(words);
    reading.has_code |= !found.code.is_empty();
    for &word in &found.code {
        if words[word].value.is_some() && reading.refused.is_none() {
            let (word, program) = (start + word, name.clone());
            reading.refused = Some(Refused { word, program, remedy: interpreter.remedy });
        }
    }
    let from_outside = filled_in.is_some_and(|marker| {
        found.wants_code || found.code.iter().any(|&word| contains(&words[word].text, marker))
    });
    let listed = interpreter.names.iter().find(|one| **one == name).copied();
    if found.stdin || from_outside || matches!(name.as_str(), "." | "source") {
        reading.stdin = listed;
    }
}

/// `find -exec sh -c '… {}'`: the names of files begin with the directory, which may be a value.
fn find(reading: &mut Reading, start: usize, words: &[Word], has_values: bool, depth: usize) {
    let runs = |word: &Word| ["-exec", "-execdir", "-ok", "-okdir"].iter().any(|&one| word.is(one));
    let mut at = 1;
    while let Some(next) = words[at.min(words.len())..].iter().position(runs) {
        at += next + 1;
        let end = words[at..].iter().position(|word| word.is(";") || word.is("+"));
        let command = &words[at..end.map_or(words.len(), |end| at + end)];
        let inner = read_at(command, false, depth + 4);
        if reading.refused.is_none() {
            reading.refused =
                inner.refused.map(|refused| Refused { word: start + at + refused.word, ..refused });
        }
        let mut filled = Reading::default();
        if let Some(interpreter) = command.first().and_then(Word::program).and_then(interpreter) {
            code(&mut filled, interpreter, 0, command, Some(b"{}"));
        }
        if filled.stdin.is_some() && has_values && reading.refused.is_none() {
            let word = start + words.iter().position(|word| word.value.is_some()).unwrap_or(0);
            let remedy = "hand the file over as an argument: -exec sh -c '… \"$1\"' sh {} ';'";
            reading.refused = Some(Refused { word, program: "find -exec".to_owned(), remedy });
        }
        at += command.len();
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

/// What `xargs` replaces by a line of its input.
fn xargs_marker(words: &[Word]) -> Vec<u8> {
    for (index, word) in words.iter().enumerate().skip(1) {
        if word.is("-I") {
            return words.get(index + 1).map(|next| next.text.clone()).unwrap_or_default();
        }
        match word.text.as_slice() {
            [b'-', b'I', rest @ ..] => return rest.to_vec(),
            [b'-', b'i', rest @ ..] if !rest.is_empty() => return rest.to_vec(),
            b"-i" | b"--replace" => return b"{}".to_vec(),
            [b'-', ..] => {}
            _ => break,
        }
    }
    Vec::new()
}

/// Which words are code.
#[derive(Default)]
struct Found {
    code: Vec<usize>,
    stdin: bool,
    /// `-c` was said, and nothing follows it.
    wants_code: bool,
}

impl Interpreter {
    fn code_in(&self, words: &[Word]) -> Found {
        let mut found = Found::default();
        let mut supplied = false;
        let mut first_operand_is_code = false;
        let mut reads_stdin = false;
        let mut options = true;
        let mut operands = 0;
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let text = word.text.as_slice();
            at += 1;
            match text {
                b"--" if options => options = false,
                [b'-' | b'+', _, ..] if options && (text[0] == b'-' || self.code_is_operand) => {
                    let name = text.split(|&byte| byte == b'=').next().unwrap_or(text);
                    let is = |option: &&str| option.as_bytes() == name;
                    if self.long.iter().any(is) {
                        supplied = true;
                        found.code.push(if name.len() < text.len() { at - 1 } else { at });
                        at += usize::from(name.len() == text.len());
                        continue;
                    }
                    if let Some((_, values)) =
                        self.long_valued.iter().find(|(option, _)| is(option))
                    {
                        at += if name.len() < text.len() { 0 } else { *values };
                        continue;
                    }
                    // What a value makes of a word that only looks like an option, nobody knows.
                    let unknown = !self.operands.is_empty() && word.value.is_some();
                    if text.starts_with(b"--") {
                        found.code.extend(unknown.then_some(at - 1));
                        continue;
                    }
                    for (place, &letter) in text.iter().enumerate().skip(1) {
                        let last = place + 1 == text.len();
                        let among = |letters: &str| letters.bytes().any(|one| one == letter);
                        if among(self.code) && self.code_is_operand {
                            first_operand_is_code = true;
                        } else if among(self.code) {
                            supplied = true;
                            found.code.push(if last { at } else { at - 1 });
                            at += usize::from(last);
                            options &= !(self.names.contains(&"python"));
                            break;
                        } else if among(self.file) || among(self.valued) {
                            supplied |= among(self.file);
                            at += usize::from(last);
                            break;
                        } else if among(self.attached) {
                            break;
                        } else if letter == 0 {
                            found.code.extend(unknown.then_some(at - 1));
                            break;
                        } else if letter == b's' && self.code_is_operand {
                            reads_stdin = true;
                        }
                    }
                }
                // `yq eval '…'` has a verb first.
                b"eval" | b"e" | b"ea" | b"eval-all" if self.names == ["yq"] => {}
                b"-" => {}
                b":::" if self.names == ["parallel"] => break,
                // `sh -c $x ${item}` has its code one word later, if there is nothing in `$x`.
                _ if word.may_vanish && self.operands.start == 0 => {}
                _ => {
                    options &= !self.operands_end_options;
                    let is_code = match first_operand_is_code {
                        true => operands == 0,
                        false => !supplied && self.operands.contains(&operands),
                    };
                    if is_code {
                        found.code.push(at - 1);
                    }
                    operands += 1;
                    if !options
                        && (supplied || first_operand_is_code || operands >= self.operands.end)
                    {
                        break;
                    }
                }
            }
        }
        found.code.retain(|&word| word < words.len());
        found.wants_code = (supplied || first_operand_is_code) && found.code.is_empty();
        let few = self.stdin.is_some_and(|most| operands <= most);
        found.stdin = reads_stdin || (few && !supplied && !first_operand_is_code);
        found
    }
}

impl Wrapper {
    /// How many words stand before the command that it starts.
    fn skip(&self, words: &[Word]) -> usize {
        let mut at = 1;
        let mut operands = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_slice();
            match text {
                b"--" => {
                    at += 1;
                    return (at + self.operands - operands).min(words.len());
                }
                [b'-', b'-', ..] => {
                    let valued = self.long_valued.iter().any(|option| option.as_bytes() == text);
                    at += if valued { 2 } else { 1 };
                }
                [b'-', letters @ ..] if !letters.is_empty() => {
                    let takes =
                        |letters: &str, one: u8| letters.bytes().any(|letter| letter == one);
                    let stop = letters
                        .iter()
                        .position(|&one| takes(self.valued, one) || takes(self.attached, one));
                    let valued = stop.is_some_and(|place| {
                        takes(self.valued, letters[place]) && place + 1 == letters.len()
                    });
                    at += if valued { 2 } else { 1 };
                }
                _ if self.assignments && text.contains(&b'=') => at += 1,
                _ if operands < self.operands => {
                    operands += 1;
                    at += 1;
                }
                _ => return at,
            }
        }
        words.len()
    }
}

/// The word with a value that a builtin of the shell takes for the name of a variable. Some shells
/// evaluate a subscript in it: `unset 'a[$(reboot)]'`.
fn name_given(name: &str, words: &[Word]) -> Option<usize> {
    let mut valued = words.iter().enumerate().skip(1).filter(|(_, word)| word.value.is_some());
    let has = |option: &str| words.iter().any(|word| word.is(option));
    match name {
        "unset" | "read" | "getopts" | "mapfile" | "readarray" => Some(valued.next()?.0),
        "export" | "readonly" | "local" | "declare" | "typeset" | "integer" => {
            let evaluates = name == "integer"
                || words[1..].iter().any(|word| matches!(word.text.as_slice(), [b'-', rest @ ..] if rest.contains(&b'i')));
            let found = valued.find(|(_, word)| evaluates || assignment(&word.text).is_none())?;
            Some(found.0)
        }
        "test" | "[" | "[[" if has("-v") || has("-R") => Some(valued.next()?.0),
        "[[" if ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"].into_iter().any(has) => {
            Some(valued.next()?.0)
        }
        "printf" if has("-v") => {
            valued.next().filter(|(index, _)| *index == 2).map(|found| found.0)
        }
        _ => None,
    }
}

/// The name in `NAME=…`.
pub(crate) fn assignment(text: &[u8]) -> Option<&[u8]> {
    let equals = text.iter().position(|&byte| byte == b'=')?;
    let name = text[..equals].strip_suffix(b"+").unwrap_or(&text[..equals]);
    let plain = name.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (plain && name.first().is_some_and(|first| !first.is_ascii_digit())).then_some(name)
}
