#include "api/ctl/reconctl_push.h"
#include "api/ctl/reconctl_link.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSIONS_MAX 256
#define RETRY_S 60 /* time that a server takes to restart and to read its sessions */
#define AT(field) offsetof(struct reconctl_push_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"output", 'O', "FILE", RECONCTL_TEXT, AT(output), 0, 0,
     "Write the cloud as PLY"},
    {"unplaced", 0, NULL, RECONCTL_FLAG, AT(unplaced), 0, 0,
     "Write submaps without a place too, as they lie in themselves; the same of --trajectory"},
    {"depth-out", 0, "FOLDER", RECONCTL_TEXT, AT(depth_out), 0, 0,
     "Write the depth of each used frame as 16-bit PNG, beside the cloud"},
    {"trajectory", 0, "FILE", RECONCTL_OUTPUT, AT(trajectory), 0, 0,
     "Write the camera's path in the TUM format"},
    {"contact-sheet", 0, "FILE", RECONCTL_OUTPUT, AT(sheet), 0, 0,
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
    {"sensor-depth", 0, NULL, RECONCTL_FLAG, AT(depth), 0, 0,
     "Send the depth of a folder that has it, as the depth sensor of a phone would"},
    {"camera", 0, "FX,FY,CX,CY", RECONCTL_TEXT, AT(camera), 0, 0,
     "Intrinsics in pixels of the pictures as they are sent"},
    {"net", 0, "WxH", RECONCTL_SIZE, AT(asked.net_w), 32, SESSION_NET_SIDE_MAX,
     "Size of the networks' input"},
    {"option", 'o', "KEY=VALUE", RECONCTL_LIST, AT(option), 0, 0,
     "Any option of POST /v1/sessions (step_m=0.002, camera.fx=500)"},
    {"sessions", 's', "N", RECONCTL_INT, AT(sessions), 1, SESSIONS_MAX,
     "Push the source into N sessions at once; files are written of the first"},
    {"into", 0, "ID", RECONCTL_TEXT, AT(into), 0, 0,
     "Feed this session, which stays open, instead of a new one"},
    {"source", 0, "NAME", RECONCTL_TEXT, AT(source), 0, 0,
     "Whose frames they are (main): phones that feed one session have names of their own"},
    {"keep", 'k', NULL, RECONCTL_FLAG, AT(keep), 0, 0,
     "Leave the session on the server instead of deleting it"},
    {"codec", 0, "NAME", RECONCTL_TEXT, AT(codec), 0, 0,
     "Take blocks as raw or deflate-raw only"},
    {"retry", 0, "SECONDS", RECONCTL_REAL, AT(retry_s), 0, 86400,
     "Connect again while nothing has worked for less than this (60); 0 = give up at once"},
    {"start", 0, NULL, RECONCTL_FLAG, AT(start), 0, 0,
     "Start a recond of our own for this run, even if one answers"},
    {"pause-reading", 0, "SECONDS", RECONCTL_REAL, AT(pause_s), 0, 3600,
     "Test: the first session stops reading for a while"},
    {0},
};
/* clang-format on */

static void push_defaults(void *arguments)
{
    ((struct reconctl_push_options *)arguments)->retry_s = RETRY_S;
}

/* Shows progress while the jobs run: a bar on a terminal, a line every five seconds elsewhere. */
static void watch_show(struct reconctl_push_watch *w, bool last)
{
    uint64_t points, total = 0;
    double bpp;
    struct reconctl_meter_view v;
    bool away = false;

    if (!last && !reconctl_progress_due(&w->progress))
        return;
    reconctl_push_view(w, &points, &bpp);
    reconctl_meter_get(w->meter, &v);
    if (v.sent == 0 && !last)
        reconctl_progress_step(&w->progress, "opening", -1);
    if (v.sent == 0)
        return;
    for (int i = 0; i < w->n; i++)
        total += atomic_load(&w->jobs[i].total);
    for (int i = 0; i < w->n; i++)
        away = away || atomic_load(&w->jobs[i].reconnecting);
    reconctl_meter_show(&w->progress, &v, total, reconctl_push_kind(w->jobs[0].options)->noun,
                        points, bpp, away && !last ? "reconnecting" : "");
    if (last)
        reconctl_progress_end(&w->progress, true);
}

/* Frames that the server did not take make the push fail, even if the hashes agree. */
static int judge_frames(const struct reconctl_meter_view *v, struct err *err)
{
    char reasons[128] = "";

    if (v->sent == 0 || (v->by_status[CONTROL_REFUSED] == 0 && v->by_status[CONTROL_USED] > 0))
        return RECONCTL_OK;
    for (int i = 1; i < RECONCTL_METER_REASONS; i++) {
        size_t n = strlen(reasons);

        if (v->by_reason[i])
            snprintf(reasons + n, sizeof reasons - n, "%s%s %llu", n ? ", " : "",
                     control_reason_name((enum control_reason)i),
                     (unsigned long long)v->by_reason[i]);
    }
    if (v->by_status[CONTROL_USED])
        err_set(err, ERR_UNSUPPORTED, "the server refused %llu of %llu frames (%s)",
                (unsigned long long)v->by_status[CONTROL_REFUSED], (unsigned long long)v->sent,
                reasons);
    else
        err_set(err, ERR_UNSUPPORTED, "the server used none of %llu frames (%s)",
                (unsigned long long)v->sent, reasons);
    return RECONCTL_UNUSED;
}

