#include "api/ctl/reconctl_push.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSIONS_MAX 256
#define RETRY_S 60 /* how long a server takes to restart and to read its sessions */
#define AT(field) offsetof(struct reconctl_push_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"output", 'O', "FILE", RECONCTL_TEXT, AT(output), 0, 0,
     "Write the cloud as PLY"},
    {"trajectory", 0, "FILE", RECONCTL_TEXT, AT(trajectory), 0, 0,
     "Write the camera's path in the TUM format"},
    {"contact-sheet", 0, "FILE", RECONCTL_TEXT, AT(sheet), 0, 0,
     "Write rows of input, depth and cloud as PNG"},
    {"sheet-rows", 0, "N", RECONCTL_INT, AT(sheet_rows), 1, 12,
     "Rows of --contact-sheet (5)"},
    {"fps", 'r', "N", RECONCTL_REAL, AT(fps), 0.01, 1000,
     "Frames a second: a video is resampled, else it sets the time between frames"},
    {"realtime", 0, NULL, RECONCTL_FLAG, AT(realtime), 0, 0,
     "Send at that rate as a camera does, leaving out what the window does not take"},
    {"frames", 'n', "N", RECONCTL_INT, AT(frames), 1, 2000000000,
     "Stop after this many frames"},
    {"loop", 0, NULL, RECONCTL_FLAG, AT(loop), 0, 0,
     "Begin again at the end (with --frames, or until Ctrl-C)"},
    {"poses", 0, "FILE", RECONCTL_TEXT, AT(poses), 0, 0,
     "Poses of a folder's frames, or none (default: its poses.txt)"},
    {"camera", 0, "FX,FY,CX,CY", RECONCTL_TEXT, AT(camera), 0, 0,
     "Intrinsics in pixels of the pictures as they are sent"},
    {"net", 0, "WxH", RECONCTL_SIZE, AT(asked.net_w), 32, SESSION_NET_SIDE_MAX,
     "Size of the networks' input"},
    {"option", 'o', "KEY=VALUE", RECONCTL_LIST, AT(option), 0, 0,
     "Any option of POST /v1/sessions (step_m=0.002, camera.fx=500)"},
    {"sessions", 's', "N", RECONCTL_INT, AT(sessions), 1, SESSIONS_MAX,
     "Push the source into N sessions at once; files are written of the first"},
    {"keep", 'k', NULL, RECONCTL_FLAG, AT(keep), 0, 0,
     "Leave the session on the server instead of deleting it"},
    {"codec", 0, "NAME", RECONCTL_TEXT, AT(codec), 0, 0,
     "Take blocks as raw, deflate-raw or zstd only"},
    {"retry", 0, "SECONDS", RECONCTL_REAL, AT(retry_s), 0, 86400,
     "Connect again while nothing has worked for less than this (60); 0 = give up at once"},
    {"start", 0, NULL, RECONCTL_FLAG, AT(start), 0, 0,
     "Start a recond of our own for this run, even if one answers"},
    {"pause-reading", 0, "SECONDS", RECONCTL_REAL, AT(pause_s), 0, 3600,
     "Test: the first session stops reading for a while"},
    {0},
};
/* clang-format on */

static void set_defaults(void *arguments)
{
    ((struct reconctl_push_options *)arguments)->retry_s = RETRY_S;
}

static void job_view(const struct reconctl_push_job *jobs, int n, uint64_t *points, double *bpp)
{
    uint64_t bytes = 0, received = 0;

    *points = 0;
    for (int i = 0; i < n; i++) {
        *points += atomic_load(&jobs[i].points);
        bytes += atomic_load(&jobs[i].block_bytes);
        received += atomic_load(&jobs[i].points_received);
    }
    *bpp = received ? (double)bytes / (double)received : 0;
}

struct watch {
    struct reconctl_push_job *jobs;
    int n;
    struct reconctl_meter *meter;
    bool json, terminal;
    double shown_s;
};

