#include "daemon/session/sources.h"

#include "daemon/session/queue.h"
#include "proto/bytes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames of a source between sources_take() and their end: those in the queue, and one for each
 * connection that is pushing. */
#define UNDER_WAY (QUEUE_FRAMES_MAX + 16)

#define NAME_BYTES 32
#define HEAD_BYTES 8     /* sources u32, submaps u32 */
#define SOURCE_BYTES 52u /* name, last_seq u64, any and breaks u32, world_epoch u32, verdicts u32 */
#define VERDICT_BYTES 64u
#define SUBMAP_BYTES 8u /* source u32, world_epoch u32 */

#define BREAKS_SHIFT 2 /* in the word of `any`, of which earlier builds read the lowest two bits */
#define BREAKS_END (1u << (32 - BREAKS_SHIFT))

#define KEYFRAME 1u
#define PLACED 2u
#define LOST 4u

/* A frame's verdict. */
struct verdict {
    uint64_t revision, t_capture_ns;
    uint32_t submap;
    uint8_t status, reason, flags, part;
    float pose[7], quality;
    float scale, sigma; /* not kept in checkpoints */
};

struct source {
    char name[CONTROL_SOURCE_CAP]; /* "" = free */
    bool any;                      /* a frame was taken */
    /* highest used or dropped number; 0 = there is none, or frame 0 */
    uint64_t last_seq;
    bool any_seq;
    uint32_t world_epoch; /* epoch of the last taken frame */
    uint32_t breaks;      /* how often its tracking was lost or broke; below BREAKS_END */
    /* number of submaps behind the one that its last frame began; 0 = it began none */
    int begun;
    uint64_t begun_by; /* seq of that frame */
    uint64_t under_way[UNDER_WAY];
    int n_under_way;
    uint64_t highest; /* highest seq with a verdict */
    uint32_t n_verdicts;
    uint64_t *seqs; /* rings [SOURCES_VERDICTS]: n_verdicts % SOURCES_VERDICTS comes next */
    struct verdict *verdicts;
};

struct sources {
    struct source list[API_SOURCES_MAX];
    int n_submaps, most_submaps;
    struct {
        int source; /* -1: unseen */
        uint32_t epoch;
        bool cut; /* not in checkpoints: the records of its frames have it */
    } submaps[GPU_SUBMAPS_MAX];
};

int sources_new(struct sources **out, struct err *err)
{
    struct sources *s = calloc(1, sizeof(*s));

    *out = s;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for the sources of a session");
    s->most_submaps = GPU_SUBMAPS_MAX;
    return 0;
}

void sources_limit_submaps(struct sources *s, int most)
{
    s->most_submaps = most;
}

static void source_clear(struct source *at)
{
    free(at->seqs);
    free(at->verdicts);
    memset(at, 0, sizeof(*at));
}

void sources_free(struct sources **sources)
{
    struct sources *s = *sources;

    if (!s)
        return;
    for (int i = 0; i < API_SOURCES_MAX; i++)
        source_clear(&s->list[i]);
    free(s);
    *sources = NULL;
}

size_t sources_bytes(void)
{
    return sizeof(struct sources) +
           API_SOURCES_MAX * SOURCES_VERDICTS * (sizeof(uint64_t) + sizeof(struct verdict));
}

static int source_add(struct source *at, const char *name, struct err *err)
{
    source_clear(at);
    at->seqs = calloc(SOURCES_VERDICTS, sizeof(*at->seqs));
    at->verdicts = calloc(SOURCES_VERDICTS, sizeof(*at->verdicts));
    if (!at->seqs || !at->verdicts) {
        source_clear(at);
        return err_set(err, ERR_MEMORY, "no memory for one more source");
    }
    snprintf(at->name, sizeof(at->name), "%s", name);
    return 0;
}

