/*
 * api_options.c - the table of session options against what it serves and what describes it
 *
 * In and out in all three forms, ranges, words, kinds; then the contract (openapi.yaml),
 * reconctl.1 and recond.conf.5 name each option as its row does, and no other.
 */
#include "api/session_options.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char openapi_json[];
extern const size_t openapi_json_len;

/* As the first version with these options wrote it into a manifest. */
static const char kept[] =
    "{\"name\":\"n\",\"depth_model\":\"d\",\"motion_model\":\"m\",\"pose_source\":\"learned\","
    "\"camera\":{\"fx\":500,\"fy\":501.5,\"cx\":-3,\"cy\":4,\"width\":640,\"height\":480},"
    "\"net_w\":256,\"net_h\":192,\"step_m\":0.002,\"max_points\":5000,\"keyframes\":7,"
    "\"min_depth_m\":0.2,\"max_depth_m\":20,\"retention_s\":-1,\"preview\":true,"
    "\"journal\":\"async\",\"record\":true,\"mode\":\"lossless\",\"fps\":15}";
static const char shown[] =
    "{\"kind\":\"mono\",\"depth_model\":\"d\",\"motion_model\":\"m\",\"pose_source\":\"learned\","
    "\"depth_source\":\"network\","
    "\"up\":\"+y\",\"upright\":\"auto\","
    "\"camera\":{\"fx\":500,\"fy\":501.5,\"cx\":-3,\"cy\":4,\"width\":640,\"height\":480},"
    "\"net\":{\"width\":256,\"height\":192},\"decode_scale\":1,\"step_m\":0.002,\"max_points\":"
    "5000,\"keyframes\":7,"
    "\"fusion\":\"paper\",\"views\":\"off\",\"ties\":\"off\",\"submap_m\":4,\"bundle\":\"off\","
    "\"min_depth_m\":0.2,\"max_depth_m\":20,\"depth_unit\":"
    "\"mm\","
    "\"retention_s\":-1,\"preview\":true,"
    "\"journal\":\"async\",\"record\":true,\"mode\":\"lossless\",\"fps\":15,"
    "\"objects\":[\"mug\",\"Chair-2\"],\"recognise_hz\":5}";

static struct json_issues read_text(struct session_options *o, const char *text,
                                    enum session_options_form form)
{
    struct json_issues issues = {0};
    struct err err = {0};
    struct json_at at;
    struct json *doc;

    if (json_parse(&doc, text, strlen(text), 8, &err))
        fail_msg("%s: %s", text, err.text);
    at = json_at(doc, &issues);
    session_options_read(o, &at, form);
    json_free(&doc);
    return issues;
}

static const char *written(const struct session_options *o, enum session_options_form form)
{
    static char buf[4096];
    struct json_writer w = json_writer(buf, sizeof buf);

    json_open_map(&w, NULL);
    session_options_write(&w, o, form);
    json_close(&w);
    assert_true(json_finish(&w) > 0);
    return buf;
}

/* `kept` as it is written now: with the kind, the world's up, `upright`, the rules of fusion,
 * views, ties, the length of submaps, bundling, the unit of depth, what pictures are decoded to and
 * objects, which were no options then. Those of that time are the paper's (store_manifest.c). */
static const char *kept_now(void)
{
    static char buf[4096];
    const char *kind = strchr(kept, ','), *up = strstr(kept, ",\"camera\"");
    const char *scale = strstr(kept, ",\"step_m\"");
    const char *fusion = strstr(kept, ",\"min_depth_m\""), *unit = strstr(kept, ",\"retention_s\"");

    snprintf(buf, sizeof buf,
             "%.*s,\"kind\":\"mono\"%.*s,\"depth_source\":\"network\",\"up\":\"+y\",\"upright\":"
             "\"auto\"%.*s,\"decode_scale\":1%.*s,\"fusion\":"
             "\"paper\",\"views\":\"off\",\"ties\":\"off\",\"submap_m\":4,\"bundle\":\"off\"%.*s,"
             "\"depth_unit\":\"mm\"%.*s,"
             "\"objects\":[\"mug\",\"Chair-2\"],\"recognise_hz\":5}",
             (int)(kind - kept), kept, (int)(up - kind), kind, (int)(scale - up), up,
             (int)(fusion - scale), scale, (int)(unit - fusion), fusion, (int)strlen(unit) - 1,
             unit);
    return buf;
}

/* The text with `"name":"n",` in front of what it holds. */
static const char *named(const char *text)
{
    static char buf[4096];

    snprintf(buf, sizeof buf, "{\"name\":\"n\",%s", text + 1);
    return buf;
}

