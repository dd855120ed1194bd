/* Line mono with poses from tracks: a drawn walk without poses is followed and fused, what is lost
 * says so, and a session goes on from its bytes as if nothing had been. */
#include "gpu/mono/state.h"
#include "gpu/track/path_record.h"
#include "proto/section.h"
#include "tests/support/line_case.h"
#include "tests/support/views_case.h"

#define W 160
#define H 128

static struct gpu_session_config config(int tracks)
{
    struct gpu_session_config c = line_config(W, H);
    fuse_params_cells(&c.fuse);
    c.max_points = 1u << 18;
    c.tracks = tracks;
    return c;
}

/* Frame i of the walk of views_case.h, without its pose. Its depth becomes the path's (P11). */
static void put(struct line *l, int i, int restart)
{
    struct views_case scene;
    struct gpu_item *item = &l->f.item;
    struct err err = {0};

    views_case_open(&scene, W, H);
    views_case_draw(&scene, i, 1.0f);
    line_set_frame(l, &scene.frame.T_wc);
    memcpy(l->rgb, scene.rgb, 3 * (size_t)W * H);
    l->f.K = scene.frame.K;
    l->f.restart = restart;
    assert_int_equal(session_cpu_put_depth(l->s, scene.depth, NULL), 0);
    if (gpu_submit(l->g, &gpu_line_mono, &item, 1, &err) || gpu_wait(l->g, &item, 1, &err))
        fail_msg("%s", err.text);
    for (int k = 0; k < W * H && l->cpu->path; k++)
        assert_true(l->cpu->depth[k] == scene.depth[k] * l->cpu->path->told.correction);
    views_case_close(&scene);
}

/* Metres between a frame's pose and the truth, from that of the walk's first frame on. */
static float off(const struct line *l)
{
    struct views_case scene;
    struct rigid first, truth;

    views_case_open(&scene, W, H);
    views_case_draw(&scene, 0, 1.0f);
    first = rigid_inverse(&scene.frame.T_wc);
    views_case_close(&scene);
    truth = rigid_mul(&first, &l->f.T_wc);
    return sqrtf(
        vec3_norm2(vec3_make(l->f.result.T_wc.t[0] - truth.t[0], l->f.result.T_wc.t[1] - truth.t[1],
                             l->f.result.T_wc.t[2] - truth.t[2])));
}

LINE_TEST(a_walk_without_poses_is_fused)
{
    const struct gpu_session_config c = config(1);
    float worst = 0;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 20; i++) {
        put(&line, i, 0);
        assert_int_equal(line.f.result.tracks.state, i ? GPU_TRACKS_FOUND : GPU_TRACKS_BEGUN);
        assert_true(i == 0 || line.f.result.tracks.n_inliers > 50);
        worst = fmaxf(worst, off(&line));
    }
    print_message("# %.3f m off at most, %u points, %u of %u\n", (double)worst,
                  line.f.result.n_points, line.f.result.n_associated, line.f.result.n_valid);
    assert_true(worst < 0.12f);
    assert_true(line.f.result.n_associated > line.f.result.n_valid / 4);
}

/* Without a picture's structure the last pose stands: there is no motion network here. */
LINE_TEST(lost_is_said)
{
    const struct gpu_session_config c = config(1);
    struct rigid last, any = rigid_identity();
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 6; i++)
        put(&line, i, 0);
    last = line.f.result.T_wc;
    memset(line.rgb, 90, 3 * (size_t)W * H);
    assert_int_equal(line_frame(&line, &any), 0);
    assert_int_equal(line.f.result.tracks.state, GPU_TRACKS_LOST);
    assert_memory_equal(&line.f.result.T_wc, &last, sizeof last);
    put(&line, 7, 1);
    assert_int_equal(line.f.result.tracks.state, GPU_TRACKS_BEGUN);
    assert_memory_equal(&line.f.result.T_wc, &last, sizeof last);
}

LINE_TEST(poses_are_refused)
{
    const struct gpu_session_config c = config(1);
    struct gpu_item *item = &line.f.item;
    struct rigid T = rigid_identity();
    assert_int_equal(line_open(&line, &c), 0);
    line_set_frame(&line, &T);
    line.f.has_pose = 1;
    assert_int_equal(gpu_submit(line.g, &gpu_line_mono, &item, 1, NULL), ERR_INPUT);
}

