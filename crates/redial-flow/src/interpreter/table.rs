//! The programs that parse text, and those that start others.

use std::ops::Range;

/// A program that parses text.
pub(super) struct Interpreter {
    pub(super) names: &'static [&'static str],
    /// Letters of options whose value is code.
    pub(super) code: &'static str,
    /// The same as words, with their dashes.
    pub(super) long: &'static [&'static str],
    /// Letters of options whose value is not.
    pub(super) valued: &'static str,
    /// Letters after which the rest of the word is a value, if there is any.
    pub(super) attached: &'static str,
    /// Options as words, and how many words are their values.
    pub(super) long_valued: &'static [(&'static str, usize)],
    /// Letters of options that name a file with the code.
    pub(super) file: &'static str,
    /// Which operands are code, if no option has it.
    pub(super) operands: Range<usize>,
    /// `-c` says that the first operand is code, wherever that is.
    pub(super) code_is_operand: bool,
    /// Nothing is an option once an operand or the code has come.
    pub(super) operands_end_options: bool,
    /// With at most so many operands and no code, standard input is the code.
    pub(super) stdin: Option<usize>,
    pub(super) remedy: &'static str,
}

const ALL: usize = usize::MAX;
const AS_VARIABLE: &str = "name it in `env`, and use that variable in quotes there";

const NONE: Interpreter = Interpreter {
    names: &[],
    code: "",
    long: &[],
    valued: "",
    attached: "",
    long_valued: &[],
    file: "",
    operands: 0..0,
    code_is_operand: false,
    operands_end_options: true,
    stdin: None,
    remedy: AS_VARIABLE,
};

