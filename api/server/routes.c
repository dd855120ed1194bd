#include "api/server/routes.h"

#include "api/server/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON "application/json"
#define TEXT "text/plain"

static const struct routes_entry routes[] = {
    {"POST", "/v1/sessions", AUTH_CREATE, JSON, false, false, handle_session_create},
    {"GET", "/v1/sessions", AUTH_GLOBAL, JSON, false, false, handle_session_list},
    {"GET", "/v1/sessions/{id}", AUTH_READ, JSON, false, false, handle_session_get},
    {"DELETE", "/v1/sessions/{id}", AUTH_DELETE, NULL, false, false, handle_session_delete},
    {"POST", "/v1/sessions/{id}/close", AUTH_FEED, JSON, false, false, handle_session_close},
    {"POST", "/v1/sessions/{id}/refine", AUTH_FEED, JSON, false, false, handle_session_refine},
    {"POST", "/v1/sessions/{id}/kick", AUTH_DELETE, NULL, false, false, handle_session_kick},
    {"POST", "/v1/sessions/{id}/tokens", AUTH_DELETE, JSON, false, false, handle_session_tokens},
    {"GET", "/v1/sessions/{id}/cloud", AUTH_READ, "application/octet-stream", false, false,
     handle_cloud_export},
    {"GET", "/v1/sessions/{id}/submaps", AUTH_READ, JSON, false, false, handle_submap_list},
    {"PUT", "/v1/sessions/{id}/submaps/{n}", AUTH_FEED, NULL, false, false, handle_submap_place},
    {"GET", "/v1/sessions/{id}/objects", AUTH_READ, JSON, false, false, handle_tracked_list},
    {"GET", "/v1/sessions/{id}/trajectory", AUTH_READ, TEXT, false, false, handle_cloud_trajectory},
    {"GET", "/v1/sessions/{id}/depth", AUTH_READ, "image/png", false, false, handle_cloud_depth},
    {"POST", "/v1/sessions/{id}/tickets", AUTH_FEED, JSON, false, false, handle_ticket_make},
    {"POST", "/v1/tickets/exchange", AUTH_TICKET, JSON, false, false, handle_ticket_exchange},
    {"POST", "/v1/objects", AUTH_CREATE, JSON, false, false, handle_object_add, .task = true},
    {"GET", "/v1/objects", AUTH_GLOBAL, JSON, false, false, handle_object_list},
    {"POST", "/v1/objects/match", AUTH_GLOBAL, JSON, false, false, handle_object_match,
     .task = true},
    {"GET", "/v1/objects/{name}", AUTH_GLOBAL, JSON, false, false, handle_object_get},
    {"DELETE", "/v1/objects/{name}", AUTH_CREATE, NULL, false, false, handle_object_delete},
    {"GET", "/v1/models", AUTH_ANY, JSON, false, false, handle_host_models},
    {"GET", "/v1/devices", AUTH_GLOBAL, JSON, false, false, handle_host_devices},
    {"GET", "/livez", AUTH_NONE, JSON, true, true, handle_health_live},
    {"GET", "/readyz", AUTH_NONE, JSON, true, true, handle_health_ready},
    {"GET", "/metrics", AUTH_GLOBAL, TEXT, true, true, handle_health_metrics},
    {"GET", "/", AUTH_NONE, "text/html", true, false, handle_page},
    {"GET", "/openapi.json", AUTH_NONE, JSON, true, true, handle_health_openapi},
};
/* Serves the other files of the page, with any type. */
static const struct routes_entry page_route = {"GET", "/{file}", AUTH_NONE,  NULL,
                                               true,  false,     handle_page};
#define N_ROUTES ((int)(sizeof routes / sizeof *routes))

const struct routes_entry *routes_at(int i)
{
    return i >= 0 && i < N_ROUTES ? &routes[i] : NULL;
}

/* Compares the rest of a path behind its id. */
static bool rest_matches(const char *pattern, const char *rest, uint32_t *number)
{
    const char *hole = strstr(pattern, "{n}");
    size_t before = hole ? (size_t)(hole - pattern) : 0, n;

    if (!hole || !number)
        return strcmp(pattern, rest) == 0;
    n = strncmp(pattern, rest, before) == 0 ? strspn(rest + before, "0123456789") : 0;
    if (n == 0 || n > 9 || rest[before + n] || (n > 1 && rest[before] == '0'))
        return false;
    *number = (uint32_t)strtoul(rest + before, NULL, 10);
    return true;
}

/* Compares a pattern that ends with {name}, which stands for a name of an object. */
static bool name_matches(const char *pattern, size_t before, const char *path)
{
    size_t n;

    if (strncmp(pattern, path, before) != 0 || path[before] == '.')
        return false;
    n = strspn(path + before, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return n > 0 && n < API_OBJECT_CAP && !path[before + n];
}

bool routes_match(const char *pattern, const char *path, char id[API_ID_CAP], uint32_t *number)
{
    const char *hole = strstr(pattern, "{id}"), *name = strstr(pattern, "{name}");
    size_t before, n;

    id[0] = '\0';
    if (name)
        return name_matches(pattern, (size_t)(name - pattern), path);
    if (!hole)
        return strcmp(pattern, path) == 0;
    before = (size_t)(hole - pattern);
    if (strncmp(pattern, path, before) != 0)
        return false;
    n = strspn(path + before, "abcdefghijklmnopqrstuvwxyz234567");
    if (n == 0 || n >= API_ID_CAP || !rest_matches(hole + 4, path + before + n, number))
        return false;
    memcpy(id, path + before, n);
    id[n] = '\0';
    return true;
}

int routes_find(const char *method, const char *path, const struct routes_entry **route,
                char id[API_ID_CAP], uint32_t *number, char *allow, size_t allow_cap)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    bool known = false;
    size_t n = 0;

    allow[0] = '\0';
    *route = NULL;
    for (int i = 0; i < N_ROUTES; i++) {
        if (!routes_match(routes[i].path, path, id, number))
            continue;
        known = true;
        if (strcmp(routes[i].method, wanted) == 0) {
            *route = &routes[i];
            return 0;
        }
        if (n < allow_cap)
            n += (size_t)snprintf(allow + n, allow_cap - n, "%s%s, ", routes[i].method,
                                  strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
    }
    if (!known && page_file(path)) {
        known = true;
        n = (size_t)snprintf(allow, allow_cap, "GET, HEAD, ");
        if (strcmp(wanted, "GET") == 0) {
            *route = &page_route;
            return 0;
        }
    }
    if (n < allow_cap)
        snprintf(allow + n, allow_cap - n, "OPTIONS");
    return known ? ERR_UNSUPPORTED : ERR_NOT_FOUND;
}
