// Centroids against centroids: similarities exactly, and the greatest ones of each.
//
// A block takes one centroid, whose similarities are wanted, and PAIR_TILE others at a time, the
// *columns* of a tile. Their sums are in shared memory, as doubles. For each term of the centroid in
// ascending order, the threads add the products with the entries of its list; then all wait. A
// column has one entry of a term at most, so its sum gets one product after the other, in the order
// of the definition (similarity.h), whichever threads add them. A term that a column does not have
// would add 0. So a similarity has the same bits in both directions, too.
//
// Lists are by term and tile. `ends[1 + term * n_tiles + tile]` is first the number of entries, then
// (after sums.cu) where they begin, and after filling where they end. The order within a list
// depends on chance, and matters to nobody.
//
// # The greatest
//
// Columns come in ascending order, so on a tie those of earlier tiles win. Of a tile, only columns
// above the least of those that are kept count, once as many are kept as wanted. Of these, the ones
// in the first buckets (equal ranges of similarities, from above) are compared with each other and
// with those that are kept: the rank of each is the number of better ones. No two ranks are the
// same, so every place is written once.
//
// # Cost
//
// A multiplication per term and column that has it, on 4 + 4 bytes; per term of a centroid and tile
// a barrier. Selecting takes the square of the number of columns in the buckets, which are little
// more than wanted, unless many similarities are nearly the same.

#include "arguments.h"

#define PAIR_TERMS 128u
#define BUCKETS 256u

KERNEL(count_pairs, PairsArguments) {
    u64 n_warps = (u64)n_blocks * (n_threads / WARP);
    for (u64 column = (u64)block_number * (n_threads / WARP) + thread_number / WARP;
         column < a.n_clusters; column += n_warps) {
        u32 *counts = a.ends + 1 + column / PAIR_TILE;
        u64 end = a.centroids.offsets[column + 1];
        for (u64 at = a.centroids.offsets[column] + thread_number % WARP; at < end; at += WARP)
            add(&counts[(u64)a.centroids.terms[at] * a.n_tiles], 1);
    }
}

KERNEL(fill_pairs, PairsArguments) {
    u64 n_warps = (u64)n_blocks * (n_threads / WARP);
    for (u64 column = (u64)block_number * (n_threads / WARP) + thread_number / WARP;
         column < a.n_clusters; column += n_warps) {
        u32 *places = a.ends + 1 + column / PAIR_TILE;
        u64 end = a.centroids.offsets[column + 1];
        for (u64 at = a.centroids.offsets[column] + thread_number % WARP; at < end; at += WARP) {
            u32 place = add(&places[(u64)a.centroids.terms[at] * a.n_tiles], 1);
            a.columns[place] = (u32)(column % PAIR_TILE);
            a.values[place] = a.centroids.values[at];
        }
    }
}

// The terms of a centroid that are prepared together.
struct PairTerms {
    double values[PAIR_TERMS];
    u32 starts[PAIR_TERMS], ends[PAIR_TERMS];
};

// The similarities of a centroid to the columns of a tile, by all threads of a block.
DEVICE void add_up_pairs(const PairsArguments &a, u32 cluster, u32 tile, PairTerms &terms, double *sums) {
    u64 to = a.centroids.offsets[cluster + 1];
    for (u32 column = thread_number; column < PAIR_TILE; column += n_threads) sums[column] = 0.0;
    for (u64 chunk = a.centroids.offsets[cluster]; chunk < to; chunk += PAIR_TERMS) {
        u32 n = to - chunk < PAIR_TERMS ? (u32)(to - chunk) : PAIR_TERMS;
        for (u32 i = thread_number; i < n; i += n_threads) {
            const u32 *ends = a.ends + (u64)a.centroids.terms[chunk + i] * a.n_tiles + tile;
            terms.values[i] = (double)a.centroids.values[chunk + i];
            terms.starts[i] = ends[0];
            terms.ends[i] = ends[1];
        }
        sync_block();
        for (u32 i = 0; i < n; i++) {
            u32 end = terms.ends[i];
            if (terms.starts[i] == end) continue;
            double value = terms.values[i];
            for (u32 at = terms.starts[i] + thread_number; at < end; at += n_threads)
                sums[a.columns[at]] += value * (double)a.values[at];
            sync_block();
        }
        // Nobody may write to `terms` before all have read it.
        sync_block();
    }
    sync_block();
}

