//! `documents.csv`, `.jsonl` or `.parquet`: the clusters of whole documents, for a result whose
//! documents were cut into passages. One line per document, in the order of the input.
//!
//! The lines are made from the assignments of the passages: those of a document follow each other,
//! and their ids are the id of the document, `#` and a number from 1.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;

use crate::assignments::{Assignments, AssignmentsFormat, rounded};
use crate::error::{Error, Result};

#[cfg(feature = "parquet")]
#[path = "documents/parquet_enabled.rs"]
mod parquet_file;

#[cfg(not(feature = "parquet"))]
#[path = "documents/parquet_disabled.rs"]
mod parquet_file;

/// Number of clusters in a line besides the main one.
const MAX_OTHERS: usize = 5;

/// A document and the clusters of its passages.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DocumentClusters<'a> {
    /// The document's id.
    pub id: &'a str,
    /// The number of its passages.
    pub n_passages: u32,
    /// The cluster of most of its passages, of several the one with the smallest number; -1 if no
    /// passage has one.
    pub cluster: i32,
    /// The share of its passages that are in this cluster, of all passages.
    pub share: f64,
    /// The other clusters of its passages, by share, at most five.
    pub others: Vec<ClusterShare>,
}

/// A cluster and its share of the passages of a document.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusterShare {
    /// The cluster.
    pub cluster: i32,
    /// The share of the passages that are in it.
    pub share: f64,
}

/// The documents of passages, which are ids and clusters in order.
pub fn by_document<'a>(
    passages: impl Iterator<Item = (&'a str, i32)>,
) -> impl Iterator<Item = DocumentClusters<'a>> {
    let mut passages = passages.peekable();
    std::iter::from_fn(move || {
        let (first, cluster) = passages.next()?;
        let (id, _) = document_of(first);
        let mut clusters = BTreeMap::from([(cluster, 1)]);
        let mut n_passages = 1;
        // A document begins with passage 1: ids may repeat.
        while let Some((_, cluster)) = passages.next_if(|(next, _)| {
            let (next, number) = document_of(next);
            next == id && number > 1
        }) {
            n_passages += 1;
            *clusters.entry(cluster).or_default() += 1;
        }
        Some(DocumentClusters::new(id, n_passages, clusters))
    })
}

/// The id of the document of a passage: of `notes#3` it is `notes`.
pub fn id_of_passage(passage: &str) -> &str {
    document_of(passage).0
}

/// The id of a passage's document, and the number of the passage.
fn document_of(passage: &str) -> (&str, u64) {
    let parts = passage.rsplit_once('#');
    parts.and_then(|(id, number)| Some((id, number.parse().ok()?))).unwrap_or((passage, 1))
}

impl<'a> DocumentClusters<'a> {
    fn new(id: &'a str, n_passages: u32, mut clusters: BTreeMap<i32, u32>) -> Self {
        clusters.remove(&-1);
        let mut shares: Vec<(i32, u32)> = clusters.into_iter().collect();
        // The sort is stable: by cluster, where shares are equal.
        shares.sort_by_key(|&(_, number)| std::cmp::Reverse(number));
        let share = |number: u32| rounded(f64::from(number) / f64::from(n_passages));
        let mut shares = shares.into_iter();
        let (cluster, number) = shares.next().unwrap_or((-1, 0));
        let others = shares.take(MAX_OTHERS);
        let others = others.map(|(cluster, number)| ClusterShare { cluster, share: share(number) }).collect();
        DocumentClusters { id, n_passages, cluster, share: share(number), others }
    }
}

/// Writes the documents of these passages, which are ids and clusters in order, into a folder.
pub(crate) fn write<'a>(
    folder: &Path,
    format: AssignmentsFormat,
    passages: impl Iterator<Item = (&'a str, i32)>,
) -> Result<usize> {
    let path = &folder.join(format.documents_name());
    format.check_build().map_err(|error| error.at_path(path))?;
    let documents = by_document(passages);
    if format == AssignmentsFormat::Parquet {
        return parquet_file::write(path, documents);
    }
    let write = || -> io::Result<usize> {
        let mut file = BufWriter::new(File::create(path)?);
        let written = match format {
            AssignmentsFormat::Csv => write_csv(documents, &mut file)?,
            _ => write_jsonl(documents, &mut file)?,
        };
        file.flush().map(|()| written)
    };
    write().map_err(|error| Error::writing(error, path))
}

impl Assignments<'_> {
    /// The documents of these lines, which are passages.
    pub fn documents(&self) -> impl Iterator<Item = DocumentClusters<'_>> {
        by_document(self.iter().map(|line| (line.id, line.cluster)))
    }

    /// Writes the documents of these lines, which are passages, into a folder, under the name of
    /// their format. Returns their number. The file is not synced.
    ///
    /// # Errors
    /// If the system cannot write it, or the format is not in this build.
    pub fn write_documents(&self, folder: &Path, format: AssignmentsFormat) -> Result<usize> {
        write(folder, format, self.iter().map(|line| (line.id, line.cluster)))
    }
}

