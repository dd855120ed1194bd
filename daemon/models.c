#include "daemon/models.h"

#include "daemon/ini.h"
#include "gpu/net/net.h"
#include "gpu/tuning.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ORIGIN "$ORIGIN"

struct models {
    int n;
    struct gpu_model_info infos[MODELS_MAX];
    uint64_t weights[MODELS_MAX];
    const struct gpu_model_info *standard[2]; /* by kind */
};

/* ------------------------------------------------------------------------- sidecars */

enum field_type { FIELD_TEXT, FIELD_REALS, FIELD_INT, FIELD_CHOICE };

static const char *const kind_names[] = {"depth", "motion", NULL};
static const char *const rays_names[] = {"no", "yes", NULL};
static const char *const output_names[] = {"depth", "inverse_depth", "disparity", "log_depth",
                                           NULL};

#define FIELD(member) offsetof(struct gpu_model_info, member)
/* clang-format off */
static const struct field {
    const char *name;
    enum field_type type;
    size_t offset;
    int n;            /* bytes of a text, or number of reals */
    double min, max;
    const char *const *names;
} fields[] = {
    {"kind", FIELD_CHOICE, FIELD(kind), 0, 0, 0, kind_names},
    {"name", FIELD_TEXT, FIELD(name), GPU_NAME_CAP, 0, 0, NULL},
    {"file", FIELD_TEXT, FIELD(path), GPU_PATH_CAP, 0, 0, NULL},
    {"input", FIELD_TEXT, FIELD(input), GPU_NAME_CAP, 0, 0, NULL},
    {"output_name", FIELD_TEXT, FIELD(output_name), GPU_NAME_CAP, 0, 0, NULL},
    {"mean", FIELD_REALS, FIELD(mean), 3, -1e3, 1e3, NULL},
    {"std", FIELD_REALS, FIELD(std), 3, 1e-6, 1e3, NULL},
    {"output", FIELD_CHOICE, FIELD(output), 0, 0, 0, output_names},
    {"disparity_range", FIELD_REALS, FIELD(disparity_range_m), 2, 1e-3, 1e5, NULL},
    {"focal_px", FIELD_REALS, FIELD(focal_px), 1, 0, 1e5, NULL},
    {"min_depth_m", FIELD_REALS, FIELD(min_depth_m), 1, 1e-3, 1e4, NULL},
    {"max_depth_m", FIELD_REALS, FIELD(max_depth_m), 1, 1e-3, 1e5, NULL},
    {"rays", FIELD_CHOICE, FIELD(rays), 0, 0, 0, rays_names},
    {"multiple", FIELD_INT, FIELD(multiple), 0, 1, 256, NULL},
    {"licence", FIELD_TEXT, FIELD(licence), GPU_NAME_CAP, 0, 0, NULL},
};
/* clang-format on */
#define FIELDS (int)(sizeof(fields) / sizeof(fields[0]))

static int set_reals(float *out, const struct field *f, const char *value, struct err *err)
{
    const char *at = value;
    char *end;

    for (int i = 0; i < f->n; i++) {
        double v = strtod(at, &end);
        if (end == at || !isfinite(v) || v < f->min || v > f->max)
            return err_set(err, ERR_INPUT, "%s = '%.40s': %d numbers from %g to %g are allowed",
                           f->name, value, f->n, f->min, f->max);
        out[i] = (float)v;
        at = end + strspn(end, " ,");
    }
    return *at ? err_set(err, ERR_INPUT, "%s = '%.40s': more than %d numbers", f->name, value, f->n)
               : 0;
}

static int set_int(int *out, const struct field *f, const char *value, struct err *err)
{
    char *end;
    long v = strtol(value, &end, 10);

    if (end == value || *end || v < (long)f->min || v > (long)f->max)
        return err_set(err, ERR_INPUT, "%s = '%.40s': a whole number from %g to %g is allowed",
                       f->name, value, f->min, f->max);
    *out = (int)v;
    return 0;
}

static int set_choice(void *out, const struct field *f, const char *value, struct err *err)
{
    char allowed[80] = "";

    for (int i = 0; f->names[i]; i++) {
        if (strcmp(value, f->names[i]) == 0) {
            memcpy(out, &i, sizeof(i)); /* an enum of gpu.h has the size of an int */
            return 0;
        }
        snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s%s",
                 i ? ", " : "", f->names[i]);
    }
    return err_set(err, ERR_INPUT, "%s = '%.40s': allowed are %s", f->name, value, allowed);
}

static int on_pair(void *ctx, const char *section, const char *name, const char *value,
                   struct err *err)
{
    char *info = ctx;

