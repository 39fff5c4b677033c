// Centroids by term: posting lists for terms that few columns have, rows of bytes for the others.
//
// An entry of a list holds the place of the column in its tile in the lower 13 bits, and the value
// times 2^18, rounded up, in the upper 19: at most 2^18 + 1, since no value is above 1 + 1e-6.
//
// `ends[1 + term * n_classes + class]` is first the number of entries, then (after sums.cu) where
// they begin, and after filling where they end, so that the entries of consecutive classes of a
// term are those from `ends[term * n_classes + first]` to `ends[term * n_classes + last]`. The order
// within a class depends on chance; sums of integers do not depend on it.
//
// A row has a byte per column: the value in 1/255 of the greatest one of the row, rounded up. Rows
// take at most SPARSE bytes per entry of the centroids. Which row a term gets depends on chance,
// and matters to nobody.

#include "arguments.h"

DEVICE u32 fixed_point(float value) {
    // Exact until it is rounded up: a power of 2.
    double scaled = (double)value * 262144.0;
    u32 fixed = (u32)scaled;
    return fixed < scaled ? fixed + 1 : fixed;
}

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

// Which terms get rows. They have no lists.
KERNEL(choose_rows, PostingsArguments) {
    for (u64 term = (u64)block_number * n_threads + thread_number; term < a.n_terms;
         term += (u64)n_blocks * n_threads) {
        u32 *counts = a.postings.ends + 1 + term * a.ranking.n_classes;
        u64 n = 0;
        for (u32 number = 0; number < a.ranking.n_classes; number++) n += counts[number];
        u32 row = NO_ROW;
        if (n && n * SPARSE >= a.ranking.n_columns) {
            row = add(a.postings.n_rows, 1);
            if (row < a.postings.most_rows) {
                a.postings.greatest[row] = 0;
                for (u32 number = 0; number < a.ranking.n_classes; number++) counts[number] = 0;
            } else {
                row = NO_ROW;
            }
        }
        a.postings.row_of[term] = row;
    }
}

// Sets all bytes of rows to 0.
KERNEL(clear_rows, PostingsArguments) {
    u64 n_rows = smaller(*a.postings.n_rows, a.postings.most_rows);
    u64 n_words = n_rows * (a.postings.stride / 4);
    u32 *words = (u32 *)a.postings.rows;
    for (u64 at = (u64)block_number * n_threads + thread_number; at < n_words;
         at += (u64)n_blocks * n_threads)
        words[at] = 0;
}

// The greatest value of each row.
KERNEL(measure_rows, PostingsArguments) {
    u64 n_warps = (u64)n_blocks * (n_threads / WARP);
    for (u64 cluster = (u64)block_number * (n_threads / WARP) + thread_number / WARP;
         cluster < a.n_clusters; cluster += n_warps) {
        if (a.ranking.rank_of[cluster] == NO_LABEL) continue;
        u64 end = a.centroids.offsets[cluster + 1];
        for (u64 at = a.centroids.offsets[cluster] + thread_number % WARP; at < end; at += WARP) {
            u32 row = a.postings.row_of[a.centroids.terms[at]];
            if (row != NO_ROW) raise(&a.postings.greatest[row], fixed_point(a.centroids.values[at]));
        }
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
            u32 term = a.centroids.terms[at], value = fixed_point(a.centroids.values[at]);
            u32 row = a.postings.row_of[term];
            if (row == NO_ROW) {
                u32 place = add(&places[(u64)term * a.ranking.n_classes], 1);
                a.postings.entries[place] = value << 13 | column;
            } else {
                u32 greatest = a.postings.greatest[row];
                u32 byte = greatest ? (value * 255 + greatest - 1) / greatest : 0;
                a.postings.rows[row * a.postings.stride + rank] = (u8)byte;
            }
        }
    }
}
