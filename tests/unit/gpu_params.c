/*
 * gpu_params - tables of what stages were tuned with: our values are allowed, names are unique,
 * overrides land in the struct
 */
#include <string.h>

#include "gpu/recognise/recognise_params.h"
#include "gpu/tuning.h"
#include "gpu/views/contrast_point.h"
#include "tests/support/unit.h"

static void check_rows(const struct params_stage *s)
{
    for (int k = 0; k < s->n_rows; k++) {
        const struct params_row *r = &s->rows[k];
        if (!(r->standard >= r->min && r->standard <= r->max && r->max <= 1e12) || !r->meaning[0] ||
            !r->chosen_on[0])
            fail_msg("[%s] %s", s->name, r->name);
        for (int q = 0; q < k; q++)
            assert_string_not_equal(r->name, s->rows[q].name);
    }
}

TEST(test_rows)
{
    const struct params_stage *const others[] = {
        &recognise_params_surface, &recognise_params_tensor, &recognise_params_match,
        &recognise_params_hypothesis, &recognise_params_cloud};
    const struct params_stage *s;

    for (int i = 0; (s = tuning_stage_at(i)); i++)
        check_rows(s);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_rows(others[i]);
}

static void override_with(struct params_overrides *o, const char *name, const char *value)
{
    struct err err = {0};

    if (tuning_override(o, "views", name, value, &err))
        fail_msg("%s", err.text);
}

/* The last word on a number is the second network's, and of a sidecar its last line. */
TEST(test_overrides)
{
    struct params_overrides first = {0}, second = {0};
    struct views_params p;

    params_fill(&p, &views_params_stage, NULL, NULL);
    assert_true(p.sweep_peak == 5325 && p.agree_rel == 0.025f && p.final_frames == 40);
    override_with(&first, "sweep_peak", "1");
    override_with(&first, "sweep_peak", "4000");
    override_with(&first, "agree_rel", "0.03");
    override_with(&second, "agree_rel", "5e-2");
    assert_int_equal(first.n, 2);
    params_fill(&p, &views_params_stage, &first, NULL);
    assert_true(p.sweep_peak == 4000 && p.agree_rel == 0.03f && p.final_frames == 40);
    params_fill(&p, &views_params_stage, &first, &second);
    assert_true(p.sweep_peak == 4000 && p.agree_rel == 0.05f);
}

/* Half the gain: a pixel's contrast is half as far from the middle. */
TEST(test_result)
{
    const uint16_t level[4] = {0, 400, 400, 400};
    struct params_overrides o = {0};
    struct views_params ours, theirs;

    override_with(&o, "contrast_gain", "24");
    params_fill(&ours, &views_params_stage, NULL, NULL);
    params_fill(&theirs, &views_params_stage, &o, NULL);
    assert_int_equal(contrast_at(&ours, level, 2, 2, 0, 0), 47); /* 128 - 48 * 1200 / 708.8 */
    assert_int_equal(contrast_at(&theirs, level, 2, 2, 0, 0), 87);
}
