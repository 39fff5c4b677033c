// What documents that joined or left clusters change in the sums of these clusters: integers of 64
// bits, which may be added in any order. A block of threads takes one cluster after the other.
//
// A block of threads has a bitmap over all terms, which is 0 between clusters. First the terms of
// the moved documents are marked there. The number of marked terms before a word of the bitmap, and
// of lower bits in the word, is the place of a term among those of the cluster: so terms come out
// ascending, and there are as many sums as terms of the cluster, never as many as all terms. Then
// all values are added up at these places. Sums that come to 0 stay; the host leaves them out.
//
// Where the entries of a cluster begin depends on chance, and matters to nobody.
//
// Cost: the nonzeros of the moved documents, twice; the words of the bitmap, three times per
// cluster.

#include "arguments.h"

// The nearest integer to a number that is not negative, half up (docsphere, src/vectors/weights.rs).
DEVICE u64 rounded(double value) {
    u64 whole = (u64)value;
    return whole + (value - (double)whole >= 0.5 ? 1 : 0); // the difference is exact
}

// What a value of a row adds to a sum.
DEVICE u64 sum_value_of(const MovesArguments &a, u32 move, float value) {
    u64 whole = rounded((double)value * 4294967296.0); // the product is exact
    return a.factors ? rounded(rounded_product((double)whole, a.factors[move])) : whole;
}

KERNEL(sum_moves, MovesArguments) {
    SHARED u32 partial[MOST_THREADS];
    SHARED u32 taken, first;
    u32 warp = thread_number / WARP, lane = thread_number % WARP, n_warps = n_threads / WARP;
    u32 n_words = (a.n_terms + 31) / 32, per_thread = (n_words + n_threads - 1) / n_threads;
    u32 own_word = smaller(thread_number * per_thread, n_words);
    u32 end_word = smaller(own_word + per_thread, n_words);
    u32 *marks = a.marks + (u64)block_number * n_words;
    u32 *before = a.before + (u64)block_number * n_words;
    for (;;) {
        // Clusters differ in size: who is done takes the next.
        if (thread_number == 0) taken = add(&a.counts[0], 1);
        sync_block();
        u32 group = taken;
        if (group >= a.n_groups) break;
        u32 from = a.ends[group], to = a.ends[group + 1];

        for (u32 at = from + warp; at < to; at += n_warps) {
            u32 doc = a.moves[at] >> 1;
            u64 end = a.rows.offsets[doc + 1];
            for (u64 entry = a.rows.offsets[doc] + lane; entry < end; entry += WARP) {
                u32 term = a.rows.terms[entry];
                set_bits(&marks[term / 32], 1u << term % 32);
            }
        }
        sync_block();

        u32 n_own = 0;
        for (u32 word = own_word; word < end_word; word++) n_own += n_bits(marks[word]);
        u32 running = sum_before(n_own, partial);
        if (thread_number == 0) {
            u32 n = partial[n_threads - 1];
            first = add(&a.counts[1], n);
            a.starts[group] = first;
            a.lengths[group] = n;
        }
        sync_block();
        u32 *terms = a.terms + first;
        u64 *values = a.values + first;
        for (u32 word = own_word; word < end_word; word++) {
            before[word] = running;
            for (u32 bits = marks[word]; bits; bits &= bits - 1) {
                terms[running] = word * 32 + lowest_bit(bits);
                values[running] = 0;
                running++;
            }
        }
        sync_block();

        for (u32 at = from + warp; at < to; at += n_warps) {
            u32 doc = a.moves[at] >> 1;
            bool joined = a.moves[at] & 1;
            u64 end = a.rows.offsets[doc + 1];
            for (u64 entry = a.rows.offsets[doc] + lane; entry < end; entry += WARP) {
                u32 term = a.rows.terms[entry], word = term / 32;
                u32 place = before[word] + n_bits(marks[word] & ((1u << term % 32) - 1));
                u64 value = sum_value_of(a, at, a.rows.values[entry]);
                // Modulo 2^64, as numbers with a sign are added.
                add_long(&values[place], joined ? value : 0 - value);
            }
        }
        sync_block();
        for (u32 word = own_word; word < end_word; word++) marks[word] = 0;
        sync_block();
    }
}
