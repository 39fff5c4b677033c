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

// A document that a seed brings nearer.
struct Improved {
    u32 document;
    u32 seed;
    double similarity;
};

struct RaiseArguments {
    // By document: the greatest similarity to a seed so far, at least 0.
    double *best;
    const Improved *raised;
    Improved *found;
    u64 n_raised;
};

struct FindArguments {
    Matrix rows;
    const double *best;
    // A hash table of 2^(32 - shift) slots, some of them free: terms of the seeds, and for each the
    // values of all SEEDS.
    const u32 *keys;
    const float *values;
    // First how many there are, then these.
    Improved *found;
    u64 n_documents;
    u32 shift;
};

struct MovesArguments {
    Matrix rows;
    // By group: where its moves begin, and where those of the last group end.
    const u32 *ends;
    // A document, twice; plus 1 if it joined.
    const u32 *moves;
    // By move: what its integers are multiplied with. Null: 1.
    const double *factors;
    // By block of threads and word: a bit per term, 0 before and after; marked terms before it.
    u32 *marks;
    u32 *before;
    // How many groups have been taken, and entries written: 0 before.
    u32 *counts;
    // By group: where its entries begin, and how many it has.
    u32 *starts;
    u32 *lengths;
    u32 *terms;
    u64 *values;
    u32 n_groups;
    u32 n_terms;
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

// Columns of the classes with which the first tile begins, of all these classes together, of the
// other classes of the first tile, and of tiles: of a tile all sums are in shared memory. Each
// divides the last one, and the third is greater than the second.
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

// The classes of NARROW columns, and of the first tile.
#define NARROW_CLASSES 2u
#define TILE_CLASSES 3u

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

// Seeds that documents are compared with in one pass.
#define SEEDS 4u

// Counters.
#define SIMILARITIES 0
#define POSTINGS 1
#define SKIPPED 2

// The class of a column: [0, FIRST), [FIRST, NARROW), then the rest of the first tile, then tiles.
DEVICE u32 class_of(u32 rank) { return rank < FIRST ? 0 : rank < NARROW ? 1 : NARROW_CLASSES + rank / TILE; }

// The first column of the tile to which a class belongs.
DEVICE u32 tile_of(u32 number) { return number < TILE_CLASSES ? 0 : (number - NARROW_CLASSES) * TILE; }

// The first column after a class.
DEVICE u32 end_of(u32 number) {
    return number == 0 ? FIRST : number == 1 ? NARROW : (number - 1) * TILE;
}
