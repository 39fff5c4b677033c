//! Terms that have left memory come back: the lists of a shard are merged, see `rare_terms.rs`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::counting::{CountedTerm, Shard, TERMS};
use super::losses::{ChoiceLetters, Unchosen};
use super::rare_terms::{RareTerm, RareTerms, Reader};
use super::tfidf::TfidfOptions;
use crate::error::Result;
use crate::memory::MemoryLimit;

/// What became of the terms of all shards.
#[derive(Default)]
pub(super) struct Returned {
    /// Whether any term has left.
    pub(super) have_left: bool,
    /// Pairs of provisional numbers: the second is the one under which the term goes on.
    pub(super) aliases: Vec<(u32, u32)>,
    /// Letters of the terms that were dropped.
    pub(super) letters: ChoiceLetters,
}

impl RareTerms<'_> {
    /// Merges what has left with what has stayed, shard by shard.
    pub(super) fn bring_back(
        &self,
        shards: &mut [Shard],
        tfidf: &TfidfOptions,
        n_docs: u64,
        memory: &MemoryLimit,
    ) -> Result<Returned> {
        let why_not = tfidf.document_filter(n_docs)?;
        let is_rare = |n_docs| why_not(n_docs) == Some(Unchosen::TooFew);
        let returned: Vec<Returned> =
            shards.par_iter_mut().map(|shard| self.merge(shard, &is_rare)).collect::<Result<_>>()?;
        let mut all = Returned::default();
        let n_aliases: usize = returned.iter().map(|returned| returned.aliases.len()).sum();
        memory.check(TERMS, (2 * size_of::<(u32, u32)>() * n_aliases) as u64)?;
        for Returned { have_left, aliases, letters } in returned {
            all.have_left |= have_left;
            all.aliases.extend(aliases);
            all.letters += letters;
        }
        Ok(all)
    }

    /// Merges the lists of a shard.
    fn merge(&self, shard: &mut Shard, is_rare: &impl Fn(u64) -> bool) -> Result<Returned> {
        if shard.left().is_empty() {
            return Ok(Returned::default());
        }
        let mut returned = Returned { have_left: true, ..Returned::default() };
        // What has stayed is one more list.
        shard.let_leave(self, f64::INFINITY)?;
        let mut lists: Vec<Reader<'_>> =
            shard.left().iter().map(|left| Reader::new(self.files, left)).collect();
        let mut next: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        for (number, list) in lists.iter_mut().enumerate() {
            next.extend(list.peek()?.map(|hash| Reverse((hash, number))));
        }
        let mut same: Vec<RareTerm<String>> = Vec::new();
        while let Some(&Reverse((least, _))) = next.peek() {
            while let Some(&Reverse((_, number))) = next.peek().filter(|head| head.0.0 == least) {
                next.pop();
                same.push(lists[number].take()?);
                next.extend(lists[number].peek()?.map(|hash| Reverse((hash, number))));
            }
            // Different terms may have the same hash.
            same.sort_unstable_by(|a, b| a.term.cmp(&b.term));
            for group in same.chunk_by(|a, b| a.term == b.term) {
                let first = &group[0];
                let n_docs = group.iter().map(|one| u64::from(one.n_docs)).sum();
                let n_occurrences = group.iter().map(|one| one.n_occurrences).sum();
                let counted =
                    CountedTerm { term: &first.term, provisional: first.number, n_docs, n_occurrences };
                if is_rare(n_docs) {
                    returned.letters.count(&counted, Some(Unchosen::TooFew));
                } else {
                    returned.aliases.extend(group[1..].iter().map(|one| (one.number, first.number)));
                    shard.put_back(first.hash, &counted);
                }
            }
            same.clear();
        }
        Ok(returned)
    }
}
