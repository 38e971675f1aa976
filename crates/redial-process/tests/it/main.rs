//! What the crate promises to who uses it. What needs a process of its own is in `guards.rs`.

#![cfg(unix)]

mod place;
mod shared_files;
#[cfg(target_os = "linux")]
mod survivors;
