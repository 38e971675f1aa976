//! The engine with models of its own, against what theory says of them.

use redial_core::SplitMix64;
use redial_sim::chance::{exponential, trial_seed, uniform};
use redial_sim::engine::{Bounds, Completion, Engine, Event, Model};

/// Stations that send in a slot with a small probability each: slotted ALOHA. A tick is a slot.
struct Aloha {
    random: SplitMix64,
    /// Slots from one message of a station to its next, in the mean.
    gap: f64,
    slot: u64,
    sent: u32,
    lone: u64,
}

impl Model for Aloha {
    fn event(&mut self, _client: u32, now: u64) -> Event {
        if now != self.slot {
            self.lone += u64::from(self.sent == 1);
            (self.slot, self.sent) = (now, 0);
        }
        self.sent += 1;
        let next = now + 1 + (exponential(&mut self.random) * self.gap) as u64;
        Event { kind: 0, next: Some(next) }
    }
}

#[test]
fn slotted_aloha_carries_g_times_e_to_the_minus_g() {
    const STATIONS: u32 = 1000;
    const SLOTS: u64 = 200_000;
    for load in [0.5, 1.0, 2.0] {
        let gap = f64::from(STATIONS) / load;
        let mut random = SplitMix64::new(3);
        let starts: Vec<u64> =
            (0..STATIONS).map(|_| (exponential(&mut random) * gap) as u64).collect();
        let mut aloha = Aloha { random, gap, slot: 0, sent: 0, lone: 0 };
        let bounds = Bounds { ticks: SLOTS - 1, ..Bounds::DEFAULT };
        let mut engine = Engine::new(STATIONS, bounds).expect("stations");
        let run = engine.run(&mut aloha, |client| starts[client as usize], |_, _, _| {});
        assert_eq!(run.ended, Completion::Time);
        let (carried, theory) = (aloha.lone as f64 / SLOTS as f64, load * (-load).exp());
        assert!((carried - theory).abs() < 0.005, "{load}: {carried}, not {theory}");
    }
}

/// Stations that each choose one slot of a window, of which each is twice as long as the last:
/// windowed binary exponential backoff. A slot is two ticks: sending, and learning the outcome.
struct Doubling {
    random: SplitMix64,
    windows: Vec<u32>,
    slot: u64,
    sent: u32,
    attempts: u64,
}

impl Doubling {
    /// Window *k* is the slots from 2ᵏ − 1 on, 2ᵏ of them.
    fn slot_of(&mut self, window: u32) -> u64 {
        let length = 1u64 << window;
        2 * (length - 1 + uniform(length - 1, &mut self.random))
    }
}

impl Model for Doubling {
    fn event(&mut self, client: u32, now: u64) -> Event {
        if now % 2 == 0 {
            self.sent = if now == self.slot { self.sent + 1 } else { 1 };
            self.slot = now;
            self.attempts += 1;
            return Event { kind: 0, next: Some(now + 1) };
        }
        if self.sent == 1 {
            return Event { kind: 1, next: None };
        }
        let window = &mut self.windows[client as usize];
        *window += 1;
        let window = *window;
        Event { kind: 2, next: Some(self.slot_of(window)) }
    }
}

#[test]
fn binary_exponential_backoff_takes_lg_n_and_1_41_attempts() {
    for (lg, trials) in [(7, 400), (9, 150), (11, 40), (13, 10)] {
        let stations = 1u32 << lg;
        let mut engine = Engine::new(stations, Bounds::DEFAULT).expect("stations");
        let mut attempts = 0;
        for trial in 0..trials {
            let random = SplitMix64::new(trial_seed(1, trial));
            let windows = vec![0; stations as usize];
            let mut model = Doubling { random, windows, slot: u64::MAX, sent: 0, attempts: 0 };
            // Window 0 is one slot: all send in it.
            let run = engine.run(&mut model, |_| 0, |_, _, _| {});
            assert_eq!(run.ended, Completion::Quiet);
            attempts += model.attempts;
        }
        let mean = attempts as f64 / (trials as f64 * f64::from(stations));
        let theory = f64::from(lg) + 1.41;
        assert!((mean - theory).abs() < 0.03, "n = 2^{lg}: {mean}, not {theory}");
    }
}

#[test]
fn attempts_and_outcomes_add_up() {
    use redial_core::Policy;
    use redial_sim::Contention;
    for scenario in [Contention::occ(20), Contention::collision(20), Contention::ballot(20)] {
        let run = scenario.trials(100).run(&Policy::CONTENTION).expect("a valid scenario");
        for trial in run.trials() {
            assert_eq!(trial.committed + trial.gave_up, 20);
            assert!(trial.attempts <= 20 * 7 && trial.attempts >= 20);
            // Who gave up had seven attempts, who did not had one at least.
            let least = u64::from(trial.committed + 7 * trial.gave_up);
            assert!(trial.attempts >= least, "{trial:?}");
            assert!(trial.calls >= trial.attempts && trial.trace.events <= 2 * trial.attempts);
        }
    }
}
