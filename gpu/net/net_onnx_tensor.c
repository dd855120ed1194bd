#include "gpu/net/net_onnx.h"

#include <string.h>

#include "onnx/onnx.pb-c.h"

static const struct {
    int pb;
    enum net_type type;
    size_t size;
} types[] = {
    {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, NET_F32, 4},
    {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16, NET_F16, 2},
    {ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE, NET_F64, 8},
    {ONNX__TENSOR_PROTO__DATA_TYPE__INT32, NET_I32, 4},
    {ONNX__TENSOR_PROTO__DATA_TYPE__INT64, NET_I64, 8},
    {ONNX__TENSOR_PROTO__DATA_TYPE__BOOL, NET_BOOL, 1},
    {ONNX__TENSOR_PROTO__DATA_TYPE__INT8, NET_I8, 1},
    {ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, NET_U8, 1},
};

static int dims(struct net_const *c, const Onnx__TensorProto *pb, const struct net *net,
                const char *where, struct err *err)
{
    size_t max = net->limits.max_weight_bytes / 4;
    c->count = 1;
    c->rank = (int)pb->n_dims;
    for (size_t i = 0; i < pb->n_dims; i++) {
        if (pb->dims[i] < 0)
            return err_at(err, ERR_INPUT, where, "a dimension of %lld", (long long)pb->dims[i]);
        if ((uint64_t)pb->dims[i] > max || (c->count && (uint64_t)pb->dims[i] > max / c->count))
            return err_at(err, ERR_LIMIT, where, "more than %zu numbers", max);
        c->dim[i] = pb->dims[i];
        c->count *= (size_t)pb->dims[i];
    }
    return 0;
}

/* Numbers of less than 4 bytes lie in the file as int32 where there is no raw data. */
static int narrow(struct net *net, struct net_const *c, size_t size, const Onnx__TensorProto *pb)
{
    void *data = net_mem_get(&net->mem, c->count + 1, size);
    if (!data)
        return -1;
    for (size_t i = 0; i < c->count; i++) {
        if (c->type == NET_F16)
            ((uint16_t *)data)[i] = (uint16_t)pb->int32_data[i];
        else if (c->type == NET_BOOL)
            ((uint8_t *)data)[i] = pb->int32_data[i] != 0;
        else
            ((uint8_t *)data)[i] = (uint8_t)pb->int32_data[i];
    }
    c->data = data;
    return 0;
}

/* The field that holds the numbers and how many there are. */
static void **typed_field(Onnx__TensorProto *pb, enum net_type type, size_t *count)
{
    switch (type) {
    case NET_F32:
        *count = pb->n_float_data;
        return (void **)&pb->float_data;
    case NET_F64:
        *count = pb->n_double_data;
        return (void **)&pb->double_data;
    case NET_I64:
        *count = pb->n_int64_data;
        return (void **)&pb->int64_data;
    default:
        *count = pb->n_int32_data;
        return (void **)&pb->int32_data;
    }
}

static int net_onnx_tensor_take(struct net *net, struct net_const *c, Onnx__TensorProto *pb,
                                size_t size, const char *where, struct err *err)
{
    size_t count, bytes = c->count * size;
    void **field = typed_field(pb, c->type, &count);
    if (pb->has_raw_data) {
        if (pb->raw_data.len != bytes)
            return err_at(err, ERR_INPUT, where, "%zu bytes of data where %zu are due",
                          pb->raw_data.len, bytes);
        field = (void **)&pb->raw_data.data;
    } else if (count != c->count) {
        return err_at(err, ERR_INPUT, where, "%zu numbers where %zu are due", count, c->count);
    } else if (size < 4) {
        return narrow(net, c, size, pb) ? err_at(err, ERR_MEMORY, where, "no memory for weights")
                                        : 0;
    }
    if (net_mem_adopt(&net->mem, *field, bytes))
        return err_at(err, ERR_MEMORY, where, "no memory for weights");
    c->data = *field;
    *field = NULL;
    pb->raw_data.len = 0;
    return 0;
}

int net_onnx_tensor(struct net *net, Onnx__TensorProto *pb, const char *where, int *constant,
                    struct err *err)
{
    struct net_const *c = &net->consts[net->n_consts];
    size_t size = 0;
    int rc;
    if (pb->n_external_data || (pb->has_data_location && pb->data_location))
        return err_at(err, ERR_UNSUPPORTED, where,
                      "data in another file: save the model in one file");
    if (pb->segment)
        return err_at(err, ERR_UNSUPPORTED, where, "a tensor in segments");
    if (pb->n_dims > NET_RANK_MAX)
        return err_at(err, ERR_LIMIT, where, "%zu dimensions", pb->n_dims);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (pb->data_type == types[i].pb) {
            c->type = types[i].type;
            size = types[i].size;
        }
    if (!size)
        return err_at(err, ERR_UNSUPPORTED, where, "element type %d", pb->data_type);
    if ((rc = dims(c, pb, net, where, err)))
        return rc;
    net->weight_count += c->count;
    if (net->weight_count > net->limits.max_weight_bytes / 4)
        return err_at(err, ERR_LIMIT, where, "more than %zu bytes of weights as float32",
                      net->limits.max_weight_bytes);
    if ((rc = net_onnx_tensor_take(net, c, pb, size, where, err)))
        return rc;
    *constant = net->n_consts++;
    return 0;
}
