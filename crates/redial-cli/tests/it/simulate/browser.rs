//! Pages as a browser shows them: in the light, in the dark, on a phone, on paper, and without a
//! network.

use std::path::Path;
use std::process::Command;

use super::{redial, stderr, stdout};

/// What a browser writes to its standard output. Where none is installed the test is left out, and says
/// so; in CI, which installs Chromium, that is a failure.
fn browse(folder: &Path, arguments: &[&str]) -> Option<String> {
    const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
    let run = |name: &&str| {
        Command::new(name)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .arg("--host-resolver-rules=MAP * ~NOTFOUND")
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .args(arguments)
            .output()
            .ok()
    };
    let Some(output) = NAMES.iter().find_map(run) else {
        assert!(std::env::var_os("CI").is_none(), "CI needs Chromium: apt-get install chromium");
        #[expect(clippy::print_stderr, reason = "a test that did not look says so")]
        {
            eprintln!("no Chromium is installed: left out");
        }
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Measures a page in a frame of this width, where scripts of its own would not run.
const HARNESS: &str = r#"<!doctype html><meta charset="utf-8">
<body><iframe width="WIDTH" height="900" srcdoc="PAGE"></iframe><pre id="found"></pre>
<script>
onload = () => {
  const page = document.querySelector("iframe").contentDocument, view = page.defaultView;
  const found = [];
  const say = (...words) => found.push(words.join(" "));
  say("background", view.getComputedStyle(page.body).backgroundColor);
  say("first colour", view.getComputedStyle(page.querySelector(".series .mark, .mean, .span.well")).fill);
  say("overflow", page.documentElement.scrollWidth - page.documentElement.clientWidth);
  say("loaded", view.performance.getEntriesByType("resource").length);
  const pictures = [...page.querySelectorAll("svg")].filter(svg => svg.getBoundingClientRect().width);
  say("pictures", pictures.map(svg => svg.classList[1]).join(" "));
  for (const table of page.querySelectorAll(".scroll")) {
    if (table.scrollWidth > table.clientWidth) say("clipped", table.querySelector("caption").textContent);
  }
  for (const picture of pictures) {
    const whole = picture.getBoundingClientRect();
    const texts = [...picture.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
    for (const [words, box] of texts) {
      if (box.left < whole.left || box.right > whole.right || box.bottom > whole.bottom) say("clipped", words);
      for (const [other, its] of texts) {
        const wide = Math.min(box.right, its.right) - Math.max(box.left, its.left);
        const high = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
        // Boxes have room above and below the letters.
        if (words < other && wide > 1 && high > 4) say("overlap", words, "/", other);
      }
    }
  }
  document.getElementById("found").textContent = "[[" + found.join("\n") + "]]";
};
</script>
"#;

fn measured(page: &str, width: usize, scheme: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let page = escaped(page);
    let harness = HARNESS.replace("WIDTH", &width.to_string()).replace("PAGE", &page);
    let path = folder.path().join("harness.html");
    std::fs::write(&path, harness).unwrap();
    let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
    let size = "--window-size=1200,1000";
    let dom = browse(folder.path(), &[&scheme, size, "--dump-dom", path.to_str().unwrap()])?;
    let found = dom.split("<pre id=\"found\">[[").nth(1).unwrap_or_else(|| panic!("{dom}"));
    found.split("]]").next().map(str::to_owned)
}

/// As an attribute has it.
fn escaped(page: &str) -> String {
    page.replace('&', "&amp;").replace('"', "&#34;")
}

/// The page that this line writes.
fn page(line: &str) -> String {
    let output = redial(&format!("{line} --html -"));
    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    stdout(&output).to_owned()
}

/// Steps, a strip and dots, and a table that is wider than a phone.
fn outage() -> String {
    page(
        "simulate outage --rate 280 --capacity 300 --trials 3 --with 'retry: 1' --with 'attempts: 1' \
         --with 'retry: 5, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full'",
    )
}

/// Lines of so many policies. A table of many scrolls, on a screen.
fn contention(policies: u32) -> String {
    let policies =
        (1..=policies).map(|delay| format!(" --with 'retry: 3, delay: {delay}0ms, jitter: full'"));
    let policies: String = policies.collect();
    page(&format!("simulate contention --clients 2,5,10,20 --trials 20{policies}"))
}

pub(crate) const DARK: &str = "0";
pub(crate) const LIGHT: &str = "1";

pub(crate) fn check(page: &str, width: usize, scheme: &str, colours: [&str; 2], pictures: &str) {
    let Some(measured) = measured(page, width, scheme) else { return };
    let [background, first] = colours.map(|colour| format!("rgb({colour})"));
    assert_eq!(
        measured,
        format!(
            "background {background}\nfirst colour {first}\noverflow 0\nloaded 0\npictures {pictures}"
        )
    );
}

#[test]
fn in_the_light_on_a_screen() {
    let colours = ["255, 255, 255", "0, 114, 178"];
    for page in [outage(), contention(3)] {
        check(&page, 900, LIGHT, colours, "wide wide wide wide");
    }
}

#[test]
fn in_the_dark_on_a_phone() {
    let colours = ["13, 17, 23", "61, 157, 219"];
    for page in [outage(), contention(10)] {
        check(&page, 390, DARK, colours, "narrow narrow narrow narrow");
    }
}

#[test]
fn a_plan_on_a_phone() {
    let short = "--with 'attempts: 5, delay: 1s, backoff: exponential, jitter: full, within: 5s'";
    let long = "--with 'attempts: 90, delay: 18446744073709551615ns, jitter: full'";
    for policies in [short.to_owned(), format!("{short} {long}")] {
        let page = page(&format!("plan --seed 42 {policies}"));
        check(&page, 390, LIGHT, ["255, 255, 255", "0, 114, 178"], "narrow");
    }
}

#[test]
fn on_paper() {
    let folder = tempfile::tempdir().unwrap();
    let (path, paper) = (folder.path().join("page.html"), folder.path().join("page.pdf"));
    std::fs::write(&path, outage()).unwrap();
    let print = format!("--print-to-pdf={}", paper.display());
    if browse(folder.path(), &[&print, path.to_str().unwrap()]).is_none() {
        return;
    }
    let paper = std::fs::read(paper).unwrap();
    let pages = String::from_utf8_lossy(&paper).matches("/Type /Page\n").count();
    assert!((2..=8).contains(&pages), "{pages} pages");
}
