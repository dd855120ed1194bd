/*
 * state_normals.c - the section of normals. Without it, in a state of an earlier build, points
 * begin without normals
 *
 * Body:    normals of all slots
 */
#include "gpu/mono/state_internal.h"

#include "proto/geom/octa.h"

_Static_assert(sizeof(struct point_normal) == 8 && offsetof(struct point_normal, code) == 6,
               "records without padding");

static int state_normals_wanted(const struct state_head *h)
{
    return h->normals != 0;
}

static size_t state_normals_lay(struct state_layout *l, const struct state_head *h, size_t at)
{
    l->normals = state_take(&at, h->n_slots * sizeof(struct point_normal));
    return at;
}

static void state_normals_get(struct state_head *h, struct bytes_reader *head, unsigned version)
{
    (void)version;
    (void)head;
    h->normals = 1;
}

/* Every mean is valid; codes are limited to the range of keys. */
static int state_normals_check(const struct state_head *h, const struct state_layout *l,
                               const uint8_t *buf, struct err *err)
{
    for (size_t i = 0; i < h->n_slots; i++) {
        struct point_normal n;
        memcpy(&n, buf + l->normals + i * sizeof n, sizeof n);
        if (n.code >> OCTA_BITS)
            return err_set(err, ERR_INPUT, "slot %zu holds what cannot be a normal", i);
    }
    return 0;
}

const struct state_part state_normals = {SECTION_TAG('G', 'N', 'O', 'R'),
                                         1,
                                         state_normals_wanted,
                                         state_normals_lay,
                                         NULL,
                                         state_normals_get,
                                         state_normals_check};
