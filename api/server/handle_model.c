/* handle_model.c - the networks that sessions can choose */
#include "api/server/handle.h"

#define MODELS_MAX 64
#define MODEL_JSON_MAX 2048

static void write_model(struct json_writer *w, const struct api_model *m)
{
    json_open_map(w, NULL);
    json_put_text(w, "name", m->name);
    json_put_text(w, "kind", m->kind);
    json_put_text(w, "output", m->output);
    json_put_text(w, "licence", m->licence);
    json_put_i64(w, "multiple", m->multiple);
    json_put_f32(w, "focal_px", m->focal_px);
    json_put_f32(w, "min_depth_m", m->min_depth_m);
    json_put_f32(w, "max_depth_m", m->max_depth_m);
    json_put_u64(w, "weights", m->weights);
    json_put_bool(w, "default", m->is_default);
    json_close(w);
}

void handle_model_list(struct http_request *r)
{
    const size_t cap = MODELS_MAX * MODEL_JSON_MAX;
    struct api_model models[MODELS_MAX];
    struct json_writer w;
    struct err err = {0};
    int n = 0;
    char *buf;

    if (r->config->ops->models(r->config->core, models, MODELS_MAX, &n, &err)) {
        answer_problem_err(r, &err);
        return;
    }
    buf = answer_room(r, cap);
    if (!buf)
        return;
    w = json_writer(buf, cap);
    json_open_map(&w, NULL);
    json_open_list(&w, "models");
    for (int i = 0; i < n; i++)
        write_model(&w, &models[i]);
    json_close(&w);
    json_close(&w);
    answer_json(r, 200, &w);
}
