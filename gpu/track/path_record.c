#include "gpu/track/path_record.h"

#include <string.h>

#define FAR_M 1e7

#define V1_KEYFRAME_BYTES (13 * 8)
#define V1_BYTES (13 * 8 * (1 + PATH_KEPT) + 56)

_Static_assert(offsetof(struct path_record, since) == 13 * 8 &&
                   sizeof(struct path_keyframe) == 23 * 8 &&
                   offsetof(struct path_record, order) == 23 * 8 * (1 + PATH_KEPT) &&
                   sizeof(struct path_record) == 23 * 8 * (1 + PATH_KEPT) + 56 &&
                   sizeof(struct path_landmark) == 112 && sizeof(struct track_slot) == 16,
               "records without padding, as they are on disk");

size_t path_record_bytes(unsigned version)
{
    return version < 2 ? V1_BYTES : sizeof(struct path_record);
}

struct path_record path_record_get(const uint8_t *from, unsigned version)
{
    size_t head = offsetof(struct path_record, since);
    struct path_record r = {0};

    if (version >= 2) {
        memcpy(&r, from, sizeof r);
        return r;
    }
    memcpy(&r, from, head);
    from += head;
    for (int k = 0; k < PATH_KEPT; k++, from += V1_KEYFRAME_BYTES)
        memcpy(&r.keyframe[k], from, V1_KEYFRAME_BYTES);
    memcpy(r.order, from, sizeof r - offsetof(struct path_record, order));
    return r;
}

struct path_record path_record_of(const struct track *t, const struct path *p)
{
    struct path_record r = {.T = p->T,
                            .bias = p->bias,
                            .since = p->since,
                            .path_frames = p->n_frames,
                            .n_kept = p->n_kept,
                            .track_frames = t->n_frames,
                            .next_id = t->next_id,
                            .n_live = t->n_live,
                            .n_new = t->n_new,
                            .shift_x = t->shift_x,
                            .shift_y = t->shift_y};

    memcpy(r.keyframe, p->keyframe, sizeof r.keyframe);
    memcpy(r.order, p->order, sizeof r.order);
    return r;
}

void path_record_to(struct track *t, struct path *p, const struct path_record *r)
{
    p->T = r->T;
    p->bias = r->bias;
    p->since = r->since;
    p->n_frames = r->path_frames;
    p->n_kept = r->n_kept;
    memcpy(p->keyframe, r->keyframe, sizeof p->keyframe);
    memcpy(p->order, r->order, sizeof p->order);
    t->n_frames = r->track_frames;
    t->next_id = r->next_id;
    t->n_live = r->n_live;
    t->n_new = r->n_new;
    t->shift_x = r->shift_x;
    t->shift_y = r->shift_y;
}

uint8_t *path_record_pyramid(const struct track *t)
{
    return t->pyramid[(t->n_frames + 1) % 2];
}

static int rotation_valid(const double r[9])
{
    double det;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            double dot =
                r[3 * i] * r[3 * j] + r[3 * i + 1] * r[3 * j + 1] + r[3 * i + 2] * r[3 * j + 2];
            if (!(fabs(dot - (i == j)) <= 1e-3))
                return 0;
        }
    det = r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6]) +
          r[2] * (r[3] * r[7] - r[4] * r[6]);
    return det > 0.0;
}

static int pose_valid(const struct path_pose *T)
{
    for (int i = 0; i < 3; i++)
        if (!(fabs(T->t[i]) <= FAR_M))
            return 0;
    return rotation_valid(T->r);
}

/* An unknown turn may be any. */
static int turn_valid(const struct path_turn *t)
{
    return t->variance == 0.0 ||
           (t->variance >= 1e-9 && t->variance <= 1e9 && rotation_valid(t->r));
}

/* Keyframes fill their places from the first one on. */
static int keyframes_valid(const struct path_record *r)
{
    uint32_t places = 0;

    if (r->n_kept > PATH_KEPT)
        return 0;
    for (uint32_t k = 0; k < r->n_kept; k++) {
        if (r->order[k] >= r->n_kept || !pose_valid(&r->keyframe[k].T) ||
            !(fabs(r->keyframe[k].bias) <= 100.0) || !turn_valid(&r->keyframe[k].turn))
            return 0;
        places |= 1u << r->order[k];
    }
    return places == (1u << r->n_kept) - 1 && (r->path_frames == 0) == (r->n_kept == 0);
}

static int slot_valid(const struct track_slot *s, const struct path_record *r,
                      const struct track *like)
{
    return s->id == 0 || (s->id < r->next_id && s->born < r->track_frames && s->x >= 0.0f &&
                          s->y >= 0.0f && s->x < (float)like->w && s->y < (float)like->h);
}

static int landmark_valid(const struct path_landmark *m, const struct path_record *r,
                          const struct track *like)
{
    if (m->kept >> r->n_kept)
        return 0;
    for (int i = 0; i < 3; i++)
        if (!(fabs(m->p[i]) <= 1e9))
            return 0;
    for (uint32_t k = 0; k < PATH_KEPT; k++) {
        const struct path_seen *o = &m->seen[k];
        if (m->kept >> k & 1u && !(o->x >= 0.0f && o->x < (float)like->w && o->y >= 0.0f &&
                                   o->y < (float)like->h && fabsf(o->log_d) <= 100.0f))
            return 0;
    }
    return 1;
}

int path_record_valid(const struct path_record *r, const struct track *like, const uint8_t *slots,
                      const uint8_t *landmarks)
{
    if (!pose_valid(&r->T) || !turn_valid(&r->since) || !(fabs(r->bias) <= 100.0) ||
        !keyframes_valid(r) || r->next_id == 0 || !(fabsf(r->shift_x) <= (float)like->w) ||
        !(fabsf(r->shift_y) <= (float)like->h) || r->path_frames > r->track_frames)
        return 0;
    for (int i = 0; i < like->n_slots; i++) {
        struct track_slot s;
        memcpy(&s, slots + (size_t)i * sizeof s, sizeof s);
        if (!slot_valid(&s, r, like))
            return 0;
    }
    for (int i = 0; i < 2 * like->n_slots; i++) {
        struct path_landmark m;
        memcpy(&m, landmarks + (size_t)i * sizeof m, sizeof m);
        if (!landmark_valid(&m, r, like))
            return 0;
    }
    return 1;
}
