//! The tests of `redial-flow`, one module for each subject.

mod branches;
mod child;
mod crashes;
mod expression;
mod flow_schema;
mod history;
mod hostile;
mod interpreter;
mod items;
mod journal;
mod machine;
mod notation;
mod reasons;
mod script;
mod shared;
mod shell;
#[cfg(unix)]
mod shells;
#[cfg(feature = "tokio")]
mod steps;
mod store;
mod template;
mod values;
mod work_items;
mod world;
