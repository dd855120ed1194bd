/*
 * fuzz_gpu_state - a stranger's bytes as the state of a session without networks
 *
 * Input:   a row of sections. With a section of cubes it is for a session whose points lie in cubes
 *          of space, with one of many views for one that has them; with one of voxels for a volume
 *          that one camera's pictures carve.
 * What is refused leaves a session as new; what is taken is within all bounds: frames run on it,
 * and saving it gives a state that is taken again.
 */
#include "gpu/mono/session_cpu.h"
#include "gpu/panorama/panorama_cpu.h"
#include "proto/section.h"
#include "tests/support/fuzz_case.h"
#include "tests/support/line.h"

#define SIDE 16
#define POINTS 40

static struct gpu_session_config config(int cells, int views)
{
    struct gpu_session_config c = line_config(SIDE, SIDE);
    c.max_points = POINTS;
    if (cells)
        fuse_params_cells(&c.fuse);
    c.views = cells && views;
    c.fuse.max_keyframes = 3;
    c.fuse.n_covisible = 2;
    return c;
}

/* A wall of which a few pixels have depth. */
static void run_frames(struct line *l)
{
    for (int i = 0; i < 3; i++) {
        struct rigid T = scene_pose(0.05f * (float)i, 0, 0, 0.01f * (float)i);
        uint32_t n;

        memset(l->rgb, 60 + i, SIDE * SIDE * 3);
        for (int k = 0; k < SIDE * SIDE; k++)
            l->depth[k] = k % 11 < 2 ? 1.0f + 0.01f * (float)(k % 7) : 0.0f;
        check(line_frame(l, &T) == 0);
        n = l->f.result.n_changes;
        check(n <= 2 * SIDE * SIDE && l->f.result.n_points <= POINTS);
        for (uint32_t k = 0; k < n; k++)
            check(l->f.changes[k].slot < POINTS);
    }
}

static void save_and_load(struct line *l)
{
    const struct gpu_session_config c = l->cpu->base.config;
    size_t cap = gpu_session_state_bytes(l->s), len = 0;
    struct gpu_session *again;
    uint8_t *buf = malloc(cap);

    check(buf && gpu_session_save(l->s, buf, cap, &len, NULL) == 0 && len == cap);
    check(session_cpu_new(&again, l->g, &c, NULL) == 0);
    check(gpu_session_load(again, buf, len, NULL) == 0);
    gpu_session_free(&again);
    free(buf);
}

/* A copy from a multiple of 16 on. */
static uint8_t *as_row(const uint8_t *data, size_t size)
{
    uint8_t *row = malloc(size + 1);

    check(row != NULL);
    memcpy(row, data, size);
    return row;
}

static struct gpu_session_config volume_config(void)
{
    return (struct gpu_session_config){
        .line = &gpu_line_panorama,
        .net_w = SIDE,
        .net_h = SIDE,
        .max_image_w = SIDE,
        .max_image_h = SIDE,
        .step_m = 0.01f,
        .max_points = 4096,
        .volume = {{-1, -1, -1}, 0.25f, 2, {8, 8, 8}},
        .colour_levels = 12,
        .field_rad = LENS_PI,
        .baseline_m = 0.2f,
    };
}

/* A camera that walks through the volume. */
static void run_walk(struct gpu *g, struct gpu_session *s)
{
    static uint8_t rgb[SIDE * SIDE * 3];

    for (int i = 0; i < 3; i++) {
        struct gpu_pair pair = {.item.session = s};
        struct gpu_item *item = &pair.item;
        struct gpu_pair_eye *e = &pair.eye[0];

        *e = (struct gpu_pair_eye){rgb,
                                   SIDE,
                                   SIDE / 2,
                                   lens_sphere_intrinsics(SIDE, SIDE / 2),
                                   {.model = LENS_SPHERE},
                                   rigid_identity()};
        e->T_wc.t[0] = 0.3f * (float)i - 0.5f;
        check(gpu_submit(g, &gpu_line_panorama, &item, 1, NULL) == 0 &&
              gpu_wait(g, &item, 1, NULL) == 0);
        check(pair.result.n_changes <= 512);
    }
}

static void volume(struct gpu *g, const uint8_t *row, size_t size)
{
    const struct gpu_session_config c = volume_config();
    struct gpu_session *s, *again;
    struct err err = {0};
    size_t cap, len;
    uint8_t *buf;

    check(gpu_session_new(&s, g, &c, &err) == 0);
    if (gpu_session_load(s, row, size, &err)) {
        check((err.code == ERR_INPUT || err.code == ERR_UNSUPPORTED) && err.text[0]);
        check(panorama_cpu_of(s)->kept.there == 0 && panorama_cpu_of(s)->n_opaque == 0);
    } else {
        cap = gpu_session_state_bytes(s);
        buf = malloc(cap);
        check(buf && gpu_session_save(s, buf, cap, &len, NULL) == 0 && len == cap);
        check(gpu_session_new(&again, g, &c, &err) == 0);
        check(gpu_session_load(again, buf, len, NULL) == 0);
        gpu_session_free(&again);
        free(buf);
    }
    run_walk(g, s);
    gpu_session_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct line l; /* the device, opened once */
    uint8_t *row = as_row(data, size);
    struct section found;
    const struct gpu_session_config c =
        config(section_find(&found, row, size, SECTION_TAG('G', 'C', 'E', 'L')),
               section_find(&found, row, size, SECTION_TAG('G', 'V', 'I', 'E')));
    struct err err = {0};

    if (!l.g)
        check(line_open(&l, &c) == 0);
    else
        check(session_cpu_new(&l.s, l.g, &c, NULL) == 0);
    if (section_find(&found, row, size, PANORAMA_TAG))
        volume(l.g, row, size);
    l.cpu = session_cpu_of(l.s);
    if (gpu_session_load(l.s, row, size, &err)) {
        check((err.code == ERR_INPUT || err.code == ERR_UNSUPPORTED) && err.text[0]);
        check(l.cpu->frame == 0 && l.cpu->n_slots == 0 && l.cpu->next_id == 1);
        check(!l.cpu->views || (l.cpu->views->frame == 0 && l.cpu->views->n_places == 0));
    } else {
        save_and_load(&l);
        run_frames(&l);
    }
    run_frames(&l);
    gpu_session_free(&l.s);
    free(row);
    return 0;
}
