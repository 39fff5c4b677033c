// What the kernels use of CUDA, and the same for the emulation on a CPU (emulated.h), which runs
// them in tests on machines without a GPU.
//
// Threads of a block come in warps of WARP. All threads of a warp call `sync_warp` together, and
// all threads of a block `sync_block`; no thread returns while others wait.
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef DOCSPHERE_EMULATED
#include "emulated.h"
#else

#define WARP 32u
// A kernel takes one struct of pointers and numbers; its twin in Rust is in `arguments.rs`.
#define KERNEL(name, Arguments) extern "C" __global__ void name(const Arguments a)
#define DEVICE static __device__ __forceinline__
#define SHARED __shared__
#define UNROLL _Pragma("unroll")
#define thread_number threadIdx.x
#define n_threads blockDim.x
#define block_number blockIdx.x
#define n_blocks gridDim.x

DEVICE void sync_warp() { __syncwarp(); }
DEVICE void sync_block() { __syncthreads(); }
DEVICE u32 add(u32 *place, u32 more) { return atomicAdd(place, more); }
DEVICE void add_long(u64 *place, u64 more) { atomicAdd(place, more); }
DEVICE void raise(u32 *place, u32 value) { atomicMax(place, value); }
// Of numbers that are not negative: their order is that of their bits.
DEVICE void raise(double *place, double value) { atomicMax((u64 *)place, (u64)__double_as_longlong(value)); }
DEVICE void set_bits(u32 *place, u32 bits) { atomicOr(place, bits); }
DEVICE u32 n_bits(u32 word) { return __popc(word); }
// Of a word that is not 0.
DEVICE u32 lowest_bit(u32 word) { return __ffs(word) - 1; }
// A product that is rounded by itself, never fused with a sum.
DEVICE double rounded_product(double a, double b) { return __dmul_rn(a, b); }
// The upper half of a product of 64 bits.
DEVICE u32 upper_half(u32 a, u32 b) { return __umulhi(a, b); }

#endif

#define INFINITE (1.0e300 * 1.0e300)
#define NO_LABEL 0xffffffffu

DEVICE u32 smaller(u32 a, u32 b) { return a < b ? a : b; }
DEVICE double greater(double a, double b) { return a < b ? b : a; }
