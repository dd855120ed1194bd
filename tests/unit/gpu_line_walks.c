/*
 * gpu_line_walks - keyframes of a walk that is over become final in their own world, and points
 * that nothing measured are provisional
 */
#include "tests/support/views_line.h"
#include "tests/support/line_case.h"

#define W 96
#define H 72
#define FRAMES 32

/* What is swept, final or fused now has neighbours of its own walk alone. */
static void check_neighbours(const struct views *v)
{
    for (int k = 0; k < v->plan.n_sources; k++)
        assert_int_equal(v->kept[v->plan.source[k]].walk, v->kept[v->plan.swept].walk);
    for (int t = v->plan.final >= 0 ? VIEWS_FINAL : VIEWS_FRAME; t < VIEWS_TARGETS; t++)
        for (int k = 0; k < v->plan.n_pool[t]; k++)
            assert_int_equal(v->kept[v->plan.pool[t][k]].walk,
                             t == VIEWS_FINAL ? v->kept[v->plan.final].walk : v->strand[0].first);
}

LINE_TEST(keyframes_of_another_walk_are_no_neighbours)
{
    struct gpu_session_config c = views_line_config(W, H, 1);
    const struct views_strand *own = NULL;
    uint32_t n_pooled = 0;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < FRAMES; i++) {
        views_line_draw(&line, i);
        line.f.submap = i >= FRAMES / 3; /* another world; and where the phone was lost */
        line.f.breaks = i >= 2 * FRAMES / 3;
        views_line_step(&line);
        own = line.cpu->views->strand;
        check_neighbours(line.cpu->views);
        if (i == FRAMES / 3 || i == 2 * FRAMES / 3) {
            assert_int_equal(own->first + 1, own->n_taken);
            assert_memory_equal(line.cpu->views->target[VIEWS_FRAME].depth, line.depth,
                                W * H * sizeof *line.depth);
        }
        if (line.cpu->views->plan.final >= 0)
            n_pooled += (uint32_t)line.cpu->views->plan.n_pool[VIEWS_FINAL];
    }
    assert_true(own->n_final > 0 && n_pooled > 0);
}

/* Those that wait when another world begins are final within as many frames as they are, each once
 * and in its own world, and then the walk has left its places. */
LINE_TEST(a_walk_that_is_over_is_finished)
{
    struct gpu_session_config c = views_line_config(W, H, GPU_VIEWS_REFINED);
    uint32_t before = 0, waiting = 0, n_old = 0;
    const struct views *v;
    assert_int_equal(line_open(&line, &c), 0);
    v = line.cpu->views;
    for (int i = 0; i < FRAMES; i++) {
        int world = i >= FRAMES / 2, old;
        if (i == FRAMES / 2) {
            before = v->strand[0].n_taken;
            waiting = before - v->strand[0].n_final;
            assert_true(waiting > 4 && v->strand[0].n_swept < before);
        }
        views_line_draw(&line, i);
        line.f.submap = (uint32_t)(7 * world);
        views_line_step(&line);
        old = v->plan.final >= 0 && v->kept[v->plan.final].index < before;
        assert_int_equal(old, world && (uint32_t)(i - FRAMES / 2) < waiting);
        assert_int_equal(line.f.result.submap, world && !old ? 7 : 0);
        assert_int_equal(line.cpu->submap, line.f.submap);
        for (uint32_t k = 0; k < line.f.result.n_changes; k++)
            if (line.f.changes[k].kind == GPU_CHANGE_PUT)
                assert_int_equal(cell_submap(line.cpu->key[line.f.changes[k].slot]),
                                 line.f.result.submap);
        n_old += (uint32_t)old;
    }
    assert_int_equal(n_old, waiting);
    assert_int_equal(v->strand[0].first, before);
    for (uint32_t k = 0; k < v->n_places; k++)
        assert_true(v->kept[k].strand < 0 || v->kept[k].index >= before);
}

/* What one world leaves to another is finished too, if a third one begins meanwhile. */
LINE_TEST(walks_of_few_frames_are_finished_in_turn)
{
    struct gpu_session_config c = views_line_config(17, 16, GPU_VIEWS_GIVEN);
    const struct views_strand *own;
    uint32_t n_final = 0, worlds = 0;
    assert_int_equal(line_open(&line, &c), 0);
    own = line.cpu->views->strand;
    for (int i = 0; i < FRAMES; i++) {
        views_line_draw(&line, i);
        line.f.submap = (uint32_t)(i / 3);
        views_line_step(&line);
        check_neighbours(line.cpu->views);
        if (line.cpu->views->plan.final < 0)
            continue;
        n_final++;
        worlds |= 1u << line.f.result.submap;
    }
    assert_int_equal(own->n_final, n_final);
    assert_true(own->n_taken > FRAMES / 2 && own->n_taken - own->n_final <= 4);
    assert_int_equal(worlds & 0xffu, 0xffu);
}

static uint32_t n_provisional(const struct session_cpu *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_slots; i++)
        n += s->stat[i].state != POINT_FREE && s->stat[i].provisional;
    return n;
}

/* Before a keyframe is swept all points are provisional. The first final view that measurements
 * carry settles some: each of its pixels is on patrol for one. */
LINE_TEST(what_nothing_measured_is_provisional)
{
    struct gpu_session_config c = views_line_config(W, H, GPU_VIEWS_GIVEN);
    uint32_t before = 0, n_settled = 0;
    assert_int_equal(line_open(&line, &c), 0);
    for (int i = 0; i < FRAMES; i++) {
        views_line_draw(&line, i);
        views_line_step(&line);
        if (!n_settled && !line.cpu->view.settles && line.cpu->views->strand[0].n_swept == 0)
            assert_int_equal(n_provisional(line.cpu), line.cpu->n_points);
        if (line.cpu->view.settles && n_settled++ == 0) { /* by points that go, and begin anew */
            print_message("# %u provisional points, then %u\n", before, n_provisional(line.cpu));
            assert_true(n_provisional(line.cpu) + line.cpu->n_pixels / 2 < before);
        }
        before = n_provisional(line.cpu);
    }
    assert_true(n_settled > 1);
}
