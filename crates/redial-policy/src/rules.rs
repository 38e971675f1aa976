//! Which attempts of a command succeeded, which are worth another, and which rule says so.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::condition::{BadCondition, Condition, DelayFrom, Printed, Test, delay_from};
use crate::fields::excerpt;
use crate::found_delay;
use crate::matcher::{Matcher, Patterns};
use crate::rule_set::{Action, RuleSet};
use crate::signal;
use crate::watch::{Probe, Seeks, Watch};

/// Where a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How an attempt of a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With a code of its own.
    Exit(i32),
    /// By a signal.
    Signal {
        /// Its number on this system.
        number: i32,
        /// Its name without `SIG`, empty where it has none.
        name: &'static str,
    },
    /// It was cut by the timeout of the attempt.
    TimedOut,
    /// There is no such command.
    NotFound,
    /// It exists, but cannot be executed.
    NotExecutable,
    /// It was running when redial itself was killed: how it ended is not known.
    Lost,
}

impl Ending {
    /// By a signal, with the name that Linux gives its number.
    ///
    /// ```
    /// use redial_policy::Ending;
    ///
    /// assert_eq!(Ending::signal(11), Ending::Signal { number: 11, name: "SEGV" });
    /// assert_eq!(Ending::signal(40), Ending::Signal { number: 40, name: "" });
    /// ```
    pub fn signal(number: i32) -> Self {
        Self::Signal { number, name: signal::name_of(number) }
    }

    fn is_spawn_failure(&self) -> bool {
        matches!(self, Self::NotFound | Self::NotExecutable)
    }
}

/// What becomes of a command after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It has succeeded.
    Success,
    /// It has failed, and another attempt would fail too.
    Stop,
    /// It has failed, and another attempt may succeed.
    Retry,
}

/// What the rules say of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What becomes of the command.
    pub fate: Fate,
    /// The rule that decided, in words for people; none where there are no rules.
    pub rule: Option<String>,
    /// The same with its condition, as [`Rules::describe`] has it.
    pub in_full: Option<String>,
    /// The delay that the command asked for, where it is to be retried.
    pub delay: Option<Duration>,
    /// The text that should have been the delay, if it could not be read.
    pub bad_delay: Option<String>,
}

/// The rules for the attempts of a command. By default there are none: exit 0 succeeds, every other
/// ending is retried, and a command that cannot be started stops.
///
/// Success comes first, then what stops, then what is retried, then the sets in their order. The
/// whole of it is described in [`RULES_REFERENCE`](crate::RULES_REFERENCE).
///
/// ```
/// use std::time::SystemTime;
/// use redial_policy::{Ending, Fate, RuleSet, Rules, Stream};
///
/// let mut rules = Rules::default();
/// rules.stop_on("exit:64-78")?;
/// rules.set(RuleSet::named("curl").unwrap());
/// assert!(rules.watches(Stream::Stderr) && !rules.watches(Stream::Stdout));
///
/// let mut watch = rules.watch(); // a new one for each attempt
/// watch.saw(Stream::Stderr, b"curl: (22) The requested URL returned error: 503\n");
/// let judgement = rules.judge(&Ending::Exit(22), &mut watch, SystemTime::now());
/// assert_eq!(judgement.fate, Fate::Retry);
/// assert!(judgement.rule.unwrap().starts_with("rules curl: "));
/// # Ok::<(), redial_policy::BadCondition>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Rules {
    success: Vec<Rule>,
    flags: OnFailure,
    policy: OnFailure,
    sets: Vec<Set>,
    delays: Vec<Delay>,
    /// What all of them look for, shared with every watch.
    probes: Arc<Vec<Probe>>,
    /// Whether one of them is about one stream only.
    distinguishes_streams: bool,
}

/// Rules of one origin.
#[derive(Clone, Debug, Default)]
struct OnFailure {
    stop: Vec<Rule>,
    retry: Vec<Rule>,
}

/// A condition whose patterns have become probes.
#[derive(Clone, Debug)]
struct Rule {
    /// As the flag or the file has it, clipped.
    label: String,
    /// The same with the whole condition.
    in_full: String,
    terms: Vec<(bool, Check)>,
    about_spawn: bool,
}

