/*
 * emulate.cc - blocks of threads as fibers (see cuda_runtime.h)
 *
 * A fiber is a stack, which it keeps for the life of the program. It runs one thread of a block
 * after another; a thread that waits keeps its fiber, and the next thread gets another one. So
 * threads that never wait cost a call each. Fibers jump to each other by the compiler's own
 * __builtin_setjmp(), which keeps three registers; the first entry goes through ucontext.
 */
#include <cuda_runtime.h>

#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#define THREADS_MAX 1024
#define STACK_BYTES (256u << 10)

enum thread_state { THREAD_NEW, THREAD_READY, THREAD_BLOCK, THREAD_WARP, THREAD_DONE };

struct fiber {
    void *at[5];
    int entered;
};

dim3 threadIdx, blockIdx, blockDim, gridDim;

static struct {
    uint8_t state[THREADS_MAX]; /* enum thread_state */
    uint8_t turn[THREADS_MAX];  /* of the two buffers of its warp */
    struct fiber *of[THREADS_MAX];
    uint64_t warps[THREADS_MAX / 32][2][32];
    uint8_t waiting[THREADS_MAX / 32]; /* lanes that wait for their warp */
    unsigned n_waiting, n_blocked, n_done;
    emulate_thread_fn *thread;
    void *kernel;
    struct emulate_shared shared;
    unsigned n, now;         /* threads of the block; the one that runs */
    unsigned first, step, k; /* of the pass over all threads: which is next */
    unsigned sum, sum_of_last;
    uint64_t lot;
    struct fiber fibers[THREADS_MAX], *spare[THREADS_MAX], *running;
    unsigned n_fibers, n_spare;
    void *home[5];
} all;

static unsigned draw(unsigned n)
{
    all.lot = all.lot * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((all.lot >> 32) * n >> 32);
}

/* Warps whose lanes all wait for each other go on. Returns whether there are any. */
static int release_warps(void)
{
    int any = 0;
    for (unsigned w = 0; all.n_waiting && w < all.n / 32; w++) {
        if (all.waiting[w] < 32)
            continue;
        any = 1;
        memset(all.state + 32 * w, THREAD_READY, 32);
        all.waiting[w] = 0;
        all.n_waiting -= 32;
    }
    return any;
}

/* As on a device, threads that have returned are not waited for. */
static int release_block(void)
{
    if (all.n_done == all.n)
        return 0;
    if (all.n_blocked + all.n_done < all.n) {
        fprintf(stderr, "emulate: block (%u,%u): a barrier that %u of %u threads reach\n",
                blockIdx.x, blockIdx.y, all.n_blocked, all.n - all.n_done);
        exit(3);
    }
    for (unsigned i = 0; i < all.n; i++)
        if (all.state[i] == THREAD_BLOCK)
            all.state[i] = THREAD_READY;
    all.n_blocked = 0;
    all.sum_of_last = all.sum;
    all.sum = 0;
    return 1;
}

static void begin_pass(void)
{
    all.first = draw(all.n);
    all.step = 2 * draw(all.n) + 1; /* n is a power of two */
    all.k = 0;
}

/* Makes the next thread that does not wait the one that runs. Returns 0 when the block is over. */
static int find_next(void)
{
    for (;;) {
        while (all.k < all.n) {
            unsigned i = (all.first + all.k++ * all.step) & (all.n - 1);
            if (all.state[i] <= THREAD_READY) {
                all.now = threadIdx.x = i;
                return 1;
            }
        }
        if (!release_warps() && !release_block())
            return 0;
        begin_pass();
    }
}

static void live(void);

static void begin(void)
{
    ucontext_t first;
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED || getcontext(&first)) {
        fprintf(stderr, "emulate: no stack for a thread\n");
        exit(3);
    }
    all.running->entered = 1;
    first.uc_stack.ss_sp = stack;
    first.uc_stack.ss_size =
        STACK_BYTES - all.n_fibers * 320 % 16384; /* not all in one set of the cache */
    first.uc_link = NULL;
    makecontext(&first, live, 0);
    setcontext(&first);
}

/* Goes on with the thread that runs now: in its fiber, or in one without a thread. */
static __attribute__((noinline)) void enter(void)
{
    if (all.state[all.now] == THREAD_READY)
        all.running = all.of[all.now];
    else
        all.running = all.n_spare ? all.spare[--all.n_spare] : &all.fibers[all.n_fibers++];
    if (!all.running->entered)
        begin();
    __builtin_longjmp(all.running->at, 1);
}

static __attribute__((noinline)) void end_block(void)
{
    __builtin_longjmp(all.home, 1);
}

static __attribute__((noinline)) void leave(void)
{
    if (__builtin_setjmp(all.running->at))
        return;
    if (find_next())
        enter();
    end_block();
}

/* A fiber whose thread has returned takes the next new one itself. */
static void live(void)
{
    for (;;) {
        int more;
        all.thread(all.kernel);
        all.state[all.now] = THREAD_DONE;
        all.n_done++;
        more = find_next();
        if (more && all.state[all.now] == THREAD_NEW)
            continue;
        all.spare[all.n_spare++] = all.running;
        if (__builtin_setjmp(all.running->at))
            continue;
        if (more)
            enter();
        end_block();
    }
}

static void wait_for(enum thread_state what)
{
    unsigned i = all.now;
    all.state[i] = (uint8_t)what;
    all.of[i] = all.running;
    leave();
}

unsigned emulate_barrier(unsigned value)
{
    all.sum += value;
    all.n_blocked++;
    wait_for(THREAD_BLOCK);
    return all.sum_of_last;
}

void emulate_exchange(uint64_t value, const uint64_t **lanes)
{
    uint64_t *warp = all.warps[all.now / 32][all.turn[all.now]];
    all.turn[all.now] ^= 1; /* a lane is ahead of another by one exchange at most */
    warp[all.now % 32] = value;
    *lanes = warp;
    all.waiting[all.now / 32]++;
    all.n_waiting++;
    wait_for(THREAD_WARP);
}

static __attribute__((noinline)) void run_block(void)
{
    if (all.shared.first)
        memset(all.shared.first, 0xa5, (size_t)(all.shared.end - all.shared.first));
    memset(all.state, THREAD_NEW, all.n);
    memset(all.turn, 0, all.n);
    all.sum = all.n_done = 0;
    begin_pass();
    if (__builtin_setjmp(all.home))
        return;
    if (find_next())
        enter();
}

void emulate_launch(dim3 grid, dim3 block, emulate_thread_fn *thread, void *kernel,
                    struct emulate_shared shared)
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
    all.shared = shared;
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
