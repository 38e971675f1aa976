//! Quotes, backslashes, and whatever begins with a dollar or a backquote.

use std::ops::Range;

use super::{Claim, Lexed, Lexer, Lexing, claim, mentions, nested, unclear};
use crate::reference::{Reference, nearest, path_at};
use crate::shell::{Piece, Quoting, Use};
use crate::template::BadTemplate;

impl Lexer<'_, '_, '_> {
    pub(super) fn word(&mut self) -> Lexing<Lexed> {
        let start = self.at;
        let mut lexed = Lexed::default();
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                _ => self.part(byte, Quoting::Bare, &mut lexed)?,
            }
        }
        let word = &mut lexed.word;
        word.may_vanish = matches!(self.text.get(start), Some(b'$' | b'`'))
            && word.value.is_none()
            && word.text.iter().all(|&byte| byte == 0);
        Ok(lexed)
    }

    /// One quoted, expanded or plain part of a word that is not in quotes itself.
    fn part(&mut self, byte: u8, quoting: Quoting, lexed: &mut Lexed) -> Lexing {
        match byte {
            b'\\' => {
                match self.peek(1) {
                    Some(b'\n') => {}
                    Some(next) => {
                        lexed.quoted();
                        lexed.push(next);
                    }
                    None => lexed.push(b'\\'),
                }
                self.at = (self.at + 2).min(self.end);
                Ok(())
            }
            b'\'' => self.single(lexed),
            b'"' => self.double(lexed),
            b'`' => self.backquotes(quoting, lexed),
            b'$' => self.dollar(quoting, lexed),
            other => {
                lexed.push(other);
                self.at += 1;
                Ok(())
            }
        }
    }

    pub(super) fn single(&mut self, lexed: &mut Lexed) -> Lexing {
        let opened = self.at;
        lexed.quoted();
        self.at += 1;
        loop {
            match self.peek(0) {
                None => return Err(self.unclosed(opened, "quote")),
                Some(b'\'') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'$') => match self.literal_dollar()? {
                    Some((reference, words)) => {
                        self.use_value(reference, words, Quoting::Single, lexed)?
                    }
                    None => lexed.push(b'$'),
                },
                Some(byte) => {
                    lexed.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// A dollar where the shell has none: our reference, or text. Of two before a brace, one goes.
    pub(super) fn literal_dollar(&mut self) -> Lexing<Option<(Reference, bool)>> {
        match self.dollars()? {
            (1, true) => match self.reference() {
                Some(found) => return Ok(Some(found)),
                None => self.at += 1,
            },
            (2, true) => {
                self.drop_dollar();
                self.at += 1;
            }
            _ => self.at += 1,
        }
        Ok(None)
    }

    pub(super) fn double(&mut self, lexed: &mut Lexed) -> Lexing {
        let opened = self.at;
        lexed.quoted();
        self.at += 1;
        loop {
            match self.peek(0) {
                None => return Err(self.unclosed(opened, "double quote")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(byte) => self.double_part(byte, Quoting::Double, lexed)?,
            }
        }
    }

    /// What stands in double quotes or in a here-document.
    pub(super) fn double_part(&mut self, byte: u8, quoting: Quoting, lexed: &mut Lexed) -> Lexing {
        match byte {
            b'\\' => {
                let next = self.peek(1);
                let escapes = matches!(next, Some(b'$' | b'`' | b'\\' | b'\n'))
                    || (next == Some(b'"') && quoting == Quoting::Double);
                match next {
                    Some(b'\n') => {}
                    Some(next) if escapes => lexed.push(next),
                    _ => lexed.push(b'\\'),
                }
                self.at += if escapes { 2 } else { 1 };
                Ok(())
            }
            b'`' => self.backquotes(quoting, lexed),
            b'$' => self.dollar(quoting, lexed),
            other => {
                lexed.push(other);
                self.at += 1;
                Ok(())
            }
        }
    }

    /// How many dollars stand here, and whether a brace follows them.
    fn dollars(&self) -> Lexing<(usize, bool)> {
        let rest = &self.text[self.at..self.end];
        // Not all of a long run, which would be counted anew at each of its dollars.
        let count = rest.iter().take(3).take_while(|&&byte| byte == b'$').count();
        let brace = rest.get(count) == Some(&b'{');
        if brace && count > 2 {
            return Err(BadTemplate::reference(
                self.span(self.at, self.at + count),
                "more than two dollars before a brace",
                "`$${` is the shell's own `${`; a dollar before a value is `\\$`",
            ));
        }
        Ok((count, brace))
    }

    fn drop_dollar(&mut self) {
        let span = self.span(self.at, self.at + 1);
        self.output.edits.push((span, Piece::Text(String::new())));
        self.at += 1;
    }

    fn dollar(&mut self, quoting: Quoting, lexed: &mut Lexed) -> Lexing {
        match self.dollars()? {
            (1, true) => match self.reference() {
                Some((reference, words)) => self.use_value(reference, words, quoting, lexed),
                None => self.shells_brace(quoting, lexed),
            },
            (2, true) => {
                self.drop_dollar();
                self.shells_brace(quoting, lexed)
            }
            (1, false) => self.expansion(quoting, lexed),
            _ => {
                lexed.unknown();
                self.at += 2;
                Ok(())
            }
        }
    }

    /// `$x`, `$(…)`, `$((…))`, or a dollar.
    fn expansion(&mut self, quoting: Quoting, lexed: &mut Lexed) -> Lexing {
        let start = self.at;
        match self.peek(1) {
            Some(b'(') if self.peek(2) == Some(b'(') => {
                lexed.unknown();
                self.with_values(lexed, |lexer| lexer.deeper(Self::arithmetic))
            }
            Some(b'(') => {
                lexed.unknown();
                self.at += 2;
                self.with_values(lexed, |lexer| lexer.deeper(|lexer| lexer.commands(true)))
            }
            Some(b'[') => Err(unclear(
                self.span(start, start + 2),
                "shells do not agree whether `$[` is arithmetic",
                "write `$((…))`, or `\\$[` for the text",
            )),
            Some(b'\'') if quoting == Quoting::Bare => {
                let rest = &self.text[start + 2..self.end];
                let length = rest.iter().position(|&byte| byte == b'\'');
                let length = length.ok_or_else(|| self.unclosed(start + 1, "quote"))?;
                if rest[..length].contains(&b'\\') || mentions(&rest[..length], &self.output.known)
                {
                    return Err(unclear(
                        self.span(start, start + 2),
                        "not every `sh` knows the quotes `$'…'`",
                        "use plain quotes, or printf",
                    ));
                }
                lexed.unknown();
                self.at += length + 3;
                Ok(())
            }
            Some(first) if first.is_ascii_alphabetic() || first == b'_' => {
                let name = self.variable_at(start + 1);
                self.at += 1 + name.len();
                self.expanded(&name, lexed);
                Ok(())
            }
            Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'!' | b'0'..=b'9') => {
                lexed.unknown();
                self.at += 2;
                Ok(())
            }
            _ => {
                lexed.push(b'$');
                self.at += 1;
                Ok(())
            }
        }
    }

    fn variable_at(&self, at: usize) -> String {
        let name = self.text[at..self.end].iter();
        let name = name.take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'_');
        name.map(|&byte| char::from(byte)).collect()
    }

    /// Notes a variable of the shell; if the word is nothing else, its name may say what it runs.
    fn expanded(&self, name: &str, lexed: &mut Lexed) {
        let alone = lexed.word.text.is_empty();
        lexed.unknown();
        lexed.word.variable = alone.then(|| name.to_ascii_lowercase());
    }

    /// Runs `run`, and counts the values that it finds as the word's.
    fn with_values(&mut self, lexed: &mut Lexed, run: impl FnOnce(&mut Self) -> Lexing) -> Lexing {
        let before = self.output.uses.len();
        run(self)?;
        if let Some(one) = self.output.uses.get(before) {
            lexed.word.value.get_or_insert(one.reference.span());
        }
        Ok(())
    }

    /// `$((…))`.
    fn arithmetic(&mut self) -> Lexing {
        let start = self.at;
        let mut ignored = Lexed::default();
        let mut open = 2;
        self.at += 3;
        self.arithmetic += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                b'$' | b'`' | b'\\' => {
                    self.double_part(byte, Quoting::Double, &mut ignored)?;
                    continue;
                }
                _ => {}
            }
            self.at += 1;
            if open == 1 {
                if self.peek(0) != Some(b')') {
                    return Err(unclear(
                        self.span(start, start + 3),
                        "shells do not agree whether `$((` is arithmetic",
                        "put a blank between the parentheses of a subshell: `$( (`",
                    ));
                }
                self.at += 1;
                self.arithmetic -= 1;
                return Ok(());
            }
        }
        Err(self.unclosed(start, "`$((`"))
    }

    /// Our reference at `${`, and whether it asks for words. None if it is the shell's.
    fn reference(&mut self) -> Option<(Reference, bool)> {
        match self.claimed() {
            Ok(found) => found,
            Err(bad) => {
                // It is read on as one of the shell's.
                self.tell(bad);
                None
            }
        }
    }

    fn claimed(&self) -> Lexing<Option<(Reference, bool)>> {
        let start = self.at;
        let text = &self.text[..self.end];
        let mixed = |root: &str, end: usize| {
            BadTemplate::reference(
                self.span(start, end.min(self.end)),
                format!("`{root}` is a value of the flow, and what follows is no path into it"),
                format!(
                    "assign it to a variable first for the shell's operators: v=${{{root}}}; echo \"${{v%.png}}\""
                ),
            )
        };
        match claim(text, start + 2, &self.output.known) {
            Claim::Shells => Ok(None),
            Claim::Mixed(root) => Err(mixed(&root, start + 2 + root.len())),
            Claim::Unknown(name) => {
                let nearest = match nearest(&name, self.output.roots) {
                    Some(root) => format!("write `{root}`, or"),
                    None => "write".to_owned(),
                };
                Err(BadTemplate::reference(
                    self.span(start, start + 2 + name.len()),
                    format!("nothing is called `{name}`"),
                    format!("{nearest} `$${{` for the text `${{`"),
                ))
            }
            Claim::Ours(root, end) => {
                let (path, end) = path_at(text, end);
                let rest = &text[end..];
                let (words, length) = match rest {
                    [b'}', ..] => (false, 1),
                    _ if rest.starts_with(b":words}") => (true, 7),
                    _ => return Err(mixed(&root, end)),
                };
                let span = self.span(start, end + length);
                Ok(Some((Reference::new(root, path, span), words)))
            }
        }
    }

    pub(super) fn use_value(
        &mut self,
        reference: Reference,
        words: bool,
        quoting: Quoting,
        lexed: &mut Lexed,
    ) -> Lexing {
        let span = reference.span();
        if self.arithmetic > 0 {
            self.tell(nested(
                span.clone(),
                "$((…))",
                "some shells run commands in arithmetic; use $(expr …), which takes arguments",
            ));
        } else if let Some(message) = self.forbidden {
            let remedy = "assign it to a variable first, and use that";
            self.tell(unclear(span.clone(), message, remedy));
        }
        // In this text the reference may have backslashes that it has not in the line.
        let length = self.length_of(&span);
        self.at += length;
        let output = &mut *self.output;
        let next = output.variables.len() + 1;
        let key = if words { format!("{reference}:words") } else { reference.to_string() };
        let variable =
            output.variables.entry(key).or_insert_with(|| format!("REDIAL_VALUE_{next}"));
        lexed.begins_with_value |= lexed.word.text.is_empty();
        lexed.unknown();
        lexed.word.value.get_or_insert(span.clone());
        lexed.direct.push(output.uses.len());
        output.edits.push((span, Piece::Value(output.uses.len())));
        output.uses.push(Use {
            reference,
            variable: variable.clone(),
            quoting,
            words,
            alone: false,
            first: false,
            part: false,
        });
        Ok(())
    }

    /// How many bytes of this text a span of the line is, from here on.
    fn length_of(&self, span: &Range<usize>) -> usize {
        match self.origin {
            None => span.len(),
            Some(origin) => origin[self.at..].iter().take_while(|&&place| place < span.end).count(),
        }
    }

    /// `${x}`, `${x:-…}` and the like.
    fn shells_brace(&mut self, quoting: Quoting, lexed: &mut Lexed) -> Lexing {
        let start = self.at;
        self.at += 2;
        let named = |byte: Option<u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let special =
            |byte: Option<u8>| matches!(byte, Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!'));
        // A length, or another shell's indirection.
        if matches!(self.peek(0), Some(b'#' | b'!'))
            && (named(self.peek(1)) || (special(self.peek(1)) && self.peek(2) == Some(b'}')))
        {
            self.at += 1;
        }
        let mut name = String::new();
        if named(self.peek(0)) {
            name = self.variable_at(self.at);
            self.at += name.len();
        } else if special(self.peek(0)) {
            self.at += 1;
        }
        let colon = usize::from(self.peek(0) == Some(b':'));
        let before = self.output.uses.len();
        let several_words = match self.peek(colon) {
            Some(b'}') if colon == 0 => {
                self.at += 1;
                self.expanded(&name, lexed);
                return Ok(());
            }
            Some(b'-' | b'=' | b'?' | b'+') => {
                self.at += colon + 1;
                self.deeper(|lexer| lexer.operand(start, quoting))?
            }
            Some(operator @ (b'#' | b'%')) if colon == 0 => {
                self.at += 1;
                self.at += usize::from(self.peek(0) == Some(operator));
                // In the pattern the quotes around the whole do not count.
                if quoting == Quoting::Here {
                    let why = "not every `sh` has quotes here";
                    self.forbidding(why, |lexer| lexer.operand(start, Quoting::Here))?;
                } else {
                    self.deeper(|lexer| lexer.operand(start, Quoting::Bare))?;
                }
                false
            }
            _ => {
                let why = "not every `sh` has this operator";
                self.forbidding(why, |lexer| lexer.operand(start, quoting))?
            }
        };
        // `${x:-sh -c ${item}}` is a command of three words.
        if let Some(one) = self.output.uses.get(before).filter(|_| several_words) {
            let span = one.reference.span();
            self.tell(unclear(
                span,
                "the text here becomes several words",
                "put double quotes around the whole `${…}`",
            ));
        }
        lexed.unknown();
        if let Some(one) = self.output.uses.get(before) {
            lexed.word.value.get_or_insert(one.reference.span());
        }
        Ok(())
    }

    fn forbidding<T>(
        &mut self,
        why: &'static str,
        run: impl FnOnce(&mut Self) -> Lexing<T>,
    ) -> Lexing<T> {
        let outside = self.forbidden.replace(why);
        let result = self.deeper(run);
        self.forbidden = outside;
        result
    }

    /// What follows the operator in `${x:-…}`, to its brace. True if it has blanks without quotes.
    fn operand(&mut self, opened: usize, quoting: Quoting) -> Lexing<bool> {
        let mut ignored = Lexed::default();
        let mut blank = false;
        loop {
            match self.peek(0) {
                None => return Err(self.unclosed(opened, "`${`")),
                Some(b'}') => {
                    self.at += 1;
                    return Ok(blank);
                }
                Some(b'\\') if quoting != Quoting::Bare && self.peek(1) == Some(b'}') => {
                    self.at += 2
                }
                Some(b'"') if quoting == Quoting::Double => {
                    self.forbidding("shells do not agree on quotes in these quotes", |lexer| {
                        lexer.double(&mut Lexed::default())
                    })?;
                }
                Some(byte) if quoting == Quoting::Bare => {
                    blank |= matches!(byte, b' ' | b'\t' | b'\n');
                    self.part(byte, quoting, &mut ignored)?;
                }
                Some(byte) => self.double_part(byte, quoting, &mut ignored)?,
            }
            ignored.word.text.clear();
        }
    }

    /// `` `…` ``: its text loses a level of backslashes, and is then a list of commands.
    fn backquotes(&mut self, quoting: Quoting, lexed: &mut Lexed) -> Lexing {
        let opened = self.at;
        let mut inner = Vec::new();
        let mut origin = Vec::new();
        self.at += 1;
        loop {
            let place = self.place(self.at);
            match (self.peek(0), self.peek(1)) {
                (None, _) => return Err(self.unclosed(opened, "backquote")),
                (Some(b'`'), _) => {
                    origin.push(place);
                    self.at += 1;
                    break;
                }
                (Some(b'\\'), Some(b'"')) if quoting == Quoting::Here => {
                    return Err(unclear(
                        self.here(),
                        "shells do not agree on this backslash",
                        "write `$(…)`",
                    ));
                }
                (Some(b'\\'), Some(next @ (b'$' | b'`' | b'\\' | b'"')))
                    if next != b'"' || quoting == Quoting::Double =>
                {
                    inner.push(next);
                    self.at += 2;
                }
                (Some(byte), _) => {
                    inner.push(byte);
                    self.at += 1;
                }
            }
            origin.push(place);
        }
        lexed.unknown();
        let before = self.output.uses.len();
        self.deeper(|lexer| {
            Lexer {
                text: &inner,
                origin: Some(&origin),
                at: 0,
                end: inner.len(),
                depth: lexer.depth,
                arithmetic: lexer.arithmetic,
                forbidden: lexer.forbidden,
                pending: Vec::new(),
                pending_outside: lexer.pending.len() + lexer.pending_outside,
                output: &mut *lexer.output,
            }
            .commands(false)
        })?;
        if let Some(one) = self.output.uses.get(before) {
            lexed.word.value.get_or_insert(one.reference.span());
        }
        Ok(())
    }
}
