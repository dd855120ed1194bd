/*
 * state_worlds.c - the section of the keyframes' submaps. Without it, in a state of an earlier
 * build, all keyframes are of the first submap
 *
 * Body:    submaps [n_keyframes] u32
 */
#include "gpu/mono/state_internal.h"

static int state_worlds_wanted(const struct state_head *h)
{
    return h->worlds != 0;
}

static size_t state_worlds_lay(struct state_layout *l, const struct state_head *h, size_t at)
{
    l->worlds = state_take(&at, h->n_keyframes * sizeof(uint32_t));
    return at;
}

static void state_worlds_get(struct state_head *h, struct bytes_reader *head, unsigned version)
{
    (void)version;
    (void)head;
    h->worlds = 1;
}

static int state_worlds_check(const struct state_head *h, const struct state_layout *l,
                              const uint8_t *buf, struct err *err)
{
    for (uint32_t i = 0; i < h->n_keyframes; i++)
        if (state_word(buf + l->worlds, i) >= GPU_SUBMAPS_MAX)
            return err_set(err, ERR_INPUT, "keyframe %u is of a world that cannot be", i);
    return 0;
}

const struct state_part state_worlds = {SECTION_TAG('G', 'S', 'U', 'B'),
                                        1,
                                        state_worlds_wanted,
                                        state_worlds_lay,
                                        NULL,
                                        state_worlds_get,
                                        state_worlds_check};
