/*
 * daemon_views_told - what many views say of poses: right ones agree with the pictures; mirrored,
 * frozen and noisy ones and those of another scale are told within 60 keyframes
 */
#include "daemon/session/views_told.h"
#include "tests/support/line.h"
#include "tests/support/views_case.h"
#include "tests/support/unit.h"

#define W 96
#define H 72
#define FRAMES 60

enum wrong { RIGHT, MIRRORED, NOISY, LARGER, FROZEN, RESTING, PLAIN };

struct told {
    struct api_views said;
    int first_wrong; /* keyframes when it was told first that poses disagree; 0: never */
};

/* The pose that is said of frame i, whose true one is T. */
static struct rigid said_of(enum wrong wrong, int i, struct rigid T, uint32_t *random)
{
    static struct rigid held;

    if (wrong == MIRRORED) { /* an axis of the world points the wrong way */
        T.t[0] = -T.t[0];
        T.r[1] = -T.r[1];
        T.r[2] = -T.r[2];
        T.r[3] = -T.r[3];
        T.r[6] = -T.r[6];
    }
    for (int k = 0; k < 3; k++) {
        if (wrong == NOISY) /* 5 cm */
            T.t[k] += 0.0866f * (2.0f * scene_random(random) - 1.0f);
        if (wrong == LARGER)
            T.t[k] *= 1.3f;
    }
    if ((wrong == FROZEN || wrong == PLAIN) && i > 10)
        return held;
    held = T;
    return T;
}

static void step(struct line *l, struct told *told, struct views_told *state)
{
    struct gpu_item *item = &l->f.item;

    assert_int_equal(session_cpu_put_depth(l->s, l->depth, NULL), 0);
    assert_int_equal(gpu_submit(l->g, &gpu_line_mono, &item, 1, NULL), 0);
    assert_int_equal(gpu_wait(l->g, &item, 1, NULL), 0);
    views_told_note(state, &l->f.result.views);
    told->said = views_told_say(state, true);
    if (told->said.state == API_VIEWS_POSES_DISAGREE && !told->first_wrong)
        told->first_wrong = (int)told->said.keyframes;
}

static struct told walk(enum wrong wrong, const char *name)
{
    struct gpu_session_config c = line_config(W, H);
    struct views_case scene = {.w = W, .h = H};
    struct views_told state = {.has_scale = false};
    struct told told = {.first_wrong = 0};
    struct line l = {0};
    uint32_t random = 3;

    fuse_params_cells(&c.fuse);
    c.views = 1;
    assert_int_equal(line_open(&l, &c), 0);
    scene.truth = malloc(W * H * sizeof *scene.truth);
    scene.depth = l.depth;
    scene.rgb = l.rgb;
    for (int i = 0; i < FRAMES; i++) {
        struct rigid T;

        views_case_draw(&scene, wrong == RESTING ? 0 : i / 2, 1.0f);
        for (int k = 0; k < 3 * W * H && wrong == PLAIN; k++)
            scene.rgb[k] = (uint8_t)(100 + k % 5);
        l.K = scene.frame.K;
        T = said_of(wrong, i, scene.frame.T_wc, &random);
        line_set_frame(&l, &T);
        step(&l, &told, &state);
    }
    print_message("# %s: %s, %u keyframes, %u refined, agreement %.3f, scale %.3f, frozen %u\n",
                  name, api_views_state_name(told.said.state), told.said.keyframes,
                  told.said.refined, (double)told.said.agreement, (double)told.said.scale,
                  state.last.n_frozen);
    free(scene.truth);
    line_close(&l);
    return told;
}

TEST(right_poses_are_ok)
{
    struct told t = walk(RIGHT, "right");

    assert_int_equal(t.said.state, API_VIEWS_OK);
    assert_int_equal(t.first_wrong, 0);
    assert_true(t.said.keyframes > 10 && t.said.refined > 4 && t.said.refined < t.said.keyframes);
    assert_true(t.said.agreement > 0.6f && t.said.agreement <= 1.0f);
    assert_true(t.said.scale > 0.95f && t.said.scale < 1.08f);
}

TEST(wrong_poses_are_told)
{
    static const struct {
        enum wrong wrong;
        const char *name;
    } rows[] = {{MIRRORED, "mirrored"}, {NOISY, "noisy"}, {LARGER, "larger"}, {FROZEN, "frozen"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct told t = walk(rows[i].wrong, rows[i].name);

        assert_int_equal(t.said.state, API_VIEWS_POSES_DISAGREE);
        assert_true(t.first_wrong > 0 && t.first_wrong < 60);
        assert_int_equal(t.said.agreement < 0.2f, rows[i].wrong <= NOISY);
        if (rows[i].wrong == LARGER)
            assert_true(t.said.scale > 1.25f && t.said.scale < 1.45f);
    }
}

/* A camera on a table, and one before a plain wall: nothing can be told of their poses. */
TEST(a_resting_camera_is_not_blamed)
{
    for (int plain = 0; plain < 2; plain++) {
        struct told t = plain ? walk(PLAIN, "plain") : walk(RESTING, "resting");

        assert_int_equal(t.said.state, API_VIEWS_WAITING);
        assert_int_equal(t.first_wrong, 0);
    }
}

TEST(without_the_option_nothing_is_said)
{
    struct views_told t = {.last = {.n_keyframes = 9, .n_frozen = 99}};
    struct api_views said = views_told_say(&t, false);

    assert_int_equal(said.state, API_VIEWS_OFF);
    assert_true(said.keyframes == 0 && said.scale == 1.0f && said.agreement == 0.0f);
}

/* What a session says of all its sources: the worst that is known of one. */
TEST(one_source_that_disagrees_is_the_session_s)
{
    struct api_views said[3] = {{.state = API_VIEWS_WAITING, .keyframes = 1, .scale = 1},
                                {.state = API_VIEWS_OK, .keyframes = 20, .refined = 9, .scale = 2},
                                {.state = API_VIEWS_OK, .keyframes = 300, .scale = 3}};
    struct api_views all = views_told_all(said, 3);

    assert_int_equal(all.state, API_VIEWS_OK);
    assert_true(all.keyframes == 321 && all.refined == 9 && all.scale == 2.0f);
    said[2].state = API_VIEWS_POSES_DISAGREE;
    all = views_told_all(said, 3);
    assert_int_equal(all.state, API_VIEWS_POSES_DISAGREE);
    assert_true(all.keyframes == 321 && all.refined == 9 && all.scale == 3.0f);
    said[0].state = said[1].state = said[2].state = API_VIEWS_OFF;
    assert_int_equal(views_told_all(said, 3).state, API_VIEWS_OFF);
}
