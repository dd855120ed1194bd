/* api_pictures.c - depth maps by REST: made once a frame, beside the REST thread, bounded */
#include "api/server/pictures.h"
#include "daemon/work/later.h"
#include "tests/support/edge.h"
#include "tests/support/unit.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ASKERS 30

static struct edge edge;
static sem_t may; /* each making of a picture waits for it */
static atomic_int asked, made;
static atomic_ullong newest;
static int (*plain_depth)(struct core *c, const char *id, float *buf, size_t cap, int *w, int *h,
                          uint64_t *seq, struct err *err);

static int held_depth(struct core *c, const char *id, float *buf, size_t cap, int *w, int *h,
                      uint64_t *seq, struct err *err)
{
    int rc = plain_depth(c, id, buf, cap, w, h, seq, err);

    *seq = atomic_load(&newest);
    if (cap) {
        atomic_fetch_add(&made, 1);
        sem_wait(&may);
    } else {
        atomic_fetch_add(&asked, 1);
    }
    return rc;
}

FIXTURE(setup)
{
    static struct core_ops ops;

    ops = *fake_core_ops();
    plain_depth = ops.depth;
    ops.depth = held_depth;
    sem_init(&may, 0, 0);
    atomic_store(&made, 0);
    atomic_store(&asked, 0);
    atomic_store(&newest, 1);
    edge_defaults(&edge);
    edge.config.ops = &ops;
    edge_start(&edge);
    return 0;
}

FIXTURE(teardown)
{
    for (int i = 0; i < 100; i++)
        sem_post(&may);
    edge_stop(&edge);
    return 0;
}

static int ask(const struct edge_session *s, const char *query)
{
    int fd = edge_connect(http_port(edge.http));
    char text[256];
    int n = snprintf(text, sizeof text,
                     "GET /v1/sessions/%s/depth%s HTTP/1.1\r\nHost: x\r\n"
                     "Authorization: Bearer " EDGE_VIEW "\r\n\r\n",
                     s->id, query);

    assert_true(edge_send(fd, text, (size_t)n));
    return fd;
}

static void expect(int fd, int status, const char *seq)
{
    struct edge_answer a = edge_read(fd, false);

    assert_int_equal(a.status, status);
    assert_string_equal(edge_header(&a, "Recond-Seq"), seq);
    edge_answer_free(&a);
    close(fd);
}

static void wait_for(atomic_int *count, int n)
{
    for (int i = 0; i < 60000 && atomic_load(count) < n; i++)
        usleep(1000);
    assert_int_equal(atomic_load(count), n);
}

static void others_are_answered(void)
{
    struct edge_answer a = edge_request(&edge, "GET", "/livez", NULL, NULL);

    assert_int_equal(a.status, 200);
    edge_answer_free(&a);
}

/* While a picture is being made, and all its askers wait, the REST thread answers. One making
 * serves them all, and the next askers until there is a newer frame. */
TEST_WITH(a_picture_is_made_once_beside_the_rest_thread, setup, teardown)
{
    struct edge_session s = edge_session(&edge, "{\"preview\":true}");
    int fds[ASKERS];

    for (int i = 0; i < ASKERS; i++)
        fds[i] = ask(&s, "");
    wait_for(&made, 1);
    others_are_answered();
    sem_post(&may);
    for (int i = 0; i < ASKERS; i++)
        expect(fds[i], 200, "1");
    expect(ask(&s, ""), 200, "1");
    assert_int_equal(atomic_load(&made), 1);
    atomic_store(&newest, 2);
    fds[0] = ask(&s, "");
    wait_for(&made, 2);
    sem_post(&may);
    expect(fds[0], 200, "2");
    fds[0] = ask(&s, "?format=f32");
    wait_for(&made, 3);
    sem_post(&may);
    expect(fds[0], 200, "2");
}

TEST_WITH(a_token_has_so_many_made_at_once, setup, teardown)
{
    struct edge_session s[PICTURES_PER_TOKEN + 1];
    int fds[PICTURES_PER_TOKEN], last;
    struct edge_answer a;

    for (int i = 0; i <= PICTURES_PER_TOKEN; i++)
        s[i] = edge_session(&edge, "{\"preview\":true}");
    for (int i = 0; i < PICTURES_PER_TOKEN; i++)
        fds[i] = ask(&s[i], "");
    wait_for(&made, LATER_THREADS);
    others_are_answered(); /* behind them: they have been looked at */
    a = edge_read(last = ask(&s[PICTURES_PER_TOKEN], ""), false);
    assert_int_equal(a.status, 503);
    assert_string_equal(edge_header(&a, "Retry-After"), "1");
    edge_answer_free(&a);
    close(last);
    for (int i = 0; i < PICTURES_PER_TOKEN; i++)
        sem_post(&may);
    for (int i = 0; i < PICTURES_PER_TOKEN; i++)
        expect(fds[i], 200, "1");
}

/* Clients that go while they wait, and a session that is gone when its turn comes. */
TEST_WITH(askers_that_are_gone_cost_nothing, setup, teardown)
{
    struct edge_session others[LATER_THREADS], s = edge_session(&edge, "{\"preview\":true}");
    int fds[LATER_THREADS], gone;
    struct edge_answer a;
    char target[64];

    for (int i = 0; i < LATER_THREADS; i++) {
        others[i] = edge_session(&edge, "{\"preview\":true}");
        fds[i] = ask(&others[i], "");
    }
    wait_for(&made, LATER_THREADS);
    gone = ask(&s, "?format=f32");
    wait_for(&asked, LATER_THREADS + 1);
    snprintf(target, sizeof target, "/v1/sessions/%s", s.id);
    a = edge_request(&edge, "DELETE", target, EDGE_ADMIN, NULL);
    assert_int_equal(a.status, 204);
    edge_answer_free(&a);
    for (int i = 0; i < LATER_THREADS; i++) {
        close(fds[i]);
        sem_post(&may);
    }
    sem_post(&may);
    a = edge_read(gone, false);
    assert_int_equal(a.status, 404);
    edge_answer_free(&a);
    close(gone);
    others_are_answered();
}

/* The edge stops while clients wait. */
TEST_WITH(a_stop_answers_all_that_wait, setup, teardown)
{
    struct edge_session s = edge_session(&edge, "{\"preview\":true}");
    int fds[3] = {ask(&s, ""), ask(&s, ""), ask(&s, "?format=f32")};

    wait_for(&asked, 3);
    for (int i = 0; i < 100; i++)
        sem_post(&may);
    edge_stop(&edge);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    edge_defaults(&edge);
    edge_start(&edge);
}
