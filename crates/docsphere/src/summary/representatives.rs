//! Representative documents by maximal marginal relevance: near the centroid, with several
//! keywords, and different from each other. And the documents farthest from the centroid.
//!
//! The relevance of a document is its similarity to the centroid, times `(1 + c) / 2` with c the
//! share of the cluster's first keywords that it has. Documents are chosen one by one: next comes
//! the one with the highest `0.7 * relevance - 0.3 * s`, with s its highest similarity to a chosen
//! one. Near-duplicates of a chosen document are counted and not shown. Documents with less than
//! half as many terms as the median candidate come last: the shortest documents are the nearest to
//! a centroid if they consist of its keywords, and tell least.
//!
//! **Cost.** Per cluster the rows of 10 candidates per document wanted, the nearest ones; twice as
//! many if near-duplicates leave too few. About [`ENTRIES_AT_ONCE`] entries of rows are held. Then
//! the near-duplicates of the chosen ones in the whole cluster are counted, in one pass.
//!
//! Reference: Carbonell, Goldstein: "The use of MMR, diversity-based reranking for reordering
//! documents and producing summaries", SIGIR 1998, doi:10.1145/290941.291025.

use rayon::prelude::*;

use super::Representative;
use super::source::SummarySource;
use crate::centroids::Centroid;
use crate::error::Result;
use crate::ids::DocId;
use crate::update::Fitting;
use crate::vectors::NEAR_DUPLICATE;

/// The weight of relevance; the rest is that of difference.
pub(super) const RELEVANCE: f64 = 0.7;

/// Number of keywords that representatives should have.
pub(super) const N_COVERED: usize = 5;

/// Number of documents considered per document wanted, in each of [`N_ROUNDS`] rounds.
pub(super) const PER_ROUND: usize = 10;

/// Maximum number of rounds, so that many duplicates do not raise the cost.
const N_ROUNDS: usize = 2;

/// Maximum number of rows held at once, unless one cluster needs more.
const ROWS_AT_ONCE: usize = 2048;

/// The same before the length of any row is known.
const FIRST_ROWS: usize = 64;

/// Number of entries of rows held at once, if rows are not longer than those before: 8 MB.
const ENTRIES_AT_ONCE: usize = 1 << 20;

/// The number of candidates that [`choose`] needs per cluster.
pub(super) fn n_candidates(n_wanted: usize) -> usize {
    n_wanted.saturating_mul(PER_ROUND * N_ROUNDS)
}

/// The documents of a cluster among which its representatives are.
#[derive(Clone, Debug)]
pub(super) struct Candidates<'a> {
    /// Nearest first.
    pub(super) fittings: &'a [Fitting],
    /// The first keywords of the cluster, at most [`N_COVERED`].
    pub(super) keywords: Vec<u32>,
}

