// Running sums: each number becomes the sum of those before it. Three kernels: the sum of each span
// of SUMS_PER_THREAD numbers per thread of a block; the running sums of these, by one block; the
// running sums within each span.

#include "arguments.h"

// The sum of what the threads before this one bring. `partial` is shared memory, a number per
// thread; the sum of all is in its last one.
DEVICE u32 sum_before(u32 own, u32 *partial) {
    partial[thread_number] = own;
    sync_block();
    for (u32 step = 1; step < n_threads; step *= 2) {
        u32 more = thread_number >= step ? partial[thread_number - step] : 0;
        sync_block();
        partial[thread_number] += more;
        sync_block();
    }
    return partial[thread_number] - own;
}

KERNEL(sum_spans, SumsArguments) {
    SHARED u32 partial[MOST_THREADS];
    u64 start = ((u64)block_number * n_threads + thread_number) * SUMS_PER_THREAD;
    u32 sum = 0;
    for (u64 at = start; at < start + SUMS_PER_THREAD && at < a.n_values; at++) sum += a.values[at];
    u32 before = sum_before(sum, partial);
    if (thread_number == n_threads - 1) a.sums[block_number] = before + sum;
}

// One block; here `n_values` is the number of spans. Writes the sum of all after the last.
KERNEL(sum_sums, SumsArguments) {
    SHARED u32 partial[MOST_THREADS];
    u32 total = 0;
    for (u64 start = 0; start < a.n_values; start += n_threads) {
        u64 at = start + thread_number;
        u32 own = at < a.n_values ? a.sums[at] : 0;
        u32 before = sum_before(own, partial);
        if (at < a.n_values) a.sums[at] = total + before;
        total += partial[n_threads - 1];
        sync_block();
    }
    if (thread_number == 0) a.sums[a.n_values] = total;
}

KERNEL(sum_values, SumsArguments) {
    SHARED u32 partial[MOST_THREADS];
    u64 start = ((u64)block_number * n_threads + thread_number) * SUMS_PER_THREAD;
    u32 sum = 0;
    for (u64 at = start; at < start + SUMS_PER_THREAD && at < a.n_values; at++) sum += a.values[at];
    u32 running = a.sums[block_number] + sum_before(sum, partial);
    for (u64 at = start; at < start + SUMS_PER_THREAD && at < a.n_values; at++) {
        u32 own = a.values[at];
        a.values[at] = running;
        running += own;
    }
}