    if (strcmp(section, "model") != 0)
        return tuning_override(&((struct gpu_model_info *)ctx)->overrides, section, name, value,
                               err);
    for (const struct field *f = fields; f < fields + FIELDS; f++) {
        if (strcmp(name, f->name) != 0)
            continue;
        if (f->type == FIELD_REALS)
            return set_reals((float *)(void *)(info + f->offset), f, value, err);
        if (f->type == FIELD_INT)
            return set_int((int *)(void *)(info + f->offset), f, value, err);
        if (f->type == FIELD_CHOICE)
            return set_choice(info + f->offset, f, value, err);
        if (strlen(value) >= (size_t)f->n)
            return err_set(err, ERR_INPUT, "%s is longer than %d bytes", name, f->n - 1);
        memcpy(info + f->offset, value, strlen(value) + 1);
        return 0;
    }
    return err_set(err, ERR_INPUT, "unknown key '%.40s'; docs/MODELS.md, \"Sidecar\", lists them",
                   name);
}

static void model_set_defaults(struct gpu_model_info *info)
{
    *info = (struct gpu_model_info){.std = {1, 1, 1},
                                    .disparity_range_m = {0.1f, 100},
                                    .min_depth_m = 0.05f,
                                    .max_depth_m = 200,
                                    .multiple = 32};
}

static int model_check(const struct gpu_model_info *info, const char *where, struct err *err)
{
    if (info->min_depth_m >= info->max_depth_m)
        return err_at(err, ERR_INPUT, where, "min_depth_m must be below max_depth_m");
    if (info->disparity_range_m[0] >= info->disparity_range_m[1])
        return err_at(err, ERR_INPUT, where, "disparity_range: the first must be below the second");
    if (strchr(info->path, '/'))
        return err_at(err, ERR_INPUT, where,
                      "file names a file beside the sidecar, without a folder");
    return 0;
}

int models_parse(struct gpu_model_info *info, const char *name, const char *data, size_t len,
                 struct err *err)
{
    int rc;

    model_set_defaults(info);
    rc = ini_read_bytes(name, data, len, on_pair, info, err);
    return rc ? rc : model_check(info, name, err);
}

/* ------------------------------------------------------------------------- directories */

/* Parses one sidecar, then reads and checks its network. */
static int add_model(struct models *m, const char *dir, const char *file, struct err *err)
{
    struct gpu_model_info *info = &m->infos[m->n];
    int stem = (int)strlen(file) - 4, rc;
    char path[GPU_PATH_CAP], own[GPU_PATH_CAP];
    struct net_limits limits;
    struct net *net = NULL;

    if (stem < 1 || stem >= GPU_NAME_CAP || strlen(dir) + strlen(file) + 80 > sizeof(path))
        return err_at(err, ERR_LIMIT, file, "the path or the name is too long");
    if (m->n == MODELS_MAX)
        return err_at(err, ERR_LIMIT, dir, "more than %d networks", MODELS_MAX);
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    model_set_defaults(info);
    rc = ini_read(path, on_pair, info, err);
    if (rc == 0)
        rc = model_check(info, path, err);
    if (rc)
        return rc;
    if (info->name[0] && (strlen(info->name) != (size_t)stem || strncmp(info->name, file, stem)))
        return err_at(err, ERR_INPUT, path, "name = '%s', but a network is named by its file: %.*s",
                      info->name, stem, file);
    snprintf(info->name, sizeof(info->name), "%.*s", stem, file);
    snprintf(own, sizeof(own), "%s/%.*s.onnx", dir, stem, file);
    if (info->path[0] &&
        (size_t)snprintf(own, sizeof(own), "%s/%.200s", dir, info->path) >= sizeof(own))
        return err_at(err, ERR_LIMIT, path, "the path of the network is too long");
    memcpy(info->path, own, sizeof(own));
    net_limits_default(&limits);
    rc = net_load(&net, info->path, info->input, info->output_name, &limits, err);
    if (rc)
        return rc;
    m->weights[m->n++] = net_weight_count(net);
    net_free(&net);
    return 0;
}

static bool model_is_known(const struct models *m, const char *file)
{
    size_t stem = strlen(file) - 4;

    for (int i = 0; i < m->n; i++)
        if (strlen(m->infos[i].name) == stem && strncmp(m->infos[i].name, file, stem) == 0)
            return true;
    return false;
}

static int is_sidecar(const struct dirent *e)
{
    size_t n = strlen(e->d_name);

    return e->d_name[0] != '.' && n > 4 && strcmp(e->d_name + n - 4, ".ini") == 0;
}

