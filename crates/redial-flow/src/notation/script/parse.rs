//! The text of a script to its statements. After a mistake, reading goes on with the next statement.

use redial_core::clause::Kind as Clause;
use redial_policy::{Diagnostic, FlowKind, Span};

use super::token::{self, Token, TokenKind};
use super::tree::{Expression, Name, Statement, TypeKind, TypeNode};
use crate::expression::DEPTH_MAX;

/// Words that name nothing.
pub(super) const KEYWORDS: [&str; 19] = [
    "type",
    "in",
    "out",
    "if",
    "else",
    "true",
    "false",
    "use",
    "as",
    "and",
    "or",
    "not",
    "when",
    "branch",
    "otherwise",
    "with",
    "lazy",
    "match",
    "is",
];

/// A mistake was told, and the statement cannot be read on.
#[derive(Debug)]
pub(super) struct Told;

pub(super) type Parsed<T> = Result<T, Told>;

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    ahead: Option<Token>,
    /// Where the last word ended.
    pub(super) end: usize,
    pub(super) depth: usize,
    pub(super) found: Vec<Diagnostic>,
}

/// The statements of a text, and what is wrong with it.
pub(super) fn parse(text: &str) -> (Vec<Statement>, Vec<Diagnostic>) {
    let mut parser = Parser::new(text);
    let mut statements = Vec::new();
    while parser.peek().kind != TokenKind::End {
        let start = parser.peek().span.start;
        match parser.statement() {
            Ok(Some(statement)) => {
                statements.push(statement);
                let next = parser.peek();
                if next.kind != TokenKind::End && !next.begins_line {
                    let _: Parsed<()> = parser.unexpected("the end of the line");
                    parser.skip();
                }
            }
            Ok(None) => {}
            Err(Told) => {
                if parser.peek().span.start == start {
                    parser.take();
                }
                parser.skip();
            }
        }
    }
    (statements, parser.found)
}

