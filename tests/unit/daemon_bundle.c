/* A session that is closed is bundled before it says so, and one that is closed on request: path,
 * cloud and clients have the same corrections, also where the process dies meanwhile. */
#include "tests/support/store_rig.h"

#include "daemon/core_internal.h"
#include "daemon/work/loop_closure_internal.h"
#include "gpu/tie/small.h"
#include "tests/support/stones.h"
#include "tests/support/unit.h"

#define ROUND 12 /* keyframes of one round of the walk: 4.4 m */
#define KEYWALK (2 * ROUND)
#define WALK (2 * KEYWALK - 1) /* one between any two */
#define DRIFT 0.03
#define IN_A_ROW 6 /* frames that are sent before one is waited for */

static struct rigid truth[WALK];
static struct describe_keyframe seen[KEYWALK];

static int draw_all(void **state)
{
    (void)state;
    for (int i = 0; i < WALK; i++) {
        float a = 3.1415927f * (float)(i % (2 * ROUND)) / ROUND;

        truth[i] = scene_pose(0.7f * sinf(a), 0, -1 + 0.7f * cosf(a), 0.25f * sinf(a));
        if (i % 2 == 0)
            stones_see(&seen[i / 2], &truth[i], 7, 1);
    }
    return 0;
}

/* Frame i, with the pose that a path has which errs more and more. */
static void send_frame(struct rig_client *c, int i, double drift)
{
    const double way = 2.2 * i / ROUND;
    const double d[6] = {0, 0.1 * drift * way, 0, drift * way, 0, 0.3 * drift * way};
    struct frame f = rig_frame((uint64_t)i + 1);
    struct sim3 T;

    small_from(&T, &truth[i]);
    small_move(&T, d);
    small_to(&f.T_wc, &T);
    assert_int_equal(rig_send_frame(c, &f, NULL), 0);
}

static void send_walk(struct rig_client *c, int i, double drift)
{
    send_frame(c, i, drift);
    rig_wait_acks(c, i + 1);
}

static void read_path(const char *id, struct session_pose path[WALK])
{
    int n;

    assert_int_equal(core_ops.trajectory(rig.core, id, 0, path, WALK, &n, NULL), 0);
    assert_int_equal(n, WALK);
}

/* What was drawn takes the place of the keyframes that the frames' own pictures, which are grey all
 * over, have left. */
static void put_keyframes(const char *id)
{
    struct session *s = registry_find(rig.core->registry, id);
    struct loop_closure *p = session_work(s)->loops;
    static struct session_pose path[WALK];
    struct section section;
    struct ties *t;
    struct err err = {0};
    uint8_t *bytes = malloc(ties_state_bytes(KEYWALK));
    size_t len;

    assert_non_null(bytes);
    later_settle(p->task);
    read_path(id, path);
    assert_int_equal(ties_new(&t, stones_params(), &err), 0);
    for (uint32_t k = 0; k < KEYWALK; k++) {
        struct ties_keyframe *key = ties_room(t, k);

        key->seen = seen[k];
        key->T_wc = path[2 * k].T_wc;
        key->world = 0;
    }
    assert_int_equal(ties_save(t, KEYWALK, bytes, ties_state_bytes(KEYWALK), &len, &err), 0);
    section = (struct section){.body = bytes, .len = len};
    assert_int_equal(loop_closure_state.load(s, &section, &err), 0);
    ties_free(&t);
    free(bytes);
    session_unref(s);
}

static struct rig_client c;

static void begin(const struct session_options *o, double drift)
{
    rig_join(&c, o);
    for (int i = 0; i < WALK; i++)
        send_walk(&c, i, drift);
    put_keyframes(c.id);
}

static struct session_options walk_options(enum session_journal journal, bool bundle)
{
    struct session_options o = options(SESSION_LOSSLESS);

    o.journal = journal;
    o.views = SESSION_VIEWS_OFF;
    o.ties = bundle ? SESSION_TIES_OFF : SESSION_TIES_ON;
    o.submap_m = 1000;
    o.bundle = bundle ? SESSION_BUNDLE_ON : SESSION_BUNDLE_OFF;
    return o;
}

static struct session_info wait_bundled(const char *id)
{
    for (int i = 0; i < 60000 && rig_info(id).bundle.state == API_BUNDLE_RUNNING; i++)
        usleep(1000);
    return rig_info(id);
}

