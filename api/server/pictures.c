#include "api/server/pictures.h"

#include "proto/bytes.h"
#include "proto/image/png.h"
#include "proto/lock.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define PIXELS_MAX ((size_t)SESSION_NET_SIDE_MAX * SESSION_NET_SIDE_MAX)
#define NICE 10 /* frames go first */
#define BEAT_NS 400000000

struct entry {
    char id[API_ID_CAP]; /* "" = free */
    bool raw, pending;
    struct auth_who who;     /* of the token that had it made */
    uint64_t turn;           /* when it was asked for; the oldest is made, or given up, first */
    struct picture *picture; /* NULL before the first */
    struct pictures_wait *waiting;
};

struct pictures {
    const struct api_config *config;
    void (*resume)(void *held);
    pthread_t thread;
    struct lock lock; /* of all that follows, and of what waits */
    pthread_cond_t work;
    atomic_uint_fast64_t beat;
    bool stop;
    uint64_t turn;
    size_t bytes; /* of the pictures of all entries */
    struct entry entries[PICTURES_KEPT];
};

void pictures_unref(struct picture *p)
{
    if (p && atomic_fetch_sub(&p->refs, 1) == 1)
        free(p);
}

static struct picture *ref(struct picture *p)
{
    if (p)
        atomic_fetch_add(&p->refs, 1);
    return p;
}

/* ------------------------------------------------------------------------------- making one */

static struct picture *new_picture(size_t len)
{
    struct picture *p = malloc(sizeof *p + len);

    if (!p)
        return NULL;
    atomic_init(&p->refs, 1);
    p->len = len;
    return p;
}

/* Metres as little-endian floats. */
static int encode_raw(struct picture **out, const float *depth, size_t n, struct err *err)
{
    struct picture *p = *out = new_picture(n * sizeof *depth);
    struct bytes_writer to;

    if (!p)
        return err_set(err, ERR_MEMORY, "out of memory");
    to = bytes_writer(p->bytes, p->len);
    for (size_t i = 0; i < n; i++)
        bytes_put_f32(&to, isfinite(depth[i]) && depth[i] > 0.0f ? depth[i] : 0.0f);
    return 0;
}

/* Millimetres as a PNG; a depth that 16 bits do not hold becomes 0, which is none. */
static int encode_png(struct picture **out, const float *depth, int w, int h, struct err *err)
{
    size_t n = (size_t)w * (size_t)h, len = 0;
    uint16_t *gray = malloc(n * sizeof *gray);
    uint8_t *png = NULL;
    int rc;

    if (!gray)
        return err_set(err, ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) {
        float mm = depth[i] * 1000.0f + 0.5f;
        gray[i] = mm >= 1.0f && mm < 65535.0f ? (uint16_t)mm : 0;
    }
    rc = png_encode_gray16(&png, &len, gray, w, h, err);
    free(gray);
    if (rc == 0 && !(*out = new_picture(len)))
        rc = err_set(err, ERR_MEMORY, "out of memory");
    if (rc == 0)
        memcpy((*out)->bytes, png, len);
    free(png);
    return rc;
}

static int make(const struct api_config *config, const char *id, bool raw, struct picture **out,
                struct err *err)
{
    /* the kernel gives only those pages that are used */
    float *depth = malloc(PIXELS_MAX * sizeof *depth);
    uint64_t seq = 0;
    int w = 0, h = 0, rc;

    *out = NULL;
    if (!depth)
        return err_set(err, ERR_MEMORY, "out of memory");
    rc = config->ops->depth(config->core, id, depth, PIXELS_MAX, &w, &h, &seq, err);
    if (rc == 0)
        rc = raw ? encode_raw(out, depth, (size_t)w * (size_t)h, err)
                 : encode_png(out, depth, w, h, err);
    if (rc == 0) {
        (*out)->w = w;
        (*out)->h = h;
        (*out)->seq = seq;
    }
    free(depth);
    return rc;
}

/* ------------------------------------------------------------------------------- the table */

