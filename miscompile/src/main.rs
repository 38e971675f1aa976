//! Calls every by-value builder method of a `Copy` type twice on one value, through closures, and
//! fails where the value has changed.
//!
//! rust-lang/rust#155241, in rustc 1.77 to 1.96: the optimiser gives two calls through a closure one
//! argument tuple and passes it by pointer. A callee that works on its argument in place then
//! changes it for the next call, and for the caller. Our methods therefore copy `self` into a local;
//! `crates/redial-model/tests/copy_builders.rs` refuses a method that does not.
//! `miscompile/run` tries this with the compilers and profiles that matter.

use std::fmt::Debug;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use redial_core::{Backoff, Breaker, Budget, Limits, Policy};

const SECOND: Duration = Duration::from_secs(7);

/// How many shapes were tried, and which of them were wrong.
struct Tried {
    shapes: u32,
    wrong: Vec<String>,
}

impl Tried {
    fn shape<T: Debug>(&mut self, name: &str, fresh: &T, original: &T, first: &T, second: &T) {
        self.shapes += 1;
        let text = |value: &T| format!("{value:?}");
        if text(fresh) != text(original) || text(first) != text(second) {
            self.wrong.push(format!(
                "{name}\n  the value was {fresh:?}\n  and became    {original:?}\n  first call    {first:?}\n  second call   {second:?}"
            ));
        }
    }
}

/// Two calls through a closure of a generic type.
fn through_generic<T: Copy>(value: T, step: impl Fn(T) -> T) -> (T, T, T) {
    let (first, second) = (step(value), step(value));
    (value, first, second)
}

/// The same, kept apart from its caller.
#[inline(never)]
fn through_generic_apart<T: Copy>(value: T, step: impl Fn(T) -> T) -> (T, T, T) {
    let (first, second) = (step(value), step(value));
    (value, first, second)
}

#[inline(never)]
fn through_dyn<T: Copy>(value: T, step: &dyn Fn(T) -> T) -> (T, T, T) {
    let (first, second) = (step(value), step(value));
    (value, first, second)
}

#[inline(never)]
fn through_pointer<T: Copy>(value: T, step: fn(T) -> T) -> (T, T, T) {
    let (first, second) = (step(value), step(value));
    (value, first, second)
}

/// All shapes of every method named, each on the value that `$make` gives.
macro_rules! try_methods {
    ($tried:ident, $type:ty, $make:expr, $($method:ident($($argument:expr),*)),+ $(,)?) => {$({
        let name = concat!(stringify!($type), "::", stringify!($method));
        let fresh = black_box($make);
        let step = |value: $type| value.$method($($argument),*);
        {
            let value = black_box($make);
            let (first, second) = (step(value), step(value));
            $tried.shape(&format!("{name}, a closure"), &fresh, &value, &first, &second);
        }
        {
            let value = black_box($make);
            let first = step(value);
            let second = step(value);
            $tried.shape(&format!("{name}, a closure, twice"), &fresh, &value, &first, &second);
        }
        {
            let value = black_box($make);
            let (first, second) = (value.$method($($argument),*), value.$method($($argument),*));
            $tried.shape(&format!("{name}, directly"), &fresh, &value, &first, &second);
        }
        let (value, first, second) = through_generic(black_box($make), step);
        $tried.shape(&format!("{name}, impl Fn"), &fresh, &value, &first, &second);
        let (value, first, second) = through_generic_apart(black_box($make), step);
        $tried.shape(&format!("{name}, impl Fn apart"), &fresh, &value, &first, &second);
        let (value, first, second) = through_dyn(black_box($make), &step);
        $tried.shape(&format!("{name}, dyn Fn"), &fresh, &value, &first, &second);
        let (value, first, second) = through_pointer(black_box($make), step);
        $tried.shape(&format!("{name}, fn pointer"), &fresh, &value, &first, &second);
    })+};
}

fn main() -> ExitCode {
    let Tried { shapes, wrong } = tried();
    for wrong in &wrong {
        eprintln!("wrong: {wrong}");
    }
    println!("{shapes} shapes, {} wrong", wrong.len());
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tried() -> Tried {
    let mut tried = Tried { shapes: 0, wrong: Vec::new() };
    let backoff = || Backoff::exponential(SECOND);
    try_methods!(tried, Backoff, backoff(),
        factor(1.5), min(SECOND), max(SECOND), full_jitter(), equal_jitter(),
        proportional_jitter(0.5), spread_jitter(0.5, 1.5), additive_jitter(0.5),
        // What is out of range is remembered, which is a change, too.
        additive_jitter(11.0),
    );
    try_methods!(tried, Policy, Policy::DEFAULT, within(SECOND), wait_budget(SECOND));
    try_methods!(tried, Limits<'static>, Limits::new(),
        within(SECOND), wait_budget(SECOND), max_retry_after(SECOND),
    );
    try_methods!(tried, redial_core::BudgetBuilder, Budget::builder(),
        capacity(7.0), deposit(7.0), cost(7.0), floor_per_second(7.0),
    );
    try_methods!(tried, redial_core::BreakerBuilder, Breaker::builder(),
        failures(7), recovery(SECOND), probes(7),
    );
    tried
}
