//! What a success wrote, as the value that others refer to. Secrets are kept out of it.

use std::collections::hash_map::Entry;
use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::{Engine, Stored, Written, values};
use crate::Value;
use crate::definition::OutputKind;
use crate::machine::TaskId;
use crate::record::{Place, Record};

/// How much output is a value in the journal itself.
const INLINE_MAX: u64 = 4 << 10;

/// How much output is a value at all.
pub const VALUE_MAX: u64 = 1 << 20;

/// Why a success is none after all.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) name: &'static str,
    pub(crate) message: String,
}

impl Engine {
    /// What a success wrote, as the value that others refer to.
    pub(super) fn take_output(
        &mut self,
        at: usize,
        task: TaskId,
        record: &mut Record,
        stdout: &mut Written,
    ) -> Result<(), Refusal> {
        let kind = self.prepared.step(task.step).output;
        let length = stdout.length();
        if kind == OutputKind::None || (length == 0 && kind == OutputKind::Text) {
            return Ok(());
        }
        if !self.secrets.is_empty() && self.has_secret(stdout) {
            return Err(Refusal {
                name: "secret-in-output",
                message:
                    "its output has a secret in it, which is not kept; print something else, or \
                          use output: none"
                        .into(),
            });
        }
        if length > VALUE_MAX {
            if let Some(place) = self.keep_in_segment(at, stdout)? {
                record.output_at = Some(place);
            }
            return Ok(());
        }
        let bytes = stdout.bytes(VALUE_MAX).map_err(|error| Refusal {
            name: "output-lost",
            message: format!("its output cannot be read: {error}"),
        })?;
        let value = values::of_output(kind, bytes)?;
        if let (Value::Json(json), Some(wanted)) =
            (&value, &self.prepared.step(task.step).output_type)
        {
            let is_wrong =
                |why| Refusal { name: "bad-output", message: format!("its output {why}") };
            wanted.check(json).map_err(is_wrong)?;
        }
        let is_small = length <= INLINE_MAX;
        match (&value, self.journal.is_some() && !is_small) {
            (_, true) => record.output_at = self.keep_in_segment(at, stdout)?,
            (Value::Json(json), false) => record.output = Some(json.clone()),
            (Value::Bytes(bytes), false) => {
                record.output_base64 = Some(BASE64_STANDARD.encode(bytes).into());
            }
        }
        if record.output_at.is_some() && values::is_referred_to(&self.prepared, task.step) {
            self.outputs.insert(task, Stored::Value(value));
        }
        Ok(())
    }

    fn keep_in_segment(
        &mut self,
        at: usize,
        stdout: &mut Written,
    ) -> Result<Option<Place>, Refusal> {
        let Some(journal) = &mut self.journal else { return Ok(None) };
        let lost = |error: io::Error| Refusal {
            name: "output-lost",
            message: format!("its output cannot be kept: {error}"),
        };
        if let Entry::Vacant(vacant) = journal.segments.entry(at) {
            vacant.insert(journal.held.segment(at as u32).map_err(lost)?);
        }
        let Some(segment) = journal.segments.get_mut(&at) else { return Ok(None) };
        let place = segment.append_from(stdout.reader().map_err(lost)?).map_err(lost)?;
        Ok(Some(place))
    }

    fn has_secret(&self, written: &mut Written) -> bool {
        let Ok(bytes) = written.bytes(VALUE_MAX.max(written.length())) else { return false };
        self.secrets.iter().any(|(_, secret)| {
            !secret.is_empty() && memchr::memmem::find(&bytes, secret.as_bytes()).is_some()
        })
    }

    /// The text without secrets.
    pub(super) fn masked(&self, text: &str) -> String {
        let mask = |text: String, (_, secret): &(String, String)| match secret.is_empty() {
            true => text,
            false => text.replace(secret.as_str(), "***"),
        };
        self.secrets.iter().fold(text.to_owned(), mask)
    }
}
