/* handle_health.c - probes, metrics, and the REST contract */
#include "api/server/routes.h"

#include <stdlib.h>
#include <string.h>

/* Made from openapi.yaml by openapi_embed.py. */
extern const char openapi_json[];
extern const size_t openapi_json_len;

static void leave_health(struct http_request *r, int status, const char *text, const char *why)
{
    char *buf = answer_room(r, 2048);
    struct json_writer w;

    if (!buf)
        return;
    w = json_writer(buf, 2048);
    json_open_map(&w, NULL);
    json_put_text(&w, "status", text);
    if (why[0])
        json_put_text(&w, "why", why);
    json_close(&w);
    answer_json(r, status, &w);
}

void handle_health_live(struct http_request *r)
{
    leave_health(r, 200, "alive", "");
}

void handle_health_ready(struct http_request *r)
{
    static const char *const names[] = {"ready", "starting", "draining", "full", "fault"};
    char why[API_TEXT_CAP] = "";
    enum api_health health = r->config->ops->health(r->config->core, why);

    if (health != API_READY)
        answer_header(r, "Retry-After", "2");
    leave_health(r, health == API_READY ? 200 : 503, names[health], why);
}

void handle_health_metrics(struct http_request *r)
{
    size_t cap = 64 << 10, len = 0;

    /* The core says how much room its text needs. Counters may grow between the two calls, so we
     * allow a little more. */
    for (int i = 0; i < 3; i++) {
        char *buf = answer_room(r, cap);
        if (!buf)
            return;
        len = r->config->ops->metrics(r->config->core, buf, cap);
        if (len <= cap) {
            answer_done(r, 200, "text/plain; version=0.0.4; charset=utf-8", len);
            return;
        }
        cap = len + 4096;
    }
    answer_problem(r, PROBLEM_INTERNAL, "metrics do not fit");
}

void handle_health_openapi(struct http_request *r)
{
    char *buf = answer_room(r, openapi_json_len);

    if (!buf)
        return;
    memcpy(buf, openapi_json, openapi_json_len);
    answer_done(r, 200, "application/json", openapi_json_len);
}
