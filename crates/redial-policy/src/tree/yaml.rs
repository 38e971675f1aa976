//! YAML 1.2 with the core schema, anchors and aliases, and `<<` merges.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use super::{DEPTH_MAX, Field, Node, Value, aliased_max, gap, malformed, too_deep};
use crate::diagnostic::{Diagnostic, Kind, Span};

pub(super) fn parse(text: &str) -> Result<Vec<Node>, Diagnostic> {
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = builder.offsets.byte(error.marker());
            let place = Span { start: at, end: at };
            match error.info() {
                info if info.contains("recursion") => too_deep(place),
                info => malformed(place, format!("this is not YAML: {info}")),
            }
        })?;
        let span = builder.offsets.span(span);
        builder.take(event, span)?;
    }
    Ok(builder.documents)
}

/// Converts the parser's character offsets to byte offsets.
struct Offsets<'t> {
    text: &'t str,
    /// The byte offset of every 64th character; empty where the text is ASCII.
    stops: Vec<usize>,
}

impl<'t> Offsets<'t> {
    const STEP: usize = 64;

    fn new(text: &'t str) -> Self {
        let stops = match text.is_ascii() {
            true => Vec::new(),
            false => text.char_indices().step_by(Self::STEP).map(|(byte, _)| byte).collect(),
        };
        Self { text, stops }
    }

    fn byte(&self, marker: &Marker) -> usize {
        if self.stops.is_empty() {
            return marker.index().min(self.text.len());
        }
        let stop = (marker.index() / Self::STEP).min(self.stops.len() - 1);
        let rest = &self.text[self.stops[stop]..];
        let within = marker.index() - stop * Self::STEP;
        let further = rest.char_indices().nth(within).map_or(rest.len(), |(byte, _)| byte);
        self.stops[stop] + further
    }

    fn span(&self, span: saphyr_parser::Span) -> Span {
        let start = self.byte(&span.start);
        Span { start, end: self.byte(&span.end).max(start) }
    }
}

/// A list or a map that is still open.
struct Open {
    start: usize,
    anchor: usize,
    tag: Option<(String, Span)>,
    holds: Holds,
}

enum Holds {
    List(Vec<Node>),
    Map(Vec<Field>, Option<(String, Span)>),
}

struct Builder<'t> {
    text: &'t str,
    offsets: Offsets<'t>,
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    /// How many nodes aliases may still expand to.
    aliases: Aliases,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            offsets: Offsets::new(text),
            documents: Vec::new(),
            open: Vec::new(),
            anchors: HashMap::new(),
            aliases: Aliases::of(text),
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Diagnostic> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref());
                let (start, tag_place) = self.past_properties(span, anchor, tag.as_deref());
                let node = Node::new(self.trimmed(Span { start, end: span.end }), value);
                let tag = self.named(tag.as_deref(), tag_place);
                self.place(node, anchor, tag)
            }
            Event::SequenceStart(anchor, tag) => {
                self.enter(span, anchor, tag.as_deref(), Holds::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.enter(span, anchor, tag.as_deref(), Holds::Map(Vec::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::DocumentEnd => {
                self.anchors.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Without the white space at its end, which the parser includes in plain scalars and blocks.
    fn trimmed(&self, span: Span) -> Span {
        let end = span.start + span.of(self.text).trim_end_matches([' ', '\t', '\r', '\n']).len();
        Span { start: span.start, end }
    }

    /// Where a value starts after its anchor and its tag, and the span of the tag. The parser includes
    /// both in the value.
    fn past_properties(&self, span: Span, anchor: usize, tag: Option<&Tag>) -> (usize, Span) {
        let (mut anchored, mut tagged) = (anchor > 0, tag.is_some());
        let mut at = span.start;
        let mut tag_place = Span { start: at, end: at };
        while let Some(first) = self.text[at..span.end].chars().next() {
            let rest = &self.text[at..span.end];
            let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
            match first {
                '&' if anchored => anchored = false,
                '!' if tagged => {
                    tagged = false;
                    tag_place = Span { start: at, end: at + word };
                }
                _ => break,
            }
            at += word + gap(&rest[word..]);
        }
        (at, tag_place)
    }

    fn enter(
        &mut self,
        span: Span,
        anchor: usize,
        tag: Option<&Tag>,
        holds: Holds,
    ) -> Result<(), Diagnostic> {
        if self.open.len() == DEPTH_MAX {
            return Err(too_deep(span));
        }
        let (start, tag_place) = self.past_properties(span, anchor, tag);
        let tag = self.named(tag, tag_place);
        self.open.push(Open { start, anchor, tag, holds });
        Ok(())
    }

    fn named(&self, tag: Option<&Tag>, place: Span) -> Option<(String, Span)> {
        named(tag, place.of(self.text)).map(|name| (name.to_owned(), place))
    }

    fn leave(&mut self, span: Span) -> Result<(), Diagnostic> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.holds {
            Holds::List(nodes) => Value::List(nodes),
            Holds::Map(fields, _) => Value::Map(merged(fields)?),
        };
        let span = self.trimmed(Span { start: open.start, end: span.end.max(open.start) });
        self.place(Node::new(span, value), open.anchor, open.tag)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Diagnostic> {
        // The anchor is not complete yet: the alias is inside of its own value.
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(malformed(span, "this alias is inside of what it stands for".to_owned()));
        };
        let copy = copy(node, span, &mut self.aliases)?;
        self.place(copy, 0, None)
    }

    /// Adds a finished node to the innermost open list or map.
    fn place(
        &mut self,
        node: Node,
        anchor: usize,
        tag: Option<(String, Span)>,
    ) -> Result<(), Diagnostic> {
        // `!exponential {base: 3}` is another spelling of `{exponential: {base: 3}}`.
        let node = match tag {
            Some((key, place)) => {
                let span = Span { start: place.start, end: node.span.end };
                Node::new(span, Value::Map(vec![Field { key, place, value: node }]))
            }
            None => node,
        };
        if anchor > 0 {
            let copy = copy(&node, node.span, &mut self.aliases)?;
            self.anchors.insert(anchor, copy);
        }
        match self.open.last_mut().map(|open| &mut open.holds) {
            None => self.documents.push(node),
            Some(Holds::List(nodes)) => nodes.push(node),
            Some(Holds::Map(fields, key)) => match key.take() {
                None => *key = Some((key_text(&node, self.text)?, node.span)),
                Some((key, place)) => fields.push(Field { key, place, value: node }),
            },
        }
        Ok(())
    }
}

/// A key is a scalar here, whatever YAML allows.
fn key_text(node: &Node, text: &str) -> Result<String, Diagnostic> {
    if let Some(tag) = node.tag(text) {
        return Err(malformed(node.span, format!("a key takes no tag; leave out `{}`", tag.name)));
    }
    match &node.value {
        Value::Text(text) | Value::Number(text) => Ok(text.clone()),
        Value::Bool(boolean) => Ok(boolean.to_string()),
        Value::Null => Ok("null".to_owned()),
        Value::List(_) | Value::Map(_) => {
            Err(malformed(node.span, format!("{} cannot be a key here", node.article())))
        }
    }
}

/// A tag without its first `!`; none for those of the core schema (`!!str`), which change nothing here.
fn named<'t>(tag: Option<&Tag>, written: &'t str) -> Option<&'t str> {
    const CORE: [&str; 7] = ["str", "int", "float", "bool", "null", "map", "seq"];
    let tag = tag?;
    let known = tag.is_yaml_core_schema() && CORE.contains(&tag.suffix.as_str());
    written.strip_prefix('!').filter(|name| !known && !name.is_empty())
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let plain = style == ScalarStyle::Plain;
    let string = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    if !plain || string {
        return Value::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        // A clause has no plus sign.
        _ if is_number(text) => Value::Number(text.strip_prefix('+').unwrap_or(text).to_owned()),
        _ => Value::Text(text.to_owned()),
    }
}

/// Any number of digits with a sign, a point and an exponent; not `.inf` and `.nan`.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && unsigned.parse::<f64>().is_ok()
}

