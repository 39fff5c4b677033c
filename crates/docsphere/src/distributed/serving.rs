//! A shard during runs: answers to the questions of the loop, of seeding and of summaries.

use super::message::{
    Answer, Begin, BegunRows, Centers, ExtremesMessage, FactsMessage, PassedDocuments, Request,
};
use super::own::{Own, out_of_turn};
use super::packed::{Packed, damaged, unpack_all_labels};
use crate::assign::Step;
use crate::centroids::{Centroid, Centroids, Moved, Movement};
use crate::error::Result;
use crate::labels::{Assignment, Labels};
use crate::seeding::{Buckets, Joined, Lowered};
use crate::shards::{Common, Contest, Contested, LocalShard, RowFacts};
use crate::summary::source::{ClusterFacts, Extremes, LocalSource, Members, SummarySource};
use crate::update::{Candidate, Fitting, Refill, Touched};
use crate::vectors::{Ids, Row, UnitRows};

/// The documents of a worker and their clusters, after a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShardView<'a> {
    /// The rows.
    pub rows: &'a UnitRows<'a>,
    /// The ids of the documents; none if the worker was given rows.
    pub ids: &'a Ids,
    /// The number of the first document.
    pub first_doc: u64,
    /// The cluster of each document.
    pub labels: Labels,
    /// The similarity of each document to its centroid.
    pub similarities: &'a [f64],
}

/// A shard during runs.
pub(super) struct Serving<'a> {
    common: Common<'a>,
    shard: LocalShard<'a>,
    own: &'a Own,
    rows: &'a UnitRows<'static>,
    begin: &'a Begin,
    /// The centroids of the last pass, and its iteration.
    centroids: Option<Centroids>,
    iteration: Option<usize>,
    /// The documents of each cluster of the run that was kept.
    members: Option<Members>,
}

impl<'a> Serving<'a> {
    pub(super) fn new(
        common: Common<'a>,
        shard: LocalShard<'a>,
        own: &'a Own,
        rows: &'a UnitRows<'static>,
        begin: &'a Begin,
    ) -> Self {
        Serving { common, shard, own, rows, begin, centroids: None, iteration: None, members: None }
    }

    /// The rows, and their checksums.
    pub(super) fn begun(&self, facts: RowFacts) -> BegunRows {
        let [rows, weights] = self.shard.checksums();
        let n_rows = 8 * self.rows.n_rows() as u64;
        BegunRows {
            facts,
            rows: (rows.finalize(), n_rows + 8 * self.rows.nnz() as u64),
            weights: (weights.finalize(), n_rows),
        }
    }

