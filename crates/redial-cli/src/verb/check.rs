//! `redial check`: the diagnostics of policies, rules and flows, and their fixes.

use redial_flow::notation::recognise_trees;
use redial_policy::notation::{Node, Source as Trees, Value as Tree};
use redial_policy::{Diagnostic, Fix, FlowKind, Format, Kind, Notation, fix, fixable};
use serde_json::{Value as Json, json};

use crate::args::{Check, CheckFormat};
use crate::exit_code;
use crate::flows;
use crate::output::{self, Failure, count, optional, print, print_error, print_note, replace_file};
use crate::scripts;
use crate::source::Source;
use crate::text::{github, github_property};
use crate::view::diagnostic::{Drawing, Lines, Position};
use crate::visible::visible;

/// The name of a clause of the command line in diagnostics.
const WITH: &str = "--with";

/// How many findings of a file are drawn.
const DRAWN_MAX: usize = 100;

pub(crate) fn run(check: &Check) -> Result<u8, Failure> {
    let notation = check.dialect.map(Notation::from);
    let mut summary = Summary::default();
    let mut reports = Vec::new();
    let clauses = check.with.iter().map(|clause| Ok(Source::clause(WITH, clause)));
    let files = check.files.iter().map(|file| Source::open(file, notation));
    for source in files.chain(clauses) {
        match source {
            Ok(mut source) => {
                let clause = source.name == WITH;
                let notation = if clause { Some(Notation::Clause) } else { notation };
                if check.fix {
                    apply(&mut source, notation, &mut summary)?;
                }
                report(&source, notation, check, &mut summary, &mut reports)?;
            }
            Err(message) => {
                print_error(&message);
                summary.unreadable += 1;
            }
        }
    }
    match check.format {
        CheckFormat::Human if summary.files == 0 => {}
        CheckFormat::Human => print_note(&format!("{}\n", summary.words())),
        CheckFormat::Json => {
            let Summary { errors, warnings, .. } = summary;
            let all = json!({ "files": reports, "errors": errors, "warnings": warnings });
            print(&output::json(&all))?;
        }
        CheckFormat::Github => {}
    }
    Ok(summary.exit_code(check.deny_warnings))
}

/// Counts over all files.
#[derive(Default)]
struct Summary {
    files: usize,
    policies: usize,
    sets: usize,
    flows: usize,
    steps: usize,
    errors: usize,
    warnings: usize,
    fixed: usize,
    unreadable: usize,
}

impl Summary {
    fn words(&self) -> String {
        let found = match (self.errors, self.warnings) {
            (0, 0) => "no findings".to_owned(),
            (0, warnings) => count(warnings, "warning"),
            (errors, 0) => count(errors, "error"),
            (errors, warnings) => {
                format!("{} and {}", count(errors, "error"), count(warnings, "warning"))
            }
        };
        let fixed = match self.fixed {
            0 => String::new(),
            fixed => format!(", {} applied", count(fixed, "fix")),
        };
        let policies = match (self.policies, self.sets + self.flows) {
            (0, 1..) => None,
            (policies, _) => Some(count(policies, "policy")),
        };
        let sets = (self.sets > 0).then(|| format!("{} of rules", count(self.sets, "set")));
        // Of a flow that has errors the steps are not known.
        let flows = match self.steps {
            0 => count(self.flows, "flow"),
            steps => format!("{} of {}", count(self.flows, "flow"), count(steps, "step")),
        };
        let flows = (self.flows > 0).then_some(flows);
        let checked: Vec<_> = [policies, sets, flows].into_iter().flatten().collect();
        let checked = match checked.as_slice() {
            [first, second, third] => format!("{first}, {second} and {third}"),
            some => some.join(" and "),
        };
        format!("{checked} in {}: {found}{fixed}", count(self.files, "file"))
    }

