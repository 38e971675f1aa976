//! A report for CI servers: JUnit XML with the reruns of Maven Surefire.
//!
//! It keeps to what the schema of Surefire and that of Jenkins' xunit plugin have in common: the
//! order of elements of the former, and no attribute that one of them does not have.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::collector::{Attempt, AttemptResult, Run, Verdict};
use super::plain::plain;
use super::summary::{CommandSummary, Summary, Sums};
use super::words::{self, UNKNOWN_COMMAND, happened, nanos};
use crate::events::Outcome;
use crate::text::clip;
use crate::visible::visible;

/// How long the name of a test case, which is the command, may be.
const NAME_MAX: usize = 500;

type Xml = Writer<Vec<u8>>;

/// The report as XML, ending with a newline.
pub(super) fn junit(summary: &Summary<'_>) -> String {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    push_suites(&mut xml, summary).expect("memory takes every write");
    let mut text = String::from_utf8(xml.into_inner()).expect("it was written from text");
    text.push('\n');
    text
}

fn push_suites(xml: &mut Xml, summary: &Summary<'_>) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let time = summary.commands.iter().map(duration_ns).fold(0, u64::saturating_add);
    let counts = counts(&summary.totals, time);
    // Jenkins' schema has no place for what was skipped among all suites.
    let counts = counts.iter().filter(|(name, _)| *name != "skipped");
    xml.create_element("testsuites")
        .with_attribute(("name", "redial"))
        .with_attributes(counts.map(|(name, value)| (*name, value.as_str())))
        .write_inner_content(|xml| {
            summary.commands.iter().try_for_each(|group| push_suite(xml, group))
        })?;
    Ok(())
}

/// The runs of one command.
fn push_suite(xml: &mut Xml, group: &CommandSummary<'_>) -> io::Result<()> {
    let name = name(group);
    let counts = counts(&group.sums, duration_ns(group));
    xml.create_element("testsuite")
        .with_attribute(("name", name.as_str()))
        .with_attributes(counts.iter().map(|(name, value)| (*name, value.as_str())))
        .write_inner_content(|xml| {
            let mut runs = group.runs.iter().zip(1..);
            runs.try_for_each(|(run, number)| push_case(xml, &name, number, run))
        })?;
    Ok(())
}

/// One run. Its name is the same in every build, so that a server can show its history.
fn push_case(xml: &mut Xml, command: &str, number: usize, run: &Run) -> io::Result<()> {
    let name = match number {
        1 => command.to_owned(),
        number => format!("{command} (run {number})"),
    };
    xml.create_element("testcase")
        .with_attribute(("name", name.as_str()))
        .with_attribute(("classname", "redial"))
        .with_attribute(("time", seconds(run.duration_ns()).as_str()))
        .write_inner_content(|xml| {
            push_result(xml, run)?;
            push_text(xml, "system-out", &about(run))
        })?;
    Ok(())
}

fn push_result(xml: &mut Xml, run: &Run) -> io::Result<()> {
    let mut failures = run.attempts.listed().iter().filter_map(|attempt| {
        let ended = attempt.ended.as_ref()?;
        (ended.outcome != Outcome::Succeeded).then_some(Failure { attempt, ended, run })
    });
    match run.verdict() {
        Verdict::SucceededAtOnce | Verdict::BecameReady => Ok(()),
        Verdict::Flaky => failures.try_for_each(|failure| failure.push(xml, "flakyFailure")),
        Verdict::Failed => {
            match failures.next() {
                Some(first) => first.push_as_first(xml)?,
                // The log has its end and none of its attempts.
                None => push_end(xml, "failure", run)?,
            }
            failures.try_for_each(|failure| failure.push(xml, "rerunFailure"))
        }
        Verdict::Cancelled | Verdict::Refused | Verdict::Unfinished => {
            push_end(xml, "error", run)?;
            failures.try_for_each(|failure| failure.push(xml, "rerunError"))
        }
    }
}

