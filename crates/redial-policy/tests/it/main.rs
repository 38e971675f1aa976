//! Every notation, text in and text out.

mod dice;
mod file;
mod fixes;
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
mod script;
mod seeds;
mod shown;
mod tags;
