//! The grammar of commands, as far as it says which word is a program, which is its argument, and
//! where a list ends.

use std::ops::Range;

use super::{Lexed, Lexer, Lexing, nested, unclear};
use crate::interpreter::{self, Reading, Word, assignment, stdin_is_code};
use crate::shell::Quoting;

/// How many values in the code of one command are told.
const REFUSED_MAX: usize = 8;

const NAME_A_VARIABLE: &str = "the name of a variable has to be known; write it";

/// One command of a pipeline.
struct Stage {
    pipeline: usize,
    reading: Reading,
    value: Option<Range<usize>>,
    /// A value in its here-document.
    input: Option<Range<usize>>,
    /// Its standard input is redirected.
    is_redirected: bool,
}

/// What is open in a list of commands.
#[derive(PartialEq)]
enum Group {
    Paren { arithmetic: bool },
    Case(Case),
}

#[derive(Clone, Copy, PartialEq)]
enum Case {
    Subject,
    In,
    Pattern,
    Body,
}

/// What follows the operator of a redirection.
#[derive(Clone, Copy, PartialEq)]
enum Target {
    File,
    Descriptor,
    /// The text of a here-string.
    Text,
}

#[derive(Default)]
struct List {
    groups: Vec<Group>,
    words: Vec<Word>,
    /// A word of the command has been read, or a compound command ended.
    started: bool,
    /// The last token was `NAME=…` and touches what follows.
    after_assignment: bool,
    stages: Vec<Stage>,
    pipeline: usize,
    /// What the next word is for a redirection.
    redirection: Option<Target>,
    input: Option<Range<usize>>,
    is_redirected: bool,
    /// After `function`.
    names_function: bool,
    piped: bool,
    /// A word of the command was `--`.
    is_after_dashes: bool,
}

