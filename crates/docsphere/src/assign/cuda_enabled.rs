//! A CUDA device as a strategy: bounds, exact similarities and labels on a GPU.
//!
//! `cuda_disabled.rs` is the counterpart for builds without it. The kernels, their bounds and the
//! proof are in the crate docsphere-cuda; here steps become theirs, and the CPU takes over where
//! the device cannot go on: with negative values, for which the bounds do not hold, and when it
//! fails. Then the labels of the step are found by posting lists, which need nothing from before,
//! and those of all later steps by [`Auto`].
//!
//! Changes of the sums by documents that moved are found on the device, too, if many have moved:
//! the rows are there.
//!
//! **Cost.** On the host, 15 bytes per entry of the changes of sums that are found together, 28 per
//! document of the largest block, 41 per cluster, and 16 MB for all devices of the process, through
//! which everything is sent. On the device, see docsphere-cuda.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use docsphere_cuda::{Block, Changes, Counts, Engine, Options};
use rayon::prelude::*;

use super::auto::Auto;
use super::bounds::growth;
use super::inverted::Inverted;
use super::{Assigned, Assigner, AssignerSettings, Moved, Rival, Rivals, ShardStep, Wanted, rivals};
use crate::centroids::Centroids;
use crate::error::{Error, ErrorKind, Result};
use crate::labels::Assignment;
use crate::record::{Counters, Device, PhaseSeconds, Strategy, Transferred};
use crate::seeding::SeedDevice;
use crate::update::{ClusterDelta, ClusterMoves, Delta};
use crate::vectors::UnitRows;

/// A device that is ready.
#[derive(Clone)]
pub(crate) struct OpenDevice(Arc<docsphere_cuda::Device>);

impl std::fmt::Debug for OpenDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name())
    }
}

impl OpenDevice {
    /// The same for seeding.
    pub(crate) fn for_seeding(&self) -> SeedDevice {
        SeedDevice::new(Arc::clone(&self.0))
    }
}

/// The GPU of this process: opening one takes a good part of a second.
static OPEN: Mutex<Option<Arc<docsphere_cuda::Device>>> = Mutex::new(None);

/// Where compiled kernels are kept.
static KERNELS: OnceLock<PathBuf> = OnceLock::new();

/// Keeps the kernels of GPUs in this folder once they have been compiled, which takes seconds: for
/// this process, from the first call on. Without it, every process compiles them.
pub fn keep_kernels_in(folder: impl Into<PathBuf>) {
    // The first call counts.
    let _ = KERNELS.set(folder.into());
}

/// Opens a device; `None` for the CPU.
pub(crate) fn open(device: Device) -> Result<Option<OpenDevice>> {
    match device {
        Device::Cpu => Ok(None),
        Device::Auto | Device::Cuda => {
            let mut shared = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(open) = &*shared {
                return Ok(Some(OpenDevice(Arc::clone(open))));
            }
            let options = Options { ordinal: 0, cache: KERNELS.get().cloned() };
            let open = Arc::new(docsphere_cuda::Device::open(&options).map_err(failure)?);
            *shared = Some(Arc::clone(&open));
            Ok(Some(OpenDevice(open)))
        }
        #[cfg(feature = "cuda-emulation")]
        Device::Emulated { launches } => {
            Ok(Some(OpenDevice(Arc::new(docsphere_cuda::Device::emulated(1 << 30, launches)))))
        }
    }
}

