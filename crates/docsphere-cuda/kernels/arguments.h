// The arguments of kernels, the same as in `src/arguments.rs`; and the numbers that both sides
// know (a test compares them).
#pragma once
#include "device.h"

// Sparse rows: those of documents, or centroids.
struct Matrix {
    const u64 *offsets;
    const u32 *terms;
    const float *values;
};

// What is known of each document of a block.
struct Documents {
    // The cluster, or NO_LABEL.
    u32 *labels;
    // The similarity to the centroid of the label; 0 without one.
    double *own;
    // At least the similarity to every other centroid.
    double *other;
    // 1 if label or similarity differ from what the host knows.
    u8 *dirty;
    // How many classes of columns to scan.
    u8 *depth;
};

// Centroids in order of growth, the fastest first. Columns are ranks in this order.
struct Ranking {
    // By cluster; NO_LABEL for an empty centroid.
    const u32 *rank_of;
    // By rank.
    const u32 *cluster_of;
    // By class: at least the growth of each of its columns, and of all later ones.
    const double *growth;
    u32 n_columns;
    u32 n_classes;
};

// Posting lists over centroids, and rows of bytes for terms that many of them have; see postings.cu.
struct Postings {
    u32 *ends;
    u32 *entries;
    // By term: its row, or NO_ROW.
    u32 *row_of;
    // By row: its greatest value, in fixed point.
    u32 *greatest;
    u8 *rows;
    u32 *n_rows;
    // Bytes of a row: a multiple of 4.
    u64 stride;
    u32 most_rows;
};

struct OpenArguments {
    Matrix rows;
    Documents documents;
    u32 n_documents;
};

struct RelabelArguments {
    Documents documents;
    const u32 *list;
    const u32 *labels;
    u32 n_list;
};

struct OwnArguments {
    Matrix rows;
    Matrix centroids;
    Documents documents;
    // By cluster: 1 if its centroid changed. Null: all did.
    const u8 *changed;
    u64 *counters;
    u32 n_documents;
};

struct ChooseArguments {
    Matrix rows;
    Documents documents;
    Ranking ranking;
    // The documents to scan, by kernel, and how many: narrow, wide.
    u32 *narrow;
    u32 *wide;
    u32 *counts;
    u64 *counters;
    u32 n_documents;
    // The classes with centroids that changed.
    u32 n_changed_classes;
};

struct ScanArguments {
    Matrix rows;
    Matrix centroids;
    Documents documents;
    Ranking ranking;
    Postings postings;
    const u32 *list;
    const u32 *n_list;
    // Places in the list, of documents with too many candidates; and how many.
    u32 *overflow;
    u32 *n_overflow;
    u64 *counters;
    // For rivals, by place in the list: the least similarity that matters; the rival.
    const double *at_least;
    u32 *rivals;
    double *similarities;
};

struct PostingsArguments {
    Matrix centroids;
    Ranking ranking;
    Postings postings;
    u32 n_clusters;
    u32 n_terms;
};

struct SumsArguments {
    u32 *values;
    // The sum of each span.
    u32 *sums;
    u64 n_values;
};

struct CollectArguments {
    Documents documents;
    // By chunk: documents that are dirty, later how many come before the chunk.
    u32 *counts;
    u32 *list;
    u32 *labels;
    double *similarities;
    u32 n_documents;
};

struct GatherArguments {
    Matrix before;
    Matrix changed;
    const u64 *offsets;
    u32 *terms;
    float *values;
    // By cluster: where its entries begin, among those that changed (with FROM_CHANGED) or before.
    const u64 *sources;
    u32 n_clusters;
};

// Centroids against centroids; see pairs.cu.
struct PairsArguments {
    Matrix centroids;
    u32 *ends;
    // By entry of a list: the place of its column in its tile, and its value.
    u32 *columns;
    float *values;
    // The clusters whose similarities are wanted.
    const u32 *rows;
    double *similarities;
    u32 *nearest;
    u32 n_clusters;
    u32 n_tiles;
    u32 n_rows;
    u32 first_column;
    u32 n_wanted;
};

#define FROM_CHANGED (1ull << 63)
#define NO_ROW 0xffffffffu

// A term has a row of bytes if at least 1/SPARSE of the columns have it: then reading the row is
// faster than adding up a list.
#define SPARSE 16u

// Columns of the first classes, and of tiles: of a tile all sums are in shared memory.
#ifdef DOCSPHERE_EMULATED
#define FIRST 4u
#define NARROW 16u
#define TILE 64u
#define CHUNK 16u
#else
#define FIRST 64u
#define NARROW 512u
#define TILE 8192u
#define CHUNK 1024u
#endif

// Threads of the narrow scan, and at most of any other kernel.
#ifdef DOCSPHERE_EMULATED
#define NARROW_THREADS 2u
#define MOST_THREADS 4u
#else
#define NARROW_THREADS 32u
#define MOST_THREADS 256u
#endif

// Columns of the tiles of pairs.cu, and the most of the greatest similarities that it finds.
#ifdef DOCSPHERE_EMULATED
#define PAIR_TILE 8u
#define PAIR_WANTED 4u
#else
#define PAIR_TILE 2048u
#define PAIR_WANTED 128u
#endif

// Values that each thread sums up.
#define SUMS_PER_THREAD 8u

// Counters.
#define SIMILARITIES 0
#define POSTINGS 1
#define SKIPPED 2

// The class of a column: [0, FIRST), [FIRST, NARROW), then the rest of the first tile, then tiles.
DEVICE u32 class_of(u32 rank) { return rank < FIRST ? 0 : rank < NARROW ? 1 : 2 + rank / TILE; }

// The first column of the tile to which a class belongs.
DEVICE u32 tile_of(u32 number) { return number < 3 ? 0 : (number - 2) * TILE; }

// The first column after a class.
DEVICE u32 end_of(u32 number) {
    return number == 0 ? FIRST : number == 1 ? NARROW : (number - 1) * TILE;
}
