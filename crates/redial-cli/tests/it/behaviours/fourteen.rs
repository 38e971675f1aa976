//! What may be expected of a program that runs another: fourteen behaviours, each a check of any tool.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::clock;
use crate::kernel::{FOR_EVER, Process, Started, Told, otherwise, send, until};
use crate::stage::Stage;
use crate::terminal::{CTRL_C, Terminal};
use crate::tool::{Ask, Tool, attempts, quoted};

/// What came of a check, with a remark for the table.
#[derive(Debug)]
pub(crate) enum Verdict {
    Good(String),
    Bad(String),
    /// The tool has nothing to do it with, or the machine does not allow to try.
    Absent(String),
}

use Verdict::{Bad, Good};

fn good(remark: impl Into<String>) -> Told<Verdict> {
    Ok(Good(remark.into()))
}

fn bad(remark: impl Into<String>) -> Told<Verdict> {
    Ok(Bad(remark.into()))
}

fn absent(remark: impl Into<String>) -> Told<Verdict> {
    Ok(Verdict::Absent(remark.into()))
}

pub(crate) struct Behaviour {
    pub(crate) says: &'static str,
    pub(crate) check: fn(Tool, &Stage) -> Told<Verdict>,
}

pub(crate) const FOURTEEN: [Behaviour; 14] = [
    Behaviour { says: "TERM ends the command too", check: term_ends_the_command },
    Behaviour { says: "TERM during the delay ends it at once", check: term_during_the_delay },
    Behaviour { says: "Ctrl-C ends both, and is no failure to retry", check: ctrl_c_ends_both },
    Behaviour { says: "Ctrl-C waits for the command to clean up", check: ctrl_c_waits },
    Behaviour { says: "…in a script too, which then stops", check: ctrl_c_waits_in_a_script },
    Behaviour { says: "Ctrl-C stops a script", check: ctrl_c_stops_a_script },
    Behaviour { says: "The command may read the terminal", check: the_terminal_can_be_read },
    Behaviour { says: "A timeout leaves no grandchild", check: timeout_leaves_no_grandchild },
    Behaviour { says: "…not even one that called setsid", check: timeout_leaves_no_session },
    Behaviour { says: "A timeout sends TERM, waits, sends KILL", check: timeout_escalates },
    Behaviour { says: "The end is seen at once under a timeout", check: end_is_seen_at_once },
    Behaviour { says: "As PID 1, TERM works", check: term_works_as_pid_1 },
    Behaviour { says: "As PID 1, no zombies", check: no_zombies_as_pid_1 },
    Behaviour { says: "126, 127 and 128+n are exact", check: exit_codes_are_exact },
];

/// How long a shell sleeps that is going to be ended: longer than any test on any machine, and not for ever.
pub(crate) const LONG: &str = "sleep 9998";

/// Longer than any test takes on any machine: whoever waits for it hangs.
const HOUR: Duration = Duration::from_secs(3600);

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn alive(count: usize) -> String {
    format!("{count} alive")
}

fn term_ends_the_command(tool: Tool, stage: &Stage) -> Told<Verdict> {
    let script = format!("echo . >>attempts; echo ready >bell; exec {LONG}");
    let mut started = stage.start(&tool.script(attempts(3), &script));
    stage.hear_that("ready")?;
    started.signal(Signal::TERM);
    if !started.ends(stage.patience) {
        return bad("goes on");
    }
    let ended = started.end(Duration::ZERO)?;
    match stage.left() {
        0 if stage.attempts() > 1 => bad("tried again"),
        0 => good(ended.code().to_string()),
        left => bad(alive(left)),
    }
}

fn term_during_the_delay(tool: Tool, stage: &Stage) -> Told<Verdict> {
    if !tool.retries() {
        return absent("");
    }
    let ask = Ask { delay: HOUR, ..attempts(3) };
    let mut started = stage.start(&tool.script(ask, "echo . >>attempts; echo $$ >bell; exit 1"));
    let child = stage.hear()?.parse().unwrap();
    if !until(stage.patience, || Process::of(child).is_none()) {
        return bad("does not reap");
    }
    let sent = Instant::now();
    started.signal(Signal::TERM);
    if !started.ends(stage.patience) {
        return bad("goes on");
    }
    let took = sent.elapsed();
    started.end(Duration::ZERO)?;
    match stage.left() {
        0 if stage.attempts() > 1 => bad("tried again"),
        0 => good(milliseconds(took)),
        left => bad(alive(left)),
    }
}

