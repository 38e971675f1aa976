//! Bytes to keep for later: in memory, or in an unlinked temporary file where they are many.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What is larger goes to a file.
const MEMORY_MAX: usize = 1 << 20;

/// Bytes of any length, of which at most 1 MiB are in memory.
#[derive(Debug, Default)]
pub struct Store {
    memory: Vec<u8>,
    file: Option<File>,
    length: u64,
}

impl Store {
    /// How many there are.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Adds some at the end.
    ///
    /// # Errors
    /// Where the temporary file cannot be made or written.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() && self.memory.len() + bytes.len() > MEMORY_MAX {
            let file = tempfile::tempfile()?;
            file.write_all_at(&self.memory, 0)?;
            self.file = Some(file);
            self.memory = Vec::new();
        }
        match &self.file {
            Some(file) => file.write_all_at(bytes, self.length)?,
            None => self.memory.extend_from_slice(bytes),
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Reads from `position` on into the buffer. Returns how many bytes, 0 at the end.
    pub fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(file) = &self.file {
            return file.read_at(buffer, position);
        }
        let rest = &self.memory[(position as usize).min(self.memory.len())..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(store: &Store) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = [0; 7001];
        loop {
            match store.read_at(all.len() as u64, &mut buffer).unwrap() {
                0 => return all,
                length => all.extend_from_slice(&buffer[..length]),
            }
        }
    }

    #[test]
    fn what_goes_in_comes_out_on_both_sides_of_the_limit() {
        for length in [0, 1, MEMORY_MAX - 1, MEMORY_MAX, MEMORY_MAX + 1, 3 * MEMORY_MAX + 5] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut store = Store::default();
            for chunk in bytes.chunks(65_521) {
                store.append(chunk).unwrap();
            }
            assert_eq!(store.length(), length as u64);
            assert_eq!(store.file.is_some(), length > MEMORY_MAX);
            assert!(all(&store) == bytes, "{length}");
        }
    }
}
