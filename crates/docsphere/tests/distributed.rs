//! Workers and their coordinator in one process: the bits of the reference for any division of the
//! rows, also if workers are lost at any request.

use docsphere::{
    Coordinator, FitOptions, Init, IterationRecord, Refine, ShardWorker, SparseRows, SphericalKMeans,
    StopReason, Strategy, SummaryOptions, Trace, Transport, UnitRows, ValidParams, summarize,
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
    /// Requests that are delivered once more after the next one.
    late: Vec<usize>,
    /// The last request to each worker.
    last: Vec<Option<(Vec<u8>, Vec<u8>)>>,
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
        Here {
            last: vec![None; parts.len()],
            workers,
            parts,
            n_calls: 0,
            losses: Vec::new(),
            repeated: Vec::new(),
            late: Vec::new(),
        }
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
            let answered = self.workers[number].handle(request, shared);
            let before = self.last[number].replace((request.clone(), shared.to_vec()));
            if let Some((head, body)) = before.filter(|_| self.late.contains(&self.n_calls)) {
                self.workers[number].handle(&head, &body);
            }
            answer(number, answered)?;
        }
        Ok(())
    }
}

fn checked(params: &ReferenceParams, strategy: Strategy) -> Option<ValidParams> {
    let init = match &params.seeding {
        ReferenceSeeding::Random => Init::Random,
        ReferenceSeeding::PlusPlus => Init::PlainPlusPlus,
        ReferenceSeeding::Greedy { candidates } => Init::PlusPlus { candidates: Some(*candidates) },
        ReferenceSeeding::Merge { fine } => Init::Merge { fine: Some(*fine) },
        ReferenceSeeding::Given(_) => return None,
    };
    let params = SphericalKMeans::params(params.n_clusters)
        .init(init)
        .seed(params.seed)
        .variation(params.variation)
        .rounds(params.rounds)
        .refine(if params.refine { Refine::Root } else { Refine::None })
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
        late in prop::collection::vec(1usize..60, 0..6),
    ) {
        let rows = random_rows(&shape);
        let Some(params) = fitted_to(&rows, &params) else { return Ok(()) };
        let strategy = Strategy::ALL[which.index(Strategy::ALL.len())];
        let Some(checked) = checked(&params, strategy) else { return Ok(()) };
        let expected = fit_like(&rows, &params, strategy, 1);
        let mut here = Here::new(&rows, params.weights.as_deref(), &cuts_at(&places, rows.n_rows()));
        (here.repeated, here.late) = (repeated, late);
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

/// Workers that read files, and lose everything at some requests.
struct Readers {
    workers: Vec<ShardWorker>,
    n_calls: usize,
    losses: Vec<Loss>,
    scratch: tempfile::TempDir,
    /// Something that happens before a request.
    incident: Option<(usize, Box<dyn Fn() + Send>)>,
}

impl Readers {
    fn new(n_workers: usize, losses: Vec<Loss>) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let workers = (0..n_workers).map(|_| reader(scratch.path())).collect();
        Readers { workers, n_calls: 0, losses, scratch, incident: None }
    }
}

fn reader(scratch: &std::path::Path) -> ShardWorker {
    let extension = Box::new(|view: docsphere::ShardView<'_>, _: &[u8]| {
        Ok(view.ids.iter().collect::<Vec<_>>().join(" ").into_bytes())
    });
    ShardWorker::new(1, scratch, extension).unwrap()
}

impl Transport for Readers {
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
        if let Some((_, happens)) = self.incident.as_ref().filter(|incident| incident.0 == self.n_calls) {
            happens();
        }
        for (number, request) in requests.iter().enumerate() {
            let Some(request) = request else { continue };
            let losses = self.losses.iter().filter(|loss| loss.call == self.n_calls && loss.worker == number);
            for loss in losses {
                if loss.answered {
                    self.workers[number].handle(request, shared);
                }
                self.workers[number] = reader(self.scratch.path());
            }
            answer(number, self.workers[number].handle(request, shared))?;
        }
        Ok(())
    }
}

