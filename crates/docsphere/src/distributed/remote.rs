//! Shards on workers: the coordinator's side of every question that the loop and seeding ask.

use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use std::time::Instant;

use super::label_file::LabelFile;
use super::link::Traffic;
use super::message::{Answer, Begin, Centers, FactsMessage, PassedDocuments, Request};
use super::packed::{Packed, damaged, pack_all_labels};
use super::team::Team;
use crate::assign::Step;
use crate::centroids::Centroid;
use crate::error::{Error, Result};
use crate::seeding::{
    Draw, Drawable, Joined, Lowered, Ordered, Placed, Seed, SeedSource, add_judged, content_hash,
};
use crate::shards::{Checksums, Contest, Contested, PassSeconds, Passed, RowFacts, Shards};
use crate::summary::source::{ClusterFacts, Extremes, SummarySource, add_counts};
use crate::update::{Candidate, Delta, Fitting, Refill, Touched, batch_clusters};

/// Documents per bucket of a draw: few, since the rows of a bucket travel with every draw.
const BUCKET_DOCS: u64 = 16;

/// Members of a greedy pool that are judged together with others: a round trip costs more.
const JUDGED_AHEAD: usize = 8;

/// Entries of deltas that the coordinator takes at a time.
pub(super) const DELTA_ENTRIES: u64 = 1 << 22;

/// See the [module](self).
pub(super) struct RemoteShards<'a> {
    team: RefCell<Team<'a>>,
    /// The number of the first document of each worker.
    first_docs: Vec<usize>,
    facts: RowFacts,
    /// The number of clusters of the last pass.
    n_clusters: usize,
    /// The labels after the last pass.
    labels: LabelFile,
    /// The labels that were kept.
    kept_labels: Option<LabelFile>,
    /// Whether the next pass is the first since the run started.
    is_first_pass: bool,
    /// The delta of all clusters, if it came with the last pass.
    delta: Option<Delta>,
    /// Nonzeros of the documents that moved in the last pass.
    moved_nnz: u64,
    /// The row of the member that became a seed last.
    last_seed: RefCell<Option<Seed>>,
}

impl<'a> RemoteShards<'a> {
    /// Begins with workers that have their rows.
    pub(super) fn new(mut team: Team<'a>, begins: Vec<Begin>) -> Result<Self> {
        team.begin(begins)?;
        let facts = team.begun().iter().map(|begun| begun.facts).reduce(RowFacts::plus);
        let facts = facts.ok_or_else(damaged)?;
        Ok(RemoteShards {
            labels: LabelFile::new(facts.n_rows)?,
            first_docs: team.begins().iter().map(|begin| begin.first_doc as usize).collect(),
            team: RefCell::new(team),
            facts,
            n_clusters: 0,
            kept_labels: None,
            is_first_pass: true,
            delta: None,
            moved_nnz: 0,
            last_seed: RefCell::new(None),
        })
    }

    pub(super) fn traffic(&self) -> Traffic {
        self.team.borrow().link.traffic
    }

    fn ask_all(&self, request: &Request, take: impl FnMut(usize, Answer) -> Result<()>) -> Result<()> {
        self.team.borrow_mut().link.ask_all(request, take)
    }

    /// Asks all workers for something that needs no answer.
    fn tell_all(&self, request: &Request) -> Result<()> {
        self.ask_all(request, |_, answer| match answer {
            Answer::Done => Ok(()),
            _ => Err(damaged()),
        })
    }

    fn worker_of(&self, doc: u32) -> usize {
        self.first_docs.partition_point(|&first| first <= doc as usize) - 1
    }

    /// The documents of one worker.
    fn docs_of(&self, worker: usize) -> std::ops::Range<usize> {
        let end = self.first_docs.get(worker + 1).copied().unwrap_or(self.facts.n_rows);
        self.first_docs[worker]..end
    }

    fn lowered_by(&self, request: &Request) -> Result<Vec<Lowered>> {
        let mut lowered = Vec::new();
        self.ask_all(request, |_, answer| {
            let Answer::Lowered(found) = answer else { return Err(damaged()) };
            lowered.extend(found.reader().lowered()?);
            Ok(())
        })?;
        Ok(lowered)
    }

