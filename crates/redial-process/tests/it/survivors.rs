//! Processes are found by a variable of their environment, and nothing is taken for one of them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use redial_process::{Survivors, end_survivors};

const NAME: &str = "REDIAL_TEST_ID";
/// What all processes of the test have.
const ALL: &str = "REDIAL_TEST";

/// Runs until it is killed, and starts one more that has cleared its environment, and one in a session of its own.
const SCRIPT: &str = "env -i sleep 1000 & setsid sleep 1000 & echo; wait";

/// Whatever the outcome, nothing outlives the test.
struct Test(String);

impl Test {
    /// A shell with these variables, once all of its processes are there.
    fn starts(&self, variables: &[(&str, &str)]) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT]).env(ALL, &self.0).envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "\n");
        child
    }

    fn end(&self) -> Survivors {
        end_survivors(ALL, &|value| value == self.0.as_bytes())
    }
}

impl Drop for Test {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn what_has_the_variable_is_ended_with_its_descendants_and_a_look_alike_is_not() {
    let test = Test(std::process::id().to_string());
    let id = format!("{}.test/1", std::process::id());
    let (longer, shorter) = (format!("{id}0"), &id[..id.len() - 1]);
    let inside = format!("{NAME}={id}");
    let mut spared = [
        test.starts(&[]),
        test.starts(&[(NAME, &longer)]),
        test.starts(&[(NAME, shorter)]),
        test.starts(&[(NAME, "")]),
        test.starts(&[("REDIAL_TEST_ID2", &id)]),
        test.starts(&[("TEST_ID", &id)]),
        test.starts(&[("OTHER", &inside)]),
    ];
    let is_meant = |value: &[u8]| value == id.as_bytes();
    assert_eq!(end_survivors(NAME, &is_meant), Survivors::default());
    let mut meant = [test.starts(&[(NAME, &id)]), test.starts(&[(NAME, &id), ("OTHER", "x")])];
    assert_eq!(end_survivors(NAME, &is_meant), Survivors { ended: 6, left: 0 });
    for child in &mut meant {
        // It is a zombie until its parent looks, which is this process.
        assert!(child.try_wait().unwrap().is_some());
    }
    assert_eq!(end_survivors(NAME, &is_meant), Survivors::default());
    for child in &mut spared {
        assert!(child.try_wait().unwrap().is_none());
    }
    // Each of them is whole, too: three processes.
    assert_eq!(test.end(), Survivors { ended: 3 * spared.len(), left: 0 });
    for child in &mut spared {
        child.wait().unwrap();
    }
}
