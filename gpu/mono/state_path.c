/*
 * state_path.c - the section of a session whose poses come from its tracks
 *
 * Body:    struct path_record | slots of tracks | the last picture's pyramid | landmarks
 */
#include "gpu/mono/state_internal.h"

#include "gpu/track/path_record.h"

static int state_path_wanted(const struct state_head *h)
{
    return h->path != 0;
}

static size_t state_path_lay(struct state_layout *l, const struct state_head *h, size_t at)
{
    struct track like;

    (void)track_lay_out(&like, NULL, h->w, h->h);
    l->path_record = state_take(&at, path_record_bytes(h->path));
    l->path_slots = state_take(&at, (size_t)like.n_slots * sizeof(struct track_slot));
    l->path_pyramid = state_take(&at, like.pyramid_bytes);
    l->path_landmarks = state_take(&at, 2 * (size_t)like.n_slots * sizeof(struct path_landmark));
    return at;
}

static void state_path_put(uint8_t *buf, struct bytes_writer *head, const struct state_head *h,
                           const struct state_layout *l)
{
    (void)head;
    (void)h;
    state_gap(buf, l->path_pyramid);
    state_gap(buf, l->path_landmarks);
}

static void state_path_get(struct state_head *h, struct bytes_reader *head, unsigned version)
{
    (void)head;
    h->path = version;
}

static int state_path_check(const struct state_head *h, const struct state_layout *l,
                            const uint8_t *buf, struct err *err)
{
    struct path_record r;
    struct track like;

    r = path_record_get(buf + l->path_record, h->path);
    (void)track_lay_out(&like, NULL, h->w, h->h);
    if (!path_record_valid(&r, &like, buf + l->path_slots, buf + l->path_landmarks))
        return err_set(err, ERR_INPUT, "tracks that no session has");
    return 0;
}

const struct state_part state_path = {SECTION_TAG('G', 'P', 'T', 'H'),
                                      PATH_RECORD_VERSION,
                                      state_path_wanted,
                                      state_path_lay,
                                      state_path_put,
                                      state_path_get,
                                      state_path_check};