#[derive(Clone, Debug)]
struct Check {
    test: Test,
    /// What to search for on the streams; one match is enough.
    probes: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Set {
    title: String,
    rules: Vec<(Action, Rule)>,
    otherwise: Action,
}

#[derive(Clone, Debug)]
struct Delay {
    label: String,
    probes: Vec<usize>,
}

impl Rules {
    /// Attempts for which one of these holds succeed, and no others.
    ///
    /// # Errors
    ///
    /// What is wrong with the condition.
    pub fn success_on(&mut self, text: &str) -> Result<(), BadCondition> {
        let rule = self.flag("--success-on", text)?;
        self.success.push(rule);
        Ok(())
    }

    /// Failures for which one of these holds are not retried.
    ///
    /// # Errors
    ///
    /// What is wrong with the condition.
    pub fn stop_on(&mut self, text: &str) -> Result<(), BadCondition> {
        let rule = self.flag("--stop-on", text)?;
        self.flags.stop.push(rule);
        Ok(())
    }

    /// Failures for which one of these holds are retried, and no others but what a set knows.
    ///
    /// # Errors
    ///
    /// What is wrong with the condition.
    pub fn retry_on(&mut self, text: &str) -> Result<(), BadCondition> {
        let rule = self.flag("--retry-on", text)?;
        self.flags.retry.push(rule);
        Ok(())
    }

    /// Where the command prints how long to wait: `stderr:/retry after (\d+ ?[a-z]*)/`. The delay is the
    /// first capture group of the last match; of several patterns, the first that matches.
    ///
    /// `stderr:retry-after` is the header of the last HTTP response whose headers are printed. A delay
    /// is a duration, in seconds where it has no unit, or an HTTP date.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use redial_policy::{Ending, Rules, Stream};
    ///
    /// let mut rules = Rules::default();
    /// rules.delay_from(r"stderr:/retry after (\d+ ?[a-z]*)/i")?;
    /// let mut watch = rules.watch();
    /// watch.saw(Stream::Stderr, b"Retry after 2 minutes.\n");
    /// let judgement = rules.judge(&Ending::Exit(1), &mut watch, SystemTime::now());
    /// assert_eq!(judgement.delay, Some(Duration::from_secs(120)));
    /// # Ok::<(), redial_policy::BadCondition>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with it: it is one pattern on a stream, with a group.
    pub fn delay_from(&mut self, text: &str) -> Result<(), BadCondition> {
        let from = delay_from(text, &mut Patterns::default())?;
        self.delay(format!("--delay-from {from}"), &from);
        Ok(())
    }

    /// Adds the rules of a policy, on standard error, to those of the flags.
    pub fn policy(&mut self, retry_on: &[Matcher], stop_on: &[Matcher]) {
        for matcher in stop_on {
            let rule = self.matcher("stop_on", matcher);
            self.policy.stop.push(rule);
        }
        for matcher in retry_on {
            let rule = self.matcher("retry_on", matcher);
            self.policy.retry.push(rule);
        }
    }

    /// Adds a set, which is asked after those that are there already. See
    /// [`RuleSet::for_arguments`].
    pub fn set(&mut self, set: RuleSet) {
        let title = set.title();
        let mut rules = Vec::with_capacity(set.rules.len());
        for rule in set.rules {
            // A reason tells people more than a pattern.
            let (title, condition) = (rule.title, rule.condition.to_string());
            let (label, in_full) = match rule.because {
                Some(because) => {
                    (format!("{title}: {because}"), format!("{title}: {condition} ({because})"))
                }
                None => {
                    (format!("{title}: {}", excerpt(&condition)), format!("{title}: {condition}"))
                }
            };
            rules.push((rule.action, Rule { in_full, ..self.rule(label, &rule.condition) }));
        }
        for delay in set.delays.iter().filter(|delay| delay.arguments.is_none()) {
            self.delay(format!("{}: {}", delay.title, delay.from), &delay.from);
        }
        self.sets.push(Set { title, rules, otherwise: set.otherwise });
    }

    /// Whether a rule looks at this stream. If none does, the stream need not be read.
    pub fn watches(&self, stream: Stream) -> bool {
        self.probes.iter().any(|probe| probe.stream == stream)
    }

    /// Whether a delay that the command asks for may take the place of the policy's.
    pub fn reads_delays(&self) -> bool {
        !self.delays.is_empty()
    }

    /// Whether a rule distinguishes standard output from standard error. If none does, both may be shown
    /// to the watch as one stream, in the order in which they are printed.
    ///
    /// ```
    /// use redial_policy::Rules;
    ///
    /// let mut rules = Rules::default();
    /// rules.stop_on("output:/no space left/")?;
    /// assert!(!rules.distinguish_streams());
    /// rules.stop_on("stderr:/denied/")?;
    /// assert!(rules.distinguish_streams());
    /// # Ok::<(), redial_policy::BadCondition>(())
    /// ```
    pub fn distinguish_streams(&self) -> bool {
        self.distinguishes_streams
    }

