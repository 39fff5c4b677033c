//! The documents of a summary, in any number of shards.
//!
//! Every answer is a sum of integers, or a list of single documents in a total order. So the
//! answers of shards merge into the answer for all documents, to the bit, however the documents are
//! cut.
//!
//! **Cost.** [`Members`]: 4 bytes per document, 8 per cluster. [`ClusterFacts`]: 112 bytes per
//! cluster. [`Extremes`]: 16 bytes per document that was asked for; twice that, for one cluster per
//! thread, while they are sought. Near documents: 4 bytes per term and thread.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;

use super::HISTOGRAM_STEPS;
use crate::by_key::ByKey;
use crate::centroids::Centroid;
use crate::error::Result;
use crate::labels::Assignment;
use crate::pool::Pool;
use crate::update::Fitting;
use crate::vectors::{Row, RowWeights, UnitRows, fixed_similarity};

/// The documents that are summarised, wherever they live. Documents have numbers that go on from
/// shard to shard.
///
/// The caller first asks for the facts of all clusters, then for the extremes of some clusters at a
/// time and for the rows of some of these.
pub(crate) trait SummarySource {
    /// The facts of each of `n_clusters` clusters.
    fn cluster_facts(&self, n_clusters: usize) -> Result<Vec<ClusterFacts>>;

    /// The `n_best` nearest and the `n_worst` farthest documents of each cluster of the range.
    fn extremes(&self, clusters: Range<u32>, n_best: usize, n_worst: usize) -> Result<Vec<Extremes>>;

    /// The rows of some documents, in the order of `docs`.
    fn rows(&self, docs: &[u32]) -> Result<Vec<Centroid>>;

    /// The number of documents that have each of these terms, for consecutive clusters from `first`
    /// on, each with its own terms.
    fn term_counts(&self, first: u32, terms: &[Vec<u32>]) -> Result<Vec<Vec<u64>>>;

    /// The number of documents near each of these rows, for consecutive clusters from `first` on,
    /// each with its own rows. A document counts for the first row to which its similarity is at
    /// least `near`.
    fn near_counts(&self, first: u32, rows: &[Vec<Centroid>], near: f64) -> Result<Vec<Vec<u64>>>;
}

/// Adds the counts of another shard.
#[cfg_attr(not(any(test, feature = "distributed")), expect(dead_code, reason = "for workers"))]
pub(crate) fn add_counts(sums: &mut [Vec<u64>], counts: &[Vec<u64>]) {
    sums.iter_mut().flatten().zip(counts.iter().flatten()).for_each(|(sum, count)| *sum += count);
}

/// The facts of a cluster that are sums over its documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterFacts {
    pub(crate) size: u64,
    /// The sum of the similarities in fixed point; see [`fixed_similarity`].
    pub(crate) similarity_sum: i128,
    pub(crate) histogram: [u32; HISTOGRAM_STEPS],
}

impl ClusterFacts {
    /// Adds the documents of the same cluster in another shard.
    #[cfg_attr(not(any(test, feature = "distributed")), expect(dead_code, reason = "for workers"))]
    pub(crate) fn add(&mut self, other: &ClusterFacts) {
        self.size += other.size;
        self.similarity_sum += other.similarity_sum;
        self.histogram.iter_mut().zip(&other.histogram).for_each(|(count, other)| *count += other);
    }

    /// Counts a document. Similarities below 0 count in the first step, 1 in the last.
    pub(super) fn count(&mut self, similarity: f64) {
        self.size += 1;
        self.similarity_sum += i128::from(fixed_similarity(similarity));
        let step = (similarity * HISTOGRAM_STEPS as f64).max(0.0) as usize;
        self.histogram[step.min(HISTOGRAM_STEPS - 1)] += 1;
    }

    /// The mean similarity; 0 for an empty cluster.
    pub(super) fn cohesion(&self) -> f64 {
        if self.size == 0 {
            return 0.0;
        }
        RowWeights::UNIFORM.scale().objective(self.similarity_sum) / self.size as f64
    }
}

/// The nearest and the farthest documents of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Extremes {
    /// Nearest first, ties by number.
    pub(crate) best: Vec<Fitting>,
    /// Farthest first, ties by number.
    pub(crate) worst: Vec<Fitting>,
}

