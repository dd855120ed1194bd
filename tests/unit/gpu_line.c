/* The whole line on a drawn room: what is built, what stays, what goes, and that nothing depends on
 * order. */
#include "tests/support/image_box.h"
#include "tests/support/line_case.h"

#define W 96
#define H 72

/* What a client would hold: published points by slot. */
struct mirror {
    struct gpu_change *held; /* [max_points], kind 0 = none */
    uint32_t n;
};

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const uint8_t *b = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ b[i]) * 1099511628211ull;
    return h;
}

static void apply(struct mirror *m, const struct line *l)
{
    uint8_t *named = calloc(l->s->config.max_points, 1);
    for (uint32_t i = 0; i < l->f.result.n_changes; i++) {
        const struct gpu_change *c = &l->f.changes[i];
        struct gpu_change *held = &m->held[c->slot];
        assert_true(c->slot < l->s->config.max_points);
        assert_false(named[c->slot]); /* at most once a frame */
        named[c->slot] = 1;
        if (c->kind == GPU_CHANGE_REMOVE) {
            assert_int_equal(held->kind, GPU_CHANGE_PUT);
            assert_int_equal(held->id, c->id);
            held->kind = 0;
            m->n--;
        } else {
            assert_int_equal(c->kind, GPU_CHANGE_PUT);
            m->n += held->kind == 0;
            *held = *c;
        }
    }
    free(named);
}

/* The mirror holds exactly the stable points, as the model last published them. */
static void check_mirror(const struct mirror *m, const struct session_cpu *s)
{
    assert_int_equal(m->n, s->n_stable);
    for (uint32_t i = 0; i < s->n_slots; i++) {
        assert_int_equal(m->held[i].kind != 0, s->stat[i].state == POINT_STABLE);
        if (m->held[i].kind == 0)
            continue;
        assert_int_equal(m->held[i].id, s->id[i]);
        assert_memory_equal(m->held[i].p_q, s->out[i].p_q, sizeof s->out[i].p_q);
        assert_memory_equal(m->held[i].rgb, s->out[i].rgb, 3);
    }
}

/* What must hold between frames, whatever came in. */
static void check_invariants(const struct session_cpu *s)
{
    uint32_t n_live = 0, n_stable = 0, max = s->base.config.max_points;
    uint8_t *mark = calloc(max, 1);

    assert_true(s->n_slots <= max);
    for (uint32_t i = 0; i < s->n_free; i++) {
        uint32_t slot = s->free_slots[i];
        assert_true(slot < s->n_slots);
        assert_int_equal(mark[slot], 0); /* no slot is free twice */
        assert_int_equal(s->stat[slot].state, POINT_FREE);
        assert_int_equal(s->place[slot].tag, 0);
        mark[slot] = 1;
    }
    for (uint32_t i = 0; i < s->n_unstable; i++) {
        uint32_t slot = s->unstable[i];
        assert_int_equal(mark[slot], 0); /* neither free nor listed twice */
        assert_int_equal(s->stat[slot].state, POINT_UNSTABLE);
        mark[slot] = 2;
    }
    for (uint32_t i = 0; i < s->n_slots; i++) {
        const struct point_stat *p = &s->stat[i];
        assert_int_equal(s->claims[i], POINT_UNCLAIMED);
        if (p->state == POINT_FREE) {
            assert_int_equal(mark[i], 1);
            continue;
        }
        n_live++;
        n_stable += p->state == POINT_STABLE;
        assert_int_equal(mark[i], p->state == POINT_STABLE ? 0 : 2);
        assert_int_equal(s->place[i].tag, (uint32_t)s->id[i]);
        assert_true(s->id[i] < s->next_id && s->place[i].tag != 0);
        assert_true(p->w_a > 0.0f && p->w_a <= s->base.config.fuse.w_max);
        assert_true(p->c_c >= 0.0f && isfinite(s->place[i].x + s->place[i].y + s->place[i].z));
    }
    assert_int_equal(n_live, s->n_points);
    assert_int_equal(n_stable, s->n_stable);
    assert_int_equal(s->n_slots, n_live + s->n_free);
    for (size_t i = 0; i < (size_t)s->n_pixels * (size_t)s->base.config.fuse.n_covisible; i++)
        assert_int_equal(s->cell_claims[i], POINT_UNCLAIMED);
    free(mark);
}

