//! What an expression can come to, by the kinds of its values: what can never be right is found before anything runs.

use redial_policy::Span;

use super::BadExpression;
use super::eval::{CONTAINS_OF_LIST, IN_TEXT, NO_TRUTH, TO_NUMBER};
use super::parse::{Function, Kind, Macro, Node, Operator};

/// Some of the kinds that a value can have. Null is none of them: whether a value is there is seen when it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const BOOL: Self = Self(1);
    pub(crate) const NUMBER: Self = Self(2);
    pub(crate) const TEXT: Self = Self(4);
    pub(crate) const LIST: Self = Self(8);
    pub(crate) const OBJECT: Self = Self(16);
    pub(crate) const ANY: Self = Self(31);

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// With their articles.
    pub(crate) fn words(self) -> String {
        let named = [
            (Self::BOOL, "a boolean"),
            (Self::NUMBER, "a number"),
            (Self::TEXT, "text"),
            (Self::LIST, "a list"),
            (Self::OBJECT, "an object"),
        ];
        let words = named.into_iter().filter(|(kind, _)| self.meets(*kind)).map(|(_, word)| word);
        words.collect::<Vec<_>>().join(" or ")
    }
}

/// What is known of values before there are any.
pub(crate) trait Foresight {
    /// The kinds that the value of a path can have; an error says why it can have none.
    fn kinds(&self, path: &[String]) -> Result<Kinds, String>;

    /// Why the value of a path is text, and how it becomes something else.
    fn why_text(&self, path: &[String]) -> Option<String>;
}

/// Looks for what is wrong with an expression whatever its values are. It has to be true or false.
pub(super) fn check(root: &Node, foresight: &dyn Foresight) -> Result<(), BadExpression> {
    Check { foresight, locals: Vec::new() }.truth(root)
}

struct Check<'e> {
    foresight: &'e dyn Foresight,
    /// The variables of macros, and what they can be.
    locals: Vec<(&'e str, Kinds)>,
}

type Checked<T> = Result<T, BadExpression>;

fn bad<T>(span: Span, message: impl Into<String>) -> Checked<T> {
    Err(BadExpression { span, message: message.into() })
}

impl<'e> Check<'e> {
    fn truth(&mut self, node: &'e Node) -> Checked<()> {
        let kinds = self.kinds(node)?;
        if kinds.meets(Kinds::BOOL) {
            return Ok(());
        }
        bad(node.span, format!("{} {NO_TRUTH}{}", kinds.words(), self.why_text([node])))
    }

    /// A node that has to be of one of these kinds.
    fn must_be(&mut self, node: &'e Node, wanted: Kinds, of: &str) -> Checked<Kinds> {
        let kinds = self.kinds(node)?;
        if kinds.meets(wanted) {
            return Ok(kinds);
        }
        let (found, wanted, why) = (kinds.words(), wanted.words(), self.why_text([node]));
        bad(node.span, format!("{of} {found}, not of {wanted}{why}"))
    }

