/*
 * fuzz_proto_control.c - a stranger's text as a control message
 *
 * Never crashes; what is taken can be written, and what is written is taken again and written the
 * same way.
 */
#include "proto/wire/control.h"
#include "proto/json.h"
#include "tests/support/fuzz_case.h"

/* What was declared can be computed with: rays are finite, and what a map asks of the picture lies
 * within it. */
static void check_camera(const struct cameras_entry *e, const struct lens *back)
{
    struct lens_map m = lens_map_make(&e->lens, e->K, e->width, e->height, 64, 48);

    check(lens_valid(&e->lens) && isfinite(e->K.fx) && e->K.fx >= 1);
    check(back->model == e->lens.model && back->limit == e->lens.limit);
    for (int i = 0; i < LENS_PARAMS_MAX; i++)
        check(back->k[i] == e->lens.k[i]);
    for (int i = 0; i < 64; i++) {
        float x = (float)(i % 8) * 9.1f - 0.5f, y = (float)(i / 8) * 6.9f - 0.5f, u, v;
        struct vec3 ray;

        lens_map_at(&m, x, y, &u, &v);
        check(u >= 0 && v >= 0 && u <= (float)e->width - 1 && v <= (float)e->height - 1);
        if (lens_ray(&e->lens, e->K, u, v, &ray))
            check(isfinite(ray.x) && isfinite(ray.y) && isfinite(ray.z));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char once[2 * CONTROL_TEXT_MAX], twice[2 * CONTROL_TEXT_MAX];
    struct control_message m, back;
    struct err err = {0};
    size_t len;
    int rc;

    memset(&m, 0, sizeof m);
    rc = control_parse(&m, (const char *)data, size, &err);
    if (rc) {
        check(rc == ERR_INPUT || rc == ERR_LIMIT || rc == ERR_UNSUPPORTED);
        check(err.code == rc && err.text[0] && strlen(err.where) < sizeof err.where);
        return 0;
    }
    check(size <= CONTROL_TEXT_MAX && json_utf8((const char *)data, size));
    len = control_write(once, sizeof once, &m);
    check(len > 0 && json_utf8(once, len));
    if (len > CONTROL_TEXT_MAX) /* escapes may lengthen a text: such a one is not for the wire */
        return 0;
    memset(&back, 0, sizeof back);
    check(control_parse(&back, once, len, &err) == 0 && back.op == m.op);
    if (m.op == CONTROL_CAMERA) { /* the last bits of its rotation may move */
        check(back.camera.id == m.camera.id && back.camera.width == m.camera.width);
        check_camera(&m.camera, &back.camera.lens);
        return 0;
    }
    check(control_write(twice, sizeof twice, &back) == len && memcmp(once, twice, len) == 0);
    return 0;
}
