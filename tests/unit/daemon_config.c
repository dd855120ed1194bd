/* Configuration: precedence, every kind of error and what it says, and the documents against the
 * table. */
#include "daemon/config.h"
#include "daemon/config_table.h"
#include "daemon/ini.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/recond-conf-XXXXXX";

static void write_file(const char *text, size_t len)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
}

/* Load with a file's text, one variable and one flag; each may be NULL. */
static int load(struct config *c, const char *text, const char *variable, const char *flag,
                struct err *err)
{
    char *argv[] = {(char *)"recond", (char *)"-c", path, (char *)flag, NULL};
    char *env[] = {(char *)"HOME=/", (char *)variable, NULL};
    enum config_action action;

    memset(err, 0, sizeof(*err));
    write_file(text, strlen(text));
    return config_load(c, &action, flag ? 4 : 3, argv, env, err);
}

TEST(defaults_hold)
{
    struct config c;
    struct err err;

    assert_int_equal(load(&c, "", NULL, NULL, &err), 0);
    assert_string_equal(c.http.listen, "127.0.0.1");
    assert_int_equal(c.http.port, 8700);
    assert_int_equal(c.stream.port, 8701);
    assert_int_equal(c.session.queue_frames, 8);
    assert_int_equal(c.limits.max_frame_bytes, 2 << 20);
    assert_float_equal(c.session.options.step_m, 0.001, 1e-12);
    assert_int_equal(c.auth.mode, CONFIG_AUTH_NONE);
}

TEST(flag_over_variable_over_file_over_default)
{
    static const char text[] =
        "# a comment\n; another\n[http]\n  port = 9000 ; why\nmax_body_bytes=2M\n";
    struct config c;
    struct err err;

    assert_int_equal(load(&c, text, NULL, NULL, &err), 0);
    assert_int_equal(c.http.port, 9000);
    assert_int_equal(c.http.max_body_bytes, 2 << 20);
    assert_int_equal(load(&c, text, "RECOND_HTTP_PORT=9001", NULL, &err), 0);
    assert_int_equal(c.http.port, 9001);
    assert_int_equal(load(&c, text, "RECOND_HTTP_PORT=9001", "--http.port=9002", &err), 0);
    assert_int_equal(c.http.port, 9002);
    assert_int_equal(load(&c, text, "RECOND_HTTP_PORT=9001", "--http-port=9003", &err), 0);
    assert_int_equal(c.http.port, 9003);
    assert_int_equal(load(&c, text, "RECOND_TOKEN=of another program", NULL, &err), 0);
}

/* A configuration of an earlier version starts, and what has no effect is known. */
TEST(a_retired_key_has_no_effect)
{
    struct config c;
    struct err err;

    assert_int_equal(load(&c, "[http]\nport = 9000\n", NULL, NULL, &err), 0);
    assert_string_equal(c.retired, "");
    assert_int_equal(load(&c, "[device]\nanswer_ms = 40\nbatch = 7\n", NULL, NULL, &err), 0);
    assert_string_equal(c.retired, "device.answer_ms");
    assert_int_equal(c.device.batch, 7);
    assert_int_equal(load(&c, "", "RECOND_DEVICE_ANSWER_MS=0", NULL, &err), 0);
    assert_string_equal(c.retired, "device.answer_ms");
    assert_int_equal(load(&c, "", NULL, "--device.answer_ms=0", &err), 0);
    assert_string_equal(c.retired, "device.answer_ms");
}

