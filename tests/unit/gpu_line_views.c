/*
 * gpu_line_views - the line with depth out of many views: its cloud in a painted room whose
 * single-view depth errs, what each frame answers, its state, several sources
 */
#include "proto/bytes.h"
#include "tests/support/count_malloc.h"
#include "tests/support/state_walk.h"
#include "tests/support/views_line.h"
#include "tests/support/line_case.h"

#define W 96
#define H 72
#define FRAMES 32

/* The share of stable points that lie on a surface within 5 cm, and how many do. */
static float near_share(const struct line *l, uint32_t *n_near)
{
    struct scene scene = scene_make();
    uint32_t n = 0;
    *n_near = 0;
    for (uint32_t i = 0; i < l->cpu->n_slots; i++)
        if (l->cpu->stat[i].state == POINT_STABLE) {
            n++;
            *n_near += fabsf(scene_distance(&scene, point_position(&l->cpu->place[i]))) < 0.05f;
        }
    return n ? (float)*n_near / (float)n : 0.0f;
}

TEST(the_cloud_is_better_and_frames_are_their_own)
{
    float share[2];
    uint32_t near[2], n_final = 0;
    static float depth[W * H];
    for (int views = 0; views < 2; views++) {
        struct gpu_session_config c = views_line_config(W, H, views);
        struct line l = {0};
        assert_int_equal(line_open(&l, &c), 0);
        for (int i = 0; i < FRAMES; i++) {
            struct rigid T;
            views_line_draw(&l, i);
            l.f.depth_out = depth;
            T = l.f.T_wc;
            views_line_step(&l);
            assert_memory_equal(&l.f.result.T_wc, &T, sizeof T);
            if (!views) {
                assert_memory_equal(depth, l.depth, sizeof depth);
                continue;
            }
            n_final += l.cpu->views->plan.final >= 0;
            assert_memory_equal(depth, l.cpu->views->target[VIEWS_FRAME].depth, sizeof depth);
        }
        share[views] = near_share(&l, &near[views]);
        line_close(&l);
    }
    print_message("# within 5 cm: %.3f of the points (%u), without %.3f (%u); %u final views\n",
                  (double)share[1], near[1], (double)share[0], near[0], n_final);
    assert_true(n_final > 2);
    assert_true(share[1] > 2.0f * share[0] && near[1] > 2 * near[0]);
}

/* ------------------------------------------------------------------------- several sources */

/* Frame i of a source: each walks to and fro in a world of its own, elsewhere in the room. */
static void step_of(struct line *l, uint32_t source, int i)
{
    i %= 2 * FRAMES;
    views_line_draw(l, (i < FRAMES ? i : 2 * FRAMES - 1 - i) + 2 * (int)source);
    l->f.source = l->f.submap = source;
    views_line_step(l);
}

/* Whatever another source does in between, each frame is given the depth that it has in a session
 * of its own, keyframes become final at the same frames, and the same is said of them; also when
 * each has more keyframes than are kept. */
TEST(sources_in_turn_have_what_each_has_alone)
{
    const int w = 48, h = 36;
    struct gpu_session_config c = views_line_config(w, h, GPU_VIEWS_REFINED);
    struct line both = {0}, own[2] = {{0}, {0}};
    uint32_t n_final[2] = {0, 0};
    assert_int_equal(line_open(&both, &c), 0);
    for (int k = 0; k < 2; k++)
        assert_int_equal(line_open(&own[k], &c), 0);
    for (int i = 0; i < 3 * FRAMES; i++)
        for (uint32_t k = 0; k < 2; k++) {
            const struct views *a, *b;
            step_of(&both, k, i);
            step_of(&own[k], k, i);
            a = both.cpu->views;
            b = own[k].cpu->views;
            assert_int_equal(a->plan.final >= 0, b->plan.final >= 0);
            n_final[k] += a->plan.final >= 0;
            for (int t = a->plan.final >= 0 ? VIEWS_FINAL : VIEWS_FRAME; t < VIEWS_TARGETS; t++)
                assert_memory_equal(a->target[t].depth, b->target[t].depth,
                                    (size_t)(w * h) * sizeof(float));
            assert_memory_equal(&a->told, &b->told, sizeof a->told);
        }
    assert_true(n_final[0] > 20 && n_final[1] > 20);
    assert_int_equal(both.cpu->views->n_places, VIEWS_KEPT);
    line_close(&both);
    for (int k = 0; k < 2; k++)
        line_close(&own[k]);
}

static uint32_t kept_of(const struct views *v, int strand)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n_places; i++)
        n += v->kept[i].strand == strand;
    return n;
}

/* The places are enough for each of three to finish all its keyframes; a fourth has its depth as it
 * is until one of the three is gone for long. */
