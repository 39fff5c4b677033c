// Documents against columns: upper bounds on all similarities in integers, exact similarities of
// the few candidates, and the label that follows. A block per document.
//
// # Bounds
//
// The sum of a column is in units of 2^-28. Let v >= c_t * 2^18 and w >= x_t * 2^29 be rounded up.
// For each term that document and centroid share, the sum gains
//
// - `floor(w * (v * 2^13) / 2^32) + 1` if the term has a list;
// - `b * f` if it has a row with the greatest value m, where `b >= 255 v / m` is the byte of the
//   column, rounded up, and `f = floor(w * m / (255 * 2^19)) + 1`.
//
// Both are more than w v 2^-19 >= x_t * c_t * 2^28, so the sum is above the true similarity:
//
//     true similarity < sum / 2^28
//
// A computed similarity of n terms, n <= 2^22, errs by at most n * 2^-53 (1 + 1e-5) < 2^-28. So
//
//     computed similarity < (sum + 1) / 2^28                                              (upper)
//
// In the other direction, w < x_t * 2^29 + 1 and v < c_t * 2^18 + 1, so w v 2^-19 is at most
// x_t c_t 2^28 + x_t 2^10 + c_t 2^-1 + 1, and a list adds at most 1. For a row b < 255 v / m + 1 and
// f <= w m / (255 * 2^19) + 1, so b f <= w v 2^-19 + (f - 1) + b + 1 <= w v 2^-19 + f + 256.
// Document and centroid have length at most 1 + 1e-6, so by Cauchy-Schwarz their n shared values add
// up to at most sqrt(n) (1 + 1e-6) each:
//
//     sum <= true similarity * 2^28 + 1025 sqrt(n) + 2 n + (sum of f + 256 over terms with rows)
//     computed similarity > (sum - error) / 2^28,
//     error = 1026 sqrt(n) + 2 n + 3 + (sum of f + 256 over terms with rows)              (lower)
//
// With n <= 2^22 the f add up to at most sqrt(n) 2^28 / 255 + n < 8.1 * 2^28, so the error is below
// 13 * 2^28, and no sum reaches 2^32. A column with sum 0 shares no term with the document (b and f
// are at least 1 where it does, unless the value is 0): its similarity is 0, exactly.
//
// Hence a column can be left out if `sum + 1 < least`, where `least` is a similarity that the winner
// must reach, in the same units, rounded up: that to the own centroid, or the lower bound of the
// column with the greatest sum. The others are candidates.
//
// # Order
//
// Integers are added in any order. Candidates are found in any order, but the rule for ties looks at
// all of them. So the result does not depend on chance.
//
// # Cost
//
// Per document and class that it scans, the entries of lists and the bytes of rows of its terms;
// a few operations per column; a binary search per term and candidate. Lists are added up in shared
// memory, 4 bytes per column of a tile; rows in registers, each thread 4 columns at a time.

#include "similarity.h"

// Terms of a document that are prepared together, and candidates at most.
#define TERMS 128u
#ifdef DOCSPHERE_EMULATED
#define CANDIDATES 6u
#else
#define CANDIDATES 256u
#endif

#define UNIT 268435456.0

DEVICE u32 error_of(u64 n) { return (u32)(1026.0 * sqrt((double)n)) + 2 * (u32)n + 3; }

// A similarity in units of a sum, rounded up.
DEVICE u32 units_of(double similarity) {
    if (similarity <= 0.0) return 0;
    double scaled = similarity * UNIT;
    if (scaled >= 4.0e9) return 4000000000u;
    u32 units = (u32)scaled;
    return units < scaled ? units + 1 : units;
}

DEVICE u32 weight_of(float value) {
    double scaled = (double)value * (2.0 * UNIT);
    u32 weight = (u32)scaled;
    return weight < scaled ? weight + 1 : weight;
}

// What `sum + 1` of a candidate must reach: a similarity that the winner has at least, or the lower
// bound of the column with the greatest sum.
DEVICE u32 threshold_of(u32 least, u32 best, u32 error) {
    u32 reached = best > error ? best - error : 1;
    return least > reached ? least : reached;
}

