//! Hits by cluster, and documents by the bins of their kept columns.
//!
//! Clusters and bins of all documents are in memory, a few bytes per document: SQLite finds words,
//! and this file looks up the rest. An index of SQLite for each column would have to read a page of
//! the file for each hit, and cannot join several columns with words without doing so.

use rusqlite::params;
use serde::Serialize;

use docsphere_result::{BinFilter, DocumentBins};

use super::answers::{Documents, Hits, MAX_COUNTED, PAGE_DOCS, Trouble};
use super::asked::Question;
use super::expression::{OPEN, expression};

/// The greatest number of hits that are counted by cluster.
const MAX_CLUSTERED: usize = 2_000_000;

/// The greatest number of documents that are named.
const MAX_NAMED: usize = 100_000;

/// What is known of all documents without the index.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// The cluster of each document.
    pub(crate) clusters: Vec<i32>,
    pub(crate) bins: DocumentBins,
}

/// The documents that match a request, by cluster.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Clustered {
    /// Their number, at most [`MAX_CLUSTERED`].
    pub(crate) total: usize,
    /// Whether there are more; they are counted nowhere.
    pub(crate) is_more: bool,
    /// Clusters and the numbers of their hits, the most first.
    pub(crate) clusters: Vec<(i32, usize)>,
    /// The numbers of the documents, ascending; evenly spaced ones if they are many.
    pub(crate) numbers: Vec<u32>,
}

/// A page of the documents that pass a filter, in the order in which they come.
#[derive(Default)]
struct Passed {
    /// Number of those that passed, as far as they were counted.
    total: usize,
    /// The first of them, [`MAX_COUNTED`] + 1 at most.
    first: Vec<i64>,
    page: Vec<i64>,
}

impl Passed {
    /// Adds a document; false if no further ones are needed.
    fn add(&mut self, number: i64, offset: usize) -> bool {
        if self.first.len() <= MAX_COUNTED {
            self.first.push(number);
        }
        if (offset..offset + PAGE_DOCS).contains(&self.total) {
            self.page.push(number);
        }
        self.total += 1;
        self.total <= MAX_COUNTED || self.total < offset + PAGE_DOCS
    }
}

