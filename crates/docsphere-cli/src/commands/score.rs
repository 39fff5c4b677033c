//! `docsphere score`: how well the clusters of a result find known classes.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail, ensure};
use docsphere::{Contingency, Corpus, ErrorKind, Keep, Labels, Split};
use docsphere_result::{ClusterEntry, ClustersFile, ReadAssignment, kept_values, read_assignments, rounded};
use serde_json::json;

use crate::args::{InputArgs, UsageError};
use crate::console::{People, print_json, tell};
use crate::failure::in_words_of_the_command;
use crate::memory;
use crate::numbers::{counted, grouped, percent};
use crate::output::remarks::Remarks;
use crate::output::table;

/// Compare the clusters of a result with known labels: NMI, ARI, accuracy, purity
#[derive(clap::Args)]
#[command(
    mut_arg("inputs", |arg| arg.required(false)),
    after_help = "Without INPUT the labels are those that the result keeps (cluster --keep).\n\nExamples:\n  docsphere score out tickets.csv --label-field category\n  docsphere score out --label-field category"
)]
pub(crate) struct Args {
    /// The result folder
    #[arg(value_name = "OUT")]
    result: PathBuf,

    #[command(flatten)]
    input: InputArgs,

    /// Field (column) that holds the label; documents where it is empty do not count
    #[arg(long, value_name = "NAME", required = true)]
    label_field: String,

