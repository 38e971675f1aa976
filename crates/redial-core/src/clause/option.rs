//! The names that a clause knows, and the nearest one to a name that it does not.

/// An option of the clause's timing part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Retry,
    Attempts,
    Delay,
    Backoff,
    Factor,
    Increment,
    MinDelay,
    MaxDelay,
    Jitter,
    Within,
    WaitBudget,
}

pub(crate) const NAMES: [(Name, &str); 11] = [
    (Name::Retry, "retry"),
    (Name::Attempts, "attempts"),
    (Name::Delay, "delay"),
    (Name::Backoff, "backoff"),
    (Name::Factor, "factor"),
    (Name::Increment, "increment"),
    (Name::MinDelay, "min_delay"),
    (Name::MaxDelay, "max_delay"),
    (Name::Jitter, "jitter"),
    (Name::Within, "within"),
    (Name::WaitBudget, "wait_budget"),
];

/// The options that belong to a call, and where they go in Rust.
pub(crate) const CALL_NAMES: [(&str, &str); 5] = [
    ("timeout", "`.timeout(…)` on the call"),
    ("retry_on", "`.when(…)` or `.classify(…)` on the call"),
    ("stop_on", "`.when(…)` or `.classify(…)` on the call"),
    ("fallback", "what the program does with the error"),
    ("on_error", "what the program does with the error"),
];

/// The names of all options: those of the policy, then those of the call.
pub(crate) const ALL: [&str; 16] = {
    let mut all = [""; NAMES.len() + CALL_NAMES.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < NAMES.len() { NAMES[i].1 } else { CALL_NAMES[i - NAMES.len()].0 };
        i += 1;
    }
    all
};

/// What other systems call the same thing: other notations, and the flags of other programs.
const ELSEWHERE: [(&str, &str); 73] = [
    ("backoff_factor", "factor"),
    ("backoff_rate", "factor"),
    ("base", "factor"),
    ("coefficient", "factor"),
    ("exponent", "factor"),
    ("growth", "factor"),
    ("multiplier", "factor"),
    ("base_delay", "delay"),
    ("initial", "delay"),
    ("initial_delay", "delay"),
    ("initial_interval", "delay"),
    ("interval", "delay"),
    ("pause", "delay"),
    ("retry_delay", "delay"),
    ("retry_wait", "delay"),
    ("sleep", "delay"),
    ("wait", "delay"),
    ("wait_duration", "delay"),
    ("wait_fixed", "delay"),
    ("wait_retry", "delay"),
    ("cap", "max_delay"),
    ("max", "max_delay"),
    ("max_backoff", "max_delay"),
    ("max_interval", "max_delay"),
    ("max_sleep", "max_delay"),
    ("max_wait", "max_delay"),
    ("maximum", "max_delay"),
    ("wait_max", "max_delay"),
    ("min", "min_delay"),
    ("min_sleep", "min_delay"),
    ("min_wait", "min_delay"),
    ("minimum", "min_delay"),
    ("wait_min", "min_delay"),
    ("count", "attempts"),
    ("forever", "attempts"),
    ("infinite", "attempts"),
    ("max_attempts", "attempts"),
    ("max_count", "attempts"),
    ("max_tries", "attempts"),
    ("stop_after_attempt", "attempts"),
    ("tries", "attempts"),
    ("unlimited", "attempts"),
    ("max_retries", "retry"),
    ("max_times", "retry"),
    ("retries", "retry"),
    ("times", "retry"),
    ("deadline", "within"),
    ("max_duration", "within"),
    ("max_elapsed", "within"),
    ("max_elapsed_time", "within"),
    ("max_time", "within"),
    ("retry_max_time", "within"),
    ("stop_after_delay", "within"),
    ("total_timeout", "within"),
    ("budget", "wait_budget"),
    ("retry_budget", "wait_budget"),
    ("total_delay", "wait_budget"),
    ("exp", "backoff"),
    ("exponential", "backoff"),
    ("fibonacci", "backoff"),
    ("linear", "backoff"),
    ("strategy", "backoff"),
    ("backoff_strategy", "backoff"),
    ("random", "jitter"),
    ("randomize", "jitter"),
    ("attempt_timeout", "timeout"),
    ("per_try_timeout", "timeout"),
    ("try_timeout", "timeout"),
    ("condition", "retry_on"),
    ("retry_if", "retry_on"),
    ("retry_if_status", "retry_on"),
    ("stop_if", "stop_on"),
    ("stop_if_status", "stop_on"),
];

/// The option that a name of another system stands for; of one of ours, that name.
#[inline]
pub(crate) const fn counterpart(word: &[u8]) -> Option<&'static str> {
    if let Some(name) = Name::of(word) {
        return Some(name.text());
    }
    if let Some(call) = call_name(word) {
        return Some(CALL_NAMES[call].0);
    }
    let mut i = 0;
    while i < ELSEWHERE.len() {
        if alike(word, ELSEWHERE[i].0.as_bytes()) {
            return Some(ELSEWHERE[i].1);
        }
        i += 1;
    }
    None
}

