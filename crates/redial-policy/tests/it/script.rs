//! Clauses by themselves and in scripts.

use redial_policy::Format::Text;

use crate::shown::check;

#[test]
fn a_text_is_a_clause_where_nothing_is_called() {
    check(Text, "retry: 3, delay: 1s", ": attempts: 4, delay: 1s");
    check(
        Text,
        "  # comment
 retry: 3,
 delay: 1s # end
",
        ": attempts: 4, delay: 1s",
    );
    check(Text, "\u{feff}retry: 3", ": attempts: 4");
    check(
        Text,
        "\u{feff}retri: 3",
        r#"
        : refused
        error[unknown-option] at "retri": `retri` is not an option; did you mean `retry`?
    "#,
    );
    check(
        Text,
        "é: 3",
        r#"
        : refused
        error[unknown-option] at "é": `é` is not an option; there are retry, attempts, delay, backoff, factor, increment, min_delay, max_delay, jitter, within, wait_budget, timeout, retry_on and stop_on
    "#,
    );
    check(
        Text,
        "",
        r#"
        : refused
        error[syntax] at "": the clause is empty; write for example retry: 3, delay: 1s
    "#,
    );
    check(
        Text,
        "# nothing",
        r##"
        : refused
        error[syntax] at "# nothing": the clause is empty; write for example retry: 3, delay: 1s
    "##,
    );
    check(
        Text,
        "retry: 3,",
        r#"
        : refused
        error[syntax] at ",": nothing follows this comma; drop it
    "#,
    );
    check(
        Text,
        "retry 3",
        r#"
        : refused
        error[syntax] at "retry": expected a colon and a value after this name, as in delay: 1s
    "#,
    );
    check(Text, "retry: 3\r\n, delay: 1s\r\n", ": attempts: 4, delay: 1s");
    check(
        Text,
        "retry: 3, fallback: x",
        r#"
        : refused
        error[unknown-option] at "fallback": `fallback` belongs to a call in a script or a step of a workflow, not to a policy
    "#,
    );
}

#[test]
fn a_clause_follows_a_call() {
    check(Text, "x = M(y) with retry: 3", "x: attempts: 4");
    check(
        Text,
        "x = M(y) with
    retry: 3,
    delay: 1s
out x",
        "x: attempts: 4, delay: 1s",
    );
    check(
        Text,
        "x = A(B(c) with retry: 1) with retry: 2",
        "
        x: attempts: 2
        x: attempts: 3
    ",
    );
    check(Text, "M(y) with retry: 3", ": attempts: 4");
    check(
        Text,
        "in a: T

x = M(a)
out x",
        "",
    );
    check(
        Text,
        "x = M(y) with retry: 3 # with retry: 4
# y = N(x) with retry: 5",
        "x: attempts: 4",
    );
    check(Text, r#"x = M("with retry: 9") with retry: 3"#, "x: attempts: 4");
    check(
        Text,
        "x = M(y) with retry: 3, delay: 1s backoff: fixed",
        r#"
        x: refused
        error[syntax] at "backoff": expected a comma before this option
    "#,
    );
    check(
        Text,
        "é = M(ü) with rétry: 3",
        r#"
        é: refused
        error[unknown-option] at "rétry": `rétry` is not an option; did you mean `retry`?
    "#,
    );
}

#[test]
fn each_call_has_its_own_clause() {
    check(
        Text,
        "a = M(x) with retry: 1
b = N(a)
c = O(b) with retry: 2, dely: 1s
d = P(c) with retry: 3",
        r#"
        a: attempts: 2
        c: refused
        d: attempts: 4
        error[unknown-option] at "dely": `dely` is not an option; did you mean `delay`?
    "#,
    );
    check(
        Text,
        "x = M(y) with retry: 3, fallback: N(y) with retry: 5, delay: 1s",
        "
        x: attempts: 4
        x: attempts: 6, delay: 1s
    ",
    );
    check(
        Text,
        "x = M(y) with fallback: (N(y) with retry: 5, delay: 1s), retry: 3",
        "
        x: attempts: 4
        x: attempts: 6, delay: 1s
    ",
    );
}

#[test]
fn options_that_are_about_something_else_are_passed_over() {
    check(Text, "x = M(y) with cache: 5min", "");
    check(Text, "x = M(y) with cache: 5min, retry: 3, priority: high, lazy", "x: attempts: 4");
    check(Text, "x = M(y) with lazy, retry: 3", "x: attempts: 4");
    check(
        Text,
        "x = M(y) with retry 3, cache: 5min",
        r#"
        x: refused
        error[syntax] at "retry": expected a colon and a value after this name, as in delay: 1s
    "#,
    );
    check(
        Text,
        "x = M(y) with cache: 5min, retri: 3",
        r#"
        x: refused
        error[unknown-option] at "retri": `retri` is not an option; did you mean `retry`?
    "#,
    );
}

#[test]
fn what_workflows_have_may_stand_there() {
    check(
        Text,
        "x = M(y) with retry: 3, delay: 1s, timeout: 5s, fallback: y, on_error: skip, retry_on: [network]",
        "x: attempts: 4, delay: 1s, timeout: 5s, retry_on: [network]",
    );
}

#[test]
fn a_clause_that_is_none_is_told_where() {
    check(
        Text,
        "x = M(y) with",
        r#"
        x: refused
        error[syntax] at "": the clause is empty; write for example retry: 3, delay: 1s
    "#,
    );
    check(
        Text,
        "x = M(y) with retry",
        r#"
        x: refused
        error[syntax] at "retry": expected a colon and a value after this name, as in delay: 1s
    "#,
    );
    check(
        Text,
        "x = M(y) with retry:",
        r#"
        x: refused
        error[syntax] at "retry": expected a value after the colon, as in delay: 1s
    "#,
    );
    check(
        Text,
        "x = M(y) with retry: ,",
        r#"
        x: refused
        error[syntax] at "retry": expected a value after the colon, as in delay: 1s
        error[syntax] at ",": nothing follows this comma; drop it
    "#,
    );
    check(
        Text,
        "x = M(y) with retry: 3,
out x",
        r#"
        x: refused
        error[syntax] at ",": nothing follows this comma; drop it
    "#,
    );
    check(
        Text,
        "x = M(y) with retry: [3",
        r#"
        x: refused
        error[syntax] at "[3": this bracket or quote is never closed
    "#,
    );
    check(
        Text,
        "x = M(y) with retry: 3, retry: 4",
        r#"
        x: refused
        error[duplicate-option] at "retry": `retry` is there already; write it once
    "#,
    );
    check(Text, "x = M(y) with retry: 3)", "x: attempts: 4");
}

#[test]
fn an_option_on_the_next_line_is_not_lost_for_want_of_a_comma() {
    check(
        Text,
        "x = A(y) with retry: 3\n  delay: 1s, backoff: exponential",
        r#"
        x: refused
        error[syntax] at "delay": expected a comma before this option
    "#,
    );
}
