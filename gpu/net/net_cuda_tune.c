#include "gpu/net/net_cuda_tune.h"

#include "gpu/base/cuda_try.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many shapes are measured, in the rule's order: none behind the 16th has ever won. */
#define CANDIDATES 28
#define ALL_TILES 64
#define REPEATS 5
#define PATH_CAP 512

/* The head of a file. All of it must agree before the rest of the file is used. */
struct key {
    char name[256];
    int driver, n_layers, n_sizes;
    uint64_t hash;
};

void net_cuda_tune_rule(struct net_cuda_tile *tiles, const struct net_cuda_tune_layer *layers,
                        int n_layers, int n_sizes)
{
    for (int s = 0; s < n_sizes; s++)
        for (int i = 0; i < n_layers; i++)
            (void)net_cuda_conv_tiles(layers[i].plan, 1 << s, &tiles[s * n_layers + i], 1);
}

/* ---------------------------------------------------------------------------- the file */

static int key_make(struct key *k, const struct net_cuda_tune_layer *layers, int n_layers,
                    int n_sizes, struct err *err)
{
    struct cudaDeviceProp prop;
    int device, rc;

    CU_TRY(cudaGetDevice(&device));
    CU_TRY(cudaGetDeviceProperties(&prop, device));
    CU_TRY(cudaDriverGetVersion(&k->driver));
    snprintf(k->name, sizeof k->name, "%s", prop.name);
    for (char *c = k->name; *c; c++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", *c))
            *c = '-';
    k->n_layers = n_layers;
    k->n_sizes = n_sizes;
    k->hash = (uint64_t)n_sizes;
    for (int i = 0; i < n_layers; i++)
        k->hash = k->hash * 1099511628211u + net_cuda_conv_hash(layers[i].plan);
out:
    return rc;
}

/* "" where no file is kept. */
static void key_path(char path[PATH_CAP], const struct key *k, const char *folder)
{
    const int n = !folder || !*folder
                      ? 0
                      : snprintf(path, PATH_CAP, "%s/tiles-%.64s-%d-%016" PRIx64 ".txt", folder,
                                 k->name, k->driver, k->hash);

    if (n <= 0 || n >= PATH_CAP - 8)
        *path = 0;
}

static int tile_known(const struct net_cuda_conv_plan *p, int n, struct net_cuda_tile t)
{
    struct net_cuda_tile all[ALL_TILES];
    const int count = net_cuda_conv_tiles(p, n, all, ALL_TILES);

    for (int i = 0; i < count; i++)
        if (all[i].shape == t.shape && all[i].split == t.split)
            return 1;
    return 0;
}

/* Does the file have this key, and does every line name a tile that fits? */
static int file_read(struct net_cuda_tile *tiles, const char *path, const struct key *k,
                     const struct net_cuda_tune_layer *layers)
{
    struct key got = {0};
    char end[4] = "";
    int ok = 0;
    FILE *f = *path ? fopen(path, "re") : NULL;

    if (!f)
        return 0;
    if (fscanf(f, "recond tiles 1 %255s %d %" SCNx64 " %d %d\n", got.name, &got.driver, &got.hash,
               &got.n_layers, &got.n_sizes) != 5 ||
        strcmp(got.name, k->name) != 0 || got.driver != k->driver || got.hash != k->hash ||
        got.n_layers != k->n_layers || got.n_sizes != k->n_sizes)
        goto out;
    for (int i = 0; i < k->n_layers * k->n_sizes; i++) {
        struct net_cuda_tile *t = &tiles[i];

        if (fscanf(f, "%d %d\n", &t->shape, &t->split) != 2 ||
            !tile_known(layers[i % k->n_layers].plan, 1 << i / k->n_layers, *t))
            goto out;
    }
    ok = fscanf(f, "%3s", end) == 1 && strcmp(end, "end") == 0;
out:
    fclose(f);
    return ok;
}

static void file_write(const char *path, const struct key *k, const struct net_cuda_tile *tiles)
{
    char temp[PATH_CAP];
    int bad, fd;
    FILE *f;

    if (!*path)
        return;
    snprintf(temp, sizeof temp, "%.*s.XXXXXX", PATH_CAP - 8, path);
    fd = mkstemp(temp);
    if (fd < 0)
        return;
    f = fdopen(fd, "w");
    if (!f) {
        close(fd);
        unlink(temp);
        return;
    }
    bad = fprintf(f, "recond tiles 1 %s %d %016" PRIx64 " %d %d\n", k->name, k->driver, k->hash,
                  k->n_layers, k->n_sizes) < 0;
    for (int i = 0; i < k->n_layers * k->n_sizes; i++)
        bad |= fprintf(f, "%d %d\n", tiles[i].shape, tiles[i].split) < 0;
    bad |= fprintf(f, "end\n") < 0;
    bad |= fclose(f) != 0;
    if (bad || rename(temp, path) != 0)
        unlink(temp);
}

/* ---------------------------------------------------------------------------- the measurement */

/* Returns the shortest time of REPEATS measurements. Each is of `runs` launches in a row, so that
 * they overlap. */
static int tile_time(float *ms, const struct net_cuda_tune_layer *l, struct net_cuda_tile tile,
                     int n, cudaEvent_t event[2], cudaStream_t stream, struct err *err)
{
    const int runs = n <= 4 ? 8 : 2;
    int rc = 0;

    *ms = 1e30f;
    for (int r = 0; r <= REPEATS; r++) {
        float t;

        CU_TRY(cudaEventRecord(event[0], stream));
        for (int i = 0; i < runs; i++) {
            rc = net_cuda_conv_run(l->plan, &l->args, tile, n, stream, err);
            if (rc)
                goto out;
        }
        CU_TRY(cudaEventRecord(event[1], stream));
        CU_TRY(cudaEventSynchronize(event[1]));
        CU_TRY(cudaEventElapsedTime(&t, event[0], event[1]));
        /* the first run warms up the caches */
        if (r > 0 && t < *ms)
            *ms = t;
    }
out:
    return rc;
}

static int layer_measure(struct net_cuda_tile *best, const struct net_cuda_tune_layer *l, int n,
                         cudaEvent_t event[2], cudaStream_t stream, struct err *err)
{
    struct net_cuda_tile all[CANDIDATES];
    const int count = net_cuda_conv_tiles(l->plan, n, all, CANDIDATES);
    float least = 1e30f;
    int rc = 0;

    for (int i = 0; i < count && !rc; i++) {
        float ms;

        rc = tile_time(&ms, l, all[i], n, event, stream, err);
        if (!rc && ms < least) {
            least = ms;
            *best = all[i];
        }
    }
    return rc;
}

static int net_tune_measure(struct net_cuda_tile *tiles, const struct net_cuda_tune_layer *layers,
                            int n_layers, int n_sizes, cudaStream_t stream, struct err *err)
{
    cudaEvent_t event[2] = {NULL, NULL};
    int rc;

    CU_TRY(cudaEventCreate(&event[0]));
    CU_TRY(cudaEventCreate(&event[1]));
    for (int i = 0; i < n_layers; i++) {
        int like = 0;

        /* Layers of one form take the same tile shape, and residual networks have many such
         * layers. */
        while (net_cuda_conv_hash(layers[like].plan) != net_cuda_conv_hash(layers[i].plan))
            like++;
        for (int s = 0; s < n_sizes; s++) {
            struct net_cuda_tile *t = &tiles[s * n_layers];

            if (like < i)
                t[i] = t[like];
            else
                rc = layer_measure(&t[i], &layers[i], 1 << s, event, stream, err);
            if (rc)
                goto out;
        }
    }
out:
    for (int i = 0; i < 2; i++)
        if (event[i])
            (void)cudaEventDestroy(event[i]);
    return rc;
}

int net_cuda_tune_run(struct net_cuda_tile *tiles, const struct net_cuda_tune_layer *layers,
                      int n_layers, int n_sizes, const char *cache_path, cudaStream_t stream,
                      struct err *err)
{
    char path[PATH_CAP] = "";
    struct key key;
    int rc = key_make(&key, layers, n_layers, n_sizes, err);

    if (rc)
        return rc;
    key_path(path, &key, cache_path);
    if (file_read(tiles, path, &key, layers))
        return 0;
    net_cuda_tune_rule(tiles, layers, n_layers, n_sizes);
    rc = net_tune_measure(tiles, layers, n_layers, n_sizes, stream, err);
    if (!rc)
        file_write(path, &key, tiles);
    return rc;
}
