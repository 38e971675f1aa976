//! How many crates a user builds who adds one: an empty package that depends on it, and what
//! `cargo tree` says of that.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
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

/// What one build came to, over that of a program which uses tokio alone.
#[derive(Clone, Copy)]
pub(crate) struct Built {
    pub(crate) cpu_time: Cell,
    pub(crate) bytes: Cell,
}

/// A program that makes one call by the crate of this name; `None` where there is none to build.
pub(crate) fn build(name: &'static str) -> Option<Built> {
    thread_local! {
        static BUILT: RefCell<BTreeMap<&'static str, Option<(f64, f64)>>> = const { RefCell::new(BTreeMap::new()) };
    }
    let built = |name| {
        let known = BUILT.with_borrow(|built| built.get(name).copied());
        known.unwrap_or_else(|| {
            let now = cold_build(name).ok();
            BUILT.with_borrow_mut(|built| built.insert(name, now));
            now
        })
    };
    let failed = Cell::Unmeasured("its build fails");
    program(name)?;
    let Some(((time, bytes), (time_before, bytes_before))) = built(name).zip(built("tokio")) else {
        return Some(Built { cpu_time: failed, bytes: failed });
    };
    let over = |with: f64, without: f64| Cell::Number((with - without).max(0.0));
    Some(Built { cpu_time: over(time, time_before), bytes: over(bytes, bytes_before) })
}

/// The dependency beside tokio, and what `main` does in its runtime.
fn program(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "tokio" => ("", "let _ = operation().await;"),
        "redial" => (
            "redial = { path = \"REDIAL\" }",
            "use redial::{Policy, policy, retry};
             const POLICY: Policy = policy!(\"retry: 3, delay: 100ms, backoff: exponential, jitter: full\");
             let _ = retry(&POLICY, operation).await;",
        ),
        "backon" => (
            "backon = \"1.6\"",
            "use backon::{ExponentialBuilder, Retryable};
             let _ = operation.retry(ExponentialBuilder::default().with_jitter()).await;",
        ),
        "tokio-retry" => (
            "tokio-retry = \"0.3\"",
            "use tokio_retry::{Retry, strategy::{ExponentialBackoff, jitter}};
             let _ = Retry::start(ExponentialBackoff::from_millis(100).map(jitter).take(3), operation).await;",
        ),
        _ => return None,
    })
}

/// Nanoseconds on processors, and bytes of the stripped program.
fn cold_build(name: &str) -> io::Result<(f64, f64)> {
    let (dependency, body) = program(name).ok_or(io::ErrorKind::NotFound)?;
    let directory = env::temp_dir().join(format!("redial-bench-build-{}", process::id()));
    let user = User { directory };
    fs::create_dir_all(user.directory.join("src"))?;
    let redial = repository().join("crates/redial").canonicalize()?;
    let dependency = dependency.replace("REDIAL", &redial.display().to_string());
    fs::write(
        user.directory.join("Cargo.toml"),
        format!(
            "[package]\nname = \"user\"\nedition = \"2024\"\n\n[workspace]\n\n[profile.release]\n\
             strip = true\n\n[dependencies]\ntokio = {{ version = \"1\", features = [\"rt\", \"time\"] }}\n\
             {dependency}\n"
        ),
    )?;
    fs::write(
        user.directory.join("src/main.rs"),
        format!(
            "async fn operation() -> Result<u64, std::io::Error> {{
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                std::fs::metadata(\"/\").map(|metadata| metadata.len())
             }}
             fn main() {{
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
                runtime.expect(\"a runtime\").block_on(async {{ {body} }});
             }}"
        ),
    )?;
    fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"),
        user.directory.join("Cargo.lock"),
    )?;
    let before = cpu_time_of_children()?;
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--release", "--offline"])
        .env("CARGO_TARGET_DIR", user.directory.join("target"))
        .current_dir(&user.directory)
        .status()?;
    let after = cpu_time_of_children()?;
    if !status.success() {
        return Err(io::Error::other("cargo build fails"));
    }
    let program =
        user.directory.join("target/release").join(format!("user{}", env::consts::EXE_SUFFIX));
    Ok((after - before, fs::metadata(program)?.len() as f64))
}

#[cfg(unix)]
fn cpu_time_of_children() -> io::Result<f64> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;

    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds() as f64 * 1e3)
}

#[cfg(not(unix))]
fn cpu_time_of_children() -> io::Result<f64> {
    Err(io::ErrorKind::Unsupported.into())
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
        fs::copy(
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"),
            user.directory.join("Cargo.lock"),
        )?;
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
        None => format!("path = {:?}", repository().join("crates").join(name)),
    };
    let default_features = features != Features::None;
    let features = if features == Features::Needed { package.features } else { &[] };
    format!(
        "[package]\nname = \"user\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies.{name}]\n{source}\n\
         default-features = {default_features}\nfeatures = {features:?}\n"
    )
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
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
