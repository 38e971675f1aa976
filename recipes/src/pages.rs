//! The pages. `redial` itself leaves them out of its tests.

#[doc = include_str!("../../crates/redial/src/guide/recipes/actor.md")]
mod actor {}
#[doc = include_str!("../../crates/redial/src/guide/recipes/errors.md")]
mod errors {}
#[doc = include_str!("../../crates/redial/src/guide/recipes/hyper.md")]
mod hyper {}
#[doc = include_str!("../../crates/redial/src/guide/recipes/pace.md")]
mod pace {}
#[doc = include_str!("../../crates/redial/src/guide/recipes/queue.md")]
mod queue {}
#[doc = include_str!("../../crates/redial/src/guide/recipes/reqwest.md")]
mod reqwest {}
#[doc = include_str!("../../crates/redial/src/guide/recipes/rusqlite.md")]
mod rusqlite {}
#[doc = include_str!("../../crates/redial/src/guide/recipes/settings.md")]
mod settings {}
#[doc = include_str!("../../crates/redial/src/guide/recipes/tonic.md")]
mod tonic {}

#[doc = include_str!("../../crates/redial/src/guide/from_again.md")]
mod from_again {}
#[doc = include_str!("../../crates/redial/src/guide/from_backoff.md")]
mod from_backoff {}
#[doc = include_str!("../../crates/redial/src/guide/from_backon.md")]
mod from_backon {}
#[doc = include_str!("../../crates/redial/src/guide/from_tokio_retry.md")]
mod from_tokio_retry {}
#[doc = include_str!("../../crates/redial/src/guide/from_tower.md")]
mod from_tower {}