int sources_join(struct sources *s, const char *name, uint32_t connected, struct err *err)
{
    int place = -1, rc;

    for (int i = API_SOURCES_MAX - 1; i >= 0; i--) {
        if (strcmp(s->list[i].name, name) == 0)
            return i;
        if (!s->list[i].any && !(connected >> i & 1))
            place = i;
    }
    if (place < 0)
        return err_at(err, ERR_LIMIT, "/source", "%d sources feed this session already",
                      API_SOURCES_MAX);
    rc = source_add(&s->list[place], name, err);
    return rc ? rc : place;
}

const char *sources_name(const struct sources *s, int source)
{
    return s->list[source].name;
}

int sources_info(const struct sources *s, struct api_source *info)
{
    int n = 0;

    for (int i = 0; i < API_SOURCES_MAX; i++) {
        const struct source *at = &s->list[i];

        memset(&info[i], 0, sizeof(info[i]));
        snprintf(info[i].name, sizeof(info[i].name), "%s", at->name);
        info[i].any_seq = at->any_seq;
        info[i].last_seq = at->last_seq;
        for (int k = 0; k < at->n_under_way; k++)
            if (!info[i].any_seq || at->under_way[k] > info[i].last_seq) {
                info[i].any_seq = true;
                info[i].last_seq = at->under_way[k];
            }
        info[i].world_epoch = at->world_epoch;
        if (at->name[0])
            n = i + 1;
    }
    return n;
}

bool sources_has_submap(const struct sources *s, uint32_t submap)
{
    return (int64_t)submap < s->n_submaps && s->submaps[submap].source >= 0;
}

/* Returns the newest submap below `end` of an epoch; -1: there is none. */
static int submap_newest(const struct sources *s, int source, uint32_t epoch, int end)
{
    int i = end - 1;

    while (i >= 0 && (s->submaps[i].source != source || s->submaps[i].epoch != epoch))
        i--;
    return i;
}

int sources_submap_before(const struct sources *s, uint32_t submap)
{
    if (!sources_has_submap(s, submap))
        return -1;
    return submap_newest(s, s->submaps[submap].source, s->submaps[submap].epoch, (int)submap);
}

int sources_n_submaps(const struct sources *s)
{
    return s->n_submaps;
}

int sources_submaps(const struct sources *s, struct api_submap *list)
{
    int n = 0;

    for (int k = 0; k < s->n_submaps; k++) {
        if (s->submaps[k].source < 0)
            continue;
        memset(&list[n], 0, sizeof(list[n]));
        list[n].submap = (uint32_t)k;
        list[n].world_epoch = s->submaps[k].epoch;
        snprintf(list[n++].source, sizeof(list->source), "%s", s->list[s->submaps[k].source].name);
    }
    return n;
}

/* ------------------------------------------------------------------------- frames */

static int find_verdict(const struct source *at, uint64_t seq)
{
    uint32_t n = at->n_verdicts < SOURCES_VERDICTS ? at->n_verdicts : SOURCES_VERDICTS;

    if (seq > at->highest) /* clients that count up come here */
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (at->seqs[i] == seq)
            return (int)i;
    return -1;
}

bool sources_verdict(const struct sources *s, int source, uint64_t seq, uint64_t t_capture_ns,
                     struct control_ack *ack)
{
    const struct source *at = &s->list[source];
    const struct verdict *v;
    int i = find_verdict(at, seq);

    if (i < 0)
        return false;
    v = &at->verdicts[i];
    if (v->status == CONTROL_REFUSED && v->t_capture_ns != t_capture_ns)
        return false;
    *ack = (struct control_ack){.seq = seq,
                                .status = (enum control_status)v->status,
                                .reason = (enum control_reason)v->reason,
                                .part = v->part,
                                .keyframe = (v->flags & KEYFRAME) != 0,
                                .placed = (v->flags & PLACED) != 0,
                                .lost = (v->flags & LOST) != 0,
                                .submap = v->submap,
                                .revision = v->revision,
                                .quality = v->quality,
                                .scale = v->scale,
                                .sigma = v->sigma};
    memcpy(ack->pose, v->pose, sizeof(ack->pose));
    return true;
}