static int add_directory(struct models *m, const char *dir, struct err *err)
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, is_sidecar, alphasort), rc = 0;

    if (n < 0)
        return errno == ENOENT ? 0
                               : err_at(err, ERR_IO, dir, "cannot be listed: %s", strerror(errno));
    for (int i = 0; i < n; i++) {
        if (rc == 0 && !model_is_known(m, entries[i]->d_name))
            rc = add_model(m, dir, entries[i]->d_name, err);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static int choose_standard(struct models *m, enum gpu_model_kind kind, const char *name,
                           const char *path, struct err *err)
{
    for (int i = 0; i < m->n; i++)
        if (m->infos[i].kind == kind && (!name[0] || strcmp(m->infos[i].name, name) == 0) &&
            (!m->standard[kind] || strcmp(m->infos[i].name, m->standard[kind]->name) < 0))
            m->standard[kind] = &m->infos[i];
    if (m->standard[kind] || (kind == GPU_MODEL_MOTION && !name[0]))
        return 0;
    return err_at(err, ERR_NOT_FOUND, "models.path", "no %s network%s%s in %.120s",
                  kind_names[kind], name[0] ? " named " : "", name, path);
}

/* Replaces $ORIGIN at the front by the program's directory: a program that was just built, or is
 * installed below any prefix, finds the networks that lie with it. */
static int path_locate(char out[GPU_PATH_CAP], const char *dir, struct err *err)
{
    size_t n = strlen(ORIGIN);
    char own[GPU_PATH_CAP] = "";

    if (strncmp(dir, ORIGIN, n) == 0) {
        if (readlink("/proc/self/exe", own, sizeof(own) - 1) <= 0 || !strrchr(own, '/'))
            return err_at(err, ERR_IO, dir, "the program's own directory is not known");
        *strrchr(own, '/') = '\0';
        dir += n;
    }
    if (snprintf(out, GPU_PATH_CAP, "%s%s", own, dir) >= GPU_PATH_CAP)
        return err_at(err, ERR_LIMIT, dir, "the path is too long");
    return 0;
}

int models_open(struct models **models, const char *path, const char *depth, const char *motion,
                struct err *err)
{
    struct models *m = calloc(1, sizeof(*m));
    char dirs[1024], place[GPU_PATH_CAP], *save = NULL;
    int rc = 0;

    *models = NULL;
    if (!m)
        return err_set(err, ERR_MEMORY, "no memory for the list of networks");
    snprintf(dirs, sizeof(dirs), "%s", path);
    for (char *dir = strtok_r(dirs, ":", &save); dir && rc == 0; dir = strtok_r(NULL, ":", &save)) {
        rc = path_locate(place, dir, err);
        if (rc == 0)
            rc = add_directory(m, place, err);
    }
    if (rc == 0)
        rc = choose_standard(m, GPU_MODEL_DEPTH, depth, path, err);
    if (rc == 0)
        rc = choose_standard(m, GPU_MODEL_MOTION, motion, path, err);
    if (rc)
        models_close(&m);
    *models = m;
    return rc;
}

void models_close(struct models **m)
{
    free(*m);
    *m = NULL;
}

const struct gpu_model_info *models_find(const struct models *m, enum gpu_model_kind kind,
                                         const char *name)
{
    if (!name[0])
        return m->standard[kind];
    for (int i = 0; i < m->n; i++)
        if (m->infos[i].kind == kind && strcmp(m->infos[i].name, name) == 0)
            return &m->infos[i];
    return NULL;
}

int models_index(const struct models *m, const struct gpu_model_info *info)
{
    return (int)(info - m->infos);
}

int models_list(const struct models *m, struct api_model *list, int cap)
{
    for (int i = 0; i < m->n && i < cap; i++) {
        const struct gpu_model_info *info = &m->infos[i];
        struct api_model *out = &list[i];

        *out = (struct api_model){.multiple = info->multiple,
                                  .focal_px = info->focal_px,
                                  .min_depth_m = info->min_depth_m,
                                  .max_depth_m = info->max_depth_m,
                                  .weights = m->weights[i],
                                  .is_default = info == m->standard[info->kind]};
        snprintf(out->name, sizeof(out->name), "%s", info->name);
        snprintf(out->kind, sizeof(out->kind), "%s", kind_names[info->kind]);
        snprintf(out->output, sizeof(out->output), "%s",
                 info->kind == GPU_MODEL_MOTION ? "motion" : output_names[info->output]);
        snprintf(out->licence, sizeof(out->licence), "%s", info->licence);
    }
    return m->n;
}

void models_net_size(int camera_w, int camera_h, int multiple, int *w, int *h)
{
    double aspect = (double)camera_w / (double)camera_h, best = 0;

    *w = *h = multiple;
    for (int y = multiple; y * multiple <= MODELS_NET_AREA; y += multiple)
        for (int x = multiple; x * y <= MODELS_NET_AREA; x += multiple) {
            double ratio = (double)x / (double)y / aspect;
            double fit = ratio < 1 ? ratio : 1 / ratio;
            double score = (double)(x * y) * fit * fit;
            if (score > best) {
                best = score;
                *w = x;
                *h = y;
            }
        }
}
