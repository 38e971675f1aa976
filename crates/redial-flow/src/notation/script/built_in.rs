//! The functions that every script has. They are computed by redial itself.

use crate::definition::Type;

/// What a function takes or gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Text,
    Whole,
    /// A number; of its result: an Int, if all numbers are.
    Number,
    Truth,
    Anything,
    List,
}

/// A function: its name, what it takes, what it gives, and what it is in CEL, where `{0}` is the first argument.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) takes: &'static [Kind],
    pub(super) gives: Kind,
    pub(super) cel: &'static str,
}

const fn function(
    name: &'static str,
    takes: &'static [Kind],
    gives: Kind,
    cel: &'static str,
) -> Function {
    Function { name, takes, gives, cel }
}

use Kind::{Anything, List, Number, Text, Truth, Whole};

pub(super) const FUNCTIONS: [Function; 29] = [
    function("add", &[Number, Number], Number, "{0} + {1}"),
    function("subtract", &[Number, Number], Number, "{0} - {1}"),
    function("multiply", &[Number, Number], Number, "{0} * {1}"),
    function("divide", &[Number, Number], Number, "{0} / {1}"),
    function("modulo", &[Whole, Whole], Whole, "{0} % {1}"),
    function("negate", &[Number], Number, "-{0}"),
    function("abs", &[Number], Number, "{0} < 0 ? -{0} : {0}"),
    function("min", &[Number, Number], Number, "{0} < {1} ? {0} : {1}"),
    function("max", &[Number, Number], Number, "{0} > {1} ? {0} : {1}"),
    function("gt", &[Number, Number], Truth, "{0} > {1}"),
    function("lt", &[Number, Number], Truth, "{0} < {1}"),
    function("gte", &[Number, Number], Truth, "{0} >= {1}"),
    function("lte", &[Number, Number], Truth, "{0} <= {1}"),
    function("eq-int", &[Whole, Whole], Truth, "{0} == {1}"),
    function("eq-string", &[Text, Text], Truth, "{0} == {1}"),
    function("and", &[Truth, Truth], Truth, "{0} && {1}"),
    function("or", &[Truth, Truth], Truth, "{0} || {1}"),
    function("not", &[Truth], Truth, "!{0}"),
    function("concat", &[Text, Text], Text, "{0} + {1}"),
    function("contains", &[Text, Text], Truth, "{0}.contains({1})"),
    function("trim", &[Text], Text, "{0}.trim()"),
    function("upper", &[Text], Text, "{0}.upperAscii()"),
    function("lower", &[Text], Text, "{0}.lowerAscii()"),
    function("string-length", &[Text], Whole, "size({0})"),
    function("list-length", &[List], Whole, "size({0})"),
    function("list-is-empty", &[List], Truth, "size({0}) == 0"),
    function("to-string", &[Anything], Text, "string({0})"),
    function("to-float", &[Number], Number, "double({0})"),
    function("identity", &[Anything], Anything, "{0}"),
];

impl Kind {
    pub(super) fn takes(self, of: &Type) -> bool {
        match self {
            Self::Text => *of == Type::String,
            Self::Whole => *of == Type::Int,
            Self::Number => of.is_number(),
            Self::Truth => *of == Type::Boolean,
            Self::Anything => {
                matches!(of, Type::String | Type::Int | Type::Float | Type::Boolean)
            }
            Self::List => matches!(of, Type::List(_)),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "a String",
            Self::Whole => "an Int",
            Self::Number => "a number",
            Self::Truth => "a Boolean",
            Self::Anything => "a String, a number or a Boolean",
            Self::List => "a List",
        }
    }
}

impl Function {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        FUNCTIONS.iter().find(|function| function.name == name)
    }

    /// The type of its result.
    pub(super) fn result(&self, arguments: &[Type]) -> Type {
        match (self.gives, arguments) {
            _ if self.name == "to-float" => Type::Float,
            (Kind::Text, _) => Type::String,
            (Kind::Whole, _) => Type::Int,
            (Kind::Truth, _) => Type::Boolean,
            (Kind::Number, all) if all.contains(&Type::Float) => Type::Float,
            (Kind::Number, _) => Type::Int,
            (_, [first, ..]) => first.clone(),
            (_, []) => Type::String,
        }
    }
}