/* Returns the submap of an epoch; -1: there is no room for one more. */
static int source_submap(struct sources *s, int source, uint32_t epoch, enum sources_step step)
{
    int i = submap_newest(s, source, epoch, s->n_submaps);

    if (i >= 0 &&
        (step == SOURCES_ON || step == SOURCES_BROKE || s->n_submaps >= SOURCES_JUMPED_MAX))
        return i;
    if (s->n_submaps >= s->most_submaps)
        return -1;
    s->submaps[s->n_submaps].source = source;
    s->submaps[s->n_submaps].epoch = epoch;
    s->submaps[s->n_submaps].cut = i >= 0 && step == SOURCES_CUT;
    return s->n_submaps++;
}

enum control_reason sources_take(struct sources *s, int source, uint64_t seq, uint32_t world_epoch,
                                 enum sources_step step, struct sources_submap *out)
{
    struct source *at = &s->list[source];
    int submap, n_submaps = s->n_submaps;

    if (at->any_seq && seq <= at->last_seq)
        return CONTROL_DUPLICATE;
    for (int i = 0; i < at->n_under_way; i++)
        if (seq <= at->under_way[i])
            return CONTROL_DUPLICATE;
    if (at->n_under_way == UNDER_WAY)
        return CONTROL_OVERLOAD;
    submap = source_submap(s, source, world_epoch, step);
    if (submap < 0)
        return CONTROL_WORLDS;
    if ((step == SOURCES_BROKE || step == SOURCES_JUMPED) && s->n_submaps == n_submaps)
        sources_add_break(s, source);
    out->submap = (uint32_t)submap;
    out->cut = s->submaps[submap].cut;
    out->breaks = at->breaks;
    at->any = true;
    at->world_epoch = world_epoch;
    at->begun = s->n_submaps > n_submaps ? s->n_submaps : 0;
    at->begun_by = seq;
    at->under_way[at->n_under_way++] = seq;
    return CONTROL_REASON_NONE;
}

void sources_add_break(struct sources *s, int source)
{
    struct source *at = &s->list[source];

    at->breaks = (at->breaks + 1) % BREAKS_END;
}

static void source_leave(struct source *at, uint64_t seq)
{
    for (int i = 0; i < at->n_under_way; i++)
        if (at->under_way[i] == seq) {
            at->under_way[i] = at->under_way[--at->n_under_way];
            return;
        }
}

void sources_untake(struct sources *s, int source, uint64_t seq)
{
    struct source *at = &s->list[source];

    source_leave(at, seq);
    if (at->begun == s->n_submaps && at->begun && at->begun_by == seq)
        s->n_submaps--;
    at->begun = 0;
}

void sources_retake(struct sources *s, int source, uint64_t seq)
{
    struct source *at = &s->list[source];

    if (at->n_under_way < UNDER_WAY)
        at->under_way[at->n_under_way++] = seq;
}

static struct verdict *place_of(struct source *at, uint64_t seq)
{
    int i = find_verdict(at, seq);

    if (i < 0)
        i = (int)(at->n_verdicts++ % SOURCES_VERDICTS);
    at->seqs[i] = seq;
    if (seq > at->highest)
        at->highest = seq;
    return &at->verdicts[i];
}

void sources_end(struct sources *s, int source, uint64_t t_capture_ns,
                 const struct control_ack *ack)
{
    struct source *at = &s->list[source];
    struct verdict *v;

    if (!at->name[0])
        return; /* the journal names none */
    source_leave(at, ack->seq);
    v = place_of(at, ack->seq);
    *v = (struct verdict){.revision = ack->revision,
                          .t_capture_ns = t_capture_ns,
                          .submap = ack->submap,
                          .status = (uint8_t)ack->status,
                          .reason = (uint8_t)ack->reason,
                          .flags = (uint8_t)((ack->keyframe ? KEYFRAME : 0) |
                                             (ack->placed ? PLACED : 0) | (ack->lost ? LOST : 0)),
                          .part = ack->part,
                          .quality = ack->quality,
                          .scale = ack->scale,
                          .sigma = ack->sigma};
    memcpy(v->pose, ack->pose, sizeof(v->pose));
    at->any = true;
    if (ack->status == CONTROL_REFUSED || (at->any_seq && ack->seq <= at->last_seq))
        return;
    at->any_seq = true;
    at->last_seq = ack->seq;
}

