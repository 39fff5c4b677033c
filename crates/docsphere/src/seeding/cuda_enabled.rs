//! The search for improved documents on a CUDA device.
//!
//! `cuda_disabled.rs` is the counterpart for builds without it. The kernels are in the crate
//! docsphere-cuda: they compare candidates with all documents, exactly and by the definition, so
//! there is no index. Weights, draws and the lists of the pool stay on the host, so that the CPU
//! can go on at any moment.
//!
//! **Cost.** On the host, 1.2 MB, and 16 bytes per document that the last seed improved. On the
//! device, see docsphere-cuda.

use std::sync::Arc;

use docsphere_cuda::{Block, Seeker, Sparse};

use super::pooled::Improved;
use crate::error::{Error, ErrorKind, Result};
use crate::vectors::{Row, UnitRows};

/// A device on which documents may be searched.
pub(crate) struct SeedDevice(Arc<docsphere_cuda::Device>);

impl SeedDevice {
    pub(crate) fn new(device: Arc<docsphere_cuda::Device>) -> Self {
        SeedDevice(device)
    }
}

/// See the [module](self).
pub(super) struct DeviceSearch {
    seeker: Seeker,
    /// What the device does not know yet.
    raised: Vec<docsphere_cuda::Improved>,
}

fn failure(error: docsphere_cuda::Error) -> Error {
    ErrorKind::Device { device: "cuda", problem: format!("while seeding: {error}") }.into()
}

impl DeviceSearch {
    pub(super) fn new(device: &SeedDevice, rows: &UnitRows<'_>) -> Result<Self> {
        let longest = rows.max_row_nnz();
        let rows = rows.as_sparse();
        let (offsets, terms, values) = (rows.offsets(), rows.terms(), rows.values());
        let block = Block { number: 0, offsets, terms, values, longest };
        let seeker = Seeker::new(Arc::clone(&device.0), block).map_err(failure)?;
        Ok(DeviceSearch { seeker, raised: Vec::new() })
    }

    /// Records that these documents became nearer to a seed.
    pub(super) fn raise(&mut self, improved: &[Improved]) {
        let raised = |entry: &Improved| docsphere_cuda::Improved {
            document: entry.doc,
            seed: 0,
            similarity: entry.similarity,
        };
        self.raised.extend(improved.iter().map(raised));
    }

    /// The documents that each of these would improve as the next seed, in any order. While the
    /// device works, the host does something else.
    pub(super) fn improved<T>(
        &mut self,
        seeds: &[Row<'_>],
        meanwhile: impl FnOnce() -> T,
    ) -> (Result<Vec<Vec<Improved>>>, T) {
        let mut lists = vec![Vec::new(); seeds.len()];
        let mut parts = seeds.chunks(Seeker::SEEDS).zip(lists.chunks_mut(Seeker::SEEDS));
        let mut next = parts.next();
        let mut asked = next.as_ref().map_or(Ok(()), |(seeds, _)| self.ask(seeds));
        let other = meanwhile();
        while let Some((_, lists)) = next {
            asked = asked.and_then(|()| self.answer(lists));
            next = parts.next();
            if let Some((seeds, _)) = &next {
                asked = asked.and_then(|()| self.ask(seeds));
            }
        }
        (asked.map(|()| lists).map_err(failure), other)
    }

    fn ask(&mut self, seeds: &[Row<'_>]) -> docsphere_cuda::Result<()> {
        let seeds: Vec<Sparse<'_>> = seeds.iter().map(|seed| (seed.terms, seed.values)).collect();
        self.seeker.ask(&self.raised, &seeds)?;
        self.raised = Vec::new();
        Ok(())
    }

    fn answer(&mut self, lists: &mut [Vec<Improved>]) -> docsphere_cuda::Result<()> {
        self.seeker.answer(&mut |found| {
            for entry in found {
                let improved = Improved { doc: entry.document, similarity: entry.similarity };
                lists[entry.seed as usize].push(improved);
            }
        })
    }
}
