//! `redial map`: one command for many items, each under the policy.

mod dry_run;

use std::io::IsTerminal;
use std::num::NonZeroU32;
use std::path::Path;

use clap::ArgMatches;
use redial_flow::definition::{
    Action, Argument, Condition, Definition, Each, ItemFormat, OnFailure, Origin, OutputKind, Rate,
    RuleSet, Rules, Source as ItemSource, Spelling, Step,
};
use redial_flow::engine::{Engine, Options};
use redial_flow::prepared::Prepared;
use redial_flow::store::{RunName, Store, StoreError};
use redial_flow::{Expression, FieldPath, JsonPath, SortBy, Template, check_arguments};

use crate::args::{self, MapFlags};
use crate::events::Mode;
use crate::output::Failure;
use crate::policies::{SelectedPolicy, exactly_one, print_warnings, selected};
use crate::rules::{max_retry_after, rules};
use crate::verb::conduct::{Outputs, Teller, Telling, Words, conduct};
use crate::verb::run::{new_run_id, random_word};
use crate::verb::said::Said;
use crate::visible::visible;

const MAP: &str = "map";
const JOB: &str = "job";

pub(crate) fn run(arguments: &MapFlags, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    args::foreign::mistaken(arguments).map_err(Failure::Message)?;
    let selected = exactly_one(&arguments.policy, selected(&arguments.policy, matches, false)?)?;
    selected.refuse_no_time()?;
    let definition = definition(arguments, &selected)?;
    let options = Said::from(arguments).options(None)?;
    if arguments.dry_run {
        print_warnings(std::slice::from_ref(&selected));
        return dry_run::run(arguments, &selected, &options, definition);
    }
    let telling = Telling {
        words: Words::Items,
        level: (&arguments.telling).into(),
        progress: arguments.telling.progress,
        prints_output: true,
        keeps_order: arguments.keep_order,
        output_dir: arguments.output_dir.clone(),
        events: arguments.events.clone(),
        outputs: Outputs::Text,
    };
    let mut teller = Teller::new(telling)?;
    if let Some(note) = args::foreign::note(arguments, std::env::args_os()) {
        teller.line(&format!("note: {note}"));
    }
    teller.findings(&selected.diagnostics);
    let is_typed = arguments.items.as_deref().is_none_or(|path| path == Path::new("-"));
    if is_typed && std::io::stdin().is_terminal() {
        teller.line("items are read from this terminal, one on each line; Ctrl-D ends them");
    }
    let seed = arguments.seed.unwrap_or_else(random_word);
    let engine = engine(arguments, definition, seed, options, &mut teller)?;
    conduct(engine, teller, || Ok(()))
}

fn engine(
    arguments: &MapFlags,
    definition: Definition,
    seed: u64,
    options: Options,
    teller: &mut Teller,
) -> Result<Engine, Failure> {
    let pinned = serde_json::to_vec(&definition).map_err(|error| error.to_string())?;
    // All that can be wrong is told before a run is made.
    let prepared =
        Prepared::new(definition).map_err(|error| Failure::Message(error.to_string()))?;
    let failed = crate::verb::conduct::engine_failure;
    let Some(name) = &arguments.run else {
        // Who deduplicates by REDIAL_KEY must not take another run's items for these.
        return Engine::begin(prepared, &new_run_id(), seed, None, options).map_err(failed);
    };
    let name: RunName = name
        .parse()
        .map_err(|error: redial_flow::store::InvalidName| Failure::Message(error.to_string()))?;
    let store = Store::at(&arguments.keeping.store.store);
    match store.create(&name, &pinned) {
        Ok(run) => {
            let held = run.hold().map_err(held)?;
            Engine::begin(prepared, name.as_str(), seed, Some(held), options).map_err(failed)
        }
        Err(StoreError::Exists { .. }) => {
            let run = store.open(&name).map_err(held)?;
            let held = run.hold().map_err(held)?;
            let before = held.flow().map_err(|error| error.to_string())?;
            if before != pinned {
                return Err(Failure::Message(format!(
                    "the run `{name}` was begun with another command, policy or source; give it as it was, \
                     resume it (redial flow resume {name}), or take another name; another policy for what is \
                     dead is redial flow dead retry {name} --with CLAUSE"
                )));
            }
            if !Engine::has_begun(&held).map_err(failed)? {
                return Engine::begin(prepared, name.as_str(), seed, Some(held), options)
                    .map_err(failed);
            }
            let is_accepted = arguments.keeping.damage.is_accepted;
            let mut engine = Engine::resume(held, is_accepted, options).map_err(failed)?;
            let counts = engine.machine().counts(0);
            teller.goes_on(counts.known, counts.dead, counts.succeeded);
            teller.survivors(&engine);
            engine.read_sources_again().map_err(failed)?;
            Ok(engine)
        }
        Err(error) => Err(held(error)),
    }
}

