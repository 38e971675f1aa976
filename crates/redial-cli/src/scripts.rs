//! Scripts from files, with the file of modules that says what their calls run.

use std::path::Path;

use redial_flow::notation::{Modules, Options, Reading};
use redial_policy::{Diagnostic, Format};

use crate::exit_code;
use crate::flows::{Asked, Loaded, is_on_path, json_inputs, name_of};
use crate::output::{Failure, print_note};
use crate::source::Source;
use crate::view::diagnostic::Drawing;
use crate::visible::visible;

/// The file of modules that is looked for beside a script.
const MODULES: &str = "modules.toml";

/// Whether a file is a script, by the end of its name.
pub(crate) fn is_script(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("cst"))
}

/// The file of modules that is named, or the one beside the script, if there is one.
fn modules_of(script: &str, named: Option<&str>) -> Result<Option<Source>, Failure> {
    let beside = Path::new(script).with_file_name(MODULES);
    let path = match named {
        Some(named) => named.to_owned(),
        None if beside.is_file() => beside.to_string_lossy().into_owned(),
        None => return Ok(None),
    };
    let mut source = Source::open(&path, None)?;
    source.format = Format::Toml;
    Ok(Some(source))
}

/// Reads a script and its modules. What is wrong with them is printed, all at once.
pub(crate) fn load(source: &Source, asked: &Asked<'_>) -> Result<Loaded, Failure> {
    if asked.items.is_some() {
        return Err(Failure::from("--items: a script has no map; it takes its values by --input"));
    }
    let file = modules_of(&source.name, asked.modules)?;
    let file = file.ok_or_else(|| {
        Failure::Message(format!(
            "what {} calls is said by a file of modules: there is no {MODULES} beside it; write one, or name it with \
             --modules",
            visible(&source.name)
        ))
    })?;
    let (modules, found) = Modules::read(&file.text);
    draw(&file, &found);
    let reading = read(source, Some(&modules), asked)?;
    draw(source, &reading.diagnostics);
    let is_sound = found.iter().all(Diagnostic::is_warning);
    let Some(definition) = reading.definition.filter(|_| is_sound) else {
        return Err(Failure::Reported(exit_code::ERROR));
    };
    if asked.is_run && !reading.inputs_missing.is_empty() {
        let missing: Vec<String> = reading
            .inputs_missing
            .iter()
            .map(|input| format!("--input {}=…", input.name))
            .collect();
        return Err(Failure::Message(format!(
            "{} needs {}; --example takes the values of its @example",
            visible(&source.name),
            missing.join(" ")
        )));
    }
    Ok(Loaded { definition, warnings: reading.diagnostics })
}

fn draw(source: &Source, found: &[Diagnostic]) {
    let drawing = Drawing::of(source);
    found.iter().for_each(|found| print_note(&drawing.draw(found)));
}

fn read(source: &Source, modules: Option<&Modules>, asked: &Asked<'_>) -> Result<Reading, Failure> {
    let options = Options {
        name: name_of(&source.name),
        inputs: json_inputs(asked.inputs)?,
        modules,
        examples: asked.examples,
        ..Options::default()
    };
    let mut reading = options.read_script(&source.text);
    let missing = reading.programs.iter().filter(|program| !is_on_path(&program.name));
    let missing: Vec<_> = missing
        .map(|program| {
            let name = program.span.of(&source.text);
            program.program_not_found().note(format!("module `{name}` runs it"))
        })
        .collect();
    reading.diagnostics.extend(missing);
    reading.diagnostics.sort_by_key(|found| found.span.start);
    if reading.has_errors() {
        reading.definition = None;
    }
    Ok(reading)
}

/// What is wrong with a script, and how many steps it has. Nothing where there is no file of modules: then only its clauses
/// are known.
pub(crate) fn check(
    source: &Source,
    modules: Option<&str>,
) -> Result<Option<(Vec<Diagnostic>, usize)>, Failure> {
    let Some(file) = modules_of(&source.name, modules)? else { return Ok(None) };
    let (modules, found) = Modules::read(&file.text);
    if found.iter().any(|found| !found.is_warning()) {
        let name = visible(&file.name);
        return Err(Failure::Message(format!("{name} has errors; redial check {name} tells them")));
    }
    let reading = read(source, Some(&modules), &Asked::default())?;
    let steps = reading.definition.map_or(0, |definition| definition.steps.len());
    Ok(Some((reading.diagnostics, steps)))
}
