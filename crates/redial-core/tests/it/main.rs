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
mod invalid;
mod properties;
mod reference;
mod snapshot;
mod vectors;
