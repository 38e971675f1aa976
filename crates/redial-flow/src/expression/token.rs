//! The words of an expression.

use redial_policy::Span;

use super::{BadExpression, Dialect};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    /// In backquotes: whatever a field may be called.
    Quoted(String),
    Int(i128),
    Double(f64),
    Text(String),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
    End,
}

/// The longest come first.
const SIGNS: [&str; 25] = [
    "${", "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":",
    ".", ",", "(", ")", "[", "]", "{", "}",
];

pub(super) fn tokens(text: &str, dialect: Dialect) -> Result<Vec<(Token, Span)>, BadExpression> {
    let mut lexer = Lexer { text, at: 0, loose: dialect == Dialect::Loose, dollars: 0 };
    let mut tokens = Vec::new();
    loop {
        let (token, span) = lexer.next()?;
        let last = token == Token::End;
        tokens.push((token, span));
        if last {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    loose: bool,
    /// How many `${` are open: a name within has hyphens, as those of steps do.
    dollars: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn bad<T>(&self, start: usize, message: impl Into<String>) -> Result<T, BadExpression> {
        // Up to a whole character, so that a span never cuts one.
        let mut end = self.at.max(start + 1).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        Err(BadExpression { span: Span { start, end }, message: message.into() })
    }

    fn next(&mut self) -> Result<(Token, Span), BadExpression> {
        loop {
            let blank = self.rest().len() - self.rest().trim_start().len();
            self.at += blank;
            if !self.rest().starts_with("//") {
                break;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
        let start = self.at;
        let token = self.token(start)?;
        Ok((token, Span { start, end: self.at }))
    }

    fn token(&mut self, start: usize) -> Result<Token, BadExpression> {
        let bytes = self.rest().as_bytes();
        let Some(&first) = bytes.first() else { return Ok(Token::End) };
        let second = bytes.get(1).copied().unwrap_or(0);
        match first {
            b'"' | b'\'' => return self.string(start, false),
            b'r' | b'R' if matches!(second, b'"' | b'\'') => {
                self.at += 1;
                return self.string(start, true);
            }
            b'b' | b'B' if matches!(second, b'"' | b'\'') => {
                self.at += 1;
                return self.bad(start, "bytes are not among the values of a flow; write text");
            }
            b'`' => {
                let name = self.rest()[1..].split_once('`').map(|(name, _)| name.to_owned());
                let Some(name) = name.filter(|name| !name.is_empty() && !name.contains('\n'))
                else {
                    return self.bad(start, "a name in backquotes ends with one");
                };
                self.at += name.len() + 2;
                return Ok(Token::Quoted(name));
            }
            b'0'..=b'9' => return self.number(start),
            b'.' if second.is_ascii_digit() => return self.number(start),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => return Ok(self.name()),
            _ => {}
        }
        if let Some(sign) = SIGNS.into_iter().find(|sign| self.rest().starts_with(sign)) {
            match sign {
                "${" if !self.loose => {
                    self.at += 2;
                    return self
                        .bad(start, "an expression names values without `${}`: write `item.x`");
                }
                "${" => self.dollars += 1,
                "}" => self.dollars = self.dollars.saturating_sub(1),
                _ => {}
            }
            self.at += sign.len();
            return Ok(Token::Sign(sign));
        }
        match first {
            b'=' if self.loose => {
                self.at += 1;
                Ok(Token::Sign("=="))
            }
            b'=' => self.bad(start, "`=` is no operator; equal is written `==`"),
            b'&' => self.bad(start, "`&` is no operator; and is written `&&`"),
            b'|' => self.bad(start, "`|` is no operator; or is written `||`"),
            _ => {
                let found = self.rest().chars().next().unwrap_or(' ');
                self.bad(
                    start,
                    format!("`{}` has no meaning in an expression", found.escape_debug()),
                )
            }
        }
    }

    fn name(&mut self) -> Token {
        let bytes = self.rest().as_bytes();
        let part = |at: usize| match bytes.get(at) {
            Some(b'-') if self.dollars > 0 => {
                bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphanumeric())
            }
            Some(byte) => *byte == b'_' || byte.is_ascii_alphanumeric(),
            None => false,
        };
        let length = (0..).find(|at| !part(*at)).unwrap_or(0);
        let name = self.rest().get(..length).unwrap_or("").to_owned();
        self.at += length;
        if self.loose {
            for (word, sign) in [("and", "&&"), ("or", "||"), ("not", "!")] {
                if name.eq_ignore_ascii_case(word) {
                    return Token::Sign(sign);
                }
            }
        }
        Token::Name(name)
    }

    fn number(&mut self, start: usize) -> Result<Token, BadExpression> {
        let bytes = self.text.as_bytes();
        let digits = |mut at: usize, of: fn(&u8) -> bool| {
            while bytes.get(at).is_some_and(of) {
                at += 1;
            }
            at
        };
        let is_digit = u8::is_ascii_digit as fn(&u8) -> bool;
        let hex =
            bytes.get(start) == Some(&b'0') && matches!(bytes.get(start + 1), Some(b'x' | b'X'));
        let value = if hex {
            self.at = digits(start + 2, u8::is_ascii_hexdigit);
            let value = u64::from_str_radix(&self.text[start + 2..self.at], 16);
            value.ok().map(|value| Token::Int(value.into()))
        } else {
            let mut end = digits(start, is_digit);
            let mut double = false;
            if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(is_digit) {
                end = digits(end + 1, is_digit);
                double = true;
            }
            if matches!(bytes.get(end), Some(b'e' | b'E')) {
                let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
                let exponent = digits(end + 1 + sign, is_digit);
                if exponent > end + 1 + sign {
                    end = exponent;
                    double = true;
                }
            }
            self.at = end;
            let digits = &self.text[start..end];
            if double {
                let value = digits.parse().ok().filter(|value: &f64| value.is_finite());
                value.map(Token::Double)
            } else {
                digits.parse::<u64>().ok().map(|value| Token::Int(value.into()))
            }
        };
        let Some(token) = value else {
            return self.bad(start, "a number of more than 64 bits, or without digits");
        };
        // The suffix of unsigned numbers; here they are one kind with the others.
        if matches!(token, Token::Int(_)) && matches!(bytes.get(self.at), Some(b'u' | b'U')) {
            self.at += 1;
        }
        if bytes.get(self.at).is_some_and(|byte| *byte == b'_' || byte.is_ascii_alphanumeric()) {
            self.at += 1;
            return self.bad(start, "a number goes over into a name; is a blank missing?");
        }
        Ok(token)
    }

    /// From the quote at `self.at` on; `start` is where the span begins.
    fn string(&mut self, start: usize, raw: bool) -> Result<Token, BadExpression> {
        let quote = &self.rest()[..1];
        let triple = quote.repeat(3);
        let close = if self.rest().starts_with(&triple) { triple } else { quote.to_owned() };
        self.at += close.len();
        let mut found = String::new();
        loop {
            if self.rest().starts_with(&close) {
                self.at += close.len();
                return Ok(Token::Text(found));
            }
            let Some(next) = self.rest().chars().next() else {
                return self.bad(start, format!("text that is not closed with {close}"));
            };
            if close.len() == 1 && matches!(next, '\n' | '\r') {
                return self
                    .bad(start, format!("text that is not closed with {close} on its line"));
            }
            self.at += next.len_utf8();
            if next == '\\' && !raw {
                found.push(self.escape()?);
            } else {
                found.push(next);
            }
        }
    }

    /// What stands after a backslash.
    fn escape(&mut self) -> Result<char, BadExpression> {
        let start = self.at - 1;
        let Some(next) = self.rest().chars().next() else {
            return self.bad(start, "a backslash at the end");
        };
        self.at += next.len_utf8();
        let (digits, radix) = match next {
            'a' => return Ok('\x07'),
            'b' => return Ok('\x08'),
            'f' => return Ok('\x0c'),
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            'v' => return Ok('\x0b'),
            '\\' | '?' | '"' | '\'' | '`' => return Ok(next),
            'x' | 'X' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='3' => {
                self.at -= 1;
                (3, 8)
            }
            _ => {
                let other = next.escape_debug();
                return self.bad(
                    start,
                    format!("`\\{other}` is no escape; a backslash itself is `\\\\`, or r'…'"),
                );
            }
        };
        let code = self.rest().get(..digits).filter(|code| !code.contains(['+', '-']));
        let code = code.and_then(|code| u32::from_str_radix(code, radix).ok());
        match code.and_then(char::from_u32) {
            Some(found) => {
                self.at += digits;
                Ok(found)
            }
            None => self.bad(start, format!("`\\{next}` wants {digits} digits of a character")),
        }
    }
}