// The best cluster so far: the rule for ties (docsphere, src/assign/choice.rs).
struct Choice {
    u32 old;
    u32 label;
    double similarity;
};

// A similarity of 0 to the old centroid is no claim to the document.
DEVICE Choice choice_from(u32 label, double own) {
    Choice choice = {NO_LABEL, NO_LABEL, 0.0};
    if (label != NO_LABEL && own > 0.0) choice = {label, label, own};
    return choice;
}

DEVICE void offer(Choice &choice, u32 cluster, double similarity) {
    bool wins_tie = similarity == choice.similarity && choice.label != choice.old && cluster < choice.label;
    if (similarity > choice.similarity || wins_tie) {
        choice.label = cluster;
        choice.similarity = similarity;
    }
}

// Writes the label of a document, and the bound `other` for all other centroids.
DEVICE void settle(const ScanArguments &a, u32 doc, u32 label, double own, Choice choice, double other) {
    if (choice.label != label && label != NO_LABEL) other = greater(other, own);
    // Without a label, all similarities are 0: those to unscanned centroids were, and these stayed.
    a.documents.other[doc] = choice.label == NO_LABEL ? 0.0 : other;
    // What `own_similarities` has found stays unknown to the host until it is collected.
    if (choice.label == label && choice.similarity == own) return;
    a.documents.labels[doc] = choice.label;
    a.documents.own[doc] = choice.similarity;
    a.documents.dirty[doc] = 1;
}

