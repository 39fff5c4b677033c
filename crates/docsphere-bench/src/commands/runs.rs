//! Every single run, with all digits: the data behind the tables for people.

use crate::input::Loaded;
use crate::measure::{Job, Outcome, Run};
use crate::report::{Cell, Table};

const PLACE_COLUMNS: [&str; 5] = ["corpus", "documents", "terms", "k", "threads"];

const RUN_COLUMNS: [&str; 20] = [
    "seed",
    "strategy",
    "run",
    "stop",
    "seconds",
    "CPU seconds",
    "others %",
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

/// One row per run.
pub(super) struct RunsTable {
    pub(super) table: Table,
    /// Seconds of each run, and the share of all cores that other processes used meanwhile.
    others: Vec<(f64, f64)>,
}

/// If other processes use more than this share of the machine, seconds are not reliable.
const MUCH: f64 = 0.05;

impl RunsTable {
    pub(super) fn new() -> Self {
        RunsTable { table: Table::new(PLACE_COLUMNS.into_iter().chain(RUN_COLUMNS)), others: Vec::new() }
    }

    /// Adds all runs that were made with the same rows, k and threads.
    pub(super) fn add(&mut self, loaded: &Loaded, job: &Job<'_>, seed: u64, outcomes: &[Outcome]) {
        for outcome in outcomes {
            for (number, run) in outcome.runs.iter().enumerate() {
                let mut row = place_cells(loaded, job);
                row.push(Cell::Count(seed));
                row.extend(run_cells(outcome, number, run));
                self.table.push(row);
                self.others.extend(run.others.map(|others| (run.seconds, others)));
            }
        }
    }

    /// A remark on the share of the machine that other processes used, and what it means.
    pub(super) fn remark_on_others(&self) -> String {
        remark_on_others(&self.others)
    }
}

/// The same, for pairs of the seconds of a run and the share that other processes used meanwhile.
pub(super) fn remark_on_others(others: &[(f64, f64)]) -> String {
    let seconds: f64 = others.iter().map(|(seconds, _)| seconds).sum();
    if seconds == 0.0 {
        return "How much of the machine other processes had is not known: the runs were too short, or the system does not report it.".to_owned();
    }
    let share = others.iter().map(|(seconds, share)| seconds * share).sum::<f64>() / seconds;
    let most = others.iter().map(|&(_, share)| share).fold(0.0, f64::max);
    let verdict = if share > MUCH {
        "**Not a quiet machine**: seconds are too great, and more threads seem to gain nothing; CPU seconds suffer less, counts not at all."
    } else {
        "A quiet machine."
    };
    format!(
        "{verdict} Other processes had {:.0}% of all cores during the runs, {:.0}% in the worst of them.",
        100.0 * share,
        100.0 * most
    )
}

/// The cells that describe the input, k and threads.
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
        run.others.map_or(Cell::Empty, |others| Cell::number(100.0 * others, 0)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_told() {
        let remark = remark_on_others(&[(1.0, 0.7), (3.0, 0.1)]);
        assert!(remark.starts_with("**Not a quiet machine**"), "{remark}");
        assert!(
            remark.ends_with("had 25% of all cores during the runs, 70% in the worst of them."),
            "{remark}"
        );
        assert!(remark_on_others(&[(1.0, 0.01)]).starts_with("A quiet machine."));
        assert!(remark_on_others(&[]).contains("not known"));
    }
}
