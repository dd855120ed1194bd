#include "gpu/recognise/library.h"

#include "gpu/recognise/tensor_point.h"

#include <stdlib.h>
#include <string.h>

/* Counts tensors and entries, and finds where each bin begins. */
static int library_count(struct library *l, struct err *err)
{
    uint64_t tensors = 0, entries = 0;

    for (uint32_t i = 0; i < l->n_objects; i++) {
        const struct object *o = l->object[i];
        if (!(o->unit_m == l->unit_m) || !(o->voxel == l->voxel))
            return err_set(err, ERR_INPUT,
                           "objects of a library have one unit: %s has %g m, %s has %g m",
                           l->object[0]->name, (double)l->unit_m, o->name, (double)o->unit_m);
        tensors += o->n_tensors;
        l->n_points += (uint32_t)o->n_points; /* at most 2^26 */
        if (o->n_points > l->most_points)
            l->most_points = (uint32_t)o->n_points;
        for (size_t k = 0; k < o->n_tensors; k++) {
            entries += o->tensor[k].n;
            l->bin[o->tensor[k].bin + 1]++;
        }
    }
    if (tensors > UINT32_MAX / 2 || entries > UINT32_MAX / 2)
        return err_set(err, ERR_LIMIT, "the objects have too many tensors for a library");
    for (int i = 0; i < TENSOR_BINS; i++)
        l->bin[i + 1] += l->bin[i];
    l->n_tensors = (uint32_t)tensors;
    l->n_entries = (uint32_t)entries;
    return 0;
}

static void take_roots(uint32_t *to, struct library_tensor *t, const uint32_t *from)
{
    t->square = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t root = tensor_root(TENSOR_AREA_OF(from[i]));
        to[i] = TENSOR_ENTRY(TENSOR_VOXEL_OF(from[i]), root);
        t->square += root * root;
    }
}

/* Fills the library in the order of objects and of their tensors. */
static void sort(struct library *l)
{
    uint32_t at[TENSOR_BINS], entry = 0;

    memcpy(at, l->bin, sizeof at);
    for (uint32_t i = 0; i < l->n_objects; i++)
        for (size_t k = 0; k < l->object[i]->n_tensors; k++) {
            const struct object_tensor *t = &l->object[i]->tensor[k];
            uint32_t to = at[t->bin]++;
            l->from[to] = t;
            l->tensor[to].object = i;
        }
    for (uint32_t i = 0; i < l->n_tensors; i++) {
        struct library_tensor *t = &l->tensor[i];
        t->first = entry;
        t->n = l->from[i]->n;
        take_roots(l->entry + entry, t, l->object[t->object]->entry + l->from[i]->first);
        entry += t->n;
    }
}

static struct vec3 middle_of(const struct object *o)
{
    struct vec3 sum = {0, 0, 0};
    float k = 1.0f / (float)(o->n_points ? o->n_points : 1);

    for (size_t i = 0; i < o->n_points; i++)
        sum = vec3_make(sum.x + o->point[i].p.x, sum.y + o->point[i].p.y, sum.z + o->point[i].p.z);
    return vec3_make(sum.x * k, sum.y * k, sum.z * k);
}

int library_new(struct library *l, const struct object *const *objects, uint32_t n, struct err *err)
{
    int rc;

    *l = (struct library){.n_objects = n, .object = objects};
    if (n < 1 || n > LIBRARY_OBJECTS_MAX)
        return err_set(err, ERR_INPUT, "a library has 1 to %d objects", LIBRARY_OBJECTS_MAX);
    l->unit_m = objects[0]->unit_m;
    l->voxel = objects[0]->voxel;
    if ((rc = library_count(l, err)))
        return rc;
    l->middle = calloc(n, sizeof *l->middle);
    l->is_coarse = calloc(n, sizeof *l->is_coarse);
    l->tensor = calloc((size_t)l->n_tensors + 1, sizeof *l->tensor);
    l->from = calloc((size_t)l->n_tensors + 1, sizeof *l->from);
    l->entry = calloc((size_t)l->n_entries + 1, sizeof *l->entry);
    if (!l->middle || !l->is_coarse || !l->tensor || !l->from || !l->entry) {
        library_free(l);
        return err_set(err, ERR_MEMORY, "no memory for a library of %u tensors", l->n_tensors);
    }
    for (uint32_t i = 0; i < n; i++) {
        l->middle[i] = middle_of(objects[i]);
        l->is_coarse[i] = objects[i]->is_coarse;
    }
    sort(l);
    return 0;
}

void library_free(struct library *l)
{
    free(l->middle);
    free(l->is_coarse);
    free(l->tensor);
    free(l->from);
    free(l->entry);
    *l = (struct library){0};
}