static void put(struct pictures *p, struct entry *e, struct picture *picture)
{
    if (e->picture)
        p->bytes -= e->picture->len;
    pictures_unref(e->picture);
    e->picture = picture;
    if (picture)
        p->bytes += picture->len;
}

/* The entry that was asked for longest ago, among those that are being made or those that are not;
 * NULL if there is none. */
static struct entry *oldest(struct pictures *p, bool pending)
{
    struct entry *found = NULL;

    for (int i = 0; i < PICTURES_KEPT; i++) {
        struct entry *e = &p->entries[i];
        if (e->pending == pending && (!found || e->turn < found->turn))
            found = e;
    }
    return found;
}

static struct entry *find(struct pictures *p, const char *id, bool raw)
{
    for (int i = 0; i < PICTURES_KEPT; i++)
        if (p->entries[i].raw == raw && strcmp(p->entries[i].id, id) == 0)
            return &p->entries[i];
    return NULL;
}

static int under_way(const struct pictures *p, const struct auth_who *who)
{
    int n = 0;

    for (int i = 0; i < PICTURES_KEPT; i++)
        n += p->entries[i].pending && strcmp(p->entries[i].who.name, who->name) == 0 &&
             strcmp(p->entries[i].who.session, who->session) == 0;
    return n;
}

/* An entry for a picture that is not there in its newest form is put to work. */
static struct entry *begin(struct pictures *p, struct entry *e, const char *id, bool raw,
                           const struct auth_who *who, struct err *err)
{
    if (p->stop) {
        err_set(err, ERR_BUSY, "the server is stopping");
        return NULL;
    }
    if (under_way(p, who) >= PICTURES_PER_TOKEN) {
        err_set(err, ERR_BUSY, "%d depth maps are being made for this token", PICTURES_PER_TOKEN);
        return NULL;
    }
    if (!e && !(e = oldest(p, false))) {
        err_set(err, ERR_BUSY, "%d depth maps are being made", PICTURES_KEPT);
        return NULL;
    }
    if (strcmp(e->id, id) != 0 || e->raw != raw)
        put(p, e, NULL);
    snprintf(e->id, sizeof e->id, "%s", id);
    e->raw = raw;
    e->who = *who;
    e->pending = true;
    e->turn = ++p->turn;
    pthread_cond_signal(&p->work);
    return e;
}

int pictures_ask(struct pictures *p, const char *id, bool raw, const struct auth_who *who,
                 struct pictures_wait *w, struct err *err)
{
    uint64_t seq;
    int width, height, rc;
    struct entry *e;

    if (w->done) {
        w->waiting = false;
        if (w->rc)
            *err = w->err;
        return w->rc;
    }
    rc = p->config->ops->depth(p->config->core, id, NULL, 0, &width, &height, &seq, err);
    if (rc)
        return rc;
    lock_take(&p->lock);
    e = find(p, id, raw);
    if (e && !e->pending && e->picture && e->picture->seq == seq) {
        e->turn = ++p->turn;
        w->picture = ref(e->picture);
    } else {
        if (!e || !e->pending)
            e = begin(p, e, id, raw, who, err);
        w->waiting = e != NULL;
        if (e) {
            w->next = e->waiting;
            e->waiting = w;
        } else {
            rc = ERR_BUSY;
        }
    }
    lock_give(&p->lock);
    return rc;
}

void pictures_hold(struct pictures *p, struct pictures_wait *w, void *held)
{
    bool done;

    lock_take(&p->lock);
    w->held = held;
    done = w->done;
    lock_give(&p->lock);
    if (done)
        p->resume(held);
}

/* ------------------------------------------------------------------------------- the thread */

/* Under the lock: all that wait for the entry have their answer. Returns those to resume. */
static struct pictures_wait *settle(struct entry *e, struct picture *picture, int rc,
                                    const struct err *err)
{
    struct pictures_wait *resumed = NULL, *next;

    for (struct pictures_wait *w = e->waiting; w; w = next) {
        next = w->next;
        w->picture = ref(picture);
        w->rc = rc;
        w->err = *err;
        w->done = true;
        if (w->held) {
            w->next = resumed;
            resumed = w;
        }
    }
    e->waiting = NULL;
    e->pending = false;
    if (rc)
        e->id[0] = '\0';
    return resumed;
}

