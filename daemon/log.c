#include "daemon/log.h"

#include "daemon/clock.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_S 10
#define WINDOW_MESSAGES 20
#define EDGE_MESSAGES 400
#define LINE_CAP 2048

static enum config_log_format chosen = CONFIG_LOG_TEXT;
static atomic_int threshold = LOG_INFO;
static bool terminal;

/* systemd names the device and inode of the journal's socket; stderr may be another file now. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat st;

    return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void log_open(enum config_log_format format, int level)
{
    if (format == CONFIG_LOG_AUTO)
        format = stderr_is_journal() ? CONFIG_LOG_JOURNAL : CONFIG_LOG_TEXT;
    chosen = format;
    terminal = isatty(STDERR_FILENO);
    log_set_level(level);
}

void log_set_level(int level)
{
    atomic_store(&threshold, level);
}

/* Length of a valid UTF-8 sequence at p, else 0. Overlong forms and surrogates are invalid. */
static int utf8_length(const unsigned char *p)
{
    int n = p[0] < 0x80                   ? 1
            : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
            : (p[0] & 0xf0) == 0xe0       ? 3
            : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                          : 0;

    for (int i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((n == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0))) ||
        (n == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))))
        return 0;
    return n;
}

/* Returns the code point of a sequence of n bytes if it steers the program that shows it: C0 and C1
 * controls, line separators, marks that change the direction of writing. Else 0. */
static unsigned code_steers(const unsigned char *p, int n)
{
    unsigned c = n == 2   ? (p[0] & 31u) << 6 | (p[1] & 63u)
                 : n == 3 ? (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u)
                          : p[0];

    return n < 4 && (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
                     (c >= 0x2066 && c <= 0x2069))
               ? c
               : 0;
}

size_t log_escape(char *buf, size_t cap, const char *text, bool quotes)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t at = 0;

    while (*p && at + 7 < cap) {
        int n = utf8_length(p);
        unsigned c = n ? code_steers(p, n) : *p;
        if (quotes && (*p == '"' || *p == '\\')) {
            buf[at++] = '\\';
            buf[at++] = (char)*p++;
        } else if (c) {
            at += (size_t)snprintf(buf + at, 7, "\\u%04x", c);
            p += n ? n : 1;
        } else {
            memcpy(buf + at, p, (size_t)n);
            at += (size_t)n;
            p += n;
        }
    }
    buf[at] = '\0';
    return at;
}

/* May this call site log? *held is the number of messages that it held back before. */
static bool admit_site(struct log_site *site, int limit, int *held)
{
    long long window = (long long)(clock_us() / 1000000 / WINDOW_S) + 1;

    *held = 0;
    if (atomic_load(&site->window) != window) {
        atomic_store(&site->window, window);
        atomic_store(&site->count, 0);
        *held = atomic_exchange(&site->held_back, 0);
    }
    if (atomic_fetch_add(&site->count, 1) < limit)
        return true;
    atomic_fetch_add(&site->held_back, 1);
    return false;
}

static void write_text(int level, const char *text)
{
    static const char *const names[] = {"EMERG",   "ALERT",  "CRIT", "error",
                                        "warning", "notice", "info", "debug"};
    static const char *const colours[] = {"\33[31;1m", "\33[31;1m", "\33[31;1m", "\33[31m",
                                          "\33[33m",   "",          "",          "\33[2m"};
    char line[LINE_CAP], when[32];
    struct timespec now;
    struct tm tm;
    int n;

    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(when, sizeof(when), "%F %T", &tm);
    n = snprintf(line, sizeof(line), "%s%s.%03ld %-7s %s%s\n", terminal ? colours[level] : "", when,
                 now.tv_nsec / 1000000, names[level], text,
                 terminal && colours[level][0] ? "\33[0m" : "");
    if (n >= (int)sizeof(line)) {
        n = sizeof(line) - 1;
        line[n - 1] = '\n';
    }
    (void)!write(STDERR_FILENO, line, (size_t)n);
}

