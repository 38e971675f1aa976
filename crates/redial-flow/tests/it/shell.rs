//! What a shell line becomes, and what is refused.

use redial_flow::{Shell, SuspicionKind};
use serde_json::json;

use crate::values::{bytes, item};

const ROOTS: &[&str] = &["item", "inputs", "list", "call-api"];

fn rewritten(line: &str) -> String {
    let shell = Shell::parse(line, ROOTS).unwrap_or_else(|error| panic!("{line}: {error}"));
    shell
        .render(&item(json!({"a": "1", "b": "2", "w": ["x", "y"]})))
        .unwrap()
        .text
        .replace("REDIAL_VALUE_", "V")
}

/// The kind of the error, and the place it points to.
fn refused(line: &str) -> (&'static str, String) {
    let error = match Shell::parse(line, ROOTS) {
        Ok(shell) => panic!("{line} became {shell:?}"),
        Err(error) => error,
    };
    assert!(!error.remedy.is_empty() && !error.message.is_empty());
    (error.kind.name(), line.get(error.span).unwrap().to_owned())
}

#[test]
fn a_reference_becomes_a_variable_by_its_quoting() {
    assert_eq!(rewritten("echo ${item.a}"), r#"echo "${V1}""#);
    assert_eq!(rewritten("echo \"${item.a} ${item.b}\""), r#"echo "${V1} ${V2}""#);
    assert_eq!(rewritten("echo '${item.a}'"), r#"echo ''"${V1}"''"#);
    assert_eq!(rewritten("echo ${item.a}${item['a']}"), r#"echo "${V1}""${V1}""#);
    assert_eq!(rewritten("cat <<E\n${item.a}\nE"), "cat <<E\n${V1}\nE");
    assert_eq!(rewritten("cat <<'E'\n$x ${item.a}\nE\n$y"), "cat <<E\n\\$x ${V1}\nE\n$y");
    assert_eq!(rewritten("cat <<'E'\n$x\nE\necho ${item.a}"), "cat <<'E'\n$x\nE\necho \"${V1}\"");
    assert_eq!(
        rewritten("\"${x#${item.a}}\" \"${x:-${item.a}}\""),
        "\"${x#\"${V1}\"}\" \"${x:-${V1}}\""
    );
    assert_eq!(rewritten("echo ${item.w:words} x"), "echo \"${V1_1}\" \"${V1_2}\" x");
    assert_eq!(rewritten("`echo \\${item.a}`"), "`echo \"${V1}\"`");
}

#[test]
fn what_is_the_shells_stays_the_shells() {
    for line in [
        "echo $HOME ${HOME} ${x:-y} ${x##*/} ${#x} $# ${#} $? $$ $! $- $@ \"$*\"",
        "echo $((1 + x)) $item \\${item.a} # ${item.a}",
        "echo ${itemised} ${x-item} ${1} ${10:-a}",
        "echo 'unclosed",
        "a=(1 2); echo ${a[0]} $[1]",
    ] {
        assert_eq!(rewritten(line), line);
    }
    assert_eq!(
        rewritten("echo $${item} '$${item.a}' \"$${x}\" ${item.a}"),
        "echo ${item} '${item.a}' \"${x}\" \"${V1}\""
    );
}

#[test]
fn a_reference_that_is_none_is_refused() {
    assert_eq!(refused("echo ${item.a:-none}"), ("bad-reference", "${item.a".to_owned()));
    assert_eq!(refused("echo ${item%.png}"), ("bad-reference", "${item".to_owned()));
    assert_eq!(refused("echo ${item-none}"), ("bad-reference", "${item".to_owned()));
    assert_eq!(refused("echo ${call-api-none}"), ("bad-reference", "${call-api".to_owned()));
    assert_eq!(refused("echo ${itme.a}"), ("bad-reference", "${itme".to_owned()));
    assert_eq!(refused("echo '${user.name}'"), ("bad-reference", "${user".to_owned()));
    assert_eq!(refused("echo ${item.a"), ("bad-reference", "${item.a".to_owned()));
    assert_eq!(refused("echo $$${item.a}"), ("bad-reference", "$$$".to_owned()));
    let error = Shell::parse("echo ${itme.a}", ROOTS).unwrap_err().to_string();
    assert_eq!(error, "nothing is called `itme`; write `item`, or `$${` for the text `${`");
    for line in [
        "for item in a; do echo ${item}; done",
        "item=1; echo ${item}",
        "read item; echo ${item}",
        "export item=1; echo ${item}",
    ] {
        assert_eq!(refused(line), ("bad-reference", "${item}".to_owned()));
    }
    assert_eq!(rewritten("item=1; echo $item ${item.a}"), "item=1; echo $item \"${V1}\"");
}

#[test]
fn words_stand_alone_in_a_command() {
    for line in [
        "echo \"${item.w:words}\"",
        "echo '${item.w:words}'",
        "echo a${item.w:words}",
        "x=${item.w:words}",
        "echo > ${item.w:words}",
        "case ${item.w:words} in a) ;; esac",
        "cat <<E\n${item.w:words}\nE",
        "echo ${x:-${item.w:words}}",
    ] {
        assert_eq!(refused(line), ("bad-reference", "${item.w:words}".to_owned()), "{line}");
    }
    rewritten(
        "for i in ${item.w:words}; do echo; done; x=1 ${item.w:words}; f $(g ${item.w:words})",
    );
}

#[test]
fn what_would_parse_a_value_again_is_refused() {
    for line in [
        "sh -c 'echo ${item.a}'",
        "sh -c \"echo ${item.a}\"",
        "sh -c ${item.a}",
        "$BIN/sh -c ${item.a}",
        "${x}sh -c ${item.a}",
        "bash -euo pipefail -c 'echo ${item.a}'",
        "bash -lc ${item.a}",
        "sh -c $x ${item.a}",
        "awk $x$y ${item.a}",
        "sh $x <<E\n${item.a}\nE",
        "$a$b eval ${item.a}",
        "/bin/sh -x -c \"$(cat <<E\n${item.a}\nE\n)\"",
        "ssh -p 22 host \"ls ${item.a}\"",
        "ssh host ls ${item.a}",
        "ssh -- host ${item.a}",
        "eval ${item.a}",
        "eval \"x=${item.a}\"",
        "command eval ${item.a}",
        "trap 'rm ${item.a}' EXIT",
        "trap -- 'rm ${item.a}' EXIT",
        "alias x=${item.a}",
        "let x=${item.a}",
        "eval --${item.a}",
        "eval -x${item.a}",
        "printf -${item.a}",
        "echo $((${item.a} + 1))",
        "echo $((x[${item.a}]))",
        "echo $(( $(echo ${item.a}) ))",
        "((x = ${item.a}))",
        "awk '/${item.a}/' f",
        "awk -F: -v x=1 \"{print ${item.a}}\"",
        "gawk -e ${item.a}",
        "sed s/x/${item.a}/ f",
        "sed -i -e 's/x/${item.a}/' f",
        "sed -n \"/${item.a}/p\"",
        "jq --arg x 1 \".${item.a}\"",
        "jq -r '.x == \"${item.a}\"' f",
        "python3 -c 'print(${item.a})'",
        "python3.11 -c${item.a}",
        "perl -ne 'print if /${item.a}/' f",
        "ruby -e ${item.a}",
        "node --eval=${item.a}",
        "php -r ${item.a}",
        "psql -d x -c \"select ${item.a}\"",
        "sqlite3 db \"select ${item.a}\"",
        "mysql -e ${item.a}",
        "find . -name x -exec sh -c 'echo ${item.a}' ';'",
        "find ${item.a} -exec sh -c 'rm {}' ';'",
        "find . -exec awk '/${item.a}/' {} +",
        "xargs sh -c 'echo ${item.a}'",
        "xargs -I{} sh -c 'echo {} ${item.a}'",
        "echo ${item.a} | xargs -I{} sh -c 'rm {}'",
        "echo ${item.a} | xargs -n1 sh -c",
        "env X=1 sh -c ${item.a}",
        "env -u X awk ${item.a}",
        "env -S \"sh ${item.a}\"",
        "sudo -u me sh -c ${item.a}",
        "sudo awk ${item.a}",
        "nohup sh -c ${item.a} &",
        "timeout 5 sh -c ${item.a}",
        "timeout -k 1 -s KILL 5 awk ${item.a}",
        "nice -n 5 sed ${item.a}",
        "setsid stdbuf -oL awk ${item.a}",
        "time sh -c ${item.a}",
        "exec sh -c ${item.a}",
        "docker exec web sh -c 'echo ${item.a}'",
        "kubectl exec pod -- python3 -c ${item.a}",
        "busybox awk ${item.a}",
        "X=1 Y=2 sh -c ${item.a}",
        "$SHELL -c ${item.a}",
        "$SUDO awk ${item.a}",
        "if sh -c ${item.a}; then :; fi",
        "{ sh -c ${item.a}; }",
        "(sh -c ${item.a})",
        "! sh -c ${item.a}",
        "a && sh -c ${item.a}",
        "x=$(sh -c ${item.a})",
        "x=`sh -c ${item.a}`",
        "case a in a) sh -c ${item.a};; esac",
        "while sh -c ${item.a}; do :; done",
        "f() { sh -c ${item.a}; }",
        "sh <<E\necho ${item.a}\nE",
        "ssh host <<'E'\necho ${item.a}\nE",
        "sh <<< ${item.a}",
        "python3 - <<E\n${item.a}\nE",
        ". /dev/stdin <<E\n${item.a}\nE",
        "echo ${item.a} | sh",
        "echo \"rm ${item.a}\" | ssh host",
        "cat <<E | sh\n${item.a}\nE",
        "printf '%s' ${item.a} | cat | bash -s",
        "printf \"${item.a}\\n\"",
        "printf -- ${item.a}",
        "export ${item.a}=1",
        "export ${item.a}",
        "unset ${item.a}",
        "read ${item.a}",
        "${item.a}=1",
        "x${item.a}=1",
        "for ${item.a} in x; do :; done",
        "${item.a}() { :; }",
        "declare -i x=${item.a}",
        "declare -i x; x=${item.a}",
        "PS4=${item.a}",
        "BASH_ENV=${item.a} bash x",
        "[[ ${item.a} -eq 1 ]]",
        "[[ -v ${item.a} ]]",
        "test -v ${item.a}",
        "[ -v ${item.a} ]",
        "printf -v ${item.a} x",
        "make X=${item.a}",
        "echo x >&${item.a}",
        "cat <&${item.a}",
        "watch ls ${item.a}",
        "su me -c 'ls ${item.a}'",
        "parallel echo ${item.a} ::: x",
        "vim -c ${item.a}",
        "nix-shell --run ${item.a}",
    ] {
        let (kind, place) = refused(line);
        assert_eq!(kind, "nested-interpreter", "{line}");
        assert_eq!(place, "${item.a}", "{line}");
    }
}

#[test]
fn an_argument_of_an_interpreter_is_not_its_code() {
    for line in [
        "sh -c 'echo \"$1\"' sh ${item.a}",
        "sh script ${item.a}",
        "sh ${item.a}",
        "sh -c \"$x\" ${item.a}",
        "sh -c $x sh ${item.a}",
        "awk $options '{print}' ${item.a}",
        "sh -s ${item.a} < f",
        "bash -c 'x' bash -c ${item.a}",
        "python3 -c 'x' -c ${item.a}",
        "python3 -m tool ${item.a}",
        "awk -v x=${item.a} '{print x}' f",
        "awk '{print}' ${item.a}",
        "awk -f x.awk ${item.a}",
        "awk -vx=${item.a} 1",
        "awk --assign=x=${item.a} 1",
        "sed -i${item.a} s/a/b/ f",
        "awk -F ${item.a} '{print}'",
        "sed -n 1p ${item.a}",
        "sed -e 1p -- ${item.a}",
        "sed -f x ${item.a}",
        "sed -i.bak s/a/b/ ${item.a}",
        "jq --arg x ${item.a} '.x == $x' f",
        "jq . ${item.a}",
        "jq -f f ${item.a}",
        "ssh ${item.a} uptime",
        "ssh -i ${item.a} host uptime",
        "find ${item.a} -exec sh -c 'rm \"$1\"' sh {} ';'",
        "find ${item.a} -name '*.sh'",
        "xargs -n 1 echo ${item.a}",
        "env X=${item.a} sh -c 'echo \"$X\"'",
        "timeout ${item.a} sleep 1",
        "trap 'rm x' ${item.a}",
        "trap - EXIT; echo ${item.a}",
        "printf '%s' ${item.a}",
        "export X=${item.a}",
        "x=${item.a}",
        "X=${item.a} sh -c 'echo \"$X\"'",
        "make ${item.a}",
        "[ ${item.a} -gt 1 ] && test ${item.a} = x",
        "[[ ${item.a} == x ]]",
        "cat <<E | wc -l\n${item.a}\nE",
        "curl ${item.a} | sh",
        "echo ${item.a} | python3 script.py",
        "grep -c ${item.a} f",
        "gcc -c ${item.a}",
        "$CC -c ${item.a}",
        "psql -v x=${item.a} -f q.sql",
        "parallel echo ::: ${item.a}",
        "tar -cf x ${item.a} -c y",
        "echo eval ${item.a}",
        "git commit -m ${item.a}",
        "perl -e 'x' ${item.a}",
        "sqlite3 ${item.a} .tables",
        "while read x; do echo \"$x\"; done <<E\n${item.a}\nE",
        "read x <<E\n${item.a}\nE",
        "echo ${item.a} >&2",
        "time ls ${item.a}",
        "docker run ${item.a} sh -c 'ls'",
    ] {
        rewritten(line);
    }
}

#[test]
fn unclear_quoting_is_refused() {
    for line in [
        "echo ${item.a} '",
        "echo ${item.a} \"",
        "echo ${item.a} `",
        "echo ${item.a} $(",
        "echo ${item.a} ${x",
        "echo ${item.a} $((1",
        "echo ${item.a})",
        "echo (${item.a})",
        "a=(${item.a})",
        "a[${item.a}]=1",
        "a[ ${item.a} ]=1",
        "echo $'\\'' ${item.a}",
        "echo $'${item.a}'",
        "echo $[1] ${item.a}",
        "echo \"${x:-\"${item.a}\"}\"",
        "echo ${x/${item.a}/b}",
        "echo ${x:${item.a}}",
        "${x:-sh -c ${item.a}}",
        "echo ${a[${item.a}]}",
        "cat <<$x\n${item.a}\n$x",
        "cat <<'a b'\n${item.a}\na b",
        "x=$(cat <<E)\n${item.a}\nE",
        "cat <<E $(\n)\n${item.a}\nE",
        "cat <<E\n${item.a}\\\nE\nE",
        "`cat <<'E'\n${item.a}\nE\n`",
        "cat <<E\n${x#${item.a}}\nE",
        "[[ ${item.a}",
        "echo $((ls) | ${item.a})",
        "cat <<E\n$(echo ${item.a}\nE\n)",
    ] {
        let kind = refused(line).0;
        assert!(matches!(kind, "unclear-shell") || line.contains("$(("), "{line} {kind}");
    }
}

#[test]
fn hostile_lines_are_read_in_one_go() {
    let line_max = 120_000;
    for part in [
        "$(",
        "`",
        "\\`",
        "\"$(",
        "${x:-",
        "${x#",
        "\"${x:-",
        "((",
        "(",
        "{ ",
        "case x in x) ",
        "$((",
        "<<E ",
        "<<'E'\n",
        "$$",
        "$",
        "'",
        "\"",
        "\\",
        "${item}",
        "'${item}'",
        "$${x}",
        "${item-",
        "${a-",
        "${item[\"",
        "sh -o ",
        "env ",
        "nohup ",
        "watch ",
        "find -exec ",
        "sh -c x ",
        "a=",
        "x ",
        "| ",
        "; ",
        "\n",
        "#",
        "[[ ",
        "<(",
        "function ",
        "for ",
        "docker sh -x ",
        "xargs ",
        "\u{e9}",
    ] {
        for end in ["${item}", "' ${item}", "\n${item}"] {
            let line = part.repeat(line_max / part.len()) + end;
            // An error or not, but soon, and no panic.
            if let Ok(shell) = Shell::parse(&line, ROOTS) {
                let _ = shell.render(&bytes(b"x"));
            }
        }
    }
    for part in ["$(", "${item}", "${a-", "x "] {
        let large = part.repeat((4 << 20) / part.len());
        assert!(Shell::parse(&(large + "${item}"), ROOTS).is_err());
    }
    let (kind, _) = refused(&("$(".repeat(100) + "${item}" + &")".repeat(100)));
    assert_eq!(kind, "unclear-shell");
    rewritten(&("$(".repeat(50) + "echo ${item}" + &")".repeat(50)));
}

#[test]
fn the_values_of_a_line_can_be_suspicious() {
    use SuspicionKind::{LeavesTheDirectory, LooksLikeAnOption};
    let seen = |line: &str, value: &[u8]| -> Vec<_> {
        let shell = Shell::parse(line, ROOTS).unwrap();
        shell.suspicions(&bytes(value)).into_iter().map(|one| one.kind).collect()
    };
    assert_eq!(seen("rm ${item}", b"-rf"), [LooksLikeAnOption]);
    assert_eq!(seen("rm \"${item}\"", b"-rf"), [LooksLikeAnOption]);
    assert_eq!(seen("rm ./${item}", b"-rf"), []);
    assert_eq!(seen("rm -- ${item}; ls ${item}", b"-rf"), [LooksLikeAnOption]);
    assert_eq!(seen("rm -f -- ${item} ${item}", b"-rf"), []);
    assert_eq!(seen("convert ${item}.png", b"../../x"), [LeavesTheDirectory]);
    assert_eq!(seen("ls > ${item}", b"../../x"), [LeavesTheDirectory]);
    assert_eq!(seen("ls ${item}", b"../../x"), []);
    assert_eq!(seen("x=$(rm ${item})", b"-rf"), [LooksLikeAnOption]);
}

#[test]
fn the_references_of_a_line_have_their_places() {
    let line = "a ${item.a} '${list.output[0]}' # ${item.b}\n`b \\${inputs.c}` ${item.a}";
    let shell = Shell::parse(line, ROOTS).unwrap();
    let places: Vec<_> = shell.references().map(|one| &line[one.span()]).collect();
    assert_eq!(places, ["${item.a}", "${list.output[0]}", "\\${inputs.c}", "${item.a}"]);
}