impl Name {
    #[inline]
    pub(crate) const fn text(self) -> &'static str {
        NAMES[self as usize].1
    }

    #[inline]
    pub(crate) const fn of(word: &[u8]) -> Option<Self> {
        let mut i = 0;
        while i < NAMES.len() {
            if same(word, NAMES[i].1.as_bytes()) {
                return Some(NAMES[i].0);
            }
            i += 1;
        }
        None
    }
}

/// Which of the call's options `word` is.
#[inline]
pub(crate) const fn call_name(word: &[u8]) -> Option<usize> {
    let mut i = 0;
    while i < CALL_NAMES.len() {
        if same(word, CALL_NAMES[i].0.as_bytes()) {
            return Some(i);
        }
        i += 1;
    }
    None
}

/// The known name that `word` was probably meant to be: what another system calls it, or the one
/// with the fewest letters changed, added or left out; none if that is more than a third of them.
#[inline]
pub(crate) const fn nearest(word: &[u8], call_allowed: bool) -> &'static str {
    if let Some(name) = counterpart(word) {
        if call_allowed || call_name(name.as_bytes()).is_none() {
            return name;
        }
    }
    let mut best = Nearest::to(word);
    let mut i = 0;
    while i < NAMES.len() {
        best = best.or(word, NAMES[i].1);
        i += 1;
    }
    let mut i = 0;
    while call_allowed && i < CALL_NAMES.len() {
        best = best.or(word, CALL_NAMES[i].0);
        i += 1;
    }
    best.name
}

/// The backoff that `word` was probably meant to be.
#[inline]
pub(crate) const fn nearest_backoff(word: &[u8]) -> &'static str {
    if alike(word, b"constant") {
        return "fixed";
    }
    Nearest::closely_to(word)
        .or(word, "fixed")
        .or(word, "linear")
        .or(word, "exponential")
        .or(word, "fibonacci")
        .or(word, "decorrelated")
        .name
}

/// The jitter that `word` was probably meant to be.
#[inline]
pub(crate) const fn nearest_jitter(word: &[u8]) -> &'static str {
    if alike(word, b"true") {
        return "full";
    }
    if alike(word, b"false") {
        return "none";
    }
    Nearest::closely_to(word).or(word, "none").or(word, "full").or(word, "equal").name
}

/// The nearest name so far, and how many letters it is away.
struct Nearest {
    name: &'static str,
    edits: usize,
}

impl Nearest {
    #[inline]
    const fn to(word: &[u8]) -> Self {
        Self { name: "", edits: 1 + word.len() / 3 }
    }

    /// The same, for words so short that two letters make another of them.
    #[inline]
    const fn closely_to(word: &[u8]) -> Self {
        Self { name: "", edits: 1 + word.len() / 6 }
    }

    #[inline]
    const fn or(self, word: &[u8], name: &'static str) -> Self {
        // What somebody began to write is as near as it gets.
        let begun = word.len() >= 3 && begins(name.as_bytes(), word);
        let edits = if begun { 0 } else { distance(word, name.as_bytes()) };
        if edits < self.edits || (edits == self.edits && self.name.is_empty()) {
            Self { name, edits }
        } else {
            self
        }
    }
}

/// Whether `name` begins with `word`, whatever its case.
#[inline]
const fn begins(name: &[u8], word: &[u8]) -> bool {
    let mut i = 0;
    while i < word.len() {
        if i == name.len() || !name[i].eq_ignore_ascii_case(&word[i]) {
            return false;
        }
        i += 1;
    }
    true
}

#[inline]
pub(crate) const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// The same letters, whatever their case, with or without separators: `maxRetries` is
/// `max_retries` is `max-retries`.
#[inline]
pub(crate) const fn alike(a: &[u8], b: &[u8]) -> bool {
    let (mut i, mut j) = (0, 0);
    loop {
        while i < a.len() && (a[i] == b'_' || a[i] == b'-') {
            i += 1;
        }
        while j < b.len() && (b[j] == b'_' || b[j] == b'-') {
            j += 1;
        }
        if i == a.len() || j == b.len() {
            return i == a.len() && j == b.len();
        }
        if !a[i].eq_ignore_ascii_case(&b[j]) {
            return false;
        }
        i += 1;
        j += 1;
    }
}

/// The Levenshtein distance, whatever the case of the letters; far for a word that is no name.
#[inline]
const fn distance(word: &[u8], name: &[u8]) -> usize {
    const LONGEST: usize = 24;
    if word.len() > LONGEST {
        return usize::MAX;
    }
    let mut row = [0; LONGEST + 1];
    let mut j = 0;
    while j <= word.len() {
        row[j] = j;
        j += 1;
    }
    let mut i = 0;
    while i < name.len() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        let mut j = 0;
        while j < word.len() {
            let swapped = if word[j].eq_ignore_ascii_case(&name[i]) { 0 } else { 1 };
            let mut least = diagonal + swapped;
            if row[j] + 1 < least {
                least = row[j] + 1;
            }
            if row[j + 1] + 1 < least {
                least = row[j + 1] + 1;
            }
            diagonal = row[j + 1];
            row[j + 1] = least;
            j += 1;
        }
        i += 1;
    }
    row[word.len()]
}
