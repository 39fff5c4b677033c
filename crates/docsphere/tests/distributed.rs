//! Workers and their coordinator in one process: the bits of the reference for any division of the
//! rows, also if workers are lost at any request.

use docsphere::{
    Coordinator, FitOptions, Init, IterationRecord, ShardWorker, SparseRows, SphericalKMeans, StopReason,
    Strategy, SummaryOptions, Trace, Transport, UnitRows, ValidParams, summarize,
};
use docsphere_testkit::random_rows::random_rows;
use docsphere_testkit::reference::{ReferenceParams, ReferenceSeeding};
use proptest::prelude::*;

use crate::conformance::{fit_like, fitted_to, random_case};

/// Carries messages to workers in this process, and loses workers at some requests.
struct Here {
    workers: Vec<ShardWorker>,
    parts: Vec<(UnitRows<'static>, Option<Vec<f64>>)>,
    /// Requests so far.
    n_calls: usize,
    /// At which requests which worker is replaced: before it is asked, or after it has answered.
    losses: Vec<Loss>,
    /// Requests that are delivered twice.
    repeated: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    call: usize,
    worker: usize,
    answered: bool,
}

impl Here {
    fn new(rows: &UnitRows<'_>, weights: Option<&[f64]>, cuts: &[usize]) -> Self {
        let bounds: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).chain([rows.n_rows()]).collect();
        let part = |pair: &[usize]| {
            let weights = weights.map(|weights| weights[pair[0]..pair[1]].to_vec());
            (owned(rows, pair[0]..pair[1]), weights)
        };
        let parts: Vec<_> = bounds.windows(2).map(part).collect();
        let workers = parts.iter().map(worker).collect();
        Here { workers, parts, n_calls: 0, losses: Vec::new(), repeated: Vec::new() }
    }

    fn labels(&self) -> Vec<i32> {
        let labels = |worker: &ShardWorker| worker.look(|view| view.labels).unwrap();
        self.workers.iter().flat_map(|worker| Vec::from(labels(worker))).collect()
    }

