//! What a row counts in, and how such a number is written.

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Instructions,
    /// Of the build without LTO.
    UnlinkedInstructions,
    Nanoseconds,
    /// Nanoseconds on a processor.
    CpuTime,
    /// So many times somebody else's wall time.
    TimeRatio,
    /// So many times somebody else's time on a processor.
    CpuRatio,
    Allocations,
    Yields,
    Bytes,
    Crates,
    /// Bytes of memory at the most.
    Memory,
    /// The part of them that is shared with nobody.
    PrivateMemory,
    /// Bytes on disk.
    Size,
    SystemCalls,
    PageFaults,
    /// How often a process that waits goes on.
    WakeUps,
    /// Bytes in a second.
    Throughput,
    InstructionsPerByte,
    /// So many times the instructions of something smaller.
    InstructionRatio,
    /// Events in a second.
    EventRate,
    /// So many times the events of a bare queue in the same time. Both were timed in turns, on the same
    /// machine at the same load, so that it is held where time is not.
    HeapShare,
    /// So many times the bytes that grep looks at in the same time. Held for the same reason.
    GrepShare,
    /// Jobs in a second.
    JobRate,
    /// So many times the jobs of xargs in the same time. Held for the same reason.
    XargsShare,
    /// So many times the jobs of a loop that only starts them, in the same time. Held for the same reason.
    SpawnShare,
    /// So many times the jobs that the same program does in the same time on a fast disk. Held for the same
    /// reason.
    DiskShare,
    /// So many times the time of the loop by hand: the median of pairs that took turns. Held for the
    /// same reason.
    HandRatio,
    /// So many times the memory of something smaller.
    MemoryRatio,
    /// What a wrapper adds to its command in the tenth percentile of the time on a processor, over the
    /// same of somebody else. Held, because both take turns and a busy machine moves the tenth
    /// percentile least.
    QuietCpuRatio,
}

impl Unit {
    /// As the table calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::UnlinkedInstructions => "without LTO",
            Self::Nanoseconds => "time",
            Self::CpuTime => "CPU time",
            Self::TimeRatio => "× time",
            Self::CpuRatio => "× CPU time",
            Self::Allocations => "allocations",
            Self::Yields => "yields",
            Self::Bytes => "bytes",
            Self::Crates => "crates",
            Self::Memory => "memory",
            Self::PrivateMemory => "private memory",
            Self::Size => "size",
            Self::SystemCalls => "system calls",
            Self::PageFaults => "page faults",
            Self::WakeUps => "wake-ups",
            Self::Throughput => "MB/s",
            Self::InstructionsPerByte => "instructions/byte",
            Self::InstructionRatio => "× instructions",
            Self::EventRate => "million/s",
            Self::HeapShare => "× bare heap",
            Self::GrepShare => "× grep -cP",
            Self::HandRatio => "× hand in time",
            Self::JobRate => "jobs/s",
            Self::XargsShare => "× xargs -P 2",
            Self::SpawnShare => "× bare spawn",
            Self::DiskShare => "× fast disk",
            Self::MemoryRatio => "× memory",
            Self::QuietCpuRatio => "× quiet CPU time",
        }
    }

    /// Time differs from run to run and is not held against anybody.
    pub(crate) const fn is_time(self) -> bool {
        matches!(
            self,
            Self::Nanoseconds
                | Self::CpuTime
                | Self::TimeRatio
                | Self::CpuRatio
                | Self::Throughput
                | Self::EventRate
                | Self::JobRate
        )
    }

    pub(crate) fn text(self, number: f64) -> String {
        match self {
            Self::Nanoseconds | Self::CpuTime => time_text(number),
            Self::TimeRatio
            | Self::CpuRatio
            | Self::QuietCpuRatio
            | Self::InstructionRatio
            | Self::MemoryRatio
            | Self::GrepShare
            | Self::HandRatio
            | Self::XargsShare
            | Self::SpawnShare
            | Self::DiskShare
            | Self::HeapShare => format!("{number:.2}"),
            Self::Memory | Self::PrivateMemory | Self::Size => bytes_text(number),
            Self::Throughput | Self::EventRate => format!("{:.1}", number / 1e6),
            Self::InstructionsPerByte => format!("{number:.1}"),
            Self::Instructions | Self::UnlinkedInstructions if number >= 1e4 => {
                grouped(number as u64)
            }
            Self::Instructions | Self::UnlinkedInstructions | Self::Allocations => {
                format!("{number}")
            }
            _ => format!("{number:.0}"),
        }
    }
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

fn time_text(nanoseconds: f64) -> String {
    match nanoseconds {
        _ if nanoseconds >= 1e9 => format!("{:.2} s", nanoseconds / 1e9),
        _ if nanoseconds >= 1e6 => format!("{:.2} ms", nanoseconds / 1e6),
        _ if nanoseconds >= 1e3 => format!("{:.2} µs", nanoseconds / 1e3),
        _ => format!("{nanoseconds:.1} ns"),
    }
}

fn bytes_text(bytes: f64) -> String {
    match bytes {
        _ if bytes >= MIB => format!("{:.1} MiB", bytes / MIB),
        _ if bytes >= KIB => format!("{:.1} KiB", bytes / KIB),
        _ => format!("{bytes:.0}"),
    }
}

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
