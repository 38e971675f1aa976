use std::fs;
use std::path::Path;

/// The pages that a file names in `include_str!`, from the folder of the guide.
fn included(file: &str, marks: &str) -> Vec<String> {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("a file");
    let mut pages: Vec<String> = text
        .lines()
        .filter(|line| line.contains(marks))
        .filter_map(|line| line.split_once("guide/")?.1.split_once('"'))
        .map(|(page, _)| page.to_owned())
        .collect();
    pages.sort();
    pages
}

#[test]
fn every_page_that_the_library_leaves_out_is_run_here() {
    let left_out = included("../crates/redial/src/guide.rs", "not(doctest)");
    assert_eq!(left_out, included("src/pages.rs", "include_str!"));
    assert!(!left_out.is_empty());
}

#[test]
fn no_example_of_these_pages_is_left_out() {
    for page in included("src/pages.rs", "include_str!") {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/redial/src/guide").join(&page);
        let text = fs::read_to_string(path).expect("a page");
        let fences: Vec<&str> = text.lines().filter(|line| line.starts_with("```")).collect();
        assert!(fences.len() >= 2, "{page} has an example");
        assert!(fences.iter().all(|fence| *fence == "```"), "{page}: {fences:?}");
    }
}

/// The versions that the pages compare with are those that run here.
#[test]
fn the_versions_that_the_pages_name_are_the_ones_that_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock = fs::read_to_string(root.join("Cargo.lock")).expect("a lock file");
    for (page, crates) in [
        ("from_again", &["again"][..]),
        ("from_backoff", &["backoff"]),
        ("from_backon", &["backon"]),
        ("from_tokio_retry", &["tokio-retry", "tokio-retry2"]),
        ("from_tower", &["tower"]),
    ] {
        let path = root.join("../crates/redial/src/guide").join(page).with_extension("md");
        let words: Vec<String> = fs::read_to_string(path)
            .expect("a page")
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        for name in crates {
            let entry = format!("name = \"{name}\"\nversion = \"");
            let version = lock.split_once(&entry).expect("a locked version").1;
            let version = version.split_once('"').expect("a version").0;
            let named = words.windows(2).any(|pair| {
                pair[0] == format!("`{name}`") && pair[1].trim_end_matches(['.', ',']) == version
            });
            assert!(named, "{page}.md does not compare with {name} {version}");
        }
    }
}
