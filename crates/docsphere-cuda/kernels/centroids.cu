// The centroids of a step: those that changed, which the host sends, and the others from before. A
// warp per cluster.

#include "arguments.h"

KERNEL(gather_centroids, GatherArguments) {
    u64 n_warps = (u64)n_blocks * (n_threads / WARP);
    for (u64 cluster = (u64)block_number * (n_threads / WARP) + thread_number / WARP;
         cluster < a.n_clusters; cluster += n_warps) {
        u64 source = a.sources[cluster];
        const Matrix &from = source & FROM_CHANGED ? a.changed : a.before;
        source &= ~FROM_CHANGED;
        u64 start = a.offsets[cluster], n = a.offsets[cluster + 1] - start;
        for (u64 at = thread_number % WARP; at < n; at += WARP) {
            a.terms[start + at] = from.terms[source + at];
            a.values[start + at] = from.values[source + at];
        }
    }
}