static double off(const struct session_pose *at, int i)
{
    double d2 = 0;

    for (int k = 0; k < 3; k++)
        d2 += (double)((at->T_wc.t[k] - truth[i].t[k]) * (at->T_wc.t[k] - truth[i].t[k]));
    return sqrt(d2);
}

static uint32_t read_points(const char *id, struct mirror_point *points)
{
    struct session *s = registry_find(rig.core->registry, id);
    uint32_t first = 0, n = mirror_get_points(session_mirror(s), &first, points, FAKE_SLOTS);

    session_unref(s);
    return n;
}

/* Points go with the keyframes that are near them, and none far. */
static void points_have_moved(const struct mirror_point *before, const struct mirror_point *after,
                              uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        double d2 = 0;

        assert_int_equal(before[i].slot, after[i].slot);
        for (int k = 0; k < 3; k++)
            d2 += pow((double)(before[i].p_q[k] - after[i].p_q[k]) * 0.001, 2);
        assert_true(d2 < 0.5 * 0.5);
        sum += sqrt(d2);
    }
    print_message("# %u points moved by %.3f m in the mean\n", (unsigned)n, sum / n);
    assert_true(n > 500 && sum / n > 0.02);
}

static struct session_pose corrected[WALK]; /* of the session below */
static struct session_info bundled;

/* Of a process that nothing happens to. */
TEST(bundled_before_closed)
{
    static struct mirror_point points[2][FAKE_SLOTS];
    static struct session_pose before[WALK];
    struct session_options o = walk_options(SESSION_JOURNAL_OFF, true);
    struct session_info was, info;
    uint32_t n;

    rig_open();
    begin(&o, DRIFT);
    was = rig_info(c.id);
    read_path(c.id, before);
    n = read_points(c.id, points[0]);
    close_it(c.id);
    while (!c.session_closed)
        rig_read_all(&c);
    info = wait_closed(c.id);
    assert_int_equal(info.bundle.state, API_BUNDLE_CORRECTED);
    assert_int_equal(info.bundle.keyframes, KEYWALK);
    assert_true(info.bundle.pairs > 8 && info.bundle.moved_m > 0.1f);
    assert_true(info.hash != was.hash && info.revision > was.revision);
    assert_int_equal(info.points, was.points);
    assert_int_equal(cloud_hash(c.cloud), info.hash);
    assert_int_equal(read_points(c.id, points[1]), n);
    points_have_moved(points[0], points[1], n);
    read_path(c.id, corrected);
    for (int i = WALK - 6; i < WALK; i++) /* keyframes, and those between two */
        assert_true(off(&corrected[i], i) < 0.3 * off(&before[i], i));
    assert_int_equal(c.n_poses, WALK);
    assert_int_equal(c.poses.seq[c.poses.n - 1], WALK);
    assert_int_equal(c.poses.revision, info.revision);
    for (int k = 0; k < 3; k++)
        assert_float_equal(c.poses.pose[c.poses.n - 1][4 + k], corrected[WALK - 1].T_wc.t[k], 1e-4);
    rig_end(&c);
    bundled = info;
}

TEST(right_poses_stay)
{
    struct session_options o = walk_options(SESSION_JOURNAL_OFF, true);
    struct session_info was, info;

    rig_open();
    begin(&o, 0);
    was = rig_info(c.id);
    close_it(c.id);
    info = wait_closed(c.id);
    assert_int_equal(info.bundle.state, API_BUNDLE_RIGHT);
    assert_true(info.hash == was.hash && info.revision == was.revision);
    rig_read_all(&c);
    assert_int_equal(c.n_poses, 0);
    rig_end(&c);
}

static void refused(const char *id, const char *why)
{
    struct err err = {0};

    assert_int_equal(core_ops.session_refine(rig.core, id, &err), ERR_STATE);
    assert_non_null(strstr(err.text, why));
    assert_int_equal(rig_info(id).bundle.state, API_BUNDLE_NONE);
}

