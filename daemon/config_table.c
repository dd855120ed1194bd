#include "daemon/config_table.h"

#include "daemon/session/session.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const auth_names[] = {"none", "token", NULL};
static const char *const yes_names[] = {"no", "yes", NULL};
static const char *const level_names[] = {"emerg",  "alert", "crit",  "error", "warning",
                                          "notice", "info",  "debug", NULL};
static const char *const format_names[] = {"auto", "text", "json", "journal", NULL};

#define AT(section, field) .offset = offsetof(struct config, section.field)
#define KEY(section_, field, standard_, reload_, help_) \
    .section = #section_, .name = #field, .standard = standard_, .reload = reload_, .help = help_

/* clang-format off */
#define TEXT(section_, field, ...) \
    {KEY(section_, field, __VA_ARGS__), AT(section_, field), .type = CONFIG_TEXT, \
     .max = sizeof(((struct config *)0)->section_.field) - 1}
#define NUMBER(type_, section_, field, lo, hi, ...) \
    {KEY(section_, field, __VA_ARGS__), AT(section_, field), .type = type_, .min = lo, .max = hi}
#define CHOICE(section_, field, names_, ...) \
    {KEY(section_, field, __VA_ARGS__), AT(section_, field), .type = CONFIG_CHOICE, .names = names_}
#define OPTIONS_OF_SESSIONS {.section = "session"}

