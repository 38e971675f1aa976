//! What an attempt is started with: its command, its variables and its input, made from the values of its task.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{Read, Write as _};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use redial_process::{Command, Control, Stdio};

use super::{Engine, Written, identity};
use crate::argument_space::{ArgumentSpace, ValueError};
use crate::definition::{Definition, Secret};
use crate::machine::TaskId;
use crate::prepared::ReadyAction;

#[derive(Debug)]
pub(super) enum Launch {
    Command(Box<Launched>),
    /// Done by redial itself.
    WriteFile {
        path: PathBuf,
        content: Vec<u8>,
    },
}

#[derive(Debug)]
pub(super) struct Launched {
    pub(super) command: Command,
    variables: Vec<(String, OsString)>,
    stdin: Option<Input>,
    directory: Option<PathBuf>,
    pub(super) timeout: Option<Duration>,
}

/// What a command reads.
enum Input {
    Bytes(Vec<u8>),
    /// An output that is too large to be a value.
    Stream(Box<dyn Read + Send>),
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Input")
    }
}

impl Launched {
    /// Where it should run, if that is not there.
    pub(super) fn missing_directory(&self) -> Option<PathBuf> {
        self.directory.clone().filter(|directory| !directory.is_dir())
    }

    /// The descriptors of the command. `inherited` has its standard input where it gets none from us.
    pub(super) fn stdio(
        &mut self,
        inherited: Stdio,
        stdout: &Written,
        stderr: &Written,
    ) -> std::io::Result<Stdio> {
        let [null, ..] = inherited;
        let stdin = match &mut self.stdin {
            None => null,
            Some(input) => {
                let mut file: File = tempfile::tempfile()?;
                match input {
                    Input::Bytes(bytes) => file.write_all(bytes)?,
                    Input::Stream(reader) => {
                        std::io::copy(reader, &mut file)?;
                    }
                }
                std::io::Seek::rewind(&mut file)?;
                Some(file.into())
            }
        };
        Ok([stdin, Some(stdout.descriptor()?), Some(stderr.descriptor()?)])
    }

    pub(super) fn variables(&self, control: Option<&Control>) -> Vec<(&str, OsString)> {
        let mut variables: Vec<(&str, OsString)> =
            self.variables.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        if let Some(control) = control {
            variables.push(("REDIAL_CONTROL", control.path().into()));
        }
        variables
    }
}

impl Engine {
    /// What the next attempt of a task is started with.
    pub(super) fn launch(&self, task: TaskId) -> Result<Launch, ValueError> {
        let ready = self.prepared.step(task.step);
        let values = self.values(Some(task));
        let os = OsString::from_vec;
        let mut variables: Vec<(String, OsString)> = Vec::new();
        let words: Vec<Vec<u8>> = match &ready.action {
            ReadyAction::Run(arguments) => arguments
                .iter()
                .map(|argument| argument.argument(&values))
                .collect::<Result<_, _>>()?,
            ReadyAction::Shell(line) => {
                let script = line.render(&values)?;
                let values = script.variables.into_iter();
                variables.extend(values.map(|(name, value)| (name, os(value))));
                vec![b"sh".to_vec(), b"-c".to_vec(), script.text.into_bytes()]
            }
            ReadyAction::WriteFile { path, content } => {
                let path = PathBuf::from(os(path.argument(&values)?));
                return Ok(Launch::WriteFile { path, content: content.render(&values)? });
            }
            // A map itself has no attempts, and neither has a branch or a value.
            ReadyAction::Each(_) | ReadyAction::Branch(_) | ReadyAction::Value(_) => Vec::new(),
        };
        for (name, template) in &ready.env {
            variables.push((name.clone(), os(template.variable(name, &values)?)));
        }
        let step = &self.prepared.definition.steps;
        let step =
            step.iter().find(|step| step.name == self.prepared.flow.steps[task.step as usize].name);
        for name in step.iter().flat_map(|step| &step.secrets) {
            if let Some((_, secret)) = self.secrets.iter().find(|(known, _)| known == name) {
                variables.push((name.clone(), secret.into()));
            }
        }
        self.own_variables(task, &mut variables);
        let as_bytes = |(name, value): &(String, OsString)| {
            (name.clone().into_bytes(), value.clone().into_encoded_bytes())
        };
        let sizes: Vec<(Vec<u8>, Vec<u8>)> = variables.iter().map(as_bytes).collect();
        self.space.check(
            words.iter().map(Vec::as_slice),
            sizes.iter().map(|(name, value)| (name.as_slice(), value.as_slice())),
        )?;
        let words: Vec<OsString> = words.into_iter().map(os).collect();
        let mut command = Command::with_environment(&words, &self.environment);
        let directory = ready.dir.as_ref().map(|dir| dir.argument(&values)).transpose()?;
        let directory = directory.map(|path| PathBuf::from(os(path)));
        if let Some(directory) = &directory {
            command = command.directory(directory);
        }
        let stdin = ready.stdin.as_ref().map(|stdin| match values.stream(stdin)? {
            Some((reader, _)) => Ok(Input::Stream(Box::new(reader))),
            None => stdin.render(&values).map(Input::Bytes),
        });
        let stdin = stdin.transpose()?;
        let timeout = ready.timeout;
        Ok(Launch::Command(Box::new(Launched { command, variables, stdin, directory, timeout })))
    }

    fn own_variables(&self, task: TaskId, variables: &mut Vec<(String, OsString)>) {
        let step = &self.prepared.flow.steps[task.step as usize];
        let attempts = step.policy.attempts();
        let attempts = attempts.map_or_else(|| "unlimited".to_owned(), |all| all.to_string());
        let attempt = self.machine.attempts(task) + 1;
        let generation = self.machine.generation(task);
        let item = self.sources.key(&self.machine, task);
        let key = identity::key(&self.run, &step.name, item, generation);
        let own = [
            ("REDIAL_ATTEMPT", attempt.to_string()),
            ("REDIAL_ATTEMPTS", attempts),
            ("REDIAL_RUN_ID", self.run.clone()),
            ("REDIAL_STEP", step.name.clone()),
            ("REDIAL_KEY", key),
        ];
        variables.extend(own.map(|(name, value)| (name.to_owned(), value.into())));
        if let Some(run) = &self.identity {
            let id = identity::attempt_id(run, task, generation, attempt);
            variables.push((identity::ATTEMPT_ID.to_owned(), id.into()));
        }
        if let Some(item) = task.item {
            variables.push(("REDIAL_ITEM".into(), (u64::from(item) + 1).to_string().into()));
        }
        if let Some(code) = self.last_exit.get(&task) {
            variables.push(("REDIAL_LAST_EXIT".into(), code.to_string().into()));
        }
    }
}

/// What the system takes for a command beside the variables that every command gets.
pub(super) fn space() -> ArgumentSpace {
    ArgumentSpace::of_this_system().less(
        std::env::vars_os()
            .map(|(name, value)| name.len() + value.len() + 2 + size_of::<usize>())
            .sum(),
    )
}

/// The values of all secrets.
pub(super) fn secrets(definition: &Definition) -> Result<Vec<(String, String)>, String> {
    let read = |(name, secret): (&String, &Secret)| {
        let value = match secret {
            Secret::Env(variable) => std::env::var(variable).map_err(|_| {
                format!("secret `{name}`: the variable {variable} is not set, or is not text")
            })?,
            Secret::File(path) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| format!("secret `{name}`: {path}: {error}"))?;
                text.strip_suffix('\n').map_or_else(|| text.clone(), str::to_owned)
            }
        };
        Ok((name.clone(), value))
    };
    definition.secrets.iter().map(read).collect()
}
