#include "gpu/views/fine_point.h"
#include "gpu/views/pose_check_point.h"

static float single_at(const struct views *v, const struct views_frame *f, int target, uint32_t i)
{
    return target == VIEWS_FRAME ? f->depth[i]
                                 : views_decode(v->single[views_at(v, v->plan.final) + i]);
}

/* Counts what the target's pixels say. */
static void field_count_ratios(const struct views *v, struct views_target *t)
{
    memset(t->bins, 0, VIEWS_BINS * sizeof *t->bins);
    for (uint32_t i = 0; i < v->n_pixels; i++)
        if (t->share[i] > 0.0f)
            t->bins[field_bin(t->ratio[i])]++;
    t->n_share = field_count(t->bins);
    t->sigma = field_sigma(v, t->bins);
    t->common = field_common(v, t->bins);
}

static struct views_load field_gather(const struct views *v, const struct views_target *t, int nx,
                                      int ny, float scatter)
{
    const struct field_around a = field_around(v, nx, ny);
    struct views_load sum = {0.0f, 0.0f};

    for (int y = a.y; y < a.y + a.h; y++)
        for (int x = a.x; x < a.x + a.w; x++) {
            struct views_load l = field_pull(v, t, nx, ny, x, y, scatter);
            sum.weight += l.weight;
            sum.sum += l.sum;
        }
    return sum;
}

/* Nodes form a chequerboard: those of one colour depend only on those of the other. */
static void relax(const struct views *v, struct views_target *t)
{
    struct field_stand stand[VIEWS_NODES];
    float room[3 * VIEWS_NODES] = {0}, *nodes = room + VIEWS_NODES; /* a row either side */
    int w = v->nodes_w, n = w * v->nodes_h;

    memcpy(nodes, t->nodes, (size_t)n * sizeof *nodes);
    for (int i = 0; i < n; i++)
        stand[i] = field_stand(v, t, i % w, i / w);
    for (int k = 0; k < FIELD_SWEEPS; k++)
        for (int colour = 0; colour < 2; colour++)
            for (int y = 0; y < v->nodes_h; y++)
                for (int x = (y + colour) & 1; x < w; x += 2) {
                    int i = y * w + x;
                    nodes[i] = field_relax(&stand[i], nodes[i], &nodes[i], w);
                }
    memcpy(t->nodes, nodes, (size_t)n * sizeof *nodes);
}

static void field_solve(const struct views *v, struct views_target *t, const uint8_t *grey)
{
    int w = v->nodes_w, n = w * v->nodes_h;

    for (int i = 0; i < n; i++) {
        t->nodes[i] = t->common;
        t->right[i] = field_tie(v, grey, i % w, i / w, 1, 0);
        t->down[i] = field_tie(v, grey, i % w, i / w, 0, 1);
    }
    for (int round = 0; round < FIELD_ROUNDS; round++) {
        for (int i = 0; i < n; i++)
            t->load[i] = field_gather(v, t, i % w, i / w, field_scatter(v, round));
        relax(v, t);
    }
}

static void correct(struct views *v, const struct views_frame *f, int target)
{
    struct views_target *t = &v->target[target];

    for (uint32_t i = 0; i < v->n_pixels; i++)
        t->share[i] = field_sample(v, target, i, single_at(v, f, target, i), &t->ratio[i]);
    field_count_ratios(v, t);
    field_solve(v, t, target == VIEWS_FRAME ? v->grey_now : v->grey + views_at(v, v->plan.final));
    for (uint32_t i = 0; i < v->n_pixels; i++)
        field_apply(v, target, i, single_at(v, f, target, i));
}

void field_cpu(struct views *v, const struct views_frame *f)
{
    const struct views_target *frame = &v->target[VIEWS_FRAME];

#pragma omp parallel for schedule(dynamic)
    for (int target = 0; target < VIEWS_TARGETS; target++)
        if (draw_is_wanted(v, target))
            correct(v, f, target);
    if (draw_is_wanted(v, VIEWS_FRAME)) {
        v->told = pose_check_views(v, frame->common);
        pose_check_length(v, frame->common);
    }
}

void field_guide_cpu(struct views *v)
{
    struct views_target *t = &v->target[VIEWS_FINAL];

    for (uint32_t i = 0; i < v->n_pixels; i++)
        t->share[i] = fine_sample(v, i, &t->ratio[i]);
    field_count_ratios(v, t);
    field_solve(v, t, v->grey + views_at(v, v->plan.swept));
    for (uint32_t i = 0; i < v->n_pixels; i++)
        t->depth[i] = fine_guide(v, t->nodes, i);
}
