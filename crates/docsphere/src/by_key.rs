//! Values grouped by a small integer key: lists of postings, members of clusters.
//!
//! **Cost.** 8 bytes per key and one entry per value; two passes over the entries.

/// Values by key, in insertion order.
#[derive(Debug)]
pub(crate) struct ByKey<T> {
    /// Start of each key's values, and one more entry for the end.
    starts: Vec<usize>,
    values: Vec<T>,
}

impl<T> Default for ByKey<T> {
    fn default() -> Self {
        ByKey { starts: Vec::new(), values: Vec::new() }
    }
}

impl<T: Copy + Default> ByKey<T> {
    /// Groups `(key, value)` entries.
    pub(crate) fn new(n_keys: usize, entries: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut by_key = ByKey::default();
        by_key.group(n_keys, entries);
        by_key
    }

    /// Groups other entries by a counting sort, reusing the memory of the previous call.
    pub(crate) fn group(&mut self, n_keys: usize, entries: impl Iterator<Item = (u32, T)> + Clone) {
        // `starts[key + 2]` counts the key; then `starts[key + 1]` runs from the start of the key
        // to its end, which is the start of the next.
        self.starts.clear();
        self.starts.resize(n_keys + 2, 0);
        for (key, _) in entries.clone() {
            self.starts[key as usize + 2] += 1;
        }
        for key in 2..self.starts.len() {
            self.starts[key] += self.starts[key - 1];
        }
        self.values.clear();
        self.values.resize(self.starts[n_keys + 1], T::default());
        for (key, value) in entries {
            let position = &mut self.starts[key as usize + 1];
            self.values[*position] = value;
            *position += 1;
        }
        self.starts.pop();
    }

    pub(crate) fn n_keys(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The values of a key.
    #[inline]
    pub(crate) fn of(&self, key: u32) -> &[T] {
        &self.values[self.starts[key as usize]..self.starts[key as usize + 1]]
    }

    /// All values, key by key.
    pub(crate) fn into_values(self) -> Vec<T> {
        self.values
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.starts[..]) + size_of_val(&self.values[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_are_grouped_and_keep_their_order(keys in prop::collection::vec(0u32..7, 0..40), before in 0u32..9) {
            let mut by_key = ByKey::default();
            by_key.group(9, (0..before).map(|key| (key, 1)));
            by_key.group(8, keys.iter().copied().zip(0..));
            for key in 0..8 {
                let expected: Vec<i32> = (0..).zip(&keys).filter(|&(_, &k)| k == key).map(|(i, _)| i).collect();
                prop_assert_eq!(by_key.of(key), &expected[..]);
            }
            prop_assert_eq!(by_key.into_values().len(), keys.len());
        }
    }
}