    /// A watch for the output of the next attempt.
    #[inline]
    pub fn watch(&self) -> Watch {
        Watch::new(&self.probes)
    }

    /// What becomes of the command after an attempt that ended like this and printed what was seen.
    /// `now` is the time of day, from which a delay counts that the command gave as a date.
    // Inlined, so that exit 0 without rules loads no page of the code for rules.
    #[inline]
    pub fn judge(&self, ending: &Ending, seen: &mut Watch, now: SystemTime) -> Judgement {
        if self.success.is_empty() && *ending == Ending::Exit(0) {
            let (rule, in_full, delay, bad_delay) = (None, None, None, None);
            return Judgement { fate: Fate::Success, rule, in_full, delay, bad_delay };
        }
        self.judge_by_rules(ending, seen, now)
    }

    fn judge_by_rules(&self, ending: &Ending, seen: &mut Watch, now: SystemTime) -> Judgement {
        let (fate, rule, in_full) = self.decide(ending, seen);
        let (mut delay, mut bad_delay) = (None, None);
        if fate == Fate::Retry {
            for probe in self.delays.iter().flat_map(|delay| &delay.probes) {
                let Some((found, sent)) = seen.delay(*probe) else { continue };
                // Relative to the `Date` of the server, where it is known: our clock may be wrong.
                delay = found_delay::read_at(found, sent.unwrap_or(now));
                if delay.is_some() {
                    bad_delay = None;
                    break;
                }
                bad_delay.get_or_insert_with(|| found.to_owned());
            }
        }
        Judgement { fate, rule, in_full, delay, bad_delay }
    }

    fn decide(&self, ending: &Ending, seen: &mut Watch) -> (Fate, Option<String>, Option<String>) {
        let decided =
            |fate, rule: &Rule| (fate, Some(rule.label.clone()), Some(rule.in_full.clone()));
        let by_default = |fate, rule: Option<String>| (fate, rule.clone(), rule);
        if let Some(rule) = self.success.iter().find(|rule| rule.holds(ending, seen)) {
            return decided(Fate::Success, rule);
        }
        for (action, rule) in self.asked() {
            if rule.may_decide(action, ending) && rule.holds(ending, seen) {
                return decided(action.fate(), rule);
            }
        }
        // What is not known to have failed is worth another attempt, unless a rule says otherwise.
        if *ending == Ending::Lost {
            return by_default(Fate::Retry, None);
        }
        if ending.is_spawn_failure() {
            return by_default(Fate::Stop, Some(NO_SPAWN.to_owned()));
        }
        match self.otherwise() {
            Some((fate, rule)) => by_default(fate, Some(rule)),
            None => by_default(Fate::Retry, None),
        }
    }

    /// The rules for failures, in the order in which they are asked.
    fn asked(&self) -> impl Iterator<Item = (Action, &Rule)> {
        let stop = self.flags.stop.iter().chain(&self.policy.stop);
        let sets = self.sets.iter().flat_map(|set| &set.rules);
        let alone = stop.map(|rule| (Action::Stop, rule));
        alone
            .chain(self.retried().map(|rule| (Action::Retry, rule)))
            .chain(sets.map(|(action, rule)| (*action, rule)))
    }

    fn retried(&self) -> impl Iterator<Item = &Rule> {
        self.flags.retry.iter().chain(&self.policy.retry)
    }

    /// What applies where no rule matches; none where every failure is retried.
    fn otherwise(&self) -> Option<(Fate, String)> {
        let mut retried = self.sets.iter().filter(|set| set.otherwise == Action::Retry);
        if let Some(set) = retried.next() {
            return Some((Fate::Retry, format!("{}: otherwise retry", set.title)));
        }
        if !self.sets.is_empty() {
            let titles: Vec<_> = self.sets.iter().map(|set| set.title.as_str()).collect();
            return Some((Fate::Stop, format!("{}: otherwise stop", titles.join(", "))));
        }
        // `--retry-on spawn` adds to what is retried, and does not restrict it.
        let mut asked = self.retried().filter(|rule| !rule.about_spawn);
        let flag = asked.next()?.label.split(' ').next().unwrap_or_default().to_owned();
        Some((Fate::Stop, format!("no {flag} matches")))
    }

