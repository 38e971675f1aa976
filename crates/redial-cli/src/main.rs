//! The program `redial`.

#![forbid(unsafe_code)]

fn main() {}
