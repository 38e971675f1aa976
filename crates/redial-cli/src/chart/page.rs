//! A page around figures: the answer first, then what it rests on.

use super::Figure;
use super::svg::{STYLE as CHART_STYLE, Size, drawing};
use crate::html::{SCROLL, cell, page};
use crate::text::escape;

/// Everything there is to say about a question.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// The question.
    pub title: String,
    /// Sentences, the answer first.
    pub lead: Vec<String>,
    /// In the order in which they are looked at.
    pub figures: Vec<Figure>,
    /// The numbers themselves.
    pub tables: Vec<Table>,
    /// What one has to know about them.
    pub notes: Vec<String>,
    /// The command that made it.
    pub command: String,
}

/// Numbers in rows; the first column has the names.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// What they are.
    pub caption: String,
    /// What stands above the columns.
    pub header: Vec<String>,
    /// What stands in the rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Whether the last column has clauses, which are words and not numbers.
    pub(crate) fn ends_in_clauses(&self) -> bool {
        self.rows.iter().filter_map(|row| row.last()).any(|cell| cell.contains(": "))
    }
}

impl Page {
    /// The page as one HTML document, ending with a newline.
    pub(crate) fn html(&self) -> String {
        let content = [
            paragraphs(&self.lead),
            self.figures.iter().map(figure).collect(),
            self.tables.iter().map(table).collect(),
            notes(&self.notes),
            footer(&self.command),
        ];
        page(&self.title, &format!("{STYLE}{CHART_STYLE}\n"), &content.concat())
    }
}

const STYLE: &str = "\
.lead{margin:0 0 .75rem}
.lead:first-of-type{font-size:1.2rem;line-height:1.45}
.lead+figure{margin-top:1.75rem}
.chart figcaption{color:var(--ink);font-size:1rem;font-weight:600;padding:.8rem 1.25rem 0;border:0;\
overflow-wrap:anywhere}
.numbers td{white-space:nowrap}
.clauses tr>:last-child{text-align:left;white-space:normal}
.notes{padding-left:1.2rem}
";

fn paragraphs(sentences: &[String]) -> String {
    let paragraph = |sentence: &String| format!("<p class=\"lead\">{}</p>\n", escape(sentence));
    sentences.iter().map(paragraph).collect()
}

/// The picture, once for screens and once for phones; only one of them is ever shown.
fn figure(figure: &Figure) -> String {
    let sizes = [Size::WIDE, Size::NARROW].map(Size::untitled);
    let [wide, narrow] = sizes.map(|size| drawing(figure, size).element(size, ""));
    let title = escape(figure.title());
    format!("<figure class=\"chart\">\n<figcaption>{title}</figcaption>\n{wide}{narrow}</figure>\n")
}

fn table(table: &Table) -> String {
    let heading = |text: &String| format!("<th scope=\"col\">{}</th>", escape(text));
    let header: String = table.header.iter().map(heading).collect();
    let rows: String = table.rows.iter().map(|cells| row(cells)).collect();
    let caption = escape(&table.caption);
    let clauses = if table.ends_in_clauses() { " clauses" } else { "" };
    format!(
        "{SCROLL}<table class=\"compared numbers{clauses}\">\n<caption>{caption}</caption>\n\
         <thead><tr>{header}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

fn row(cells: &[String]) -> String {
    let Some((name, numbers)) = cells.split_first() else { return String::new() };
    let numbers: String = numbers.iter().map(|number| cell(number)).collect();
    format!("<tr><th scope=\"row\">{}</th>{numbers}</tr>\n", escape(name))
}

fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let note = |note: &String| format!("<li>{}</li>\n", escape(note));
    let notes: String = notes.iter().map(note).collect();
    format!("<ul class=\"notes note\">\n{notes}</ul>\n")
}

fn footer(command: &str) -> String {
    let command = escape(command);
    format!("<footer>\n<p>Made by</p>\n<pre><code>{command}</code></pre>\n</footer>\n")
}