    /// Every rule in the order in which it is asked, one a line, each with what it does.
    ///
    /// ```
    /// use redial_policy::Rules;
    ///
    /// let mut rules = Rules::default();
    /// rules.retry_on("exit:75")?;
    /// assert_eq!(
    ///     rules.describe(),
    ///     [
    ///         "success: exit:0",
    ///         "retry: --retry-on exit:75",
    ///         "stop: a command that cannot be started, unless --retry-on spawn",
    ///         "stop: no --retry-on matches",
    ///     ],
    /// );
    /// # Ok::<(), redial_policy::BadCondition>(())
    /// ```
    pub fn describe(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut says = |fate: &str, label: &str| lines.push(format!("{fate}: {label}"));
        for rule in &self.success {
            says("success", &rule.in_full);
        }
        if self.success.is_empty() {
            says("success", "exit:0");
        }
        for (action, rule) in self.asked() {
            says(action.name(), &rule.in_full);
        }
        says("stop", NO_SPAWN);
        match self.otherwise() {
            Some((Fate::Retry, label)) => says("retry", &label),
            Some((_, label)) => says("stop", &label),
            None => says("retry", "every other failure"),
        }
        for delay in &self.delays {
            says("delay", &delay.label);
        }
        lines
    }

    fn flag(&mut self, flag: &str, text: &str) -> Result<Rule, BadCondition> {
        let condition: Condition = text.parse()?;
        Ok(self.rule(format!("{flag} {condition}"), &condition))
    }

    fn matcher(&mut self, option: &str, matcher: &Matcher) -> Rule {
        let test = Test::Text(matcher.clone());
        let check = Check { probes: self.probes_of(&test), test };
        let label = format!("{option} {matcher}");
        let in_full = label.clone();
        Rule { label, in_full, terms: vec![(false, check)], about_spawn: false }
    }

    fn rule(&mut self, label: String, condition: &Condition) -> Rule {
        let terms = condition.terms.iter().map(|term| {
            let probes = self.probes_of(&term.test);
            (term.negated, Check { test: term.test.clone(), probes })
        });
        let terms = terms.collect();
        let in_full = label.clone();
        Rule { label, in_full, terms, about_spawn: condition.is_about_spawn() }
    }

    fn delay(&mut self, label: String, from: &DelayFrom) {
        let probes = match from {
            DelayFrom::Pattern(output) => {
                self.probes_on(output.place, &Seeks::Captured(output.clone()))
            }
            DelayFrom::RetryAfter(place) => self.probes_on(*place, &Seeks::RetryAfter),
        };
        self.delays.push(Delay { label, probes });
    }

    fn probes_of(&mut self, test: &Test) -> Vec<usize> {
        match test {
            Test::Output(output) => self.probes_on(output.place, &Seeks::Pattern(output.clone())),
            Test::Text(matcher) => {
                let place = Printed::On(Stream::Stderr);
                self.probes_on(place, &Seeks::Matcher(matcher.clone()))
            }
            _ => Vec::new(),
        }
    }

    fn probes_on(&mut self, place: Printed, seeks: &Seeks) -> Vec<usize> {
        let streams: &[Stream] = match &place {
            Printed::On(stream) => std::slice::from_ref(stream),
            Printed::OnEither => &[Stream::Stdout, Stream::Stderr],
        };
        // The headers of a response have to be read from one stream.
        self.distinguishes_streams |= streams.len() == 1 || matches!(seeks, Seeks::RetryAfter);
        let probes = Arc::make_mut(&mut self.probes);
        let mut added = Vec::with_capacity(streams.len());
        for stream in streams {
            added.push(probes.len());
            probes.push(Probe { stream: *stream, seeks: seeks.clone() });
        }
        added
    }
}

const NO_SPAWN: &str = "a command that cannot be started, unless --retry-on spawn";

impl Rule {
    fn holds(&self, ending: &Ending, seen: &mut Watch) -> bool {
        self.terms.iter().all(|(negated, check)| {
            let holds =
                check.test.holds_of(ending) || check.probes.iter().any(|probe| seen.found(*probe));
            holds != *negated
        })
    }

    /// A command that cannot be started is retried only by a rule that names `spawn`.
    fn may_decide(&self, action: Action, ending: &Ending) -> bool {
        action == Action::Stop || self.about_spawn || !ending.is_spawn_failure()
    }
}
