/*
 * state_cells.c - the section of cubes: the key of each slot's point (cell_point.h)
 *
 * Body:    keys [n_slots] u64; of a free slot any value
 */
#include "gpu/mono/state_internal.h"

static int state_cells_wanted(const struct state_head *h)
{
    return h->cells != 0;
}

static size_t state_cells_lay(struct state_layout *l, const struct state_head *h, size_t at)
{
    l->keys = state_take(&at, h->n_slots * sizeof(uint64_t));
    return at;
}

static void state_cells_get(struct state_head *h, struct bytes_reader *head, unsigned version)
{
    (void)version;
    (void)head;
    h->cells = 1;
}

/* Key 0 marks an empty entry: no point has it. */
static int state_cells_check(const struct state_head *h, const struct state_layout *l,
                             const uint8_t *buf, struct err *err)
{
    for (uint32_t i = 0; i < h->n_slots; i++)
        if (state_tag(buf + l->place, i) && !state_word(buf + l->keys, 2 * (size_t)i) &&
            !state_word(buf + l->keys, 2 * (size_t)i + 1))
            return err_set(err, ERR_INPUT, "the point of slot %u lies nowhere", i);
    return 0;
}

const struct state_part state_cells = {SECTION_TAG('G', 'C', 'E', 'L'),
                                       1,
                                       state_cells_wanted,
                                       state_cells_lay,
                                       NULL,
                                       state_cells_get,
                                       state_cells_check};
