//! Measurements by the system: this process's CPU time, its peak memory, and the share of the
//! machine that other processes used meanwhile.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// CPU seconds of all threads of this process so far, in user and system mode.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The work and idle time of all cores since the system started, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MachineTicks {
    busy: u64,
    total: u64,
    /// All cores of the machine, including those that this process may not use.
    n_cores: usize,
}

impl MachineTicks {
    /// The current counts; `None` where the system does not report them.
    pub(super) fn now() -> Option<Self> {
        MachineTicks::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// From the first line: user, nice, system, idle, waiting for disks, interrupts, soft
    /// interrupts, stolen by other virtual machines. Further fields are already included in these.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|n| n.parse().ok()).collect();
        let total: u64 = ticks.iter().sum();
        let idle = ticks.get(3)? + ticks.get(4)?;
        let is_core = |line: &&str| {
            line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let n_cores = stat.lines().filter(is_core).count().max(1);
        Some(MachineTicks { busy: total - idle, total, n_cores })
    }

    /// The share of all cores that other processes used since then, while this process worked for
    /// `own_seconds` of `seconds`. `None` if the clock, which ticks every 10 ms, has not ticked
    /// often enough for a result.
    pub(super) fn share_of_others(self, later: Self, own_seconds: f64, seconds: f64) -> Option<f64> {
        let total = later.total.checked_sub(self.total).filter(|&total| total >= 20)?;
        let busy = later.busy.saturating_sub(self.busy) as f64 / total as f64;
        Some((busy - own_seconds / (seconds * self.n_cores as f64)).clamp(0.0, 1.0))
    }
}

/// Resets the peak memory to the memory held now. Where the system does not allow it, the peak is
/// that since the process started.
pub(super) fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The peak memory; `None` where the system does not report it.
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
    fn what_others_had_is_what_is_neither_idle_nor_ours() {
        let ticks = |stat: &str| MachineTicks::parse(stat).unwrap();
        let before = ticks("cpu  100 0 50 1000 10 0 0 5 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nctxt 7\n");
        assert_eq!(before, MachineTicks { busy: 155, total: 1165, n_cores: 2 });
        // One second on two cores: 150 ticks of work, 50 idle; this process used one whole core.
        let after = ticks("cpu  240 0 60 1050 10 0 0 5 0 0\n");
        assert!((before.share_of_others(after, 1.0, 1.0).unwrap() - 0.25).abs() < 1e-12);
        assert_eq!(before.share_of_others(before, 1.0, 1.0), None);
        assert_eq!(MachineTicks::parse("something else"), None);
    }

    #[test]
    fn work_takes_cpu_seconds() {
        let before = cpu_seconds();
        let sum: u64 = (0..20_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        std::hint::black_box(sum);
        assert!(cpu_seconds() > before);
    }
}