/// Documents with ids of their own, and with line numbers; one file is compressed, one is empty.
fn corpus_files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let subjects =
        ["cats purr and sleep", "stocks rise and fall", "rain and wind today", "goals in the match"];
    let text = |n: usize| format!("{} word{} extra{} №{n}", subjects[n % 4], n % 7, n % 13);
    let write = |name: &str, content: String| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let lines: String = (0..60).map(|n| format!("{}\n", text(n))).collect();
    let json: String =
        (0..50).map(|n| format!("{{\"id\": \"j{n}\", \"text\": \"{}\"}}\n", text(n + 3))).collect();
    let csv: String = (0..20).map(|n| format!("{n},\"{}\"\n", text(n))).collect();
    vec![
        write("a.txt", lines),
        write("b.jsonl", json),
        write("empty.txt", String::new()),
        write("c.csv", format!("id,text\n{csv}")),
    ]
}

fn check_reading(n_workers: usize, losses: Vec<Loss>) {
    use docsphere::{Corpus, CorpusOptions, DistributedText, DocId, TextOptions, TfidfOptions, Vectorizer};
    let folder = tempfile::tempdir().unwrap();
    let files = corpus_files(folder.path());
    let tfidf = TfidfOptions::default().min_df(docsphere::DocumentBound::Count(2));
    let text = DistributedText::new(TextOptions::default(), tfidf, true);
    let corpus = Corpus::open(&files, CorpusOptions::default()).unwrap();
    let whole = Vectorizer::new().tfidf(tfidf).fit(&corpus).unwrap();
    let params = SphericalKMeans::params(6).n_init(2).n_threads(1).check().unwrap();
    let expected = params.fit(&whole.rows).unwrap();
    let place = format!("{n_workers} workers, {losses:?}");

    let mut readers = Readers::new(n_workers, losses);
    let mut events = 0;
    let mut observer = |_: &docsphere::Event<'_>| {
        events += 1;
        std::ops::ControlFlow::Continue(())
    };
    let mut coordinator = Coordinator::new(&mut readers);
    let read = coordinator.read(&corpus, &text, &mut observer).unwrap();
    assert_eq!(read.model, whole.model, "{place}");
    assert_eq!(read.stats.n_documents, whole.stats.n_documents, "{place}");
    let mut fit = coordinator.fit(&params, FitOptions::default()).unwrap();
    assert_eq!(fit.labels().unwrap(), expected.labels.as_slice(), "{place}");
    assert_eq!(fit.model.centroids(), expected.model.centroids(), "{place}");
    assert_eq!(fit.objective.to_bits(), expected.objective.to_bits(), "{place}");
    let docs: Vec<DocId> = [129, 0, 60, 59, 110, 61].map(DocId::new).to_vec();
    let documents = fit.documents(&docs).unwrap();
    for (doc, (id, text)) in docs.iter().zip(documents) {
        assert_eq!(id, &whole.ids[doc.index()], "{place}");
        assert!(text.unwrap().contains("word"), "{place}");
    }
    let ids = fit.extend("testing", &vec![Vec::new(); n_workers]).unwrap();
    let ids: Vec<String> = ids.into_iter().map(|ids| String::from_utf8(ids).unwrap()).collect();
    let ids: Vec<&str> = ids.iter().flat_map(|ids| ids.split_whitespace()).collect();
    assert_eq!(whole.ids, ids, "{place}");
    assert!(events >= n_workers, "progress is told");
    drop(fit);
    assert_eq!(std::fs::read_dir(readers.scratch.path()).unwrap().count(), 0, "texts have no name");
}

#[test]
fn workers_read_the_documents_of_one_process() {
    for n_workers in [1, 2, 3, 9] {
        check_reading(n_workers, Vec::new());
    }
}

