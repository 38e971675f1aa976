//! What tasks and attempts are called outside of redial.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::machine::TaskId;
use crate::record::Start;
pub(super) use crate::task_key::key;

/// The variable that has the [id of an attempt](attempt_id).
pub(super) const ATTEMPT_ID: &str = "REDIAL_ATTEMPT_ID";

/// What no other run on this machine has, not even a copy of this one: the device and the inode of its directory, and when
/// and by which process it was begun.
pub(super) fn of_run(directory: &Path, start: &Start) -> io::Result<String> {
    let directory = directory.metadata()?;
    let (device, inode) = (directory.dev(), directory.ino());
    Ok(format!("{device:x}.{inode:x}.{:x}.{:x}", start.wall_ns, start.pid))
}

/// `REDIAL_ATTEMPT_ID`: what no other attempt on this machine has, by which a resumed run knows what survived the process
/// before it.
pub(super) fn attempt_id(run: &str, task: TaskId, generation: u32, attempt: u32) -> String {
    let item = task.item.map_or_else(|| "-".to_owned(), |item| item.to_string());
    format!("{run}/{}/{item}/{generation}/{attempt}", task.step)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_ordinary_key_is_read_as_it_is_written() {
        assert_eq!(key("night", "job", Some("a/b.png"), 0), "night/job/a/b.png");
        assert_eq!(key("night", "job", Some("a/b.png"), 2), "night/job~2/a/b.png");
        assert_eq!(key("night", "join", None, 0), "night/join");
        assert_eq!(key("night", "join", None, 1), "night/join~1");
    }

    #[test]
    fn no_two_tasks_and_generations_have_the_same_key() {
        let names = ["a", "a/1", "a~1", "a~1/1", "a%", "a%7E1", "1", "1/1", "~1", "/", "1~1", "%"];
        let mut all = BTreeMap::new();
        for (step, generation) in names.iter().flat_map(|step| [0, 1, 11].map(|n| (*step, n))) {
            for item in names.iter().map(|item| Some(*item)).chain([None]) {
                let task = (step, generation, item);
                let before = all.insert(key("r", step, item, generation), task);
                assert_eq!(before, None, "{task:?}");
            }
        }
    }
}