TEST(three_forms_hold_the_same)
{
    struct session_options o = {.fusion = SESSION_FUSION_PAPER,
                                .views = SESSION_VIEWS_OFF,
                                .submap_m = 4,
                                .decode_scale = 1,
                                .objects = "mug,Chair-2",
                                .recognise_hz = 5},
                           again = {0};

    assert_int_equal(read_text(&o, kept, SESSION_OPTIONS_KEPT).n, 0);
    assert_true(o.has_camera && o.camera_h == 480 && o.net_h == 192 && o.max_points == 5000);
    assert_true(o.pose_source == SESSION_POSE_LEARNED && o.journal == SESSION_JOURNAL_ASYNC &&
                o.mode == SESSION_LOSSLESS);
    assert_int_equal(o.kind, SESSION_KIND_DEFAULT);
    session_options_fill(&o, &(struct session_options){0});
    assert_int_equal(o.kind, SESSION_MONO);
    assert_string_equal(written(&o, SESSION_OPTIONS_KEPT), kept_now());
    assert_string_equal(written(&o, SESSION_OPTIONS_SHOWN), shown);
    assert_string_equal(written(&o, SESSION_OPTIONS_ASKED), named(shown));
    assert_int_equal(read_text(&again, named(shown), SESSION_OPTIONS_ASKED).n, 0);
    assert_string_equal(written(&again, SESSION_OPTIONS_KEPT), kept_now());
}

TEST(what_is_not_asked_for_is_not_said)
{
    struct session_options o = {0};

    assert_string_equal(written(&o, SESSION_OPTIONS_ASKED), "{}");
    assert_int_equal(read_text(&o, "{}", SESSION_OPTIONS_ASKED).n, 0);
    assert_string_equal(written(&o, SESSION_OPTIONS_ASKED), "{}");
}

/* A request with one number, at JSON pointer `pointer`. */
static void one_number(char *text, size_t cap, char *pointer, size_t pointer_cap,
                       const struct session_option *row, double v)
{
    static const char camera[] = "\"fx\":9,\"fy\":9,\"cx\":9,\"cy\":9,\"width\":64,\"height\":64";
    static const char net[] = "\"width\":64,\"height\":64";
    static const char volume[] = "\"x\":1,\"y\":1,\"z\":1,\"size_x\":1,\"size_y\":1,\"size_z\":1";
    const char *others = !row->group                         ? ""
                         : strcmp(row->group, "camera") == 0 ? camera
                         : strcmp(row->group, "net") == 0    ? net
                                                             : volume,
               *at;
    char key[32];

    snprintf(pointer, pointer_cap, "/%s%s%s", row->group ? row->group : "", row->group ? "/" : "",
             row->name);
    if (!row->group) {
        snprintf(text, cap, "{\"%s\":%.10g}", row->name, v);
        return;
    }
    snprintf(key, sizeof key, "\"%s\":", row->name);
    at = strstr(others, key) + strlen(key);
    snprintf(text, cap, "{\"%s\":{%.*s%.10g%s}}", row->group, (int)(at - others), others, v,
             at + strspn(at, "0123456789"));
}

TEST(numbers_are_held_to_their_ranges)
{
    char text[256], pointer[64];

    for (int i = 0; i < session_options_n; i++) {
        const struct session_option *row = &session_options_table[i];
        double step = row->type == SESSION_OPTION_REAL ? row->max * 1e-4 : 1;
        double values[] = {row->min, row->max, row->min - step, row->max + step};

        for (int k = 0; row->max > row->min && k < 4; k++) {
            /* of a kind that the option is for: mono, or else the first */
            struct session_options o = {.kind = session_options_apply(row, SESSION_MONO)
                                                    ? SESSION_MONO
                                                    : __builtin_ctz(row->kinds)};
            struct json_issues issues;

            one_number(text, sizeof text, pointer, sizeof pointer, row, values[k]);
            issues = read_text(&o, text, SESSION_OPTIONS_ASKED);
            if (issues.n != (k > 1) || (k > 1 && strcmp(issues.at[0].pointer, pointer) != 0))
                fail_msg("%s: %d issues, %s", text, issues.n, issues.at[0].pointer);
        }
    }
}

