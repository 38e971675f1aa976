//! What the compiler says of a call without a clock, where the feature `tokio` is off. Only our own
//! words are looked at: the compiler's change from version to version.

use std::path::Path;
use std::process::Command;

const PROGRAM: &str = r#"
use redial::{Policy, retry, retry_with};

async fn fetch() -> Result<u32, String> { Ok(1) }
fn spawn(_: impl Future + Send) {}
fn is_transient(_: &String) -> bool { true }

pub async fn awaited() { let _ = retry(&Policy::DEFAULT, fetch).await; }
pub async fn informed() { let _ = retry_with(&Policy::DEFAULT, |_| fetch()).await; }
pub async fn with_an_option() { let _ = retry(&Policy::DEFAULT, fetch).when(is_transient).await; }
pub async fn with_an_outcome() { let _ = retry(&Policy::DEFAULT, fetch).outcome().await; }
pub fn spawned() { spawn(retry(&Policy::DEFAULT, fetch)) }
"#;

/// What `cargo check` says of a program that has redial without its default features.
#[expect(clippy::incompatible_msrv, reason = "the tests run on the pinned compiler")]
fn check(name: &str, program: &str) -> String {
    let redial = env!("CARGO_MANIFEST_DIR");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let package = directory.join(name);
    std::fs::create_dir_all(package.join("src")).expect("a directory for the program");
    // Another process may run the same test: its package would be written while ours is read.
    let lock = std::fs::File::create(package.join("lock")).expect("a file to lock");
    lock.lock().expect("the lock of the package");
    let manifest = format!(
        "package = {{ name = '{name}', edition = '2024' }}\nworkspace = {{}}\n\
         dependencies.redial = {{ path = '{redial}', default-features = false }}\n"
    );
    std::fs::write(package.join("Cargo.toml"), manifest).expect("its manifest");
    std::fs::write(package.join("src/lib.rs"), program).expect("its source");
    // With the versions of this workspace, which are here already.
    let versions = Path::new(redial).join("../../Cargo.lock");
    std::fs::copy(versions, package.join("Cargo.lock")).expect("the lock file of the workspace");

    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["check", "--offline", "--quiet", "--target-dir"]).arg(directory.join("checked"));
    let output = cargo.current_dir(&package).output().expect("cargo");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn the_compiler_says_which_clocks_there_are() {
    let said = check("no_clock", PROGRAM);
    let functions = PROGRAM.matches("pub ").count();
    for words in [
        "this call has no clock",
        "enable the feature `tokio` of redial",
        "enable the feature `smol`, and say `.clock(redial::SmolClock)`",
        "enable the feature `wasm`",
        "say `.clock(redial::ThreadClock)`",
    ] {
        assert_eq!(said.matches(words).count(), functions, "{words}: {said}");
    }
}

/// That name is not taken by something else, which the compiler would speak of.
#[test]
fn the_compiler_says_that_a_function_needs_a_feature() {
    let program = "pub fn tries() { let _ = redial::tries(&redial::Policy::DEFAULT); }";
    let said = check("no_tries", program);
    assert!(said.contains("feature = \"tokio\""), "{said}");
}