fn ctrl_c_ends_both(tool: Tool, stage: &Stage) -> Told<Verdict> {
    let script = format!("echo . >>attempts; echo ready >bell; exec {LONG}");
    let mut terminal = Terminal::start(stage, &tool.script(attempts(3), &script));
    stage.hear_that("ready")?;
    terminal.types(CTRL_C);
    if !terminal.leader.ends(stage.patience) {
        return bad("goes on");
    }
    let ended = terminal.end()?;
    match stage.left() {
        0 if stage.attempts() > 1 => bad("tried again"),
        0 if ended.signal() == Some(Signal::INT) => good("by INT"),
        0 => bad(format!("exit {}", ended.code())),
        left => bad(alive(left)),
    }
}

/// A command that takes its time to clean up after Ctrl-C, and exits with 3.
const CLEANS_UP: &str = "echo . >>attempts
trap 'echo cleaning >bell; read word <gate; echo cleaned >cleaned; exit 3' INT
echo ready >bell
while :; do sleep 1; done";

/// A wrapper that does not wait for its command has ended by then.
const WAITS: Duration = Duration::from_millis(300);

fn ctrl_c_waits(tool: Tool, stage: &Stage) -> Told<Verdict> {
    let ask = Ask { kill_after: Some(HOUR), ..attempts(3) };
    let mut terminal = Terminal::start(stage, &tool.script(ask, CLEANS_UP));
    stage.hear_that("ready")?;
    terminal.types(CTRL_C);
    let cleaning = stage.hears(stage.patience);
    if terminal.leader.ends(WAITS) {
        return bad("does not wait");
    }
    if cleaning.as_deref() != Some("cleaning") {
        return bad("ignored");
    }
    stage.open();
    if !terminal.leader.ends(stage.patience) {
        return bad("goes on");
    }
    terminal.end()?;
    if stage.attempts() > 1 {
        return bad("tried again");
    }
    if !stage.has("cleaned") {
        return bad("cleanup cut");
    }
    good("")
}

fn ctrl_c_waits_in_a_script(tool: Tool, stage: &Stage) -> Told<Verdict> {
    let ask = Ask { kill_after: Some(HOUR), ..attempts(3) };
    let line = quoted(&tool.script(ask, CLEANS_UP));
    let mut terminal = Terminal::script(stage, "bash", &line);
    stage.hear_that("ready")?;
    terminal.types(CTRL_C);
    let cleaning = stage.hears(stage.patience);
    if terminal.leader.ends(WAITS) {
        return bad("cleanup cut");
    }
    if cleaning.as_deref() != Some("cleaning") {
        return bad("ignored");
    }
    stage.open();
    if !terminal.leader.ends(stage.patience) {
        return bad(if stage.attempts() > 1 { "tried again" } else { "goes on" });
    }
    let ended = terminal.end()?;
    if !stage.has("cleaned") {
        return bad("cleanup cut");
    }
    if stage.attempts() > 1 {
        return bad("tried again");
    }
    if stage.has("code") {
        return bad("the script goes on");
    }
    if ended.signal() != Some(Signal::INT) {
        return bad(format!("the script exits with {}", ended.code()));
    }
    good("")
}

fn ctrl_c_stops_a_script(tool: Tool, stage: &Stage) -> Told<Verdict> {
    let script = format!("echo . >>attempts; echo ready >bell; exec {LONG}");
    let line = quoted(&tool.script(attempts(3), &script));
    let mut terminal = Terminal::script(stage, "bash", &line);
    stage.hear_that("ready")?;
    terminal.types(CTRL_C);
    if !terminal.leader.ends(stage.patience) {
        return bad("ignored");
    }
    let ended = terminal.end()?;
    if stage.attempts() > 1 {
        return bad("tried again");
    }
    if stage.has("code") {
        return bad("the script goes on");
    }
    match stage.left() {
        0 if ended.signal() == Some(Signal::INT) => good(""),
        0 => bad(format!("the script exits with {}", ended.code())),
        left => bad(alive(left)),
    }
}

fn the_terminal_can_be_read(tool: Tool, stage: &Stage) -> Told<Verdict> {
    let timeout = (tool == Tool::Timeout).then_some(Duration::from_secs(1));
    let ask = Ask { timeout, ..attempts(1) };
    let line = quoted(&tool.script(ask, "echo ready >bell; read word; echo $word >word"));
    let mut terminal = Terminal::script(stage, "bash", &line);
    stage.hear_that("ready")?;
    terminal.types("hello\n");
    match stage.hears(stage.patience) {
        Some(_) => {}
        None => return bad("hangs"),
    }
    match (stage.text("word").trim(), stage.text("code").trim()) {
        ("hello", "0") => good(""),
        (_, code) => bad(code),
    }
}

fn timeout_of(milliseconds: u64) -> Option<Duration> {
    Some(Duration::from_millis(milliseconds))
}

/// On a clock that a script drives, if the tool is one that can be made to read it: then a machine may be slow.
fn timed(tool: Tool, stage: &Stage, ask: Ask, script: &str) -> Started {
    let line = tool.script(ask, script);
    match tool {
        Tool::Redial => stage.start(&clock::on_clock(stage, &line)),
        _ => stage.start(&line),
    }
}