    fn exit_code(&self, deny_warnings: bool) -> u8 {
        match self {
            _ if self.unreadable > 0 => exit_code::ERROR,
            _ if self.errors > 0 => exit_code::FAILURE,
            _ if self.warnings > 0 && deny_warnings => exit_code::FAILURE,
            _ => 0,
        }
    }
}

/// Applies the safe fixes to the file, or prints the fixed text of a clause or of standard input. If the
/// file cannot be written, its findings are reported unfixed.
fn apply(
    source: &mut Source,
    notation: Option<Notation>,
    summary: &mut Summary,
) -> Result<(), Failure> {
    let trees = Trees::new(&source.text, source.format).parse();
    let (text, applied) = match is_flow(source, trees.as_deref(), notation) {
        true => flows::fix(source)?,
        false => fix(&source.text, source.format, notation),
    };
    if is_stream(source) {
        print(&format!("{}\n", text.trim_end_matches('\n')))?;
    } else if applied > 0 {
        if let Err(error) = replace_file(source.name.as_ref(), &text) {
            print_error(&format!("cannot write {}: {error}", source.name));
            summary.unreadable += 1;
            return Ok(());
        }
        print_note(&format!("{}: {} applied\n", source.name, count(applied, "fix")));
    }
    summary.fixed += applied;
    source.text = text;
    Ok(())
}

/// Whether the text is not from a file that could be changed.
fn is_stream(source: &Source) -> bool {
    matches!(source.name.as_str(), "-" | WITH)
}

/// Whether it is a flow: a dialect of policies says that it is meant to be none. A text with nothing in it is read as one, too,
/// so that what `redial plan` and `redial flow plan` refuse is not green here.
pub(super) fn is_flow(
    source: &Source,
    trees: Result<&[Node], &Diagnostic>,
    notation: Option<Notation>,
) -> bool {
    // A clause or a script has no tree.
    notation.is_none()
        && source.format != Format::Text
        && trees.is_ok_and(|roots| {
            recognise_trees(roots).is_some() || is_empty(roots) || has_empty_steps(roots)
        })
}

fn is_empty(roots: &[Node]) -> bool {
    roots.iter().all(|root| match &root.value {
        Tree::Map(fields) => fields.is_empty(),
        value => matches!(value, Tree::Null),
    })
}

/// `steps: []`, which could be policies of steps that are elsewhere if there were any.
fn has_empty_steps(roots: &[Node]) -> bool {
    let is_empty = |node: &Node| matches!(&node.value, Tree::List(nodes) if nodes.is_empty());
    let fields = roots.iter().flat_map(Node::fields);
    fields.clone().any(|field| field.key == "steps" && is_empty(&field.value))
        && !fields.clone().any(|field| field.key == "policies")
}

/// One finding of a text without anything: it has no step, nor anything else.
fn of_nothing(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.retain(|found| found.kind == Kind::Flow(FlowKind::NoSteps));
    for found in &mut found {
        found.message = "there is nothing in this text, neither a policy nor a flow; write policies: {fetch: \"retry: \
                         3, delay: 1s\"}, or steps: {list: {run: [ls]}}"
            .into();
    }
    found
}

/// What was found in a text.
struct Found {
    policies: usize,
    is_rules: bool,
    /// How many steps a flow has.
    steps: Option<usize>,
    diagnostics: Vec<Diagnostic>,
    /// What `--fix` does.
    fixes: Vec<Fix>,
}