// All similarities of some centroids to the clusters from `first_column` on, which begins a tile.
KERNEL(compare_pairs, PairsArguments) {
    SHARED double sums[PAIR_TILE];
    SHARED PairTerms terms;
    u32 first_tile = a.first_column / PAIR_TILE, n_tiles = a.n_tiles - first_tile;
    u64 width = a.n_clusters - a.first_column;
    for (u64 item = block_number; item < (u64)a.n_rows * n_tiles; item += n_blocks) {
        u64 row = item / n_tiles;
        u32 tile = first_tile + (u32)(item % n_tiles), first = tile * PAIR_TILE;
        add_up_pairs(a, a.rows[row], tile, terms, sums);
        for (u32 column = thread_number; column < PAIR_TILE && first + column < a.n_clusters;
             column += n_threads)
            a.similarities[row * width + first - a.first_column + column] = sums[column];
        sync_block();
    }
}

// The first bucket has the greatest similarities.
DEVICE u32 bucket_of(double similarity) {
    double place = (1.0 - similarity) * BUCKETS;
    return place <= 0.0 ? 0 : place >= BUCKETS ? BUCKETS - 1 : (u32)place;
}

// Whether one column comes before another.
DEVICE bool is_before(double similarity, u32 cluster, double other, u32 other_cluster) {
    return similarity > other || (similarity == other && cluster < other_cluster);
}

// The `n_wanted` most similar other clusters of some centroids, most similar first, on ties in
// ascending order. There are more clusters than wanted whose centroids are not empty.
KERNEL(nearest_pairs, PairsArguments) {
    SHARED double sums[PAIR_TILE];
    SHARED PairTerms terms;
    SHARED u32 candidates[PAIR_TILE], counts[BUCKETS];
    // The best so far, in order; and the next ones.
    SHARED double kept[2][PAIR_WANTED];
    SHARED u32 clusters[2][PAIR_WANTED];
    SHARED u32 n_candidates, last_bucket;
    for (u64 row = block_number; row < a.n_rows; row += n_blocks) {
        u32 own = a.rows[row], n_kept = 0, side = 0;
        for (u32 tile = 0; tile < a.n_tiles; tile++) {
            u32 first = tile * PAIR_TILE;
            u32 n_columns = smaller(a.n_clusters - first, PAIR_TILE);
            add_up_pairs(a, own, tile, terms, sums);
            bool is_full = n_kept == a.n_wanted;
            double least = is_full ? kept[side][n_kept - 1] : 0.0;
            for (u32 i = thread_number; i < BUCKETS; i += n_threads) counts[i] = 0;
            if (thread_number == 0) n_candidates = 0;
            sync_block();
            for (u32 column = thread_number; column < n_columns; column += n_threads) {
                u64 cluster = first + column;
                bool counts_here = cluster != own &&
                                   a.centroids.offsets[cluster] < a.centroids.offsets[cluster + 1] &&
                                   (!is_full || sums[column] > least);
                // A mark: no similarity is so small.
                if (!counts_here) sums[column] = -4.0;
                else add(&counts[bucket_of(sums[column])], 1);
            }
            sync_block();
            if (thread_number == 0) {
                u32 bucket = 0;
                for (u32 n = counts[0]; n < a.n_wanted && bucket < BUCKETS - 1; n += counts[bucket])
                    bucket++;
                last_bucket = bucket;
            }
            sync_block();
            for (u32 column = thread_number; column < n_columns; column += n_threads)
                if (sums[column] > -4.0 && bucket_of(sums[column]) <= last_bucket)
                    candidates[add(&n_candidates, 1)] = column;
            sync_block();
            u32 n = n_candidates, next = 1 - side;
            for (u32 i = thread_number; i < n_kept + n; i += n_threads) {
                bool is_kept = i < n_kept;
                u32 cluster = is_kept ? clusters[side][i] : first + candidates[i - n_kept];
                double found = is_kept ? kept[side][i] : sums[candidates[i - n_kept]];
                u32 rank = 0;
                for (u32 j = 0; j < n_kept && rank < a.n_wanted; j++)
                    rank += is_before(kept[side][j], clusters[side][j], found, cluster);
                for (u32 j = 0; j < n && rank < a.n_wanted; j++)
                    rank += is_before(sums[candidates[j]], first + candidates[j], found, cluster);
                if (rank < a.n_wanted) {
                    kept[next][rank] = found;
                    clusters[next][rank] = cluster;
                }
            }
            sync_block();
            n_kept = smaller(n_kept + n, a.n_wanted);
            side = next;
        }
        for (u32 i = thread_number; i < n_kept; i += n_threads) {
            a.similarities[row * a.n_wanted + i] = kept[side][i];
            a.nearest[row * a.n_wanted + i] = clusters[side][i];
        }
        sync_block();
    }
}
