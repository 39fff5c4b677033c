//! Rivals: the scan of an assignment once more, for candidates below the own similarity.
//!
//! A document whose bound `U` on all other similarities, with the growth since it was made, is less
//! than the similarity that matters has no rival. The others scan as in an assignment, with that
//! similarity in place of the own one. Nothing is learnt from this: bounds stay as they are.
//!
//! **Cost.** 8 bytes per wanted document, and 24 per document that scans.

use rayon::prelude::*;

use super::followers::Followers;
use super::front::Front;
use super::growth::Ranking;
use super::look::Need;
use super::positions::Positions;
use super::{Clock, scan, taken_apart};
use crate::assign::ShardStep;
use crate::assign::rivals::{Rival, Rivals, Wanted, through_postings};
use crate::lists::concatenated;
use crate::record::Counters;

/// Documents per task.
const TASK_DOCS: usize = 1 << 13;

/// The rivals of these documents of a block. Both halves represent the centroids of the step, and
/// the front has ranked them [again](Front::rank_again).
pub(super) fn rivals(
    front: &mut Front,
    followers: &Followers,
    positions: &Positions,
    step: &ShardStep<'_>,
    wanted: &[Wanted],
    labels: &[u32],
) -> Rivals {
    let ranking = &front.ranking();
    let (needs, mut open) = followers.divide(step, ranking, positions, wanted);
    // The wanted documents by position: sorted already, if they came in order.
    let mut numbers: Vec<(u32, u32)> =
        (0..).zip(wanted).map(|(number, wanted)| (positions.of(wanted.doc as usize), number)).collect();
    numbers.par_sort_unstable();
    let number_at = |position: u32| {
        let place = numbers.binary_search_by_key(&position, |&(position, _)| position);
        numbers[place.expect("only wanted documents scan")].1
    };
    let wanted_at = |position: u32| &wanted[number_at(position) as usize];

    let states = &followers.states;
    let each = || needs.par_iter().with_min_len(TASK_DOCS);
    let own: Vec<f64> = each().map(|need| states.own(need.position as usize)).collect();
    each().for_each(|need| states.set_own(need.position as usize, wanted_at(need.position).at_least));
    let by_task: Vec<Vec<Need>> = needs.par_chunks(TASK_DOCS).map(<[Need]>::to_vec).collect();
    let scanned = scan(front, followers, step, ranking, by_task, false, &mut Clock::new());
    each().zip(own).for_each(|(need, own)| states.set_own(need.position as usize, own));

    let (pairs, heavy, counters) = taken_apart(scanned);
    let similarities = followers.pair_similarities(front, step, &pairs);
    let mut found = vec![None; wanted.len()];
    for (number, pair) in pairs.iter().enumerate() {
        let similarity = similarities.get(number);
        let number = number_at(pair.position) as usize;
        let rival = Rival { cluster: pair.cluster, similarity };
        if similarity >= wanted[number].at_least && found[number].is_none_or(|best| rival.beats(&best)) {
            found[number] = Some(rival);
        }
    }
    // Those with too many candidates.
    open.extend(heavy.into_iter().map(number_at));
    let compared: Vec<Wanted> = open.iter().map(|&number| wanted[number as usize]).collect();
    let compared = through_postings(step, &compared, labels);
    for (&number, rival) in open.iter().zip(compared.found) {
        found[number as usize] = rival;
    }
    let own = Counters { similarities: pairs.len() as u64, ..Counters::default() };
    Rivals { found, counters: counters.plus(own).plus(compared.counters) }
}

impl Followers {
    /// Divides the wanted documents: those that scan some columns, in the order of the rows, and
    /// the indices of those that are compared with all centroids. The others have no rival that
    /// matters.
    fn divide(
        &self,
        step: &ShardStep<'_>,
        ranking: &Ranking,
        positions: &Positions,
        wanted: &[Wanted],
    ) -> (Vec<Need>, Vec<u32>) {
        let divided = |(task, wanted): (usize, &[Wanted])| {
            let (mut needs, mut open) = (Vec::new(), Vec::new());
            for (number, &Wanted { doc, at_least }) in (task * TASK_DOCS..).zip(wanted) {
                let position = positions.of(doc as usize) as usize;
                if at_least <= 0.0 {
                    open.push(number as u32);
                    continue;
                }
                let other = f64::from(self.states.other(position));
                let since = ranking.since(self.states.age(position, step.iteration + 1));
                if other + f64::from(since.greatest_beside(self.states.label(position))) >= at_least {
                    let n_tiles = since.n_tiles_reaching(at_least - other) as u32;
                    needs.push(Need { position: position as u32, n_tiles });
                }
            }
            (needs, open)
        };
        let (needs, open): (Vec<Vec<Need>>, Vec<Vec<u32>>) =
            wanted.par_chunks(TASK_DOCS).enumerate().map(divided).unzip();
        let mut needs = concatenated(&needs);
        needs.par_sort_unstable_by_key(|need| need.position);
        (needs, open.concat())
    }
}
