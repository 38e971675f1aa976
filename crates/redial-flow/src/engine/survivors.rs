//! What the commands of the process before this one have left running, if it was killed together with its guards.

use std::collections::HashSet;

use redial_process::{Survivors, end_survivors};

use super::{Engine, identity};

impl Engine {
    /// Ends what has survived of the attempts that were running when the process before this one was killed. Their successors
    /// must not run beside them. What a success has left running on purpose is not among them.
    pub(super) fn end_survivors(&mut self) {
        let open = self.machine.open_attempts();
        let Some(run) = self.identity.as_deref().filter(|_| !open.is_empty()) else { return };
        let id = |task| {
            let (generation, attempt) =
                (self.machine.generation(task), self.machine.attempts(task));
            identity::attempt_id(run, task, generation, attempt).into_bytes()
        };
        let ids: HashSet<Vec<u8>> = open.into_iter().map(id).collect();
        self.survivors = end_survivors(identity::ATTEMPT_ID, &|value| ids.contains(value));
    }

    /// How many processes of those attempts were still running, and have been ended.
    pub fn survivors(&self) -> Survivors {
        self.survivors
    }
}