fn leaves_nothing(tool: Tool, stage: &Stage, script: &str) -> Told<Verdict> {
    if !tool.has_timeout() {
        return absent("");
    }
    let ask = Ask { timeout: timeout_of(250), ..attempts(5) };
    let mut started = timed(tool, stage, ask, script);
    if !started.ends(stage.patience) {
        return bad("hangs");
    }
    started.end(Duration::ZERO)?;
    if tool.retries() && stage.attempts() != 5 {
        return otherwise(format!("{} attempts; {}", stage.attempts(), stage.scene()));
    }
    match stage.left() {
        0 => good(""),
        left => bad(alive(left)),
    }
}

fn timeout_leaves_no_grandchild(tool: Tool, stage: &Stage) -> Told<Verdict> {
    leaves_nothing(
        tool,
        stage,
        &format!("echo . >>attempts; {LONG} & truncate -s +250 clock; wait"),
    )
}

fn timeout_leaves_no_session(tool: Tool, stage: &Stage) -> Told<Verdict> {
    let script = format!("echo . >>attempts; setsid {LONG} & truncate -s +250 clock; wait");
    leaves_nothing(tool, stage, &script)
}

fn timeout_escalates(tool: Tool, stage: &Stage) -> Told<Verdict> {
    if !tool.has_timeout() {
        return absent("");
    }
    let grace = Duration::from_millis(400);
    let ask = Ask { timeout: timeout_of(300), kill_after: Some(grace), ..attempts(1) };
    // Time as the script counts it: it has none for anything else between TERM and KILL.
    let script = format!("trap 'stat -c %s clock >bell' TERM; {}", clock::PASSING);
    let mut started = timed(tool, stage, ask, &script);
    let term = stage.hears(stage.patience);
    if !started.ends(stage.patience) {
        return bad("goes on");
    }
    let term = term.map(|term| Duration::from_millis(term.parse().unwrap()));
    let waited = term.map(|term| clock::time(stage).saturating_sub(term));
    started.end(Duration::ZERO)?;
    match (stage.left(), waited) {
        (left @ 1.., _) => bad(alive(left)),
        (0, None) => bad("no TERM"),
        // The script hears of TERM a little after it was sent.
        (0, Some(waited)) if waited < grace / 2 => bad(format!("KILL after {waited:?}")),
        (0, Some(_)) => good(if tool == Tool::Timeout { "with -k" } else { "" }),
    }
}

fn end_is_seen_at_once(tool: Tool, stage: &Stage) -> Told<Verdict> {
    if !tool.has_timeout() {
        return absent("");
    }
    let ask = Ask { timeout: Some(HOUR), ..attempts(1) };
    let mut best = Duration::MAX;
    let began = Instant::now();
    // Who polls is late every time, who is kept waiting by a busy machine is not.
    while began.elapsed() < stage.patience {
        let script = "echo ready >bell; read word <gate";
        let mut started = stage.start(&tool.script(ask, script));
        stage.hear_that("ready")?;
        // A tool that sleeps between looks, ever longer, has come to long ones by then.
        if started.ends(Duration::from_millis(700)) {
            return bad("ends early");
        }
        let opened = Instant::now();
        stage.open();
        if !started.ends(stage.patience) {
            return bad("hangs");
        }
        best = best.min(opened.elapsed());
        started.end(Duration::ZERO)?;
        if best < Duration::from_millis(100) {
            return good(milliseconds(best));
        }
    }
    bad(format!("{} late", milliseconds(best)))
}

/// What makes a command the first process of its own namespace; or why that cannot be.
pub(crate) fn namespace() -> &'static Result<Vec<String>, String> {
    static NAMESPACE: LazyLock<Result<Vec<String>, String>> = LazyLock::new(|| {
        let plain = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
        let user = ["--user", "--map-root-user"];
        let mut why = String::new();
        for line in [plain.to_vec(), [&plain[..], &user[..]].concat()] {
            match Command::new(line[0]).args(&line[1..]).arg("true").output() {
                Ok(output) if output.status.success() => {
                    return Ok(line.into_iter().map(str::to_owned).collect());
                }
                Ok(output) => why = String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                Err(error) => why = format!("unshare: {error}"),
            }
        }
        Err(why)
    });
    &NAMESPACE
}

/// The process that has PID 1 in the namespace that `unshare` made, by its number outside.
pub(crate) fn first_process(unshare: &Started) -> Option<u32> {
    let mut first = None;
    let path = format!("/proc/{0}/task/{0}/children", unshare.pid());
    until(FOR_EVER, || {
        let children = fs::read_to_string(&path).unwrap_or_default();
        first = children.split_whitespace().next().and_then(|pid| pid.parse().ok());
        first.is_some() || !unshare.is_running()
    });
    first
}

