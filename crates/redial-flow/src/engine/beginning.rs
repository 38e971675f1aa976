//! How a run begins, and how another process goes on with it: its records are applied again, and what was running then is
//! lost.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use redial_core::Time;
use redial_policy::{Ending, Fate};
use redial_process::{Clock, Environment, Reactor, Survivors};

use super::durable::Journal;
use super::sources::Sources;
use super::suspects::Suspects;
use super::{Engine, EngineError, Options, identity, launch, values};
use crate::accepted::Acceptance;
use crate::definition::Definition;
use crate::flow::Place;
use crate::journal::{self, ReadError};
use crate::machine::Machine;
use crate::prepared::Prepared;
use crate::record::{Event, Outcome, Record, Start, Verdict};
use crate::run_clock;
use crate::store::Held;

/// The variables that redial itself gives to commands; those of an outer redial do not reach them.
const VARIABLES: [&str; 9] = [
    "REDIAL_ATTEMPT",
    "REDIAL_ATTEMPTS",
    identity::ATTEMPT_ID,
    "REDIAL_LAST_EXIT",
    "REDIAL_CONTROL",
    "REDIAL_RUN_ID",
    "REDIAL_KEY",
    "REDIAL_STEP",
    "REDIAL_ITEM",
];

impl Engine {
    /// A run that begins now; with a journal where there is a run to hold it.
    ///
    /// # Errors
    /// Where its first record cannot be written, or the system has no room for it.
    pub fn begin(
        prepared: Prepared,
        name: &str,
        seed: u64,
        held: Option<Held>,
        options: Options,
    ) -> Result<Self, EngineError> {
        let journal = held.map(|held| {
            let records = held.journal(journal::End::default(), options.sync);
            let records = records.map_err(EngineError::Write)?;
            Ok::<_, EngineError>(Journal { held, records, segments: HashMap::new() })
        });
        let journal = journal.transpose()?;
        let machine = Machine::new(prepared.flow.clone(), name, seed);
        let mut engine = Self::new(prepared, machine, journal, name, seed, Time::ZERO, options)?;
        let mut record = engine.start_record(Event::RunStart, seed, Time::ZERO);
        if let (Some(start), Some(journal)) = (&mut record.start, &engine.journal) {
            start.said = engine.options.said.clone();
            start.flow_crc = Some(crc32fast::hash(&journal.held.flow()?));
        }
        engine.identify(record.start.as_deref());
        engine.batch.push(record.clone());
        // What items are known by depends on the seed, so none is frozen before it is written down.
        engine.flush(&mut ())?;
        engine.untold = Some(record);
        Ok(engine)
    }

    /// Goes on with a run that another process has begun: its records are applied again, and what was
    /// running then is lost. `clock` says how far the run's clock has gone on since the last record.
    ///
    /// # Errors
    /// Where the journal cannot be read, is damaged without `accept_damage`, or has what no run writes.
    pub fn resume(held: Held, accept_damage: bool, options: Options) -> Result<Self, EngineError> {
        Self::resume_with(held, accept_damage, options, &|_| {})
    }

