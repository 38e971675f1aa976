//! All tests in one program: one to link instead of ten.

mod breaker;
mod budget;
mod cases;
mod clause_diagnostics;
mod clause_fuzz;
mod cost;
mod decisions;
mod distribution;
mod exhaustive;
mod gate;
mod inline;
mod invalid;
mod kind;
mod latencies;
mod properties;
mod race;
mod reference;
mod sequence;
mod snapshot;
mod vectors;