    /// The document that a draw hits, of those that the workers have in its bucket.
    fn hit(draw: Draw, parts: &[Packed]) -> Result<Seed> {
        let mut rows: Vec<Centroid> = Vec::new();
        // Document, weight, and index of its row.
        let mut docs: Vec<(Drawable, usize)> = Vec::new();
        for part in parts {
            let mut reader = part.reader();
            while !reader.is_empty() {
                let drawable = Drawable { doc: reader.short()?, weight: reader.number()? };
                if reader.number()? == 0 {
                    rows.push(reader.row()?);
                }
                docs.push((drawable, rows.len().checked_sub(1).ok_or_else(damaged)?));
            }
        }
        let hashes: Vec<u64> = rows.iter().map(|row| content_hash(row.as_row())).collect();
        let ordered = |&(drawable, row): &(Drawable, usize)| Ordered {
            hash: hashes[row],
            row: rows[row].as_row(),
            doc: drawable.doc,
        };
        docs.sort_by(|a, b| ordered(a).compare(&ordered(b)));
        let total: u64 = docs.iter().map(|(drawable, _)| drawable.weight).sum();
        if draw.rest >= total {
            return Err(damaged());
        }
        let doc = draw.hit(docs.iter().map(|(drawable, _)| *drawable));
        let row = docs.iter().find(|(drawable, _)| drawable.doc == doc).map(|found| rows[found.1].clone());
        Ok(Seed { doc, row: row.ok_or_else(damaged)? })
    }

    /// Asks the workers of some documents about these, and puts the answers in their order.
    fn ask_owners<T>(
        &self,
        docs: &[u32],
        request: impl Fn(Vec<u32>) -> Request,
        answers: impl Fn(Answer) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        let mut asked: Vec<Vec<usize>> = vec![Vec::new(); self.first_docs.len()];
        for (place, &doc) in docs.iter().enumerate() {
            asked[self.worker_of(doc)].push(place);
        }
        let own = |places: &Vec<usize>| {
            (!places.is_empty()).then(|| request(places.iter().map(|&place| docs[place]).collect()))
        };
        let mut all: Vec<Option<T>> = Vec::new();
        all.resize_with(docs.len(), || None);
        let requests = asked.iter().map(own).collect();
        self.team.borrow_mut().link.ask_each(requests, |worker, answer| {
            let found = answers(answer)?;
            if found.len() != asked[worker].len() {
                return Err(damaged());
            }
            asked[worker].iter().zip(found).for_each(|(&place, found)| all[place] = Some(found));
            Ok(())
        })?;
        all.into_iter().collect::<Option<Vec<T>>>().ok_or_else(damaged)
    }

    /// Ids and texts of some documents.
    pub(super) fn documents(&self, docs: &[u32]) -> Result<Vec<(String, Option<String>)>> {
        self.ask_owners(
            docs,
            |docs| Request::Documents { docs },
            |answer| match answer {
                Answer::Documents(found) => Ok(found),
                _ => Err(damaged()),
            },
        )
    }

    /// Lets every worker do something that only the caller understands.
    pub(super) fn extend(&self, requests: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let mut all = vec![Vec::new(); requests.len()];
        let own = |bytes| Some(Request::Extend { bytes: Packed(bytes) });
        let requests = requests.into_iter().map(own).collect();
        self.team.borrow_mut().link.ask_each(requests, |worker, answer| {
            let Answer::Extended(Packed(bytes)) = answer else { return Err(damaged()) };
            all[worker] = bytes;
            Ok(())
        })?;
        Ok(all)
    }

    /// The number of the first document of each worker.
    pub(super) fn first_docs(&self) -> &[usize] {
        &self.first_docs
    }

    /// What the workers are doing, for messages.
    pub(super) fn set_stage(&mut self, stage: &'static str) {
        self.team.get_mut().link.stage = stage;
    }
}

