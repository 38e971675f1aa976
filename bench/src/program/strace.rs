//! How often a process calls the system, which a machine repeats.

use std::process::{Command, Stdio};

use super::process::{self, Process};

/// Of the process itself, without those that it starts.
pub(super) fn system_calls(process: &Process) -> Result<u64, &'static str> {
    let mut strace = Command::new("strace");
    let output = process::undisturbed(&mut strace)
        .args(["-c", "-U", "calls,name"])
        .arg(&process.program)
        .args(&process.arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(|_| "strace does not start")?;
    if !output.status.success() {
        return Err("strace fails");
    }
    parse(&String::from_utf8_lossy(&output.stderr)).ok_or("strace says nothing")
}

/// From the last line, such as `109 total`.
fn parse(report: &str) -> Option<u64> {
    report.lines().find_map(|line| line.strip_suffix(" total"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_total_is_on_its_own_line() {
        let report = "    calls syscall\n--------- -----\n       17 read\n      109 total\n";
        assert_eq!(parse(report), Some(109));
        assert_eq!(parse("strace: no such program"), None);
    }
}
