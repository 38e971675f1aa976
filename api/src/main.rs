//! Prints the public API that a file of rustdoc's JSON describes, an item a line.

use std::process::ExitCode;

use public_api::Builder;

/// Impls that say nothing to a caller: of the compiler's own traits, and whether a panic may cross.
const NOT_LISTED: [&str; 5] = [
    "core::marker::Freeze",
    "core::marker::StructuralPartialEq",
    "core::marker::UnsafeUnpin",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::panic::unwind_safe::UnwindSafe",
];

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: redial-api FILE.json");
        return ExitCode::from(2);
    };
    // What every type has from a blanket impl of the standard library is left out. `Send` and `Sync`
    // stay: a type that loses one breaks its users.
    let api = match Builder::from_rustdoc_json(path).omit_blanket_impls(true).build() {
        Ok(api) => api,
        Err(error) => {
            eprintln!("redial-api: {error}");
            return ExitCode::FAILURE;
        }
    };
    for item in api.items() {
        let line = item.to_string();
        if !NOT_LISTED.iter().any(|name| line.contains(&format!("{name} for "))) {
            println!("{line}");
        }
    }
    ExitCode::SUCCESS
}
