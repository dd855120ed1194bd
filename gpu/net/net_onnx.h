/*
 * net_onnx.h - ONNX bytes to struct net
 *
 *     scan    a walk over the wire format along onnx.proto's own descriptors: nesting, number of
 *             messages, fields and nodes are bounded before protobuf-c allocates anything
 *     parse   protobuf-c with an allocator that has a hard cap, then only the part that the chosen
 *             output needs
 *     tensor  one TensorProto to a constant; large data is taken over, not copied
 *     dequant weights of 8 bits to the real numbers that they encode
 */
#pragma once

#include "gpu/net/net_op.h"

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

/*
 * net_onnx_dequant - make a constant of a DequantizeLinear node whose inputs are constants
 *
 * Weights of 8 bits (int8 or uint8, one scale for all or one a channel) become float32 here, once,
 * so that they occur only in the parser.
 *
 * In/out:  net->consts (which has room) and net->value_const[n->out]
 * Out:     *done = 1: the node has become a constant and is needed no more
 * Returns: as parse
 */
MUST_CHECK int net_onnx_dequant(struct net *net, const struct net_node *n, int *done,
                                struct err *err);