/// Writes lines as comma-separated values. The other clusters are in one field: `7:0.25 3:0.125`.
/// Returns the number of lines.
///
/// # Errors
/// Those of `out`.
pub fn write_csv<'a>(
    documents: impl Iterator<Item = DocumentClusters<'a>>,
    out: &mut dyn Write,
) -> io::Result<usize> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    writer.write_record(["id", "n_passages", "cluster", "share", "others"])?;
    let mut n_written = 0;
    for document in documents {
        let others: Vec<String> =
            document.others.iter().map(|other| format!("{}:{:.6}", other.cluster, other.share)).collect();
        writer.write_record([
            document.id,
            &document.n_passages.to_string(),
            &document.cluster.to_string(),
            &format!("{:.6}", document.share),
            &others.join(" "),
        ])?;
        n_written += 1;
    }
    writer.flush().map(|()| n_written)
}

/// Writes lines as JSON objects. Returns their number.
///
/// # Errors
/// Those of `out`.
pub fn write_jsonl<'a>(
    documents: impl Iterator<Item = DocumentClusters<'a>>,
    out: &mut dyn Write,
) -> io::Result<usize> {
    let mut n_written = 0;
    for document in documents {
        serde_json::to_writer(&mut *out, &document)?;
        out.write_all(b"\n")?;
        n_written += 1;
    }
    Ok(n_written)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use docsphere::{Ids, Labels};

    use super::*;

    fn lines<'a>(passages: &'a [(&'a str, i32)]) -> Vec<DocumentClusters<'a>> {
        by_document(passages.iter().copied()).collect()
    }

    #[test]
    fn passages_lead_back_to_their_documents() {
        let found = lines(&[
            ("a#1", 3),
            ("a#2", 1),
            ("a#3", 3),
            ("a#4", -1),
            ("b#1#1", -1),
            ("b#2#1", 2),
            ("b#2#1", 5), // another document with the same id
            ("b#2#2", 4),
            ("whole", 0),
        ]);
        let facts: Vec<_> = found.iter().map(|d| (d.id, d.n_passages, d.cluster, d.share)).collect();
        let expected = [
            ("a", 4, 3, 0.5),
            ("b#1", 1, -1, 0.0),
            ("b#2", 1, 2, 1.0),
            ("b#2", 2, 4, 0.5),
            ("whole", 1, 0, 1.0),
        ];
        assert_eq!(facts, expected);
        assert_eq!(found[0].others, [ClusterShare { cluster: 1, share: 0.25 }]);
        assert_eq!(found[3].others, [ClusterShare { cluster: 5, share: 0.5 }], "ties go to the smaller one");
    }

    #[test]
    fn the_list_of_other_clusters_is_bounded() {
        let ids: Ids = (1..=40).map(|number| format!("long#{number}")).collect();
        let passages: Vec<_> = ids.iter().zip(0..).map(|(id, number)| (id, number % 20)).collect();
        let found = &lines(&passages)[0];
        assert_eq!((found.n_passages, found.cluster, found.share), (40, 0, 0.05));
        assert_eq!(found.others.iter().map(|other| other.cluster).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn documents_are_written_in_every_format_of_this_build() {
        let ids: Ids = ["a,b#1", "a,b#2", "a,b#3", "c#1"].into_iter().collect();
        let labels = Labels::from(vec![7, 7, 2, -1]);
        let similarities = &[0.5; 4];
        let passages = Assignments {
            ids: &ids,
            labels: &labels,
            similarities,
            nearest: None,
            silhouettes: None,
            copies: None,
            columns: None,
        };
        for &format in AssignmentsFormat::ALL {
            let folder = tempfile::tempdir().unwrap();
            let written = passages.write_documents(folder.path(), format);
            if format.check_build().is_err() {
                assert!(written.is_err(), "{format}");
                continue;
            }
            assert_eq!(written.unwrap(), 2);
            let path = folder.path().join(format.documents_name());
            match format {
                AssignmentsFormat::Csv => assert_eq!(
                    fs::read_to_string(path).unwrap(),
                    "id,n_passages,cluster,share,others\n\"a,b\",3,7,0.666667,2:0.333333\nc,1,-1,0.000000,\n"
                ),
                AssignmentsFormat::Jsonl => assert_eq!(
                    fs::read_to_string(path).unwrap(),
                    "{\"id\":\"a,b\",\"n_passages\":3,\"cluster\":7,\"share\":0.666667,\"others\":[{\"cluster\":2,\"share\":0.333333}]}\n\
                     {\"id\":\"c\",\"n_passages\":1,\"cluster\":-1,\"share\":0.0,\"others\":[]}\n"
                ),
                AssignmentsFormat::Parquet => {
                    let mut found = Vec::new();
                    let options = docsphere::CorpusOptions::default().id_field("id").text_fields([
                        "n_passages",
                        "cluster",
                        "share",
                    ]);
                    let corpus = docsphere::Corpus::open([path], options).unwrap();
                    corpus
                        .for_each_document(|line| found.push(format!("{} {}", line.id, line.text)))
                        .unwrap();
                    assert_eq!(found, ["a,b 3\n7\n0.666667", "c 1\n-1\n0"]);
                }
            }
        }
    }
}
