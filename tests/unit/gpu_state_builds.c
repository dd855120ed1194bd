/*
 * gpu_state_builds - states that other builds wrote: a later one's are skipped or told, those of
 * version 0.1.0 are read
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/bytes.h"
#include "tests/support/state_walk.h"

/* The row, and a section behind it, in memory of its own. */
static uint8_t *with_one_more(const uint8_t *buf, size_t *len, const char *tag, unsigned flags)
{
    const size_t more = section_bytes(100);
    uint8_t *row = malloc(*len + more);
    size_t at = *len;

    assert_non_null(row);
    memcpy(row, buf, *len);
    *len += more;
    memset(section_open(row, *len, at, 100), 7, 100);
    section_close(row, &at, SECTION_TAG(tag[0], tag[1], tag[2], tag[3]), 1, flags, 100);
    assert_int_equal(at, *len);
    return row;
}

static int load_as_new(const struct line *l, const uint8_t *buf, size_t len, struct err *err)
{
    const struct gpu_session_config c = small_config();
    struct gpu_session *s;
    int rc;

    assert_int_equal(session_cpu_new(&s, l->g, &c, NULL), 0);
    rc = gpu_session_load(s, buf, len, err);
    gpu_session_free(&s);
    return rc;
}

static void sections_of_other_builds_are_skipped_or_told(void **state)
{
    static const struct {
        const char *tag;
        unsigned flags;
        int rc;
    } more[] = {
        {"GNEW", SECTION_OPTIONAL, 0}, /* a later build's, which it can do without */
        {"GNEW", 0, ERR_UNSUPPORTED},  /* and cannot */
        {"DNEW", 0, 0},                /* not the device's */
        {"GKEY", 0, ERR_INPUT},        /* twice */
        {"GPRE", 0, ERR_INPUT},        /* this session keeps none */
    };
    struct err err = {0};
    const struct gpu_session_config c = small_config();
    struct line l;
    size_t len, n;
    uint8_t *buf = small_state(&l, &c, &len), *row, *version;

    (void)state;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        n = len;
        row = with_one_more(buf, &n, more[i].tag, more[i].flags);
        assert_int_equal(load_as_new(&l, row, n, &err), more[i].rc);
        free(row);
    }
    version = field(buf, len, "GMOD", 0) - SECTION_HEAD_BYTES + 4;
    *version += 1; /* a later build's way to write one */
    assert_int_equal(load_as_new(&l, buf, len, &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "GMOD"));
    *version = 0;
    assert_int_equal(load_as_new(&l, buf, len, &err), ERR_UNSUPPORTED);
    free(buf);
    line_close(&l);
}

/* The same numbers as version 0.1.0 wrote them: head and arrays in one. */
static uint8_t *as_version_1(const uint8_t *buf, size_t len, size_t *v1_len)
{
    const struct gpu_session_config c = small_config();
    struct state_head h;
    struct state_layout l;
    struct bytes_writer w;
    const uint8_t *from[9];
    size_t size[9], at, head;
    uint8_t *row = calloc(1, len + 256);

    assert_non_null(row);
    assert_int_equal(state_check(&h, &l, buf, len, &c, NULL), 0);
    head = h.n_slots;
    memcpy(from,
           (const uint8_t *[]){buf + l.place, buf + l.stat, buf + l.out, buf + l.id,
                               buf + l.unstable, buf + l.free_slots, buf + l.keyframes,
                               buf + l.overlaps, buf + l.maps},
           sizeof from);
    memcpy(size,
           (const size_t[]){head * 16, head * 32, head * 16, head * 8, h.n_unstable * 4,
                            h.n_free * 4, h.n_keyframes * 748, h.n_keyframes * h.n_keyframes,
                            h.n_keyframes * 4 * 16 * 17},
           sizeof size);
    w = bytes_writer(row + SECTION_HEAD_BYTES, 120);
    bytes_put_u32(&w, 0x54535247u);
    bytes_put_u32(&w, 1);
    memcpy(w.data + w.at, h.backend, 8);
    w.at += 8;
    for (size_t i = 0; i < 12; i++) {
        const uint32_t word[12] = {(uint32_t)h.w,
                                   (uint32_t)h.h,
                                   point_float_bits(h.step_m),
                                   h.has_last,
                                   0,
                                   h.frame,
                                   h.n_slots,
                                   h.n_unstable,
                                   h.n_free,
                                   h.n_points,
                                   h.n_stable,
                                   h.n_keyframes};
        bytes_put_u32(&w, word[i]);
    }
    bytes_put_u64(&w, h.next_id);
    memcpy(w.data + w.at, &h.T_last, 48);
    assert_int_equal(w.at + 48, 120);
    at = SECTION_HEAD_BYTES + 120;
    for (int i = 0; i < 9; i++) {
        at = (at + 15) / 16 * 16;
        memcpy(row + at, from[i], size[i]);
        at += size[i];
    }
    *v1_len = 0;
    section_close(row, v1_len, SECTION_TAG('G', 'R', 'S', 'T'), 1, 0, at - SECTION_HEAD_BYTES);
    return row;
}

/* Versions before this one knew of no normals: their points begin without. */
static void forget_normals(uint8_t *buf, size_t len, const struct gpu_session_config *c)
{
    struct state_head h;
    struct state_layout l;

    assert_int_equal(state_check(&h, &l, buf, len, c, NULL), 0);
    memset(buf + l.normals, 0, h.n_slots * sizeof(struct point_normal));
}

/* An old state in a new session, saved again, is the new state: nothing is lost on the way. */
static void states_of_version_1_are_read(void **state)
{
    const struct gpu_session_config c = small_config();
    struct line l;
    size_t len, v1_len, again_len;
    uint8_t *buf = small_state(&l, &c, &len), *v1 = as_version_1(buf, len, &v1_len), *again;
    struct gpu_session *s;
    struct err err = {0};

    (void)state;
    assert_int_equal(session_cpu_new(&s, l.g, &c, NULL), 0);
    if (gpu_session_load(s, v1, v1_len, &err))
        fail_msg("%s", err.text);
    again = save(s, &again_len);
    assert_int_equal(again_len, len);
    forget_normals(buf, len, &c);
    assert_memory_equal(again, buf, len);
    gpu_session_free(&s);
    free(again);
    for (size_t i = SECTION_HEAD_BYTES; i < v1_len;
         i += 3) { /* what lies is refused, or harmless */
        v1[i] ^= 0x41;
        (void)try_state(&l, v1, v1_len);
        v1[i] ^= 0x41;
    }
    v1[SECTION_HEAD_BYTES + 4] = 2; /* another version that stood in the old place */
    assert_int_equal(load_as_new(&l, v1, v1_len, &err), ERR_INPUT);
    free(v1);
    free(buf);
    line_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_of_other_builds_are_skipped_or_told),
        cmocka_unit_test(states_of_version_1_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
