//! How many steps that do nothing are journaled in a second, with each way to sync, for 1 run and for 100 at once.
//!
//! `cargo run --release -p redial-flow --example steps_per_second -- [SECONDS]`

use std::io::Write;
use std::time::{Duration, Instant};

use redial_core::{Policy, policy};
use redial_flow::steps::{DeadLetter, Options, Run, Sync};

const ONCE: Policy = policy!("attempts: 1");

async fn nothing(run: Run, until: Duration) -> Result<u64, DeadLetter> {
    let (start, mut steps) = (Instant::now(), 0);
    while start.elapsed() < until {
        steps += run.step("nothing", &ONCE, || async { Ok::<_, String>(1) }).await?;
    }
    Ok(steps)
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(3.0), |seconds| seconds.parse())?;
    let until = Duration::from_secs_f64(seconds);
    let mut output = std::io::stdout();
    writeln!(output, "{:<8} {:>5} {:>14} {:>14}", "sync", "runs", "steps/s", "bytes/step")?;
    for (name, sync) in [("group", Sync::Group), ("always", Sync::Always)] {
        for runs in [1, 100] {
            let directory = tempfile::tempdir_in(".")?;
            let store = Options::new().sync(sync).open(directory.path())?;
            let mut tasks = tokio::task::JoinSet::new();
            for number in 0..runs {
                let store = store.clone();
                tasks.spawn(async move {
                    store
                        .run(&format!("run-{number}"), nothing, until)
                        .await
                        .map_err(|error| error.to_string())
                });
            }
            let mut steps = 0;
            while let Some(ended) = tasks.join_next().await {
                steps += ended??;
            }
            let mut bytes = 0;
            for number in 0..runs {
                let journal = directory.path().join(format!("runs/run-{number}/journal.ndjson"));
                bytes += std::fs::metadata(journal)?.len();
            }
            let rate = steps as f64 / seconds;
            writeln!(
                output,
                "{name:<8} {runs:>5} {rate:>14.0} {:>14.0}",
                bytes as f64 / steps as f64
            )?;
        }
    }
    Ok(())
}