pub(super) const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &[
            "sh", "bash", "dash", "ash", "zsh", "ksh", "ksh93", "mksh", "lksh", "yash", "posh",
            "rbash", "fish", "csh", "tcsh", "hush", "elvish", "nu", "xonsh", "shell",
        ],
        code: "c",
        valued: "oO",
        long: &["--command", "--commands", "--init-command"],
        long_valued: &[("--rcfile", 1), ("--init-file", 1)],
        code_is_operand: true,
        stdin: Some(0),
        remedy: "hand it over as an argument: sh -c '… \"$1\"' sh VALUE",
        ..NONE
    },
    Interpreter {
        names: &["pwsh", "powershell"],
        long: &["-c", "-Command", "-command", "-EncodedCommand", "-e", "-CommandWithArgs"],
        stdin: Some(0),
        ..NONE
    },
    Interpreter { names: &["cmd"], operands: 1..ALL, ..NONE },
    Interpreter {
        names: &["python", "pypy", "ipython", "micropython"],
        code: "c",
        valued: "mWX",
        stdin: Some(0),
        remedy: "hand it over as an argument: python3 -c '… sys.argv[1]' VALUE",
        ..NONE
    },
    Interpreter {
        names: &["perl"],
        code: "eE",
        attached: "iImMFxCDV0l",
        stdin: Some(0),
        remedy: "hand it over as an argument: perl -e '… $ARGV[0]' -- VALUE",
        ..NONE
    },
    Interpreter {
        names: &["ruby", "jruby", "irb"],
        code: "e",
        attached: "iIFxCEK0lrTW",
        stdin: Some(0),
        remedy: "hand it over as an argument: ruby -e '… ARGV[0]' -- VALUE",
        ..NONE
    },
    Interpreter {
        names: &["node", "nodejs", "bun", "tsx", "ts-node"],
        code: "ep",
        long: &["--eval", "--print"],
        valued: "rC",
        stdin: Some(0),
        remedy: "hand it over as an argument: node -e '… process.argv[1]' -- VALUE",
        ..NONE
    },
    Interpreter { names: &["deno"], operands: 1..2, operands_end_options: false, ..NONE },
    Interpreter {
        names: &["php"],
        code: "rBRE",
        long: &["--run", "--process-begin", "--process-code", "--process-end"],
        valued: "dcz",
        file: "f",
        stdin: Some(0),
        remedy: "hand it over as an argument: php -r '… $argv[1]' -- VALUE",
        ..NONE
    },
    Interpreter {
        names: &["lua", "luajit", "texlua"],
        code: "e",
        valued: "l",
        stdin: Some(0),
        ..NONE
    },
    Interpreter {
        names: &[
            "Rscript",
            "R",
            "julia",
            "osascript",
            "groovy",
            "scala",
            "elixir",
            "racket",
            "ghc",
            "clojure",
            "crystal",
            "raku",
        ],
        code: "eE",
        long: &["--eval", "--print"],
        stdin: Some(0),
        ..NONE
    },
    Interpreter { names: &["guile", "expect", "tclsh", "wish"], code: "c", stdin: Some(0), ..NONE },
    Interpreter { names: &["erl", "emacs", "sbcl", "clisp"], long: &["-eval", "--eval"], ..NONE },
    Interpreter {
        names: &["vim", "nvim", "vi", "ex", "gvim", "view"],
        code: "c",
        long: &["--cmd"],
        operands_end_options: false,
        ..NONE
    },
    Interpreter {
        names: &["ed", "dc", "bc"],
        code: "e",
        long: &["--expression"],
        stdin: Some(ALL),
        ..NONE
    },
    Interpreter {
        names: &["gdb", "lldb"],
        long: &["-ex", "-iex", "--eval-command", "-o", "--one-line"],
        ..NONE
    },
    Interpreter {
        names: &["awk", "gawk", "mawk", "nawk", "original-awk", "goawk"],
        code: "e",
        long: &["--source"],
        long_valued: &[("--assign", 1), ("--field-separator", 1), ("--include", 1)],
        valued: "Fvil",
        file: "fE",
        operands: 0..1,
        remedy: "name it in `env`, and read it as ENVIRON[\"NAME\"]",
        ..NONE
    },
    Interpreter {
        names: &["sed", "gsed", "ssed"],
        code: "e",
        long: &["--expression"],
        long_valued: &[("--in-place", 0), ("--line-length", 1)],
        valued: "l",
        attached: "i",
        file: "f",
        operands: 0..1,
        operands_end_options: false,
        remedy: "sed can run commands, so use awk: name the value in `env`, and read it as ENVIRON[\"NAME\"]",
        ..NONE
    },
    Interpreter {
        names: &["jq", "gojq", "jaq"],
        long_valued: &[
            ("--arg", 2),
            ("--argjson", 2),
            ("--slurpfile", 2),
            ("--rawfile", 2),
            ("--argfile", 2),
            ("--indent", 1),
        ],
        valued: "L",
        file: "f",
        operands: 0..1,
        operands_end_options: false,
        remedy: "hand it over as a variable of jq: --arg name VALUE, and $name in the filter",
        ..NONE
    },
    Interpreter {
        names: &["yq"],
        long: &["--expression"],
        long_valued: &[("--arg", 2), ("--argjson", 2)],
        valued: "op",
        operands: 0..1,
        operands_end_options: false,
        remedy: "name it in `env`, and read it as strenv(NAME)",
        ..NONE
    },
    Interpreter {
        names: &["ssh", "autossh", "mosh", "rsh", "dbclient", "slogin"],
        valued: "BbcDEeFIiJLlmOopQRSWwP",
        operands: 1..ALL,
        stdin: Some(1),
        remedy: "the other side's shell parses it; send it by `stdin`, and read it there",
        ..NONE
    },
    Interpreter {
        names: &["su", "runuser", "script", "flock", "nix-shell", "npx"],
        code: "c",
        long: &["--command", "--session-command", "--run", "--call"],
        valued: "gGs",
        operands_end_options: false,
        ..NONE
    },
    Interpreter { names: &["env"], code: "S", long: &["--split-string"], valued: "uC", ..NONE },
    Interpreter { names: &["watch"], valued: "n", operands: 0..ALL, ..NONE },
    Interpreter { names: &["parallel"], valued: "jSaIN", operands: 0..ALL, stdin: Some(0), ..NONE },
    Interpreter { names: &["at", "batch"], stdin: Some(ALL), ..NONE },
    // `tmux new 'vim x'` is a line of `sh`, and `tmux new vim x` is a program with arguments.
    Interpreter {
        names: &["tmux", "byobu"],
        code: "c",
        valued: "fLSTeFlnpstxy",
        operands: 1..2,
        operands_end_options: false,
        remedy: "tmux runs a command of one word by a shell; name the program and its arguments one by one",
        ..NONE
    },
    Interpreter {
        names: &["psql"],
        code: "c",
        long: &["--command"],
        valued: "dfLopPRTUvh",
        file: "f",
        stdin: Some(ALL),
        operands_end_options: false,
        remedy: "hand it over as a variable of psql: -v name=VALUE, and :'name' in the statement on standard input",
        ..NONE
    },
    Interpreter {
        names: &["mysql", "mariadb", "clickhouse-client", "cockroach", "duckdb", "sqlcmd"],
        code: "eqQc",
        long: &["--execute", "--query"],
        valued: "uhPDS",
        attached: "p",
        stdin: Some(ALL),
        operands_end_options: false,
        remedy: "write a program that binds it as a parameter",
        ..NONE
    },
    Interpreter {
        names: &["sqlite3", "sqlite"],
        long: &["-cmd", "--cmd"],
        long_valued: &[
            ("-separator", 1),
            ("-init", 1),
            ("-nullvalue", 1),
            ("-newline", 1),
            ("-vfs", 1),
        ],
        operands: 1..ALL,
        stdin: Some(1),
        remedy: "write a program that binds it as a parameter",
        ..NONE
    },
    Interpreter { names: &["eval", "let", "alias"], operands: 0..ALL, ..NONE },
    Interpreter { names: &["trap"], operands: 0..1, ..NONE },
    Interpreter { names: &[".", "source"], ..NONE },
    Interpreter {
        names: &["printf"],
        valued: "v",
        operands: 0..1,
        remedy: "a format changes what it prints, so let it be fixed: printf '%s\\n' VALUE",
        ..NONE
    },
];

