//! What a command printed, as lines that can be shown anywhere.

use crate::visible::visible;

/// Without escape sequences, and with U+FFFD for every harmful character. A carriage return ends a line, so
/// that a progress bar becomes one line for each time it was drawn.
pub(crate) fn plain(printed: &str) -> String {
    let printed = anstream::adapter::strip_str(printed).to_string().replace("\r\n", "\n");
    let lines = printed.split(['\n', '\r']).map(|line| visible(&line.replace('\t', "    ")));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_gone_and_lines_stay() {
        let printed = "\u{1b}[31mred\u{1b}[0m\r\n10%\r20%\n\ta\u{0}b\u{85}\u{202e}\u{9b}c\u{fffe}";
        assert_eq!(plain(printed), "red\n10%\n20%\n    ab���c�");
    }
}
