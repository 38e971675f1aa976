//! What an attempt has printed, as far as rules ask: patterns that have been seen, found in a window
//! that goes along the stream.
//!
//! A window that is full goes through a sieve first, which tells in one pass what need not be looked for
//! in it. So watching costs little, and no pattern holds up the command: what the sieve gives up is
//! looked for in the end of the stream alone, and [`Watch::strained`] tells so.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use regex::Regex;

use crate::condition::Output;
use crate::headers::Headers;
use crate::matcher::{Matcher, Mode};
use crate::rules::Stream;
use crate::sieve::{Passed, Sieves, Sought};

/// How much of a stream is looked at at once.
const WINDOW: usize = 128 << 10;

/// How much of it is looked at again with what comes after it: a match that is not longer is found
/// wherever it is.
const OVERLAP: usize = 16 << 10;

/// The same where no rule looks: a quarter of it, which stays, is enough for [`Watch::tail`].
const UNWATCHED: usize = 4 * TAIL_MAX;

/// What any pattern is looked for in without a sieve: making one takes longer. It is also what is left
/// of a stream for a pattern that the sieve gave up.
const SHORT: usize = 4 << 10;

const TAIL_MAX: usize = 2 << 10;

/// The longest text that is taken for a delay; a number with a unit is a few letters.
const TAKEN_MAX: usize = 1 << 10;

/// Something to look for in a stream.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) stream: Stream,
    pub(crate) seeks: Seeks,
}

#[derive(Clone, Debug)]
pub(crate) enum Seeks {
    Pattern(Output),
    Matcher(Matcher),
    /// The last text that a group of the pattern takes.
    Taken(Output),
    /// The `Retry-After` of the last HTTP response whose headers are printed.
    RetryAfter,
}

impl Probe {
    /// What to look for before anything else: the rest holds nowhere but where this matches.
    fn pattern(&self) -> &str {
        match &self.seeks {
            Seeks::Pattern(output) | Seeks::Taken(output) => output.pattern.as_str(),
            Seeks::Matcher(matcher) => matcher.approximate(),
            Seeks::RetryAfter => "",
        }
    }

    fn sought(&self, number: usize) -> Option<Sought> {
        let mode = match &self.seeks {
            Seeks::Pattern(output) | Seeks::Taken(output) => output.mode(),
            Seeks::Matcher(_) => Mode::Text,
            Seeks::RetryAfter => return None,
        };
        Sought::new(number, self.pattern(), mode)
    }
}

/// The output of one attempt, as [`Rules`](crate::Rules) look at it.
///
/// It takes at most 128 KiB for each stream, however much is printed, besides what its patterns take,
/// and what is printed need not be text. What was seen once stays seen.
///
/// ```
/// use std::time::SystemTime;
/// use redial_policy::{Ending, Fate, Rules, Stream};
///
/// let mut rules = Rules::default();
/// rules.stop_on("stderr:/no such user/")?;
/// let mut watch = rules.watch();
/// watch.saw(Stream::Stderr, b"error: no su");
/// watch.saw(Stream::Stderr, b"ch user\n");
/// let now = SystemTime::now();
/// assert_eq!(rules.judge(&Ending::Exit(1), &mut watch, now).fate, Fate::Stop);
/// assert_eq!(watch.tail(Stream::Stderr), "error: no such user\n");
/// # Ok::<(), redial_policy::BadCondition>(())
/// ```
#[derive(Clone, Debug)]
pub struct Watch {
    probes: Arc<Vec<Probe>>,
    latches: Vec<Latch>,
    /// One for each stream.
    windows: [Window; 2],
    /// The same, where a probe looks for them.
    headers: [Option<Headers>; 2],
    /// The same, once there is more than a little to look at.
    sieves: [Option<Sieves>; 2],
}

/// What is known of a probe.
#[derive(Clone, Debug, Default)]
struct Latch {
    hit: bool,
    taken: Option<String>,
    /// Whether the window has been looked at as it is.
    settled: bool,
    /// Whether only the end of the stream is looked at, because the sieve gave it up.
    strained: bool,
}

#[derive(Clone, Debug)]
struct Window {
    bytes: Vec<u8>,
    size: usize,
    /// Whether it still begins where the stream does.
    whole: bool,
}

impl Watch {
    #[inline]
    pub(crate) fn new(probes: &Arc<Vec<Probe>>) -> Self {
        let size = |stream| match probes.iter().any(|probe| probe.stream == stream) {
            true => WINDOW,
            false => UNWATCHED,
        };
        let window = |stream| Window { bytes: Vec::new(), size: size(stream), whole: true };
        let headers = |stream| {
            let wanted =
                |probe: &Probe| probe.stream == stream && matches!(probe.seeks, Seeks::RetryAfter);
            // Programs print bodies to standard output alone.
            probes.iter().any(wanted).then(|| Headers::new(stream == Stream::Stdout))
        };
        Self {
            probes: Arc::clone(probes),
            latches: vec![Latch::default(); probes.len()],
            windows: [window(Stream::Stdout), window(Stream::Stderr)],
            headers: [headers(Stream::Stdout), headers(Stream::Stderr)],
            sieves: [None, None],
        }
    }

