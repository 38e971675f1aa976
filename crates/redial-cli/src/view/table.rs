//! The one table: rows under headings, for a terminal, an HTML page and Markdown.

use anstyle::{AnsiColor, Style};

use super::text::{
    BOLD, DIM, clip, columns, escape, markdown, markdown_code, pad_left, pad_right, paragraph,
    pixels, styled, wrap_clause,
};
use crate::visible::visible;

/// What a column holds, which decides how it gives way if there is little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Right-aligned and never clipped: rows are compared by it.
    Number,
    /// Left-aligned.
    Words,
    /// What a row is about, of any length: it is clipped, or gets a line of its own.
    Name,
    /// The clause of a policy, wrapped. Only the last column may have this kind.
    Clause,
}

/// A line of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    /// A note about this row, such as that it is never reached.
    pub(crate) remark: Option<&'static str>,
    /// The anchor of its section on the same page.
    pub(crate) link: Option<String>,
}

impl From<Vec<String>> for Row {
    fn from(cells: Vec<String>) -> Self {
        Self { cells, ..Self::default() }
    }
}

/// Rows under headings. The text may come from anywhere: it is made safe when the table is built.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Its title; empty if the text before it says what it shows.
    pub(crate) caption: String,
    /// Headings, and the kind of the cells under them.
    pub(crate) columns: Vec<(String, Kind)>,
    pub(crate) rows: Vec<Row>,
    /// Totals, below a rule.
    pub(crate) sums: Vec<Row>,
    /// A line about the rows that are not shown.
    pub(crate) rest: Option<String>,
    /// Its layout in a terminal.
    pub(crate) layout: Layout,
}

/// How a table is laid out in a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Spaces between columns.
    pub(crate) gap: usize,
    /// Headings in two lines, broken where the last word begins.
    pub(crate) stacked: bool,
    /// Remarks after the cells, instead of in the place of all but the first.
    pub(crate) remarks: bool,
}

const DEFAULT_LAYOUT: Layout = Layout { gap: 2, stacked: false, remarks: true };

/// With less room than this a name gets a line of its own.
const NAME_LEAST: usize = 24;
/// How much is seen of the words at the end of a line before its name gives way.
const LAST_LEAST: usize = 24;
const NAME: Style = AnsiColor::Cyan.on_default();

impl Table {
    /// Numbers by names: the first column has the names, and the last one clauses where there are
    /// any in it.
    pub(crate) fn new(
        caption: impl Into<String>,
        header: Vec<String>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        let is_clause = |row: &Vec<String>| row.last().is_some_and(|cell| cell.contains(": "));
        let last = header.len().saturating_sub(1);
        let kind = |column: usize| match column {
            _ if column == last && rows.iter().any(is_clause) => Kind::Clause,
            0 => Kind::Words,
            _ => Kind::Number,
        };
        let columns = header.into_iter().enumerate().map(|(at, heading)| (heading, kind(at)));
        Self::of(caption, columns.collect(), rows.into_iter().map(Row::from).collect())
    }

