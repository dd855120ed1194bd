#include "api/server/pictures.h"

#include "proto/image/png.h"
#include "proto/lock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIXELS_MAX ((size_t)SESSION_NET_SIDE_MAX * SESSION_NET_SIDE_MAX)
#define RETRY_S 1

struct picture {
    atomic_int refs;
    int w, h;
    uint64_t seq;
    size_t len;
    uint8_t bytes[];
};

struct entry {
    struct pictures *pictures;
    char id[API_ID_CAP]; /* "" = free */
    bool raw;
    uint64_t asked;          /* number of the last request; the oldest picture is dropped first */
    struct later_task *task; /* task while its picture is made */
    struct http_request *askers; /* requests that wait for it */
    struct picture *picture;     /* the picture; NULL before the first */
    struct picture *made;        /* error of the slice */
    int rc;
    struct err err;
};

struct pictures {
    const struct api_config *config;
    struct lock lock; /* guards all members below, except for results of a slice */
    uint64_t asked;
    size_t bytes; /* bytes of the pictures of all entries */
    struct entry entries[PICTURES_KEPT];
};

static void picture_unref(void *picture)
{
    struct picture *p = picture;

    if (p && atomic_fetch_sub(&p->refs, 1) == 1)
        free(p);
}

static struct picture *picture_ref(struct picture *p)
{
    if (p)
        atomic_fetch_add(&p->refs, 1);
    return p;
}

/* ------------------------------------------------------------------------------- making one */

static struct picture *picture_new(size_t len)
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
    struct picture *p = *out = picture_new(n * sizeof *depth);
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
    if (rc == 0 && !(*out = picture_new(len)))
        rc = err_set(err, ERR_MEMORY, "out of memory");
    if (rc == 0)
        memcpy((*out)->bytes, png, len);
    free(png);
    return rc;
}

/* Makes the picture, in one slice. */
static bool entry_run(void *ctx, void *room)
{
    struct entry *e = ctx;
    const struct api_config *config = e->pictures->config;
    /* the kernel provides only the pages that are used */
    float *depth = malloc(PIXELS_MAX * sizeof *depth);
    uint64_t seq = 0;
    int w = 0, h = 0;

    (void)room;
    e->rc = depth
                ? config->ops->depth(config->core, e->id, depth, PIXELS_MAX, &w, &h, &seq, &e->err)
                : err_set(&e->err, ERR_MEMORY, "out of memory");
    if (e->rc == 0)
        e->rc = e->raw ? encode_raw(&e->made, depth, (size_t)w * (size_t)h, &e->err)
                       : encode_png(&e->made, depth, w, h, &e->err);
    if (e->rc == 0) {
        e->made->w = w;
        e->made->h = h;
        e->made->seq = seq;
    }
    free(depth);
    return false;
}

static void entry_abandon(void *ctx)
{
    struct entry *e = ctx;

    e->rc = err_set(&e->err, ERR_BUSY, "the server is stopping");
}

/* ------------------------------------------------------------------------------- answers */

static long picture_read(void *ctx, uint64_t offset, uint8_t *buf, size_t cap)
{
    const struct picture *p = ctx;
    size_t n = p->len - offset < cap ? p->len - offset : cap;

    memcpy(buf, p->bytes + offset, n);
    return (long)n;
}

/* The answer takes over a reference. */
static void leave_picture(struct http_request *r, struct picture *p)
{
    r->answer.stream = (struct http_stream){
        .read = picture_read, .close = picture_unref, .ctx = p, .total = p->len};
    answer_header(r, "Recond-Seq", "%" PRIu64, p->seq);
    answer_header(r, "Recond-Width", "%d", p->w);
    answer_header(r, "Recond-Height", "%d", p->h);
    answer_done(r, 200, r->raw ? "application/octet-stream" : "image/png", 0);
}

/* ------------------------------------------------------------------------------- the table */

static void entry_put(struct pictures *p, struct entry *e, struct picture *picture)
{
    if (e->picture)
        p->bytes -= e->picture->len;
    picture_unref(e->picture);
    e->picture = picture;
    if (picture)
        p->bytes += picture->len;
}

/* Of the entries whose picture is not being made, returns the one asked for longest ago; NULL:
 * there is none. */
static struct entry *oldest_idle(struct pictures *p)
{
    struct entry *found = NULL;

    for (int i = 0; i < PICTURES_KEPT; i++) {
        struct entry *e = &p->entries[i];
        if (!e->task && (!found || e->asked < found->asked))
            found = e;
    }
    return found;
}

