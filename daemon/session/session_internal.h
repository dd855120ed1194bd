/* session_internal.h - what a session is inside, for session*.c alone */
#ifndef RECOND_DAEMON_SESSION_INTERNAL_H
#define RECOND_DAEMON_SESSION_INTERNAL_H

#include "daemon/session/tracked_objects.h"
#include "daemon/session/jump.h"
#include "daemon/session/places.h"
#include "daemon/session/scale_told.h"
#include "daemon/session/session_clients.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/sources.h"
#include "daemon/session/views_told.h"
#include "proto/lock.h"

#define SESSION_FPS_FRAMES 128 /* used frames whose time is remembered for the frame rate */

/* Where a source's poses went, and where before the frame that was taken last. */
struct session_jump {
    struct jump now, before;
    uint64_t seq; /* of the frame taken last */
};

struct session {
    /* fixed at creation, or before another thread knows the session */
    struct session_setup setup;
    struct queue *queue;
    struct mirror *mirror;
    struct trajectory *trajectory;
    struct results *results;
    struct session_work *work;
    struct session_disk *disk;

    atomic_int refs;
    atomic_bool dead;
    atomic_bool may_rest, resting, asked_for, hurried;

    struct lock lock; /* of all that follows */
    enum session_state state;
    bool closing, recovering;
    bool rounds, bundle; /* to come before it is closed, once it is to be */
    struct api_bundle bundle_told;
    double changed_s;          /* Unix time of the last change of state or of the set of clients */
    struct session_saved kept; /* what outlives the process; how frames ended, too */
    char fault[API_TEXT_CAP], damaged[API_TEXT_CAP];
    struct sources *sources;
    struct places places, next_places; /* as they were told; as the disk is to have them */
    struct session_jump jumps[API_SOURCES_MAX];
    struct api_token tokens[SESSION_TOKENS_MAX];
    int n_tokens;
    uint64_t used_us[SESSION_FPS_FRAMES];
    uint32_t n_used_us;
    float latency_ms;
    struct pace pace;                          /* what the device uses of it */
    struct pace_clock clocks[API_SOURCES_MAX]; /* of the frames that were taken */
    float *preview; /* [net_h][net_w] metres, 0 = none; NULL before the first */
    uint64_t preview_seq;
    struct views_told views[API_SOURCES_MAX];
    struct tracked_objects *tracked; /* what was recognised; NULL: nothing is looked for */
    uint32_t searching;              /* pictures that are looked at */
    const char *bad_pose;            /* what poses mean instead, NULL = as they should */
    enum api_tracks_state tracks;
    uint64_t lost_frames;
    struct scale_told scale;
    struct frame_result *latest; /* of the frame used last; NULL before the first */
    struct session_client *clients[SESSION_VIEWERS_MAX + SESSION_FEEDERS_MAX];
    int n_clients;
};

/* ------------------------------------------------------------------------- session_told.c */

/* Clients to wake, collected under the lock; session_wake() is called after it. */
struct session_wakes {
    void *cookies[SESSION_VIEWERS_MAX + SESSION_FEEDERS_MAX];
    int n;
};
void session_wake(struct session *s, const struct session_wakes *w);

/* The rest under the lock. Clients that send frames: how many, and of which sources, bit i for
 * source i. */
int session_feeders(const struct session *s);
uint32_t session_connected(const struct session *s);
/* The state that follows from clients and rest, unless the session is closed. */
void session_update_state(struct session *s);
/* Of so many frames a second those of one of the clients that send. */
float session_share(const struct session *s, double rate);
/* The client is told how a frame ended, with the pose in its own convention, and what changed of
 * its rate and quality. */
void session_tell(const struct session *s, struct session_client *c, const struct control_ack *ack,
                  uint64_t now_us);
/* Every client is told where this submap lies. */
void session_tell_place(struct session *s, uint32_t submap, struct session_wakes *w);
/* The client is told of all tracked objects. */
void session_tell_objects(const struct session *s, struct session_client *c);

#endif
