//! Here-documents.

use std::ops::Range;

use super::{Lexed, Lexer, Lexing, unclear};
use crate::shell::{Piece, Quoting};

pub(super) struct Here {
    delimiter: Vec<u8>,
    quoted: bool,
    strips_tabs: bool,
    /// The delimiter as it stands after `<<`.
    span: Range<usize>,
    /// Who reads it.
    pub(super) stage: usize,
}

impl Lexer<'_, '_, '_> {
    /// What follows `<<`.
    pub(super) fn here_delimiter(&mut self, stage: usize) -> Lexing {
        let strips_tabs = self.peek(0) == Some(b'-');
        self.at += usize::from(strips_tabs);
        while matches!(self.peek(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let start = self.at;
        let mut delimiter = Vec::new();
        let mut quoted = false;
        let mut quote = None;
        while let Some(byte) = self.peek(0) {
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (None, b'\'' | b'"') => {
                    quote = Some(byte);
                    quoted = true;
                }
                (None, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') => {
                    break;
                }
                (_, b'$' | b'`' | b'\n') => {
                    return Err(unclear(
                        self.here(),
                        "this delimiter of a here-document is no plain word",
                        "call it EOF",
                    ));
                }
                (None, b'\\') => {
                    quoted = true;
                    self.at += 1;
                    delimiter.extend(self.peek(0));
                }
                _ => delimiter.push(byte),
            }
            self.at += 1;
        }
        self.at = self.at.min(self.end);
        if quote.is_some()
            || start == self.at
            || delimiter.contains(&b'\n')
            || delimiter.contains(&b'\\')
        {
            let span = self.span(start, self.at);
            return Err(unclear(
                span,
                "this delimiter of a here-document is no plain word",
                "call it EOF",
            ));
        }
        self.pending.push(Here { delimiter, quoted, strips_tabs, span: start..self.at, stage });
        Ok(())
    }

    /// The text of a here-document; gives back the first value in it.
    pub(super) fn here_document(&mut self, here: &Here) -> Lexing<Option<Range<usize>>> {
        let start = self.at;
        let mut line = start;
        let mut joined = false;
        let (body, after) = loop {
            if line >= self.end {
                break (self.end, self.end);
            }
            let rest = &self.text[line..self.end];
            let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            let next = (line + length + 1).min(self.end);
            let mut content = &rest[..length];
            if here.strips_tabs {
                let tabs = content.iter().take_while(|&&byte| byte == b'\t').count();
                content = &content[tabs..];
            }
            if content == here.delimiter {
                if joined {
                    return Err(unclear(
                        self.span(line, line + length),
                        "shells do not agree whether the backslash before this line hides it",
                        "put an empty line between",
                    ));
                }
                break (line, next);
            }
            let slashes = content.iter().rev().take_while(|&&byte| byte == b'\\').count();
            joined = !here.quoted && slashes % 2 == 1;
            line = next;
        };
        let before = self.output.uses.len();
        let end = std::mem::replace(&mut self.end, body);
        let result = match here.quoted {
            true => self.quoted_body(here, start),
            false => self.body(),
        };
        self.end = end;
        self.at = after;
        result?;
        Ok(self.output.uses.get(before).map(|one| one.reference.span()))
    }

    fn body(&mut self) -> Lexing {
        let mut ignored = Lexed::default();
        while let Some(byte) = self.peek(0) {
            self.double_part(byte, Quoting::Here, &mut ignored)?;
            ignored.word.text.clear();
        }
        Ok(())
    }

    /// The shell takes a text with a quoted delimiter as it is. With values in it, the delimiter
    /// loses its quotes, and whatever means something then gets a backslash.
    fn quoted_body(&mut self, here: &Here, start: usize) -> Lexing {
        let mut ignored = Lexed::default();
        let edits = self.output.edits.len();
        let uses = self.output.uses.len();
        let mut dropped = Vec::new();
        while let Some(byte) = self.peek(0) {
            if byte != b'$' {
                self.at += 1;
                continue;
            }
            let place = self.at;
            let before = self.output.edits.len();
            match self.literal_dollar()? {
                Some((reference, words)) => {
                    self.use_value(reference, words, Quoting::Here, &mut ignored)?
                }
                None if self.output.edits.len() > before => dropped.push(place),
                None => {}
            }
        }
        if self.output.uses.len() == uses {
            return Ok(());
        }
        let plain = here
            .delimiter
            .iter()
            .all(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        if self.origin.is_some() || !plain || here.delimiter.is_empty() {
            let span = self.span(here.span.start, here.span.end);
            return Err(unclear(
                span,
                "a here-document with values and this delimiter cannot be rewritten",
                "call the delimiter EOF, and use `$(…)` for backquotes",
            ));
        }
        let delimiter = String::from_utf8_lossy(&here.delimiter).into_owned();
        self.output.edits.truncate(edits);
        self.output.edits.push((here.span.clone(), Piece::Text(delimiter)));
        let mut from = start;
        let mut dropped = dropped.into_iter().peekable();
        for index in uses..=self.output.uses.len() {
            let span = self.output.uses.get(index).map(|one| one.reference.span());
            let to = span.as_ref().map_or(self.end, |span| span.start);
            let mut escaped = Vec::with_capacity(to - from);
            for at in from..to {
                if dropped.next_if_eq(&at).is_some() {
                    continue;
                }
                if matches!(self.text[at], b'$' | b'`' | b'\\') {
                    escaped.push(b'\\');
                }
                escaped.push(self.text[at]);
            }
            let escaped = String::from_utf8_lossy(&escaped).into_owned();
            self.output.edits.push((from..to, Piece::Text(escaped)));
            if let Some(span) = span {
                from = span.end;
                self.output.edits.push((span, Piece::Value(index)));
            }
        }
        Ok(())
    }
}
