/* A session's meta.json: written beside and renamed, so that it is whole or not there. */
#include "daemon/disk/store_internal.h"

#include "daemon/log.h"
#include "daemon/session/places.h"
#include "daemon/session/session_ends.h"
#include "daemon/session/session_info.h"
#include "daemon/session/session_submaps.h"
#include "daemon/session/tenant.h"
#include "proto/crc32c.h"
#include "proto/json.h"
#include "api/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of all that a session leaves on the disk. 1: frames without parts; 2: frames without sources */
#define VERSION 3
#define TEXT_MAX 65536
#define PATH_BYTES (CONFIG_TEXT_CAP + 96)

static void folder_of(char *buf, const char *path, const char *id)
{
    snprintf(buf, PATH_BYTES, "%s/sessions/%s", path, id);
}

static void hex(char *out, const uint8_t *in, int n)
{
    for (int i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", in[i]);
}

static bool unhex(uint8_t *out, const char *in, int n)
{
    if (strlen(in) != 2 * (size_t)n || strspn(in, "0123456789abcdef") != 2 * (size_t)n)
        return false;
    for (int i = 0; i < n; i++) {
        const char pair[3] = {in[2 * i], in[2 * i + 1], '\0'};
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

/* ------------------------------------------------------------------------- out */

/* The text's last member is its own checksum: CRC-32C of what stands before it. */
#define SUM ",\"crc32c\":\"%08x\"}"
#define SUM_BYTES 21

/* In: the object, len bytes; 0 = it did not fit. Returns the new length, 0 likewise. */
static size_t add_sum(char *buf, size_t cap, size_t len)
{
    if (len == 0 || len + SUM_BYTES >= cap)
        return 0;
    len--; /* the brace */
    snprintf(buf + len, cap - len, SUM, (unsigned)crc32c(0, (const uint8_t *)buf, len));
    return len + SUM_BYTES;
}

/* Manifests of the first versions have no checksum. */
static bool sum_holds(const char *text, size_t len)
{
    const size_t at = len < SUM_BYTES ? 0 : len - SUM_BYTES;
    char sum[SUM_BYTES + 1];

    if (memcmp(text + at, SUM, 11) != 0)
        return true;
    snprintf(sum, sizeof(sum), SUM, (unsigned)crc32c(0, (const uint8_t *)text, at));
    return memcmp(text + at, sum, SUM_BYTES) == 0;
}

static void put_places(struct json_writer *w, const struct places *p)
{
    json_open_list(w, "places");
    for (uint32_t i = 0; i < API_SUBMAPS_MAX; i++) {
        if (!p->told[i])
            continue;
        json_open_map(w, NULL);
        json_put_u64(w, "submap", i);
        json_put_bool(w, "tied", p->tied[i]);
        json_open_list(w, "pose");
        for (int k = 0; k < 7; k++)
            json_put_f32(w, NULL, p->pose[i][k]);
        json_close(w);
        json_close(w);
    }
    json_close(w);
}

static size_t encode(char *buf, size_t cap, const struct store_manifest *m)
{
    struct json_writer w = json_writer(buf, cap);
    char text[65];

    json_open_map(&w, NULL);
    json_put_i64(&w, "version", VERSION);
    json_put_text(&w, "id", m->id);
    json_put_u64(&w, "epoch", m->epoch);
    json_put_u64(&w, "rank", m->rank);
    json_put_u64(&w, "created_ms", (uint64_t)(m->created_s * 1e3));
    json_put_bool(&w, "finalized", m->closed);
    json_put_text(&w, "owner", m->owner);
    json_put_text(&w, "boot", m->boot);
    json_put_text(&w, "origin", m->origin);
    json_open_map(&w, "options");
    session_options_write(&w, &m->options, SESSION_OPTIONS_KEPT);
    json_close(&w);
    json_open_list(&w, "tokens");
    for (int i = 0; i < m->n_tokens; i++) {
        hex(text, m->tokens[i].sha256, 32);
        json_open_map(&w, NULL);
        json_put_i64(&w, "scope", m->tokens[i].scope);
        json_put_text(&w, "sha256", text);
        json_close(&w);
    }
    json_close(&w);
    put_places(&w, &m->places);
    json_close(&w);
    return add_sum(buf, cap, json_finish(&w));
}

static int sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    if (fd < 0)
        return -1;
    rc = fsync(fd);
    close(fd);
    return rc;
}

int store_manifest_write(const char *path, const struct store_manifest *m, struct err *err)
{
    char folder[PATH_BYTES], part[PATH_BYTES + 16], name[PATH_BYTES + 16];
    char *text = malloc(TEXT_MAX);
    int fd = -1, rc = 0;
    size_t len;

    if (!text)
        return err_set(err, ERR_MEMORY, "no memory for a session's meta file");
    folder_of(folder, path, m->id);
    snprintf(part, sizeof(part), "%s/meta.part", folder);
    snprintf(name, sizeof(name), "%s/meta.json", folder);
    len = encode(text, TEXT_MAX, m);
    if (len == 0)
        rc = err_set(err, ERR_LIMIT, "a session's meta file is longer than %d bytes", TEXT_MAX);
    if (rc == 0 &&
        (fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600)) < 0)
        rc = err_set(err, ERR_IO, "%.120s: %s", part, strerror(errno));
    if (rc == 0 && (file_write(fd, text, len) || fsync(fd)))
        rc = err_set(err, ERR_IO, "%.120s: %s", part, strerror(errno));
    if (fd >= 0 && close(fd) && rc == 0)
        rc = err_set(err, ERR_IO, "%.120s: %s", part, strerror(errno));
    if (rc == 0 && (rename(part, name) || sync_folder(folder)))
        rc = err_set(err, ERR_IO, "%.120s: %s", name, strerror(errno));
    free(text);
    return rc;
}

void store_manifest_remove(const char *path, const char *id)
{
    char folder[PATH_BYTES], name[PATH_BYTES + 16], gone[PATH_BYTES + 16];

    folder_of(folder, path, id);
    snprintf(name, sizeof(name), "%s/meta.json", folder);
    snprintf(gone, sizeof(gone), "%s/" STORE_GONE, folder);
    if ((rename(name, gone) && errno != ENOENT) || sync_folder(folder))
        LOG_AT(LOG_WARNING, "session %s: it may be back after a restart: %s", id, strerror(errno));
}

/* ------------------------------------------------------------------------- in */

/* Manifests of the first versions name neither journal nor mode nor fusion: these held. */
static void get_options(const struct json_at *root, struct session_options *o)
{
    struct json_at at;

    json_require(root, "options");
    if (!json_get_map(root, "options", &at))
        return;
    o->journal = SESSION_JOURNAL_SYNC;
    o->mode = SESSION_LIVE;
    o->fusion = SESSION_FUSION_PAPER;
    o->submap_m = 4; /* what is the default since the option is there */
    o->decode_scale = 1;
    o->views = SESSION_VIEWS_OFF;
    session_options_read(o, &at, SESSION_OPTIONS_KEPT);
}

static void get_tokens(const struct json *root, struct store_manifest *m,
                       struct json_issues *issues)
{
    const struct json *list = json_member(root, "tokens");

    for (size_t i = 0; i < json_count(list) && m->n_tokens < SESSION_TOKENS_MAX; i++) {
        struct api_token *t = &m->tokens[m->n_tokens];
        struct json_at at = json_at(json_item(list, i), issues);
        char text[65] = "";

        json_get_int(&at, "scope", &t->scope, 0, 2);
        json_get_text(&at, "sha256", text, sizeof(text));
        memcpy(t->session, m->id, sizeof(t->session));
        m->n_tokens += unhex(t->sha256, text, 32);
    }
}

/* Manifests of earlier builds have none. */
static void get_places(const struct json *root, struct store_manifest *m,
                       struct json_issues *issues)
{
    const struct json *list = json_member(root, "places");

    for (size_t i = 0; i < json_count(list); i++) {
        struct json_at at = json_at(json_item(list, i), issues);
        int submap = 0;
        float v[7];

        json_require(&at, "submap");
        json_require(&at, "pose");
        if (json_get_int(&at, "submap", &submap, 0, API_SUBMAPS_MAX - 1) &&
            json_get_f32s(&at, "pose", v, 7, (double)PLACES_MAX_M) &&
            places_tell(&m->places, (uint32_t)submap, v, NULL))
            json_note(&at, "pose", "is none");
        else if (submap >= 0 && submap < API_SUBMAPS_MAX) /* earlier builds tied nothing */
            json_get_bool(&at, "tied", &m->places.tied[submap]);
    }
}

static int decode(struct store_manifest *m, const char *id, const struct json *root,
                  struct err *err)
{
    struct json_issues issues = {0};
    struct json_at at = json_at(root, &issues);
    uint64_t created_ms = 0, epoch = 0;
    int version = 0;

    json_require(&at, "id");
    json_require(&at, "epoch");
    json_require(&at, "rank");
    json_get_int(&at, "version", &version, 1, INT_MAX);
    json_get_text(&at, "id", m->id, sizeof(m->id));
    json_get_u64(&at, "epoch", &epoch, 1, UINT32_MAX);
    json_get_u64(&at, "rank", &m->rank, 0, INT64_MAX);
    json_get_u64(&at, "created_ms", &created_ms, 0, INT64_MAX);
    json_get_bool(&at, "finalized", &m->closed);
    json_get_text(&at, "owner", m->owner, sizeof(m->owner));
    json_get_text(&at, "boot", m->boot, sizeof(m->boot));
    json_get_text(&at, "origin", m->origin, sizeof(m->origin));
    get_options(&at, &m->options);
    get_tokens(root, m, &issues);
    get_places(root, m, &issues);
    m->epoch = (uint32_t)epoch;
    m->created_s = (double)created_ms * 1e-3;
    if (version && version != VERSION)
        return err_set(err, ERR_UNSUPPORTED, "its files are of form %d, this build reads form %d",
                       version, VERSION);
    if (issues.n)
        return json_issues_err(&issues, err);
    if (version != VERSION || strcmp(m->id, id) != 0)
        return err_set(err, ERR_INPUT, "meta.json is of another session");
    return 0;
}

/* A plain file and nothing else: to open a pipe would wait for its other end. */
static FILE *open_plain(const char *name)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    FILE *f = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        f = fdopen(fd, "r");
    else
        errno = EINVAL;
    if (!f)
        close(fd);
    return f;
}

