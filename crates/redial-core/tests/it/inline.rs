//! A constant policy is parsed by the compiler, so most programs never run the parser, the printer or
//! the forecasts, and many have no budget, no breaker and no hedges. `#[inline]` leaves their machine code to the
//! crates that do: without it every cold build of the library pays for it, with more than half of the
//! time that this crate takes.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn what_most_programs_never_run_is_left_to_whoever_runs_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: Vec<PathBuf> = ["clause.rs", "forecast.rs", "invalid.rs", "text.rs"]
        .into_iter()
        .chain(["breaker.rs", "budget.rs", "latencies.rs", "call/race.rs", "call/snapshot.rs"])
        .map(|name| source.join(name))
        .collect();
    let folder = fs::read_dir(source.join("clause")).expect("the parser");
    files.extend(folder.map(|entry| entry.expect("a file of the parser").path()));
    for path in &files {
        let text = fs::read_to_string(path).expect("a source file");
        assert_eq!(
            compiled_for_all(&text),
            [""; 0],
            "write #[inline] above, in {}",
            path.display()
        );
    }
    assert!(files.len() > 10, "only {} files were found", files.len());
}

#[test]
fn a_function_without_the_attribute_is_found() {
    assert_eq!(compiled_for_all("impl A {\n    pub const fn a() {"), ["pub const fn a() {"]);
    assert_eq!(compiled_for_all("#[must_use]\nfn a() {"), ["fn a() {"]);
    assert_eq!(compiled_for_all("#[inline]\n#[must_use]\nfn a() {"), [""; 0]);
    assert_eq!(compiled_for_all("trait A {\n    fn a();"), [""; 0]);
    assert_eq!(compiled_for_all("/// fn a() {\nconst A: fn() = a;"), [""; 0]);
}

/// The functions of a file that have no `#[inline]` among their attributes.
fn compiled_for_all(text: &str) -> Vec<&str> {
    let mut inline = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim_start) {
        let item = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        let is_function = item.starts_with("fn ") || item.starts_with("const fn ");
        let is_function = is_function && !line.ends_with(';'); // one that a trait asks for
        if is_function && !inline {
            found.push(line);
        }
        inline = line.starts_with("#[inline") || line.starts_with("#[") && inline;
    }
    found
}