static struct entry *find_entry(struct pictures *p, const char *id, bool raw)
{
    for (int i = 0; i < PICTURES_KEPT; i++)
        if (p->entries[i].raw == raw && strcmp(p->entries[i].id, id) == 0)
            return &p->entries[i];
    return NULL;
}

/* Makes room for a picture by dropping those that were asked for longest ago. */
static void keep_within_bounds(struct pictures *p, const struct entry *newest)
{
    struct entry *e;

    while (p->bytes > PICTURES_KEPT_BYTES && (e = oldest_idle(p)) && e != newest) {
        entry_put(p, e, NULL);
        e->id[0] = '\0';
        e->asked = ++p->asked;
    }
}

/* Answers all requests that wait for the entry. */
static void entry_let_go(void *ctx)
{
    struct entry *e = ctx;
    struct pictures *p = e->pictures;
    struct http_request *asker, *next;
    struct picture *made = picture_ref(e->made);
    struct later_task *task = e->task;
    struct err err = e->err;
    int rc = e->rc;

    p->config->ops->task_free(&task);
    lock_take(&p->lock);
    e->task = NULL;
    entry_put(p, e, e->made);
    e->made = NULL;
    asker = e->askers;
    e->askers = NULL;
    if (rc)
        e->id[0] = '\0';
    keep_within_bounds(p, e);
    lock_give(&p->lock);
    for (; asker; asker = next) {
        next = asker->next;
        if (rc)
            answer_refusal(asker, &err, RETRY_S);
        else
            leave_picture(asker, picture_ref(made));
        answer_left(asker);
    }
    picture_unref(made);
}

static const struct later_kind kind = {"depth maps", entry_run,     entry_abandon,     NULL,
                                       entry_let_go, PICTURES_KEPT, PICTURES_PER_TOKEN};

static void entry_join(struct entry *e, struct http_request *r)
{
    r->waits = true;
    r->next = e->askers;
    e->askers = r;
}

/* Starts making the newest picture for an entry without a task. */
static int entry_begin(struct entry *e, struct http_request *r, struct err *err)
{
    struct pictures *p = e->pictures;
    const struct core_ops *ops = p->config->ops;
    char owner[API_NAME_CAP + API_ID_CAP];
    struct later_task *task;
    int rc;

    snprintf(owner, sizeof owner, "%s %s", r->who.name, r->who.session);
    rc = ops->task_new(p->config->core, &task, &kind, e, owner, err);
    if (rc)
        return rc;
    lock_take(&p->lock);
    if (strcmp(e->id, r->id) != 0 || e->raw != r->raw)
        entry_put(p, e, NULL);
    snprintf(e->id, sizeof e->id, "%s", r->id);
    e->raw = r->raw;
    e->asked = ++p->asked;
    e->task = task;
    entry_join(e, r);
    lock_give(&p->lock);
    ops->task_kick(task);
    return 0;
}

void pictures_ask(struct pictures *p, struct http_request *r)
{
    struct picture *picture = NULL;
    struct err err = {0};
    struct entry *e;
    uint64_t seq;
    int w, h, rc = p->config->ops->depth(p->config->core, r->id, NULL, 0, &w, &h, &seq, &err);

    if (rc) {
        answer_refusal(r, &err, RETRY_S);
        return;
    }
    lock_take(&p->lock);
    e = find_entry(p, r->id, r->raw);
    if (e && e->task) {
        entry_join(e, r);
    } else if (e && e->picture && e->picture->seq == seq) {
        picture = picture_ref(e->picture);
        e->asked = ++p->asked;
    } else if (!e) {
        e = oldest_idle(p);
    }
    lock_give(&p->lock);
    if (picture)
        leave_picture(r, picture);
    else if (!e)
        rc = err_set(&err, ERR_BUSY, "%d depth maps are being made", PICTURES_KEPT);
    else if (!r->waits)
        rc = entry_begin(e, r, &err);
    if (rc)
        answer_refusal(r, &err, RETRY_S);
}

/* ------------------------------------------------------------------------------- life */

int pictures_new(struct pictures **out, const struct api_config *config, struct err *err)
{
    struct pictures *p = *out = calloc(1, sizeof *p);

    if (!p)
        return err_set(err, ERR_MEMORY, "out of memory");
    p->config = config;
    lock_init(&p->lock, LOCK_PICTURES);
    for (int i = 0; i < PICTURES_KEPT; i++)
        p->entries[i].pictures = p;
    return 0;
}

void pictures_free(struct pictures **out)
{
    struct pictures *p = *out;

    if (!p)
        return;
    for (int i = 0; i < PICTURES_KEPT; i++)
        picture_unref(p->entries[i].picture);
    lock_destroy(&p->lock);
    free(p);
    *out = NULL;
}
