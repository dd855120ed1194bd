/*
 * api_openapi.c - the contract and the server say the same
 *
 * The route table against the paths of api/openapi.yaml, both ways; then
 * tests/support/openapi_check.py asks a running server (fake core) for every route and status,
 * and holds the answers against the schemas.
 */
#include "api/server/routes.h"
#include "proto/json.h"
#include "tests/support/edge.h"
#include "tests/support/unit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char openapi_json[];
extern const size_t openapi_json_len;

static struct json *contract;

FIXTURE(parse_contract)
{
    struct err err = {0};

    if (json_parse(&contract, openapi_json, openapi_json_len, 32, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

FIXTURE(free_contract)
{
    json_free(&contract);
    return 0;
}

static const struct json *operation(const char *path, const char *method)
{
    char lower[16] = "";

    for (size_t i = 0; method[i] && i + 1 < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)method[i]);
    return json_member(json_member(json_member(contract, "paths"), path), lower);
}

TEST(test_every_route_is_in_the_contract)
{
    static const char *const rights[] = {
        [AUTH_NONE] = "none",     [AUTH_ANY] = "any",      [AUTH_GLOBAL] = "global",
        [AUTH_CREATE] = "create", [AUTH_READ] = "read",    [AUTH_FEED] = "feed",
        [AUTH_DELETE] = "delete", [AUTH_TICKET] = "ticket"};
    const struct routes_entry *route;

    for (int i = 0; (route = routes_at(i)) != NULL; i++) {
        const struct json *op = operation(route->path, route->method);
        const struct json *open_list = json_member(op, "security");
        if (!op)
            fail_msg("%s %s is not in openapi.yaml", route->method, route->path);
        /* open routes are those that the contract says are open */
        assert_true((json_kind(open_list) == JSON_KIND_LIST && json_count(open_list) == 0) ==
                    (route->right == AUTH_NONE));
        assert_string_equal(json_text(json_member(op, "x-right")), rights[route->right]);
    }
}

static bool in_table(const char *path, const char *method)
{
    const struct routes_entry *route;

    for (int i = 0; (route = routes_at(i)) != NULL; i++)
        if (strcmp(route->path, path) == 0 && strcasecmp(route->method, method) == 0)
            return true;
    return false;
}

TEST(test_every_path_of_the_contract_is_a_route)
{
    const struct json *paths = json_member(contract, "paths"), *item;
    const char *path, *method;
    int operations = 0;

    for (size_t i = 0; (path = json_key(paths, i, &item)) != NULL; i++)
        for (size_t j = 0; (method = json_key(item, j, NULL)) != NULL; j++) {
            if (strcmp(method, "parameters") == 0)
                continue;
            if (!in_table(path, method))
                fail_msg("%s %s is not in routes.c", method, path);
            operations++;
        }
    assert_true(operations >= 14);
}

/* The type that a route claims for its answer is one that the contract names for a 2xx. */
TEST(test_types)
{
    const struct routes_entry *route;

    for (int i = 0; (route = routes_at(i)) != NULL; i++) {
        const struct json *answers =
            json_member(operation(route->path, route->method), "responses");
        const struct json *answer;
        const char *status;
        bool found = route->type == NULL;
        for (size_t j = 0; (status = json_key(answers, j, &answer)) != NULL; j++)
            found = found ||
                    (status[0] == '2' && json_member(json_member(answer, "content"), route->type));
        if (!found)
            fail_msg("%s %s: no 2xx of %s in openapi.yaml", route->method, route->path,
                     route->type);
    }
}

TEST(test_answers_of_a_running_server)
{
    static struct edge e;
    char command[512];
    int status;

    if (access("tests/support/openapi_check.py", R_OK) != 0) {
        print_message("not started in the top folder\n");
        skip();
    }
    edge_defaults(&e);
    edge_start(&e);
    snprintf(command, sizeof command,
             "RECOND_TOKEN=" EDGE_ADMIN " RECOND_VIEW_TOKEN=" EDGE_VIEW
             " $(command -v /usr/bin/python3 || command -v python3) "
             "tests/support/openapi_check.py api/openapi.yaml http://127.0.0.1:%d >&2",
             http_port(e.http));
    status = system(command);
    edge_stop(&e);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST_GROUP(parse_contract, free_contract)