/* A walk along the room and back that ends where it began. */
static struct rigid walk(int i, int n)
{
    float t = 6.2831853f * (float)i / (float)n;
    return scene_pose(1.2f * sinf(t), 0.1f * sinf(2.0f * t), -1.8f + 0.3f * cosf(t) - 0.3f,
                      0.4f * sinf(t));
}

static void add_noise(struct line *l, float share, uint32_t *random)
{
    for (int i = 0; i < l->w * l->h; i++)
        l->depth[i] *= 1.0f + share * (2.0f * scene_random(random) - 1.0f);
}

LINE_TEST(first_frame_is_a_keyframe_and_inserts_all)
{
    struct gpu_session_config c = line_config(W, H);
    struct rigid T = scene_pose(0, 0, -2, 0);
    assert_int_equal(line_open(&line, &c), 0);
    assert_int_equal(line_scene(&line, &drawn, &T), 0);
    assert_true(line.f.result.is_keyframe);
    assert_int_equal(line.f.result.n_keyframes, 1);
    assert_int_equal(line.f.result.n_covisible, 0);
    assert_true(line.f.result.n_valid > W * H * 9 / 10); /* all but the box's outline */
    assert_true(line.f.result.n_valid < W * H);
    assert_int_equal(line.f.result.n_inserted, line.f.result.n_valid);
    assert_int_equal(line.f.result.n_points, line.f.result.n_valid);
    assert_int_equal(line.f.result.n_associated, 0);
    assert_int_equal(line.f.result.n_stable, 0);
    assert_int_equal(line.f.result.n_changes, 0);
    check_invariants(line.cpu);
    /* the same view again: every pixel meets its own point, nothing is inserted */
    assert_int_equal(line_scene(&line, &drawn, &T), 0);
    assert_false(line.f.result.is_keyframe);
    assert_int_equal(line.f.result.n_associated, line.f.result.n_valid);
    assert_int_equal(line.f.result.n_updated, line.f.result.n_valid);
    assert_int_equal(line.f.result.n_inserted, 0);
}

/* With exact depth C_c of (4) falls from initial_rel by w/(w+1) a frame, so all points become
 * stable. */
TEST(seen_often_points_become_stable_and_are_published)
{
    struct gpu_session_config c = line_config(W, H);
    struct scene scene = scene_make();
    struct rigid T = scene_pose(0.3f, 0.1f, -2, 0.1f);
    struct line l = {0};
    struct mirror m = {calloc(c.max_points, sizeof *m.held), 0};
    assert_int_equal(line_open(&l, &c), 0);
    for (int i = 1; i <= c.fuse.min_observations + 2; i++) {
        assert_int_equal(line_scene(&l, &scene, &T), 0);
        apply(&m, &l);
        if (i < c.fuse.min_observations)
            assert_int_equal(l.f.result.n_stable, 0);
        check_mirror(&m, l.cpu);
        check_invariants(l.cpu);
    }
    assert_int_equal(l.f.result.n_stable, l.f.result.n_points);
    assert_int_equal(m.n, l.f.result.n_points);
    for (uint32_t i = 0; i < l.cpu->n_slots; i++) {
        const int32_t *q = m.held[i].p_q;
        struct vec3 p = vec3_make((float)q[0] * 1e-3f, (float)q[1] * 1e-3f, (float)q[2] * 1e-3f);
        uint8_t rgb[3];
        assert_true(scene_distance(&scene, p) <
                    0.0015f); /* half a step on each axis, and rounding */
        scene_colour(p, rgb);
        assert_true(abs((int)m.held[i].rgb[0] - (int)rgb[0]) <= 2);
    }
    line_close(&l);
    free(m.held);
}

