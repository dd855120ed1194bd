#include "gpu/net/net_graph.h"
#include "gpu/net/net_onnx.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL_MEM_SLACK ((size_t)64 << 20) /* names, nodes, attributes beside the weights */

void net_limits_default(struct net_limits *l)
{
    l->max_file_bytes = (size_t)128 << 20;
    l->max_weight_bytes = (size_t)256 << 20;
    l->max_plan_bytes = (size_t)1 << 30;
    l->max_nodes = 4096;
}

int net_load_bytes(struct net **out, const uint8_t *data, size_t len, const char *input,
                   const char *output, const struct net_limits *limits, struct err *err)
{
    struct net *net;
    int rc;
    *out = NULL;
    net = calloc(1, sizeof *net);
    if (!net)
        return err_set(err, ERR_MEMORY, "no memory for a model");
    if (limits)
        net->limits = *limits;
    else
        net_limits_default(&net->limits);
    /* 8 bytes a number at most; float32 is what the limit counts */
    net_mem_init(&net->mem, 2 * net->limits.max_weight_bytes + MODEL_MEM_SLACK);
    if (len > net->limits.max_file_bytes)
        rc = err_set(err, ERR_LIMIT, "%zu bytes, %zu are allowed", len, net->limits.max_file_bytes);
    else
        rc = net_onnx_parse(net, data, len, input, output, err);
    if (rc)
        net_free(&net);
    *out = net;
    malloc_trim(0); /* the parse's memory is large and not needed again */
    return rc;
}

static int read_all(int fd, uint8_t *data, size_t len)
{
    size_t at = 0;
    while (at < len) {
        ssize_t n = read(fd, data + at, len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        at += (size_t)n;
    }
    return 0;
}

int net_load(struct net **net, const char *path, const char *input, const char *output,
             const struct net_limits *limits, struct err *err)
{
    struct net_limits def;
    struct stat st;
    uint8_t *data = NULL;
    int rc, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    *net = NULL;
    net_limits_default(&def);
    if (!limits)
        limits = &def;
    if (fd < 0 || fstat(fd, &st)) {
        rc = err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        rc = err_set(err, ERR_IO, "%s: not a regular file", path);
        goto out;
    }
    if ((uint64_t)st.st_size > limits->max_file_bytes) {
        rc = err_set(err, ERR_LIMIT, "%s: %lld bytes, %zu are allowed", path, (long long)st.st_size,
                     limits->max_file_bytes);
        goto out;
    }
    data = malloc((size_t)st.st_size + 1);
    if (!data) {
        rc = err_set(err, ERR_MEMORY, "no memory for a model of %lld bytes", (long long)st.st_size);
        goto out;
    }
    if (read_all(fd, data, (size_t)st.st_size)) {
        rc = err_set(err, ERR_IO, "%s: cannot be read to its end", path);
        goto out;
    }
    rc = net_load_bytes(net, data, (size_t)st.st_size, input, output, limits, err);
out:
    free(data);
    if (fd >= 0)
        close(fd);
    malloc_trim(0);
    return rc;
}

void net_free(struct net **net)
{
    if (!*net)
        return;
    net_mem_free(&(*net)->mem);
    free(*net);
    *net = NULL;
    malloc_trim(0);
}

int net_input_channels(const struct net *net)
{
    return (int)net->input_dim[1];
}

size_t net_weight_count(const struct net *net)
{
    return net->weight_count;
}

int net_output_shape(const struct net *net, int n, int h, int w, int shape[4], struct err *err)
{
    struct net_graph *g;
    int rc = net_graph_new(&g, net, n, h, w, NULL, err);
    if (rc)
        return rc;
    memcpy(shape, g->out_shape, sizeof g->out_shape);
    net_graph_free(&g);
    return 0;
}
