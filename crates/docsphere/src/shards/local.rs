//! Shards in this process: consecutive rows of one matrix.
//!
//! One shard is the usual case. They are passed one after the other, each on all threads, so that
//! only the rows of one are read at a time. What is derived from centroids is derived once for all
//! of them ([`Common`]).
//!
//! **Cost.** Per row: 16 bytes for label and similarity, and the label that the sums stand for; 12
//! more for the best result so far. The last are in scratch files if there is a folder for these,
//! and the others, too, if the rows are in a file. 8 while
//! it moves; 16, and a copy of each row that is offered, while empty clusters are refilled.

mod common;
mod moves;

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::time::Instant;

use rayon::prelude::*;

pub(crate) use self::common::Common;
pub(crate) use self::moves::CONTEST_DOCS;
use super::{Checksums, Contest, Contested, PassSeconds, Passed, RowFacts, Shards};
use crate::assign::{Assigned, Assigner, AssignerSettings, Moved, ShardStep, Step};
use crate::centroids::Centroid;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::DocId;
use crate::labels::Assignment;
use crate::mapping::Spillable;
use crate::record::Strategy;
use crate::seeding::{
    Buckets, Draw, Drawable, Joined, Lowered, Ordered, Placed, Search, Seed, SeedDevice, SeedSource,
    add_judged, content_hash, sample_of,
};
use crate::update::{Candidate, Changes, Delta, Fitting, Refill, Touched, batch_clusters};
use crate::vectors::{COINCIDENT, Row, RowWeights, UnitRows};

/// How a shard finds labels.
#[derive(Clone, Debug)]
pub(crate) struct ShardSettings {
    pub(crate) strategy: Strategy,
    pub(crate) assigner: AssignerSettings,
    /// Whose disk takes the best result so far, in memory or not.
    pub(crate) kept_folder: Option<PathBuf>,
}

/// See the [module](self).
pub(crate) struct LocalShards<'a> {
    /// All rows.
    rows: &'a UnitRows<'a>,
    weights: RowWeights<'a>,
    common: Common<'a>,
    list: Vec<LocalShard<'a>>,
    /// Why seeding left the device, until somebody has been told.
    left_device: Option<Error>,
}

/// One shard in this process.
pub(crate) struct LocalShard<'a> {
    /// The number of the first document.
    first_doc: usize,
    rows: UnitRows<'a>,
    weights: RowWeights<'a>,
    /// The number of this shard among those of the process, and the number of these.
    place: (usize, usize),
    assignment: Assignment,
    /// The labels that the sums stand for.
    summed: Spillable<u32>,
    /// The moves that are not in the sums yet.
    changes: Changes,
    /// Documents that were given to another cluster since the last pass (one that was empty, or by
    /// a contest), and the labels they had before.
    given: Vec<(u32, u32)>,
    /// Documents that were given to another cluster before the last pass.
    passed_given: Vec<u32>,
    kept: Option<Assignment>,
    /// While a run is seeded.
    search: Option<Search<'a>>,
    /// Whose disk takes what is known of each document, if that is not in memory.
    folder: Option<PathBuf>,
    /// Whose disk takes what is kept, which nobody reads before the end.
    kept_folder: Option<PathBuf>,
}

impl<'a> LocalShards<'a> {
    /// Divides the rows before each of these, which ascend.
    pub(crate) fn new(
        rows: &'a UnitRows<'a>,
        weights: RowWeights<'a>,
        cuts: &[usize],
        settings: &'a ShardSettings,
    ) -> Self {
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([rows.n_rows()]);
        let n_shards = cuts.len() + 1;
        let shard = |(number, range): (usize, Range<usize>)| {
            let (of_shard, weights) = (rows.part(range.clone()), weights.part(range.clone()));
            let (folder, kept_folder) = (settings.assigner.scratch.clone(), settings.kept_folder.clone());
            let shard = LocalShard::new(range.start, of_shard, weights);
            LocalShard { place: (number, n_shards), folder, kept_folder, ..shard }
        };
        let ranges = starts.zip(ends).map(|(start, end)| start..end);
        let list = ranges.enumerate().map(shard).collect();
        LocalShards { rows, weights, common: Common::new(settings), list, left_device: None }
    }

