//! `Retry-After` in the headers of HTTP responses that a program prints.

use std::time::SystemTime;

/// How much of a line is kept. The names and values that matter here are short.
const LINE_MAX: usize = 1 << 10;

/// The longest block of headers, which is also curl's limit. A longer one is not a block of headers.
const BLOCK_MAX: usize = 300 << 10;

/// Reads a stream line by line and keeps `Retry-After` and `Date` of the last block of headers, which
/// is the answer to the last request: after redirects, after a proxy's answer, after `100 Continue`.
///
/// A block begins with a status line and ends with an empty line. Lines elsewhere are not headers.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    /// Whether bodies are on this stream too. Then a block begins only at the start of the stream or right
    /// after a block without a body. Anything else is a body, even if it looks like a block.
    with_bodies: bool,
    line: Vec<u8>,
    /// Whether the last byte was a carriage return. A newline after it ends the line; anything else
    /// overwrites the line.
    returned: bool,
    place: Place,
    /// Whether the block is of a response whose body programs print, and has one as far as its status
    /// and headers tell.
    is_last: bool,
    has_body: bool,
    /// How much of the block there is so far.
    length: usize,
    retry_after: Option<String>,
    date: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Between,
    Block(Mark),
    /// The rest of the stream, where it has bodies.
    Body,
}

/// What the lines of a block begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Nothing: `curl --include` and `--dump-header`.
    None,
    /// `< `: `curl --verbose`, which has notes of its own in between.
    Arrow,
    /// Two spaces: `wget --server-response`, which has no empty line at the end.
    Indent,
}

impl Headers {
    pub(crate) fn new(with_bodies: bool) -> Self {
        Self {
            with_bodies,
            line: Vec::new(),
            returned: false,
            place: Place::Between,
            is_last: false,
            has_body: false,
            length: 0,
            retry_after: None,
            date: None,
        }
    }

    /// Takes what was just printed, in pieces of any size.
    pub(crate) fn saw(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.place != Place::Body {
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let (text, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if !text.is_empty() {
                if std::mem::take(&mut self.returned) {
                    self.line.clear();
                }
                let room = LINE_MAX.saturating_sub(self.line.len());
                self.line.extend_from_slice(&text[..text.len().min(room)]);
            }
            match rest.first() {
                Some(b'\n') => {
                    self.returned = false;
                    // Most lines are not headers, and need not be decoded.
                    if self.place != Place::Between || may_be_status_line(&self.line) {
                        let line = std::mem::take(&mut self.line);
                        self.end_of(&plain(&String::from_utf8_lossy(&line)));
                    } else if self.with_bodies {
                        self.place = Place::Body;
                    }
                    self.line.clear();
                }
                Some(_) => self.returned = true,
                None => {}
            }
            bytes = rest.get(1..).unwrap_or_default();
        }
    }

    /// The `Retry-After` of the last block, and its `Date`.
    pub(crate) fn retry_after(&self) -> Option<(&str, Option<SystemTime>)> {
        let date = self.date.as_deref().and_then(|date| httpdate::parse_http_date(date).ok());
        Some((self.retry_after.as_deref()?, date))
    }

    fn end_of(&mut self, line: &str) {
        if let Some((mark, status)) = self.begun_by(line) {
            self.place = Place::Block(mark);
            (self.is_last, self.has_body, self.length) = (is_last(status), is_error(status), 0);
            (self.retry_after, self.date) = (None, None);
            return;
        }
        // With its newline.
        self.length += line.len() + 1;
        match self.place {
            Place::Block(_) if self.length > BLOCK_MAX => {
                self.place = if self.with_bodies { Place::Body } else { Place::Between };
                (self.retry_after, self.date) = (None, None);
            }
            Place::Block(mark) => match mark.removed_from(line) {
                Some("") if self.with_bodies && self.is_last && self.has_body => {
                    self.place = Place::Body;
                }
                Some("") => self.place = Place::Between,
                Some(header) => self.header(header),
                None if mark == Mark::Indent => self.place = Place::Between,
                None => {}
            },
            Place::Between if self.with_bodies => self.place = Place::Body,
            Place::Between | Place::Body => {}
        }
    }

    /// The mark of a block whose status line this is, and its status.
    fn begun_by<'l>(&self, line: &'l str) -> Option<(Mark, &'l str)> {
        let (before, status_line) = line.split_at(line.find("HTTP/")?);
        let status = status_of(status_line)?;
        if self.with_bodies && !before.is_empty() {
            return None;
        }
        // The progress meter of curl does not end with a newline: the next line follows right after it.
        let is_meter = |text: &str| text.chars().all(|it| " 0123456789.:-kMGTP".contains(it));
        let mark = match before.strip_suffix("< ") {
            Some(meter) => is_meter(meter).then_some(Mark::Arrow),
            None if before == "  " => Some(Mark::Indent),
            None => is_meter(before).then_some(Mark::None),
        };
        Some((mark?, status))
    }

    fn header(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else { return };
        self.has_body = tells_of_body(name, value.trim()).unwrap_or(self.has_body);
        let field = match name {
            _ if name.eq_ignore_ascii_case("retry-after") => &mut self.retry_after,
            _ if name.eq_ignore_ascii_case("date") => &mut self.date,
            _ => return,
        };
        field.get_or_insert_with(|| value.trim().to_owned());
    }
}

impl Mark {
    fn removed_from(self, line: &str) -> Option<&str> {
        match self {
            Self::None => Some(line),
            Self::Arrow => line.strip_prefix('<').map(str::trim_start),
            Self::Indent => line.strip_prefix("  "),
        }
    }
}

/// Whether a line contains `HTTP/`, or an escape sequence, which may split that.
fn may_be_status_line(line: &[u8]) -> bool {
    memchr::memchr(b'\x1b', line).is_some() || memchr::memmem::find(line, b"HTTP/").is_some()
}

/// The status in `HTTP/1.1 503 Service Unavailable` or `HTTP/2 503`.
fn status_of(text: &str) -> Option<&str> {
    let mut words = text.split(' ');
    let version = words.next()?.strip_prefix("HTTP/")?;
    let status = words.next()?;
    let is_made_of = |text: &str, point: bool| {
        text.bytes().all(|byte| byte.is_ascii_digit() || (point && byte == b'.'))
    };
    let is_version = !version.is_empty() && is_made_of(version, true);
    (is_version && status.len() == 3 && is_made_of(status, false)).then_some(status)
}

/// Whether this is the final response. After `100 Continue`, a redirect or an authentication challenge
/// another one follows, and programs that follow it do not print the body in between.
fn is_last(status: &str) -> bool {
    !(status.starts_with(['1', '3']) || status == "401" || status == "407")
}

/// Whether the response may have a body without saying so, which then ends with the connection
/// (HTTP/1.0). `200 Connection established` of a proxy has none, and another block follows it.
fn is_error(status: &str) -> bool {
    status.starts_with(['4', '5'])
}

/// Whether a header says that there is a body, or that there is none.
fn tells_of_body(name: &str, value: &str) -> Option<bool> {
    if name.eq_ignore_ascii_case("content-length") {
        return Some(value != "0");
    }
    let says = ["transfer-encoding", "content-type"].iter().any(|it| name.eq_ignore_ascii_case(it));
    says.then_some(true)
}

/// The text without SGR escape sequences, with which curl prints the names of headers in bold.
fn plain(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|it: char| it.is_ascii_alphabetic()).map_or(piece.len(), |at| at + 1);
        plain += &piece[end..];
    }
    plain
}
