//! The arguments of kernels, the same as in `kernels/arguments.h`.
//!
//! A kernel takes one struct. Its type is that of the [`Kernel`], so that no kernel gets the struct
//! of another.

use std::marker::PhantomData;

use crate::device::Pointer;
use crate::engine::Improved;

/// A kernel and the type of its arguments.
pub(crate) struct Kernel<A> {
    pub(crate) number: usize,
    arguments: PhantomData<fn(A)>,
}

macro_rules! kernels {
    ($($constant:ident: $name:literal, $arguments:ty;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Number { $($constant),* }

        /// The names of all kernels, by number.
        pub(crate) const NAMES: &[&str] = &[$($name),*];

        $(pub(crate) const $constant: Kernel<$arguments> =
            Kernel { number: Number::$constant as usize, arguments: PhantomData };)*
    };
}

kernels! {
    OPEN_DOCUMENTS: "open_documents", OpenArguments;
    RELABEL_DOCUMENTS: "relabel_documents", RelabelArguments;
    OWN_SIMILARITIES: "own_similarities", OwnArguments;
    CHOOSE_DOCUMENTS: "choose_documents", ChooseArguments;
    SCAN_NARROW: "scan_narrow", ScanArguments;
    SCAN_WIDE: "scan_wide", ScanArguments;
    SCAN_RIVALS: "scan_rivals", ScanArguments;
    COMPARE_ALL: "compare_all", ScanArguments;
    COMPARE_RIVALS: "compare_rivals", ScanArguments;
    COUNT_POSTINGS: "count_postings", PostingsArguments;
    CHOOSE_ROWS: "choose_rows", PostingsArguments;
    CLEAR_ROWS: "clear_rows", PostingsArguments;
    MEASURE_ROWS: "measure_rows", PostingsArguments;
    FILL_POSTINGS: "fill_postings", PostingsArguments;
    SUM_SPANS: "sum_spans", SumsArguments;
    SUM_SUMS: "sum_sums", SumsArguments;
    SUM_VALUES: "sum_values", SumsArguments;
    COUNT_DIRTY: "count_dirty", CollectArguments;
    COLLECT_DIRTY: "collect_dirty", CollectArguments;
    GATHER_CENTROIDS: "gather_centroids", GatherArguments;
    RAISE_BEST: "raise_best", RaiseArguments;
    FIND_IMPROVED: "find_improved", FindArguments;
    SUM_MOVES: "sum_moves", MovesArguments;
    COUNT_PAIRS: "count_pairs", PairsArguments;
    FILL_PAIRS: "fill_pairs", PairsArguments;
    COMPARE_PAIRS: "compare_pairs", PairsArguments;
    NEAREST_PAIRS: "nearest_pairs", PairsArguments;
}

/// The numbers of `arguments.h`, which differ in the emulation, so that small cases have everything
/// that large ones have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) first: u32,
    pub(crate) narrow: u32,
    pub(crate) tile: u32,
    pub(crate) chunk: u32,
    pub(crate) warp: u32,
    pub(crate) narrow_threads: u32,
    pub(crate) threads: u32,
    pub(crate) pair_tile: u32,
    pub(crate) pair_wanted: u32,
}

impl Shape {
    pub(crate) const CUDA: Shape = Shape {
        first: 64,
        narrow: 512,
        tile: 8192,
        chunk: 1024,
        warp: 32,
        narrow_threads: 32,
        threads: 256,
        pair_tile: 2048,
        pair_wanted: 128,
    };
    #[cfg(feature = "emulation")]
    pub(crate) const EMULATED: Shape = Shape {
        first: 4,
        narrow: 16,
        tile: 64,
        chunk: 16,
        warp: 2,
        narrow_threads: 2,
        threads: 4,
        pair_tile: 8,
        pair_wanted: 4,
    };

    /// The number of classes of so many columns.
    pub(crate) fn n_classes(self, n_columns: usize) -> usize {
        if n_columns == 0 { 0 } else { self.class_of(n_columns as u32 - 1) as usize + 1 }
    }

    fn class_of(self, rank: u32) -> u32 {
        match rank {
            rank if rank < self.first => 0,
            rank if rank < self.narrow => 1,
            rank => 2 + rank / self.tile,
        }
    }

    /// The first column of a class.
    pub(crate) fn first_of(self, class: usize) -> usize {
        match class {
            0 => 0,
            1 => self.first as usize,
            2 => self.narrow as usize,
            class => (class - 2) * self.tile as usize,
        }
    }
}

