/* Figures and pictures of a session for clients and metrics. */
#include "daemon/session/session_info.h"

#include "daemon/clock.h"
#include "daemon/session/session_internal.h"
#include "daemon/session/tenant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAMERA_FPS 30.0f /* the rate of a session without frames */
#define YOUNG_S 60.0

/* Returns the frames used a second, over the last two seconds. */
static float frame_rate(const struct session *s)
{
    uint64_t now = clock_us();
    uint32_t n = s->n_used_us < SESSION_FPS_FRAMES ? s->n_used_us : SESSION_FPS_FRAMES;
    uint32_t recent = 0;
    uint64_t first = now;

    for (uint32_t i = 0; i < n; i++) {
        if (now - s->used_us[i] > 2000000)
            continue;
        recent++;
        if (s->used_us[i] < first)
            first = s->used_us[i];
    }
    if (n == SESSION_FPS_FRAMES && recent == n) /* more frames than are kept */
        return (float)recent * 1e6f / (float)(now - first + 1);
    return (float)recent / 2.0f;
}

float session_load(struct session *s)
{
    bool young = clock_unix_s() - s->setup.created_s < YOUNG_S;
    float fps;

    lock_take(&s->lock);
    fps = frame_rate(s);
    if (s->n_used_us == 0 && young && s->state != SESSION_CLOSED && !s->fault[0])
        fps = CAMERA_FPS;
    lock_give(&s->lock);
    return fps;
}

static void fill_locked(struct session *s, struct session_info *info)
{
    struct api_views views[API_SOURCES_MAX];

    info->options.net_w = s->kept.net_w;
    info->options.net_h = s->kept.net_h;
    info->state = s->state;
    snprintf(info->fault, sizeof(info->fault), "%s", s->fault);
    snprintf(info->damaged, sizeof(info->damaged), "%s", s->damaged);
    info->changed_s = s->changed_s;
    info->keyframes_kept = s->kept.keyframes_kept;
    info->model_points = s->kept.model_points;
    info->model_stable = s->kept.model_stable;
    info->counts = s->kept.counts;
    info->fps = frame_rate(s);
    info->latency_ms = s->latency_ms;
    info->has_position = s->kept.has_position;
    info->position = s->kept.position;
    info->places = places_mix(&s->places);
    (void)sources_info(s->sources, info->sources);
    for (int i = 0; i < API_SOURCES_MAX; i++) {
        info->sources[i].connected = (session_connected(s) >> i & 1) != 0;
        info->sources[i].views = views[i] =
            views_told_say(&s->views[i], s->setup.options.views != SESSION_VIEWS_OFF);
    }
    info->views = views_told_all(views, API_SOURCES_MAX);
    info->bad_pose = s->bad_pose;
    info->bundle = s->bundle_told;
    info->tracks = s->tracks;
    info->lost_frames = s->lost_frames;
    info->scale = scale_told_say(&s->scale);
    for (int i = 0; i < s->n_clients; i++) {
        info->ingest_clients += s->clients[i]->started && s->clients[i]->role == CONTROL_INGEST;
        info->view_clients += s->clients[i]->started && s->clients[i]->role == CONTROL_VIEW;
    }
}

void session_tell_bundle(struct session *s, const struct api_bundle *told)
{
    lock_take(&s->lock);
    s->bundle_told = *told;
    lock_give(&s->lock);
}

void session_get_info(struct session *s, struct session_info *info)
{
    struct mirror_summary cloud;

    memset(info, 0, sizeof(*info));
    memcpy(info->id, s->setup.id, sizeof(info->id));
    snprintf(info->owner, sizeof(info->owner), "%s", tenant_name(s->setup.tenant));
    info->options = s->setup.options;
    info->created_s = s->setup.created_s;
    info->epoch = s->setup.epoch;
    info->memory_bytes = s->setup.memory_bytes;
    lock_take(&s->lock);
    fill_locked(s, info);
    lock_give(&s->lock);
    mirror_summary(s->mirror, &cloud); /* after the state: a closed session's cloud is its last */
    info->revision = cloud.revision;
    info->points = cloud.points;
    info->hash = cloud.hash;
    info->blocks = cloud.blocks;
}

int session_keep_tokens(struct session *s, const struct api_token *tokens, int n, struct err *err)
{
    int rc = 0;

    lock_take(&s->lock);
    if (n < 0 || n > SESSION_TOKENS_MAX)
        rc = err_set(err, ERR_LIMIT, "a session has at most %d tokens", SESSION_TOKENS_MAX);
    for (int i = 0; i < n && rc == 0; i++)
        s->tokens[i] = tokens[i];
    s->n_tokens = rc ? s->n_tokens : n;
    lock_give(&s->lock);
    return rc;
}

int session_get_tokens(struct session *s, struct api_token tokens[SESSION_TOKENS_MAX])
{
    int n;

    lock_take(&s->lock);
    n = s->n_tokens;
    memcpy(tokens, s->tokens, sizeof(s->tokens));
    lock_give(&s->lock);
    return n;
}

void session_set_position(struct session *s, const struct frame *f)
{
    const struct frame_part *part = frame_find(f, FRAME_GPS);
    struct frame_position p;

    if (!part || !frame_position_get(&p, part->data))
        return;
    lock_take(&s->lock);
    s->kept.has_position = true;
    s->kept.position = p;
    lock_give(&s->lock);
}

void session_set_preview(struct session *s, const float *depth, uint64_t seq)
{
    size_t n;

    lock_take(&s->lock);
    n = (size_t)s->kept.net_w * (size_t)s->kept.net_h;
    if (!s->preview)
        s->preview = malloc(n * sizeof(*s->preview));
    if (s->preview)
        memcpy(s->preview, depth, n * sizeof(*s->preview));
    s->preview_seq = seq;
    lock_give(&s->lock);
}

int session_get_depth(struct session *s, float *buf, size_t cap, int *w, int *h, uint64_t *seq,
                      struct err *err)
{
    size_t n;
    int rc = 0;

    lock_take(&s->lock);
    n = (size_t)s->kept.net_w * (size_t)s->kept.net_h;
    if (!s->setup.options.preview)
        rc = err_set(err, ERR_STATE, "the session was created without preview");
    else if (!s->preview)
        rc = err_set(err, ERR_NOT_FOUND, "no frame was used yet");
    else if (cap && n > cap)
        rc = err_set(err, ERR_LIMIT, "%zu pixels, room for %zu", n, cap);
    if (rc == 0) {
        if (cap)
            memcpy(buf, s->preview, n * sizeof(*buf));
        *w = s->kept.net_w;
        *h = s->kept.net_h;
        *seq = s->preview_seq;
    }
    lock_give(&s->lock);
    return rc;
}
