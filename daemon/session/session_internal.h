/* session_internal.h - what a session is inside, for session*.c alone */
#ifndef RECOND_DAEMON_SESSION_INTERNAL_H
#define RECOND_DAEMON_SESSION_INTERNAL_H

#include "daemon/session/jump.h"
#include "daemon/session/session.h"
#include "daemon/session/scale_told.h"
#include "daemon/session/views_told.h"

#include <pthread.h>

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

    pthread_mutex_t lock; /* of all that follows */
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
    struct tracked_objects *tracked; /* the objects that were found; NULL: nothing is looked for */
    uint32_t searching;              /* pictures that are searched */
    const char *bad_pose;            /* what poses mean instead, NULL = as they should */
    enum api_tracks_state tracks;
    uint64_t lost_frames;
    struct scale_told scale;
    struct frame_result *latest; /* of the frame used last; NULL before the first */
    struct session_client *clients[SESSION_VIEWERS_MAX + SESSION_FEEDERS_MAX];
    int n_clients;
};

/* Clients to wake, collected under the lock; session_wake() is called after it. */
struct session_wakes {
    void *cookies[SESSION_VIEWERS_MAX + SESSION_FEEDERS_MAX];
    int n;
};
void session_wake(struct session *s, const struct session_wakes *w);
/* Under the lock: every client is told where this submap lies. */
void session_tell_place(struct session *s, uint32_t submap, struct session_wakes *w);
/* Under the lock: the client is told of all tracked objects. */
void session_tell_objects(const struct session *s, struct session_client *c);
/* As the client's convention has its poses. */
void session_tell(const struct session *s, struct session_client *c, const struct control_ack *ack,
                  uint64_t now_us);
/* Under the lock: of which sources clients are connected, bit i for source i. */
uint32_t session_connected(const struct session *s);
/* Under the lock: the state that follows from clients and rest, unless the session is closed. */
void session_update_state(struct session *s);
/* Under the lock: clients that send frames. */
int session_feeders(const struct session *s);
/* Under the lock: rate and quality, where they differ from what the client was told. */
void session_add_pace(const struct session *s, struct session_client *c, struct control_ack *ack);

#endif
