#include "daemon/session/missing.h"

#include <stdlib.h>

#define LISTED 256u /* blocks read under one lock of the mirror */

static struct mirror_entry *list_all(struct mirror *m, uint32_t *n)
{
    struct mirror_entry *list = NULL, *grown;
    uint32_t cap = 0, got;

    *n = 0;
    do {
        cap += cap / 2 + LISTED;
        grown = realloc(list, cap * sizeof(*list));
        if (!grown) {
            *n = 0;
            free(list);
            return NULL;
        }
        list = grown;
        for (; cap - *n >= LISTED && (got = mirror_list(m, list + *n, *n, LISTED)) > 0;)
            *n += got;
    } while (cap - *n < LISTED);
    return list;
}

/* The order in which a client gets blocks that it lacks (control_reaches()). */
static int compare_entries(const void *a, const void *b)
{
    const struct mirror_entry *x = a, *y = b;

    if (x->revision != y->revision)
        return x->revision < y->revision ? -1 : 1;
    return key_compare_names(&x->name, &y->name);
}

struct mirror_entry *missing_list(struct mirror *m, uint32_t *n)
{
    struct mirror_entry *list = list_all(m, n);

    if (list)
        qsort(list, *n, sizeof(*list), compare_entries);
    return list;
}
