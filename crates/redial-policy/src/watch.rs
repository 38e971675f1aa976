//! Searches the output of an attempt for the patterns of rules, in a window that moves along the stream.
//!
//! A full window goes through a sieve first, which rules patterns out in one pass. So watching costs
//! little, and no pattern holds up the command: a pattern that the sieve gives up on is searched for
//! only at the end of the stream, and [`Watch::partly_watched`] names it.

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

/// How much of a stream is searched at once.
const WINDOW: usize = 128 << 10;

/// How much of the window is searched again together with what follows it. A match that is not longer is
/// always found.
const OVERLAP: usize = 16 << 10;

/// The window of a stream without rules. The quarter of it that stays is enough for [`Watch::tail`].
const UNWATCHED: usize = 4 * TAIL_MAX;

/// A text up to this length is searched without a sieve, because building one takes longer. It is also
/// how much of the end of a stream is searched for a pattern that the sieve gave up on.
const SHORT: usize = 4 << 10;

const TAIL_MAX: usize = 2 << 10;

/// The longest text that is captured as a delay; a number with a unit is a few letters.
const CAPTURED_MAX: usize = 1 << 10;

/// Something to search for in a stream.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) stream: Stream,
    pub(crate) seeks: Seeks,
}

#[derive(Clone, Debug)]
pub(crate) enum Seeks {
    Pattern(Output),
    Matcher(Matcher),
    /// The last text that a group of the pattern captures.
    Captured(Output),
    /// The `Retry-After` of the last HTTP response whose headers are printed.
    RetryAfter,
}

impl Probe {
    /// A necessary condition: what is sought is only where this pattern matches.
    fn pattern(&self) -> &str {
        match &self.seeks {
            Seeks::Pattern(output) | Seeks::Captured(output) => output.pattern.as_str(),
            Seeks::Matcher(matcher) => matcher.approximate(),
            Seeks::RetryAfter => "",
        }
    }

    fn sought(&self, number: usize) -> Option<Sought> {
        let mode = match &self.seeks {
            Seeks::Pattern(output) | Seeks::Captured(output) => output.mode(),
            Seeks::Matcher(_) => Mode::Text,
            Seeks::RetryAfter => return None,
        };
        Sought::new(number, self.pattern(), mode)
    }
}

/// The output of one attempt, as [`Rules`](crate::Rules) search it.
///
/// It takes at most 128 KiB for each stream, however much is printed, and some for its patterns. The
/// output need not be UTF-8. A match is never forgotten.
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
    /// One for each stream, as the next two.
    windows: [Window; 2],
    /// Where a probe looks for headers.
    headers: [Option<Headers>; 2],
    /// Once there is more than [`SHORT`] to search.
    sieves: [Option<Sieves>; 2],
}

/// What has been found of a probe.
#[derive(Clone, Debug, Default)]
struct Latch {
    hit: bool,
    captured: Option<String>,
    /// Whether the window has been searched as it is now.
    settled: bool,
    /// Whether only the end of the stream is searched, because the sieve gave up on the pattern.
    is_partial: bool,
}

#[derive(Clone, Debug)]
struct Window {
    bytes: Vec<u8>,
    size: usize,
    /// Whether it still begins at the start of the stream.
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

    /// The end of what was printed, at most 2 KiB; invalid UTF-8 is replaced.
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

    /// The delay that a probe has found, as printed; and the `Date` of the response from which it counts,
    /// if there was one.
    pub(crate) fn delay(&mut self, at: usize) -> Option<(&str, Option<SystemTime>)> {
        let probe = self.probes.get(at)?;
        match probe.seeks {
            Seeks::RetryAfter => self.headers[probe.stream as usize].as_ref()?.retry_after(),
            _ => Some((self.settled(at)?.captured.as_deref()?, None)),
        }
    }

    /// The patterns that were not searched for everywhere: from some point on, only in the last 4 KiB,
    /// because searching everywhere would have held up the command. `a[ab]{20}[^ab\n][ab]` is one. Matches
    /// may have been missed.
    ///
    /// Which patterns, and from which point on, depends on the pattern and the output alone.
    pub fn partly_watched(&self) -> impl Iterator<Item = &str> {
        let all = self.probes.iter().zip(&self.latches);
        let missed = all.filter(|(probe, latch)| latch.is_partial && latch.is_open(probe));
        missed.map(|(probe, _)| probe.pattern())
    }

