//! A store in a directory: who has a run, what the readers of journals see, and how a service ends.

use std::future::IntoFuture;
use std::path::Path;
use std::time::Duration;

use redial_core::{Policy, policy};
use redial_flow::history::{State, TaskState};
use redial_flow::journal::Sync;
use redial_flow::record::{Event, Outcome};
use redial_flow::steps::{DeadLetter, Options, Run, RunError, Stopped, Store};

use crate::child;

const QUICK: Policy = policy!("attempts: 3, delay: 1ms");

fn open(path: &Path, sync: Sync) -> Store {
    Options::new().sync(sync).open(path).unwrap()
}

async fn order(run: Run, fails: bool) -> Result<u32, DeadLetter> {
    let charge = run.step("charge", &QUICK, || async { Ok::<_, String>(1.5_f64) }).await?;
    let items = run.map("pack", &QUICK, ["book", "pen"], |item| async move {
        Ok::<_, String>(item.len() as u32)
    });
    let packed: u32 = items.await.into_iter().sum::<Result<u32, _>>()?;
    run.step("ship", &QUICK, || async {
        if fails { Err("no carrier") } else { Ok(packed + charge as u32) }
    })
    .await
}

#[tokio::test]
async fn the_readers_of_journals_read_a_program_s_store() {
    for sync in [Sync::Always, Sync::Group] {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path(), sync);
        assert_eq!(store.run("good", order, false).await.unwrap(), 8);
        let dead = store.run("bad", order, true).await.unwrap_err();
        assert!(dead.to_string().contains("no carrier"), "{dead}");
        let history = store.history("good").unwrap();
        assert_eq!(history.state, State::Over(Outcome::Succeeded));
        assert_eq!((history.impossible, history.unknown), (0, 0), "{:?}", history.impossible_first);
        let steps: Vec<_> = history.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(steps, ["charge", "pack", "pack.1", "ship"]);
        assert_eq!(history.steps[1].items, Some(2));
        assert_eq!(history.steps[0].policy, QUICK.to_string());
        assert_eq!(history.counts.succeeded, 4);
        let history = store.history("bad").unwrap();
        assert_eq!(history.state, State::Over(Outcome::Failed));
        let dead: Vec<_> = history.dead().collect();
        assert_eq!((dead.len(), dead[0].state, dead[0].attempts.len()), (1, TaskState::Dead, 3));
        let ended = dead[0].attempts[0].ended.as_ref().unwrap();
        assert_eq!(ended.stderr_tail.as_deref(), Some("no carrier"));
        // Another process goes on, and gives the same.
        let other = open(directory.path(), sync);
        assert_eq!(other.run("good", order, false).await.unwrap(), 8);
        let unfinished: Vec<_> =
            other.unfinished().unwrap().into_iter().map(|run| run.name).collect();
        assert_eq!(unfinished, ["bad"]);
    }
}

#[tokio::test]
async fn a_revival_that_somebody_recorded_is_executed_when_the_run_is_opened_next() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Sync::Always);
    assert!(store.run("r", order, true).await.is_err());
    let run = redial_flow::store::Store::at(directory.path()).open(&"r".parse().unwrap()).unwrap();
    let held = run.hold().unwrap();
    let undone = redial_flow::program::revive(&held, &[("ship".into(), None)]).unwrap();
    assert!(undone.is_empty());
    drop(held);
    let history = store.history("r").unwrap();
    assert_eq!((history.state, history.counts.dead), (State::Interrupted, 0));
    let again = store.run("r", order, true).await.unwrap_err();
    assert!(matches!(again, RunError::Failed(_)));
    let records = store.records("r").unwrap();
    let revived = records.iter().rposition(|record| record.event == Event::DeadRetry).unwrap();
    let starts = records[revived..].iter().filter(|record| record.event == Event::AttemptStart);
    assert_eq!(starts.filter(|record| record.generation == 1).count(), 3, "a fresh policy");
    let error = redial_flow::program::revive(&run.hold().unwrap(), &[("charge".into(), None)]);
    assert!(error.unwrap_err().to_string().contains("`charge` is no dead letter"));
}