fn found(source: &Source, notation: Option<Notation>, check: &Check) -> Result<Found, Failure> {
    let client = check.client.as_deref();
    let text = Trees::new(&source.text, source.format).client(client);
    let trees = text.parse();
    let document = text.document(trees.as_deref(), notation);
    let policies = document.policies().len();
    if notation.is_none()
        && scripts::is_script(&source.name)
        && let Some((diagnostics, steps)) = scripts::check(source, check.modules.as_deref())?
    {
        let fixes = fixable(&source.text, &document, source.format, notation);
        let steps = Some(steps);
        return Ok(Found { policies, is_rules: false, steps, diagnostics, fixes });
    }
    if is_flow(source, trees.as_deref(), notation) {
        let (reading, fixes) = flows::Outside::default().read(source)?;
        let steps = Some(reading.definition.map_or(0, |definition| definition.steps.len()));
        let mut diagnostics = reading.diagnostics;
        if trees.as_deref().is_ok_and(is_empty) {
            diagnostics = of_nothing(diagnostics);
        }
        return Ok(Found { policies, is_rules: false, steps, diagnostics, fixes });
    }
    Ok(Found {
        policies,
        is_rules: document.is_rules(),
        steps: None,
        diagnostics: document.diagnostics().to_vec(),
        fixes: fixable(&source.text, &document, source.format, notation),
    })
}

fn report(
    source: &Source,
    notation: Option<Notation>,
    check: &Check,
    summary: &mut Summary,
    reports: &mut Vec<Json>,
) -> Result<(), Failure> {
    let Found { policies, is_rules, steps, diagnostics: found, fixes } =
        found(source, notation, check)?;
    summary.files += 1;
    summary.policies += policies;
    summary.sets += usize::from(is_rules);
    summary.flows += usize::from(steps.is_some());
    summary.steps += steps.unwrap_or_default();
    summary.warnings += found.iter().filter(|found| found.is_warning()).count();
    summary.errors += found.iter().filter(|found| !found.is_warning()).count();
    let lines = Lines::new(&source.text);
    match check.format {
        CheckFormat::Human => {
            let drawing = Drawing::of(source).applying(fixes);
            for found in found.iter().take(DRAWN_MAX) {
                let drawn = drawing.draw(found);
                // Standard output holds the fixed text.
                if check.fix && is_stream(source) { print_note(&drawn) } else { print(&drawn)? }
            }
            if policies == 0 && found.is_empty() && !is_rules && steps.is_none() {
                print_note(&format!("{}: there is no policy in it\n", source.name));
            }
            if let Some(more @ 1..) = found.len().checked_sub(DRAWN_MAX) {
                print_note(&format!(
                    "{}: {more} more findings; --format json has them all\n",
                    source.name
                ));
            }
        }
        CheckFormat::Github => {
            let annotations = found.iter().map(|found| annotation(source, &lines, found));
            print(&annotations.collect::<String>())?;
        }
        CheckFormat::Json => {
            let findings: Json = found.iter().map(|found| finding(&lines, found)).collect();
            let report = json!({
                "file": source.name,
                "policies": policies,
                "steps": steps,
                "diagnostics": findings,
            });
            // Only a flow has steps.
            reports.push(optional(report, &["steps"]));
        }
    }
    Ok(())
}

/// A finding as JSON: bytes, and lines and columns as editors count them.
pub(super) fn finding(lines: &Lines<'_>, found: &Diagnostic) -> Json {
    let (start, end) = (lines.position(found.span.start), lines.position(found.span.end));
    let fix = found.fix.as_ref().map(|fix| {
        json!({
            "start": fix.span.start,
            "end": fix.span.end,
            "replacement": fix.replacement,
            "safe": fix.safe,
        })
    });
    let finding = json!({
        "name": found.kind.name(),
        "severity": found.severity(),
        "message": found.message,
        "note": found.note,
        "start": found.span.start,
        "end": found.span.end,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "fix": fix,
    });
    optional(finding, &["note", "fix"])
}

/// A workflow command that annotates the line on GitHub.
pub(super) fn annotation(source: &Source, lines: &Lines<'_>, found: &Diagnostic) -> String {
    let Position { line, column } = lines.position(found.span.start);
    let end = lines.position(found.span.end);
    let message = visible(&found.message);
    format!(
        "::{} file={},line={line},col={column},endLine={},endColumn={},title={}::{}\n",
        found.severity(),
        github_property(&source.name),
        end.line,
        end.column,
        github_property(&format!("redial {}", found.kind.name())),
        github(&message),
    )
}
