/* api_http.c - the REST edge over sockets: routes and answers */
#include "daemon/edges.h"
#include "tests/support/edge_case.h"

#include "proto/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect(const char *method, const char *target, const char *token, const char *json,
                   int status)
{
    struct edge_answer a = edge_request(&edge, method, target, token, json);

    if (a.status != status)
        print_error("%s %s %s %s: %s%s\n", method, target, token ? token : "", json ? json : "",
                    a.head, a.body ? a.body : "");
    assert_int_equal(a.status, status);
    edge_answer_free(&a);
}

/* ------------------------------------------------------------------------------- sessions */

EDGE_TEST(test_life_of_a_session)
{
    struct edge_session s;
    struct edge_answer a;
    char target[80];

    s = edge_session(&edge, "{\"name\":\"kitchen\",\"step_m\":0.002,\"keyframes\":3,"
                            "\"camera\":{\"fx\":500,\"fy\":501,\"cx\":320,\"cy\":240,"
                            "\"width\":640,\"height\":480}}");
    assert_int_equal(strlen(s.id), 26);
    assert_int_equal(strlen(s.ingest), 22);
    snprintf(target, sizeof target, "/v1/sessions/%s", s.id);
    a = edge_request(&edge, "GET", target, s.view, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(edge_header(&a, "Content-Type"), "application/json");
    assert_string_equal(edge_header(&a, "Cache-Control"), "no-store");
    assert_non_null(strstr(a.body, "\"name\":\"kitchen\""));
    assert_non_null(strstr(a.body, "\"step_m\":0.002,"));
    assert_non_null(strstr(a.body, "\"keyframes\":3,"));
    assert_non_null(strstr(a.body, "\"camera\":{\"fx\":500,\"fy\":501,"));
    assert_non_null(strstr(a.body, "\"hash\":\"0123456789abcdef\""));
    assert_non_null(strstr(a.body, "\"state\":\"created\""));
    assert_null(strstr(a.body, "tokens")); /* shown once, at creation */
    assert_null(strstr(a.body, s.ingest));
    edge_answer_free(&a);
    strcat(target, "/close");
    a = edge_request(&edge, "POST", target, s.ingest, NULL);
    assert_int_equal(a.status, 202);
    assert_non_null(strstr(a.body, "\"state\":\"closed\""));
    edge_answer_free(&a);
    expect("POST", target, s.ingest, "{}", 202);
    expect("POST", target, s.ingest, "{\"now\":true}", 422);
    *strrchr(target, '/') = '\0';
    expect("DELETE", target, s.ingest, NULL, 204);
    expect("GET", target, s.ingest, NULL, 401); /* the session's tokens are void */
    expect("GET", target, EDGE_ADMIN, NULL, 404);
    assert_int_equal(fake_core_counts(edge.core).sessions, 0);
}

EDGE_TEST(test_durability_is_chosen)
{
    static const struct {
        const char *asked, *journal, *record, *mode, *fps;
    } cases[] = {
        {"{}", "\"journal\":\"off\"", "\"record\":false", "\"mode\":\"live\"", "\"fps\":30,"},
        {"{\"journal\":\"off\",\"mode\":\"lossless\",\"fps\":0.5}", "\"journal\":\"off\"",
         "\"record\":false", "\"mode\":\"lossless\"", "\"fps\":0.5,"},
        {"{\"journal\":\"async\",\"mode\":\"live\"}", "\"journal\":\"async\"", "\"record\":false",
         "\"mode\":\"live\"", "\"fps\":30,"},
        {"{\"pose_source\":\"learned\"}", "\"guessed\":\"path and scale", "\"record\":false",
         "\"mode\":\"live\"", "\"fps\":30,"},
        {"{\"journal\":\"sync\",\"record\":true,\"fps\":1000}", "\"journal\":\"sync\"",
         "\"record\":true", "\"mode\":\"live\"", "\"fps\":1000,"},
    };
    char target[80];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct edge_session s = edge_session(&edge, cases[i].asked);
        struct edge_answer a;
        snprintf(target, sizeof target, "/v1/sessions/%s", s.id);
        a = edge_request(&edge, "GET", target, s.view, NULL);
        assert_int_equal(a.status, 200);
        assert_non_null(strstr(a.body, cases[i].journal));
        assert_non_null(strstr(a.body, cases[i].record));
        assert_non_null(strstr(a.body, cases[i].mode));
        assert_non_null(strstr(a.body, cases[i].fps));
        assert_null(strstr(a.body, "damaged")); /* there only if it is */
        assert_true(!strstr(a.body, "\"guessed\"") ==
                    !strstr(a.body, "\"pose_source\":\"learned\""));
        edge_answer_free(&a);
        expect("DELETE", target, s.ingest, NULL, 204);
    }
}

