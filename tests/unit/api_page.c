/* api_page.c - the page's files: found, typed, cached, fenced in, and nothing else is served */
#include "api/server/page.h"
#include "tests/support/edge_case.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

FIXTURE(setup)
{
    edge_defaults(&edge);
    return 0;
}

/* GET of a target with one more header line, "" = none. */
static struct edge_answer get(const char *target, const char *header)
{
    char text[512];

    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", target, header);
    return edge_raw(&edge, text);
}

TEST(test_table)
{
    assert_true(n_web_files >= 4);
    for (int i = 0; i < n_web_files; i++) {
        assert_ptr_equal(page_file(web_files[i].path), &web_files[i]);
        if (i > 0)
            assert_true(strcmp(web_files[i - 1].path, web_files[i].path) < 0);
    }
    assert_ptr_equal(page_file("/"), page_file("/index.html"));
    assert_null(page_file("/README.md"));
    assert_null(page_file("/client/recond.d.ts"));
    assert_null(page_file(""));
    assert_null(page_file("/index.html/"));
    assert_null(page_file("/page"));
}

TEST(test_gzip_is_asked_for)
{
    assert_false(page_takes_gzip(NULL));
    assert_false(page_takes_gzip(""));
    assert_false(page_takes_gzip("br, deflate"));
    assert_false(page_takes_gzip("gzip;q=0, br"));
    assert_false(page_takes_gzip("gzipped"));
    assert_true(page_takes_gzip("br, GZIP;q=0.5"));
    assert_true(page_takes_gzip("deflate, gzip, br, zstd"));
    assert_true(page_takes_gzip("*"));
}

TEST_WITH(test_every_file, setup, edge_case_close)
{
    edge_start(&edge);
    for (int i = 0; i < n_web_files; i++) {
        struct edge_answer a = get(web_files[i].path, "");

        assert_int_equal(a.status, 200);
        assert_int_equal(a.body_len, web_files[i].plain_len);
        assert_memory_equal(a.body, web_files[i].plain, a.body_len);
        assert_string_equal(edge_header(&a, "Content-Type"), web_files[i].type);
        assert_string_equal(edge_header(&a, "Content-Encoding"), "");
        edge_answer_free(&a);
        a = get(web_files[i].path, "Accept-Encoding: gzip, deflate, br\r\n");
        assert_int_equal(a.body_len, web_files[i].packed_len);
        assert_memory_equal(a.body, web_files[i].packed, a.body_len);
        assert_string_equal(edge_header(&a, "Content-Encoding"), "gzip");
        edge_answer_free(&a);
    }
}

TEST_WITH(test_headers, setup, edge_case_close)
{
    struct edge_answer a;
    char stream[64];
    const char *policy;

    edge_start(&edge);
    a = get("/", "");
    assert_int_equal(a.status, 200);
    assert_string_equal(edge_header(&a, "Content-Type"), "text/html; charset=utf-8");
    assert_string_equal(edge_header(&a, "Cache-Control"), "no-cache");
    assert_string_equal(edge_header(&a, "X-Content-Type-Options"), "nosniff");
    assert_string_equal(edge_header(&a, "Referrer-Policy"), "no-referrer");
    assert_string_equal(edge_header(&a, "Cross-Origin-Opener-Policy"), "same-origin");
    policy = edge_header(&a, "Content-Security-Policy");
    assert_null(strstr(policy, "unsafe"));
    assert_non_null(strstr(policy, "default-src 'none'; script-src 'self'; "));
    snprintf(stream, sizeof stream, "connect-src 'self' ws://127.0.0.1:%d", edge.config.ws_port);
    assert_non_null(strstr(policy, stream));
    assert_string_equal(strstr(policy, "connect-src"), stream); /* and nothing behind it */
    edge_answer_free(&a);
}

/* A public name of the streams is what the policy names, without its path. */
TEST_WITH(test_public_stream, setup, edge_case_close)
{
    struct edge_answer a;

    edge.config.public_ws_url = "wss://scan.example/recond/";
    edge_start(&edge);
    a = get("/app.js", "");
    assert_non_null(strstr(a.head, "connect-src 'self' wss://scan.example\r\n"));
    edge_answer_free(&a);
}

TEST_WITH(test_cache, setup, edge_case_close)
{
    char header[128], tag[64];
    struct edge_answer a;

    edge_start(&edge);
    a = get("/app.js", "");
    snprintf(tag, sizeof tag, "%s", edge_header(&a, "ETag"));
    edge_answer_free(&a);
    snprintf(header, sizeof header, "If-None-Match: \"nix\", %s\r\n", tag);
    a = get("/app.js", header);
    assert_int_equal(a.status, 304);
    assert_int_equal(a.body_len, 0);
    assert_string_equal(edge_header(&a, "ETag"), tag);
    edge_answer_free(&a);
    /* the same file by gzip has other bytes, so another tag */
    snprintf(header, sizeof header, "Accept-Encoding: gzip\r\nIf-None-Match: %s\r\n", tag);
    a = get("/app.js", header);
    assert_int_equal(a.status, 200);
    assert_string_not_equal(edge_header(&a, "ETag"), tag);
    edge_answer_free(&a);
}

TEST_WITH(test_methods, setup, edge_case_close)
{
    static const char head[] = "HEAD /style.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    struct edge_answer a;
    int fd;

    edge_start(&edge);
    fd = edge_connect(http_port(edge.http));
    assert_true(edge_send(fd, head, strlen(head)));
    a = edge_read(fd, true);
    assert_int_equal(a.status, 200);
    assert_string_equal(edge_header(&a, "Content-Type"), "text/css; charset=utf-8");
    edge_answer_free(&a);
    close(fd);
    a = edge_raw(&edge, "POST /app.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert_int_equal(a.status, 405);
    assert_string_equal(edge_header(&a, "Allow"), "GET, HEAD, OPTIONS");
    edge_answer_free(&a);
    a = edge_raw(&edge, "OPTIONS / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert_int_equal(a.status, 204);
    edge_answer_free(&a);
}

TEST_WITH(test_no_other_path, setup, edge_case_close)
{
    static const struct {
        const char *target;
        int status;
    } others[] = {{"/index", 404},
                  {"/app.js/", 404},
                  {"/web/app.js", 404},
                  {"/../app.js", 400},
                  {"/page/../app.js", 400},
                  {"/%61pp.js", 400},
                  {"/app.js%00.css", 400},
                  {"//app.js", 400},
                  {"/client/recond.d.ts", 404},
                  {"/client/README.md", 404},
                  {"/app.js?x=1", 400},
                  {"/APP.JS", 404}};

    edge_start(&edge);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct edge_answer a = get(others[i].target, "");
        if (a.status != others[i].status)
            print_error("%s: %d\n", others[i].target, a.status);
        assert_int_equal(a.status, others[i].status);
        assert_string_equal(edge_header(&a, "Content-Type"), "application/problem+json");
        assert_string_equal(edge_header(&a, "Content-Security-Policy"), "");
        edge_answer_free(&a);
    }
}

/* Another page may not read it, and a name that is not loopback's is refused without tokens. */
TEST_WITH(test_strangers, setup, edge_case_close)
{
    struct edge_answer a;

    edge.config.auth_mode = API_AUTH_NONE;
    edge_start(&edge);
    a = get("/", "Origin: https://evil.example\r\n");
    assert_int_equal(a.status, 403);
    edge_answer_free(&a);
    a = edge_raw(&edge, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_int_equal(a.status, 421);
    edge_answer_free(&a);
}