/* On request: of one that is closed and has keyframes, once and again. */
TEST(refined_on_request)
{
    struct session_options o = walk_options(SESSION_JOURNAL_OFF, false), none = rig_options();
    struct session_info info;
    char id[API_ID_CAP];

    rig_open();
    rig_session(&none, id);
    close_it(id);
    (void)wait_closed(id);
    refused(id, "no keyframes");
    assert_int_equal(core_ops.session_refine(rig.core, "nosuchsession", NULL), ERR_NOT_FOUND);
    begin(&o, DRIFT);
    refused(c.id, "not closed");
    close_it(c.id);
    info = wait_closed(c.id);
    assert_int_equal(info.bundle.state, API_BUNDLE_NONE);
    assert_int_equal(core_ops.session_refine(rig.core, c.id, NULL), 0);
    assert_int_equal(core_ops.session_refine(rig.core, c.id, NULL),
                     0); /* it is under way, or over */
    info = wait_bundled(c.id);
    assert_true(info.hash == bundled.hash);
    rig_read_all(&c);
    assert_int_equal(cloud_hash(c.cloud), info.hash);
    assert_int_equal(core_ops.session_refine(rig.core, c.id, NULL), 0);
    info = wait_bundled(c.id);
    assert_int_equal(info.bundle.state, API_BUNDLE_RIGHT);
    assert_true(info.hash == bundled.hash);
    rig_end(&c);
}

/* ------------------------------------------------------------------------- deaths */

static bool on_request, when_over; /* else when the first point has moved */

static bool has_come(const char *id, const struct session_info *was)
{
    struct session_info info = rig_info(id);

    return when_over ? info.state == SESSION_CLOSED && info.bundle.state == API_BUNDLE_CORRECTED &&
                           !core_unsettled(rig.core)
                     : info.revision > was->revision;
}

static void close_and_be_killed(int out)
{
    struct session_options o = walk_options(SESSION_JOURNAL_SYNC, !on_request);
    struct session_info was;

    open_rig(1);
    begin(&o, DRIFT);
    was = rig_info(c.id);
    tell_id(out, c.id);
    close_it(c.id);
    if (on_request) {
        (void)wait_closed(c.id);
        if (core_ops.session_refine(rig.core, c.id, NULL))
            _exit(97);
    }
    while (!has_come(c.id, &was))
        usleep(50);
    raise(SIGKILL);
}

/* It is what it would have been, after one more start and after two. */
static void die_and_come_back(void)
{
    static struct session_pose path[WALK];
    struct session_info info;
    char id[API_ID_CAP];

    assert_true(WIFSIGNALED(in_a_child(close_and_be_killed, id)));
    for (int start = 0; start < 2; start++) {
        info = come_back(1, id);
        assert_int_equal(info.state, SESSION_CLOSED);
        assert_true(info.hash == bundled.hash);
        assert_int_equal(info.revision, bundled.revision);
        assert_int_equal(info.bundle.state == API_BUNDLE_NONE, when_over || start == 1);
        read_path(id, path);
        assert_memory_equal(path, corrected, sizeof path);
        balanced(&info);
        while (core_unsettled(rig.core))
            usleep(1000);
        rig_close();
    }
}

/* The keyframes that are put in are on the disk only when the bundle has saved them: a death before
 * that brings back those of grey pictures, so none is before it. */
TEST_WITH(a_death_changes_nothing, make_folder, remove_folder)
{
    for (int i = 0; i < 3; i++) {
        on_request = i == 1;
        when_over = i == 2;
        die_and_come_back();
        assert_int_equal(remove_folder(state), 0);
        assert_int_equal(make_folder(state), 0);
    }
}

TEST(one_that_is_deleted_ends)
{
    struct session_options o = walk_options(SESSION_JOURNAL_OFF, true);

    rig_open();
    begin(&o, DRIFT);
    close_it(c.id);
    assert_int_equal(core_ops.session_delete(rig.core, c.id, NULL), 0);
    rig_end(&c); /* every session is gone, or this does not end */
    assert_int_equal(fake_gpu_plan.sessions, 0);
}

/* Frames wait behind each other: one is chosen as a keyframe while those before it are copied,
 * described and compared, each by a thread of its own (MODE=tsan is what this is for). */
TEST(keyframes_of_frames_in_a_row)
{
    struct session_options o = walk_options(SESSION_JOURNAL_OFF, false);
    static struct rig_client in;
    struct loop_closure *p;
    struct session *s;

    rig_begin(&in, &o);
    s = registry_find(rig.core->registry, in.id);
    p = session_work(s)->loops;
    for (int i = 0; i < WALK; i++) {
        send_frame(&in, i, DRIFT);
        if (i % IN_A_ROW == IN_A_ROW - 1)
            rig_wait_acks(&in, i + 1);
    }
    rig_wait_acks(&in, WALK);
    later_settle(p->task);
    assert_int_equal(p->n_seen, p->n_kept);
    assert_in_range(p->n_kept, LOOP_CLOSURE_WAITING, WALK);
    session_unref(s);
    rig_end(&in);
}

TEST_GROUP(draw_all, NULL)