EDGE_TEST(test_create_answers_where_and_how)
{
    struct edge_answer a = edge_request(&edge, "POST", "/v1/sessions", EDGE_INGEST, NULL);
    char url[128], id[API_ID_CAP];

    assert_int_equal(a.status, 201);
    snprintf(id, sizeof id, "%s", edge_header(&a, "Location") + strlen("/v1/sessions/"));
    snprintf(url, sizeof url, "\"stream_url\":\"ws://127.0.0.1:%d/v1/sessions/%s/stream\"",
             ws_port(edge.ws), id);
    assert_non_null(strstr(a.body, url));
    edge_answer_free(&a);
}

EDGE_TEST(test_wrong_fields_are_all_named)
{
    struct edge_answer a =
        edge_request(&edge, "POST", "/v1/sessions", EDGE_ADMIN,
                     "{\"nam\":1,\"step_m\":5,\"camera\":{\"fx\":\"a\",\"fy\":1,\"cx\":0,\"cy\":0,"
                     "\"width\":640},\"pose_source\":\"gps\",\"preview\":0}");

    assert_int_equal(a.status, 422);
    assert_string_equal(edge_header(&a, "Content-Type"), "application/problem+json");
    assert_non_null(strstr(a.body, "\"type\":\"urn:recond:problem:invalid-fields\""));
    assert_non_null(strstr(a.body, "{\"pointer\":\"/nam\",\"detail\":\"is not known here\"}"));
    assert_non_null(strstr(a.body, "\"pointer\":\"/step_m\""));
    assert_non_null(strstr(a.body, "\"pointer\":\"/camera/fx\""));
    assert_non_null(strstr(a.body, "{\"pointer\":\"/camera/height\",\"detail\":\"is required\"}"));
    assert_non_null(strstr(a.body, "\"pointer\":\"/pose_source\""));
    assert_non_null(strstr(a.body, "\"pointer\":\"/preview\""));
    edge_answer_free(&a);
    a = edge_request(&edge, "POST", "/v1/sessions", EDGE_ADMIN,
                     "{\"journal\":\"always\",\"record\":1,\"mode\":2,\"fps\":0.09}");
    assert_int_equal(a.status, 422);
    assert_non_null(strstr(a.body, "\"pointer\":\"/journal\""));
    assert_non_null(strstr(a.body, "\"pointer\":\"/record\""));
    assert_non_null(strstr(a.body, "\"pointer\":\"/mode\""));
    assert_non_null(strstr(a.body, "{\"pointer\":\"/fps\","));
    edge_answer_free(&a);
    a = edge_request(&edge, "POST", "/v1/sessions", EDGE_ADMIN, "{\"depth_model\":\"nix\"}");
    assert_int_equal(a.status, 422); /* what the core alone can know */
    assert_non_null(strstr(a.body, "\"pointer\":\"/depth_model\""));
    edge_answer_free(&a);
    assert_int_equal(fake_core_counts(edge.core).created, 0);
}

