//! Ten and more hostile values, each in every way into a command: nothing is executed, nothing is lost.
#![cfg(unix)]

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use redial_core::Random;
use redial_flow::{ArgumentSpace, STRING_MAX, Shell, Template};

use crate::shells::{SHELLS, run};
use crate::values::{bytes, hostile, item};

/// A line, what it prints before the value, and after it.
const LINES: &[(&str, &str, &str)] = &[
    ("printf '%s' ${item}", "", ""),
    ("printf '%s' a${item}b", "a", "b"),
    ("printf '%s' \"a ${item} b\"", "a ", " b"),
    ("printf '%s' 'a ${item} b'", "a ", " b"),
    ("printf '%s' '${item}'", "", ""),
    ("printf '%s' \"it's \"'${item}'\" \\${item}\"", "it's ", " ${item}"),
    ("printf '%s' '$${item}'${item}", "${item}", ""),
    ("x=$(printf '%s.' ${item}); printf '%s' \"${x%.}\"", "", ""),
    ("x=\"$(printf '%s.' \"${item}\")\"; printf '%s' \"${x%.}\"", "", ""),
    ("x=\"$(printf '%s.' '${item}')\"; printf '%s' \"${x%.}\"", "", ""),
    ("x=`printf '%s.' ${item}`; printf '%s' \"${x%.}\"", "", ""),
    ("x=\"`printf '%s.' ${item}`\"; printf '%s' \"${x%.}\"", "", ""),
    ("x=\"`printf '%s.' \\\"\\${item}\\\"`\"; printf '%s' \"${x%.}\"", "", ""),
    ("x=`printf '%s.' \"\\`printf '%s.' ${item}\\`\"`; printf '%s' \"${x%..}\"", "", ""),
    ("cat <<EOF\na ${item} \\${item} \"b\" 'c'\nEOF", "a ", " ${item} \"b\" 'c'\n"),
    ("cat <<'EOF'\n$HOME \\$ `a` ${item} $${item} \\\\\nEOF", "$HOME \\$ `a` ", " ${item} \\\\\n"),
    ("cat <<\"EOF\"\n$(b) ${item}\nEOF", "$(b) ", "\n"),
    ("cat <<\\EOF\n\\\n${item}\nEOF", "\\\n", "\n"),
    ("cat <<-EOF\n\t\ta ${item} b\n\tEOF", "a ", " b\n"),
    ("cat <<-'EOF'\n\t$a ${item} b\n\tEOF", "$a ", " b\n"),
    ("x=$(cat <<EOF\n${item}.\nEOF\n); printf '%s' \"${x%.}\"", "", ""),
    ("x=$(cat <<'EOF'\n${item}.\nEOF\n); printf '%s' \"${x%.}\"", "", ""),
    ("cat <<A; cat <<'B'\n${item}1\nA\n2$x\nB", "", "1\n2$x\n"),
    ("cat <<EOF\n$(printf '%s.' ${item})\nEOF", "", ".\n"),
    ("x=${item}; printf '%s' \"$x\"", "", ""),
    ("export x=${item} y; printf '%s' \"$x\"", "", ""),
    ("x=${item} sh -c 'printf %s \"$x\"'", "", ""),
    ("printf '%s' ${unset:-${item}}", "", ""),
    ("printf '%s' \"${unset:-${item}}\"", "", ""),
    ("printf '%s' \"${unset:-a ${item} 'b'}\"", "a ", " 'b'"),
    ("x=pre${item}; printf '%s' \"${x#pre${item}}.\"", "", ""),
    ("case ${item} in ${item}) printf '%s' ${item};; *) printf no;; esac", "", ""),
    ("case \"${item}\" in (a|'${item}') printf '%s' ${item};; *) printf no;; esac", "", ""),
    ("x=$(case a in a) printf '%s.' ${item};; esac); printf '%s' \"${x%.}\"", "", ""),
    ("for i in ${item}; do printf '%s' \"$i\"; done", "", ""),
    ("f() { printf '%s' \"$1\"; }; f ${item}", "", ""),
    ("if [ -n x ]; then { (printf '%s' ${item}); }; fi # ${item}", "", ""),
    ("printf '%s' ${item} | cat", "", ""),
    ("! printf '%s' ${item} || true", "", ""),
    ("set -- ${item}; printf '%s' \"$1\"", "", ""),
    ("sh -c 'printf \"%s\" \"$1\"' sh ${item}", "", ""),
    ("printf '%s' x${#HOME}$((1+2))\\\n${item}", "x83", ""),
    ("set -f -u; IFS=x; printf '%s' ${item}", "", ""),
];

