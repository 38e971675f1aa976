//! Which items, and in which order.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::vec;

use redial_policy::Span;
use serde_json::Value as Json;

use super::field::FieldPath;
use super::index::Index;
use super::key::{hash, write, write_json};
use super::{BadItem, BadPath, Item};
use crate::expression::{Expression, ItemScope};
use crate::{Value, number};

/// Which items of a source are taken, and in which order: first `filter`, then `sort_by`, `distinct`,
/// `offset` and `max_items`.
///
/// Without `sort_by`, items come as they are read, and reading stops after the last one that is taken.
///
/// - `distinct` keeps a fingerprint of each value it met: 19 bytes, and that one of a million is left out wrongly has a
///   probability of 2.7 · 10⁻⁸.
/// - `sort_by` reads the whole source before the first item comes. With `max_items` and without `distinct` it keeps at most twice
///   `offset + max_items` of them; else all that the filter lets through. What it keeps is bounded by `sort_bytes`.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Which items; an item for which it fails is an error of that item.
    pub filter: Option<Expression>,
    /// In which order; items that are equal stay in theirs.
    pub sort_by: Option<SortBy>,
    /// Of those with the same value of this field, the first. What has no such field has null.
    pub distinct: Option<FieldPath>,
    /// How many of the first are left out.
    pub offset: u64,
    /// How many are taken.
    pub max_items: Option<u64>,
    /// How many bytes of memory `sort_by` may take for items, about: 64 MiB.
    pub sort_bytes: usize,
    /// The run's, for the fingerprints of `distinct`.
    pub seed: u64,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            filter: None,
            sort_by: None,
            distinct: None,
            offset: 0,
            max_items: None,
            sort_bytes: 64 << 20,
            seed: 0,
        }
    }
}

/// Fields to sort by: `severity DESC, score ASC NULLS FIRST`.
///
/// Rising is the default, and what has no such field comes last, in either direction, unless it says
/// `NULLS FIRST`. False comes before true, that before numbers, then text by its bytes, lists and
/// objects by their size. Text that is a number, as all numbers of a CSV file are, counts as one: 9 comes before 10.
///
/// ```
/// use redial_flow::SortBy;
/// assert!(SortBy::parse("item.priority DESC, created_at").is_ok());
/// let wrong = SortBy::parse("priority DOWN").unwrap_err();
/// assert_eq!(wrong.message, "`DOWN` is none of ASC, DESC, NULLS FIRST, NULLS LAST");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortBy {
    fields: Vec<SortField>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SortField {
    path: FieldPath,
    descending: bool,
    nulls_first: bool,
}

impl SortBy {
    /// Reads the fields.
    ///
    /// # Errors
    ///
    /// If a field is missing, or a word after it is none that is known.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        let mut fields = Vec::new();
        let mut start = 0;
        for part in text.split(',') {
            let place = |word: &str| {
                let at = start + part.find(word).unwrap_or(0);
                Span { start: at, end: at + word.len() }
            };
            let mut words = part.split_whitespace();
            let Some(name) = words.next() else {
                let message = "the name of a field is missing".to_owned();
                return Err(BadPath { span: place(part), message });
            };
            let path = FieldPath::parse(name).map_err(|bad| {
                let at = place(name).start;
                BadPath {
                    span: Span { start: at + bad.span.start, end: at + bad.span.end },
                    message: bad.message,
                }
            })?;
            let mut field = SortField { path, descending: false, nulls_first: false };
            while let Some(word) = words.next() {
                let unknown = |word: &str| {
                    let message = format!("`{word}` is none of ASC, DESC, NULLS FIRST, NULLS LAST");
                    Err(BadPath { span: place(word), message })
                };
                match word.to_ascii_uppercase().as_str() {
                    "ASC" | "ASCENDING" => field.descending = false,
                    "DESC" | "DESCENDING" => field.descending = true,
                    "NULLS" => match words.next().map(str::to_ascii_uppercase).as_deref() {
                        Some("FIRST") => field.nulls_first = true,
                        Some("LAST") => field.nulls_first = false,
                        _ => return unknown(word),
                    },
                    _ => return unknown(word),
                }
            }
            fields.push(field);
            start += part.len() + 1;
        }
        Ok(Self { fields })
    }

    fn order(&self, left: &Value, right: &Value) -> Ordering {
        self.fields.iter().fold(Ordering::Equal, |order, field| {
            order.then_with(|| {
                let some = |item| field.path.of(item).filter(|json| !json.is_null());
                match (some(left), some(right)) {
                    (None, None) => Ordering::Equal,
                    (None, Some(_)) if field.nulls_first => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some(_), None) if field.nulls_first => Ordering::Greater,
                    (Some(_), None) => Ordering::Less,
                    (Some(left), Some(right)) if field.descending => order_of(right, left),
                    (Some(left), Some(right)) => order_of(left, right),
                }
            })
        })
    }
}

