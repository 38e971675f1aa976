//! Many commands at once, each in a slot with a guard: those of one slot are told from those of
//! another, and a KILL of this process leaves none.

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CStr;
    use std::fs;
    use std::io::Write;
    use std::path::Path;
    use std::process::{Command as Program, Stdio};
    use std::time::Duration;

    use redial_policy::{Rules, Stream};
    use redial_process::{
        Clock, Command, Guard, Options, Reactor, Sink, Sinks, SlotId, Stdin, Streams, guard,
    };

    const GUARD: &CStr = c"__guard";
    const KILLED: &str = "__killed";

    type Test = (&'static str, fn(&Path));

    /// Each runs in a process of its own, because there is one reactor in a process.
    const TESTS: [Test; 6] = [
        ("eight_commands_run_at_once_and_each_has_its_own_output", eight_at_once),
        ("what_one_command_started_is_ended_and_nothing_of_another", only_its_own),
        ("a_command_that_is_cut_does_not_disturb_the_others", one_is_cut),
        ("a_kill_of_this_process_leaves_nothing_running", a_kill_leaves_nothing),
        ("what_cannot_be_started_is_an_error_and_the_slot_is_free", not_found),
        ("a_command_is_looked_for_in_the_path_of_this_process", in_path),
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
            // Before the reactor blocks signals.
            let guards: Vec<_> = (0..count).map(|_| Guard::start_as(GUARD).unwrap()).collect();
            let mut reactor = Reactor::new(Clock::start(), options).unwrap();
            let slots = guards
                .into_iter()
                .map(|guard| reactor.guarded_slot(Streams::new(Stdin::Null, true, &rules), guard));
            let slots = slots.collect();
            (Self { reactor, rules }, slots)
        }

        fn sh(&mut self, slot: SlotId, script: &str, folder: &Path) {
            let sinks = Sinks { stdout: Sink::Keep, ..Sinks::default() };
            let ends = self.reactor.streams(slot).open(&self.rules, sinks, true).unwrap();
            let command = Command::new(&["sh".into(), "-c".into(), script.into()], &[]);
            let variables = [("FOLDER", folder.into())];
            self.reactor.start(slot, &command, &variables, &ends).unwrap();
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
        let exit = slots.reactor.attend(ids[0], &mut ());
        assert_eq!(exit.status.unwrap().code(), Some(3));
        wait_until(|| running(&folder.join("b")).len() == 3);
        assert!(!slots.reactor.sweep(ids[0], &mut ()), "something survives");
        assert_eq!(running(&folder.join("a")), [""; 0]);
        assert_eq!(running(&folder.join("b")).len(), 3);
        // The slot is free for the next one.
        slots.sh(ids[0], "echo again", folder);
        assert!(slots.reactor.attend(ids[0], &mut ()).status.unwrap().success());
        assert_eq!(slots.output(ids[0]), "again\n");
    }

    fn one_is_cut(folder: &Path) {
        let options = Options { kill_after: Duration::ZERO, ..Options::default() };
        let (mut slots, ids) = Slots::new(2, options);
        slots.sh(ids[0], "trap '' TERM; sleep 999", folder);
        slots.sh(ids[1], "until [ -e $FOLDER/go ]; do sleep .01; done; echo undisturbed", folder);
        let now = slots.reactor.clock.now();
        slots.reactor.cut_at(ids[0], Some(now));
        let exit = slots.reactor.attend(ids[0], &mut ());
        assert!(exit.timed_out);
        assert_eq!(exit.sent, [nix::sys::signal::SIGTERM, nix::sys::signal::SIGKILL]);
        assert!(!slots.reactor.sweep(ids[0], &mut ()));
        fs::write(folder.join("go"), "").unwrap();
        assert!(slots.reactor.attend(ids[1], &mut ()).status.unwrap().success());
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

    fn wait_to_be_killed(folder: &Path) {
        let (mut slots, ids) = Slots::new(3, Options::default());
        for (slot, name) in ids.iter().zip(["a", "b", "c"]) {
            slots.sh(*slot, &family(name, "sleep 999"), folder);
        }
        slots.reactor.attend(ids[0], &mut ());
    }

    fn in_path(folder: &Path) {
        use std::os::unix::fs::PermissionsExt;
        let file = folder.join("own-command");
        fs::write(&file, "#!/bin/sh\necho found\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let (mut slots, ids) = Slots::new(1, Options::default());
        let sinks = Sinks { stdout: Sink::Keep, ..Sinks::default() };
        let ends = slots.reactor.streams(ids[0]).open(&slots.rules, sinks, true).unwrap();
        let command = Command::new(&["own-command".into()], &[]);
        slots.reactor.start(ids[0], &command, &[], &ends).unwrap();
        drop(ends);
        slots.reactor.attend(ids[0], &mut ());
        assert_eq!(slots.output(ids[0]), "found\n");
    }

    fn not_found(folder: &Path) {
        let (mut slots, ids) = Slots::new(1, Options::default());
        let ends =
            slots.reactor.streams(ids[0]).open(&slots.rules, Sinks::default(), true).unwrap();
        let command = Command::new(&["no-such-command".into()], &[]);
        let started = slots.reactor.start(ids[0], &command, &[], &ends);
        assert_eq!(started, Err(nix::errno::Errno::ENOENT));
        slots.sh(ids[0], "echo here", folder);
        slots.reactor.attend(ids[0], &mut ());
        assert_eq!(slots.output(ids[0]), "here\n");
    }
}