impl Lexer<'_, '_, '_> {
    /// A list of commands, to the end or to the `)` that closes it.
    pub(super) fn commands(&mut self, closed: bool) -> Lexing {
        let opened = self.at;
        let outside = std::mem::take(&mut self.pending);
        self.pending_outside += outside.len();
        let mut list = List::default();
        loop {
            let Some(byte) = self.peek(0) else {
                if closed {
                    return Err(self.unclosed(opened.saturating_sub(1), "`(`"));
                }
                self.end_command(&mut list)?;
                self.end_pipelines(&mut list)?;
                break;
            };
            let touches = std::mem::take(&mut list.after_assignment);
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek(1) == Some(b'\n') => self.at += 2,
                b'#' => {
                    while self.peek(0).is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                b'\n' => self.newline(&mut list)?,
                b';' => {
                    self.end_command(&mut list)?;
                    list.pipeline += 1;
                    let double = self.looking_at(b";;") || self.looking_at(b";&");
                    self.at += if double { 2 } else { 1 };
                    if double {
                        self.at += usize::from(self.peek(0) == Some(b'&'));
                        if let Some(Group::Case(case)) = list.groups.last_mut() {
                            *case = Case::Pattern;
                        }
                    }
                }
                b'&' => {
                    self.end_command(&mut list)?;
                    list.pipeline += 1;
                    self.at += if self.looking_at(b"&&") { 2 } else { 1 };
                }
                b'|' if list.groups.last() == Some(&Group::Case(Case::Pattern)) => self.at += 1,
                b'|' => {
                    self.end_command(&mut list)?;
                    let or = self.looking_at(b"||");
                    list.pipeline += usize::from(or);
                    list.piped = !or;
                    self.at += if or || self.looking_at(b"|&") { 2 } else { 1 };
                }
                b'(' => self.open(&mut list, touches)?,
                b')' => {
                    if self.close(&mut list, closed)? {
                        break;
                    }
                }
                b'<' | b'>' => self.redirection(&mut list)?,
                _ => self.word_of(&mut list)?,
            }
        }
        self.pending_outside -= outside.len();
        self.pending = outside;
        Ok(())
    }

    fn newline(&mut self, list: &mut List) -> Lexing {
        self.at += 1;
        if self.pending_outside > 0 {
            return Err(unclear(
                self.span(self.at - 1, self.at),
                "shells do not agree whether the here-document that is still to come begins here",
                "end this line before the here-document's `<<`",
            ));
        }
        let piped = list.piped && list.words.is_empty() && !list.started;
        if !matches!(
            list.groups.last(),
            Some(Group::Case(Case::Subject | Case::In | Case::Pattern))
        ) {
            self.end_command(list)?;
        }
        for here in std::mem::take(&mut self.pending) {
            let value = self.here_document(&here)?;
            if let Some(stage) = list.stages.get_mut(here.stage) {
                stage.input = stage.input.take().or(value);
            }
        }
        if piped {
            list.piped = true;
            return Ok(());
        }
        self.end_pipelines(list)?;
        list.pipeline += 1;
        Ok(())
    }

    /// `(`: a subshell, a function, or a pattern of `case`.
    fn open(&mut self, list: &mut List, touches_assignment: bool) -> Lexing {
        if list.groups.last() == Some(&Group::Case(Case::Pattern)) {
            self.at += 1;
            return Ok(());
        }
        let rest = &self.text[self.at + 1..self.end];
        let blanks = rest.iter().take_while(|&&byte| matches!(byte, b' ' | b'\t')).count();
        let empty = rest.get(blanks) == Some(&b')');
        if touches_assignment {
            return Err(unclear(
                self.here(),
                "`sh` has no arrays",
                "use words, or a program of its own",
            ));
        }
        if empty && list.words.len() <= 1 {
            if let Some(span) = list.words.first().and_then(|word| word.value.clone()) {
                let remedy = "the name of a function has to be known; write it";
                self.tell(nested(span, "the shell", remedy));
            }
            self.at += blanks + 2;
            list.words.clear();
            list.started = false;
            return Ok(());
        }
        if list.started || !list.words.is_empty() {
            return Err(unclear(self.here(), "no `(` can stand here", "quote it"));
        }
        let arithmetic = self.peek(1) == Some(b'(');
        self.arithmetic += usize::from(arithmetic);
        list.groups.push(Group::Paren { arithmetic });
        list.pipeline += 1;
        self.at += 1;
        Ok(())
    }

    /// `)`; true if it ends the list.
    fn close(&mut self, list: &mut List, closed: bool) -> Lexing<bool> {
        match list.groups.last_mut() {
            Some(Group::Case(case @ Case::Pattern)) => {
                *case = Case::Body;
                list.started = false;
            }
            Some(Group::Paren { arithmetic }) => {
                self.arithmetic -= usize::from(*arithmetic);
                self.end_command(list)?;
                list.groups.pop();
                list.pipeline += 1;
                list.started = true;
            }
            None if closed => {
                self.end_command(list)?;
                self.end_pipelines(list)?;
                if !self.pending.is_empty() {
                    return Err(unclear(
                        self.here(),
                        "a here-document has to begin before this",
                        "put a newline before it",
                    ));
                }
                self.at += 1;
                return Ok(true);
            }
            _ => return Err(unclear(self.here(), "nothing opens this `)`", "quote it")),
        }
        self.at += 1;
        Ok(false)
    }

    fn redirection(&mut self, list: &mut List) -> Lexing {
        let substitution = self.peek(1) == Some(b'(');
        if substitution {
            self.at += 2;
            return self.deeper(|lexer| lexer.commands(true));
        }
        list.is_redirected |= self.peek(0) == Some(b'<');
        if self.looking_at(b"<<<") {
            self.at += 3;
            list.redirection = Some(Target::Text);
            return Ok(());
        }
        if self.looking_at(b"<<") {
            if self.arithmetic > 0 {
                return Err(unclear(
                    self.here(),
                    "shells do not agree whether `((` is arithmetic",
                    "put a blank between the parentheses",
                ));
            }
            self.at += 2;
            return self.here_delimiter(list.stages.len());
        }
        let descriptor = self.looking_at(b"<&") || self.looking_at(b">&");
        let two = [b"<>", b">>", b">|"].iter().any(|two| self.looking_at(*two));
        self.at += if two || descriptor { 2 } else { 1 };
        list.redirection = Some(if descriptor { Target::Descriptor } else { Target::File });
        Ok(())
    }

    /// A word, and what it is in its command.
    fn word_of(&mut self, list: &mut List) -> Lexing {
        let start = self.at;
        let lexed = self.word()?;
        self.describe(&lexed, false);
        let digits = lexed.unquoted.is_none() && lexed.word.text.iter().all(u8::is_ascii_digit);
        if digits && matches!(self.peek(0), Some(b'<' | b'>')) {
            return Ok(());
        }
        if let Some(target) = list.redirection.take() {
            self.describe(&lexed, true);
            match (target, lexed.word.value) {
                (Target::Descriptor, Some(span)) => {
                    let remedy = "some expand what follows `>&` twice; write a number there, or `>` and a file";
                    self.tell(nested(span, "the shell", remedy));
                }
                (Target::Text, value) => list.input = list.input.take().or(value),
                _ => {}
            }
            return Ok(());
        }
        if let Some(Group::Case(case)) = list.groups.last_mut() {
            match case {
                Case::Subject => *case = Case::In,
                Case::In => *case = Case::Pattern,
                Case::Pattern if lexed.keyword() == b"esac" && !list.started => {
                    list.groups.pop();
                    list.started = true;
                }
                Case::Pattern => list.started = true,
                Case::Body => return self.word_of_command(list, lexed, start),
            }
            return Ok(());
        }
        self.word_of_command(list, lexed, start)
    }

    fn word_of_command(&mut self, list: &mut List, lexed: Lexed, start: usize) -> Lexing {
        if list.names_function {
            list.names_function = false;
            return Ok(());
        }
        if !list.started {
            if let Some(name) = assignment(&lexed.word.text)
                .filter(|name| lexed.unquoted.is_none_or(|plain| name.len() < plain))
            {
                self.assign(name, lexed.word.value.clone());
                list.after_assignment = true;
                return Ok(());
            }
            if is_subscripted(&lexed.word.text) {
                let span = self.span(start, self.at);
                let remedy = "use words, or a program of its own";
                return Err(unclear(span, "`sh` has no arrays", remedy));
            }
            if let Some(span) = names_a_variable(&lexed) {
                self.tell(nested(span, "the shell", NAME_A_VARIABLE));
            }
            match lexed.keyword() {
                b"if" | b"then" | b"else" | b"elif" | b"do" | b"while" | b"until" | b"!" | b"{" => {
                    return Ok(());
                }
                b"fi" | b"done" | b"}" => {
                    list.started = true;
                    return Ok(());
                }
                b"esac" if list.groups.last() == Some(&Group::Case(Case::Body)) => {
                    list.groups.pop();
                    list.started = true;
                    return Ok(());
                }
                b"case" => {
                    list.groups.push(Group::Case(Case::Subject));
                    return Ok(());
                }
                b"function" => {
                    list.names_function = true;
                    return Ok(());
                }
                b"[[" => {
                    list.started = true;
                    list.words.push(lexed.word);
                    return self.double_brackets(list, start);
                }
                _ => {}
            }
            list.started = true;
        }
        self.mark_words(&lexed);
        // After `--` nothing is an option, as in an argument list.
        if list.is_after_dashes {
            lexed.direct.iter().for_each(|&place| self.output.uses[place].first = false);
        }
        let of_for = list
            .words
            .first()
            .is_some_and(|first| matches!(first.text.as_slice(), b"for" | b"select"));
        if of_for && list.words.len() == 1 {
            match lexed.word.value {
                Some(ref span) => self.tell(nested(span.clone(), "the shell", NAME_A_VARIABLE)),
                None => self.note_assigned(&lexed.word.text),
            }
        }
        list.is_after_dashes |= lexed.word.text == b"--";
        list.words.push(lexed.word);
        Ok(())
    }

    /// `[[ … ]]` of other shells has operators of its own.
    fn double_brackets(&mut self, list: &mut List, start: usize) -> Lexing {
        loop {
            match self.peek(0) {
                None => return Err(self.unclosed(start, "`[[`")),
                Some(b' ' | b'\t' | b'\n' | b'(' | b')' | b'<' | b'>' | b'&' | b'|' | b';') => {
                    self.at += 1
                }
                Some(_) => {
                    let lexed = self.word()?;
                    let last = lexed.keyword() == b"]]";
                    list.words.push(lexed.word);
                    if last {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn assign(&mut self, name: &[u8], value: Option<Range<usize>>) {
        const EXPANDED: &[&[u8]] =
            &[b"PS0", b"PS1", b"PS2", b"PS4", b"PROMPT_COMMAND", b"ENV", b"BASH_ENV"];
        if let Some(span) = value
            && EXPANDED.contains(&name)
        {
            let remedy = "it expands what this variable holds; use another";
            self.tell(nested(span, "the shell", remedy));
        }
        self.note_assigned(name);
    }

    fn note_assigned(&mut self, name: &[u8]) {
        if let Ok(name) = std::str::from_utf8(name)
            && self.output.known.contains(name)
        {
            self.output.assigned.insert(name.to_owned());
        }
    }

    /// Writes down where in its word a value stands.
    fn describe(&mut self, lexed: &Lexed, file: bool) {
        for (index, &place) in lexed.direct.iter().enumerate() {
            let one = &mut self.output.uses[place];
            one.first = index == 0 && lexed.begins_with_value && !file;
            one.part = file || lexed.word.text.len() > 1;
        }
    }

    fn mark_words(&mut self, lexed: &Lexed) {
        if let [only] = lexed.direct.as_slice()
            && lexed.word.text == [0]
        {
            let one = &mut self.output.uses[*only];
            one.alone = one.quoting == Quoting::Bare;
        }
    }

    fn end_command(&mut self, list: &mut List) -> Lexing {
        let mut words = std::mem::take(&mut list.words);
        let value = words.iter().find_map(|word| word.value.clone());
        list.started = false;
        list.names_function = false;
        list.is_after_dashes = false;
        let mut reading = interpreter::read(&words, true);
        for _ in 0..REFUSED_MAX {
            let Some(refused) = reading.refused.take() else { break };
            // What is told is told once: the next one is found as if it were not there.
            let span = words[refused.word].value.take().unwrap_or_default();
            self.tell(refused.into_error(span));
            reading = interpreter::read(&words, true);
        }
        if let Some(first) = words.first() {
            match first.text.as_slice() {
                b"declare" | b"typeset" | b"local" | b"export" | b"readonly" => {
                    self.output.integers |= words[1..].iter().any(|word| {
                        matches!(word.text.as_slice(), [b'-', rest @ ..] if rest.contains(&b'i'))
                    });
                    for word in &words[1..] {
                        if let Some(name) = assignment(&word.text) {
                            self.note_assigned(name);
                        }
                    }
                }
                b"read" => words[1..].iter().for_each(|word| self.note_assigned(&word.text)),
                _ => {}
            }
        }
        list.piped = false;
        list.redirection = None;
        list.stages.push(Stage {
            pipeline: list.pipeline,
            reading,
            value,
            input: list.input.take(),
            is_redirected: std::mem::take(&mut list.is_redirected),
        });
        Ok(())
    }

    /// Looks for values that a command writes and the next one parses.
    fn end_pipelines(&mut self, list: &mut List) -> Lexing {
        let mut said: Option<(usize, Range<usize>)> = None;
        let mut before = None;
        for stage in list.stages.drain(..) {
            let is_first = before.replace(stage.pipeline) != Some(stage.pipeline);
            said = said.filter(|(pipeline, _)| *pipeline == stage.pipeline);
            let heard = stage.input.clone().or(said.as_ref().map(|(_, span)| span.clone()));
            if let (Some(program), Some(span)) = (stage.reading.stdin, heard.clone()) {
                self.tell(stdin_is_code(span, program));
            }
            // The first of a pipeline reads what the line itself is given.
            if is_first && !stage.is_redirected && self.output.executes_stdin.is_none() {
                self.output.executes_stdin = stage.reading.stdin;
            }
            let spoken = stage.value.or(heard);
            if let (true, Some(span)) = (stage.reading.speaks, spoken) {
                said = Some((stage.pipeline, span));
            }
        }
        Ok(())
    }
}

/// `a[`, which is no array for `sh` and begins a subscript for others, with blanks in it or without.
fn is_subscripted(text: &[u8]) -> bool {
    let named = |&&byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0);
    let name = text.iter().take_while(named).count();
    name > 0 && text.get(name) == Some(&b'[')
}

/// `${item}=1`: the value would be in a name.
fn names_a_variable(lexed: &Lexed) -> Option<Range<usize>> {
    let text = &lexed.word.text;
    let equals = text.iter().position(|&byte| byte == b'=')?;
    let name = &text[..equals];
    let looks_so =
        name.iter().all(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | 0));
    (looks_so && name.contains(&0)).then(|| lexed.word.value.clone()).flatten()
}
