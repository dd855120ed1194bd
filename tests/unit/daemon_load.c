/* More than there is room for: overload, floods, limits, fairness, and balanced accounts. */
#include "daemon/config_table.h"
#include "daemon/core_internal.h"
#include "daemon/session/outbox.h"
#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

/* More than the device can do: the oldest are dropped and told, order is kept, the sum is right. */
TEST(overload_drops_the_oldest)
{
    static struct rig_client in;
    struct session_info info;
    uint64_t last_used = 0;
    int used = 0, dropped = 0;

    rig_begin(&in, NULL);
    fake_gpu_plan.hold = true;
    for (uint64_t seq = 1; seq <= 40; seq++) {
        rig_send(&in, seq);
        rig_read_all(&in);
    }
    fake_gpu_plan.hold = false;
    rig_wait_acks(&in, 40);
    for (int i = 0; i < 40; i++) {
        used += in.acks[i].status == CONTROL_USED;
        dropped += in.acks[i].status == CONTROL_DROPPED && in.acks[i].reason == CONTROL_OVERLOAD;
        if (in.acks[i].status != CONTROL_USED)
            continue;
        assert_true(in.acks[i].seq > last_used);
        last_used = in.acks[i].seq;
    }
    assert_int_equal(used + dropped, 40);
    assert_true(dropped > 5);
    assert_true(used >= 8);
    assert_int_equal(last_used, 40); /* the newest is not what has to go */
    info = rig_info(in.id);
    assert_int_equal(info.counts.used, used);
    assert_int_equal(info.counts.dropped, dropped);
    assert_int_equal(info.counts.queued, 0);
    rig_end(&in);
}

TEST(a_client_that_floods_is_told_apart)
{
    static struct rig_client in;
    struct err err = {0};
    struct frame f;
    int rc = 0, sent = 0;

    rig_begin(&in, NULL);
    for (; rc != ERR_LIMIT && sent < 1000; sent++) { /* never reads an answer */
        f = rig_frame((uint64_t)sent + 1);
        rc = rig_send_frame(&in, &f, &err);
    }
    assert_int_equal(rc, ERR_LIMIT);
    assert_string_equal(err.where, "flood");
    assert_int_equal(sent, 8 * OUTBOX_WINDOWS + 1);
    rig_end(&in);
}

TEST(sessions_beyond_the_limits_are_refused)
{
    struct session_options o = rig_options();
    struct session_info info, infos[100];
    struct err err = {0};
    uint64_t cursor = 0;
    int made = 0, refused = 0, retry = 0, n, rc;
    struct worker_budget *budget;
    uint64_t used;

    rig_open();
    for (int i = 0; i < 10000; i++) {
        rc = core_ops.session_create(rig.core, &o, "", &info, &retry, &err);
        made += rc == 0;
        refused += rc == ERR_BUSY && retry > 0;
    }
    assert_int_equal(made, 64);
    assert_int_equal(refused, 9936);
    assert_int_equal(core_ops.session_list(rig.core, infos, 40, &n, &cursor, NULL), 0);
    assert_int_equal(n, 40);
    assert_int_equal(core_ops.session_list(rig.core, infos, 100, &n, &cursor, NULL), 0);
    assert_int_equal(n, 24);
    budget = worker_budget(rig.core->workers[0]);
    used = atomic_load(&budget->used);
    for (int i = 0; i < 24; i++)
        assert_int_equal(core_ops.session_delete(rig.core, infos[i].id, NULL), 0);
    for (int i = 0; i < 60000 && atomic_load(&budget->used) > used / 64 * 40; i++)
        usleep(1000);
    assert_true(atomic_load(&budget->used) == used / 64 * 40); /* every byte came back */
    o.max_points = 8000000;                                    /* more than there is memory for */
    atomic_store(&budget->limit, atomic_load(&budget->used) + (64 << 20));
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_non_null(strstr(err.text, "MiB"));
    rig_close();
}

static void open_with(const char *frames_per_s, int cuda)
{
    struct config_key key;
    struct config config;
    const char *hint;

    rig_prepare(&config);
    fake_gpu_plan.cuda_count = cuda;
    snprintf(config.device.use, sizeof(config.device.use), "%s", cuda ? "cuda" : "cpu");
    assert_true(config_table_find(&key, "device", "frames_per_s", &hint));
    assert_int_equal(config_table_set(&config, &key, frames_per_s, NULL), 0);
    rig_open_with(&config);
}

/* 100 frames a second on each of two devices: sessions of 40 fit twice on each, a closed one makes
 * room, one of 20 still does. */
TEST(a_device_promises_no_more_than_it_has)
{
    struct session_options o = rig_options();
    struct session_info info;
    struct err err = {0};
    char id[4][API_ID_CAP];
    int retry, on_first = 0;

    open_with("100", 2);
    o.fps = 40;
    for (int i = 0; i < 4; i++) {
        rig_session(&o, id[i]);
        on_first += !strcmp(rig_info(id[i]).device, "cuda:0");
    }
    assert_int_equal(on_first, 2);
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_string_equal(err.text,
                        "40 frames a second are asked for, 80 of the device's 100 are promised");
    assert_int_equal(retry, CORE_RETRY_S);
    o.fps = 20;
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), 0);
    o.fps = 40;
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_int_equal(core_ops.session_close(rig.core, id[0], &err), 0);
    assert_int_equal(rig_info(id[0]).state, SESSION_CLOSED);
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), 0);
    assert_string_equal(info.device, rig_info(id[0]).device);
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    rig_close();
}