impl SeedSource for RemoteShards<'_> {
    fn sample(&self, salt: u64, n: usize) -> Result<Vec<Placed>> {
        let mut all = Vec::new();
        self.ask_all(&Request::Sample { salt, n: n as u64 }, |_, answer| {
            let Answer::Sampled(found) = answer else { return Err(damaged()) };
            all.extend(found.into_iter().map(|(place, doc)| Placed { place, doc }));
            Ok(())
        })?;
        Ok(all)
    }

    fn seed_rows(&self, docs: &[u32]) -> Result<Vec<Centroid>> {
        self.rows(docs)
    }

    fn begin_seeding(&mut self, search: bool) -> Result<Vec<u64>> {
        self.set_stage("seeding");
        let mut totals: Vec<u64> = Vec::new();
        let request = Request::BeginSeeding { bucket_docs: BUCKET_DOCS, search };
        self.ask_all(&request, |_, answer| {
            let Answer::Totals(found) = answer else { return Err(damaged()) };
            found.reader().add_totals(&mut totals)
        })?;
        Ok(totals)
    }

    fn pick(&self, draws: &[Draw]) -> Result<Vec<Seed>> {
        let mut parts: Vec<Vec<Packed>> = vec![Vec::new(); draws.len()];
        let buckets = draws.iter().map(|draw| draw.bucket as u64).collect();
        self.ask_all(&Request::Pick { buckets }, |_, answer| match answer {
            Answer::Picked(found) if found.len() == parts.len() => {
                parts.iter_mut().zip(found).for_each(|(parts, found)| parts.push(found));
                Ok(())
            }
            _ => Err(damaged()),
        })?;
        draws.iter().zip(&parts).map(|(&draw, parts)| Self::hit(draw, parts)).collect()
    }

    fn row(&self, doc: u32) -> Result<Centroid> {
        if let Some(seed) = self.last_seed.borrow().as_ref().filter(|seed| seed.doc == doc) {
            return Ok(seed.row.clone());
        }
        let answer = self.team.borrow_mut().link.ask_one(self.worker_of(doc), &Request::Row { doc })?;
        let Answer::Row(row) = answer else { return Err(damaged()) };
        row.reader().row()
    }

    fn take(&mut self, doc: u32) -> Result<Vec<Lowered>> {
        let worker = self.worker_of(doc);
        let answer = self.team.get_mut().link.ask_one(worker, &Request::Take { doc })?;
        let Answer::Lowered(lowered) = answer else { return Err(damaged()) };
        lowered.reader().lowered()
    }

    fn absorb(&mut self, seed: &Seed) -> Result<Vec<Lowered>> {
        self.lowered_by(&Request::Absorb { seed: Packed::of_seeds(std::slice::from_ref(seed)) })
    }

    fn join(&mut self, first_member: u32, seeds: &[Seed], again: &[u32]) -> Result<Joined> {
        let mut joined = Joined { gains: vec![0; seeds.len()], judged: vec![Some(0); again.len()] };
        let request = Request::Join { first_member, seeds: Packed::of_seeds(seeds), again: again.to_vec() };
        self.ask_all(&request, |_, answer| {
            let Answer::Joined { gains, judged } = answer else { return Err(damaged()) };
            joined.gains.iter_mut().zip(gains).for_each(|(sum, gain)| *sum += gain);
            add_judged(&mut joined.judged, &judged);
            Ok(())
        })?;
        Ok(joined)
    }

    fn judge(&mut self, members: &[u32]) -> Result<Vec<Option<u64>>> {
        let mut gains = vec![Some(0); members.len()];
        self.ask_all(&Request::Judge { members: members.to_vec() }, |_, answer| {
            let Answer::Judged(found) = answer else { return Err(damaged()) };
            add_judged(&mut gains, &found);
            Ok(())
        })?;
        Ok(gains)
    }

    fn judged_ahead(&self) -> usize {
        JUDGED_AHEAD
    }

    fn absorb_member(&mut self, member: u32, doc: u32) -> Result<Option<Vec<Lowered>>> {
        let mut all = Vec::new();
        let mut without_list = Vec::new();
        let mut seed = None;
        self.ask_all(&Request::AbsorbMember { member, doc }, |worker, answer| {
            let Answer::Absorbed { lowered, row } = answer else { return Err(damaged()) };
            match lowered {
                Some(lowered) => all.extend(lowered.reader().lowered()?),
                None => without_list.push(worker),
            }
            if let Some(row) = row {
                seed = Some(Seed { doc, row: row.reader().row()? });
            }
            Ok(())
        })?;
        let seed = seed.ok_or_else(damaged)?;
        // A dropped list is found again through the index: the same documents, the same weights.
        for worker in without_list {
            let request = Request::Absorb { seed: Packed::of_seeds(std::slice::from_ref(&seed)) };
            let Answer::Lowered(lowered) = self.team.get_mut().link.ask_one(worker, &request)? else {
                return Err(damaged());
            };
            all.extend(lowered.reader().lowered()?);
        }
        *self.last_seed.get_mut() = Some(seed);
        Ok(Some(all))
    }

    fn end_seeding(&mut self) -> Result<()> {
        *self.last_seed.get_mut() = None;
        self.tell_all(&Request::EndSeeding)
    }
}

