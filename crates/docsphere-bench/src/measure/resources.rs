//! What the system knows of this process: work on all cores, peak memory.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// Seconds that all threads of this process have worked so far, in user and system mode.
pub(super) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Starts the peak of the memory anew from what is held now. Where the system does not allow it, the peak is that since the process began.
pub(super) fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most memory that was held; `None` where the system does not tell.
pub(super) fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_cpu_seconds() {
        let before = cpu_seconds();
        let sum: u64 = (0..20_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        std::hint::black_box(sum);
        assert!(cpu_seconds() > before);
    }
}
