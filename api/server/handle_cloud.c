/* handle_cloud.c - results of a session: the cloud, the trajectory, the latest depth map */
#include "api/server/pictures.h"
#include "api/server/routes.h"

#include "proto/geom/pose.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------- cloud */

struct export_reader {
    const struct core_ops *ops;
    struct core_export *e;
};

static long export_read(void *ctx, uint64_t offset, uint8_t *buf, size_t cap)
{
    struct export_reader *reader = ctx;
    return (long)reader->ops->export_read(reader->e, offset, buf, cap);
}

static void export_close(void *ctx)
{
    struct export_reader *reader = ctx;
    reader->ops->export_close(reader->e);
    free(reader);
}

/* Tells whether the client has this cloud already. If-None-Match is "*" or a list of quoted tags,
 * perhaps with W/. */
static bool client_has(const struct http_request *r, uint64_t hash)
{
    char tag[20];

    if (!r->if_none_match)
        return false;
    snprintf(tag, sizeof tag, "\"%016" PRIx64 "\"", hash);
    return strcmp(r->if_none_match, "*") == 0 || strstr(r->if_none_match, tag) != NULL;
}

void handle_cloud_export(struct http_request *r)
{
    const struct core_ops *ops = r->config->ops;
    struct session_info info = {0};
    struct export_reader *reader;
    struct err err = {0};
    uint64_t total = 0, hash = 0;

    /* A snapshot costs memory; the hash alone may answer a conditional request. */
    if (r->if_none_match && ops->session_get(r->config->core, r->id, &info, &err) == 0 &&
        client_has(r, api_cloud_tag(info.hash, info.places, r->unplaced))) {
        answer_header(r, "ETag", "\"%016" PRIx64 "\"",
                      api_cloud_tag(info.hash, info.places, r->unplaced));
        answer_empty(r, 304);
        return;
    }
    reader = malloc(sizeof *reader);
    if (!reader) {
        answer_problem(r, PROBLEM_UNAVAILABLE, "out of memory");
        return;
    }
    reader->ops = ops;
    if (ops->export_open(r->config->core, r->id, r->who.session[0] ? "" : r->who.name, r->unplaced,
                         &reader->e, &total, &hash, &err)) {
        free(reader);
        /* too many exports, or the session is being recovered: both pass */
        answer_refusal(r, &err, 1);
        return;
    }
    r->answer.stream = (struct http_stream){
        .read = export_read, .close = export_close, .ctx = reader, .total = total};
    answer_header(r, "ETag", "\"%016" PRIx64 "\"", hash);
    answer_header(r, "Content-Disposition", "attachment; filename=\"%s.ply\"", r->id);
    answer_done(r, 200, "application/octet-stream", 0);
}

/* ------------------------------------------------------------------------------- trajectory */

#define LINE_MAX_BYTES 256 /* with a comment before it */
#define POSES_AT_ONCE 64

/* Rows are made a batch of poses at a time; text that did not fit waits in `text`. */
struct trajectory {
    const struct api_config *config;
    char id[API_ID_CAP];
    uint64_t next;
    uint32_t source, submap; /* source and submap of the last row */
    bool unplaced;           /* rows of submaps without a place are included */
    int n_submaps;
    struct api_submap submaps[API_SUBMAPS_MAX]; /* places of the submaps when the answer began */
    char text[POSES_AT_ONCE * LINE_MAX_BYTES];
    size_t len, at;
};

/* Converts a rotation matrix to a unit quaternion, w >= 0 (Shepperd: divide by the largest of the
 * four). */
static void quaternion(const float r[9], double q[4])
{
    double d[4] = {(double)r[0] - r[4] - r[8], (double)r[4] - r[0] - r[8],
                   (double)r[8] - r[0] - r[4], (double)r[0] + r[4] + r[8]};
    int best = 3;
    double s;

    for (int i = 0; i < 3; i++)
        if (d[i] > d[best])
            best = i;
    s = 0.5 / sqrt(1.0 + d[best]);
    q[best] = 0.25 / s;
    if (best == 3) {
        q[0] = (r[7] - r[5]) * s;
        q[1] = (r[2] - r[6]) * s;
        q[2] = (r[3] - r[1]) * s;
    } else {
        int i = best, j = (i + 1) % 3, k = (i + 2) % 3;
        q[j] = (r[3 * j + i] + r[3 * i + j]) * s;
        q[k] = (r[3 * k + i] + r[3 * i + k]) * s;
        q[3] = (r[3 * k + j] - r[3 * j + k]) * s;
    }
    if (q[3] < 0)
        for (int i = 0; i < 4; i++)
            q[i] = -q[i];
}