/// A type that stands by itself, as in a file of modules.
pub(super) fn parse_type(text: &str) -> (TypeNode, Vec<Diagnostic>) {
    let mut parser = Parser::new(text);
    let read = parser.type_node();
    if read.is_ok() && parser.peek().kind != TokenKind::End {
        let _: Parsed<()> = parser.unexpected("the end of the type");
    }
    let bad = TypeNode { kind: TypeKind::Bad, span: Span { start: 0, end: text.len() } };
    (read.unwrap_or(bad), parser.found)
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, ahead: None, end: 0, depth: 0, found: Vec::new() }
    }

    pub(super) fn peek(&mut self) -> Token {
        *self.ahead.get_or_insert_with(|| token::next(self.text, self.at))
    }

    /// The word after the next one.
    pub(super) fn peek_second(&mut self) -> Token {
        let first = self.peek();
        token::next(self.text, first.span.end)
    }

    pub(super) fn take(&mut self) -> Token {
        let token = self.peek();
        self.go_to(token.span.end);
        token
    }

    /// What was read otherwise ends here.
    pub(super) fn go_to(&mut self, at: usize) {
        (self.at, self.end, self.ahead) = (at, at, None);
    }

    pub(super) fn is_sign(&mut self, sign: &str) -> bool {
        matches!(self.peek().kind, TokenKind::Sign(next) if next == sign)
    }

    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let is = self.is_sign(sign);
        if is {
            self.take();
        }
        is
    }

    pub(super) fn is_word(&mut self, word: &str) -> bool {
        let next = self.peek();
        next.kind == TokenKind::Name && next.span.of(self.text) == word
    }

    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        if is {
            self.take();
        }
        is
    }

    pub(super) fn expect(&mut self, sign: &'static str, place: &str) -> Parsed<()> {
        match self.takes(sign) {
            true => Ok(()),
            false => self.unexpected(&format!("`{sign}` {place}")),
        }
    }

    pub(super) fn tell(&mut self, kind: FlowKind, span: Span, message: impl Into<String>) {
        self.found.push(Diagnostic::new(kind, span, message));
    }

    pub(super) fn wrong<T>(&mut self, span: Span, message: impl Into<String>) -> Parsed<T> {
        self.found.push(Diagnostic::new(Clause::Syntax, span, message));
        Err(Told)
    }

    pub(super) fn refuse<T>(&mut self, span: Span, message: impl Into<String>) -> Parsed<T> {
        self.tell(FlowKind::NotSupported, span, message);
        Err(Told)
    }

    /// Something else should stand here.
    pub(super) fn unexpected<T>(&mut self, wanted: &str) -> Parsed<T> {
        let next = self.peek();
        let message = match next.kind {
            TokenKind::End => format!("the script ends where {wanted} should stand"),
            _ => {
                let shown = super::super::reader::excerpt(next.span.of(self.text));
                format!("here stands `{shown}`, where {wanted} should stand")
            }
        };
        self.wrong(next.span, message)
    }

    /// One level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH_MAX {
            let span = self.peek().span;
            let message =
                format!("this is nested deeper than {DEPTH_MAX} levels; name a part of it");
            self.found.push(Diagnostic::new(redial_policy::Kind::TooLarge, span, message));
            return Err(Told);
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// To the next word that begins a statement.
    fn skip(&mut self) {
        self.depth = 0;
        loop {
            let next = self.peek();
            let begins =
                next.kind == TokenKind::End || (next.begins_line && self.begins_statement());
            if begins && next.span.start >= self.end {
                return;
            }
            self.take();
        }
    }

    fn begins_statement(&mut self) -> bool {
        let first = self.peek();
        match first.kind {
            TokenKind::Sign("@") => true,
            TokenKind::Name => {
                let second = self.peek_second();
                match first.span.of(self.text) {
                    "type" | "in" | "out" | "use" => second.kind == TokenKind::Name,
                    _ => second.kind == TokenKind::Sign("="),
                }
            }
            _ => false,
        }
    }

    /// Nothing, where it is an option of another declaration that was passed over.
    fn statement(&mut self) -> Parsed<Option<Statement>> {
        let first = self.peek();
        if first.kind == TokenKind::Sign("@") {
            return self.annotated().map(Some);
        }
        let word = first.span.of(self.text);
        match (first.kind, word) {
            (TokenKind::Name, "type") => {
                self.take();
                let name = self.name("the name of the type")?;
                self.expect("=", "after the name of a type")?;
                Ok(Some(Statement::Type(name, self.type_node()?)))
            }
            (TokenKind::Name, "in") => self.input(None).map(Some),
            (TokenKind::Name, "out") => {
                self.take();
                let name = self.name("the name of a value")?;
                if matches!(self.peek(), Token { begins_line: false, kind, .. } if kind != TokenKind::End)
                {
                    let span = Span { start: name.span.start, end: self.peek().span.end };
                    return self.wrong(span, "`out` takes the name of a value; assign it first");
                }
                Ok(Some(Statement::Out(name)))
            }
            (TokenKind::Name, "use") => {
                let message = "`use` is not run here: built-in functions are called by their bare \
                               names, and modules by those that the file of modules gives them";
                self.refuse(first.span, message)
            }
            (TokenKind::Name, _) => {
                let name = self.name("a statement")?;
                if !self.is_sign("=") {
                    let known = ["in", "out", "type"];
                    let meant = redial_policy::notation::nearest(&name.text, &known);
                    let meant = meant.map(|meant| format!("; did you mean `{meant}`?"));
                    let message = format!(
                        "a statement is `in`, `out`, `type` or `name = value`{}",
                        meant.unwrap_or_default()
                    );
                    return self.wrong(name.span, message);
                }
                self.take();
                let start = self.peek().span;
                // What is wrong is told once, and not again wherever the name stands.
                let value = self.expression().unwrap_or_else(|Told| {
                    self.skip();
                    Expression::bad(start)
                });
                Ok(Some(Statement::Assign(name, value)))
            }
            _ => self.unexpected("`in`, `out`, `type` or `name = value`"),
        }
    }

    fn annotated(&mut self) -> Parsed<Statement> {
        let at = self.take().span;
        let name = self.peek();
        let span = Span { start: at.start, end: name.span.end };
        match name.span.of(self.text) {
            "example" => {}
            word @ ("source" | "sink") => {
                return self.refuse(span, format!("`@{word}`: streams are not run here"));
            }
            _ => {
                return self.wrong(span, "there is no such annotation; there is `@example(value)`");
            }
        }
        self.take();
        self.expect("(", "after `@example`")?;
        let example = self.expression()?;
        self.expect(")", "after the example")?;
        match self.is_word("in") {
            true => self.input(Some(example)),
            false => self.unexpected("the `in` that the example is for"),
        }
    }

    fn input(&mut self, example: Option<Expression>) -> Parsed<Statement> {
        self.take();
        let name = self.name("the name of an input")?;
        self.expect(":", "and the type of the input")?;
        let start = self.peek().span;
        let node = self.type_node().unwrap_or_else(|Told| {
            self.skip();
            TypeNode { kind: TypeKind::Bad, span: start }
        });
        Ok(Statement::In(name, node, example))
    }

    /// A name that is no keyword.
    pub(super) fn name(&mut self, wanted: &str) -> Parsed<Name> {
        let next = self.peek();
        let text = next.span.of(self.text);
        if next.kind != TokenKind::Name {
            return self.unexpected(wanted);
        }
        if KEYWORDS.contains(&text) {
            return self
                .wrong(next.span, format!("`{text}` is a word of the language and no name"));
        }
        self.take();
        Ok(Name { text: text.to_owned(), span: next.span })
    }

    fn type_node(&mut self) -> Parsed<TypeNode> {
        let node = self.deeper(Self::one_type)?;
        let next = self.peek();
        match next.kind {
            TokenKind::Sign("|") => self.refuse(next.span, "unions of types are not run here"),
            TokenKind::Sign("+") => self.refuse(next.span, "sums of types are not run here"),
            _ => Ok(node),
        }
    }

    fn one_type(&mut self) -> Parsed<TypeNode> {
        let start = self.peek().span.start;
        if self.takes("{") {
            let mut fields = Vec::new();
            while !self.is_sign("}") {
                let name = self.name("the name of a field")?;
                self.expect(":", "and the type of the field")?;
                fields.push((name, self.type_node()?));
                if !self.takes(",") {
                    break;
                }
            }
            self.expect("}", "after the fields of a record")?;
            let span = Span { start, end: self.end };
            return Ok(TypeNode { kind: TypeKind::Record(fields), span });
        }
        let name = self.name("a type")?;
        if !self.is_sign("<") {
            return Ok(TypeNode { kind: TypeKind::Named(name.text), span: name.span });
        }
        let known = ["Optional", "List"];
        if !known.contains(&name.text.as_str()) {
            let meant = redial_policy::notation::nearest(&name.text, &known);
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?"));
            let message = format!(
                "`{}<…>` is not run here; there is List<…> and Optional<…>{}",
                name.text,
                meant.unwrap_or_default()
            );
            return self.refuse(name.span, message);
        }
        self.take();
        let of = Box::new(self.type_node()?);
        self.expect(">", "after the type")?;
        let span = Span { start, end: self.end };
        let kind = match name.text.as_str() {
            "List" => TypeKind::List(of),
            _ => TypeKind::Optional(of),
        };
        Ok(TypeNode { kind, span })
    }
}
