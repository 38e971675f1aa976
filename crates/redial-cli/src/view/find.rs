//! What `redial find` shows: a line for each policy, the worst first.

use std::cmp::Reverse;
use std::fmt::Write;
use std::time::Duration;

use redial_policy::{Diagnostic, Plan, Timing};
use serde_json::{Value as Json, json};

use crate::duration::{human, nanos};
use crate::events::Attempts;
use crate::output::{self, count, optional};
use crate::text::{github, github_property};
use crate::view::table::{Kind, Row, Table};
use crate::visible::visible;

/// All that was found.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) found: Vec<Found>,
    /// How many files were looked at.
    pub(crate) files: usize,
    /// Files in which nothing can be found, and why.
    pub(crate) skipped: Vec<(String, String)>,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
}

/// A policy that was found.
pub(crate) struct Found {
    pub(crate) file: String,
    /// A step of a flow takes its policy from several places.
    pub(crate) line: Option<usize>,
    pub(crate) name: String,
    /// What it is written in.
    pub(crate) system: &'static str,
    /// What it does; none where it has errors.
    pub(crate) plan: Option<Plan>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Found {
    /// When it gives up at the latest.
    fn latest(&self) -> Option<Duration> {
        self.plan.as_ref()?.gives_up_after().1
    }

    /// What sorts the worst first: errors, then what never ends, then the longest.
    pub(crate) fn badness(&self) -> impl Ord + use<> {
        let errors = self.diagnostics.iter().filter(|found| !found.is_warning()).count();
        let latest = self.latest().unwrap_or(Duration::MAX);
        let warnings = self.diagnostics.len() - errors;
        let place = (self.file.clone(), self.line, self.name.clone());
        (Reverse((self.plan.is_none(), errors)), Reverse((latest, warnings)), place)
    }

    /// `deploy/job.yaml:3 Job/migrate`
    fn place(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let name = if self.name.is_empty() { String::new() } else { format!(" {}", self.name) };
        format!("{}{line}{name}", self.file)
    }

    fn attempts(&self) -> String {
        let Some(plan) = &self.plan else { return "?".to_owned() };
        plan.policy().attempts().map_or("unlimited".to_owned(), |attempts| attempts.to_string())
    }

    fn end(&self) -> String {
        match &self.plan {
            None => "?".to_owned(),
            Some(_) => self.latest().map_or("never".to_owned(), human),
        }
    }

    /// The first finding by its name, and how many more there are.
    fn findings(&self) -> String {
        let worst = self.diagnostics.iter().min_by_key(|found| found.is_warning());
        match (worst, self.diagnostics.len()) {
            (None, _) => String::new(),
            (Some(found), 1) => format!("{} {}", found.severity(), found.kind.name()),
            (Some(found), all) => {
                format!("{} {} and {} more", found.severity(), found.kind.name(), all - 1)
            }
        }
    }
}

/// One table, no line of it wider than `width`.
pub(crate) fn terminal(report: &Report, width: usize) -> String {
    if report.found.is_empty() {
        return String::new();
    }
    let headings = [
        ("policy", Kind::Name),
        ("written in", Kind::Words),
        ("attempts", Kind::Number),
        ("gives up by", Kind::Number),
        ("findings", Kind::Words),
    ];
    let row = |found: &Found| {
        let system = found.system.to_owned();
        Row::from(vec![found.place(), system, found.attempts(), found.end(), found.findings()])
    };
    let columns = headings.map(|(heading, kind)| (heading.to_owned(), kind)).to_vec();
    Table::of("", columns, report.found.iter().map(row).collect()).terminal(width)
}

/// What it comes to, in a line or two.
pub(crate) fn summary(report: &Report) -> String {
    let findings = match (report.errors, report.warnings) {
        (0, 0) => "no findings".to_owned(),
        (errors, warnings) => {
            format!("{} and {}", count(errors, "error"), count(warnings, "warning"))
        }
    };
    let policies = count(report.found.len(), "policy");
    let mut text = format!("{policies} in {}: {findings}", count(report.files, "file"));
    if report.errors + report.warnings > 0 {
        text += "; redial check FILE shows them";
    }
    text.push('\n');
    if let [(file, why), ..] = report.skipped.as_slice() {
        let skipped = count(report.skipped.len(), "file");
        let (file, why) = (visible(file), visible(why));
        let _ = writeln!(
            text,
            "Nothing was looked for in {skipped}, such as {file}: {why}; --format json names all"
        );
    }
    text
}

/// The same for programs. The fields and their order are a promise.
pub(crate) fn json(report: &Report) -> String {
    let skipped = report.skipped.iter().map(|(file, why)| json!({ "file": file, "reason": why }));
    output::json(&json!({
        "policies": report.found.iter().map(entry).collect::<Json>(),
        "files": report.files,
        "errors": report.errors,
        "warnings": report.warnings,
        "skipped": skipped.collect::<Json>(),
    }))
}

fn entry(found: &Found) -> Json {
    let timing = found.plan.as_ref().map(Plan::policy);
    let is_law = matches!(timing, Some(Timing::Law(_)));
    let said = timing.map(Timing::to_string);
    let (_, waits) = found.plan.as_ref().map_or((None, None), Plan::wait_bounds);
    let finding = |found: &Diagnostic| json!({ "name": found.kind.name(), "severity": found.severity(), "message": found.message });
    let entry = json!({
        "file": found.file,
        "line": found.line,
        "name": found.name,
        "written_in": found.system,
        "policy": said.as_ref().filter(|_| !is_law),
        "law": said.as_ref().filter(|_| is_law),
        "attempts": timing.map(|timing| Attempts::from(timing.attempts())),
        "waits_max_ns": waits.map(nanos),
        "gives_up_by_ns": found.latest().map(nanos),
        "diagnostics": found.diagnostics.iter().map(finding).collect::<Json>(),
    });
    optional(entry, &["line", "law"])
}

/// Workflow commands that say at each policy what it comes to.
pub(crate) fn notices(report: &Report) -> String {
    let notice = |found: &Found| {
        let plan = found.plan.as_ref()?;
        let attempts = match plan.policy().attempts() {
            Some(attempts) => format!("up to {}", count(attempts as usize, "attempt")),
            None => "unlimited attempts".to_owned(),
        };
        let end = match found.latest() {
            Some(latest) => format!("gives up by {}", human(latest)),
            None => "never gives up".to_owned(),
        };
        let file = github_property(&found.file);
        let line = found.line.unwrap_or(1);
        let message = github(&visible(&format!("{}: {attempts}, {end}", found.place())));
        Some(format!("::notice file={file},line={line},title=redial find::{message}\n"))
    };
    report.found.iter().filter_map(notice).collect()
}
