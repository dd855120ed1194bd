/* Objects over REST: what a body may say, whose objects are seen, and that nothing waits for those
 * that are being enrolled. */
#include "api/server/http.h"
#include "tests/support/edge.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAMERA "\"camera\":{\"fx\":500,\"fy\":501,\"cx\":320,\"cy\":240.5}"
#define POSE "\"pose\":[0,0,0.6,0.8,1,2,3]"
#define VIEW "{\"depth\":\"AAECAw==\"," CAMERA "," POSE "}"
#define REGION(size, turn) \
    "{\"session\":\"abc\",\"centre\":[1,2,-3],\"size\":" size ",\"turn\":" turn "}"
#define MUG "{\"name\":\"mug\",\"class\":\"cup\",\"mesh\":\"AAECAwQ=\",\"mesh_scale\":0.001}"

static struct edge edge;

FIXTURE(setup)
{
    fake_objects_clear();
    edge_defaults(&edge);
    edge_start(&edge);
    return 0;
}

FIXTURE(teardown)
{
    atomic_store(&fake_objects_seen.hold, false);
    edge_stop(&edge);
    return 0;
}

/* The answer's body holds `text`, NULL = anything. */
static void expect(const char *method, const char *target, const char *token, const char *json,
                   int status, const char *text)
{
    struct edge_answer a = edge_request(&edge, method, target, token, json);

    if (a.status != status || (text && (!a.body || !strstr(a.body, text))))
        print_error("%s %s %.300s: %s%s\n", method, target, json ? json : "", a.head,
                    a.body ? a.body : "");
    assert_int_equal(a.status, status);
    assert_true(!text || (a.body && strstr(a.body, text)));
    edge_answer_free(&a);
}

TEST_WITH(life, setup, teardown)
{
    struct edge_answer a;
    a = edge_request(&edge, "POST", "/v1/objects", EDGE_INGEST, MUG);
    assert_int_equal(a.status, 201);
    assert_string_equal(edge_header(&a, "Location"), "/v1/objects/mug");
    edge_answer_free(&a);
    assert_true(fake_objects_seen.mesh_len == 5 && fake_objects_seen.n_pictures == 0 &&
                fake_objects_seen.mesh_scale == 0.001f);
    expect("POST", "/v1/objects", EDGE_INGEST, MUG, 409, "there is an object 'mug' already");
    expect("GET", "/v1/objects", EDGE_INGEST, NULL, 200, "\"name\":\"mug\",\"class\":\"cup\"");
    expect("GET", "/v1/objects/mug", EDGE_INGEST, NULL, 200, "\"least\":[-1,-2,-3]");
    expect("GET", "/v1/objects/can", EDGE_INGEST, NULL, 404, NULL);
    expect("GET", "/v1/objects/.mug", EDGE_INGEST, NULL, 404, NULL);
    expect("GET", "/v1/objects/a/b", EDGE_INGEST, NULL, 404, NULL);
    expect("PUT", "/v1/objects/mug", EDGE_INGEST, "{}", 405, NULL);
    expect("DELETE", "/v1/objects/mug", EDGE_INGEST, NULL, 204, NULL);
    expect("DELETE", "/v1/objects/mug", EDGE_INGEST, NULL, 404, NULL);
    expect("GET", "/v1/objects", EDGE_INGEST, NULL, 200, "\"objects\":[]");
}

TEST_WITH(views, setup, teardown)
{
    const struct fake_objects_seen *s = &fake_objects_seen;
    expect("POST", "/v1/objects", EDGE_INGEST, "{\"name\":\"a\",\"views\":[" VIEW "," VIEW "]}",
           201, NULL);
    assert_true(s->n_pictures == 2 && s->png_len == 4 && s->camera.fx == 500 &&
                s->camera.fy == 501 && s->camera.cx == 320 && s->camera.cy == 240.5f);
    assert_true(s->pose[2] == 0.6f && s->pose[3] == 0.8f && s->pose[6] == 3);
    expect("POST", "/v1/objects", EDGE_INGEST,
           "{\"name\":\"b\",\"views\":[{\"depth\":\"AAEC\"," CAMERA "}]}", 201, NULL);
    assert_true(s->n_pictures == 1 && s->png_len == 3 && s->pose[3] == 1 && s->pose[4] == 0);
}

