/* handle_tracked.c - the tracked objects of a session */
#include "api/server/routes.h"

#include <stdlib.h>

/* bytes of one object: names and classes are letters that JSON does not escape */
#define OBJECT_JSON_MAX 768

static void write_list(struct json_writer *w, const char *key, const struct control_object *list,
                       int n)
{
    json_open_list(w, key);
    for (int i = 0; i < n; i++) {
        json_open_map(w, NULL);
        control_object_write(w, &list[i]);
        json_close(w);
    }
    json_close(w);
}

void handle_tracked_list(struct http_request *r)
{
    struct api_objects *o = calloc(1, sizeof *o);
    struct err err = {0};
    struct json_writer w;
    size_t cap = 256;
    char *buf = NULL;
    int rc = o ? r->config->ops->recognised(r->config->core, r->id, o, &err) : 0;

    if (o && rc == 0) {
        cap += (size_t)(o->n + o->n_history) * OBJECT_JSON_MAX;
        buf = answer_room(r, cap);
    }
    if (rc) {
        answer_problem_err(r, &err);
    } else if (buf) {
        w = json_writer(buf, cap);
        json_open_map(&w, NULL);
        json_put_u64(&w, "looks", o->looks);
        json_put_u64(&w, "skipped", o->skipped);
        write_list(&w, "objects", o->list, o->n);
        write_list(&w, "history", o->history, o->n_history);
        json_close(&w);
        answer_json(r, 200, &w);
    } else {
        answer_problem(r, PROBLEM_UNAVAILABLE, "out of memory");
    }
    free(o);
}
