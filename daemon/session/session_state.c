#include "daemon/session/session_state.h"

#include "daemon/session/session_internal.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/sources.h"

static size_t mirror_bytes_of(struct session *s)
{
    return mirror_state_bytes(s->mirror);
}

static int mirror_save_of(struct session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    return mirror_save(s->mirror, buf, cap, len, err);
}

static int mirror_load_of(struct session *s, const struct section *in, struct err *err)
{
    return mirror_load(s->mirror, in->body, in->len, err);
}

const struct state_section session_state_mirror = {.tag = SECTION_TAG('D', 'M', 'I', 'R'),
                                                   .version = 1,
                                                   .bytes = mirror_bytes_of,
                                                   .save = mirror_save_of,
                                                   .load = mirror_load_of};

static size_t trajectory_bytes_of(struct session *s)
{
    return trajectory_state_bytes(s->trajectory);
}

static int trajectory_save_of(struct session *s, uint8_t *buf, size_t cap, size_t *len,
                              struct err *err)
{
    return trajectory_save(s->trajectory, buf, cap, len, err);
}

static int trajectory_load_of(struct session *s, const struct section *in, struct err *err)
{
    return trajectory_load(s->trajectory, in->body, in->len, err);
}

const struct state_section session_state_trajectory = {.tag = SECTION_TAG('D', 'T', 'R', 'A'),
                                                       .version = 1,
                                                       .bytes = trajectory_bytes_of,
                                                       .save = trajectory_save_of,
                                                       .load = trajectory_load_of};

static size_t sources_bytes_of(struct session *s)
{
    (void)s;
    return sources_state_bytes();
}

static int sources_save_of(struct session *s, uint8_t *buf, size_t cap, size_t *len,
                           struct err *err)
{
    int rc;

    lock_take(&s->lock);
    rc = sources_save(s->sources, buf, cap, len, err);
    lock_give(&s->lock);
    return rc;
}

static int sources_load_of(struct session *s, const struct section *in, struct err *err)
{
    return sources_load(s->sources, in->body, in->len, err);
}

const struct state_section session_state_sources = {.tag = SECTION_TAG('D', 'S', 'R', 'C'),
                                                    .version = 1,
                                                    .bytes = sources_bytes_of,
                                                    .save = sources_save_of,
                                                    .load = sources_load_of};

static size_t position_bytes_of(struct session *s)
{
    struct session_saved saved;

    session_save(s, &saved);
    return saved.has_position ? FRAME_POSITION_BYTES : 0;
}

static int position_save(struct session *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    struct session_saved saved;

    (void)cap;
    (void)err;
    session_save(s, &saved);
    frame_position_put(buf, &saved.position);
    *len = FRAME_POSITION_BYTES;
    return 0;
}

static int position_load(struct session *s, const struct section *in, struct err *err)
{
    if (in->len != FRAME_POSITION_BYTES)
        return err_set(err, ERR_INPUT, "not a position");
    s->kept.has_position = frame_position_get(&s->kept.position, in->body);
    return 0;
}

const struct state_section session_state_position = {.tag = SECTION_TAG('D', 'P', 'O', 'S'),
                                                     .version = 1,
                                                     .flags = SECTION_OPTIONAL,
                                                     .bytes = position_bytes_of,
                                                     .save = position_save,
                                                     .load = position_load};
