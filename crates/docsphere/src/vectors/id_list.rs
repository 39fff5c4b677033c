//! The ids of the documents of a chunk, in one text.
//!
//! A string of its own for every id would lie between the counts of the chunk, which are freed much
//! earlier, and keep the allocator from giving their memory back.

/// See the [module](self).
#[derive(Default)]
pub(super) struct IdList {
    text: String,
    /// The end of each id.
    ends: Vec<usize>,
}

impl IdList {
    pub(super) fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Frees what is not in use.
    pub(super) fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// All ids in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.text[std::mem::replace(&mut start, end)..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_in_order() {
        let mut list = IdList::default();
        let ids = ["a", "", "b\u{e9}", "a"];
        ids.into_iter().for_each(|id| list.push(id));
        list.shrink_to_fit();
        assert_eq!((list.len(), list.iter().collect::<Vec<_>>()), (4, ids.to_vec()));
    }
}
