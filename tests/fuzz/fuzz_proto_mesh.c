/*
 * fuzz_proto_mesh - a stranger's PLY or OBJ file as a mesh
 *
 * Any bytes. What is accepted has finite points, corners that are points, and triangles with an
 * area, no more of either than the file has bytes; what is refused leaves nothing and says why.
 */
#include "proto/cloud/mesh.h"
#include "tests/support/fuzz_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct mesh m;

    if (mesh_read(&m, data, size, 0.01f, &err)) {
        check(!m.xyz && !m.corner && m.n_points == 0 && m.n_triangles == 0);
        check(err.code != 0 && err.text[0] != 0);
        return 0;
    }
    check(m.n_triangles > 0 && m.n_triangles + m.flat <= size && m.n_points <= size);
    for (size_t i = 0; i < 3 * m.n_points; i++)
        check(isfinite(m.xyz[i]));
    for (size_t i = 0; i < m.n_triangles; i++) {
        const uint32_t *c = m.corner + 3 * i;
        check(c[0] < m.n_points && c[1] < m.n_points && c[2] < m.n_points);
        check(c[0] != c[1] && c[1] != c[2] && c[2] != c[0]);
    }
    mesh_free(&m);
    return 0;
}