template <u32 COLUMNS, u32 THREADS, bool RIVALS> DEVICE void scan(const ScanArguments &a) {
    // Each thread has GROUPS groups of 4 columns.
    const u32 GROUPS = COLUMNS / (4 * THREADS);
    SHARED u32 sums[COLUMNS];
    SHARED u32 starts[TERMS], lengths[TERMS], weights[TERMS];
    SHARED u32 rows[TERMS], factors[TERMS];
    SHARED u32 ranks[CANDIDATES], bounds[CANDIDATES];
    SHARED double similarities[CANDIDATES], products[THREADS];
    // The greatest sum of a column, and of one that is no candidate.
    SHARED u32 n_lists, n_rows, n_candidates, best, rest, error_of_rows;
    const Ranking &ranking = a.ranking;
    const Postings &postings = a.postings;
    u32 warp = thread_number / WARP, lane = thread_number % WARP, n_warps = THREADS / WARP;
    u64 n_similarities = 0, n_postings = 0;
    for (u32 i = block_number; i < *a.n_list; i += n_blocks) {
        u32 doc = a.list[i], label = a.documents.labels[doc];
        if (RIVALS && a.documents.other[doc] < a.at_least[i]) {
            if (thread_number == 0) a.rivals[i] = NO_LABEL;
            continue;
        }
        u64 from = a.rows.offsets[doc], to = a.rows.offsets[doc + 1];
        double own = a.documents.own[doc];
        u32 own_rank = label == NO_LABEL ? NO_LABEL : ranking.rank_of[label];
        u32 n_classes = RIVALS ? ranking.n_classes : a.documents.depth[doc];
        u32 least = units_of(RIVALS ? a.at_least[i] : own), error = error_of(to - from);
        if (thread_number == 0) n_candidates = best = rest = 0;

        for (u32 first = 0; first < n_classes;) {
            // The classes of a tile, and their columns.
            u32 last = smaller(first == 0 ? TILE_CLASSES : first + 1, n_classes);
            u32 first_rank = tile_of(first);
            u32 n_columns = smaller(end_of(last - 1), ranking.n_columns) - first_rank;
            for (u32 column = thread_number; column < n_columns; column += THREADS) sums[column] = 0;
            if (thread_number == 0) error_of_rows = 0;
            u32 totals[4 * GROUPS];
            UNROLL for (u32 at = 0; at < 4 * GROUPS; at++) totals[at] = 0;

            for (u64 chunk = from; chunk < to; chunk += TERMS) {
                u32 n_terms = to - chunk < TERMS ? (u32)(to - chunk) : TERMS;
                if (thread_number == 0) n_lists = n_rows = 0;
                sync_block();
                for (u32 at = thread_number; at < n_terms; at += THREADS) {
                    u32 term = a.rows.terms[chunk + at], weight = weight_of(a.rows.values[chunk + at]);
                    u32 row = postings.row_of[term];
                    if (row == NO_ROW) {
                        const u32 *ends = postings.ends + (u64)term * ranking.n_classes;
                        u32 start = ends[first], length = ends[last] - start;
                        if (length == 0) continue;
                        u32 place = add(&n_lists, 1);
                        starts[place] = start;
                        lengths[place] = length;
                        weights[place] = weight;
                    } else {
                        u32 factor = (u32)((u64)weight * postings.greatest[row] / (255ull << 19)) + 1;
                        u32 place = add(&n_rows, 1);
                        rows[place] = row;
                        factors[place] = factor;
                        add(&error_of_rows, factor + 256);
                    }
                }
                sync_block();
                for (u32 list = 0; list < n_lists; list++) {
                    // Short lists are for different warps.
                    u32 turn = (warp + n_warps - list % n_warps) % n_warps;
                    const u32 *entries = postings.entries + starts[list];
                    u32 length = lengths[list], weight = weights[list];
                    for (u32 at = turn * WARP + lane; at < length; at += THREADS) {
                        u32 entry = entries[at];
                        add(&sums[entry & 8191u], upper_half(entry & ~8191u, weight) + 1);
                    }
                    if (thread_number == 0) n_postings += length;
                }
                for (u32 number = 0; number < n_rows; number++) {
                    const u8 *bytes = postings.rows + rows[number] * postings.stride + first_rank;
                    const u32 *words = (const u32 *)bytes + thread_number;
                    u32 factor = factors[number];
                    UNROLL for (u32 group = 0; group < GROUPS; group++) {
                        if (4 * (group * THREADS + thread_number) >= n_columns) continue;
                        u32 word = words[group * THREADS];
                        totals[4 * group] += (word & 255u) * factor;
                        totals[4 * group + 1] += (word >> 8 & 255u) * factor;
                        totals[4 * group + 2] += (word >> 16 & 255u) * factor;
                        totals[4 * group + 3] += (word >> 24) * factor;
                    }
                }
                if (thread_number == 0) n_postings += (u64)n_rows * n_columns;
                sync_block();
            }

            u32 greatest = 0;
            UNROLL for (u32 at = 0; at < 4 * GROUPS; at++) {
                u32 column = 4 * (at / 4 * THREADS + thread_number) + at % 4;
                if (column >= n_columns || first_rank + column == own_rank) {
                    totals[at] = 0;
                } else {
                    totals[at] += sums[column];
                    greatest = totals[at] > greatest ? totals[at] : greatest;
                }
            }
            if (greatest) raise(&best, greatest);
            sync_block();
            error = error_of(to - from) + error_of_rows;
            u32 threshold = threshold_of(least, best, error), left_out = 0;
            UNROLL for (u32 at = 0; at < 4 * GROUPS; at++) {
                u32 sum = totals[at];
                if (sum == 0) continue;
                if (sum + 1 >= threshold) {
                    u32 place = add(&n_candidates, 1);
                    if (place < CANDIDATES) {
                        ranks[place] = first_rank + 4 * (at / 4 * THREADS + thread_number) + at % 4;
                        bounds[place] = sum;
                    }
                } else if (sum > left_out) left_out = sum;
            }
            if (left_out) raise(&rest, left_out);
            sync_block();
            first = last;
        }

        if (n_classes == 0) sync_block();
        u32 n = n_candidates;
        if (n > CANDIDATES) {
            if (thread_number == 0) a.overflow[add(a.n_overflow, 1)] = i;
            sync_block();
            continue;
        }
        // Candidates of the first tiles may have been left behind.
        u32 threshold = threshold_of(least, best, error);
        for (u32 candidate = warp; candidate < n; candidate += n_warps) {
            double found = -1.0;
            if (bounds[candidate] + 1 >= threshold) {
                u32 cluster = ranking.cluster_of[ranks[candidate]];
                found = similarity_by_warp(a.rows, doc, a.centroids, cluster, products + warp * WARP);
                if (lane == 0) n_similarities++;
            }
            if (lane == 0) similarities[candidate] = found;
        }
        sync_block();
        if (thread_number == 0) {
            Choice choice = choice_from(RIVALS ? NO_LABEL : label, own);
            for (u32 candidate = 0; candidate < n; candidate++)
                offer(choice, ranking.cluster_of[ranks[candidate]], similarities[candidate]);
            if (RIVALS) {
                a.rivals[i] = choice.similarity >= a.at_least[i] ? choice.label : NO_LABEL;
                a.similarities[i] = choice.similarity;
            } else {
                double other = rest ? (rest + 1.0) / UNIT : 0.0;
                if (n_classes < ranking.n_classes)
                    other = greater(other, a.documents.other[doc] + ranking.growth[n_classes] + 4e-15);
                for (u32 candidate = 0; candidate < n; candidate++) {
                    double found = similarities[candidate];
                    double bound = found < 0.0 ? (bounds[candidate] + 1.0) / UNIT : found;
                    if (ranking.cluster_of[ranks[candidate]] != choice.label) other = greater(other, bound);
                }
                settle(a, doc, label, own, choice, other);
            }
        }
        sync_block();
    }
    if (n_similarities) add_long(&a.counters[SIMILARITIES], n_similarities);
    if (n_postings) add_long(&a.counters[POSTINGS], n_postings);
}