static const struct config_key table[] = {
    TEXT(http, listen, "127.0.0.1", false,
         "Numeric address that the REST interface listens on"),
    NUMBER(CONFIG_INT, http, port, 0, 65535, "8700", false,
           "TCP port of the REST interface; 0 lets the system choose (see service.address_file)"),
    NUMBER(CONFIG_INT, http, header_timeout_s, 1, 300, "5", false,
           "Seconds that a client has for a whole request"),
    NUMBER(CONFIG_BYTES, http, max_body_bytes, 1024, 1 << 24, "64K", false,
           "Largest request body"),
    TEXT(stream, listen, "127.0.0.1", false,
         "Numeric address that the WebSocket interface listens on"),
    NUMBER(CONFIG_INT, stream, port, 0, 65535, "8701", false,
           "TCP port of the WebSocket interface; 0 lets the system choose"),
    TEXT(stream, public_url, "", false,
         "Prefix of the stream URLs given to clients; empty means ws://ADDRESS:PORT"),
    NUMBER(CONFIG_INT, stream, message_timeout_s, 1, 300, "10", false,
           "Seconds that a client has to complete a message"),
    NUMBER(CONFIG_INT, stream, ping_s, 1, 300, "3", false,
           "Seconds of silence after which a client is pinged"),
    NUMBER(CONFIG_INT, stream, hangup_s, 2, 900, "8", false,
           "Seconds of silence after which a client is given up"),
    CHOICE(auth, mode, auth_names, "none", false,
           "Who may call: anyone who can reach the socket, or holders of a token"),
    TEXT(auth, token_file, "", true,
         "File of hashed tokens, mode 0600, one a line: name scope sha256 [expiry] [quotas]"),
    TEXT(auth, origins, "", false,
         "Origins that pages may come from beside this host and loopback, separated by blanks"),
    TEXT(tls, cert_file, "", false,
         "PEM file of the server's certificate and its chain; empty means no TLS"),
    TEXT(tls, key_file, "", false,
         "PEM file of the certificate's private key, without a passphrase"),
    NUMBER(CONFIG_INT, limits, connections, 4, 100000, "1024", false,
           "Connections that may be open at once, of each interface"),
    NUMBER(CONFIG_INT, limits, per_address, 1, 100000, "128", false,
           "Connections that one address may hold, of each interface"),
    NUMBER(CONFIG_INT, limits, sessions, 1, 100000, "64", true,
           "Sessions that may exist at once"),
    NUMBER(CONFIG_COUNT, limits, max_points, 1000, 100000000, "8000000", true,
           "Largest point budget that a session may ask for"),
    NUMBER(CONFIG_INT, limits, blocks, 64, 4000000, "200000", false,
           "Blocks of space that a session's cloud may touch"),
    NUMBER(CONFIG_INT, limits, exports, 1, 256, "4", true,
           "Cloud exports that may be read at once"),
    NUMBER(CONFIG_INT, limits, viewers, 1, SESSION_VIEWERS_MAX, "64", true,
           "Clients that may watch a session at once; those that send frames have places of their "
           "own"),
    NUMBER(CONFIG_BYTES, limits, max_frame_bytes, 65536, 8388688, "2M", false,
           "Largest frame message: 80 bytes of header and the JPEG"),
    NUMBER(CONFIG_INT, limits, max_width, 32, 8192, "4096", false,
           "Widest JPEG in pixels"),
    NUMBER(CONFIG_INT, limits, max_height, 32, 8192, "4096", false,
           "Highest JPEG in pixels"),
    NUMBER(CONFIG_INT, limits, max_scans, 1, 500, "20", false,
           "Scans that a progressive JPEG may have"),
    NUMBER(CONFIG_INT, limits, net_pixels, 0, 4194304, "0", true,
           "Pixels of the largest input of networks that a session may ask for; 0 means 106496 on "
           "the CPU and 393216 on a GPU"),
    NUMBER(CONFIG_INT, limits, decode_ms, 10, 60000, "100", false,
           "Milliseconds that decoding one JPEG may be expected to take, by its headers and "
           "lengths"),
    NUMBER(CONFIG_INT, quota, sessions, 0, 100000, "16", true,
           "Sessions that may exist at once"),
    NUMBER(CONFIG_REAL, quota, frames_per_s, 0, 1e6, "0", true,
           "Frames a second that its sessions may send together; what comes faster is read later"),
    NUMBER(CONFIG_BYTES, quota, memory_bytes, 0, 1e15, "0", true,
           "Bytes that its sessions may hold together, on devices and beside them"),
    NUMBER(CONFIG_BYTES, quota, disk_bytes, 0, 1e15, "0", true,
           "Bytes that the journals of its sessions may take together"),
    NUMBER(CONFIG_INT, quota, exports, 0, 256, "2", true,
           "Cloud exports that it may read at once"),
    NUMBER(CONFIG_INT, quota, net_pixels, 0, 4194304, "0", true,
           "Pixels of the largest input of networks that a session may ask for"),
    NUMBER(CONFIG_INT, quota, retention_s, -1, 31536000, "604800", true,
           "Longest retention in seconds; -1 is for ever"),
    CHOICE(quota, record, yes_names, "no", true,
           "Whether its sessions may keep their whole journals (option record)"),
    NUMBER(CONFIG_INT, session, queue_frames, 2, 64, "8", true,
           "Frames that a session may have in flight; beyond it the oldest unused one is dropped"),
    NUMBER(CONFIG_INT, session, suspend_s, -1, 31536000, "300", true,
           "Seconds without a client after which a journalled session leaves its device; "
           "-1 is never"),
    OPTIONS_OF_SESSIONS,
    TEXT(journal, path, "", false,
         "Folder of the sessions' journals; empty means the service's state folder, "
         "or none without one"),
    NUMBER(CONFIG_INT, journal, threads, 0, 8, "0", false,
           "Threads that write journals; 0 means 4"),
    NUMBER(CONFIG_BYTES, journal, segment_bytes, 65536, 1 << 30, "64M", false,
           "Size at which a journal begins another file"),
    NUMBER(CONFIG_INT, journal, high_water, 1, 100, "90", false,
           "Percent of the journals' disk beyond which frames and sessions are refused"),
    NUMBER(CONFIG_BYTES, journal, max_bytes, 0, 1e15, "0", false,
           "Bytes that all journals may take together; 0 leaves only the disk's size"),
    NUMBER(CONFIG_INT, journal, checkpoint_frames, 0, 1000000, "300", true,
           "Frames of a session between two checkpoints; 0 makes them at suspension "
           "and stop alone"),
    TEXT(objects, path, "", false,
         "Folder of the objects that were enrolled; empty means objects in journal.path, else in "
         "the service's state folder, or none without one"),
    NUMBER(CONFIG_INT, objects, per_owner, 0, 1024, "64", false,
           "Objects that a token may have"),
    NUMBER(CONFIG_BYTES, objects, max_bytes, 4096, 64 << 20, "8M", false,
           "Largest file of an object"),
    NUMBER(CONFIG_BYTES, objects, request_bytes, 4096, 128 << 20, "32M", false,
           "Largest request body that brings pictures or a mesh"),
    TEXT(device, use, "auto", false,
         "Devices to compute on: auto, cpu, cuda (all of them), cuda:N, cuda:0,2"),
    NUMBER(CONFIG_INT, device, threads, 0, 1024, "0", false,
           "Threads of the CPU back end; 0 means one a core"),
    NUMBER(CONFIG_INT, device, batch, 0, 64, "0", false,
           "Frames of different sessions that a device works on together; 0 means 32, and 4 "
           "on the CPU"),
    NUMBER(CONFIG_INT, device, batch_wait_us, 0, 10000, "300", false,
           "Microseconds that a batch waits for frames that are being decoded"),
    TEXT(device, cache_path, "", false,
         "Folder for what a CUDA device measured of its networks; empty means the service's "
         "cache folder"),
    NUMBER(CONFIG_BYTES, device, memory_bytes, 0, 1e15, "0", true,
           "Bytes that the sessions of one device may hold; 0 means three quarters of its memory"),
    NUMBER(CONFIG_REAL, device, frames_per_s, 0, 1e6, "0", true,
           "Frames a second that the sessions of one device may ask for together; 0 is any number"),
    NUMBER(CONFIG_INT, decode, threads, 0, 64, "0", false,
           "Threads that decode JPEG; 0 means one a core, at most eight a device"),
    NUMBER(CONFIG_INT, decode, card_pixels, 0, 10000000, "300000", false,
           "Pictures of so many pixels are decoded by the JPEG engines of their GPU, if it has "
           "some; 0 means none"),
    TEXT(models, path,
         "/etc/recond/models:$ORIGIN/../share/recond/models:$ORIGIN/../../gpu/models:"
         "/usr/local/share/recond/models:/usr/share/recond/models",
         false,
         "Directories of networks, separated by colons; the first that names a model wins. $ORIGIN "
         "is the program's own directory"),
    CHOICE(log, level, level_names, "info", true,
           "Least important messages that are logged"),
    CHOICE(log, format, format_names, "auto", false,
           "How messages are written; auto is journal under systemd, else text"),
    NUMBER(CONFIG_INT, service, drain_s, 0, 600, "12", true,
           "Seconds that SIGTERM gives queues and clients to finish"),
    CHOICE(service, behind_proxy, yes_names, "no", false,
           "Whether a proxy that speaks TLS is in front: no TLS is needed off loopback, and "
           "clients are told apart by the last address of X-Forwarded-For"),
    TEXT(service, address_file, "", false,
         "File that gets the addresses when recond is ready: http=URL and stream=URL"),
};
/* clang-format on */