LINE_TEST(three_sources_share_the_places)
{
    struct gpu_session_config c = views_line_config(17, 16, GPU_VIEWS_GIVEN);
    const struct views *v;
    int n_frames = 0;
    assert_int_equal(line_open(&line, &c), 0);
    v = line.cpu->views;
    for (int i = 0; i < 3 * FRAMES; i++) {
        step_of(&line, 0, i);
        assert_true(v->plan.final >= 0 || v->strand[0].n_taken <= 8 || v->plan.taken < 0);
    }
    assert_int_equal(kept_of(v, 0), v->n_places);
    assert_int_equal(v->n_places, VIEWS_OF_STRAND);
    for (int i = 0; i < 2 * FRAMES; i++)
        for (uint32_t k = 0; k < 4; k++) {
            step_of(&line, k, i);
            assert_int_equal(v->plan.strand, k < 3 ? (int)k : -1);
            if (k == 3) {
                assert_memory_equal(line.cpu->view.depth, line.depth, 17 * 16 * sizeof *line.depth);
                assert_int_equal(line.f.result.views.n_keyframes, 0);
            } else if (v->plan.taken >= 0) {
                assert_true(v->plan.final >= 0 || v->strand[k].n_taken <= 8);
            }
        }
    for (int k = 0; k < 3; k++)
        assert_in_range(kept_of(v, k), VIEWS_KEPT / 3, VIEWS_KEPT / 3 + 1);
    while (v->plan.strand != 1 && n_frames < 200) { /* source 1 is gone */
        step_of(&line, 0, n_frames);
        step_of(&line, 2, n_frames);
        step_of(&line, 3, n_frames++);
    }
    assert_in_range(3 * n_frames, v->params.idle_frames - 2, v->params.idle_frames + 1);
    assert_int_equal(v->strand[1].source, 3);
    assert_int_equal(kept_of(v, 1), 1);
}

/* A frame without a pose is fused as it is and is no keyframe. */
LINE_TEST(frames_without_poses_are_fused_as_they_are)
{
    struct gpu_session_config c = views_line_config(W, H, 1);
    uint32_t before;
    assert_int_equal(line_open(&line, &c), 0);
    views_line_draw(&line, 0);
    views_line_step(&line);
    before = line.cpu->views->frame;
    line.f.has_pose = 0;
    assert_int_equal(session_cpu_put_depth(line.s, line.depth, NULL), 0);
    assert_int_equal(motion_cpu_run(&line.f.item, NULL), 0);
    assert_int_equal(views_cpu_run(&line.f.item, NULL), 0);
    assert_ptr_equal(line.cpu->view.depth, line.cpu->depth);
    assert_null(line.cpu->view.trust);
    assert_int_equal(line.cpu->views->frame, before);
}

LINE_TEST(frames_allocate_nothing)
{
    struct gpu_session_config c = views_line_config(W, H, 1);
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < FRAMES; i++) {
        size_t before;
        views_line_draw(&line, i);
        before = count_malloc_own;
        views_line_step(&line);
        assert_int_equal(count_malloc_own, before);
    }
}

/* ------------------------------------------------------------------------- state */

/* Frames 0 ... at-1 in one session, the others in one that was loaded, beside one that has all. */
TEST(a_loaded_session_goes_on_as_the_saved_one)
{
    static const int at[] = {0, 1, 6, 13, 24, 31};
    struct gpu_session_config c = views_line_config(63, 47, 1);
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        struct line whole = {0}, part = {0};
        struct gpu_session *loaded;
        size_t len, again_len;
        uint8_t *buf, *again;
        assert_int_equal(line_open(&whole, &c), 0);
        assert_int_equal(line_open(&part, &c), 0);
        for (int i = 0; i < FRAMES; i++) {
            if (i == at[k]) {
                buf = save(part.s, &len);
                assert_int_equal(session_cpu_new(&loaded, part.g, &c, NULL), 0);
                assert_int_equal(gpu_session_load(loaded, buf, len, NULL), 0);
                again = save(loaded, &again_len);
                assert_int_equal(len, again_len);
                assert_memory_equal(buf, again, len);
                free(buf);
                free(again);
                gpu_session_free(&part.s);
                part.s = loaded;
                part.cpu = session_cpu_of(loaded);
            }
            step_of(&whole, i % 3 == 0, i);
            step_of(&part, i % 3 == 0, i);
            assert_int_equal(whole.f.result.n_changes, part.f.result.n_changes);
            assert_memory_equal(whole.f.changes, part.f.changes,
                                whole.f.result.n_changes * sizeof *whole.f.changes);
        }
        buf = save(whole.s, &len);
        again = save(part.s, &again_len);
        assert_int_equal(len, again_len);
        assert_memory_equal(buf, again, len);
        free(buf);
        free(again);
        line_close(&whole);
        line_close(&part);
    }
}

