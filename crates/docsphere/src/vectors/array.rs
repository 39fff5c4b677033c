//! Arrays of a matrix: in memory, of someone else, or in a mapped file.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use crate::mapping::{Mapped, Plain};

/// See the [module](self).
#[derive(Clone)]
pub(super) enum Array<'a, T: Plain> {
    Owned(Vec<T>),
    Borrowed(&'a [T]),
    Mapped(Mapped<T>),
}

impl<'a, T: Plain> Array<'a, T> {
    /// The same items, copied if they are borrowed.
    pub(super) fn into_owned(self) -> Array<'static, T> {
        match self {
            Array::Owned(items) => Array::Owned(items),
            Array::Borrowed(items) => Array::Owned(items.to_vec()),
            Array::Mapped(items) => Array::Mapped(items),
        }
    }

    /// The same items, copied unless they are owned.
    #[cfg(feature = "compression")]
    pub(super) fn into_memory(self) -> Array<'static, T> {
        match self {
            Array::Owned(items) => Array::Owned(items),
            items => Array::Owned(items.to_vec()),
        }
    }

    /// The items to be changed: copied first, unless they are owned.
    pub(super) fn to_mut(&mut self) -> &mut Vec<T> {
        if !matches!(self, Array::Owned(_)) {
            *self = Array::Owned(self.to_vec());
        }
        match self {
            Array::Owned(items) => items,
            _ => unreachable!("owned above"),
        }
    }

    /// Lets go of the pages of mapped items, which come back when they are read.
    #[cfg(feature = "text")]
    pub(super) fn let_go(&self) {
        if let Array::Mapped(items) = self {
            items.let_go();
        }
    }

    /// Bytes in memory. Mapped ones come and go.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Array::Mapped(_) => 0,
            items => size_of_val(&items[..]),
        }
    }
}

impl<T: Plain> Deref for Array<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Array::Owned(items) => items,
            Array::Borrowed(items) => items,
            Array::Mapped(items) => items,
        }
    }
}

impl<'a, T: Plain> From<Cow<'a, [T]>> for Array<'a, T> {
    fn from(items: Cow<'a, [T]>) -> Self {
        match items {
            Cow::Owned(items) => Array::Owned(items),
            Cow::Borrowed(items) => Array::Borrowed(items),
        }
    }
}

impl<T: Plain> From<Vec<T>> for Array<'_, T> {
    fn from(items: Vec<T>) -> Self {
        Array::Owned(items)
    }
}

impl<T: Plain + PartialEq> PartialEq for Array<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for Array<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self[..], f)
    }
}