/* Shows progress while the jobs run: a bar on a terminal, a line every five seconds elsewhere. */
static void show(struct watch *w, bool last)
{
    uint64_t points, total = 0;
    double bpp, now = reconctl_now_s();
    struct reconctl_meter_view v;
    bool away = false;

    if (!last && now - w->shown_s < (w->terminal ? 0.2 : 5.0))
        return;
    w->shown_s = now;
    job_view(w->jobs, w->n, &points, &bpp);
    reconctl_meter_get(w->meter, &v);
    if (v.sent == 0)
        return;
    for (int i = 0; i < w->n; i++)
        total += atomic_load(&w->jobs[i].total);
    for (int i = 0; i < w->n; i++)
        away = away || atomic_load(&w->jobs[i].reconnecting);
    reconctl_meter_show(stderr, w->terminal, &v, total,
                        reconctl_push_kind(w->jobs[0].options)->noun, points, bpp,
                        away && !last ? "reconnecting" : "");
    if (last && w->terminal)
        fprintf(stderr, "\n");
}

static void put_counts(struct json_writer *w, const struct reconctl_meter_view *v)
{
    json_put_u64(w, "sent", v->sent);
    json_put_u64(w, "used", v->by_status[CONTROL_USED]);
    json_put_u64(w, "dropped", v->by_status[CONTROL_DROPPED]);
    json_put_u64(w, "refused", v->by_status[CONTROL_REFUSED]);
    json_put_u64(w, "duplicates", v->duplicates);
    json_put_u64(w, "skipped", v->skipped);
    json_open_map(w, "reasons");
    for (int i = 1; i < RECONCTL_METER_REASONS; i++)
        if (v->by_reason[i])
            json_put_u64(w, control_reason_name((enum control_reason)i), v->by_reason[i]);
    json_close(w);
}

static void print_session_json(const struct reconctl_push_job *j)
{
    const struct reconctl_push_kind *kind = reconctl_push_kind(j->options);
    char buf[2048], name[32];
    struct json_writer w = json_writer(buf, sizeof buf);

    json_open_map(&w, NULL);
    json_put_text(&w, "type", "session");
    json_put_text(&w, "session", j->session.id);
    json_put_i64(&w, "exit", j->exit);
    if (j->exit) {
        json_put_text(&w, "error", j->err.text);
        json_put_text(&w, "where", j->err.where);
    }
    json_put_bool(&w, "hash_equal",
                  j->exit == 0 && j->hash == j->server_hash && j->hash == j->export_hash);
    json_put_hex64(&w, "hash", j->hash);
    json_put_hex64(&w, "server_hash", j->server_hash);
    json_put_hex64(&w, "export_hash", j->export_hash);
    snprintf(name, sizeof name, "%ss", kind->noun);
    json_put_u64(&w, name, j->n_points);
    json_put_u64(&w, "received", j->counts.received);
    json_put_u64(&w, "used", j->counts.used);
    json_put_u64(&w, "dropped", j->counts.dropped);
    json_put_u64(&w, "refused", j->counts.refused);
    json_put_u64(&w, "keyframes", j->counts.keyframes);
    json_put_u64(&w, "bytes_sent", j->stats.bytes_sent);
    json_put_u64(&w, "bytes_received", j->stats.bytes_received);
    json_put_u64(&w, "points_received", j->stats.points_received);
    json_put_u64(&w, "block_bytes", j->stats.block_bytes);
    json_put_u64(&w, "resyncs", j->stats.resyncs);
    json_put_u64(&w, "reconnects", j->stats.reconnects);
    json_put_u64(&w, "resent", j->stats.frames_resent);
    json_put_u64(&w, "duplicates", j->stats.duplicates);
    reconctl_print(&w);
}

