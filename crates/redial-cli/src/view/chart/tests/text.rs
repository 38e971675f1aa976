//! What a terminal shows, and what a page says.

use super::*;

fn shown(figure: &Figure, width: usize) -> String {
    anstream::adapter::strip_str(&figure.terminal(width)).to_string()
}

#[test]
fn a_chart_in_a_terminal() {
    let mut chart = three_lines();
    chart.levels.push(Level { value: 80.0, label: "capacity".into() });
    chart.bands.push(Band { from: 2.0, to: 6.0, label: "outage".into() });
    let expected = "\
A title
calls
                ├────── outage ──────┤
100 ┤           ┊                    ┊                  ⢀⡠⠔⠊
    │           ┊                    ┊               ⣀A⠊⠁
    │           ┊                    ┊            ⡠⠔⠊
 80 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌⢀⡠⠔⠉ capacity
    │           ┊                    ┊     ⡠⠔⠊⠁
    │           ┊                    ┊ ⣀⠤⠒⠉
 60 ┤           ┊                   ⡠A⠉
    │           ┊                ⣀⠔⠊ ┊
    │           ┊            ⢀⡠⠔⠊    ┊               ⢀⣀⠤⠤⠒⠒B
 40 ┤           ┊         ⣀⠔⠊⠁       ┊        ⣀⣀⠤⠔⠒⠊⠉⠁
    │           ┊     ⣀⠤⠒⠉           ┊⢀⣀⡠⠤⠔B⠉⠉
    │           ┊ ⢀⡠⠔A          ⣀⡠⠤⠔⠒⠉⠁
 20 ┤          ⣀⠔⠊⠁      ⣀⡠B⠒⠒⠉⠉     ┊
    │       ⡠⠔⠊ ┊  ⣀⣀⠤⠔⠒⠉            ┊
    │   ⢀⡠⠔⢉⣀⡠⠤⠔⠒⠉⠉                ⢀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⠤⠤C⠤⠤⠔⠒⠒⠒⠒⠒⠒⠒⠒
  0 ┤A⣴⣮⠷⠶B⠥⠤⠤⠤⠤C⠤⠤⠒⠒⠒⠒⠒⠊⠉⠉⠉⠉⠉⠉⠉C⠉⠉⠁ ┊
    └┬────┬─────┬────┬─────┬────┬────┬─────┬────┬─────┬────┬
     0    1     2    3     4    5    6     7    8     9   10
                          clients
A steep   B middling   C flat
";
    assert_eq!(shown(&Figure::Chart(chart), 60), expected);
}

#[test]
fn a_strip_in_a_terminal() {
    let fixed: Vec<f64> = (0..20).map(|i| if i % 5 == 0 { 200.0 } else { 0.0 }).collect();
    let jittered: Vec<f64> = (0..20).map(f64::from).rev().collect();
    let strip = strip(&[("fixed", &fixed), ("full jitter", &jittered)]);
    let expected = "\
Arrivals
calls per second
fixed       │██        ██        ██        ██        │
full jitter │▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▃▃▃▃▃▃▃▃▃▃▂▂▂▂▂▂▁▁  │
            └┬─────────┬─────────┬────────┬─────────┬
             0         5        10       15        20
                       time, s
▁ 1+   ▂ 2+   ▃ 5+   ▄ 10+   ▅ 20+   ▆ 50+   ▇ 100+   █ 200+
";
    assert_eq!(shown(&Figure::Strip(strip), 60), expected);
}

#[test]
fn every_series_has_its_letter_in_the_chart_and_in_the_legend() {
    for figure in samples::figures() {
        let Figure::Chart(chart) = &figure else { continue };
        let text = shown(&figure, 80);
        for (index, series) in chart.series.iter().enumerate() {
            let letter = crate::view::svg::Look::of(index).letter();
            assert!(text.contains(&format!("{letter} {}", series.name)), "{text}");
            let plotted = text.lines().filter(|line| line.contains(['│', '┤']));
            assert!(plotted.into_iter().any(|line| line.contains(letter)), "{letter} in {text}");
        }
    }
}

#[test]
fn the_answer_comes_first_and_the_numbers_are_there() {
    let page = samples::page().html();
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("no {words} in {page}"));
    assert!(place("Full jitter makes the fewest calls") < place("<figure"));
    assert!(place("<figure") < place("<table"));
    assert!(page.contains("<th scope=\"col\">calls per client</th>"));
    assert!(page.contains("<th scope=\"row\">no backoff</th><td>50.0</td>"));
    assert!(page.contains("<code>redial simulate --clients 10..190 &#39;retry: unlimited"));
    assert!(page.contains("<html lang=\"en\">") && page.contains("<figcaption>Calls until"));
}

#[test]
fn a_page_names_no_other_place_and_runs_nothing() {
    let page = samples::page().html();
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    for bad in ["http:", "https:", "//", "url(", "@import", "<script", "<link", "<img", " id="] {
        assert!(!outside.contains(bad), "{bad}");
    }
    assert!(page.contains("default-src 'none'; style-src 'unsafe-inline'"));
}
