//! The changes of the centroids in an update.

use super::Centroid;

/// Which centroids changed in an update, and how far each moved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Movement {
    changed: Vec<bool>,
    changed_list: Vec<u32>,
    moved: Vec<Moved>,
}

/// How far one centroid moved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moved {
    /// `sum of (c'_t - c_t)^2`, in f64 over the union of the terms in ascending order.
    pub(crate) squared_distance: f64,
    /// The same over the terms whose value rose: `sum of max(c'_t - c_t, 0)^2`.
    pub(crate) squared_rise: f64,
}

/// Terms that are compared together: those of two centroids are mostly the same.
const RUN: usize = 8;

impl Moved {
    /// The movement from one centroid to another; `None` if they are identical to the bit.
    pub(crate) fn between(before: &Centroid, after: &Centroid) -> Option<Self> {
        // Values first: those of a centroid that changed differ soon.
        if before.values == after.values && before.terms == after.terms {
            return None;
        }
        let mut moved = Moved::default();
        let mut add = |difference: f64| {
            let square = difference * difference;
            moved.squared_distance += square;
            // Adding 0 changes nothing, and is faster than a branch.
            moved.squared_rise += if difference > 0.0 { square } else { 0.0 };
        };
        let (before, after) = (before.as_row(), after.as_row());
        let (mut b, mut a) = (0, 0);
        while b < before.terms.len() && a < after.terms.len() {
            if let (Some(old), Some(new)) = (before.terms.get(b..b + RUN), after.terms.get(a..a + RUN))
                && old == new
            {
                let values = before.values[b..b + RUN].iter().zip(&after.values[a..a + RUN]);
                values.for_each(|(&was, &is)| add(f64::from(is) - f64::from(was)));
                (b, a) = (b + RUN, a + RUN);
                continue;
            }
            for _ in 0..RUN {
                if b == before.terms.len() || a == after.terms.len() {
                    break;
                }
                // Both are read, so that nothing depends on which term comes first.
                let (old, new) = (before.terms[b], after.terms[a]);
                let (was, is) = (f64::from(before.values[b]), f64::from(after.values[a]));
                let (has_old, has_new) = (old <= new, new <= old);
                add(if has_new { is } else { 0.0 } - if has_old { was } else { 0.0 });
                b += usize::from(has_old);
                a += usize::from(has_new);
            }
        }
        before.values[b..].iter().for_each(|&was| add(-f64::from(was)));
        after.values[a..].iter().for_each(|&is| add(f64::from(is)));
        Some(moved)
    }
}

impl Movement {
    pub(crate) fn none(n_clusters: usize) -> Self {
        Movement {
            changed: vec![false; n_clusters],
            changed_list: Vec::new(),
            moved: vec![Moved::default(); n_clusters],
        }
    }

    /// Records the change of a cluster. Call [`Movement::sort`] after the last.
    pub(crate) fn record(&mut self, cluster: usize, moved: Moved) {
        self.changed[cluster] = true;
        self.changed_list.push(cluster as u32);
        self.moved[cluster] = moved;
    }

    /// Sorts the changed clusters.
    pub(crate) fn sort(&mut self) {
        self.changed_list.sort_unstable();
    }

    /// Whether the update changed the centroid of this cluster, by even one bit.
    #[inline]
    pub(crate) fn is_changed(&self, cluster: usize) -> bool {
        self.changed[cluster]
    }

    /// The changed clusters, ascending.
    pub(crate) fn changed(&self) -> &[u32] {
        &self.changed_list
    }

    /// The largest squared distance by which any centroid moved.
    pub(crate) fn max_squared_distance(&self) -> f64 {
        self.moved.iter().map(|moved| moved.squared_distance).fold(0.0, f64::max)
    }

    /// How far a centroid moved; zero if it did not change.
    pub(crate) fn moved(&self, cluster: usize) -> Moved {
        self.moved[cluster]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// The definition, over runs of equal terms and of different ones.
        #[test]
        fn movement_is_that_of_the_definition(
            before in prop::collection::btree_map(0u32..60, 0.1f32..1.0, 0..60),
            changes in prop::collection::btree_map(0u32..60, prop::option::of(0.1f32..1.0), 0..20),
        ) {
            let mut after = before.clone();
            for (&term, change) in &changes {
                match change {
                    Some(value) => { after.insert(term, *value); }
                    None => { after.remove(&term); }
                }
            }
            let mut expected = Moved::default();
            for term in 0..60 {
                let value = |of: &BTreeMap<u32, f32>| of.get(&term).map_or(0.0, |&value| f64::from(value));
                let difference = value(&after) - value(&before);
                expected.squared_distance += difference * difference;
                expected.squared_rise += if difference > 0.0 { difference * difference } else { 0.0 };
            }
            let entries = |of: &BTreeMap<u32, f32>| of.iter().map(|(&t, &v)| (t, v)).collect::<Vec<_>>();
            let moved = Moved::between(&centroid(&entries(&before)), &centroid(&entries(&after)));
            prop_assert_eq!(moved, (before != after).then_some(expected));
        }
    }

    fn centroid(entries: &[(u32, f32)]) -> Centroid {
        Centroid {
            terms: entries.iter().map(|e| e.0).collect(),
            values: entries.iter().map(|e| e.1).collect(),
        }
    }

    #[test]
    fn movement_runs_over_the_union_of_terms() {
        let a = centroid(&[(0, 1.0), (3, 2.0), (7, 4.0)]);
        let b = centroid(&[(1, 3.0), (3, 5.0), (9, 1.0)]);
        let there = Moved::between(&a, &b).unwrap();
        assert_eq!(there, Moved { squared_distance: 1.0 + 9.0 + 9.0 + 16.0 + 1.0, squared_rise: 19.0 });
        assert_eq!(Moved::between(&b, &a).unwrap().squared_rise, 17.0 + 0.0);
        let gone = Moved::between(&a, &Centroid::default()).unwrap();
        assert_eq!(gone, Moved { squared_distance: 21.0, squared_rise: 0.0 });
        assert_eq!(Moved::between(&a, &a), None);
    }
}
