//! `redial map --dry-run`: the command of each item on standard output, and what else is known on standard error.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use redial_flow::definition::{Action, Argument, Definition};
use redial_flow::engine::Options;
use redial_flow::prepared::Prepared;
use redial_flow::{BadItem, ITEM_NUMBER, Item, Template, Value};

use crate::args::MapFlags;
use crate::exit_code;
use crate::output::{Failure, print, print_note};
use crate::policies::SelectedPolicy;
use crate::shell;
use crate::visible::visible;

pub(super) fn run(
    arguments: &MapFlags,
    selected: &SelectedPolicy,
    options: &Options,
    definition: Definition,
) -> Result<u8, Failure> {
    print_note(&described(arguments, selected, options));
    let templates = templates(&definition);
    let prepared = Prepared::new(definition).map_err(|error| error.to_string())?;
    let Some(items) = prepared.items_of(0, source(arguments)?) else { return Ok(0) };
    let mut code = 0;
    for (item, number) in items.zip(1_u64..) {
        match command(&templates, item, number) {
            Ok(command) => print(&format!("{}\n", visible(&shell::command(command))))?,
            Err(why) => {
                print_note(&format!("redial: {number}: not started: {}\n", visible(&why)));
                code = exit_code::FAILURE;
            }
        }
    }
    Ok(code)
}

fn source(arguments: &MapFlags) -> Result<Box<dyn Read>, Failure> {
    match named(arguments) {
        None => Ok(Box::new(io::stdin())),
        Some(path) => {
            let file = File::open(path)
                .map_err(|error| format!("--items: cannot read {}: {error}", path.display()))?;
            Ok(Box::new(file))
        }
    }
}

fn named(arguments: &MapFlags) -> Option<&Path> {
    arguments.items.as_deref().filter(|path| *path != Path::new("-"))
}

/// The arguments of the job, with `{}` at their end where nothing else says where the item goes.
fn templates(definition: &Definition) -> Vec<Template> {
    let template = |argument: &Argument| Template::of_argument(&argument.bytes());
    let argv = definition.steps.iter().find_map(|step| match &step.action {
        Action::Run { argv, .. } => Some(argv),
        _ => None,
    });
    argv.map(|argv| argv.iter().map(template).collect()).unwrap_or_default()
}

/// The command of an item, or why there is none.
fn command(
    templates: &[Template],
    item: Result<Item, BadItem>,
    number: u64,
) -> Result<Vec<OsString>, String> {
    let item = item.map_err(|bad| bad.to_string())?;
    let values = BTreeMap::from([
        ("item".to_owned(), item.value),
        (ITEM_NUMBER.to_owned(), Value::Json(number.into())),
    ]);
    let argument = |template: &Template| template.argument(&values).map(OsString::from_vec);
    templates.iter().map(argument).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// All but the commands.
fn described(arguments: &MapFlags, selected: &SelectedPolicy, options: &Options) -> String {
    let mut text = format!("command  {}\n", visible(&shell::command(&arguments.command)));
    text += &format!("policy   {}\n", visible(&selected.entry.said()));
    text += &format!("jobs     {}\n", options.slots);
    if let Some(rate) = &arguments.rate {
        text += &format!("rate     {}\n", visible(rate));
    }
    let items = named(arguments).map_or("standard input".into(), |path| path.display().to_string());
    text += &format!("items    {}\n", visible(&items));
    if let Some(run) = &arguments.run {
        let store = arguments.keeping.store.store.join("runs").join(run);
        text += &format!("run      {}\n", visible(&store.display().to_string()));
    }
    text
}
