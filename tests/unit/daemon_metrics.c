/* The text of /metrics against the rules of Prometheus' exposition format, and what the numbers
 * say. */
#include <ctype.h>

#include "tests/support/core_rig.h"
#include "tests/support/unit.h"

#define FAMILIES 200

struct families {
    char name[FAMILIES][80], type[FAMILIES][16];
    int samples[FAMILIES];
    int n;
};

static bool is_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalpha((unsigned char)s[i]) && s[i] != '_' && s[i] != ':' &&
            (i == 0 || !isdigit((unsigned char)s[i])))
            return false;
    return n > 0;
}

/* The family of a sample: histograms add _bucket, _sum and _count to their own name. */
static int family_of(const struct families *f, const char *sample, size_t n)
{
    static const char *const tails[] = {"", "_bucket", "_sum", "_count"};

    for (int i = 0; i < f->n; i++)
        for (int t = 0; t < 4; t++) {
            size_t len = strlen(f->name[i]);
            if (t && strcmp(f->type[i], "histogram") != 0)
                continue;
            if (n == len + strlen(tails[t]) && strncmp(sample, f->name[i], len) == 0 &&
                strncmp(sample + len, tails[t], strlen(tails[t])) == 0)
                return i;
        }
    return -1;
}

/* {name="value",...} as the format allows it; returns what follows, NULL if it is wrong. */
static const char *skip_labels(const char *p)
{
    while (*p != '}') {
        size_t n = strcspn(p, "=");
        if (!is_name(p, n) || p[n] != '=' || p[n + 1] != '"')
            return NULL;
        for (p += n + 2; *p != '"'; p++) {
            if (*p == '\0' || *p == '\n')
                return NULL;
            if (*p == '\\' && !strchr("\\\"n", *++p))
                return NULL;
        }
        p++;
        if (*p == ',')
            p++;
        else if (*p != '}')
            return NULL;
    }
    return p + 1;
}

static void check_line(struct families *f, const char *line)
{
    char name[80], type[16];
    const char *p = line;
    char *end;
    size_t n;
    int at;

    if (sscanf(line, "# TYPE %79s %15s", name, type) == 2) {
        for (int i = 0; i < f->n; i++)
            if (strcmp(f->name[i], name) == 0)
                fail_msg("two families %s", name);
        if (strcmp(type, "counter") && strcmp(type, "gauge") && strcmp(type, "histogram"))
            fail_msg("unknown type: %s", line);
        if (strcmp(type, "counter") == 0 && strcmp(name + strlen(name) - 6, "_total") != 0)
            fail_msg("a counter ends in _total: %s", name);
        if (strstr(name, "_ms_") || strstr(name, "_us_") || strstr(name, "kilobytes"))
            fail_msg("base units: %s", name);
        strcpy(f->name[f->n], name);
        strcpy(f->type[f->n++], type);
        return;
    }
    if (strncmp(line, "# HELP ", 7) == 0)
        return;
    n = strcspn(line, "{ ");
    at = is_name(line, n) ? family_of(f, line, n) : -1;
    if (at < 0 || at != f->n - 1)
        fail_msg("a sample without its family before it: %s", line);
    f->samples[at]++;
    p = line[n] == '{' ? skip_labels(line + n + 1) : line + n;
    if (!p || *p != ' ')
        fail_msg("labels: %s", line);
    strtod(p + 1, &end);
    if (end == p + 1 || *end)
        fail_msg("value: %s", line);
}

static void check_text(char *text, struct families *f)
{
    char *save = NULL;

    assert_int_equal(text[strlen(text) - 1], '\n');
    memset(f, 0, sizeof(*f));
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        check_line(f, line);
}

static double value_of(const char *text, const char *sample)
{
    char start[120];
    const char *at;

    snprintf(start, sizeof(start), "\n%s ", sample);
    at = strstr(text, start);
    if (!at)
        fail_msg("no %s", sample);
    return strtod(at + strlen(start), NULL);
}

static char *text_of(void)
{
    size_t need = core_ops.metrics(rig.core, NULL, 0) + 200;
    char *text = malloc(need);

    assert_true(core_ops.metrics(rig.core, text, need) < need);
    return text;
}

