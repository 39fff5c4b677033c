//! Integer ids of documents, terms and clusters.
//!
//! Each is a newtype over `u32`, so that a document cannot be mistaken for a cluster:
//!
//! ```compile_fail
//! use docsphere::{ClusterId, DocId};
//! let cluster: ClusterId = DocId::new(3);
//! ```

use std::fmt;

use crate::error::{ErrorKind, Result};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The id with this number.
            pub const fn new(number: u32) -> Self {
                $name(number)
            }

            /// The id for a position, or an error if it does not fit.
            ///
            /// # Errors
            /// [`ErrorKind::TooLarge`] if `index` does not fit into 32 bits.
            pub fn from_index(index: usize) -> Result<Self> {
                u32::try_from(index).map($name).map_err(|_| {
                    ErrorKind::TooLarge { what: $what, limit: u64::from(u32::MAX), got: index as u64 }.into()
                })
            }

            /// The number.
            pub const fn number(self) -> u32 {
                self.0
            }

            /// The number as a position in a slice.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A document: the position of its row, counted from 0.
    DocId,
    "a document number"
);
id!(
    /// A term: the column of a matrix, counted from 0.
    TermId,
    "a term number"
);
id!(
    /// A cluster, counted from 0.
    ClusterId,
    "a cluster number"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_beyond_32_bits_is_an_error() {
        assert_eq!(DocId::from_index(7).unwrap(), DocId::new(7));
        let error = TermId::from_index(1 << 32).unwrap_err();
        assert_eq!(error.to_string(), "a term number is limited to 4294967295, got 4294967296");
    }
}
