//! Bytes to a matrix and options: every strategy, over any division into shards, on rows in memory
//! and mapped, gives the bits of the reference.
//!
//! Values are few and small, so that a fuzzer finds ties, copies, empty rows and empty clusters,
//! and negative values, soon; the last ones are very small and very large.

use std::path::Path;

use docsphere::{
    Centroids, ClusterId, Fit, FitOptions, Init, Refine, SparseRows, SphericalKMeans, Strategy, UnitRows,
};
use docsphere_testkit::reference::{
    ReferenceFit, ReferenceParams, ReferenceSeeding, SparseVector, reference_fit,
};

/// Raw values, by the upper half of a byte. The first ends a row.
const VALUES: [f32; 16] =
    [0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 0.5, 1.5, -1.0, -2.0, 1e-3, 1e-30, 1e30, 16_777_217.0];

/// The lower half of a byte is a term.
const N_TERMS: usize = 16;
const MAX_ROWS: usize = 60;
const MAX_CLUSTERS: usize = 12;
const MAX_CENTROIDS: usize = 8;

/// The bytes that say what is run.
const HEADER: usize = 6;

/// Reads bytes as options and rows, and clusters them in many ways.
pub fn run(data: &[u8], folder: &Path) {
    if data.len() <= HEADER {
        return;
    }
    let (header, content) = data.split_at(HEADER);
    let rows = rows_of(content);
    let rows = docsphere_testkit::rows_from(N_TERMS, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let Some(params) = params_of(header, content, &rows) else { return };
    let reference = reference_fit(&rows, &params);
    let path = folder.join("rows.docsphere");
    let _ = std::fs::remove_file(&path);
    rows.save_open(&path).expect("room for rows");
    let mapped = UnitRows::open_mapped(&path).expect("rows that were written");
    let cuts = cuts_of(header[5], rows.n_rows());
    let n_threads = 1 + usize::from(header[4] >> 6);
    for &strategy in Strategy::ALL {
        let whole = fit(&rows, &params, strategy, n_threads, FitOptions::default());
        assert_same(&whole, &reference, &format!("{strategy}"));
        let options = FitOptions::default().cuts(cuts.clone());
        assert_same(&fit(&rows, &params, strategy, 1, options), &reference, &format!("{strategy}, {cuts:?}"));
        let options = FitOptions::default().cuts(cuts.clone()).scratch(folder);
        let found = fit(&mapped, &params, strategy, 1, options);
        assert_same(&found, &reference, &format!("{strategy}, mapped"));
    }
}

/// A byte is a term and a value; the terms of a row ascend, else a new row begins.
fn rows_of(content: &[u8]) -> Vec<Vec<(u32, f32)>> {
    let mut rows = vec![Vec::new()];
    for &byte in content {
        let (term, value) = (u32::from(byte & 15), VALUES[usize::from(byte >> 4)]);
        let row: &mut Vec<(u32, f32)> = rows.last_mut().expect("at least one row");
        if value == 0.0 || row.last().is_some_and(|&(last, _)| last >= term) {
            rows.push(Vec::new());
        }
        if value != 0.0 {
            rows.last_mut().expect("at least one row").push((term, value));
        }
        if rows.len() > MAX_ROWS {
            rows.pop();
            break;
        }
    }
    rows
}

/// Options by six bytes; `None` for those that a fit refuses.
fn params_of(header: &[u8], content: &[u8], rows: &UnitRows<'_>) -> Option<ReferenceParams> {
    let n_usable = rows.n_rows() - rows.zero_rows().len();
    let n_clusters = 1 + usize::from(header[0]) % MAX_CLUSTERS;
    let mut params = ReferenceParams::new(n_clusters);
    params.seeding = match header[1] % 5 {
        0 => ReferenceSeeding::Random,
        1 => ReferenceSeeding::PlusPlus,
        2 => ReferenceSeeding::Greedy { candidates: 2 },
        3 => ReferenceSeeding::Merge { fine: 2 },
        _ => {
            let given = rows_of(&content[content.len() / 2..]);
            let given: Vec<SparseVector> = given.into_iter().take(MAX_CENTROIDS).collect();
            if given.iter().all(Vec::is_empty) {
                return None;
            }
            params.n_clusters = given.len();
            ReferenceSeeding::Given(given)
        }
    };
    params.seed = u64::from(header[2]);
    params.variation = header[3] & 1 != 0;
    params.rounds = usize::from(header[3] >> 1) % 2;
    params.refine = header[3] & 4 != 0;
    params.tol = if header[3] & 8 != 0 { 1e-3 } else { 0.0 };
    params.max_iter = 1 + usize::from(header[3] >> 4);
    if header[4] & 1 != 0 {
        let weight = |number: usize| [1.0, 2.0, 0.0, 0.25, 1e6][(number + usize::from(header[4] >> 1)) % 5];
        params.weights = Some((0..rows.n_rows()).map(weight).collect());
    }
    (params.n_clusters <= n_usable && is_accepted(rows, &params)).then_some(params)
}

/// Whether a fit takes these parameters: the reference expects ones that are valid.
fn is_accepted(rows: &UnitRows<'_>, params: &ReferenceParams) -> bool {
    try_fit(rows, params, Strategy::Baseline, 1, FitOptions::default()).is_ok()
}

/// Where rows are cut into shards.
fn cuts_of(byte: u8, n_rows: usize) -> Vec<usize> {
    let mut cuts = vec![usize::from(byte) % (n_rows + 1), usize::from(byte >> 3) % (n_rows + 1), n_rows / 2];
    cuts.sort_unstable();
    cuts
}

fn fit<'a>(
    rows: &UnitRows<'_>,
    params: &'a ReferenceParams,
    strategy: Strategy,
    n_threads: usize,
    options: FitOptions<'a>,
) -> Fit {
    try_fit(rows, params, strategy, n_threads, options).expect("the baseline took it")
}

