//! A picture taken apart again.

use crate::xml::{Element, parsed};

/// A part of a picture, where it is seen.
#[derive(Clone, Debug)]
pub(super) struct Part<'x> {
    element: &'x Element,
    /// How far down the groups around it move it.
    down: f64,
    /// Whether it belongs to a series, and not to a legend.
    in_series: bool,
}

/// All parts of a picture in order.
pub(super) fn parts(picture: &Element) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    collect(picture, (0.0, false), &mut parts);
    parts
}

/// The picture as a tree.
pub(super) fn picture(svg: &str) -> Element {
    let picture = parsed(svg);
    assert_eq!(picture.name, "svg");
    picture
}

fn collect<'x>(element: &'x Element, around: (f64, bool), parts: &mut Vec<Part<'x>>) {
    let moved = element.attributes.get("transform").map_or(0.0, |transform| {
        transform.trim_start_matches("translate(0 ").trim_end_matches(')').parse().unwrap()
    });
    let mut part = Part { element, down: around.0 + moved, in_series: around.1 };
    part.in_series |= part.is("g", "series");
    let around = (part.down, part.in_series);
    parts.push(part);
    element.children.iter().for_each(|child| collect(child, around, parts));
}

impl Part<'_> {
    pub(super) fn is(&self, name: &str, class: &str) -> bool {
        let classes = self.element.attributes.get("class").map_or("", String::as_str);
        self.element.name == name && classes.split(' ').any(|one| one == class)
    }

    pub(super) fn words(&self) -> &str {
        &self.element.text
    }

    pub(super) fn attribute(&self, name: &str) -> &str {
        let attribute = self.element.attributes.get(name);
        attribute.unwrap_or_else(|| panic!("{name} of {self:?}"))
    }

    /// What is said under the pointer.
    pub(super) fn title(&self) -> Option<&str> {
        let title = self.element.children.iter().find(|child| child.name == "title");
        title.map(|title| title.text.as_str())
    }

    /// Whether it is the line of a series.
    pub(super) fn is_curve(&self) -> bool {
        self.in_series && self.is("path", "line")
    }

    pub(super) fn is_text(&self) -> bool {
        self.element.name == "text"
    }

    fn number(&self, attribute: &str) -> f64 {
        self.attribute(attribute).parse().unwrap_or_else(|_| panic!("{attribute} of {self:?}"))
    }

    /// Where a text or a line begins.
    pub(super) fn start(&self) -> (f64, f64) {
        let names = if self.element.name == "line" { ["x1", "y1"] } else { ["x", "y"] };
        (self.number(names[0]), self.number(names[1]) + self.down)
    }

    /// The corners of a path of absolute commands, each with its command.
    pub(super) fn corners(&self) -> Vec<(char, f64, f64)> {
        let mut corners: Vec<(char, f64, f64)> = Vec::new();
        for (command, numbers) in commands(self.attribute("d")) {
            let (_, x, y) = corners.last().copied().unwrap_or_default();
            corners.push(match command {
                'H' => (command, numbers[0], y),
                'V' => (command, x, numbers[0] + self.down),
                'M' | 'L' => (command, numbers[0], numbers[1] + self.down),
                _ => continue,
            });
        }
        corners
    }
}

fn commands(outline: &str) -> Vec<(char, Vec<f64>)> {
    let mut commands: Vec<(char, String)> = Vec::new();
    for c in outline.chars() {
        match (c.is_ascii_alphabetic(), commands.last_mut()) {
            (true, _) => commands.push((c, String::new())),
            (false, Some((_, numbers))) => numbers.push(c),
            (false, None) => panic!("{outline}"),
        }
    }
    let numbers = |text: &str| text.split(' ').filter_map(|number| number.parse().ok()).collect();
    commands.into_iter().map(|(command, text)| (command, numbers(&text))).collect()
}
