/*
 * onnx_build.h - write small ONNX files byte by byte, right or wrong on purpose
 *
 *     struct onnx_build b;
 *     onnx_begin(&b, 11);
 *     onnx_input(&b, "x", -1, 3, -1, -1);
 *     onnx_f32(&b, "w", 4, dims, values);
 *     onnx_node(&b, "Conv", "x w", "y");  onnx_ints(&b, "pads", 4, pads);
 *     onnx_end(&b, "y");                  b.file.p, b.file.n
 *     onnx_free(&b);
 *
 * Only the wire format of protobuf is needed for it, so a test can write what no honest library
 * would.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct onnx_bytes {
    uint8_t *p;
    size_t n, cap;
};

struct onnx_build {
    struct onnx_bytes graph, node, file;
    int opset, has_node, in_type;
};

static inline void onnx_put(struct onnx_bytes *b, const void *data, size_t n)
{
    if (b->n + n > b->cap) {
        b->cap = 2 * (b->n + n) + 64;
        b->p = realloc(b->p, b->cap);
        if (!b->p)
            abort();
    }
    if (n)
        memcpy(b->p + b->n, data, n);
    b->n += n;
}

static inline void onnx_varint(struct onnx_bytes *b, uint64_t v)
{
    do {
        uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        onnx_put(b, &byte, 1);
        v >>= 7;
    } while (v);
}

static inline void onnx_int_field(struct onnx_bytes *b, int field, int64_t v)
{
    onnx_varint(b, (uint64_t)field << 3);
    onnx_varint(b, (uint64_t)v);
}

static inline void onnx_bytes_field(struct onnx_bytes *b, int field, const void *data, size_t n)
{
    onnx_varint(b, (uint64_t)field << 3 | 2);
    onnx_varint(b, n);
    onnx_put(b, data, n);
}

static inline void onnx_text_field(struct onnx_bytes *b, int field, const char *s)
{
    onnx_bytes_field(b, field, s, strlen(s));
}

static inline void onnx_float_field(struct onnx_bytes *b, int field, float v)
{
    onnx_varint(b, (uint64_t)field << 3 | 5);
    onnx_put(b, &v, 4);
}

static inline void onnx_begin(struct onnx_build *b, int opset)
{
    memset(b, 0, sizeof *b);
    b->opset = opset;
    b->in_type = 1;
}

static inline void onnx_flush(struct onnx_build *b)
{
    if (b->has_node)
        onnx_bytes_field(&b->graph, 1, b->node.p, b->node.n);
    b->node.n = 0;
    b->has_node = 0;
}

/* A dimension below 0 is free ("n"). */
static inline void onnx_value_info(struct onnx_build *b, int field, const char *name, int type,
                                   int rank, const int64_t *dims)
{
    struct onnx_bytes shape = {0}, tensor = {0}, ty = {0}, info = {0}, dim = {0};
    for (int i = 0; i < rank; i++) {
        dim.n = 0;
        if (dims[i] < 0)
            onnx_text_field(&dim, 2, "n");
        else
            onnx_int_field(&dim, 1, dims[i]);
        onnx_bytes_field(&shape, 1, dim.p, dim.n);
    }
    onnx_int_field(&tensor, 1, type);
    onnx_bytes_field(&tensor, 2, shape.p, shape.n);
    onnx_bytes_field(&ty, 1, tensor.p, tensor.n);
    onnx_text_field(&info, 1, name);
    onnx_bytes_field(&info, 2, ty.p, ty.n);
    onnx_bytes_field(&b->graph, field, info.p, info.n);
    free(shape.p);
    free(tensor.p);
    free(ty.p);
    free(info.p);
    free(dim.p);
}

static inline void onnx_input(struct onnx_build *b, const char *name, int64_t n, int64_t c,
                              int64_t h, int64_t w)
{
    const int64_t dims[4] = {n, c, h, w};
    onnx_value_info(b, 11, name, b->in_type, 4, dims);
}

/* The body of a TensorProto: raw data. */
static inline void onnx_tensor(struct onnx_bytes *t, const char *name, int type, int rank,
                               const int64_t *dims, const void *data, size_t bytes)
{
    for (int i = 0; i < rank; i++)
        onnx_int_field(t, 1, dims[i]);
    onnx_int_field(t, 2, type);
    onnx_text_field(t, 8, name);
    onnx_bytes_field(t, 9, data, bytes);
}

