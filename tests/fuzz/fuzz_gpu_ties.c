/*
 * fuzz_gpu_ties.c - a stranger's bytes as the keyframes, pairs and claims of a session
 *
 * What is refused harms nothing. What is taken places worlds by finite numbers, is compared with a
 * keyframe that comes, is bundled, and is saved and taken again the same way.
 */
#include "gpu/tie/bundle.h"
#include "tests/support/fuzz_case.h"

static struct ties *fresh(void)
{
    struct tie_params params;
    struct ties *t;

    params_fill(&params, &tie_params_stage, NULL, NULL);
    check(ties_new(&t, &params, NULL) == 0);
    return t;
}

static void there_and_back(struct ties *t, uint32_t n)
{
    size_t cap = ties_state_bytes(n), len, again_len;
    uint8_t *once = malloc(cap), *twice = malloc(cap);
    struct ties *back = fresh();
    uint32_t n_back;

    check(once && twice);
    check(ties_save(t, n, once, cap, &len, NULL) == 0);
    check(ties_load(back, &n_back, once, len, NULL) == 0 && n_back == n);
    check(ties_save(back, n, twice, cap, &again_len, NULL) == 0);
    check(again_len == len && memcmp(once, twice, len) == 0);
    ties_free(&back);
    free(once);
    free(twice);
}

static void bundle(struct ties *t, uint32_t n, const struct ties_place *place)
{
    struct bundle *b;
    struct rigid T;

    check(bundle_new(&b, t, n, place, NULL) == 0);
    while (bundle_step(b)) {
    }
    for (uint32_t k = 0; k < n; k++) {
        bundle_pose(b, k, &T);
        for (int c = 0; c < 3; c++)
            check(isfinite(T.t[c]));
    }
    bundle_free(&b);
}

static void use(struct ties *t, uint32_t n)
{
    static struct ties_place place[TIES_WORLDS];
    struct ties_keyframe *k = n ? ties_room(t, n) : NULL;

    if (k) {
        *k = *ties_room(t, 0);
        k->world = (k->world + 1) % TIES_WORLDS;
        (void)ties_next(t, n);
    }
    memset(place, 0, sizeof place);
    for (int i = 0; i < TIES_WORLDS; i++)
        place[i].T = sim3_identity();
    place[0].fixed = true;
    check(ties_solve(t, place, NULL) == 0);
    for (int i = 0; i < TIES_WORLDS; i++)
        for (int c = 0; c < 3; c++)
            check(isfinite(place[i].T.t[c]));
    bundle(t, n, place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ties *t = fresh();
    uint32_t n;

    if (ties_load(t, &n, data, size, NULL) == 0) {
        there_and_back(t, n);
        use(t, n);
    } else {
        check(n == 0);
    }
    ties_free(&t);
    return 0;
}
