/*
 * quota.h - what the sessions of one token may hold together
 *
 * A line of the token file ends with the quotas that differ from the configuration's section
 * [quota]: `sessions=4,disk_bytes=10G`. recond reads them, `reconctl token` checks and writes them.
 */
#ifndef RECOND_API_QUOTA_H
#define RECOND_API_QUOTA_H

#include "proto/err.h"

#include <stdint.h>

#define QUOTA_TEXT_CAP 160

struct quota {
    int sessions;       /* that exist at once; this and all numbers below: 0 = any number */
    float frames_per_s; /* taken in; what comes faster is read later */
    uint64_t memory_bytes, disk_bytes; /* of all its sessions, of all their journals */
    int exports;                       /* being read at once */
    int net_pixels;                    /* of the networks' input, where a session asks for one */
    int retention_s;                   /* longest; -1 = for ever */
    int record;                        /* whether its sessions may have the option `record` */
};

extern const struct quota quota_none; /* nothing is bounded */

/*
 * quota_read - change the quotas that a text names
 *
 * In:      text: "name=value,...", names as in struct quota; K, M, G may follow a number of bytes
 * In/out:  q
 * Returns: 0; ERR_INPUT: what is wrong with which name, or which names there are
 */
MUST_CHECK int quota_read(struct quota *q, const char *text, struct err *err);

#endif