/// A total order.
fn order_of(left: &Json, right: &Json) -> Ordering {
    let rank = |json: &Json| match json {
        Json::Null => 0,
        Json::Bool(_) => 1,
        Json::Number(_) => 2,
        json if number_in(json).is_some() => 2,
        Json::String(_) => 3,
        Json::Array(_) => 4,
        Json::Object(_) => 5,
    };
    if let (Some(left), Some(right)) = (number_in(left), number_in(right)) {
        return number::order(&left, &right);
    }
    match (left, right) {
        (Json::Bool(left), Json::Bool(right)) => left.cmp(right),
        _ if rank(left) != rank(right) => rank(left).cmp(&rank(right)),
        (Json::String(left), Json::String(right)) => left.cmp(right),
        (Json::Array(left), Json::Array(right)) => left.len().cmp(&right.len()),
        (Json::Object(left), Json::Object(right)) => left.len().cmp(&right.len()),
        _ => rank(left).cmp(&rank(right)),
    }
}

/// A number, also one that stands in text: the fields of a CSV file are all text.
fn number_in(json: &Json) -> Option<Cow<'_, str>> {
    match json {
        Json::String(text) => number::in_text(text).map(Cow::Borrowed),
        json => number::of(json),
    }
}

impl Selection {
    /// The items of a source that are taken. Errors of the source come through, and count for nothing.
    ///
    /// ```
    /// use redial_flow::{Expression, Format, Items, Selection};
    ///
    /// let source = Items::new("{\"n\":1}\n{\"n\":5}\n{\"n\":7}\n".as_bytes(), Format::JsonLines);
    /// let filter = Some(Expression::parse("n > 2")?);
    /// let selection = Selection { filter, max_items: Some(1), ..Selection::default() };
    /// let items: Result<Vec<_>, _> = selection.of(source).collect();
    /// assert_eq!(items.unwrap()[0].number, 2);
    /// # Ok::<(), redial_flow::BadExpression>(())
    /// ```
    pub fn of<I>(self, items: I) -> Selected<I>
    where
        I: Iterator<Item = Result<Item, BadItem>>,
    {
        Selected {
            items,
            selection: self,
            met: Index::default(),
            left_out: 0,
            taken: 0,
            held: Vec::new(),
            held_bytes: 0,
            sorted: None,
            over: false,
        }
    }
}

/// The items that a [`Selection`] takes.
#[derive(Debug)]
pub struct Selected<I> {
    items: I,
    selection: Selection,
    met: Index,
    left_out: u64,
    taken: u64,
    /// What is to be sorted, and how much memory it has.
    held: Vec<Item>,
    held_bytes: usize,
    sorted: Option<vec::IntoIter<Item>>,
    over: bool,
}