    fn kinds(&mut self, node: &'e Node) -> Checked<Kinds> {
        Ok(match &node.kind {
            Kind::Null => Kinds::ANY,
            Kind::Bool(_) => Kinds::BOOL,
            Kind::Int(_) | Kind::Double(_) => Kinds::NUMBER,
            Kind::Text(_) => Kinds::TEXT,
            Kind::List(nodes) => {
                self.of_items(nodes)?;
                Kinds::LIST
            }
            Kind::Map(pairs) => {
                for (name, value) in pairs {
                    self.must_be(name, Kinds::TEXT, "the name of a field is made of")?;
                    self.kinds(value)?;
                }
                Kinds::OBJECT
            }
            Kind::Path(names) => self.path(names, node.span)?,
            Kind::Field(of, _) => {
                self.must_be(of, Kinds::OBJECT, "a field of")?;
                Kinds::ANY
            }
            Kind::Index(of, at) => {
                let (list, index) = (self.kinds(of)?, self.kinds(at)?);
                let fits = |one: Kinds, by: Kinds| list.meets(one) && index.meets(by);
                if !fits(Kinds::LIST, Kinds::NUMBER) && !fits(Kinds::OBJECT, Kinds::TEXT) {
                    let (list, index) = (list.words(), index.words());
                    return bad(node.span, format!("{list} has no item that {index} names"));
                }
                Kinds::ANY
            }
            // What it asks for may be missing.
            Kind::Has(_) => Kinds::BOOL,
            Kind::Not(of) => {
                self.truth(of)?;
                Kinds::BOOL
            }
            Kind::Negative(of) => {
                self.must_be(of, Kinds::NUMBER, "minus of")?;
                Kinds::NUMBER
            }
            Kind::And(nodes) | Kind::Or(nodes) => {
                nodes.iter().try_for_each(|node| self.truth(node))?;
                Kinds::BOOL
            }
            Kind::Operation(operator, sides) => self.operation(*operator, sides, node.span)?,
            Kind::Choice(nodes) => {
                let [condition, yes, no] = &**nodes;
                self.truth(condition)?;
                self.kinds(yes)?.or(self.kinds(no)?)
            }
            Kind::Call(function, arguments) => self.call(*function, arguments)?,
            Kind::Matches(of, _) => {
                self.must_be(of, Kinds::TEXT, "`matches` of")?;
                Kinds::BOOL
            }
            Kind::Each(macro_, name, sides) => self.each(*macro_, name, sides)?,
        })
    }

    /// All that the items of a list that is written out can be.
    fn of_items(&mut self, nodes: &'e [Node]) -> Checked<Option<Kinds>> {
        let kinds = nodes.iter().map(|node| self.kinds(node)).collect::<Checked<Vec<_>>>()?;
        Ok(kinds.into_iter().reduce(Kinds::or))
    }

    fn path(&self, names: &[String], span: Span) -> Checked<Kinds> {
        let local = names.first().and_then(|root| {
            self.locals.iter().rev().find(|(name, _)| name == root).map(|(_, kinds)| *kinds)
        });
        match local {
            Some(kinds) if names.len() == 1 => Ok(kinds),
            Some(_) => Ok(Kinds::ANY),
            None => self.foresight.kinds(names).map_err(|message| BadExpression { span, message }),
        }
    }

