//! Many processes, some of which are killed. Each is this test program, told to run `worker`.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::iter;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use redial_seeds::{Dice, Draw};

use super::super::lock::{self, Byte};
use super::super::{Refusal, SharedBreaker, SharedBudget, wall_clock};
use super::{Place, permitted, refused};

/// What a process is to do, and on which file.
const JOB: &str = "REDIAL_TEST_JOB";
const FILE: &str = "REDIAL_TEST_FILE";

fn start(job: &str, place: &Place) -> Child {
    Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["shared::tests::processes::worker", "--exact", "--ignored", "--nocapture"])
        .env(JOB, job)
        .env(FILE, place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program runs")
}

/// How long a process waits for the lock of a file here: fifty on a busy machine may take longer than a
/// second of a run.
const PATIENCE: Duration = Duration::from_secs(3600);

fn budget(file: &Path) -> Result<SharedBudget, String> {
    SharedBudget::open_within(file, wall_clock, PATIENCE)
}

fn breaker(file: &Path) -> Result<SharedBreaker, String> {
    SharedBreaker::open_within(file, wall_clock, PATIENCE)
}

/// The lines of a worker begin with a sign, those of the test harness do not.
fn tell(what: &str) {
    std::io::stdout().write_all(format!("\n>{what}\n").as_bytes()).expect("somebody listens");
}

fn heard(output: impl Read) -> impl Iterator<Item = String> {
    let lines = BufReader::new(output).lines().map(|line| line.expect("it is text"));
    lines.filter_map(|line| line.strip_prefix('>').map(str::to_owned))
}

fn hear_all(mut process: Child) -> Vec<String> {
    let told = heard(process.stdout.take().expect("it is piped")).collect();
    process.wait().expect("it ends");
    told
}

fn kill(process: &mut Child) {
    process.kill().expect("it is ours");
    process.wait().expect("it ends");
}

#[test]
#[ignore = "a process that the other tests start"]
fn worker() {
    let (Ok(job), Some(file)) = (std::env::var(JOB), std::env::var_os(FILE)) else { return };
    let file = Path::new(&file);
    match job.as_str() {
        "spend" => spend(file),
        "withdraw" => withdraw(file),
        "call" => call(file),
        "probe" => probe(file),
        "probe a while" => probe_a_while(file),
        _ => panic!("{job:?} is not a job"),
    }
}

/// Forty runs, each of which wants one retry and sometimes gives it back.
fn spend(file: &Path) {
    let budget = budget(file).expect("the file is sound");
    let mut taken = 0;
    for run in 0..40 {
        budget.deposit().expect("the file is sound");
        if budget.withdraw().expect("the file is sound") {
            if run % 4 == 3 {
                budget.refund().expect("the file is sound");
            } else {
                taken += 1;
            }
        }
    }
    tell(&taken.to_string());
}

