/*
 * fuzz_gpu_state - a stranger's bytes as the state of a session without networks
 *
 * Input:   a row of sections. With a section of cubes it is for a session whose points lie in cubes
 *          of space, with one of many views for one that has them.
 * What is refused leaves a session as new; what is taken is within all bounds: frames run on it,
 * and saving it gives a state that is taken again.
 */
#include "gpu/mono/session_cpu.h"
#include "proto/section.h"
#include "tests/support/line.h"

#define SIDE 16
#define POINTS 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

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
