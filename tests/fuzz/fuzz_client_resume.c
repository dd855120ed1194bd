/*
 * fuzz_client_resume.c - a client's stream against a server that says anything, over many lines
 *
 * Input: one byte an action and what it needs, see act(). The harness keeps a book of its own on
 * every frame; client_talk.h says what must hold. At the end comes a server that behaves, and gets
 * every frame that has no answer yet.
 */
#include "api/client/client_retry.h"
#include "api/client/client_talk.h"
#include "tests/support/fuzz_case.h"

#define FRAMES_MAX 128
#define EVENTS_MAX 512

struct book {
    struct client_talk *talk;
    struct {
        bool taken, acked, sent; /* sent: on this connection */
        bool later;              /* and answered `later` */
    } frames[FRAMES_MAX];
    int taken, acked, in_flight; /* in_flight: sent on this connection and not answered */
    int64_t highest;             /* sent on this connection, -1 = none */
    bool held;                   /* nothing is sent until client_talk_go_on() */
    uint64_t next_seq;
    int window;
    bool alive, started, ready, bye, end_wanted, end_sent, viewing, synced;
    bool unsure; /* of `synced`: a clear was perhaps in what was no message of ours */
    struct control_reach reach;
    int ordered_to; /* blocks of revisions up to this come in order; -1: in none */
    int acks_seen;
    bool ended_due;
};

struct input {
    const uint8_t *p;
    size_t n;
};

static struct delta_scratch *scratch;

static unsigned take(struct input *in)
{
    if (in->n == 0)
        return 0;
    in->n--;
    return *in->p++;
}

static void on_ack(void *ctx, const struct control_ack *ack)
{
    (void)ack;
    ((struct book *)ctx)->acks_seen++;
}

static void on_sync(void *ctx, const struct control_sync *sync, bool equal)
{
    struct book *b = ctx;

    check(equal == (sync->hash == cloud_hash(client_talk_cloud(b->talk)) &&
                    sync->points == cloud_points(client_talk_cloud(b->talk))));
    b->ended_due = b->viewing;
    b->synced = equal;
    b->unsure = false;
    if (equal)
        b->reach = (struct control_reach){.revision = sync->revision};
}

static void on_ended(void *ctx, bool closed)
{
    ((struct book *)ctx)->ended_due &= closed;
}

/* ------------------------------------------------------------------------- what the client says */

static void check_frame(struct book *b, const struct client_talk_message *m)
{
    struct frame f;

    check(frame_parse(&f, m->bytes, m->len, FRAME_POSE_CV, NULL) == 0);
    check(f.seq < FRAMES_MAX && b->frames[f.seq].taken && !b->held);
    check(!b->end_sent || b->frames[f.seq].later);
    check(!b->frames[f.seq].acked); /* never again after its answer */
    check(!b->frames[f.seq].sent);
    check(b->frames[f.seq].later || (int64_t)f.seq > b->highest);
    for (uint64_t i = 0; i < f.seq; i++) /* none overtakes one that comes later */
        check(!b->frames[i].later || b->frames[i].sent || b->frames[i].acked);
    check(f.payload_len == 4 && f.payload[0] == (uint8_t)f.seq);
    b->frames[f.seq].sent = true;
    if ((int64_t)f.seq > b->highest)
        b->highest = (int64_t)f.seq;
    check(++b->in_flight <= b->window);
}

static bool same_reach(const struct control_reach *a, const struct control_reach *b)
{
    return a->revision == b->revision && a->part == b->part &&
           (!a->part || key_compare_names(&a->block, &b->block) == 0);
}

static void check_text(struct book *b, const struct client_talk_message *m)
{
    struct control_message c;

    check(control_parse(&c, (const char *)m->bytes, m->len, NULL) == 0);
    if (c.op == CONTROL_START) {
        check(!b->started);
        b->started = true;
        b->viewing = c.start.role == CONTROL_VIEW;
        check(b->viewing == (b->end_wanted && b->taken == b->acked));
        check(c.start.resume == b->synced || (b->unsure && !c.start.resume));
        check(!c.start.resume || (same_reach(&c.start.reach, &b->reach) &&
                                  c.start.epoch == cloud_epoch(client_talk_cloud(b->talk))));
    } else { /* all that was taken has gone out before */
        check(b->end_wanted && !b->end_sent && !b->viewing);
        check(b->in_flight == b->taken - b->acked);
        check(c.op == CONTROL_END);
        b->end_sent = true;
    }
    check(c.op == CONTROL_START || b->ready);
}