fn try_fit<'a>(
    rows: &UnitRows<'_>,
    params: &'a ReferenceParams,
    strategy: Strategy,
    n_threads: usize,
    options: FitOptions<'a>,
) -> docsphere::Result<Fit> {
    let init = match &params.seeding {
        ReferenceSeeding::Random => Init::Random,
        ReferenceSeeding::PlusPlus => Init::PlainPlusPlus,
        ReferenceSeeding::Greedy { candidates } => Init::PlusPlus { candidates: Some(*candidates) },
        ReferenceSeeding::Merge { fine } => Init::Merge { fine: Some(*fine) },
        ReferenceSeeding::Given(centroids) => Init::Given(given(centroids)),
    };
    let checked = SphericalKMeans::params(params.n_clusters)
        .init(init)
        .seed(params.seed)
        .variation(params.variation)
        .rounds(params.rounds)
        .refine(if params.refine { Refine::Root } else { Refine::None })
        .max_iter(params.max_iter)
        .tol(params.tol)
        .strategy(strategy)
        // So that ncc-index uses its index on small inputs, too.
        .index_min_changed(3)
        .n_threads(n_threads)
        .check()?;
    match &params.weights {
        Some(weights) => checked.fit_with(rows, options.weights(weights)),
        None => checked.fit_with(rows, options),
    }
}

fn given(centroids: &[SparseVector]) -> Centroids {
    let mut offsets = vec![0];
    let (mut terms, mut values) = (Vec::new(), Vec::new());
    for centroid in centroids {
        terms.extend(centroid.iter().map(|&(term, _)| term));
        values.extend(centroid.iter().map(|&(_, value)| value));
        offsets.push(terms.len() as u64);
    }
    Centroids::from_rows(SparseRows::from_parts(N_TERMS, offsets, terms, values).expect("valid centroids"))
}

fn assert_same(fit: &Fit, reference: &ReferenceFit, place: &str) {
    assert_eq!(fit.labels.as_slice(), reference.labels, "labels: {place}");
    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&fit.similarities), bits(&reference.similarities), "similarities: {place}");
    for (cluster, expected) in reference.centroids.iter().enumerate() {
        let centroid = fit.model.centroids().centroid(ClusterId::new(cluster as u32));
        let got = centroid.iter().map(|(term, value)| (term, value.to_bits()));
        let expected = expected.iter().map(|&(term, value)| (term, value.to_bits()));
        assert!(got.eq(expected), "centroid {cluster}: {place}");
    }
    assert_eq!(fit.objective.to_bits(), reference.objective.to_bits(), "objective: {place}");
    assert_eq!(fit.n_iter, reference.n_iter, "iterations: {place}");
    let moved = fit.trace.iterations.iter().map(|record| record.moved_docs);
    assert!(moved.eq(reference.history.iter().map(|record| record.moved as u64)), "moves: {place}");
}

/// Rows of one and two terms, copies, empty ones and negative ones, with all kinds of options.
pub fn seeds(_folder: &Path) -> Vec<Vec<u8>> {
    let rows: &[u8] = b"\x10\x12\x00\x10\x12\x00\x11\x13\x00\xa1\x53\x00\x20\x00\x00\x24\x25\x76\x00\x14\x15\x16\x00\xb0\x11\x00\xd1\xe2\x00\xf3\x14\x00\x10\x11\x12\x13\x00\x17\x18\x00\x17\x19\x00\x1a\x00\x1a\x1b";
    let headers: [[u8; HEADER]; 6] = [
        [2, 0, 0, 0xf0, 0, 0],
        [3, 1, 1, 0xf1, 1, 7],
        [4, 2, 2, 0xf4, 0x40, 20],
        [2, 3, 3, 0x73, 0, 9],
        [0, 4, 4, 0xf8, 3, 40],
        [11, 0, 5, 0x35, 0x81, 200],
    ];
    headers.iter().map(|header| [header, rows].concat()).collect()
}
