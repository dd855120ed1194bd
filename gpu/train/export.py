"""Export a trained network: ONNX with batch norms folded, its sidecar, and a check.

    python3 export.py depth OUT/depth.pt ../models/depth.onnx [--licence ...]    also: motion
    python3 export.py mask OUT/mask.pt ../models/mask.onnx --bits 8              also: objmotion

--bits 16: the graph is typed fp16 from end to end (only the two factors of each Resize are fp32, as ONNX asks).
--bits 8: weights are int8, one scale an output channel (largest weight = 127), made fp32 by DequantizeLinear;
what has few numbers, as the biases, and the graph itself stay fp32. Both: opset 13, dynamic N, H and W. Nodes: Conv,
Relu, MaxPool, Resize (nearest, 2x), Concat, Add; for motion and objmotion also GlobalAveragePool, Flatten, Gemm.
Weights keep the names of model.py's folded state_dict, so that train.py --init, eval.py and golden.py read them
back from the ONNX file itself (`weights`).

A sidecar is written for the kinds of network that the daemon knows. One beside a mask or object-motion network would
keep it from starting, or offer what a thing does for what the camera does.
"""
import argparse
import os

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper, shape_inference

import model
import state

DEPTH_INI = """; conventions of depth.onnx, read by the daemon beside it
[model]
kind = depth
file = {file}
licence = {licence}
input = image
output_name = depth
mean = {mean}
std = {std}
output = log_depth
focal_px = {focal}
min_depth_m = {lo}
max_depth_m = {hi}
multiple = 32
"""
MOTION_INI = """; conventions of {file}, read by the daemon beside it
[model]
kind = motion
file = {file}
licence = {licence}
input = pair
output_name = motion
mean = {mean}
std = {std}
rays = yes
multiple = 32
"""
INI = {'depth': DEPTH_INI, 'motion': MOTION_INI}
PORTS = {'depth': ('image', 'depth', 3), 'mask': ('image', 'mask', 3), 'motion': ('pair', 'motion', 8),
         'objmotion': ('pair', 'motion', 8)}
TOP_BYTES = 32 << 20        # all networks of a folder together
LEAST_BYTES = 4096          # tensors of fewer numbers stay fp32 with --bits 8


def read(path):
    """A float graph whose constants are all initialisers: one node kind less."""
    m = onnx.load(path)
    for n in [n for n in m.graph.node if n.op_type == 'Constant']:
        m.graph.initializer.append(numpy_helper.from_array(numpy_helper.to_array(n.attribute[0].t), n.output[0]))
        m.graph.node.remove(n)
    del m.graph.value_info[:]
    return m


def to_half(m):
    """Type a float graph as fp16: initialisers, inputs, outputs; the Resize factors stay fp32."""
    g = m.graph
    keep = {i for n in g.node if n.op_type == 'Resize' for i in n.input[1:]}
    for t in g.initializer:
        if t.data_type == TensorProto.FLOAT and t.name not in keep:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float16), t.name))
    for v in list(g.input) + list(g.output):
        v.type.tensor_type.elem_type = TensorProto.FLOAT16
    return m


def to_bytes(m):
    """Weights of a float graph as int8, rounded to the nearest, with a scale an output channel (dimension 0).

    Scales have four significant bits, rounded up: a byte of seven times one of them is a half exactly, so an executor that
    computes in halves has the same weights as one in float32.
    """
    g, nodes = m.graph, []
    for t in list(g.initializer):
        w = numpy_helper.to_array(t)
        if t.data_type != TensorProto.FLOAT or w.size < LEAST_BYTES:
            continue
        s = np.abs(w).reshape(len(w), -1).max(1) / 127
        part, e = np.frexp(np.where(s > 0, s, 1))
        s = np.ldexp(np.ceil(16 * part) / 16, e).astype(np.float32)
        q = np.rint(w / s.reshape(-1, *[1] * (w.ndim - 1))).clip(-127, 127).astype(np.int8)
        g.initializer.remove(t)
        g.initializer.extend([numpy_helper.from_array(q, t.name + '.int8'), numpy_helper.from_array(s, t.name + '.scale')])
        nodes.append(onnx.helper.make_node('DequantizeLinear', [t.name + '.int8', t.name + '.scale'], [t.name],
                                           name=t.name, axis=0))
    nodes += g.node
    del g.node[:]
    g.node.extend(nodes)
    return m


