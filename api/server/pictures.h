/*
 * pictures.h - depth maps as files, made by a thread of their own for the REST edge
 *
 * Encoding one takes up to a third of a second, and the REST thread must answer /livez meanwhile. A
 * picture is made once a frame and form, for all that ask, and kept until a newer frame is asked
 * for or its place is needed.
 *
 *   handler        pictures_ask(): there it is, or the request waits
 *   REST thread    suspends the connection, then pictures_hold()
 *   this thread    makes the picture, gives it to all that wait, resumes their connections
 *   handler        runs again and finds the picture in wait->picture
 */
#ifndef RECOND_API_PICTURES_H
#define RECOND_API_PICTURES_H

#include "api/api.h"
#include "api/server/auth.h"

#include <stdatomic.h>

#define PICTURES_KEPT 32               /* made or being made */
#define PICTURES_KEPT_BYTES (64 << 20) /* of those that are made */
#define PICTURES_PER_TOKEN 8           /* that a token may have made at once */

struct pictures;

struct picture {
    atomic_int refs;
    int w, h;
    uint64_t seq;
    size_t len;
    uint8_t bytes[];
};
void pictures_unref(struct picture *p);

/* Of one request; zero is valid. */
struct pictures_wait {
    struct pictures_wait *next;
    void *held;   /* what resume() is told; NULL until pictures_hold() */
    bool waiting; /* the request is to be held */
    bool done;    /* rc, err and picture are set */
    int rc;
    struct err err;
    struct picture *picture; /* a reference */
};

/* resume: by any thread, no lock held. */
MUST_CHECK int pictures_start(struct pictures **p, const struct api_config *config,
                              void (*resume)(void *held), struct err *err);
/* Everything that waits is answered with ERR_BUSY and resumed, as is what comes later. */
void pictures_stop(struct pictures *p);
void pictures_free(struct pictures **p);
/* For the watchdog: counts up at least twice a second but for the time that one picture takes. */
uint64_t pictures_beat(const struct pictures *p);

/*
 * pictures_ask - the newest depth map of a session
 *
 * In:      raw: numbers (little-endian f32, metres), else PNG (millimetres); its token has a bound
 * In/out:  w: zero at first; the same when the request runs again
 * Returns: 0: w->picture, or w->waiting: hold the request; what core_ops.depth says; ERR_BUSY
 */
MUST_CHECK int pictures_ask(struct pictures *p, const char *id, bool raw,
                            const struct auth_who *who, struct pictures_wait *w, struct err *err);
/* The request can be resumed from now on. Only after pictures_ask() set w->waiting. */
void pictures_hold(struct pictures *p, struct pictures_wait *w, void *held);

#endif
