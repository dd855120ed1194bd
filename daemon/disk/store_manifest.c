/* A session's meta.json: written beside and renamed, so that it is whole or not there. */
#include "daemon/disk/store_internal.h"

#include "daemon/disk/folder.h"
#include "daemon/log.h"
#include "daemon/session/places.h"
#include "daemon/session/session_ends.h"
#include "daemon/session/session_info.h"
#include "daemon/session/session_submaps.h"
#include "daemon/session/tenant.h"
#include "proto/crc32c.h"
#include "proto/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The format of a session's files. Format 1 had frames without parts, 2 frames without sources. */
#define VERSION 3
#define TEXT_MAX 65536
#define NAME_BYTES (API_ID_CAP + 16)

static void hex_put(char *out, const uint8_t *in, int n)
{
    for (int i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", in[i]);
}

static bool hex_get(uint8_t *out, const char *in, int n)
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

/* The text's last member is its own checksum: CRC-32C of all before it. */
#define SUM ",\"crc32c\":\"%08x\"}"
#define SUM_BYTES 21

/* In: the object, len bytes; 0 = it did not fit. Returns the new length, or 0. */
static size_t sum_append(char *buf, size_t cap, size_t len)
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

static void manifest_put_places(struct json_writer *w, const struct places *p)
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

static size_t manifest_encode(char *buf, size_t cap, const struct store_manifest *m)
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
        hex_put(text, m->tokens[i].sha256, 32);
        json_open_map(&w, NULL);
        json_put_i64(&w, "scope", m->tokens[i].scope);
        json_put_text(&w, "sha256", text);
        json_close(&w);
    }
    json_close(&w);
    manifest_put_places(&w, &m->places);
    json_close(&w);
    return sum_append(buf, cap, json_finish(&w));
}

static int store_manifest_write(int sessions, const struct store_manifest *m, struct err *err)
{
    char *text = malloc(TEXT_MAX);
    int dir, rc;
    size_t len;

    if (!text)
        return err_set(err, ERR_MEMORY, "no memory for a session's meta file");
    dir = folder_open_at(sessions, m->id);
    len = manifest_encode(text, TEXT_MAX, m);
    if (len == 0)
        rc = err_set(err, ERR_LIMIT, "a session's meta file is longer than %d bytes", TEXT_MAX);
    else if (dir < 0)
        rc = err_set(err, ERR_IO, "the folder of session %s: %s", m->id, strerror(errno));
    else
        rc = folder_replace(dir, "meta.part", "meta.json", text, len, err);
    if (dir >= 0)
        close(dir);
    free(text);
    return rc;
}

void store_manifest_remove(int sessions, const char *id)
{
    int dir = folder_open_at(sessions, id);

    if (dir < 0 || (renameat(dir, "meta.json", dir, STORE_GONE) && errno != ENOENT) || fsync(dir))
        LOG_AT(LOG_WARNING, "session %s: it may be back after a restart: %s", id, strerror(errno));
    if (dir >= 0)
        close(dir);
}

/* ------------------------------------------------------------------------- in */

/* Manifests of earlier versions lack some options, which get the values of that time. */
static void manifest_get_options(const struct json_at *root, struct session_options *o)
{
    struct json_at at;

    json_require(root, "options");
    if (!json_get_map(root, "options", &at))
        return;
    o->journal = SESSION_JOURNAL_SYNC;
    o->mode = SESSION_LIVE;
    o->fusion = SESSION_FUSION_PAPER;
    o->submap_m = 4; /* the default since the option exists */
    o->decode_scale = 1;
    o->views = SESSION_VIEWS_OFF;
    o->consistency = SESSION_CONSISTENCY_PAPER;
    session_options_read(o, &at, SESSION_OPTIONS_KEPT);
}

static void manifest_get_tokens(const struct json *root, struct store_manifest *m,
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
        m->n_tokens += hex_get(t->sha256, text, 32);
    }
}

/* Manifests of earlier builds lack these. */
static void manifest_get_places(const struct json *root, struct store_manifest *m,
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

static int manifest_decode(struct store_manifest *m, const char *id, const struct json *root,
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
    manifest_get_options(&at, &m->options);
    manifest_get_tokens(root, m, &issues);
    manifest_get_places(root, m, &issues);
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

int store_manifest_read(int sessions, const char *id, struct store_manifest *m, struct err *err)
{
    char name[NAME_BYTES], *text = malloc(TEXT_MAX);
    struct json *doc = NULL;
    uint64_t size = 0;
    int fd, rc = 0;

    memset(m, 0, sizeof(*m));
    if (!text)
        return err_set(err, ERR_MEMORY, "no memory for a session's meta file");
    snprintf(name, sizeof(name), "%.*s/meta.json", API_ID_CAP - 1, id);
    fd = folder_open_file(sessions, name, &size);
    if (fd < 0)
        rc =
            err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", name, strerror(errno));
    else if (size >= TEXT_MAX)
        rc = err_set(err, ERR_INPUT, "%s is too long", name);
    else if (folder_read(fd, text, (size_t)size, 0))
        rc = err_set(err, ERR_IO, "%s: %s", name, strerror(errno));
    else if (!sum_holds(text, (size_t)size))
        rc = err_set(err, ERR_INPUT, "%s is not what was written", name);
    if (fd >= 0)
        close(fd);
    if (rc == 0)
        rc = json_parse(&doc, text, (size_t)size, 6, err);
    if (rc == 0)
        rc = manifest_decode(m, id, doc, err);
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
    memcpy(m.origin, d->origin, sizeof(m.origin));
    m.n_tokens = session_get_tokens(s, m.tokens);
    m.closed = session_closing(s);
    session_get_next_places(s, &m.places);
    return store_manifest_write(journal_sessions(d->store->journal), &m, err);
}