impl Extremes {
    /// Adds the extremes of the same cluster in another shard. Both must have been asked for with
    /// these numbers.
    #[cfg_attr(not(any(test, feature = "distributed")), expect(dead_code, reason = "for workers"))]
    pub(crate) fn add(&mut self, other: Extremes, n_best: usize, n_worst: usize) {
        let best = std::mem::take(&mut self.best).into_iter().chain(other.best);
        self.best = first_in_order(best, n_best, best_first);
        let worst = std::mem::take(&mut self.worst).into_iter().chain(other.worst);
        self.worst = first_in_order(worst, n_worst, Fitting::compare);
    }
}

/// The order of [`Extremes::best`].
fn best_first(a: &Fitting, b: &Fitting) -> Ordering {
    b.similarity.total_cmp(&a.similarity).then(a.doc.cmp(&b.doc))
}

/// The first `n` documents in an order, sorted. Holds at most `2 n` documents.
fn first_in_order(
    docs: impl Iterator<Item = Fitting>,
    n: usize,
    order: impl Fn(&Fitting, &Fitting) -> Ordering,
) -> Vec<Fitting> {
    if n == 0 {
        return Vec::new();
    }
    let mut kept: Vec<Fitting> = Vec::new();
    // The n-th of the documents seen before the last cut: nothing behind it can be among the first.
    let mut last: Option<Fitting> = None;
    for doc in docs {
        if last.is_some_and(|last| order(&doc, &last).is_gt()) {
            continue;
        }
        kept.push(doc);
        if kept.len() == n.saturating_mul(2) {
            last = Some(*kept.select_nth_unstable_by(n - 1, &order).1);
            kept.truncate(n);
        }
    }
    kept.sort_unstable_by(&order);
    kept.truncate(n);
    kept
}

/// The documents of each cluster of one shard, by their positions in the shard.
#[derive(Debug)]
pub(crate) struct Members {
    n_clusters: usize,
    by_cluster: ByKey<u32>,
}

impl Members {
    /// `labels` are those of the shard's documents, in order; each is less than `n_clusters`, or
    /// [`Assignment::NO_LABEL`].
    pub(crate) fn new(n_clusters: usize, labels: impl Iterator<Item = u32> + Clone) -> Self {
        let entries = labels.zip(0..).filter(|&(label, _)| label != Assignment::NO_LABEL);
        Members { n_clusters, by_cluster: ByKey::new(n_clusters, entries) }
    }

    /// Those of a cluster with positions in a range, ascending.
    fn within(&self, cluster: u32, positions: &Range<usize>) -> &[u32] {
        let all = self.by_cluster.of(cluster);
        let before = |end: usize| all.partition_point(|&position| (position as usize) < end);
        &all[before(positions.start)..before(positions.end)]
    }
}

/// Rows copied per task, at least.
const MIN_ROWS: usize = 64;

/// Consecutive documents in this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalSource<'a> {
    /// The number of the first document.
    pub(crate) first_doc: usize,
    pub(crate) rows: &'a UnitRows<'a>,
    /// Similarities of the documents to their centroids, one per row.
    pub(crate) similarities: &'a [f64],
    pub(crate) members: &'a Members,
}