    /// What was kept, of all documents in order.
    pub(crate) fn into_kept(self) -> Assignment {
        let LocalShards { rows, common, list, .. } = self;
        drop(common);
        let mut parts = list.into_iter().map(|shard| shard.kept.expect("a run was kept"));
        let Assignment { labels, similarities } = parts.next().unwrap_or_default();
        let (mut labels, mut similarities) = (labels.into_vec(), similarities.into_vec());
        let n_more = rows.n_rows() - labels.len();
        labels.reserve_exact(n_more);
        similarities.reserve_exact(n_more);
        for part in parts {
            labels.extend_from_slice(&part.labels);
            similarities.extend_from_slice(&part.similarities);
        }
        Assignment { labels: labels.into(), similarities: similarities.into() }
    }

    /// The documents of a bucket that have weight, in drawing order.
    fn drawable(&self, bucket: usize) -> Vec<Drawable> {
        let mut all: Vec<Drawable> = self.list.iter().flat_map(|shard| shard.drawable(bucket)).collect();
        if self.list.len() > 1 {
            // Within a shard they are in this order.
            let ordered = |drawable: &Drawable| {
                let shard = &self.list[self.shard_of(drawable.doc)];
                let row = shard.rows.row(shard.position(drawable.doc));
                Ordered { hash: content_hash(row), row, doc: drawable.doc }
            };
            let mut keyed: Vec<(Ordered<'_>, Drawable)> =
                all.iter().map(|drawable| (ordered(drawable), *drawable)).collect();
            keyed.sort_by(|a, b| a.0.compare(&b.0));
            all = keyed.into_iter().map(|(_, drawable)| drawable).collect();
        }
        all
    }

    /// The number of the shard of a document.
    fn shard_of(&self, doc: u32) -> usize {
        self.list.partition_point(|shard| shard.first_doc <= doc as usize) - 1
    }
}

impl SeedSource for LocalShards<'_> {
    fn sample(&self, salt: u64, n: usize) -> Result<Vec<Placed>> {
        Ok(self.list.iter().flat_map(|shard| shard.sample(salt, n)).collect())
    }

    fn seed_rows(&self, docs: &[u32]) -> Result<Vec<Centroid>> {
        let row = |&doc: &u32| {
            let shard = &self.list[self.shard_of(doc)];
            shard.rows.row(shard.position(doc))
        };
        let rows: Vec<Row<'_>> = docs.iter().map(row).collect();
        Ok(rows.into_par_iter().with_min_len(1 << 8).map(Centroid::from_row).collect())
    }

    fn begin_seeding(&mut self, search: bool) -> Result<Vec<u64>> {
        let buckets = Buckets::for_docs(self.list.iter().map(|shard| shard.rows.n_rows()).sum());
        // What the run before needed goes before the index comes.
        self.common.clear();
        self.list.iter_mut().for_each(LocalShard::clear);
        let mut totals: Vec<u64> = Vec::new();
        let device = self.common.seed_device().filter(|_| search);
        for shard in &mut self.list {
            let found = match &device {
                Some(device) => shard.begin_seeding_on(device, buckets),
                None => shard.begin_seeding(buckets, search),
            };
            totals.resize(found.len(), 0);
            totals.iter_mut().zip(found).for_each(|(total, found)| *total += found);
        }
        Ok(totals)
    }

    fn pick(&self, draws: &[Draw]) -> Result<Vec<Seed>> {
        let pick = |draw: &Draw| {
            let doc = draw.hit(self.drawable(draw.bucket));
            self.row(doc).map(|row| Seed { doc, row })
        };
        draws.iter().map(pick).collect()
    }

    fn row(&self, doc: u32) -> Result<Centroid> {
        let shard = &self.list[self.shard_of(doc)];
        Ok(Centroid::from_row(shard.rows.row(shard.position(doc))))
    }

    fn take(&mut self, doc: u32) -> Result<Vec<Lowered>> {
        let shard = self.shard_of(doc);
        let shard = &mut self.list[shard];
        let position = shard.position(doc) as u32;
        Ok(vec![shard.search_mut().take(position)])
    }

    fn absorb(&mut self, seed: &Seed) -> Result<Vec<Lowered>> {
        let mut lowered = Vec::new();
        self.list.iter_mut().for_each(|shard| lowered.extend(shard.absorb(seed.row.as_row())));
        lowered.extend(self.take(seed.doc)?);
        Ok(lowered)
    }

