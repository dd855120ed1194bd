/*
 * ply.h - binary little-endian PLY of a cloud: x y z float (metres), red green blue uchar,
 * confidence uchar
 *
 * Streaming: the header and any number of block bodies are produced into the caller's buffer, so
 *            that an
 * export of any size needs only a few kilobytes.
 */
#ifndef RECOND_PROTO_PLY_H
#define RECOND_PROTO_PLY_H

#include "proto/cloud.h"

#define PLY_POINT_BYTES 16
#define PLY_HEADER_MAX 512

/* Returns the length written to buf [PLY_HEADER_MAX]; comment lines name step, hash and frame. */
int ply_header(char *buf, uint64_t n_points, float step_m, uint64_t hash);
/* Points [first, first+n) of a block as PLY_POINT_BYTES each. */
void ply_points(uint8_t *out, const struct cloud_block *block, uint32_t first, uint32_t n,
                float step_m);

/* A whole cloud to a file (written beside it and renamed). Returns 0; ERR_IO. */
MUST_CHECK int ply_write_file(const char *path, const struct cloud *c, float step_m,
                              struct err *err);

/* A PLY of this layout (any order of float x y z and uchar red green blue) into arrays; free()
 * both. */
struct ply_cloud {
    size_t n;
    float *xyz;   /* [n][3] metres */
    uint8_t *rgb; /* [n][3] */
    int has_hash;
    uint64_t hash; /* of the comment that ply_header() writes */
};
MUST_CHECK int ply_read_file(const char *path, struct ply_cloud *out, struct err *err);
void ply_cloud_free(struct ply_cloud *p);

#endif
