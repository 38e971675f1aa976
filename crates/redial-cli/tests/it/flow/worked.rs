//! The worked flows of docs/FLOWS.md, run as the document shows them: over a real server, with real commands, and killed.

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::downloads;
use crate::program::{self, install, is_installed, path_with_redial, root, stdout};
use crate::sessions::timeless;

/// A folder of somebody who has cloned the repository, with programs of their own on the `PATH`.
struct Desk(TempDir);

impl Desk {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = program::folder(files);
        std::os::unix::fs::symlink(root().join("docs"), folder.path().join("docs")).unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        Self(folder)
    }

    fn program(&self, name: &str, script: &str) {
        install(&self.0.path().join("bin").join(name), script);
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    /// A line of a shell.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec 2>&1 && exec {line}")]).current_dir(self.0.path());
        for name in program::DEFAULTS {
            command.env_remove(name);
        }
        let path = format!("{}/bin:{}", self.0.path().display(), path_with_redial());
        command.env("PATH", path).env("LC_ALL", "C").env("no_proxy", "127.0.0.1");
        command.env("NO_COLOR", "1").env("COLUMNS", "100").stdin(Stdio::null());
        command
    }

    /// Runs a line of the document, which shows what it prints; only times may differ. Gives the exit code.
    #[track_caller]
    fn shows(&self, line: &str, address: &str) -> Option<i32> {
        let output = self.command(line).output().unwrap();
        let printed = format!("$ {line}\n{}", stdout(&output));
        // The document has a server with a name.
        is_in_the_document(&printed.replace(address, "http://pictures.test"));
        output.status.code()
    }

    fn journal(&self, run: &str) -> Vec<Value> {
        let path = self.0.path().join(format!(".redial/runs/{run}/journal.ndjson"));
        let text = fs::read_to_string(path).unwrap_or_default();
        // A line that is being written is left for the next look.
        text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
    }
}

#[track_caller]
fn is_in_the_document(printed: &str) {
    let page = fs::read_to_string(root().join("docs/FLOWS.md")).unwrap();
    // Where a line is wrapped depends on the times in it.
    let flat = |text: &str| timeless(text).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat(&page).contains(&flat(printed)), "docs/FLOWS.md does not show:\n{printed}");
}

/// A reader can run what the page shows.
#[test]
fn every_flow_on_the_page_is_a_file() {
    let page = fs::read_to_string(root().join("docs/FLOWS.md")).unwrap();
    let mut shown: Vec<_> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let files = fs::read_dir(root().join("docs/examples/flows")).unwrap();
    let mut files: Vec<_> =
        files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    shown.sort_unstable();
    files.sort_unstable();
    assert_eq!(shown, files);
}

/// A server of four pictures, which is busy when it is first asked for one, and does not have `elk.png` yet.
fn pictures(has_elk: Arc<AtomicBool>) -> String {
    let asked = Mutex::new(HashMap::new());
    let address = Arc::new(Mutex::new(String::new()));
    let own = Arc::clone(&address);
    let answer = |status: &str, more: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    };
    let started = downloads::server(move |path| {
        let mut asked = asked.lock().unwrap();
        let times = asked.entry(path.to_owned()).or_insert(0);
        *times += 1;
        match (path, *times) {
            ("/pictures.json", 1) => answer("503 Busy", "", ""),
            ("/pictures.json", _) => {
                let own = own.lock().unwrap();
                let picture = |(id, width)| {
                    format!(r#"{{"id": "{id}", "width": {width}, "url": "{own}/{id}.png"}}"#)
                };
                let all = [("cat", 2000), ("dog", 1500), ("ant", 100), ("elk", 3000)].map(picture);
                answer("200 OK", "", &format!(r#"{{"pictures": [{}]}}"#, all.join(", ")))
            }
            ("/elk.png", _) if !has_elk.load(Ordering::Relaxed) => answer("404 Not Found", "", ""),
            ("/cat.png" | "/dog.png", 1) => answer("503 Busy", "Retry-After: 1\r\n", ""),
            _ => answer("200 OK", "", "a picture"),
        }
    });
    address.lock().unwrap().clone_from(&started);
    started
}

#[test]
fn thumbnails_are_made_over_a_flaky_server() {
    if !is_installed("curl", "--version") {
        return;
    }
    let desk = Desk::new(&[]);
    // What ImageMagick would do, for a test.
    desk.program("convert", "#!/bin/sh\nprintf 'small %s\\n' \"$(cat \"$1\")\" > \"$4\"\n");
    let has_elk = Arc::new(AtomicBool::new(false));
    let server = pictures(Arc::clone(&has_elk));
    let run = "redial flow run docs/examples/flows/thumbnails.yaml --run thumbnails --input url=ADDRESS/pictures.json";
    assert_eq!(desk.shows(&run.replace("ADDRESS", &server), &server), Some(1));
    for picture in ["cat", "dog"] {
        assert_eq!(desk.read(&format!("{picture}-small.png")), "small a picture\n");
    }
    // What the server asked for was waited for exactly.
    let journal = desk.journal("thumbnails");
    let asked = journal.iter().filter(|record| record["type"] == "decision");
    let asked = asked.filter(|decision| decision["delay_ns"] == 1_000_000_000);
    assert_eq!(asked.count(), 2);
    assert!(journal.iter().all(|record| record["key"] != "ant"), "a small picture was fetched");

    assert_eq!(desk.shows("redial flow dead list thumbnails", &server), Some(0));
    has_elk.store(true, Ordering::Relaxed);
    assert_eq!(desk.shows("redial flow dead retry thumbnails elk", &server), Some(0));
    assert_eq!(desk.read("elk-small.png"), "small a picture\n");
}

const PROCESS_ITEM: &str = r#"#!/bin/sh
echo "$1" >> ran
case $1 in
  orders) test "$(grep -c orders ran)" -ge 3 || { echo "connection refused" >&2; exit 1; } ;;
  ledger) echo "no such table" >&2; exit 2 ;;
