// The emulation of a GPU on a CPU, for tests: one block after the other, the threads of a block as
// coroutines that change at barriers.
//
// Between two barriers the threads run one after the other, in an order that changes with every
// round, so that a missing barrier shows as a wrong result. A barrier that some threads never reach
// ends the process with a message.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define WARP 2u
#define DEVICE static inline
#define UNROLL
// One block runs at a time on a thread of the machine.
#define SHARED static thread_local

namespace emulation {

enum State { READY, AT_WARP, AT_BLOCK, DONE };

const u32 MOST_THREADS = 64;
const size_t STACK_BYTES = 1 << 17;

struct Machine {
    ucontext_t scheduler;
    ucontext_t contexts[MOST_THREADS];
    char *stacks[MOST_THREADS];
    State states[MOST_THREADS];
    u32 thread, block, threads, blocks;
    u32 round;
    void (*body)(const void *);
    const void *arguments;
};

static thread_local Machine machine;

static void wait(State state) {
    machine.states[machine.thread] = state;
    swapcontext(&machine.contexts[machine.thread], &machine.scheduler);
}

static void enter() {
    machine.body(machine.arguments);
    machine.states[machine.thread] = DONE;
    swapcontext(&machine.contexts[machine.thread], &machine.scheduler);
}

// Threads whose states are all `state`, or done, go on.
static bool release(u32 from, u32 to, State state) {
    bool any = false;
    for (u32 thread = from; thread < to; thread++) {
        if (machine.states[thread] == DONE) continue;
        if (machine.states[thread] != state) return false;
        any = true;
    }
    for (u32 thread = from; thread < to && any; thread++)
        if (machine.states[thread] == state) machine.states[thread] = READY;
    return any;
}

static void run_block() {
    for (u32 thread = 0; thread < machine.threads; thread++) {
        ucontext_t *context = &machine.contexts[thread];
        if (!machine.stacks[thread]) machine.stacks[thread] = (char *)malloc(STACK_BYTES);
        getcontext(context);
        context->uc_stack.ss_sp = machine.stacks[thread];
        context->uc_stack.ss_size = STACK_BYTES;
        context->uc_link = nullptr;
        makecontext(context, enter, 0);
        machine.states[thread] = READY;
    }
    for (;;) {
        bool ran = false, all_done = true;
        u32 first = machine.round * 7u % machine.threads;
        bool backwards = machine.round % 2 == 1;
        machine.round++;
        for (u32 i = 0; i < machine.threads; i++) {
            u32 thread = (first + (backwards ? machine.threads - i : i)) % machine.threads;
            if (machine.states[thread] == READY) {
                machine.thread = thread;
                swapcontext(&machine.scheduler, &machine.contexts[thread]);
                ran = true;
            }
            all_done = all_done && machine.states[thread] == DONE;
        }
        if (all_done) return;
        if (ran) continue;
        bool released = false;
        for (u32 from = 0; from < machine.threads; from += WARP)
            released |= release(from, from + WARP, AT_WARP);
        released = released || release(0, machine.threads, AT_BLOCK);
        if (!released) {
            fprintf(stderr, "threads of block %u wait at different barriers\n", machine.block);
            abort();
        }
    }
}

static void launch(void (*body)(const void *), const void *arguments, u32 blocks, u32 threads) {
    if (threads > MOST_THREADS || threads % WARP != 0) {
        fprintf(stderr, "%u threads per block cannot be emulated\n", threads);
        abort();
    }
    machine.body = body;
    machine.arguments = arguments;
    machine.blocks = blocks;
    machine.threads = threads;
    for (machine.block = 0; machine.block < blocks; machine.block++) run_block();
}

} // namespace emulation

#define thread_number (emulation::machine.thread)
#define n_threads (emulation::machine.threads)
#define block_number (emulation::machine.block)
#define n_blocks (emulation::machine.blocks)

DEVICE void sync_warp() { emulation::wait(emulation::AT_WARP); }
DEVICE void sync_block() { emulation::wait(emulation::AT_BLOCK); }
DEVICE u32 add(u32 *place, u32 more) {
    u32 before = *place;
    *place += more;
    return before;
}
DEVICE void add_long(u64 *place, u64 more) { *place += more; }
DEVICE void raise(u32 *place, u32 value) {
    if (*place < value) *place = value;
}
DEVICE void raise(double *place, double value) {
    if (*place < value) *place = value;
}
DEVICE void set_bits(u32 *place, u32 bits) { *place |= bits; }
DEVICE u32 n_bits(u32 word) { return (u32)__builtin_popcount(word); }
DEVICE u32 lowest_bit(u32 word) { return (u32)__builtin_ctz(word); }
DEVICE double rounded_product(double a, double b) {
    volatile double product = a * b;
    return product;
}
DEVICE u32 upper_half(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }

// A kernel as a function that Rust can call: emulated_NAME(arguments, blocks, threads).
#define KERNEL(name, Arguments)                                                                    \
    static void name(const Arguments a);                                                           \
    static void body_of_##name(const void *arguments) { name(*(const Arguments *)arguments); }     \
    extern "C" void emulated_##name(const void *arguments, u32 blocks, u32 threads) {              \
        emulation::launch(body_of_##name, arguments, blocks, threads);                             \
    }                                                                                              \
    extern "C" size_t size_of_##name() { return sizeof(Arguments); }                               \
    static void name(const Arguments a)
