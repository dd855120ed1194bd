/* bench_gpu_recognise.c - how well shapes are recognised: tensors one by one, and objects in
 * clutter
 *
 * Seven shapes, six views each in the library, unseen views, all with the noise of shape.h. VIEWS=6
 * says how many views of each shape are tried, SCENES=8 how many scenes, SEED=11 which, TENSORS=200
 * how many a picture has. SVG=file gets the table of what was taken for what as a picture.
 */
#include "tests/support/shape_case.h"
#include "tests/support/shape_random.h"

#define W 640
#define H 480

static struct object object[SHAPES];
static const struct object *objects[SHAPES];
static struct library library;

static int setting(const char *name, int standard)
{
    const char *value = getenv(name);
    return value && *value ? atoi(value) : standard;
}

static int die(const struct err *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

/* The object that a tensor looks like most; SHAPES: none. */
static int best_of(const uint64_t *best)
{
    uint64_t top = 0;
    int at = SHAPES;
    for (int o = 0; o < SHAPES; o++)
        if (best[o] > top) {
            top = best[o];
            at = o;
        }
    return at;
}

static void draw_view(struct shape_case *c, enum shape shape, uint32_t *lot, struct rigid *T_co)
{
    struct shape_place place = {shape, shape_put(360 * shape_uniform(lot), 0, 0, 0)};
    float azimuth = 360 * shape_uniform(lot), elevation = 15 + 35 * shape_uniform(lot);
    struct rigid T_wc =
        shape_around(vec3_make(0, 0, 0), azimuth, elevation, 0.7f + 0.2f * shape_uniform(lot));
    struct rigid T_cw = rigid_inverse(&T_wc);
    shape_draw(c->depth, NULL, W, H, shape_camera_of(W, H), &T_wc, &place, 1);
    shape_noise(c->depth, W * H, shape_draw_lot(lot));
    *T_co = rigid_mul(&T_cw, &place.T_wo);
}

/* What was taken for what, in percent of a row: a square each, the darker the more. */
static int draw_confusion(const char *path, int confusion[SHAPES][SHAPES + 1])
{
    FILE *f = fopen(path, "w");

    if (!f)
        return -1;
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 560 470\" "
               "font-family=\"sans-serif\" font-size=\"13\">\n"
               "<rect width=\"560\" height=\"470\" fill=\"#fff\"/>\n"
               "<text x=\"90\" y=\"20\">taken for, percent of the tensors of a shape</text>\n");
    for (int o = 0; o <= SHAPES; o++)
        fprintf(f, "<text x=\"%d\" y=\"46\" text-anchor=\"middle\">%s</text>\n", 118 + 56 * o,
                o < SHAPES ? shape_name[o] : "none");
    for (int s = 0; s < SHAPES; s++) {
        int n = 0;
        for (int o = 0; o <= SHAPES; o++)
            n += confusion[s][o];
        fprintf(f, "<text x=\"82\" y=\"%d\" text-anchor=\"end\">%s</text>\n", 88 + 56 * s,
                shape_name[s]);
        for (int o = 0; o <= SHAPES; o++) {
            double share = n ? (double)confusion[s][o] / n : 0;
            int grey = 250 - (int)(210 * share);
            fprintf(f,
                    "<rect x=\"%d\" y=\"%d\" width=\"54\" height=\"54\" "
                    "fill=\"rgb(%d,%d,%d)\"/>"
                    "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\">%.1f</text>\n",
                    91 + 56 * o, 56 + 56 * s, grey, grey, 250 - (int)(140 * share), 118 + 56 * o,
                    88 + 56 * s, share > 0.5 ? "#fff" : "#000", 100 * share);
        }
    }
    fprintf(f, "</svg>\n");
    return fclose(f);
}