impl SummarySource for LocalSource<'_> {
    /// # Panics
    /// If the members were grouped for another number of clusters.
    fn cluster_facts(&self, n_clusters: usize) -> Result<Vec<ClusterFacts>> {
        assert_eq!(n_clusters, self.members.n_clusters, "members of another number of clusters");
        let of_cluster = |cluster: u32| {
            let mut facts = ClusterFacts::default();
            for &position in self.members.by_cluster.of(cluster) {
                facts.count(self.similarities[position as usize]);
            }
            facts
        };
        Ok((0..n_clusters as u32).into_par_iter().map(of_cluster).collect())
    }

    fn extremes(&self, clusters: Range<u32>, n_best: usize, n_worst: usize) -> Result<Vec<Extremes>> {
        let fitting = |&position: &u32| Fitting {
            similarity: self.similarities[position as usize],
            doc: self.first_doc as u32 + position,
        };
        let of_cluster = |cluster: u32| {
            let members = || self.members.by_cluster.of(cluster).iter().map(fitting);
            Extremes {
                best: first_in_order(members(), n_best, best_first),
                worst: first_in_order(members(), n_worst, Fitting::compare),
            }
        };
        Ok(clusters.into_par_iter().map(of_cluster).collect())
    }

    fn rows(&self, docs: &[u32]) -> Result<Vec<Centroid>> {
        let row = |&doc: &u32| Centroid::from_row(self.rows.row(doc as usize - self.first_doc));
        Ok(docs.par_iter().with_min_len(MIN_ROWS).map(row).collect())
    }

    fn term_counts(&self, first: u32, terms: &[Vec<u32>]) -> Result<Vec<Vec<u64>>> {
        let mut counts: Vec<Vec<u64>> = terms.iter().map(|terms| vec![0; terms.len()]).collect();
        for block in self.rows.blocks() {
            let of_cluster = |((cluster, terms), counts): ((u32, &Vec<u32>), &mut Vec<u64>)| {
                for &position in self.members.within(cluster, &block) {
                    let row = self.rows.row(position as usize);
                    for (count, term) in counts.iter_mut().zip(terms) {
                        *count += u64::from(row.terms.binary_search(term).is_ok());
                    }
                }
            };
            let clusters = first..first + terms.len() as u32;
            clusters.into_par_iter().zip(terms).zip(&mut counts).for_each(of_cluster);
        }
        Ok(counts)
    }

    fn near_counts(&self, first: u32, rows: &[Vec<Centroid>], near: f64) -> Result<Vec<Vec<u64>>> {
        let mut counts: Vec<Vec<u64>> = rows.iter().map(|rows| vec![0; rows.len()]).collect();
        let scratch: Pool<RowTable> = Pool::default();
        for block in self.rows.blocks() {
            let of_cluster = |((cluster, rows), counts): ((u32, &Vec<Centroid>), &mut Vec<u64>)| {
                let members = self.members.within(cluster, &block);
                scratch.with(|table| self.count_near(table, members, rows, near, counts));
            };
            let clusters = first..first + rows.len() as u32;
            clusters.into_par_iter().zip(rows).zip(&mut counts).for_each(of_cluster);
        }
        Ok(counts)
    }
}

impl LocalSource<'_> {
    /// Adds the numbers of documents near some rows, of these members of a cluster.
    fn count_near(
        &self,
        table: &mut RowTable,
        members: &[u32],
        rows: &[Centroid],
        near: f64,
        counts: &mut [u64],
    ) {
        let mut is_counted = vec![false; members.len()];
        for (rows, counts) in rows.chunks(TABLE_ROWS).zip(counts.chunks_mut(TABLE_ROWS)) {
            table.set(self.rows.n_terms(), rows);
            let mut similarities = vec![0.0; rows.len()];
            let uncounted = members.iter().zip(&mut is_counted).filter(|(_, counted)| !**counted);
            for (&position, is_counted) in uncounted {
                table.similarities(self.rows.row(position as usize), &mut similarities);
                if let Some(first) = similarities.iter().position(|&similarity| similarity >= near) {
                    counts[first] += 1;
                    *is_counted = true;
                }
            }
            table.clear(rows);
        }
    }
}

/// Rows in a table at a time: its memory must not grow with the number of representatives.
const TABLE_ROWS: usize = if cfg!(test) { 2 } else { 16 };

/// Few rows by term: the similarities of a document to all of them cost one step per term of the
/// document. 4 bytes per term, and 4 per distinct term of the rows and row.
#[derive(Debug, Default)]
struct RowTable {
    /// For each term its place in `values` and 1, or 0 if no row has it.
    places: Vec<u32>,
    /// For each term of a row its value in each row.
    values: Vec<f32>,
    n_rows: usize,
}

impl RowTable {
    fn set(&mut self, n_terms: usize, rows: &[Centroid]) {
        self.places.resize(n_terms, 0);
        self.n_rows = rows.len();
        for (number, row) in rows.iter().enumerate() {
            for (term, value) in row.as_row().iter() {
                let place = &mut self.places[term as usize];
                if *place == 0 {
                    self.values.resize(self.values.len() + rows.len(), 0.0);
                    *place = (self.values.len() / rows.len()) as u32;
                }
                self.values[(*place as usize - 1) * rows.len() + number] = value;
            }
        }
    }

