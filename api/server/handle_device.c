/* handle_device.c - the devices that compute */
#include "api/server/handle.h"

#define DEVICES_MAX 64
#define DEVICE_JSON_MAX 3072

static void write_device(struct json_writer *w, const struct api_device *d)
{
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

void handle_device_list(struct http_request *r)
{
    const size_t cap = DEVICES_MAX * DEVICE_JSON_MAX;
    struct api_device devices[DEVICES_MAX];
    struct json_writer w;
    struct err err = {0};
    int n = 0;
    char *buf;

    if (r->config->ops->devices(r->config->core, devices, DEVICES_MAX, &n, &err)) {
        answer_problem_err(r, &err);
        return;
    }
    buf = answer_room(r, cap);
    if (!buf)
        return;
    w = json_writer(buf, cap);
    json_open_map(&w, NULL);
    json_open_list(&w, "devices");
    for (int i = 0; i < n; i++)
        write_device(&w, &devices[i]);
    json_close(&w);
    json_close(&w);
    answer_json(r, 200, &w);
}