static void pump(struct book *b, int most)
{
    struct client_talk_message m;
    int rc = 0;

    for (int i = 0; b->alive && i < most && rc == 0; i++) {
        bool more = client_talk_has_more(b->talk);

        rc = client_talk_next(b->talk, &m, NULL);
        check(rc == (more ? 0 : ERR_END));
        if (rc)
            break;
        check(!b->bye);
        if (m.binary)
            check_frame(b, &m);
        else
            check_text(b, &m);
    }
}

/* ------------------------------------------------------------------------- what the server says */

static void hear(struct book *b, bool binary, const void *bytes, size_t len)
{
    struct err err = {0};
    int rc;

    if (!b->alive)
        return;
    rc = client_talk_receive(b->talk, binary, bytes, len, &err);
    check(!b->ended_due); /* a client that was done hears so with each `sync` */
    if (rc == 0)
        return;
    b->synced &= rc != ERR_END; /* a mirror that does not fit is not resumed */
    check(err.code == rc && err.text[0]);
    b->alive = false;
}

static void hear_message(struct book *b, const struct control_message *m)
{
    char text[CONTROL_TEXT_MAX];
    size_t len = control_write(text, sizeof text, m);

    check(len > 0);
    hear(b, false, text, len);
}

static void say_ready(struct book *b, unsigned window, unsigned epoch, unsigned bytes)
{
    struct control_message m = {.op = CONTROL_READY};
    bool due = b->alive && b->started && !b->ready;

    memcpy(m.ready.session, "a", 2);
    m.ready.epoch = epoch;
    m.ready.codec = CODEC_RAW;
    m.ready.step_m = 0.001f;
    m.ready.window = window;
    m.ready.max_frame_bytes = bytes;
    m.ready.features = bytes & 1 ? 1u << CONTROL_ORDER : 0;
    m.ready.revision = bytes & 31;
    hear_message(b, &m);
    check(!due || b->alive || window == 0);
    check(due || !b->alive);
    if (b->alive) {
        b->ready = true;
        b->ordered_to = bytes & 1 ? (int)(bytes & 31) : -1;
        b->window = window < CLIENT_WINDOW_MAX ? (int)window : CLIENT_WINDOW_MAX;
    }
}

static void say_ack(struct book *b, uint64_t seq, unsigned how)
{
    struct control_message m = {.op = CONTROL_ACK};
    bool alive = b->alive, known = seq < FRAMES_MAX && b->frames[seq].sent && !b->frames[seq].acked;
    int seen = b->acks_seen;

    m.ack.seq = seq;
    m.ack.status = (enum control_status)(how % 4);
    m.ack.retry_ms = how;
    m.ack.reason = m.ack.status == CONTROL_USED || m.ack.status == CONTROL_LATER
                       ? CONTROL_REASON_NONE
                       : (enum control_reason)(1 + how % (CONTROL_REASONS - 1));
    hear_message(b, &m);
    check(b->alive == alive);
    /* once, and only of what is under way */
    check(b->acks_seen - seen == (alive && known && m.ack.status != CONTROL_LATER));
    if (!alive || !known)
        return;
    if (m.ack.status == CONTROL_LATER) {
        b->frames[seq].later = b->held = true;
        b->frames[seq].sent = false;
        b->in_flight--;
        return;
    }
    b->frames[seq].acked = true;
    b->acked++;
    b->in_flight--;
}

static void say_sync(struct book *b, unsigned revision, bool right, bool ended)
{
    const struct cloud *c = client_talk_cloud(b->talk);
    struct control_message m = {.op = CONTROL_SYNC};

    m.sync.revision = revision;
    m.sync.points = cloud_points(c);
    m.sync.hash = cloud_hash(c) ^ !right;
    hear_message(b, &m);
    if (!ended)
        return;
    m = (struct control_message){.op = CONTROL_ENDED, .ended.revision = revision};
    hear_message(b, &m);
}