static int single_views(struct shape_case *c, int views)
{
    int confusion[SHAPES][SHAPES + 1] = {{0}}, all = 0, right = 0, found = 0, tried = 0, false_ = 0;
    uint32_t lot = 7;

    for (int s = 0; s < SHAPES; s++)
        for (int v = 0; v < views; v++) {
            struct rigid T_co;
            draw_view(c, (enum shape)s, &lot, &T_co);
            shape_case_find(c, &library);
            for (uint32_t i = 0; i < *c->tensors.n_tensors; i++)
                if (c->tensors.tensor[i].n)
                    confusion[s][best_of(c->best + (size_t)i * SHAPES)]++;
            tried++;
            for (uint32_t i = 0; i < c->n_found; i++) {
                float degrees, metres;
                shape_off(&degrees, &metres, &c->found[i].T_co, &T_co);
                if (c->found[i].object == (uint32_t)s && degrees <= 3 && metres <= 0.01f)
                    found++;
                else
                    false_++;
            }
        }
    printf("%-10s", "");
    for (int o = 0; o < SHAPES; o++)
        printf("%9s", shape_name[o]);
    printf("     none\n");
    for (int s = 0; s < SHAPES; s++) {
        int n = 0;
        for (int o = 0; o <= SHAPES; o++)
            n += confusion[s][o];
        printf("%-10s", shape_name[s]);
        for (int o = 0; o <= SHAPES; o++)
            printf("%9.1f", n ? 100.0 * confusion[s][o] / n : 0.0);
        printf("\n");
        all += n;
        right += confusion[s][s];
    }
    if (getenv("SVG") && draw_confusion(getenv("SVG"), confusion))
        return die(&(struct err){.text = "SVG: cannot be written"});
    printf("tensors recognised, single views: %.1f %% of %d (paper 84)\n",
           all ? 100.0 * right / all : 0.0, all);
    printf("objects in single views, within 3 degrees and 1 cm: %d of %d, and %d others\n", found,
           tried, false_);
    return 0;
}

/* How high a shape's origin is when it stands on the table. */
static const float height[] = {0.075f, 0.053f, 0.06f, 0.105f, 0.1f, 0.121f, 0.069f};

#define ON_TABLE 6
static const enum shape strange[3] = {SHAPE_BALL, SHAPE_CAN, SHAPE_BOX};
static const float strange_height[3] = {0.06f, 0.07f, 0.06f};

/* A table with four shapes of the library and two that are not in it, in two rows. */
static void lay(struct shape_place place[ON_TABLE + 1], uint32_t *lot)
{
    uint32_t first = shape_draw_lot(lot) % SHAPES;
    for (uint32_t i = 0; i < ON_TABLE; i++) {
        enum shape shape = (enum shape)((first + i * 2) % SHAPES);
        float x = i < 3 ? 0.10f : -0.08f, y = 0.17f * ((float)(i % 3) - 1), z = height[shape];
        if (i == 1 || i == 2) {
            uint32_t k = shape_draw_lot(lot) % 3;
            shape = strange[k];
            z = strange_height[k];
        }
        x += 0.03f * (shape_uniform(lot) - 0.5f);
        y += (i < 3 ? 0.05f : 0) + 0.03f * (shape_uniform(lot) - 0.5f);
        place[i] = (struct shape_place){shape, shape_put(360 * shape_uniform(lot), x, y, z)};
    }
    place[ON_TABLE] = (struct shape_place){SHAPE_TABLE, rigid_identity()};
}

struct tally {
    int right, on_objects, all, present, found, near, near_found, false_;
};

/* Which of the answers is right for a shape that is there: -1 = none. */
static int answer_of(const struct shape_case *c, uint32_t shape, const struct rigid *T_co)
{
    for (uint32_t k = 0; k < c->n_found; k++) {
        float degrees, metres;
        shape_off(&degrees, &metres, &c->found[k].T_co, T_co);
        if (c->found[k].object == shape && degrees <= 3 && metres <= 0.01f)
            return (int)k;
    }
    return -1;
}

