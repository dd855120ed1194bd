/*
 * net_onnx.h - ONNX bytes to struct net
 *
 *     scan    a walk over the wire format along onnx.proto's own descriptors: nesting, number of
 *             messages, fields and nodes are bounded before protobuf-c allocates anything
 *     parse   protobuf-c with an allocator that has a hard cap, then only what the chosen output
 *             needs
 *     tensor  one TensorProto to a constant; large data is taken over, not copied
 */
#ifndef RECOND_GPU_NET_ONNX_H
#define RECOND_GPU_NET_ONNX_H

#include "gpu/net_graph.h"

struct Onnx__TensorProto;

/*
 * net_onnx_parse - fill in an empty net
 *
 * In/out:  net: zero but for `limits` and an initialised `mem`
 * Returns: 0; ERR_INPUT, ERR_UNSUPPORTED, ERR_LIMIT, ERR_MEMORY; on failure the caller frees
 *          net->mem
 */
MUST_CHECK int net_onnx_parse(struct net *net, const uint8_t *data, size_t len, const char *input,
                              const char *output, struct err *err);

/* Returns 0; ERR_INPUT: not a protobuf message of ONNX; ERR_LIMIT. */
MUST_CHECK int net_onnx_scan(const uint8_t *data, size_t len, uint32_t max_nodes, struct err *err);

/* Appends to net->consts (which has room). *pb loses the data that is taken over. Returns as
 * parse. */
MUST_CHECK int net_onnx_tensor(struct net *net, struct Onnx__TensorProto *pb, const char *where,
                               int *constant, struct err *err);

#endif
