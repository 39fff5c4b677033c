//! Centroids against centroids, against the definitions. In the emulation, or on the first GPU if
//! `DOCSPHERE_TEST_DEVICE` is `cuda`.
#![cfg(feature = "emulation")]

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use docsphere_cuda::{Device, Error, Options, Pairs, Step};
use proptest::prelude::*;

type Vector = (Vec<u32>, Vec<f32>);

fn device() -> Arc<Device> {
    static CUDA: OnceLock<Arc<Device>> = OnceLock::new();
    match std::env::var("DOCSPHERE_TEST_DEVICE").as_deref() {
        Ok("cuda") => Arc::clone(CUDA.get_or_init(|| Arc::new(Device::open(&Options::default()).unwrap()))),
        _ => Arc::new(Device::emulated(1 << 26, u64::MAX)),
    }
}

/// ARCHITECTURE.md: terms ascending, from 0.
fn similarity(x: &Vector, c: &Vector) -> f64 {
    let mut sum = 0.0;
    for (term, &value) in x.0.iter().zip(&x.1) {
        if let Ok(place) = c.0.binary_search(term) {
            sum += f64::from(value) * f64::from(c.1[place]);
        }
    }
    sum
}

fn unit(entries: &BTreeMap<u32, f32>) -> Vector {
    let length = entries.values().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
    entries.iter().map(|(&term, &value)| (term, (f64::from(value) / length) as f32)).unzip()
}

/// Centroids, some of them empty or equal; with few values, so that there are ties; some negative.
fn centroids(most: usize, n_terms: u32, most_terms: usize) -> impl Strategy<Value = Vec<Vector>> {
    let value = prop_oneof![
        6 => (1u8..4).prop_map(f32::from),
        1 => Just(1e-6f32),
        1 => 0.01f32..1.0,
        1 => -1.0f32..-0.01
    ];
    let entries = prop::collection::btree_map(0..n_terms, value, 0..most_terms);
    let one = (entries, prop::option::weighted(0.1, any::<prop::sample::Index>()));
    prop::collection::vec(one, 1..most).prop_map(|list| {
        let mut centroids: Vec<Vector> = Vec::new();
        for (entries, copied) in list {
            let copied = copied.filter(|_| !centroids.is_empty());
            let next = copied.map_or(unit(&entries), |of| of.get(&centroids).clone());
            centroids.push(next);
        }
        centroids
    })
}

fn on<T>(
    device: Arc<Device>,
    n_terms: usize,
    all: &[Vector],
    work: impl FnOnce(Pairs) -> T,
) -> Result<T, Error> {
    let centroid = |cluster: u32| (&all[cluster as usize].0[..], &all[cluster as usize].1[..]);
    let step = Step { n_terms, n_clusters: all.len(), centroid: &centroid, live: &[], changes: None };
    Pairs::new(device, &step).map(work)
}

fn check(n_terms: usize, all: &[Vector], n_wanted: usize) -> Result<(), TestCaseError> {
    let live: Vec<u32> = (0..all.len() as u32).filter(|&j| !all[j as usize].0.is_empty()).collect();
    let expected: Vec<Vec<f64>> =
        live.iter().map(|&own| all.iter().map(|c| similarity(&all[own as usize], c)).collect()).collect();
    let bits = |values: &[f64]| -> Vec<u64> { values.iter().map(|value| value.to_bits()).collect() };
    on(device(), n_terms, all, |mut pairs| {
        for is_half in [false, true] {
            let mut n_seen = 0;
            let mut compared = Ok(());
            pairs
                .compare(&live, is_half, |found| {
                    assert_eq!(found.first, n_seen);
                    for row in found.similarities.chunks(all.len() - found.from) {
                        let own = live[n_seen] as usize;
                        if !(found.from == 0 || is_half && found.from <= own)
                            || bits(row) != bits(&expected[n_seen][found.from..])
                        {
                            compared = Err(TestCaseError::fail(format!("cluster {own}, half: {is_half}")));
                        }
                        n_seen += 1;
                    }
                })
                .unwrap();
            compared?;
            prop_assert_eq!(n_seen, live.len());
        }
        let n_wanted = n_wanted.min(pairs.most_nearest()).min(live.len().saturating_sub(1));
        if n_wanted == 0 {
            return Ok(());
        }
        let found = pairs.nearest(&live, n_wanted).unwrap();
        prop_assert_eq!(found.len(), live.len());
        for ((&own, expected), found) in live.iter().zip(&expected).zip(found) {
            let others = live.iter().filter(|&&other| other != own);
            let mut others: Vec<(u32, f64)> =
                others.map(|&other| (other, expected[other as usize])).collect();
            others.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            prop_assert_eq!(found, &others[..n_wanted], "cluster {}", own);
        }
        Ok(())
    })
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn similarities_and_neighbours_are_those_of_the_definitions(
        few in centroids(40, 12, 8),
        many in centroids(12, 700, 300),
        ones in centroids(60, 5, 2),
        n_wanted in 1usize..6,
    ) {
        check(12, &few, n_wanted)?;
        check(700, &many, n_wanted)?;
        check(5, &ones, n_wanted)?;
    }
}

/// Several tiles, on a GPU too: the emulation has small ones, and takes its time.
#[test]
fn many_centroids_take_several_tiles() {
    let n_clusters = if device().name() == "emulation" { 200 } else { 4_500 };
    let entries =
        |n: u32| (0..12).map(|t| ((n * 37 + t * t * 11) % 900, 1.0 + (n + t) as f32 % 7.0)).collect();
    let all: Vec<Vector> =
        (0..n_clusters).map(|n| if n % 50 == 7 { Vector::default() } else { unit(&entries(n)) }).collect();
    check(900, &all, 100).unwrap();
}

#[test]
fn a_device_that_is_lost_says_so() {
    let all: Vec<Vector> = (0..9).map(|n| (vec![n % 4, 4 + n], vec![0.6, 0.8])).collect();
    let live: Vec<u32> = (0..9).collect();
    let mut n_lost = 0;
    loop {
        let device = Arc::new(Device::emulated(1 << 20, n_lost));
        let found = on(device, 13, &all, |mut pairs| {
            pairs.compare(&live, true, |_| ())?;
            pairs.nearest(&live, 3)
        });
        match found.and_then(|found| found) {
            Ok(found) => break assert!(found.len() == 9 && n_lost > 8, "lost at {n_lost} launches"),
            Err(error) => {
                assert_eq!(
                    error.to_string(),
                    "the CUDA driver failed in a launch: the emulated device is lost"
                );
                n_lost += 1;
            }
        }
    }
}