/* Keyframes of many views stand where tracks say: what they measure is confirmed. Where the path is
 * lost a walk begins; a round, which has a pose, makes one that waits final. */
LINE_TEST(a_walk_without_poses_has_views)
{
    struct gpu_session_config c = config(1);
    struct rigid any = rigid_identity();
    const struct views *v;
    uint32_t n_confirmed = 0, n_measured = 0;
    c.views = GPU_VIEWS_REFINED;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 20; i++)
        put(&line, i, 0);
    v = line.cpu->views;
    for (uint32_t j = 0; j < v->n_places; j++) {
        n_measured += v->kept[j].n_measured;
        n_confirmed += v->kept[j].n_confirmed;
    }
    print_message("# %u keyframes, %u final; %u of %u confirmed\n", v->strand[0].n_taken,
                  v->strand[0].n_final, n_confirmed, n_measured);
    assert_true(v->strand[0].n_final > 0 && v->strand[0].first == 0);
    assert_true(3 * n_confirmed > n_measured && n_confirmed > 1000);
    memset(line.rgb, 90, 3 * (size_t)W * H);
    assert_int_equal(line_frame(&line, &any), 0);
    assert_int_equal(line.f.result.tracks.state, GPU_TRACKS_LOST);
    assert_true(v->strand[0].first > 0);
    for (int i = 0; v->strand[0].n_final < v->strand[0].n_taken; i++) {
        struct gpu_item *item = &line.f.item;
        assert_true(i < 40);
        line_set_frame(&line, &any);
        line.f.has_pose = 1;
        line.f.breaks = GPU_BREAKS_OVER;
        assert_int_equal(gpu_submit(line.g, &gpu_line_mono, &item, 1, NULL), 0);
        assert_int_equal(gpu_wait(line.g, &item, 1, NULL), 0);
        assert_int_equal(line.f.result.tracks.state, GPU_TRACKS_NONE);
    }
}

static uint8_t *save(struct gpu_session *s, size_t *len)
{
    size_t cap = gpu_session_state_bytes(s);
    uint8_t *buf = malloc(cap);
    memset(buf, 0xa5, cap);
    assert_int_equal(gpu_session_save(s, buf, cap, len, NULL), 0);
    assert_int_equal(*len, cap);
    return buf;
}

TEST(a_loaded_session_goes_on)
{
    const struct gpu_session_config c = config(1);
    struct line a, b;
    size_t len, again_len;
    uint8_t *buf, *again;
    for (int at = 0; at < 13; at += 4) {
        assert_int_equal(line_open(&a, &c), 0);
        assert_int_equal(line_open(&b, &c), 0);
        for (int i = 0; i < at; i++)
            put(&a, i, 0);
        buf = save(a.s, &len);
        assert_int_equal(gpu_session_load(b.s, buf, len, NULL), 0);
        for (int i = at; i < at + 3; i++) {
            put(&a, i, 0);
            put(&b, i, 0);
            assert_memory_equal(&a.f.result, &b.f.result, sizeof a.f.result);
            assert_int_equal(b.f.result.tracks.state, i ? GPU_TRACKS_FOUND : GPU_TRACKS_BEGUN);
        }
        free(buf);
        buf = save(a.s, &len);
        again = save(b.s, &again_len);
        assert_int_equal(len, again_len);
        assert_memory_equal(buf, again, len);
        free(buf);
        free(again);
        line_close(&a);
        line_close(&b);
    }
}

/* A state of a session whose poses came from the network alone: its last pose is where tracks
 * begin. The other way it is refused. */