fn term_works_as_pid_1(tool: Tool, stage: &Stage) -> Told<Verdict> {
    let unshare = match namespace() {
        Ok(unshare) => unshare,
        Err(why) => return absent(why),
    };
    let script = format!("echo ready >bell; exec {LONG}");
    let line = [unshare.clone(), tool.script(attempts(3), &script)].concat();
    let mut started = stage.start(&line);
    stage.hear_that("ready")?;
    send(first_process(&started).unwrap(), Signal::TERM);
    if !started.ends(stage.patience) {
        return bad("ignored");
    }
    match started.end(Duration::ZERO)?.code() {
        143 => good("143"),
        code => bad(code.to_string()),
    }
}

fn no_zombies_as_pid_1(tool: Tool, stage: &Stage) -> Told<Verdict> {
    if !tool.retries() {
        return absent("");
    }
    let unshare = match namespace() {
        Ok(unshare) => unshare,
        Err(why) => return absent(why),
    };
    let script = "echo . >>attempts
test $(wc -l <attempts) = 6 || { (true &); exit 1; }
echo ready >bell; read word <gate";
    let line = [unshare.clone(), tool.script(attempts(6), script)].concat();
    let mut started = stage.start(&line);
    stage.hear_that("ready")?;
    let first = first_process(&started).unwrap();
    let mut zombies = 0;
    until(stage.patience, || {
        let is_zombie = |one: &Process| one.parent == first && one.state == 'Z';
        zombies = Process::all().filter(is_zombie).count();
        zombies == 0
    });
    stage.open();
    if !started.ends(stage.patience) {
        return bad("hangs");
    }
    let ended = started.end(Duration::ZERO)?;
    match (zombies, ended.code()) {
        (0, 0) => good(""),
        (0, code) => bad(format!("exit {code}")),
        (zombies, _) => bad(format!("{zombies} zombies")),
    }
}

fn exit_codes_are_exact(tool: Tool, stage: &Stage) -> Told<Verdict> {
    stage.write("plain", "#!/bin/sh\n");
    fs::set_permissions(stage.path("plain"), fs::Permissions::from_mode(0o644)).unwrap();
    let mut codes = Vec::new();
    for command in [
        &["./plain"][..],
        &["no-such-command-9731"],
        &["./no-such-command"],
        &["sh", "-c", "kill -SEGV $$"],
    ] {
        codes.push(stage.run(&tool.line(attempts(1), command))?.code().to_string());
    }
    let codes = codes.join(" ");
    if codes == "126 127 127 139" { good("") } else { bad(codes) }
}

/// That redial passes one of them.
#[track_caller]
fn redial_passes(number: usize) -> Told<()> {
    let stage = Stage::new();
    match (FOURTEEN[number - 1].check)(Tool::Redial, &stage)? {
        Good(_) => Ok(()),
        Bad(remark) => otherwise(format!("{remark}; {}", stage.scene())),
        Verdict::Absent(why) => {
            #[expect(clippy::print_stderr, reason = "a test that did not look says so")]
            {
                eprintln!("skipped: {why}");
            }
            Ok(())
        }
    }
}

#[test]
fn b01_term_ends_the_command() -> Told<()> {
    redial_passes(1)
}

#[test]
fn b02_term_during_the_delay_ends_it_at_once() -> Told<()> {
    redial_passes(2)
}

#[test]
fn b03_ctrl_c_ends_both() -> Told<()> {
    redial_passes(3)
}

#[test]
fn b04_ctrl_c_waits_for_the_command_to_clean_up() -> Told<()> {
    redial_passes(4)
}

#[test]
fn b05_ctrl_c_waits_in_a_script_which_then_stops() -> Told<()> {
    redial_passes(5)
}

#[test]
fn b06_ctrl_c_stops_a_script() -> Told<()> {
    redial_passes(6)
}

#[test]
fn b07_the_command_may_read_the_terminal() -> Told<()> {
    redial_passes(7)
}

#[test]
fn b08_a_timeout_leaves_no_grandchild() -> Told<()> {
    redial_passes(8)
}

#[test]
fn b09_a_timeout_leaves_no_grandchild_that_called_setsid() -> Told<()> {
    redial_passes(9)
}

#[test]
fn b10_a_timeout_sends_term_waits_and_sends_kill() -> Told<()> {
    redial_passes(10)
}

#[test]
fn b11_the_end_is_seen_at_once_under_a_timeout() -> Told<()> {
    redial_passes(11)
}

#[test]
fn b12_term_works_as_pid_1() -> Told<()> {
    redial_passes(12)
}

#[test]
fn b13_no_zombies_as_pid_1() -> Told<()> {
    redial_passes(13)
}

#[test]
fn b14_exit_codes_are_exact() -> Told<()> {
    redial_passes(14)
}