    /// The same as [`Row::dot`] with each row, to the bit: adding zeros changes nothing.
    fn similarities(&self, doc: Row<'_>, similarities: &mut [f64]) {
        similarities.fill(0.0);
        for (term, x) in doc.iter() {
            if let Some(place) = self.places[term as usize].checked_sub(1) {
                let values = &self.values[place as usize * self.n_rows..][..self.n_rows];
                for (similarity, &value) in similarities.iter_mut().zip(values) {
                    *similarity += f64::from(x) * f64::from(value);
                }
            }
        }
    }

    fn clear(&mut self, rows: &[Centroid]) {
        rows.iter().flat_map(|row| row.terms.iter()).for_each(|&term| self.places[term as usize] = 0);
        self.values.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::representatives::{N_COVERED, PER_ROUND, RELEVANCE};
    use super::super::{Representative, SummaryOptions, summarize, summarize_source};
    use super::*;
    use crate::fit::SphericalKMeans;
    use crate::ids::DocId;
    use crate::vectors::{NEAR_DUPLICATE, SparseRows};

    /// Several sources as one.
    struct Shards<'a>(Vec<LocalSource<'a>>);

    impl SummarySource for Shards<'_> {
        fn cluster_facts(&self, n_clusters: usize) -> Result<Vec<ClusterFacts>> {
            let mut all = vec![ClusterFacts::default(); n_clusters];
            for shard in &self.0 {
                let found = shard.cluster_facts(n_clusters)?;
                all.iter_mut().zip(&found).for_each(|(all, found)| all.add(found));
            }
            Ok(all)
        }

        fn extremes(&self, clusters: Range<u32>, n_best: usize, n_worst: usize) -> Result<Vec<Extremes>> {
            let mut all = vec![Extremes::default(); clusters.len()];
            // Backwards: the order of the shards does not matter.
            for shard in self.0.iter().rev() {
                let found = shard.extremes(clusters.clone(), n_best, n_worst)?;
                all.iter_mut().zip(found).for_each(|(all, found)| all.add(found, n_best, n_worst));
            }
            Ok(all)
        }

        fn rows(&self, docs: &[u32]) -> Result<Vec<Centroid>> {
            let row = |&doc: &u32| {
                let shard = self.0.partition_point(|shard| shard.first_doc <= doc as usize) - 1;
                Ok(self.0[shard].rows(&[doc])?.remove(0))
            };
            docs.iter().map(row).collect()
        }

        fn term_counts(&self, first: u32, terms: &[Vec<u32>]) -> Result<Vec<Vec<u64>>> {
            let mut all: Vec<Vec<u64>> = terms.iter().map(|terms| vec![0; terms.len()]).collect();
            for shard in &self.0 {
                add_counts(&mut all, &shard.term_counts(first, terms)?);
            }
            Ok(all)
        }

