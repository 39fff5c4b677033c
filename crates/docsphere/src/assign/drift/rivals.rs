//! Rivals: the scan of an assignment once more, for candidates below the own similarity.
//!
//! A document whose bound `U` on all other similarities, with the growth since it was made, is less
//! than the similarity that matters has no rival. The others scan as in an assignment, with that
//! similarity in place of the own one. Nothing is learnt from this: bounds stay as they are.
//!
//! **Cost.** 4 bytes per document, and 24 per document that scans.

use rayon::prelude::*;

use super::followers::Followers;
use super::front::Front;
use super::growth::Ranking;
use super::look::{Need, Pair};
use super::scan;
use crate::assign::ShardStep;
use crate::assign::rivals::{Rival, Rivals, Wanted, through_postings};
use crate::record::Counters;

/// No wanted document.
const NONE: u32 = u32::MAX;

/// The rivals of these documents. Both halves represent the centroids of the step.
pub(super) fn rivals(
    front: &mut Front,
    followers: &mut Followers,
    step: &ShardStep<'_>,
    wanted: &[Wanted],
    labels: &[u32],
) -> Rivals {
    let ranking = front.rank_again(step);
    let (needs, mut open) = followers.divide(step, &ranking, wanted);
    // The index of the wanted document at each position.
    let mut number_at = vec![NONE; followers.n_docs()];
    for (number, wanted) in (0u32..).zip(wanted) {
        number_at[followers.position(wanted.doc)] = number;
    }
    let wanted_at = |position: u32| &wanted[number_at[position as usize] as usize];

    let own: Vec<f64> = needs.iter().map(|need| followers.states.own(need.position as usize)).collect();
    let set_own = |need: &Need, own: f64| followers.states.set_own(need.position as usize, own);
    needs.iter().for_each(|need| set_own(need, wanted_at(need.position).at_least));
    let scanned = scan(front, followers, step, &ranking, &needs, false);
    needs.iter().zip(own).for_each(|(need, own)| set_own(need, own));

    let mut found = vec![None; wanted.len()];
    let pairs: Vec<Pair> = scanned.iter().flat_map(|scanned| &scanned.pairs).copied().collect();
    let similarities = followers.pair_similarities(front.ranks(), step, &pairs);
    for (pair, similarity) in pairs.iter().zip(similarities) {
        let number = number_at[pair.position as usize] as usize;
        let rival = Rival { cluster: pair.cluster, similarity };
        if similarity >= wanted[number].at_least && found[number].is_none_or(|best| rival.beats(&best)) {
            found[number] = Some(rival);
        }
    }
    // Those with too many candidates.
    open.extend(scanned.iter().flat_map(|scanned| &scanned.heavy).map(|&at| number_at[at as usize]));
    let compared: Vec<Wanted> = open.iter().map(|&number| wanted[number as usize]).collect();
    let compared = through_postings(step, &compared, labels);
    for (&number, rival) in open.iter().zip(compared.found) {
        found[number as usize] = rival;
    }
    let own = Counters { similarities: pairs.len() as u64, ..Counters::default() };
    let counters = scanned.iter().map(|scanned| scanned.counters).fold(own, Counters::plus);
    Rivals { found, counters: counters.plus(compared.counters) }
}

impl Followers {
    /// Divides the wanted documents: those that scan some columns, in the order of the rows, and
    /// the indices of those that are compared with all centroids. The others have no rival that
    /// matters.
    fn divide(&self, step: &ShardStep<'_>, ranking: &Ranking, wanted: &[Wanted]) -> (Vec<Need>, Vec<u32>) {
        let (mut needs, mut open) = (Vec::new(), Vec::new());
        for (number, &Wanted { doc, at_least }) in (0u32..).zip(wanted) {
            let position = self.position(doc);
            if at_least <= 0.0 {
                open.push(number);
                continue;
            }
            let other = f64::from(self.states.other(position));
            let since = ranking.since(self.states.age(position, step.iteration + 1));
            if other + f64::from(since.greatest_beside(self.states.labels[position])) >= at_least {
                let n_tiles = since.n_tiles_reaching(at_least - other) as u32;
                needs.push(Need { position: position as u32, n_tiles });
            }
        }
        needs.par_sort_unstable_by_key(|need| need.position);
        (needs, open)
    }

    fn position(&self, doc: u32) -> usize {
        self.arranged.positions()[doc as usize] as usize
    }
}
