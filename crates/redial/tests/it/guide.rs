//! What the guide says of the library, and can be compared with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Options of a call, and which loops have them, by the listing of the public API: `pub fn
/// redial::Retry<M, …>::name(self, …) -> redial::Retry<…>`.
fn listed() -> Vec<(String, &'static str)> {
    let listing = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../api/redial.txt");
    let listing = fs::read_to_string(&listing).unwrap();
    let options = listing.lines().filter_map(|line| {
        let rest = line.strip_prefix("pub fn redial::Retry<")?;
        let (call, rest) = rest.split_once(">::")?;
        let end = rest.find(['<', '('])?;
        let (_, taken) = rest.split_once('(')?;
        let on = match call {
            _ if !taken.starts_with("self") || rest.contains("-> redial::Outcome") => return None,
            _ if rest[..end] == *"run" => return None,
            _ if call.starts_with("redial::parts::Async") => "async",
            _ if call.starts_with("redial::blocking") => "blocking",
            _ if call.starts_with("redial::tower") => "layer",
            _ => "any",
        };
        Some((rest[..end].to_owned(), on))
    });
    options.collect()
}

/// The table in `guide/runtimes.md`: the options of each line, and its five cells.
fn table() -> Vec<(BTreeSet<String>, Vec<String>)> {
    let page = include_str!("../../src/guide/runtimes.md");
    let table = page.split("# Which options where").nth(1).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<_> =
            row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        let names = cells[0].split(", ").map(|name| name.trim_matches('`').to_owned());
        (names.collect(), cells)
    })
    .collect()
}

#[test]
fn the_table_of_options_has_all_of_them_and_no_others() {
    let (listed, table) = (listed(), table());
    let options: BTreeSet<_> = listed.iter().map(|(name, _)| name.clone()).collect();
    assert!(options.len() > 20, "{options:?}");
    let told: BTreeSet<_> = table.iter().flat_map(|(names, _)| names.clone()).collect();
    assert_eq!(told, options);
    for (name, on) in &listed {
        let (_, cells) = table.iter().find(|(names, _)| names.contains(name)).unwrap();
        let column = match *on {
            "async" => 1,
            "blocking" => 3,
            "layer" => 4,
            _ => continue,
        };
        assert!(cells[column].starts_with("yes"), "{name} on {on}: {cells:?}");
    }
}