    /// Rows under these headings.
    pub(crate) fn of(
        caption: impl Into<String>,
        mut columns: Vec<(String, Kind)>,
        mut rows: Vec<Row>,
    ) -> Self {
        let headings = columns.iter_mut().map(|(heading, _)| heading);
        let cells = headings.chain(rows.iter_mut().flat_map(|row| &mut row.cells));
        cells.for_each(|cell| *cell = visible(cell));
        let caption = caption.into();
        Self { caption, columns, rows, sums: Vec::new(), rest: None, layout: DEFAULT_LAYOUT }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The column whose cells are clipped, or have lines of their own.
    fn name(&self) -> Option<usize> {
        self.columns.iter().position(|(_, kind)| *kind == Kind::Name)
    }

    fn ends_in_clauses(&self) -> bool {
        self.columns.last().is_some_and(|(_, kind)| *kind == Kind::Clause)
    }

    fn headings(&self) -> Vec<Vec<String>> {
        let headings = self.columns.iter().map(|(heading, _)| heading.clone());
        if !self.layout.stacked {
            return vec![headings.collect()];
        }
        let halves = headings.map(|heading| match heading.rsplit_once(' ') {
            Some((upper, lower)) => (upper.to_owned(), lower.to_owned()),
            None => (String::new(), heading),
        });
        let (upper, lower) = halves.unzip();
        vec![upper, lower]
    }
}

/// How wide the columns are, side by side.
struct Columns {
    kinds: Vec<Kind>,
    widths: Vec<usize>,
    gap: usize,
}

impl Columns {
    fn new<'c>(
        kinds: Vec<Kind>,
        lines: impl IntoIterator<Item = &'c Vec<String>>,
        gap: usize,
    ) -> Self {
        let mut widths = vec![0; kinds.len()];
        for line in lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = columns(cell).max(*width);
            }
        }
        Self { kinds, widths, gap }
    }

    fn width(&self) -> usize {
        self.widths.iter().sum::<usize>() + self.gap * self.widths.len().saturating_sub(1)
    }

    fn line(&self, cells: &[String]) -> String {
        let columns = self.kinds.iter().zip(&self.widths);
        let padded = cells.iter().zip(columns).map(|(cell, (kind, width))| match kind {
            Kind::Number => pad_left(cell, *width),
            Kind::Words | Kind::Name | Kind::Clause => pad_right(&clip(cell, *width), *width),
        });
        padded.collect::<Vec<_>>().join(&" ".repeat(self.gap))
    }
}

/// What has been drawn of a table, no line of it wider than this.
struct Drawn {
    text: String,
    width: usize,
}

impl Drawn {
    fn line(&mut self, style: Style, line: &str) {
        let line = clip(line.trim_end(), self.width);
        self.text.push_str(&format!("{}\n", styled(style, &line)));
    }

    fn words(&mut self, style: Style, words: &str) {
        self.text.push_str(&paragraph(style, &visible(words), self.width));
    }
}

/// In a terminal.
impl Table {
    /// Text with styles, no line of it wider than `width`. Where there is no room for all columns
    /// side by side, names and clauses give way. Where there are neither, the table is turned over,
    /// so that its columns become rows, if that helps; and columns that still do not fit stand
    /// below the others.
    pub(crate) fn terminal(&self, width: usize) -> String {
        let mut drawn = Drawn { text: String::new(), width };
        if !self.caption.is_empty() {
            drawn.words(BOLD, &self.caption);
        }
        let columns = self.measured();
        let gives_way = self.name().is_some() || self.ends_in_clauses();
        if gives_way || columns.width() <= width || !self.sums.is_empty() {
            self.upright(&mut drawn, columns);
        } else {
            let rows = self.rows.iter().map(|row| row.cells.clone());
            let lines = self.headings().into_iter().chain(rows).collect();
            blocks(&mut drawn, lines, columns);
        }
        drawn.text
    }

    /// Whether all numbers are seen in a terminal of this width.
    pub(crate) fn fits(&self, width: usize) -> bool {
        let columns = self.measured();
        let saved = self.name().map_or(0, |name| columns.widths[name].saturating_sub(NAME_LEAST));
        let remarks = self.rows.iter().filter_map(|row| row.remark).map(super::text::columns);
        let remark = remarks.max().filter(|_| self.layout.remarks);
        columns.width() - saved + remark.map_or(0, |remark| remark + columns.gap) <= width
    }

    fn measured(&self) -> Columns {
        // A row that shows only its remark needs no room.
        let is_shown = |row: &&Row| self.layout.remarks || row.remark.is_none();
        let rows = self.rows.iter().filter(is_shown).chain(&self.sums).map(|row| &row.cells);
        let kinds = self.columns.iter().map(|(_, kind)| *kind).collect();
        Columns::new(kinds, self.headings().iter().chain(rows), self.layout.gap)
    }

