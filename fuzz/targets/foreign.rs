//! A text as a policy of every other system, planned, and written for every system.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use redial_fuzz::within_memory;
use redial_policy::notation::Source;
use redial_policy::{Format, Notation, Plan, System, Target, Timing, convert};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    for format in [Format::Text, Format::Yaml] {
        for system in System::all() {
            let clients = system.clients().iter().copied().map(Some);
            for client in clients.chain([None]) {
                let source = Source::new(text, format).client(client);
                let read =
                    || source.document(source.parse().as_deref(), Some(Notation::Foreign(system)));
                let document = within_memory(text.len(), read);
                for entry in document.policies().take(4) {
                    let Some(timing) = Timing::of(entry) else { continue };
                    let plan = Plan::new(timing).seed(1);
                    assert!(plan.rows().take(10).all(|row| row.delay.least <= row.delay.greatest));
                    plan.gives_up_after();
                    for target in System::all().filter(|system| system.is_written()) {
                        convert(entry, Target::Foreign(target), Format::Text);
                    }
                }
            }
        }
    }
    Corpus::Keep
});
