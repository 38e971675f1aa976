//! What tests read back of the XML that is written.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event as Xml};

/// An element, its attributes and all that is in it.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) text: String,
    pub(crate) children: Vec<Self>,
}

impl Element {
    pub(crate) fn is(&self, attribute: &str, value: &str) -> bool {
        self.attributes.get(attribute).is_some_and(|found| found == value)
    }
}

/// The outermost element; anything that is not well-formed is a failure.
pub(crate) fn parsed(text: &str) -> Element {
    // The parser is not strict about these.
    let allowed = |c: char| !c.is_control() || c == '\n';
    assert!(text.chars().all(|c| allowed(c) && !matches!(c, '\u{fffe}' | '\u{ffff}')), "{text:?}");
    let mut reader = Reader::from_str(text);
    let mut open = vec![Element::default()];
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error} in {text}")) {
            Xml::Start(start) => open.push(element(&start)),
            Xml::Empty(start) => {
                let empty = element(&start);
                open.last_mut().unwrap().children.push(empty);
            }
            Xml::End(_) => {
                let closed = open.pop().unwrap();
                open.last_mut().unwrap().children.push(closed);
            }
            Xml::Text(text) => open.last_mut().unwrap().text.push_str(&text.xml10_content()),
            Xml::GeneralRef(reference) => {
                let name = reference.xml10_content();
                let c = unescape(&format!("&{name};")).unwrap().into_owned();
                open.last_mut().unwrap().text.push_str(&c);
            }
            Xml::Eof => break,
            Xml::Decl(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let mut document = open.pop().unwrap();
    assert!(open.is_empty());
    document.children.pop().unwrap()
}

fn element(start: &BytesStart<'_>) -> Element {
    let attributes = start.attributes().map(|attribute| {
        let attribute = attribute.unwrap();
        let value = unescape(&attribute.value).unwrap().into_owned();
        (attribute.key.as_ref().to_owned(), value)
    });
    let attributes = attributes.collect();
    Element { name: start.name().as_ref().to_owned(), attributes, ..Element::default() }
}
