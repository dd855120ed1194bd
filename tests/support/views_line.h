/*
 * views_line.h - the line with depth out of many views, one call a frame of the walk of
 * views_case.h
 */
#ifndef RECOND_TESTS_SUPPORT_VIEWS_LINE_H
#define RECOND_TESTS_SUPPORT_VIEWS_LINE_H

#include "tests/support/line.h"
#include "tests/support/views_case.h"
#include "tests/support/unit.h"

static inline struct gpu_session_config views_line_config(int w, int h, int views)
{
    struct gpu_session_config c = line_config(w, h);
    fuse_params_cells(&c.fuse);
    c.views = views;
    return c;
}

static inline void views_line_draw(struct line *l, int i)
{
    struct views_case c = {.w = l->w, .h = l->h, .depth = l->depth, .rgb = l->rgb};
    c.truth = malloc((size_t)l->w * (size_t)l->h * sizeof *c.truth);
    assert_non_null(c.truth);
    views_case_draw(&c, i, 1.2f);
    l->K = c.frame.K;
    line_set_frame(l, &c.frame.T_wc);
    free(c.truth);
}

static inline void views_line_step(struct line *l)
{
    struct gpu_item *item = &l->f.item;
    assert_int_equal(session_cpu_put_depth(l->s, l->depth, NULL), 0);
    assert_int_equal(gpu_submit(l->g, &gpu_line_mono, &item, 1, NULL), 0);
    assert_int_equal(gpu_wait(l->g, &item, 1, NULL), 0);
}

#endif
