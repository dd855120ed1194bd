/* api_quota.c - quotas in lines of the token file, and what the core is told of them */
#include "api/server/auth.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* In place of the core: keeps what it is told of one tenant. */
struct told {
    const char *name;
    struct quota quota;
    bool found;
};

static void on_tenants(struct core *core, const struct api_tenant *tenants, int n)
{
    struct told *t = (struct told *)(void *)core;

    for (int i = 0; i < n; i++)
        if (strcmp(tenants[i].name, t->name) == 0) {
            t->quota = tenants[i].quota;
            t->found = true;
        }
}

static struct quota quota_of(struct auth *a, const char *name)
{
    static const struct core_ops ops = {.tenants_set = on_tenants};
    struct told t = {.name = name};

    auth_tell_tenants(a, &ops, (struct core *)(void *)&t);
    assert_true(t.found);
    return t.quota;
}

/* What a line says of quotas changes those of the configuration; an admin has none. */
TEST(test_quotas)
{
    char file[] = "/tmp/recond-quota-XXXXXX";
    struct api_config config = {.auth_mode = API_AUTH_TOKEN,
                                .token_file = file,
                                .quota = {.sessions = 16, .exports = 2, .retention_s = 3600}};
    struct auth *a;
    struct quota q;
    struct err err = {0};

    close(mkstemp(file));
    write_file(file, "boss admin " HASH "\nphone ingest " HASH " 2999-01-01 "
                     "sessions=2,disk_bytes=3G,frames_per_s=7.5,record=yes\nwall view " HASH "\n"
                     "guest admin " HASH " exports=1\n");
    assert_int_equal(auth_open(&a, &config, &err), 0);
    q = quota_of(a, "boss");
    assert_memory_equal(&q, &quota_none, sizeof q);
    q = quota_of(a, "wall");
    assert_memory_equal(&q, &config.quota, sizeof q);
    q = quota_of(a, "guest");
    assert_int_equal(q.exports, 1);
    assert_int_equal(q.retention_s, -1);
    q = quota_of(a, "phone");
    assert_int_equal(q.sessions, 2);
    assert_true(q.disk_bytes == 3ull << 30 && q.frames_per_s == 7.5f && q.record == 1);
    assert_int_equal(q.exports, 2);
    auth_close(&a);
    unlink(file);
}

TEST(test_bad_quotas)
{
    static const char *const bad[] = {"sessions",      "sessions=",
                                      "sessions=x",    "sessions=-1",
                                      "sessions=1M",   "seats=1",
                                      "record=maybe",  "exports=257",
                                      "disk_bytes=1T", "retention_s=1,frames_per_s=nan"};
    struct quota q = quota_none;
    struct err err;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(quota_read(&q, bad[i], &err), ERR_INPUT);
    assert_int_equal(quota_read(&q, "seats=1", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "sessions, frames_per_s")); /* it names those that there are */
}