#[test]
fn a_worker_lost_at_any_request_reads_again() {
    // Every request of the job with three workers, until none is left.
    for call in 1..60 {
        for answered in [false, true] {
            check_reading(3, vec![Loss { call, worker: call % 3, answered }]);
        }
    }
    // Two at once, and again while they recover.
    for call in 4..12 {
        let loss = |call, worker| Loss { call, worker, answered: true };
        check_reading(3, vec![loss(call, 0), loss(call, 2), loss(call + 1, 1), loss(call + 2, 0)]);
    }
}

#[test]
fn a_worker_that_is_always_lost_ends_the_run_with_an_error_that_names_it() {
    let rows = random_rows(&docsphere_testkit::random_rows::RandomRows::default());
    let params = SphericalKMeans::params(2).n_threads(1).check().unwrap();
    let mut here = Here::new(&rows, None, &[rows.n_rows() / 2]);
    here.losses = (4..4000).map(|call| Loss { call, worker: 1, answered: true }).collect();
    let error = Coordinator::new(&mut here).fit(&params, FitOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("worker 1 was lost while "), "{error}");
}

#[test]
fn errors_of_workers_name_the_worker_and_the_file() {
    use docsphere::{Corpus, CorpusOptions, DistributedText};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gone.txt");
    std::fs::write(&path, "one\ntwo\nthree\nfour\n").unwrap();
    let corpus = Corpus::open([&path], CorpusOptions::default()).unwrap();
    let mut readers = Readers::new(2, Vec::new());
    let mut silent = |event: &docsphere::Event<'_>| {
        let _ = event;
        std::ops::ControlFlow::Continue(())
    };
    // Two greetings, lines, and then documents.
    let changed = path.clone();
    readers.incident = Some((4, Box::new(move || std::fs::remove_file(&changed).unwrap())));
    let error = Coordinator::new(&mut readers).read(&corpus, &DistributedText::default(), &mut silent);
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("worker 0: ") && error.contains("gone.txt"), "{error}");
}

#[test]
fn rows_that_do_not_fit_each_other_are_refused() {
    let rows = |n_terms: usize| {
        UnitRows::new(SparseRows::from_parts(n_terms, vec![0u64, 1], vec![0u32], vec![1.0f32]).unwrap())
    };
    let params = SphericalKMeans::params(2).check().unwrap();
    let message = |parts: Vec<(UnitRows<'static>, Option<Vec<f64>>)>| {
        let workers = parts.iter().map(worker).collect();
        let mut here = Here {
            last: vec![None; parts.len()],
            workers,
            parts,
            n_calls: 0,
            losses: Vec::new(),
            repeated: Vec::new(),
            late: Vec::new(),
        };
        Coordinator::new(&mut here).fit(&params, FitOptions::default()).unwrap_err().to_string()
    };
    assert_eq!(
        message(vec![(rows(2), None), (rows(3), None)]),
        "the number of terms of the rows must be 2 with every worker, as with the first, got 3"
    );
    assert_eq!(
        message(vec![(rows(2), Some(vec![1.0])), (rows(2), None)]),
        "row weights must be given to all workers or to none, got to some"
    );
    let extension = Box::new(|_: docsphere::ShardView<'_>, _: &[u8]| Ok(Vec::new()));
    let bare = ShardWorker::new(1, ".", extension).unwrap();
    assert!(bare.look(|_| ()).is_none());
    assert!(bare.load_rows(rows(2), Some(vec![-1.0])).is_err());
}

#[test]
fn a_run_on_workers_continues_in_one_process_and_back() {
    use docsphere::{Checkpoint, Event};
    let rows = random_rows(&docsphere_testkit::random_rows::RandomRows::default());
    let params = SphericalKMeans::params(3).tol(0.0).n_threads(1).check().unwrap();
    let whole = params.fit(&rows).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    let stop = |event: &Event<'_>| match event {
        Event::Iteration(_) => std::ops::ControlFlow::Break(()),
        _ => std::ops::ControlFlow::Continue(()),
    };
    let (mut first, mut second) = (stop, stop);
    let mut here = Here::new(&rows, None, &[2, 5]);
    let options = FitOptions::default().checkpoint(&path, 1).observer(&mut first);
    Coordinator::new(&mut here).fit(&params, options).unwrap();
    let options = FitOptions::default().resume(Checkpoint::load(&path).unwrap());
    let continued = params.fit_with(&rows, options).unwrap();
    assert_eq!(continued.labels, whole.labels);
    assert_eq!(continued.model.centroids(), whole.model.centroids());

    let options = FitOptions::default().checkpoint(&path, 1).observer(&mut second);
    params.fit_with(&rows, options).unwrap();
    let mut here = Here::new(&rows, None, &[3]);
    here.losses = [5, 9, 14].map(|call| Loss { call, worker: call % 2, answered: false }).to_vec();
    let options = FitOptions::default().resume(Checkpoint::load(&path).unwrap());
    let continued = Coordinator::new(&mut here).fit(&params, options).unwrap();
    assert_eq!(continued.labels().unwrap(), whole.labels.as_slice());
}

