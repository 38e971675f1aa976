//! From any notation to any other: nothing is lost in silence, and what is not lost comes back.

use redial_core::Random;
use redial_policy::{Entry, Format, Notation, Target, convert, convert_to_file, read};
use redial_seeds::{Dice, Draw};

fn entry(clause: &str) -> Entry {
    let document = read(clause, Format::Text, None);
    let entry = document.policies().next().cloned();
    entry.filter(|entry| entry.policy.is_some()).unwrap_or_else(|| panic!("{clause}: {document:?}"))
}

fn back(text: &str, format: Format, target: Target) -> Entry {
    let notation = match target {
        Target::RetryConfig => Notation::RetryConfig,
        Target::RetryPolicy => Notation::RetryPolicy,
        Target::File => Notation::File,
        Target::Clause | Target::Rust => Notation::Clause,
        Target::Foreign(system) => Notation::Foreign(system),
    };
    let document = read(text, format, Some(notation));
    document.policies().next().cloned().unwrap_or_else(|| panic!("nothing in {text}"))
}

/// The text, and each loss in a line.
#[track_caller]
fn check(clause: &str, target: Target, format: Format, text: &str, losses: &str) {
    let converted = convert(&entry(clause), target, format).unwrap();
    let lost = converted.losses.iter();
    let lost: Vec<_> = lost.map(|lost| format!("{} → {}", lost.what, lost.became)).collect();
    assert_eq!(converted.text.trim_end(), text, "{clause}");
    assert_eq!(lost.join("\n"), losses, "{clause}");
}

const WRITTEN: [(Target, Format); 11] = [
    (Target::Clause, Format::Text),
    (Target::RetryConfig, Format::Yaml),
    (Target::RetryConfig, Format::Toml),
    (Target::RetryConfig, Format::Json),
    (Target::RetryPolicy, Format::Json),
    (Target::RetryPolicy, Format::Yaml),
    (Target::RetryPolicy, Format::Toml),
    (Target::File, Format::Yaml),
    (Target::File, Format::Toml),
    (Target::File, Format::Json),
    (Target::Rust, Format::Text),
];

/// Draws policies.
struct Policies(Dice);

impl Random for Policies {
    fn word(&mut self) -> u64 {
        self.0.word()
    }
}

impl Policies {
    fn duration(&mut self) -> String {
        let unit = self.pick(&["ns", "us", "ms", "ms", "ms", "s", "s", "min", "h", "d"]);
        format!("{}{unit}", self.below(2000))
    }

    fn milliseconds(&mut self) -> String {
        format!("{}ms", self.below(100_000))
    }

    fn fraction(&mut self) -> String {
        format!("{}.{}", self.below(10), self.below(1_000_000_000))
    }

    fn count(&mut self) -> String {
        match self.below(8) {
            0 => "attempts: 4294967295".to_owned(),
            _ => format!("attempts: {}", 1 + self.below(40)),
        }
    }

    fn rules(&mut self, name: &str) -> String {
        let all = [
            "network",
            "timeout",
            "server_error",
            "rate_limit",
            r#"pattern: "reset by (peer|host)""#,
            r#"pattern: 'say "no"'"#,
            r#"pattern: "a, b: [c] \\d+ é""#,
        ];
        let some: Vec<_> = (0..1 + self.below(3)).map(|_| self.pick(&all)).collect();
        format!(", {name}: [{}]", some.join(", "))
    }

