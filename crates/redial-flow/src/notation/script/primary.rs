//! What operators stand between: literals, names, calls with their options, `if` and `branch`.

use redial_core::clause::Kind as Clause;
use redial_policy::{Diagnostic, Span};

use super::parse::{Parsed, Parser};
use super::token::TokenKind;
use super::tree::{Call, CallOption, Expression, Kind, Name, Piece};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<Expression> {
        let next = self.peek();
        let word = next.span.of(self.text);
        let kind = match (next.kind, word) {
            (TokenKind::Quote, _) => self.text()?,
            (TokenKind::Number, _) => self.number()?,
            (TokenKind::Sign("("), _) => self.parenthesised()?,
            (TokenKind::Sign("["), _) => Kind::List(self.list("[", "]")?),
            (TokenKind::Sign("{"), _) => self.record()?,
            (TokenKind::Name, "true" | "false") => {
                self.take();
                Kind::Boolean(word == "true")
            }
            (TokenKind::Name, "if") => self.conditional()?,
            (TokenKind::Name, "branch") => self.branch()?,
            (TokenKind::Name, "match") => {
                return self.refuse(next.span, "`match` is not run here; use `branch`");
            }
            (TokenKind::Name, _) => self.named()?,
            _ => return self.unexpected("a value"),
        };
        Ok(Expression { kind, span: Span { start: next.span.start, end: self.end } })
    }

    fn number(&mut self) -> Parsed<Kind> {
        let token = self.take();
        let text = token.span.of(self.text);
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match (is_plain, text.contains('.'), text.parse::<i64>(), text.parse::<f64>()) {
            (true, false, Ok(int), _) => Ok(Kind::Int(int)),
            (true, true, _, Ok(float)) if float.is_finite() => Ok(Kind::Float(float)),
            (true, false, ..) => {
                self.wrong(token.span, format!("{} is more than an Int can be", i64::MAX))
            }
            _ => {
                let shown = super::super::reader::excerpt(text);
                self.wrong(token.span, format!("`{shown}` is no number; a unit belongs to options"))
            }
        }
    }

    /// From the quote on. `${` begins a value, and ends with its brace.
    fn text(&mut self) -> Parsed<Kind> {
        let quote = self.take();
        let mut pieces = Vec::new();
        let mut literal = String::new();
        loop {
            let rest = &self.text[self.at..];
            let mut characters = rest.chars();
            match (characters.next(), characters.next()) {
                (None, _) => {
                    return self.wrong(quote.span, "no `\"` closes this text");
                }
                (Some('"'), _) => {
                    self.go_to(self.at + 1);
                    break;
                }
                (Some('\\'), escaped) => {
                    literal.push(match escaped {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some('r') => '\r',
                        Some(same @ ('\\' | '"' | '$')) => same,
                        other => {
                            let end = self.at + 1 + other.map_or(0, char::len_utf8);
                            let span = Span { start: self.at, end };
                            return self.wrong(span, r#"there are the escapes \n \t \r \\ \" \$"#);
                        }
                    });
                    self.go_to(self.at + 2);
                }
                (Some('$'), Some('{')) => {
                    if !literal.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    }
                    self.go_to(self.at + 2);
                    pieces.push(Piece::Value(self.expression()?));
                    self.expect("}", "after a value in a text")?;
                }
                (Some(plain), _) => {
                    literal.push(plain);
                    self.go_to(self.at + plain.len_utf8());
                }
            }
        }
        if !literal.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Kind::Text(pieces))
    }

    fn parenthesised(&mut self) -> Parsed<Kind> {
        self.take();
        let value = self.expression()?;
        self.expect(")", "after the value")?;
        if self.is_sign("=>") {
            let span = self.peek().span;
            return self.refuse(span, "functions as values (`=>`) are not run here");
        }
        Ok(Kind::Parenthesised(Box::new(value)))
    }

    fn list(&mut self, open: &'static str, close: &'static str) -> Parsed<Vec<Expression>> {
        self.expect(open, "before the values")?;
        let mut all = Vec::new();
        while !self.is_sign(close) {
            all.push(self.expression()?);
            if !self.takes(",") {
                break;
            }
        }
        self.expect(close, "after the values")?;
        Ok(all)
    }

    fn record(&mut self) -> Parsed<Kind> {
        self.take();
        let mut fields = Vec::new();
        while !self.is_sign("}") {
            let name = self.name("the name of a field")?;
            self.expect(":", "and the value of the field")?;
            fields.push((name, self.expression()?));
            if !self.takes(",") {
                break;
            }
        }
        self.expect("}", "after the fields of a record")?;
        Ok(Kind::Record(fields))
    }

    /// `else if` goes on with the cases, so that a long one is not deep.
    fn conditional(&mut self) -> Parsed<Kind> {
        let mut cases = Vec::new();
        while self.takes_word("if") {
            self.expect("(", "before the condition of `if`")?;
            let condition = self.expression()?;
            self.expect(")", "after the condition of `if`")?;
            let then = self.expression()?;
            if !self.takes_word("else") {
                return self.unexpected("`else`, which every `if` has,");
            }
            cases.push((condition, then));
        }
        let otherwise = self.expression()?;
        Ok(Kind::Choice(cases, Box::new(otherwise)))
    }

    fn branch(&mut self) -> Parsed<Kind> {
        let branch = self.take();
        self.expect("{", "after `branch`")?;
        let mut cases = Vec::new();
        loop {
            if self.takes_word("otherwise") {
                self.expect("->", "after `otherwise`")?;
                let otherwise = self.expression()?;
                self.takes(",");
                self.expect("}", "after the value of `otherwise`, which is the last one,")?;
                return Ok(Kind::Choice(cases, Box::new(otherwise)));
            }
            if self.is_sign("}") {
                return self.wrong(branch.span, "`branch` ends with `otherwise -> value`");
            }
            let condition = self.expression()?;
            self.expect("->", "after the condition")?;
            cases.push((condition, self.expression()?));
            if !self.takes(",") && !self.is_sign("}") {
                return self.unexpected("`,`");
            }
        }
    }

    fn named(&mut self) -> Parsed<Kind> {
        let name = self.name("a value")?;
        if self.is_sign("=>") {
            let span = self.peek().span;
            return self.refuse(span, "functions as values (`=>`) are not run here");
        }
        if self.is_sign(".") && self.is_qualified_call() {
            let message = "names with a path are not run here; call the function by its bare name";
            return self.refuse(name.span, message);
        }
        if !self.is_sign("(") {
            return Ok(Kind::Variable(name.text));
        }
        let arguments = self.list("(", ")")?;
        let mut call = Call { module: name, arguments, with: None, options: Vec::new() };
        if self.is_word("with") {
            call.with = Some(self.take().span);
            self.options(&mut call)?;
        }
        Ok(Kind::Call(Box::new(call)))
    }

    /// `a.b.c(`, which would be a call by a path.
    fn is_qualified_call(&mut self) -> bool {
        let mut at = self.peek().span.start;
        loop {
            let dot = super::token::next(self.text, at);
            let name = super::token::next(self.text, dot.span.end);
            if dot.kind != TokenKind::Sign(".") || name.kind != TokenKind::Name {
                return dot.kind == TokenKind::Sign("(");
            }
            at = name.span.end;
        }
    }

    fn options(&mut self, call: &mut Call) -> Parsed<()> {
        loop {
            let name = self.peek();
            if name.kind != TokenKind::Name {
                return self.unexpected("an option such as `retry: 3`");
            }
            self.take();
            let text = name.span.of(self.text).to_owned();
            let name = Name { text, span: name.span };
            let mut option = CallOption { name, value: None, expression: None };
            if self.takes(":") {
                if option.name.text == "fallback" {
                    let value = self.expression()?;
                    option.value = Some(value.span);
                    option.expression = Some(value);
                } else {
                    option.value = Some(self.raw_value()?);
                }
            } else if option.name.text != "lazy" {
                return self.unexpected(&format!("`:` and the value of `{}`", option.name.text));
            }
            call.options.push(option);
            if self.takes(",") {
                continue;
            }
            // Nothing but an option is a name with a colon.
            let next = self.peek();
            let is_option = next.kind == TokenKind::Name
                && self.peek_second().kind == TokenKind::Sign(":")
                && !super::parse::KEYWORDS.contains(&next.span.of(self.text));
            if !is_option {
                return Ok(());
            }
            let before = Span { start: self.end, end: self.end };
            let message = "a comma is missing between two options";
            let found = Diagnostic::new(Clause::Syntax, next.span, message);
            self.found.push(found.fix(before, ",", true));
        }
    }

    /// A value up to a comma, a bracket that closes, or the end of its line; in brackets it goes on.
    fn raw_value(&mut self) -> Parsed<Span> {
        let first = self.peek();
        let mut open = 0;
        loop {
            let next = self.peek();
            let ends = match next.kind {
                TokenKind::End => true,
                _ if open > 0 => false,
                TokenKind::Sign("," | ")" | "]" | "}") => true,
                // The next option, where the comma before it is missing.
                TokenKind::Name if next.span.start > first.span.start => {
                    next.begins_line || self.peek_second().kind == TokenKind::Sign(":")
                }
                _ => next.begins_line && next.span.start > first.span.start,
            };
            if ends {
                break;
            }
            match next.kind {
                TokenKind::Sign("(" | "[" | "{") => open += 1,
                TokenKind::Sign(")" | "]" | "}") => open -= 1,
                TokenKind::Quote => {
                    self.text()?;
                    continue;
                }
                _ => {}
            }
            self.take();
        }
        match self.end > first.span.start {
            true => Ok(Span { start: first.span.start, end: self.end }),
            false => self.unexpected("the value of the option"),
        }
    }
}
