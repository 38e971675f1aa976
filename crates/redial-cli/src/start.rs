//! Where the program begins on Linux with glibc: what the C library calls.
//!
//! Before `fn main`, Rust's runtime looks for the end of the stack in `/proc/self/maps`, to tell an
//! overflow of it from other mistakes, which takes a sixth of what `redial run` takes all in all. It
//! does three other things, which are done here: it opens the standard streams where they are closed,
//! ignores SIGPIPE, and flushes standard output at the end.

use std::ffi::{c_char, c_int};
use std::io::Write;
use std::os::fd::IntoRawFd;

use nix::sys::signal::{SigHandler, Signal, signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};

/// std reads the arguments on its own, from `.init_array`.
#[expect(unsafe_code, reason = "the C library finds its entry point by this name")]
#[unsafe(no_mangle)]
extern "C" fn main(_count: c_int, _arguments: *const *const c_char) -> c_int {
    open_standard_streams();
    // SAFETY: no handler is set, so none can run where it must not.
    #[expect(unsafe_code, reason = "a handler would be called in the middle of anything")]
    // What cannot be written is an error then, and not the end.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) };
    let code = crate::main_code();
    // Whoever has closed it does not want to know.
    let _ = std::io::stdout().flush();
    c_int::from(code)
}

/// The next file that is opened would take the number of a closed one, and be printed to.
fn open_standard_streams() {
    let all = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let mut all = all.map(|stream| PollFd::from_borrowed_fd(stream, PollFlags::empty()));
    if poll(&mut all, Some(&Timespec::default())).is_err() {
        return;
    }
    for _ in all.iter().filter(|stream| stream.revents().contains(PollFlags::NVAL)) {
        // The lowest number that is free is the next one that is closed.
        if let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()) {
            let _ = null.into_raw_fd();
        }
    }
}