    fn join(&mut self, first_member: u32, seeds: &[Seed], again: &[u32]) -> Result<Joined> {
        let rows: Vec<Row<'_>> = seeds.iter().map(|seed| seed.row.as_row()).collect();
        let mut joined = Joined { gains: vec![0; seeds.len()], judged: vec![Some(0); again.len()] };
        for shard in &mut self.list {
            let found = shard.join(first_member, &rows, again);
            joined.gains.iter_mut().zip(found.gains).for_each(|(gain, found)| *gain += found);
            add_judged(&mut joined.judged, &found.judged);
        }
        Ok(joined)
    }

    fn judge(&mut self, members: &[u32]) -> Result<Vec<Option<u64>>> {
        let mut gains = vec![Some(0); members.len()];
        for shard in &mut self.list {
            // Every shard is asked, so that all lists are up to date.
            add_judged(&mut gains, &shard.search_mut().judge(members));
        }
        Ok(gains)
    }

    fn judged_beside(&self) -> usize {
        if rayon::current_num_threads() < THREADS_TO_JUDGE { 0 } else { JUDGED_BESIDE }
    }

    fn absorb_member(&mut self, member: u32, doc: u32) -> Result<Option<Vec<Lowered>>> {
        if !self.list.iter().all(|shard| shard.search.as_ref().is_some_and(|search| search.has_list(member)))
        {
            return Ok(None);
        }
        let mut lowered = Vec::new();
        for shard in &mut self.list {
            lowered.extend(shard.search_mut().absorb_member(member));
        }
        lowered.extend(self.take(doc)?);
        Ok(Some(lowered))
    }

    fn end_seeding(&mut self) -> Result<()> {
        for shard in &mut self.list {
            let left = shard.search.as_mut().and_then(Search::left_device);
            self.left_device = self.left_device.take().or(left);
            shard.end_seeding();
        }
        Ok(())
    }
}

/// For how many clusters deltas are made at a time. With several shards, the rows of each are read
/// once for each batch.
pub(crate) fn clusters_per_delta(has_several: bool, n_touched: usize, n_threads: usize) -> usize {
    let batch = batch_clusters(n_touched, n_threads);
    if has_several { batch.max(n_touched.div_ceil(PARTS)) } else { batch }
}

/// Parts in which one of several shards tells its delta.
const PARTS: usize = 8;

/// Divides clusters into so many parts, or fewer.
fn parts_of(clusters: RangeInclusive<u32>, n_parts: usize) -> impl Iterator<Item = RangeInclusive<u32>> {
    let (first, last) = clusters.into_inner();
    let len = (last - first + 1).div_ceil(n_parts as u32);
    (first..=last).step_by(len as usize).map(move |first| first..=last.min(first + (len - 1)))
}

/// Members of a pool that are judged beside new ones: about twice as many as have to be.
const JUDGED_BESIDE: usize = 8;

/// With fewer threads, only those are judged that have to be.
const THREADS_TO_JUDGE: usize = 4;

/// Why a search is there.
const BEGUN: &str = "seeding has begun";

