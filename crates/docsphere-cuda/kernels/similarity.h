// Similarities as ARCHITECTURE.md defines them: the sum of x_t * c_t over the terms of the row in
// ascending order, from 0.
//
// The product of two floats is exact in a double. So a fused multiply-add rounds as a product and a
// sum do, and a term that the centroid does not have adds 0, which changes nothing: every way of
// computing the terms gives the same bits, as long as they are added in order.
#pragma once
#include "arguments.h"

// The value of a centroid for a term: binary search among its entries.
DEVICE double value_of(const Matrix &centroids, u64 from, u64 to, u32 term) {
    u64 end = to;
    while (from < to) {
        u64 middle = (from + to) / 2;
        if (centroids.terms[middle] < term) from = middle + 1;
        else to = middle;
    }
    return from < end && centroids.terms[from] == term ? (double)centroids.values[from] : 0.0;
}

// By one thread.
DEVICE double similarity(const Matrix &rows, u64 document, const Matrix &centroids, u64 cluster) {
    u64 from = centroids.offsets[cluster], to = centroids.offsets[cluster + 1];
    double sum = 0.0;
    for (u64 at = rows.offsets[document]; at < rows.offsets[document + 1]; at++)
        sum += (double)rows.values[at] * value_of(centroids, from, to, rows.terms[at]);
    return sum;
}

// By a warp: its threads find the products of WARP terms at a time, and each adds them up. All get
// the sum. `products` is shared memory of the warp.
DEVICE double similarity_by_warp(const Matrix &rows, u64 document, const Matrix &centroids,
                                 u64 cluster, double *products) {
    u32 lane = thread_number % WARP;
    u64 from = centroids.offsets[cluster], to = centroids.offsets[cluster + 1];
    u64 end = rows.offsets[document + 1];
    double sum = 0.0;
    for (u64 at = rows.offsets[document]; at < end; at += WARP) {
        u64 own = at + lane;
        products[lane] =
            own < end ? (double)rows.values[own] * value_of(centroids, from, to, rows.terms[own]) : 0.0;
        sync_warp();
        u32 n = end - at < WARP ? (u32)(end - at) : WARP;
        for (u32 i = 0; i < n; i++) sum += products[i];
        sync_warp();
    }
    return sum;
}