/* Returns the key of an option that has a default. */
static struct config_key option_key(const struct session_option *row)
{
    static const enum config_type types[] = {[SESSION_OPTION_INT] = CONFIG_INT,
                                             [SESSION_OPTION_COUNT] = CONFIG_COUNT,
                                             [SESSION_OPTION_REAL] = CONFIG_REAL,
                                             [SESSION_OPTION_TEXT] = CONFIG_TEXT,
                                             [SESSION_OPTION_WORD] = CONFIG_CHOICE};

    return (struct config_key){.section = "session",
                               .name = row->name,
                               .type = types[row->type],
                               .offset = offsetof(struct config, session.options) + row->offset,
                               .min = row->min,
                               .max = row->type == SESSION_OPTION_TEXT ? (double)row->size - 1
                                                                       : row->max,
                               .names = row->words,
                               .first = 1,
                               .standard = row->standard,
                               .reload = true,
                               .help = row->help};
}

bool config_table_at(struct config_key *key, int i)
{
    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
        for (int o = 0; !table[k].name && o < session_options_n; o++)
            if (session_options_table[o].standard && i-- == 0) {
                *key = option_key(&session_options_table[o]);
                return true;
            }
        if (table[k].name && i-- == 0) {
            *key = table[k];
            return true;
        }
    }
    return false;
}

/* The edit distance guesses which key a misspelt name meant. Names have at most 31 characters. */
static int edit_distance(const char *a, const char *b)
{
    int row[33], n = (int)strlen(b), diagonal, above;

    if (n > 32)
        return n;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            above = row[j];
            row[j] = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] > above + 1)
                row[j] = above + 1;
            if (row[j] > row[j - 1] + 1)
                row[j] = row[j - 1] + 1;
            diagonal = above;
        }
    }
    return row[n];
}

bool config_table_find(struct config_key *key, const char *section, const char *name,
                       const char **hint)
{
    static _Thread_local char guess[64];
    int best = 1000;

    *hint = NULL;
    for (int i = 0; config_table_at(key, i); i++) {
        int same = strcmp(key->section, section) == 0;
        int d = edit_distance(name, key->name) + (same ? 0 : edit_distance(section, key->section));

        if (same && strcmp(key->name, name) == 0)
            return true;
        if (d < best) {
            best = d;
            snprintf(guess, sizeof(guess), "%s.%s", key->section, key->name);
        }
    }
    if (best <= 4)
        *hint = guess;
    return false;
}

