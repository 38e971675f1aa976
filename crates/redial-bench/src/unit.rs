//! What a row counts in, and how such a number is written.

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Instructions,
    Nanoseconds,
    Allocations,
    Yields,
    Bytes,
    Crates,
    /// Bytes of memory at the most.
    Memory,
    /// Bytes on disk.
    Size,
}

impl Unit {
    /// As the table calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Nanoseconds => "time",
            Self::Allocations => "allocations",
            Self::Yields => "yields",
            Self::Bytes => "bytes",
            Self::Crates => "crates",
            Self::Memory => "memory",
            Self::Size => "size",
        }
    }

    pub(crate) fn text(self, number: f64) -> String {
        match self {
            Self::Nanoseconds if number >= 1e6 => format!("{:.2} ms", number / 1e6),
            Self::Nanoseconds if number >= 1e3 => format!("{:.2} µs", number / 1e3),
            Self::Nanoseconds => format!("{number:.1} ns"),
            Self::Memory | Self::Size if number >= MIB => format!("{:.1} MiB", number / MIB),
            Self::Memory | Self::Size if number >= KIB => format!("{:.1} KiB", number / KIB),
            Self::Instructions if number >= 1e4 => grouped(number as u64),
            Self::Instructions | Self::Allocations => format!("{number}"),
            _ => format!("{number:.0}"),
        }
    }
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// Three digits at a time.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Unit;

    #[test]
    fn many_instructions_come_in_groups_of_three_digits() {
        assert_eq!(Unit::Instructions.text(39.4), "39.4");
        assert_eq!(Unit::Instructions.text(1029.0), "1029");
        assert_eq!(Unit::Instructions.text(66_468.0), "66 468");
        assert_eq!(Unit::Instructions.text(720_702_355.0), "720 702 355");
    }

    #[test]
    fn memory_is_told_in_what_it_fills() {
        assert_eq!(Unit::Memory.text(92.0), "92");
        assert_eq!(Unit::Memory.text(1536.0), "1.5 KiB");
        assert_eq!(Unit::Size.text(3.0 * 1024.0 * 1024.0), "3.0 MiB");
    }
}
