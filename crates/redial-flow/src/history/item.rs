//! The value of an item, from the file of items.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::store::Run;
use crate::{Value, number, system};

/// The longest line of items that is read.
pub const ITEM_LINE_MAX: usize = 16 << 20;

/// A line of `items.ndjson`: an item of a map, with its place in the list of items.
#[derive(Deserialize)]
struct Line {
    #[serde(alias = "map")]
    step: String,
    item: u32,
    #[serde(default, with = "number::written")]
    value: Option<Json>,
    #[serde(default)]
    value_base64: Option<String>,
}

/// The item at this place of a map, as it was read: JSON, or bytes that are not UTF-8. `None` if the file does not
/// have it; lines that are something else are passed over.
///
/// # Errors
/// If the file of items cannot be read.
pub fn item(run: &Run, map: &str, place: u32) -> io::Result<Option<Value>> {
    let file = system::open(&run.items_path(), OpenOptions::new().read(true))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = reader.by_ref().take(ITEM_LINE_MAX as u64).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        if read == ITEM_LINE_MAX && bytes.last() != Some(&b'\n') {
            reader.skip_until(b'\n')?;
            continue;
        }
        let Ok(line) = serde_json::from_slice::<Line>(&bytes) else { continue };
        if line.item == place && line.step == map {
            let bytes = line.value_base64.and_then(|text| BASE64_STANDARD.decode(text).ok());
            return Ok(line.value.map(Value::Json).or(bytes.map(Value::of_bytes)));
        }
    }
}
