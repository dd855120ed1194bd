/*
 * ply.h - binary little-endian PLY of a cloud: x y z float (metres), nx ny nz float (a unit
 * vector towards the cameras; 0 0 0 = not known), red green blue uchar, confidence uchar
 *
 * Streaming: the header and any number of block bodies are produced into the caller's buffer, so
 *            that an export of any size needs only a few kilobytes.
 * Frames:    the session's world, right-handed, which a comment names; `comment recond up +z` is
 *            its axis that points up
 * Units:     metres: (float)((double)grid point * (double)step_m)
 */
#ifndef RECOND_PROTO_PLY_H
#define RECOND_PROTO_PLY_H

#include "proto/cloud/cloud.h"

#define PLY_POINT_BYTES 28
#define PLY_HEADER_MAX 768

#define PLY_UP_CAP 3

struct ply_frame {
    float step_m;
    const char *up; /* "+x" ... "-z", or "" where it is not known */
    bool guessed;   /* poses are learned: the world is the camera of the first frame */
};

/* Returns the length written to buf [PLY_HEADER_MAX]. Comment lines name step, hash and frame. */
int ply_header(char *buf, uint64_t n_points, const struct ply_frame *frame, uint64_t hash);
/* Writes points [first, first+n) of a block, PLY_POINT_BYTES each; T is the submap's place, NULL =
 * none. */
void ply_points(uint8_t *out, const struct cloud_block *block, uint32_t first, uint32_t n,
                float step_m, const struct rigid *T);

/* Writes a whole cloud beside a file and renames it. Submaps lie where the cloud was told; with
 * `unplaced`, submaps without a place are written in their own coordinates instead of being left
 * out. Returns 0; ERR_IO. */
MUST_CHECK int ply_write_file(const char *path, const struct cloud *c,
                              const struct ply_frame *frame, bool unplaced, struct err *err);

/*
 * ply_read_file - the points of a PLY file of any program
 *
 * ascii, binary_little_endian and binary_big_endian; any order of properties and elements; whatever
 * else there is (normals, faces, lists) is skipped; x y z of any type; colours, where all three are
 * there, uchar, ushort (65535 = white) or float (1 = white); confidence of type uchar.
 *
 * Out:     out; free it with ply_cloud_free(), also after an error. Coordinates are as they are in
 *          the file, NaN and infinity too: the caller checks what it needs
 * Returns: 0; ERR_NOT_FOUND; ERR_IO: cannot be read, or is no plain file; ERR_INPUT: damaged, or
 *          shorter than its header says; ERR_LIMIT, ERR_UNSUPPORTED: see ply_layout.h; ERR_MEMORY
 * Cost:    memory 16 bytes a point that the file has room for, and 64 KiB
 */
struct ply_cloud {
    size_t n;
    float *xyz;          /* [n][3] metres */
    uint8_t *rgb;        /* [n][3]; grey without colours */
    uint8_t *confidence; /* [n]; NULL: the file has none */
    int has_colour;      /* the file has red, green and blue */
    int has_hash;
    uint64_t hash;       /* frame of the comment that ply_header() writes */
    char up[PLY_UP_CAP]; /* up axis of that comment; "" = the file does not say */
    size_t n_corners;
    uint32_t *corner; /* [n_corners]: three for each triangle, indices of points */
};
MUST_CHECK int ply_read_file(const char *path, struct ply_cloud *out, struct err *err);

/*
 * ply_read_mesh - the same from memory, with the faces that stand behind the points
 *
 * A face of more than three corners becomes a fan of triangles; one of fewer is none.
 * In:      bytes [len]; name, what an error calls them
 * Out:     out: corners too, each below n; none where the file has no faces
 * Returns: as ply_read_file(); ERR_INPUT: a corner is no point of the file; ERR_LIMIT: more than
 *          PLY_TRIANGLES_MAX triangles; ERR_UNSUPPORTED: the faces stand before the points
 */
#define PLY_TRIANGLES_MAX (1 << 20)
MUST_CHECK int ply_read_mesh(const uint8_t *bytes, size_t len, const char *name,
                             struct ply_cloud *out, struct err *err);
void ply_cloud_free(struct ply_cloud *p);

#endif