/* Noise of +-2 %: the fused surface is nearer to the truth than the frames are. */
LINE_TEST(fusion_averages_noise_away)
{
    struct gpu_session_config c = line_config(W, H);
    double frame_error = 0, cloud_error = 0;
    uint32_t random = 12345, n = 0;
    c.fuse.edge_rel = 0.2f;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 40; i++) {
        struct rigid T = walk(i % 20, 200);
        scene_draw(&drawn, &T, line.K, W, H, line.depth, line.rgb);
        add_noise(&line, 0.02f, &random);
        assert_int_equal(line_frame(&line, &T), 0);
    }
    for (uint32_t i = 0; i < line.cpu->n_pixels; i++)
        if (line.cpu->usable[i] > 0.0f) {
            frame_error += (double)scene_distance(&drawn, line.cpu->world[i]);
            n++;
        }
    frame_error /= n;
    n = 0;
    for (uint32_t i = 0; i < line.cpu->n_slots; i++)
        if (line.cpu->stat[i].state == POINT_STABLE) {
            cloud_error += (double)scene_distance(&drawn, point_position(&line.cpu->place[i]));
            n++;
        }
    cloud_error /= n;
    assert_true(n > W * H * 8 / 10);
    assert_true(frame_error > 0.02);
    assert_true(cloud_error < 0.4 * frame_error);
}

/* A loop walked twice: the second time meets the points of the first, no wall is doubled. */
LINE_TEST(seen_again_is_the_same_points)
{
    struct gpu_session_config c = line_config(W, H);
    uint32_t after_first = 0, inserted = 0;
    c.fuse.kf_new_share = 0.1f;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 160; i++) {
        struct rigid T = walk(i, 80);
        assert_int_equal(line_scene(&line, &drawn, &T), 0);
        if (i == 79)
            after_first = line.f.result.n_stable;
        if (i >= 80) {
            inserted += line.f.result.n_inserted;
            assert_true(line.f.result.n_associated >= line.f.result.n_valid * 9 / 10);
        }
    }
    assert_true(after_first > 3 * W * H / 2);
    assert_true(line.f.result.n_stable < after_first * 115 / 100);
    assert_true(line.f.result.n_stable >= after_first * 95 / 100);
    assert_true(inserted < after_first / 4);
    check_invariants(line.cpu);
}

/* Points seen once leave exactly grace_frames later. */
LINE_TEST(unconfirmed_points_leave_after_the_grace_window)
{
    struct gpu_session_config c = line_config(W, H);
    struct rigid T = scene_pose(0, 0, -2, 0), away = scene_pose(0, 0, -2, 3.1f);
    uint32_t first, slots;
    c.fuse.grace_frames = 7;
    assert_int_equal(line_open(&line, &c), 0);
    assert_int_equal(line_scene(&line, &drawn, &T), 0);
    first = line.f.result.n_points;
    for (int i = 1; i < 7; i++) {
        assert_int_equal(line_scene(&line, &drawn, &away), 0);
        assert_int_equal(line.f.result.n_removed, 0);
    }
    assert_true(line.f.result.n_points > first);
    assert_int_equal(line_scene(&line, &drawn, &away), 0);
    assert_int_equal(line.f.result.n_removed, first);
    check_invariants(line.cpu);
    /* their slots are used again, under new ids */
    T = scene_pose(0, 0, -2, 1.2f);
    slots = line.cpu->n_slots;
    assert_int_equal(line.cpu->n_free, first);
    assert_int_equal(line_scene(&line, &drawn, &T), 0);
    assert_true(line.f.result.n_inserted > first);
    assert_int_equal(line.cpu->n_slots, slots + line.f.result.n_inserted - first);
    for (uint32_t i = 0; i < line.cpu->n_slots; i++)
        assert_true(line.cpu->place[i].tag == 0 || line.cpu->id[i] > first);
    check_invariants(line.cpu);
}

/* The box is taken away: its stable points are seen through and go, from the model and from the
 * clients. */
