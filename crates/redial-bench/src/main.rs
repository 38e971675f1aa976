//! Prints what retrying costs: redial beside a bare call, a loop written by hand, and the crates
//! that a user would pick instead; and what the program `redial` costs beside a process that does
//! nothing.
//!
//! ```text
//! cargo run --release -p redial-bench                        # the table
//! cargo run --release -p redial-bench -- --peers none --check
//! cargo run --release -p redial-bench --features multi-thread
//! ```
//!
//! Instructions are counted by callgrind and repeat exactly; time is the least of several runs and
//! is there for orientation. All use one policy: exponential from 100 ms by 2, at most 60 s, jitter
//! where there is any, 3 retries. It is built once, outside of what is measured, and opaque to the
//! compiler.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the table is the product")]

mod arguments;
mod callgrind;
mod cases;
mod json;
mod measure;
mod memory;
mod operation;
mod packages;
mod program;
mod repeat;
mod row;
mod subject;
mod table;
mod unit;
mod wall;
mod yields;

use std::path::PathBuf;
use std::process::ExitCode;

use arguments::{Arguments, USAGE};
use program::Program;
use subject::Call;

fn main() -> ExitCode {
    match arguments::parse(std::env::args().skip(1)) {
        Ok(Arguments::Help) => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Arguments::Table { peers, redial, json, check }) => {
            print_tables(peers, redial, json, check)
        }
        Ok(Arguments::Case { subject, call, times }) => run_case(&subject, call, times),
        Err(message) => {
            eprint!("{message}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn print_tables(peers: bool, redial: Option<PathBuf>, json: bool, check: bool) -> ExitCode {
    let program = Program::find(redial);
    let calls = measure::calls(&cases::subjects(peers));
    let tables = [calls, program::plan::table(&program), program::check::table(&program)];
    if json {
        print!("{}", json::render(&tables));
    } else {
        let [calls, plan, check] = tables.each_ref().map(table::render);
        print!("{calls}\n{}\n{plan}\n{check}", footing());
    }
    if !check {
        return ExitCode::SUCCESS;
    }
    let missed: String = tables.iter().map(table::missed).collect();
    eprint!("{missed}");
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn footing() -> String {
    let runtime = if cfg!(feature = "multi-thread") { "rt-multi-thread" } else { "rt alone" };
    let sleep_bytes = size_of::<tokio::time::Sleep>();
    let stretch_bytes = sleep_bytes + 32;
    format!(
        "tokio with {runtime}: its Sleep is {sleep_bytes} bytes. Stretch, where the policy has no \
         limit in time: a future of {stretch_bytes} bytes and a task of 256.\n"
    )
}

fn run_case(subject: &str, call: Call, times: u64) -> ExitCode {
    let subjects = cases::subjects(true);
    let found = subjects.iter().find(|known| known.name == subject);
    match found.and_then(|subject| subject.call(call)) {
        Some(run) => {
            run(times);
            ExitCode::SUCCESS
        }
        None => ExitCode::from(2),
    }
}
