//! Progress display: bars on a terminal, nothing elsewhere.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use docsphere::{Event, IterationRecord, Observer};
use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressStyle};

use crate::console::{escaped, tell};
use crate::failure::in_words_of_the_command;
use crate::interrupt;
use crate::numbers::{counted, grouped};

/// Shows the events of a run, and asks it to stop on Ctrl-C or when its time is up.
pub(crate) struct Progress {
    visible: bool,
    bar: ProgressBar,
    stage: Stage,
    /// "k = 50 (2 of 9), " in a sweep.
    part: String,
    /// "stability 2 of 6, " while a sweep measures it.
    stability: String,
    /// "run 2 of 10, " if there are several runs.
    run: String,
    max_iter: u64,
    /// When the present pass over documents in a file began, and what is said beside it.
    pass_began: Option<Instant>,
    message: String,
    deadline: Option<Instant>,
    /// Whether the run was stopped by the time limit.
    pub(crate) out_of_time: bool,
    /// Time of the last read.
    pub(crate) last_read: Option<Instant>,
    /// What was said last of a device that is not used.
    left_device: Option<String>,
}

#[derive(PartialEq)]
enum Stage {
    None,
    Reading,
    Seeding,
    Iterating,
    Summarizing,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        Progress {
            visible: !quiet && std::io::stderr().is_terminal(),
            bar: ProgressBar::hidden(),
            stage: Stage::None,
            part: String::new(),
            stability: String::new(),
            run: String::new(),
            max_iter: 0,
            pass_began: None,
            message: String::new(),
            deadline: None,
            out_of_time: false,
            last_read: None,
            left_device: None,
        }
    }

    /// The same for a run with these limits.
    pub(crate) fn of_run(quiet: bool, max_iter: usize, time_limit: Option<Duration>) -> Self {
        let deadline = time_limit.map(|limit| Instant::now() + limit);
        Progress { max_iter: max_iter as u64, deadline, ..Progress::new(quiet) }
    }

    /// Clears the bar.
    pub(crate) fn finish(&mut self) {
        self.bar.finish_and_clear();
        self.stage = Stage::None;
    }

    /// Shows from now on which part of the work this is.
    pub(crate) fn begin_part(&mut self, part: String) {
        self.part = part;
        self.stability.clear();
        self.stage = Stage::None;
    }

    /// Which part, which run.
    fn place(&self) -> String {
        format!("{}{}{}", self.part, self.stability, self.run)
    }

    /// Whether the run must stop: on Ctrl-C, or when its time is up.
    pub(crate) fn must_stop(&self) -> bool {
        interrupt::asked_to_stop() || self.out_of_time
    }

    /// Shows that the clusters are being described. With thousands of clusters, this takes seconds.
    pub(crate) fn summarize(&mut self, n_clusters: usize) {
        self.enter(Stage::Summarizing, 0, "describing {msg}, {elapsed}");
        self.bar.set_message(format!("{}{}", self.part, counted(n_clusters, "cluster")));
    }

    /// Prints a permanent line above the bar.
    pub(crate) fn say(&self, line: &str) {
        if self.visible { self.bar.println(format!("docsphere: {}", escaped(line))) } else { tell(line) }
    }

    /// Says that the CPU takes over.
    pub(crate) fn leave_device(&self, problem: &str) {
        self.say(&format!("note: the CPU is used: {problem}"));
    }

    /// Notes that the next pass over the documents begins, with this message beside it.
    fn begin_pass(&mut self, message: String) {
        self.bar.set_message(message.clone());
        (self.message, self.pass_began) = (message, Some(Instant::now()));
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
                // The length of a pipe is unknown.
                let template = match bytes_total {
                    0 => "reading    {msg}, {elapsed}",
                    _ => "reading    [{bar:10}] {bytes} of {total_bytes}, {msg}, {eta} left",
                };
                self.enter(Stage::Reading, *bytes_total, template);
                self.bar.set_position(*bytes_read);
                self.bar.set_message(counted(*n_documents as usize, "document"));
            }
            Event::RunStarted { run, n_init } => {
                self.stage = Stage::None;
                self.run.clear();
                if *n_init > 1 {
                    self.run = format!("run {} of {n_init}, ", run + 1);
                }
            }
            Event::Stability { done, total } => {
                self.stage = Stage::None;
                self.stability = format!("stability {} of {total}, ", done + 1);
            }
            Event::Seeding { done, total } => {
                self.enter(
                    Stage::Seeding,
                    *total as u64,
                    "seeding    [{bar:24}] {percent:>3}%  {msg}{pos} of {len}, {eta} left",
                );
                self.bar.set_position(*done as u64);
                self.begin_pass(self.place());
            }
            Event::Iteration(record) => {
                let template = "iteration  [{bar:4}] {pos}/{len}, {msg}, < {eta} left";
                self.enter(Stage::Iterating, self.max_iter, template);
                self.bar.set_position(record.iteration as u64);
                self.begin_pass(message(&self.place(), record));
            }
            Event::Passing { n_documents, n_documents_total, bytes_read, bytes_total } => {
                let elapsed = self.pass_began.map_or(Duration::ZERO, |began| began.elapsed());
                let pass = pass_message(*n_documents as f64 / *n_documents_total as f64, elapsed);
                let bytes = format!("{} of {}", HumanBytes(*bytes_read), HumanBytes(*bytes_total));
                self.bar.set_message(match self.stage {
                    Stage::Seeding => format!("{}{bytes}{pass}, ", self.message),
                    _ => format!("{}, {bytes}{pass}", self.message),
                });
            }
            // Each fit of a sweep says so.
            Event::DeviceLeft { error } if self.left_device != Some(error.to_string()) => {
                self.left_device = Some(error.to_string());
                self.leave_device(&error.to_string());
            }
            Event::CheckpointFailed { error } => {
                self.say(&format!("warning: no checkpoint: {}", in_words_of_the_command(error)));
            }
            _ => {}
        }
    }
}

/// What is left of a pass of which this share took so long.
fn pass_message(share: f64, elapsed: Duration) -> String {
    if share <= 0.0 || share >= 1.0 || elapsed.is_zero() {
        return String::new();
    }
    format!(", {} left in this pass", HumanDuration(elapsed.mul_f64((1.0 - share) / share)))
}

fn message(run: &str, record: &IterationRecord) -> String {
    format!("{run}{} moved, objective {:.0}", grouped(record.moved_docs as usize), record.objective)
}

impl Observer for Progress {
    fn observe(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        self.show(event);
        if matches!(event, Event::Reading { .. }) {
            self.last_read = Some(Instant::now());
        }
        // The time limit applies only once there is a result.
        let is_late = matches!(event, Event::Iteration(_) | Event::Stability { .. });
        if is_late && self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.out_of_time = true;
        }
        if self.must_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_pass_follows_from_the_share_that_is_done() {
        let of = |share, seconds| pass_message(share, Duration::from_secs(seconds));
        assert_eq!(of(0.25, 10), ", 30 seconds left in this pass");
        assert_eq!(of(0.5, 120), ", 2 minutes left in this pass");
        assert_eq!(of(1.0, 40), "", "it has ended");
        assert_eq!(of(0.5, 0), "", "nobody knows when it began");
    }
}
