//! Where a test has its shared file. The unit tests of the crate have it, too.

use std::path::PathBuf;

use tempfile::TempDir;

/// A directory with room for one file.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: TempDir::new().expect("a temporary directory") }
    }

    pub(crate) fn holding(text: impl AsRef<[u8]>) -> Self {
        let place = Self::new();
        place.write(text);
        place
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("shared")
    }

    pub(crate) fn write(&self, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(), text).expect("the file is written");
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("the file is read")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text()).expect("the file holds JSON")
    }

    pub(crate) fn number(&self, key: &str) -> f64 {
        self.json()[key].as_f64().expect("the key holds a number")
    }
}