/* A region's session is one that the token may read, and the core finds it. */
TEST_WITH(region, setup, teardown)
{
    const struct fake_objects_seen *s = &fake_objects_seen;
    expect("POST", "/v1/objects", EDGE_INGEST,
           "{\"name\":\"part\",\"region\":" REGION("[0.5,0.25,4]", "-40") "}", 201, "part");
    assert_true(s->n_pictures == 0 && s->mesh_len == 0);
    assert_string_equal(s->region.session, "abc");
    assert_true(s->region.centre[2] == -3 && s->region.size[1] == 0.25f &&
                s->region.turn_deg == -40);
    expect("POST", "/v1/objects", EDGE_INGEST,
           "{\"name\":\"lost\",\"region\":" REGION("[1,1,1]", "0") "}", 404, "no such session");
    expect("POST", "/v1/objects", EDGE_VIEW,
           "{\"name\":\"part\",\"region\":" REGION("[1,1,1]", "0") "}", 403, NULL);
    expect("POST", "/v1/objects/match", EDGE_INGEST, "{\"region\":" REGION("[1,1,1]", "0") "}", 422,
           "\"/region\"");
}

TEST_WITH(match, setup, teardown)
{
    expect("POST", "/v1/objects", EDGE_INGEST, MUG, 201, NULL);
    expect("POST", "/v1/objects/match", EDGE_INGEST, "{\"depth\":\"AAEC\"," CAMERA "}", 200,
           "{\"found\":[{\"object\":\"mug\",\"class\":\"cup\",\"pose\":[0,0,0,1,0.5,0,1],"
           "\"score\":0.97,\"support\":0.5,\"points\":90,\"votes\":3}]}");
    expect("POST", "/v1/objects/match", EDGE_INGEST,
           "{\"mesh\":\"AAEC\",\"objects\":[\"mug\",\"mug\"]}", 200, "mug");
    assert_int_equal(fake_objects_seen.n_names, 2);
    expect("POST", "/v1/objects/match", EDGE_INGEST, "{\"mesh\":\"AAEC\",\"objects\":[\"can\"]}",
           404, "there is no object 'can'");
    expect("POST", "/v1/objects/match", EDGE_VIEW, "{\"mesh\":\"AAEC\"}", 200, "\"found\":[]");
}

