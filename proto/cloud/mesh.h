/*
 * mesh.h - triangles out of a PLY or OBJ file
 *
 * Reading is bounded by the bytes that there are and by the limits below. Of an OBJ file the lines
 * `v` (three coordinates, more are passed over) and `f` count, with indices from 1 on or, if
 * negative, from the end; a face of more than three corners becomes a fan of triangles.
 * Units:   as the file has them
 */
#ifndef RECOND_PROTO_MESH_H
#define RECOND_PROTO_MESH_H

#include "proto/err.h"

#include <stddef.h>
#include <stdint.h>

#define MESH_POINTS_MAX (1 << 20)
#define MESH_TRIANGLES_MAX (1 << 20) /* limits of a file */
#define MESH_LINE_BYTES 4096         /* limit of a line in an OBJ file */

struct mesh {
    size_t n_points, n_triangles;
    float *xyz;       /* [n_points][3], finite */
    uint32_t *corner; /* [n_triangles][3] indices below n_points; each triangle has an area */
    size_t flat;      /* triangles of the file without an area, which were left out */
};

/*
 * mesh_read - the mesh of a file in memory
 *
 * In:      bytes [len]; scale: what coordinates are multiplied with
 * Out:     m; free it with mesh_free(), it is empty after an error
 * Returns: 0; ERR_INPUT: neither PLY nor OBJ, damaged, a coordinate that is no finite number, no
 *          triangle with an area; ERR_LIMIT; ERR_UNSUPPORTED; ERR_MEMORY
 */
MUST_CHECK int mesh_read(struct mesh *m, const uint8_t *bytes, size_t len, float scale,
                         struct err *err);
void mesh_free(struct mesh *m);

#endif
