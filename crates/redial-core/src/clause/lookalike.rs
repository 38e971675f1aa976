//! Characters that look like those of a clause, or like nothing at all: a no-break space, a
//! typographic quote, a byte order mark. They come along when a policy is copied from a page, a
//! chat or a word processor, and nobody sees why it is refused.

/// A character that is not what it looks like.
///
/// ```
/// use redial_core::clause::Lookalike;
///
/// let found = Lookalike::of('\u{a0}').unwrap();
/// assert_eq!((found.name(), found.meant()), ("a no-break space", " "));
/// assert_eq!(Lookalike::of('：').unwrap().meant(), ":");
/// assert_eq!(Lookalike::of('é'), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookalike {
    character: char,
    name: &'static str,
    meant: &'static str,
}

impl Lookalike {
    /// What there is to say of this character, if it is one.
    #[inline]
    pub const fn of(character: char) -> Option<Self> {
        let (name, meant) = match character {
            '\u{a0}' => ("a no-break space", " "),
            '\u{202f}' => ("a narrow no-break space", " "),
            '\u{3000}' => ("an ideographic space", " "),
            '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{205f}' => ("a typographic space", " "),
            '\u{85}' | '\u{2028}' | '\u{2029}' => ("a line separator", " "),
            '\u{200b}' => ("a zero width space", ""),
            '\u{200c}' => ("a zero width non-joiner", ""),
            '\u{200d}' => ("a zero width joiner", ""),
            '\u{2060}' => ("a word joiner", ""),
            '\u{feff}' => ("a byte order mark", ""),
            '\u{ad}' => ("a soft hyphen", ""),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                ("a mark of the direction of reading", "")
            }
            '\u{2018}'..='\u{201b}' => ("a typographic quote", "'"),
            '\u{201c}'..='\u{201f}' | '«' | '»' => ("a typographic quote", "\""),
            '、' => ("an ideographic comma", ","),
            '\u{ff01}'..='\u{ff5e}' => {
                ("a full-width character", ascii(character as usize - 0xff01))
            }
            _ => return None,
        };
        Some(Self { character, name, meant })
    }

    /// The character itself.
    #[inline]
    pub const fn character(self) -> char {
        self.character
    }

    /// What it is called, with its article.
    #[inline]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// What was meant; nothing where the character is to be left out.
    #[inline]
    pub const fn meant(self) -> &'static str {
        self.meant
    }
}

/// The printable characters of ASCII from `!` on, whose full-width forms stand in the same order.
#[inline]
const fn ascii(at: usize) -> &'static str {
    const ASCII: &[u8] = b"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ\
                           [\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
    let (_, rest) = ASCII.split_at(at);
    match core::str::from_utf8(rest.split_at(1).0) {
        Ok(character) => character,
        Err(_) => "",
    }
}

/// The character at this byte of a text, and how many bytes it takes.
#[inline]
pub(crate) const fn character(bytes: &[u8], at: usize) -> (char, usize) {
    let (width, first) = match bytes[at] {
        byte @ ..0x80 => (1, byte as u32),
        byte @ 0x80..0xe0 => (2, byte as u32 & 0x1f),
        byte @ 0xe0..0xf0 => (3, byte as u32 & 0x0f),
        byte => (4, byte as u32 & 0x07),
    };
    let mut code = first;
    let mut i = 1;
    while i < width && at + i < bytes.len() {
        code = code << 6 | (bytes[at + i] & 0x3f) as u32;
        i += 1;
    }
    match char::from_u32(code) {
        Some(character) => (character, width),
        None => (char::REPLACEMENT_CHARACTER, width),
    }
}
