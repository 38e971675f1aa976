//! What an attempt writes: a file of its own, so that nothing has to pass through this process while it runs.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

const CHUNK: usize = 64 << 10;

/// What an attempt wrote to one of its output streams.
#[derive(Debug)]
pub struct Written {
    file: File,
}

impl Written {
    /// Files without a name for both streams.
    pub(super) fn pair() -> io::Result<(Self, Self)> {
        Ok((Self::new()?, Self::new()?))
    }

    fn new() -> io::Result<Self> {
        let file = tempfile::tempfile()?;
        // A command may open /dev/stderr, too, which is another description of the file with an offset of its own.
        rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::APPEND)?;
        Ok(Self { file })
    }

    /// The command's own descriptor of it.
    pub(super) fn descriptor(&self) -> io::Result<OwnedFd> {
        self.file.try_clone().map(OwnedFd::from)
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |file| file.len())
    }

    /// The first bytes, at most so many.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn bytes(&self, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.length().min(most) as usize];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// The last byte.
    pub fn last(&self) -> Option<u8> {
        let mut byte = [0];
        let at = self.length().checked_sub(1)?;
        self.file.read_exact_at(&mut byte, at).ok().map(|()| byte[0])
    }

    /// The last bytes as text, at most so many, from the beginning of a line on where that is possible.
    pub fn tail(&self, most: u64) -> String {
        let length = self.length();
        let from = length.saturating_sub(most);
        let mut bytes = vec![0; (length - from) as usize];
        if self.file.read_exact_at(&mut bytes, from).is_err() {
            return String::new();
        }
        let cut = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(at) if from > 0 && at + 1 < bytes.len() => at + 1,
            _ => 0,
        };
        String::from_utf8_lossy(&bytes[cut..]).into_owned()
    }

    /// Reads all of it in parts.
    pub(super) fn each_chunk(&self, mut take: impl FnMut(&[u8])) {
        let mut buffer = vec![0; CHUNK.min(self.length() as usize)];
        let mut at = 0;
        while let Ok(count @ 1..) = self.file.read_at(&mut buffer, at) {
            take(&buffer[..count]);
            at += count as u64;
        }
    }

    /// Writes all of it to somebody else.
    ///
    /// # Errors
    /// Where it cannot be read or written.
    pub fn copy_to(&self, output: &mut dyn Write) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK.min(self.length() as usize)];
        let mut at = 0;
        loop {
            let count = self.file.read_at(&mut buffer, at)?;
            if count == 0 {
                return Ok(());
            }
            output.write_all(&buffer[..count])?;
            at += count as u64;
        }
    }

    /// From its beginning. The command shares the position, so it must have ended.
    pub(super) fn reader(&mut self) -> io::Result<impl Read + '_> {
        self.file.seek(SeekFrom::Start(0))?;
        let length = self.length();
        Ok((&mut self.file).take(length))
    }

    /// Replaces what must not be seen. Of more than 64 MiB nothing is shown.
    pub(super) fn mask<'s>(&mut self, secrets: impl Iterator<Item = &'s str>) {
        const SHOWN_MAX: u64 = 64 << 20;
        let secrets: Vec<&str> = secrets.filter(|secret| !secret.is_empty()).collect();
        if secrets.is_empty() || self.length() == 0 {
            return;
        }
        let bytes = match self.length() <= SHOWN_MAX {
            true => self.bytes(SHOWN_MAX).unwrap_or_default(),
            false => b"(not shown: it is too long to look for secrets in it)\n".to_vec(),
        };
        let masked = secrets.iter().fold(bytes, |bytes, secret| {
            let mut masked = Vec::with_capacity(bytes.len());
            let mut from = 0;
            for at in memchr::memmem::find_iter(&bytes, secret.as_bytes()) {
                masked.extend_from_slice(&bytes[from..at]);
                masked.extend_from_slice(b"***");
                from = at + secret.len();
            }
            masked.extend_from_slice(&bytes[from..]);
            masked
        });
        // What could not be masked is not shown at all.
        let _ = self.file.set_len(0);
        let _ = self.file.seek(SeekFrom::Start(0));
        let _ = io::Write::write_all(&mut self.file, &masked);
    }

    /// Makes it empty, for another attempt. Whether that worked.
    pub(super) fn clear(&mut self) -> bool {
        self.length() == 0
            || (self.file.set_len(0).is_ok() && self.file.seek(SeekFrom::Start(0)).is_ok())
    }
}
