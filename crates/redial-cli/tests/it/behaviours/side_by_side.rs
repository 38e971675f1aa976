//! The fourteen behaviours of every tool that is installed, as a table.
#![expect(clippy::print_stdout, reason = "the table is what this is for")]

use std::env;
use std::time::Duration;

use super::fourteen::{FOURTEEN, Verdict};
use crate::stage::Stage;
use crate::tool::Tool;

/// Run by `scripts/behaviours`; the tools are those named in `TOOLS`, or those installed.
#[test]
#[ignore = "a table for people: scripts/behaviours"]
fn side_by_side() {
    let asked = env::var("TOOLS").unwrap_or_default();
    let asked: Vec<&str> = asked.split_whitespace().collect();
    for name in &asked {
        let known = Tool::ALL.iter().any(|tool| tool.name() == *name);
        assert!(known, "{name}: not one of redial, retry, recur, attempt, timeout");
    }
    let wanted = |tool: &Tool| asked.is_empty() || asked.contains(&tool.name());
    let (tools, missing): (Vec<Tool>, Vec<Tool>) =
        Tool::ALL.into_iter().filter(wanted).partition(|tool| tool.path().is_some());

    show("", "", tools.iter().map(|tool| tool.name()));
    // Of those that the tool does at all.
    let mut passed = vec![(0, 0); tools.len()];
    for (number, behaviour) in (1..).zip(&FOURTEEN) {
        let mut cells = Vec::new();
        for (tool, (passed, asked)) in tools.iter().zip(&mut passed) {
            let mut stage = Stage::new();
            // A tool may be one that hangs.
            stage.patience = Duration::from_secs(4);
            let verdict = (behaviour.check)(*tool, &stage);
            *asked += u32::from(!matches!(verdict, Ok(Verdict::Absent(_))));
            cells.push(match verdict {
                Ok(Verdict::Good(remark)) => {
                    *passed += 1;
                    format!("✓ {remark}")
                }
                Ok(Verdict::Bad(remark)) => format!("✗ {remark}"),
                Ok(Verdict::Absent(remark)) => format!("– {remark}"),
                Err(error) => format!("✗ {error}"),
            });
        }
        show(&number.to_string(), behaviour.says, cells.iter().map(String::as_str));
    }
    let passed: Vec<String> =
        passed.iter().map(|(passed, asked)| format!("{passed} of {asked}")).collect();
    show("", "passed", passed.iter().map(String::as_str));
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|tool| tool.name()).collect();
        println!("not installed: {}", names.join(", "));
    }
}

/// One row, as soon as it is known.
fn show<'c>(number: &str, says: &str, cells: impl Iterator<Item = &'c str>) {
    let mut line = format!("{number:>2}  {says:44}");
    for cell in cells {
        line += &format!("  {cell:16}");
    }
    println!("{}", line.trim_end());
}