#[tokio::test]
async fn the_second_with_the_same_name_is_refused_or_waits_as_it_asks() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (open(directory.path(), Sync::Always), open(directory.path(), Sync::Group));
    let (release, released) = tokio::sync::oneshot::channel::<()>();
    let (begun, has_begun) = tokio::sync::oneshot::channel::<()>();
    let slow = move |run: Run, (): ()| async move {
        let (mut released, mut begun) = (Some(released), Some(begun));
        run.step("s", &QUICK, || {
            let (released, begun) = (released.take(), begun.take());
            async move {
                let _ = begun.map(|begun| begun.send(()));
                if let Some(released) = released {
                    drop(released.await);
                }
                Ok::<_, String>(1)
            }
        })
        .await
    };
    let first =
        tokio::spawn(
            async move { one.run("r", slow, ()).await.map_err(|error| error.to_string()) },
        );
    has_begun.await.unwrap();
    let never = async |_: Run, (): ()| Err::<u32, _>("it is called twice");
    let refused = other.run("r", |run, ()| never(run, ()), ()).await.unwrap_err();
    assert!(matches!(&refused, RunError::Stopped(stopped) if stopped.is_held()), "{refused}");
    let waiting = other.clone();
    let waits = tokio::spawn(async move {
        waiting
            .run("r", |run, ()| never(run, ()), ())
            .wait_for_holder()
            .await
            .map_err(|error| error.to_string())
    });
    release.send(()).unwrap();
    assert_eq!(first.await.unwrap(), Ok(1));
    assert_eq!(waits.await.unwrap(), Ok(1));
}

/// The process that has a run: its step says that it runs, and never ends.
pub(crate) fn hold_until_killed(path: &Path) {
    let store = open(&path.join("store"), Sync::Always);
    let forever = |run: Run, (): ()| async move {
        run.step("s", &QUICK, || async {
            std::fs::write(path.join("runs"), "").unwrap();
            std::future::pending::<Result<u32, String>>().await
        })
        .await
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    drop(runtime.block_on(store.run("r", forever, ()).into_future()));
}

#[tokio::test]
async fn a_run_that_another_process_has_is_refused_or_waited_for_and_goes_on_after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = child::command::<&str>(&[], "held-run", directory.path()).spawn().unwrap();
    while !directory.path().join("runs").exists() {
        tokio::task::yield_now().await;
    }
    let store = open(&directory.path().join("store"), Sync::Always);
    let quick =
        async |run: Run, (): ()| run.step("s", &QUICK, || async { Ok::<_, String>(7) }).await;
    let refused = store.run("r", |run, ()| quick(run, ()), ()).await.unwrap_err();
    assert!(matches!(&refused, RunError::Stopped(stopped) if stopped.is_held()), "{refused}");
    assert!(refused.to_string().contains(&child.id().to_string()), "{refused}");
    let mut waits = store.run("r", |run, ()| quick(run, ()), ()).wait_for_holder().into_future();
    let is_waiting = std::future::poll_fn(|context| {
        std::task::Poll::Ready(waits.as_mut().poll(context).is_pending())
    });
    assert!(is_waiting.await);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(waits.await.unwrap(), 7);
    let outcomes: Vec<_> =
        store.records("r").unwrap().iter().filter_map(|record| record.outcome).collect();
    assert_eq!(outcomes, [Outcome::Lost, Outcome::Succeeded, Outcome::Succeeded]);
}

