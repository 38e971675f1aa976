//! Which of many patterns may match in a text, found in one pass over it.
//!
//! A sieve is a lazy DFA of several patterns at once. It has no false negatives. What it lets through is
//! searched again with the pattern itself, because the sieve replaces every assertion that a DFA cannot
//! decide (word boundaries of Unicode) by a weaker one.
//!
//! A DFA takes the same few instructions for every byte as long as its states fit into its cache. A
//! pattern whose states do not, such as `a[ab]{20}[^ab\n][ab]`, makes it clear the cache again and again;
//! then it gives up, at a place that the text and the pattern alone decide.

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{Input, MatchKind, PatternID, PatternSet};
use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};
use regex_syntax::hir::{Hir, HirKind, Look};

use crate::matcher::Mode;

/// For the states of one DFA. A pattern of a line takes a few KiB of it.
const CACHE_MAX: usize = 2 << 20;
/// A DFA that clears its cache more often than this, and in between …
const CLEARS_MAX: usize = 3;
/// … looks at fewer bytes than this for each state it makes, gives up: making one takes microseconds.
const BYTES_PER_STATE_MIN: usize = 1000;

/// The patterns for one stream that are still to be found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sieves {
    sieves: Vec<Sieve>,
    /// Those that a sieve has given up on, until the next [`pass`](Self::pass) returns them.
    given_up: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Sieve {
    patterns: Vec<Sought>,
    /// Literals with one of which every match ends. Searching for them is several times as fast.
    suffixes: Option<Prefilter>,
    dfa: DFA,
    cache: Cache,
}

/// A pattern, and the number by which its owner knows it.
#[derive(Clone, Debug)]
pub(crate) struct Sought {
    number: usize,
    hir: Hir,
}

/// The result of a pass over a text.
#[derive(Debug)]
pub(crate) struct Passed {
    /// Those that may match. The others do not, except for those given up.
    pub(crate) hits: Vec<usize>,
    /// Those that a DFA is too slow for in this text. The sieve has dropped them.
    pub(crate) given_up: Vec<usize>,
}

impl Sought {
    /// None where the pattern does not parse.
    pub(crate) fn new(number: usize, pattern: &str, mode: Mode) -> Option<Self> {
        let mut parser = regex_syntax::ParserBuilder::new();
        if let Mode::Lines { any_case } = mode {
            parser.multi_line(true).crlf(true).case_insensitive(any_case);
        }
        let hir = parser.build().parse(pattern).ok()?;
        Some(Self { number, hir: weakened(hir, mode) })
    }
}

impl Sieves {
    pub(crate) fn new(patterns: Vec<Sought>) -> Self {
        let mut sieves = Self::default();
        sieves.add(patterns);
        sieves
    }

    /// Searches `text` from `from` on; what is before it is there for `^` and `\b`.
    pub(crate) fn pass(&mut self, text: &str, from: usize) -> Passed {
        let mut hits = Vec::new();
        let mut done = Vec::with_capacity(self.sieves.len());
        while let Some(mut sieve) = self.sieves.pop() {
            let Candidates { patterns: found, gave_up } = sieve.look(text, from);
            // One of several patterns is too slow: both halves are tried alone.
            if gave_up && sieve.patterns.len() > 1 {
                self.halve(sieve.patterns);
                continue;
            }
            hits.extend(found);
            match gave_up {
                true => self.halve(sieve.patterns),
                false => done.push(sieve),
            }
        }
        self.sieves = done;
        Passed { hits, given_up: std::mem::take(&mut self.given_up) }
    }

    /// Drops those that need not be found any more.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(usize) -> bool) {
        let wanted = |sought: &Sought| is_wanted(sought.number);
        for mut sieve in std::mem::take(&mut self.sieves) {
            if sieve.patterns.iter().all(wanted) {
                self.sieves.push(sieve);
                continue;
            }
            sieve.patterns.retain(wanted);
            if !sieve.patterns.is_empty() {
                self.add(sieve.patterns);
            }
        }
    }

    fn add(&mut self, patterns: Vec<Sought>) {
        match Sieve::new(patterns) {
            Ok(sieve) => self.sieves.push(sieve),
            Err(patterns) => self.halve(patterns),
        }
    }

    fn halve(&mut self, mut patterns: Vec<Sought>) {
        if patterns.len() <= 1 {
            self.given_up.extend(patterns.iter().map(|alone| alone.number));
            return;
        }
        let others = patterns.split_off(patterns.len() / 2);
        self.add(patterns);
        self.add(others);
    }
}