impl Shards for LocalShards<'_> {
    fn facts(&self) -> RowFacts {
        RowFacts::of(self.rows, &self.weights)
    }

    fn checksums(&self) -> Result<Checksums> {
        let [mut rows, mut weights] = [crc32fast::Hasher::new(), crc32fast::Hasher::new()];
        for [of_rows, of_weights] in self.list.iter().map(LocalShard::checksums) {
            rows.combine(&of_rows);
            weights.combine(&of_weights);
        }
        Ok(Checksums { rows: rows.finalize(), weights: weights.finalize() })
    }

    fn start(&mut self, labels: Option<&[u32]>) -> Result<()> {
        self.common.clear();
        for shard in &mut self.list {
            let range = shard.first_doc..shard.first_doc + shard.rows.n_rows();
            shard.start(labels.map(|labels| &labels[range]))?;
        }
        self.common.attach(self.rows)
    }

    fn pass(&mut self, step: &Step<'_>) -> Result<Passed> {
        let mut passed = self.common.pass(self.rows, &mut self.list, step)?;
        passed.left_device = self.left_device.take().or(passed.left_device);
        Ok(passed)
    }

    fn worst(&self, after: Option<Fitting>, n: usize) -> Result<Vec<Candidate>> {
        let mut all: Vec<Candidate> = self.list.iter().flat_map(|shard| shard.worst(after, n)).collect();
        all.sort_unstable_by(|a, b| a.fitting.compare(&b.fitting));
        all.truncate(n);
        Ok(all)
    }

    fn refill(&mut self, refills: &[Refill]) -> Result<Vec<Touched>> {
        for refill in refills {
            let shard = self.shard_of(refill.doc);
            self.list[shard].refill(refill);
        }
        let mut touched = Vec::new();
        for shard in &mut self.list {
            Touched::add(&mut touched, shard.touched_by_given());
        }
        Ok(touched)
    }

    fn contest(&mut self, step: &Step<'_>, contest: &Contest) -> Result<Contested> {
        let mut all = Contested::default();
        let LocalShards { common, list, .. } = self;
        list.iter_mut().for_each(|shard| all.add(shard.contest(common, step, contest)));
        common.assigner.rest();
        Ok(all)
    }

    fn deltas(&mut self, clusters: RangeInclusive<u32>, take: &mut dyn FnMut(Delta)) -> Result<()> {
        let LocalShards { common, list, .. } = self;
        // One after the other, since each reads its rows.
        for shard in &*list {
            for clusters in parts_of(clusters.clone(), if list.len() > 1 { PARTS } else { 1 }) {
                take(shard.delta(common, clusters));
            }
        }
        Ok(())
    }

    fn clusters_per_delta(&self, n_touched: usize) -> usize {
        clusters_per_delta(self.list.len() > 1, n_touched, rayon::current_num_threads())
    }

    fn clusters_per_update(&self, n_touched: usize) -> usize {
        // Rows are read once.
        if self.list.len() > 1 { n_touched.max(1) } else { self.clusters_per_delta(n_touched) }
    }

    fn rest(&mut self) {
        self.common.clear();
        self.list.iter_mut().for_each(LocalShard::clear);
    }

    fn keep(&mut self) -> Result<()> {
        self.list.iter_mut().try_for_each(LocalShard::keep)
    }

    fn labels(&self) -> Result<Vec<u32>> {
        Ok(self.list.iter().flat_map(|shard| &shard.assignment.labels[..]).copied().collect())
    }

    fn kept_labels(&self) -> Result<Vec<u32>> {
        let kept = self.list.iter().filter_map(|shard| shard.kept.as_ref());
        Ok(kept.flat_map(|kept| &kept.labels[..]).copied().collect())
    }
}

impl<'a> LocalShard<'a> {
    /// A shard whose documents have numbers from `first_doc` on.
    pub(crate) fn new(first_doc: usize, rows: UnitRows<'a>, weights: RowWeights<'a>) -> Self {
        LocalShard {
            first_doc,
            rows,
            weights,
            place: (0, 1),
            assignment: Assignment::default(),
            summed: Spillable::default(),
            changes: Changes::default(),
            given: Vec::new(),
            passed_given: Vec::new(),
            kept: None,
            search: None,
            folder: None,
            kept_folder: None,
        }
    }

    /// Gives back what a run holds. What was kept stays.
    pub(crate) fn clear(&mut self) {
        self.assignment = Assignment::default();
        self.summed = Spillable::default();
        self.changes = Changes::default();
        self.given = Vec::new();
        self.passed_given = Vec::new();
        self.search = None;
    }

    /// The place of a document among those of the shard.
    pub(crate) fn position(&self, doc: u32) -> usize {
        doc as usize - self.first_doc
    }

    /// The documents that may be among the first `n` of a random order.
    pub(crate) fn sample(&self, salt: u64, n: usize) -> Vec<Placed> {
        sample_of(&self.rows, &self.weights, self.first_doc, salt, n)
    }

    /// Builds the data for seeding. Returns the total seed weight of each bucket.
    pub(crate) fn begin_seeding(&mut self, buckets: Buckets, search: bool) -> Vec<u64> {
        self.search.insert(Search::new(&self.rows, self.weights, buckets, search)).totals()
    }

    /// The same on a device, if it has room.
    pub(crate) fn begin_seeding_on(&mut self, device: &SeedDevice, buckets: Buckets) -> Vec<u64> {
        self.search.insert(Search::on_device(&self.rows, self.weights, buckets, device)).totals()
    }

    /// Gives back the data for seeding.
    pub(crate) fn end_seeding(&mut self) {
        self.search = None;
    }

    pub(crate) fn absorb(&mut self, seed: Row<'_>) -> Vec<Lowered> {
        self.search.as_mut().expect(BEGUN).absorb(&self.rows, seed)
    }

    pub(crate) fn join(&mut self, first_member: u32, seeds: &[Row<'_>], again: &[u32]) -> Joined {
        self.search.as_mut().expect(BEGUN).join(&self.rows, first_member, seeds, again)
    }

    pub(crate) fn search_mut(&mut self) -> &mut Search<'a> {
        self.search.as_mut().expect(BEGUN)
    }

