//! Which tasks are meant, by how their last attempt ended: `exit:7 & stderr:/refused/`.

use std::time::SystemTime;

use redial_policy::{BadCondition, Ending, Fate, Rules, Stream};

use super::task::{Ended, Task};
use crate::record::Outcome;
use crate::store::Run;

/// A condition on the last attempt of a task, in the language of `--retry-on`.
///
/// What is looked at is what the run kept: the end of standard error, and the output of a failure.
#[derive(Debug)]
pub struct Where(Rules);

impl Where {
    /// Reads a condition.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, BadCondition> {
        let mut rules = Rules::default();
        // The one list of rules that holds of an exit code of 0, too.
        rules.success_on(text)?;
        Ok(Self(rules))
    }

    /// Whether it holds of the last attempt of a task of this run.
    pub fn holds(&self, run: &Run, task: &Task) -> bool {
        let ended = task.last_ended().map(|(_, ended)| ended);
        let mut watch = self.0.watch();
        if let Some(ended) = ended {
            let tail = ended.stderr_tail.as_deref().unwrap_or_default();
            watch.saw(Stream::Stderr, tail.as_bytes());
            if self.0.watches(Stream::Stdout)
                && let Some(Ok(bytes)) = ended.output.as_ref().map(|output| output.bytes(run))
            {
                watch.saw(Stream::Stdout, &bytes);
            }
        }
        let ending = ended.map_or(NOTHING, ending);
        self.0.judge(&ending, &mut watch, SystemTime::UNIX_EPOCH).fate == Fate::Success
    }
}

/// Of what no condition on endings holds: no attempt at all.
const NOTHING: Ending = Ending::Signal { number: 0, name: "" };

fn ending(ended: &Ended) -> Ending {
    const NOT_EXECUTABLE: i32 = 126;
    match (ended.outcome, &ended.signal, ended.exit) {
        (Outcome::Timeout, ..) => Ending::TimedOut,
        (Outcome::Lost, ..) => Ending::Lost,
        (Outcome::SpawnError, _, Some(NOT_EXECUTABLE)) => Ending::NotExecutable,
        (Outcome::SpawnError, ..) => Ending::NotFound,
        (_, Some(signal), _) => Ending::signal_named(signal).unwrap_or(NOTHING),
        (_, None, Some(exit)) => Ending::Exit(exit),
        _ => NOTHING,
    }
}
