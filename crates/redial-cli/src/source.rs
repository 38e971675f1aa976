//! Texts of policies and rules, from files, standard input or flags.

use std::io::Read;

use redial_policy::{Format, Notation, TEXT_MAX};

/// A text and what to call it.
pub(crate) struct Source {
    /// As the user named it.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) format: Format,
}

impl Source {
    /// Reads a file, or standard input for `-`. With a `notation` of maps, an unknown format is YAML.
    pub(crate) fn open(name: &str, notation: Option<Notation>) -> Result<Self, String> {
        let bytes = if name == "-" {
            limited(std::io::stdin().lock())
        } else {
            std::fs::File::open(name).and_then(|file| match file.metadata()?.is_dir() {
                true => Err(std::io::Error::other("it is a directory; name the files in it")),
                false => limited(file),
            })
        };
        let bytes = bytes.map_err(|error| format!("cannot read {name}: {error}"))?;
        Self::of_bytes(name, bytes, notation).map_err(|why| format!("cannot read {name}: {why}"))
    }

    /// A file whose bytes are read: [`limited`] reads as many as are needed here.
    pub(crate) fn of_bytes(
        name: &str,
        bytes: Vec<u8>,
        notation: Option<Notation>,
    ) -> Result<Self, String> {
        if bytes.len() > TEXT_MAX {
            let most = TEXT_MAX >> 20;
            return Err(format!(
                "it is larger than {most} MiB, which is more than a policy file can need"
            ));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            format!("byte {at}, on line {line}, is not UTF-8; save it as UTF-8")
        })?;
        let format = match (Format::of(name, &text), notation) {
            (Format::Text, Some(notation))
                if notation != Notation::Clause && notation.system().is_none() =>
            {
                Format::Yaml
            }
            (format, _) => format,
        };
        Ok(Self { name: name.to_owned(), text, format })
    }

    /// A clause of the command line.
    // Inlined: `run` needs nothing else of this file, and would touch one more page for it.
    #[inline(always)]
    pub(crate) fn clause(name: &str, clause: &str) -> Self {
        Self { name: name.to_owned(), text: clause.to_owned(), format: Format::Text }
    }
}

/// Reads at most one byte more than is allowed.
pub(crate) fn limited(reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(TEXT_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