/* Waits for the jobs. Returns how many of them still run. */
static int wait_for_jobs(struct reconctl_push_watch *w)
{
    struct timespec pause = {.tv_nsec = 50000000};
    int started = 0;

    for (; started < w->n; started++)
        if (pthread_create(&w->jobs[started].thread, NULL, reconctl_push_job, &w->jobs[started])) {
            w->jobs[started].exit = RECONCTL_FAILURE;
            err_set(&w->jobs[started].err, ERR_MEMORY, "no thread for a session");
            break;
        }
    for (int done = 0; done < started;) {
        if (pthread_tryjoin_np(w->jobs[done].thread, NULL) == 0)
            done++;
        else
            nanosleep(&pause, NULL);
        watch_show(w, false);
    }
    watch_show(w, true);
    return started;
}

static int run_jobs(struct reconctl_push_watch *w)
{
    const struct reconctl_common *common = &w->jobs[0].options->common;
    struct reconctl_meter_view v;
    struct err why = {0};
    int started = wait_for_jobs(w), code = RECONCTL_OK;

    for (int i = 0; i <= started && i < w->n; i++)
        if (w->jobs[i].exit) {
            reconctl_fail(common, &w->jobs[i].err);
            why = code ? why : w->jobs[i].err;
            code = code ? code : w->jobs[i].exit;
        }
    reconctl_meter_get(w->meter, &v);
    if (code == RECONCTL_OK) {
        code = judge_frames(&v, &why);
        if (code)
            reconctl_fail(common, &why);
    }
    if (code == RECONCTL_OK && reconctl_stopped())
        code = RECONCTL_INTERRUPTED;
    reconctl_push_report(w, &v, code, &why);
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

/* Keeps a server of our own if it holds unsaved data. */
static void leave_server(const struct reconctl_push_watch *w, struct reconctl_link *link)
{
    bool kept = false;

    for (int i = 0; i < w->n; i++)
        kept = kept || (w->jobs[i].kept && w->jobs[i].exit != RECONCTL_UNREACHABLE);
    if (!kept || link->server.pid <= 0)
        return;
    fprintf(stderr, "reconctl: therefore the server of this run goes on: --url %s, until kill %d\n",
            link->server.url, (int)link->server.pid);
    reconctl_server_leave(&link->server);
}

int reconctl_push_source(struct reconctl_source **s, const struct reconctl_push_options *o,
                         struct err *err)
{
    struct reconctl_source_config config = {
        .path = o->common.operands[0],
        .poses = o->poses,
        .fps = o->fps,
        .loop = o->loop,
        .camera = o->camera,
        .depth = o->depth,
        .pairs = o->asked.kind == SESSION_PANORAMA,
    };

    return reconctl_source_open(s, &config, err);
}

static int run_push(void *arguments)
{
    struct reconctl_push_options *o = arguments;
    struct reconctl_push_watch w = {.n = o->sessions ? o->sessions : 1,
                                    .progress = reconctl_progress_start()};
    struct reconctl_link link = {0};
    struct err err;
    int code = RECONCTL_FAILURE, rc;

    o->sessions = w.n;
    w.json = reconctl_json(&o->common);
    rc = reconctl_push_options_settle(o, &err);
    if (rc) {
        code = reconctl_fail(&o->common, &err);
        return rc == ERR_INPUT ? RECONCTL_USAGE : code;
    }
    w.jobs = calloc((size_t)w.n, sizeof *w.jobs);
    if (!w.jobs || reconctl_meter_new(&w.meter, &err)) {
        err_set(&err, ERR_MEMORY, "no memory for %d sessions", w.n);
        reconctl_fail(&o->common, &err);
        goto out;
    }
    /* The source is opened first, so that no server is started for a wrong one. */
    if (reconctl_push_source(&w.jobs[0].source, o, &err)) {
        reconctl_fail(&o->common, &err);
        goto out;
    }
    if (open_link(&link, o, &err)) {
        code = reconctl_fail_link(&o->common, &err);
        reconctl_source_close(&w.jobs[0].source);
        goto out;
    }
    for (int i = 0; i < w.n; i++) {
        w.jobs[i].options = o;
        w.jobs[i].rest = &link.config;
        w.jobs[i].meter = w.meter;
        w.jobs[i].index = i;
        w.jobs[i].terminal = w.progress.terminal;
        w.jobs[i].pause = i == 0 && o->pause_s > 0;
    }
    code = run_jobs(&w);
    leave_server(&w, &link);
out:
    reconctl_meter_free(&w.meter);
    free(w.jobs);
    reconctl_link_close(&link);
    return code;
}

RECONCTL_COMMAND(push, "push", "SOURCE",
                 "Send a folder, a video or a stream (-) to a new session and check its cloud",
                 run_push, sizeof(struct reconctl_push_options), options, AT(asked), push_defaults);