#[test]
fn a_hostile_value_is_data_in_every_place_of_a_shell_line() {
    const BETWEEN: &[u8] = b"-<between>-";
    let parse = |(line, ..): &(&str, _, _)| {
        Shell::parse(line, &["item"]).unwrap_or_else(|error| panic!("{line}: {error}"))
    };
    let lines: Vec<_> = LINES.iter().map(parse).collect();
    for value in hostile() {
        let large = value.len() > 10_000;
        // Shells look for the end of a pattern at each byte, so the large value is not for all lines.
        let chosen =
            || (0..LINES.len()).filter(|&index| !(large && LINES[index].0.contains("${x")));
        // Of each line, the text is its own and the variable is the same, so one process runs them all.
        let scripts: Vec<_> =
            chosen().map(|index| lines[index].render(&bytes(&value)).unwrap()).collect();
        let alone = |text: &str| format!("(\n{text}\n)\nprintf '%s' '-<between>-'\n");
        let all: String = scripts.iter().map(|script| alone(&script.text)).collect();
        for shell in SHELLS.iter() {
            let directory = tempfile::tempdir().unwrap();
            let output = run(shell, &[], all.as_bytes(), &scripts[0].variables, directory.path());
            let case = |line: &str| {
                format!(
                    "{shell:?} {line:?} {:?}",
                    String::from_utf8_lossy(&value[..value.len().min(80)])
                )
            };
            nothing_ran(directory.path(), || case(""));
            let mut rest = output.stdout.as_slice();
            for (line, before, after) in chosen().map(|index| LINES[index]) {
                let mut expected = [before.as_bytes(), &value, after.as_bytes()].concat();
                if line.contains("#pre") {
                    expected = b".".to_vec();
                }
                expected.extend_from_slice(BETWEEN);
                rest = rest.strip_prefix(expected.as_slice()).unwrap_or_else(|| {
                    let got = String::from_utf8_lossy(&rest[..rest.len().min(200)]);
                    panic!("{}: {got:?} {}", case(line), String::from_utf8_lossy(&output.stderr))
                });
            }
        }
    }
}

fn nothing_ran(directory: &Path, case: impl Fn() -> String) {
    let left: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!left.iter().any(|path| path.ends_with("pwned")), "{}: {left:?}", case());
}

