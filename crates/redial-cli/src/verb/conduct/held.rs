//! Output that waits for its turn: of items that are over before an earlier one. All of it is in one place, which goes to a
//! file where it is much, so that a slow item fills no memory.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

use redial_flow::engine::Written;
use redial_process::Store;

/// From here on room that is no longer needed is given back.
const WORTH_IT: u64 = 16 << 20;

/// What items wrote, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Held {
    items: BTreeMap<u32, Waiting>,
    store: Store,
    /// How many bytes of it are still waited for.
    needed: u64,
}

/// The output of one item.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) name: String,
    /// Where its standard output is, and its standard error: a part for each time that it wrote something.
    streams: [Vec<Range<u64>>; 2],
}

impl Held {
    /// Takes what an item wrote. After an error nothing of the item is held.
    pub(super) fn hold(&mut self, item: u32, name: &str, streams: [&Written; 2]) -> io::Result<()> {
        let waiting = self.items.entry(item).or_default();
        name.clone_into(&mut waiting.name);
        for (written, parts) in streams.into_iter().zip(&mut waiting.streams) {
            let start = self.store.length();
            let copied = written.copy_to(&mut Into(&mut self.store));
            parts.push(start..self.store.length());
            self.needed += self.store.length() - start;
            if copied.is_err() {
                self.remove(item);
                return copied;
            }
        }
        Ok(())
    }

    /// The item whose turn it is, if it is held. What it wrote is there until the next [`tidy`](Self::tidy).
    pub(super) fn remove(&mut self, item: u32) -> Option<Waiting> {
        let waiting = self.items.remove(&item)?;
        self.needed -= waiting.length();
        Some(waiting)
    }

    pub(super) fn remove_first(&mut self) -> Option<Waiting> {
        let (&first, _) = self.items.first_key_value()?;
        self.remove(first)
    }

    /// Gives room back that nothing needs any more.
    pub(super) fn tidy(&mut self) {
        if self.items.is_empty() {
            self.store = Store::default();
        } else if self.store.length() > WORTH_IT && self.needed < self.store.length() / 2 {
            // Without room for a copy it stays as it is.
            if let Ok((store, items)) = self.copied() {
                (self.store, self.items) = (store, items);
            }
        }
    }

    fn copied(&self) -> io::Result<(Store, BTreeMap<u32, Waiting>)> {
        let (mut store, mut items) = (Store::default(), BTreeMap::new());
        for (item, waiting) in &self.items {
            let mut streams = [Vec::new(), Vec::new()];
            for (stream, parts) in streams.iter_mut().enumerate() {
                let start = store.length();
                self.copy(waiting, stream, &mut Into(&mut store))?;
                parts.push(start..store.length());
            }
            items.insert(*item, Waiting { name: waiting.name.clone(), streams });
        }
        Ok((store, items))
    }

    /// Writes one of the two streams of an item to somebody else.
    pub(super) fn copy(
        &self,
        waiting: &Waiting,
        stream: usize,
        output: &mut dyn Write,
    ) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        for part in &waiting.streams[stream] {
            let mut at = part.start;
            while at < part.end {
                let most = buffer.len().min(usize::try_from(part.end - at).unwrap_or(usize::MAX));
                let read = self.store.read_at(at, &mut buffer[..most])?;
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                output.write_all(&buffer[..read])?;
                at += read as u64;
            }
        }
        Ok(())
    }

    /// The last byte of a stream of an item, if it wrote anything.
    pub(super) fn last(&self, waiting: &Waiting, stream: usize) -> Option<u8> {
        let part = waiting.streams[stream].iter().rfind(|part| !part.is_empty())?;
        let mut byte = [0];
        matches!(self.store.read_at(part.end - 1, &mut byte), Ok(1)).then_some(byte[0])
    }
}

impl Waiting {
    fn length(&self) -> u64 {
        self.streams.iter().flatten().map(|part| part.end - part.start).sum()
    }
}

/// A store that can be written to.
struct Into<'s>(&'s mut Store);

impl Write for Into<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
