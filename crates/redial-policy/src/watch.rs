//! What an attempt has printed, as far as rules ask: patterns that have been seen, found in a window
//! that goes along the stream.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use regex::Regex;

use crate::matcher::Matcher;
use crate::rules::Stream;

/// How much of a stream is kept to look at. A match of up to a quarter of it is found wherever
/// it is.
const WINDOW: usize = 64 << 10;

/// The same where no rule looks: enough for [`Watch::tail`].
const UNWATCHED: usize = 4 << 10;

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
    Pattern(Regex),
    Matcher(Matcher),
    /// The last text that a group of the pattern takes.
    Taken(Regex),
}

/// The output of one attempt, as [`Rules`](crate::Rules) look at it.
///
/// It takes at most 64 KiB for each stream, however much is printed, and what is printed need not be
/// text. What was seen once stays seen.
///
/// ```
/// use redial_policy::{Ending, Fate, Rules, Stream};
///
/// let mut rules = Rules::default();
/// rules.stop_on("stderr:/no such user/")?;
/// let mut watch = rules.watch();
/// watch.saw(Stream::Stderr, b"error: no su");
/// watch.saw(Stream::Stderr, b"ch user\n");
/// assert_eq!(rules.judge(&Ending::Exit(1), &mut watch).fate, Fate::Stop);
/// assert_eq!(watch.tail(Stream::Stderr), "error: no such user\n");
/// # Ok::<(), redial_policy::BadCondition>(())
/// ```
#[derive(Clone, Debug)]
pub struct Watch {
    probes: Arc<Vec<Probe>>,
    latches: Vec<Latch>,
    /// One for each stream.
    windows: [Window; 2],
}

/// What is known of a probe.
#[derive(Clone, Debug, Default)]
struct Latch {
    hit: bool,
    taken: Option<String>,
    /// Whether the window has been looked at as it is.
    settled: bool,
}

#[derive(Clone, Debug)]
struct Window {
    bytes: Vec<u8>,
    size: usize,
    /// Whether it still begins where the stream does.
    whole: bool,
}

impl Watch {
    pub(crate) fn new(probes: &Arc<Vec<Probe>>) -> Self {
        let size = |stream| match probes.iter().any(|probe| probe.stream == stream) {
            true => WINDOW,
            false => UNWATCHED,
        };
        let window = |stream| Window { bytes: Vec::new(), size: size(stream), whole: true };
        Self {
            probes: Arc::clone(probes),
            latches: vec![Latch::default(); probes.len()],
            windows: [window(Stream::Stdout), window(Stream::Stderr)],
        }
    }

    /// Takes what the attempt has just printed, in pieces of any size.
    pub fn saw(&mut self, stream: Stream, mut bytes: &[u8]) {
        let Self { probes, latches, windows } = self;
        let window = &mut windows[stream as usize];
        for (probe, latch) in probes.iter().zip(&mut *latches) {
            latch.settled &= probe.stream != stream;
        }
        while !bytes.is_empty() {
            bytes = window.fill(bytes);
            if window.is_full() {
                let end = window.end_of_lines();
                let latches = probes.iter().zip(&mut *latches);
                let mut looks =
                    latches.filter(|(probe, latch)| probe.stream == stream && latch.wants(probe));
                if let Some(first) = looks.next() {
                    let (text, from) = window.text(end);
                    for (probe, latch) in std::iter::once(first).chain(looks) {
                        latch.look(probe, &text, from, false);
                    }
                }
                window.move_on(end);
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

    /// What a probe has taken.
    pub(crate) fn taken(&mut self, probe: usize) -> Option<&str> {
        self.settled(probe)?.taken.as_deref()
    }

    /// What is known of a probe, now that all has been looked at.
    fn settled(&mut self, at: usize) -> Option<&Latch> {
        let (probe, latch) = (self.probes.get(at)?, self.latches.get_mut(at)?);
        if !latch.settled && latch.wants(probe) {
            let window = &self.windows[probe.stream as usize];
            let (text, from) = window.text(window.bytes.len());
            latch.look(probe, &text, from, true);
        }
        latch.settled = true;
        Some(latch)
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

    /// Where the last whole line ends; where all of it is one long line, the last whole character.
    fn end_of_lines(&self) -> usize {
        let length = self.bytes.len();
        let newline = last_newline(&self.bytes, length - length / 4..length);
        newline.map_or_else(|| whole_characters(&self.bytes, length), |newline| newline + 1)
    }

    /// Lets go of the first half of what has been looked at.
    fn move_on(&mut self, looked_at: usize) {
        let half = looked_at / 2;
        // From the end of a line on: it tells that a line starts after it.
        let cut = last_newline(&self.bytes, half / 2..half);
        self.bytes.drain(..cut.unwrap_or_else(|| whole_characters(&self.bytes, half)));
        self.whole = false;
    }

    /// The text up to `end`, and where to look from: where something came before, the first
    /// character only tells `^` and `\b` what it was.
    fn text(&self, end: usize) -> (Cow<'_, str>, usize) {
        let text = String::from_utf8_lossy(&self.bytes[..end]);
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
        !self.hit || matches!(probe.seeks, Seeks::Taken(_))
    }

    fn look(&mut self, probe: &Probe, text: &str, from: usize, last: bool) {
        match &probe.seeks {
            Seeks::Pattern(pattern) => {
                let found = pattern.find_at(text, from);
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
            Seeks::Taken(pattern) => {
                if let Some(taken) = last_taken(pattern, text, from) {
                    self.hit = true;
                    self.taken = Some(taken.chars().take(TAKEN_MAX).collect());
                }
            }
        }
    }
}

/// What the first group that took part in the last match holds.
fn last_taken<'t>(pattern: &Regex, text: &'t str, from: usize) -> Option<&'t str> {
    // Each match may look to the end of its line, so that a long line of matches would take ages: of
    // what has more than so many, the end decides.
    const MATCHES_MAX: usize = 100;
    const END: usize = 1 << 10;
    let (last, rest) = last_of(pattern, text, from, MATCHES_MAX);
    let Some(rest) = rest else { return last };
    let near = text.len().saturating_sub(END).max(rest);
    let near = (near..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    last_of(pattern, text, near, END).0.or(last)
}

/// The last of so many matches, and where to go on if there may be more.
fn last_of<'t>(
    pattern: &Regex,
    text: &'t str,
    mut from: usize,
    most: usize,
) -> (Option<&'t str>, Option<usize>) {
    let mut last = None;
    for _ in 0..most {
        let Some(captures) = pattern.captures_at(text, from) else { return (last, None) };
        if let Some(taken) = captures.iter().skip(1).flatten().next() {
            last = Some(taken.as_str());
        }
        let end = captures.get(0).map_or(text.len(), |all| all.end());
        // An empty match must not be found again and again.
        from = match end > from {
            true => end,
            false => end + text[end..].chars().next().map_or(1, char::len_utf8),
        };
        if from > text.len() {
            return (last, None);
        }
    }
    (last, Some(from))
}

/// The last line end in a part of the bytes.
fn last_newline(bytes: &[u8], part: Range<usize>) -> Option<usize> {
    let start = part.start;
    bytes[part].iter().rposition(|byte| *byte == b'\n').map(|at| start + at)
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
