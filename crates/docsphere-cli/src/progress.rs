//! Progress display: bars on a terminal, nothing elsewhere.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use docsphere::{Event, IterationRecord, Observer};
use indicatif::{ProgressBar, ProgressStyle};

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
    deadline: Option<Instant>,
    /// Whether the run was stopped by the time limit.
    pub(crate) out_of_time: bool,
    /// Time of the last read.
    pub(crate) last_read: Option<Instant>,
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
            deadline: None,
            out_of_time: false,
            last_read: None,
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
                self.bar.set_message(self.place());
            }
            Event::Iteration(record) => {
                let template = "iteration  [{bar:4}] {pos}/{len}, {msg}, < {eta} left";
                self.enter(Stage::Iterating, self.max_iter, template);
                self.bar.set_position(record.iteration as u64);
                self.bar.set_message(message(&self.place(), record));
            }
            Event::DeviceLeft { error } => {
                self.say(&format!("note: the CPU is used: {error}"));
            }
            Event::CheckpointFailed { error } => {
                self.say(&format!("warning: no checkpoint: {}", in_words_of_the_command(error)));
            }
            _ => {}
        }
    }
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