/* Bytes of the maps that versions before 5 had: those before the contrasts. */
static size_t maps_before_5(const struct state_head *h, const struct state_layout *at)
{
    return at->views_agree - at->views_grey + (size_t)h->views_places * (size_t)h->w * (size_t)h->h;
}

/* The row as a build wrote it that had one strand for all sources. */
static uint8_t *with_views_of_version_1(const uint8_t *buf, size_t len, const struct state_head *h,
                                        const struct state_layout *at, size_t *v1_len)
{
    uint8_t *row = calloc(1, len + 256), *body;
    size_t n = h->views_places, end = 0, from = 0;
    struct section s;
    struct bytes_writer w;
    assert_non_null(row);
    while (section_next(&s, buf, len, &from, NULL) == 1) {
        if (s.tag != SECTION_TAG('G', 'V', 'I', 'E')) {
            memcpy(section_open(row, len + 256, end, s.len), s.body, s.len);
            section_close(row, &end, s.tag, s.version, s.flags, s.len);
            continue;
        }
        body = section_open(row, len + 256, end, 32 + n * 140);
        w = bytes_writer(body, 20);
        bytes_put_u32(&w, h->views_frame);
        bytes_put_u32(&w, (uint32_t)n);
        bytes_put_u32(&w, (uint32_t)n / 2);
        bytes_put_u32(&w, (uint32_t)n / 3);
        bytes_put_u32(&w, 0);
        for (size_t i = 0; i < n; i++)
            memcpy(body + 32 + i * 140, buf + at->views_kept + i * sizeof(struct views_kept), 140);
        n = (32 + n * 140 + 15) / 16 * 16; /* the maps, which have the same gaps */
        memcpy(body + n, buf + at->views_grey, maps_before_5(h, at));
        section_close(row, &end, s.tag, 1, 0, n + maps_before_5(h, at));
    }
    *v1_len = end;
    return row;
}

LINE_TEST(keyframes_of_version_1_are_passed_over)
{
    struct gpu_session_config c = views_line_config(17, 16, 1);
    struct gpu_session *own, *loaded;
    struct state_head h;
    struct state_layout at;
    size_t len, v1_len;
    uint8_t *buf, *v1;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < 27; i++)
        step_of(&line, 0, i);
    buf = save(line.s, &len);
    assert_int_equal(state_check(&h, &at, buf, len, &c, NULL), 0);
    assert_true(h.views_places > 8);
    v1 = with_views_of_version_1(buf, len, &h, &at, &v1_len);
    assert_int_equal(session_cpu_new(&loaded, line.g, &c, NULL), 0);
    assert_int_equal(gpu_session_load(loaded, v1, v1_len, NULL), 0);
    assert_int_equal(session_cpu_of(loaded)->views->frame, 27);
    assert_int_equal(session_cpu_of(loaded)->n_points, line.cpu->n_points);
    own = line.s;
    line.s = loaded;
    line.cpu = session_cpu_of(loaded);
    step_of(&line, 0, 27);
    assert_int_equal(line.cpu->views->strand[0].n_taken, 1);
    assert_memory_equal(line.cpu->view.depth, line.depth, 17 * 16 * sizeof *line.depth);
    gpu_session_free(&own);
    free(buf);
    free(v1);
}

/* As version 4 wrote it: no contrasts; version 3: keyframes without world and walk; version 2: nor
 * had it the lengths of poses. */
static uint8_t *with_views_of(unsigned version, const uint8_t *buf, size_t len,
                              const struct state_head *h, const struct state_layout *at,
                              size_t *old_len)
{
    uint8_t *row = calloc(1, len), *body;
    size_t from = 0, end = 0, kept = version == 2 ? 128 : 160, record = version < 4 ? 144 : 152;
    size_t maps = (kept + record * h->views_places + 15) / 16 * 16;
    struct section s;

    assert_non_null(row);
    while (section_next(&s, buf, len, &from, NULL) == 1) {
        size_t n = maps_before_5(h, at);
        if (s.tag != SECTION_TAG('G', 'V', 'I', 'E')) {
            memcpy(section_open(row, len, end, s.len), s.body, s.len);
            section_close(row, &end, s.tag, s.version, s.flags, s.len);
            continue;
        }
        body = section_open(row, len, end, maps + n);
        memcpy(body, s.body, version == 2 ? 124 : 160);
        for (size_t i = 0; i < h->views_places; i++)
            memcpy(body + kept + record * i, buf + at->views_kept + i * sizeof(struct views_kept),
                   record);
        memcpy(body + maps, buf + at->views_grey, n);
        section_close(row, &end, s.tag, version, s.flags, maps + n);
    }
    *old_len = end;
    return row;
}

