/*
 * routes.h - every REST route there is: method, path, right, type of the answer, handler
 *
 * tests/unit/api_openapi.c holds this table and api/openapi.yaml against each other.
 */
#ifndef RECOND_API_ROUTES_H
#define RECOND_API_ROUTES_H

#include "api/server/answer.h"

struct routes_entry {
    const char *method, *path; /* "/v1/sessions/{id}" */
    enum auth_right right;
    const char *type; /* of a successful answer; NULL = none */
    bool quiet;       /* logged at debug level */
    bool probe;       /* answered where no more connections are taken, too */
    void (*handle)(struct http_request *r);
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

/* What each route does; a handler leaves its answer in r. */
void handle_session_create(struct http_request *r);
void handle_session_list(struct http_request *r);
void handle_session_get(struct http_request *r);
void handle_session_delete(struct http_request *r);
void handle_session_close(struct http_request *r);
void handle_session_refine(struct http_request *r);
void handle_session_kick(struct http_request *r);
void handle_session_tokens(struct http_request *r);

void handle_submap_list(struct http_request *r);
void handle_recognised_list(struct http_request *r);
void handle_submap_place(struct http_request *r);

void handle_cloud_export(struct http_request *r);
void handle_cloud_trajectory(struct http_request *r);
void handle_cloud_depth(struct http_request *r);

void handle_object_add(struct http_request *r);
void handle_object_list(struct http_request *r);
void handle_object_match(struct http_request *r);
void handle_object_get(struct http_request *r);
void handle_object_delete(struct http_request *r);

void handle_host_models(struct http_request *r);
void handle_host_devices(struct http_request *r);

void handle_ticket_make(struct http_request *r);
void handle_ticket_exchange(struct http_request *r);

void handle_page(struct http_request *r);

void handle_health_live(struct http_request *r);
void handle_health_ready(struct http_request *r);
void handle_health_metrics(struct http_request *r);
void handle_health_openapi(struct http_request *r);

#endif
