//! The ways of a flow's branch.

use std::fmt;

use super::{Flow, Value};

/// The ways of a branch: see [`Flow::branch`].
#[must_use = "ways are added by giving this back"]
pub struct Branch<I, K, T> {
    pub(super) name: String,
    pub(super) arms: Vec<(K, Flow<I, T>)>,
}

/// A branch with a way for everything.
#[must_use = "a branch is made by giving this back"]
pub struct Branched<I, K, T> {
    pub(super) arms: Vec<(K, Flow<I, T>)>,
    pub(super) otherwise: Flow<I, T>,
}

impl<I, K, T> fmt::Debug for Branch<I, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arms: Vec<_> = self.arms.iter().map(|(_, arm)| arm).collect();
        f.debug_struct("Branch").field("name", &self.name).field("arms", &arms).finish()
    }
}

impl<I, K, T> fmt::Debug for Branched<I, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arms: Vec<_> = self.arms.iter().map(|(_, arm)| arm).collect();
        f.debug_struct("Branched").field("arms", &arms).field("otherwise", &self.otherwise).finish()
    }
}

impl<I: Value, K, T: Value> Branch<I, K, T> {
    /// The way that is taken for this key: the first that has it.
    pub fn on(mut self, key: K, arm: impl FnOnce(Flow<I>) -> Flow<I, T>) -> Self {
        let arm = arm(Flow::new(&self.name));
        self.arms.push((key, arm));
        self
    }

    /// The way for every other key.
    pub fn otherwise(self, arm: impl FnOnce(Flow<I>) -> Flow<I, T>) -> Branched<I, K, T> {
        let otherwise = arm(Flow::new(&self.name));
        Branched { arms: self.arms, otherwise }
    }
}