/// How many nodes aliases may expand to, and how many are left of them.
struct Aliases {
    most: usize,
    left: usize,
}

impl Aliases {
    fn of(text: &str) -> Self {
        let most = aliased_max(text);
        Self { most, left: most }
    }
}

/// Clones a node, and counts it against the limit on aliases.
fn copy(node: &Node, span: Span, aliases: &mut Aliases) -> Result<Node, Diagnostic> {
    match aliases.left.checked_sub(size(node)) {
        Some(left) => aliases.left = left,
        None => {
            let most = aliases.most;
            let message = format!(
                "anchors and aliases expand to more than {most} values in a file this long"
            );
            return Err(Diagnostic::new(Kind::TooLarge, span, message));
        }
    }
    Ok(node.clone())
}

/// The size of a node in values; a long string counts as several.
fn size(node: &Node) -> usize {
    match &node.value {
        Value::Text(text) | Value::Number(text) => 1 + text.len() / 64,
        Value::List(nodes) => 1 + nodes.iter().map(size).sum::<usize>(),
        Value::Map(fields) => {
            let field = |field: &Field| 1 + field.key.len() / 64 + size(&field.value);
            1 + fields.iter().map(field).sum::<usize>()
        }
        Value::Null | Value::Bool(_) => 1,
    }
}

/// Merges the maps of `<<`; the map's own keys win.
fn merged(fields: Vec<Field>) -> Result<Vec<Field>, Diagnostic> {
    if !fields.iter().any(|field| field.key == "<<") {
        return Ok(fields);
    }
    let (merges, mut own): (Vec<_>, Vec<_>) =
        fields.into_iter().partition(|field| field.key == "<<");
    let mut known: HashSet<_> = own.iter().map(|field| field.key.clone()).collect();
    for merge in merges {
        let maps = match merge.value.value {
            Value::List(nodes) => nodes,
            value => vec![Node::new(merge.value.span, value)],
        };
        for map in maps {
            let Value::Map(fields) = map.value else {
                let message =
                    format!("`<<` takes a map or a list of maps; this is {}", map.article());
                return Err(malformed(merge.place, message));
            };
            own.extend(fields.into_iter().filter(|field| known.insert(field.key.clone())));
        }
    }
    Ok(own)
}
