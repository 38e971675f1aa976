//! Values that are data and may still not do what was meant.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use crate::reference::{Lookup, look_up};
use crate::template::{Piece, Template};

/// Values that are data and may still not do what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    /// What is suspicious about it.
    pub kind: SuspicionKind,
    /// Which argument it stands in, counted from zero; none in a shell line.
    pub argument: Option<usize>,
    /// The reference whose value it is.
    pub reference: String,
    /// Where that stands in its template.
    pub span: Range<usize>,
}

/// The kinds of [`Suspicion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SuspicionKind {
    /// A whole argument that begins with `-`: most programs take it for an option.
    LooksLikeAnOption,
    /// `..` as a part of a file name that has other parts: it leads out of the directory that the flow names.
    LeavesTheDirectory,
}

impl SuspicionKind {
    #[cfg(unix)]
    pub(crate) const ALL: [Self; 2] = [Self::LooksLikeAnOption, Self::LeavesTheDirectory];
}

impl Display for Suspicion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let reference = &self.reference;
        match self.kind {
            SuspicionKind::LooksLikeAnOption => write!(
                f,
                "the value of `{reference}` begins with `-` and looks like an option; put `--` or `./` before it"
            ),
            SuspicionKind::LeavesTheDirectory => write!(
                f,
                "the value of `{reference}` has `..` and leads out of the directory; check it where it comes from"
            ),
        }
    }
}

/// What is suspicious about the values of an argument list. References without a value are left out:
/// rendering tells.
///
/// A value that is a whole argument may begin with `-`, unless `--` stands before it. One that is a
/// part of an argument may have `..` between slashes, which a whole argument may have, too: `redial
/// map -- ls {}` is about the files that it is given.
pub fn suspicions(arguments: &[Template], values: &dyn Lookup) -> Vec<Suspicion> {
    let mut found = Vec::new();
    let mut options = true;
    for (index, template) in arguments.iter().enumerate() {
        options &= template.text() != Some(b"--");
        for (place, piece) in template.pieces.iter().enumerate() {
            let Piece::Value(reference) = piece else { continue };
            let Ok(value) = look_up(values, reference) else { continue };
            let first = place == 0 && options && index > 0;
            let part = template.pieces.len() > 1;
            let kinds = suspicious(&value.bytes(), first, part);
            found.extend(kinds.map(|kind| Suspicion {
                kind,
                argument: Some(index),
                reference: reference.to_string(),
                span: reference.span(),
            }));
        }
    }
    found
}

/// What is suspicious about one value, if it begins an argument and if it is a part of a file name.
pub(crate) fn suspicious(
    value: &[u8],
    first: bool,
    part: bool,
) -> impl Iterator<Item = SuspicionKind> + use<> {
    let option = first && value.len() > 1 && value[0] == b'-';
    let climbs = part && value.split(|&byte| byte == b'/').any(|name| name == b"..");
    let option = option.then_some(SuspicionKind::LooksLikeAnOption);
    option.into_iter().chain(climbs.then_some(SuspicionKind::LeavesTheDirectory))
}