    fn upright(&self, drawn: &mut Drawn, mut columns: Columns) {
        let above = self.name().filter(|name| !make_room(&mut columns, *name, drawn.width));
        if let Some(name) = above {
            columns.kinds.remove(name);
            columns.widths.remove(name);
        }
        let beside = |cells: &[String]| -> Vec<String> {
            let others = cells.iter().enumerate().filter(|(at, _)| Some(*at) != above);
            others.map(|(_, cell)| cell.clone()).collect()
        };
        for heading in self.headings() {
            drawn.line(DIM, &columns.line(&beside(&heading)));
        }
        for row in &self.rows {
            if let Some(name) = above {
                drawn.line(NAME, &row.cells[name]);
            }
            self.row(drawn, &columns, &beside(&row.cells), row);
        }
        if let Some(rest) = &self.rest {
            drawn.words(DIM, rest);
        }
        if !self.sums.is_empty() {
            drawn.line(DIM, &"─".repeat(columns.width()));
        }
        self.sums.iter().for_each(|row| drawn.line(Style::new(), &columns.line(&row.cells)));
    }

    fn row(&self, drawn: &mut Drawn, columns: &Columns, cells: &[String], row: &Row) {
        match row.remark {
            None if self.ends_in_clauses() => clause_row(drawn, columns, cells),
            None => drawn.line(Style::new(), &columns.line(cells)),
            Some(remark) if self.layout.remarks => {
                let gap = " ".repeat(columns.gap);
                drawn.line(DIM, &format!("{}{gap}{remark}", columns.line(cells)));
            }
            Some(remark) => {
                let first = pad_left(&cells[0], columns.widths[0]);
                let room = columns.width().saturating_sub(columns.widths[0]);
                drawn.line(DIM, &format!("{first}{}", pad_left(remark, room)));
            }
        }
    }
}

/// Clips the name rather than a number, as long as enough of it stays to be recognised. Words or a clause at the end of the line, which
/// may be of any length, give way before the name does: one is clipped, the other wrapped.
fn make_room(columns: &mut Columns, name: usize, width: usize) -> bool {
    let last = columns.widths.len() - 1;
    let gives_way = name != last && matches!(columns.kinds[last], Kind::Words | Kind::Clause);
    let given = if gives_way { columns.widths[last].saturating_sub(LAST_LEAST) } else { 0 };
    let own = columns.widths[name];
    let room = width.saturating_sub(columns.width() - own - given);
    columns.widths[name] = own.min(room);
    own <= room || room >= NAME_LEAST
}

/// Wraps the clause below its beginning.
fn clause_row(drawn: &mut Drawn, columns: &Columns, cells: &[String]) {
    const LEAST: usize = 20;
    let Some((clause, others)) = cells.split_last() else { return };
    let mut start = columns.line(others);
    let indent = super::text::columns(&start) + columns.gap;
    let gap = " ".repeat(columns.gap);
    for line in wrap_clause(clause, drawn.width.saturating_sub(indent).max(LEAST)) {
        drawn.line(Style::new(), &format!("{start}{gap}{line}"));
        start = " ".repeat(indent - columns.gap);
    }
}

/// Lines that are too wide: turned over, or in as many blocks as it takes, each with the first
/// column in front, or with the numbers below the names.
fn blocks(drawn: &mut Drawn, lines: Vec<Vec<String>>, upright: Columns) {
    let turned = turned(&lines, upright.kinds.len());
    let numbers = std::iter::once(Kind::Words).chain(std::iter::repeat(Kind::Number));
    let over = Columns::new(numbers.take(lines.len()).collect(), &turned, upright.gap);
    let is_over = over.width() <= drawn.width;
    let (lines, all) = if is_over { (turned, over) } else { (lines, upright) };
    for (place, group) in groups(&all, drawn.width).iter().enumerate() {
        if place > 0 {
            drawn.text.push('\n');
        }
        let kinds = group.iter().map(|column| all.kinds[*column]).collect();
        let of =
            |line: &Vec<String>| group.iter().filter_map(|at| line.get(*at).cloned()).collect();
        let block: Vec<Vec<String>> = lines.iter().map(of).collect();
        let columns = Columns::new(kinds, &block, all.gap);
        for (at, cells) in block.iter().enumerate() {
            match &cells[..] {
                [name, number] if columns.width() > drawn.width => {
                    drawn.line(Style::new(), name);
                    drawn.line(Style::new(), &format!("  {number}"));
                }
                cells => drawn.line(if at == 0 { DIM } else { Style::new() }, &columns.line(cells)),
            }
        }
    }
}

