#include "tests/bench/support_paper.h"

#include "gpu/mono/fuse_point.h"

#include <stdlib.h>
#include <time.h>

struct paper_point {
    struct vec3 p;
    float c_c, w_a;
    int stable; /* 1, 0, or -1: removed */
    uint32_t born;
};

struct support_paper {
    struct fuse_params params;
    uint32_t capacity, length, frame; /* of P and M, whose entries are the same points */
    struct paper_point *P;
    int *Mx, *My;
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int support_paper_new(struct support_paper **out, uint32_t capacity,
                      const struct fuse_params *params, struct err *err)
{
    struct support_paper *p = calloc(1, sizeof *p);
    *out = p;
    if (!p)
        return err_set(err, ERR_MEMORY, "no memory");
    p->params = *params;
    p->capacity = capacity;
    p->P = malloc(capacity * sizeof *p->P);
    p->Mx = malloc(capacity * sizeof *p->Mx);
    p->My = malloc(capacity * sizeof *p->My);
    if (p->P && p->Mx && p->My)
        return 0;
    support_paper_free(out);
    return err_set(err, ERR_MEMORY, "no memory");
}

void support_paper_free(struct support_paper **out)
{
    struct support_paper *p = *out;
    if (p) {
        free(p->P);
        free(p->Mx);
        free(p->My);
        free(p);
    }
    *out = NULL;
}

/* Lines 8-9: "for j = 1 -> L ... if j in M", with the early end of Algorithm 3. */
static int search(const struct support_paper *p, int x, int y, uint64_t *n_compared)
{
    for (uint32_t i = 0; i < p->length; i++)
        if (p->Mx[i] == x && p->My[i] == y) {
            *n_compared += i + 1;
            return (int)i;
        }
    *n_compared += p->length;
    return -1;
}

/* Lines 13-19. */
static void update(struct support_paper *p, int j, struct vec3 p_i, float z)
{
    struct paper_point *q = &p->P[j];
    float w0 = p->params.w0, sum = q->w_a + w0, d = sqrtf(vec3_norm2(vec3_sub(p_i, q->p)));
    q->p = vec3_make((q->w_a * q->p.x + w0 * p_i.x) / sum, (q->w_a * q->p.y + w0 * p_i.y) / sum,
                     (q->w_a * q->p.z + w0 * p_i.z) / sum);
    q->c_c = (q->w_a * q->c_c + w0 * d) / sum;
    q->w_a = sum < p->params.w_max ? sum : p->params.w_max;
    q->stable = q->c_c < p->params.stable_rel * z;
}

/* Lines 22-23. */
static int insert(struct support_paper *p, int x, int y, struct vec3 p_i, float z, float weight)
{
    struct paper_point q = {p_i, p->params.initial_rel * z, weight, 0, p->frame};
    if (p->length == p->capacity)
        return 0;
    p->P[p->length] = q;
    p->Mx[p->length] = x;
    p->My[p->length] = y;
    p->length++;
    return 1;
}

/* Line 27, Algorithm 5. */
static uint32_t remove_unstable(struct support_paper *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->length; i++)
        if (p->P[i].stable == 0 && p->P[i].born < p->frame) {
            p->P[i].stable = -1;
            p->Mx[i] = -1;
            p->My[i] = -1;
            n++;
        }
    return n;
}

void support_paper_frame(struct support_paper *p, const float *depth, const struct camera *c,
                         const struct camera *keyframes, int n, struct support_paper_result *r)
{
    float radius_max = fuse_radius_max(c->K, c->w, c->h);
    uint32_t removed = 0;

    memset(r, 0, sizeof *r);
    p->frame++;
    for (int pixel = 0; pixel < c->w * c->h; pixel++) {
        int x = pixel % c->w, y = pixel / c->w;
        float z = depth[pixel], z_k;
        struct vec3 p_i = point_back_project(c, x, y, z);
        if (!(z >= p->params.min_depth_m && z <= p->params.max_depth_m))
            continue;
        for (int k = 0; k < n; k++) {
            uint32_t u_k;
            double t0 = now_us(), t1;
            int u, v, j;
            if (!point_project(&keyframes[k], p_i, &u_k, &z_k))
                continue;
            u = (int)u_k % c->w;
            v = (int)u_k / c->w;
            j = search(p, u, v, &r->n_compared);
            t1 = now_us();
            r->search_us += t1 - t0;
            if (j >= 0) {
                update(p, j, p_i, z);
                r->n_updated++;
            } else if (insert(p, u, v, p_i, z,
                              fuse_first_weight(x, y, c->K, radius_max, p->params.sigma))) {
                r->n_inserted++;
            } else {
                r->n_left_out++;
            }
            r->update_us += now_us() - t1;
        }
    }
    r->remove_us = now_us();
    r->n_removed = remove_unstable(p);
    r->remove_us = now_us() - r->remove_us;
    for (uint32_t i = 0; i < p->length; i++)
        removed += p->P[i].stable < 0;
    r->n_points = p->length - removed;
}
