//! The server: one queue, first come, first served, at a capacity that is known for all time.
//!
//! When a request will be answered is therefore known as it arrives, and the server needs no events
//! of its own. It does not know that a client has stopped waiting: work that nobody wants any more
//! is done all the same, which is what keeps a storm alive.

use std::collections::VecDeque;

use super::timetable::Timetable;

#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) timetable: Timetable,
    /// The share of the capacity that is left during the outage.
    remaining: f64,
    /// Whether it refuses what arrives during the outage, instead of holding it.
    refuses: bool,
    /// How many requests it holds at most.
    queue: Option<u32>,
    /// When all that it holds will be done.
    free_at: f64,
    /// When each of the requests that it holds will be done; kept only where there is a bound.
    held: VecDeque<u64>,
}

impl Server {
    pub(super) fn new(
        timetable: Timetable,
        remaining: f64,
        refuses: bool,
        queue: Option<u32>,
    ) -> Self {
        Self { timetable, remaining, refuses, queue, free_at: 0.0, held: VecDeque::new() }
    }

    /// Back to an empty queue.
    pub(super) fn clear(&mut self) {
        self.free_at = 0.0;
        self.held.clear();
    }

    /// A request that takes `work` nanoseconds at full capacity arrives: when it will be done, or
    /// nothing if it is refused. Requests arrive in the order of time.
    pub(super) fn arrive(&mut self, now: u64, work: f64) -> Option<u64> {
        if self.refuses && self.timetable.is_down(now) || self.is_full(now) {
            return None;
        }
        self.free_at = self.done_at(self.free_at.max(now as f64), work);
        let done = self.free_at.ceil() as u64;
        if self.queue.is_some() {
            self.held.push_back(done);
        }
        Some(done)
    }

    fn is_full(&mut self, now: u64) -> bool {
        let Some(most) = self.queue else { return false };
        while self.held.front().is_some_and(|done| *done <= now) {
            self.held.pop_front();
        }
        self.held.len() >= most as usize
    }

    /// When `work` is done that begins at `start`: it goes on at another pace where the outage
    /// begins, and again where it ends.
    fn done_at(&self, mut start: f64, mut work: f64) -> f64 {
        let (down, up) = (self.timetable.down as f64, self.timetable.up as f64);
        for (end, pace) in [(down, 1.0), (up, self.remaining)] {
            if start < end {
                let possible = (end - start) * pace;
                if work <= possible {
                    return start + work / pace;
                }
                (start, work) = (end, work - possible);
            }
        }
        start + work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMETABLE: Timetable = Timetable::new(1000, 1000, 7000, 100);

    #[test]
    fn work_waits_for_the_work_before_it() {
        let mut server = Server::new(TIMETABLE, 0.0, false, None);
        assert_eq!(server.arrive(10, 100.0), Some(110));
        assert_eq!(server.arrive(20, 100.0), Some(210));
        assert_eq!(server.arrive(500, 100.0), Some(600));
    }

    #[test]
    fn an_outage_suspends_and_a_dip_slows_down() {
        for (remaining, done) in [(0.0, 2050), (0.25, 1200), (0.05, 2000), (0.01, 2040)] {
            let mut server = Server::new(TIMETABLE, remaining, false, None);
            assert_eq!(server.arrive(950, 100.0), Some(done), "{remaining}");
        }
        let mut server = Server::new(TIMETABLE, 0.0, true, None);
        assert_eq!(server.arrive(1500, 100.0), None);
        assert_eq!(server.arrive(2000, 100.0), Some(2100));
    }

    #[test]
    fn a_full_queue_refuses_until_a_request_is_done() {
        let mut server = Server::new(TIMETABLE, 0.0, false, Some(2));
        assert_eq!(server.arrive(0, 100.0), Some(100));
        assert_eq!(server.arrive(0, 100.0), Some(200));
        assert_eq!(server.arrive(99, 100.0), None);
        assert_eq!(server.arrive(100, 100.0), Some(300));
    }
}