static size_t line(char *out, size_t cap, const struct session_pose *p)
{
    double q[4];
    int n;

    quaternion(p->T_wc.r, q);
    n = snprintf(out, cap, "%" PRIu64 ".%09" PRIu64 " %.6f %.6f %.6f %.7f %.7f %.7f %.7f\n",
                 p->t_capture_ns / 1000000000u, p->t_capture_ns % 1000000000u, (double)p->T_wc.t[0],
                 (double)p->T_wc.t[1], (double)p->T_wc.t[2], q[0], q[1], q[2], q[3]);
    return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}

/* Writes a comment if the rows of another source or submap begin. */
static size_t say_whose(struct trajectory *t, char *out, size_t cap, const struct session_pose *p)
{
    struct session_info info;
    int n;

    if (p->source == t->source && p->submap == t->submap)
        return 0;
    if (t->config->ops->session_get(t->config->core, t->id, &info, NULL))
        return 0;
    t->source = p->source;
    t->submap = p->submap;
    n = snprintf(out, cap, "# source %s, submap %" PRIu32 "\n",
                 info.sources[p->source % API_SOURCES_MAX].name, p->submap);
    return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}

/* Moves a pose into the session's world; returns false if its submap has no place and was not asked
 * for. */
static bool pose_place(const struct trajectory *t, struct session_pose *p)
{
    struct rigid T;

    for (int i = 0; i < t->n_submaps; i++)
        if (t->submaps[i].submap == p->submap && t->submaps[i].placed) {
            if (pose_from_numbers(&T, t->submaps[i].pose, INFINITY, NULL) == 0)
                p->T_wc = rigid_mul(&T, &p->T_wc);
            return true;
        }
    return t->unplaced || p->submap == 0;
}

/* Makes the next rows; if it writes nothing, there are none left. */
static int fill(struct trajectory *t, struct err *err)
{
    struct session_pose poses[POSES_AT_ONCE];
    int n, rc;

    t->at = t->len = 0;
    do {
        n = 0;
        rc = t->config->ops->trajectory(t->config->core, t->id, t->next, poses, POSES_AT_ONCE, &n,
                                        err);
        if (rc)
            return rc;
        for (int i = 0; i < n; i++) {
            if (!pose_place(t, &poses[i]))
                continue;
            t->len += say_whose(t, t->text + t->len, sizeof t->text - t->len, &poses[i]);
            t->len += line(t->text + t->len, sizeof t->text - t->len, &poses[i]);
        }
        t->next += (uint64_t)n;
    } while (n && t->len == 0);
    return 0;
}

static long trajectory_read(void *ctx, uint64_t offset, uint8_t *buf, size_t cap)
{
    struct trajectory *t = ctx;
    size_t n;

    (void)offset; /* the library asks for each piece once, in order */
    if (t->at == t->len && fill(t, NULL))
        return -1; /* the session was deleted: the client sees that the answer is cut */
    n = t->len - t->at < cap ? t->len - t->at : cap;
    memcpy(buf, t->text + t->at, n);
    t->at += n;
    return (long)n;
}

void handle_cloud_trajectory(struct http_request *r)
{
    struct trajectory *t = calloc(1, sizeof *t);
    struct err err = {0};

    if (!t) {
        answer_problem(r, PROBLEM_UNAVAILABLE, "out of memory");
        return;
    }
    t->config = r->config;
    memcpy(t->id, r->id, sizeof t->id);
    t->unplaced = r->unplaced;
    if (r->config->ops->submaps(r->config->core, r->id, t->submaps, &t->n_submaps, &err) ||
        fill(t, &err)) {
        free(t);
        answer_refusal(r, &err, 1);
        return;
    }
    if (t->len + 64 < sizeof t->text) { /* the comment goes before the first poses */
        static const char head[] = "# seconds tx ty tz qx qy qz qw (camera to world, OpenCV)\n";
        memmove(t->text + sizeof head - 1, t->text, t->len);
        memcpy(t->text, head, sizeof head - 1);
        t->len += sizeof head - 1;
    }
    r->answer.stream = (struct http_stream){
        .read = trajectory_read, .close = free, .ctx = t, .total = HTTP_UNKNOWN};
    answer_done(r, 200, "text/plain; charset=utf-8", 0);
}

/* ------------------------------------------------------------------------------- depth */

void handle_cloud_depth(struct http_request *r)
{
    pictures_ask(r->pictures, r);
}
