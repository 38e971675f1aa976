//! Many commands at once, each in a slot with a guard: those of one slot are told from those of
//! another, and a KILL of this process leaves none.

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::{CStr, OsString};
    use std::fs;
    use std::io::Write;
    use std::path::Path;
    use std::process::{Command as Program, Stdio};
    use std::time::Duration;

    use redial_core::{Backoff, Limits};
    use redial_policy::{Draws, Rules, Stream};
    use redial_process::shared::SharedGate;
    use redial_process::{
        AttemptLoop, Clock, Command, End, Options, Reactor, Sink, Sinks, SlotId, Stdin, Streams,
        Task, Turn, guard,
    };

    const GUARD: &CStr = c"__guard";
    const KILLED: &str = "__killed";

    type Test = (&'static str, fn(&Path));

    /// Each runs in a process of its own, because there is one reactor in a process.
    const TESTS: [Test; 11] = [
        ("eight_commands_run_at_once_and_each_has_its_own_output", eight_at_once),
        ("what_one_command_started_is_ended_and_nothing_of_another", only_its_own),
        ("a_command_that_is_cut_does_not_disturb_the_others", one_is_cut),
        ("a_kill_of_this_process_leaves_nothing_running", a_kill_leaves_nothing),
        ("a_kill_of_its_whole_process_group_leaves_nothing_running", a_group_kill_leaves_nothing),
        ("what_cannot_be_started_is_an_error_and_the_slot_is_free", not_found),
        ("a_command_is_looked_for_in_the_path_of_this_process", in_path),
        ("a_daemon_that_is_disowned_outlives_the_guard_and_the_slot_gets_another", disowned),
        ("a_guard_that_was_killed_is_replaced", a_killed_guard),
        ("three_attempt_loops_run_at_once_and_each_follows_its_policy", three_loops),
        ("output_that_the_caller_keeps_needs_no_reader_of_ours", kept_with_stdout_closed),
    ];

    pub(super) fn main() {
        if guard::is_asked_for(GUARD, std::env::args_os()) {
            return guard::serve();
        }
        let arguments: Vec<_> = std::env::args().skip(1).collect();
        let folder = std::env::var_os("REDIAL_TEST_FOLDER");
        if let (Some(name), Some(folder)) = (arguments.first(), &folder) {
            let run = match name.as_str() {
                KILLED => wait_to_be_killed,
                name => TESTS.iter().find(|(known, _)| *known == name).expect("a test").1,
            };
            return run(Path::new(folder));
        }
        let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
        let wanted = |name: &str| filter.is_none_or(|filter| name.contains(filter.as_str()));
        let mut out = std::io::stdout();
        let (mut passed, mut failed) = (0, 0);
        for (name, _) in TESTS.iter().filter(|(name, _)| wanted(name)) {
            let folder = tempfile::tempdir().unwrap();
            let is_green = anew(name, folder.path()).status().unwrap().success();
            (passed, failed) = (passed + i32::from(is_green), failed + i32::from(!is_green));
            writeln!(out, "test {name} ... {}", if is_green { "ok" } else { "FAILED" }).unwrap();
        }
        let result = if failed == 0 { "ok" } else { "FAILED" };
        writeln!(out, "\ntest result: {result}. {passed} passed; {failed} failed").unwrap();
        assert_eq!(failed, 0);
    }

    fn anew(name: &str, folder: &Path) -> Program {
        let mut program = Program::new(std::env::current_exe().unwrap());
        program.arg(name).env("REDIAL_TEST_FOLDER", folder).stdin(Stdio::null());
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        program.env("PATH", path);
        program
    }

    struct Slots {
        reactor: Reactor,
        rules: Rules,
    }

    impl Slots {
        fn new(count: usize, options: Options) -> (Self, Vec<SlotId>) {
            let rules = Rules::default();
            let mut reactor = Reactor::new(Clock::start(), options).unwrap();
            let slots = (0..count).map(|_| {
                let streams = Streams::new(Stdin::Null, true, &rules);
                reactor.guarded_slot(streams, GUARD).unwrap()
            });
            let slots = slots.collect();
            (Self { reactor, rules }, slots)
        }

        fn sh(&mut self, slot: SlotId, script: &str, folder: &Path) {
            self.start(slot, &["sh", "-c", script], folder);
        }

        fn start(&mut self, slot: SlotId, words: &[&str], folder: &Path) {
            let sinks = Sinks { stdout: Sink::Keep, ..Sinks::default() };
            let stdio = self.reactor.streams(slot).open(&self.rules, sinks, true).unwrap();
            let words: Vec<_> = words.iter().map(Into::into).collect();
            let variables = [("FOLDER", folder.into())];
            self.reactor.start(slot, &Command::new(&words, &[]), &variables, stdio);
        }

        /// The exit code of the command of a slot.
        fn code(&mut self, slot: SlotId) -> Option<i32> {
            self.reactor.wait_for_exit(slot, &mut ()).unwrap().status.unwrap().code()
        }

        fn output(&mut self, slot: SlotId) -> String {
            let kept = self.reactor.streams(slot).take_kept(Stream::Stdout).unwrap();
            let mut bytes = vec![0; kept.length() as usize];
            kept.read_at(0, &mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        }
    }

    /// Which of the processes that wrote their number into this file run.
    fn running(file: &Path) -> Vec<String> {
        let numbers = fs::read_to_string(file).unwrap_or_default();
        let runs = |number: &&str| {
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        numbers.split_whitespace().filter(runs).map(str::to_owned).collect()
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        while !is_so() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn eight_at_once(folder: &Path) {
        let (mut slots, ids) = Slots::new(8, Options::default());
        // Each waits for all: they would wait for ever, did they not run at the same time.
        let script = "touch $FOLDER/$0; until [ $(ls $FOLDER | wc -l) = 8 ]; do sleep .01; done; echo I am $0";
        for (number, slot) in ids.iter().enumerate() {
            slots.sh(*slot, &script.replace("$0", &number.to_string()), folder);
        }
        let mut ended = [false; 8];
        while ended.contains(&false) {
            slots.reactor.turn(None, &mut ());
            for (number, slot) in ids.iter().enumerate() {
                if let Some(exit) = slots.reactor.exit(*slot) {
                    assert!(exit.status.unwrap().success());
                    assert_eq!(slots.output(*slot), format!("I am {number}\n"));
                    ended[number] = true;
                }
            }
        }
    }

    /// A child, one with a session of its own, and an orphan with an empty environment.
    const FAMILY: &str = "note() { echo $1 >> $FOLDER/$NAME; }
        sleep 999 & note $!
        setsid sh -c 'echo $$ >> $FOLDER/$NAME; exec sleep 999' &
        (setsid env -i sleep 999 & note $!) &
        until [ $(wc -l < $FOLDER/$NAME) = 3 ]; do sleep .01; done
        ";

    fn family(name: &str, end: &str) -> String {
        format!("NAME={name}; export NAME; {FAMILY} {end}")
    }

    fn only_its_own(folder: &Path) {
        let (mut slots, ids) = Slots::new(2, Options::default());
        slots.sh(ids[0], &family("a", "exit 3"), folder);
        slots.sh(ids[1], &family("b", "sleep 999"), folder);
        assert_eq!(slots.code(ids[0]), Some(3));
        wait_until(|| running(&folder.join("b")).len() == 3);
        assert!(!slots.reactor.sweep(ids[0], &mut ()), "something survives");
        assert_eq!(running(&folder.join("a")), [""; 0]);
        assert_eq!(running(&folder.join("b")).len(), 3);
        // The slot is free for the next one.
        slots.sh(ids[0], "echo again", folder);
        assert_eq!(slots.code(ids[0]), Some(0));
        assert_eq!(slots.output(ids[0]), "again\n");
    }

    fn one_is_cut(folder: &Path) {
        let options = Options { kill_after: Duration::ZERO, ..Options::default() };
        let (mut slots, ids) = Slots::new(2, options);
        slots.sh(ids[0], "trap '' TERM; sleep 999", folder);
        slots.sh(ids[1], "until [ -e $FOLDER/go ]; do sleep .01; done; echo undisturbed", folder);
        let now = slots.reactor.clock.now();
        slots.reactor.time_out_at(ids[0], Some(now));
        let exit = slots.reactor.wait_for_exit(ids[0], &mut ()).unwrap();
        assert!(exit.timed_out);
        assert_eq!(exit.sent, [nix::sys::signal::SIGTERM, nix::sys::signal::SIGKILL]);
        assert!(!slots.reactor.sweep(ids[0], &mut ()));
        fs::write(folder.join("go"), "").unwrap();
        assert_eq!(slots.code(ids[1]), Some(0));
        assert_eq!(slots.output(ids[1]), "undisturbed\n");
    }

    fn a_kill_leaves_nothing(folder: &Path) {
        let mut killed = anew(KILLED, folder).spawn().unwrap();
        let families = ["a", "b", "c"].map(|name| folder.join(name));
        wait_until(|| families.iter().all(|family| running(family).len() == 3));
        killed.kill().unwrap();
        killed.wait().unwrap();
        wait_until(|| families.iter().all(|family| running(family).is_empty()));
    }

    /// As `timeout -s KILL` does it.
    fn a_group_kill_leaves_nothing(folder: &Path) {
        use std::os::unix::process::CommandExt;
        let mut killed = anew(KILLED, folder).process_group(0).spawn().unwrap();
        let families = ["a", "b", "c"].map(|name| folder.join(name));
        wait_until(|| families.iter().all(|family| running(family).len() == 3));
        let group = nix::unistd::Pid::from_raw(killed.id().cast_signed());
        nix::sys::signal::killpg(group, nix::sys::signal::SIGKILL).unwrap();
        killed.wait().unwrap();
        wait_until(|| families.iter().all(|family| running(family).is_empty()));
    }

    fn wait_to_be_killed(folder: &Path) {
        let (mut slots, ids) = Slots::new(3, Options::default());
        for (slot, name) in ids.iter().zip(["a", "b", "c"]) {
            slots.sh(*slot, &family(name, "sleep 999"), folder);
        }
        slots.code(ids[0]);
    }

    fn in_path(folder: &Path) {
        use std::os::unix::fs::PermissionsExt;
        let file = folder.join("own-command");
        fs::write(&file, "#!/bin/sh\necho found\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let (mut slots, ids) = Slots::new(1, Options::default());
        slots.start(ids[0], &["own-command"], folder);
        assert_eq!(slots.code(ids[0]), Some(0));
        assert_eq!(slots.output(ids[0]), "found\n");
    }

    fn not_found(folder: &Path) {
        let (mut slots, ids) = Slots::new(1, Options::default());
        slots.start(ids[0], &["no-such-command"], folder);
        let started = slots.reactor.wait_for_exit(ids[0], &mut ());
        assert_eq!(started.unwrap_err(), nix::errno::Errno::ENOENT);
        assert!(!slots.reactor.sweep(ids[0], &mut ()), "nothing was started");
        slots.sh(ids[0], "echo here", folder);
        assert_eq!(slots.code(ids[0]), Some(0));
        assert_eq!(slots.output(ids[0]), "here\n");
    }

    fn disowned(folder: &Path) {
        let (mut slots, ids) = Slots::new(1, Options::default());
        let daemon = "sleep 999 & echo $! >> $FOLDER/daemon; echo $PPID";
        slots.sh(ids[0], daemon, folder);
        assert_eq!(slots.code(ids[0]), Some(0));
        let first_guard = slots.output(ids[0]);
        slots.reactor.disown(ids[0]);
        // The next command fails, and what it left behind is ended; the daemon is not.
        slots.sh(ids[0], &family("a", "echo $PPID; exit 3"), folder);
        assert_eq!(slots.code(ids[0]), Some(3));
        assert_ne!(slots.output(ids[0]), first_guard);
        assert!(!slots.reactor.sweep(ids[0], &mut ()));
        assert_eq!(running(&folder.join("a")), [""; 0]);
        // A daemon that nobody disowns ends with this process, and one that somebody does goes on.
        slots.sh(ids[0], daemon, folder);
        assert_eq!(slots.code(ids[0]), Some(0));
        let both = running(&folder.join("daemon"));
        assert_eq!(both.len(), 2);
        drop(slots);
        wait_until(|| running(&folder.join("daemon")) == both[..1]);
        kill(&both[0]);
    }

    fn kill(number: &str) {
        let pid = nix::unistd::Pid::from_raw(number.trim().parse().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::SIGKILL).unwrap();
    }

    fn a_killed_guard(folder: &Path) {
        let (mut slots, ids) = Slots::new(1, Options::default());
        let script = "(sleep 999) & echo $$ $! > $FOLDER/a; echo $PPID > $FOLDER/guard; sleep 999";
        slots.sh(ids[0], script, folder);
        while slots.reactor.started(ids[0]).is_none() {
            slots.reactor.turn(None, &mut ());
        }
        let guard = || fs::read_to_string(folder.join("guard")).unwrap_or_default();
        wait_until(|| guard().ends_with('\n'));
        kill(&guard());
        let exit = slots.reactor.wait_for_exit(ids[0], &mut ()).unwrap();
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(exit.status.unwrap().signal(), Some(9), "nobody knows what became of it");
        wait_until(|| running(&folder.join("a")).is_empty());
        slots.sh(ids[0], "echo again", folder);
        assert_eq!(slots.code(ids[0]), Some(0));
        assert_eq!(slots.output(ids[0]), "again\n");
    }

    fn task(script: &str, variables: Vec<(&'static str, OsString)>, sinks: Sinks) -> Task {
        Task {
            command: Command::new(&["sh".into(), "-c".into(), script.into()], &[]),
            variables,
            stdin: Stdin::Null,
            sinks,
            policy: Draws::of(Backoff::constant(Duration::from_millis(1)).attempts(3)),
            limits: Limits::new(),
            timeout: None,
            rules: Rules::default(),
            seed: 0,
            is_poll: false,
            measures_times: false,
        }
    }

    fn three_loops(folder: &Path) {
        let (Slots { mut reactor, .. }, ids) = Slots::new(3, Options::default());
        // Each succeeds at another attempt, and the last one never does. The first attempts wait for
        // each other.
        let script = "echo $REDIAL_ATTEMPT/$REDIAL_ATTEMPTS >> $FOLDER/$NAME.log
            until [ $(ls $FOLDER/*.log | wc -l) = 3 ]; do sleep .01; done
            test $REDIAL_ATTEMPT = $SUCCEEDS_AT";
        let task = |name: &str, succeeds_at: &str| {
            let variables = vec![
                ("FOLDER", folder.into()),
                ("NAME", name.into()),
                ("SUCCEEDS_AT", succeeds_at.into()),
            ];
            task(script, variables, Sinks::default())
        };
        let tasks = [task("a", "1"), task("b", "2"), task("c", "never")];
        let mut loops: Vec<_> = (tasks.iter().zip(&ids))
            .map(|(task, id)| AttemptLoop::new(task, &reactor, *id, SharedGate::default()))
            .collect();
        let mut ends = [None, None, None];
        while ends.contains(&None) {
            let mut wake = None;
            for (attempts, end) in loops.iter_mut().zip(&mut ends).filter(|(_, end)| end.is_none())
            {
                match attempts.advance(&mut reactor, &mut ()) {
                    Turn::Over(End::Succeeded) => *end = Some("success"),
                    Turn::Over(other) => *end = other.reason(),
                    Turn::Wait(until) => wake = [wake, until].into_iter().flatten().min(),
                }
            }
            if ends.contains(&None) {
                reactor.turn(wake, &mut ());
            }
        }
        assert_eq!(ends, [Some("success"), Some("success"), Some("attempts-spent")]);
        for (name, log) in [("a", "1/3\n"), ("b", "1/3\n2/3\n"), ("c", "1/3\n2/3\n3/3\n")] {
            assert_eq!(fs::read_to_string(folder.join(format!("{name}.log"))).unwrap(), log);
        }
    }

    fn kept_with_stdout_closed(_: &Path) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        rustix::stdio::dup2_stdout(writer).unwrap();
        let (Slots { mut reactor, .. }, ids) = Slots::new(1, Options::default());
        for (sink, reason) in [(Sink::Keep, "attempts-spent"), (Sink::Pass, "output-lost")] {
            let task = task("exit 1", Vec::new(), Sinks { stdout: sink, ..Sinks::default() });
            let mut attempts = AttemptLoop::new(&task, &reactor, ids[0], SharedGate::default());
            let end = attempts.run(&mut reactor, &mut ());
            assert_eq!(end.reason(), Some(reason), "{sink:?}");
        }
    }
}