TEST(what_moved_away_is_carved)
{
    struct gpu_session_config c = line_config(W, H);
    struct scene scene = scene_make();
    struct rigid T = scene_pose(0, 0, -2, 0);
    struct line l = {0};
    struct mirror m = {calloc(c.max_points, sizeof *m.held), 0};
    uint32_t on_box = 0, left = 0;
    assert_int_equal(line_open(&l, &c), 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(line_scene(&l, &scene, &T), 0);
        apply(&m, &l);
    }
    for (uint32_t i = 0; i < l.cpu->n_slots; i++)
        on_box += l.cpu->place[i].z < 1.0f && l.cpu->place[i].x > -0.61f &&
                  l.cpu->place[i].x < 0.41f && l.cpu->place[i].y > -0.51f &&
                  l.cpu->place[i].y < 1.49f;
    assert_true(on_box > 500);
    scene.box_hi.x = scene.box_lo.x; /* gone */
    for (int i = 1; i <= c.fuse.carve_votes; i++) {
        assert_int_equal(line_scene(&l, &scene, &T), 0);
        apply(&m, &l);
        if (i < c.fuse.carve_votes)
            assert_int_equal(l.f.result.n_carved, 0);
        check_mirror(&m, l.cpu);
    }
    assert_true(l.f.result.n_carved > on_box * 9 / 10);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(line_scene(&l, &scene, &T), 0);
        apply(&m, &l);
        check_mirror(&m, l.cpu);
        check_invariants(l.cpu);
    }
    for (uint32_t i = 0; i < l.cpu->n_slots; i++)
        left += l.cpu->place[i].tag != 0 &&
                scene_distance(&scene, point_position(&l.cpu->place[i])) > 0.05f;
    assert_true(left < on_box / 20);
    line_close(&l);
    free(m.held);
}

/* With the box in the way again and again, a point that is confirmed between votes stays. */
LINE_TEST(an_update_takes_votes_back)
{
    struct gpu_session_config c = line_config(W, H);
    struct scene with = scene_make(), without = with;
    struct rigid T = scene_pose(0, 0, -2, 0);
    without.box_hi.x = without.box_lo.x;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(line_scene(&line, &with, &T), 0);
    for (int i = 0; i < 6 * c.fuse.carve_votes; i++) {
        assert_int_equal(line_scene(&line, i % c.fuse.carve_votes == 0 ? &with : &without, &T), 0);
        assert_int_equal(line.f.result.n_carved, 0);
    }
}

LINE_TEST(a_used_up_budget_leaves_out_and_counts)
{
    struct gpu_session_config c = line_config(W, H);
    struct rigid T = scene_pose(0, 0, -2, 0), away = scene_pose(0, 0, -2, 3.1f);
    c.max_points = 1000;
    c.fuse.grace_frames = 3;
    assert_int_equal(line_open(&line, &c), 0);
    assert_int_equal(line_scene(&line, &drawn, &T), 0);
    assert_int_equal(line.f.result.n_inserted, 1000);
    assert_int_equal(line.f.result.n_left_out, line.f.result.n_valid - 1000);
    assert_int_equal(line_scene(&line, &drawn, &away), 0);
    assert_int_equal(line.f.result.n_inserted, 0);
    check_invariants(line.cpu);
    for (int i = 3; i <= 5; i++) {
        assert_int_equal(line.f.result.n_inserted, 0);
        assert_int_equal(line_scene(&line, &drawn, &away), 0);
    }
    check_invariants(line.cpu);
    assert_int_equal(line.f.result.n_inserted,
                     1000); /* the first ones expired, their slots are used again */
    assert_int_equal(line.f.result.n_points, 1000);
    assert_int_equal(line.cpu->next_id, 2001);
}

/* A noisy walk with jumps, holes and a moving box; everything that must hold, after every frame. */
TEST(invariants_hold_on_a_rough_walk)
{
    struct gpu_session_config c = line_config(W, H);
    struct scene scene = scene_make();
    struct line l = {0};
    struct mirror m = {NULL, 0};
    uint32_t random = 99;
    uint64_t newest = 0;
    c.max_points = 9000; /* less than the room needs */
    c.fuse.max_keyframes = 7;
    c.fuse.grace_frames = 4;
    m.held = calloc(c.max_points, sizeof *m.held);
    assert_int_equal(line_open(&l, &c), 0);
    for (int i = 0; i < 120; i++) {
        struct rigid T = walk(i * 3 + (i % 11 == 0 ? 40 : 0), 100);
        uint64_t before = l.cpu->next_id;
        scene.box_hi.x = (float)(i / 20 % 2) * 0.8f - 0.4f;
        scene_draw(&scene, &T, l.K, W, H, l.depth, l.rgb);
        add_noise(&l, i % 7 ? 0.01f : 0.2f, &random);
        for (int k = 0; k < W * H; k += 13)
            l.depth[(k + 7 * i) % (W * H)] = k % 2 ? NAN : 0.0f;
        if (i % 17 == 5)
            memset(l.depth, 0, W * H * sizeof *l.depth);
        assert_int_equal(line_frame(&l, &T), 0);
        apply(&m, &l);
        check_mirror(&m, l.cpu);
        check_invariants(l.cpu);
        assert_true(l.f.result.n_keyframes <= 7);
        assert_true(l.f.result.n_covisible <= 5);
        assert_true(l.cpu->next_id == before + l.f.result.n_inserted);
        newest = l.cpu->next_id;
    }
    assert_true(newest > 9000 && l.f.result.n_keyframes == 7);
    line_close(&l);
    free(m.held);
}