/* Objects are 16 names at most that are names, and differ. */
TEST(names_are_names)
{
    static const char *const bad[] = {
        "\"mug\"", "[1]", "[\"\"]", "[\".a\"]", "[\"a b\"]", "[\"a,b\"]", "[\"a\",\"b\",\"a\"]",
        "null",    "{}"};
    struct session_options o = {0};
    char text[2048], name[API_NAME_CAP];
    struct json_issues issues;
    size_t n = 0;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "{\"objects\":%s}", bad[i]);
        issues = read_text(&o, text, SESSION_OPTIONS_ASKED);
        if (issues.n != 1 || strcmp(issues.at[0].pointer, "/objects") != 0)
            fail_msg("%s: %d issues", text, issues.n);
    }
    for (int k = 16; k <= 17; k++) { /* of the longest names */
        n = (size_t)snprintf(text, sizeof text, "{\"objects\":[");
        for (int i = 0; i < k; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s\"%062d%c\"", i ? "," : "", 0,
                                  'a' + i);
        snprintf(text + n, sizeof text - n, "]}");
        assert_int_equal(read_text(&o, text, SESSION_OPTIONS_ASKED).n, k > 16);
        assert_true(k > 16 || strcmp(written(&o, SESSION_OPTIONS_ASKED), text) == 0);
    }
    assert_true(session_options_name_at(o.objects, 15, name) && name[62] == 'a' + 15);
    assert_false(session_options_name_at(o.objects, 16, name));
    assert_int_equal(read_text(&o, "{\"objects\":[]}", SESSION_OPTIONS_ASKED).n, 0);
    assert_string_equal(written(&o, SESSION_OPTIONS_ASKED), "{}");
}

TEST(an_option_of_another_kind_is_refused)
{
    struct session_options o = {.kind = SESSION_DEPTH, .step_m = 0.01f, .fps = 4};
    struct json_issues issues = read_text(&o, "{\"keyframes\":4,\"fps\":5}", SESSION_OPTIONS_ASKED);

    assert_int_equal(issues.n, 1);
    assert_string_equal(issues.at[0].pointer, "/keyframes");
    assert_string_equal(written(&o, SESSION_OPTIONS_ASKED), "{\"kind\":\"depth\",\"fps\":5}");
}

TEST(defaults_fill_what_is_left)
{
    struct session_options o = {.keyframes = 3, .fps = 5},
                           all = {.submap_m = 4, .decode_scale = 1, .recognise_hz = 2};
    struct err err = {0};

    assert_int_equal(read_text(&all, kept, SESSION_OPTIONS_KEPT).n, 0);
    session_options_fill(&o, &all);
    assert_true(o.keyframes == 3 && o.fps == 5);
    assert_true(o.mode == SESSION_LOSSLESS && o.retention_s == -1 && o.max_points == 5000);
    assert_true(o.fusion == SESSION_FUSION_CELLS);
    assert_true(o.pose_source == SESSION_POSE_DEVICE && !o.has_camera && o.net_w == 0);
    assert_int_equal(session_options_check(&o, &err), 0);
    o.keyframes = 10;
    assert_int_equal(session_options_check(&o, &err), ERR_INPUT);
    assert_string_equal(err.where, "/keyframes");
    assert_string_equal(err.text, "10, must be in 2...9");
    o.keyframes = 3;
    o.step_m = 0.25f;
    assert_int_equal(session_options_check(&o, &err), ERR_INPUT);
    assert_string_equal(err.text, "0.25 m, must be in 0.0005...0.1");
}

/* ------------------------------------------------------------------------------- descriptions */

static void same_words(const struct session_option *row, const struct json *list)
{
    size_t n = 0;

    for (; row->words[n]; n++)
        if (strcmp(json_text(json_item(list, n)), row->words[n]) != 0)
            fail_msg("openapi.yaml: the words of %s", row->name);
    assert_int_equal(json_count(list), n);
}

static void same_number(const struct session_option *row, const struct json *schema)
{
    const char *type = row->type == SESSION_OPTION_REAL ? "number" : "integer";

    if (strcmp(json_text(json_member(schema, "type")), type) != 0 ||
        json_f64(json_member(schema, "minimum")) != row->min ||
        json_f64(json_member(schema, "maximum")) != row->max)
        fail_msg("openapi.yaml: type and range of %s", row->name);
}

/* The schema of an option of a request says what its row says. */
static void same_schema(const struct session_option *row, const struct json *schema)
{
    const char *type = json_text(json_member(schema, "type"));
    const struct json *standard = json_member(schema, "default");
    char text[64];

    snprintf(text, sizeof text, "%s", json_text(standard));
    if (json_kind(standard) == JSON_KIND_INTEGER || json_kind(standard) == JSON_KIND_REAL)
        snprintf(text, sizeof text, "%.10g", json_f64(standard));
    if (row->standard && strcmp(row->standard, text) != 0)
        fail_msg("openapi.yaml: the default of %s is not %s", row->name, row->standard);
    switch (row->type) {
    case SESSION_OPTION_BOOL:
        assert_string_equal(type, "boolean");
        break;
    case SESSION_OPTION_TEXT:
        assert_string_equal(type, "string");
        assert_int_equal(json_i64(json_member(schema, "maxLength")), row->size - 1);
        break;
    case SESSION_OPTION_WORD:
        same_words(row, json_member(schema, "enum"));
        break;
    case SESSION_OPTION_NAMES:
        assert_string_equal(type, "array");
        assert_int_equal(json_i64(json_member(schema, "maxItems")), SESSION_OBJECTS_MAX);
        break;
    default:
        same_number(row, schema);
    }
}