static void say_block(struct book *b, struct input *in)
{
    uint64_t keys[4];
    unsigned how = take(in), where = take(in), n = 1 + (how >> 3 & 3);
    struct delta d = {.op = (enum delta_op)(DELTA_PUT + how % 4),
                      .codec = CODEC_RAW,
                      .epoch = 1 + (how >> 6 & 1),
                      .name = {0, (int)(where & 3), 0, 0}};
    const uint8_t *msg;
    size_t len;

    for (unsigned i = 0; i < n; i++)
        keys[i] = (uint64_t)(1000 * i + (where & 31)) << KEY_MORTON_AT | 0x40800000u | 1;
    d.revision = take(in) & 31;
    if (d.op == DELTA_PATCH)
        d.base_revision = take(in) & 31;
    if (d.op == DELTA_PUT || d.op == DELTA_PATCH) {
        d.added = keys;
        d.n_added = n;
        d.n_points = d.op == DELTA_PUT ? n : n + (where >> 5);
    }
    if (delta_encode(scratch, &d, &msg, &len, NULL) == 0)
        hear(b, true, msg, len);
    if (b->alive && d.op == DELTA_CLEAR)
        b->synced = false;
    else if (b->alive && (int)d.revision <= b->ordered_to) {
        b->synced = true;
        b->reach = (struct control_reach){d.revision, true, d.name};
    }
}

static void say_bye(struct book *b, unsigned how)
{
    struct control_message m = {.op = CONTROL_BYE};

    m.bye.action = (enum control_action)(how % 3);
    m.bye.retry_ms = how << 4;
    hear_message(b, &m);
    b->bye = b->bye || b->alive;
}

static void say_error(struct book *b, unsigned how)
{
    static const int statuses[] = {400, 401, 403, 404, 409, 410, 422, 429, 500, 503};
    struct control_message m = {.op = CONTROL_ERROR};

    m.error.status = statuses[how % 10];
    memcpy(m.error.title, "x", 2);
    memcpy(m.error.type, how & 1 ? "flood" : "conflict", 6);
    m.error.retry_ms = how << 2;
    hear_message(b, &m);
}

static void say_anything(struct book *b, struct input *in)
{
    unsigned len = take(in);
    bool binary = len & 1;

    len = len < in->n ? len : (unsigned)in->n;
    /* Whatever it was, the book would have to guess: the line ends with it. */
    hear(b, binary, in->p, len);
    in->p += len;
    in->n -= len;
    b->alive = false;
    b->unsure = true;
}

/* ------------------------------------------------------------------------- lines come and go */

static void connect_again(struct book *b)
{
    client_talk_connect(b->talk);
    for (int i = 0; i < FRAMES_MAX; i++)
        b->frames[i].sent = b->frames[i].later = false;
    b->in_flight = 0;
    b->held = false;
    b->highest = -1;
    b->alive = true;
    b->started = b->ready = b->bye = b->end_sent = b->viewing = false;
}

static void lose(struct book *b, unsigned how, struct client_retry *retry)
{
    static const int codes[] = {ERR_IO, ERR_END, ERR_BUSY, ERR_DENIED, ERR_NOT_FOUND};
    const struct control_bye *bye = client_talk_bye(b->talk);
    uint32_t asked_ms = bye ? bye->retry_ms : 0;
    struct err err = {0};
    int code = codes[how % 5], rc, wait_ms, failed = retry->failed;

    rc = client_talk_ended(b->talk, code, err_set(&err, code, "lost") ? &err : NULL);
    check(rc < 0 && err.code == rc && err.text[0]);
    if (bye && bye->action == CONTROL_DISCONNECT)
        check(!client_talk_resumable(b->talk, rc));
    if (rc == ERR_DENIED || rc == ERR_NOT_FOUND || rc == ERR_STATE || rc == ERR_INPUT)
        check(!client_talk_resumable(b->talk, rc));
    wait_ms = client_retry_wait_ms(retry, asked_ms, how * 100);
    check(wait_ms == -1 ||
          (wait_ms >= (int)asked_ms + CLIENT_RETRY_FIRST_MS / 2 &&
           wait_ms <= (int)asked_ms + CLIENT_RETRY_MAX_MS && retry->failed == failed + 1));
    connect_again(b);
}

