/* Points in cubes of space on a drawn room with exact depth: what the keyframes' maps lose is kept,
 * and nothing depends on order. */
#include "tests/support/line_case.h"

#define W 96
#define H 72

static struct gpu_session_config cells_config(void)
{
    struct gpu_session_config c = line_config(W, H);
    fuse_params_cells(&c.fuse);
    return c;
}

static void step(struct line *l, const struct scene *scene, struct rigid T)
{
    assert_int_equal(line_scene(l, scene, &T), 0);
}

/* Each living point is the one that its key finds, and no two have one key. */
static void check_table(const struct line *l)
{
    const struct session_cpu *s = l->cpu;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_slots; i++) {
        if (!s->place[i].tag)
            continue;
        n++;
        assert_int_equal(cell_find(s->table, s->table_mask, s->key[i], s->place), i);
    }
    assert_int_equal(n, s->n_points);
    for (uint32_t i = 0; i <= s->table_mask; i++) /* no claim is left */
        assert_true(s->table[i].held == 0 || (uint32_t)(~s->table[i].held >> 32) != 0);
}

TEST(keys_are_cubes)
{
    struct fuse_params p;
    struct vec3 a = {0.01f, -0.01f, 3.0f}, b = {0.019f, -0.019f, 3.019f},
                c = {0.021f, -0.01f, 3.0f};
    fuse_params_cells(&p);
    assert_int_equal(cell_level(3.0f, &p), 0);
    assert_int_equal(cell_level(3.1f, &p), 1);
    assert_int_equal(cell_level(24.1f, &p), 4);
    assert_int_equal(cell_level(1e9f, &p), CELL_LEVELS - 1);
    assert_true(cell_key(a, 0, 0, &p) == cell_key(b, 0, 0, &p));
    assert_true(cell_key(a, 0, 0, &p) != cell_key(c, 0, 0, &p));
    assert_true(cell_key(a, 1, 3, &p) == cell_key(c, 1, 3, &p));
    assert_true(cell_key(a, 0, 0, &p) != cell_key(a, 1, 0, &p));
    assert_true(cell_key(vec3_make(1e5f, 0, 0), 0, 0, &p) == 0);
    assert_true(cell_key(vec3_make(NAN, 0, 0), 0, 0, &p) == 0);
    assert_true(cell_key(a, CELL_LEVELS, 0, &p) == 0);
    assert_true(cell_key(a, 0, 255, &p) != cell_key(a, 0, 254, &p));
    assert_int_equal(cell_submap(cell_key(a, 7, 255, &p)), 255);
    /* the farthest cubes have keys, and none is 0 */
    assert_true(cell_key(vec3_make(-2621, -1310, -2621), 0, 0, &p) != 0);
    assert_true(cell_key(vec3_make(2621, 1310, 2621), 0, 255, &p) != 0);
    assert_true(cell_key(vec3_make(0, 1311, 0), 0, 0, &p) == 0);
}

/* Laps through a room with few keyframes: the model stays what the first laps made, but for cubes
 * that were met too rarely until then, and every point is found by its key. */
LINE_TEST(laps_meet_the_points_of_the_first)
{
    struct gpu_session_config c = cells_config();
    uint32_t first = 0;
    c.fuse.max_keyframes = 8;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 240; i++) {
        float t = 6.2831853f * (float)i / 60.0f;
        step(&line, &drawn, scene_pose(0.5f * sinf(t), 0, -1.5f + 0.5f * cosf(t), t));
        if (i == 119)
            first = line.f.result.n_stable;
    }
    check_table(&line);
    print_message("# stable after two laps %u, after four %u\n", first, line.f.result.n_stable);
    assert_true(first > 2 * W * H);
    assert_true(line.f.result.n_stable < first * 120 / 100);
}

/* From 4 m to 0.8 m before a wall: what is in view becomes as dense as the nearest view. */
LINE_TEST(density_follows_the_nearest_view)
{
    struct gpu_session_config c = cells_config();
    uint32_t in_view = 0;
    drawn.box_hi.x = drawn.box_lo.x;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 60; i++)
        step(&line, &drawn, scene_pose(0, 0, i < 50 ? -1.0f + 0.064f * (float)i : 2.2f, 0));
    for (uint32_t i = 0; i < line.cpu->n_slots; i++) {
        uint32_t pixel;
        float z;
        in_view +=
            line.cpu->stat[i].state == POINT_STABLE &&
            point_project(&line.cpu->camera, point_position(&line.cpu->place[i]), &pixel, &z);
    }
    print_message("# %u stable points in view of %d pixels\n", in_view, W * H);
    /* the wall in view is 0.96 m x 0.72 m: 48 x 36 cubes of 2 cm */
    assert_true(in_view > 48 * 36 * 9 / 10);
}

/* A budget that one wall fills: what is seen later is built, and what was seen little gives way. */
LINE_TEST(a_full_budget_gives_room_to_what_is_seen_now)
{
    struct gpu_session_config c = cells_config();
    uint32_t behind = 0;
    drawn.box_hi.x = drawn.box_lo.x;
    c.max_points = 7000;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 10; i++)
        step(&line, &drawn, scene_pose(0.01f * (float)i, 0, -2, 0));
    assert_true(line.f.result.n_stable > 2000);
    for (int i = 0; i < 120; i++)
        step(&line, &drawn, scene_pose(0.01f * (float)(i % 10), 0, 1.9f, 3.1f));
    check_table(&line);
    for (uint32_t i = 0; i < line.cpu->n_slots; i++)
        behind += line.cpu->stat[i].state == POINT_STABLE && line.cpu->place[i].z < -2.9f;
    print_message("# %u stable points on the wall that is seen now\n", behind);
    assert_true(behind > 2000);
}

