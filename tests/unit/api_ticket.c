/* api_ticket.c - one-time tickets: once, for a while, and never for more than their maker may */
#include "api/server/ticket.h"
#include "tests/support/edge_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct edge_session own;

/* ------------------------------------------------------------------------------- the box */

static void hash_of(const char *text, uint8_t hash[TOKEN_HASH_BYTES])
{
    assert_true(token_hash(text, strlen(text), hash));
}

TEST(test_once)
{
    struct ticket_box *b = ticket_box_new();
    const struct ticket what = {.session = "abc", .scope = AUTH_VIEW};
    uint8_t hash[TOKEN_HASH_BYTES];
    char text[TOKEN_CAP];
    struct ticket got;
    struct err err;

    assert_int_equal(ticket_make(b, &what, 100, 10, text, &err), 0);
    assert_int_equal(strlen(text), 22);
    hash_of(text, hash);
    assert_true(ticket_find(b, hash, 100, &got));
    assert_true(ticket_find(b, hash, 109, &got)); /* to look takes nothing */
    assert_string_equal(got.session, "abc");
    assert_false(ticket_find(b, hash, 110, &got));
    assert_false(ticket_take(b, hash, 110, &got));
    assert_true(ticket_take(b, hash, 109, &got));
    assert_false(ticket_take(b, hash, 109, &got));
    hash_of("no ticket", hash);
    assert_false(ticket_find(b, hash, 100, &got));
    memset(hash, 0, sizeof hash); /* what rows without a ticket hold */
    assert_false(ticket_take(b, hash, 100, &got));
    ticket_box_free(&b);
}

TEST(test_a_session_has_few)
{
    struct ticket_box *b = ticket_box_new();
    const struct ticket one = {.session = "one"}, two = {.session = "two"};
    uint8_t first[TOKEN_HASH_BYTES], second[TOKEN_HASH_BYTES], other[TOKEN_HASH_BYTES];
    char text[TOKEN_CAP];
    struct ticket got;
    struct err err;

    assert_int_equal(ticket_make(b, &two, 1, 1000, text, &err), 0);
    hash_of(text, other);
    for (int i = 0; i <= TICKETS_OF_SESSION; i++) {
        assert_int_equal(ticket_make(b, &one, 2 + i, 1000, text, &err), 0);
        if (i < 2)
            hash_of(text, i == 0 ? first : second);
    }
    assert_false(ticket_find(b, first, 50, &got)); /* the oldest went */
    assert_true(ticket_find(b, second, 50, &got));
    assert_true(ticket_find(b, other, 50, &got)); /* another session's did not */
    ticket_forget_session(b, "one");
    assert_false(ticket_find(b, second, 50, &got));
    assert_true(ticket_find(b, other, 50, &got));
    ticket_box_free(&b);
}

TEST(test_the_box_is_bounded)
{
    struct ticket_box *b = ticket_box_new();
    struct ticket what = {.scope = AUTH_VIEW};
    char text[TOKEN_CAP];
    struct err err;

    for (int i = 0; i < TICKETS_MAX; i++) {
        snprintf(what.session, sizeof what.session, "s%d", i);
        assert_int_equal(ticket_make(b, &what, 5, 100, text, &err), 0);
    }
    strcpy(what.session, "more");
    assert_int_equal(ticket_make(b, &what, 104, 100, text, &err), ERR_BUSY);
    assert_int_equal(ticket_make(b, &what, 105, 100, text, &err), 0); /* the others have expired */
    ticket_box_free(&b);
}

/* ------------------------------------------------------------------------------- over REST */

FIXTURE(setup)
{
    edge_defaults(&edge);
    edge_start(&edge);
    own = edge_session(&edge, "{}");
    return 0;
}

/* The text of a member of a JSON answer. */
static void member(const struct edge_answer *a, const char *name, char *out, size_t cap)
{
    char key[40];
    const char *at;

    snprintf(key, sizeof key, "\"%s\":\"", name);
    at = strstr(a->body, key);
    assert_non_null(at);
    at += strlen(key);
    snprintf(out, cap, "%.*s", (int)strcspn(at, "\""), at);
}

static int make(const char *token, const char *json, char text[32])
{
    char target[96];
    struct edge_answer a;
    int status;

    snprintf(target, sizeof target, "/v1/sessions/%s/tickets", own.id);
    a = edge_request(&edge, "POST", target, token, json);
    status = a.status;
    text[0] = '\0';
    if (status == 201)
        member(&a, "ticket", text, 32);
    edge_answer_free(&a);
    return status;
}

static int exchange(const char *ticket, char token[32])
{
    struct edge_answer a = edge_request(&edge, "POST", "/v1/tickets/exchange", ticket, NULL);
    int status = a.status;

    token[0] = '\0';
    if (status == 201)
        member(&a, "token", token, 32);
    else
        assert_non_null(a.body);
    edge_answer_free(&a);
    return status;
}

