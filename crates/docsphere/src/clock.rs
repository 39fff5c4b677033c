//! Seconds of consecutive phases.

use std::time::Instant;

/// The time since the last phase ended.
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Clock(Instant::now())
    }

    /// Ends a phase, and adds its time.
    pub(crate) fn lap(&mut self, seconds: &mut f64) {
        let now = Instant::now();
        *seconds += (now - self.0).as_secs_f64();
        self.0 = now;
    }
}