// Few columns: a warp is enough, and many documents go side by side.
KERNEL(scan_narrow, ScanArguments) { scan<NARROW, NARROW_THREADS, false>(a); }

KERNEL(scan_wide, ScanArguments) { scan<TILE, MOST_THREADS, false>(a); }

KERNEL(scan_rivals, ScanArguments) { scan<TILE, MOST_THREADS, true>(a); }

// The documents with too many candidates, against all centroids, exactly.
template <bool RIVALS> DEVICE void compare(const ScanArguments &a) {
    // By thread: the best other cluster, and the second greatest similarity.
    SHARED u32 clusters[MOST_THREADS];
    SHARED double similarities[MOST_THREADS], seconds[MOST_THREADS];
    const Ranking &ranking = a.ranking;
    for (u32 number = block_number; number < *a.n_overflow; number += n_blocks) {
        u32 i = a.overflow[number], doc = a.list[i], label = a.documents.labels[doc];
        double second = 0.0;
        Choice best = choice_from(NO_LABEL, 0.0);
        for (u32 rank = thread_number; rank < ranking.n_columns; rank += n_threads) {
            u32 cluster = ranking.cluster_of[rank];
            if (cluster == label) continue;
            double found = similarity(a.rows, doc, a.centroids, cluster), before = best.similarity;
            offer(best, cluster, found);
            second = greater(second, best.label == cluster ? before : found);
        }
        clusters[thread_number] = best.label;
        similarities[thread_number] = best.similarity;
        seconds[thread_number] = second;
        sync_block();
        if (thread_number == 0) {
            for (u32 thread = 1; thread < n_threads; thread++) {
                double found = similarities[thread], before = best.similarity;
                if (clusters[thread] == NO_LABEL) continue;
                offer(best, clusters[thread], found);
                second = greater(second, best.label == clusters[thread] ? before : found);
                second = greater(second, seconds[thread]);
            }
            add_long(&a.counters[SIMILARITIES], ranking.n_columns);
            if (RIVALS) {
                a.rivals[i] = best.similarity >= a.at_least[i] ? best.label : NO_LABEL;
                a.similarities[i] = best.similarity;
            } else {
                double own = a.documents.own[doc];
                Choice choice = choice_from(label, own);
                if (best.label != NO_LABEL) offer(choice, best.label, best.similarity);
                bool stays = choice.label != best.label;
                settle(a, doc, label, own, choice, stays ? best.similarity : second);
            }
        }
        sync_block();
    }
}

KERNEL(compare_all, ScanArguments) { compare<false>(a); }

KERNEL(compare_rivals, ScanArguments) { compare<true>(a); }