    pub(crate) fn drawable(&self, bucket: usize) -> Vec<Drawable> {
        let mut found = self.search.as_ref().expect(BEGUN).drawable(bucket);
        found.iter_mut().for_each(|drawable| drawable.doc += self.first_doc as u32);
        found
    }

    /// The checksums of rows and weights, to be combined with those of other shards.
    pub(crate) fn checksums(&self) -> [crc32fast::Hasher; 2] {
        const TASK_ROWS: usize = 1 << 13;
        let n_rows = self.rows.n_rows();
        let starts: Vec<usize> = (0..n_rows).step_by(TASK_ROWS).collect();
        let (rows, weights) = (&self.rows, &self.weights);
        let parts: Vec<[crc32fast::Hasher; 2]> = starts
            .into_par_iter()
            .map(|start| {
                let mut hashers = [crc32fast::Hasher::new(), crc32fast::Hasher::new()];
                let mut bytes = Vec::new();
                for doc in start..n_rows.min(start + TASK_ROWS) {
                    let row = rows.row(doc);
                    bytes.clear();
                    bytes.extend((row.nnz() as u64).to_le_bytes());
                    row.terms.iter().for_each(|term| bytes.extend(term.to_le_bytes()));
                    row.values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
                    hashers[0].update(&bytes);
                    hashers[1].update(&weights.weight(doc).to_le_bytes());
                }
                hashers
            })
            .collect();
        let mut whole = [crc32fast::Hasher::new(), crc32fast::Hasher::new()];
        for part in &parts {
            whole.iter_mut().zip(part).for_each(|(whole, part)| whole.combine(part));
        }
        whole
    }

    pub(crate) fn start(&mut self, labels: Option<&[u32]>) -> Result<()> {
        let n_rows = self.rows.n_rows();
        self.clear();
        self.assignment = Assignment::none(n_rows, self.folder.as_deref())?;
        if let Some(labels) = labels {
            // Strategies leave zero rows alone, so that a label would stay for ever.
            let has_label = |doc: &&DocId| labels[doc.index()] != Assignment::NO_LABEL;
            if let Some(doc) = self.rows.zero_rows().iter().find(has_label) {
                let (label, row) = (labels[doc.index()], self.first_doc + doc.index());
                return Err(ErrorKind::Mismatch {
                    what: "the label of a row without terms",
                    expected: "-1".to_owned(),
                    got: format!("cluster {label} for row {row}"),
                }
                .into());
            }
            self.assignment.labels.copy_from_slice(labels);
        }
        self.summed = Spillable::new(vec![Assignment::NO_LABEL; n_rows], self.folder.as_deref())?;
        Ok(())
    }

    /// Assigns its documents to the centroids of a step that has begun.
    fn pass(&mut self, assigner: &mut dyn Assigner, step: &Step<'_>) -> Result<Passed> {
        let start = Instant::now();
        let given: Vec<u32> = self.given.iter().map(|&(doc, _)| doc).collect();
        let (number, n_shards) = self.place;
        let of_shard = ShardStep::new(step, &self.rows, &given).of_block(number, n_shards);
        let Assigned { counters, strategy, filters_off, index, prepare_seconds, phases, left_device } =
            assigner.assign(&of_shard, &mut self.assignment)?;
        if step.is_cancelled() {
            return Err(ErrorKind::Stopped { stage: "an iteration" }.into());
        }
        let assign_seconds = start.elapsed().as_secs_f64();
        let labels = &self.assignment.labels;
        let mut moved_docs = n_different(&self.summed, labels);
        // Whether these moved is a matter of the labels that they had after the last pass.
        for (doc, before) in self.given.drain(..) {
            let now = labels[doc as usize];
            moved_docs -= u64::from(now != self.summed[doc as usize]);
            moved_docs += u64::from(now != before);
        }
        let (changes, touched) = Changes::between(&self.summed, labels, &self.weights);
        self.changes = changes;
        self.passed_given = given;
        self.summed.copy_from_slice(labels);
        let objective = self.weights.fixed_sum(&self.assignment.similarities);
        Ok(Passed {
            touched,
            objective,
            moved_docs,
            unsettled_docs: 0,
            counters,
            strategy,
            filters_off,
            index,
            seconds: PassSeconds {
                prepare: prepare_seconds,
                assign: assign_seconds - prepare_seconds,
                compare: start.elapsed().as_secs_f64() - assign_seconds,
                phases,
            },
            strategy_bytes: 0,
            transferred: None,
            left_device,
        })
    }