/// Whether a run was begun by `redial map`, whose placeholders no flow file has.
pub(crate) fn is_of_map(definition: &Definition) -> bool {
    let braces =
        |step: &Step| matches!(step.action, Action::Run { spelling: Spelling::Braces, .. });
    definition.steps.iter().any(braces)
}

/// An error of the store: who comes second has an exit code of its own.
fn held(error: StoreError) -> Failure {
    crate::verb::conduct::store_failure(&error)
}

fn definition(arguments: &MapFlags, selected: &SelectedPolicy) -> Result<Definition, Failure> {
    let mut argv: Vec<Argument> = arguments.command.iter().cloned().map(Argument::from).collect();
    let templates: Vec<Template> =
        argv.iter().map(|argument| Template::of_argument(&argument.bytes())).collect();
    if templates.iter().all(|template| template.references().next().is_none()) {
        argv.push("{}".into());
    }
    check_arguments(&templates).map_err(|(at, bad)| {
        let name = bad.kind.name();
        Failure::Message(format!("argument {at}: {bad}; redial explain {name} says more"))
    })?;
    check_selection(arguments)?;
    check_program(&arguments.command, &templates)?;
    // The conditions are read once more by the engine; here for errors that name their flags.
    rules(&arguments.rules, &selected.entry, Some(&arguments.command), Mode::Run)?;
    let policy = selected.entry.written().unwrap_or_else(|| selected.entry.clause.clone());
    let each = Each {
        filter: arguments.condition.clone().map(|text| Condition { text, loose: false }),
        sort_by: arguments.sort_by.clone(),
        distinct: arguments.distinct.clone(),
        offset: arguments.offset,
        max_items: arguments.max_items,
        key: arguments.key.clone(),
        failures_max: arguments.failures_max.as_deref().map(failures_max).transpose()?,
        ..Each::new(source(arguments)?)
    };
    let map = Step {
        rate: arguments.rate.as_deref().map(rate).transpose()?,
        ..Step::new(MAP, Action::Each(each))
    };
    let job = Step {
        inside: Some(MAP.into()),
        policy,
        rules: pinned_rules(arguments)?,
        output: OutputKind::None,
        on_failure: OnFailure::DeadLetter,
        ..Step::new(JOB, Action::Run { argv, spelling: Spelling::Braces })
    };
    let definition = Definition { steps: vec![map, job], ..Definition::new(MAP) };
    match (definition.misfits().into_iter().next(), &arguments.condition) {
        (Some(misfit), Some(text)) => Err(bad("--where", text, misfit.bad.message)),
        _ => Ok(definition),
    }
}

fn bad(flag: &str, text: &str, message: String) -> Failure {
    Failure::Message(format!("{flag}: `{}`: {message}", visible(text)))
}

/// What is said of items has a flag each, which an error names.
fn check_selection(arguments: &MapFlags) -> Result<(), Failure> {
    if let Some(text) = &arguments.condition {
        Expression::parse(text).map_err(|error| bad("--where", text, error.message))?;
    }
    if let Some(text) = &arguments.json_path {
        JsonPath::parse(text).map_err(|error| {
            let message = format!("{}; an example is $.items[*]", error.message);
            bad("--json-path", text, message)
        })?;
    }
    if let Some(text) = &arguments.sort_by {
        SortBy::parse(text).map_err(|error| bad("--sort-by", text, error.message))?;
    }
    for (flag, text) in [("--key", &arguments.key), ("--distinct", &arguments.distinct)] {
        if let Some(text) = text {
            FieldPath::parse(text).map_err(|error| bad(flag, text, error.message))?;
        }
    }
    Ok(())
}