/// After a failure: the next fit opens a device anew.
pub(crate) fn forget() {
    *OPEN.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

impl OpenDevice {
    /// The similarities between centroids.
    pub(crate) fn pairs(&self, centroids: &Centroids) -> Result<DevicePairs> {
        let centroid = |cluster: u32| {
            let row = centroids.row(cluster as usize);
            (row.terms, row.values)
        };
        let step = docsphere_cuda::Step {
            n_terms: centroids.n_terms(),
            n_clusters: centroids.n_clusters(),
            centroid: &centroid,
            live: &[],
            changes: None,
        };
        docsphere_cuda::Pairs::new(Arc::clone(&self.0), &step).map(DevicePairs).map_err(failure)
    }
}

/// The nearest other clusters of a cluster, and their similarities.
type Nearest = Vec<(u32, f64)>;

/// The similarities between centroids, on a device.
pub(crate) struct DevicePairs(docsphere_cuda::Pairs);

impl DevicePairs {
    /// Calls `work` with the place of some of these clusters after the other, and with their
    /// similarities, row by row: to all clusters from some cluster on, which comes second.
    pub(crate) fn compare(
        &mut self,
        clusters: &[u32],
        is_half: bool,
        mut work: impl FnMut(usize, usize, &[f64]),
    ) -> Result<()> {
        let work = |found: docsphere_cuda::Compared<'_>| work(found.first, found.from, found.similarities);
        self.0.compare(clusters, is_half, work).map_err(failure)
    }

    /// The nearest other clusters of each of these; `None` if so many cannot be selected.
    pub(crate) fn nearest(&mut self, clusters: &[u32], m: usize) -> Result<Option<Vec<Nearest>>> {
        if m > self.0.most_nearest() {
            return Ok(None);
        }
        self.0.nearest(clusters, m).map(Some).map_err(failure)
    }
}

fn failure(error: docsphere_cuda::Error) -> Error {
    ErrorKind::Device { device: "cuda", problem: error.to_string() }.into()
}

/// See the [module](self).
struct Cuda {
    engine: Engine,
    settings: AssignerSettings,
    /// The iteration of the last assignment.
    last: Option<usize>,
    /// Bytes to and from the device by the end of it.
    transferred: docsphere_cuda::Transferred,
    /// What has taken over.
    cpu: Option<Box<dyn Assigner>>,
    /// Whether that is only good for the rest of the step.
    is_makeshift: bool,
    /// Why the device was left, until somebody has been told.
    left: Option<Error>,
}

/// The strategy of a device.
pub(super) fn assigner(device: &OpenDevice, settings: &AssignerSettings) -> Box<dyn Assigner> {
    let (engine, settings) = (Engine::new(Arc::clone(&device.0)), settings.clone());
    let transferred = engine.transferred();
    Box::new(Cuda { engine, settings, last: None, transferred, cpu: None, is_makeshift: false, left: None })
}

impl Cuda {
    /// Leaves the device, and frees its memory. The next fit opens it anew.
    fn leave(&mut self, error: Error) {
        self.left = Some(error);
        self.engine.clear();
        forget();
    }

    /// Whether the device works. If it was left between two assignments, the CPU takes over with
    /// the next one.
    fn is_on_device(&self) -> bool {
        self.cpu.is_none() && self.left.is_none()
    }

    /// What does the work of whole steps on the CPU.
    fn take_over(&mut self, rows: &UnitRows<'_>) -> Result<&mut Box<dyn Assigner>> {
        let mut auto = Box::new(Auto::new(self.settings.level, self.settings.scratch.clone()));
        auto.attach(rows)?;
        self.is_makeshift = false;
        Ok(self.cpu.insert(auto))
    }

    /// What does the work of the rest of a step on the CPU.
    fn help_out(&mut self, step: &ShardStep<'_>) -> Result<&mut Box<dyn Assigner>> {
        let mut inverted = Box::new(Inverted::default());
        inverted.begin(step, 0)?;
        self.is_makeshift = true;
        Ok(self.cpu.insert(inverted))
    }

    fn rivals_on_cpu(&mut self, step: &ShardStep<'_>, wanted: &[Wanted], labels: &[u32]) -> Rivals {
        // The next step begins with what is good for whole steps.
        if self.cpu.is_none() && self.help_out(step).is_err() {
            return rivals::through_postings(step, wanted, labels);
        }
        self.cpu.as_mut().expect("it has taken over").rivals(step, wanted, labels)
    }

    fn begin_on_device(&mut self, step: &ShardStep<'_>) -> docsphere_cuda::Result<f64> {
        let (max_row_nnz, n_terms) = (step.rows.max_row_nnz(), step.rows.n_terms());
        let movement = step.movement_since(self.last);
        let grown = |cluster: u32| {
            let rise = movement.map_or(0.0, |movement| movement.moved(cluster as usize).squared_rise);
            growth(rise, max_row_nnz, n_terms)
        };
        let centroid = |cluster: u32| {
            let row = step.centroids.row(cluster as usize);
            (row.terms, row.values)
        };
        self.engine.begin(&docsphere_cuda::Step {
            n_terms,
            n_clusters: step.centroids.n_clusters(),
            centroid: &centroid,
            live: &step.live,
            changes: movement.map(|movement| Changes { clusters: movement.changed(), growth: &grown }),
        })
    }
}

/// The rows of a block, as docsphere-cuda takes them.
fn block<'a>(rows: &'a UnitRows<'_>, number: usize) -> Block<'a> {
    let longest = rows.max_row_nnz();
    let rows = rows.as_sparse();
    Block { number, offsets: rows.offsets(), terms: rows.terms(), values: rows.values(), longest }
}

fn counters(counts: &Counts) -> Counters {
    Counters { similarities: counts.similarities, postings: counts.postings, skipped_docs: counts.skipped }
}

impl Assigner for Cuda {
    fn begin(&mut self, step: &ShardStep<'_>, n_unsettled: u64) -> Result<()> {
        if self.is_on_device() {
            if !step.allows_index() {
                let problem = "its bounds do not hold for negative values".to_owned();
                self.left = Some(ErrorKind::Device { device: "cuda", problem }.into());
            } else {
                match self.begin_on_device(step) {
                    Ok(_) => return Ok(()),
                    Err(error) => self.leave(failure(error)),
                }
            }
        }
        match &mut self.cpu {
            Some(cpu) if !self.is_makeshift => cpu.begin(step, n_unsettled),
            _ => self.take_over(step.rows)?.begin(step, n_unsettled),
        }
    }

    fn assign(&mut self, step: &ShardStep<'_>, assignment: &mut Assignment) -> Result<Assigned> {
        let mut left = self.left.take();
        if self.cpu.is_none() {
            let Assignment { labels, similarities } = assignment;
            match self.engine.assign(block(step.rows, step.block), step.refilled, labels, similarities) {
                Ok(counts) => {
                    if step.n_blocks_left() == 1 {
                        self.last = Some(step.iteration);
                    }
                    let phases = PhaseSeconds {
                        upload: counts.seconds.upload,
                        own: counts.seconds.own,
                        choose: counts.seconds.choose,
                        scan: counts.seconds.scan,
                        write: counts.seconds.write,
                        ..PhaseSeconds::default()
                    };
                    let assigned = Assigned::plainly(Strategy::Cuda, counters(&counts));
                    return Ok(Assigned { phases: Some(phases), ..assigned });
                }
                Err(error) => {
                    self.leave(failure(error));
                    left = self.left.take();
                    self.help_out(step)?;
                }
            }
        }
        let cpu = self.cpu.as_mut().expect("it has taken over");
        Ok(Assigned { left_device: left, ..cpu.assign(step, assignment)? })
    }

    fn rivals(&mut self, step: &ShardStep<'_>, wanted: &[Wanted], labels: &[u32]) -> Rivals {
        if !self.is_on_device() {
            return self.rivals_on_cpu(step, wanted, labels);
        }
        let docs: Vec<u32> = wanted.iter().map(|wanted| wanted.doc).collect();
        let at_least: Vec<f64> = wanted.iter().map(|wanted| wanted.at_least).collect();
        match self.engine.rivals(block(step.rows, step.block), &docs, &at_least) {
            // Without those of similarity 0, which nobody moves to.
            Ok((found, counts)) => {
                let rival = |rival: docsphere_cuda::Rival| Rival {
                    cluster: rival.cluster,
                    similarity: rival.similarity,
                };
                let found = found.into_iter().map(|found| found.map(rival)).collect();
                Rivals { found, counters: counters(&counts) }
            }
            Err(error) => {
                self.leave(failure(error));
                self.rivals_on_cpu(step, wanted, labels)
            }
        }
    }

    fn delta(&mut self, moved: &Moved<'_>) -> Option<Delta> {
        if !self.is_on_device() {
            return None;
        }
        let ClusterMoves { clusters, ends, moves } = moved.changes.of_clusters(moved.clusters.clone());
        let factors: Vec<f64> = match moved.weights.is_given() {
            true => moves.par_iter().map(|&one| moved.weights.factor(one as usize >> 1)).collect(),
            false => Vec::new(),
        };
        let moves = docsphere_cuda::Moves { ends: &ends, moves: &moves, factors: &factors };
        let block = block(moved.rows, moved.block);
        match self.engine.deltas(block, moved.rows.n_terms(), &moves) {
            Ok(found) => {
                let deltas = found?;
                let part = |(group, &cluster): (usize, &u32)| {
                    let (terms, values) = deltas.of(group);
                    ClusterDelta::from_entries(cluster, terms, values)
                };
                Some(Delta { clusters: clusters.par_iter().enumerate().map(part).collect() })
            }
            // Labels need less memory, and may go on.
            Err(docsphere_cuda::Error::OutOfMemory { .. }) => None,
            Err(error) => {
                self.leave(failure(error));
                None
            }
        }
    }

    fn rest(&mut self) {
        if let Some(cpu) = &mut self.cpu {
            cpu.rest();
        }
    }

    fn restart(&mut self) -> bool {
        // What the engine knows of a run ends with a step that does not say what has changed.
        self.last = None;
        self.is_on_device()
    }

    fn transferred(&mut self) -> Option<Transferred> {
        let now = self.engine.transferred();
        let before = std::mem::replace(&mut self.transferred, now);
        let transferred =
            Transferred { sent: now.sent - before.sent, received: now.received - before.received };
        self.is_on_device().then_some(transferred)
    }

    fn memory_bytes(&self) -> usize {
        self.engine.host_bytes() + self.cpu.as_ref().map_or(0, |cpu| cpu.memory_bytes())
    }
}

#[cfg(all(test, feature = "cuda-emulation"))]
mod tests {
    use super::*;
    use crate::assign::most_transfer_bytes;
    use crate::vectors::SparseRows;

    #[test]
    fn comparing_centroids_holds_no_more_of_the_hosts_memory_than_the_forecast() {
        let device = open(Device::Emulated { launches: u64::MAX }).unwrap().unwrap();
        for (n_clusters, n_terms) in [(1, 1), (3, 9), (60, 200), (200, 10)] {
            let row = |n: u32| (0..n_terms / 2 + 1).map(|t| ((n * 7 + 3 * t) % n_terms, 1.0)).collect();
            let rows: Vec<std::collections::BTreeMap<u32, f32>> = (0..n_clusters).map(row).collect();
            let centroids = Centroids::from_rows(SparseRows::from_maps(n_terms as usize, &rows));
            let mut pairs = device.pairs(&centroids).unwrap();
            let live = centroids.live();
            pairs.compare(&live, false, |_, _, _| ()).unwrap();
            if live.len() > 2 {
                pairs.nearest(&live, 2).unwrap();
            }
            let held = pairs.0.host_bytes() as u64;
            let forecast = most_transfer_bytes(u64::from(n_clusters), centroids.nnz() as u64);
            assert!(held > 0 && held <= forecast, "{n_clusters} clusters: {held} held, {forecast} forecast");
        }
    }
}