static void write_json(int level, const char *id, const char *fields, const char *text)
{
    char line[LINE_CAP], event[64] = "";
    struct timespec now;
    int n;

    clock_gettime(CLOCK_REALTIME, &now);
    if (id)
        snprintf(event, sizeof(event), ",\"message_id\":\"%s\"", id);
    n = snprintf(line, sizeof(line),
                 "{\"time\":%lld.%03ld,\"level\":%d,\"message\":\"%s\"%s%s%s}\n",
                 (long long)now.tv_sec, now.tv_nsec / 1000000, level, text, event,
                 fields ? ",\"fields\":" : "", fields ? fields : "");
    if (n >= (int)sizeof(line)) /* the details do not fit: the line goes without them */
        n = snprintf(line, sizeof(line),
                     "{\"time\":%lld.%03ld,\"level\":%d,\"message\":\"%.1800s\"}\n",
                     (long long)now.tv_sec, now.tv_nsec / 1000000, level, text);
    (void)!write(STDERR_FILENO, line, (size_t)n);
}

static void write_journal(int level, const char *id, const char *fields, const char *text)
{
    char message[LINE_CAP], priority[16], details[LINE_CAP], name[] = "SYSLOG_IDENTIFIER=recond";
    char event[64];
    struct iovec iov[5];
    int n = 3;

    snprintf(message, sizeof(message), "MESSAGE=%s", text);
    snprintf(priority, sizeof(priority), "PRIORITY=%d", level);
    iov[0] = (struct iovec){message, strlen(message)};
    iov[1] = (struct iovec){priority, strlen(priority)};
    iov[2] = (struct iovec){name, sizeof(name) - 1};
    if (id) {
        snprintf(event, sizeof(event), "MESSAGE_ID=%s", id);
        iov[n++] = (struct iovec){event, strlen(event)};
    }
    if (fields) {
        snprintf(details, sizeof(details), "RECOND_FIELDS=%s", fields);
        iov[n++] = (struct iovec){details, strlen(details)};
    }
    if (sd_journal_sendv(iov, n) < 0)
        write_text(level, text);
}

static void write_line(int level, const char *id, const char *fields, const char *plain, int held)
{
    char text[LINE_CAP - 256], safe[LINE_CAP / 2];
    size_t n = log_escape(text, sizeof(text) - 64, plain, chosen == CONFIG_LOG_JSON);

    /* JSON allows characters that steer a terminal, and half an object is not valid */
    if (fields && log_escape(safe, sizeof(safe), fields, false) + 7 >= sizeof(safe))
        fields = NULL;
    if (fields)
        fields = safe;
    if (held)
        snprintf(text + n, sizeof(text) - n, " (%d like this were held back)", held);
    if (chosen == CONFIG_LOG_JSON)
        write_json(level, id, fields, text);
    else if (chosen == CONFIG_LOG_JOURNAL)
        write_journal(level, id, fields, text);
    else
        write_text(level, text);
}

void log_event(struct log_site *site, int level, const char *id, const char *fmt, ...)
{
    char plain[1024];
    va_list args;
    int held;

    if (level > atomic_load(&threshold) || !admit_site(site, WINDOW_MESSAGES, &held))
        return;
    va_start(args, fmt);
    vsnprintf(plain, sizeof(plain), fmt, args);
    va_end(args);
    write_line(level, id, NULL, plain, held);
}

void log_edge(void *ctx, int level, const char *fields_json, const char *text)
{
    static struct log_site sites[LOG_DEBUG + 1];
    int held;

    (void)ctx;
    if (level < LOG_EMERG || level > LOG_DEBUG || level > atomic_load(&threshold) ||
        !admit_site(&sites[level], EDGE_MESSAGES, &held))
        return;
    write_line(level, NULL, fields_json, text, held);
}

void log_audit(void *ctx, const char *fields_json, const char *text)
{
    (void)ctx;
    write_line(LOG_NOTICE, NULL, fields_json, text, 0);
}