#[tokio::test]
async fn the_items_of_maps_are_in_their_file_before_anything_is_done_with_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs/r/items.ndjson");
    let store = open(directory.path(), Sync::Group);
    let mapped = |run: Run, (): ()| {
        let path = &path;
        async move {
            let sizes = |name: &'static str| {
                run.map(name, &QUICK, [name, "pen"], move |item| async move {
                    let frozen = std::fs::read_to_string(path).unwrap();
                    assert!(frozen.contains(&format!(r#""step":"{name}""#)), "{frozen}");
                    Ok::<_, String>(item.len())
                })
            };
            let (one, other) =
                tokio::join!(sizes("book").into_future(), sizes("ink").into_future());
            one.into_iter().chain(other).collect::<Result<Vec<_>, _>>()
        }
    };
    assert_eq!(store.run("r", mapped, ()).await.unwrap(), [4, 3, 3, 3]);
    let run = redial_flow::store::Store::at(directory.path()).open(&"r".parse().unwrap()).unwrap();
    let item = |map: &str, place| redial_flow::history::item(&run, map, place).unwrap().unwrap();
    assert_eq!(&*item("book", 0).bytes(), b"book");
    assert_eq!(&*item("ink", 1).bytes(), b"pen");
}

#[tokio::test]
async fn a_store_that_shuts_down_starts_nothing_more_and_can_be_taken_up() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Sync::Group);
    let patient = async |run: Run, (): ()| {
        run.step("s", &QUICK, || async { Ok::<_, String>(1) }).await?;
        run.sleep(Duration::from_secs(3600)).await;
        Ok::<_, DeadLetter>(2)
    };
    let running = store.clone();
    let task = tokio::spawn(async move { running.run("r", |run, ()| patient(run, ()), ()).await });
    while store.records("r").map_or(0, |records| records.len()) < 5 {
        tokio::task::yield_now().await;
    }
    store.shut_down(Duration::from_secs(60)).await;
    let ended = task.await.unwrap();
    assert!(matches!(ended, Err(RunError::Stopped(Stopped::ShutDown))));
    let after = store.run("other", |run, ()| patient(run, ()), ()).await;
    assert!(matches!(after, Err(RunError::Stopped(Stopped::ShutDown))));
    let next = open(directory.path(), Sync::Group);
    let history = next.history("r").unwrap();
    assert_eq!((history.state, history.counts.succeeded), (State::Interrupted, 2));
}

#[tokio::test]
async fn runs_that_are_over_are_removed_after_their_time() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Sync::Group);
    assert!(store.run("good", order, false).await.is_ok());
    assert!(store.run("bad", order, true).await.is_err());
    drop(store);
    let store = Options::new().keep_over(Duration::from_secs(3600)).open(directory.path()).unwrap();
    assert!(store.records("good").is_ok());
    let store = Options::new().keep_over(Duration::ZERO).open(directory.path()).unwrap();
    assert!(store.records("good").is_err(), "it is over");
    assert!(store.records("bad").is_ok(), "its dead letter waits for somebody");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_share_one_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Sync::Always);
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = store.clone();
        runs.spawn(async move { store.run(&format!("r{number}"), order, false).await.unwrap() });
    }
    assert_eq!(runs.join_all().await, [8; 20]);
    assert!(store.unfinished().unwrap().is_empty());
}

#[tokio::test]
async fn a_journal_that_cannot_be_written_stops_the_run_before_anything_starts() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Sync::Always);
    let removed = directory.path().join("runs/r/journal.ndjson");
    let removes = |run: Run, (): ()| {
        let removed = removed.clone();
        async move {
            run.step("s", &QUICK, || async { Ok::<_, String>(1) }).await?;
            std::fs::remove_file(&removed).unwrap();
            run.step("never", &QUICK, || async { Err::<u32, _>("it was started") }).await
        }
    };
    let ended = store.run("r", removes, ()).await.unwrap_err();
    assert!(matches!(ended, RunError::Stopped(Stopped::Write(_))), "{ended}");
}

#[tokio::test]
async fn a_run_is_resumed_with_the_input_that_it_was_begun_with() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), Sync::Group);
    let twice = |has_failed: bool| {
        move |run: Run, input: u32| async move {
            let doubled = run.step("s", &QUICK, || async { Ok::<_, String>(input * 2) }).await;
            if has_failed {
                Err("not yet".to_owned())
            } else {
                doubled.map_err(|dead| dead.to_string())
            }
        }
    };
    assert!(store.run("r", twice(true), 21).await.is_err());
    assert_eq!(store.resume("r", twice(false)).await.unwrap(), 42);
    let missing = store.resume("nobody", twice(false)).await.unwrap_err();
    assert!(missing.to_string().contains("there is no run `nobody`"), "{missing}");
}