static int set_text(char *field, const struct config_key *key, const char *value, struct err *err)
{
    size_t len = strlen(value);

    if (len > (size_t)key->max)
        return err_set(err, ERR_INPUT, "%s.%s is %zu bytes long, at most %d are allowed",
                       key->section, key->name, len, (int)key->max);
    for (size_t i = 0; i < len; i++)
        if (iscntrl((unsigned char)value[i]))
            return err_set(err, ERR_INPUT, "%s.%s holds a control character", key->section,
                           key->name);
    memcpy(field, value, len + 1);
    return 0;
}

static int set_choice(int *field, const struct config_key *key, const char *value, struct err *err)
{
    char allowed[128] = "";

    for (int i = 0; key->names[i]; i++) {
        if (strcmp(value, key->names[i]) == 0) {
            *field = key->first + i;
            return 0;
        }
        if (i)
            strncat(allowed, ", ", sizeof(allowed) - strlen(allowed) - 1);
        strncat(allowed, key->names[i], sizeof(allowed) - strlen(allowed) - 1);
    }
    return err_set(err, ERR_INPUT, "%s.%s = '%.40s': allowed are %s", key->section, key->name,
                   value, allowed);
}

static int bad_number(const struct config_key *key, const char *value, struct err *err)
{
    const char *kind = key->type == CONFIG_REAL    ? "a number"
                       : key->type == CONFIG_BYTES ? "a whole number, K, M or G may follow,"
                                                   : "a whole number";

    return err_set(err, ERR_INPUT, "%s.%s = '%.40s': %s from %.15g to %.15g is allowed",
                   key->section, key->name, value, kind, key->min, key->max);
}

static const char units[] = "KMG";

static int parse_number(double *out, const struct config_key *key, const char *value)
{
    char *end;

    errno = 0;
    if (key->type == CONFIG_REAL)
        *out = strtod(value, &end);
    else
        *out = (double)strtoll(value, &end, 10);
    if (end == value || errno || !isfinite(*out))
        return -1;
    if (key->type == CONFIG_BYTES && *end) {
        const char *unit = strchr(units, *end);
        if (!unit)
            return -1;
        *out *= (double)(1ull << (10 * (unit - units + 1)));
        end++;
    }
    return *end || *out < key->min || *out > key->max ? -1 : 0;
}

int config_table_set(struct config *config, const struct config_key *key, const char *value,
                     struct err *err)
{
    void *field = (char *)config + key->offset;
    double number;

    if (key->type == CONFIG_TEXT)
        return set_text(field, key, value, err);
    if (key->type == CONFIG_CHOICE)
        return set_choice(field, key, value, err);
    if (parse_number(&number, key, value))
        return bad_number(key, value, err);
    if (key->type == CONFIG_INT)
        *(int *)field = (int)number;
    else if (key->type == CONFIG_REAL)
        *(float *)field = (float)number;
    else if (key->type == CONFIG_COUNT)
        *(uint32_t *)field = (uint32_t)number;
    else
        *(uint64_t *)field = (uint64_t)number;
    return 0;
}

void config_table_show(char *buf, const struct config *config, const struct config_key *key)
{
    const void *field = (const char *)config + key->offset;
    size_t cap = CONFIG_TEXT_CAP + 1;
    uint64_t n;

    switch (key->type) {
    case CONFIG_TEXT:
        snprintf(buf, cap, "%s", (const char *)field);
        break;
    case CONFIG_CHOICE:
        snprintf(buf, cap, "%s", key->names[*(const int *)field - key->first]);
        break;
    case CONFIG_INT:
        snprintf(buf, cap, "%d", *(const int *)field);
        break;
    case CONFIG_REAL:
        for (int digits = 6; digits <= 9; digits++) {
            snprintf(buf, cap, "%.*g", digits, (double)*(const float *)field);
            if (strtof(buf, NULL) == *(const float *)field)
                break;
        }
        break;
    case CONFIG_COUNT:
        snprintf(buf, cap, "%u", *(const uint32_t *)field);
        break;
    case CONFIG_BYTES:
        n = *(const uint64_t *)field;
        if (n && n % (1u << 20) == 0)
            snprintf(buf, cap, "%lluM", (unsigned long long)(n >> 20));
        else if (n && n % 1024 == 0)
            snprintf(buf, cap, "%lluK", (unsigned long long)(n >> 10));
        else
            snprintf(buf, cap, "%llu", (unsigned long long)n);
        break;
    }
}
