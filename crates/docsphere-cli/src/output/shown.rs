//! The summary of a finished run on the terminal.

use anyhow::Result;
use docsphere::{StopReason, Trace};
use docsphere_result::{ClustersFile, names};

use super::remarks::Remarks;
use super::result::{Outcome, RunOptions};
use super::table;
use crate::console::People;
use crate::input::Loaded;
use crate::interrupt;
use crate::numbers::counted;

/// Prints the summary of a run.
pub(crate) fn show(
    outcome: &Outcome,
    options: &RunOptions<'_>,
    loaded: &Loaded,
    out_of_time: bool,
) -> Result<()> {
    let file = &outcome.description.clusters;
    let mut out = People::new();
    let documents = match file.passages {
        Some(passages) => {
            let n_documents = counted(passages.n_documents as usize, "document");
            format!("{} of {n_documents}", counted(file.n_documents, "passage"))
        }
        None => counted(file.n_documents, "document"),
    };
    out.line(format_args!(
        "{documents}, {}, {}",
        counted(file.n_terms, "term"),
        counted(file.n_clusters - file.n_empty_clusters, "cluster")
    ))?;
    let end = match (file.converged, out_of_time) {
        (true, _) => "converged",
        (false, true) => "stopped by the time limit",
        (false, false) if interrupt::asked_to_stop() => "interrupted",
        (false, false) => "not converged",
    };
    out.line(format_args!(
        "{end} after {}, objective {:.1}{}, {:.2} s",
        counted(file.iterations, "iteration"),
        file.objective,
        best_of(&outcome.fit.trace, options.n_runs),
        outcome.seconds.total
    ))?;
    if end == "not converged" {
        out.line("note: raise --max-iter to go on")?;
    }
    if let (Some(path), false) = (options.checkpoint.filter(|path| path.exists()), file.converged) {
        let path = path.display();
        out.line(format_args!("note: to go on, give the same command with --resume {path} --force"))?;
    }
    for remark in remarks(file, loaded).iter() {
        out.line(remark)?;
    }
    out.line("")?;
    table::write_largest(&mut out, file, options.output.show)?;
    out.line("")?;
    out.line(format_args!("written to {}", options.output.folder().display()))?;
    if outcome.description.map.is_some() {
        out.line(format_args!("look at it: {}", options.output.folder().join(names::REPORT).display()))?;
    }
    Ok(())
}

/// The number of runs of which a result is the best, if there were several, and whether all of them
/// were completed.
fn best_of(trace: &Trace, n_runs: usize) -> String {
    let n_whole = trace.runs.iter().filter(|run| run.stop != StopReason::Observer).count();
    if n_runs == 1 {
        String::new()
    } else if n_whole == n_runs {
        format!(", best of {n_runs} runs")
    } else {
        format!(", only {n_whole} of {n_runs} runs were done")
    }
}

/// Notes about the input and the clusters for the user.
pub(crate) fn remarks(file: &ClustersFile, loaded: &Loaded) -> Remarks {
    let mut remarks = loaded.remarks();
    remarks.add(
        file.n_without_terms,
        "document has no term and is in no cluster (-1)",
        "documents have no term and are in no cluster (-1)",
    );
    match file.min_similarity {
        None => remarks.add(
            file.n_outliers,
            "document is an outlier: it shares no term with any cluster (-1)",
            "documents are outliers: they share no term with any cluster (-1)",
        ),
        Some(least) => remarks.add(
            file.n_outliers,
            &format!("document is an outlier: its similarity to every cluster is below {least} (-1)"),
            &format!("documents are outliers: their similarity to every cluster is below {least} (-1)"),
        ),
    }
    let why = match file.min_similarity {
        None => "there are fewer distinct documents than clusters",
        Some(_) => "all of their documents are outliers, or there are fewer distinct ones than clusters",
    };
    remarks.add(
        file.n_empty_clusters,
        &format!("cluster is empty: {why}"),
        &format!("clusters are empty: {why}"),
    );
    remarks
}