impl Shards for RemoteShards<'_> {
    fn facts(&self) -> RowFacts {
        self.facts
    }

    fn checksums(&self) -> Result<Checksums> {
        let [mut rows, mut weights] = [crc32fast::Hasher::new(), crc32fast::Hasher::new()];
        for begun in self.team.borrow().begun() {
            rows.combine(&crc32fast::Hasher::new_with_initial_len(begun.rows.0, begun.rows.1));
            weights.combine(&crc32fast::Hasher::new_with_initial_len(begun.weights.0, begun.weights.1));
        }
        Ok(Checksums { rows: rows.finalize(), weights: weights.finalize() })
    }

    fn start(&mut self, labels: Option<&[u32]>) -> Result<()> {
        self.set_stage("starting a run");
        (self.is_first_pass, self.delta, self.moved_nnz) = (true, None, 0);
        let Some(labels) = labels else { return self.tell_all(&Request::Start { labels: None }) };
        let own = |worker| {
            let labels = Some(pack_all_labels(&labels[self.docs_of(worker)]));
            Some(Request::Start { labels })
        };
        let requests = (0..self.first_docs.len()).map(own).collect();
        self.team.borrow_mut().link.ask_each(requests, |_, answer| match answer {
            Answer::Done => Ok(()),
            _ => Err(damaged()),
        })
    }

    fn pass(&mut self, step: &Step<'_>) -> Result<Passed> {
        self.set_stage("assigning documents");
        self.n_clusters = step.centroids.n_clusters();
        let start = Instant::now();
        let mut parts: Vec<Option<PassedDocuments>> = Vec::new();
        parts.resize_with(self.first_docs.len(), || None);
        self.ask_all(&Request::Pass(centers(step)), |worker, answer| {
            let Answer::Passed(passed) = answer else { return Err(damaged()) };
            parts[worker] = Some(*passed);
            Ok(())
        })?;
        // Only now: if one of them is lost, the labels of the pass before are needed.
        if std::mem::replace(&mut self.is_first_pass, false) {
            self.labels.clear()?;
        }
        let mut all: Option<Passed> = None;
        let mut slowest = (0.0, 0.0);
        (self.delta, self.moved_nnz) = (Some(Delta::default()), 0);
        for (worker, part) in parts.into_iter().enumerate() {
            let part = part.ok_or_else(damaged)?;
            let relabelled = part.relabelled.reader().labels()?;
            if relabelled.last().is_some_and(|last| last.0 as usize >= self.docs_of(worker).len()) {
                return Err(damaged());
            }
            self.labels.set(self.first_docs[worker], &relabelled)?;
            self.moved_nnz += part.moved_nnz;
            self.delta = match (self.delta.take(), &part.delta) {
                (Some(mut delta), Some(part)) => {
                    delta.add(part.reader().delta()?);
                    Some(delta)
                }
                _ => None,
            };
            let passed = passed(part);
            if passed.seconds.prepare + passed.seconds.assign > slowest.0 + slowest.1 {
                slowest = (passed.seconds.prepare, passed.seconds.assign);
            }
            match &mut all {
                Some(all) => all.add(passed),
                None => all = Some(passed),
            }
        }
        self.set_stage("updating centroids");
        let mut all = all.ok_or_else(damaged)?;
        // Workers work at the same time: the slowest counts, and messages are part of the update.
        let PassSeconds { prepare, assign, compare, .. } = &mut all.seconds;
        (*prepare, *assign) = slowest;
        *compare = (start.elapsed().as_secs_f64() - *prepare - *assign).max(0.0);
        Ok(all)
    }

    fn worst(&self, after: Option<Fitting>, n: usize) -> Result<Vec<Candidate>> {
        let mut all: Vec<Candidate> = Vec::new();
        let after = after.map(|after| (after.similarity, after.doc));
        self.ask_all(&Request::Worst { after, n: n as u64 }, |_, answer| {
            let Answer::Worst { fitting, rows } = answer else { return Err(damaged()) };
            for ((similarity, doc, label), row) in fitting.into_iter().zip(rows.reader().rows()?) {
                let fitting = Fitting { similarity, doc };
                all.push(Candidate {
                    fitting,
                    label,
                    terms: (*row.terms).into(),
                    values: (*row.values).into(),
                });
            }
            Ok(())
        })?;
        all.sort_unstable_by(|a, b| a.fitting.compare(&b.fitting));
        all.truncate(n);
        Ok(all)
    }

    fn refill(&mut self, refills: &[Refill]) -> Result<Vec<Touched>> {
        // What came with the pass does not have these moves.
        self.delta = None;
        let refills = refills.iter().map(|refill| (refill.doc, refill.cluster)).collect();
        let mut all = Vec::new();
        self.ask_all(&Request::Refill { refills }, |_, answer| {
            let Answer::Touched(found) = answer else { return Err(damaged()) };
            Touched::add(&mut all, touched(found));
            Ok(())
        })?;
        Ok(all)
    }

    fn contest(&mut self, _step: &Step<'_>, contest: &Contest) -> Result<Contested> {
        // The workers have the centroids. What came with the pass does not have these moves.
        self.delta = None;
        let mut all = Contested::default();
        let mut nnz = 0;
        let request = Request::Contest { rule: contest.rule, sizes: contest.sizes.clone() };
        self.ask_all(&request, |_, answer| {
            let Answer::Contested { touched: found, n_docs, counters, moved_nnz } = answer else {
                return Err(damaged());
            };
            all.add(Contested { touched: touched(found), n_docs, counters });
            nnz += moved_nnz;
            Ok(())
        })?;
        self.moved_nnz = nnz;
        Ok(all)
    }

    fn deltas(&self, clusters: RangeInclusive<u32>, take: &mut dyn FnMut(Delta)) -> Result<()> {
        if let Some(delta) = &self.delta {
            let parts = &delta.clusters;
            let from = parts.partition_point(|part| part.cluster < *clusters.start());
            let to = parts.partition_point(|part| part.cluster <= *clusters.end());
            take(Delta { clusters: parts[from..to].to_vec() });
            return Ok(());
        }
        let mut all = Delta::default();
        let request = Request::Delta { first: *clusters.start(), last: *clusters.end() };
        self.ask_all(&request, |_, answer| {
            let Answer::Delta(found) = answer else { return Err(damaged()) };
            all.add(found.reader().delta()?);
            Ok(())
        })?;
        take(all);
        Ok(())
    }

    fn clusters_per_delta(&self, n_touched: usize) -> usize {
        let share = n_touched as u64 * DELTA_ENTRIES / self.moved_nnz.max(1);
        batch_clusters(1).max(share.min(n_touched as u64) as usize)
    }

    fn keep(&mut self) -> Result<()> {
        self.tell_all(&Request::Keep)?;
        let kept = match &mut self.kept_labels {
            Some(kept) => kept,
            None => self.kept_labels.insert(LabelFile::new(self.facts.n_rows)?),
        };
        kept.copy_from(&self.labels)
    }

    fn labels(&self) -> Result<Vec<u32>> {
        self.labels.all()
    }

    fn kept_labels(&self) -> Result<Vec<u32>> {
        self.kept_labels.as_ref().map_or(Ok(Vec::new()), LabelFile::all)
    }

    fn may_be_lost(&self) -> bool {
        true
    }

    fn progressed(&mut self) {
        self.team.get_mut().succeeded();
    }

    fn recover(&mut self, error: &Error) -> Result<bool> {
        self.team.get_mut().recover(error)
    }
}