EDGE_TEST(test_bad_json)
{
    expect("POST", "/v1/sessions", EDGE_ADMIN, "{", 400);
    expect("POST", "/v1/sessions", EDGE_ADMIN, "[]", 400);
    expect("POST", "/v1/sessions", EDGE_ADMIN, "7", 400);
    expect("POST", "/v1/sessions", EDGE_ADMIN, "{} {}", 400);
    expect("POST", "/v1/sessions", EDGE_ADMIN, "{\"name\":\"\xff\"}", 400);
    expect("POST", "/v1/sessions", EDGE_ADMIN, "{\"name\":\"a\",\"name\":\"b\"}", 400);
    expect("POST", "/v1/sessions", EDGE_ADMIN, "{\"a\":[[[[[[[[[[]]]]]]]]]]}", 400);
    expect("POST", "/v1/sessions", EDGE_ADMIN, "{\"step_m\":1e999}", 400);
    assert_int_equal(fake_core_counts(edge.core).created, 0);
}

EDGE_TEST(test_pages)
{
    struct edge_answer a;
    int seen = 0;
    char target[80] = "/v1/sessions?limit=2";

    for (int i = 0; i < 5; i++)
        edge_session(&edge, NULL);
    for (int page = 0; page < 3; page++) {
        const char *next;
        a = edge_request(&edge, "GET", target, EDGE_VIEW, NULL);
        assert_int_equal(a.status, 200);
        for (const char *p = a.body; (p = strstr(p, "\"stream_url\"")) != NULL; p++)
            seen++;
        next = strstr(a.body, "\"next\":\"");
        assert_true((page < 2) == (next != NULL));
        if (next)
            snprintf(target, sizeof target, "/v1/sessions?limit=2&cursor=%.*s",
                     (int)strcspn(next + 8, "\""), next + 8);
        edge_answer_free(&a);
    }
    assert_int_equal(seen, 5);
    expect("GET", "/v1/sessions?limit=0", EDGE_VIEW, NULL, 400);
    expect("GET", "/v1/sessions?limit=101", EDGE_VIEW, NULL, 400);
    expect("GET", "/v1/sessions?limit=1x", EDGE_VIEW, NULL, 400);
    expect("GET", "/v1/sessions?cursor=-1", EDGE_VIEW, NULL, 400);
    expect("GET", "/v1/sessions?cursor=99999999999999999999", EDGE_VIEW, NULL, 400);
    expect("GET", "/v1/sessions?colour=red", EDGE_VIEW, NULL, 400);
}

EDGE_TEST(test_ten_thousand_sessions)
{
    int fd = edge_connect(http_port(edge.http)), made = 0, busy = 0;
    static const char request[] = "POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                  "Authorization: Bearer " EDGE_ADMIN "\r\n\r\n";

    for (int i = 0; i < 10000; i++) {
        struct edge_answer a;
        assert_true(edge_send(fd, request, sizeof request - 1));
        a = edge_read(fd, false);
        made += a.status == 201;
        if (a.status == 503) {
            busy++;
            assert_true(atoi(edge_header(&a, "Retry-After")) > 0);
            assert_non_null(strstr(a.body, "urn:recond:problem:busy"));
        }
        edge_answer_free(&a);
    }
    close(fd);
    assert_int_equal(made, 4096); /* the table of session tokens holds two for each */
    assert_int_equal(made + busy, 10000);
    assert_int_equal(fake_core_counts(edge.core).sessions, made); /* none is left without tokens */
    expect("GET", "/livez", NULL, NULL, 200);
}

/* ------------------------------------------------------------------------------- results */

