/*
 * emulate.cc - blocks of threads as fibers (see cuda_runtime.h)
 *
 * A fiber keeps its stack for the life of the program and runs one thread of each block. The first
 * entry goes through ucontext, all others through _setjmp() and _longjmp(), which are calls of the
 * C library alone.
 */
#include <cuda_runtime.h>

#include <setjmp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#define THREADS_MAX 1024
#define STACK_BYTES (256u << 10)

enum fiber_state { FIBER_READY, FIBER_BLOCK, FIBER_WARP, FIBER_DONE };

struct fiber {
    jmp_buf at;
    int entered;
};

dim3 threadIdx, blockIdx, blockDim, gridDim;

static struct {
    uint8_t state[THREADS_MAX]; /* enum fiber_state, close together: it is looked at most */
    uint8_t turn[THREADS_MAX];  /* of the two buffers of its warp */
    struct fiber fibers[THREADS_MAX];
    uint64_t warps[THREADS_MAX / 32][2][32];
    jmp_buf home;
    emulate_thread_fn *thread;
    void *kernel;
    unsigned now, n; /* the fiber that runs; threads of the block */
    unsigned sum, sum_of_last;
    uint64_t lot;
} all;

/* Where static variables of that section begin and end: the linker says. */
extern "C" {
extern char __start_emulate_shared[], __stop_emulate_shared[];
}

static unsigned draw(unsigned n)
{
    all.lot = all.lot * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((all.lot >> 32) * n >> 32);
}

static void leave(enum fiber_state state)
{
    struct fiber *f = &all.fibers[all.now];
    all.state[all.now] = (uint8_t)state;
    if (_setjmp(f->at) == 0)
        _longjmp(all.home, 1);
}

static void live(void)
{
    for (;;) {
        all.thread(all.kernel);
        leave(FIBER_DONE);
    }
}

static void begin(void)
{
    ucontext_t first;
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED || getcontext(&first)) {
        fprintf(stderr, "emulate: no stack for a thread\n");
        exit(3);
    }
    first.uc_stack.ss_sp = stack;
    first.uc_stack.ss_size =
        STACK_BYTES - all.now * 320 % 16384; /* not all in one set of the cache */
    first.uc_link = NULL;
    makecontext(&first, live, 0);
    setcontext(&first);
}

static void enter(unsigned i)
{
    struct fiber *f = &all.fibers[i];
    all.now = i;
    threadIdx = dim3(i, 0, 0);
    if (_setjmp(all.home))
        return;
    if (f->entered)
        _longjmp(f->at, 1);
    f->entered = 1;
    begin();
}

unsigned emulate_barrier(unsigned value)
{
    all.sum += value;
    leave(FIBER_BLOCK);
    return all.sum_of_last;
}

void emulate_exchange(uint64_t value, const uint64_t **lanes)
{
    uint64_t *warp = all.warps[all.now / 32][all.turn[all.now]];
    all.turn[all.now] ^= 1; /* a lane is ahead of another by one exchange at most */
    warp[all.now % 32] = value;
    *lanes = warp;
    leave(FIBER_WARP);
}

/* Warps whose lanes all wait for each other go on. Returns whether there are any. */
static int release_warps(void)
{
    int any = 0;
    for (unsigned w = 0; w < all.n; w += 32) {
        unsigned waiting = 0, lanes = all.n - w < 32 ? all.n - w : 32;
        for (unsigned i = 0; i < lanes; i++)
            waiting += all.state[w + i] == FIBER_WARP;
        if (waiting < lanes)
            continue;
        any = 1;
        for (unsigned i = 0; i < lanes; i++)
            all.state[w + i] = FIBER_READY;
    }
    return any;
}

/* As on a device, threads that have returned are not waited for. */
static int release_block(void)
{
    unsigned waiting = 0, done = 0;
    for (unsigned i = 0; i < all.n; i++) {
        waiting += all.state[i] == FIBER_BLOCK;
        done += all.state[i] == FIBER_DONE;
    }
    if (waiting == 0 && done == all.n)
        return 0;
    if (waiting == 0 || waiting + done < all.n) {
        fprintf(stderr, "emulate: block (%u,%u): a barrier that %u of %u threads reach\n",
                blockIdx.x, blockIdx.y, waiting, all.n - done);
        exit(3);
    }
    for (unsigned i = 0; i < all.n; i++)
        if (all.state[i] == FIBER_BLOCK)
            all.state[i] = FIBER_READY;
    all.sum_of_last = all.sum;
    all.sum = 0;
    return 1;
}

static void run_block(void)
{
    memset(__start_emulate_shared, 0xa5, (size_t)(__stop_emulate_shared - __start_emulate_shared));
    all.sum = 0;
    memset(all.state, FIBER_READY, all.n);
    memset(all.turn, 0, all.n);
    do {
        unsigned first = draw(all.n), step = 2 * draw(all.n) + 1; /* n is a power of two */
        for (unsigned k = 0; k < all.n; k++) {
            unsigned i = (first + k * step) & (all.n - 1);
            if (all.state[i] == FIBER_READY)
                enter(i);
        }
    } while (release_warps() || release_block());
}

void emulate_launch(dim3 grid, dim3 block, emulate_thread_fn *thread, void *kernel)
{
    unsigned n = grid.x * grid.y, *order = (unsigned *)malloc(n * sizeof *order);
    const char *seed = getenv("EMULATE_SEED");
    if (all.lot == 0)
        all.lot = seed ? strtoull(seed, NULL, 10) + 1 : 1;
    if (!order || block.x > THREADS_MAX || (block.x & (block.x - 1)) || block.x % 32) {
        fprintf(stderr, "emulate: a block of %u threads\n", block.x);
        exit(3);
    }
    if (grid.z > 1 || block.y > 1 || block.z > 1) {
        fprintf(stderr, "emulate: a grid has two dimensions, a block one\n");
        exit(3);
    }
    all.thread = thread;
    all.kernel = kernel;
    all.n = block.x;
    blockDim = block;
    gridDim = grid;
    for (unsigned i = 0; i < n; i++) {
        unsigned j = draw(i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (unsigned i = 0; i < n; i++) {
        blockIdx = dim3(order[i] % grid.x, order[i] / grid.x, 0);
        run_block();
    }
    free(order);
}