TEST(states_without_tracks_are_read)
{
    const struct gpu_session_config with = config(1), without = config(0);
    struct line a, b;
    size_t len;
    uint8_t *buf;
    struct rigid last;
    assert_int_equal(line_open(&a, &without), 0);
    assert_int_equal(line_open(&b, &with), 0);
    put(&a, 0, 0);
    put(&a, 1, 0);
    last = a.f.result.T_wc;
    buf = save(a.s, &len);
    assert_int_equal(gpu_session_load(b.s, buf, len, NULL), 0);
    put(&b, 2, 0);
    assert_int_equal(b.f.result.tracks.state, GPU_TRACKS_BEGUN);
    assert_memory_equal(&b.f.result.T_wc, &last, sizeof last);
    free(buf);
    buf = save(b.s, &len);
    line_close(&a);
    assert_int_equal(line_open(&a, &without), 0);
    assert_int_equal(gpu_session_load(a.s, buf, len, NULL), ERR_INPUT);
    free(buf);
    line_close(&a);
    line_close(&b);
}

/* Where the section's body begins. */
static size_t body_of(const uint8_t *buf, size_t len)
{
    struct section s;
    size_t at = 0;
    while (section_next(&s, buf, len, &at, NULL) == 1)
        if (s.tag == SECTION_TAG('G', 'P', 'T', 'H'))
            return (size_t)(s.body - buf);
    fail();
    return 0;
}

static void refused(struct path_record r, struct track_slot s, struct path_landmark m,
                    const struct track *like)
{
    struct track_slot *slots = calloc((size_t)like->n_slots, sizeof *slots);
    struct path_landmark *landmarks = calloc(2 * (size_t)like->n_slots, sizeof *landmarks);
    slots[like->n_slots - 1] = s;
    landmarks[2 * like->n_slots - 1] = m;
    assert_int_equal(
        path_record_valid(&r, like, (const uint8_t *)slots, (const uint8_t *)landmarks), 0);
    free(slots);
    free(landmarks);
}

#define REFUSED(what, value)        \
    do {                            \
        struct path_record r = a;   \
        struct track_slot s = b;    \
        struct path_landmark m = d; \
        what = value;               \
        refused(r, s, m, &like);    \
    } while (0)

/* Numbers that no session has, one at a time. */
TEST(strange_states_are_refused)
{
    const struct gpu_session_config c = config(1);
    struct path_record a;
    struct track_slot b = {5, 1, 10, 20};
    struct path_landmark d = {.p = {1, 2, 3}, .id = 5, .kept = 1, .seen = {{10, 20, 0.5f}}};
    struct track like;
    struct line l;
    size_t len, at;
    uint8_t *buf;
    assert_int_equal(line_open(&l, &c), 0);
    for (int i = 0; i < 8; i++)
        put(&l, i, 0);
    buf = save(l.s, &len);
    at = body_of(buf, len);
    at = (at + SECTION_ALIGN - 1) / SECTION_ALIGN * SECTION_ALIGN;
    memcpy(&a, buf + at, sizeof a);
    assert_true(a.n_kept > 2 && a.path_frames == 8 && a.track_frames == 8);
    memcpy(buf + at, &(double){NAN}, sizeof(double));
    line_close(&l);
    assert_int_equal(line_open(&l, &c), 0);
    assert_int_equal(gpu_session_load(l.s, buf, len, NULL), ERR_INPUT);
    line_close(&l);
    free(buf);
    (void)track_lay_out(&like, NULL, W, H);
    REFUSED(r.T.r[4], 0);
    REFUSED(r.T.t[1], 1e9);
    REFUSED(r.bias, NAN);
    REFUSED(r.n_kept, PATH_KEPT + 1);
    REFUSED(r.n_kept, 0);
    REFUSED(r.order[0], r.n_kept);
    REFUSED(r.order[0], r.order[1]);
    REFUSED(r.keyframe[1].bias, INFINITY);
    REFUSED(r.keyframe[0].T.r[0], 2);
    REFUSED(r.next_id, 0);
    REFUSED(r.path_frames, 9);
    REFUSED(r.shift_x, NAN);
    REFUSED(s.id, r.next_id);
    REFUSED(s.born, 8);
    REFUSED(s.x, -1);
    REFUSED(s.y, (float)H);
    REFUSED(s.x, NAN);
    REFUSED(m.p[2], NAN);
    REFUSED(m.kept, 1u << r.n_kept);
    REFUSED(m.seen[0].x, (float)W);
    REFUSED(m.seen[0].log_d, NAN);
}
