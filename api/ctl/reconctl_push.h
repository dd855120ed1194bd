/*
 * reconctl_push.h - one session of a push, from its creation to its verified cloud
 *
 * A job runs in a thread of its own: it creates the session, sends frames as the window allows,
 * mirrors the cloud, and compares the mirror's hash with the server's three times: at the last
 * `sync`, in GET of the closed session, and in the header of the exported PLY. Lost connections are
 * made again (client.h); the source waits meanwhile.
 */
#ifndef RECOND_API_RECONCTL_PUSH_H
#define RECOND_API_RECONCTL_PUSH_H

#include "api/ctl/reconctl_args.h"
#include "api/ctl/reconctl_check.h"
#include "api/ctl/reconctl_maps.h"
#include "api/ctl/reconctl_meter.h"
#include "api/ctl/reconctl_source.h"

#include <pthread.h>
#include <stdatomic.h>

struct reconctl_push_options {
    struct reconctl_common common; /* first: see reconctl.h */
    double fps, pause_s, retry_s;
    bool realtime, loop, keep, start, depth, unplaced;
    const char *poses, *camera, *output, *depth_out, *trajectory, *sheet, *codec;
    const char *into, *source; /* an existing session, and the source name in it */
    int sessions, frames, sheet_rows;
    struct session_options asked; /* options that have flags */
    struct reconctl_list option;  /* options of --option, which override flags */
    uint32_t codecs;              /* mask of codecs, 0 = all */
};

struct reconctl_push_job;

/* How a push handles sessions of one kind. */
struct reconctl_push_kind {
    const char *noun;   /* singular name of a result: "point" */
    const char *output; /* name of the file of -O: "cloud" */
    bool has_map; /* there is a mirror, whose hash is compared with the server's and the export's */
    /* Checks that -O can be written, before anything starts. */
    int (*check)(const char *output, struct err *err);
    /* Writes the file of -O, of job 0 alone: the whole, or what came before the server was lost. */
    int (*write)(struct reconctl_push_job *job, struct err *err);
};
#define RECONCTL_PUSH_DECLARE(WORD, word) \
    extern const struct reconctl_push_kind reconctl_push_##word;
SESSION_KINDS(RECONCTL_PUSH_DECLARE)
#undef RECONCTL_PUSH_DECLARE
const struct reconctl_push_kind *reconctl_push_kind(const struct reconctl_push_options *o);

/* frames whose time of sending is remembered; > CLIENT_WINDOW_MAX */
#define RECONCTL_PUSH_SENT_MAX 256

#define RECONCTL_PUSH_OBJECTS_MAX 64 /* tracked objects for the report; a session has no more */

struct reconctl_push_job {
    /* members that the caller sets */
    const struct reconctl_push_options *options;
    const struct client_config *rest;
    struct reconctl_meter *meter;
    int index;  /* index of the session, below options->sessions */
    bool pause; /* this session stops reading for options->pause_s */
    bool terminal;
    pthread_t thread;

    /* members of the job itself */
    struct client *client;
    struct client_stream *stream;
    struct reconctl_source *source;
    struct reconctl_source_info info;
    struct client_session session;
    struct reconctl_sheet *sheet;
    struct reconctl_check pictures;  /* of job 0 */
    struct reconctl_maps *maps; /* depth maps that came */
    double sent_s[RECONCTL_PUSH_SENT_MAX];
    uint64_t n_sent, n_answered, first_seq; /* time of the source's first frame */
    bool ended, hash_equal, closed;
    char source_said[160]; /* text of reconctl_source_said() */
    bool guessed;          /* the server says that path and scale are guesses */
    bool poses_wrong;      /* the server says that the poses do not fit the pictures */
    /* median scale and sigma of the frames; 0, 0: the server says none */
    float scale, sigma;
    bool written, kept; /* the file of -O was written; the session stays on the server */
    struct control_error server_said; /* the last `error` message */

    /* tracked objects, as the server sent them last */
    struct control_object objects[RECONCTL_PUSH_OBJECTS_MAX];
    int n_objects;

    /* values for the progress bar, which another thread reads */
    /* all frames of the source, 0 = unknown */
    atomic_ullong total, points, block_bytes, points_received;
    atomic_bool reconnecting;

    /* results */
    int exit; /* enum reconctl_exit */
    struct err err;
    struct client_stream_stats stats;
    struct control_sync sync; /* the last `sync`; the session's document may be newer */
    uint64_t hash, server_hash, export_hash, n_points, server_points, broken;
    struct {
        uint64_t received, used, dropped, refused, keyframes;
    } counts; /* hash of the server's cloud */
};

/* Thread function: argument and result are the job. */
void *reconctl_push_job(void *job);

/* Opens the source of the options. */
MUST_CHECK int reconctl_push_source(struct reconctl_source **s,
                                    const struct reconctl_push_options *o, struct err *err);

/* Closes the session and compares the mirror with the closed session and its export. */
MUST_CHECK int reconctl_push_verify(struct reconctl_push_job *job);
/* Writes the result, or after a failure rc the content of the mirror. Sets job->exit. */
void reconctl_push_deliver(struct reconctl_push_job *job, int rc);
/* Deletes the session. One whose results are not saved stays and is named. */
void reconctl_push_leave(struct reconctl_push_job *job, int rc);

/* Checks the options before anything starts. In/out: o: asked.kind as --option has it, codecs.
 * Returns: 0; ERR_INPUT: wrong usage; ERR_FILE: a file that could not be written */
MUST_CHECK int reconctl_push_options_settle(struct reconctl_push_options *o, struct err *err);

/* The body of POST /v1/sessions; info NULL = no source known.
 * Returns: 0; ERR_INPUT: an --option that is none; ERR_LIMIT */
MUST_CHECK int reconctl_push_options_json(char *buf, size_t cap,
                                          const struct reconctl_push_options *o,
                                          const struct reconctl_source_info *info, int index,
                                          struct err *err);

struct reconctl_push_watch {
    struct reconctl_push_job *jobs;
    int n;
    struct reconctl_meter *meter;
    bool json;
    struct reconctl_progress progress;
};

/* Points of all jobs, and bytes of blocks for each received point. */
void reconctl_push_view(const struct reconctl_push_watch *watch, uint64_t *points, double *bpp);
/* Prints the summary as `watch` says: JSON Lines or text. */
void reconctl_push_report(const struct reconctl_push_watch *watch,
                          const struct reconctl_meter_view *v, int code, const struct err *why);

/* ------------------------------------------------------------------------- contact sheet */

/* A PNG with rows of input | depth | cloud, each row of one moment. */
struct reconctl_sheet;
MUST_CHECK int reconctl_sheet_new(struct reconctl_sheet **s, int rows, struct err *err);
void reconctl_sheet_free(struct reconctl_sheet **s);
/* Tells whether the n-th frame (from 1) gets a row. total 0 = unknown. */
bool reconctl_sheet_due(const struct reconctl_sheet *s, uint64_t n, uint64_t total);
/* Adds a row: the last used frame, the server's depth of it and the mirror seen from its pose. */
MUST_CHECK int reconctl_sheet_add(struct reconctl_sheet *s, struct client *client,
                                  const char *session, const struct frame *f,
                                  const struct cloud *cloud, float step_m, struct err *err);
/* up: the world's axis that points up, "+z", or "". All clouds are drawn in the direction of the
 * first row's camera. */
MUST_CHECK int reconctl_sheet_write(struct reconctl_sheet *s, const char *path, const char *up,
                                    struct err *err);

#endif
