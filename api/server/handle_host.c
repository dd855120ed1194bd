/* handle_host.c - devices and networks of this host */
#include "api/server/routes.h"

#define LIST_MAX 64
#define DEVICE_JSON_MAX 3072
#define MODEL_JSON_MAX 2048

static void write_device(struct json_writer *w, const void *devices, int i)
{
    const struct api_device *d = (const struct api_device *)devices + i;

    json_open_map(w, NULL);
    json_put_text(w, "name", d->name);
    json_put_text(w, "backend", d->backend);
    json_put_text(w, "model", d->model);
    if (d->why[0])
        json_put_text(w, "why", d->why);
    json_put_u64(w, "sessions", d->sessions);
    json_put_u64(w, "queued_frames", d->queued_frames);
    json_put_u64(w, "threads", d->threads);
    json_put_u64(w, "memory_total_bytes", d->memory_total_bytes);
    json_put_u64(w, "memory_used_bytes", d->memory_used_bytes);
    json_put_u64(w, "memory_budget_bytes", d->memory_budget_bytes);
    json_put_f32(w, "busy", d->busy);
    json_put_f32(w, "load_fps", d->load_fps);
    json_put_f32(w, "temperature_c", d->temperature_c);
    json_put_u64(w, "jpeg_engines", d->jpeg_engines);
    json_put_u64(w, "frames", d->frames);
    json_put_u64(w, "errors", d->errors);
    json_close(w);
}

static void write_model(struct json_writer *w, const void *models, int i)
{
    const struct api_model *m = (const struct api_model *)models + i;

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

/* Answers {"key": [...]}; rc and err came from the core's list of items. */
static void answer(struct http_request *r, int rc, const struct err *err, const char *key,
                   size_t cap, const void *items, int n,
                   void (*write)(struct json_writer *w, const void *items, int i))
{
    char *buf = rc ? NULL : answer_room(r, cap);
    struct json_writer w;

    if (rc)
        answer_problem_err(r, err);
    if (!buf)
        return;
    w = json_writer(buf, cap);
    json_open_map(&w, NULL);
    json_open_list(&w, key);
    for (int i = 0; i < n; i++)
        write(&w, items, i);
    json_close(&w);
    json_close(&w);
    answer_json(r, 200, &w);
}

void handle_host_devices(struct http_request *r)
{
    struct api_device devices[LIST_MAX];
    struct err err = {0};
    int n = 0, rc = r->config->ops->devices(r->config->core, devices, LIST_MAX, &n, &err);

    answer(r, rc, &err, "devices", LIST_MAX * DEVICE_JSON_MAX, devices, n, write_device);
}

void handle_host_models(struct http_request *r)
{
    struct api_model models[LIST_MAX];
    struct err err = {0};
    int n = 0, rc = r->config->ops->models(r->config->core, models, LIST_MAX, &n, &err);

    answer(r, rc, &err, "models", LIST_MAX * MODEL_JSON_MAX, models, n, write_model);
}
