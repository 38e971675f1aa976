//! Prints what retrying costs: redial beside a bare call, a loop written by hand, and the crates
//! that a user would pick instead; and what the program `redial` costs beside a process that does
//! nothing, and beside other programs that run a command; and what an event of the simulator costs
//! beside one of a bare queue.
//!
//! ```text
//! cargo run --release                        # the table
//! cargo run --release -- --peers none --check
//! cargo run --release -- --only run
//! cargo run --release --features multi-thread
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
mod simulate;
mod subject;
mod table;
mod unit;
mod wall;
mod yields;

use std::cell::LazyCell;
use std::path::PathBuf;
use std::process::ExitCode;

use arguments::{Arguments, USAGE, Which};
use measure::Table;
use program::Program;
use subject::Call;

fn main() -> ExitCode {
    match arguments::parse(std::env::args().skip(1)) {
        Ok(Arguments::Help) => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Arguments::Table { peers, only, redial, json, check }) => {
            let which = match only {
                Some(which) => vec![which],
                // It takes minutes to build from nothing; `--only builds --check` holds the size.
                None if check => Which::ALL
                    .iter()
                    .copied()
                    .filter(|which| !matches!(which, Which::Builds))
                    .collect(),
                None => Which::ALL.to_vec(),
            };
            let tables = tables(peers, &which, redial);
            print_tables(&which, &tables, json, check)
        }
        Ok(Arguments::Case { subject, call, times }) => run_case(&subject, call, times),
        Ok(Arguments::Crowd(crowd)) => match crowd.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(2),
        },
        Err(message) => {
            eprint!("{message}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn tables(peers: bool, which: &[Which], redial: Option<PathBuf>) -> Vec<Table> {
    // It takes a while to build, and not every table is about it.
    #[cfg(unix)]
    let installed = LazyCell::new(|| Program::installed(redial.clone()));
    let program = LazyCell::new(|| Program::find(redial.clone()));
    let table = |which| match which {
        Which::Calls => measure::calls(&cases::subjects(peers)),
        Which::Everyday => measure::everyday(&cases::subjects(peers)),
        Which::Builds => measure::builds(&cases::subjects(peers)),
        Which::Simulate => simulate::table(),
        Which::Plan => program::plan::table(&program),
        Which::Check => program::check::table(&program),
        Which::Many => program::many::table(&program),
        #[cfg(unix)]
        Which::Run => program::run::table(&program, &program::run::STATIC),
        #[cfg(unix)]
        Which::Installed => program::run::table(&installed, &program::run::INSTALLED),
        #[cfg(unix)]
        Which::Streams => program::streams::table(&program),
        #[cfg(unix)]
        Which::Patterns => program::patterns::table(&program),
        #[cfg(unix)]
        Which::Jobs => program::jobs::table(&program, &installed),
    };
    which.iter().copied().map(table).collect()
}

fn print_tables(which: &[Which], tables: &[Table], json: bool, check: bool) -> ExitCode {
    if json {
        print!("{}", json::render(tables));
    } else {
        let titled = which.iter().zip(tables);
        let tables: Vec<String> = titled
            .map(|(which, table)| format!("{}\n\n{}", which.title(), table::render(table)))
            .collect();
        print!("{}", tables.join("\n"));
    }
    if !check {
        return ExitCode::SUCCESS;
    }
    let missed: String = tables.iter().map(table::missed).collect();
    eprint!("{missed}");
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
