//! Every command that a document shows is run, and prints what the document says. To write down
//! what it prints now: `TRYCMD=overwrite cargo test -p redial-cli --test documents`.

use std::path::Path;
use std::process::Command;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_documents_show_what_the_program_prints() {
    // The commands are those of somebody who stands at the root of the repository.
    std::env::set_current_dir(root()).unwrap();
    let cases = trycmd::TestCases::new();
    cases.register_bin("redial", Path::new(env!("CARGO_BIN_EXE_redial")));
    cases.env("COLUMNS", "100").env("NO_COLOR", "1");
    cases.case("docs/COMMANDS.md");
    cases.case("README.md");
}

#[test]
fn the_picture_is_the_one_that_the_program_draws() {
    let picture = root().join("docs/pictures/patient.svg");
    let run = Command::new(env!("CARGO_BIN_EXE_redial"))
        .args(["plan", "--policy", "docs/examples/retries.yaml#patient", "--svg", "-"])
        .current_dir(root())
        .output()
        .unwrap();
    let drawn = String::from_utf8(run.stdout).unwrap();
    if std::env::var_os("TRYCMD").is_some_and(|mode| mode == "overwrite") {
        std::fs::write(&picture, &drawn).unwrap();
    }
    assert!(drawn.starts_with("<svg"));
    let kept = std::fs::read_to_string(picture).unwrap();
    assert!(kept == drawn, "the picture is out of date: see the top of this file");
}
