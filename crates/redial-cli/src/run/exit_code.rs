//! What redial exits with where `--exit-codes reason` asks for one code per reason.
//!
//! The codes begin above those of `sysexits.h` (64 to 78, of which 75 is a refusal before the first
//! attempt) and end below 124, from where on `timeout`, redial itself and shells have theirs.

/// Why a run that was not successful ended, and the code of it.
const OF_REASONS: [(&str, u8); 10] = [
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

/// A success after a failure, where `--flaky fail` makes that a failure.
pub(super) const FLAKY: u8 = 90;

/// The code of a reason, by its stable name.
pub(super) fn of_reason(name: &str) -> Option<u8> {
    OF_REASONS.iter().find(|(known, _)| *known == name).map(|(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use redial_core::Stop;

    use super::*;

    #[test]
    fn the_help_has_every_code() {
        let page = include_str!("../help/exit-codes.md");
        let row = |code: &str, reason: &str| {
            let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
            let is_row =
                |cells: Vec<String>| cells.len() > 3 && cells[1] == code && cells[2] == reason;
            page.lines().any(|line| is_row(cells(line)))
        };
        for (name, code) in OF_REASONS {
            assert!(row(&code.to_string(), &format!("`{name}`")), "{code} {name}");
        }
        assert!(row(&FLAKY.to_string(), "flaky"));
    }

    #[test]
    fn every_reason_of_the_engine_has_a_code_and_no_two_share_one() {
        for stop in [
            Stop::AttemptsSpent,
            Stop::Rejected,
            Stop::Deadline,
            Stop::WaitBudget,
            Stop::RetryAfterTooLong,
            Stop::Budget,
            Stop::BreakerOpen,
        ] {
            assert!(of_reason(stop.name()).is_some(), "{stop:?}");
        }
        let mut codes: Vec<_> = OF_REASONS.iter().map(|(_, code)| *code).chain([FLAKY]).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), OF_REASONS.len() + 1);
        assert!(codes.iter().all(|code| (79..124).contains(code)), "{codes:?}");
    }
}