static inline void onnx_init(struct onnx_build *b, const char *name, int type, int rank,
                             const int64_t *dims, const void *data, size_t bytes)
{
    struct onnx_bytes t = {0};
    onnx_tensor(&t, name, type, rank, dims, data, bytes);
    onnx_bytes_field(&b->graph, 5, t.p, t.n);
    free(t.p);
}

static inline size_t onnx_count(int rank, const int64_t *dims)
{
    size_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    return n;
}

static inline void onnx_f32(struct onnx_build *b, const char *name, int rank, const int64_t *dims,
                            const float *v)
{
    onnx_init(b, name, 1, rank, dims, v, onnx_count(rank, dims) * 4);
}

static inline void onnx_i64(struct onnx_build *b, const char *name, int64_t n, const int64_t *v)
{
    onnx_init(b, name, 7, 1, &n, v, (size_t)n * 8);
}

static inline void onnx_scalar(struct onnx_build *b, const char *name, float v)
{
    onnx_init(b, name, 1, 0, NULL, &v, 4);
}

/* Inputs and outputs are names between spaces; "-" is one left out. Attributes follow by their own
 * calls. */
static inline void onnx_node(struct onnx_build *b, const char *op, const char *ins,
                             const char *outs)
{
    onnx_flush(b);
    b->has_node = 1;
    for (int field = 1; field <= 2; field++)
        for (const char *p = field == 1 ? ins : outs; *p;) {
            size_t n = strcspn(p, " ");
            onnx_bytes_field(&b->node, field, p, n == 1 && *p == '-' ? 0 : n);
            p += n + (p[n] == ' ');
        }
    onnx_text_field(&b->node, 3, outs);
    onnx_text_field(&b->node, 4, op);
}

static inline void onnx_attr(struct onnx_build *b, struct onnx_bytes *body, const char *name,
                             int type)
{
    onnx_text_field(body, 1, name);
    onnx_int_field(body, 20, type);
    onnx_bytes_field(&b->node, 5, body->p, body->n);
    free(body->p);
}

static inline void onnx_int(struct onnx_build *b, const char *name, int64_t v)
{
    struct onnx_bytes a = {0};
    onnx_int_field(&a, 3, v);
    onnx_attr(b, &a, name, 2);
}

static inline void onnx_float(struct onnx_build *b, const char *name, float v)
{
    struct onnx_bytes a = {0};
    onnx_float_field(&a, 2, v);
    onnx_attr(b, &a, name, 1);
}

static inline void onnx_text(struct onnx_build *b, const char *name, const char *v)
{
    struct onnx_bytes a = {0};
    onnx_text_field(&a, 4, v);
    onnx_attr(b, &a, name, 3);
}

static inline void onnx_ints(struct onnx_build *b, const char *name, int n, const int64_t *v)
{
    struct onnx_bytes a = {0};
    for (int i = 0; i < n; i++)
        onnx_int_field(&a, 8, v[i]);
    onnx_attr(b, &a, name, 7);
}

static inline void onnx_value(struct onnx_build *b, const char *name, int type, int rank,
                              const int64_t *dims, const void *data, size_t bytes)
{
    struct onnx_bytes a = {0}, t = {0};
    onnx_tensor(&t, "", type, rank, dims, data, bytes);
    onnx_bytes_field(&a, 5, t.p, t.n);
    free(t.p);
    onnx_attr(b, &a, name, 4);
}

/* Wrap what is in b->graph into a model. */
static inline void onnx_wrap(struct onnx_build *b)
{
    struct onnx_bytes opset = {0};
    onnx_flush(b);
    onnx_text_field(&opset, 1, "");
    onnx_int_field(&opset, 2, b->opset);
    onnx_int_field(&b->file, 1, 7);
    onnx_bytes_field(&b->file, 8, opset.p, opset.n);
    onnx_bytes_field(&b->file, 7, b->graph.p, b->graph.n);
    free(opset.p);
}

static inline void onnx_end(struct onnx_build *b, const char *output)
{
    const int64_t free_dims[4] = {-1, -1, -1, -1};
    onnx_flush(b);
    onnx_value_info(b, 12, output, b->in_type, 4, free_dims);
    onnx_wrap(b);
}

static inline void onnx_free(struct onnx_build *b)
{
    free(b->graph.p);
    free(b->node.p);
    free(b->file.p);
    memset(b, 0, sizeof *b);
}