/* The device with the least to do has promised what it has: the other one takes them. */
TEST(promises_come_before_load)
{
    struct session_options o = rig_options();
    char id[4][API_ID_CAP];

    open_with("100", 2);
    for (int i = 0; i < 4; i++) {
        o.fps = i ? 20 : 90;
        rig_session(&o, id[i]);
        assert_string_equal(rig_info(id[i]).device, i ? "cuda:1" : "cuda:0");
    }
    rig_close();
}

static void *create_many(void *arg)
{
    struct session_options o = rig_options();
    struct session_info info;
    struct err err;
    int retry;

    o.fps = 10;
    for (int i = 0; i < 200; i++)
        if (core_ops.session_create(arg, &o, "", &info, &retry, &err) == 0 && i % 2)
            assert_int_equal(core_ops.session_delete(arg, info.id, &err), 0);
    return NULL;
}

/* Four threads at the door at once: never more than was promised, and every byte comes back. */
TEST(a_crowd_gets_no_more)
{
    struct session_info infos[100];
    pthread_t threads[4];
    uint64_t cursor = 0;
    int n, used = 0;

    open_with("55", 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, create_many, rig.core), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(core_ops.session_list(rig.core, infos, 100, &n, &cursor, NULL), 0);
    assert_in_range(n, 1, 5);
    for (int i = 0; i < n; i++)
        assert_int_equal(core_ops.session_delete(rig.core, infos[i].id, NULL), 0);
    for (int i = 0;
         i < 60000 && (used = (int)atomic_load(&worker_budget(rig.core->workers[0])->used)); i++)
        usleep(1000);
    assert_int_equal(used, 0);
    rig_close();
}

/* A client that is turned away hears when the first retention ends, if that is soon. */
TEST(whoever_is_refused_hears_when_to_come_back)
{
    static struct rig_client in;
    struct session_options o = rig_options();
    struct session_info info;
    struct err err = {0};
    char id[API_ID_CAP];
    int retry;

    open_with("30", 0);
    o.retention_s = 120;
    rig_session(&o, id);
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_in_range(retry, 110, 120);
    rig_connect(&in, id, CONTROL_INGEST); /* it is wanted: for how long is not known */
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_int_equal(retry, CORE_RETRY_S);
    rig_disconnect(&in);
    assert_int_equal(core_ops.session_delete(rig.core, id, NULL), 0);
    o.retention_s = 3600;
    rig_session(&o, id);
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_int_equal(retry, CORE_RETRY_S);
    core_drain(rig.core);
    assert_int_equal(core_ops.session_create(rig.core, &o, "", &info, &retry, &err), ERR_BUSY);
    assert_string_equal(err.text, "the server is stopping");
    rig_close();
}

/* One session has eight frames waiting when another's one frame comes: that is on the device
 * before the second of them is. */
TEST(sessions_take_turns_on_the_device)
{
    static struct rig_client busy, calm;
    struct session_options o = rig_options();
    char id[2][API_ID_CAP];

    rig_open();
    rig_session(&o, id[0]);
    rig_session(&o, id[1]);
    rig_connect(&busy, id[0], CONTROL_INGEST);
    rig_connect(&calm, id[1], CONTROL_INGEST);
    fake_gpu_plan.wait_us = 20000;
    for (uint64_t seq = 1; seq <= 8;
         seq++) { /* the worker learns that the device computes by itself */
        rig_step(&busy, seq, (int)seq);
    }
    rig_step(&calm, 1, 1);
    for (int round = 1; round <= 5; round++) {
        int before = fake_gpu_plan.batches;
        fake_gpu_plan.hold = true;
        for (uint64_t i = 1; i <= 8; i++)
            rig_send(&busy, (uint64_t)round * 8 + i);
        rig_wait_count(&fake_gpu_plan.batches, before + 1);
        rig_send(&calm, (uint64_t)round + 1);
        rig_wait_count(&fake_gpu_plan.batches, before + 2);
        fake_gpu_plan.hold = false;
        rig_wait_acks(&calm, round + 1);
        assert_int_equal(calm.acks[round].status, CONTROL_USED);
        rig_wait_acks(&busy, 8 * (round + 1));
    }
    assert_int_equal(rig_info(id[1]).counts.used, 6);
    rig_disconnect(&busy);
    rig_end(&calm);
}