impl SummarySource for RemoteShards<'_> {
    fn cluster_facts(&self, n_clusters: usize) -> Result<Vec<ClusterFacts>> {
        let mut all = vec![ClusterFacts::default(); n_clusters];
        let request = Request::ClusterFacts { n_clusters: n_clusters as u64 };
        self.ask_all(&request, |_, answer| {
            let Answer::ClusterFacts(found) = answer else { return Err(damaged()) };
            for (sum, found) in all.iter_mut().zip(found) {
                let FactsMessage { size, similarity_sum, histogram } = found;
                let histogram = histogram.try_into().map_err(|_| damaged())?;
                sum.add(&ClusterFacts { size, similarity_sum, histogram });
            }
            Ok(())
        })?;
        Ok(all)
    }

    fn extremes(&self, clusters: Range<u32>, n_best: usize, n_worst: usize) -> Result<Vec<Extremes>> {
        let mut all = vec![Extremes::default(); clusters.len()];
        let request = Request::Extremes {
            n_clusters: self.n_clusters as u64,
            first: clusters.start,
            end: clusters.end,
            n_best: n_best as u64,
            n_worst: n_worst as u64,
        };
        let list = |pairs: Vec<(f64, u32)>| {
            pairs.into_iter().map(|(similarity, doc)| Fitting { similarity, doc }).collect()
        };
        self.ask_all(&request, |_, answer| {
            let Answer::Extremes(found) = answer else { return Err(damaged()) };
            for (sum, found) in all.iter_mut().zip(found) {
                let found = Extremes { best: list(found.best), worst: list(found.worst) };
                sum.add(found, n_best, n_worst);
            }
            Ok(())
        })?;
        Ok(all)
    }

    fn rows(&self, docs: &[u32]) -> Result<Vec<Centroid>> {
        self.ask_owners(
            docs,
            |docs| Request::Rows { docs },
            |answer| match answer {
                Answer::Rows(rows) => rows.reader().rows(),
                _ => Err(damaged()),
            },
        )
    }

    fn term_counts(&self, first: u32, terms: &[Vec<u32>]) -> Result<Vec<Vec<u64>>> {
        let request =
            Request::TermCounts { n_clusters: self.n_clusters as u64, first, terms: terms.to_vec() };
        self.counts(&request, terms.iter().map(Vec::len))
    }

    fn near_counts(&self, first: u32, rows: &[Vec<Centroid>], near: f64) -> Result<Vec<Vec<u64>>> {
        let request = Request::NearCounts {
            n_clusters: self.n_clusters as u64,
            first,
            n_rows: rows.iter().map(|rows| rows.len() as u32).collect(),
            rows: Packed::of_rows(rows.iter().flatten().map(Centroid::as_row)),
            near,
        };
        self.counts(&request, rows.iter().map(Vec::len))
    }
}