/// The values that each thread sums up.
pub(crate) const SUMS_PER_THREAD: usize = 8;

/// Seeds that documents are compared with in one pass.
pub(crate) const SEEDS: usize = 4;

/// A term has a row of bytes if at least 1/`SPARSE` of the columns have it.
pub(crate) const SPARSE: usize = 16;

/// Marks the places of centroids that changed.
pub(crate) const FROM_CHANGED: u64 = 1 << 63;

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Matrix {
    pub(crate) offsets: Pointer<u64>,
    pub(crate) terms: Pointer<u32>,
    pub(crate) values: Pointer<f32>,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Documents {
    pub(crate) labels: Pointer<u32>,
    pub(crate) own: Pointer<f64>,
    pub(crate) other: Pointer<f64>,
    pub(crate) dirty: Pointer<u8>,
    pub(crate) depth: Pointer<u8>,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Ranking {
    pub(crate) rank_of: Pointer<u32>,
    pub(crate) cluster_of: Pointer<u32>,
    pub(crate) growth: Pointer<f64>,
    pub(crate) n_columns: u32,
    pub(crate) n_classes: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Postings {
    pub(crate) ends: Pointer<u32>,
    pub(crate) entries: Pointer<u32>,
    pub(crate) row_of: Pointer<u32>,
    pub(crate) greatest: Pointer<u32>,
    pub(crate) rows: Pointer<u8>,
    pub(crate) n_rows: Pointer<u32>,
    pub(crate) stride: u64,
    pub(crate) most_rows: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct OpenArguments {
    pub(crate) rows: Matrix,
    pub(crate) documents: Documents,
    pub(crate) n_documents: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RelabelArguments {
    pub(crate) documents: Documents,
    pub(crate) list: Pointer<u32>,
    pub(crate) labels: Pointer<u32>,
    pub(crate) n_list: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct OwnArguments {
    pub(crate) rows: Matrix,
    pub(crate) centroids: Matrix,
    pub(crate) documents: Documents,
    pub(crate) changed: Pointer<u8>,
    pub(crate) counters: Pointer<u64>,
    pub(crate) n_documents: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ChooseArguments {
    pub(crate) rows: Matrix,
    pub(crate) documents: Documents,
    pub(crate) ranking: Ranking,
    pub(crate) narrow: Pointer<u32>,
    pub(crate) wide: Pointer<u32>,
    pub(crate) counts: Pointer<u32>,
    pub(crate) counters: Pointer<u64>,
    pub(crate) n_documents: u32,
    pub(crate) n_changed_classes: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ScanArguments {
    pub(crate) rows: Matrix,
    pub(crate) centroids: Matrix,
    pub(crate) documents: Documents,
    pub(crate) ranking: Ranking,
    pub(crate) postings: Postings,
    pub(crate) list: Pointer<u32>,
    pub(crate) n_list: Pointer<u32>,
    pub(crate) overflow: Pointer<u32>,
    pub(crate) n_overflow: Pointer<u32>,
    pub(crate) counters: Pointer<u64>,
    pub(crate) at_least: Pointer<f64>,
    pub(crate) rivals: Pointer<u32>,
    pub(crate) similarities: Pointer<f64>,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PostingsArguments {
    pub(crate) centroids: Matrix,
    pub(crate) ranking: Ranking,
    pub(crate) postings: Postings,
    pub(crate) n_clusters: u32,
    pub(crate) n_terms: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct SumsArguments {
    pub(crate) values: Pointer<u32>,
    pub(crate) sums: Pointer<u32>,
    pub(crate) n_values: u64,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CollectArguments {
    pub(crate) documents: Documents,
    pub(crate) counts: Pointer<u32>,
    pub(crate) list: Pointer<u32>,
    pub(crate) labels: Pointer<u32>,
    pub(crate) similarities: Pointer<f64>,
    pub(crate) n_documents: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct GatherArguments {
    pub(crate) before: Matrix,
    pub(crate) changed: Matrix,
    pub(crate) offsets: Pointer<u64>,
    pub(crate) terms: Pointer<u32>,
    pub(crate) values: Pointer<f32>,
    pub(crate) sources: Pointer<u64>,
    pub(crate) n_clusters: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RaiseArguments {
    pub(crate) best: Pointer<f64>,
    pub(crate) raised: Pointer<Improved>,
    pub(crate) found: Pointer<Improved>,
    pub(crate) n_raised: u64,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FindArguments {
    pub(crate) rows: Matrix,
    pub(crate) best: Pointer<f64>,
    pub(crate) keys: Pointer<u32>,
    pub(crate) values: Pointer<f32>,
    pub(crate) found: Pointer<Improved>,
    pub(crate) n_documents: u64,
    pub(crate) shift: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct MovesArguments {
    pub(crate) rows: Matrix,
    pub(crate) ends: Pointer<u32>,
    pub(crate) moves: Pointer<u32>,
    pub(crate) factors: Pointer<f64>,
    pub(crate) marks: Pointer<u32>,
    pub(crate) before: Pointer<u32>,
    pub(crate) counts: Pointer<u32>,
    pub(crate) starts: Pointer<u32>,
    pub(crate) lengths: Pointer<u32>,
    pub(crate) terms: Pointer<u32>,
    pub(crate) values: Pointer<i64>,
    pub(crate) n_groups: u32,
    pub(crate) n_terms: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PairsArguments {
    pub(crate) centroids: Matrix,
    pub(crate) ends: Pointer<u32>,
    pub(crate) columns: Pointer<u32>,
    pub(crate) values: Pointer<f32>,
    pub(crate) rows: Pointer<u32>,
    pub(crate) similarities: Pointer<f64>,
    pub(crate) nearest: Pointer<u32>,
    pub(crate) n_clusters: u32,
    pub(crate) n_tiles: u32,
    pub(crate) n_rows: u32,
    pub(crate) first_column: u32,
    pub(crate) n_wanted: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number that `#define NAME number` gives in `arguments.h` (in `device.h` for the size of
    /// a warp), in the part for the emulation or in the other one.
    fn defined(name: &str, emulated: bool) -> u32 {
        let files = [include_str!("../kernels/arguments.h"), include_str!("../kernels/device.h")];
        let emulated_file = include_str!("../kernels/emulated.h");
        let mut found = Vec::new();
        for text in files.into_iter().chain([emulated_file]) {
            let number = |line: &str| -> Option<u32> {
                let (of, number) = line.strip_prefix("#define ")?.split_once(' ')?;
                if of == name { number.trim_end_matches('u').parse().ok() } else { None }
            };
            found.extend(text.lines().filter_map(number));
        }
        match (found[..].len(), name) {
            (1, _) => found[0],
            // In the order of the files: the emulation comes first in `arguments.h`, last for WARP.
            (2, "WARP") => found[usize::from(emulated)],
            (2, _) => found[usize::from(!emulated)],
            (n, _) => panic!("{name} is defined {n} times"),
        }
    }

    #[test]
    fn both_sides_know_the_same_numbers() {
        let shape = |emulated| Shape {
            first: defined("FIRST", emulated),
            narrow: defined("NARROW", emulated),
            tile: defined("TILE", emulated),
            chunk: defined("CHUNK", emulated),
            warp: defined("WARP", emulated),
            narrow_threads: defined("NARROW_THREADS", emulated),
            threads: defined("MOST_THREADS", emulated),
            pair_tile: defined("PAIR_TILE", emulated),
            pair_wanted: defined("PAIR_WANTED", emulated),
        };
        assert_eq!(shape(false), Shape::CUDA);
        #[cfg(feature = "emulation")]
        assert_eq!(shape(true), Shape::EMULATED);
        assert_eq!(defined("SUMS_PER_THREAD", false) as usize, SUMS_PER_THREAD);
        assert_eq!(defined("SPARSE", false) as usize, SPARSE);
        assert_eq!(defined("SEEDS", false) as usize, SEEDS);
    }

    #[test]
    fn classes_follow_each_other_without_gaps() {
        let shape = Shape::CUDA;
        assert_eq!(
            [1, 64, 65, 512, 513, 8192, 8193, 16385].map(|n| shape.n_classes(n)),
            [1, 1, 2, 2, 3, 3, 4, 5]
        );
        assert_eq!([0, 1, 2, 3, 4].map(|class| shape.first_of(class)), [0, 64, 512, 8192, 16384]);
        for shape in shapes() {
            for class in 0..30 {
                let first = shape.first_of(class) as u32;
                assert_eq!(shape.class_of(first) as usize, class);
                assert!(class == 0 || shape.class_of(first - 1) as usize + 1 == class);
            }
        }
    }

    fn shapes() -> Vec<Shape> {
        vec![
            Shape::CUDA,
            #[cfg(feature = "emulation")]
            Shape::EMULATED,
        ]
    }
}