def weights(path):
    """Name -> fp32 array of an exported network's weights, as an executor sees them."""
    g = onnx.load(path).graph
    w = {t.name: numpy_helper.to_array(t) for t in g.initializer}
    for n in g.node:
        if n.op_type == 'DequantizeLinear':
            q, s = (w.pop(i).astype(np.float32) for i in n.input)
            w[n.output[0]] = q * s.reshape(-1, *[1] * (q.ndim - 1))
    return {k: v.astype(np.float32) for k, v in w.items()}


def name_axes(value, names):
    for d, n in zip(value.type.tensor_type.shape.dim, names):
        if n:
            d.ClearField('dim_value')
            d.dim_param = n


def export(kind, net, path, bits=16):
    net = net.fold().float().cpu()
    i, o, channels = PORTS[kind]
    x, dense = torch.zeros(1, channels, 64, 96), channels == 3
    axes = {i: {0: 'N', 2: 'H', 3: 'W'}, o: {0: 'N', 2: 'H', 3: 'W'} if dense else {0: 'N'}}
    more = {'dynamo': False} if tuple(map(int, torch.__version__.split('.')[:2])) >= (2, 5) else {}
    torch.onnx.export(net, x, path, opset_version=13, input_names=[i], output_names=[o], dynamic_axes=axes, **more)
    m = (to_half if bits == 16 else to_bytes)(read(path))
    name_axes(m.graph.input[0], ('N', '', 'H', 'W'))
    name_axes(m.graph.output[0], ('N', '', 'H', 'W') if dense else ('N', ''))
    m.producer_name, m.producer_version, m.doc_string = 'recond gpu/train', '1', ''
    for n in m.graph.node:
        n.doc_string = ''
    onnx.checker.check_model(shape_inference.infer_shapes(m), full_check=True)
    onnx.save(m, path)
    missing = set(net.state_dict()) - set(weights(path))
    if missing:
        raise SystemExit(f'weights lost their names: {sorted(missing)[:5]}')
    ops = {}
    for n in m.graph.node:
        ops[n.op_type] = ops.get(n.op_type, 0) + 1
    return ops


def main():
    a = argparse.ArgumentParser()
    a.add_argument('kind', choices=list(model.NETS))
    a.add_argument('weights')
    a.add_argument('out')
    a.add_argument('--bits', type=int, choices=(16, 8), default=16)
    a.add_argument('--licence', default='same as recond; credits of what was rendered in the model card')
    a = a.parse_args()
    net = model.NETS[a.kind]()
    net.load_state_dict(state.read(a.weights))
    big = max(p.detach().abs().max().item() for p in net.fold().parameters())
    if a.bits == 16 and big > 6e4:
        raise SystemExit(f'a weight of {big:.3g} does not fit fp16')
    ops = export(a.kind, net.eval(), a.out, a.bits)
    if a.kind in INI:
        ini = INI[a.kind].format(
            file=os.path.basename(a.out), licence=a.licence, mean=' '.join(map(str, model.MEAN)),
            std=' '.join(map(str, model.STD)), focal=model.FOCAL_PX, lo=model.MIN_DEPTH_M, hi=model.MAX_DEPTH_M)
        open(os.path.splitext(a.out)[0] + '.ini', 'w').write(ini)
    folder = os.path.dirname(os.path.abspath(a.out))
    sizes = [os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder) if f.endswith('.onnx')]
    total = sum(-(-n // 4096) * 4096 for n in sizes)
    if total > TOP_BYTES:
        raise SystemExit(f'{folder}: networks of {total} bytes together, {TOP_BYTES} at most')
    print(f'{a.out}: {os.path.getsize(a.out)} bytes, {model.n_params(net)} parameters, largest weight {big:.2f}, nodes {ops}')


if __name__ == '__main__':
    main()
