//! Every interleaving of what calls share, in one program.

mod breaker;
mod budget;
