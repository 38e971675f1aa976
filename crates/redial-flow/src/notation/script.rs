//! Scripts: calls of modules with their policies in the text, `result = Search(query) with retry: 3, delay: 1s`.
//!
//! A call is a step, and so is a value that is computed from results; what each needs follows from the names in it, so
//! that calls which do not depend on each other run side by side. A call in an arm of `if` or `branch`, after `??`,
//! before `when` or in a `fallback` is run only where its value is asked for.

mod built_in;
mod calls;
mod cel;
mod expressions;
mod lowering;
mod modules;
mod operators;
mod options;
mod parse;
mod primary;
mod token;
mod tree;
mod types;
mod value;

use redial_policy::notation::Source;
use redial_policy::{Diagnostic, FlowKind, Format, Span, TEXT_MAX};

use super::{Notation, Options, Reading};
use crate::definition::Definition;

use lowering::Lowering;
pub use modules::Modules;

/// The reference of scripts, in Markdown that reads well as plain text.
pub(super) fn read(text: &str, options: &Options<'_>) -> Reading {
    let start = Span { start: 0, end: 0 };
    if text.len() > TEXT_MAX {
        let message = format!("this text has {} bytes; at most {TEXT_MAX} are read", text.len());
        let found = Diagnostic::new(redial_policy::Kind::TooLarge, start, message);
        return Reading::refused(Notation::Script, found);
    }
    let (statements, told) = parse::parse(text);
    let mut lowering = Lowering::new(Source::new(text, Format::Text), options);
    lowering.found = told;
    for statement in &statements {
        lowering.statement(statement);
        if lowering.is_full {
            break;
        }
    }
    lowering.check_given();
    if lowering.found.is_empty() && lowering.drafts.is_empty() {
        let message =
            "nothing is done in this script; write result = Search(query), and out result";
        lowering.found.push(Diagnostic::new(FlowKind::NoSteps, start, message));
    }
    let lowering = lowering.finish();
    let name = options.name.clone().unwrap_or_else(|| "script".to_owned());
    let mut definition = Definition::new(name);
    definition.inputs = lowering.inputs;
    definition.outputs = lowering.outputs;
    definition.steps = lowering.drafts.into_iter().map(|draft| draft.step).collect();
    Reading {
        notation: Notation::Script,
        // What a call runs is not known without its module.
        definition: options.modules.map(|_| definition),
        diagnostics: lowering.found,
        programs: lowering.programs,
        rule_files: Vec::new(),
        inputs_missing: lowering.inputs_missing,
    }
}