    /// Takes what the attempt has just printed, in pieces of any size.
    pub fn saw(&mut self, stream: Stream, mut bytes: &[u8]) {
        if let Some(headers) = &mut self.headers[stream as usize] {
            headers.saw(bytes);
        }
        for (probe, latch) in self.probes.iter().zip(&mut self.latches) {
            latch.settled &= probe.stream != stream;
        }
        while !bytes.is_empty() {
            let window = &mut self.windows[stream as usize];
            bytes = window.fill(bytes);
            if window.is_full() {
                let end = window.end_of_lines();
                self.look(stream, end, false);
                self.windows[stream as usize].move_on(end);
            }
        }
    }

    /// The end of what was printed, at most 2 KiB; what is not UTF-8 is replaced.
    pub fn tail(&self, stream: Stream) -> String {
        let bytes = &self.windows[stream as usize].bytes;
        let start = bytes.len().saturating_sub(TAIL_MAX);
        // Not from the middle of a character.
        let from = (start..bytes.len()).take(4).find(|at| starts_character(bytes[*at]));
        String::from_utf8_lossy(&bytes[from.unwrap_or(start)..]).into_owned()
    }

    /// Whether a probe has found something.
    pub(crate) fn found(&mut self, probe: usize) -> bool {
        self.settled(probe).is_some_and(|latch| latch.hit)
    }

    /// The delay that a probe has found, in the words of the program; and the time of day from which
    /// it counts, if that was there too.
    pub(crate) fn delay(&mut self, at: usize) -> Option<(&str, Option<SystemTime>)> {
        let probe = self.probes.get(at)?;
        match probe.seeks {
            Seeks::RetryAfter => self.headers[probe.stream as usize].as_ref()?.retry_after(),
            _ => Some((self.settled(at)?.taken.as_deref()?, None)),
        }
    }

    /// The patterns that were looked for only in the last 4 KiB from some place on, because looking
    /// for them everywhere would have held up the command: `a[ab]{20}[^ab\n][ab]`, say. What they match may
    /// have been missed.
    ///
    /// Which they are and from where on is up to the pattern and the output, not to the machine.
    pub fn strained(&self) -> impl Iterator<Item = &str> {
        let all = self.probes.iter().zip(&self.latches);
        let missed = all.filter(|(probe, latch)| latch.strained && latch.wants(probe));
        missed.map(|(probe, _)| probe.pattern())
    }

    /// What is known of a probe, now that all has been looked at.
    fn settled(&mut self, at: usize) -> Option<&Latch> {
        let (probe, latch) = (self.probes.get(at)?, self.latches.get_mut(at)?);
        let window = &self.windows[probe.stream as usize];
        let length = window.bytes.len();
        if !latch.settled && latch.wants(probe) {
            if length > SHORT {
                self.look(probe.stream, length, true);
            } else {
                let (text, from) = window.text(length);
                latch.look(probe, &text, from, true);
            }
        }
        let latch = self.latches.get_mut(at)?;
        latch.settled = true;
        Some(latch)
    }

    /// Looks at the window of a stream up to `end`, for all that is still wanted of it.
    fn look(&mut self, stream: Stream, end: usize, last: bool) {
        let Self { probes, latches, windows, sieves, .. } = self;
        let is_wanted = |at: usize, latches: &[Latch]| {
            probes[at].stream == stream && latches[at].wants(&probes[at])
        };
        let wanted: Vec<_> = (0..probes.len()).filter(|at| is_wanted(*at, latches)).collect();
        if wanted.is_empty() {
            return;
        }
        let (text, from) = windows[stream as usize].text(end);
        let sieves = sieves[stream as usize].get_or_insert_with(|| {
            let sought = wanted.iter().filter_map(|at| probes[*at].sought(*at));
            Sieves::new(sought.collect())
        });
        // After the last line end there is no line, unless more is to come.
        let complete = if last { &text } else { text.strip_suffix('\n').unwrap_or(&text) };
        let Passed { hits, strained } = sieves.pass(complete, from);
        strained.into_iter().for_each(|at| latches[at].strained = true);
        for at in hits {
            latches[at].look(&probes[at], &text, from, last);
        }
        sieves.retain(|at| is_wanted(at, latches));
        if last {
            let short = (text.len().saturating_sub(SHORT)..).find(|at| text.is_char_boundary(*at));
            for at in wanted {
                if latches[at].strained {
                    latches[at].look(&probes[at], &text, from.max(short.unwrap_or(0)), last);
                }
                latches[at].settled = true;
            }
        }
    }
}

