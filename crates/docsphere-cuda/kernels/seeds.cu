// Which documents a new seed brings nearer than any seed so far, and how near: exactly, in one pass
// over all rows for SEEDS candidates at a time.
//
// # Order
//
// Similarities are sums in f64 over the terms of a row in ascending order, as in similarity.h. So
// nothing is approximate, no bound is needed, and values may be negative. What is found comes in an
// order that depends on chance; integer sums over it do not.
//
// # A pass
//
// Few terms of a document are in a seed. A block takes as many documents as it has threads. First
// its threads read the terms of all these documents side by side, and mark those that may be in a
// seed: by a bit of a filter in shared memory, which other terms rarely share. Then each thread
// takes the marked entries of one document in their order, and looks them up in the table of the
// seeds.
//
// # Cost
//
// Per pass 4 bytes per nonzero and 16 per document, and a lookup per nonzero that is in a seed.

#include "arguments.h"

// Bits of the filter, as a power of two, and words of marks: an entry of the rows has a bit.
#ifdef DOCSPHERE_EMULATED
#define FILTER_LOG 6u
#define MARK_WORDS 2u
#else
#define FILTER_LOG 16u
#define MARK_WORDS 512u
#endif

// Terms that a thread reads at once, so that it waits for memory once.
#define READ_TOGETHER 4u

#define FREE 0xffffffffu

DEVICE u32 hash_of(u32 term) { return term * 0x9e3779b9u; }

// The documents that became nearer to a seed since the last pass. None is found so far in this
// one.
KERNEL(raise_best, RaiseArguments) {
    if (block_number == 0 && thread_number == 0) a.found[0].document = 0;
    for (u64 at = (u64)block_number * n_threads + thread_number; at < a.n_raised;
         at += (u64)n_blocks * n_threads)
        raise(&a.best[a.raised[at].document], a.raised[at].similarity);
}

// The bits of all terms of the seeds.
DEVICE void fill_filter(const FindArguments &a, u32 *filter) {
    for (u32 word = thread_number; word < 1u << (FILTER_LOG - 5); word += n_threads) filter[word] = 0;
    sync_block();
    for (u64 slot = thread_number; slot <= 0xffffffffu >> a.shift; slot += n_threads) {
        if (a.keys[slot] == FREE) continue;
        u32 bit = hash_of(a.keys[slot]) >> (32 - FILTER_LOG);
        set_bits(&filter[bit / 32], 1u << bit % 32);
    }
    sync_block();
}

// Marks the entries from `start` to `end` that may be in a seed.
DEVICE void mark_entries(const FindArguments &a, u64 start, u64 end, const u32 *filter, u32 *marks) {
    u32 n = (u32)(end - start);
    const u32 *terms = a.rows.terms + start;
    for (u32 word = thread_number; word < (n + 31) / 32; word += n_threads) marks[word] = 0;
    sync_block();
    for (u32 first = thread_number; first < n; first += READ_TOGETHER * n_threads) {
        u32 read[READ_TOGETHER];
        UNROLL for (u32 i = 0; i < READ_TOGETHER; i++) {
            u32 at = first + i * n_threads;
            read[i] = at < n ? terms[at] : FREE;
        }
        UNROLL for (u32 i = 0; i < READ_TOGETHER; i++) {
            u32 at = first + i * n_threads, bit = hash_of(read[i]) >> (32 - FILTER_LOG);
            if (at < n && filter[bit / 32] >> bit % 32 & 1u) set_bits(&marks[at / 32], 1u << at % 32);
        }
    }
    sync_block();
}

// Adds the products of an entry with all seeds.
DEVICE void add_products(const FindArguments &a, u64 at, double *sums) {
    u32 term = a.rows.terms[at], slot = hash_of(term) >> a.shift;
    while (a.keys[slot] != term) {
        if (a.keys[slot] == FREE) return;
        slot = (slot + 1) & 0xffffffffu >> a.shift;
    }
    double value = (double)a.rows.values[at];
    const float *values = a.values + (u64)slot * SEEDS;
    UNROLL for (u32 seed = 0; seed < SEEDS; seed++) sums[seed] += value * (double)values[seed];
}

// The same for the marked entries from `from` to `to`, in ascending order; the first mark is that
// of entry `start`. Returns whether there are any.
DEVICE bool add_marked(const FindArguments &a, u64 start, u64 from, u64 to, const u32 *marks, double *sums) {
    bool is_any = false;
    u32 first = (u32)(from - start), end = (u32)(to - start);
    for (u32 word = first / 32; word * 32 < end; word++) {
        u32 bits = marks[word];
        if (word == first / 32) bits &= 0xffffffffu << first % 32;
        if (end - word * 32 < 32) bits &= (1u << end % 32) - 1;
        for (; bits; bits &= bits - 1) {
            add_products(a, start + word * 32 + lowest_bit(bits), sums);
            is_any = true;
        }
    }
    return is_any;
}

KERNEL(find_improved, FindArguments) {
    SHARED u32 filter[1u << (FILTER_LOG - 5)], marks[MARK_WORDS];
    SHARED u32 n_found, place;
    fill_filter(a, filter);
    for (u64 first = (u64)block_number * n_threads; first < a.n_documents; first += (u64)n_blocks * n_threads) {
        u64 last = first + n_threads < a.n_documents ? first + n_threads : a.n_documents;
        u64 doc = first + thread_number, from = 0, to = 0;
        if (doc < last) {
            from = a.rows.offsets[doc];
            to = a.rows.offsets[doc + 1];
        }
        double sums[SEEDS];
        UNROLL for (u32 seed = 0; seed < SEEDS; seed++) sums[seed] = 0.0;
        bool is_near = false;
        u64 last_end = a.rows.offsets[last];
        for (u64 start = a.rows.offsets[first]; start < last_end; start += 32 * MARK_WORDS) {
            u64 end = start + 32 * MARK_WORDS < last_end ? start + 32 * MARK_WORDS : last_end;
            mark_entries(a, start, end, filter, marks);
            u64 own = from > start ? from : start, own_end = to < end ? to : end;
            if (own < own_end) is_near |= add_marked(a, start, own, own_end, marks, sums);
            sync_block();
        }

        // What is found by the threads of a block lies together.
        if (thread_number == 0) n_found = 0;
        sync_block();
        u32 improved = 0, n = 0;
        if (is_near) {
            double best = a.best[doc];
            UNROLL for (u32 seed = 0; seed < SEEDS; seed++) {
                if (!(sums[seed] > best)) continue;
                improved |= 1u << seed;
                n++;
            }
        }
        u32 own_place = n ? add(&n_found, n) : 0;
        sync_block();
        if (thread_number == 0) place = n_found ? add(&a.found[0].document, n_found) : 0;
        sync_block();
        Improved *found = a.found + 1 + place + own_place;
        UNROLL for (u32 seed = 0; seed < SEEDS; seed++) {
            if (!(improved >> seed & 1u)) continue;
            found->document = (u32)doc;
            found->seed = seed;
            found->similarity = sums[seed];
            found++;
        }
        sync_block();
    }
}