TEST(errors_name_place_key_and_what_is_allowed)
{
    static const struct {
        const char *text, *variable, *flag, *where, *says;
    } cases[] = {
        {"[http]\nport = 70000\n", NULL, NULL, ":2", "from 0 to 65535 is allowed"},
        {"[http]\nport = 80x\n", NULL, NULL, ":2", "http.port = '80x'"},
        {"[http]\nport = \n", NULL, NULL, ":2", "a whole number"},
        {"\n\n[http]\nprot = 1\n", NULL, NULL, ":4", "did you mean http.port?"},
        {"[htpp]\nport = 1\n", NULL, NULL, ":2", "did you mean http.port?"},
        {"[nonsense]\nxyzzyxyzzy = 1\n", NULL, NULL, ":2", "unknown key"},
        {"port = 1\n", NULL, NULL, ":1", "unknown key .port"},
        {"[http]\nport\n", NULL, NULL, ":2", "neither [section], key = value nor a comment"},
        {"[log]\nlevel = loud\n", NULL, NULL, ":2", "allowed are emerg, alert, crit, error"},
        {"[http]\nmax_body_bytes = 64X\n", NULL, NULL, ":2", "K, M or G may follow"},
        {"[http]\nmax_body_bytes = 99999999999999999999\n", NULL, NULL, ":2", "from 1024"},
        {"[session]\nstep_m = nan\n", NULL, NULL, ":2", "a number from 0.0005 to 0.1"},
        {"[session]\nstep_m = 0.2\n", NULL, NULL, ":2", "a number from 0.0005 to 0.1"},
        {"[http]\nlisten = 0.0.0.0\n", NULL, NULL, "http.listen", "auth.mode = token is needed"},
        {"[stream]\nlisten = ::\n", NULL, NULL, "stream.listen", "auth.mode = token is needed"},
        {"[http]\nlisten = 0.0.0.0\n[auth]\nmode = token\ntoken_file = t\n", NULL, NULL,
         "http.listen", "TLS (tls.cert_file) is needed"},
        {"[stream]\nlisten = ::\n[auth]\nmode = token\ntoken_file = t\n", NULL, NULL,
         "stream.listen", "service.behind_proxy = yes"},
        {"[http]\nlisten = ::\n[service]\nbehind_proxy = yes\n", NULL, NULL, "http.listen",
         "auth.mode = token is needed"},
        {"[http]\nlisten = ::\n[tls]\ncert_file = c\nkey_file = k\n", NULL, NULL, "http.listen",
         "auth.mode = token is needed"},
        {"[tls]\ncert_file = c\n", NULL, NULL, "tls.key_file", "go together"},
        {"[tls]\nkey_file = k\n", NULL, NULL, "tls.cert_file", "go together"},
        {"[service]\nbehind_proxy = maybe\n", NULL, NULL, ":2", "allowed are no, yes"},
        {"[http]\nlisten = localhost\n", NULL, NULL, "http.listen", "not a numeric IPv4"},
        {"[auth]\nmode = token\n", NULL, NULL, "auth.token_file", "is needed"},
        {"[http]\nport = 8701\n", NULL, NULL, "stream.port", "is http.port already"},
        {"[stream]\nping_s = 9\n", NULL, NULL, "stream.hangup_s", "larger than stream.ping_s"},
        {"[session]\nmin_depth_m = 50\n", NULL, NULL, "session.min_depth_m", "below max_depth_m"},
        {"[session]\nmax_points = 9000000\n", NULL, NULL, "session.max_points",
         "over limits.max_points"},
        {"[device]\nuse =\n", NULL, NULL, "device.use", "names no device"},
        {"", "RECOND_HTTP_PORT=no", NULL, "RECOND_HTTP_PORT", "whole number"},
        {"", "RECOND_HTTP_PROT=1", NULL, "RECOND_HTTP_PROT", "no key has this variable"},
        {"", NULL, "--http.port=-1", "--http.port", "from 0 to 65535"},
        {"", NULL, "--http.prot=1", "--http.prot", "did you mean http.port?"},
        {"", NULL, "--http-port", "--http-port", "needs a value"},
        {"", NULL, "--frobnicate", "--frobnicate", "unknown flag"},
        {"", NULL, "frobnicate", "frobnicate", "not a flag"},
        {"", NULL, "--config", "--config", "needs a value"},
    };
    struct config c;
    struct err err;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int rc = load(&c, cases[i].text, cases[i].variable, cases[i].flag, &err);
        if (rc != ERR_INPUT || !strstr(err.where, cases[i].where) ||
            !strstr(err.text, cases[i].says))
            fail_msg("case %zu: %d, '%s', '%s'", i, rc, err.where, err.text);
    }
}

TEST(files_of_strangers_are_refused)
{
    char longest[300];
    struct config c;
    struct err err = {0};
    char *argv[] = {(char *)"recond", (char *)"--config=/nonexistent/recond.conf", NULL};
    enum config_action action;

    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(load(&c, longest, NULL, NULL, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "longer than 190 bytes"));
    assert_int_equal(load(&c, "[http]\n\033[31m = 1\n", NULL, NULL, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "control character"));
    assert_int_equal(config_load(&c, &action, 2, argv, NULL, &err), ERR_IO);
    assert_string_equal(err.where, "/nonexistent/recond.conf");
}

static int keep_last(void *ctx, const char *section, const char *name, const char *value,
                     struct err *err)
{
    (void)err;
    snprintf(ctx, 200, "%s.%s=%s", section, name, value);
    return 0;
}

/* libinih takes an indented line for more of the value above; here each line stands for itself. */
TEST(an_indented_line_is_a_line)
{
    char last[200] = "";
    static const char text[] = "[a]\nb = 1\n   c = 2";
    struct err err = {0};

    assert_int_equal(ini_read_bytes("x", text, sizeof(text) - 1, keep_last, last, &err), 0);
    assert_string_equal(last, "a.c=2");
    assert_int_equal(ini_read_bytes("x", "", 0, keep_last, last, &err), 0);
    assert_int_equal(ini_read_bytes("x", "a\0b", 3, keep_last, last, &err), ERR_INPUT);
    assert_string_equal(err.where, "x:1");
}