/// The representatives of some clusters, in the order in which they are chosen. The clusters are
/// numbered from `first_cluster` on.
pub(super) fn choose(
    source: &dyn SummarySource,
    first_cluster: u32,
    clusters: &[Candidates<'_>],
    n_wanted: usize,
) -> Result<Vec<Vec<Representative>>> {
    let mut chosen = Vec::with_capacity(clusters.len());
    let (mut rest, mut longest, mut rows_at_once) = (clusters, 1, FIRST_ROWS);
    while !rest.is_empty() {
        let mut n_rows = 0;
        let too_many = rest.iter().position(|cluster| {
            n_rows += n_wanted.saturating_mul(PER_ROUND).min(cluster.fittings.len());
            n_rows > rows_at_once
        });
        let (some, others) = rest.split_at(too_many.unwrap_or(rest.len()).max(1));
        let first = first_cluster + chosen.len() as u32;
        chosen.extend(choose_at_once(source, first, some, n_wanted, &mut longest)?);
        rows_at_once = (ENTRIES_AT_ONCE / longest).clamp(1, ROWS_AT_ONCE);
        rest = others;
    }
    Ok(chosen)
}

/// The representatives of few clusters: the rows of one round of all of them are held. Raises
/// `longest` to the number of entries of the longest row.
fn choose_at_once(
    source: &dyn SummarySource,
    first_cluster: u32,
    clusters: &[Candidates<'_>],
    n_wanted: usize,
    longest: &mut usize,
) -> Result<Vec<Vec<Representative>>> {
    let mut searches: Vec<Search<'_>> = clusters.iter().map(Search::new).collect();
    loop {
        let mut docs = Vec::new();
        let mut numbers = Vec::with_capacity(searches.len());
        for search in &searches {
            let needed = search.needed(n_wanted);
            docs.extend(needed.iter().map(|candidate| candidate.doc));
            numbers.push(needed.len());
        }
        if docs.is_empty() {
            return with_duplicates(source, first_cluster, searches);
        }
        let rows = source.rows(&docs)?;
        *longest = rows.iter().map(|row| row.terms.len()).fold(*longest, usize::max);
        let mut rows = rows.into_iter();
        let rows: Vec<Vec<Centroid>> =
            numbers.into_iter().map(|number| rows.by_ref().take(number).collect()).collect();
        searches.par_iter_mut().zip(rows).for_each(|(search, rows)| search.consider(rows, n_wanted));
    }
}

/// The documents that were found, with the number of their near-duplicates.
fn with_duplicates(
    source: &dyn SummarySource,
    first_cluster: u32,
    searches: Vec<Search<'_>>,
) -> Result<Vec<Vec<Representative>>> {
    let (mut chosen, rows): (Vec<Vec<Representative>>, Vec<Vec<Centroid>>) =
        searches.into_iter().map(|search| (search.chosen, search.chosen_rows)).unzip();
    if chosen.iter().all(Vec::is_empty) {
        return Ok(chosen);
    }
    let counts = source.near_counts(first_cluster, &rows, NEAR_DUPLICATE)?;
    for (representative, n_near) in chosen.iter_mut().flatten().zip(counts.into_iter().flatten()) {
        // Every document is near itself.
        representative.n_duplicates = n_near.saturating_sub(1);
    }
    Ok(chosen)
}

/// The search for the representatives of one cluster.
struct Search<'a> {
    keywords: &'a [u32],
    /// Candidates that were not considered yet.
    rest: &'a [Fitting],
    pool: Vec<(Fitting, Centroid)>,
    chosen: Vec<Representative>,
    chosen_rows: Vec<Centroid>,
}

impl<'a> Search<'a> {
    fn new(cluster: &'a Candidates<'_>) -> Self {
        let (keywords, rest) = (&cluster.keywords[..], cluster.fittings);
        Search { keywords, rest, pool: Vec::new(), chosen: Vec::new(), chosen_rows: Vec::new() }
    }

    /// The candidates whose rows the next round needs.
    fn needed(&self, n_wanted: usize) -> &'a [Fitting] {
        if self.chosen.len() >= n_wanted {
            return &[];
        }
        &self.rest[..n_wanted.saturating_mul(PER_ROUND).min(self.rest.len())]
    }

    /// Chooses among the candidates so far and the next ones, whose rows these are.
    fn consider(&mut self, rows: Vec<Centroid>, n_wanted: usize) {
        if rows.is_empty() {
            return;
        }
        let (candidates, rest) = self.rest.split_at(rows.len());
        self.rest = rest;
        self.pool.extend(candidates.iter().copied().zip(rows));
        self.choose(n_wanted);
        if self.chosen.len() >= n_wanted || self.rest.is_empty() {
            self.pool = Vec::new();
        }
    }

    fn choose(&mut self, n_wanted: usize) {
        self.chosen.clear();
        self.chosen_rows.clear();
        let mut lengths: Vec<usize> = self.pool.iter().map(|(_, row)| row.terms.len()).collect();
        let middle = lengths.len() / 2;
        let median = *lengths.select_nth_unstable(middle).1;
        let mut open: Vec<Open> = (0..self.pool.len()).map(|place| self.open(place, median)).collect();
        while self.chosen.len() < n_wanted
            && let Some(best) = Open::best(&open)
        {
            let (fitting, row) = &self.pool[open[best].place];
            open.remove(best);
            open.retain_mut(|other| {
                let similarity = row.as_row().dot(self.pool[other.place].1.as_row());
                other.nearest = other.nearest.max(similarity);
                similarity < NEAR_DUPLICATE
            });
            self.chosen.push(shown(*fitting));
            self.chosen_rows.push(row.clone());
        }
    }

    fn open(&self, place: usize, median_length: usize) -> Open {
        let (fitting, row) = &self.pool[place];
        let n_covered = self.keywords.iter().filter(|term| row.terms.binary_search(term).is_ok()).count();
        let covered = n_covered as f64 / self.keywords.len().max(1) as f64;
        Open {
            place,
            is_short: 2 * row.terms.len() < median_length,
            relevance: fitting.similarity * (1.0 + covered) / 2.0,
            nearest: 0.0,
        }
    }
}