esac
echo "$1 is done"
"#;

#[test]
fn work_items_of_another_system_run() {
    let items = r#"{"items": [
        {"id": "users", "size": 3}, {"id": "orders", "size": 9}, {"id": "empty", "size": 0}, {"id": "ledger", "size": 7}
    ]}"#;
    let desk = Desk::new(&[("work-items.json", items)]);
    desk.program("process-item", PROCESS_ITEM);
    assert_eq!(
        desk.shows("redial flow run docs/examples/flows/work-items.yml --run items --seed 7", "\0"),
        Some(1)
    );
    let summary = desk.read("summary.txt");
    assert_eq!(summary, "orders is done\nusers is done\n2 of 3 items, 1 failed\n");
    is_in_the_document(&format!("$ cat summary.txt\n{summary}"));
    let ran = desk.read("ran");
    // `orders` is retried by the pattern, `ledger` is not, and `empty` was filtered out.
    let times = |item: &str| ran.lines().filter(|line| *line == item).count();
    assert_eq!(["users", "orders", "ledger", "empty"].map(times), [1, 3, 1, 0]);
}

/// A night with six shops, the n-th of which has n orders. The work takes until `morning` is there, so that no machine is too
/// slow to kill redial meanwhile.
fn night() -> Desk {
    let shops: Vec<String> = (1..=6).map(|shop| format!("shop-{shop}")).collect();
    let desk = Desk::new(&[("shops.txt", &(shops.join("\n") + "\n"))]);
    let orders = desk.0.path().join("orders");
    fs::create_dir(&orders).unwrap();
    for (shop, number) in shops.iter().zip(1..) {
        fs::write(orders.join(shop), "an order\n".repeat(number)).unwrap();
    }
    desk.program("sleep", "#!/bin/sh\nuntil test -e morning; do /bin/sleep 0.02; done\n");
    desk
}

impl Desk {
    fn morning_comes(&self) {
        fs::write(self.0.path().join("morning"), "").unwrap();
    }

    /// Starts redial, and kills it when this holds of its journal.
    fn killed(&self, line: &str, when: impl Fn(&[Value]) -> bool) {
        let mut redial = self.command(line).stdout(Stdio::null()).spawn().unwrap();
        while !when(&self.journal("nightly")) {
            assert!(redial.try_wait().unwrap().is_none(), "it is over before it was killed");
            thread::sleep(Duration::from_millis(5));
        }
        redial.kill().unwrap();
        redial.wait().unwrap();
    }
}

fn count(journal: &[Value], kind: &str, step: &str) -> usize {
    journal.iter().filter(|record| record["type"] == kind && record["step"] == step).count()
}

#[test]
fn a_nightly_job_that_is_killed_twice_comes_to_the_same() {
    let quiet = night();
    quiet.morning_comes();
    let run = "redial flow run docs/examples/flows/nightly.yaml --run nightly";
    assert!(quiet.command(run).output().unwrap().status.success());
    assert_eq!(quiet.read("report.txt"), "orders last night: 21\n");

    let night = night();
    // All six run.
    night.killed(run, |journal| {
        count(journal, "items.end", "shops") == 1 && count(journal, "attempt.start", "count") == 6
    });
    assert_eq!(night.shows("redial flow status nightly", "\0"), Some(0));
    // All six run again.
    night.killed("redial flow resume nightly", |journal| {
        count(journal, "attempt.start", "count") == 12
    });
    night.morning_comes();
    assert_eq!(night.shows("redial flow resume nightly", "\0"), Some(0));

    for file in ["report.txt", "counted/shop-1", "counted/shop-6"] {
        assert_eq!(night.read(file), quiet.read(file), "{file}");
    }
    let journal = night.journal("nightly");
    let of = |step| count(&journal, "attempt.start", step);
    assert_eq!(["prepare", "count", "total", "report"].map(of), [1, 18, 1, 1]);
    let lost = journal.iter().filter(|record| record["outcome"] == "lost").count();
    assert_eq!(lost, 12);
    // The delays are those of the policy, also across two deaths.
    let mut delays: Vec<_> =
        journal.iter().filter_map(|record| record["delay_ns"].as_u64()).collect();
    delays.sort_unstable();
    assert_eq!(delays, [[50_000_000; 6], [100_000_000; 6]].concat());
}

#[test]
fn items_that_were_read_before_a_kill_are_not_read_as_new_ones() {
    let night = night();
    // Two of six run; the others are read, and not taken up.
    let run = "redial flow run docs/examples/flows/nightly.yaml -j 2 --run nightly";
    night.killed(run, |journal| count(journal, "attempt.start", "count") == 2);
    night.morning_comes();
    assert!(night.command("redial flow resume nightly").output().unwrap().status.success());
    let journal = night.journal("nightly");
    assert_eq!(count(&journal, "attempt.start", "count"), 8);
    assert_eq!(journal.iter().find_map(|record| record["items"].as_u64()), Some(6));
}
