/* handle_submap.c - the submaps of a session and their places */
#include "api/server/routes.h"
#include "proto/geom/pose.h"

#include <stdlib.h>

#define SUBMAP_JSON_MAX 336 /* bytes of one submap */
#define BODY_DEPTH_MAX 4
#define PLACE_MAX_M 1e6f

static void write_submap(struct json_writer *w, const struct api_submap *s)
{
    json_open_map(w, NULL);
    json_put_u64(w, "submap", s->submap);
    json_put_text(w, "source", s->source);
    json_put_u64(w, "world_epoch", s->world_epoch);
    json_put_bool(w, "placed", s->placed);
    json_put_bool(w, "tied", s->tied);
    if (s->placed) {
        json_open_list(w, "pose");
        for (int i = 0; i < 7; i++)
            json_put_f32(w, NULL, s->pose[i]);
        json_close(w);
    }
    json_close(w);
}

void handle_submap_list(struct http_request *r)
{
    struct api_submap *list = malloc(API_SUBMAPS_MAX * sizeof *list);
    struct err err = {0};
    struct json_writer w;
    char *buf = NULL;
    int n = 0;

    if (list && r->config->ops->submaps(r->config->core, r->id, list, &n, &err)) {
        answer_problem_err(r, &err);
    } else if (list && (buf = answer_room(r, (size_t)n * SUBMAP_JSON_MAX + 64))) {
        w = json_writer(buf, (size_t)n * SUBMAP_JSON_MAX + 64);
        json_open_map(&w, NULL);
        json_open_list(&w, "submaps");
        for (int i = 0; i < n; i++)
            write_submap(&w, &list[i]);
        json_close(&w);
        json_close(&w);
        answer_json(r, 200, &w);
    } else {
        answer_problem(r, PROBLEM_UNAVAILABLE, "out of memory");
    }
    free(list);
}

/* Reads the body's pose. Returns 0, or -1 after leaving a problem. */
static int read_pose(struct http_request *r, float pose[7])
{
    static const char *const members[] = {"pose", NULL};
    struct json_issues issues = {0};
    struct err err = {0};
    struct json *doc;
    struct json_at at;
    struct rigid T;

    if (json_parse(&doc, r->body, r->body_len, BODY_DEPTH_MAX, &err)) {
        answer_problem(r, PROBLEM_MALFORMED, "%s", err.text);
        return -1;
    }
    at = json_at(doc, &issues);
    json_only(&at, members);
    json_require(&at, "pose");
    if (json_get_f32s(&at, "pose", pose, 7, (double)PLACE_MAX_M) &&
        pose_from_numbers(&T, pose, PLACE_MAX_M, &err))
        json_note(&at, "pose", "%s", err.text);
    json_free(&doc);
    if (issues.n == 0)
        return 0;
    answer_problem_fields(r, &issues);
    return -1;
}

void handle_submap_place(struct http_request *r)
{
    struct err err = {0};
    float pose[7];

    if (read_pose(r, pose))
        return;
    if (r->config->ops->submap_place(r->config->core, r->id, r->number, pose, &err))
        answer_problem_err(r, &err);
    else
        answer_empty(r, 204);
}