/// Rows on which a run takes several iterations.
fn lively_rows() -> UnitRows<'static> {
    let shape = docsphere_testkit::random_rows::RandomRows {
        n_docs: 60,
        n_terms: 30,
        density: 0.15,
        seed: 5,
        ..Default::default()
    };
    random_rows(&shape)
}

/// At the request that keeps a result before first variation, too.
#[test]
fn first_variation_survives_a_loss_at_every_request() {
    let rows = lively_rows();
    let gains = |fit: &docsphere::Fit| {
        let before = fit.trace.iterations.windows(2).find(|pair| pair[1].varied_docs > Some(0));
        before.is_some_and(|pair| fit.objective > pair[0].objective)
    };
    let mut n_tried = 0;
    for seed in 0..40 {
        let params = SphericalKMeans::params(8).seed(seed).rounds(1).tol(0.0).n_threads(1).check().unwrap();
        let whole = params.fit(&rows).unwrap();
        if !gains(&whole) || n_tried == 3 {
            continue;
        }
        n_tried += 1;
        let n_calls = {
            let mut here = Here::new(&rows, None, &[20, 41]);
            Coordinator::new(&mut here).fit(&params, FitOptions::default()).unwrap();
            here.n_calls
        };
        for call in 1..=n_calls {
            let mut here = Here::new(&rows, None, &[20, 41]);
            here.losses = vec![Loss { call, worker: call % 3, answered: call % 2 == 0 }];
            let fit = Coordinator::new(&mut here).fit(&params, FitOptions::default()).unwrap();
            let place = format!("seed {seed}, lost at {call} of {n_calls}");
            assert_eq!(fit.labels().unwrap(), whole.labels.as_slice(), "{place}");
            assert_eq!(fit.objective.to_bits(), whole.objective.to_bits(), "{place}");
            assert_eq!(fit.n_iter, whole.n_iter, "{place}");
        }
    }
    assert_eq!(n_tried, 3, "first variation must gain something to show anything");
}

