use std::sync::Mutex;
use std::time::Duration;

use again::RetryPolicy;

use crate::Calls;

/// What `again` says of its waits, which it tells nobody else.
struct Log(Mutex<Vec<String>>);

static LOG: Log = Log(Mutex::new(Vec::new()));

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("again")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// It sleeps on a thread of its own, so the delays here are the shortest that show it.
#[tokio::test]
async fn three_are_four_calls_and_jitter_below_a_millisecond_is_none() {
    log::set_logger(&LOG).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let calls = Calls::default();
    let policy =
        RetryPolicy::fixed(Duration::from_micros(900)).with_max_retries(3).with_jitter(true);
    let result: Result<(), &str> = policy
        .retry(|| async {
            calls.count();
            Err("down")
        })
        .await;
    assert_eq!((result, calls.get()), (Err("down"), 4));
    let said = LOG.0.lock().unwrap();
    assert_eq!(said.len(), 3);
    assert!(said.iter().all(|line| line.ends_with("will try again in 0ns")), "{said:?}");
}