    /// Anything that a clause can say.
    fn anything(&mut self) -> String {
        let mut clause = match self.below(6) {
            0 => "attempts: unlimited".to_owned(),
            _ => self.count(),
        };
        clause += &match self.below(7) {
            0 => String::new(),
            1 => format!(", delay: {}", self.duration()),
            2 => format!(
                ", delay: {}, backoff: linear, increment: {}",
                self.duration(),
                self.duration()
            ),
            3 => {
                let factor = 1 + self.below(900);
                let digits = self.below(1_000_000_000);
                format!(
                    ", delay: {}, backoff: exponential, factor: {factor}.{digits:09}",
                    self.duration()
                )
            }
            4 => format!(", delay: {}, backoff: fibonacci", self.duration()),
            5 => format!(", delay: {}, backoff: decorrelated", self.duration()),
            _ => {
                let delays: Vec<_> = (0..self.below(33)).map(|_| self.duration()).collect();
                format!(", backoff: [{}]", delays.join(", "))
            }
        };
        for _ in 0..self.below(4) {
            clause += &match self.below(9) {
                0 => format!(", min_delay: {}", self.duration()),
                1 | 2 => format!(", max_delay: {}", self.duration()),
                3 => ", jitter: full".to_owned(),
                4 => ", jitter: equal".to_owned(),
                5 => format!(", jitter: {}.{:07}%", self.below(100), self.below(10_000_000)),
                6 => format!(", jitter: +{}%", self.below(1001)),
                7 => {
                    format!(", jitter: [0.{:09}, {}]", self.below(999_999_999), 1 + self.below(10))
                }
                _ => ", max_delay: none".to_owned(),
            };
        }
        for name in ["within", "wait_budget", "timeout"] {
            if self.below(4) == 0 {
                clause += &format!(", {name}: {}", self.duration());
            }
        }
        for name in ["retry_on", "stop_on"] {
            if self.below(4) == 0 {
                clause += &self.rules(name);
            }
        }
        clause
    }

    /// What a `retry_config` can say.
    fn retry_config(&mut self) -> String {
        let mut clause = self.count();
        clause += &match self.below(5) {
            0 => format!(", delay: {}", self.duration()),
            1 => format!(
                ", delay: {}, backoff: linear, increment: {}",
                self.duration(),
                self.duration()
            ),
            2 => format!(
                ", delay: {}, backoff: exponential, factor: 1{}",
                self.duration(),
                self.fraction()
            ),
            3 => format!(", delay: {}, backoff: fibonacci", self.duration()),
            _ => {
                let delays: Vec<_> = (0..self.below(33)).map(|_| self.duration()).collect();
                format!(", backoff: [{}]", delays.join(", "))
            }
        };
        clause += &format!(", max_delay: {}", self.duration());
        if self.below(2) == 0 {
            clause += &format!(", jitter: {}.{:07}%", self.below(100), self.below(10_000_000));
        }
        if self.below(3) == 0 {
            clause += &format!(", wait_budget: {}", self.duration());
        }
        if self.below(3) == 0 {
            clause += &self.rules("retry_on");
        }
        clause
    }

    /// What a `retryPolicy` can say.
    fn retry_policy(&mut self) -> String {
        let backoff = self.pick(&["", ", backoff: linear", ", backoff: exponential"]);
        let jitter = self.pick(&["", ", jitter: [0.5, 1.5]"]);
        let (delay, max) = (self.milliseconds(), self.milliseconds());
        format!("{}, delay: {delay}{backoff}{jitter}, max_delay: {max}", self.count())
    }
}

#[test]
fn what_is_not_lost_comes_back() {
    for seed in 0..1000 {
        let clause = Policies(Dice::new(seed)).anything();
        let document = read(&clause, Format::Text, None);
        let Some(from) = document.policies().next().filter(|entry| entry.policy.is_some()) else {
            continue; // a floor above a cap
        };
        for (target, format) in WRITTEN {
            let converted = convert(from, target, format).unwrap();
            for lost in &converted.losses {
                let overlooked = lost.why == "the notation cannot express it";
                assert!(!overlooked, "seed {seed}: {clause} as {target:?}: {lost:?}");
            }
            if target == Target::Rust {
                continue; // the compiler reads it, in a test of its own
            }
            let back = back(&converted.text, format, target);
            assert!(
                back.policy.is_some(),
                "seed {seed}: {clause} as {target:?}: {}",
                converted.text
            );
            let same = back.canonical() == from.canonical();
            let silent = converted.losses.is_empty();
            assert_eq!(same, silent, "seed {seed}: {clause} as {target:?}: {}", converted.text);
        }
    }
}