/// A candidate that is neither chosen nor a near-duplicate of a chosen one.
struct Open {
    /// Its place among the candidates.
    place: usize,
    is_short: bool,
    relevance: f64,
    /// Its highest similarity to a chosen document.
    nearest: f64,
}

impl Open {
    /// The next to be chosen; on a tie the nearest to the centroid.
    fn best(open: &[Open]) -> Option<usize> {
        let score = |open: &Open| RELEVANCE * open.relevance - (1.0 - RELEVANCE) * open.nearest;
        let order = |&a: &usize, &b: &usize| {
            let (a, b) = (&open[a], &open[b]);
            let by_score = score(b).total_cmp(&score(a));
            a.is_short.cmp(&b.is_short).then(by_score).then(a.place.cmp(&b.place))
        };
        (0..open.len()).min_by(order)
    }
}

/// The number of farthest documents that [`least`] needs per cluster.
pub(super) fn n_farthest(n_wanted: usize, n_representatives: usize) -> usize {
    if n_wanted == 0 { 0 } else { n_wanted.saturating_add(n_representatives) }
}

/// The farthest documents of a cluster without those that represent it.
pub(super) fn least(
    farthest: &[Fitting],
    representatives: &[Representative],
    n_wanted: usize,
) -> Vec<Representative> {
    let is_other = |fitting: &&Fitting| representatives.iter().all(|r| r.doc.number() != fitting.doc);
    farthest.iter().filter(is_other).take(n_wanted).map(|&fitting| shown(fitting)).collect()
}

fn shown(fitting: Fitting) -> Representative {
    Representative { doc: DocId::new(fitting.doc), similarity: fitting.similarity, n_duplicates: 0 }
}

#[cfg(test)]
mod tests {
    use super::super::source::{LocalSource, Members};
    use super::*;
    use crate::vectors::{SparseRows, UnitRows};

