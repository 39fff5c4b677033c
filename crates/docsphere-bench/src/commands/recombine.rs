//! `recombine`: a corpus of any size, made of the words of a real one.
//!
//! Each new document begins like one document and goes on like another one of the same group, from
//! random places on. So lengths, frequencies of words and topics are about those of the corpus,
//! and nearly all documents differ. Document n depends on the seed and on n alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use docsphere::{Corpus, CorpusOptions};

/// Write a large corpus (.jsonl.zst) of documents that are recombined from those of another; the
/// group of a document is its id up to the last slash
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// Documents, as `docsphere cluster` reads them
    #[arg(long, value_name = "FILE", required = true)]
    corpus: PathBuf,

    /// Number of new documents
    #[arg(long, value_name = "N")]
    documents: u64,

    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The new file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Documents in a frame of the file: frames are read side by side.
const FRAME_DOCUMENTS: u64 = 500_000;

/// Fast: the file is read about as often as it is written.
const LEVEL: i32 = 1;

pub(super) fn run(args: &Args) -> Result<()> {
    let source = Source::read(&args.corpus)?;
    let failed = || format!("{}: cannot write", args.out.display());
    let mut out = BufWriter::new(File::create_new(&args.out).with_context(failed)?);
    let mut line = Vec::new();
    for first in (0..args.documents).step_by(FRAME_DOCUMENTS as usize) {
        let mut frame = zstd::Encoder::new(&mut out, LEVEL).with_context(failed)?;
        for number in first..args.documents.min(first + FRAME_DOCUMENTS) {
            line.clear();
            serde_json::to_writer(
                &mut line,
                &serde_json::json!({"id": number + 1, "text": source.document(args.seed, number)}),
            )?;
            line.push(b'\n');
            frame.write_all(&line).with_context(failed)?;
        }
        frame.finish().with_context(failed)?;
        eprintln!("{} documents", args.documents.min(first + FRAME_DOCUMENTS));
    }
    out.flush().with_context(failed)
}

/// The documents whose words are taken.
struct Source {
    texts: Vec<String>,
    /// The group of each document.
    group_of: Vec<u32>,
    groups: Vec<Vec<u32>>,
}

impl Source {
    fn read(path: &Path) -> Result<Self> {
        let corpus = Corpus::open([path], CorpusOptions::default())?;
        let mut source = Source { texts: Vec::new(), group_of: Vec::new(), groups: Vec::new() };
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        corpus.for_each_document(|document| {
            let name = document.id.rsplit_once('/').map_or("", |(group, _)| group);
            let next = source.groups.len() as u32;
            let group = *numbers.entry(name.to_owned()).or_insert(next);
            if group == next {
                source.groups.push(Vec::new());
            }
            source.groups[group as usize].push(source.texts.len() as u32);
            source.group_of.push(group);
            source.texts.push(document.text.to_owned());
        })?;
        ensure!(!source.texts.is_empty(), "{}: has no documents", path.display());
        Ok(source)
    }

    /// The document of a number.
    fn document(&self, seed: u64, number: u64) -> String {
        let mut random = Random(mixed(seed).wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let first = random.below(self.texts.len());
        let group = &self.groups[self.group_of[first] as usize];
        let second = group[random.below(group.len())] as usize;
        let words = |doc: usize| self.texts[doc].split_whitespace().collect::<Vec<_>>();
        let (first, second) = (words(first), words(second));
        let from_first = random.below(first.len() + 1);
        let from_second = random.below(second.len() + 1);
        [&first[..from_first], &second[from_second..]].concat().join(" ")
    }
}

/// Random numbers, by SplitMix64.
struct Random(u64);

impl Random {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(mixed(self.0)) * n as u128) >> 64) as usize
    }
}

fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