/// The columns that stand side by side, the first one in front of all others.
fn groups(all: &Columns, width: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (column, needed) in all.widths.iter().map(|width| width + all.gap).enumerate().skip(1) {
        if groups.is_empty() || needed > room {
            groups.push(vec![0]);
            room = width.saturating_sub(all.widths[0]);
        }
        room = room.saturating_sub(needed);
        groups.last_mut().expect("there is one by now").push(column);
    }
    groups
}

fn turned(lines: &[Vec<String>], columns: usize) -> Vec<Vec<String>> {
    let cell = |line: &Vec<String>, column: usize| line.get(column).cloned().unwrap_or_default();
    let column = |column: usize| lines.iter().map(|line| cell(line, column)).collect();
    (0..columns).map(column).collect()
}

/// On a page.
impl Table {
    /// As HTML. A wide table scrolls by itself, also from the keyboard, and the page does not. On a phone
    /// the rows of a wide table become blocks with a line for each cell.
    pub(crate) fn html(&self) -> String {
        let wide = self.is_wide();
        let mut classes = Vec::new();
        classes.extend((self.columns[0].1 != Kind::Number).then_some("named"));
        classes.extend(self.ends_in_clauses().then_some("clauses"));
        classes.extend(wide.then_some("wide"));
        let heading =
            |(text, _): &(String, Kind)| format!("<th scope=\"col\">{}</th>", escape(text));
        let header: String = self.columns.iter().map(heading).collect();
        let rows: String = self.rows.iter().map(|row| self.html_row(row, wide)).collect();
        let rest = self.rest.as_ref().map_or(String::new(), |rest| {
            let (columns, rest) = (self.columns.len(), escape(rest));
            format!("<tr class=\"quiet\"><td colspan=\"{columns}\">{rest}</td></tr>\n")
        });
        let sums: String = self.sums.iter().map(|row| self.html_row(row, wide)).collect();
        let foot = if sums.is_empty() { sums } else { format!("<tfoot>\n{sums}</tfoot>\n") };
        format!(
            "<div class=\"scroll\" role=\"region\" aria-label=\"Table\" tabindex=\"0\">\n\
             <table class=\"{}\">\n<caption>{}</caption>\n<thead><tr>{header}</tr></thead>\n\
             <tbody>\n{rows}{rest}</tbody>\n{foot}</table>\n</div>\n",
            classes.join(" "),
            escape(&self.caption),
        )
    }

    fn html_row(&self, row: &Row, wide: bool) -> String {
        let Some((name, cells)) = row.cells.split_first() else { return String::new() };
        let name = match &row.link {
            Some(link) => format!("<a href=\"{}\">{}</a>", escape(link), escape(name)),
            None => escape(name),
        };
        let (class, remark) = match row.remark {
            Some(words) => (" class=\"quiet\"", format!("<span class=\"remark\">{words}</span> ")),
            None => ("", String::new()),
        };
        let cell = |(cell, (heading, _)): (&String, &(String, Kind))| match wide {
            true => format!("<td data-of=\"{}\">{}</td>", escape(heading), escape(cell)),
            false => format!("<td>{}</td>", escape(cell)),
        };
        let missing = self.columns.len() - 1 - cells.len().min(self.columns.len() - 1);
        let cells: String = cells.iter().zip(&self.columns[1..]).map(cell).collect();
        let missing = "<td></td>".repeat(missing);
        format!("<tr{class}><th scope=\"row\">{remark}{name}</th>{cells}{missing}</tr>\n")
    }