#[test]
fn a_hostile_value_arrives_as_an_argument_a_variable_and_standard_input() {
    for value in hostile() {
        let directory = tempfile::tempdir().unwrap();
        let values = bytes(&value);
        let program = |name: &str| {
            let mut command = Command::new(name);
            command.current_dir(directory.path()).stdin(Stdio::null());
            command
        };
        for template in [Template::parse("a${item}b").unwrap(), Template::of_argument(b"a{}b")] {
            let argument = OsString::from_vec(template.argument(&values).unwrap());
            let output = program("printf").args(["%s"]).arg(argument).output().unwrap();
            assert_eq!(output.stdout, [b"a", value.as_slice(), b"b"].concat());
        }

        let variable = Template::parse("${item}").unwrap().variable("X", &values).unwrap();
        let mut shell = program("sh");
        shell.args(["-c", "printf '%s' \"$X\""]).env("X", OsString::from_vec(variable));
        assert_eq!(shell.output().unwrap().stdout, value);

        let input = Template::parse("${item}").unwrap().render(&values).unwrap();
        let mut cat = program("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = cat.stdin.take().unwrap();
        std::thread::spawn(move || stdin.write_all(&input).unwrap());
        assert_eq!(cat.wait_with_output().unwrap().stdout, value);
        nothing_ran(directory.path(), || format!("{value:?}"));
    }
}

#[test]
fn a_hostile_value_names_the_file_that_it_spells() {
    let line = Shell::parse("printf x > f${item}; printf y >> 'f${item}'", &["item"]).unwrap();
    for value in hostile().into_iter().filter(|value| value.len() < 250 && !value.contains(&b'/')) {
        let script = line.render(&bytes(&value)).unwrap();
        for shell in SHELLS.iter() {
            let directory = tempfile::tempdir().unwrap();
            let output =
                run(shell, &[], script.text.as_bytes(), &script.variables, directory.path());
            assert!(output.status.success(), "{shell:?} {value:?} {output:?}");
            let file = directory.path().join(OsString::from_vec([b"f", value.as_slice()].concat()));
            assert_eq!(std::fs::read(file).unwrap(), b"xy", "{shell:?} {value:?}");
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        }
    }
}

#[test]
fn what_cannot_be_passed_is_an_error_of_that_item_alone() {
    let line = Shell::parse("echo ${item}", &["item"]).unwrap();
    let argument = Template::of_argument(b"{}");
    let kinds = |value: &[u8]| {
        let values = bytes(value);
        let by_line = line.render(&values).map(drop).map_err(|error| error.kind());
        let by_argument = argument.argument(&values).map(drop).map_err(|error| error.kind());
        let by_variable = argument.variable("X", &values).map(drop).map_err(|error| error.kind());
        assert_eq!(argument.render(&values).unwrap(), value, "standard input takes everything");
        [by_line, by_argument, by_variable]
    };
    assert_eq!(kinds(b"a\0b"), [Err("value-has-nul"); 3]);
    assert_eq!(kinds(&[b'x'; 200_000]), [Err("value-too-large"); 3]);
    assert_eq!(kinds(b"fine"), [Ok(()); 3]);
}

#[test]
fn the_limit_of_one_argument_is_the_systems() {
    // Other systems have none, and get Linux's.
    if cfg!(target_os = "linux") {
        let starts = |length: usize| {
            let argument = "x".repeat(length);
            Command::new("true").arg(argument).status().is_ok_and(|status| status.success())
        };
        assert!(starts(STRING_MAX));
        assert!(!starts(STRING_MAX + 1));
        let starts = |length: usize| {
            let variable = "x".repeat(length - "NAME=".len());
            Command::new("true").env("NAME", variable).status().is_ok()
        };
        assert!(starts(STRING_MAX));
        assert!(!starts(STRING_MAX + 1));
    }
    let template = Template::parse("${item}").unwrap();
    assert!(template.argument(&bytes(&vec![b'x'; STRING_MAX])).is_ok());
    assert!(template.argument(&bytes(&vec![b'x'; STRING_MAX + 1])).is_err());
    assert!(template.variable("NAME", &bytes(&vec![b'x'; STRING_MAX - 5])).is_ok());
    assert!(template.variable("NAME", &bytes(&vec![b'x'; STRING_MAX - 4])).is_err());
}

#[test]
fn what_fits_in_the_space_for_arguments_starts() {
    let space = ArgumentSpace::of_this_system();
    let argument = vec![b'x'; 100_000];
    let check = |count: usize| {
        let arguments = std::iter::once(b"true".as_slice())
            .chain(std::iter::repeat_n(argument.as_slice(), count));
        space.check(arguments, [(b"PATH".as_slice(), b"/usr/bin:/bin".as_slice())])
    };
    let most = (0..1000).take_while(|count| check(*count).is_ok()).last().unwrap();
    let text = String::from_utf8(argument.clone()).unwrap();
    let starts = |count: usize| {
        let mut command = Command::new("true");
        command.env_clear().env("PATH", "/usr/bin:/bin").args(std::iter::repeat_n(&text, count));
        command.status().is_ok_and(|status| status.success())
    };
    assert!(most > 0 && starts(most), "{most} arguments were to fit");
    if cfg!(target_os = "linux") {
        assert!(!starts(most + 2), "more than {most} arguments fit");
    }
    let error = check(most + 1).unwrap_err();
    assert_eq!(error.kind(), "value-too-large");
    assert!(error.to_string().contains("together"), "{error}");
}

#[test]
fn words_are_the_values_own_and_no_file_names() {
    let line =
        Shell::parse("printf '<%s>' ${item:words}; printf '<%s>' ${item}", &["item"]).unwrap();
    let cases = [
        (
            item(serde_json::json!(["a b", "*", "$(touch pwned)", 7, ""])),
            "<a b><*><$(touch pwned)><7><>",
        ),
        (bytes(b" one\ttwo\n\n* "), "<one><two><*>"),
        (item(serde_json::json!(null)), "<>"),
        (item(serde_json::json!({"a": "b c"})), "<{\"a\":\"b c\"}>"),
    ];
    for (values, expected) in cases {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a-file"), "").unwrap();
        let script = line.render(&values).unwrap();
        for shell in SHELLS.iter() {
            let output =
                run(shell, &[], script.text.as_bytes(), &script.variables, directory.path());
            let output = String::from_utf8(output.stdout).unwrap();
            assert!(output.starts_with(expected), "{shell:?} {output} {script:?}");
            nothing_ran(directory.path(), || expected.to_owned());
        }
    }
}

/// A random script of the POSIX grammar, with references `${item.a}`, `${item.b}` … wherever one can stand.
struct Scripts<R> {
    random: R,
}

impl<R: Random> Scripts<R> {
    fn below(&mut self, count: usize) -> usize {
        (self.random.word() % count as u64) as usize
    }

    fn pick(&mut self, texts: &[&str]) -> String {
        texts[self.below(texts.len())].to_owned()
    }

    fn reference(&mut self) -> String {
        self.pick(&["${item.a}", "${item.b}", "${item.c}", "${item[\"d\"]}", "${item.e[0]}"])
    }

    fn literal(&mut self) -> String {
        self.pick(&[
            "x", "a-b", "/", "=", "1", ":", "%", "é", "\\$", "\\\\", "\\'", "\\\"", "\\ ", "\\#",
            "@", ",",
        ])
    }

    fn double(&mut self, depth: usize) -> String {
        let mut text = String::from("\"");
        for _ in 0..self.below(4) {
            text += &match self.below(8 + depth) {
                0..3 => self.reference(),
                3 => {
                    self.pick(&[
                        "it's",
                        " two  words ",
                        "\\\"",
                        "\\$",
                        "\\`",
                        "\\\\",
                        "#",
                        ";",
                        "*",
                        "$",
                    ]) + " "
                }
                4 => "$HOME".to_owned(),
                5 => "${HOME}".to_owned(),
                6 => self.pick(&["$${item}", "\\${item.z}"]),
                7 => format!("${{unset:-{}}}", self.reference()),
                8 => format!("$( {})", self.command(depth - 1)),
                9 => format!("${{unset:-{} '{}'}}", self.reference(), self.reference()),
                _ => self.backquoted(),
            };
        }
        text + "\""
    }

    fn backquoted(&mut self) -> String {
        let inner = format!("printf '<%s>' {}", self.word(0));
        format!("`{}`", inner.replace('\\', "\\\\").replace('`', "\\`"))
    }

    fn word(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(3) {
            text += &match self.below(7) {
                0 | 1 => self.reference(),
                2 => self.literal(),
                3 => format!(
                    "'{}{}'",
                    self.pick(&["", "a b", "\\", "$x", "\"", "`", "#"]),
                    self.reference()
                ),
                4 => format!("${{unset:-{}}}", self.reference()),
                _ => self.double(depth),
            };
        }
        text
    }

    fn command(&mut self, depth: usize) -> String {
        let simple = depth == 0;
        match self.below(if simple { 4 } else { 12 }) {
            0 | 1 => format!("printf '<%s>' {} {}", self.word(depth), self.word(depth)),
            2 => format!("y={}; printf '<%s>' \"$y\"", self.word(depth)),
            3 if depth > 0 => format!("printf '<%s>' {} # ${{item.a}} ' \"\n", self.word(depth)),
            3 => format!("printf '<%s>' {}", self.word(depth)),
            4 => {
                let (reference, quoted) = (self.reference(), self.below(3));
                let delimiter = ["EOF", "'EOF'", "\"EOF\""][quoted];
                let text = self.pick(&["$HOME", "\\\\", "it's", "\"", "\\$", "a\\\nb"]);
                format!("cat <<{delimiter}\n{text} {reference}.\n{reference}.\nEOF\n")
            }
            5 => format!(
                "cat <<-E | cat\n\t\t{} $(printf '<%s>' {}).\n\tE\n",
                self.reference(),
                self.word(0)
            ),
            6 => format!("( {} )", self.command(depth - 1)),
            7 => format!("{{ {}\n}}", self.command(depth - 1)),
            8 => format!("if true; then\n{}\nfi", self.command(depth - 1)),
            9 => format!(
                "for i in {} {}; do printf '<%s>' \"$i\"\ndone",
                self.word(depth),
                self.word(depth)
            ),
            10 => format!(
                "case {} in\n({}|x) printf 1 ;;\n{}) {}\n;;\nesac",
                self.word(0),
                self.reference(),
                self.word(0),
                self.command(depth - 1)
            ),
            _ => {
                format!("f() {{ printf '<%s>' \"$1\" {}\n}}\nf {}", self.word(0), self.word(depth))
            }
        }
    }

    fn script(&mut self) -> String {
        let commands: Vec<_> = (0..=self.below(3)).map(|_| self.command(2)).collect();
        commands.join("\n")
    }
}

#[test]
fn random_scripts_mean_the_same_with_values_as_with_words() {
    let hostile: Vec<_> =
        hostile().into_iter().filter(|value| (1..1000).contains(&value.len())).collect();
    let directory = tempfile::tempdir().unwrap();
    redial_seeds::each_seed(400, |random| {
        let mut scripts = Scripts { random };
        let script = scripts.script();
        let shell = &SHELLS[scripts.below(SHELLS.len())];
        let names = ["${item.a}", "${item.b}", "${item.c}", "${item[\"d\"]}", "${item.e[0]}"];

        // What the shell makes of it with a plain word in the place of each reference.
        let mut plain = script.replace("$${item}", "\u{1}");
        for (index, name) in names.iter().enumerate() {
            plain = plain.replace(name, &format!(".QvQ{index}QvQ."));
        }
        let plain = plain.replace('\u{1}', "${item}");
        let accepted = run(shell, &["-n"], plain.as_bytes(), &[], directory.path());
        assert!(accepted.status.success(), "{script}\n{accepted:?}");

        let line = Shell::parse(&script, &["item"]);
        let line = line.unwrap_or_else(|error| panic!("{error:?}\n{script}"));
        let chosen: Vec<_> =
            (0..5).map(|_| hostile[scripts.below(hostile.len())].clone()).collect();
        let mut distinct = chosen.clone();
        distinct.sort();
        distinct.dedup();
        // `case` tells equal ones from different ones.
        if distinct.len() < 5 {
            return;
        }
        let values = five(&chosen);
        let rewritten = line.render(&*values).unwrap();
        let accepted = run(shell, &["-n"], rewritten.text.as_bytes(), &[], directory.path());
        assert!(accepted.status.success(), "{script}\n{}\n{accepted:?}", rewritten.text);

        let mut expected = run(shell, &[], plain.as_bytes(), &[], directory.path()).stdout;
        for (index, value) in chosen.iter().enumerate() {
            expected = replace(&expected, format!(".QvQ{index}QvQ.").as_bytes(), value);
        }
        let output =
            run(shell, &[], rewritten.text.as_bytes(), &rewritten.variables, directory.path());
        assert!(
            output.stdout == expected,
            "{shell:?}\n{script}\n---\n{}\n--- wanted\n{}\n--- got\n{}",
            rewritten.text,
            String::from_utf8_lossy(&expected),
            String::from_utf8_lossy(&output.stdout),
        );
        nothing_ran(directory.path(), || script.clone());
    });
}

/// Bytes that are not UTF-8 are no part of JSON, so the five values have a lookup of their own.
fn five(values: &[Vec<u8>]) -> Box<dyn redial_flow::Lookup> {
    use std::borrow::Cow;

    use redial_flow::{Lookup, Missing, Reference, Segment, Value};

    struct Five(Vec<Value>);

    impl Lookup for Five {
        fn value(&self, reference: &Reference) -> Result<Cow<'_, Value>, Missing> {
            match reference.path().first() {
                Some(Segment::Field(name)) => {
                    let index = name.bytes().next().unwrap() - b'a';
                    Ok(Cow::Borrowed(&self.0[usize::from(index)]))
                }
                _ => Err(Missing::new(0, "five values", [])),
            }
        }
    }
    Box::new(Five(values.iter().map(|value| Value::of_bytes(value.clone())).collect()))
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut result = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(from) {
            result.extend_from_slice(to);
            at += from.len();
        } else {
            result.push(text[at]);
            at += 1;
        }
    }
    result
}

