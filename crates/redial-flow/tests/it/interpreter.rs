//! Values in the code of an argument list.

use redial_flow::{Template, check_arguments};

fn in_map(words: &[&str]) -> Result<(), (usize, String)> {
    let words: Vec<_> = words.iter().map(|word| Template::of_argument(word.as_bytes())).collect();
    check_arguments(&words).map_err(|(index, error)| {
        assert_eq!(error.kind.name(), "nested-interpreter");
        (index, error.to_string())
    })
}

#[test]
fn a_value_in_code_is_refused_with_what_to_write_instead() {
    let (index, message) = in_map(&["sh", "-c", "echo {}"]).unwrap_err();
    assert_eq!(index, 2);
    assert_eq!(
        message,
        "`sh` would parse the value; hand it over as an argument: sh -c '… \"$1\"' sh VALUE"
    );
    for (words, index) in [
        (&["bash", "-lc", "{}"] as &[_], 2),
        (&["env", "A=b", "nice", "-n", "5", "timeout", "-s", "KILL", "5", "sh", "-c", "x {}"], 11),
        (&["docker", "run", "image", "sh", "-c", "x {}"], 5),
        (&["awk", "-F", ",", "/{}/", "file"], 3),
        (&["xargs", "-I", "%", "sh", "-c", "{}"], 5),
        (&["find", ".", "-exec", "sh", "-c", "rm {}", ";"], 5),
        (&["ssh", "host", "ls", "{name}"], 3),
        (&["python3", "-c{}"], 1),
        (&["/usr/bin/env", "python3", "-c", "{}"], 3),
        (&["node", "--eval={}"], 1),
        (&["sed", "--expression=s/{}/x/", "f"], 1),
        (&["busybox", "sh", "-c", "{}"], 3),
        (&["tmux", "new", "{}"], 2),
        (&["tmux", "-L", "own", "new-session", "-d", "-s", "work", "vim {}"], 7),
        (&["tmux", "send-keys", "-t", "work", "{}", "Enter"], 4),
        (&["tmux", "-c", "{}"], 2),
        (&["screen", "-S", "work", "-X", "stuff", "{}"], 5),
        (&["git", "-c", "alias.x={}", "x"], 2),
        (&["git", "-C", "repo", "-c", "core.sshCommand=ssh -i {}", "fetch"], 4),
        (&["git", "-c", "{}", "fetch"], 2),
        (&["git", "config", "--global", "alias.x", "{}"], 4),
        (&["git", "submodule", "foreach", "git checkout {}"], 3),
        (&["git", "rebase", "--exec", "make {}", "main"], 3),
        (&["sudo", "git", "-c", "core.pager=less {}", "log"], 3),
        (&["watch", "-n", "1", "ls {}"], 3),
        (&["env", "-S", "sh -c {}"], 2),
        (&["find", "{}", "-exec", "sh", "-c", "ls {{}}", ";"], 1),
    ] {
        assert_eq!(in_map(words).unwrap_err().0, index, "{words:?}");
    }
}

#[test]
fn a_value_beside_the_code_is_data() {
    for words in [
        &["sh", "-c", "echo \"$1\"", "sh", "{}"] as &[_],
        &["sh", "{}"],
        &["optipng", "{}"],
        &["awk", "{print $1}", "{}"],
        &["awk", "-v", "x={}", "{print x}"],
        &["find", "{}", "-name", "*.sh"],
        &["ssh", "{}", "uptime"],
        &["{}", "-c", "{}"],
        &["read", "{}"],
        &["tmux", "new", "-s", "{}"],
        &["tmux", "new-window", "vim", "{}"],
        &["tmux", "kill-session", "-t", "{}"],
        &["screen", "-dmS", "work", "vim", "{}"],
        &["git", "-C", "{}", "fetch"],
        &["git", "-c", "user.name={}", "commit", "-m", "{}"],
        &["git", "config", "user.email", "{}"],
        &["git", "clone", "{}"],
        &[],
    ] {
        assert_eq!(in_map(words), Ok(()), "{words:?}");
    }
}

#[test]
fn a_flow_files_list_is_checked_alike() {
    let list = ["sh", "-c", "echo ${HOME} ${item.x}"];
    let list: Vec<_> = list.iter().map(|word| Template::parse(word).unwrap()).collect();
    let (index, error) = check_arguments(&list).unwrap_err();
    assert_eq!((index, error.span), (2, 5..12));
}

#[test]
fn long_lists_are_read_in_one_go() {
    for part in [
        &["sh", "-o"] as &[_],
        &["env"],
        &["watch"],
        &["find", "-exec"],
        &["sh", "-x"],
        &["xargs"],
        &["docker"],
        &["awk", "-v"],
    ] {
        let words: Vec<_> = part.iter().copied().cycle().take(50_000).chain(["{}"]).collect();
        let _ = in_map(&words);
    }
}