/* Nothing reaches the core, and the answer names the place. */
TEST_WITH(bad_bodies, setup, teardown)
{
    static const struct {
        const char *target, *body;
        int status;
        const char *text;
    } rows[] = {
        {"", "", 400, NULL},
        {"", "{", 400, NULL},
        {"", "[]", 400, NULL},
        {"", "{\"name\":\"a\",\"name\":\"b\"}", 400, NULL},
        {"", "{}", 422, "\"/name\""},
        {"", "{\"name\":\"a\"}", 422, "either views or mesh or region"},
        {"", "{\"name\":\"a\",\"mesh\":\"AAEC\",\"region\":" REGION("[1,1,1]", "0") "}", 422,
         "either"},
        {"", "{\"name\":\"a\",\"views\":[" VIEW "],\"mesh\":\"AAEC\"}", 422, "either views"},
        {"", "{\"name\":7,\"mesh\":\"AAEC\"}", 422, "\"/name\""},
        {"", "{\"name\":\"a\",\"colour\":1,\"mesh\":\"AAEC\"}", 422, "\"/colour\""},
        {"", "{\"name\":\"a\",\"mesh\":\"AAE\"}", 422, "base64"},
        {"", "{\"name\":\"a\",\"mesh\":\"AA C\"}", 422, "base64"},
        {"", "{\"name\":\"a\",\"mesh\":\"AAB=\"}", 422, "base64"},
        {"", "{\"name\":\"a\",\"mesh\":\"\"}", 422, "not empty"},
        {"", "{\"name\":\"a\",\"mesh\":null}", 422, "\"/mesh\""},
        {"", "{\"name\":\"a\",\"mesh\":\"AAEC\",\"mesh_scale\":0}", 422, "\"/mesh_scale\""},
        {"", "{\"name\":\"a\",\"mesh\":\"AAEC\",\"mesh_scale\":\"x\"}", 422, "\"/mesh_scale\""},
        {"", "{\"name\":\"a\",\"views\":{}}", 422, "\"/views\""},
        {"", "{\"name\":\"a\",\"views\":[]}", 422, "\"/views\""},
        {"", "{\"name\":\"a\",\"views\":[1]}", 422, "/views/0"},
        {"", "{\"name\":\"a\",\"views\":[{" CAMERA "}]}", 422, "\"/views/0/depth\""},
        {"", "{\"name\":\"a\",\"views\":[{\"depth\":\"AAEC\"}]}", 422, "\"/views/0/camera\""},
        {"", "{\"name\":\"a\",\"views\":[{\"depth\":\"AAEC\",\"camera\":{\"fx\":1}}]}", 422,
         "\"/views/0/camera/fy\""},
        {"", "{\"name\":\"a\",\"views\":[" VIEW ",{\"depth\":\"AAEC\"," CAMERA "}]}", 422,
         "\"/views/1/pose\""},
        {"",
         "{\"name\":\"a\",\"views\":[{\"depth\":\"AAEC\"," CAMERA ",\"pose\":[0,0,0,0,0,0,0]}]}",
         422, "\"/views/0/pose\""},
        {"",
         "{\"name\":\"a\",\"views\":[{\"depth\":\"AAEC\"," CAMERA ",\"pose\":[0,0,0,1,0,0,1e9]}]}",
         422, "\"/views/0/pose\""},
        {"/match", "{}", 422, "\"/depth\""},
        {"/match", "{\"depth\":\"AAEC\"}", 422, "\"/camera\""},
        {"/match", "{\"depth\":\"AAEC\"," CAMERA ",\"mesh\":\"AAEC\"}", 422, "\"/depth\""},
        {"/match", "{\"mesh\":\"AAEC\",\"objects\":[]}", 422, "\"/objects\""},
        {"/match", "{\"mesh\":\"AAEC\",\"objects\":[7]}", 422, "\"/objects\""},
        {"/match", "{\"mesh\":\"AAEC\",\"objects\":\"mug\"}", 422, "\"/objects\""},
    };
    int before = atomic_load(&fake_objects_seen.adds);
    char target[32];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(target, sizeof target, "/v1/objects%s", rows[i].target);
        expect("POST", target, EDGE_INGEST, rows[i].body, rows[i].status, rows[i].text);
    }
    assert_int_equal(atomic_load(&fake_objects_seen.adds), before);
    expect("POST", "/v1/objects", EDGE_INGEST, "{\"name\":\"flat\",\"mesh\":\"AAEC\"}", 422,
           "\"/mesh\"");
}

