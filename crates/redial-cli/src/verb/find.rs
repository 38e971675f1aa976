//! `redial find`: every policy below a folder, the worst first.

mod tree;

use std::sync::atomic::{AtomicUsize, Ordering};

use redial_policy::notation::Source as Text;
use redial_policy::{Diagnostic, Format, Kind, Notation, Plan, Timing};

use self::tree::{Files, Unread};
use super::check::{annotation, is_flow};
use crate::args::{CheckFormat, Find};
use crate::exit_code;
use crate::flows;
use crate::output::{Failure, print, print_error, print_note, width};
use crate::source::Source;
use crate::view::diagnostic::Lines;
use crate::view::find::{self, Found, Report};

pub(crate) fn run(find: &Find) -> Result<u8, Failure> {
    let files = Files::below(&find.folders, find.no_ignore);
    let looks = look_at_all(&files, find.client.as_deref());
    let mut report = Report { files: files.paths.len(), ..Report::default() };
    let mut unreadable = files.unreadable;
    let mut annotations = String::new();
    for (path, look) in files.paths.iter().zip(looks) {
        match look {
            Look::At(look) => {
                report.found.extend(look.found);
                report.errors += look.errors;
                report.warnings += look.warnings;
                annotations += &look.annotations;
            }
            Look::Skipped(why) => report.skipped.push((tree::shown(path), why)),
            Look::Failed(why) => unreadable.push(why),
        }
    }
    report.found.sort_by_cached_key(Found::badness);
    match find.format {
        CheckFormat::Human => {
            print(&find::terminal(&report, width()))?;
            print_note(&find::summary(&report));
        }
        CheckFormat::Json => print(&find::json(&report))?,
        CheckFormat::Github => print(&(annotations + &find::notices(&report)))?,
    }
    unreadable.iter().for_each(|why| print_error(why));
    Ok(match (unreadable.is_empty(), report.errors) {
        (false, _) => exit_code::ERROR,
        (true, 0) => 0,
        (true, _) => exit_code::FAILURE,
    })
}

/// What a file came to.
enum Look {
    At(Looked),
    /// It has none, for this reason.
    Skipped(String),
    Failed(String),
}

#[derive(Default)]
struct Looked {
    found: Vec<Found>,
    errors: usize,
    warnings: usize,
    annotations: String,
}

/// Each file on its own, by as many threads as there are processors. The order is that of the files.
fn look_at_all(files: &Files, client: Option<&str>) -> Vec<Look> {
    let next = AtomicUsize::new(0);
    let one_by_one = || {
        let mut looks = Vec::new();
        while let Some((at, path)) = Some(next.fetch_add(1, Ordering::Relaxed))
            .and_then(|at| Some((at, files.paths.get(at)?)))
        {
            let look = match tree::open(path) {
                Ok(source) => look_at(&source, client),
                Err(Unread::NoText(why)) => Look::Skipped(why),
                Err(Unread::Failed(why)) => Look::Failed(why),
            };
            looks.push((at, look));
        }
        looks
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut looks: Vec<_> = std::thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads.min(files.paths.len())).map(|_| scope.spawn(one_by_one)).collect();
        let mut looks = one_by_one();
        for other in others {
            match other.join() {
                Ok(more) => looks.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        looks
    });
    looks.sort_by_key(|(at, _)| *at);
    looks.into_iter().map(|(_, look)| look).collect()
}

fn look_at(source: &Source, client: Option<&str>) -> Look {
    let text = Text::new(&source.text, source.format).client(client);
    let trees = text.parse();
    if is_flow(source, trees.as_deref(), None) && !source.text.trim().is_empty() {
        return of_flow(source);
    }
    let document = text.document(trees.as_deref(), None);
    let found = document.diagnostics();
    if document.policies().len() == 0 {
        let telling = found.iter().find(|found| found.kind == Kind::NotReadYet);
        // Most files of a repository have no policy, and what is wrong with them is not ours to say.
        let telling = telling.or(trees.as_ref().err());
        return telling
            .map_or(Look::At(Looked::default()), |found| Look::Skipped(found.message.clone()));
    }
    let lines = Lines::new(&source.text);
    let mut looked = Looked::of(source, &lines, found);
    for entry in document.policies() {
        let inside = |found: &&Diagnostic| {
            entry.span.start <= found.span.start && found.span.start <= entry.span.end
        };
        let its: Vec<_> = found.iter().filter(inside).cloned().collect();
        looked.found.push(Found {
            file: source.name.clone(),
            line: Some(lines.position(entry.span.start).line),
            name: entry.name.clone(),
            system: title(entry.notation),
            plan: Timing::of(entry).map(|timing| Plan::new(timing).timeout(entry.timeout)),
            diagnostics: its,
        });
    }
    Look::At(looked)
}

/// The policies of a flow's steps.
fn of_flow(source: &Source) -> Look {
    let reading = match flows::Outside::default().read(source) {
        Ok((reading, _)) => reading,
        Err(Failure::Message(why)) => return Look::Skipped(why),
        Err(_) => return Look::At(Looked::default()),
    };
    let lines = Lines::new(&source.text);
    let mut looked = Looked::of(source, &lines, &reading.diagnostics);
    let of = |name: String, plan, diagnostics| Found {
        file: source.name.clone(),
        line: None,
        name,
        system: "flow",
        plan,
        diagnostics,
    };
    let Some(definition) = reading.definition else {
        looked.found.push(of(String::new(), None, reading.diagnostics));
        return Look::At(looked);
    };
    for step in definition.steps {
        let document = redial_policy::read(&step.policy, Format::Text, Some(Notation::Clause));
        let entry = document.policies().next();
        let plan = entry.and_then(Timing::of).map(|timing| Plan::new(timing).timeout(step.timeout));
        // A step that runs once has nothing to say here.
        if plan.as_ref().is_some_and(|plan| plan.policy().attempts() == Some(1)) {
            continue;
        }
        looked.found.push(of(step.name, plan, document.diagnostics().to_vec()));
    }
    Look::At(looked)
}

impl Looked {
    fn of(source: &Source, lines: &Lines<'_>, found: &[Diagnostic]) -> Self {
        let warnings = found.iter().filter(|found| found.is_warning()).count();
        Self {
            found: Vec::new(),
            errors: found.len() - warnings,
            warnings,
            annotations: found.iter().map(|found| annotation(source, lines, found)).collect(),
        }
    }
}

/// What a policy is written in, in a word.
fn title(notation: Notation) -> &'static str {
    match notation {
        Notation::Clause => "clause",
        Notation::RetryConfig => "retry_config",
        Notation::RetryPolicy => "retryPolicy",
        Notation::File => "redial",
        Notation::Foreign(system) => system.title(),
    }
}
