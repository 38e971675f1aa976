//! How many crates a user builds who adds one: an empty package that depends on it, and what
//! `cargo tree` says of that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io, process};

use crate::row::{Cell, Features};
use crate::subject::Package;

/// Crates built for `package`, itself included.
pub(crate) fn crates_built(package: &Package, features: Features) -> Cell {
    match count(package, features) {
        Ok(count) => Cell::Number(count as f64),
        Err(_) => Cell::Unmeasured("cargo tree fails"),
    }
}

fn count(package: &Package, features: Features) -> io::Result<usize> {
    let user = User::new(package, features)?;
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none"])
        .current_dir(&user.directory)
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
    }
    Ok(distinct(&String::from_utf8_lossy(&output.stdout)).len() - 1)
}

/// The crates of a tree, each once: cargo marks what it has printed before with an asterisk.
fn distinct(tree: &str) -> BTreeSet<&str> {
    tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty()).collect()
}

/// A package of its own that depends on one crate, for as long as it lives.
struct User {
    directory: PathBuf,
}

impl User {
    fn new(package: &Package, features: Features) -> io::Result<Self> {
        let directory = env::temp_dir().join(format!("redial-bench-{}", process::id()));
        let user = Self { directory };
        fs::create_dir_all(user.directory.join("src"))?;
        fs::write(user.directory.join("src/lib.rs"), "")?;
        fs::write(user.directory.join("Cargo.toml"), manifest(package, features))?;
        // The versions that the benchmark itself was built with, and no look into the network.
        fs::copy(workspace().join("Cargo.lock"), user.directory.join("Cargo.lock"))?;
        Ok(user)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // What stays behind in a directory for temporary files does no harm.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn manifest(package: &Package, features: Features) -> String {
    let name = package.name;
    let source = match package.version {
        Some(version) => format!("version = \"{version}\""),
        None => format!("path = {:?}", workspace().join("crates").join(name)),
    };
    let default_features = features != Features::None;
    let features = if features == Features::Needed { package.features } else { &[] };
    format!(
        "[package]\nname = \"user\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies.{name}]\n{source}\n\
         default-features = {default_features}\nfeatures = {features:?}\n"
    )
}

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[cfg(test)]
mod tests {
    use super::distinct;

    #[test]
    fn a_crate_counts_once() {
        let tree = "user v0.0.0\nbackon v1.6.0\ntokio v1.54.1\npin-project-lite v0.2.17\n\
                    pin-project-lite v0.2.17 (*)\n";
        assert_eq!(distinct(tree).len(), 4);
    }
}
