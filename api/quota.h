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
    int sessions;                      /* sessions at once. Here and below: 0 = any number */
    float frames_per_s;                /* accepted frames a second; frames beyond are read later */
    uint64_t memory_bytes, disk_bytes; /* bytes of all its sessions' journals */
    int exports;                       /* exports being read at once */
    int net_pixels;  /* largest input of the networks that a session may ask for */
    int retention_s; /* longest; -1 = for ever */
    int record;      /* its sessions may have the option `record` */
};

extern const struct quota quota_none; /* The quota without bounds. */

/*
 * quota_read - change the quotas that a text names
 *
 * In:      text: "name=value,...", names as in struct quota; K, M, G may follow a number of bytes
 * In/out:  q
 * Returns: 0; ERR_INPUT: what is wrong with which name, or which names there are
 */
MUST_CHECK int quota_read(struct quota *q, const char *text, struct err *err);

#endif
