#include "tests/bench/support_landmarks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int support_landmarks_write(const char *path, const struct landmark_search_batch *b,
                            const struct landmark_search_landmark *start, struct err *err)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    fprintf(f, "%d %d %d\n", b->n_landmarks, b->n_cameras, b->n_observations);
    for (int i = 0; i < b->n_cameras; i++) {
        const struct landmark_search_camera *c = &b->camera[i];
        fprintf(f, "%.9g %.9g %.9g %.9g", (double)c->K.fx, (double)c->K.fy, (double)c->K.cx,
                (double)c->K.cy);
        for (int k = 0; k < 9; k++)
            fprintf(f, " %.9g", (double)c->T_cw.r[k]);
        for (int k = 0; k < 3; k++)
            fprintf(f, " %.9g", (double)c->T_cw.t[k]);
        fputc('\n', f);
    }
    for (int i = 0; i < b->n_landmarks; i++) {
        const struct landmark_search_landmark *m = &b->landmark[i];
        fprintf(f, "%.9g %.9g %.9g %u %.9g\n", (double)start[i].p.x, (double)start[i].p.y,
                (double)start[i].p.z, m->n, (double)m->residual_px);
        for (uint32_t k = m->first; k < m->first + m->n; k++)
            fprintf(f, "%u %.9g %.9g\n", b->observation[k].camera, (double)b->observation[k].x,
                    (double)b->observation[k].y);
    }
    return fclose(f) ? err_set(err, ERR_IO, "%s: %s", path, strerror(errno)) : 0;
}