/* The sides of a box that is 30 cm wide, seen at a slant, are covered. */
LINE_TEST(thin_side_faces_are_kept)
{
    struct gpu_session_config c = cells_config();
    struct scene scene = {{-0.15f, -0.15f, 0.85f}, {0.15f, 0.15f, 1.15f}};
    static uint8_t seen[15][15];
    uint32_t n = 0;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 60; i++) {
        float a = 0.9f * sinf(0.1f * (float)i);
        step(&line, &scene, scene_pose(-1.2f * sinf(a), 0, 1.0f - 1.2f * cosf(a), a));
    }
    for (uint32_t i = 0; i < line.cpu->n_slots; i++) {
        struct vec3 p = point_position(&line.cpu->place[i]);
        if (line.cpu->stat[i].state == POINT_STABLE && fabsf(p.x - 0.15f) < 0.02f &&
            fabsf(p.y) < 0.15f && fabsf(p.z - 1.0f) < 0.15f)
            seen[(int)((p.y + 0.15f) / 0.02f)][(int)((p.z - 0.85f) / 0.02f)] = 1;
    }
    for (int i = 0; i < 15 * 15; i++)
        n += seen[i / 15][i % 15];
    print_message("# %u of 225 cubes of a side face\n", n);
    assert_true(n > 225 * 4 / 10); /* without the rows and columns beside its edges (E1) */
}

/* What clients hold lies within publish_rel of the model. */
LINE_TEST(published_points_follow_the_model)
{
    struct gpu_session_config c = cells_config();
    uint32_t random = 7;
    double lag = 0;
    uint32_t n = 0;
    c.fuse.edge_rel = 0.2f;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 60; i++) {
        struct rigid T = scene_pose(0.01f * (float)i, 0, -2, 0);
        scene_draw(&drawn, &T, line.K, W, H, line.depth, line.rgb);
        for (int k = 0; k < W * H; k++)
            line.depth[k] *= 1.0f + 0.03f * (2.0f * scene_random(&random) - 1.0f);
        assert_int_equal(line_frame(&line, &T), 0);
    }
    for (uint32_t i = 0; i < line.cpu->n_slots; i++) {
        const struct point_out *o = &line.cpu->out[i];
        if (line.cpu->stat[i].state != POINT_STABLE)
            continue;
        lag += (double)sqrtf(vec3_norm2(vec3_sub(
            vec3_make((float)o->p_q[0] * 1e-3f, (float)o->p_q[1] * 1e-3f, (float)o->p_q[2] * 1e-3f),
            point_position(&line.cpu->place[i]))));
        n++;
    }
    print_message("# %u points lag by %.1f mm\n", n, 1e3 * lag / n);
    assert_true(n > 1000 && lag / n < 0.005);
}

/* The box is taken away: looks along the rays that now end behind it take its points. */
LINE_TEST(what_moved_away_is_carved)
{
    struct gpu_session_config c = cells_config();
    uint32_t on_box[2] = {0, 0};
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 120; i++) {
        if (i == 20 || i == 119) {
            for (uint32_t k = 0; k < line.cpu->n_slots; k++)
                on_box[i > 20] +=
                    line.cpu->place[k].tag && fabsf(line.cpu->place[k].z - 0.6f) < 0.02f &&
                    fabsf(line.cpu->place[k].x + 0.1f) < 0.4f && line.cpu->place[k].y > -0.4f;
            drawn.box_hi.x = drawn.box_lo.x;
        }
        step(&line, &drawn, scene_pose(0.002f * (float)i, 0, -1.2f, 0));
    }
    print_message("# points on the box: %u, %u after it went\n", on_box[0], on_box[1]);
    assert_true(on_box[0] > 500 && on_box[1] < on_box[0] / 20);
    check_table(&line);
}

static uint64_t run_hash(const uint32_t *visit)
{
    struct gpu_session_config c = cells_config();
    struct scene scene = scene_make();
    struct line l = {0};
    uint64_t h = 14695981039346656037ull;
    uint32_t random = 4711;
    c.max_points = 20000; /* runs short */
    c.fuse.cell_depth_m = 1.0f;
    assert_int_equal(line_open(&l, &c), 0);
    l.cpu->visit = visit;
    for (int i = 0; i < 60; i++) {
        struct rigid T = scene_pose(0.3f * sinf((float)i), 0, -1.5f, 0.1f * (float)i);
        scene_draw(&scene, &T, l.K, W, H, l.depth, l.rgb);
        for (int k = 0; k < W * H; k++)
            l.depth[k] *= 1.0f + 0.03f * (2.0f * scene_random(&random) - 1.0f);
        assert_int_equal(line_frame(&l, &T), 0);
        for (uint32_t k = 0; k < l.f.result.n_changes; k++)
            h = (h ^ l.f.changes[k].id ^ (uint64_t)(uint32_t)l.f.changes[k].p_q[0] << 32) *
                1099511628211ull;
    }
    check_table(&l);
    h = (h ^ l.cpu->next_id) * 1099511628211ull + l.cpu->n_points;
    line_close(&l);
    return h;
}

TEST(order_of_pixels_changes_nothing)
{
    static uint32_t visit[W * H];
    uint64_t by_rows = run_hash(NULL);
    for (uint32_t i = 0; i < W * H; i++)
        visit[i] = W * H - 1 - i;
    assert_int_equal(run_hash(visit), by_rows);
}