impl Window {
    /// Takes what there is room for, and leaves the rest.
    fn fill<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let room = self.size.saturating_sub(self.bytes.len());
        let (now, later) = bytes.split_at(room.min(bytes.len()));
        self.bytes.extend_from_slice(now);
        later
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= self.size
    }

    /// How much of it is looked at again. As it is a quarter at most, a full window always moves on.
    fn overlap(&self) -> usize {
        OVERLAP.min(self.size / 4)
    }

    /// Where the last whole line ends; where all of it is one long line, the last whole character.
    fn end_of_lines(&self) -> usize {
        let length = self.bytes.len();
        let newline = last_newline(&self.bytes, length.saturating_sub(self.overlap())..length);
        newline.map_or_else(|| whole_characters(&self.bytes, length), |newline| newline + 1)
    }

    /// Keeps the end of what has been looked at: a match may begin in it.
    fn move_on(&mut self, looked_at: usize) {
        let kept = looked_at.saturating_sub(self.overlap());
        // From the end of a line on: it tells that a line starts after it.
        let cut = last_newline(&self.bytes, kept.saturating_sub(self.overlap())..kept);
        self.bytes.drain(..cut.unwrap_or_else(|| whole_characters(&self.bytes, kept)));
        self.whole = false;
    }

    /// The text up to `end`, and where to look from: where something came before, the first
    /// character only tells `^` and `\b` what it was.
    fn text(&self, end: usize) -> (Cow<'_, str>, usize) {
        let bytes = &self.bytes[..end];
        // Reading what is UTF-8 is several times as fast as replacing what is not.
        let text = std::str::from_utf8(bytes).map(Cow::Borrowed);
        let text = text.unwrap_or_else(|_| String::from_utf8_lossy(bytes));
        let from = match self.whole {
            true => 0,
            false => text.chars().next().map_or(0, char::len_utf8),
        };
        (text, from)
    }
}

impl Latch {
    /// A delay is the last there is; of all others one is enough.
    fn wants(&self, probe: &Probe) -> bool {
        match probe.seeks {
            Seeks::Taken(_) => true,
            Seeks::RetryAfter => false,
            _ => !self.hit,
        }
    }

    fn look(&mut self, probe: &Probe, text: &str, from: usize, last: bool) {
        match &probe.seeks {
            Seeks::Pattern(output) => {
                let found = output.pattern.find_at(text, from);
                // After the last line end there is no line, unless more is to come.
                let open = last && !text.ends_with('\n');
                self.hit |= found.is_some_and(|found| open || found.start() < text.len());
            }
            // A message does not end in the line end that it is printed with.
            Seeks::Matcher(Matcher::Pattern(pattern)) => {
                let text = if last { text.trim_end() } else { text };
                self.hit |= pattern.is_match_at(text, from.min(text.len()));
            }
            Seeks::Matcher(matcher) => self.hit |= matcher.matches(&text[from..], false),
            Seeks::Taken(output) => {
                if let Some(taken) = last_taken(&output.pattern, text, from) {
                    self.hit = true;
                    self.taken = Some(taken.chars().take(TAKEN_MAX).collect());
                }
            }
            Seeks::RetryAfter => {}
        }
    }
}

/// What the first group that took part in the last match holds.
fn last_taken<'t>(pattern: &Regex, text: &'t str, from: usize) -> Option<&'t str> {
    // Each match may look to the end of its line, so that a long line of matches would take ages: of
    // what has more than so many, or takes more than so many looks at a byte, the end decides.
    const MATCHES_MAX: usize = 100;
    const LOOKS_MAX: usize = 2;
    const END: usize = 1 << 10;
    let (last, rest) = last_of(pattern, text, from, MATCHES_MAX, LOOKS_MAX * text.len());
    let Some(rest) = rest else { return last };
    let near = text.len().saturating_sub(END).max(rest);
    let near = (near..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    last_of(pattern, text, near, END, END * END).0.or(last)
}

/// The last of so many matches, and where to go on if there may be more.
fn last_of<'t>(
    pattern: &Regex,
    text: &'t str,
    mut from: usize,
    most: usize,
    mut looks: usize,
) -> (Option<&'t str>, Option<usize>) {
    let mut last = None;
    for _ in 0..most {
        let Some(captures) = pattern.captures_at(text, from) else { return (last, None) };
        if let Some(taken) = captures.iter().skip(1).flatten().next() {
            last = Some(taken.as_str());
        }
        let end = captures.get(0).map_or(text.len(), |all| all.end());
        let line = text[end..].find('\n').map_or(text.len(), |length| end + length);
        looks = looks.saturating_sub(line - from);
        // An empty match must not be found again and again.
        from = match end > from {
            true => end,
            false => end + text[end..].chars().next().map_or(1, char::len_utf8),
        };
        if from > text.len() {
            return (last, None);
        }
        if looks == 0 {
            break;
        }
    }
    (last, Some(from))
}

/// The last line end in a part of the bytes.
fn last_newline(bytes: &[u8], part: Range<usize>) -> Option<usize> {
    let start = part.start;
    memchr::memrchr(b'\n', &bytes[part]).map(|at| start + at)
}

/// The end at or just before `end` that does not cut a character of UTF-8 in two.
fn whole_characters(bytes: &[u8], end: usize) -> usize {
    let start = end.saturating_sub(4);
    let last = bytes[start..end].iter().rposition(|byte| starts_character(*byte));
    let last = last.map_or(end, |last| start + last);
    match std::str::from_utf8(&bytes[last..end]) {
        Err(error) if error.error_len().is_none() => last,
        _ => end,
    }
}

fn starts_character(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}