    pub(super) fn answer(&mut self, request: Request) -> Result<Answer> {
        match request {
            Request::Sample { salt, n } => {
                let found = self.shard.sample(salt, n as usize);
                Ok(Answer::Sampled(found.iter().map(|placed| (placed.place, placed.doc)).collect()))
            }
            Request::BeginSeeding { bucket_docs, search } => {
                self.common.clear();
                self.shard.clear();
                self.centroids = None;
                let buckets = Buckets::of_size(self.begin.n_docs as usize, bucket_docs as usize);
                Ok(Answer::Totals(Packed::of_totals(&self.shard.begin_seeding(buckets, search))))
            }
            Request::Pick { buckets } => {
                Ok(Answer::Picked(buckets.into_iter().map(|bucket| self.picked(bucket as usize)).collect()))
            }
            Request::Row { doc } => Ok(Answer::Row(Packed::of_rows([self.row(doc)?]))),
            Request::Take { doc } => Ok(Answer::Lowered(Packed::of_lowered(self.take(doc)))),
            Request::Absorb { seed } => {
                let seed = seed.reader().seed()?;
                let mut lowered = self.shard.absorb(self.checked(seed.row.as_row())?);
                lowered.extend(self.take(seed.doc));
                Ok(Answer::Lowered(Packed::of_lowered(lowered)))
            }
            Request::Join { first_member, seeds, again } => {
                let seeds = seeds.reader().seeds()?;
                let rows: Result<Vec<Row<'_>>> =
                    seeds.iter().map(|seed| self.checked(seed.row.as_row())).collect();
                let Joined { gains, judged } = self.shard.join(first_member, &rows?, &again);
                Ok(Answer::Joined { gains, judged })
            }
            Request::Judge { members } => Ok(Answer::Judged(self.shard.search_mut().judge(&members))),
            Request::AbsorbMember { member, doc } => {
                let row = self.has(doc).then(|| self.row(doc)).transpose()?;
                let row = row.map(|row| Packed::of_rows([row]));
                if !self.shard.search_mut().has_list(member) {
                    return Ok(Answer::Absorbed { lowered: None, row });
                }
                let mut lowered = self.shard.search_mut().absorb_member(member);
                lowered.extend(self.take(doc));
                Ok(Answer::Absorbed { lowered: Some(Packed::of_lowered(lowered)), row })
            }
            Request::EndSeeding => {
                self.shard.end_seeding();
                Ok(Answer::Done)
            }
            Request::Start { labels } => {
                let labels = labels.as_ref().map(unpack_all_labels).transpose()?;
                if labels.as_ref().is_some_and(|labels| labels.len() != self.rows.n_rows()) {
                    return Err(damaged());
                }
                self.centroids = None;
                self.common.clear();
                self.shard.start(labels.as_deref())?;
                self.common.attach(self.rows)?;
                Ok(Answer::Done)
            }
            Request::Pass(centers) => self.pass(&centers),
            Request::Worst { after, n } => {
                let after = after.map(|(similarity, doc)| Fitting { similarity, doc });
                let found = self.shard.worst(after, n as usize);
                let fitting = |found: &Candidate| (found.fitting.similarity, found.fitting.doc, found.label);
                let row = |found: &Candidate| Centroid {
                    terms: found.terms.as_ref().into(),
                    values: found.values.as_ref().into(),
                };
                let rows: Vec<Centroid> = found.iter().map(row).collect();
                Ok(Answer::Worst {
                    fitting: found.iter().map(fitting).collect(),
                    rows: Packed::of_rows(rows.iter().map(Centroid::as_row)),
                })
            }
            Request::Refill { refills } => {
                for (doc, cluster) in refills {
                    if self.has(doc) {
                        self.shard.refill(&Refill { doc, cluster });
                    }
                }
                Ok(Answer::Touched(pairs(&self.shard.touched_by_given())))
            }
            Request::Contest { rule, sizes } => self.contest(Contest { rule, sizes }),
            Request::Delta { first, last } => {
                Ok(Answer::Delta(Packed::of_delta(&self.shard.delta(&mut self.common, first..=last))))
            }
            Request::Keep => {
                self.shard.keep()?;
                self.members = None;
                Ok(Answer::Done)
            }
            Request::ClusterFacts { n_clusters } => {
                let facts = self.source(n_clusters as usize)?.cluster_facts(n_clusters as usize)?;
                let message = |facts: ClusterFacts| FactsMessage {
                    size: facts.size,
                    similarity_sum: facts.similarity_sum,
                    histogram: facts.histogram.to_vec(),
                };
                Ok(Answer::ClusterFacts(facts.into_iter().map(message).collect()))
            }
            Request::Extremes { n_clusters, first, end, n_best, n_worst } => {
                let source = self.source(n_clusters as usize)?;
                let extremes = source.extremes(first..end, n_best as usize, n_worst as usize)?;
                let pairs = |list: Vec<Fitting>| list.iter().map(|f| (f.similarity, f.doc)).collect();
                let message =
                    |found: Extremes| ExtremesMessage { best: pairs(found.best), worst: pairs(found.worst) };
                Ok(Answer::Extremes(extremes.into_iter().map(message).collect()))
            }
            Request::Rows { docs } => {
                let rows: Result<Vec<Row<'_>>> = docs.iter().map(|&doc| self.row(doc)).collect();
                Ok(Answer::Rows(Packed::of_rows(rows?)))
            }
            Request::TermCounts { n_clusters, first, terms } => {
                check_clusters(first, terms.len(), n_clusters)?;
                let source = self.source(n_clusters as usize)?;
                Ok(Answer::Counts(source.term_counts(first, &terms)?))
            }
            Request::NearCounts { n_clusters, first, n_rows, rows, near } => {
                check_clusters(first, n_rows.len(), n_clusters)?;
                let rows = rows.reader().rows()?;
                if n_rows.iter().map(|&n| n as usize).sum::<usize>() != rows.len() {
                    return Err(damaged());
                }
                for row in &rows {
                    self.checked(row.as_row())?;
                }
                let mut rows = rows.into_iter();
                let rows: Vec<Vec<Centroid>> =
                    n_rows.iter().map(|&n| rows.by_ref().take(n as usize).collect()).collect();
                let source = self.source(n_clusters as usize)?;
                Ok(Answer::Counts(source.near_counts(first, &rows, near)?))
            }
            Request::Documents { docs } => {
                if !docs.iter().all(|&doc| self.has(doc)) {
                    return Err(damaged());
                }
                let positions: Vec<usize> = docs.iter().map(|&doc| self.shard.position(doc)).collect();
                self.own.documents(&positions, self.begin.first_doc).map(Answer::Documents)
            }
            _ => Err(out_of_turn()),
        }
    }

