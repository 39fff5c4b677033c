//! What the shards of a process share: the strategy's data on centroids, and scratch memory.
//!
//! A strategy has one state for all shards, which are its *blocks* ([`Assigner`]).

use std::time::Instant;

use super::{LocalShard, ShardSettings};
use crate::assign::{self, Assigner, OpenDevice, PassedSoFar, ShardStep, Step};
use crate::error::Result;
use crate::fail_points::fail_point;
use crate::seeding::SeedDevice;
use crate::shards::Passed;
use crate::update::DeltaScratch;
use crate::vectors::UnitRows;

/// See the [module](self).
pub(crate) struct Common<'a> {
    settings: &'a ShardSettings,
    pub(super) assigner: Box<dyn Assigner>,
    pub(super) scratch: DeltaScratch,
}

impl<'a> Common<'a> {
    pub(crate) fn new(settings: &'a ShardSettings) -> Self {
        let assigner = assign::assigner(settings.strategy, &settings.assigner);
        Common { settings, assigner, scratch: DeltaScratch::default() }
    }

    /// Gives back what a run holds. Rows that are on a device stay there.
    pub(crate) fn clear(&mut self) {
        if !self.assigner.restart() {
            *self = Common::new(self.settings);
        }
        self.scratch = DeltaScratch::default();
    }

    /// The device on which documents are searched for seeding.
    pub(super) fn seed_device(&self) -> Option<SeedDevice> {
        self.settings.assigner.device.as_ref().map(OpenDevice::for_seeding)
    }

    /// Prepares for a run over all rows of the shards, after a [`clear`](Self::clear).
    pub(crate) fn attach(&mut self, rows: &UnitRows<'_>) -> Result<()> {
        self.assigner.attach(rows)
    }

    /// Assigns the documents of all shards, one shard after the other. `rows` are those of all.
    pub(crate) fn pass(
        &mut self,
        rows: &UnitRows<'_>,
        shards: &mut [LocalShard<'_>],
        step: &Step<'_>,
    ) -> Result<Passed> {
        let unsettled_docs = shards.iter().map(|shard| shard.unsettled(step)).sum();
        // The next update makes its own: there is none beside what a pass needs.
        self.scratch = DeltaScratch::default();
        let start = Instant::now();
        self.assigner.begin(&ShardStep::new(step, rows, &[]).of_block(0, shards.len()), unsettled_docs)?;
        let seconds = start.elapsed().as_secs_f64();
        let mut all: Option<Passed> = None;
        let (mut next, n_shards) = (0, shards.len());
        for shard in shards {
            // While this shard is passed, the rows of the next one come into memory.
            next += shard.rows.n_rows();
            rows.will_need(next..rows.n_rows().min(next + shard.rows.n_rows()));
            let mut passed = shard.pass(&mut *self.assigner, step)?;
            if rows.is_mapped() {
                fail_point("rows passed");
            }
            if n_shards > 1 {
                let nnz = rows.as_sparse().offsets()[next] - rows.as_sparse().offsets()[0];
                step.passed(PassedSoFar { n_docs: next as u64, nnz });
            }
            match &mut all {
                // It tells of all blocks so far.
                Some(all) => {
                    all.index = passed.index.take();
                    all.add(passed);
                }
                None => all = Some(passed),
            }
        }
        let mut all = all.expect("there is a shard");
        all.unsettled_docs = unsettled_docs;
        all.strategy_bytes = self.assigner.memory_bytes() as u64;
        all.transferred = self.assigner.transferred();
        self.assigner.rest();
        all.seconds.prepare += seconds;
        if let Some(phases) = &mut all.seconds.phases {
            phases.columns += seconds;
        }
        Ok(all)
    }
}
