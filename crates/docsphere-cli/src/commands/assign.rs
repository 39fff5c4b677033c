//! `docsphere assign`: labels new documents with an existing model.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use docsphere::{DocId, Model, Nearest, Predictor, UnitRows};
use docsphere_result::edits::{self, Edits, Relabelled};
use docsphere_result::{AssignedColumns, documents, rounded};
use serde_json::json;

use super::model_rows::{ModelRows, rows_for_model};
use crate::args::{InputArgs, KeepArgs, MemoryArgs, UsageError, parse_similarity};
use crate::console::{data, tell};
use crate::memory;
use crate::output::reads::Reads;
use crate::output::whole_file::write_whole;
use crate::progress::Progress;

/// Assign new documents to the clusters of a model
#[derive(clap::Args)]
#[command(after_help = "Example:\n  docsphere assign out new.csv --text-field body --min-similarity 0.1")]
pub(crate) struct Args {
    /// A model file, or the result folder that holds it
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    keep: KeepArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Number of nearest clusters to show for each document
    #[arg(long, value_name = "M", default_value_t = 1, help_heading = "Output")]
    top: usize,

    /// A document less similar than this to every centroid gets cluster -1
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_similarity, help_heading = "Output")]
    min_similarity: f64,

    /// Format of the output
    #[arg(long = "as", value_name = "FORMAT", default_value = "csv", help_heading = "Output")]
    lines: LineFormat,

    /// Of documents that are cut into passages (--split), write one line per document: the cluster
    /// of most of its passages, its share, and the other clusters
    #[arg(long, help_heading = "Output")]
    by_document: bool,

    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Print nothing but the assignments and errors
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LineFormat {
    Csv,
    Jsonl,
}

/// Documents whose nearest clusters are found at a time: the rows may be in a file.
const BLOCK_DOCS: usize = 1 << 16;

/// The nearest clusters of all documents, after edits, as they are asked for in order.
struct Found<'a> {
    rows: &'a UnitRows<'static>,
    predictor: Predictor,
    /// Clusters to find for each.
    n_nearest: usize,
    /// Those of the present block, and its first document.
    nearest: Nearest,
    first: usize,
    /// Documents of the blocks so far, and those of them that share no term with any cluster.
    n_found: usize,
    n_outliers: usize,
    moves: Relabelled,
    top: usize,
    min_similarity: f64,
}

