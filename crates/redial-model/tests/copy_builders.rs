//! No method of a `Copy` type takes `mut self`, in any crate.
//!
//! rustc 1.77 to 1.96 may pass the same copy to two calls (rust-lang/rust#155241), so a method that
//! works on its argument in place changes the caller's value. `miscompile/` shows it.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn no_method_of_a_copy_type_works_on_its_argument() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = 0;
    for entry in fs::read_dir(crates).expect("the directory of the crates") {
        let mut sources = Vec::new();
        collect(&entry.expect("a crate").path(), &mut sources);
        files += sources.len();
        let texts: Vec<(String, String)> =
            sources.iter().map(|path| (path.display().to_string(), read(path))).collect();
        assert_eq!(offenders(&texts), [""; 0], "copy `self` into a local first, or use `..self`");
    }
    assert!(files > 100, "only {files} source files were found");
}

#[test]
fn an_offender_is_found_in_another_file_and_behind_a_macro() {
    let of = |impls: &str| {
        let types = "#[derive(Clone, Copy)]\n#[must_use]\npub struct Setting<T = u8> {\n";
        let texts = [("types".into(), types.into()), ("impls".into(), impls.into())];
        offenders(&texts).len()
    };
    assert_eq!(of("impl<T: Ord> Setting<T> {\n    pub const fn a(mut self) -> Self {\n"), 1);
    assert_eq!(of("impl Setting {\n    fn a<F>(\n        mut self,\n        f: F) {\n"), 1);
    assert_eq!(of("impl Tell for Setting {\n    fn a(mut self, x: u8) {\n"), 1);
    assert_eq!(of("macro_rules! a {\n    () => {\n        fn a(mut self) {\n"), 1);
    assert_eq!(of("mod inner {\n    impl Setting {\n        fn a(mut self) {\n"), 1);
    assert_eq!(
        of("macro_rules! a {\n    ($t:ty) => {\n        impl $t {\n        fn a(mut self) {\n"),
        1
    );
    assert_eq!(
        of("#[derive(\n    Clone,\n    Copy,\n)]\nstruct A;\nimpl A {\n    fn a(mut self) {\n"),
        1
    );
    assert_eq!(of("#[derive(\n    Clone,\n)]\nstruct A;\nimpl A {\n    fn a(mut self) {\n"), 0);
    assert_eq!(of("impl Setting {\n    fn a(&mut self) {\n    fn b(self) {\n"), 0);
    assert_eq!(of("impl Other {\n    fn a(mut self) {\n"), 0);
    assert_eq!(of("struct Setting;\nimpl Setting {\n    fn a(mut self) {\n"), 0);
}

/// Where a method of a `Copy` type of these files, or one from a macro, takes `mut self`.
fn offenders(texts: &[(String, String)]) -> Vec<String> {
    let types: Vec<(&str, bool)> = texts.iter().flat_map(|(_, text)| types(text)).collect();
    let mut found = Vec::new();
    for (path, text) in texts {
        let here = self::types(text);
        // A type of the same file comes before one of the same name elsewhere.
        let is_copy = |name| here.iter().chain(&types).find(|(known, _)| *known == name);
        let mut of_copy = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.starts_with("macro_rules!") {
                of_copy = true;
            } else if line.starts_with("impl ") || line.starts_with("impl<") {
                // In a macro the type may be one of its arguments, and of any kind.
                match implementor(line) {
                    "" => {}
                    name => of_copy = is_copy(name).is_some_and(|(_, copy)| *copy),
                }
            }
            if of_copy && (line.contains("(mut self") || line.starts_with("mut self")) {
                found.push(format!("{path}:{}: {line}", number + 1));
            }
        }
    }
    found
}

/// The types of a file, and whether they derive `Copy`.
fn types(text: &str) -> Vec<(&str, bool)> {
    let (mut copy, mut deriving) = (false, false);
    let mut types = Vec::new();
    for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        let named = line.split_once("struct ").or(line.split_once("enum "));
        match named {
            _ if deriving || line.starts_with("#[derive(") => {
                copy |= line.contains("Copy");
                deriving = !line.contains(")]");
            }
            _ if line.starts_with("#[") => {}
            Some((_, named)) => types.push((name(named), std::mem::take(&mut copy))),
            None => copy = false,
        }
    }
    types
}

/// The type that an `impl` line is about, without its parameters.
fn implementor(line: &str) -> &str {
    let after = line.trim_start_matches("impl");
    // The parameters of the `impl` itself end where their brackets do.
    let mut depth = 0;
    let end = after.char_indices().find(|(_, character)| {
        depth += i32::from(*character == '<') - i32::from(*character == '>');
        depth == 0
    });
    let rest = match end {
        Some((at, '>')) => &after[at + 1..],
        _ => after,
    };
    name(rest.split_once(" for ").map_or(rest, |(_, named)| named).trim_start())
}

fn name(text: &str) -> &str {
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '_');
    &text[..end.unwrap_or(text.len())]
}

fn collect(directory: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a source file")
}
