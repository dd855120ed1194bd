#include "gpu/views/fine_point.h"
#include "gpu/views/tell_point.h"

/* What a solution needs beside the nodes. */
struct scratch {
    float right[VIEWS_NODES], down[VIEWS_NODES];
    struct field_load load[VIEWS_NODES];
    uint32_t bins[VIEWS_BINS];
    float common;
};

static float single_at(const struct views *v, const struct views_frame *f, int target, uint32_t i)
{
    return target == VIEWS_FRAME ? f->depth[i]
                                 : views_decode(v->single[views_at(v, v->plan.final) + i]);
}

static void sample(struct views *v, const struct views_frame *f, int target, struct scratch *s)
{
    struct views_target *t = &v->target[target];

    memset(s->bins, 0, sizeof s->bins);
    for (uint32_t i = 0; i < v->n_pixels; i++) {
        t->share[i] = field_sample(v, target, i, single_at(v, f, target, i), &t->ratio[i]);
        if (t->share[i] > 0.0f)
            s->bins[field_bin(t->ratio[i])]++;
    }
    t->n_share = field_count(s->bins);
    t->sigma = field_sigma(s->bins, v->n_pixels);
    s->common = field_common(s->bins, v->n_pixels);
}

/* Nodes of one colour of a chequerboard depend on those of the other alone. */
static void relax(const struct views *v, float *nodes, const struct scratch *s)
{
    for (int i = 0; i < FIELD_SWEEPS; i++)
        for (int colour = 0; colour < 2; colour++)
            for (int y = 0; y < v->nodes_h; y++)
                for (int x = (y + colour) & 1; x < v->nodes_w; x += 2) {
                    int at = y * v->nodes_w + x;
                    nodes[at] =
                        field_relax(v, nodes, s->right, s->down, &s->load[at], s->common, x, y);
                }
}

static void solve(struct views *v, int target, const uint8_t *grey, struct scratch *s)
{
    struct views_target *t = &v->target[target];
    int n = v->nodes_w * v->nodes_h;

    for (int i = 0; i < n; i++) {
        t->nodes[i] = s->common;
        s->right[i] = field_tie(v, grey, i % v->nodes_w, i / v->nodes_w, 1, 0);
        s->down[i] = field_tie(v, grey, i % v->nodes_w, i / v->nodes_w, 0, 1);
    }
    for (int round = 0; round < FIELD_ROUNDS; round++) {
        for (int i = 0; i < n; i++)
            s->load[i] =
                field_gather(v, t, t->nodes, i % v->nodes_w, i / v->nodes_w, field_scatter(round));
        relax(v, t->nodes, s);
    }
}

void field_cpu(struct views *v, const struct views_frame *f)
{
    struct scratch s;

    for (int target = 0; target < VIEWS_TARGETS; target++) {
        if (!draw_is_wanted(v, target))
            continue;
        sample(v, f, target, &s);
        solve(v, target, target == VIEWS_FRAME ? v->grey_now : v->grey + views_at(v, v->plan.final),
              &s);
        for (uint32_t i = 0; i < v->n_pixels; i++)
            field_apply(v, target, i, single_at(v, f, target, i));
        if (target == VIEWS_FRAME) {
            v->told = tell_views(v, s.common);
            tell_length(v, s.common);
        }
    }
}

void field_guide_cpu(struct views *v)
{
    struct views_target *t = &v->target[VIEWS_FINAL];
    struct scratch s;

    memset(s.bins, 0, sizeof s.bins);
    for (uint32_t i = 0; i < v->n_pixels; i++) {
        t->share[i] = fine_sample(v, i, &t->ratio[i]);
        if (t->share[i] > 0.0f)
            s.bins[field_bin(t->ratio[i])]++;
    }
    s.common = field_common(s.bins, v->n_pixels);
    solve(v, VIEWS_FINAL, v->grey + views_at(v, v->plan.swept), &s);
    for (uint32_t i = 0; i < v->n_pixels; i++)
        t->depth[i] = fine_guide(v, t->nodes, i);
}
