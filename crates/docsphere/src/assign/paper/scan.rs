//! Compares one document with some centroids, with one dot product each: shared by the paper's
//! strategies.

use crate::assign::ShardStep;
use crate::assign::choice::Choice;
use crate::assign::documents::Slot;
use crate::assign::lookup::Lookup;
use crate::labels::Assignment;
use crate::record::Counters;
use crate::vectors::Row;

/// A document being processed: its row, and the slot of its label.
pub(in crate::assign) struct Scan<'a> {
    lookup: &'a Lookup,
    step: &'a ShardStep<'a>,
    pub(in crate::assign) row: Row<'a>,
    slot: Slot<'a>,
}

impl<'a> Scan<'a> {
    /// The document of a slot; `None` for a zero row.
    pub(in crate::assign) fn new(
        lookup: &'a Lookup,
        step: &'a ShardStep<'a>,
        slot: Slot<'a>,
    ) -> Option<Self> {
        let row = step.rows.row(slot.doc);
        (row.nnz() > 0).then_some(Scan { lookup, step, row, slot })
    }

    /// Whether only changed centroids can win: the document's own is unchanged, or it has none
    /// because none was similar to it.
    pub(in crate::assign) fn only_others_changed(&self) -> bool {
        self.step.is_settled(*self.slot.label)
    }

    /// Starts from the own centroid, whose similarity is known if it did not change and `known`
    /// allows its use.
    pub(in crate::assign) fn own_choice(&self, counters: &mut Counters, known: bool) -> Choice {
        let label = *self.slot.label;
        if label == Assignment::NO_LABEL || self.step.centroids.is_empty(label as usize) {
            return Choice::open();
        }
        if known && self.only_others_changed() {
            return Choice::from_own(label, *self.slot.similarity);
        }
        counters.similarities += 1;
        Choice::from_own(label, self.lookup.similarity(self.row, label))
    }

    /// Compares the document with every centroid.
    pub(in crate::assign) fn all(self, counters: &mut Counters) {
        let choice = self.own_choice(counters, false);
        let live = &self.step.live;
        self.among(live, choice, counters);
    }

    /// Compares the document with the changed centroids only, if its own did not change; otherwise
    /// with all. The paper's section 3.1.
    pub(in crate::assign) fn changed(self, counters: &mut Counters) {
        match self.step.movement {
            Some(movement) if self.only_others_changed() => {
                if movement.changed().is_empty() {
                    counters.skipped_docs += 1;
                    return;
                }
                let choice = self.own_choice(counters, true);
                self.among(movement.changed(), choice, counters);
            }
            _ => self.all(counters),
        }
    }

    /// Compares the document with these clusters, except its own and empty ones, and settles its
    /// label.
    pub(in crate::assign) fn among(self, clusters: &[u32], mut choice: Choice, counters: &mut Counters) {
        let own = *self.slot.label;
        for &cluster in clusters {
            if cluster != own && !self.step.centroids.is_empty(cluster as usize) {
                counters.similarities += 1;
                choice.offer(cluster, self.lookup.similarity(self.row, cluster));
            }
        }
        choice.settle(self.slot);
    }
}