EDGE_TEST(test_cloud)
{
    struct edge_session s = edge_session(&edge, NULL);
    struct edge_answer a;
    char target[80], text[400];

    snprintf(target, sizeof target, "/v1/sessions/%s/cloud", s.id);
    a = edge_request(&edge, "GET", target, s.view, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(edge_header(&a, "ETag"), "\"0123456789abcdef\"");
    assert_string_equal(edge_header(&a, "Content-Type"), "application/octet-stream");
    assert_int_equal(a.body_len, FAKE_CORE_CLOUD_BYTES);
    for (size_t i = 0; i < a.body_len; i++)
        if ((uint8_t)a.body[i] != (uint8_t)(i * 31 >> 3))
            fail_msg("byte %zu differs", i);
    edge_answer_free(&a);
    a = edge_request(&edge, "HEAD", target, s.view, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(edge_header(&a, "Content-Length"), "300000");
    edge_answer_free(&a);
    snprintf(text, sizeof text,
             "GET %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n"
             "If-None-Match: \"ff\", W/\"0123456789abcdef\"\r\n\r\n",
             target, s.view);
    expect_raw(text, 304);
    snprintf(text, sizeof text,
             "GET %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n"
             "If-None-Match: \"0023456789abcdef\"\r\n\r\n",
             target, s.view);
    expect_raw(text, 200);
    for (int i = 0; i < 6000 && fake_core_counts(edge.core).exports_open > 0; i++)
        usleep(10000); /* the snapshot goes once the last answer is off */
    assert_int_equal(fake_core_counts(edge.core).exports_open, 0);
}

EDGE_TEST(test_trajectory)
{
    struct edge_session s = edge_session(&edge, NULL);
    struct edge_answer a;
    char target[96];
    int lines;

    for (int unplaced = 0; unplaced < 2; unplaced++) {
        lines = 0;
        snprintf(target, sizeof target, "/v1/sessions/%s/trajectory?unplaced=%d", s.id, unplaced);
        a = edge_request(&edge, "GET", target, s.view, NULL);
        assert_int_equal(a.status, 200);
        assert_int_equal(strstr(a.body, ", submap 1") != NULL, unplaced);
        for (char *line = strtok(a.body, "\n"); line; line = strtok(NULL, "\n")) {
            double t, x, y, z, qx, qy, qz, qw;
            if (line[0] == '#')
                continue;
            assert_int_equal(
                sscanf(line, "%lf %lf %lf %lf %lf %lf %lf %lf", &t, &x, &y, &z, &qx, &qy, &qz, &qw),
                8);
            assert_true(x == lines && qw == 1.0 && qx == 0.0);
            lines++;
        }
        assert_int_equal(lines, FAKE_CORE_POSES + unplaced * FAKE_CORE_ELSEWHERE);
        edge_answer_free(&a);
    }
}

EDGE_TEST(test_depth)
{
    struct edge_session with = edge_session(&edge, "{\"preview\":true}");
    struct edge_session without = edge_session(&edge, NULL);
    struct edge_answer a;
    char target[80];

    snprintf(target, sizeof target, "/v1/sessions/%s/depth", without.id);
    expect("GET", target, without.view, NULL, 409);
    snprintf(target, sizeof target, "/v1/sessions/%s/depth", with.id);
    a = edge_request(&edge, "GET", target, with.view, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(edge_header(&a, "Recond-Seq"), "41");
    assert_memory_equal(a.body, "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x40\0\0\0\x30\x10\0", 26);
    assert_string_equal(edge_header(&a, "Recond-Width"), "64");
    assert_string_equal(edge_header(&a, "Recond-Height"), "48");
    edge_answer_free(&a);
}

/* The numbers themselves: a PNG of millimetres would hold 1000, 1000, 1001, 1001, 1001 ... */
EDGE_TEST(test_depth_numbers)
{
    struct edge_session with = edge_session(&edge, "{\"preview\":true}");
    struct edge_answer a;
    char target[96];
    float v;

    snprintf(target, sizeof target, "/v1/sessions/%s/depth?format=f32", with.id);
    a = edge_request(&edge, "GET", target, with.view, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(edge_header(&a, "Content-Type"), "application/octet-stream");
    assert_string_equal(edge_header(&a, "Recond-Seq"), "41");
    assert_string_equal(edge_header(&a, "Recond-Width"), "64");
    assert_string_equal(edge_header(&a, "Recond-Height"), "48");
    assert_int_equal(a.body_len, 64 * 48 * 4);
    assert_memory_equal(a.body, "\0\0\x80\x3f", 4); /* 1.0f, little-endian */
    for (int i = 0; i < 64 * 48; i++) {
        memcpy(&v, a.body + 4 * i, 4);
        assert_true(v == 1.0f + 0.0003f * (float)i);
    }
    edge_answer_free(&a);
    snprintf(target, sizeof target, "/v1/sessions/%s/depth?format=png", with.id);
    a = edge_request(&edge, "GET", target, with.view, NULL);
    assert_string_equal(edge_header(&a, "Content-Type"), "image/png");
    edge_answer_free(&a);
    snprintf(target, sizeof target, "/v1/sessions/%s/depth?format=exr", with.id);
    expect("GET", target, with.view, NULL, 400);
}

EDGE_TEST(test_health)
{
    struct edge_answer a;

    expect("GET", "/readyz", NULL, NULL, 200);
    fake_core_set_health(edge.core, API_DRAINING);
    a = edge_request(&edge, "GET", "/readyz", NULL, NULL);
    assert_int_equal(a.status, 503);
    assert_string_equal(a.body, "{\"status\":\"draining\",\"why\":\"because\"}");
    assert_true(atoi(edge_header(&a, "Retry-After")) > 0);
    edge_answer_free(&a);
    expect("GET", "/livez", NULL, NULL, 200);
    a = edge_request(&edge, "GET", "/metrics", EDGE_VIEW, NULL);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.body, "fake_up 1\n"));
    edge_answer_free(&a);
}

EDGE_TEST(test_edge_metrics)
{
    char text[4096];
    size_t n;

    expect("GET", "/livez", NULL, NULL, 200);
    expect("GET", "/nix", NULL, NULL, 404);
    n = edges_metrics(edge.http, edge.ws, text, sizeof text);
    assert_true(n < sizeof text && strlen(text) == n);
    assert_non_null(strstr(text, "\nrecond_http_requests_total{class=\"2xx\"} 1\n"));
    assert_non_null(strstr(text, "\nrecond_http_requests_total{class=\"4xx\"} 1\n"));
    assert_int_equal(edges_metrics(edge.http, edge.ws, text, 10), n); /* says what it needs */
}

/* ------------------------------------------------------------------------------- methods, types */

EDGE_TEST(test_methods)
{
    struct edge_answer a;

    a = edge_request(&edge, "DELETE", "/v1/sessions", EDGE_ADMIN, NULL);
    assert_int_equal(a.status, 405);
    assert_string_equal(edge_header(&a, "Allow"), "POST, GET, HEAD, OPTIONS");
    edge_answer_free(&a);
    a = edge_request(&edge, "OPTIONS", "/v1/models", NULL, NULL);
    assert_int_equal(a.status, 204);
    assert_string_equal(edge_header(&a, "Allow"), "GET, HEAD, OPTIONS");
    edge_answer_free(&a);
    expect("PUT", "/v1/models", EDGE_ADMIN, NULL, 405);
    expect("BREW", "/v1/models", EDGE_ADMIN, NULL, 405);
    expect("GET", "/index.htm", EDGE_ADMIN, NULL, 404);
    expect("GET", "/v1", EDGE_ADMIN, NULL, 404);
    expect("GET", "/v1/sessions/", EDGE_ADMIN, NULL, 404);
    expect("GET", "/v1/sessions/ABC", EDGE_ADMIN, NULL, 404);
    expect("GET", "/v1/sessions/abc/nix", EDGE_ADMIN, NULL, 404);
    expect("GET", "/v1/sessions/abcdefghijklmnopqrstuvwxyzabcdefgh", EDGE_ADMIN, NULL, 404);
    expect("HEAD", "/livez", NULL, NULL, 200);
}

EDGE_TEST(test_types)
{
    expect_raw("POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN
               "\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
               415);
    expect_raw("POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN
               "\r\nContent-Length: 2\r\n\r\n{}",
               415);
    expect_raw("POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " EDGE_ADMIN
               "\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
               201);
    expect_raw("GET /livez HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n", 406);
    expect_raw("GET /livez HTTP/1.1\r\nHost: a\r\nAccept: text/html, */*;q=0.1\r\n\r\n", 200);
    expect_raw("GET /livez HTTP/1.1\r\nHost: a\r\nAccept: application/*\r\n\r\n", 200);
    expect_raw("GET /livez HTTP/1.1\r\nHost: a\r\nAccept: application/json;q=0\r\n\r\n", 406);
    expect_raw("GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 400);
}

EDGE_TEST(test_origins)
{
    struct edge_answer a;

    a = edge_raw(&edge, "GET /livez HTTP/1.1\r\nHost: a\r\nOrigin: https://evil.example\r\n\r\n");
    assert_int_equal(a.status, 403);
    assert_non_null(strstr(a.body, "urn:recond:problem:foreign-origin"));
    assert_string_equal(edge_header(&a, "Access-Control-Allow-Origin"), "");
    edge_answer_free(&a);
    a = edge_raw(&edge, "GET /livez HTTP/1.1\r\nHost: a\r\nOrigin: " EDGE_ORIGIN "\r\n\r\n");
    assert_int_equal(a.status, 200);
    assert_string_equal(edge_header(&a, "Access-Control-Allow-Origin"), EDGE_ORIGIN);
    edge_answer_free(&a);
    a = edge_raw(&edge, "OPTIONS /v1/sessions HTTP/1.1\r\nHost: a\r\nOrigin: " EDGE_ORIGIN "\r\n"
                        "Access-Control-Request-Method: POST\r\n\r\n");
    assert_int_equal(a.status, 204);
    assert_non_null(strstr(edge_header(&a, "Access-Control-Allow-Headers"), "Authorization"));
    assert_non_null(strstr(edge_header(&a, "Access-Control-Allow-Methods"), "POST"));
    assert_string_equal(edge_header(&a, "Access-Control-Max-Age"), "600");
    edge_answer_free(&a);
}

/* Pages of the same host and of loopback may ask, whatever their port; a browser's same-origin POST
 * names its origin, too. */
EDGE_TEST(test_origins_that_need_no_list)
{
    static const struct {
        const char *host, *origin;
        int status;
    } cases[] = {
        {"scan.example.org:8700", "https://scan.example.org", 200},
        {"scan.example.org", "http://Scan.Example.org:3000", 200},
        {"192.0.2.7:8700", "http://192.0.2.7", 200},
        {"[2001:db8::7]:8700", "https://[2001:db8::7]:8443", 200},
        {"scan.example.org", "http://localhost:5173", 200},
        {"scan.example.org", "http://127.0.0.1:80", 200},
        {"scan.example.org", "https://[::1]", 200},
        {"scan.example.org", "https://example.org", 403},
        {"example.org", "https://scan.example.org", 403},
        {"scan.example.org", "https://scan.example.org.evil.example", 403},
        {"scan.example.org", "https://scan.example.org@evil.example", 403},
        {"scan.example.org", "https://localhost.evil.example", 403},
        {"scan.example.org", "https://127.0.0.1.evil.example", 403},
        {"scan.example.org", "ftp://scan.example.org", 403},
        {"scan.example.org", "https://scan.example.org/", 403},
        {"scan.example.org", "https://", 403},
        {"scan.example.org", "https://[", 403},
        {"scan.example.org", "null", 403},
    };
    char text[256];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct edge_answer a;

        snprintf(text, sizeof text, "GET /livez HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\n\r\n",
                 cases[i].host, cases[i].origin);
        a = edge_raw(&edge, text);
        print_message("%s at %s: %d\n", cases[i].origin, cases[i].host, a.status);
        assert_int_equal(a.status, cases[i].status);
        assert_string_equal(edge_header(&a, "Access-Control-Allow-Origin"),
                            a.status == 200 ? cases[i].origin : "");
        edge_answer_free(&a);
    }
}

/* A page of another origin reads every header of ours. */
EDGE_TEST(test_headers_that_pages_see)
{
    static const char *const ours[] = {
        "ETag",          "Location",   "Retry-After",         "Recond-Width",
        "Recond-Height", "Recond-Seq", "Content-Disposition", "WWW-Authenticate"};
    struct edge_answer a =
        edge_raw(&edge, "GET /livez HTTP/1.1\r\nHost: a\r\nOrigin: " EDGE_ORIGIN "\r\n\r\n");

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        assert_non_null(strstr(edge_header(&a, "Access-Control-Expose-Headers"), ours[i]));
    edge_answer_free(&a);
}
