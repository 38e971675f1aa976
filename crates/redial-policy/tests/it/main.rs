//! Every notation, text in and text out; and the rules for commands. One program: one to link instead of five.

mod convert;
mod explain;
mod file;
mod fixes;
mod foreign;
mod format;
mod hostile;
mod lookalikes;
mod matchers;
mod overlay;
mod places;
mod plan;
mod random;
mod retry_config;
mod retry_policy;
mod rules;
mod schema;
mod script;
mod seeds;
mod shown;
mod tags;
