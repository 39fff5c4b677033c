// The documents whose label or similarity the host does not know yet, in ascending order. A block
// per CHUNK documents; between the two kernels the counts become running sums.

#include "arguments.h"

KERNEL(count_dirty, CollectArguments) {
    SHARED u32 n_dirty;
    if (thread_number == 0) n_dirty = 0;
    sync_block();
    u64 end = (block_number + 1ull) * CHUNK;
    u32 n = 0;
    for (u64 doc = (u64)block_number * CHUNK + thread_number; doc < end && doc < a.n_documents; doc += n_threads)
        n += a.documents.dirty[doc];
    if (n) add(&n_dirty, n);
    sync_block();
    if (thread_number == 0) a.counts[block_number] = n_dirty;
}

KERNEL(collect_dirty, CollectArguments) {
    SHARED u32 partial[MOST_THREADS];
    u32 per_thread = CHUNK / n_threads;
    u64 start = (u64)block_number * CHUNK + (u64)thread_number * per_thread;
    u32 n = 0;
    for (u64 doc = start; doc < start + per_thread && doc < a.n_documents; doc++) n += a.documents.dirty[doc];
    u32 place = a.counts[block_number] + sum_before(n, partial);
    for (u64 doc = start; doc < start + per_thread && doc < a.n_documents; doc++) {
        if (!a.documents.dirty[doc]) continue;
        a.list[place] = (u32)doc;
        a.labels[place] = a.documents.labels[doc];
        a.similarities[place] = a.documents.own[doc];
        a.documents.dirty[doc] = 0;
        place++;
    }
}