    /// Rows of these terms, all of one weight.
    fn rows_of(rows: &[&[u32]]) -> UnitRows<'static> {
        let mut offsets = vec![0];
        rows.iter().for_each(|row| offsets.push(offsets[offsets.len() - 1] + row.len() as u64));
        let terms = rows.concat();
        let values = vec![1.0; terms.len()];
        UnitRows::new(SparseRows::from_parts(20, offsets, terms, values).unwrap())
    }

    /// The representatives of one cluster that holds all rows, with their near-duplicates.
    fn chosen(
        rows: &UnitRows<'_>,
        similarities: &[f64],
        keywords: &[u32],
        n_wanted: usize,
    ) -> Vec<(u32, u64)> {
        let members = Members::new(1, similarities.iter().map(|_| 0));
        let source = LocalSource { first_doc: 0, rows, similarities, members: &members };
        let extremes = source.extremes(0..1, n_candidates(n_wanted), 0).unwrap();
        let candidates = Candidates { fittings: &extremes[0].best, keywords: keywords.to_vec() };
        let found = choose(&source, 0, &[candidates], n_wanted).unwrap().remove(0);
        found.iter().map(|found| (found.doc.number(), found.n_duplicates)).collect()
    }

    #[test]
    fn near_duplicates_are_counted_and_ties_go_by_number() {
        let rows = rows_of(&[&[0, 1], &[0, 1], &[0, 2], &[3, 4], &[0, 1]]);
        let similarities = [0.8, 0.9, 0.7, 0.7, 0.5];
        assert_eq!(chosen(&rows, &similarities, &[], 3), [(1, 2), (3, 0), (2, 0)]);
        assert_eq!(chosen(&rows, &similarities, &[], 1), [(1, 2)]);
        assert!(chosen(&rows, &similarities, &[], 0).is_empty());
    }

    #[test]
    fn documents_with_more_keywords_come_first() {
        let rows = rows_of(&[&[5, 6, 7], &[0, 8, 9], &[0, 1, 10]]);
        let similarities = [0.62, 0.6, 0.58];
        assert_eq!(chosen(&rows, &similarities, &[0, 1], 1), [(2, 0)]);
        assert_eq!(chosen(&rows, &similarities, &[], 1), [(0, 0)]);
    }

    #[test]
    fn different_documents_come_before_similar_ones() {
        // The second is like the first, the third is not.
        let rows = rows_of(&[&[0, 1, 2, 3], &[0, 1, 2, 4], &[5, 6, 7, 8]]);
        assert_eq!(chosen(&rows, &[0.6, 0.59, 0.5], &[], 2), [(0, 0), (2, 0)]);
    }

    #[test]
    fn short_documents_come_last() {
        let rows = rows_of(&[&[0], &[0, 1, 2, 3], &[4, 5, 6, 7], &[8, 9]]);
        let similarities = [0.9, 0.5, 0.4, 0.3];
        assert_eq!(chosen(&rows, &similarities, &[0], 3), [(1, 0), (2, 0), (3, 0)]);
        assert_eq!(chosen(&rows, &similarities, &[0], 4).len(), 4);
    }

    #[test]
    fn the_search_ends_after_twenty_candidates_per_place() {
        // Equal rows, and last the only one that differs.
        let of = |n_equal: usize| {
            let mut rows: Vec<&[u32]> = vec![&[0]; n_equal];
            rows.push(&[1]);
            chosen(&rows_of(&rows), &vec![0.5; rows.len()], &[], 2)
        };
        assert_eq!(of(39), [(0, 38), (39, 0)], "the last is the fortieth candidate");
        assert_eq!(of(40), [(0, 39)], "the last is no candidate");
        assert_eq!(of(500), [(0, 499)], "all near-duplicates of the cluster count");
    }

    #[test]
    fn rows_are_asked_for_in_small_numbers() {
        use std::cell::Cell;
        use std::ops::Range;

        use super::super::source::{ClusterFacts, Extremes};

        /// Counts the rows of the largest request.
        struct Counting(Cell<usize>);
        impl SummarySource for Counting {
            fn cluster_facts(&self, _: usize) -> Result<Vec<ClusterFacts>> {
                unreachable!("not asked for")
            }
            fn extremes(&self, _: Range<u32>, _: usize, _: usize) -> Result<Vec<Extremes>> {
                unreachable!("not asked for")
            }
            fn rows(&self, docs: &[u32]) -> Result<Vec<Centroid>> {
                self.0.set(self.0.get().max(docs.len()));
                let rows = rows_of(&[&[0], &[1]]);
                Ok(docs.iter().map(|&doc| Centroid::from_row(rows.row(doc as usize % 2))).collect())
            }
            fn term_counts(&self, _: u32, _: &[Vec<u32>]) -> Result<Vec<Vec<u64>>> {
                unreachable!("not asked for")
            }
            fn near_counts(&self, _: u32, rows: &[Vec<Centroid>], _: f64) -> Result<Vec<Vec<u64>>> {
                Ok(rows.iter().map(|rows| vec![15; rows.len()]).collect())
            }
        }
        let fittings: Vec<Fitting> = (0..30).map(|doc| Fitting { similarity: 0.5, doc }).collect();
        let clusters = vec![Candidates { fittings: &fittings, keywords: Vec::new() }; 500];
        let source = Counting(Cell::new(0));
        let chosen = choose(&source, 0, &clusters, 2).unwrap();
        assert!(chosen.len() == 500 && chosen.iter().all(|chosen| chosen.len() == 2));
        assert!((ROWS_AT_ONCE / 2..=ROWS_AT_ONCE).contains(&source.0.get()), "{}", source.0.get());
        // One cluster may need more.
        let fittings: Vec<Fitting> = (0..9000).map(|doc| Fitting { similarity: 0.5, doc }).collect();
        let clusters = vec![Candidates { fittings: &fittings, keywords: Vec::new() }; 2];
        assert_eq!(choose(&source, 0, &clusters, usize::MAX).unwrap()[0].len(), 2);
    }

    #[test]
    fn the_least_typical_are_the_farthest_that_represent_nothing() {
        let farthest: Vec<Fitting> = [(0.1, 1), (0.1, 3), (0.3, 2), (0.5, 0), (0.9, 4)]
            .map(|(similarity, doc)| Fitting { similarity, doc })
            .into();
        let representative = Representative { doc: DocId::new(3), similarity: 0.1, n_duplicates: 0 };
        let of = |n_wanted| {
            let found = least(&farthest, &[representative], n_wanted);
            found.iter().map(|found| found.doc.number()).collect::<Vec<_>>()
        };
        assert_eq!(of(2), [1, 2]);
        assert_eq!(of(9), [1, 2, 0, 4]);
        assert!(of(0).is_empty());
        assert_eq!([n_farthest(2, 3), n_farthest(0, 3)], [5, 0]);
    }
}