TEST(the_text_keeps_the_format_and_counts_right)
{
    static struct rig_client in;
    static struct families f;
    char *text;

    rig_begin(&in, NULL);
    rig_feed(&in, 1, 12);
    rig_send(&in, 3); /* once more */
    rig_wait_acks(&in, 13);
    text = text_of();
    assert_true(value_of(text, "recond_frames_total{outcome=\"used\",reason=\"\"}") == 12);
    assert_true(value_of(text, "recond_frames_again_total") == 1);
    assert_true(value_of(text, "recond_sessions{state=\"streaming\"}") == 1);
    assert_true(value_of(text, "recond_sessions_created_total") == 1);
    assert_true(value_of(text, "recond_streams") == 1);
    assert_true(value_of(text, "recond_batches_total") == 12);
    assert_true(value_of(text, "recond_latency_seconds_count") == 12);
    assert_true(value_of(text, "recond_latency_seconds_bucket{le=\"+Inf\"}") == 12);
    assert_true(value_of(text, "recond_decode_seconds_count") == 12);
    assert_float_equal(value_of(text, "recond_stage_seconds_total{stage=\"fake\"}"), 0.00012, 1e-9);
    assert_true(value_of(text, "recond_frame_received_bytes_total") ==
                13.0 * (double)(96 + rig.jpeg_len));
    assert_true(value_of(text, "recond_cloud_points") == (double)cloud_points(in.cloud));
    assert_true(value_of(text, "process_resident_memory_bytes") > 1e6);
    assert_true(value_of(text, "recond_device_memory_budget_bytes{device=\"fake\"}") ==
                48.0 * (1 << 30));
    assert_null(strstr(text, in.id)); /* no session's in.id in any label */
    check_text(text, &f);
    assert_true(f.n > 25);
    for (int i = 0; i < f.n; i++)
        if (f.samples[i] == 0)
            fail_msg("no sample of %s", f.name[i]);
    free(text);
    rig_end(&in);
}

TEST(buckets_add_up)
{
    static struct metrics m;
    static char buf[1 << 16];
    struct metrics_text t = {buf, sizeof(buf), 0};

    metrics_observe(&m, METRICS_DECODE, 500); /* on a bound: counts as below it */
    metrics_observe(&m, METRICS_DECODE, 501);
    metrics_observe(&m, METRICS_DECODE, 33000);
    metrics_observe(&m, METRICS_DECODE, 99999999); /* beyond the last */
    metrics_write(&t, &m);
    assert_true(t.len < sizeof(buf));
    assert_true(value_of(buf, "recond_decode_seconds_bucket{le=\"0.0005\"}") == 1);
    assert_true(value_of(buf, "recond_decode_seconds_bucket{le=\"0.001\"}") == 2);
    assert_true(value_of(buf, "recond_decode_seconds_bucket{le=\"0.02\"}") == 2);
    assert_true(value_of(buf, "recond_decode_seconds_bucket{le=\"0.033\"}") == 3);
    assert_true(value_of(buf, "recond_decode_seconds_bucket{le=\"10\"}") == 3);
    assert_true(value_of(buf, "recond_decode_seconds_bucket{le=\"+Inf\"}") == 4);
    assert_true(value_of(buf, "recond_decode_seconds_count") == 4);
    assert_float_equal(value_of(buf, "recond_decode_seconds_sum"), 100.034, 1e-9);
}

TEST(too_small_a_buffer_learns_the_length)
{
    static struct metrics m;
    static char buf[1 << 16], small[100];
    struct metrics_text t = {buf, sizeof(buf), 0}, s = {small, sizeof(small), 0},
                        none = {NULL, 0, 0};

    metrics_write(&t, &m);
    metrics_write(&s, &m);
    metrics_write(&none, &m);
    assert_int_equal(s.len, t.len);
    assert_int_equal(none.len, t.len);
    assert_memory_equal(small, buf, sizeof(small) - 1);
}

TEST(labels_are_escaped)
{
    char buf[40];

    metrics_label(buf, sizeof(buf), "a\"b\\c\nd");
    assert_string_equal(buf, "a\\\"b\\\\c\\nd");
    metrics_label(buf, 6, "aaaaaaaaaa");
    assert_true(strlen(buf) < 6);
}
