/* gpu_state_builds - states that other builds wrote: their sections are skipped or told */
#include "tests/support/state_walk.h"
#include "tests/support/unit.h"

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

TEST(sections_of_other_builds_are_skipped_or_told)
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
