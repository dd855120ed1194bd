/*
 * fuzz_daemon_config - the two files of an operator: recond.conf and a network's sidecar
 *
 * Any bytes. Whatever is accepted is within its bounds, and a configuration that is printed and
 * read again is the same.
 */
#include "daemon/config_table.h"
#include "daemon/ini.h"
#include "daemon/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static int on_pair(void *ctx, const char *section, const char *name, const char *value,
                   struct err *err)
{
    const char *hint;
    struct config_key key;

    return config_table_find(&key, section, name, &hint) ? config_table_set(ctx, &key, value, err)
                                                         : err_set(err, ERR_INPUT, "unknown");
}

static void defaults(struct config *c)
{
    struct config_key key;

    memset(c, 0, sizeof(*c));
    for (int i = 0; config_table_at(&key, i); i++)
        check(config_table_set(c, &key, key.standard, NULL) == 0);
}

/* Texts may end in different bytes after their NUL, so keys are compared as they are shown. */
static void check_same(const struct config *a, const struct config *b)
{
    char x[CONFIG_TEXT_CAP + 1], y[CONFIG_TEXT_CAP + 1];
    struct config_key key;

    for (int i = 0; config_table_at(&key, i); i++) {
        config_table_show(x, a, &key);
        config_table_show(y, b, &key);
        check(strcmp(x, y) == 0);
    }
}

static void config(const char *text, size_t len)
{
    struct config c, again;
    struct err err = {0};
    char *printed = NULL;
    size_t n = 0;
    FILE *out;

    defaults(&c);
    if (ini_read_bytes("fuzz", text, len, on_pair, &c, &err)) {
        check(err.code < 0 && err.text[0]);
        return;
    }
    check(c.http.port >= 0 && c.http.port <= 65535);
    check(c.session.options.step_m >= 0.0005f && c.session.options.step_m <= 0.1f);
    check(c.session.queue_frames >= 2 && c.session.queue_frames <= 64);
    if (config_check(&c, &err))
        return;
    out = open_memstream(&printed, &n);
    check(out != NULL);
    config_print(out, &c);
    fclose(out);
    defaults(&again);
    if (ini_read_bytes("printed", printed, n, on_pair, &again, &err) == 0)
        check_same(&c, &again);
    else /* a text that begins or ends in what a file cannot hold: a comment, a very long path */
        check(err.code == ERR_INPUT);
    free(printed);
}

static void sidecar(const char *text, size_t len)
{
    struct gpu_model_info info;
    struct err err = {0};

    if (models_parse(&info, "fuzz.ini", text, len, &err)) {
        check(err.code < 0 && err.text[0]);
        return;
    }
    check(info.kind == GPU_MODEL_DEPTH || info.kind == GPU_MODEL_MOTION);
    check(info.multiple >= 1 && info.multiple <= 256 && !strchr(info.path, '/'));
    check(info.min_depth_m < info.max_depth_m && isfinite(info.max_depth_m));
    for (int i = 0; i < 3; i++)
        check(isfinite(info.mean[i]) && info.std[i] > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 'm')
        sidecar((const char *)data + 1, size - 1);
    else
        config((const char *)data + 1, size - 1);
    return 0;
}