int store_manifest_read(const char *path, const char *id, struct store_manifest *m, struct err *err)
{
    char folder[PATH_BYTES], name[PATH_BYTES + 16];
    char *text = malloc(TEXT_MAX);
    struct json *doc = NULL;
    size_t len = 0;
    int rc = 0;
    FILE *f;

    memset(m, 0, sizeof(*m));
    if (!text)
        return err_set(err, ERR_MEMORY, "no memory for a session's meta file");
    folder_of(folder, path, id);
    snprintf(name, sizeof(name), "%s/meta.json", folder);
    f = open_plain(name);
    if (!f)
        rc = err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%.120s: %s", name,
                     strerror(errno));
    if (f && (len = fread(text, 1, TEXT_MAX, f)) == TEXT_MAX)
        rc = err_set(err, ERR_INPUT, "%.120s is too long", name);
    if (f && ferror(f))
        rc = err_set(err, ERR_IO, "%.120s: %s", name, strerror(errno));
    if (f)
        fclose(f);
    if (rc == 0 && !sum_holds(text, len))
        rc = err_set(err, ERR_INPUT, "%.120s is not what was written", name);
    if (rc == 0)
        rc = json_parse(&doc, text, len, 6, err);
    if (rc == 0)
        rc = decode(m, id, doc, err);
    json_free(&doc);
    free(text);
    return rc;
}

/* ------------------------------------------------------------------------- of a session */

int store_session_write(struct session *s, struct err *err)
{
    const struct session_setup *setup = session_setup(s);
    const struct session_disk *d = session_disk(s);
    struct store_manifest m;

    if (!d || atomic_load(&d->unwanted))
        return 0;
    memset(&m, 0, sizeof(m));
    memcpy(m.id, setup->id, sizeof(m.id));
    m.epoch = setup->epoch;
    m.rank = setup->rank;
    m.created_s = setup->created_s;
    snprintf(m.owner, sizeof(m.owner), "%s", tenant_name(setup->tenant));
    m.options = setup->options;
    memcpy(m.boot, d->store->boot, sizeof(m.boot));
    d->store->ops.origin(s, m.origin);
    m.n_tokens = session_get_tokens(s, m.tokens);
    m.closed = session_closing(s);
    session_get_next_places(s, &m.places);
    return store_manifest_write(journal_path(d->store->journal), &m, err);
}
