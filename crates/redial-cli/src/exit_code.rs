//! The exit codes of redial itself, beside those that `redial_process::ending` has for commands; `redial help exit-codes` says what each means.

/// What was asked for was done, and something is wrong: errors found, an assertion that does not
/// hold, something lost, a flaky run under `--flaky fail`.
pub(crate) const FAILURE: u8 = 1;

/// Nothing ran because the breaker was open: `EX_TEMPFAIL` of `sysexits.h`.
#[cfg(unix)]
pub(crate) const BREAKER_OPEN: u8 = 75;

/// Another process holds the run of a flow: `EX_TEMPFAIL`, too.
pub(crate) const HELD: u8 = 75;

/// The deadline of a flow has passed.
#[cfg(unix)]
pub(crate) const DEADLINE: u8 = 124;

/// Nobody reads the output of `map` any more, and so not everything was run: 128 + SIGPIPE, with which `run` ends, too, where
/// its command has died of it.
#[cfg(unix)]
pub(crate) const CLOSED_PIPE: u8 = 128 + 13;

/// A flaky run under `--flaky fail`, with `--exit-codes reason`.
#[cfg(unix)]
pub(crate) const FLAKY: u8 = 90;

/// redial itself cannot do what was asked: bad usage, a bad policy, a file that cannot be read.
pub(crate) const ERROR: u8 = 125;

/// With `--exit-codes reason`, why there was no other attempt. These codes lie above those of
/// `sysexits.h` (64 to 78) and below 124.
#[cfg(unix)]
const REASONS: [(&str, u8); 10] = [
    ("attempts-spent", 80),
    ("rejected", 81),
    ("deadline", 82),
    ("wait-budget", 83),
    ("retry-after-too-long", 84),
    ("budget", 85),
    ("breaker-open", 86),
    ("input-lost", 87),
    ("output-lost", 88),
    ("survives", 89),
];

/// The code of a reason, by its stable name.
#[cfg(unix)]
pub(crate) fn of_reason(name: &str) -> Option<u8> {
    REASONS.iter().find(|(known, _)| *known == name).map(|(_, code)| *code)
}

#[cfg(all(test, unix))]
mod tests {
    use redial_core::Stop;

    use super::*;

    #[test]
    fn the_help_has_every_code() {
        let page = include_str!("help/exit-codes.md");
        let row = |code: &str, reason: &str| {
            let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
            let is_row =
                |cells: Vec<String>| cells.len() > 3 && cells[1] == code && cells[2] == reason;
            page.lines().any(|line| is_row(cells(line)))
        };
        for (name, code) in REASONS {
            assert!(row(&code.to_string(), &format!("`{name}`")), "{code} {name}");
        }
        assert!(row(&FLAKY.to_string(), "flaky"));
    }

    #[test]
    fn every_reason_of_the_engine_has_a_code_and_no_two_share_one() {
        for stop in Stop::ALL {
            assert!(of_reason(stop.name()).is_some(), "{stop:?}");
        }
        let mut codes: Vec<_> = REASONS.iter().map(|(_, code)| *code).chain([FLAKY]).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), REASONS.len() + 1);
        assert!(codes.iter().all(|code| (79..124).contains(code)), "{codes:?}");
    }
}