static void print_json(const struct watch *w, const struct reconctl_meter_view *v, double bpp,
                       uint64_t points, int code)
{
    const struct reconctl_push_kind *kind = reconctl_push_kind(w->jobs[0].options);
    char buf[2048], name[32];
    struct json_writer out = json_writer(buf, sizeof buf);

    for (int i = 0; i < w->n; i++)
        print_session_json(&w->jobs[i]);
    json_open_map(&out, NULL);
    json_put_text(&out, "type", "summary");
    json_put_i64(&out, "exit", code);
    json_put_i64(&out, "sessions", w->n);
    put_counts(&out, v);
    json_put_f32(&out, "seconds", (float)v->elapsed_s);
    json_put_f32(&out, "frames_per_s", (float)v->fps);
    json_put_f32(&out, "latency_p50_ms", (float)v->p50_ms);
    json_put_f32(&out, "latency_p95_ms", (float)v->p95_ms);
    json_put_f32(&out, "latency_p99_ms", (float)v->p99_ms);
    snprintf(name, sizeof name, "%ss", kind->noun);
    json_put_u64(&out, name, points);
    snprintf(name, sizeof name, "bytes_per_%s", kind->noun);
    json_put_f32(&out, name, (float)bpp);
    reconctl_print(&out);
}

static void print_text(const struct watch *w, const struct reconctl_meter_view *v, double bpp)
{
    const struct reconctl_push_options *o = w->jobs[0].options;
    const struct reconctl_push_kind *kind = reconctl_push_kind(o);
    uint64_t broken = 0, reconnects = 0, resent = 0;

    printf("frames   %llu sent: %llu used, %llu dropped, %llu refused", (unsigned long long)v->sent,
           (unsigned long long)v->by_status[CONTROL_USED],
           (unsigned long long)v->by_status[CONTROL_DROPPED],
           (unsigned long long)v->by_status[CONTROL_REFUSED]);
    for (int i = 1; i < RECONCTL_METER_REASONS; i++)
        if (v->by_reason[i])
            printf(" (%s %llu)", control_reason_name((enum control_reason)i),
                   (unsigned long long)v->by_reason[i]);
    for (int i = 0; i < w->n; i++) {
        broken += w->jobs[i].broken;
        reconnects += w->jobs[i].stats.reconnects;
        resent += w->jobs[i].stats.frames_resent;
    }
    if (v->skipped)
        printf(", %llu skipped", (unsigned long long)v->skipped);
    if (broken)
        printf(", %llu damaged in the source", (unsigned long long)broken);
    if (reconnects)
        printf(
            "\nline     %llu times made again, %llu frames sent again, %llu of them a second time",
            (unsigned long long)reconnects, (unsigned long long)resent,
            (unsigned long long)v->duplicates);
    printf("\nrate     %.2f frames/s over %.1f s\n", v->fps, v->elapsed_s);
    printf("latency  p50 %.0f ms, p95 %.0f ms, p99 %.0f ms\n", v->p50_ms, v->p95_ms, v->p99_ms);
    printf("delta    %.2f bytes/%s\n", bpp, kind->noun);
    for (int i = 0; i < w->n; i++) {
        const struct reconctl_push_job *j = &w->jobs[i];

        if (!j->session.id[0])
            continue;
        printf("session  %s: %llu %ss", j->session.id, (unsigned long long)j->n_points, kind->noun);
        if (kind->has_map)
            printf(", hash %016llx, server %016llx, export %016llx%s", (unsigned long long)j->hash,
                   (unsigned long long)j->server_hash, (unsigned long long)j->export_hash,
                   j->exit == 0 ? ": equal" : "");
        printf("\n");
    }
    if (o->output)
        printf("%-8s %s\n", kind->output, o->output);
    else if (!o->keep && kind->has_map)
        printf("cloud    not kept: -O FILE.ply writes it, --keep leaves the session\n");
}