        fn near_counts(&self, first: u32, rows: &[Vec<Centroid>], near: f64) -> Result<Vec<Vec<u64>>> {
            let mut all: Vec<Vec<u64>> = rows.iter().map(|rows| vec![0; rows.len()]).collect();
            for shard in &self.0 {
                add_counts(&mut all, &shard.near_counts(first, rows, near)?);
            }
            Ok(all)
        }
    }

    /// Rows of few terms with few values, so that many are equal or near-duplicates.
    fn rows_of(docs: &[(u8, u8, bool)]) -> UnitRows<'static> {
        let (mut offsets, mut terms, mut values) = (vec![0], Vec::new(), Vec::new());
        for &(first, second, is_light) in docs {
            terms.push(u32::from(first));
            values.push(1.0);
            if second > first {
                terms.push(u32::from(second));
                values.push(if is_light { 0.4 } else { 1.0 });
            }
            offsets.push(terms.len() as u64);
        }
        UnitRows::new(SparseRows::from_parts(4, offsets, terms, values).unwrap())
    }

    /// Representatives and least typical documents by their definition: all rows at hand.
    fn plain(
        rows: &UnitRows<'_>,
        mut docs: Vec<Fitting>,
        keywords: &[u32],
        options: SummaryOptions,
    ) -> [Vec<Representative>; 2] {
        docs.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.doc.cmp(&b.doc)));
        let n_wanted = options.n_representatives;
        let first = |n: usize| &docs[..n.min(docs.len())];
        let mut chosen = marginal(rows, &docs, first(PER_ROUND * n_wanted), keywords, n_wanted);
        if chosen.len() < n_wanted {
            chosen = marginal(rows, &docs, first(2 * PER_ROUND * n_wanted), keywords, n_wanted);
        }
        docs.sort_by(|a, b| a.similarity.total_cmp(&b.similarity).then(a.doc.cmp(&b.doc)));
        docs.retain(|doc| chosen.iter().all(|other| other.doc.number() != doc.doc));
        docs.truncate(options.n_least_typical);
        let shown = |doc: &Fitting| Representative {
            doc: DocId::new(doc.doc),
            similarity: doc.similarity,
            n_duplicates: 0,
        };
        [chosen, docs.iter().map(shown).collect()]
    }

    /// Maximal marginal relevance by its definition, among `docs`, some of the `members`.
    fn marginal(
        rows: &UnitRows<'_>,
        members: &[Fitting],
        docs: &[Fitting],
        keywords: &[u32],
        n_wanted: usize,
    ) -> Vec<Representative> {
        let row = |doc: &Fitting| rows.row(doc.doc as usize);
        let mut lengths: Vec<usize> = docs.iter().map(|doc| row(doc).terms.len()).collect();
        lengths.sort_unstable();
        let mut chosen: Vec<Fitting> = Vec::new();
        let is_near = |doc: &Fitting, other: &Fitting| row(doc).dot(row(other)) >= NEAR_DUPLICATE;
        while chosen.len() < n_wanted {
            let is_open = |doc: &&Fitting| chosen.iter().all(|other| !is_near(doc, other));
            let open: Vec<&Fitting> = docs.iter().filter(is_open).collect();
            let long: Vec<&Fitting> = open
                .iter()
                .copied()
                .filter(|doc| 2 * row(doc).terms.len() >= lengths[docs.len() / 2])
                .collect();
            let mut best: Option<(f64, &Fitting)> = None;
            for doc in if long.is_empty() { &open } else { &long } {
                let covered = keywords.iter().filter(|term| row(doc).terms.contains(term)).count() as f64
                    / keywords.len().max(1) as f64;
                let near = chosen.iter().map(|other| row(doc).dot(row(other))).fold(0.0, f64::max);
                let score = RELEVANCE * (doc.similarity * (1.0 + covered) / 2.0) - (1.0 - RELEVANCE) * near;
                if best.is_none_or(|best| score > best.0) {
                    best = Some((score, doc));
                }
            }
            let Some((_, &best)) = best else { break };
            chosen.push(best);
        }
        let shown = |(place, doc): (usize, &Fitting)| {
            let is_duplicate = |other: &&Fitting| {
                let is_new = chosen[..place].iter().all(|earlier| !is_near(other, earlier));
                other.doc != doc.doc && is_new && is_near(other, doc)
            };
            Representative {
                doc: DocId::new(doc.doc),
                similarity: doc.similarity,
                n_duplicates: members.iter().filter(is_duplicate).count() as u64,
            }
        };
        chosen.iter().enumerate().map(shown).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn documents_cut_anywhere_give_the_same_summaries(
            docs in prop::collection::vec(((0u8..4, 0u8..4, any::<bool>()), -1i32..3, 0u32..12), 3..120),
            places in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            n_representatives in 0usize..5,
            n_least_typical in 0usize..5,
            n_sample in 0usize..9,
        ) {
            let rows = rows_of(&docs.iter().map(|doc| doc.0).collect::<Vec<_>>());
            let labels: Vec<i32> = docs.iter().map(|doc| doc.1).collect();
            // Few values, whose sum depends on the order of addition in floats.
            let similarities: Vec<f64> = docs.iter().map(|doc| f64::from(doc.2) / 11.0).collect();
            let model = SphericalKMeans::params(3).fit(&rows).unwrap().model;
            let options =
                SummaryOptions { n_representatives, n_least_typical, n_sample, ..SummaryOptions::default() };
            let whole = summarize(&rows, &labels.clone().into(), &similarities, &model, options).unwrap();

            for (cluster, summary) in whole.iter().enumerate() {
                let is_member = |&doc: &usize| labels[doc] == cluster as i32;
                let members: Vec<Fitting> = (0..docs.len())
                    .filter(is_member)
                    .map(|doc| Fitting { similarity: similarities[doc], doc: doc as u32 })
                    .collect();
                let sum: i128 = members.iter().map(|m| (m.similarity * 2f64.powi(40)).round() as i128).sum();
                let mean = sum as f64 / 2f64.powi(40) / members.len() as f64;
                prop_assert_eq!(summary.cohesion, if members.is_empty() { 0.0 } else { mean });
                prop_assert_eq!(summary.size, members.len());
                prop_assert_eq!(summary.histogram.iter().sum::<u32>() as usize, members.len());
                let keywords: Vec<u32> =
                    summary.keywords.iter().take(N_COVERED).map(|keyword| keyword.term.number()).collect();
                let mut nearest = members.clone();
                nearest.sort_by(best_first);
                let nearest = nearest.iter().take(n_sample).map(|member| DocId::new(member.doc));
                prop_assert_eq!(&summary.sample, &nearest.collect::<Vec<_>>());
                let [representatives, least_typical] = plain(&rows, members, &keywords, options);
                prop_assert_eq!(&summary.representatives, &representatives);
                prop_assert_eq!(&summary.least_typical, &least_typical);
                for keyword in &summary.keywords {
                    let has_term = |doc: usize| rows.row(doc).terms.contains(&keyword.term.number());
                    let n_docs = (0..docs.len()).filter(is_member).filter(|&doc| has_term(doc)).count();
                    prop_assert_eq!(keyword.n_docs, Some(n_docs as u64));
                }
            }

            let mut cuts: Vec<usize> = places.iter().map(|place| place.index(docs.len() + 1)).collect();
            cuts.extend([0, docs.len()]);
            cuts.sort_unstable();
            let ranges: Vec<Range<usize>> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
            let parts: Vec<(UnitRows<'_>, Members)> = ranges
                .iter()
                .map(|range| {
                    let labels = labels[range.clone()].iter().map(|&label| label as u32);
                    (rows.part(range.clone()), Members::new(3, labels))
                })
                .collect();
            let shards = ranges.iter().zip(&parts).map(|(range, (rows, members))| LocalSource {
                first_doc: range.start,
                rows,
                similarities: &similarities[range.clone()],
                members,
            });
            let cut = summarize_source(&Shards(shards.collect()), &model, options).unwrap();
            prop_assert_eq!(&cut, &whole);

            // In a file, block by block.
            let home = tempfile::tempdir().unwrap();
            rows.save_open(home.path().join("rows")).unwrap();
            let mapped = UnitRows::open_mapped(home.path().join("rows")).unwrap();
            prop_assert!(docs.len() <= 64 || mapped.blocks().count() > 1);
            let found = summarize(&mapped, &labels.into(), &similarities, &model, options).unwrap();
            prop_assert_eq!(found, whole);
        }

        #[test]
        fn the_first_in_order_are_those_of_the_sorted_list(
            similarities in prop::collection::vec(0u32..9, 0..60),
            n in 0usize..20,
        ) {
            let docs = || similarities.iter().zip(0..).map(|(&s, doc)| Fitting { similarity: f64::from(s), doc });
            let mut sorted: Vec<Fitting> = docs().collect();
            sorted.sort_by(best_first);
            sorted.truncate(n);
            prop_assert_eq!(first_in_order(docs(), n, best_first), sorted);
        }
    }

    #[test]
    fn the_histogram_counts_every_document_once() {
        let mut facts = ClusterFacts::default();
        for similarity in [-0.2, 0.0, 0.049, 0.05, 0.5, 0.999, 1.0, 1.0000001] {
            facts.count(similarity);
        }
        let filled: Vec<(usize, u32)> = facts.histogram.into_iter().enumerate().filter(|s| s.1 > 0).collect();
        assert_eq!(filled, [(0, 3), (1, 1), (10, 1), (19, 3)]);
        assert_eq!(facts.size, 8);
    }

    #[test]
    fn the_cohesion_does_not_depend_on_the_order_of_addition() {
        let of = |similarities: &[f64]| {
            let mut facts = ClusterFacts::default();
            similarities.iter().for_each(|&similarity| facts.count(similarity));
            facts.cohesion()
        };
        assert_ne!((0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3), "floats do");
        assert_eq!(of(&[0.1, 0.2, 0.3]), of(&[0.3, 0.2, 0.1]));
        assert_eq!(of(&[0.25, 0.75]), 0.5);
        assert_eq!(of(&[]), 0.0);
    }
}
