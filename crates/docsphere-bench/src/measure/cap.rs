//! Runs that would take too long, and what is said of them instead.

/// Whether another iteration as long as the last one would end beyond the cap.
pub(super) fn would_exceed(elapsed: f64, last_iteration: f64, cap: f64) -> bool {
    elapsed + last_iteration > cap
}

/// Seconds that were measured, or would have been.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    pub(crate) seconds: f64,
    /// Whether the run was stopped, and this is what it would have taken.
    pub(crate) is_extrapolated: bool,
}

impl Timing {
    /// Seconds of a run that came to its end.
    pub(super) fn measured(seconds: f64) -> Self {
        Timing { seconds, is_extrapolated: false }
    }

    /// What a stopped run would have taken: its seconds an assignment, times the assignments of a run that came to its end. Results are identical, so that number is known.
    /// Too much for strategies whose later iterations are cheaper than the first ones.
    pub(super) fn extrapolated(seconds: f64, assignments_done: usize, assignments: usize) -> Self {
        Timing { seconds: seconds / assignments_done as f64 * assignments as f64, is_extrapolated: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_stopped_before_it_exceeds_its_cap() {
        assert!(!would_exceed(4.0, 2.0, 6.0));
        assert!(would_exceed(4.5, 2.0, 6.0));
    }

    #[test]
    fn a_stopped_run_is_extrapolated_by_assignments() {
        let timing = Timing::extrapolated(6.0, 3, 24);
        assert_eq!(timing, Timing { seconds: 48.0, is_extrapolated: true });
    }
}
