//! The journal of a run: a file of the store's, or lines in memory.
//!
//! With [`Sync::Group`] a task writes its lines itself, one `write` into the page cache, which survives a KILL; a thread of
//! the store makes them survive a power cut within [`GROUP`](crate::journal::GROUP). With [`Sync::Always`] that thread does
//! both, for all that is to be appended in any run of the store, so that no task of the program ever waits for a disk.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::items::Item;
use super::reply;
use super::timing::yield_now;
use crate::journal::{GROUP, Sync, Writer};
use crate::record::Record;
use crate::store::Held;

/// So many other threads sync files at the same time.
const SYNCS_MAX: usize = 15;

/// After so many appends a task lets others run.
const APPENDS_IN_A_ROW: u32 = 32;

type Written = Result<(), Arc<io::Error>>;

/// See the [module](self).
#[derive(Debug)]
pub(super) enum Log {
    File(Arc<File>),
    Memory(Arc<Memory>),
}

#[derive(Debug)]
pub(super) struct File {
    /// Until the run is closed.
    held: Mutex<Option<Held>>,
    writer: Mutex<Writer<Record>>,
    /// Where the items of its maps are.
    pub(super) items: Mutex<PathBuf>,
    sync: Sync,
    /// The thread has been told of lines that are not synced.
    is_dirty: AtomicBool,
    /// How often a task has written to it itself.
    appends: AtomicU32,
    appender: Arc<Appender>,
}

/// The records of a run in memory.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) records: Mutex<Vec<Record>>,
    pub(super) items: Mutex<Vec<Item>>,
    pub(super) is_held: AtomicBool,
}

impl Log {
    pub(super) fn file(
        held: Held,
        writer: Writer<Record>,
        sync: Sync,
        appender: Arc<Appender>,
    ) -> Self {
        let items = Mutex::new(held.items_path());
        let (held, writer) = (Mutex::new(Some(held)), Mutex::new(writer));
        Self::File(Arc::new(File {
            held,
            writer,
            items,
            sync,
            is_dirty: AtomicBool::new(false),
            appends: AtomicU32::new(0),
            appender,
        }))
    }

    /// Returns once a KILL cannot take the records back, and with [`Sync::Always`] a power cut neither.
    pub(super) async fn append(&self, records: Vec<Record>) -> Written {
        match self {
            Self::File(file) if file.sync == Sync::Always => {
                let (sender, receiver) = reply::channel();
                file.appender.send(Job::Append(Arc::clone(file), records, Some(sender)));
                receiver.await.unwrap_or_else(|| Err(Arc::new(gone())))
            }
            Self::File(file) => {
                // A write into the page cache never waits, so a loop of steps would keep its thread for itself.
                if file.appends.fetch_add(1, Ordering::Relaxed) % APPENDS_IN_A_ROW == 0 {
                    yield_now().await;
                }
                self.append_now(records)
            }
            Self::Memory(_) => self.append_now(records),
        }
    }

    /// The same without waiting: whatever comes after it in the journal waits for it, too.
    pub(super) fn submit(&self, records: Vec<Record>) {
        match self {
            Self::File(file) if file.sync == Sync::Always => {
                file.appender.send(Job::Append(Arc::clone(file), records, None));
            }
            _ => drop(self.append_now(records)),
        }
    }

    fn append_now(&self, records: Vec<Record>) -> Written {
        match self {
            Self::File(file) => {
                file.writer().append_unsynced(&records)?;
                if !file.is_dirty.swap(true, Ordering::AcqRel) {
                    file.appender.send(Job::Sync(Arc::clone(file), Instant::now() + GROUP));
                }
            }
            Self::Memory(memory) => lock(&memory.records).extend(records),
        }
        Ok(())
    }

    /// Lets others have the run, once all that was submitted is written.
    pub(super) fn close(&self) {
        match self {
            Self::File(file) if file.sync == Sync::Always => {
                file.appender.send(Job::Close(Arc::clone(file)));
            }
            Self::File(file) => drop(lock(&file.held).take()),
            Self::Memory(memory) => memory.is_held.store(false, Ordering::Release),
        }
    }

    /// The same at once: nothing is under way.
    pub(super) fn close_now(&self) {
        match self {
            Self::File(file) => drop(lock(&file.held).take()),
            Self::Memory(_) => self.close(),
        }
    }
}