/* Everything that a run leaves behind, in one number; visit: order of the claiming passes. */
static uint64_t run_hash(const uint32_t *visit)
{
    struct gpu_session_config c = line_config(W, H);
    struct scene scene = scene_make();
    struct line l = {0};
    uint64_t h = 14695981039346656037ull;
    uint32_t random = 4711;

    assert_int_equal(line_open(&l, &c), 0);
    l.cpu->visit = visit;
    for (int i = 0; i < 50; i++) {
        struct rigid T = walk(4 * i, 100);
        scene_draw(&scene, &T, l.K, W, H, l.depth, l.rgb);
        add_noise(&l, 0.03f, &random);
        assert_int_equal(line_frame(&l, &T), 0);
        h = hash_bytes(h, l.f.changes, l.f.result.n_changes * sizeof *l.f.changes);
    }
    assert_true(l.f.result.n_stable > 1000);
    h = hash_bytes(h, l.cpu->place, l.cpu->n_slots * sizeof *l.cpu->place);
    h = hash_bytes(h, l.cpu->stat, l.cpu->n_slots * sizeof *l.cpu->stat);
    h = hash_bytes(h, l.cpu->id, l.cpu->n_slots * sizeof *l.cpu->id);
    h = hash_bytes(h, l.cpu->maps,
                   (size_t)l.cpu->n_keyframes * l.cpu->n_pixels * sizeof *l.cpu->maps);
    line_close(&l);
    return h;
}

TEST(order_of_pixels_changes_nothing)
{
    static uint32_t visit[W * H];
    uint64_t by_rows = run_hash(NULL);
    uint32_t random = 31337;
    assert_int_equal(run_hash(NULL), by_rows); /* two runs agree */
    for (uint32_t i = 0; i < W * H; i++)
        visit[i] = W * H - 1 - i;
    assert_int_equal(run_hash(visit), by_rows); /* backwards */
    for (uint32_t i = W * H - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(scene_random(&random) * (float)(i + 1)) % (i + 1), t = visit[i];
        visit[i] = visit[j];
        visit[j] = t;
    }
    assert_int_equal(run_hash(visit), by_rows); /* shuffled */
}

/* Two cameras' worth of pixels on one point: one updates it, the others neither update nor
 * insert. */
LINE_TEST(losers_neither_update_nor_insert)
{
    struct gpu_session_config c = line_config(W, H);
    struct rigid near_wall = scene_pose(0, 0, 1.6f, 0), far = scene_pose(0, 0, 0.2f, 0);
    drawn.box_hi.x = drawn.box_lo.x;
    c.fuse.kf_translation_rel = 5.0f; /* one keyframe only */
    assert_int_equal(line_open(&line, &c), 0);
    assert_int_equal(line_scene(&line, &drawn, &far), 0);
    assert_int_equal(line_scene(&line, &drawn, &near_wall),
                     0); /* twice as near: four pixels a point */
    assert_false(line.f.result.is_keyframe);
    assert_int_equal(line.f.result.n_associated, line.f.result.n_valid);
    assert_int_equal(line.f.result.n_inserted, 0);
    assert_true(line.f.result.n_updated < line.f.result.n_associated / 3);
    assert_true(line.f.result.n_updated > line.f.result.n_associated / 6);
}