TEST(what_is_printed_can_be_read_again)
{
    static const char text[] =
        "[session]\nstep_m = 0.0025\n[device]\nuse = cpu\n[http]\nmax_body_bytes = 3K\n";
    struct config c, again;
    struct err err;
    char *printed = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&printed, &len);

    assert_int_equal(load(&c, text, NULL, NULL, &err), 0);
    config_print(out, &c);
    fclose(out);
    if (load(&again, printed, NULL, NULL, &err))
        fail_msg("%s: %s", err.where, err.text);
    assert_memory_equal(&c, &again, sizeof(c));
    assert_non_null(strstr(printed, "Default: 0.001."));
    free(printed);
}

TEST(a_reload_takes_what_it_can)
{
    struct config now, fresh;
    char later[200];
    struct err err;

    assert_int_equal(load(&now, "", NULL, NULL, &err), 0);
    assert_int_equal(load(&fresh,
                          "[limits]\nsessions=3\nblocks=100\n[http]\nport=1\n[log]\nlevel=debug\n",
                          NULL, NULL, &err),
                     0);
    assert_int_equal(config_reload_apply(&now, &fresh, later, sizeof(later)), 2);
    assert_string_equal(later, "http.port limits.blocks");
    assert_int_equal(now.limits.sessions, 3);
    assert_int_equal(now.http.port, 8700);
    assert_int_equal(now.log.level, 7);
    assert_int_equal(config_reload_apply(&now, &now, later, sizeof(later)), 0);
    assert_string_equal(later, "");
}

static char *slurp(const char *name)
{
    char *text = calloc(1, 1 << 20);
    FILE *f = fopen(name, "rb");

    if (!f) {
        free(text);
        return NULL;
    }
    text[fread(text, 1, (1 << 20) - 1, f)] = '\0';
    fclose(f);
    return text;
}

/* The example: every key, commented out, at its default, and no other; so it can be read as it
 * stands. */
TEST(the_example_names_every_key)
{
    char *text = slurp("deploy/recond.conf"), line[256], section[40] = "", name[48], value[200];
    struct config_key key;
    const char *hint, *at = text;
    int seen = 0;

    assert_non_null(text);
    for (; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
        if (sscanf(line, "[%39[a-z]]", section) == 1)
            continue;
        value[0] = '\0';
        if (sscanf(line, "#%47[a-z_] = %199[^\n]", name, value) < 1 || !strstr(line, " ="))
            continue;
        if (!config_table_find(&key, section, name, &hint))
            fail_msg("deploy/recond.conf: no key %s.%s", section, name);
        assert_string_equal(value, key.standard);
        seen++;
    }
    assert_true(config_table_at(&key, seen - 1) && !config_table_at(&key, seen));
    free(text);
}

/* The fuzzer starts from a file that reaches every key. */
TEST(the_corpus_names_every_key)
{
    char *text = slurp("tests/fuzz/corpus/fuzz_daemon_config/every-key"), wanted[100];
    struct config_key key;

    assert_non_null(text);
    for (int i = 0; config_table_at(&key, i); i++) {
        const char *section, *end, *at;
        snprintf(wanted, sizeof(wanted), "\n[%s]\n", key.section);
        section = strstr(text, wanted);
        if (!section)
            fail_msg("every-key: no section %s", key.section);
        end = strstr(section + 1, "\n[");
        snprintf(wanted, sizeof(wanted), "\n%s =", key.name);
        at = strstr(section, wanted);
        if (!at || (end && at > end))
            fail_msg("every-key: no key %s.%s", key.section, key.name);
    }
    free(text);
}

TEST(the_manual_names_every_key)
{
    char *text = slurp("docs/recond.conf.5"), wanted[100];
    struct config_key k, *const key = &k;

    assert_non_null(text);
    for (int i = 0; config_table_at(key, i); i++) {
        const char *at = text;
        snprintf(wanted, sizeof(wanted), ".Ss [%s]\n", key->section);
        at = strstr(text, wanted);
        if (!at)
            fail_msg("docs/recond.conf.5: no section %s", key->section);
        snprintf(wanted, sizeof(wanted), ".It Ic %s No =", key->name);
        at = strstr(at, wanted);
        if (!at)
            fail_msg("docs/recond.conf.5: no key %s.%s", key->section, key->name);
        if (key->standard[0] && strncmp(at + strlen(wanted), " Ar ", 4) == 0)
            if (strncmp(at + strlen(wanted) + 4, key->standard, strlen(key->standard)) != 0)
                fail_msg("docs/recond.conf.5: the default of %s.%s is %s", key->section, key->name,
                         key->standard);
    }
    free(text);
}

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? fd : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

TEST_GROUP(make_file, remove_file)
