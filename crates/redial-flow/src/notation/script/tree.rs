//! What a script says, as it is written.

use redial_policy::Span;

#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

/// A line of the script, or a few.
#[derive(Debug)]
pub(super) enum Statement {
    Type(Name, TypeNode),
    /// With the value of its `@example`.
    In(Name, TypeNode, Option<Expression>),
    Out(Name),
    Assign(Name, Expression),
}

#[derive(Clone, Debug)]
pub(super) struct TypeNode {
    pub(super) kind: TypeKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum TypeKind {
    Named(String),
    Optional(Box<TypeNode>),
    List(Box<TypeNode>),
    Record(Vec<(Name, TypeNode)>),
    /// It is wrong, which was told.
    Bad,
}

#[derive(Debug)]
pub(super) struct Expression {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A text, with values in it.
    Text(Vec<Piece>),
    Int(i64),
    Float(f64),
    Boolean(bool),
    Variable(String),
    Fields(Box<Expression>, Vec<Name>),
    Call(Box<Call>),
    /// `if` and `branch`: what holds first is taken.
    Choice(Vec<(Expression, Expression)>, Box<Expression>),
    /// `value when condition`.
    Guard(Box<[Expression; 2]>),
    /// `a ?? b ?? c`.
    Coalesce(Vec<Expression>),
    /// `a + b - c`, from left to right.
    Chain(Box<Expression>, Vec<(Operator, Expression)>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    List(Vec<Expression>),
    Record(Vec<(Name, Expression)>),
    Parenthesised(Box<Expression>),
    /// It is wrong, which was told.
    Bad,
}

#[derive(Debug)]
pub(super) enum Piece {
    Text(String),
    Value(Expression),
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) module: Name,
    pub(super) arguments: Vec<Expression>,
    pub(super) with: Option<Span>,
    pub(super) options: Vec<CallOption>,
}

/// An option of a call. Its value is read where it is known what it means; only that of a fallback is an expression.
#[derive(Debug)]
pub(super) struct CallOption {
    pub(super) name: Name,
    pub(super) value: Option<Span>,
    pub(super) expression: Option<Expression>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
}

impl Operator {
    /// As it is written in a script.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            _ => self.in_cel(),
        }
    }

    pub(super) fn in_cel(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::And => "&&",
            Self::Or => "||",
        }
    }
}

impl Expression {
    pub(super) fn bad(span: Span) -> Self {
        Self { kind: Kind::Bad, span }
    }

    /// Whether anything is called in it.
    pub(super) fn has_call(&self) -> bool {
        match &self.kind {
            Kind::Call(_) => true,
            Kind::Text(pieces) => pieces.iter().any(|piece| match piece {
                Piece::Value(value) => value.has_call(),
                Piece::Text(_) => false,
            }),
            Kind::Fields(value, _)
            | Kind::Not(value)
            | Kind::Negative(value)
            | Kind::Parenthesised(value) => value.has_call(),
            Kind::Choice(cases, otherwise) => {
                cases.iter().any(|(when, then)| when.has_call() || then.has_call())
                    || otherwise.has_call()
            }
            Kind::Guard(both) => both.iter().any(Self::has_call),
            Kind::Coalesce(all) | Kind::List(all) => all.iter().any(Self::has_call),
            Kind::Chain(first, rest) => {
                first.has_call() || rest.iter().any(|(_, one)| one.has_call())
            }
            Kind::Record(fields) => fields.iter().any(|(_, value)| value.has_call()),
            Kind::Int(_) | Kind::Float(_) | Kind::Boolean(_) | Kind::Variable(_) | Kind::Bad => {
                false
            }
        }
    }
}