#[test]
fn what_a_notation_can_say_is_not_lost_in_it() {
    for seed in 0..400 {
        let mut draw = Policies(Dice::new(seed));
        let cases = [
            (draw.retry_config(), Target::RetryConfig),
            (draw.retry_policy(), Target::RetryPolicy),
            (draw.anything(), Target::File),
            (draw.anything(), Target::Clause),
        ];
        for (clause, wanted) in cases {
            let document = read(&clause, Format::Text, None);
            let Some(from) = document.policies().next().filter(|entry| entry.policy.is_some())
            else {
                continue;
            };
            for (target, format) in WRITTEN.into_iter().filter(|(target, _)| *target == wanted) {
                let converted = convert(from, target, format).unwrap();
                assert_eq!(converted.losses, [], "seed {seed}: {clause} as {target:?}");
                let back = back(&converted.text, format, target);
                assert_eq!(back.canonical(), from.canonical(), "seed {seed}: {}", converted.text);
            }
        }
    }
}

#[test]
fn a_retry_config_is_written_as_it_is_written_there() {
    check(
        "attempts: 5, delay: 2s, backoff: exponential, max_delay: 1min, jitter: 25%, \
         retry_on: [timeout, pattern: \"connection refused\"]",
        Target::RetryConfig,
        Format::Yaml,
        "retry_config:\n  attempts: 5\n  initial_delay: \"2s\"\n  backoff:\n    exponential:\n      \
         base: 2.0\n  max_delay: \"1min\"\n  jitter: true\n  jitter_factor: 0.25\n  \
         retry_on: [\"timeout\", {pattern: \"connection refused\"}]",
        "",
    );
}

#[test]
fn a_retry_policy_is_written_as_it_is_written_there() {
    check(
        "attempts: 5, delay: 1s, backoff: exponential, jitter: [0.5, 1.5], max_delay: 1min",
        Target::RetryPolicy,
        Format::Json,
        "{\n  \"retryPolicy\": {\n    \"maxAttempts\": 5,\n    \"backoffStrategy\": \"EXPONENTIAL\",\n    \
         \"baseDelayMs\": 1000,\n    \"maxDelayMs\": 60000,\n    \"jitter\": true\n  }\n}",
        "",
    );
}

#[test]
fn every_loss_is_named_with_what_it_became() {
    check(
        "attempts: unlimited, delay: 1500us, backoff: exponential, factor: 3, jitter: full, \
         max_delay: 5s, within: 1min, timeout: 1s, stop_on: [network]",
        Target::RetryPolicy,
        Format::Json,
        "{\n  \"retryPolicy\": {\n    \"maxAttempts\": 4294967295,\n    \
         \"backoffStrategy\": \"EXPONENTIAL\",\n    \"baseDelayMs\": 2,\n    \"maxDelayMs\": 5000,\n    \
         \"jitter\": true\n  }\n}",
        "attempts: unlimited → 4294967295\n\
         factor: 3 → a factor of 2\n\
         delay: 1500us → 2 ms\n\
         jitter: full → jitter: true\n\
         within: 1min → nothing\n\
         timeout: 1s → nothing\n\
         stop_on: [network] → nothing",
    );
    check(
        "retry: 3, delay: 1s",
        Target::RetryConfig,
        Format::Toml,
        "[retry_config]\nattempts = 4\ninitial_delay = \"1s\"\nbackoff = \"fixed\"\nmax_delay = \"30s\"",
        "no cap → max_delay: 30s, which no delay reaches",
    );
}

#[test]
fn an_order_that_fields_do_not_have_becomes_a_list() {
    check(
        "attempts: 7, delay: 10ms, backoff: exponential, max_delay: 640ms, jitter: +50%, \
         max_delay: 1s, within: 30s",
        Target::File,
        Format::Yaml,
        "policies:\n  policy:\n    attempts: 7\n    delay: \"10ms\"\n    backoff: \"exponential\"\n    \
         factor: 2\n    modifiers: [{max_delay: \"640ms\"}, {jitter: \"+50%\"}, {max_delay: \"1s\"}]\n    \
         within: \"30s\"",
        "",
    );
}