int sources_learn(struct sources *s, const struct sources_record *r, struct err *err)
{
    struct source *at = &s->list[r->source];
    int rc = 0;

    if (!at->any)
        rc = source_add(at, r->name, err);
    if (rc)
        return rc;
    for (; s->n_submaps <= (int)r->submap; s->n_submaps++)
        s->submaps[s->n_submaps].source = -1;
    if (s->submaps[r->submap].source < 0) {
        s->submaps[r->submap].source = r->source;
        s->submaps[r->submap].epoch = r->world_epoch;
        s->submaps[r->submap].cut = r->cut;
    }
    if (strcmp(at->name, r->name) != 0 || s->submaps[r->submap].source != r->source ||
        s->submaps[r->submap].epoch != r->world_epoch)
        return err_set(err, ERR_INPUT, "its journal contradicts itself on its sources");
    at->any = true;
    at->world_epoch = r->world_epoch;
    at->breaks = r->breaks % BREAKS_END;
    return 0;
}

/* ------------------------------------------------------------------------- as bytes */

size_t sources_state_bytes(void)
{
    return HEAD_BYTES +
           API_SOURCES_MAX * (SOURCE_BYTES + (size_t)SOURCES_VERDICTS * VERDICT_BYTES) +
           GPU_SUBMAPS_MAX * SUBMAP_BYTES;
}

static void put_verdict(struct bytes_writer *w, uint64_t seq, const struct verdict *v)
{
    bytes_put_u64(w, seq);
    bytes_put_u64(w, v->revision);
    bytes_put_u64(w, v->t_capture_ns);
    bytes_put_u32(w, v->submap);
    bytes_put_u32(w, v->status | (uint32_t)v->reason << 8 | (uint32_t)v->flags << 16 |
                         (uint32_t)v->part << 24);
    for (int i = 0; i < 7; i++)
        bytes_put_f32(w, v->pose[i]);
    bytes_put_f32(w, v->quality);
}

/* Packs the verdicts, the oldest first. */
static void put_source(struct bytes_writer *w, const struct source *at)
{
    uint32_t n = at->n_verdicts < SOURCES_VERDICTS ? at->n_verdicts : SOURCES_VERDICTS;

    for (int i = 0; i < NAME_BYTES; i++) /* a source without frames may have left its place later */
        bytes_put_u8(w, at->any ? (uint8_t)at->name[i] : 0);
    bytes_put_u64(w, at->last_seq);
    bytes_put_u32(w, at->any ? 1u | (at->any_seq ? 2u : 0) | at->breaks << BREAKS_SHIFT : 0);
    bytes_put_u32(w, at->world_epoch);
    bytes_put_u32(w, n);
    for (uint32_t k = at->n_verdicts - n; k != at->n_verdicts; k++)
        put_verdict(w, at->seqs[k % SOURCES_VERDICTS], &at->verdicts[k % SOURCES_VERDICTS]);
}

int sources_save(const struct sources *s, uint8_t *buf, size_t cap, size_t *len, struct err *err)
{
    struct bytes_writer w = bytes_writer(buf, cap);

    bytes_put_u32(&w, API_SOURCES_MAX);
    bytes_put_u32(&w, (uint32_t)s->n_submaps);
    for (int i = 0; i < API_SOURCES_MAX; i++)
        put_source(&w, &s->list[i]);
    for (int i = 0; i < s->n_submaps; i++) {
        bytes_put_u32(&w, (uint32_t)s->submaps[i].source);
        bytes_put_u32(&w, s->submaps[i].epoch);
    }
    *len = w.bad ? 0 : w.at;
    return w.bad ? err_set(err, ERR_LIMIT, "sources do not fit %zu bytes", cap) : 0;
}

