//! Rules for commands: conditions, which of them decides, what is seen of the output, and the sets
//! against what the tools really print.

mod conditions;
mod delays;
#[path = "../it/dice.rs"]
mod dice;
mod files;
mod precedence;
mod reference;
mod sets;
mod watching;
