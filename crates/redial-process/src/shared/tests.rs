//! What the files promise: what the clock may do to them, then many processes. What is in them: `tests/it`.

#[path = "../../tests/it/place.rs"]
mod place;
mod processes;
mod times;

use super::{Refusal, SharedBreaker, SharedPermit};
use place::Place;

#[track_caller]
fn permitted(breaker: &SharedBreaker) -> SharedPermit {
    match breaker.admit().expect("the file is sound") {
        Ok(permit) => permit,
        Err(refusal) => panic!("refused: the breaker is {refusal}"),
    }
}

#[track_caller]
fn refused(breaker: &SharedBreaker) -> Refusal {
    match breaker.admit().expect("the file is sound") {
        Ok(_) => panic!("admitted"),
        Err(refusal) => refusal,
    }
}