impl<I: Iterator<Item = Result<Item, BadItem>>> Iterator for Selected<I> {
    type Item = Result<Item, BadItem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over || self.selection.max_items.is_some_and(|most| self.taken >= most) {
            return None;
        }
        if self.selection.sort_by.is_none() {
            return loop {
                match self.items.next()? {
                    Ok(item) => match self.passes(&item) {
                        Ok(true) if self.takes(&item) => break Some(Ok(item)),
                        Ok(_) => {}
                        Err(bad) => break Some(Err(bad)),
                    },
                    Err(bad) => break Some(Err(bad)),
                }
            };
        }
        if self.sorted.is_none() {
            // What is wrong comes first, as it is read. Where the source breaks off, nothing is known of the order.
            match self.gather() {
                Ok(()) => self.sorted = Some(std::mem::take(&mut self.held).into_iter()),
                Err(bad) => {
                    self.over = bad.last;
                    return Some(Err(bad));
                }
            }
        }
        loop {
            let item = self.sorted.as_mut()?.next()?;
            if self.takes(&item) {
                return Some(Ok(item));
            }
        }
    }
}

impl<I: Iterator<Item = Result<Item, BadItem>>> Selected<I> {
    fn passes(&self, item: &Item) -> Result<bool, BadItem> {
        let Some(filter) = &self.selection.filter else { return Ok(true) };
        filter.holds(&ItemScope::new(&item.value)).map_err(|error| BadItem {
            number: item.number,
            place: item.place,
            message: format!("`{}`: {error}", error.span.of(filter.text())),
            last: false,
        })
    }

    /// Reads on to the end, or to the next item that is wrong.
    fn gather(&mut self) -> Result<(), BadItem> {
        // Without `distinct`, what comes later than this cannot be taken.
        let most = self.selection.max_items.filter(|_| self.selection.distinct.is_none());
        let most = most.map(|most| self.selection.offset.saturating_add(most));
        let most = most.and_then(|most| usize::try_from(most).ok());
        while let Some(item) = self.items.next() {
            let item = item?;
            if !self.passes(&item)? {
                continue;
            }
            self.held_bytes = self.held_bytes.saturating_add(bytes_of(&item));
            let (number, place) = (item.number, item.place);
            self.held.push(item);
            if most.is_some_and(|most| self.held.len() > most.saturating_mul(2).saturating_add(64))
            {
                self.sort(most);
            }
            if self.held_bytes > self.selection.sort_bytes {
                self.sort(most);
            }
            if self.held_bytes > self.selection.sort_bytes {
                let message = format!(
                    "sort_by has to hold more than {} bytes of items; give a max_items, or sort them before",
                    self.selection.sort_bytes
                );
                return Err(BadItem { number, place, message, last: true });
            }
        }
        self.sort(most);
        Ok(())
    }

    fn sort(&mut self, most: Option<usize>) {
        if let Some(by) = &self.selection.sort_by {
            self.held.sort_by(|left, right| by.order(&left.value, &right.value));
        }
        if let Some(most) = most {
            self.held.truncate(most);
            self.held_bytes = self.held.iter().map(bytes_of).sum();
        }
    }

    /// Of an item in its order: not met before, and past the offset.
    fn takes(&mut self, item: &Item) -> bool {
        if let Some(field) = &self.selection.distinct {
            let fingerprint = hash(self.selection.seed, |hasher| match &item.value {
                value @ Value::Bytes(_) if field.is_whole() => write(hasher, value),
                value => write_json(hasher, field.of(value).unwrap_or(&Json::Null)),
            });
            if self.met.see(fingerprint) {
                return false;
            }
        }
        if self.left_out < self.selection.offset {
            self.left_out += 1;
            return false;
        }
        self.taken += 1;
        true
    }
}

/// About what an item takes in memory.
fn bytes_of(item: &Item) -> usize {
    fn of(json: &Json) -> usize {
        size_of::<Json>()
            + match json {
                Json::String(text) => text.capacity(),
                Json::Array(list) => list.iter().map(of).sum(),
                // A name, its hash and its place in the table.
                Json::Object(map) => {
                    map.iter().map(|(name, json)| 56 + name.len() + of(json)).sum()
                }
                _ => 0,
            }
    }
    size_of::<Item>()
        + match &item.value {
            Value::Json(json) => of(json),
            Value::Bytes(bytes) => bytes.capacity(),
        }
}
