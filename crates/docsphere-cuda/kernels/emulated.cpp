// All kernels, compiled for the CPU.
#define DOCSPHERE_EMULATED
#include "documents.cu"
#include "postings.cu"
#include "sums.cu"
#include "centroids.cu"
#include "collect.cu"
#include "deltas.cu"
#include "pairs.cu"
#include "scan.cu"
#include "seeds.cu"
