//! Damage of a journal that somebody has accepted (`--accept-damage`), for all who read it later.
//!
//! What is accepted is the journal as it was then: so many bytes from its beginning, with this checksum, written down in the
//! `run.resume` of who accepted it. Damage that comes later is refused anew, also among those bytes.

use std::fs::OpenOptions;
use std::io::{self, Read};

use serde::Deserialize;

use crate::record::Accepted;
use crate::store::Run;
use crate::system;

/// Whether damage is passed over, while a journal is read.
#[derive(Debug)]
#[cfg_attr(not(unix), allow(dead_code, reason = "who accepts anything is the engine"))]
pub(crate) struct Acceptance {
    /// Whoever reads accepts all of it now.
    is_asked_for: bool,
    /// Up to which byte somebody has accepted it before, once that was looked for.
    up_to: Option<u64>,
    is_new: bool,
}

impl Acceptance {
    pub(crate) fn new(is_asked_for: bool) -> Self {
        Self { is_asked_for, up_to: None, is_new: false }
    }

    /// Whether damage at this byte is accepted, now or before.
    pub(crate) fn covers(&mut self, run: &Run, offset: u64) -> bool {
        // Most journals have none, and are read once.
        let up_to = *self.up_to.get_or_insert_with(|| accepted_before(run).unwrap_or(0));
        let is_new = offset >= up_to && self.is_asked_for;
        self.is_new |= is_new;
        offset < up_to || is_new
    }

    /// What is to be written down, if damage was met that nobody had accepted before.
    #[cfg(unix)]
    pub(crate) fn new_up_to(&self, run: &Run, end: u64) -> io::Result<Option<Accepted>> {
        if !self.is_new {
            return Ok(None);
        }
        let crc = checksums(run, &[end])?.first().copied();
        Ok(crc.map(|crc| Accepted { bytes: end, crc }))
    }
}

/// The part of a record that is looked at.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    damage_accepted: Option<Accepted>,
}

/// Up to which byte of a journal its damage was accepted, as it still is.
fn accepted_before(run: &Run) -> io::Result<u64> {
    let lines = run.read_journal::<Line>().map_err(io::Error::other)?;
    // What is damaged accepts nothing.
    let accepted = lines.filter_map(|line| line.ok()?.record.damage_accepted);
    let mut accepted: Vec<Accepted> = accepted.collect();
    accepted.sort_by_key(|accepted| accepted.bytes);
    let bytes: Vec<u64> = accepted.iter().map(|accepted| accepted.bytes).collect();
    let found = checksums(run, &bytes)?;
    let same = accepted.iter().zip(found).filter(|(accepted, crc)| accepted.crc == *crc);
    Ok(same.map(|(accepted, _)| accepted.bytes).max().unwrap_or(0))
}

/// The CRC-32 of the journal up to each of these bytes, which ascend; of those that it has.
fn checksums(run: &Run, ends: &[u64]) -> io::Result<Vec<u32>> {
    let mut file = system::open(&run.journal_path(), OpenOptions::new().read(true))?;
    let (mut hasher, mut at, mut found) = (crc32fast::Hasher::new(), 0, Vec::new());
    let mut buffer = vec![0; 64 << 10];
    for end in ends {
        while at < *end {
            let most = buffer.len().min(usize::try_from(*end - at).unwrap_or(usize::MAX));
            match file.read(&mut buffer[..most])? {
                0 => return Ok(found),
                count => {
                    hasher.update(&buffer[..count]);
                    at += count as u64;
                }
            }
        }
        found.push(hasher.clone().finalize());
    }
    Ok(found)
}
