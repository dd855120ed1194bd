/* fuzz_gpu_object - an object of a stranger: unpacked, packed again, and matched with itself */
#include "gpu/recognise/match.h"
#include "gpu/recognise/match_point.h"
#include "tests/support/fuzz_case.h"

static void check_bytes(const struct object *o)
{
    size_t n = object_bytes(o);
    uint8_t *row = malloc(n), *again = malloc(n);
    struct object other;

    check(row && again);
    object_pack(row, o);
    check(object_unpack(&other, row, n, NULL) == 0);
    object_pack(again, &other);
    check(memcmp(row, again, n) == 0);
    object_free(&other);
    free(row);
    free(again);
}

/* Its first tensor is looked for among all of its tensors. */
static void check_match(const struct object *o)
{
    const struct object *const objects[1] = {o};
    struct match_params p = match_params_default();
    struct tensor *t = calloc(1, sizeof *t);
    struct library l;
    uint64_t best;

    check(t != NULL);
    if (library_new(&l, objects, 1, NULL) == 0) {
        if (l.n_tensors) {
            t->bin = l.from[0]->bin;
            t->n = l.tensor[0].n;
            memcpy(t->entry, l.entry + l.tensor[0].first, t->n * sizeof *t->entry);
            match_cpu_run(&best, t, 1, &l, &p);
            check(best == 0 || match_of(best).tensor < l.n_tensors);
        }
        library_free(&l);
    }
    free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct object o;
    struct err err = {0};

    if (object_unpack(&o, data, size, &err) == 0) {
        check_bytes(&o);
        check_match(&o);
    } else {
        check(err.text[0] != 0);
    }
    object_free(&o);
    return 0;
}