impl Documents {
    /// The filter of a request.
    pub(super) fn filter(&self, bins: &[(u32, Vec<u8>)]) -> Result<BinFilter<'_>, Trouble> {
        self.selection.bins.filter(bins).map_err(|column| {
            Trouble::Question(format!(
                "there are no bins of column {column}; a result has them in points.docsphere, for dates, numbers and categories"
            ))
        })
    }

    /// The hits of a request by cluster.
    pub(crate) fn by_cluster(&self, question: &Question) -> Result<Clustered, Trouble> {
        let filter = self.filter(&question.bins)?;
        let words = expression(&question.words).map_err(Trouble::Question)?;
        let mut numbers: Vec<u32> = Vec::new();
        match &words {
            Some(words) => {
                let words = self.searched(words)?;
                self.for_each_hit(words, |number| {
                    if filter.passes(number as usize) {
                        numbers.push(number as u32);
                    }
                    numbers.len() <= MAX_CLUSTERED
                })?;
            }
            None if question.words.trim().is_empty() && !filter.is_empty() => {
                let all = 0..self.selection.clusters.len() as u32;
                numbers.extend(all.filter(|&doc| filter.passes(doc as usize)).take(MAX_CLUSTERED + 1));
            }
            // Neither words nor bins: nothing is asked for.
            None => {}
        }
        let is_more = numbers.len() > MAX_CLUSTERED;
        numbers.truncate(MAX_CLUSTERED);
        let total = numbers.len();
        let clusters = self.counted(&numbers);
        if total > MAX_NAMED {
            numbers = (0..MAX_NAMED).map(|position| numbers[position * total / MAX_NAMED]).collect();
        }
        Ok(Clustered { total, is_more, clusters, numbers })
    }

    /// How many of these documents each cluster has, the most first.
    fn counted(&self, numbers: &[u32]) -> Vec<(i32, usize)> {
        let mut counts: Vec<usize> = Vec::new();
        for &number in numbers {
            let cluster = self.selection.clusters.get(number as usize).copied().unwrap_or(-1);
            // The documents without a cluster are counted first.
            let place = (cluster + 1).max(0) as usize;
            if place >= counts.len() {
                counts.resize(place + 1, 0);
            }
            counts[place] += 1;
        }
        let mut counts: Vec<(i32, usize)> = (-1..).zip(counts).filter(|&(_, n)| n > 0).collect();
        counts.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
        counts
    }

    /// Like [`Documents::listed`], only documents that pass a filter.
    pub(super) fn listed_filtered(
        &self,
        cluster: Option<i32>,
        filter: &BinFilter<'_>,
        offset: usize,
    ) -> Result<(usize, Vec<i64>), Trouble> {
        let mut passed = Passed::default();
        match cluster {
            None => {
                let mut all = (0..self.selection.clusters.len()).filter(|&doc| filter.passes(doc));
                while all.next().is_some_and(|doc| passed.add(doc as i64, offset)) {}
            }
            // The index by cluster has this order.
            Some(cluster) => {
                let query =
                    "SELECT number FROM documents WHERE cluster = ?1 ORDER BY similarity DESC, number";
                let mut statement = self.connection.prepare_cached(query)?;
                let mut rows = statement.query([cluster])?;
                while let Some(row) = rows.next()? {
                    let number: i64 = row.get(0)?;
                    if filter.passes(number as usize) && !passed.add(number, offset) {
                        break;
                    }
                }
            }
        }
        Ok((passed.first.len(), passed.page))
    }

    /// A page of the documents that contain the words, are in the cluster and pass the filter.
    pub(super) fn hits_filtered<'a>(
        &self,
        words: &'a str,
        cluster: Option<i32>,
        filter: &BinFilter<'_>,
        offset: usize,
    ) -> Result<Hits<'a>, Trouble> {
        let words = self.searched(words)?;
        let mut passed = Passed::default();
        self.for_each_hit(words, |number| {
            let doc = number as usize;
            let is_in = cluster.is_none_or(|c| self.selection.clusters.get(doc) == Some(&c));
            !(is_in && filter.passes(doc)) || passed.add(number, offset)
        })?;
        let total = passed.first.len();
        if total > MAX_COUNTED || offset >= total {
            return Ok(Hits { words, total, numbers: passed.page });
        }
        // FTS5 computes ranks only for the rows that are left.
        let numbers = serde_json::to_string(&passed.first).expect("plain numbers");
        let query = format!(
            "SELECT rowid FROM words WHERE words MATCH ?1 AND +rowid IN (SELECT value FROM json_each(?2))
             ORDER BY rank, rowid LIMIT {PAGE_DOCS} OFFSET ?3"
        );
        let numbers = self.numbers(&query, params![words, numbers, offset as i64])?;
        Ok(Hits { words, total, numbers })
    }

    /// The expression that is actually used. A prefix search takes ten times as long as a word
    /// search, and FTS5 does it for all documents before the first hit. So it is skipped if the
    /// word itself is frequent.
    pub(super) fn searched<'a>(&self, words: &'a str) -> Result<&'a str, Trouble> {
        let Some(whole) = words.strip_suffix(OPEN) else { return Ok(words) };
        let mut n_hits = 0;
        self.for_each_hit(whole, |_| {
            n_hits += 1;
            n_hits <= MAX_COUNTED
        })?;
        Ok(if n_hits > MAX_COUNTED { whole } else { words })
    }

    /// Calls `hit` with the documents that contain the words, in corpus order, until it returns
    /// false.
    fn for_each_hit(&self, words: &str, mut hit: impl FnMut(i64) -> bool) -> Result<(), Trouble> {
        let query = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid";
        let mut statement = self.connection.prepare_cached(query)?;
        let mut rows = statement.query([words])?;
        while let Some(row) = rows.next()? {
            if !hit(row.get(0)?) {
                break;
            }
        }
        Ok(())
    }
}
