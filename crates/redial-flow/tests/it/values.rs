//! Values for the tests.

use std::collections::BTreeMap;

use redial_flow::Value;

pub(crate) fn item(value: impl Into<Value>) -> BTreeMap<String, Value> {
    BTreeMap::from([("item".to_owned(), value.into())])
}

pub(crate) fn bytes(bytes: &[u8]) -> BTreeMap<String, Value> {
    item(Value::of_bytes(bytes.to_vec()))
}

/// Values that do harm wherever somebody parses them. Whoever runs one leaves a file `pwned`.
#[cfg(unix)]
pub(crate) fn hostile() -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> = [
        r#"it's "quoted" 'twice" '"'"'"#,
        "$(touch pwned)",
        "`touch pwned`",
        "'$(touch pwned)'\"$(touch pwned)\"",
        "two\nlines\n\n",
        "\nEOF\ntouch pwned\n",
        "\tEOF\n\tEOF\n",
        "-rf",
        "-c touch pwned",
        "* ? [a-z]* ~ {a,b} .",
        "; touch pwned; #",
        "x && touch pwned | touch pwned &",
        "! \\ \\n \\c %s %n %b \\",
        "$HOME ${HOME} ${REDIAL_VALUE_1} ${item} {} {#}",
        "a[$(touch pwned)]",
        "x=$(touch pwned)",
        "}) touch pwned ;; *) touch pwned",
        "} touch pwned",
        ") touch pwned",
        "",
        "  blanks\tand tabs  ",
        "../../etc/passwd",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    values.push(b"\xff\xfe\x80\x81\x82\x88 \xc3".to_vec());
    values.push((1..=255).collect());
    values.push(vec![b'\''; 120_000]);
    values
}