/* One scene: its tensors, and the objects that were found in it. */
static void judge(struct tally *t, const struct shape_case *c, const struct shape_place *place,
                  const int *owner, const int *seen, const int *alone, const struct rigid *T_wc)
{
    struct rigid T_cw = rigid_inverse(T_wc);
    uint8_t used[HYPOTHESES_MAX] = {0};
    int step = c->surface.step, w = c->surface.w;

    for (uint32_t i = 0; i < *c->tensors.n_tensors; i++) {
        const struct tensor *x = &c->tensors.tensor[i];
        int at =
            (int)(x->pixel[0] / (uint32_t)w) * step * W + (int)(x->pixel[0] % (uint32_t)w) * step;
        int shape = owner[at] >= 0 ? (int)place[owner[at]].shape : SHAPES;
        int best = best_of(c->best + (size_t)i * SHAPES);
        if (!x->n)
            continue;
        t->all++;
        t->on_objects += shape < SHAPES;
        t->right += shape < SHAPES && best == shape;
    }
    for (int i = 0; i < ON_TABLE; i++) {
        struct rigid T_co = rigid_mul(&T_cw, &place[i].T_wo);
        double hidden = alone[i] ? 1 - (double)seen[i] / alone[i] : 1;
        int at;
        if (place[i].shape >= SHAPES)
            continue;
        at = answer_of(c, place[i].shape, &T_co);
        if (at >= 0)
            used[at] = 1;
        t->present++;
        t->found += at >= 0;
        t->near += hidden < 0.6;
        t->near_found += hidden < 0.6 && at >= 0;
        printf("  %-9s %3.0f %% hidden: %s", shape_name[place[i].shape], 100 * hidden,
               at >= 0 ? "found" : "missed");
        if (at >= 0)
            printf(", score %.2f, support %.2f, %u votes", (double)c->found[at].score,
                   (double)c->found[at].support, c->found[at].votes);
        printf("\n");
    }
    for (uint32_t k = 0; k < c->n_found; k++)
        if (!used[k]) {
            t->false_++;
            printf("  %-9s is no such: score %.2f, support %.2f, %u points, %u votes\n",
                   shape_name[c->found[k].object], (double)c->found[k].score,
                   (double)c->found[k].support, c->found[k].points, c->found[k].votes);
        }
}

static int clutter(struct shape_case *c, int scenes)
{
    struct tally t = {0};
    int *owner = malloc(sizeof *owner * W * H);
    uint32_t lot = (uint32_t)setting("SEED", 11);

    for (int k = 0; owner && k < scenes; k++) {
        struct shape_place place[ON_TABLE + 1];
        int seen[ON_TABLE] = {0}, alone[ON_TABLE] = {0};
        struct rigid T_wc;
        lay(place, &lot);
        T_wc = shape_around(vec3_make(0, 0, 0.06f), 40 * (shape_uniform(&lot) - 0.5f),
                            25 + 15 * shape_uniform(&lot), 0.8f + 0.1f * shape_uniform(&lot));
        for (int i = 0; i < ON_TABLE; i++) {
            shape_draw(c->depth, owner, W, H, shape_camera_of(W, H), &T_wc, &place[i], 1);
            for (int at = 0; at < W * H; at++)
                alone[i] += owner[at] == 0;
        }
        shape_draw(c->depth, owner, W, H, shape_camera_of(W, H), &T_wc, place, ON_TABLE + 1);
        for (int at = 0; at < W * H; at++)
            if (owner[at] >= 0 && owner[at] < ON_TABLE)
                seen[owner[at]]++;
        shape_noise(c->depth, W * H, shape_draw_lot(&lot));
        shape_case_find(c, &library);
        printf("scene %d\n", k + 1);
        judge(&t, c, place, owner, seen, alone, &T_wc);
    }
    free(owner);
    printf(
        "tensors in clutter: %.1f %% of %d on objects of the library right (paper 82); %d in all\n",
        t.on_objects ? 100.0 * t.right / t.on_objects : 0.0, t.on_objects, t.all);
    printf("objects in clutter: %d of %d found, below 60 %% hidden %d of %d; %d wrong answers, "
           "precision %.1f %%\n",
           t.found, t.present, t.near_found, t.near, t.false_,
           t.found + t.false_ ? 100.0 * t.found / (t.found + t.false_) : 0.0);
    return 0;
}

int main(void)
{
    struct err err = {0};
    struct shape_case c;
    int rc;

    for (int s = 0; s < SHAPES; s++) {
        objects[s] = &object[s];
        if (shape_enrol(&object[s], (enum shape)s, W, H, TENSORS_MAX, &err))
            return die(&err);
    }
    if (library_new(&library, objects, SHAPES, &err))
        return die(&err);
    printf("library: %u tensors of %d shapes, %.1f MB\n", library.n_tensors, SHAPES,
           library.n_entries * 4e-6);
    if (shape_case_open(&c, W, H, &library, setting("TENSORS", 200), &err))
        return die(&err);
    rc = single_views(&c, setting("VIEWS", 6));
    if (rc == 0)
        rc = clutter(&c, setting("SCENES", 8));
    shape_case_close(&c);
    library_free(&library);
    for (int s = 0; s < SHAPES; s++)
        object_free(&object[s]);
    return rc;
}
