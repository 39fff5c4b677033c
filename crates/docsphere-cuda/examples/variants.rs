//! Measures the kernels with other numbers than theirs, on generated rows that look like texts.
//! Needs a GPU.
//!
//! ```sh
//! cargo run --release -p docsphere-cuda --example variants -- WIDE_BLOCKS=4 ROWS_TOGETHER=2
//! ```
//!
//! Each argument is a variant, such as `WIDE_BLOCKS=4,ROWS_TOGETHER=2`; the first line is the
//! kernels as they are. All find the same labels.

use std::sync::Arc;
use std::time::Instant;

use docsphere_cuda::{Block, Device, Engine, Moves, Options, Step};

const N_DOCS: usize = 200_000;
const N_TERMS: usize = 100_000;
const N_CLUSTERS: usize = 5_000;
const MEAN_TERMS: usize = 61;

/// Random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// In [0, 1).
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A term; frequencies fall as by Zipf's law.
    fn term(&mut self) -> u32 {
        ((N_TERMS as f64).powf(self.share()) - 1.0) as u32
    }
}

type Vector = (Vec<u32>, Vec<f32>);

/// Of length one.
fn unit(mut entries: Vec<(u32, f64)>) -> Vector {
    entries.sort_by_key(|entry| entry.0);
    entries.dedup_by(|a, b| {
        a.0 == b.0 && {
            b.1 += a.1;
            true
        }
    });
    let length = entries.iter().map(|entry| entry.1 * entry.1).sum::<f64>().sqrt();
    entries.into_iter().map(|(term, value)| (term, (value / length) as f32)).unzip()
}

/// A document of a topic: half of its terms are those of the topic.
fn document(random: &mut Random, topic: usize) -> Vector {
    let mut of_topic = Random(topic as u64 * 1_000_003);
    let topic: Vec<u32> = (0..3 * MEAN_TERMS).map(|_| of_topic.term()).collect();
    let n = MEAN_TERMS / 2 + random.next() as usize % MEAN_TERMS;
    let term = |at: usize| match at % 2 {
        0 => topic[random.next() as usize % topic.len()],
        _ => random.term(),
    };
    // Rarer terms weigh more.
    unit((0..n).map(term).map(|term| (term, 1.0 + f64::from(term + 1).ln())).collect())
}

struct Data {
    offsets: Vec<u64>,
    terms: Vec<u32>,
    values: Vec<f32>,
    centroids: Vec<Vector>,
}

fn data() -> Data {
    let mut random = Random(7);
    let mut data = Data { offsets: vec![0], terms: Vec::new(), values: Vec::new(), centroids: Vec::new() };
    let mut sums = vec![Vec::new(); N_CLUSTERS];
    for doc in 0..N_DOCS {
        let (terms, values) = document(&mut random, doc % N_CLUSTERS);
        let entries = terms.iter().zip(&values).map(|(&term, &value)| (term, f64::from(value)));
        sums[doc % N_CLUSTERS].extend(entries);
        data.terms.extend(terms);
        data.values.extend(values);
        data.offsets.push(data.terms.len() as u64);
    }
    data.centroids = sums.into_iter().map(unit).collect();
    data
}

fn measure(data: &Data, variant: &str) {
    let defines = variant.split(',').filter(|define| !define.is_empty()).map(str::to_owned).collect();
    let device = Device::open(&Options { defines, ..Options::default() }).expect("a GPU that compiles them");
    let mut engine = Engine::new(Arc::new(device));
    let live: Vec<u32> = (0..N_CLUSTERS as u32).collect();
    let centroid = |cluster: u32| {
        let (terms, values) = &data.centroids[cluster as usize];
        (&terms[..], &values[..])
    };
    let block = Block {
        number: 0,
        offsets: &data.offsets,
        terms: &data.terms,
        values: &data.values,
        longest: 2 * MEAN_TERMS,
    };
    let ms = |seconds: f64| seconds * 1e3;
    let mut line = String::new();
    let mut sum = 0u64;
    for _ in 0..3 {
        let (mut labels, mut similarities) = (vec![u32::MAX; N_DOCS], vec![0.0; N_DOCS]);
        let step = Step {
            n_terms: N_TERMS,
            n_clusters: N_CLUSTERS,
            centroid: &centroid,
            live: &live,
            changes: None,
        };
        let columns = engine.begin(&step).expect("a step");
        let counts = engine.assign(block, &[], &mut labels, &mut similarities).expect("labels");
        let seconds = counts.seconds;
        sum = labels.iter().fold(0, |sum, &label| sum.wrapping_mul(31).wrapping_add(u64::from(label)));
        // The last of three: the first one makes room.
        line = format!(
            "columns {:.2}, upload {:.2}, scan {:.2}, write {:.2}",
            ms(columns),
            ms(seconds.upload),
            ms(seconds.scan),
            ms(seconds.write)
        );
    }
    // All documents join their clusters, a fifth of the clusters at a time.
    let mut seconds = 0.0;
    for round in 0..2 {
        let start = Instant::now();
        for clusters in live.chunks(N_CLUSTERS / 5) {
            let (mut ends, mut moves) = (vec![0], Vec::new());
            for &cluster in clusters {
                moves.extend((cluster..N_DOCS as u32).step_by(N_CLUSTERS).map(|doc| doc << 1 | 1));
                ends.push(moves.len() as u32);
            }
            let moves = Moves { ends: &ends, moves: &moves, factors: &[] };
            let found = engine.deltas(block, N_TERMS, &moves).expect("deltas").expect("many moved");
            assert!(found.of(0).0.len() > 10);
        }
        seconds = if round == 0 { 0.0 } else { start.elapsed().as_secs_f64() };
    }
    println!("{variant:>32}: {line}, deltas of all {:.2} ms; labels {sum:016x}", ms(seconds));
}

fn main() {
    let data = data();
    println!(
        "{} nonzeros, {} in centroids",
        data.terms.len(),
        data.centroids.iter().map(|c| c.0.len()).sum::<usize>()
    );
    measure(&data, "");
    std::env::args().skip(1).for_each(|variant| measure(&data, &variant));
}
