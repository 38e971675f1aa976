//! The guide: one chapter for each question that comes up. Every example in it is compiled and run
//! with the tests, and none of them sleeps.
//!
//! | chapter | answers |
//! |---|---|
//! | [`choosing`] | Which backoff, cap, jitter, count and deadline? What will this policy do? |
//! | [`classification`] | Which errors are worth another attempt, and what comes back? |
//! | `configuration` (feature `serde`) | How does a policy get into a configuration file, the environment or a flag? |
//! | [`budgets`] | How do retries not become the outage? |
//! | [`beyond`] | Hedging, two policies in sequence, a policy per kind of error, a fallback? |
//! | [`testing`] | How do I test it without sleeping? |
//! | [`runtimes`] | What about another runtime, no runtime, threads, or `no_std`? |
//! | [`observing`] | What happened, and why did it stop? |
//! | [`recipes`] | How does it go with `reqwest`, `hyper`, `tonic`, `rusqlite`, `anyhow`, `thiserror`, `clap`? A pace of its own for one kind of error, a job queue, an actor that reconnects? |
//! | [`from_backon`] | What changes when I move from `backon`? |
//! | [`from_tokio_retry`] | … from `tokio-retry` or `tokio-retry2`? |
//! | [`from_tower`] | … from `tower`'s retry? |
//! | [`from_backoff`] | … from `backoff`? |
//! | [`from_again`] | … from `again`? |

#[doc = include_str!("guide/choosing.md")]
pub mod choosing {}

#[doc = include_str!("guide/classification.md")]
pub mod classification {}

#[cfg(feature = "serde")]
#[doc = include_str!("guide/configuration.md")]
pub mod configuration {}

#[doc = include_str!("guide/budgets.md")]
pub mod budgets {}

#[doc = include_str!("guide/beyond.md")]
pub mod beyond {}

#[doc = include_str!("guide/testing.md")]
pub mod testing {}

#[doc = include_str!("guide/runtimes.md")]
pub mod runtimes {}

#[doc = include_str!("guide/observing.md")]
pub mod observing {}

// The examples of the pages below need crates that this one has no use for. They are compiled and run
// by a package of their own, `recipes` in the repository, from these very files.

pub mod recipes {
    //! How redial goes with other crates, in programs that are whole.
    //!
    //! | recipe | shows |
    //! |---|---|
    //! | [`reqwest`] | a response judged with its headers, a body that breaks off, a `POST` that must not run twice |
    //! | [`hyper`] | requests that are made anew for each attempt, and the same as a tower layer |
    //! | [`tonic`] | statuses of gRPC, and a server that says how long to wait |
    //! | [`rusqlite`] | a transaction that found the database locked |
    //! | [`errors`] | `anyhow` and `thiserror` |
    //! | [`settings`] | policies from a file by `serde` and from a flag by `clap` |
    //! | [`pace`] | one kind of error with a pace of its own |
    //! | [`queue`] | jobs whose waits and attempts outlive the process |
    //! | [`actor`] | a task that keeps a connection alive |

    #[cfg_attr(not(doctest), doc = include_str!("guide/recipes/actor.md"))]
    pub mod actor {}

    #[cfg_attr(not(doctest), doc = include_str!("guide/recipes/errors.md"))]
    pub mod errors {}

    #[cfg_attr(not(doctest), doc = include_str!("guide/recipes/hyper.md"))]
    pub mod hyper {}

    #[cfg_attr(not(doctest), doc = include_str!("guide/recipes/pace.md"))]
    pub mod pace {}

    #[cfg_attr(not(doctest), doc = include_str!("guide/recipes/queue.md"))]
    pub mod queue {}

    #[cfg_attr(not(doctest), doc = include_str!("guide/recipes/reqwest.md"))]
    pub mod reqwest {}

    #[cfg_attr(not(doctest), doc = include_str!("guide/recipes/rusqlite.md"))]
    pub mod rusqlite {}

    #[cfg_attr(not(doctest), doc = include_str!("guide/recipes/settings.md"))]
    pub mod settings {}

    #[cfg_attr(not(doctest), doc = include_str!("guide/recipes/tonic.md"))]
    pub mod tonic {}
}

#[cfg_attr(not(doctest), doc = include_str!("guide/from_backon.md"))]
pub mod from_backon {}

#[cfg_attr(not(doctest), doc = include_str!("guide/from_tokio_retry.md"))]
pub mod from_tokio_retry {}

#[cfg_attr(not(doctest), doc = include_str!("guide/from_tower.md"))]
pub mod from_tower {}

#[cfg_attr(not(doctest), doc = include_str!("guide/from_backoff.md"))]
pub mod from_backoff {}

#[cfg_attr(not(doctest), doc = include_str!("guide/from_again.md"))]
pub mod from_again {}
