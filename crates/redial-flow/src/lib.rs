//! Work in steps, each under its own retry policy: a workflow engine with a journal, for one machine.
//!
//! | module | holds |
//! |---|---|
//! | [`flow`], [`machine`], [`record`] | steps and what each needs; the machine that says what comes next, without I/O; what is written down |
//! | [`definition`], [`notation`] | a flow as it is written down; flow files to it, with diagnostics |
//! | `engine` (on Unix), [`prepared`] | one loop that runs a flow: machine, journal and commands; a definition made ready for it |
//! | [`outlook`] | what a flow will do: delays, and the worst case in time |
//! | [`journal`], [`store`] | records that survive a KILL and a power cut; where runs are kept |
//! | [`history`], [`reason`] | what the journal of a run says happened; why tasks gave up |
//! | `steps` (feature `steps`), [`program`] | steps that are functions of a Rust program; what the journal of such a run says |
//! | [`items`], [`expression`] | the items of a map: read, selected, known by keys; conditions in CEL |
//! | [`Template`], [`Shell`] | values in arguments and in lines of `sh`, where they stay data |

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod accepted;
mod append;
mod argument_space;
pub mod definition;
#[cfg(unix)]
pub mod engine;
pub mod expression;
pub mod flow;
mod foresight;
pub mod history;
mod interpreter;
pub mod items;
pub mod journal;
pub mod machine;
mod name;
pub mod notation;
mod number;
pub mod outlook;
pub mod prepared;
pub mod program;
pub mod reason;
pub mod record;
mod reference;
mod run_clock;
mod settings;
mod shell;
#[cfg(feature = "steps")]
pub mod steps;
pub mod store;
mod suspicion;
mod system;
#[cfg(any(unix, feature = "steps"))]
mod task_key;
mod template;
mod value;
mod value_type;

pub use argument_space::{ArgumentSpace, STRING_MAX, ValueError};
pub use expression::{
    BadExpression, DEPTH_MAX, Dialect, EvalError, Expression, Found, ItemScope, TEXT_MAX,
};
pub use foresight::Misfit;
pub use interpreter::check_arguments;
pub use items::{
    BadItem, BadKey, BadPath, FieldPath, Format, Index, Item, Items, JsonPath, Key, KeyBy, Keys,
    Limits, Place, Selected, Selection, SortBy,
};
pub use reference::{ITEM_NUMBER, Lookup, Missing, Reference, Segment};
pub use shell::{Script, Shell};
pub use suspicion::{Suspicion, SuspicionKind, suspicions};
pub use template::{BadTemplate, BadTemplateKind, Template};
pub use value::Value;