#[test]
fn fifty_processes_lose_no_token_and_make_none() {
    // Of 500 tokens and 400 that are deposited at most 900 are taken; 2000 are asked for.
    let place =
        Place::holding(r#"{"redial":"budget","capacity":1000,"floor_per_second":0,"tokens":500}"#);
    let processes: Vec<_> = (0..50).map(|_| start("spend", &place)).collect();
    let told = processes.into_iter().flat_map(hear_all).collect::<Vec<_>>();
    assert_eq!(told.len(), 50, "every process ended well");
    let taken: u32 = told.iter().map(|taken| taken.parse::<u32>().expect("a number")).sum();
    assert!((800..=900).contains(&taken), "{taken} taken");
    let left = 900.0 - f64::from(taken);
    assert!((place.number("tokens") - left).abs() < 1e-9, "{left} left: {}", place.text());
}

#[test]
fn processes_that_find_no_file_make_one_together() {
    for _ in 0..5 {
        let place = Place::new();
        let processes: Vec<_> = (0..10).map(|_| start("spend", &place)).collect();
        assert_eq!(processes.into_iter().flat_map(hear_all).count(), 10);
        assert_eq!(place.text().len(), 512);
    }
}

/// Withdraws for ever, and says so after each.
fn withdraw(file: &Path) {
    let budget = budget(file).expect("the file is sound");
    while budget.withdraw().expect("the file is sound") {
        tell("taken");
    }
}

/// Lets four processes run until one says something, and kills each at a moment of its own. What
/// they said.
fn kill_in_the_middle(job: &str, place: &Place, dice: &mut Dice) -> Vec<String> {
    let mut processes = [(); 4].map(|()| start(job, place));
    let (say, said) = mpsc::channel();
    for process in &mut processes {
        let output = heard(process.stdout.take().expect("it is piped"));
        let say = say.clone();
        thread::spawn(move || output.for_each(|line| say.send(line).expect("somebody listens")));
    }
    drop(say);
    let first = said.recv().expect("one of them gets there");
    for process in &mut processes {
        thread::sleep(Duration::from_micros(dice.below(3000)));
        kill(process);
    }
    iter::once(first).chain(said).collect()
}

#[test]
fn a_budget_survives_hundreds_of_kills() {
    let place = Place::holding(r#"{"redial":"budget","capacity":1000000,"floor_per_second":0}"#);
    let mut dice = redial_seeds::random(redial_seeds::asked().unwrap_or(0));
    let (mut told, mut kills) = (0, 0);
    for _ in 0..75 {
        told += kill_in_the_middle("withdraw", &place, &mut dice).len();
        kills += 4;
        // Each that was killed may have taken one that it did not live to tell.
        let taken = 1e6 - place.number("tokens");
        assert!(
            (told as f64..=(told + kills) as f64).contains(&taken),
            "{told} told, {taken} taken"
        );
        assert_eq!(place.text().len(), 512);
    }
    let budget = budget(&place.path()).expect("the file is sound");
    assert!(budget.withdraw().expect("the file is sound"));
}

/// Makes attempts for ever, of which every third fails.
fn call(file: &Path) {
    let breaker = breaker(file).expect("the file is sound");
    tell("calling");
    for attempt in u64::from(std::process::id()).. {
        match breaker.admit().expect("the file is sound") {
            Err(_) => thread::sleep(Duration::from_micros(100)),
            Ok(permit) if attempt % 3 == 0 => {
                permit.failed().expect("it is sound");
            }
            Ok(permit) if attempt % 3 == 1 => permit.succeeded().expect("it is sound"),
            Ok(permit) => drop(permit),
        }
    }
}

#[test]
fn a_breaker_survives_hundreds_of_kills() {
    let place =
        Place::holding(r#"{"redial":"breaker","failures":2,"recovery_seconds":0.0001,"probes":2}"#);
    let mut dice = redial_seeds::random(redial_seeds::asked().unwrap_or(0));
    let breaker = breaker(&place.path()).expect("the file is sound");
    let mut periods = HashSet::new();
    for _ in 0..75 {
        kill_in_the_middle("call", &place, &mut dice);
        thread::sleep(Duration::from_millis(1));
        // Nobody is left who could hold a place.
        permitted(&breaker).succeeded().expect("the file is sound");
        permitted(&breaker).succeeded().expect("the file is sound");
        assert_eq!(place.json()["state"], "closed");
        periods.insert(place.json()["period"].as_u64());
    }
    assert!(periods.len() > 20, "it seldom opened: {periods:?}");
}

const HALF_OPEN: &str = r#"{"redial":"breaker","probes":2,"state":"half-open"}"#;

/// A probe whose command is `cat`.
fn probe(file: &Path) {
    let _permit = permitted(&breaker(file).expect("the file is sound"));
    let mut command = Command::new("cat").spawn().expect("cat runs");
    tell("probing");
    command.wait().expect("it ends");
}

#[test]
fn a_killed_probe_frees_its_place_at_once_though_its_command_lives_on() {
    let place = Place::holding(HALF_OPEN.replace('2', "1"));
    let breaker = breaker(&place.path()).expect("the file is sound");
    let mut process = start("probe", &place);
    let mut output = heard(process.stdout.take().expect("it is piped"));
    assert_eq!(output.next().as_deref(), Some("probing"));
    assert_eq!(refused(&breaker), Refusal::Probing);

    let mut to_command = process.stdin.take().expect("it is piped");
    kill(&mut process);
    let probe = permitted(&breaker);
    to_command.write_all(b">still here\n").expect("the command lives");
    assert_eq!(output.next().as_deref(), Some("still here"));
    probe.succeeded().expect("the file is sound");
    assert_eq!(place.json()["state"], "closed");
}

/// Twenty times a probe, if there is room: from when to when it ran.
fn probe_a_while(file: &Path) {
    let breaker = breaker(file).expect("the file is sound");
    let now = || SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970").as_nanos();
    for _ in 0..20 {
        if let Ok(probe) = breaker.admit().expect("the file is sound") {
            let from = now();
            thread::sleep(Duration::from_millis(1));
            tell(&format!("{from} {}", now()));
            drop(probe);
        } else {
            thread::sleep(Duration::from_micros(300));
        }
    }
}

#[test]
fn never_more_probes_run_than_it_is_set_to() {
    let place = Place::holding(HALF_OPEN);
    let processes: Vec<_> = (0..20).map(|_| start("probe a while", &place)).collect();
    let mut steps = Vec::new();
    for told in processes.into_iter().flat_map(hear_all) {
        let (from, to) = told.split_once(' ').expect("two times");
        steps.push((from.parse::<u128>().expect("a number"), 1));
        steps.push((to.parse::<u128>().expect("a number"), -1));
    }
    steps.sort_unstable();
    let (mut running, mut most) = (0, 0);
    for (_, step) in &steps {
        running += step;
        most = most.max(running);
    }
    assert_eq!(most, 2, "in {} probes", steps.len() / 2);
}

#[test]
fn a_file_that_is_replaced_while_somebody_waits_for_it_is_let_go() {
    let (place, other) = (Place::new(), Place::holding(r#"{"redial":"budget","capacity":7}"#));
    let budget = budget(&place.path()).expect("it is made");
    let busy = std::fs::File::options().write(true).open(place.path()).expect("it is there");
    assert!(lock::try_lock(&busy, Byte::CHANGE).expect("it can be locked"));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| budget.withdraw());
        thread::sleep(Duration::from_millis(100));
        std::fs::rename(other.path(), place.path()).expect("it is replaced");
        lock::unlock(&busy, Byte::CHANGE);
        assert_eq!(waiting.join().expect("it ends"), Ok(true));
    });
    assert_eq!(place.number("tokens"), 6.0);
}

#[test]
fn a_process_that_was_stopped_in_the_middle_of_a_change_keeps_nobody_for_ever() {
    let place = Place::new();
    let budget = SharedBudget::open(&place.path()).expect("it is made");
    let stopped = std::fs::File::options().write(true).open(place.path()).expect("it is there");
    assert!(lock::try_lock(&stopped, Byte::CHANGE).expect("it can be locked"));
    let error = budget.withdraw().expect_err("it gives up");
    assert!(
        error.ends_with("has held its lock for 1 s; is it stopped? Continue it or end it"),
        "{error}"
    );
    drop(stopped);
    assert!(budget.withdraw().expect("it is free again"));
}