    /// The documents whose labels may differ from those of the pass before the last, ascending,
    /// with their labels. Positions in the shard.
    pub(crate) fn relabelled(&self) -> Vec<(u32, u32)> {
        let mut docs: Vec<u32> = self.changes.docs().chain(self.passed_given.iter().copied()).collect();
        docs.par_sort_unstable();
        docs.dedup();
        docs.into_iter().map(|doc| (doc, self.assignment.labels[doc as usize])).collect()
    }

    /// Nonzeros of the documents that moved in the last pass and since: at least as many as the
    /// entries of all deltas.
    pub(crate) fn moved_nnz(&self) -> usize {
        self.changes.docs().map(|doc| self.rows.row(doc as usize).nnz()).sum()
    }

    /// What the last pass, and the refills and contests since, change in the sums of these
    /// clusters.
    pub(crate) fn delta(&self, common: &mut Common<'_>, clusters: RangeInclusive<u32>) -> Delta {
        let LocalShard { rows, weights, changes, .. } = self;
        let moved = Moved { block: self.place.0, rows, weights, changes, clusters: clusters.clone() };
        let found = common.assigner.delta(&moved);
        found.unwrap_or_else(|| changes.delta(clusters, rows, weights, &common.scratch))
    }

    /// Keeps labels and similarities of the run that has ended as the best so far.
    pub(crate) fn keep(&mut self) -> Result<()> {
        match &mut self.kept {
            Some(kept) => kept.copy_from(&self.assignment),
            None => {
                let kept = self.assignment.copied(self.kept_folder.as_deref());
                // Beside rows in memory there is room for it.
                let in_memory = kept.is_err() && self.folder.is_none();
                self.kept = Some(if in_memory { self.assignment.copied(None) } else { kept }?);
            }
        }
        self.kept.iter().for_each(Assignment::let_go);
        Ok(())
    }

    /// What was kept.
    pub(crate) fn kept(&self) -> Option<&Assignment> {
        self.kept.as_ref()
    }

    /// Documents whose own centroid changed.
    fn unsettled(&self, step: &Step<'_>) -> u64 {
        if step.movement.is_none() {
            return self.rows.n_nonzero_rows() as u64;
        }
        let labels = self.assignment.labels.par_iter().with_min_len(1 << 13);
        labels.filter(|&&label| !step.is_settled(label)).count() as u64
    }

    pub(crate) fn worst(&self, after: Option<Fitting>, n: usize) -> Vec<Candidate> {
        let (Assignment { labels, similarities }, rows, weights, first_doc) =
            (&self.assignment, &self.rows, &self.weights, self.first_doc);
        let docs = labels.par_iter().zip(&similarities[..]).with_min_len(1 << 13).enumerate();
        // Their similarities are those to the centroids of the clusters that they have left.
        let given: HashSet<u32> = self.given.iter().map(|&(doc, _)| doc).collect();
        let mut found: Vec<Fitting> = docs
            .filter_map(|(position, (&label, &similarity))| {
                let fitting = Fitting { similarity, doc: (first_doc + position) as u32 };
                let may_be_taken = (label != Assignment::NO_LABEL || rows.row(position).nnz() > 0)
                    && weights.weight(position) > 0.0
                    && 1.0 - similarity >= COINCIDENT
                    && !given.contains(&(position as u32))
                    && after.is_none_or(|after| fitting.compare(&after).is_gt());
                may_be_taken.then_some(fitting)
            })
            .collect();
        if found.len() > n {
            found.select_nth_unstable_by(n, Fitting::compare);
            found.truncate(n);
        }
        found.sort_unstable_by(Fitting::compare);
        let candidate = |fitting: Fitting| {
            let position = fitting.doc as usize - self.first_doc;
            let row = self.rows.row(position);
            Candidate { fitting, label: labels[position], terms: row.terms.into(), values: row.values.into() }
        };
        found.into_iter().map(candidate).collect()
    }

    pub(crate) fn refill(&mut self, refill: &Refill) {
        self.give(refill.doc as usize - self.first_doc, refill.cluster);
    }
}

/// How many documents have another label.
fn n_different(before: &[u32], after: &[u32]) -> u64 {
    let pairs = before.par_iter().with_min_len(1 << 13).zip(after);
    pairs.filter(|(before, after)| before != after).count() as u64
}