/// Pieces of scripts in any order. Most are no script at all, and those that are run something odd; values must stay data all the same.
const PIECES: &[&str] = &[
    "${item}",
    "${item}",
    "${item}",
    "${item}",
    "'",
    "\"",
    "`",
    "$(",
    ")",
    "(",
    "((",
    "))",
    "$((",
    "{",
    "}",
    " ",
    " ",
    " ",
    "\n",
    ";",
    "|",
    "&&",
    "<<EOF",
    "<<'EOF'",
    "<<-EOF",
    "\nEOF\n",
    "\\",
    "$",
    "$$",
    "$x",
    "${x:-",
    "${x#",
    "${x",
    "${#",
    "#",
    "x=",
    "echo ",
    "printf %s ",
    "case ",
    " in ",
    "esac",
    ";;",
    "for i in ",
    "do ",
    "done",
    "if ",
    "then ",
    "fi",
    "eval ",
    "trap ",
    "sh -c ",
    "bash -c ",
    "xargs ",
    "env ",
    "[ ",
    " ]",
    "[[ ",
    " ]]",
    " -eq ",
    " = ",
    "export ",
    "read ",
    "unset ",
    "let ",
    "alias ",
    "f()",
    "function f",
    "$'",
    "$\"",
    "$[",
    "a[",
    "]=",
    "1",
    "*",
    "~",
    "!",
    "<",
    ">f",
    ">&",
    "2>",
    "<<<",
    "declare -i ",
    "printf -v ",
    "test -v ",
    "PS4=",
    "set -x;",
    "exec ",
    ". ",
    "sed ",
    "awk ",
    "cat ",
    "-",
    "--",
    "\t",
    "\r",
    "é",
];