static int ask(const char *method, const char *suffix, const char *token)
{
    char target[96];
    struct edge_answer a;
    int status;

    snprintf(target, sizeof target, "/v1/sessions/%s%s", own.id, suffix);
    a = edge_request(&edge, method, target, token, NULL);
    status = a.status;
    edge_answer_free(&a);
    return status;
}

TEST_WITH(test_a_link, setup, edge_case_close)
{
    char ticket[32], token[32], again[32];

    assert_int_equal(make(own.ingest, NULL, ticket), 201);
    assert_int_equal(ask("GET", "", ticket), 401); /* a ticket is no token */
    assert_int_equal(exchange(ticket, token), 201);
    assert_int_equal(ask("GET", "", token), 200);
    assert_int_equal(ask("POST", "/close", token), 403); /* it views */
    assert_int_equal(exchange(ticket, again), 401);
    assert_int_equal(exchange(token, again), 401); /* a token is no ticket */
    assert_int_equal(exchange(EDGE_ADMIN, again), 401);
    assert_int_equal(exchange(NULL, again), 401);
    assert_int_equal(ask("GET", "", own.view), 200); /* the session's other tokens stand */
    assert_false(edge_logged(&edge, ticket));
    assert_false(edge_logged(&edge, token));
}

/* No token gives away what it may not do itself. */
TEST_WITH(test_rights, setup, edge_case_close)
{
    char ticket[32], token[32];

    assert_int_equal(make(own.view, NULL, ticket), 403);
    assert_int_equal(make(EDGE_VIEW, NULL, ticket), 403);
    assert_int_equal(make(NULL, NULL, ticket), 401);
    assert_int_equal(make(EDGE_INGEST, NULL, ticket), 201);
    assert_int_equal(make(EDGE_INGEST, "{\"scope\":\"ingest\"}", ticket), 403);
    assert_int_equal(make(own.ingest, "{\"scope\":\"admin\"}", ticket), 422);
    assert_int_equal(make(own.ingest, "{\"expires_s\":0}", ticket), 422);
    assert_int_equal(make(own.ingest, "{\"expires_s\":86401}", ticket), 422);
    assert_int_equal(make(own.ingest, "{\"more\":1}", ticket), 422);
    assert_int_equal(make(own.ingest, "[", ticket), 400);
    assert_int_equal(make(own.ingest, "{\"scope\":\"ingest\"}", ticket), 201);
    assert_int_equal(exchange(ticket, token), 201);
    assert_int_equal(ask("POST", "/close", token), 202);
}

TEST_WITH(test_new_tokens_void_tickets, setup, edge_case_close)
{
    char ticket[32], other[32], token[32];

    assert_int_equal(make(own.ingest, NULL, ticket), 201);
    assert_int_equal(make(own.ingest, NULL, other), 201);
    assert_int_equal(exchange(other, token), 201);
    assert_int_equal(ask("POST", "/tokens", EDGE_ADMIN), 200);
    assert_int_equal(exchange(ticket, other), 401);
    assert_int_equal(ask("GET", "", token), 401);
}

TEST_WITH(test_deletion_voids_tickets, setup, edge_case_close)
{
    char ticket[32], token[32];

    assert_int_equal(make(own.ingest, NULL, ticket), 201);
    assert_int_equal(ask("DELETE", "", own.ingest), 204);
    assert_int_equal(exchange(ticket, token), 401);
    assert_int_equal(make(EDGE_ADMIN, NULL, ticket), 404);
}

/* Tokens are bounded; the sentence says what voids the others. */
TEST_WITH(test_many_links, setup, edge_case_close)
{
    char ticket[32], token[32], last[32] = "";

    for (int i = 2; i < API_SESSION_TOKENS; i++) {
        assert_int_equal(make(own.ingest, NULL, ticket), 201);
        assert_int_equal(exchange(ticket, token), 201);
        strcpy(last, token);
    }
    assert_int_equal(make(own.ingest, NULL, ticket), 201);
    assert_int_equal(exchange(ticket, token), 409);
    assert_int_equal(ask("GET", "", last), 200);
    assert_int_equal(ask("GET", "", own.ingest), 200);
}

/* A token that could not be kept is not told, and those of before stand. */
TEST_WITH(test_a_full_disk, setup, edge_case_close)
{
    char ticket[32], token[32];

    assert_int_equal(make(own.ingest, NULL, ticket), 201);
    fake_core_lose_tokens(edge.core);
    assert_int_equal(exchange(ticket, token), 500);
    assert_int_equal(ask("GET", "", own.ingest), 200);
    assert_int_equal(ask("GET", "", own.view), 200);
}
