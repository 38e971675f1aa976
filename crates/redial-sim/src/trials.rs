//! Many trials on any number of threads, with the result that one thread would give.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Runs `trial` for the indices below `count` and returns the results in the order of the indices,
/// up to and including the first for which `is_last` holds. Later ones that another thread has
/// already run are thrown away, so that the result does not depend on the number of threads.
///
/// Each thread has a workspace of its own: trials share nothing, and its memory is allocated once.
pub(crate) fn run<W, T: Send>(
    count: u32,
    threads: u32,
    workspace: impl Fn() -> W + Sync,
    trial: impl Fn(&mut W, u32) -> T + Sync,
    is_last: impl Fn(&T) -> bool + Sync,
) -> Vec<T> {
    let next = AtomicU32::new(0);
    let end = AtomicU32::new(count);
    let work = || {
        let mut done = Vec::new();
        let mut workspace = workspace();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= end.load(Ordering::Relaxed) {
                return done;
            }
            let result = trial(&mut workspace, index);
            if is_last(&result) {
                end.fetch_min(index + 1, Ordering::Relaxed);
            }
            done.push((index, result));
        }
    };
    let mut all = work_on(threads.min(count), work);
    all.sort_unstable_by_key(|(index, _)| *index);
    all.truncate(end.into_inner() as usize);
    all.into_iter().map(|(_, result)| result).collect()
}

/// The same work on so many threads, this one among them.
fn work_on<T: Send>(threads: u32, work: impl Fn() -> Vec<T> + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, &work).ok();
        // Where the system refuses a thread, the others do its work.
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut all = work();
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_their_indices() {
        for threads in [1, 2, 7] {
            let all = run(100, threads, || (), |(), index| index * 2, |_| false);
            assert_eq!(all, (0..100).map(|index| index * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_comes_after_the_first_that_ends_it() {
        for threads in [1, 2, 7] {
            let all = run(1000, threads, || (), |(), index| index, |index| index % 50 == 49);
            assert_eq!(all, (0..50).collect::<Vec<_>>());
        }
    }
}