fn source(arguments: &MapFlags) -> Result<ItemSource, Failure> {
    let path = arguments.items.as_deref().filter(|path| *path != Path::new("-"));
    let from = match path {
        None => Origin::Stdin,
        Some(path) => {
            let text = path.to_str().ok_or("--items: the name of the file is not UTF-8")?;
            if let Err(error) = std::fs::File::open(path) {
                return Err(Failure::Message(format!(
                    "--items: cannot read {}: {error}",
                    path.display()
                )));
            }
            if path.is_dir() {
                return Err(Failure::Message(format!(
                    "--items: {} is a directory; name a file, or pipe a list of names: find … | redial map …",
                    path.display()
                )));
            }
            // A file of items is named, not referred to.
            Origin::File(text.replace("${", "$${"))
        }
    };
    let ending = path.and_then(Path::extension).and_then(std::ffi::OsStr::to_str);
    let format = match (arguments.null, arguments.format, &arguments.json_path, ending) {
        (true, ..) => ItemFormat::Nul,
        (_, None | Some(args::ItemFormat::Json), Some(path), _) => {
            ItemFormat::Json(Some(path.clone()))
        }
        (_, Some(format), Some(_), _) => {
            return Err(Failure::Message(format!(
                "--json-path is for a JSON document, and --format says {format:?}; drop one of them"
            )));
        }
        (_, Some(args::ItemFormat::Lines), ..) => ItemFormat::Lines,
        (_, Some(args::ItemFormat::Jsonl), ..) => ItemFormat::JsonLines,
        (_, Some(args::ItemFormat::Json), ..) => ItemFormat::Json(None),
        (_, Some(args::ItemFormat::Csv), ..) => ItemFormat::Csv { delimiter: ',' },
        (_, Some(args::ItemFormat::Tsv), ..) => ItemFormat::Csv { delimiter: '\t' },
        (_, None, None, Some("jsonl" | "ndjson")) => ItemFormat::JsonLines,
        (_, None, None, Some("json")) => ItemFormat::Json(None),
        (_, None, None, Some("csv")) => ItemFormat::Csv { delimiter: ',' },
        (_, None, None, Some("tsv")) => ItemFormat::Csv { delimiter: '\t' },
        _ => ItemFormat::Lines,
    };
    Ok(ItemSource { from, format })
}

/// The rules as texts, with those of files as they are now.
fn pinned_rules(arguments: &MapFlags) -> Result<Rules, Failure> {
    let flags = &arguments.rules;
    let sets = crate::rules::named_sets(flags)?.into_iter();
    let set = |(name, text)| RuleSet { name, text };
    Ok(Rules {
        sets: sets.map(set).collect(),
        success_on: flags.success_on.clone(),
        stop_on: flags.stop_on.clone(),
        retry_on: flags.retry_on.clone(),
        delay_from: flags.delay_from.clone(),
        max_retry_after: Some(max_retry_after(flags)?),
    })
}

/// A program that is not there would fail once for every item.
fn check_program(command: &[std::ffi::OsString], templates: &[Template]) -> Result<(), Failure> {
    let (Some(program), Some(template)) = (command.first(), templates.first()) else {
        return Ok(());
    };
    let text = program.to_string_lossy();
    let is_known = template.references().next().is_none() && !text.contains('/');
    if !is_known || crate::flows::is_on_path(&text) {
        return Ok(());
    }
    let hint = match text.contains(char::is_whitespace) {
        true => "; write the program and each of its arguments as a word of its own",
        false => "",
    };
    Err(Failure::Message(format!("there is no program `{}` on the PATH{hint}", visible(&text))))
}

/// `100/1min`.
pub(crate) fn rate(text: &str) -> Result<Rate, Failure> {
    let bad = || {
        Failure::Message(format!(
            "--rate: `{}` is not a number and a time, such as 100/1min or 5/s",
            visible(text)
        ))
    };
    let (count, per) = text.split_once('/').ok_or_else(bad)?;
    let per = match per.starts_with(|first: char| first.is_ascii_digit()) {
        true => crate::duration::read(per),
        false => crate::duration::read(&format!("1{per}")),
    };
    let count = count.trim().parse().ok().and_then(NonZeroU32::new).ok_or_else(bad)?;
    let per = per.filter(|per| !per.is_zero()).ok_or_else(bad)?;
    Ok(Rate { count, per })
}

/// `10`, or `5%`.
fn failures_max(text: &str) -> Result<redial_flow::definition::FailuresMax, Failure> {
    use redial_flow::definition::FailuresMax;
    let bad = || {
        Failure::Message(format!(
            "--failures-max: `{}` is neither a number of items nor a share such as 5%",
            visible(text)
        ))
    };
    match text.strip_suffix('%') {
        Some(share) => {
            let share: f64 = share.trim().parse().map_err(|_| bad())?;
            match (0.0..=100.0).contains(&share) {
                true => Ok(FailuresMax::Millionths((share * 10_000.0).round() as u32)),
                false => Err(bad()),
            }
        }
        None => text.parse().map(FailuresMax::Count).map_err(|_| bad()),
    }
}
