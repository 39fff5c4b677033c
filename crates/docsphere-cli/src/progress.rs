//! What a person sees while it runs: bars on a terminal, nothing elsewhere.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use docsphere::{Event, IterationRecord, Observer};
use indicatif::{ProgressBar, ProgressStyle};

use crate::interrupt;

/// Shows the events of a run, and asks it to stop on Ctrl-C or when its time is over.
pub(crate) struct Progress {
    visible: bool,
    bar: ProgressBar,
    stage: Stage,
    max_iter: u64,
    deadline: Option<Instant>,
    /// Whether the time was over.
    pub(crate) out_of_time: bool,
    /// When something was last read.
    pub(crate) last_read: Option<Instant>,
}

#[derive(PartialEq)]
enum Stage {
    None,
    Reading,
    Seeding,
    Iterating,
}

impl Progress {
    pub(crate) fn new(quiet: bool, max_iter: usize, time_limit: Option<Duration>) -> Self {
        Progress {
            visible: !quiet && std::io::stderr().is_terminal(),
            bar: ProgressBar::hidden(),
            stage: Stage::None,
            max_iter: max_iter as u64,
            deadline: time_limit.map(|limit| Instant::now() + limit),
            out_of_time: false,
            last_read: None,
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&mut self) {
        self.bar.finish_and_clear();
        self.stage = Stage::None;
    }

    /// A line that stays, above the bar.
    fn say(&self, line: &str) {
        if self.visible { self.bar.println(line) } else { eprintln!("{line}") }
    }

    fn enter(&mut self, stage: Stage, length: u64, template: &str) {
        if self.stage == stage || !self.visible {
            return;
        }
        self.bar.finish_and_clear();
        let style = ProgressStyle::with_template(template).expect("our own template").progress_chars("=> ");
        self.bar = ProgressBar::new(length).with_style(style);
        self.bar.enable_steady_tick(Duration::from_millis(200));
        self.stage = stage;
    }

    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Reading { bytes_read, bytes_total, n_documents } => {
                self.enter(
                    Stage::Reading,
                    *bytes_total,
                    "reading    [{bar:24}] {percent:>3}%  {msg}, {eta} left",
                );
                self.bar.set_position(*bytes_read);
                self.bar.set_message(format!("{} documents", grouped(*n_documents)));
            }
            Event::RunStarted { .. } => self.stage = Stage::None,
            Event::Seeding { done, total } => {
                self.enter(
                    Stage::Seeding,
                    *total as u64,
                    "seeding    [{bar:24}] {percent:>3}%  {pos} of {len} seeds, {eta} left",
                );
                self.bar.set_position(*done as u64);
            }
            Event::Iteration(record) => {
                let template = "iteration  [{bar:24}] {pos:>3} of at most {len}, at most {eta} left  {msg}";
                self.enter(Stage::Iterating, self.max_iter, template);
                self.bar.set_position(record.iteration as u64);
                self.bar.set_message(message(record));
            }
            Event::CheckpointFailed { error } => {
                self.say(&format!("docsphere: warning: no checkpoint: {error}"))
            }
            _ => {}
        }
    }
}

fn message(record: &IterationRecord) -> String {
    format!("{} moved, objective {:.1}", grouped(record.moved_docs), record.objective)
}

impl Observer for Progress {
    fn observe(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        self.show(event);
        if matches!(event, Event::Reading { .. }) {
            self.last_read = Some(Instant::now());
        }
        // Time is up only when there is something to show for it.
        if matches!(event, Event::Iteration(_))
            && self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
        {
            self.out_of_time = true;
        }
        if interrupt::asked_to_stop() || self.out_of_time {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// A number with commas: 1,234,567.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