    /// Whether it is wider than a phone: names go on in the next line, and so do headings.
    fn is_wide(&self) -> bool {
        const PHONE: f64 = 320.0;
        const PADDING: f64 = 12.0;
        const NAME_LEAST: f64 = 90.0;
        let word = |text: &str| text.split(' ').map(pixels).fold(0.0, f64::max);
        let of = |(at, (heading, kind)): (usize, &(String, Kind))| {
            let cells = self.rows.iter().chain(&self.sums).filter_map(|row| row.cells.get(at));
            let widest = match kind {
                Kind::Number => cells.map(|cell| pixels(cell)).fold(0.0, f64::max),
                _ => cells.map(|cell| word(cell)).fold(NAME_LEAST, f64::max),
            };
            widest.max(word(heading)) + PADDING
        };
        self.columns.iter().enumerate().map(of).sum::<f64>() > PHONE
    }
}

/// In Markdown.
impl Table {
    /// With its caption for a heading.
    pub(crate) fn markdown(&self) -> String {
        // JSON has the whole text.
        const CELL_MAX: usize = 200;
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rule = |(_, kind): &(String, Kind)| match kind {
            Kind::Number => "---:".to_owned(),
            Kind::Words | Kind::Name | Kind::Clause => "---".to_owned(),
        };
        let cell = |(cell, (_, kind)): (&String, &(String, Kind))| {
            let text = clip(cell, CELL_MAX);
            if *kind == Kind::Name { markdown_code(&text) } else { markdown(&text) }
        };
        let row = |row: &Row| line(row.cells.iter().zip(&self.columns).map(cell).collect());
        let caption = match self.caption.as_str() {
            "" => String::new(),
            caption => format!("#### {}\n\n", markdown(caption)),
        };
        let rest = self.rest.as_ref().map(|rest| format!("\n{}\n", markdown(rest)));
        [
            caption,
            line(self.columns.iter().map(|(heading, _)| markdown(heading)).collect()),
            line(self.columns.iter().map(rule).collect()),
            self.rows.iter().map(row).collect(),
            rest.unwrap_or_default(),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &Table, width: usize, expected: &str) {
        let drawn = anstream::adapter::strip_str(&table.terminal(width)).to_string();
        assert_eq!(drawn, expected);
    }

    fn strings(cells: &[&str]) -> Vec<String> {
        cells.iter().copied().map(String::from).collect()
    }

    #[test]
    fn numbers_that_do_not_fit_are_turned_over_or_stand_in_blocks_or_below_their_names() {
        let rows = vec![strings(&["peak", "2.2x", "4.3x"]), strings(&["load", "556/s", "1117/s"])];
        let table = Table::new("By policy", strings(&["policy", "one", "two"]), rows);
        check(
            &table,
            40,
            "By policy\npolicy    one     two\npeak     2.2x    4.3x\nload    556/s  1117/s\n",
        );
        let turned =
            "By policy\npolicy  peak    load\none     2.2x   556/s\ntwo     4.3x  1117/s\n";
        check(&table, 20, turned);
        let blocks = "By policy\npolicy    one\npeak     2.2x\nload    556/s\n\npolicy     two\npeak      4.3x\nload    1117/s\n";
        check(&table, 15, blocks);
        assert!(table.terminal(10).contains("load\n  1117/s\n"));
    }

    #[test]
    fn names_and_clauses_give_way_to_numbers() {
        let command = strings(&["make test --with-a-long-name --and-more", "12"]);
        let columns = vec![("command".into(), Kind::Name), ("runs".into(), Kind::Number)];
        let table = Table::of("", columns, vec![command.into()]);
        check(
            &table,
            36,
            "command                         runs\nmake test --with-a-long-name …    12\n",
        );
        check(&table, 20, "runs\nmake test --with-a-…\n  12\n");
        let columns = vec![("key".into(), Kind::Name), ("because".into(), Kind::Words)];
        let long = strings(&["a-17", "the server said no, and then it said why, at great length"]);
        let table = Table::of("", columns, vec![long.into()]);
        check(&table, 40, "key   because\na-17  the server said no, and then it s…\n");
        let row = vec![strings(&["best", "1x", "attempts: 5, delay: 1s, jitter: full"])];
        let table = Table::new("", strings(&["", "calls", "policy"]), row);
        check(
            &table,
            34,
            "      calls  policy\nbest     1x  attempts: 5,\n             delay: 1s,\n             jitter: full\n",
        );
    }
}