    fn operation(
        &mut self,
        operator: Operator,
        sides: &'e [Node; 2],
        span: Span,
    ) -> Checked<Kinds> {
        const NUMBER: Kinds = Kinds::NUMBER;
        let [one, other] = sides;
        let (left, right) = (self.kinds(one)?, self.kinds(other)?);
        let both = |wanted: Kinds| left.meets(wanted) && right.meets(wanted);
        let (gives, says) = match operator {
            Operator::Equal if left.meets(right) => (Some(Kinds::BOOL), ""),
            Operator::Equal => (None, " is never true"),
            Operator::Unequal if left.meets(right) => (Some(Kinds::BOOL), ""),
            Operator::Unequal => (None, " is always true"),
            Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual => {
                let have_order = [Kinds::BOOL, NUMBER, Kinds::TEXT].into_iter().any(both);
                (have_order.then_some(Kinds::BOOL), "")
            }
            Operator::In => return self.contained(left, right, sides, span),
            Operator::Add => {
                let sums = [NUMBER, Kinds::TEXT, Kinds::LIST].into_iter();
                (sums.filter(|kind| both(*kind)).reduce(Kinds::or), "")
            }
            Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
                (both(NUMBER).then_some(NUMBER), "")
            }
        };
        gives.map_or_else(
            || {
                let (sign, remedy) = (operator.sign(), to_number(left, right));
                let (left, right, why) = (left.words(), right.words(), self.why_text(sides));
                bad(span, format!("`{sign}` between {left} and {right}{says}{remedy}{why}"))
            },
            Ok,
        )
    }

    /// `in` compares with each item of a list that is written out.
    fn contained(
        &mut self,
        left: Kinds,
        right: Kinds,
        sides: &'e [Node; 2],
        span: Span,
    ) -> Checked<Kinds> {
        if right == Kinds::TEXT {
            return bad(span, IN_TEXT);
        }
        if !right.meets(Kinds::LIST.or(Kinds::OBJECT)) {
            let (left, right) = (left.words(), right.words());
            return bad(span, format!("`in` between {left} and {right}"));
        }
        let Kind::List(items) = &sides[1].kind else { return Ok(Kinds::BOOL) };
        match self.of_items(items)?.filter(|items| !items.meets(left)) {
            None => Ok(Kinds::BOOL),
            Some(items) => {
                let (remedy, why) = (to_number(left, items), self.why_text(&sides[..1]));
                let (left, items) = (left.words(), items.words());
                let message =
                    format!("`in` of {left} and a list that has {items} alone is never true");
                bad(span, format!("{message}{remedy}{why}"))
            }
        }
    }

    fn each(&mut self, macro_: Macro, name: &'e str, sides: &'e [Node; 2]) -> Checked<Kinds> {
        let [of, body] = sides;
        let list = self.kinds(of)?;
        if !list.meets(Kinds::LIST.or(Kinds::OBJECT)) {
            let (list, why) = (list.words(), self.why_text([of]));
            return bad(of.span, format!("{list} where a list is expected{why}"));
        }
        // Of an object, its names.
        let item = if list.meets(Kinds::LIST) { Kinds::ANY } else { Kinds::TEXT };
        self.locals.push((name, item));
        let checked = match macro_ {
            Macro::Map => self.kinds(body).map(drop),
            _ => self.truth(body),
        };
        self.locals.pop();
        checked?;
        Ok(match macro_ {
            Macro::All | Macro::Exists | Macro::ExistsOne => Kinds::BOOL,
            Macro::Filter | Macro::Map => Kinds::LIST,
        })
    }

    fn call(&mut self, function: Function, arguments: &'e [Node]) -> Checked<Kinds> {
        const TEXT: Kinds = Kinds::TEXT;
        const SCALAR: Kinds = TEXT.or(Kinds::NUMBER);
        let (wanted, of, gives) = match function {
            Function::Size => (TEXT.or(Kinds::LIST).or(Kinds::OBJECT), "`size` of", Kinds::NUMBER),
            Function::StartsWith => (TEXT, "`startsWith` of", Kinds::BOOL),
            Function::EndsWith => (TEXT, "`endsWith` of", Kinds::BOOL),
            Function::Contains => {
                if let Some(list) = arguments.first()
                    && self.kinds(list)? == Kinds::LIST
                {
                    return bad(list.span, CONTAINS_OF_LIST);
                }
                (TEXT, "`contains` of", Kinds::BOOL)
            }
            Function::Matches => (TEXT, "`matches` of", Kinds::BOOL),
            Function::LowerAscii => (TEXT, "`lowerAscii` of", TEXT),
            Function::UpperAscii => (TEXT, "`upperAscii` of", TEXT),
            Function::Trim => (TEXT, "`trim` of", TEXT),
            Function::ToInt => (SCALAR, "`int` of", Kinds::NUMBER),
            Function::ToDouble => (SCALAR, "`double` of", Kinds::NUMBER),
            Function::ToString => (SCALAR.or(Kinds::BOOL), "`string` of", TEXT),
            Function::ToBool => (TEXT.or(Kinds::BOOL), "`bool` of", Kinds::BOOL),
            Function::IsNull
            | Function::IsNotNull
            | Function::IsNumber
            | Function::IsString
            | Function::IsBool
            | Function::IsArray
            | Function::IsObject => (Kinds::ANY, "", Kinds::BOOL),
        };
        arguments.iter().try_for_each(|one| self.must_be(one, wanted, of).map(drop))?;
        Ok(gives)
    }

    /// Why one of these is text, where that is known.
    fn why_text<'n>(&self, nodes: impl IntoIterator<Item = &'n Node>) -> String {
        let why = |node: &Node| match &node.kind {
            Kind::Path(names) => self.foresight.why_text(names),
            _ => None,
        };
        nodes.into_iter().find_map(why).map_or_else(String::new, |why| format!("; {why}"))
    }
}

fn to_number(left: Kinds, right: Kinds) -> &'static str {
    match [(left, right), (right, left)].contains(&(Kinds::TEXT, Kinds::NUMBER)) {
        true => TO_NUMBER,
        false => "",
    }
}