/// How a run ended, where that was not by the failure of an attempt.
fn push_end(xml: &mut Xml, element: &str, run: &Run) -> io::Result<()> {
    let kind = words::verdict(run.verdict());
    xml.create_element(element)
        .with_attribute(("message", attribute(&words::one_run(run)).as_str()))
        .with_attribute(("type", kind))
        .write_empty()?;
    Ok(())
}

/// An attempt that did not succeed.
struct Failure<'r> {
    attempt: &'r Attempt,
    ended: &'r AttemptResult,
    run: &'r Run,
}

impl Failure<'_> {
    fn push(&self, xml: &mut Xml, element: &str) -> io::Result<()> {
        xml.create_element(element)
            .with_attribute(("message", self.message().as_str()))
            .with_attribute(("type", self.ended.outcome.name()))
            .write_inner_content(|xml| {
                push_text(xml, "stackTrace", &self.story())?;
                match self.tail() {
                    Some(tail) => push_text(xml, "system-err", &tail),
                    None => Ok(()),
                }
            })?;
        Ok(())
    }

    /// The first failure of a run is what servers show of it, so it says how the run ended too.
    fn push_as_first(&self, xml: &mut Xml) -> io::Result<()> {
        let mut text = format!("{}\n{}", words::one_run(self.run), self.story());
        if let Some(tail) = self.tail() {
            text.push_str(&format!("\n\n{tail}"));
        }
        xml.create_element("failure")
            .with_attribute(("message", self.message().as_str()))
            .with_attribute(("type", self.ended.outcome.name()))
            .write_text_content(BytesText::new(&plain(&text)))?;
        Ok(())
    }

    fn message(&self) -> String {
        attribute(&format!("attempt {}: {}", self.attempt.number, happened(self.attempt)))
    }

    fn story(&self) -> String {
        let took = nanos(self.ended.duration_ns);
        let mut story =
            format!("attempt {}: {} after {took}", self.attempt.number, happened(self.attempt));
        for (more, before) in
            [(words::decision(self.attempt), "; "), (words::wait(self.attempt), " after ")]
        {
            if !more.is_empty() {
                story.push_str(&format!("{before}{more}"));
            }
        }
        story
    }

    fn tail(&self) -> Option<String> {
        self.ended.stderr_tail.as_deref().map(plain)
    }
}

/// What identifies the run in the log.
fn about(run: &Run) -> String {
    let mut lines = vec![format!("run {}", run.id)];
    if let Some(start) = &run.start {
        lines.push(format!("started {} in {}", start.ts, start.cwd));
    }
    lines.push(words::one_run(run));
    if run.unlisted() > 0 {
        lines.push(format!("{} not listed", words::number(run.unlisted().into(), "attempt")));
    }
    lines.join("\n")
}

fn push_text(xml: &mut Xml, element: &str, text: &str) -> io::Result<()> {
    xml.create_element(element).write_text_content(BytesText::new(&plain(text)))?;
    Ok(())
}

fn counts(sums: &Sums, time_ns: u64) -> [(&'static str, String); 5] {
    let errors = sums.cancelled + sums.refused + sums.unfinished;
    [
        ("tests", sums.runs.to_string()),
        ("failures", sums.failed.to_string()),
        ("errors", errors.to_string()),
        ("skipped", "0".to_owned()),
        ("time", seconds(time_ns)),
    ]
}

fn duration_ns(group: &CommandSummary<'_>) -> u64 {
    group.runs.iter().map(|run| run.duration_ns()).fold(0, u64::saturating_add)
}

fn name(group: &CommandSummary<'_>) -> String {
    attribute(group.command.map_or(UNKNOWN_COMMAND, |command| &command.typed))
}

/// A text for an attribute: one line, clipped.
fn attribute(text: &str) -> String {
    clip(&visible(text), NAME_MAX)
}

/// To the millisecond, which is as much as the schema takes.
fn seconds(nanos: u64) -> String {
    let millis = nanos / 1_000_000 + u64::from(nanos % 1_000_000 >= 500_000);
    format!("{}.{:03}", millis / 1000, millis % 1000)
}
