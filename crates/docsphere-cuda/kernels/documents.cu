// What is known of each document: its label, the similarity to that centroid, and one bound for all
// others.
//
// A bound survives a movement if the greatest growth of any centroid is added to it; the proof is
// that of `drift` (docsphere, src/assign/drift/mod.rs), with one growth per iteration in place of
// sums over several.

#include "similarity.h"

// At least the sum of two bounds. Each is at most 4 where the result matters (similarities and
// growths of vectors of length one), so the sum is rounded by at most 2^-50.
DEVICE double bound_sum(double a, double b) { return a + b + 4e-15; }

// Nothing is known of the documents but their labels.
KERNEL(open_documents, OpenArguments) {
    for (u64 doc = (u64)block_number * n_threads + thread_number; doc < a.n_documents;
         doc += (u64)n_blocks * n_threads) {
        a.documents.own[doc] = 0.0;
        a.documents.other[doc] = INFINITE;
        a.documents.dirty[doc] = a.rows.offsets[doc] < a.rows.offsets[doc + 1];
    }
}

// Documents that the host gave to other clusters: the bound held for all but their former one.
KERNEL(relabel_documents, RelabelArguments) {
    for (u64 i = (u64)block_number * n_threads + thread_number; i < a.n_list;
         i += (u64)n_blocks * n_threads) {
        u32 doc = a.list[i];
        a.documents.labels[doc] = a.labels[i];
        a.documents.other[doc] = INFINITE;
    }
}

// Similarities to the own centroids that changed. A warp per document.
KERNEL(own_similarities, OwnArguments) {
    SHARED double products[MOST_THREADS];
    u32 warp = thread_number / WARP;
    u64 n_computed = 0;
    u64 n_warps = (u64)n_blocks * (n_threads / WARP);
    for (u64 doc = (u64)block_number * (n_threads / WARP) + warp; doc < a.n_documents; doc += n_warps) {
        u32 label = a.documents.labels[doc];
        if (label == NO_LABEL || (a.changed && !a.changed[label])) continue;
        double own = similarity_by_warp(a.rows, doc, a.centroids, label, products + warp * WARP);
        n_computed++;
        if (thread_number % WARP == 0 && own != a.documents.own[doc]) {
            a.documents.own[doc] = own;
            a.documents.dirty[doc] = 1;
        }
    }
    if (thread_number % WARP == 0 && n_computed) add_long(&a.counters[SIMILARITIES], n_computed);
}

// How many classes of columns a document must scan: those of which some centroid may have come as
// close as its own. Those that must scan none are done: only their bound is raised.
//
// A document without a label has similarity 0 to all centroids, and may join one that changed.
KERNEL(choose_documents, ChooseArguments) {
    SHARED u32 n_chosen[2], places[2];
    u64 n_rounds = (a.n_documents + (u64)n_blocks * n_threads - 1) / ((u64)n_blocks * n_threads);
    for (u64 round = 0; round < n_rounds; round++) {
        u64 doc = (round * n_blocks + block_number) * n_threads + thread_number;
        if (thread_number < 2) n_chosen[thread_number] = 0;
        sync_block();
        u32 depth = 0;
        if (doc < a.n_documents && a.rows.offsets[doc] < a.rows.offsets[doc + 1]) {
            double own = a.documents.own[doc], other = a.documents.other[doc];
            u32 label = a.documents.labels[doc];
            if (label == NO_LABEL && other == 0.0) {
                depth = a.n_changed_classes;
            } else if (a.ranking.n_classes == 0 && label != NO_LABEL) {
                // All centroids are empty.
                a.documents.labels[doc] = NO_LABEL;
                a.documents.own[doc] = a.documents.other[doc] = 0.0;
                a.documents.dirty[doc] = 1;
            } else {
                while (depth < a.ranking.n_classes && bound_sum(other, a.ranking.growth[depth]) >= own)
                    depth++;
                if (depth == 0 && a.ranking.n_classes)
                    a.documents.other[doc] = bound_sum(other, a.ranking.growth[0]);
            }
            a.documents.depth[doc] = (u8)depth;
        }
        u32 is_wide = depth > NARROW_CLASSES;
        u32 place = depth ? add(&n_chosen[is_wide], 1) : 0;
        sync_block();
        if (thread_number < 2) {
            u32 n = n_chosen[thread_number];
            places[thread_number] = n ? add(&a.counts[thread_number], n) : 0;
        }
        sync_block();
        if (depth) (is_wide ? a.wide : a.narrow)[places[is_wide] + place] = (u32)doc;
        sync_block();
    }
}
