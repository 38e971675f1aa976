//! Pages to send to a colleague: they explain themselves, load nothing, and can be read in the light,
//! in the dark, on a phone and on paper.

use crate::text::escape;

/// A whole page around its content, which is HTML, with some style of its own.
pub(crate) fn page(title: &str, style: &str, content: &str) -> String {
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
{STYLE}{style}</style>
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

/// A wide table scrolls by itself, also from the keyboard, and the page does not.
pub(crate) const SCROLL: &str =
    "<div class=\"scroll\" role=\"region\" aria-label=\"Table\" tabindex=\"0\">\n";

/// What stands in a place of a table.
pub(crate) fn cell(text: &str) -> String {
    format!("<td>{}</td>", escape(text))
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
h3{font-size:1rem;margin:1.75rem 0 .5rem}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.5rem;margin:0 0 1rem;\
padding:.75rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em}
.words{font-size:1.1rem;margin:0 0 1.5rem}
figure{margin:0 0 1.5rem;border:1px solid var(--line);border-radius:.5rem;overflow:hidden}
figure svg{display:block;width:100%;height:auto}
figure svg.narrow{display:none}
figcaption{color:var(--muted);font-size:.9rem;padding:.6rem 1rem;border-top:1px solid var(--line)}
.scroll{overflow-x:auto}
.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:1rem 0 .4rem}
th,td{padding:.4rem .75rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
thead th{color:var(--muted);font-size:.85rem;font-weight:600;vertical-align:bottom}
th:first-child{padding-left:0}
tbody th{font-weight:400}
tbody tr:last-child>*{border-bottom-width:2px}
.compared th:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:9rem}
.compared td,.compared thead th{white-space:normal}
.note,footer{color:var(--muted);font-size:.9rem}
footer{margin-top:3rem;border-top:1px solid var(--line)}
a{color:var(--accent)}
@media(max-width:34rem){figure svg.wide{display:none}figure svg.narrow{display:block}\
th,td{padding:.4rem .35rem;font-size:.85rem}thead th,tfoot th{white-space:normal}}
@media print{:root{color-scheme:light}figure,tr,li{break-inside:avoid}.scroll{overflow:visible}\
thead{display:table-header-group}}
";
