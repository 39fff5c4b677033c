//! Representative documents: those nearest to the centroid, without near-duplicates. And those
//! farthest from it.

use rayon::prelude::*;

use super::Representative;
use super::source::SummarySource;
use crate::centroids::Centroid;
use crate::error::Result;
use crate::ids::DocId;
use crate::update::Fitting;

/// Two documents with this similarity or more are near-duplicates.
pub(super) const NEAR_DUPLICATE: f64 = 0.9;

/// Number of documents scanned per document wanted, so that many duplicates do not raise the cost.
const LOOKED_AT_PER_PLACE: usize = 20;

/// The number of candidates that [`choose`] needs per cluster.
pub(super) fn n_candidates(n_wanted: usize) -> usize {
    n_wanted.saturating_mul(LOOKED_AT_PER_PLACE)
}

/// The search for the representatives of one cluster.
struct Search<'a> {
    /// Candidates that were not considered yet.
    rest: &'a [Fitting],
    chosen: Vec<(Fitting, Centroid)>,
}

impl Search<'_> {
    /// The number of candidates whose rows the next round needs.
    fn n_needed(&self, n_wanted: usize, per_place: usize) -> usize {
        (n_wanted - self.chosen.len()).saturating_mul(per_place).min(self.rest.len())
    }

    /// Considers the next candidates, whose rows these are.
    fn consider(&mut self, rows: Vec<Centroid>, n_wanted: usize) {
        let (candidates, rest) = self.rest.split_at(rows.len());
        self.rest = rest;
        for (&candidate, row) in candidates.iter().zip(rows) {
            if self.chosen.len() == n_wanted {
                break;
            }
            let differs =
                |(_, other): &(Fitting, Centroid)| row.as_row().dot(other.as_row()) < NEAR_DUPLICATE;
            if self.chosen.iter().all(differs) {
                self.chosen.push((candidate, row));
            }
        }
    }
}

/// The representatives of some clusters: of the candidates of each, best first, those that are no
/// near-duplicates of an earlier one.
///
/// Rows are asked for in rounds: first those of the `n_wanted` best candidates, then more for
/// clusters with near-duplicates, twice as many per missing representative in each round.
pub(super) fn choose<'a>(
    source: &dyn SummarySource,
    candidates: impl Iterator<Item = &'a [Fitting]>,
    n_wanted: usize,
) -> Result<Vec<Vec<Representative>>> {
    let mut searches: Vec<Search<'a>> = candidates.map(|rest| Search { rest, chosen: Vec::new() }).collect();
    let mut per_place = 1usize;
    loop {
        let mut docs = Vec::new();
        let mut numbers = Vec::with_capacity(searches.len());
        for search in &searches {
            let needed = &search.rest[..search.n_needed(n_wanted, per_place)];
            docs.extend(needed.iter().map(|candidate| candidate.doc));
            numbers.push(needed.len());
        }
        if docs.is_empty() {
            break;
        }
        let mut rows = source.rows(&docs)?.into_iter();
        let rows: Vec<Vec<Centroid>> =
            numbers.into_iter().map(|number| rows.by_ref().take(number).collect()).collect();
        searches.par_iter_mut().zip(rows).for_each(|(search, rows)| search.consider(rows, n_wanted));
        per_place = per_place.saturating_mul(2);
    }
    let chosen = |search: Search<'_>| search.chosen.into_iter().map(|(fitting, _)| shown(fitting)).collect();
    Ok(searches.into_iter().map(chosen).collect())
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
    Representative { doc: DocId::new(fitting.doc), similarity: fitting.similarity }
}

#[cfg(test)]
mod tests {
    use super::super::source::{LocalSource, Members};
    use super::*;
    use crate::vectors::{SparseRows, UnitRows};

    /// The representatives of one cluster that holds all rows.
    fn chosen(rows: &UnitRows<'_>, similarities: &[f64], n_wanted: usize) -> Vec<Representative> {
        let members = Members::new(1, similarities.iter().map(|_| 0));
        let source = LocalSource { first_doc: 0, rows, similarities, members: &members };
        let extremes = source.extremes(0..1, n_candidates(n_wanted), 0).unwrap();
        let candidates = extremes.iter().map(|extremes| &extremes.best[..]);
        choose(&source, candidates, n_wanted).unwrap().remove(0)
    }

    #[test]
    fn near_duplicates_are_passed_over_and_ties_go_by_number() {
        let rows = SparseRows::from_parts(
            4,
            vec![0, 2, 4, 6, 7],
            vec![0, 1, 0, 1, 0, 2, 3],
            vec![1.0, 1.0, 1.0, 1.01, 1.0, 1.0, 1.0],
        );
        let rows = UnitRows::new(rows.unwrap());
        let similarities = [0.8, 0.9, 0.7, 0.7];
        let three = chosen(&rows, &similarities, 3);
        assert_eq!(three.iter().map(|r| r.doc.number()).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(three[0].similarity, 0.9);
        assert!(chosen(&rows, &similarities, 0).is_empty());
    }

    #[test]
    fn the_search_ends_after_twenty_candidates_per_place() {
        // Equal rows, and last the only one that differs.
        let of = |n_equal: u32| {
            let terms: Vec<u32> = (0..n_equal).map(|_| 0).chain([1]).collect();
            let n_rows = n_equal as usize + 1;
            let rows = SparseRows::from_parts(
                2,
                (0..=n_rows as u64).collect::<Vec<u64>>(),
                terms,
                vec![1.0; n_rows],
            )
            .unwrap();
            let found = chosen(&UnitRows::new(rows), &vec![0.5; n_rows], 2);
            found.iter().map(|r| r.doc.number()).collect::<Vec<_>>()
        };
        assert_eq!(of(39), [0, 39], "the last is the fortieth candidate");
        assert_eq!(of(40), [0], "the last is no candidate");
    }

    #[test]
    fn the_least_typical_are_the_farthest_that_represent_nothing() {
        let farthest: Vec<Fitting> = [(0.1, 1), (0.1, 3), (0.3, 2), (0.5, 0), (0.9, 4)]
            .map(|(similarity, doc)| Fitting { similarity, doc })
            .into();
        let representative = Representative { doc: DocId::new(3), similarity: 0.1 };
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