    fn similarities(&self) -> Vec<u64> {
        let bits = |worker: &ShardWorker| worker.look(|view| bits(view.similarities)).unwrap();
        self.workers.iter().flat_map(bits).collect()
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn worker((rows, weights): &(UnitRows<'static>, Option<Vec<f64>>)) -> ShardWorker {
    let extension = Box::new(|_: docsphere::ShardView<'_>, bytes: &[u8]| Ok(bytes.to_vec()));
    let worker = ShardWorker::new(1, std::env::temp_dir(), extension).unwrap();
    worker.load_rows(rows.clone(), weights.clone()).unwrap();
    worker
}

fn owned(rows: &UnitRows<'_>, range: std::ops::Range<usize>) -> UnitRows<'static> {
    let (mut offsets, mut terms, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for doc in range {
        terms.extend_from_slice(rows.row(doc).terms);
        values.extend_from_slice(rows.row(doc).values);
        offsets.push(terms.len() as u64);
    }
    UnitRows::new(SparseRows::from_parts(rows.n_terms(), offsets, terms, values).unwrap())
}

impl Transport for Here {
    fn n_workers(&self) -> usize {
        self.workers.len()
    }

    fn call(
        &mut self,
        requests: &[Option<Vec<u8>>],
        shared: &[u8],
        answer: &mut dyn FnMut(usize, Vec<u8>) -> docsphere::Result<()>,
    ) -> docsphere::Result<()> {
        self.n_calls += 1;
        let losses: Vec<Loss> =
            self.losses.iter().copied().filter(|loss| loss.call == self.n_calls).collect();
        // The last first: answers come in any order.
        for (number, request) in requests.iter().enumerate().rev() {
            let Some(request) = request else { continue };
            for loss in losses.iter().filter(|loss| loss.worker == number) {
                if loss.answered {
                    self.workers[number].handle(request, shared);
                }
                self.workers[number] = worker(&self.parts[number]);
            }
            if self.repeated.contains(&self.n_calls) {
                self.workers[number].handle(request, shared);
            }
            answer(number, self.workers[number].handle(request, shared))?;
        }
        Ok(())
    }
}

fn checked(params: &ReferenceParams, strategy: Strategy) -> Option<ValidParams> {
    let init = match &params.seeding {
        ReferenceSeeding::Random => Init::Random,
        ReferenceSeeding::PlusPlus => Init::PlainPlusPlus,
        ReferenceSeeding::Greedy { candidates } => Init::PlusPlus { candidates: Some(*candidates) },
        ReferenceSeeding::Given(_) => return None,
    };
    let params = SphericalKMeans::params(params.n_clusters)
        .init(init)
        .seed(params.seed)
        .max_iter(params.max_iter)
        .tol(params.tol)
        .strategy(strategy)
        .index_min_changed(3)
        .n_threads(1);
    Some(params.check().unwrap())
}

fn cuts_at(places: &[prop::sample::Index], n_rows: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = places.iter().map(|place| place.index(n_rows + 1)).collect();
    cuts.sort_unstable();
    cuts
}

/// The facts of a run that do not depend on where it ran.
type Facts = (Vec<(usize, u64, u64, u64, u64, u64)>, u64, usize, StopReason);

fn facts(trace: &Trace, objective: f64, n_iter: usize, stop: StopReason) -> Facts {
    let of = |r: &IterationRecord| {
        let counts = (r.moved_docs, r.changed_clusters, r.refilled_clusters, r.unsettled_docs);
        (r.iteration, counts.0, counts.1, counts.2, counts.3, r.objective.to_bits())
    };
    (trace.iterations.iter().map(of).collect(), objective.to_bits(), n_iter, stop)
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(100, |cases| cases.parse().expect("a number"));
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn workers_give_the_bits_of_one_process(
        (shape, params) in random_case(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        which in any::<prop::sample::Index>(),
        repeated in prop::collection::vec(1usize..60, 0..6),
    ) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &params) else { return Ok(()) };
        let strategy = Strategy::ALL[which.index(Strategy::ALL.len())];
        let Some(checked) = checked(&params, strategy) else { return Ok(()) };
        let expected = fit_like(&rows, &params, strategy, 1);
        let mut here = Here::new(&rows, params.weights.as_deref(), &cuts_at(&places, rows.n_rows()));
        here.repeated = repeated;
        let found = {
            let mut fit = Coordinator::new(&mut here).fit(&checked, FitOptions::default()).unwrap();
            let summaries = fit.summarize(&expected.model, SummaryOptions::default()).unwrap();
            let options = SummaryOptions::default();
            let whole = summarize(&rows, &expected.labels, &expected.similarities, &expected.model, options);
            prop_assert_eq!(summaries, whole.unwrap());
            prop_assert_eq!(fit.labels().unwrap(), expected.labels.as_slice());
            prop_assert_eq!(fit.model.centroids(), expected.model.centroids());
            facts(&fit.trace, fit.objective, fit.n_iter, fit.stop)
        };
        prop_assert_eq!(here.labels(), expected.labels.as_slice());
        prop_assert_eq!(here.similarities(), bits(&expected.similarities));
        prop_assert_eq!(found, facts(&expected.trace, expected.objective, expected.n_iter, expected.stop));
    }

    /// Workers are lost at some requests, before or after they have done them.
    #[test]
    fn losses_change_no_bit(
        (shape, params) in random_case(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        losses in prop::collection::vec((1usize..90, any::<prop::sample::Index>(), any::<bool>()), 1..5),
        n_init in 1usize..3,
    ) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &params) else { return Ok(()) };
        let Some(checked) = checked(&params, Strategy::Auto) else { return Ok(()) };
        let checked = checked.params().clone().n_init(n_init).check().unwrap();
        let weights = params.weights.as_deref();
        let options = || weights.map_or(FitOptions::default(), |weights| FitOptions::default().weights(weights));
        let expected = checked.fit_with(&rows, options()).unwrap();
        let mut here = Here::new(&rows, weights, &cuts_at(&places, rows.n_rows()));
        let n_workers = here.workers.len();
        let loss = |&(call, worker, answered): &(usize, prop::sample::Index, bool)| {
            Loss { call, worker: worker.index(n_workers), answered }
        };
        here.losses = losses.iter().map(loss).collect();
        let found = {
            let mut fit = Coordinator::new(&mut here).fit(&checked, FitOptions::default()).unwrap();
            let options = SummaryOptions::default();
            let summaries = fit.summarize(&expected.model, options).unwrap();
            let whole = summarize(&rows, &expected.labels, &expected.similarities, &expected.model, options);
            prop_assert_eq!(summaries, whole.unwrap());
            prop_assert_eq!(fit.labels().unwrap(), expected.labels.as_slice());
            prop_assert_eq!(fit.model.centroids(), expected.model.centroids());
            let sent: Vec<Vec<u8>> = (0..n_workers).map(|worker| vec![worker as u8, 7]).collect();
            prop_assert_eq!(fit.extend("testing", &sent).unwrap(), sent);
            facts(&fit.trace, fit.objective, fit.n_iter, fit.stop)
        };
        prop_assert_eq!(here.similarities(), bits(&expected.similarities));
        prop_assert_eq!(found, facts(&expected.trace, expected.objective, expected.n_iter, expected.stop));
    }
}
