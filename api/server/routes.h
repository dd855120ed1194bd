/*
 * routes.h - every REST route there is: method, path, right, type of the answer, handler
 *
 * tests/unit/api_openapi.c holds this table and api/openapi.yaml against each other.
 */
#ifndef RECOND_API_ROUTES_H
#define RECOND_API_ROUTES_H

#include "api/server/answer.h"

typedef void routes_handler(struct http_request *r);

struct routes_entry {
    const char *method, *path; /* "/v1/sessions/{id}" */
    enum auth_right right;
    const char *type; /* of a successful answer; NULL = none */
    bool quiet;       /* logged at debug level */
    bool probe;       /* answered where no more connections are taken, too */
    routes_handler *handle;
    bool task; /* it has a large body, and its handler takes long: a thread of the pool runs it */
};

/* The i-th route, NULL past the end. */
const struct routes_entry *routes_at(int i);

/* Does the path match a pattern, and with which session id and, where the pattern ends with {n},
 * which number? Ids are base32, numbers decimal; other texts match nothing. Where it ends with
 * {name}, the name is what stands behind the path's last '/'. */
bool routes_match(const char *pattern, const char *path, char id[API_ID_CAP], uint32_t *number);

/*
 * routes_find - which route is this?
 *
 * HEAD is GET.
 * Out:     *route, id, *number; allow: methods of that path ("GET, HEAD, OPTIONS")
 * Returns: 0; ERR_NOT_FOUND: no such path; ERR_UNSUPPORTED: the path, but not with this method
 */
MUST_CHECK int routes_find(const char *method, const char *path, const struct routes_entry **route,
                           char id[API_ID_CAP], uint32_t *number, char *allow, size_t allow_cap);

/* The handler of each route leaves its answer in the request. */
routes_handler handle_session_create, handle_session_list, handle_session_get,
    handle_session_delete, handle_session_close, handle_session_refine, handle_session_kick,
    handle_session_tokens, handle_submap_list, handle_tracked_list, handle_submap_place,
    handle_cloud_export, handle_cloud_trajectory, handle_cloud_depth, handle_object_add,
    handle_object_list, handle_object_match, handle_object_get, handle_object_delete,
    handle_host_models, handle_host_devices, handle_ticket_make, handle_ticket_exchange,
    handle_page, handle_health_live, handle_health_ready, handle_health_metrics,
    handle_health_openapi;

#endif