/* A request may be gone as soon as it is resumed. */
static void resume(struct pictures *p, struct pictures_wait *list)
{
    struct pictures_wait *next;

    for (; list; list = next) {
        next = list->next;
        p->resume(list->held);
    }
}

/* Room for what is kept: the picture that was asked for longest ago goes first. */
static void keep_within_bounds(struct pictures *p, const struct entry *newest)
{
    struct entry *e;

    while (p->bytes > PICTURES_KEPT_BYTES && (e = oldest(p, false)) && e != newest) {
        put(p, e, NULL);
        e->id[0] = '\0';
        e->turn = ++p->turn;
    }
}

static void serve(struct pictures *p, struct entry *e)
{
    struct pictures_wait *resumed;
    struct picture *picture;
    struct err err = {0};
    char id[API_ID_CAP];
    bool raw = e->raw;
    int rc;

    memcpy(id, e->id, sizeof id);
    lock_give(&p->lock);
    rc = make(p->config, id, raw, &picture, &err);
    lock_take(&p->lock);
    put(p, e, picture);
    resumed = settle(e, picture, rc, &err);
    keep_within_bounds(p, e);
    lock_give(&p->lock);
    resume(p, resumed);
    lock_take(&p->lock);
}

/* Waits for work, or until the watchdog wants a sign of life. */
static void rest(struct pictures *p)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += BEAT_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)lock_wait_until(&p->lock, &p->work, CLOCK_REALTIME, &until);
}

static void *run(void *arg)
{
    struct pictures *p = arg;
    struct entry *e;

    (void)setpriority(PRIO_PROCESS, 0, NICE); /* of this thread, on Linux */
    lock_take(&p->lock);
    while (!p->stop) {
        atomic_fetch_add(&p->beat, 1);
        e = oldest(p, true);
        if (e)
            serve(p, e);
        else
            rest(p);
    }
    lock_give(&p->lock);
    return NULL;
}

/* ------------------------------------------------------------------------------- life */

int pictures_start(struct pictures **out, const struct api_config *config,
                   void (*on_resume)(void *held), struct err *err)
{
    struct pictures *p = calloc(1, sizeof *p);
    pthread_condattr_t attributes;

    *out = NULL;
    if (!p)
        return err_set(err, ERR_MEMORY, "out of memory");
    p->config = config;
    p->resume = on_resume;
    lock_init(&p->lock, LOCK_PICTURES);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&p->work, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&p->thread, NULL, run, p) != 0) {
        p->stop = true;
        pictures_free(&p);
        return err_set(err, ERR_IO, "cannot start the thread for depth maps");
    }
    *out = p;
    return 0;
}

uint64_t pictures_beat(const struct pictures *p)
{
    return atomic_load(&p->beat);
}

void pictures_stop(struct pictures *p)
{
    struct pictures_wait *resumed;
    struct entry *e;
    struct err err;
    int rc = err_set(&err, ERR_BUSY, "the server is stopping");
    bool stopped;

    lock_take(&p->lock);
    stopped = p->stop;
    p->stop = true;
    pthread_cond_signal(&p->work);
    lock_give(&p->lock);
    if (!stopped)
        pthread_join(p->thread, NULL);
    lock_take(&p->lock);
    while ((e = oldest(p, true))) {
        resumed = settle(e, NULL, rc, &err);
        lock_give(&p->lock);
        resume(p, resumed);
        lock_take(&p->lock);
    }
    lock_give(&p->lock);
}

void pictures_free(struct pictures **out)
{
    struct pictures *p = *out;

    if (!p)
        return;
    pictures_stop(p);
    for (int i = 0; i < PICTURES_KEPT; i++)
        pictures_unref(p->entries[i].picture);
    pthread_cond_destroy(&p->work);
    lock_destroy(&p->lock);
    free(p);
    *out = NULL;
}