static size_t n_members(const struct json *map)
{
    size_t n = 0;

    while (json_key(map, n, NULL))
        n++;
    return n;
}

TEST(the_contract_says_the_same)
{
    const struct json *schemas, *asked, *shown_too, *camera, *net, *volume;
    struct json *contract;
    size_t n = 0;

    assert_int_equal(json_parse(&contract, openapi_json, openapi_json_len, 32, NULL), 0);
    schemas = json_member(json_member(contract, "components"), "schemas");
    asked = json_member(json_member(schemas, "SessionOptions"), "properties");
    shown_too = json_member(json_member(schemas, "ResolvedOptions"), "properties");
    camera = json_member(json_member(schemas, "Camera"), "properties");
    net = json_member(json_member(schemas, "Size"), "properties");
    volume = json_member(json_member(asked, "volume"), "properties");
    for (int i = 0; i < session_options_n; i++) {
        const struct session_option *row = &session_options_table[i];
        const struct json *in = !row->group                         ? asked
                                : strcmp(row->group, "camera") == 0 ? camera
                                : strcmp(row->group, "net") == 0    ? net
                                                                    : volume;
        const char *top = row->group ? row->group : row->name;

        if (!json_member(in, row->name) || !json_member(asked, top) ||
            (i > 0 && !json_member(shown_too, top)))
            fail_msg("openapi.yaml: no %s", row->name);
        same_schema(row, json_member(in, row->name));
        n += !row->group;
    }
    assert_int_equal(n_members(asked), n + 3);         /* camera, net and volume */
    assert_int_equal(n_members(shown_too), n + 3 - 1); /* the name stands above */
    assert_int_equal(n_members(camera) + n_members(net) + n_members(volume),
                     (size_t)session_options_n - n);
    json_free(&contract);
}

static const char *page(const char *path)
{
    static char text[131072];
    FILE *f = fopen(path, "r");

    if (!f) {
        print_message("not started in the top folder\n");
        skip();
    }
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

/* What a page says between `start` and the next `stop`. */
static const char *between(const char *text, const char *path, const char *start, const char *stop)
{
    static char part[16384];
    const char *at = strstr(text, start), *end;

    if (!at)
        fail_msg("%s: no %s", path, start);
    end = strstr(at + strlen(start), stop);
    snprintf(part, sizeof part, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
    return part;
}

/* "Number, 0.1 to 1000", "One of live, lossless", as the configuration's page has it. */
static void describe(char *text, size_t cap, const struct session_option *row)
{
    snprintf(text, cap, "%s, %.10g to %.10g",
             row->type == SESSION_OPTION_REAL ? "Number" : "Whole number", row->min, row->max);
    if (row->type == SESSION_OPTION_TEXT)
        snprintf(text, cap, "Text");
    if (row->type == SESSION_OPTION_WORD)
        snprintf(text, cap, "One of ");
    for (int i = 0; row->words && row->words[i]; i++)
        snprintf(text + strlen(text), cap - strlen(text), "%s%s", i ? ", " : "", row->words[i]);
}

TEST(the_pages_say_the_same)
{
    char wanted[96], range[96];
    const char *text;

    text = page("docs/recond.conf.5");
    for (int i = 0; i < session_options_n; i++) {
        const struct session_option *row = &session_options_table[i];

        describe(range, sizeof range, row);
        snprintf(wanted, sizeof wanted, ".It Ic %s No =", row->name);
        if (row->standard &&
            !strstr(between(strstr(text, ".Ss [session]"), "recond.conf.5", wanted, "\n.It"),
                    range))
            fail_msg("docs/recond.conf.5: %s is not: %s", row->name, range);
    }
    text = page("docs/reconctl.1");
    for (int i = 0; i < session_options_n; i++) {
        const struct session_option *row = &session_options_table[i];
        const char *part;

        snprintf(wanted, sizeof wanted, ".It Fl -%s ", row->flag ? row->flag : "");
        part = row->flag ? between(strstr(text, ".Ss push"), "reconctl.1", wanted, "\n.It") : "";
        for (int k = 0; row->flag && row->words && row->words[k]; k++) {
            snprintf(wanted, sizeof wanted, ".Cm %s", row->words[k]);
            if (!strstr(part, wanted))
                fail_msg("docs/reconctl.1: --%s has no %s", row->flag, row->words[k]);
        }
    }
}