    /// Number of clusters shown in the table
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Output")]
    show: usize,

    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// The known labels of a corpus.
#[derive(Default)]
struct Classes {
    numbers: HashMap<String, i32>,
    names: Vec<String>,
    /// For each document its id, and its class or -1.
    documents: Vec<(String, i32)>,
}

impl Classes {
    fn add(&mut self, id: &str, label: &str) {
        let label = label.trim();
        let class = if label.is_empty() {
            -1
        } else if let Some(&class) = self.numbers.get(label) {
            class
        } else {
            let class = self.names.len() as i32;
            self.numbers.insert(label.to_owned(), class);
            self.names.push(label.to_owned());
            class
        };
        self.documents.push((id.to_owned(), class));
    }
}

/// What a cluster consists of.
struct Content<'a> {
    cluster: &'a ClusterEntry,
    /// Documents with a label.
    n_labelled: u64,
    /// Its most frequent class, and how many documents are of it.
    class: usize,
    n_of_class: u64,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let clusters = ClustersFile::read(&self.result, &memory::of_readers())?;
        let assignments = read_assignments(&self.result, &memory::of_readers())?;
        let classes = if self.input.inputs.is_empty() {
            self.kept_classes(&assignments)?
        } else {
            self.read_classes(clusters.passages.map(|passages| passages.split))?
        };
        ensure!(
            classes.documents.len() == assignments.len(),
            "the input has {}, but the result has {}; give the same input and input options as to cluster",
            counted(classes.documents.len(), "document"),
            grouped(assignments.len())
        );
        let mut pairs = classes.documents.iter().zip(&assignments).enumerate();
        if let Some((doc, (found, expected))) = pairs.find(|(_, (found, expected))| found.0 != expected.id) {
            bail!(
                "document {} is {:?} in the input, but {:?} in the result; give the same input and input options as to cluster",
                doc + 1,
                found.0,
                expected.id
            );
        }
        ensure!(
            !classes.names.is_empty(),
            "no document has a label: the field {:?} is empty everywhere",
            self.label_field
        );
        let labels = Labels::from(assignments.iter().map(|line| line.cluster).collect::<Vec<i32>>());
        let known = Labels::from(classes.documents.iter().map(|document| document.1).collect::<Vec<i32>>());
        let n_labelled = known.as_slice().iter().filter(|class| **class >= 0).count();
        let both = Contingency::new(&labels, &known)?;
        let contents = contents(&clusters, &both);
        if self.json {
            return self.print(&both, n_labelled, &classes, &contents);
        }
        self.show(&both, n_labelled, &classes, &contents)
    }

    /// The labels that the result keeps.
    fn kept_classes(&self, assignments: &[ReadAssignment]) -> Result<Classes> {
        let Some(labels) = kept_values(&self.result, &self.label_field, &memory::of_readers())? else {
            let message = format!(
                "{}: keeps no column {:?}; give the input of the run after it",
                self.result.display(),
                self.label_field
            );
            return Err(UsageError(message).into());
        };
        let mut classes = Classes::default();
        for (line, label) in assignments.iter().zip(&labels) {
            classes.add(&line.id, label);
        }
        Ok(classes)
    }

    /// Reads the labels of all documents.
    fn read_classes(&self, split: Option<Split>) -> Result<Classes> {
        if self.input.matrix_format().is_some() {
            let message = "score needs documents with labels; a matrix has none";
            return Err(UsageError(message.to_owned()).into());
        }
        let mut options = self.input.corpus_options_of_result(split);
        options.keep = Keep::Named(vec![self.label_field.clone()]);
        let corpus = Corpus::open(&self.input.inputs, options)?;
        let mut classes = Classes::default();
        let stats = corpus.for_each_document(|document| {
            classes.add(document.id, document.kept.values().first().map_or("", |(_, value)| value));
        });
        let stats = stats.map_err(|error| match error.kind() {
            // Labels are read as a kept column, which is called otherwise here.
            ErrorKind::MissingField { option: "keep", .. } => {
                anyhow!(in_words_of_the_command(&error).replace("--keep", "--label-field"))
            }
            _ => error.into(),
        })?;
        Remarks::of_reading(&stats).iter().for_each(tell);
        Ok(classes)
    }

    fn print(
        &self,
        both: &Contingency,
        n_labelled: usize,
        classes: &Classes,
        contents: &[Content<'_>],
    ) -> Result<()> {
        let agreement = both.agreement();
        let list: Vec<_> = contents
            .iter()
            .map(|content| {
                json!({
                    "id": content.cluster.id,
                    "name": content.cluster.title(),
                    "size": content.cluster.size,
                    "n_labelled": content.n_labelled,
                    "label": classes.names[content.class],
                    "purity": rounded(content.purity()),
                })
            })
            .collect();
        print_json(&json!({
            "n_labels": classes.names.len(),
            "n_labelled": n_labelled,
            "n_compared": both.n_docs(),
            "nmi": rounded(agreement.nmi),
            "ari": rounded(agreement.ari),
            "accuracy": rounded(both.accuracy()),
            "purity": rounded(both.purity()),
            "clusters": list,
        }))
    }

    fn show(
        &self,
        both: &Contingency,
        n_labelled: usize,
        classes: &Classes,
        contents: &[Content<'_>],
    ) -> Result<()> {
        let agreement = both.agreement();
        let mut out = People::new();
        out.line(format_args!(
            "{} with a label in a cluster, {}",
            counted(both.n_docs() as usize, "document"),
            counted(classes.names.len(), "label")
        ))?;
        let n_outside = n_labelled as u64 - both.n_docs();
        if n_outside > 0 {
            out.line(format_args!(
                "{} with a label in no cluster do not count",
                counted(n_outside as usize, "document")
            ))?;
        }
        out.line("")?;
        for (name, value, meaning) in [
            ("NMI", agreement.nmi, "normalised mutual information, 0 to 1"),
            ("ARI", agreement.ari, "adjusted Rand index, 0 is chance"),
            ("accuracy", both.accuracy(), "one cluster per label, in the best way"),
            ("purity", both.purity(), "most frequent label of each cluster"),
        ] {
            out.line(format_args!("{name:<9} {value:.3}  {meaning}"))?;
        }
        out.line("")?;
        out.bold("cluster     size  purity  label: name of the cluster")?;
        for content in contents.iter().take(self.show) {
            let left = format!(
                "{:>7} {:>8} {:>7}  ",
                content.cluster.id,
                grouped(content.cluster.size),
                percent(content.purity())
            );
            let text = format!("{}: {}", classes.names[content.class], content.cluster.title());
            let room = table::width().saturating_sub(left.len());
            out.line(format_args!("{left}{}", table::shortened(&text, room)))?;
        }
        if contents.len() > self.show {
            out.dim(format_args!("and {}; see --show", counted(contents.len() - self.show, "more cluster")))?;
        }
        Ok(())
    }
}

impl Content<'_> {
    fn purity(&self) -> f64 {
        self.n_of_class as f64 / self.n_labelled as f64
    }
}

/// The clusters that have labelled documents, largest first.
fn contents<'a>(file: &'a ClustersFile, both: &Contingency) -> Vec<Content<'a>> {
    let entries: BTreeMap<u32, &ClusterEntry> =
        file.clusters.iter().map(|cluster| (cluster.id, cluster)).collect();
    let mut contents = Vec::new();
    for cells in both.cells().chunk_by(|x, y| x.0.0 == y.0.0) {
        let Some(cluster) = entries.get(&(cells[0].0.0 as u32)) else { continue };
        // Of several classes with as many documents, the first.
        let best = cells.iter().rev().max_by_key(|cell| cell.1).unwrap_or(&cells[0]);
        contents.push(Content {
            cluster,
            n_labelled: cells.iter().map(|cell| cell.1).sum(),
            class: best.0.1 as usize,
            n_of_class: best.1,
        });
    }
    contents.sort_by_key(|content| (std::cmp::Reverse(content.cluster.size), content.cluster.id));
    contents
}
