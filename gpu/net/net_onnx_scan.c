/*
 * The walk before the parse. protobuf-c recurses once a nested message and spends memory on every
 * field, so a small file could cost a deep stack or gigabytes. Nothing is allocated here, and what
 * passes is bounded.
 */
#include "gpu/net/net_onnx.h"

#include "onnx/onnx.pb-c.h"

/* Levels: model, graph, node, attribute, tensor, segment (types: value, type, shape, dimension). */
#define DEPTH_MAX 12
#define FIELDS_A_NODE 256

struct scan {
    const uint8_t *start;
    uint32_t nodes, max_nodes;
    uint64_t fields, max_fields;
    struct err *err;
};

/* Returns bytes used, 0 = damaged. */
static size_t varint(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
    *v = 0;
    for (size_t i = 0; i < 10 && p + i < end; i++) {
        *v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if (!(p[i] & 0x80))
            return i + 1;
    }
    return 0;
}

static int damaged(const struct scan *s, const uint8_t *p)
{
    return err_set(s->err, ERR_INPUT, "not an ONNX model: damaged at byte %zu",
                   (size_t)(p - s->start));
}

/* The payload's length for a field of this wire type; *value is where it begins. Returns 0 or
 * -1. */
static int payload(const uint8_t **p, const uint8_t *end, unsigned wire, uint64_t *len)
{
    uint64_t v;
    size_t used;
    switch (wire) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        used = varint(*p, end, &v);
        *len = used;
        return used ? 0 : -1;
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        *len = 8;
        return 0;
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        *len = 4;
        return 0;
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        used = varint(*p, end, len);
        *p += used;
        return used ? 0 : -1;
    }
    return -1;
}

static int net_onnx_scan_walk(struct scan *s, const ProtobufCMessageDescriptor *d, const uint8_t *p,
                              const uint8_t *end, int depth)
{
    if (d == &onnx__node_proto__descriptor && ++s->nodes > s->max_nodes)
        return err_set(s->err, ERR_LIMIT, "more than %u nodes", s->max_nodes);
    while (p < end) {
        const ProtobufCFieldDescriptor *f;
        const uint8_t *at = p;
        uint64_t key, len;
        size_t used = varint(p, end, &key);
        if (!used || used > 5 || key >> 3 == 0 || key > UINT32_MAX)
            return damaged(s, at);
        p += used;
        if (payload(&p, end, key & 7, &len) || len > (uint64_t)(end - p))
            return damaged(s, at);
        if (++s->fields > s->max_fields)
            return err_set(s->err, ERR_LIMIT, "more than %llu fields",
                           (unsigned long long)s->max_fields);
        f = protobuf_c_message_descriptor_get_field(d, (unsigned)(key >> 3));
        if (f && f->type == PROTOBUF_C_TYPE_MESSAGE) {
            int rc;
            if ((key & 7) != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
                return damaged(s, at);
            if (depth == DEPTH_MAX)
                return err_set(s->err, ERR_LIMIT, "messages nested deeper than %d", DEPTH_MAX);
            rc = net_onnx_scan_walk(s, f->descriptor, p, p + len, depth + 1);
            if (rc)
                return rc;
        }
        p += len;
    }
    return 0;
}

int net_onnx_scan(const uint8_t *data, size_t len, uint32_t max_nodes, struct err *err)
{
    struct scan s = {data, 0, max_nodes, 0, (uint64_t)FIELDS_A_NODE * max_nodes + 65536, err};
    return net_onnx_scan_walk(&s, &onnx__model_proto__descriptor, data, data + len, 1);
}
