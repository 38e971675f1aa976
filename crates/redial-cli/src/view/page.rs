//! HTML pages that stand alone: they load nothing, and have styles for light and dark screens, phones and
//! print.

use super::chart::{Figure, drawing};
use super::svg::{Drawing, STYLE as PICTURE_STYLE, Size};
use super::table::Table;
use super::text::escape;

/// A whole page around its content, which is HTML.
pub(crate) fn page(title: &str, content: &str) -> String {
    let title = escape(title);
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{STYLE}{PICTURE_STYLE}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{content}</main>
</body>
</html>
"#
    )
}

/// A picture under its title, once for screens and once for phones, of which CSS shows one; and a note
/// below it.
pub(crate) fn figure(title: &str, draw: impl Fn(Size) -> Drawing, note: &str) -> String {
    let [wide, narrow] = [Size::WIDE, Size::NARROW].map(|size| draw(size.untitled()).inside());
    let title = escape(title);
    let note = match note {
        "" => String::new(),
        note => format!("<p class=\"note\">{}</p>\n", escape(note)),
    };
    format!("<figure>\n<figcaption>{title}</figcaption>\n{wide}{narrow}{note}</figure>\n")
}

/// Sentences, the first of them the most important.
pub(crate) fn lead(sentences: &[String]) -> String {
    let paragraph = |sentence: &String| format!("<p class=\"lead\">{}</p>\n", escape(sentence));
    sentences.iter().map(paragraph).collect()
}

/// A clause or a command, to copy.
pub(crate) fn code(text: &str) -> String {
    format!("<pre><code>{}</code></pre>\n", escape(text))
}

/// The page of a simulation or a search.
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
    /// Notes on the numbers.
    pub notes: Vec<String>,
    /// The command that made it.
    pub command: String,
}

impl Page {
    /// The page as one HTML document, ending with a newline.
    pub(crate) fn html(&self) -> String {
        let drawn = |one: &Figure| figure(one.title(), |size| drawing(one, size), "");
        let content = [
            lead(&self.lead),
            self.figures.iter().map(drawn).collect(),
            self.tables.iter().map(Table::html).collect(),
            notes(&self.notes),
            format!("<footer>\n<p>Made by</p>\n{}</footer>\n", code(&self.command)),
        ];
        page(&self.title, &content.concat())
    }
}

fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let note = |note: &String| format!("<li>{}</li>\n", escape(note));
    let notes: String = notes.iter().map(note).collect();
    format!("<ul class=\"notes note\">\n{notes}</ul>\n")
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1f2328;--muted:#59636e;--line:#d8dee4;--paper:#fff;\
--soft:#f6f8fa;--accent:#0969da;--warning:#9a6700;--error:#cf222e}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6edf3;--muted:#9198a1;--line:#30363d;\
--paper:#0d1117;--soft:#161b22;--accent:#58a6ff;--warning:#d29922;--error:#ff7b72}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.55;\
font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;\
-webkit-text-size-adjust:100%}
main{max-width:52rem;margin:0 auto;padding:clamp(1rem,4vw,2.5rem)}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.5rem 0 .75rem;overflow-wrap:anywhere}
h3{font-size:1rem;margin:1.75rem 0 .5rem;overflow-wrap:anywhere}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.5rem;margin:0 0 1rem;\
padding:.75rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em}
pre code{-webkit-user-select:all;user-select:all}
.lead{margin:0 0 .75rem}
.lead:first-of-type{font-size:1.2rem;line-height:1.45}
figure{margin:0 0 1.5rem;border:1px solid var(--line);border-radius:.5rem;overflow:hidden}
figure svg{display:block;width:100%;height:auto}
figure svg.narrow{display:none}
figcaption{font-weight:600;padding:.8rem 1.25rem 0;overflow-wrap:anywhere}
figure .note{margin:0;padding:.6rem 1.25rem;border-top:1px solid var(--line)}
.lead+figure{margin-top:1.75rem}
.scroll{overflow-x:auto}
.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:1rem 0 .4rem}
th,td{padding:.4rem .75rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
thead th{color:var(--muted);font-size:.85rem;font-weight:600;vertical-align:bottom}
th:first-child{padding-left:0}
tbody th{font-weight:400}
tbody tr:last-child>*{border-bottom-width:2px}
.named th:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:6rem}
.named thead th{white-space:normal}
.clauses tr>:last-child{text-align:left;white-space:normal}
.quiet{color:var(--muted)}
.remark{font-size:.85em;font-style:italic}
tfoot th{font-weight:600}
.notes{padding-left:1.2rem}
.note,footer{color:var(--muted);font-size:.9rem}
footer{margin-top:3rem;border-top:1px solid var(--line)}
a{color:var(--accent)}
.diagnostics{list-style:none;margin:0;padding:0}
.diagnostics li{border-left:.25rem solid var(--warning);background:var(--soft);\
padding:.6rem 1rem;margin:0 0 .5rem;overflow-wrap:anywhere}
.diagnostics li.error{border-color:var(--error)}
.diagnostics b{color:var(--warning)}
.diagnostics .error b{color:var(--error)}
@media(max-width:34rem){figure svg.wide{display:none}figure svg.narrow{display:block}\
th,td{padding:.4rem .35rem;font-size:.85rem}thead th,tfoot th{white-space:normal}\
.wide thead,.wide td:empty,.wide td[data-of]:empty{display:none}\
.wide,.wide caption,.wide tbody,.wide tfoot,.wide tr,.wide th{display:block}\
.wide tr{border-bottom:1px solid var(--line);padding:.4rem 0}\
.wide th,.wide td{border:0;padding:.1rem 0;text-align:left;white-space:normal;overflow-wrap:anywhere}\
.wide tbody th{font-weight:600}\
.wide td[data-of]{display:flex;justify-content:space-between;gap:1rem;text-align:right}\
.wide td[data-of]::before{content:attr(data-of);color:var(--muted);text-align:left;flex:none;\
max-width:50%}}
@media print{:root{color-scheme:light}figure,tr,li{break-inside:avoid}.scroll{overflow:visible}\
thead{display:table-header-group}}
";