impl RemoteShards<'_> {
    /// The sums of the counts of all workers; `lengths` has the number of counts of each cluster.
    fn counts(&self, request: &Request, lengths: impl Iterator<Item = usize>) -> Result<Vec<Vec<u64>>> {
        let mut all: Vec<Vec<u64>> = lengths.map(|length| vec![0; length]).collect();
        self.ask_all(request, |_, answer| {
            let Answer::Counts(found) = answer else { return Err(damaged()) };
            if !found.iter().map(Vec::len).eq(all.iter().map(Vec::len)) {
                return Err(damaged());
            }
            add_counts(&mut all, &found);
            Ok(())
        })?;
        Ok(all)
    }
}

/// The centroids of a step, or those that changed.
fn centers(step: &Step<'_>) -> Centers {
    let (centroids, mut rows, mut moved) = (step.centroids, Packed::default(), Vec::new());
    let mut push = |cluster: usize| {
        rows.push(cluster as u64);
        rows.push_row(centroids.row(cluster));
    };
    match step.movement {
        None => (0..centroids.n_clusters()).for_each(push),
        Some(movement) => {
            for &cluster in movement.changed() {
                push(cluster as usize);
                let of_cluster = movement.moved(cluster as usize);
                moved.push((of_cluster.squared_distance, of_cluster.squared_rise));
            }
        }
    }
    Centers {
        iteration: step.iteration as u64,
        n_terms: centroids.n_terms() as u64,
        n_clusters: centroids.n_clusters() as u64,
        changes: step.movement.is_some(),
        rows,
        moved,
    }
}

fn passed(part: PassedDocuments) -> Passed {
    let [prepare, assign, compare] = part.seconds;
    Passed {
        touched: touched(part.touched),
        objective: part.objective,
        moved_docs: part.moved_docs,
        unsettled_docs: part.unsettled_docs,
        counters: part.counters,
        strategy: part.strategy,
        filters_off: part.filters_off,
        index: part.index,
        seconds: PassSeconds { prepare, assign, compare, phases: None },
        strategy_bytes: part.strategy_bytes,
        left_device: None,
    }
}

fn touched(pairs: Vec<(u32, i64)>) -> Vec<Touched> {
    pairs.into_iter().map(|(cluster, members)| Touched { cluster, members }).collect()
}
