//! `redial find`

use clap::Args;

use super::CheckFormat;

/// `redial find`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  redial find                                         below the current folder
  redial find workflow.yml retries.yaml               in these files or folders
  redial find . --format github                       annotations for a workflow
  redial find . --format json

Looks at YAML, TOML and JSON, at units of systemd and at scripts with clauses. Files that a
.gitignore or .ignore names are left out, and so are symbolic links and .git.

Exit codes: 0 no errors; 1 a policy has errors; 125 a folder or a file cannot be read.")]
pub(crate) struct Find {
    /// Folders or files to look in
    #[arg(value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) folders: Vec<std::path::PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: CheckFormat,
    /// Implementation of another system whose law is meant: go, core, java, js or python
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
    /// Look at files that .gitignore and .ignore name, too
    #[arg(long)]
    pub(crate) no_ignore: bool,
}