impl File {
    fn writer(&self) -> MutexGuard<'_, Writer<Record>> {
        lock(&self.writer)
    }

    fn sync(&self) -> io::Result<()> {
        self.is_dirty.store(false, Ordering::Release);
        self.writer().sync()
    }
}

/// Nobody leaves anything half done while he holds one of these.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gone() -> io::Error {
    io::Error::other("the thread that writes journals has ended")
}

#[derive(Debug)]
enum Job {
    Append(Arc<File>, Vec<Record>, Option<reply::Sender<Written>>),
    Sync(Arc<File>, Instant),
    Close(Arc<File>),
}

/// The thread that appends for all runs of a store.
#[derive(Debug)]
pub(super) struct Appender {
    jobs: Mutex<mpsc::Sender<Job>>,
}

impl Appender {
    pub(super) fn start() -> io::Result<Arc<Self>> {
        let (jobs, received) = mpsc::channel();
        let work = move || append_all(&received);
        std::thread::Builder::new().name("redial-journal".into()).spawn(work)?;
        Ok(Arc::new(Self { jobs: Mutex::new(jobs) }))
    }

    /// A thread that has ended drops the job, which tells whoever waits for it.
    fn send(&self, job: Job) {
        drop(lock(&self.jobs).send(job));
    }
}

/// Takes all that is to be appended, writes it with one `write` for each run, syncs each, and tells those who wait.
fn append_all(jobs: &mpsc::Receiver<Job>) {
    let mut dirty: Vec<(Arc<File>, Instant)> = Vec::new();
    loop {
        let first = match dirty.iter().map(|(_, due)| *due).min() {
            None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => jobs.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        let first = match first {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut batches = Batches::default();
        for job in first.into_iter().chain(jobs.try_iter()) {
            match job {
                Job::Append(file, records, waits) => batches.add(file, records, waits),
                Job::Sync(file, due) => dirty.push((file, due)),
                Job::Close(file) => batches.closed.push(file),
            }
        }
        batches.write();
        let now = Instant::now();
        for (file, _) in dirty.extract_if(.., |(_, due)| *due <= now) {
            // The writer remembers a sync that failed, and refuses the next append.
            drop(file.sync());
        }
    }
}

/// What is to be appended, by run.
#[derive(Default)]
struct Batches {
    places: HashMap<*const File, usize>,
    batches: Vec<(Arc<File>, Vec<Record>, Vec<reply::Sender<Written>>)>,
    closed: Vec<Arc<File>>,
}

impl Batches {
    fn add(
        &mut self,
        file: Arc<File>,
        records: Vec<Record>,
        waits: Option<reply::Sender<Written>>,
    ) {
        let place = *self.places.entry(Arc::as_ptr(&file)).or_insert(self.batches.len());
        match self.batches.get_mut(place) {
            Some((_, all, waiting)) => {
                all.extend(records);
                waiting.extend(waits);
            }
            None => self.batches.push((file, records, waits.into_iter().collect())),
        }
    }

    fn write(self) {
        // All are written before the first is synced: a file system that commits them together has less to do then.
        let write = |(file, records, waits): (Arc<File>, Vec<Record>, _)| {
            let written = file.writer().append_unsynced(&records);
            (file, written, waits)
        };
        let written: Vec<_> = self.batches.into_iter().map(write).collect();
        let next = Mutex::new(written.into_iter());
        let sync = || {
            while let Some((file, written, waits)) = { lock(&next).next() } {
                let written = written.and_then(|()| file.sync()).map_err(Arc::new);
                waits
                    .into_iter()
                    .for_each(|wait: reply::Sender<Written>| wait.send(written.clone()));
            }
        };
        // A file system commits what is synced at the same time together, so many runs cost little more than one.
        let others = lock(&next).len().saturating_sub(1).min(SYNCS_MAX);
        std::thread::scope(|scope| {
            for _ in 0..others {
                // Where there can be no thread, this one does it all.
                drop(std::thread::Builder::new().spawn_scoped(scope, sync));
            }
            sync();
        });
        self.closed.iter().for_each(|file| drop(lock(&file.held).take()));
    }
}
