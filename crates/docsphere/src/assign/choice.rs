//! The tie rule: for one centroid at a time ([`Choice`]), for all similarities and the old label
//! ([`winner`]), and for all similarities without one ([`greatest`]).

use super::documents::Slot;
use crate::labels::Assignment;

/// The best cluster found so far for one document.
///
/// Offers may come in any order: on equal similarity the old label stays, otherwise the smallest id
/// wins. A similarity of 0 or below never wins: such a document stays without a label.
pub(super) struct Choice {
    old: u32,
    label: u32,
    similarity: f64,
}

impl Choice {
    /// Starts from the similarity to the old label's centroid.
    pub(super) fn from_own(label: u32, similarity: f64) -> Self {
        if similarity > 0.0 { Choice { old: label, label, similarity } } else { Choice::open() }
    }

    /// Starts from nothing: no old label, or one whose centroid is empty.
    pub(super) fn open() -> Self {
        Choice { old: Assignment::NO_LABEL, label: Assignment::NO_LABEL, similarity: 0.0 }
    }

    /// The minimum similarity of a winner; `None` if nothing has been found yet.
    pub(super) fn reached(&self) -> Option<f64> {
        (self.label != Assignment::NO_LABEL).then_some(self.similarity)
    }

    /// Offers a cluster other than the old label.
    #[inline]
    pub(super) fn offer(&mut self, cluster: u32, similarity: f64) {
        let wins_tie = similarity == self.similarity && self.label != self.old && cluster < self.label;
        if similarity > self.similarity || wins_tie {
            self.label = cluster;
            self.similarity = similarity;
        }
    }

    /// The winner and its similarity; no label and 0 if no centroid has a similarity above 0.
    pub(super) fn chosen(&self) -> (u32, f64) {
        (self.label, self.similarity)
    }

    /// Writes the outcome.
    pub(super) fn settle(self, mut slot: Slot<'_>) {
        slot.set(self.label, self.similarity);
    }
}

/// The winning label and its similarity, from all similarities and the old label; no label if no
/// similarity is above 0.
#[inline]
pub(super) fn winner(similarities: &[f64], old: u32) -> (u32, f64) {
    match greatest(similarities).filter(|&(_, best)| best > 0.0) {
        Some((_, best)) if old != Assignment::NO_LABEL && similarities[old as usize] == best => (old, best),
        Some(winner) => winner,
        None => (Assignment::NO_LABEL, 0.0),
    }
}

/// The greatest similarity and its first position; `None` if all are minus infinity.
#[inline]
pub(crate) fn greatest(similarities: &[f64]) -> Option<(u32, f64)> {
    let best = similarities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if best == f64::NEG_INFINITY {
        return None;
    }
    let cluster = similarities.iter().position(|&similarity| similarity == best)?;
    Some((cluster as u32, best))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(mut choice: Choice, offers: &[(u32, f64)]) -> (u32, f64) {
        offers.iter().for_each(|&(cluster, similarity)| choice.offer(cluster, similarity));
        (choice.label, choice.similarity)
    }

    #[test]
    fn ties_keep_the_old_label_else_the_smallest_id() {
        assert_eq!(outcome(Choice::from_own(5, 0.5), &[(1, 0.5), (9, 0.5)]), (5, 0.5));
        assert_eq!(outcome(Choice::from_own(5, 0.5), &[(9, 0.7), (1, 0.7), (3, 0.7)]), (1, 0.7));
        assert_eq!(outcome(Choice::open(), &[(4, 0.5), (2, 0.5), (7, 0.5)]), (2, 0.5));
    }

    #[test]
    fn a_similarity_of_0_or_below_is_no_label() {
        let none = (Assignment::NO_LABEL, 0.0);
        assert_eq!(outcome(Choice::open(), &[(4, 0.0), (2, 0.0), (7, -0.5)]), none);
        assert_eq!(outcome(Choice::from_own(3, 0.0), &[(4, 0.0)]), none);
        assert_eq!(outcome(Choice::from_own(3, -0.5), &[(4, -0.2)]), none);
        assert_eq!(outcome(Choice::from_own(3, -0.5), &[(9, 0.1), (4, 0.1)]), (4, 0.1));
    }
}
