//! Commands that have outlived both the process that started them and its guard, found by a variable of their environment.

#[cfg(target_os = "linux")]
mod linux;

/// What [`end_survivors`] has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survivors {
    /// Processes that were running and are gone.
    pub ended: usize,
    /// Processes that not even SIGKILL has ended.
    pub left: usize,
}

/// Ends every process of this user that was started with a variable `name` of a value that is `meant`, and all its descendants,
/// and returns when they are gone. Who calls it made the value, so that nobody else's process has it.
///
/// On Linux, in the PID namespace that `/proc` shows; elsewhere nothing is found. A descendant that has cleared its environment
/// and lost its parent is not found. Neither this process nor any that it descends from is ended.
pub fn end_survivors(name: &str, meant: &dyn Fn(&[u8]) -> bool) -> Survivors {
    #[cfg(target_os = "linux")]
    return linux::end(name, meant);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (name, meant);
        Survivors::default()
    }
}