impl Found<'_> {
    /// Finds the clusters of the block that begins with a document.
    fn find(&mut self, first: usize) -> Result<()> {
        let end = self.rows.n_rows().min(first + BLOCK_DOCS);
        self.nearest = self.predictor.nearest_of(self.rows, first..end, self.n_nearest)?;
        (self.first, self.n_found) = (first, end);
        let is_outlier = |&doc: &usize| {
            self.rows.row(doc).nnz() > 0 && self.nearest.of(DocId::new((doc - first) as u32)).is_empty()
        };
        self.n_outliers += (first..end).filter(is_outlier).count();
        Ok(())
    }

    /// Those of the next document, or of one of its block: none if its nearest cluster is one of
    /// outliers.
    fn of(&mut self, doc: usize) -> Result<Vec<(u32, f64)>> {
        if doc == self.n_found {
            self.find(doc)?;
        }
        let mut found: Vec<(u32, f64)> = Vec::with_capacity(self.top);
        for (place, neighbour) in self.nearest.of(DocId::new((doc - self.first) as u32)).iter().enumerate() {
            if neighbour.similarity < self.min_similarity {
                break;
            }
            let (cluster, similarity) =
                self.moves.cluster_of_new(neighbour.cluster.number() as i32, self.rows.row(doc));
            let similarity = similarity.unwrap_or(neighbour.similarity);
            match u32::try_from(cluster) {
                Ok(cluster) if found.len() < self.top && found.iter().all(|other| other.0 != cluster) => {
                    found.push((cluster, rounded(similarity)));
                }
                Err(_) if place == 0 => break,
                _ => {}
            }
        }
        Ok(found)
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        memory::allow(self.memory.max_memory);
        if self.by_document && !self.keep.keep().is_nothing() {
            let message =
                "--by-document writes no columns; leave out --keep and --date-field, or --by-document";
            return Err(UsageError(message.to_owned()).into());
        }
        if let Some(path) = &self.output {
            let mut reads = Reads::of_input(&self.input);
            reads.add("the model", Some(super::model_path(&self.model)));
            if self.model.is_dir() {
                reads.add_result(&self.model, &[]);
            }
            reads.check_file(path)?;
        }
        let model = Model::load_within(super::model_path(&self.model), &memory::of_readers())?;
        let mut progress = Progress::new(self.quiet);
        let mut rows = rows_for_model(&model, &self.input, &self.keep, &mut progress)?;
        progress.finish();
        if self.by_document && rows.split.is_none() {
            let message = "--by-document goes with passages: the documents were not split, and the model's were not; give --split";
            return Err(UsageError(message.to_owned()).into());
        }
        let moves = self.moves()?;
        let n_nearest = self.top + moves.n_emptied();
        let n_nearest = n_nearest.min(model.centroids().n_clusters()).max(self.top);
        let predictor = model.predictor();
        let mut found = Found {
            rows: &rows.rows,
            n_nearest,
            nearest: predictor.nearest_of(&rows.rows, 0..0, n_nearest)?,
            predictor,
            first: 0,
            n_found: 0,
            n_outliers: 0,
            moves,
            top: self.top,
            min_similarity: self.min_similarity,
        };
        // Whatever can be refused is refused before anything is written.
        found.find(0)?;
        match &self.output {
            None => self.write(&rows, &mut found, data())?,
            Some(path) => write_whole(path, |file| self.write(&rows, &mut found, file))?,
        }
        let n_outliers = found.n_outliers;
        if !self.quiet {
            rows.remarks.add(
                rows.rows.zero_rows().len(),
                "document has no term that the model knows (-1)",
                "documents have no term that the model knows (-1)",
            );
            rows.remarks.add(
                n_outliers,
                "document is an outlier: it shares no term with any cluster (-1)",
                "documents are outliers: they share no term with any cluster (-1)",
            );
            rows.remarks.iter().for_each(tell);
        }
        Ok(())
    }

    /// What the edits of the result do to clusters.
    fn moves(&self) -> Result<Relabelled> {
        let limit = memory::of_readers();
        let edits = if self.model.is_dir() { Edits::read(&self.model, &limit)? } else { Edits::default() };
        if edits.is_empty() {
            return Ok(Relabelled::default());
        }
        Ok(edits::apply(&edits::base_of(&self.model), &self.model, &edits, &limit)?.moves)
    }

    fn write(&self, rows: &ModelRows, nearest: &mut Found<'_>, out: impl Write) -> Result<()> {
        let mut out = BufWriter::new(out);
        if self.by_document {
            let cluster =
                |doc| anyhow::Ok(nearest.of(doc)?.first().map_or(-1, |&(cluster, _)| cluster as i32));
            let clusters: Vec<i32> = (0..rows.ids.len()).map(cluster).collect::<Result<_>>()?;
            let documents = documents::by_document(rows.ids.iter().zip(clusters));
            match self.lines {
                LineFormat::Csv => documents::write_csv(documents, &mut out)?,
                LineFormat::Jsonl => documents::write_jsonl(documents, &mut out)?,
            };
            return Ok(out.flush()?);
        }
        match self.lines {
            LineFormat::Csv => self.write_csv(rows, nearest, out),
            LineFormat::Jsonl => self.write_jsonl(rows, nearest, out),
        }
    }

    fn write_csv(&self, rows: &ModelRows, nearest: &mut Found<'_>, out: impl Write) -> Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let mut header = vec!["id".to_owned(), "cluster".to_owned(), "similarity".to_owned()];
        for place in 2..=self.top {
            header.extend([format!("cluster_{place}"), format!("similarity_{place}")]);
        }
        header.push("unknown_share".to_owned());
        let names = rows.column_names();
        let mut values = rows.columns(&names).map(AssignedColumns::values);
        header.extend(names.iter().cloned());
        writer.write_record(&header)?;
        for (doc, id) in rows.ids.iter().enumerate() {
            let found = nearest.of(doc)?;
            let mut record = vec![id.to_owned()];
            for place in 0..self.top {
                let (cluster, similarity) = found.get(place).map_or((-1, 0.0), |&(c, s)| (i64::from(c), s));
                record.extend([cluster.to_string(), format!("{similarity:.6}")]);
            }
            record.push(format!("{:.3}", rows.unknown_share(doc)));
            if let Some(values) = &mut values {
                record.extend(values.next_texts()?);
            }
            writer.write_record(&record)?;
        }
        Ok(writer.flush()?)
    }

    fn write_jsonl(&self, rows: &ModelRows, nearest: &mut Found<'_>, mut out: impl Write) -> Result<()> {
        let names = rows.column_names();
        let mut values = rows.columns(&names).map(AssignedColumns::values);
        for (doc, id) in rows.ids.iter().enumerate() {
            let found = nearest.of(doc)?;
            let (cluster, similarity) = found.first().map_or((-1, 0.0), |&(c, s)| (i64::from(c), s));
            let mut line = json!({
                "id": id,
                "cluster": cluster,
                "similarity": similarity,
                "unknown_share": rounded(rows.unknown_share(doc)),
            });
            if self.top > 1 {
                let entry = |&(cluster, similarity): &(u32, f64)| json!({"cluster": cluster, "similarity": similarity});
                line["nearest"] = found.iter().map(entry).collect();
            }
            if let (Some(values), Some(line)) = (&mut values, line.as_object_mut()) {
                line.extend(values.next_json()?);
            }
            serde_json::to_writer(&mut out, &line)?;
            out.write_all(b"\n")?;
        }
        Ok(out.flush()?)
    }
}