    /// What has been found of a probe, after searching all that is in the window.
    fn settled(&mut self, at: usize) -> Option<&Latch> {
        let (probe, latch) = (self.probes.get(at)?, self.latches.get_mut(at)?);
        let window = &self.windows[probe.stream as usize];
        let length = window.bytes.len();
        if !latch.settled && latch.is_open(probe) {
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

    /// Searches the window of a stream up to `end`, for all probes that are still open.
    fn look(&mut self, stream: Stream, end: usize, last: bool) {
        let Self { probes, latches, windows, sieves, .. } = self;
        let is_open = |at: usize, latches: &[Latch]| {
            probes[at].stream == stream && latches[at].is_open(&probes[at])
        };
        let open: Vec<_> = (0..probes.len()).filter(|at| is_open(*at, latches)).collect();
        if open.is_empty() {
            return;
        }
        let (text, from) = windows[stream as usize].text(end);
        let sieves = sieves[stream as usize].get_or_insert_with(|| {
            let sought = open.iter().filter_map(|at| probes[*at].sought(*at));
            Sieves::new(sought.collect())
        });
        // After the last newline there is no line, unless more follows.
        let complete = if last { &text } else { text.strip_suffix('\n').unwrap_or(&text) };
        let Passed { hits, given_up } = sieves.pass(complete, from);
        given_up.into_iter().for_each(|at| latches[at].is_partial = true);
        for at in hits {
            latches[at].look(&probes[at], &text, from, last);
        }
        sieves.retain(|at| is_open(at, latches));
        if last {
            let short = (text.len().saturating_sub(SHORT)..).find(|at| text.is_char_boundary(*at));
            for at in open {
                if latches[at].is_partial {
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

    /// How much of it is searched again. At most a quarter, so that a full window always moves on.
    fn overlap(&self) -> usize {
        OVERLAP.min(self.size / 4)
    }

    /// Where the last whole line ends; where all of it is one long line, the last whole character.
    fn end_of_lines(&self) -> usize {
        let length = self.bytes.len();
        let newline = last_newline(&self.bytes, length.saturating_sub(self.overlap())..length);
        newline.map_or_else(|| whole_characters(&self.bytes, length), |newline| newline + 1)
    }

    /// Keeps the end of what has been searched, because a match may begin in it.
    fn move_on(&mut self, searched: usize) {
        let kept = searched.saturating_sub(self.overlap());
        // From a newline on, so that `^` matches after it.
        let cut = last_newline(&self.bytes, kept.saturating_sub(self.overlap())..kept);
        self.bytes.drain(..cut.unwrap_or_else(|| whole_characters(&self.bytes, kept)));
        self.whole = false;
    }

    /// The text up to `end`, and where to search from. In the middle of a stream that is after the first
    /// character, which is there for `^` and `\b`.
    fn text(&self, end: usize) -> (Cow<'_, str>, usize) {
        let bytes = &self.bytes[..end];
        // Validating UTF-8 is several times as fast as `from_utf8_lossy`.
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
    /// Whether to go on searching: a delay is that of the last match; of other patterns one match is
    /// enough.
    fn is_open(&self, probe: &Probe) -> bool {
        match probe.seeks {
            Seeks::Captured(_) => true,
            Seeks::RetryAfter => false,
            _ => !self.hit,
        }
    }

    fn look(&mut self, probe: &Probe, text: &str, from: usize, last: bool) {
        match &probe.seeks {
            Seeks::Pattern(output) => {
                let found = output.pattern.find_at(text, from);
                // After the last newline there is no line, unless more follows.
                let open = last && !text.ends_with('\n');
                self.hit |= found.is_some_and(|found| open || found.start() < text.len());
            }
            // An error message does not contain the newline that is printed after it.
            Seeks::Matcher(Matcher::Pattern(pattern)) => {
                let text = if last { text.trim_end() } else { text };
                self.hit |= pattern.is_match_at(text, from.min(text.len()));
            }
            Seeks::Matcher(matcher) => self.hit |= matcher.matches(&text[from..], false),
            Seeks::Captured(output) => {
                if let Some(captured) = last_captured(&output.pattern, text, from) {
                    self.hit = true;
                    self.captured = Some(captured.chars().take(CAPTURED_MAX).collect());
                }
            }
            Seeks::RetryAfter => {}
        }
    }
}

/// The first capture group of the last match.
fn last_captured<'t>(pattern: &Regex, text: &'t str, from: usize) -> Option<&'t str> {
    // Each match may read to the end of its line, so that a long line of matches would take quadratic time.
    // After so many matches, or so many reads of each byte, only the end of the text is searched.
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
        if let Some(captured) = captures.iter().skip(1).flatten().next() {
            last = Some(captured.as_str());
        }
        let end = captures.get(0).map_or(text.len(), |all| all.end());
        let line = text[end..].find('\n').map_or(text.len(), |length| end + length);
        looks = looks.saturating_sub(line - from);
        // An empty match would be found again for ever.
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

/// The last newline in a part of the bytes.
fn last_newline(bytes: &[u8], part: Range<usize>) -> Option<usize> {
    let start = part.start;
    memchr::memrchr(b'\n', &bytes[part]).map(|at| start + at)
}

/// `end`, or the start of the UTF-8 character that it would cut in two.
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
