/* session_internal.h - the inside of a session, for session*.c alone */
#pragma once

#include "daemon/session/tracked_objects.h"
#include "daemon/session/jump.h"
#include "daemon/session/places.h"
#include "daemon/session/scale_told.h"
#include "daemon/session/session_clients.h"
#include "daemon/session/session_restart.h"
#include "daemon/session/sources.h"
#include "daemon/session/views_told.h"
#include "proto/lock.h"

#define SESSION_FPS_FRAMES 128 /* used frames whose time is kept for the frame rate */

/* A source's motion, and the same before its last taken frame. */
struct session_jump {
    struct jump now, before;
    uint64_t seq; /* seq of that frame */
};

struct session {
    /* Set at creation, or before another thread knows the session. */
    struct session_setup setup;
    struct queue *queue;
    struct mirror *mirror;
    struct trajectory *trajectory;
    struct results *results;
    struct session_work *work;
    struct session_disk *disk;

    atomic_int refs;
    atomic_bool dead;
    atomic_bool may_suspend, suspended, asked_for, hurried;

    struct lock lock; /* guards all that follows */
    enum session_state state;
    bool closing, recovering;
    bool rounds, bundle; /* closing rounds, a bundle: still to be done before it is closed */
    struct api_bundle bundle_told;
    double changed_s;          /* Unix time of the last change of state or of the set of clients */
    struct session_saved kept; /* counters in checkpoints, with those of how frames ended */
    char fault[API_TEXT_CAP], damaged[API_TEXT_CAP];
    struct sources *sources;
    /* places as clients were told; places as the disk is to have them */
    struct places places, next_places;
    struct session_jump jumps[API_SOURCES_MAX];
    struct api_token tokens[SESSION_TOKENS_MAX];
    int n_tokens;
    uint64_t used_us[SESSION_FPS_FRAMES];
    uint32_t n_used_us;
    float latency_ms;
    struct pace pace;                          /* the device's recent use of it */
    struct pace_clock clocks[API_SOURCES_MAX]; /* clocks of the taken frames */
    float *preview; /* [net_h][net_w] metres, 0 = none; NULL before the first one */
    uint64_t preview_seq;
    struct views_told views[API_SOURCES_MAX];
    struct tracked_objects *tracked; /* NULL: the session searches for none */
    uint32_t searching;              /* pictures being searched */
    const char *bad_pose;            /* what is wrong with its poses, NULL = nothing */
    enum api_tracks_state tracks;
    uint64_t lost_frames;
    struct scale_told scale;
    struct frame_result *latest; /* result of the last used frame; NULL before the first */
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

/* Under the lock, as all below: the sources of clients that send frames, a bit each. */
uint32_t session_connected(const struct session *s);
/* Returns the state that follows from clients and suspension, unless the session is closed. */
void session_update_state(struct session *s);
/* Returns the share of one sending client in so many frames a second. */
float session_share(const struct session *s, double rate);
/* Tells the client a frame's end, the pose in its own convention, and rate and quality if new. */
void session_tell(const struct session *s, struct session_client *c, const struct control_ack *ack,
                  uint64_t now_us);
/* Tells every client where this submap lies. */
void session_tell_place(struct session *s, uint32_t submap, struct session_wakes *w);
/* Tells the client of all tracked objects. */
void session_tell_objects(const struct session *s, struct session_client *c);