/* Returns false if it is not valid. */
static bool get_verdict(struct bytes_reader *r, struct control_ack *ack, uint64_t *t_capture_ns)
{
    uint32_t word;
    bool ok;

    *ack = (struct control_ack){.seq = bytes_get_u64(r)};
    ack->revision = bytes_get_u64(r);
    *t_capture_ns = bytes_get_u64(r);
    ack->submap = bytes_get_u32(r);
    word = bytes_get_u32(r);
    ack->status = (enum control_status)(word & 0xff);
    ack->reason = (enum control_reason)(word >> 8 & 0xff);
    ack->keyframe = (word >> 16 & KEYFRAME) != 0;
    ack->placed = (word >> 16 & PLACED) != 0;
    ack->lost = (word >> 16 & LOST) != 0;
    ack->part = (uint8_t)(word >> 24);
    ok = (word & 0xff) <= CONTROL_REFUSED && (word >> 8 & 0xff) < CONTROL_REASONS;
    for (int i = 0; i < 7; i++) {
        ack->pose[i] = bytes_get_f32(r);
        ok &= isfinite(ack->pose[i]) != 0;
    }
    ack->quality = bytes_get_f32(r);
    return ok && ack->quality >= 0 && ack->quality <= 1 && !r->bad;
}

/* Returns 0; ERR_INPUT without a text; ERR_MEMORY. */
static int get_source(struct sources *s, int i, struct bytes_reader *r, struct err *err)
{
    const uint8_t *name = bytes_get_span(r, NAME_BYTES);
    char text[NAME_BYTES + 1] = "";
    struct source *at = &s->list[i];
    uint64_t last_seq = bytes_get_u64(r);
    uint32_t any = bytes_get_u32(r), epoch = bytes_get_u32(r), n = bytes_get_u32(r);
    struct control_ack ack;
    uint64_t t;
    int rc = 0;

    if (r->bad || n > SOURCES_VERDICTS)
        return ERR_INPUT;
    memcpy(text, name, NAME_BYTES);
    for (int k = 0; k < i && text[0]; k++)
        if (strcmp(s->list[k].name, text) == 0)
            return ERR_INPUT;
    if (text[0])
        rc = (any & 1) && control_source_valid(text) ? source_add(at, text, err) : ERR_INPUT;
    else if (n || any)
        rc = ERR_INPUT;
    for (uint32_t k = 0; k < n && rc == 0; k++) {
        if (!get_verdict(r, &ack, &t))
            return ERR_INPUT;
        sources_end(s, i, t, &ack);
    }
    if (rc)
        return rc;
    at->any = (any & 1) != 0;
    at->any_seq = (any & 2) != 0;
    at->breaks = any >> BREAKS_SHIFT;
    at->last_seq = last_seq;
    at->world_epoch = epoch;
    return 0;
}

int sources_load(struct sources *s, const uint8_t *buf, size_t len, struct err *err)
{
    struct bytes_reader r = bytes_reader(buf, len);
    uint32_t n = bytes_get_u32(&r), n_submaps = bytes_get_u32(&r);
    int rc = n == API_SOURCES_MAX && n_submaps <= GPU_SUBMAPS_MAX ? 0 : ERR_INPUT;

    for (int i = 0; i < API_SOURCES_MAX && rc == 0; i++)
        rc = get_source(s, i, &r, err);
    for (uint32_t i = 0; i < n_submaps && rc == 0; i++) {
        s->submaps[i].source = bytes_get_i32(&r);
        s->submaps[i].epoch = bytes_get_u32(&r);
        if (s->submaps[i].source < -1 || s->submaps[i].source >= API_SOURCES_MAX)
            rc = ERR_INPUT;
        s->n_submaps = (int)i + 1;
    }
    if (rc == 0 && (r.bad || bytes_left(&r)))
        rc = ERR_INPUT;
    return rc == ERR_INPUT ? err_set(err, rc, "not the sources of a session, or cut short") : rc;
}