impl Sieve {
    /// Gives the patterns back where they are too large for it.
    fn new(patterns: Vec<Sought>) -> Result<Self, Vec<Sought>> {
        let hirs: Vec<_> = patterns.iter().map(|sought| &sought.hir).collect();
        match dfa(&hirs) {
            Some(dfa) => {
                let (cache, suffixes) = (dfa.create_cache(), suffixes(&hirs));
                Ok(Self { patterns, suffixes, dfa, cache })
            }
            None => Err(patterns),
        }
    }

    fn look(&mut self, text: &str, from: usize) -> Candidates {
        let Self { patterns, suffixes, dfa, cache } = self;
        let span = from.min(text.len())..text.len();
        if let Some(suffixes) = suffixes
            && suffixes.find(text.as_bytes(), span.clone().into()).is_none()
        {
            return Candidates { patterns: Vec::new(), gave_up: false };
        }
        let number = |pattern: PatternID| patterns[pattern.as_usize()].number;
        let input = Input::new(text).range(span);
        // Usually nothing matches, which the search for the earliest match finds out fastest.
        let first = match dfa.try_search_fwd(cache, &input.clone().earliest(true)) {
            Ok(Some(first)) => first,
            nothing => return Candidates { patterns: Vec::new(), gave_up: nothing.is_err() },
        };
        let mut all = PatternSet::new(patterns.len());
        match dfa.try_which_overlapping_matches(cache, &input, &mut all) {
            Ok(()) => Candidates { patterns: all.iter().map(number).collect(), gave_up: false },
            Err(_) => Candidates { patterns: vec![number(first.pattern())], gave_up: true },
        }
    }
}

/// The patterns that one DFA says may match in a text.
struct Candidates {
    /// Their numbers.
    patterns: Vec<usize>,
    /// Whether the DFA gave up before the end of the text, so that there may be more.
    gave_up: bool,
}

fn dfa(hirs: &[&Hir]) -> Option<DFA> {
    let nfa =
        thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(CACHE_MAX));
    let nfa = thompson::Compiler::new().configure(nfa).build_many_from_hir(hirs).ok()?;
    // Where all patterns begin with literals, the search skips from one to the next.
    let prefilter = Prefilter::from_hirs_prefix(MatchKind::All, hirs).filter(Prefilter::is_fast);
    let config = DFA::config()
        .match_kind(MatchKind::All)
        .prefilter(prefilter)
        .cache_capacity(CACHE_MAX)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(Some(CLEARS_MAX))
        .minimum_bytes_per_state(Some(BYTES_PER_STATE_MIN));
    DFA::builder().configure(config).build_from_nfa(nfa).ok()
}

fn suffixes(hirs: &[&Hir]) -> Option<Prefilter> {
    let mut extractor = Extractor::new();
    extractor.kind(ExtractKind::Suffix);
    let mut all = Seq::empty();
    hirs.iter().for_each(|hir| all.union(&mut extractor.extract(hir)));
    all.optimize_for_suffix_by_preference();
    let texts: Vec<_> = all.literals()?.iter().map(|literal| literal.as_bytes()).collect();
    let has_empty = texts.iter().any(|text| text.is_empty());
    Prefilter::new(MatchKind::All, &texts).filter(|suffixes| !has_empty && suffixes.is_fast())
}

/// The same with every assertion that a DFA cannot decide replaced by one that holds at least
/// wherever it does.
fn weakened(hir: Hir, mode: Mode) -> Hir {
    let each = |hirs: Vec<Hir>| hirs.into_iter().map(|hir| weakened(hir, mode)).collect();
    match hir.into_kind() {
        HirKind::Look(look) => weaker(look, mode),
        HirKind::Repetition(mut repetition) => {
            repetition.sub = Box::new(weakened(*repetition.sub, mode));
            Hir::repetition(repetition)
        }
        // Captures are not needed here.
        HirKind::Capture(capture) => weakened(*capture.sub, mode),
        HirKind::Concat(hirs) => Hir::concat(each(hirs)),
        HirKind::Alternation(hirs) => Hir::alternation(each(hirs)),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Empty => Hir::empty(),
    }
}

fn weaker(look: Look, mode: Mode) -> Hir {
    let (before, after) = (Look::WordStartHalfAscii, Look::WordEndHalfAscii);
    match look {
        // Not between two word characters, and so not between two of ASCII.
        Look::WordUnicode => Hir::alternation(vec![Hir::look(before), Hir::look(after)]),
        Look::WordStartUnicode | Look::WordStartHalfUnicode => Hir::look(before),
        Look::WordEndUnicode | Look::WordEndHalfUnicode => Hir::look(after),
        Look::WordUnicodeNegate => Hir::empty(),
        // An error message ends before the newlines that are printed after it.
        Look::End if mode == Mode::Text => Hir::empty(),
        other => Hir::look(other),
    }
}