/* One frame of any kind; `seq` may go back. Returns true if it was let in. */
static bool send_anything(struct rig_client *c, uint64_t *seq)
{
    static uint8_t junk[500];
    struct frame f = rig_frame(rand() % 8 ? ++*seq : *seq / 2);

    switch (rand() % 10) {
    case 0:
        f.payload_len = 1 + (uint32_t)rand() % f.payload_len;
        break;
    case 1:
        f.payload = junk;
        f.payload_len = sizeof(junk);
        break;
    case 2:
        f.flags = (uint32_t)rand() % 16;
        break;
    case 3:
        f.T_wc.t[rand() % 3] = rand() % 2 ? NAN : 1e30f;
        break;
    case 4:
        f.width = 1 + rand() % 1000;
        break;
    default:
        break;
    }
    return rig_send_frame(c, &f, NULL) != ERR_LIMIT;
}

/* Three clients, thousands of frames of every kind: at every quiet moment the sum is exact, every
 * frame that was let in has one answer, and the clouds agree. */
TEST(accounts_balance_whatever_comes)
{
    static struct rig_client c[3];
    struct session_options o = rig_options();
    struct session_counts n;
    char id[3][API_ID_CAP];
    uint64_t seq[3] = {0}, let_in[3] = {0};

    srand(11);
    rig_open();
    for (int i = 0; i < 3; i++) {
        rig_session(&o, id[i]);
        rig_connect(&c[i], id[i], CONTROL_INGEST);
    }
    for (int round = 0; round < 40; round++) {
        fake_gpu_plan.delay_us = rand() % 3 * 500;
        for (int k = 0; k < 40; k++) {
            int i = rand() % 3;
            let_in[i] += send_anything(&c[i], &seq[i]);
            if (rand() % 3 == 0)
                rig_read_all(&c[i]);
        }
        for (int i = 0; i < 3; i++) {
            rig_wait_acks(&c[i], (int)let_in[i]);
            n = rig_info(id[i]).counts;
            assert_int_equal(n.received + n.again, let_in[i]);
            assert_int_equal(n.received, n.used + n.dropped + n.refused);
            assert_int_equal(n.queued, 0);
            assert_true(c[i].sync.hash == rig_info(id[i]).hash);
        }
    }
    for (int i = 0; i < 3; i++) {
        n = rig_info(id[i]).counts;
        assert_true(n.used > 100 && n.refused > 100);
        rig_disconnect(&c[i]);
    }
    rig_close();
}

struct watch {
    char (*id)[API_ID_CAP];
    int n;
    atomic_bool end;
    atomic_int looks, wrong;
};

/* Looks at the accounts while they are written. A session that is deleted is not there. */
static void *watch(void *arg)
{
    struct watch *w = arg;
    struct session_info info;
    struct session_counts *c = &info.counts;

    for (int i = 0; !atomic_load(&w->end); i++)
        if (core_ops.session_get(rig.core, w->id[i % w->n], &info, NULL) == 0) {
            w->wrong += c->received != c->used + c->dropped + c->refused + c->queued;
            w->looks++;
        }
    return NULL;
}

/* The same while another thread looks on all the time, and while sessions are closed and deleted
 * with frames in every state: the sum is right at every moment, what comes late is refused, and a
 * session that goes takes nothing from the others. */
TEST(accounts_balance_at_every_moment)
{
    enum { N = 6, CLOSED = 2, KILLED = 2 };
    static struct rig_client c[N];
    static char id[N][API_ID_CAP];
    struct session_options o = rig_options();
    uint64_t seq[N] = {0}, let_in[N] = {0};
    struct session_info info;
    struct watch w = {.id = id, .n = N};
    pthread_t thread;

    srand(12);
    rig_open();
    fake_gpu_plan.delay_us = 1000;
    for (int i = 0; i < N; i++) {
        rig_session(&o, id[i]);
        rig_connect(&c[i], id[i], CONTROL_INGEST);
    }
    assert_int_equal(pthread_create(&thread, NULL, watch, &w), 0);
    for (int k = 0; k < 4000; k++) {
        int i = rand() % N;
        if (k == 2000)
            for (int f = 0; f < CLOSED; f++)
                assert_int_equal(core_ops.session_close(rig.core, id[f], NULL), 0);
        if (k == 3000)
            for (int d = 0; d < KILLED; d++)
                assert_int_equal(core_ops.session_delete(rig.core, id[N - 1 - d], NULL), 0);
        let_in[i] += send_anything(&c[i], &seq[i]);
        rig_read_all(&c[i]);
        if (k % 20 == 0)
            usleep(500);
    }
    for (int i = 0; i < N - KILLED; i++) {
        rig_wait_acks(&c[i], (int)let_in[i]);
        info = rig_info(id[i]);
        assert_int_equal(info.counts.received + info.counts.again, let_in[i]);
        assert_int_equal(info.counts.queued, 0);
        assert_true(info.counts.used > 20 && info.counts.refused > 100);
        assert_int_equal(info.state, i < CLOSED ? SESSION_CLOSED : SESSION_STREAMING);
    }
    atomic_store(&w.end, true);
    pthread_join(thread, NULL);
    assert_true(w.looks > 1000);
    assert_int_equal(w.wrong, 0);
    for (int i = 0; i < N; i++)
        rig_disconnect(&c[i]);
    rig_close();
}
