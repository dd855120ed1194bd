/*
 * config_table.h - the table of configuration keys, and the conversion of one value
 */
#pragma once

#include "daemon/config.h"

enum config_type {
    CONFIG_TEXT,  /* char[max + 1], UTF-8 without control characters */
    CONFIG_INT,   /* int */
    CONFIG_BYTES, /* uint64_t; K, M, G = 2^10, 2^20, 2^30 */
    CONFIG_COUNT, /* uint32_t */
    CONFIG_REAL,  /* float */
    CONFIG_CHOICE /* int, first + index into names */
};

struct config_key {
    const char *section, *name;
    enum config_type type;
    size_t offset;            /* offset in struct config */
    double min, max;          /* range of the value; of the length for text */
    const char *const *names; /* CONFIG_CHOICE, NULL-terminated */
    int first;
    const char *standard; /* the default, in the file's syntax */
    bool reload;          /* SIGHUP applies it */
    const char *help;     /* one sentence */
};

/* Returns the i-th key, sections together; NULL past the end. */
bool config_table_at(struct config_key *key, int i);

/* Finds a key. NULL when there is none; *hint is the most similar key, or NULL. */
bool config_table_find(struct config_key *key, const char *section, const char *name,
                       const char **hint);

/* Converts and stores one value. Returns 0; ERR_INPUT saying what is allowed. */
MUST_CHECK int config_table_set(struct config *config, const struct config_key *key,
                                const char *value, struct err *err);

/* Writes the value in the file's syntax; buf [CONFIG_TEXT_CAP + 1]. */
void config_table_show(char *buf, const struct config *config, const struct config_key *key);
