#include "api/quota.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct quota quota_none = {.retention_s = -1, .record = 1};

enum quota_type { QUOTA_INT, QUOTA_REAL, QUOTA_BYTES, QUOTA_YES };

static const struct {
    const char *name;
    enum quota_type type;
    size_t offset;
    double min, max;
} rows[] = {
#define ROW(type, field, min, max)                            \
    {                                                         \
#field, type, offsetof(struct quota, field), min, max \
    }
    ROW(QUOTA_INT, sessions, 0, 100000),       ROW(QUOTA_REAL, frames_per_s, 0, 1e6),
    ROW(QUOTA_BYTES, memory_bytes, 0, 1e15),   ROW(QUOTA_BYTES, disk_bytes, 0, 1e15),
    ROW(QUOTA_INT, exports, 0, 256),           ROW(QUOTA_INT, net_pixels, 0, 1 << 22),
    ROW(QUOTA_INT, retention_s, -1, 31536000), ROW(QUOTA_YES, record, 0, 1),
};
#define N_ROWS (sizeof rows / sizeof rows[0])

static int name_unknown(const char *name, struct err *err)
{
    char names[160] = "";

    for (size_t i = 0; i < N_ROWS; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
                 rows[i].name);
    return err_set(err, ERR_INPUT, "'%.40s' is no quota; there are %s", name, names);
}

static bool parse(double *number, enum quota_type type, const char *value)
{
    static const char units[] = "KMG";
    const char *unit;
    char *end;

    if (type == QUOTA_YES) {
        *number = strcmp(value, "yes") == 0;
        return *number > 0 || strcmp(value, "no") == 0;
    }
    errno = 0;
    *number = type == QUOTA_REAL ? strtod(value, &end) : (double)strtoll(value, &end, 10);
    if (end == value || errno)
        return false;
    unit = type == QUOTA_BYTES && *end ? strchr(units, *end) : NULL;
    if (unit) {
        *number *= (double)(1ull << (10 * (unit - units + 1)));
        end++;
    }
    return *end == '\0';
}

static int quota_set_row(struct quota *q, size_t row, const char *value, struct err *err)
{
    void *field = (char *)q + rows[row].offset;
    double number;

    if (!parse(&number, rows[row].type, value) || !(number >= rows[row].min) ||
        !(number <= rows[row].max))
        return rows[row].type == QUOTA_YES
                   ? err_set(err, ERR_INPUT, "%s takes yes or no", rows[row].name)
                   : err_set(err, ERR_INPUT, "%s takes a number from %.15g to %.15g",
                             rows[row].name, rows[row].min, rows[row].max);
    if (rows[row].type == QUOTA_REAL)
        *(float *)field = (float)number;
    else if (rows[row].type == QUOTA_BYTES)
        *(uint64_t *)field = (uint64_t)number;
    else
        *(int *)field = (int)number;
    return 0;
}

int quota_read(struct quota *q, const char *text, struct err *err)
{
    char copy[QUOTA_TEXT_CAP], *save = NULL;
    int rc = 0;

    if (strlen(text) >= sizeof copy)
        return err_set(err, ERR_INPUT, "quotas take at most %zu characters", sizeof copy - 1);
    strcpy(copy, text);
    for (char *name = strtok_r(copy, ",", &save); name && rc == 0;
         name = strtok_r(NULL, ",", &save)) {
        char *value = strchr(name, '=');
        size_t i = 0;

        if (value)
            *value++ = '\0';
        while (i < N_ROWS && strcmp(rows[i].name, name) != 0)
            i++;
        rc = i == N_ROWS ? name_unknown(name, err) : quota_set_row(q, i, value ? value : "", err);
    }
    return rc;
}
