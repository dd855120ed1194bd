/* outbox_reader.h - a client without a line: it reads an outbox, and checks what it is told */
#ifndef RECOND_TESTS_OUTBOX_READER_H
#define RECOND_TESTS_OUTBOX_READER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/session/outbox.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 4000
#define EPOCH 77

struct reader {
    struct outbox *o;
    struct cloud *cloud;
    struct control_sync sync;
    struct control_bye bye;
    struct control_ack acks[64];
    int n_sync, n_blocks, n_puts, n_patches, n_deletes, n_clears, n_acks, n_ready, n_bye, n_ended,
        n_closed;
    uint64_t bytes;
    uint64_t known;            /* the revision of `ready` */
    struct control_reach held; /* by the blocks that came, of which PROTOCOL.md, "Resume" tells */
};

static inline struct mirror *new_mirror(void)
{
    const struct cloud_limits limits = {10000, SLOTS};
    struct mirror *m;

    assert_int_equal(mirror_new(&m, &limits, NULL), 0);
    return m;
}

static inline void open_reader(struct reader *r, struct mirror *m)
{
    const struct cloud_limits limits = {10000, SLOTS};

    memset(r, 0, sizeof(*r));
    assert_int_equal(cloud_new(&r->cloud, &limits, NULL), 0);
    assert_int_equal(outbox_new(&r->o, m, EPOCH, 4, NULL), 0);
}

static inline void start_reader_at(struct reader *r, struct mirror *m, bool resume, uint32_t epoch,
                                   const struct control_reach *reach)
{
    const struct control_start start = {.resume = resume, .epoch = epoch, .reach = *reach};
    struct control_ready ready = {.epoch = EPOCH,
                                  .codec = CODEC_DEFLATE,
                                  .session = "x",
                                  .step_m = 0.001f,
                                  .window = 4,
                                  .max_frame_bytes = 1 << 20};
    struct mirror_summary now;

    mirror_summary(m, &now);
    ready.revision = r->known = now.revision;
    assert_int_equal(outbox_start(r->o, &ready, &start, NULL), 0);
}

static inline void start_reader(struct reader *r, struct mirror *m, bool resume, uint32_t epoch,
                                uint64_t revision)
{
    start_reader_at(r, m, resume, epoch, &(struct control_reach){.revision = revision});
}

/* A client that holds nothing yet, from its connection on. */
static inline void begin_reader(struct reader *r, struct mirror *m)
{
    open_reader(r, m);
    start_reader(r, m, false, 0, 0);
}

static inline void close_reader(struct reader *r)
{
    outbox_free(&r->o);
    cloud_free(&r->cloud);
}

static inline void take_text(struct reader *r, const uint8_t *msg, size_t len)
{
    struct control_message m;

    assert_int_equal(control_parse(&m, (const char *)msg, len, NULL), 0);
    if (m.op == CONTROL_SYNC) {
        r->n_sync++;
        r->sync = m.sync;
        assert_true(m.sync.hash == cloud_hash(r->cloud)); /* the invariant */
        assert_int_equal(m.sync.points, cloud_points(r->cloud));
    } else if (m.op == CONTROL_BYE) {
        r->n_bye++;
        r->bye = m.bye;
    } else if (m.op == CONTROL_ACK) {
        r->acks[r->n_acks++ % 64] = m.ack;
    } else {
        r->n_ready += m.op == CONTROL_READY;
        r->n_ended += m.op == CONTROL_ENDED;
        r->n_closed += m.op == CONTROL_SESSION_CLOSED;
        assert_true(m.op != CONTROL_ENDED || m.ended.revision == r->sync.revision);
    }
}

/* Blocks that did not change since `ready` come in their order. */
static inline void note_block(struct reader *r, const uint8_t *msg)
{
    struct bytes_reader revision = bytes_reader(msg + 8, 8), name = bytes_reader(msg + 16, 16);
    struct control_reach to = {.revision = bytes_get_u64(&revision), .part = true};

    assert_true(key_get_name(&name, &to.block));
    if (to.revision > r->known)
        return;
    assert_false(control_reaches(&r->held, to.revision, &to.block));
    r->held = to;
}

static inline enum stream_kind step(struct reader *r)
{
    struct outbox_sent sent;
    const uint8_t *msg;
    size_t len;
    struct err err = {0};
    enum stream_kind kind = outbox_next(r->o, &msg, &len, &sent);

    assert_int_equal(sent.bytes, len);
    if (kind == STREAM_TEXT)
        take_text(r, msg, len);
    if (kind != STREAM_BINARY)
        return kind;
    r->bytes += len;
    r->n_blocks += msg[0] != DELTA_CLEAR;
    r->n_puts += msg[0] == DELTA_PUT;
    r->n_patches += msg[0] == DELTA_PATCH;
    r->n_deletes += msg[0] == DELTA_DELETE;
    r->n_clears += msg[0] == DELTA_CLEAR;
    if (cloud_apply(r->cloud, msg, len, &err))
        fail_msg("%s", err.text);
    if (msg[0] == DELTA_PUT || msg[0] == DELTA_PATCH || msg[0] == DELTA_DELETE)
        note_block(r, msg);
    return kind;
}

static inline void read_all(struct reader *r)
{
    enum stream_kind kind;

    do
        kind = step(r);
    while (kind != STREAM_NONE && kind != STREAM_CLOSE);
}

/* What a client is told of a commit. */
static inline void tell(struct reader *r, const struct mirror_commit *c)
{
    outbox_mark(r->o, c->changed, c->n_changed, c->revision);
}

/* n changes within `spread` steps, a tenth of them removals. */
static inline void commit(struct mirror *m, uint32_t n, int spread, struct mirror_commit *out)
{
    static struct gpu_change changes[SLOTS];

    for (uint32_t i = 0; i < n; i++) {
        changes[i] = (struct gpu_change){.slot = (uint32_t)rand() % SLOTS,
                                         .kind = rand() % 10 ? GPU_CHANGE_PUT : GPU_CHANGE_REMOVE,
                                         .confidence = 1};
        for (int k = 0; k < 3; k++)
            changes[i].p_q[k] = rand() % spread - spread / 2;
    }
    mirror_commit(m, 0, changes, n, out);
    assert_int_equal(out->n_left_out, 0);
}

#endif
