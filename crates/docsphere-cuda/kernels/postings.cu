// Posting lists over centroids: for each term the columns that have it, by class of columns, with
// values in fixed point, rounded up.
//
// An entry holds the place of the column in its tile in the lower 13 bits, and the value times 2^18
// in the upper 19: at most 2^18 + 1, since no value is above 1 + 1e-6.
//
// `ends[1 + term * n_classes + class]` is first the number of entries, then (after sums.cu) where
// they begin, and after filling where they end, so that the entries of consecutive classes of a
// term are those from `ends[term * n_classes + first]` to `ends[term * n_classes + last]`. The order
// within a class depends on chance; sums of integers do not depend on it.

#include "arguments.h"

KERNEL(count_postings, PostingsArguments) {
    u64 n_warps = (u64)n_blocks * (n_threads / WARP);
    for (u64 cluster = (u64)block_number * (n_threads / WARP) + thread_number / WARP;
         cluster < a.n_clusters; cluster += n_warps) {
        u32 rank = a.ranking.rank_of[cluster];
        if (rank == NO_LABEL) continue;
        u32 *counts = a.postings.ends + 1 + class_of(rank);
        u64 end = a.centroids.offsets[cluster + 1];
        for (u64 at = a.centroids.offsets[cluster] + thread_number % WARP; at < end; at += WARP)
            add(&counts[(u64)a.centroids.terms[at] * a.ranking.n_classes], 1);
    }
}

KERNEL(fill_postings, PostingsArguments) {
    u64 n_warps = (u64)n_blocks * (n_threads / WARP);
    for (u64 cluster = (u64)block_number * (n_threads / WARP) + thread_number / WARP;
         cluster < a.n_clusters; cluster += n_warps) {
        u32 rank = a.ranking.rank_of[cluster];
        if (rank == NO_LABEL) continue;
        u32 *places = a.postings.ends + 1 + class_of(rank);
        u32 column = rank - tile_of(class_of(rank));
        u64 end = a.centroids.offsets[cluster + 1];
        for (u64 at = a.centroids.offsets[cluster] + thread_number % WARP; at < end; at += WARP) {
            u32 place = add(&places[(u64)a.centroids.terms[at] * a.ranking.n_classes], 1);
            // Exact until it is rounded up: a power of 2.
            double scaled = (double)a.centroids.values[at] * 262144.0;
            u32 value = (u32)scaled;
            if (value < scaled) value++;
            a.postings.entries[place] = value << 13 | column;
        }
    }
}