/* The same of regions. */
TEST_WITH(bad_regions, setup, teardown)
{
    static const char *const rows[][2] = {
        {"{\"name\":\"a\",\"region\":7}", "\"/region\""},
        {"{\"name\":\"a\",\"region\":{}}", "\"/region/session\""},
        {"{\"name\":\"a\",\"region\":{\"session\":\"x\",\"size\":[1,1,1]}}", "\"/region/centre\""},
        {"{\"name\":\"a\",\"region\":" REGION("[1,1]", "0") "}", "\"/region/size\""},
        {"{\"name\":\"a\",\"region\":" REGION("[1,0,1]", "0") "}", "\"/region/size\""},
        {"{\"name\":\"a\",\"region\":" REGION("[1,-1,1]", "0") "}", "\"/region/size\""},
        {"{\"name\":\"a\",\"region\":" REGION("[1,4.1,1]", "0") "}", "\"/region/size\""},
        {"{\"name\":\"a\",\"region\":" REGION("[1,1,1]", "400") "}", "\"/region/turn\""},
        {"{\"name\":\"a\",\"region\":" REGION("[1,1,1]", "0,\"id\":1") "}", "\"/region/id\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect("POST", "/v1/objects", EDGE_INGEST, rows[i][0], 422, rows[i][1]);
}

/* More views than there may be are refused, not cut. */
TEST_WITH(too_many_views, setup, teardown)
{
    size_t cap = 65536, n;
    char *body = malloc(cap);
    assert_non_null(body);
    n = (size_t)snprintf(body, cap, "{\"name\":\"a\",\"views\":[");
    for (int i = 0; i <= API_OBJECT_VIEWS_MAX; i++)
        n += (size_t)snprintf(body + n, cap - n, "%s" VIEW, i ? "," : "");
    snprintf(body + n, cap - n, "]}");
    expect("POST", "/v1/objects", EDGE_INGEST, body, 422, "1 to 64 views");
    n = (size_t)snprintf(body, cap, "{\"name\":\"a\",\"views\":[0");
    for (int i = 0; i < 20000; i++)
        n += (size_t)snprintf(body + n, cap - n, ",0");
    snprintf(body + n, cap - n, "]}");
    expect("POST", "/v1/objects", EDGE_INGEST, body, 400, "more than 4096 values");
    free(body);
}

TEST_WITH(rights, setup, teardown)
{
    struct edge_session s = edge_session(&edge, NULL);
    expect("POST", "/v1/objects", NULL, MUG, 401, NULL);
    expect("POST", "/v1/objects", EDGE_VIEW, MUG, 403, NULL);
    expect("POST", "/v1/objects", s.ingest, MUG, 403, NULL);
    expect("GET", "/v1/objects", s.view, NULL, 403, NULL);
    expect("POST", "/v1/objects", EDGE_INGEST, MUG, 201, NULL);
    /* another token's objects: none is seen, and none is in the way */
    expect("GET", "/v1/objects", EDGE_ADMIN, NULL, 200, "\"objects\":[]");
    expect("GET", "/v1/objects/mug", EDGE_ADMIN, NULL, 404, NULL);
    expect("DELETE", "/v1/objects/mug", EDGE_ADMIN, NULL, 404, NULL);
    expect("POST", "/v1/objects", EDGE_ADMIN, MUG, 201, NULL);
    expect("DELETE", "/v1/objects/mug", EDGE_VIEW, NULL, 403, NULL);
    expect("GET", "/v1/objects/mug", EDGE_INGEST, NULL, 200, NULL);
}

/* A body that brings a shape may be larger than others, up to a bound of its own. */
TEST_WITH(large_bodies, setup, teardown)
{
    size_t cap = edge.config.max_task_bytes + 4096, n;
    char *body = malloc(cap);
    assert_non_null(body);
    n = (size_t)snprintf(body, cap, "{\"name\":\"big\",\"mesh\":\"");
    memset(body + n, 'A', 40000);
    strcpy(body + n + 40000, "\"}");
    assert_true(strlen(body) > edge.config.max_body_bytes);
    expect("POST", "/v1/objects", EDGE_INGEST, body, 201, NULL);
    assert_int_equal(fake_objects_seen.mesh_len, 30000);
    expect("POST", "/v1/sessions", EDGE_INGEST, body, 413, NULL);
    memset(body + n, 'A', cap - n - 3);
    strcpy(body + cap - 3, "\"}");
    expect("POST", "/v1/objects", EDGE_INGEST, body, 413, NULL);
    free(body);
}

static atomic_int turned_away;

struct enrolment {
    const char *token, *name;
    pthread_t thread;
};

static void *enrol(void *arg)
{
    const struct enrolment *e = arg;
    char body[128];
    struct edge_answer a;
    long status;

    snprintf(body, sizeof body, "{\"name\":\"%s\",\"mesh\":\"AAEC\"}", e->name);
    a = edge_request(&edge, "POST", "/v1/objects", e->token, body);
    status = a.status;
    if (status == 503 && strcmp(edge_header(&a, "Retry-After"), "2") == 0)
        atomic_fetch_add(&turned_away, 1);
    edge_answer_free(&a);
    return (void *)status;
}

#define EACH (HTTP_TASKS_OF_TOKEN + 1)

/* While one is enrolled and others wait, other requests are answered. A token has half of the
 * places: of one more it is told to come again, another token's find theirs, and what has a place
 * is enrolled in the end. */
TEST_WITH(nothing_waits, setup, teardown)
{
    struct enrolment e[2 * EACH] = {{EDGE_INGEST, "a", 0}, {EDGE_INGEST, "b", 0},
                                    {EDGE_INGEST, "c", 0}, {EDGE_ADMIN, "a", 0},
                                    {EDGE_ADMIN, "b", 0},  {EDGE_ADMIN, "c", 0}};
    struct edge_answer a;
    void *status;
    int enrolled = 0;
    assert_int_equal(2 * HTTP_TASKS_OF_TOKEN, HTTP_TASKS_MAX);
    atomic_store(&turned_away, 0);
    atomic_store(&fake_objects_seen.hold, true);
    for (int i = 0; i < 2 * EACH; i++) {
        assert_int_equal(pthread_create(&e[i].thread, NULL, enrol, &e[i]), 0);
        while (i % EACH == EACH - 1 && atomic_load(&turned_away) < (i + 1) / EACH)
            usleep(1000);
    }
    while (!atomic_load(&fake_objects_seen.running))
        usleep(1000);
    for (int i = 0; i < 20; i++)
        expect("GET", "/livez", NULL, NULL, 200, NULL);
    expect("GET", "/v1/objects", EDGE_INGEST, NULL, 200, "\"objects\":[]");
    expect("POST", "/v1/objects/match", EDGE_VIEW, "{\"mesh\":\"AAEC\"}", 503, NULL);
    assert_int_equal(atomic_load(&fake_objects_seen.running), 1); /* one at a time */
    atomic_store(&fake_objects_seen.hold, false);
    for (int i = 0; i < 2 * EACH; i++) {
        pthread_join(e[i].thread, &status);
        enrolled += (long)status == 201;
    }
    assert_true(enrolled == HTTP_TASKS_MAX && atomic_load(&turned_away) == 2);
    a = edge_request(&edge, "POST", "/v1/objects", EDGE_INGEST, MUG); /* there is room again */
    assert_int_equal(a.status, 201);
    edge_answer_free(&a);
}

static void *let_go(void *arg)
{
    (void)arg;
    while (!atomic_load(&fake_objects_seen.running))
        usleep(1000);
    usleep(50000);
    atomic_store(&fake_objects_seen.hold, false);
    return NULL;
}

/* A server that stops finishes what it is at; nothing stays held. */
TEST_WITH(stop, setup, teardown)
{
    struct enrolment e = {EDGE_INGEST, "a", 0};
    pthread_t other;
    void *status;
    atomic_store(&fake_objects_seen.hold, true);
    assert_int_equal(pthread_create(&e.thread, NULL, enrol, &e), 0);
    while (!atomic_load(&fake_objects_seen.running))
        usleep(1000);
    assert_int_equal(pthread_create(&other, NULL, let_go, NULL), 0);
    http_stop(&edge.http);
    pthread_join(other, NULL);
    pthread_join(e.thread, &status);
    assert_int_equal((long)status, 201);
}
