/*
 * log.h - one line per event, to the journal, as text or as JSON; the only user of sd-journal
 *
 * Every call site may log 20 messages in 10 seconds, then is silent; the next message that passes
 * tells how many were held back. Text from outside is escaped, so that it cannot steer a terminal
 * or break a JSON line.
 * Threads: any; a line is one write.
 */
#pragma once

#include "daemon/config.h"
#include "daemon/log_events.h"

#include <stdatomic.h>
#include <syslog.h>

struct log_site {
    atomic_llong window; /* the ten-second window of `count` */
    atomic_int count, held_back;
};

/* Call it before threads start. `format` AUTO: the journal if stderr is connected to it,
 * else text. */
void log_open(enum config_log_format format, int level);
void log_set_level(int level);

/* Each call site has its own limit. An operator has to act on a message with an `id`
 * (log_events.h): in the journal the field MESSAGE_ID, in JSON the member message_id. NULL =
 * none. */
void log_event(struct log_site *site, int level, const char *id, const char *fmt, ...)
    ERR_PRINTF(4, 5);

#define LOG_EVENT(level, id, ...)                      \
    do {                                               \
        static struct log_site log_site_;              \
        log_event(&log_site_, level, id, __VA_ARGS__); \
    } while (0)
#define LOG_AT(level, ...) LOG_EVENT(level, NULL, __VA_ARGS__)

/* Messages that arrive through a callback are limited by level, to twenty times as many.
 * fields_json: a JSON object of details, or NULL. */
void log_edge(void *ctx, int level, const char *fields_json, const char *text);

/* Logs a line without a limit or a level. */
void log_audit(void *ctx, const char *fields_json, const char *text);

/*
 * log_escape - text that is safe on a terminal, and with `quotes` inside a JSON string too
 *
 * What is not UTF-8, C0 and C1 controls, line separators and marks that turn the direction of
 * writing become \u and four digits.
 * Out:     buf, NUL-terminated, cut where it does not fit; returns its length
 */
size_t log_escape(char *buf, size_t cap, const char *text, bool quotes);