#[test]
fn no_heap_of_pieces_runs_a_value() {
    redial_seeds::each_seed(3000, |mut random| {
        let mut below = |count: usize| (random.word() % count as u64) as usize;
        let line: String = (0..=below(14)).map(|_| PIECES[below(PIECES.len())]).collect();
        let Ok(parsed) = Shell::parse(&line, &["item"]) else { return };
        if parsed.references().next().is_none() {
            return;
        }
        let value = [
            "$(touch pwned)",
            "`touch pwned`",
            "a[$(touch pwned)]",
            "';touch pwned;'\";touch pwned;\"",
            "\nEOF\ntouch pwned\n",
            "touch pwned",
        ][below(6)];
        let shell = &SHELLS[below(SHELLS.len())];
        // What one left must not be a command of the next.
        let directory = tempfile::tempdir().unwrap();
        let script = parsed.render(&bytes(value.as_bytes())).unwrap();
        let output = run(shell, &[], script.text.as_bytes(), &script.variables, directory.path());
        let case = || format!("{shell:?} {value:?}\n{line}\n---\n{}\n{output:?}", script.text);
        nothing_ran(directory.path(), case);
        let plain = line.replace("$${item}", "$${ITEM}").replace("${item}", "word");
        let accepts = |text: &str| {
            run(shell, &["-n"], text.as_bytes(), &[], directory.path()).status.success()
        };
        assert!(plain.contains('\\') || !accepts(&plain) || accepts(&script.text), "{}", case());
    });
}
