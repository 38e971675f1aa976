//! The standard error of failed attempts, with the lines that redial printed about them. It is held
//! until the run ends, and written only if the run fails (`--stderr hold`).

use std::io;

use super::CHUNK;
use super::store::Store;

/// How many attempts a part of the backlog holds.
const ATTEMPTS_PER_PART: u32 = 50;

/// The first attempts of a run, and the last ones. Those in between are dropped, so that a run of many
/// days does not fill the disk.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    first: Part,
    /// The last attempts are in two parts. When the newer one is full, the older one is dropped.
    older: Part,
    newer: Part,
    /// How many attempts were dropped.
    dropped: u64,
    /// Why some of it is lost.
    error: Option<String>,
}

#[derive(Debug, Default)]
struct Part {
    store: Store,
    attempts: u32,
}

impl Backlog {
    /// Adds an attempt: the lines that redial printed before it, what it wrote, the lines after it.
    pub(crate) fn keep(&mut self, before: &str, wrote: Option<&Store>, after: &str) {
        let is_first_full = self.first.attempts >= ATTEMPTS_PER_PART;
        if is_first_full && self.newer.attempts >= ATTEMPTS_PER_PART {
            self.dropped += u64::from(self.older.attempts);
            self.older = std::mem::take(&mut self.newer);
        }
        let part = if is_first_full { &mut self.newer } else { &mut self.first };
        if let Err(error) = part.keep(before, wrote, after) {
            self.error.get_or_insert(format!(
                "some of what failed attempts wrote to standard error is lost: {error}"
            ));
        }
    }

    /// Empties the backlog: all of it, in order; and why some of it is lost, if it is.
    pub(crate) fn take(&mut self) -> (Vec<Store>, Option<String>) {
        let Self { first, older, newer, dropped, error } = std::mem::take(self);
        let mut note = Store::default();
        if dropped > 0 {
            let said = format!("redial: {dropped} more failed attempts are left out here\n");
            // Cannot fail: it fits in memory.
            let _ = note.append(said.as_bytes());
        }
        (vec![first.store, note, older.store, newer.store], error)
    }
}

impl Part {
    fn keep(&mut self, before: &str, wrote: Option<&Store>, after: &str) -> io::Result<()> {
        self.attempts += 1;
        self.store.append(before.as_bytes())?;
        let Some(wrote) = wrote else { return self.store.append(after.as_bytes()) };
        let mut buffer = vec![0; CHUNK.min(wrote.length() as usize)];
        let mut position = 0;
        let mut last = b'\n';
        loop {
            let length = wrote.read_at(position, &mut buffer)?;
            if length == 0 {
                break;
            }
            self.store.append(&buffer[..length])?;
            last = buffer[length - 1];
            position += length as u64;
        }
        // The command may have left its last line unfinished.
        if last != b'\n' && !after.is_empty() {
            self.store.append(b"\n")?;
        }
        self.store.append(after.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(text: &str) -> Store {
        let mut store = Store::default();
        store.append(text.as_bytes()).unwrap();
        store
    }

    fn text(stores: &[Store]) -> String {
        let mut text = Vec::new();
        for store in stores {
            let mut buffer = vec![0; store.length() as usize];
            let length = store.read_at(0, &mut buffer).unwrap();
            assert_eq!(length as u64, store.length());
            text.extend(buffer);
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn attempts_come_out_in_order_and_every_word_of_redials_begins_a_line() {
        let mut backlog = Backlog::default();
        backlog.keep("before\n", Some(&store("unfinished")), "one\n");
        backlog.keep("", Some(&store("finished\n")), "two\n");
        backlog.keep("", None, "three\n");
        backlog.keep("", Some(&store("")), "four\n");
        backlog.keep("", Some(&store("quiet")), "");
        assert_eq!(
            text(&backlog.take().0),
            "before\nunfinished\none\nfinished\ntwo\nthree\nfour\nquiet"
        );
        assert_eq!(text(&backlog.take().0), "", "it comes out once");
    }

    #[test]
    fn of_very_many_attempts_the_first_and_the_last_are_kept() {
        for attempts in [1, 50, 51, 100, 101, 150, 151, 1000, 1049, 1050, 1051] {
            let mut backlog = Backlog::default();
            for attempt in 1..=attempts {
                backlog.keep("", Some(&store(&format!("{attempt}\n"))), "");
            }
            let text = text(&backlog.take().0);
            let (mut shown, mut left_out) = (Vec::new(), 0);
            for line in text.lines() {
                match line.strip_prefix("redial: ").and_then(|rest| rest.split_once(' ')) {
                    Some((number, _)) => {
                        left_out = number.parse().unwrap();
                        shown.extend((51..).take(left_out));
                    }
                    None => shown.push(line.parse::<usize>().unwrap()),
                }
            }
            assert!(shown.into_iter().eq(1..=attempts), "{attempts}: {text}");
            assert!(attempts <= 150 || left_out >= attempts - 150, "{attempts}: {left_out}");
            assert!(attempts > 100 || left_out == 0, "{attempts}: {left_out}");
        }
    }
}