static int run_jobs(struct watch *w)
{
    uint64_t points;
    double bpp;
    struct reconctl_meter_view v;
    int started = 0, code = RECONCTL_OK;
    struct timespec pause = {.tv_nsec = 50000000};

    for (; started < w->n; started++)
        if (pthread_create(&w->jobs[started].thread, NULL, reconctl_push_job, &w->jobs[started])) {
            w->jobs[started].exit = code = RECONCTL_FAILURE;
            err_set(&w->jobs[started].err, ERR_MEMORY, "no thread for a session");
            break;
        }
    for (int done = 0; done < started;) {
        if (pthread_tryjoin_np(w->jobs[done].thread, NULL) == 0)
            done++;
        else
            nanosleep(&pause, NULL);
        show(w, false);
    }
    show(w, true);
    for (int i = 0; i <= started && i < w->n; i++)
        if (w->jobs[i].exit) {
            reconctl_fail(&w->jobs[i].options->common, &w->jobs[i].err);
            code = code ? code : w->jobs[i].exit;
        }
    if (code == RECONCTL_OK && reconctl_stopped())
        code = RECONCTL_INTERRUPTED;
    reconctl_meter_get(w->meter, &v);
    job_view(w->jobs, w->n, &points, &bpp);
    if (w->json)
        print_json(w, &v, bpp, points, code);
    else if (v.sent)
        print_text(w, &v, bpp);
    return code;
}

static int open_link(struct reconctl_link *link, const struct reconctl_push_options *o,
                     struct err *err)
{
    struct reconctl_common own = o->common;
    struct reconctl_server server;
    int rc;

    if (!o->start)
        return reconctl_link_open(link, &o->common, true, err);
    rc = reconctl_server_start(&server, err);
    if (rc)
        return rc;
    own.url = server.url;
    rc = reconctl_link_open(link, &own, false, err);
    if (rc)
        reconctl_server_stop(&server);
    link->server = server;
    link->config.url = link->server.url;
    return rc;
}

static int run_push(void *arguments)
{
    struct reconctl_push_options *o = arguments;
    struct watch w = {.n = o->sessions ? o->sessions : 1, .shown_s = reconctl_now_s()};
    struct reconctl_link link = {0};
    struct err err;
    int code = RECONCTL_FAILURE;

    o->sessions = w.n;
    w.json = reconctl_json(&o->common);
    w.terminal = isatty(STDERR_FILENO);
    if (w.n > 1 && strcmp(o->common.operands[0], "-") == 0)
        return reconctl_usage(&o->common, "standard input can feed one session");
    if (strcmp(o->common.operands[0], "-") != 0 && access(o->common.operands[0], R_OK) != 0) {
        err_at(&err, ERR_NOT_FOUND, o->common.operands[0], "cannot be read: %m");
        return reconctl_fail(&o->common, &err);
    }
    if (open_link(&link, o, &err))
        return reconctl_fail(&o->common, &err);
    w.jobs = calloc((size_t)w.n, sizeof *w.jobs);
    if (!w.jobs || reconctl_meter_new(&w.meter, &err)) {
        err_set(&err, ERR_MEMORY, "no memory for %d sessions", w.n);
        reconctl_fail(&o->common, &err);
        goto out;
    }
    for (int i = 0; i < w.n; i++) {
        w.jobs[i].options = o;
        w.jobs[i].rest = &link.config;
        w.jobs[i].meter = w.meter;
        w.jobs[i].index = i;
        w.jobs[i].terminal = w.terminal;
        w.jobs[i].pause = i == 0 && o->pause_s > 0;
    }
    code = run_jobs(&w);
out:
    reconctl_meter_free(&w.meter);
    free(w.jobs);
    reconctl_link_close(&link);
    return code;
}

const struct reconctl_command reconctl_push_command = {
    .name = "push",
    .operands = "SOURCE",
    .summary = "Send a folder, a video or MJPEG (-) to a new session and check its cloud",
    .options = options,
    .asked = AT(asked),
    .size = sizeof(struct reconctl_push_options),
    .defaults = set_defaults,
    .run = run_push,
};