static void send_frame(struct book *b, unsigned bytes)
{
    uint8_t payload[4] = {(uint8_t)b->next_seq, (uint8_t)bytes, 2, 3};
    struct frame f = {.seq = b->next_seq, .width = 16, .height = 16, .T_wc = rigid_identity()};
    int window = client_talk_window(b->talk), rc;

    f.payload = payload;
    f.payload_len = sizeof payload;
    if (b->next_seq == FRAMES_MAX)
        return;
    rc = client_talk_send(b->talk, &f, NULL);
    check(rc == 0 || b->end_wanted || window == 0 || rc == ERR_LIMIT);
    check(rc != 0 || (window > 0 && !b->end_wanted && b->ready && !b->bye));
    if (rc)
        return;
    b->frames[b->next_seq].taken = true;
    b->taken++;
    b->next_seq += 1 + bytes % 3; /* gaps are allowed */
    if (b->next_seq > FRAMES_MAX)
        b->next_seq = FRAMES_MAX;
    f.seq = b->next_seq - 1;
    if (client_talk_window(b->talk) > 0 && bytes % 3 == 0)
        check(client_talk_send(b->talk, &f, NULL) == ERR_INPUT); /* the same number again */
}

static void act(struct book *b, struct input *in, struct client_retry *retry)
{
    unsigned what = take(in);
    uint32_t for_ms;

    switch (what % 12) {
    case 0:
        pump(b, 1 + (int)(what / 12));
        break;
    case 1:
    case 2:
        send_frame(b, what / 12);
        break;
    case 3:
        what = take(in);
        say_ready(b, what % 70, 1 + what % 2, what == 255 ? 83 : 1000);
        break;
    case 4:
        say_ack(b, take(in) + (what & 128 ? b->acked : 0), what / 12);
        break;
    case 5: /* the oldest that is under way */
        for (int i = 0; i < FRAMES_MAX; i++)
            if (b->frames[i].sent && !b->frames[i].acked) {
                say_ack(b, (uint64_t)i, what / 12);
                break;
            }
        break;
    case 6:
        say_sync(b, take(in), what & 64, what & 128);
        break;
    case 7:
        say_block(b, in);
        break;
    case 8:
        lose(b, what / 12, retry);
        break;
    case 9:
        if (what > 200)
            say_bye(b, take(in));
        else if (what > 150)
            say_error(b, take(in));
        else
            say_anything(b, in);
        break;
    case 10:
        if (what > 230 && client_talk_end(b->talk, NULL) == 0)
            b->end_wanted = true;
        break;
    default:
        if (client_talk_held(b->talk, &for_ms)) {
            check(b->held && b->in_flight == 0);
            client_talk_go_on(b->talk);
            b->held = false;
        }
        client_retry_reset(retry);
    }
}

/* A server that behaves is told everything, however it went before. */
static void end_well(struct book *b)
{
    connect_again(b);
    pump(b, 1);
    say_ready(b, 3, 1, 1000);
    for (int i = 0; i < 2 * FRAMES_MAX && b->acked < b->taken; i++) {
        int before = b->acked;

        pump(b, 300);
        for (int k = 0; k < FRAMES_MAX; k++)
            if (b->frames[k].sent && !b->frames[k].acked)
                say_ack(b, (uint64_t)k, 0);
        check(b->acked > before);
    }
    check(b->acked == b->taken && client_talk_unanswered(b->talk) == 0);
    pump(b, 300);
    check(b->end_sent == (b->end_wanted && !b->viewing));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct book b;
    struct client_stream_config config = {.role = CONTROL_INGEST,
                                          .pose = FRAME_POSE_CV,
                                          .limits = {16, 256},
                                          .ctx = &b,
                                          .on_ack = on_ack,
                                          .on_sync = on_sync,
                                          .on_ended = on_ended};
    struct client_retry retry = {.for_s = 20, .random = size};
    struct client_stream_stats *stats;
    struct input in = {data, size};

    if (!scratch)
        check(delta_scratch_new(&scratch, NULL) == 0);
    memset(&b, 0, sizeof b);
    check(client_talk_new(&b.talk, &config, NULL) == 0);
    connect_again(&b);
    for (int i = 0; i < EVENTS_MAX && in.n; i++) {
        act(&b, &in, &retry);
        check(client_talk_unanswered(b.talk) == b.taken - b.acked); /* nothing is lost */
    }
    end_well(&b);
    stats = client_talk_stats(b.talk);
    check(stats->frames_answered == (uint64_t)b.taken && stats->frames_sent == (uint64_t)b.taken);
    check(stats->duplicates <= stats->frames_resent);
    client_talk_free(&b.talk);
    check(b.talk == NULL);
    return 0;
}
