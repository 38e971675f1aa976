//! From words to a tree.

use redial_policy::Span;
use regex::{Regex, RegexBuilder};

use super::token::{Token, tokens};
use super::{BadExpression, DEPTH_MAX, Dialect, Reference, TEXT_MAX, nearest};

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// How deep it goes: the evaluator calls itself so often.
    height: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i128),
    Double(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// A root, or the variable of a macro, and names after it.
    Path(Vec<String>),
    Field(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    /// `has(…)` of a path or a field.
    Has(Box<Node>),
    Not(Box<Node>),
    Negative(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Operation(Operator, Box<[Node; 2]>),
    Choice(Box<[Node; 3]>),
    Call(Function, Vec<Node>),
    Matches(Box<Node>, Regex),
    /// `list.exists(name, body)` and its like.
    Each(Macro, String, Box<[Node; 2]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Macro {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    StartsWith,
    EndsWith,
    Contains,
    Matches,
    LowerAscii,
    UpperAscii,
    Trim,
    ToInt,
    ToDouble,
    ToString,
    ToBool,
    IsNull,
    IsNotNull,
    IsNumber,
    IsString,
    IsBool,
    IsArray,
    IsObject,
}

/// Whether it is called as `name(value, …)`, as `value.name(…)`, or both.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Global,
    Method,
    Both,
}

/// Name, form, number of arguments with the value itself.
const FUNCTIONS: [(&str, Function, Form, usize); 12] = [
    ("size", Function::Size, Form::Both, 1),
    ("startsWith", Function::StartsWith, Form::Method, 2),
    ("endsWith", Function::EndsWith, Form::Method, 2),
    ("contains", Function::Contains, Form::Method, 2),
    ("matches", Function::Matches, Form::Both, 2),
    ("lowerAscii", Function::LowerAscii, Form::Method, 1),
    ("upperAscii", Function::UpperAscii, Form::Method, 1),
    ("trim", Function::Trim, Form::Method, 1),
    ("int", Function::ToInt, Form::Global, 1),
    ("double", Function::ToDouble, Form::Global, 1),
    ("string", Function::ToString, Form::Global, 1),
    ("bool", Function::ToBool, Form::Global, 1),
];

/// What the loose dialect has beside them.
const LOOSE_FUNCTIONS: [(&str, Function, Form, usize); 11] = [
    ("starts_with", Function::StartsWith, Form::Global, 2),
    ("ends_with", Function::EndsWith, Form::Global, 2),
    ("contains", Function::Contains, Form::Global, 2),
    ("length", Function::Size, Form::Global, 1),
    ("is_null", Function::IsNull, Form::Global, 1),
    ("is_not_null", Function::IsNotNull, Form::Global, 1),
    ("is_number", Function::IsNumber, Form::Global, 1),
    ("is_string", Function::IsString, Form::Global, 1),
    ("is_bool", Function::IsBool, Form::Global, 1),
    ("is_array", Function::IsArray, Form::Global, 1),
    ("is_object", Function::IsObject, Form::Global, 1),
];

const MACROS: [(&str, Macro); 5] = [
    ("all", Macro::All),
    ("exists", Macro::Exists),
    ("exists_one", Macro::ExistsOne),
    ("filter", Macro::Filter),
    ("map", Macro::Map),
];

/// What CEL has and we do not: named, so that nobody looks for a misspelling.
const REFUSED: [&str; 6] = ["timestamp", "duration", "bytes", "uint", "type", "dyn"];

/// Words that can be no root; after a dot, all but those of `LITERALS` are fields.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const LITERALS: [&str; 4] = ["true", "false", "null", "in"];

pub(super) fn parse(text: &str, dialect: Dialect) -> Result<(Node, Vec<Reference>), BadExpression> {
    if text.len() > TEXT_MAX {
        let span = Span { start: 0, end: 0 };
        let message = format!("an expression of {} bytes; at most {TEXT_MAX} are read", text.len());
        return Err(BadExpression { span, message });
    }
    let tokens = tokens(text, dialect)?;
    let mut parser =
        Parser { tokens, at: 0, depth: 0, dialect, variables: Vec::new(), references: Vec::new() };
    if matches!(parser.peek(), Token::End) {
        return parser.bad("an expression is missing");
    }
    let node = parser.expression()?;
    match parser.peek() {
        Token::End => Ok((node, parser.references)),
        _ => parser.unexpected("an operator or the end"),
    }
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
    dialect: Dialect,
    /// Of the macros that are open.
    variables: Vec<String>,
    references: Vec<Reference>,
}

type Parsed<T = Node> = Result<T, BadExpression>;

fn join(from: Span, to: Span) -> Span {
    Span { start: from.start, end: to.end }
}

impl Parser {
    fn here(&self) -> &(Token, Span) {
        // The last token is `End` and is never passed.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> &Token {
        &self.here().0
    }

    fn span(&self) -> Span {
        self.here().1
    }

    fn advance(&mut self) -> (Token, Span) {
        let here = self.here().clone();
        self.at += 1;
        here
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.peek(), Token::Sign(found) if *found == sign);
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, sign: &'static str) -> Parsed<Span> {
        let span = self.span();
        if self.take(sign) { Ok(span) } else { self.unexpected(&format!("`{sign}`")) }
    }

    fn bad<T>(&self, message: impl Into<String>) -> Parsed<T> {
        bad_at(self.span(), message)
    }

    fn unexpected<T>(&self, wanted: &str) -> Parsed<T> {
        let found = match self.peek() {
            Token::End => "the expression ends".to_owned(),
            Token::Name(name) => {
                let hint = match name.to_ascii_lowercase().as_str() {
                    "and" => "; and is written `&&`",
                    "or" => "; or is written `||`",
                    "not" => "; not is written `!`",
                    "contains" => "; write `text.contains('part')`",
                    _ => "",
                };
                return self.bad(format!("`{name}` where {wanted} is expected{hint}"));
            }
            Token::Quoted(name) => format!("`{name}` stands"),
            Token::Int(_) | Token::Double(_) => "a number stands".to_owned(),
            Token::Text(_) => "text stands".to_owned(),
            Token::Sign(sign) => format!("`{sign}` stands"),
        };
        self.bad(format!("{found} where {wanted} is expected"))
    }

    fn node(&self, kind: Kind, span: Span) -> Parsed {
        let highest = |nodes: &[Node]| nodes.iter().map(|node| node.height).max().unwrap_or(0);
        let below = match &kind {
            Kind::List(nodes) | Kind::And(nodes) | Kind::Or(nodes) | Kind::Call(_, nodes) => {
                highest(nodes)
            }
            Kind::Map(pairs) => {
                pairs.iter().map(|(key, value)| key.height.max(value.height)).max().unwrap_or(0)
            }
            Kind::Field(of, _)
            | Kind::Has(of)
            | Kind::Not(of)
            | Kind::Negative(of)
            | Kind::Matches(of, _) => of.height,
            Kind::Index(of, index) => of.height.max(index.height),
            Kind::Operation(_, sides) | Kind::Each(_, _, sides) => highest(&**sides),
            Kind::Choice(nodes) => highest(&**nodes),
            _ => 0,
        };
        if below >= DEPTH_MAX {
            return bad_at(span, too_deep());
        }
        Ok(Node { kind, span, height: below + 1 })
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.bad(too_deep());
        }
        let condition = self.or()?;
        let node = if self.take("?") {
            let yes = self.or()?;
            self.expect(":")?;
            let no = self.expression()?;
            let span = join(condition.span, no.span);
            self.node(Kind::Choice(Box::new([condition, yes, no])), span)?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(node)
    }

    fn or(&mut self) -> Parsed {
        let first = self.and()?;
        let mut nodes = vec![first];
        while self.take("||") {
            nodes.push(self.and()?);
        }
        self.several(nodes, Kind::Or)
    }

    fn and(&mut self) -> Parsed {
        let first = self.relation()?;
        let mut nodes = vec![first];
        while self.take("&&") {
            nodes.push(self.relation()?);
        }
        self.several(nodes, Kind::And)
    }

    fn several(&mut self, mut nodes: Vec<Node>, kind: fn(Vec<Node>) -> Kind) -> Parsed {
        match (nodes.len(), nodes.first(), nodes.last()) {
            (2.., Some(first), Some(last)) => {
                let span = join(first.span, last.span);
                self.node(kind(nodes), span)
            }
            _ => nodes.pop().map_or_else(|| self.unexpected("a value"), Ok),
        }
    }

    fn relation(&mut self) -> Parsed {
        let mut left = self.sum()?;
        loop {
            let operator = match self.peek() {
                Token::Sign("==") => Operator::Equal,
                Token::Sign("!=") => Operator::Unequal,
                Token::Sign("<") => Operator::Less,
                Token::Sign("<=") => Operator::LessOrEqual,
                Token::Sign(">") => Operator::Greater,
                Token::Sign(">=") => Operator::GreaterOrEqual,
                Token::Name(name) if name == "in" => Operator::In,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.sum()?;
            left = self.operation(operator, left, right)?;
        }
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Token::Sign("+") => Operator::Add,
                Token::Sign("-") => Operator::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.product()?;
            left = self.operation(operator, left, right)?;
        }
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.unary()?;
        loop {
            let operator = match self.peek() {
                Token::Sign("*") => Operator::Multiply,
                Token::Sign("/") => Operator::Divide,
                Token::Sign("%") => Operator::Remainder,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.unary()?;
            left = self.operation(operator, left, right)?;
        }
    }

    fn operation(&self, operator: Operator, left: Node, right: Node) -> Parsed {
        let span = join(left.span, right.span);
        self.node(Kind::Operation(operator, Box::new([left, right])), span)
    }

    fn unary(&mut self) -> Parsed {
        let start = self.span();
        let mut count = 0_usize;
        let sign = if self.take("!") {
            "!"
        } else if self.take("-") {
            "-"
        } else {
            return self.member();
        };
        while {
            count += 1;
            self.take(sign)
        } {}
        // Loose texts write `not a == b` for `!(a == b)`; a sign binds to what it stands at.
        let word = sign == "!" && start.end - start.start > 1;
        let node = if word { self.relation()? } else { self.member()? };
        let span = join(start, node.span);
        if let (Kind::Int(value), "-", 1) = (&node.kind, sign, count) {
            return match -value {
                value if value < i128::from(i64::MIN) => {
                    bad_at(span, "a number of more than 64 bits")
                }
                value => self.node(Kind::Int(value), span),
            };
        }
        // Twice is not never: `!!x` of what is no boolean is an error, too.
        let mut node = node;
        for _ in 0..2 - count % 2 {
            let of = Box::new(node);
            let kind = if sign == "!" { Kind::Not(of) } else { Kind::Negative(of) };
            node = self.node(kind, span)?;
        }
        Ok(node)
    }

    fn member(&mut self) -> Parsed {
        let mut node = self.primary()?;
        loop {
            if self.take(".") {
                let (token, span) = self.advance();
                let (name, called) = match token {
                    Token::Name(name) if !LITERALS.contains(&name.as_str()) => {
                        (name, matches!(self.peek(), Token::Sign("(")))
                    }
                    Token::Quoted(name) => (name, false),
                    _ => {
                        self.at -= 1;
                        return self.unexpected("the name of a field");
                    }
                };
                node = if called {
                    self.method(node, name, span)?
                } else {
                    self.field(node, name, span)?
                };
            } else if self.take("[") {
                let index = self.expression()?;
                let end = self.expect("]")?;
                let span = join(node.span, end);
                node = match (node.kind, index.kind) {
                    // A name in brackets is a name.
                    (Kind::Path(names), Kind::Text(name)) => {
                        let node = Node { kind: Kind::Path(names), ..node };
                        self.field(node, name, end)?
                    }
                    (of, at) => {
                        let of = Node { kind: of, span: node.span, height: node.height };
                        let at = Node { kind: at, span: index.span, height: index.height };
                        self.node(Kind::Index(Box::new(of), Box::new(at)), span)?
                    }
                };
            } else {
                return Ok(node);
            }
        }
    }

    fn field(&mut self, of: Node, name: String, span: Span) -> Parsed {
        let whole = join(of.span, span);
        match of.kind {
            Kind::Path(mut names) => {
                // The last reference is that of this path: nothing came between.
                let own = self.references.last_mut().filter(|last| last.span == of.span);
                if let Some(reference) = own {
                    reference.path.push(name.clone());
                    reference.span = whole;
                }
                names.push(name);
                self.node(Kind::Path(names), whole)
            }
            kind => {
                let of = Node { kind, span: of.span, height: of.height };
                self.node(Kind::Field(Box::new(of), name), whole)
            }
        }
    }

    fn method(&mut self, of: Node, name: String, at: Span) -> Parsed {
        if let Some((_, found)) = MACROS.iter().find(|(other, _)| *other == name) {
            return self.each(of, *found, &name);
        }
        let (mut arguments, end) = self.arguments()?;
        let span = join(of.span, end);
        arguments.insert(0, of);
        self.call(&name, at, arguments, span, Form::Method)
    }

    /// From the bracket after the name of a macro on.
    fn each(&mut self, of: Node, found: Macro, name: &str) -> Parsed {
        self.expect("(")?;
        let (token, span) = self.advance();
        let variable = match token {
            Token::Name(variable)
                if !LITERALS.contains(&variable.as_str())
                    && !RESERVED.contains(&variable.as_str()) =>
            {
                variable
            }
            _ => {
                let message =
                    format!("`{name}` wants a name and what holds for it: `{name}(x, x > 0)`");
                return bad_at(span, message);
            }
        };
        self.expect(",")?;
        self.variables.push(variable.clone());
        let body = self.expression();
        self.variables.pop();
        let body = body?;
        let end = self.expect(")")?;
        let span = join(of.span, end);
        self.node(Kind::Each(found, variable, Box::new([of, body])), span)
    }

    /// In round brackets.
    fn arguments(&mut self) -> Parsed<(Vec<Node>, Span)> {
        self.expect("(")?;
        let mut arguments = Vec::new();
        if matches!(self.peek(), Token::Sign(")")) {
            return Ok((arguments, self.advance().1));
        }
        loop {
            arguments.push(self.expression()?);
            if !self.take(",") {
                return Ok((arguments, self.expect(")")?));
            }
        }
    }

    fn call(
        &mut self,
        name: &str,
        at: Span,
        mut arguments: Vec<Node>,
        span: Span,
        form: Form,
    ) -> Parsed {
        let loose: &[_] = if self.dialect == Dialect::Loose { &LOOSE_FUNCTIONS } else { &[] };
        let known = || FUNCTIONS.iter().chain(loose);
        let fits = |has: Form| has == form || has == Form::Both;
        let found = known().find(|(other, _, has, _)| *other == name && fits(*has));
        let Some((_, function, _, wanted)) = found else {
            if REFUSED.contains(&name) {
                return bad_at(at, format!("`{name}` of CEL is not supported here"));
            }
            if let Some((_, _, has, _)) = known().find(|(other, ..)| *other == name) {
                let remedy = match has {
                    Form::Method => format!("value.{name}(…)"),
                    _ => format!("{name}(value)"),
                };
                return bad_at(at, format!("`{name}` is called as `{remedy}`"));
            }
            let names = known().map(|(name, ..)| *name);
            let names: Vec<&str> =
                names.chain(MACROS.iter().map(|(name, _)| *name)).chain(["has"]).collect();
            let meant = match nearest(name, &names) {
                Some(meant) => format!("; did you mean `{meant}`?"),
                None => format!("; there are {}", names.join(", ")),
            };
            return bad_at(at, format!("no function is called `{name}`{meant}"));
        };
        if arguments.len() != *wanted {
            let own = usize::from(form == Form::Method);
            let (wanted, found) = (wanted - own, arguments.len() - own);
            let plural = if wanted == 1 { "" } else { "s" };
            return bad_at(span, format!("`{name}` wants {wanted} argument{plural}, not {found}"));
        }
        if *function != Function::Matches {
            return self.node(Kind::Call(*function, arguments), span);
        }
        // A pattern is part of the text, so that it is known to be right before anything runs, and no
        // value becomes a pattern.
        match (arguments.pop(), arguments.pop()) {
            (Some(Node { kind: Kind::Text(pattern), span: at, .. }), Some(of)) => {
                let regex = RegexBuilder::new(&pattern).size_limit(1 << 20).build();
                match regex {
                    Ok(regex) => self.node(Kind::Matches(Box::new(of), regex), span),
                    Err(error) => {
                        bad_at(at, format!("a pattern that is none: {}", one_line(&error)))
                    }
                }
            }
            _ => bad_at(span, "the pattern of `matches` is text in quotes, not a value"),
        }
    }

    fn primary(&mut self) -> Parsed {
        let (token, span) = self.advance();
        match token {
            Token::Int(value) => self.node(Kind::Int(value), span),
            Token::Double(value) => self.node(Kind::Double(value), span),
            Token::Text(text) => self.node(Kind::Text(text), span),
            Token::Sign("(") => {
                let node = self.expression()?;
                let end = self.expect(")")?;
                Ok(Node { span: join(span, end), ..node })
            }
            Token::Sign("${") => {
                let node = self.expression()?;
                let end = self.expect("}")?;
                Ok(Node { span: join(span, end), ..node })
            }
            Token::Sign("[") => {
                let mut nodes = Vec::new();
                while !matches!(self.peek(), Token::Sign("]")) {
                    nodes.push(self.expression()?);
                    if !self.take(",") {
                        break;
                    }
                }
                let end = self.expect("]")?;
                self.node(Kind::List(nodes), join(span, end))
            }
            Token::Sign("{") => {
                let mut pairs = Vec::new();
                while !matches!(self.peek(), Token::Sign("}")) {
                    let key = self.expression()?;
                    self.expect(":")?;
                    pairs.push((key, self.expression()?));
                    if !self.take(",") {
                        break;
                    }
                }
                let end = self.expect("}")?;
                self.node(Kind::Map(pairs), join(span, end))
            }
            Token::Name(name) => self.named(name, span),
            Token::Quoted(name) => self.root(name, span),
            _ => {
                self.at -= 1;
                self.unexpected("a value")
            }
        }
    }

    fn named(&mut self, name: String, span: Span) -> Parsed {
        match name.as_str() {
            "true" => return self.node(Kind::Bool(true), span),
            "false" => return self.node(Kind::Bool(false), span),
            "null" => return self.node(Kind::Null, span),
            "in" => {
                self.at -= 1;
                return self.unexpected("a value");
            }
            _ => {}
        }
        if matches!(self.peek(), Token::Sign("(")) {
            if name == "has" {
                return self.has(span);
            }
            let (arguments, end) = self.arguments()?;
            return self.call(&name, span, arguments, join(span, end), Form::Global);
        }
        if RESERVED.contains(&name.as_str()) {
            let message = format!(
                "`{name}` is a reserved word; a value of this name is `item.{name}` or `` `{name}` ``"
            );
            return bad_at(span, message);
        }
        self.root(name, span)
    }

    fn root(&mut self, name: String, span: Span) -> Parsed {
        if !self.variables.contains(&name) {
            self.references.push(Reference { path: vec![name.clone()], span, tested: false });
        }
        self.node(Kind::Path(vec![name]), span)
    }

    fn has(&mut self, span: Span) -> Parsed {
        let (mut arguments, end) = self.arguments()?;
        let span = join(span, end);
        let argument = if arguments.len() == 1 { arguments.pop() } else { None };
        let Some(argument) = argument else {
            return bad_at(span, "`has` wants one field: `has(item.name)`");
        };
        match &argument.kind {
            Kind::Path(_) => {
                let own = self.references.last_mut().filter(|last| last.span == argument.span);
                if let Some(reference) = own {
                    reference.tested = true;
                }
            }
            Kind::Field(..) => {}
            _ => return bad_at(argument.span, "`has` wants a field: `has(item.name)`"),
        }
        self.node(Kind::Has(Box::new(argument)), span)
    }
}

fn too_deep() -> String {
    format!("more than {DEPTH_MAX} levels of brackets or operators; take it apart into steps")
}

fn bad_at<T>(span: Span, message: impl Into<String>) -> Parsed<T> {
    Err(BadExpression { span, message: message.into() })
}

/// An error of the regex crate draws its pattern on several lines; its last one says what is wrong.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or("").trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}