    /// The documents and their clusters, for summaries.
    fn source(&mut self, n_clusters: usize) -> Result<LocalSource<'_>> {
        let kept = self.shard.kept().ok_or_else(out_of_turn)?;
        let is_known = |label: u32| label == Assignment::NO_LABEL || (label as usize) < n_clusters;
        if !kept.labels.iter().all(|&label| is_known(label)) {
            return Err(damaged());
        }
        let members =
            self.members.get_or_insert_with(|| Members::new(n_clusters, kept.labels.iter().copied()));
        Ok(LocalSource {
            first_doc: self.begin.first_doc as usize,
            rows: self.rows,
            similarities: &kept.similarities,
            members,
        })
    }

    pub(super) fn view(&self) -> Option<ShardView<'_>> {
        let kept = self.shard.kept()?;
        Some(ShardView {
            rows: self.rows,
            ids: &self.own.ids,
            first_doc: self.begin.first_doc,
            labels: Labels::from(kept),
            similarities: &kept.similarities,
        })
    }

    /// Whether a document is here.
    fn has(&self, doc: u32) -> bool {
        let first = self.begin.first_doc;
        (first..first + self.rows.n_rows() as u64).contains(&u64::from(doc))
    }

    fn row(&self, doc: u32) -> Result<Row<'_>> {
        if !self.has(doc) {
            return Err(damaged());
        }
        Ok(self.rows.row(self.shard.position(doc)))
    }

    /// A row of another worker, whose terms must be those of these rows.
    fn checked<'r>(&self, row: Row<'r>) -> Result<Row<'r>> {
        let fits = row.terms.last().is_none_or(|&last| (last as usize) < self.rows.n_terms());
        if fits { Ok(row) } else { Err(damaged()) }
    }

    fn take(&mut self, doc: u32) -> Vec<Lowered> {
        if !self.has(doc) {
            return Vec::new();
        }
        let position = self.shard.position(doc) as u32; // fits: at most MAX_ROWS
        vec![self.shard.search_mut().take(position)]
    }

    /// The documents of a bucket that have weight, in order: number, weight, and row. Of equal rows
    /// only the first is there; the others have 1 in its place.
    fn picked(&self, bucket: usize) -> Packed {
        let mut packed = Packed::default();
        let mut before: Option<Row<'_>> = None;
        for drawable in self.shard.drawable(bucket) {
            let row = self.rows.row(self.shard.position(drawable.doc));
            packed.push(u64::from(drawable.doc));
            packed.push(drawable.weight);
            let is_same = before.is_some_and(|before| before == row);
            packed.push(u64::from(is_same));
            if !is_same {
                packed.push_row(row);
                before = Some(row);
            }
        }
        packed
    }

    fn contest(&mut self, contest: Contest) -> Result<Answer> {
        let (Some(centroids), Some(iteration)) = (&self.centroids, self.iteration) else {
            return Err(out_of_turn());
        };
        if contest.sizes.len() != centroids.n_clusters() {
            return Err(damaged());
        }
        let step = Step::new(iteration, centroids, None, None);
        let Contested { touched, n_docs, counters } = self.shard.contest(&mut self.common, &step, &contest);
        let moved_nnz = self.shard.moved_nnz() as u64;
        Ok(Answer::Contested { touched: pairs(&touched), n_docs, counters, moved_nnz })
    }

    fn pass(&mut self, centers: &Centers) -> Result<Answer> {
        let (n_clusters, n_terms) = (centers.n_clusters as usize, centers.n_terms as usize);
        if n_terms != self.rows.n_terms() {
            return Err(damaged());
        }
        let centroids = match &mut self.centroids {
            Some(centroids) if centers.changes && centroids.n_clusters() == n_clusters => centroids,
            _ if centers.changes => return Err(out_of_turn()),
            found => found.insert(Centroids::new(n_terms, vec![Centroid::default(); n_clusters])),
        };
        let mut movement = Movement::none(n_clusters);
        let (mut reader, mut moved) = (centers.rows.reader(), centers.moved.iter());
        while !reader.is_empty() {
            let cluster = reader.short()? as usize;
            let row = reader.row()?;
            if cluster >= n_clusters || row.terms.last().is_some_and(|&last| last as usize >= n_terms) {
                return Err(damaged());
            }
            centroids.set(cluster, row);
            if let Some(&(squared_distance, squared_rise)) = moved.next() {
                movement.record(cluster, Moved { squared_distance, squared_rise });
            }
        }
        movement.sort();
        let movement = centers.changes.then_some(&movement);
        let step = Step::new(centers.iteration as usize, centroids, movement, None);
        let passed = self.common.pass(self.rows, std::slice::from_mut(&mut self.shard), &step)?;
        self.iteration = Some(step.iteration);
        let moved_nnz = self.shard.moved_nnz();
        let all = 0..=n_clusters.saturating_sub(1) as u32;
        let delta = (moved_nnz as u64 <= self.begin.small_delta)
            .then(|| Packed::of_delta(&self.shard.delta(&mut self.common, all)));
        let seconds = [passed.seconds.prepare, passed.seconds.assign, passed.seconds.compare];
        Ok(Answer::Passed(Box::new(PassedDocuments {
            touched: pairs(&passed.touched),
            objective: passed.objective,
            moved_docs: passed.moved_docs,
            unsettled_docs: passed.unsettled_docs,
            counters: passed.counters,
            strategy: passed.strategy,
            filters_off: passed.filters_off,
            index: passed.index,
            seconds,
            strategy_bytes: passed.strategy_bytes,
            relabelled: Packed::of_labels(&self.shard.relabelled()),
            moved_nnz: moved_nnz as u64,
            delta,
        })))
    }
}

/// Refuses clusters that do not exist.
fn check_clusters(first: u32, n: usize, n_clusters: u64) -> Result<()> {
    if u64::from(first) + n as u64 <= n_clusters { Ok(()) } else { Err(damaged()) }
}

fn pairs(touched: &[Touched]) -> Vec<(u32, i64)> {
    touched.iter().map(|touched| (touched.cluster, touched.members)).collect()
}