    /// The same with settings that differ from those that were pinned, such as another policy for dead letters.
    /// They hold for this process alone.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn resume_with(
        held: Held,
        accept_damage: bool,
        options: Options,
        change: &dyn Fn(&mut Definition),
    ) -> Result<Self, EngineError> {
        let pinned = held.flow()?;
        let mut definition: Definition = serde_json::from_slice(&pinned).map_err(|error| {
            EngineError::System(format!("{}: flow.json: {error}", held.path().display()))
        })?;
        change(&mut definition);
        if definition.program {
            return Err(EngineError::Program { run: held.name().to_string() });
        }
        let prepared = Prepared::new(definition).map_err(EngineError::Definition)?;
        let name = held.name().to_string();
        let mut machine = Machine::new(prepared.flow.clone(), &name, 0);
        let mut outputs = HashMap::new();
        let (mut begun, mut start): (Option<Box<Start>>, Option<Box<Start>>) = (None, None);
        let mut at_start = Time::ZERO;
        let mut acceptance = Acceptance::new(accept_damage);
        let mut reading = held.read_journal::<Record>().map_err(EngineError::Journal)?;
        for entry in reading.by_ref() {
            let (offset, record) = match entry {
                Ok(entry) => (entry.offset, entry.record),
                Err(ReadError::Damage(damage)) if acceptance.covers(&held, damage.offset) => {
                    continue;
                }
                Err(error) => return Err(EngineError::Journal(error)),
            };
            match machine.apply(&record) {
                Ok(()) => {}
                // What the damage took may be what this record refers to.
                Err(_) if acceptance.covers(&held, offset) => continue,
                Err(error) => return Err(EngineError::Impossible(error)),
            }
            if let Some(started) = &record.start {
                (start, at_start) = (Some(started.clone()), record.time());
                begun = begun.or_else(|| start.clone());
            }
            values::remember(&mut outputs, &machine, &prepared, &record);
        }
        let end = reading.end().unwrap_or_default();
        let damage_accepted = acceptance.new_up_to(&held, end.offset);
        let damage_accepted = damage_accepted.map_err(EngineError::Write)?;
        let seed = start.as_ref().map_or(0, |start| start.seed);
        let since = start.as_ref().map_or(Duration::ZERO, |start| run_clock::since(start));
        let now = at_start.after(since).max(machine.time());
        let records = held.journal(end, options.sync).map_err(EngineError::Write)?;
        let journal = Some(Journal { held, records, segments: HashMap::new() });
        if let Some(journal) = &journal {
            journal.held.forget_cancel();
        }
        let mut engine = Self::new(prepared, machine, journal, &name, seed, now, options)?;
        engine.outputs = outputs;
        engine.refuse_missing_items()?;
        engine.sources.close_stdin(&engine.prepared);
        let resumed = engine.start_record(Event::RunResume, seed, now);
        engine.write(Record { damage_accepted, ..resumed })?;
        engine.identify(begun.as_deref());
        engine.end_survivors();
        engine.lose_open_attempts(now)?;
        Ok(engine)
    }

    /// Whether anything of a run was written down. The process that made it may have been killed before: then nothing was
    /// started, and it [begins](Self::begin) now, with what it has pinned.
    ///
    /// # Errors
    /// Where its journal cannot be read.
    pub fn has_begun(held: &Held) -> Result<bool, EngineError> {
        let mut records = held.read_journal::<Record>().map_err(EngineError::Journal)?;
        if records.next().is_some() {
            return Ok(true);
        }
        // Items are frozen only when there is a journal, which somebody has taken away since.
        let items = std::fs::metadata(held.items_path());
        if items.is_ok_and(|items| items.len() > 0) {
            return Err(EngineError::System(format!(
                "{}: the journal has no record, but there are items in items.ndjson: what was done for them is \
                 not known; remove the run, or bring its journal.ndjson back",
                held.path().display()
            )));
        }
        Ok(false)
    }

    pub(super) fn new(
        prepared: Prepared,
        machine: Machine,
        journal: Option<Journal>,
        name: &str,
        seed: u64,
        origin: Time,
        options: Options,
    ) -> Result<Self, EngineError> {
        let reactor_options = redial_process::Options {
            timeout_signal: options.timeout_signal,
            kill_after: options.kill_after,
            drain: options.drain,
            share_terminal: false,
        };
        let reactor = Reactor::new(Clock::start(), reactor_options)
            .map_err(|error| EngineError::System(format!("cannot watch for signals: {error}")))?;
        let secrets = launch::secrets(&prepared.definition).map_err(EngineError::System)?;
        let sources = Sources::new(&prepared, journal.as_ref().map(|journal| &journal.held), seed)?;
        Ok(Self {
            prepared,
            machine,
            journal,
            slots_max: options.slots.get() as usize,
            options,
            reactor,
            origin,
            slots: Vec::new(),
            sources,
            outputs: HashMap::new(),
            last_exit: HashMap::new(),
            secrets,
            environment: Environment::without(&VARIABLES),
            space: launch::space(),
            run: name.to_owned(),
            batch: Vec::new(),
            untold: None,
            starts: Vec::new(),
            stopping: None,
            lost: 0,
            identity: None,
            survivors: Survivors::default(),
            suspects: Suspects::default(),
        })
    }

    /// A run that is kept is told from all others by the first that is known of it.
    fn identify(&mut self, begun: Option<&Start>) {
        if let (Some(journal), Some(begun)) = (&self.journal, begun) {
            self.identity = identity::of_run(journal.held.path(), begun).ok();
        }
    }

    fn start_record(&self, event: Event, seed: u64, now: Time) -> Record {
        let start = run_clock::start(seed, self.options.argv.clone());
        Record { start: Some(Box::new(start)), ..Record::new(&self.run, now, event) }
    }

    /// Items are frozen before anything refers to them: fewer than the journal knows were taken away.
    fn refuse_missing_items(&self) -> Result<(), EngineError> {
        for (step, id) in self.prepared.flow.steps.iter().zip(0..) {
            let (known, frozen) = (self.machine.counts(id).known, self.sources.count(id));
            if matches!(step.place, Place::Map { .. }) && known > u64::from(frozen) {
                return Err(EngineError::System(format!(
                    "items.ndjson has {frozen} items of `{}`, and the journal knows {known}: it was cut or \
                     damaged; bring it back, or remove the run",
                    step.name
                )));
            }
        }
        Ok(())
    }

    fn lose_open_attempts(&mut self, now: Time) -> Result<(), EngineError> {
        let open = self.machine.open_attempts();
        self.lost = open.len();
        for task in open {
            let rules = &self.prepared.step(task.step).rules;
            let judgement = rules.judge(&Ending::Lost, &mut rules.watch(), SystemTime::now());
            let record = Record {
                attempt: Some(self.machine.attempts(task)),
                outcome: Some(Outcome::Lost),
                verdict: Some(match judgement.fate {
                    Fate::Stop => Verdict::Stop,
                    _ => Verdict::Retry,
                }),
                rule: judgement.rule.as_deref().map(Into::into),
                ..self.machine.record(now, Event::AttemptEnd, task)
            };
            self.write(record)?;
        }
        Ok(())
    }
}
