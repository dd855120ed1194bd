"""Mean of networks that were trained apart from one beginning: one network, no slower than each.

    python3 mean.py [--scale F] OUT.onnx A.onnx B.onnx ...          A exported with --bits 8, and so is OUT

Runs with other scenes, rates and seeds err in ways of their own as long as they stay near each other; the mean of their
weights errs less on pictures that are like no run's. Runs that began with other random numbers have no such mean.

--scale multiplies the depth of a depth network, whose head says its logarithm: runs may agree on a scale that real
sequences do not have.
"""
import argparse
import math

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import export


def mean(paths):
    """The float graph of the first network with the mean of all networks' weights."""
    every = [export.weights(p) for p in paths]
    m = onnx.load(paths[0])
    g = m.graph
    made = {n.output[0] for n in g.node if n.op_type == 'DequantizeLinear'}
    used = {i for n in g.node if n.op_type == 'DequantizeLinear' for i in n.input}
    kept = [t for t in g.initializer if t.name not in used]
    names = sorted(made) + [t.name for t in kept if t.data_type == TensorProto.FLOAT]
    if not made or any(w[k].shape != every[0][k].shape for w in every for k in names if k in w) \
            or any(set(names) - set(w) for w in every):
        raise SystemExit(f'{", ".join(paths)}: not one network, or the first has no weights of 8 bits')
    kept = [t for t in kept if t.data_type != TensorProto.FLOAT]
    nodes = [n for n in g.node if n.op_type != 'DequantizeLinear']
    del g.initializer[:], g.node[:]
    g.initializer.extend(kept)
    g.initializer.extend(numpy_helper.from_array(np.mean([w[k] for w in every], 0, dtype=np.float32), k) for k in names)
    g.node.extend(nodes)
    return m


def scale_depth(m, by):
    bias = next((t for t in m.graph.initializer if t.name == 'head.bias'), None)
    if bias is None or m.graph.output[0].name != 'depth':
        raise SystemExit('--scale: not a depth network')
    bias.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(bias) + np.float32(math.log(by)), bias.name))


def main():
    a = argparse.ArgumentParser()
    a.add_argument('--scale', type=float, default=1.0, help='of the depth that the mean says')
    a.add_argument('out')
    a.add_argument('networks', nargs='+')
    a = a.parse_args()
    m = mean(a.networks)
    if a.scale != 1:
        scale_depth(m, a.scale)
    m = export.to_bytes(m)
    onnx.checker.check_model(m, full_check=True)
    onnx.save(m, a.out)
    print(f'{a.out}: mean of {len(a.networks)} networks')


if __name__ == '__main__':
    main()
