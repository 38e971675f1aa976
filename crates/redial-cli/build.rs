//! How the program is linked.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if of_target("OS") != "linux" || of_target("ENV") != "gnu" {
        return;
    }
    // A program that can be loaded anywhere is put right, pointer by pointer, whenever it starts: a
    // fifth of what `redial run` adds to its command.
    println!("cargo:rustc-link-arg-bins=-no-pie");
    // The same code need be there only once, where the linker can see to that.
    if links_with(FOLDED) {
        println!("cargo:rustc-link-arg-bins={FOLDED}");
    }
    let cold = format!("-Wl,-T,{}/cold.ld", env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo:rerun-if-changed=cold.ld");
    if links_with(&cold) {
        println!("cargo:rustc-link-arg-bins={cold}");
    }
    let is_static = of_target("FEATURE").split(',').any(|feature| feature == "crt-static");
    if is_static || env::var_os("HOST") != env::var_os("TARGET") {
        return;
    }
    // The unwinder as a part of the program, where the C compiler has it so: a library less to load.
    if let Some(folder) = folder_of("libgcc_eh.a") {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static=gcc_eh");
    }
}

const FOLDED: &str = "-Wl,--icf=all";

/// Whether the linker knows an argument: rustc's own on most systems does, and GNU's does not. It is
/// asked by linking a program of one line in the way in which this one will be.
fn links_with(argument: &str) -> bool {
    let (Some(folder), Some(target)) = (env::var_os("OUT_DIR"), env::var_os("TARGET")) else {
        return false;
    };
    let source = PathBuf::from(&folder).join("probe.rs");
    if std::fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.arg("--target").arg(target).arg("--out-dir").arg(folder);
    let output = rustc.arg(format!("-Clink-arg={argument}")).arg(source).output();
    output.is_ok_and(|output| output.status.success())
}

/// Where the C compiler has a library of its own.
fn folder_of(library: &str) -> Option<PathBuf> {
    let printed = Command::new("cc").arg(format!("-print-file-name={library}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(printed.stdout).ok()?.trim());
    // What it does not have it prints as it was asked for.
    path.is_absolute().then(|| path.parent().map(PathBuf::from)).flatten()
}
