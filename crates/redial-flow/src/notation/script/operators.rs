//! Expressions, from what binds least to what binds most.

use redial_policy::Span;

use super::parse::{Parsed, Parser};
use super::token::TokenKind;
use super::tree::{Expression, Kind, Operator};

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.deeper(Self::coalesce)
    }

    fn since(&self, start: usize, kind: Kind) -> Expression {
        Expression { kind, span: Span { start, end: self.end } }
    }

    fn coalesce(&mut self) -> Parsed<Expression> {
        let start = self.peek().span.start;
        let first = self.guard()?;
        if !self.is_sign("??") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.takes("??") {
            all.push(self.guard()?);
        }
        Ok(self.since(start, Kind::Coalesce(all)))
    }

    fn guard(&mut self) -> Parsed<Expression> {
        let start = self.peek().span.start;
        let value = self.either()?;
        if !self.takes_word("when") {
            return Ok(value);
        }
        let condition = self.either()?;
        Ok(self.since(start, Kind::Guard(Box::new([value, condition]))))
    }

    fn chain(
        &mut self,
        part: fn(&mut Self) -> Parsed<Expression>,
        operator: fn(&mut Self) -> Option<Operator>,
    ) -> Parsed<Expression> {
        let start = self.peek().span.start;
        let first = part(self)?;
        let mut rest = Vec::new();
        while let Some(next) = operator(self) {
            self.take();
            rest.push((next, part(self)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(self.since(start, Kind::Chain(Box::new(first), rest)))
    }

    fn either(&mut self) -> Parsed<Expression> {
        self.chain(Self::both, |parser| parser.is_word("or").then_some(Operator::Or))
    }

    fn both(&mut self) -> Parsed<Expression> {
        self.chain(Self::negated, |parser| parser.is_word("and").then_some(Operator::And))
    }

    fn negated(&mut self) -> Parsed<Expression> {
        let start = self.peek().span.start;
        if !self.takes_word("not") {
            return self.compared();
        }
        let of = self.deeper(Self::negated)?;
        Ok(self.since(start, Kind::Not(Box::new(of))))
    }

    fn compared(&mut self) -> Parsed<Expression> {
        let start = self.peek().span.start;
        let first = self.sum()?;
        let Some(operator) = self.comparison() else { return Ok(first) };
        self.take();
        let second = self.sum()?;
        if self.comparison().is_some() {
            let span = self.peek().span;
            return self.wrong(span, "comparisons do not follow one another; join them by `and`");
        }
        Ok(self.since(start, Kind::Chain(Box::new(first), vec![(operator, second)])))
    }

    fn comparison(&mut self) -> Option<Operator> {
        let TokenKind::Sign(sign) = self.peek().kind else { return None };
        Some(match sign {
            "==" => Operator::Equal,
            "!=" => Operator::Unequal,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            _ => return None,
        })
    }

    fn sum(&mut self) -> Parsed<Expression> {
        self.chain(Self::product, |parser| match parser.peek().kind {
            TokenKind::Sign("+") => Some(Operator::Add),
            TokenKind::Sign("-") => Some(Operator::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> Parsed<Expression> {
        self.chain(Self::signed, |parser| match parser.peek().kind {
            TokenKind::Sign("*") => Some(Operator::Multiply),
            TokenKind::Sign("/") => Some(Operator::Divide),
            _ => None,
        })
    }

    fn signed(&mut self) -> Parsed<Expression> {
        let start = self.peek().span.start;
        if !self.takes("-") {
            return self.postfix();
        }
        let of = self.deeper(Self::signed)?;
        Ok(self.since(start, Kind::Negative(Box::new(of))))
    }

    fn postfix(&mut self) -> Parsed<Expression> {
        let start = self.peek().span.start;
        let value = self.primary()?;
        let mut fields = Vec::new();
        while self.takes(".") {
            fields.push(self.name("the name of a field")?);
        }
        let next = self.peek();
        if !next.begins_line && matches!(next.kind, TokenKind::Sign("[" | "{")) {
            return self.refuse(next.span, "taking several fields at once is not run here");
        }
        match fields.is_empty() {
            true => Ok(value),
            false => Ok(self.since(start, Kind::Fields(Box::new(value), fields))),
        }
    }
}