/// A program that starts another.
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    pub(super) valued: &'static str,
    pub(super) long_valued: &'static [&'static str],
    pub(super) attached: &'static str,
    /// How many operands stand before the command.
    pub(super) operands: usize,
    pub(super) assignments: bool,
}

const PLAIN: Wrapper = Wrapper {
    names: &[],
    valued: "",
    long_valued: &[],
    attached: "",
    operands: 0,
    assignments: false,
};

pub(super) const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &[
            "nohup",
            "setsid",
            "command",
            "builtin",
            "busybox",
            "toybox",
            "noglob",
            "catchsegv",
            "fakeroot",
            "unbuffer",
            "chronic",
        ],
        ..PLAIN
    },
    Wrapper { names: &["exec"], valued: "a", ..PLAIN },
    Wrapper {
        names: &["env"],
        valued: "uC",
        long_valued: &["--unset", "--chdir"],
        assignments: true,
        ..PLAIN
    },
    Wrapper {
        names: &["sudo", "doas"],
        valued: "ugpCDhRrTtUa",
        long_valued: &[
            "--user", "--group", "--prompt", "--chdir", "--chroot", "--host", "--role", "--type",
        ],
        assignments: true,
        ..PLAIN
    },
    Wrapper { names: &["nice"], valued: "n", long_valued: &["--adjustment"], ..PLAIN },
    Wrapper { names: &["ionice"], valued: "cnpPu", ..PLAIN },
    Wrapper {
        names: &["timeout"],
        valued: "ks",
        long_valued: &["--kill-after", "--signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        names: &["stdbuf"],
        valued: "ioe",
        long_valued: &["--input", "--output", "--error"],
        ..PLAIN
    },
    Wrapper { names: &["time"], valued: "fo", long_valued: &["--format", "--output"], ..PLAIN },
    Wrapper {
        names: &["xargs"],
        valued: "aEIdLnPs",
        long_valued: &[
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-procs",
            "--max-chars",
            "--max-lines",
            "--process-slot-var",
        ],
        attached: "eil",
        ..PLAIN
    },
    Wrapper {
        names: &["chroot", "taskset", "sshpass", "flock", "chrt"],
        valued: "pfdw",
        operands: 1,
        ..PLAIN
    },
    Wrapper { names: &["strace", "ltrace"], valued: "abeoOpPsSuUEX", ..PLAIN },
    Wrapper { names: &["watch"], valued: "n", long_valued: &["--interval"], ..PLAIN },
];
