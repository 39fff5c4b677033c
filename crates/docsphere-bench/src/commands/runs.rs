//! Every single run, with all digits: what the tables for people were made of.

use crate::input::Loaded;
use crate::measure::{Job, Outcome, Run};
use crate::report::{Cell, Table};

const PLACE_COLUMNS: [&str; 5] = ["corpus", "documents", "terms", "k", "threads"];

const RUN_COLUMNS: [&str; 18] = [
    "strategy",
    "run",
    "stop",
    "seconds",
    "CPU seconds",
    "update seconds",
    "prepare seconds",
    "assign seconds",
    "iterations",
    "assignments",
    "similarities",
    "postings",
    "skipped docs",
    "objective",
    "peak MB",
    "strategy MB",
    "used",
    "fingerprint",
];

/// One row a run.
pub(super) struct RunsTable(pub(super) Table);

impl RunsTable {
    pub(super) fn new() -> Self {
        RunsTable(Table::new(PLACE_COLUMNS.into_iter().chain(RUN_COLUMNS)))
    }

    /// Adds all runs that were made with the same rows, k and threads.
    pub(super) fn add(&mut self, loaded: &Loaded, job: &Job<'_>, outcomes: &[Outcome]) {
        for outcome in outcomes {
            for (number, run) in outcome.runs.iter().enumerate() {
                let mut row = place_cells(loaded, job);
                row.extend(run_cells(outcome, number, run));
                self.0.push(row);
            }
        }
    }
}

/// What was clustered.
fn place_cells(loaded: &Loaded, job: &Job<'_>) -> Vec<Cell> {
    vec![
        Cell::text(&loaded.name),
        Cell::count(job.rows.n_rows()),
        Cell::count(job.rows.n_terms()),
        Cell::count(job.n_clusters),
        Cell::count(job.n_threads),
    ]
}

fn run_cells(outcome: &Outcome, number: usize, run: &Run) -> Vec<Cell> {
    let (stages, counters) = (run.stages(), run.counters());
    vec![
        Cell::text(outcome.strategy.name()),
        Cell::count(number + 1),
        Cell::text(run.stop_name()),
        Cell::seconds(run.seconds),
        Cell::seconds(run.cpu_seconds),
        Cell::seconds(stages.update),
        Cell::seconds(stages.prepare),
        Cell::seconds(stages.assign),
        Cell::count(run.n_iter),
        Cell::count(run.iterations.len()),
        Cell::Count(counters.similarities),
        Cell::Count(counters.postings),
        Cell::Count(counters.skipped_docs),
        Cell::number(run.objective, 6),
        Cell::megabytes(run.peak_bytes),
        Cell::megabytes(Some(run.strategy_bytes())),
        Cell::text(run.used()),
        Cell::text(run.fingerprint.to_string()),
    ]
}

/// Every iteration of the first run of each strategy.
pub(super) struct IterationsTable(pub(super) Table);

impl IterationsTable {
    pub(super) fn new() -> Self {
        let columns = [
            "strategy",
            "iteration",
            "used",
            "update seconds",
            "prepare seconds",
            "assign seconds",
            "moved docs",
            "changed clusters",
            "refilled clusters",
            "similarities",
            "postings",
            "skipped docs",
            "objective",
            "max squared movement",
            "strategy MB",
        ];
        IterationsTable(Table::new(PLACE_COLUMNS.into_iter().chain(columns)))
    }

    pub(super) fn add(&mut self, loaded: &Loaded, job: &Job<'_>, outcomes: &[Outcome]) {
        for outcome in outcomes {
            for record in &outcome.first().iterations {
                let mut row = place_cells(loaded, job);
                row.extend([
                    Cell::text(outcome.strategy.name()),
                    Cell::count(record.iteration),
                    Cell::text(record.strategy.name()),
                    Cell::seconds(record.seconds.update),
                    Cell::seconds(record.seconds.prepare),
                    Cell::seconds(record.seconds.assign),
                    Cell::Count(record.moved_docs),
                    Cell::Count(record.changed_clusters),
                    Cell::Count(record.refilled_clusters),
                    Cell::Count(record.counters.similarities),
                    Cell::Count(record.counters.postings),
                    Cell::Count(record.counters.skipped_docs),
                    Cell::number(record.objective, 6),
                    Cell::number(record.max_squared_movement, 9),
                    Cell::megabytes(Some(record.strategy_bytes)),
                ]);
                self.0.push(row);
            }
        }
    }
}