#[test]
fn a_resumed_job_of_several_runs_survives_a_loss_at_every_request() {
    use docsphere::{Checkpoint, Event};
    let rows = lively_rows();
    let params = |max_iter| SphericalKMeans::params(6).n_init(3).max_iter(max_iter).tol(0.0).n_threads(1);
    let folder = tempfile::tempdir().unwrap();
    for (max_iter, stop_after) in [(1, 2), (1, 3), (2, 4), (30, 2), (30, 9)] {
        let params = params(max_iter).check().unwrap();
        let whole = params.fit(&rows).unwrap();
        let path = folder.path().join("checkpoint");
        let mut n_iterations = 0;
        let mut stop = |event: &Event<'_>| {
            n_iterations += usize::from(matches!(event, Event::Iteration(_)));
            if n_iterations >= stop_after {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        };
        let options = FitOptions::default().checkpoint(&path, 1).observer(&mut stop);
        params.fit_with(&rows, options).unwrap();
        let Ok(checkpoint) = Checkpoint::load(&path) else { continue };
        for call in 1..120 {
            let mut here = Here::new(&rows, None, &[20, 41]);
            here.losses = vec![Loss { call, worker: call % 3, answered: call % 2 == 0 }];
            let options = FitOptions::default().resume(checkpoint.clone()).checkpoint(&path, 1);
            let continued = Coordinator::new(&mut here).fit(&params, options).unwrap();
            let place = format!("max_iter {max_iter}, stopped after {stop_after}, lost at {call}");
            assert_eq!(continued.labels().unwrap(), whole.labels.as_slice(), "{place}");
            assert_eq!(continued.objective.to_bits(), whole.objective.to_bits(), "{place}");
            let runs = |trace: &Trace| {
                let of = |run: &docsphere::RunRecord| (run.run, run.objective.to_bits(), run.n_iter);
                trace.runs.iter().map(of).collect::<Vec<_>>()
            };
            assert_eq!(runs(&continued.trace), runs(&whole.trace), "{place}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_worker_that_is_always_lost_in_a_later_step_ends_the_run() {
    let rows = lively_rows();
    let params = SphericalKMeans::params(6).tol(0.0).variation(false).n_threads(1).check().unwrap();
    let n_calls = {
        let mut here = Here::new(&rows, None, &[20, 41]);
        Coordinator::new(&mut here).fit(&params, FitOptions::default()).unwrap();
        here.n_calls
    };
    // The pass of the last iteration, again and again: the greeting, the rows, the labels and the
    // pass that restores them come between two attempts.
    let mut here = Here::new(&rows, None, &[20, 41]);
    let losses = (n_calls - 1..4000).step_by(5);
    here.losses = losses.map(|call| Loss { call, worker: 2, answered: true }).collect();
    let error = Coordinator::new(&mut here).fit(&params, FitOptions::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "worker 2 was lost while assigning documents; if it ran out of memory, use more shards or larger machines"
    );
    assert!(here.n_calls < n_calls + 40, "{} calls", here.n_calls);
}

#[test]
fn a_wish_to_stop_during_a_recovery_keeps_the_result() {
    use docsphere::Event;
    let rows = lively_rows();
    let init = docsphere::Init::Random; // so that there are iterations
    let params =
        SphericalKMeans::params(6).init(init).tol(0.0).variation(false).n_threads(1).check().unwrap();
    let mut n_runs = 0;
    let mut is_recovered = false;
    let mut observer = |event: &Event<'_>| {
        n_runs += usize::from(matches!(event, Event::RunStarted { .. }));
        is_recovered |= matches!(event, Event::Recovered { .. });
        if is_recovered { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    };
    let n_calls = {
        let mut here = Here::new(&rows, None, &[30]);
        let fit = Coordinator::new(&mut here).fit(&params, FitOptions::default()).unwrap();
        assert!(fit.n_iter >= 2, "the call is one of an iteration that follows another");
        drop(fit);
        here.n_calls
    };
    let mut here = Here::new(&rows, None, &[30]);
    here.losses = vec![Loss { call: n_calls - 2, worker: 1, answered: true }];
    let options = FitOptions::default().observer(&mut observer);
    let fit = Coordinator::new(&mut here).fit(&params, options).unwrap();
    assert_eq!(fit.stop, StopReason::Observer);
    assert!(fit.n_iter > 0);
    drop(fit);
    assert_eq!((n_runs, is_recovered), (1, true));
}

#[test]
fn a_worker_that_comes_back_with_other_rows_is_refused() {
    let rows = lively_rows();
    let params = SphericalKMeans::params(6).tol(0.0).n_threads(1).check().unwrap();
    let mut here = Here::new(&rows, None, &[30]);
    here.losses = vec![Loss { call: 12, worker: 1, answered: false }];
    here.parts[1].0 = owned(&rows, 0..30);
    let error = Coordinator::new(&mut here).fit(&params, FitOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("worker 1: has other rows than before it was lost"), "{error}");
}