/* A keyframe given up is the one best covered by another; those in use stay. */
LINE_TEST(keyframes_are_thinned_where_they_are_dense)
{
    struct gpu_session_config c = line_config(W, H);
    struct rigid T = scene_pose(0, 0, 0, 3.1f), back;
    int found = 0;
    c.fuse.max_keyframes = 8;
    c.fuse.kf_translation_rel = 0.02f;
    assert_int_equal(line_open(&line, &c), 0);
    assert_int_equal(line_scene(&line, &drawn, &T), 0); /* alone with the wall behind */
    back = line.cpu->keyframes[0].camera.T_wc;
    for (int i = 0; i < 30; i++) { /* a crowd before the opposite wall */
        T = scene_pose(0.2f * (float)i - 2.9f, 0, -1.0f, 0);
        assert_int_equal(line_scene(&line, &drawn, &T), 0);
        assert_true(line.f.result.is_keyframe);
    }
    assert_int_equal(line.f.result.n_keyframes, 8);
    for (int k = 0; k < 8; k++)
        found += !memcmp(&line.cpu->keyframes[k].camera.T_wc, &back, sizeof back);
    assert_int_equal(found, 1);
}

TEST(image_by_rows_is_the_image_by_boxes)
{
    const int size[4][2] = {{640, 480}, {97, 211}, {96, 72}, {31, 20}};
    struct gpu_session_config c = line_config(W, H);
    uint8_t *rgb = malloc(640 * 480 * 3);
    struct line l = {0};
    uint32_t random = 5;
    c.max_image_w = 640;
    c.max_image_h = 480;
    for (int i = 0; i < 640 * 480 * 3; i++)
        rgb[i] = (uint8_t)(255.99f * scene_random(&random));
    assert_int_equal(line_open(&l, &c), 0);
    for (int n = 0; n < 4; n++) {
        int w = size[n][0], h = size[n][1];
        /* of pixels that the network's picture makes square */
        struct intrinsics K = {(float)w, (float)h * W / H, (float)w / 2, (float)h / 2};
        l.f = (struct gpu_frame){.item.session = l.s,
                                 .rgb = rgb,
                                 .width = w,
                                 .height = h,
                                 .K = K,
                                 .has_pose = 1,
                                 .T_wc = rigid_identity()};
        assert_int_equal(image_cpu_run(&l.f.item, NULL), 0);
        for (int i = 0; i < W * H * 3; i++) {
            uint64_t sum;
            int y, x;
            y = i / 3 / W;
            x = i / 3 % W;
            sum = 0;
            for (int v = image_first(y, H, h); v < image_end(y, H, h); v++)
                for (int u = image_first(x, W, w); u < image_end(x, W, w); u++)
                    sum += (uint64_t)image_overlap(x, u, W, w) * image_overlap(y, v, H, h) *
                           rgb[((size_t)v * (size_t)w + (size_t)u) * 3 + (size_t)(i % 3)];
            assert_int_equal(sum, image_box(rgb, w, h, W, H, x, y, i % 3));
            assert_int_equal(l.cpu->rgb[i], image_round(sum, (uint64_t)w * (uint64_t)h));
        }
        assert_true(fabsf(l.cpu->camera.K.fx - (float)W) < 1e-4f);
    }
    line_close(&l);
    free(rgb);
}

/* Without a network for it, a pose is the last one; the first of all is the origin. */
LINE_TEST(poses_without_motion_stand_still)
{
    struct gpu_session_config c = line_config(W, H);
    struct rigid T = scene_pose(1, 0, 2, 0.5f), I = rigid_identity();
    assert_int_equal(line_open(&line, &c), 0);
    line.f.item.session = line.s;
    assert_int_equal(motion_cpu_run(&line.f.item, NULL), 0);
    assert_memory_equal(&line.f.result.T_wc, &I, sizeof I);
    line.f.has_pose = 1;
    line.f.T_wc = T;
    assert_int_equal(motion_cpu_run(&line.f.item, NULL), 0);
    assert_memory_equal(&line.f.result.T_wc, &T, sizeof T);
    line.f.has_pose = 0;
    line.f.restart = 1;
    assert_int_equal(motion_cpu_run(&line.f.item, NULL), 0);
    assert_memory_equal(&line.f.result.T_wc, &T, sizeof T);
}