TEST(keyframes_of_versions_2_to_4_are_read)
{
    for (unsigned version = 2; version <= 4; version++) {
        struct gpu_session_config c = views_line_config(17, 16, 1);
        struct line l = {0}, b = {0};
        struct state_head h;
        struct state_layout at;
        size_t len, old_len;
        uint8_t *buf, *old;
        assert_int_equal(line_open(&l, &c), 0);
        assert_int_equal(line_open(&b, &c), 0);
        for (int i = 0; i < 24; i++)
            step_of(&l, i < 4 ? 0 : 1, i);
        buf = save(l.s, &len);
        assert_int_equal(state_check(&h, &at, buf, len, &c, NULL), 0);
        old = with_views_of(version, buf, len, &h, &at, &old_len);
        assert_int_equal(gpu_session_load(b.s, old, old_len, NULL), 0);
        assert_int_equal(b.cpu->views->length[1].n, version == 2 ? 0 : l.cpu->views->length[1].n);
        assert_memory_equal(b.cpu->views->kept, l.cpu->views->kept,
                            h.views_places * sizeof *b.cpu->views->kept);
        for (int i = 24; i < 30; i++) {
            step_of(&l, 1, i);
            step_of(&b, 1, i);
            assert_int_equal(l.f.result.n_changes, b.f.result.n_changes);
            assert_memory_equal(l.f.changes, b.f.changes,
                                l.f.result.n_changes * sizeof *l.f.changes);
        }
        free(buf);
        free(old);
        line_close(&l);
        line_close(&b);
    }
}

/* Into a new session; if it is taken, frames that sweep and finish what it says it has kept. */
static int try_views(struct line *l, const uint8_t *buf, size_t len)
{
    struct gpu_session *own = l->s;
    struct err err = {0};
    int rc;
    assert_int_equal(session_cpu_new(&l->s, l->g, &own->config, NULL), 0);
    rc = gpu_session_load(l->s, buf, len, &err);
    if (rc == 0)
        for (int i = 27; i < 30; i++) {
            views_line_draw(l, i);
            views_line_step(l);
        }
    else
        assert_true((rc == ERR_INPUT || rc == ERR_UNSUPPORTED) && err.text[0]);
    gpu_session_free(&l->s);
    l->s = own;
    return rc == 0;
}

TEST(strange_bytes_are_refused_or_harmless)
{
    struct gpu_session_config c = views_line_config(17, 16, 1), other;
    struct line l = {0}, b = {0};
    struct state_head h;
    struct state_layout at;
    size_t len, head, first, n_taken = 0;
    uint8_t *buf;
    assert_int_equal(line_open(&l, &c), 0);
    for (int i = 0; i < 27; i++) {
        views_line_draw(&l, i);
        views_line_step(&l);
    }
    buf = save(l.s, &len);
    assert_int_equal(state_check(&h, &at, buf, len, &c, NULL), 0);
    assert_true(h.views_strand[0].n_taken > 8 && h.views_strand[0].n_final > 0);
    head = at.views_kept - 160;
    first = at.views_kept + 3 * sizeof(struct views_kept); /* every byte of the head and of three */
    for (size_t i = head; i < at.views_agree; i += i < first ? 1 : i < at.views_grey ? 5 : 61) {
        uint8_t was = buf[i];
        buf[i] ^= i % 2 ? 0x81 : 0x7e;
        n_taken += (size_t)try_views(&l, buf, len);
        buf[i] = was;
    }
    print_message("# %zu changed states were taken, and did no harm\n", n_taken);
    /* each of these is a lie: counts, a place, a frame, numbers that are none */
    for (int lie = 0; lie < 17; lie++) {
        static const uint32_t nan = 0x7fc00000u, many = 0xffffu;
        static const size_t field[] = {
            0,  4,  16,  32,  36,  40, /* frame, places, the first strand */
            44, 48, 160, 164, 300, 304, 308, 128, 124, 168, 188}; /* and keyframes */
        uint8_t *to = buf + head + field[lie], was[4];
        memcpy(was, to, 4);
        memcpy(to, lie == 0 ? (const uint32_t[]){0} : lie < 14 ? &many : &nan, 4);
        assert_int_equal(try_views(&l, buf, len), 0);
        memcpy(to, was, 4);
    }
    assert_true(try_views(&l, buf, len));
    other = c;
    other.views = 0;
    assert_int_equal(line_open(&b, &other), 0);
    assert_int_equal(gpu_session_load(b.s, buf, len, NULL), ERR_INPUT);
    line_close(&b);
    free(buf);
    line_close(&l);
}