#[test]
fn rust_is_a_chain_or_the_macro_where_a_float_is_not_exact() {
    check(
        "attempts: 5, delay: 100ms, backoff: exponential, factor: 1.5, max_delay: 10s, jitter: full, \
         timeout: 90s",
        Target::Rust,
        Format::Text,
        "use std::time::Duration;\n\nuse redial::{Backoff, Policy};\n\n\
         const POLICY: Policy = Backoff::exponential(Duration::from_millis(100))\n    .factor(1.5)\n    \
         .max(Duration::from_secs(10))\n    .full_jitter()\n    .attempts(5);\n\n\
         /// For the call: `retry(&POLICY, …).timeout(TIMEOUT)`.\n\
         const TIMEOUT: Duration = Duration::from_secs(90);",
        "",
    );
    check(
        "attempts: 50, delay: 1s, backoff: exponential, factor: 123456789.123456789",
        Target::Rust,
        Format::Text,
        "use redial::{Policy, policy};\n\n\
         const POLICY: Policy = policy!(allow(many_retries), \"attempts: 50, delay: 1s, \
         backoff: exponential, factor: 123456789.123456789, max_delay: 30s\");",
        "",
    );
}

#[test]
fn several_policies_make_one_file_with_their_default() {
    let text = "default: b\npolicies:\n  a: 'retry: 1'\n  \"b ü\\n\": {extends: a, delay: 1s}\n  b: 'retry: 2'\n";
    let document = read(text, Format::Yaml, None);
    assert_eq!(document.diagnostics(), []);
    for format in [Format::Yaml, Format::Toml, Format::Json] {
        let converted =
            convert_to_file(document.policies(), document.default_name(), format).unwrap();
        assert_eq!(converted.losses, []);
        let back = read(&converted.text, format, None);
        assert_eq!(back.diagnostics(), [], "{}", converted.text);
        assert_eq!(back.default_name(), Some("b"));
        let canonical = |document: &redial_policy::Document| -> Vec<_> {
            document.policies().map(|entry| (entry.name.clone(), entry.canonical())).collect()
        };
        assert_eq!(canonical(&back), canonical(&document));
    }
}

#[test]
fn a_policy_with_errors_is_not_converted() {
    let document = read("retry: 3, dely: 1s", Format::Text, None);
    let entry = document.policies().next().unwrap();
    for (target, format) in WRITTEN {
        assert_eq!(convert(entry, target, format), None);
    }
}

/// The compiler is the one who reads Rust: a program with a hundred of these constants prints them.
#[test]
fn rust_compiles_to_an_equal_policy() {
    use std::fmt::Write as _;
    use std::path::Path;
    use std::process::Command;

    let mut program = String::new();
    let mut expected = String::new();
    let mut main = String::from("fn main() {\n");
    for seed in 0..100 {
        let clause = Policies(Dice::new(seed)).anything();
        let document = read(&clause, Format::Text, None);
        let Some(from) = document.policies().next().filter(|entry| entry.policy.is_some()) else {
            continue;
        };
        let rust = convert(from, Target::Rust, Format::Text).unwrap().text;
        let rust = rust.replace("const ", "pub const ");
        writeln!(program, "#[allow(dead_code, unused_imports)]\nmod p{seed} {{\n{rust}}}").unwrap();
        writeln!(main, "    println!(\"{{}}\", p{seed}::POLICY);").unwrap();
        writeln!(expected, "{}", from.policy.unwrap()).unwrap();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("converted");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    // Another process may run the same test: its package would be written while ours is built.
    let lock = std::fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../redial");
    let manifest = format!(
        "[package]\nname = \"converted\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nredial = {{ path = {library:?}, default-features = false }}\n",
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("src/main.rs"), program + &main + "}\n").unwrap();
    let run = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(String::from_utf8_lossy(&run.stdout), expected);
}
