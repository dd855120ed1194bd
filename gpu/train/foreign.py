"""Tiny stand-ins for other people's depth networks, with random weights: test material for the ONNX loader.

    python3 foreign.py ../../tests/golden/net

monodepth2-tiny   ResNet-18 blocks, reflection padding, ELU, nearest upsampling, sigmoid disparity
fastdepth-tiny    MobileNet depthwise and pointwise convolutions, nearest upsampling, additive skips
midas-tiny        inverted residuals with ReLU6, bilinear upsampling with align_corners on and off, additive fusion
Each .onnx is fp32 with dynamic N, H and W (multiples of 32); each .f32 holds what PyTorch says of three inputs
[3, 64, 64] (golden.py's, tests 0, 1, 2), raw little-endian fp32 in C order.
"""
import os
import sys

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from onnx import numpy_helper, shape_inference

from golden import golden_input, golden_output


def conv_bn(n_in, n_out, k=3, s=1, groups=1):
    return nn.Sequential(nn.Conv2d(n_in, n_out, k, s, k // 2, groups=groups, bias=False), nn.BatchNorm2d(n_out))


class ResBlock(nn.Module):
    def __init__(self, n_in, n_out, s):
        super().__init__()
        self.a, self.b = conv_bn(n_in, n_out, 3, s), conv_bn(n_out, n_out)
        self.skip = conv_bn(n_in, n_out, 1, s) if s > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.b(F.relu(self.a(x))) + self.skip(x))


class ReflectConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.pad, self.conv = nn.ReflectionPad2d(1), nn.Conv2d(n_in, n_out, 3)

    def forward(self, x):
        return self.conv(self.pad(x))


class Monodepth2Tiny(nn.Module):
    """image 0..1 -> disparity 0..1 at full size."""

    def __init__(self, c=3):
        super().__init__()
        self.stem = conv_bn(3, c, 7, 2)
        self.layers = nn.ModuleList([ResBlock(c, c, 1), ResBlock(c, 2 * c, 2), ResBlock(2 * c, 3 * c, 2), ResBlock(3 * c, 4 * c, 2)])
        n_in, n_skip, n_out = (12, 9, 6, 4, 3), (9, 6, 3, 3, 0), (9, 6, 4, 3, 4)
        self.up0 = nn.ModuleList([ReflectConv(i, o) for i, o in zip(n_in, n_out)])
        self.up1 = nn.ModuleList([ReflectConv(o + s, o) for o, s in zip(n_out, n_skip)])
        self.disp = ReflectConv(4, 1)

    def forward(self, image):
        f = [F.relu(self.stem((image - 0.45) / 0.225))]
        x = F.max_pool2d(f[0], 3, 2, 1)
        for layer in self.layers:
            x = layer(x)
            f.append(x)
        for k in range(5):
            x = F.interpolate(F.elu(self.up0[k](x)), scale_factor=2.0, mode='nearest')
            if k < 4:
                x = torch.cat((x, f[3 - k]), 1)
            x = F.elu(self.up1[k](x))
        return torch.sigmoid(self.disp(x))


class FastDepthTiny(nn.Module):
    """image 0..1 -> depth, metres (unbounded ReLU)."""

    def __init__(self):
        super().__init__()
        c = (6, 8, 12, 16, 20)

        def separable(i, o, s, k=3):
            return nn.Sequential(conv_bn(i, i, k, s, groups=i), nn.ReLU(), conv_bn(i, o, 1), nn.ReLU())
        self.stem = nn.Sequential(conv_bn(3, c[0], 3, 2), nn.ReLU())
        self.down = nn.ModuleList([separable(a, b, 2) for a, b in zip(c[:-1], c[1:])])
        self.up = nn.ModuleList([separable(a, b, 1, 5) for a, b in zip(c[:0:-1], c[-2::-1])])
        self.last = nn.Sequential(conv_bn(c[0], 1, 1), nn.ReLU())

    def forward(self, image):
        f = [self.stem(image)]
        for d in self.down:
            f.append(d(f[-1]))
        x = f[-1]
        for k, u in enumerate(self.up):
            x = F.interpolate(u(x), scale_factor=2.0, mode='nearest') + f[3 - k]
        return self.last(F.interpolate(x, scale_factor=2.0, mode='nearest'))


class MidasTiny(nn.Module):
    """image -> inverse depth, relative."""

    def __init__(self):
        super().__init__()

        def inverted(i, o, s):
            return nn.Sequential(conv_bn(i, 2 * i, 1), nn.ReLU6(), conv_bn(2 * i, 2 * i, 3, s, groups=2 * i), nn.ReLU6(), conv_bn(2 * i, o, 1))
        c = (6, 8, 10, 14, 16)
        self.stem = nn.Sequential(conv_bn(3, c[0], 3, 2), nn.ReLU6())
        self.down = nn.ModuleList([inverted(a, b, 2) for a, b in zip(c[:-1], c[1:])])
        self.lateral = nn.ModuleList([nn.Conv2d(n, 8, 3, 1, 1, bias=False) for n in c[1:]])
        self.fuse = nn.ModuleList([nn.Conv2d(8, 8, 3, 1, 1) for _ in range(4)])
        self.head = nn.Sequential(nn.Conv2d(8, 6, 3, 1, 1), nn.ReLU(), nn.Conv2d(6, 1, 1))

    def forward(self, image):
        x, f = self.stem(image), []
        for d in self.down:
            x = d(x)
            f.append(x)
        y = None
        for k in range(3, -1, -1):
            z = self.lateral[k](f[k])
            y = z if y is None else y + z
            y = y + self.fuse[k](F.relu(y))
            y = F.interpolate(y, scale_factor=2.0, mode='bilinear', align_corners=True)
        return F.relu(F.interpolate(self.head(y), scale_factor=2.0, mode='bilinear', align_corners=False))


def randomise(m, seed):
    """Weights and running statistics that keep activations near 1, so that an error anywhere shows."""
    g = torch.Generator().manual_seed(seed)
    for c in m.modules():
        if isinstance(c, nn.Conv2d):
            fan = c.weight[0].numel()
            c.weight.data = torch.randn(c.weight.shape, generator=g) * (1.6 / fan) ** 0.5
            if c.bias is not None:
                c.bias.data = torch.rand(c.bias.shape, generator=g) * 0.2
        if isinstance(c, nn.BatchNorm2d):
            for t, lo, hi in ((c.weight.data, 0.7, 1.3), (c.bias.data, -0.1, 0.4), (c.running_mean, -0.2, 0.2), (c.running_var, 0.6, 1.4)):
                t.copy_(lo + (hi - lo) * torch.rand(t.shape, generator=g))
    return m.eval()


def constant_pads(g):
    """Give every Pad its widths as an initialiser, as newer exporters do, and drop the nodes that computed them."""
    for n in g.node:
        if n.op_type == 'Pad':
            n.input[1] = n.name + '/pads'
            g.initializer.append(numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), n.input[1]))
    while True:
        used = {i for n in g.node for i in n.input} | {o.name for o in g.output}
        dead = [n for n in g.node if not any(o in used for o in n.output)]
        if not dead:
            return
        for n in dead:
            g.node.remove(n)


def main():
    out = sys.argv[1]
    more = {'dynamo': False} if tuple(map(int, torch.__version__.split('.')[:2])) >= (2, 5) else {}
    for k, (name, cls) in enumerate((('monodepth2-tiny', Monodepth2Tiny), ('fastdepth-tiny', FastDepthTiny), ('midas-tiny', MidasTiny))):
        net, path = randomise(cls(), 11 + k), os.path.join(out, name + '.onnx')
        axes = {0: 'N', 2: 'H', 3: 'W'}
        torch.onnx.export(net, torch.zeros(1, 3, 64, 96), path, opset_version=13, input_names=['image'], output_names=['depth'],
                          dynamic_axes={'image': axes, 'depth': axes}, **more)
        m = onnx.load(path)
        constant_pads(m.graph)
        del m.graph.value_info[:]
        for v, c in ((m.graph.input[0], 3), (m.graph.output[0], 1)):
            for d, n in zip(v.type.tensor_type.shape.dim, ('N', c, 'H', 'W')):
                d.Clear()
                if isinstance(n, str):
                    d.dim_param = n
                else:
                    d.dim_value = n
        onnx.checker.check_model(shape_inference.infer_shapes(m), full_check=True)
        onnx.save(m, path)
        y = golden_output(net, (3, 64, 64), 3)
        y.tofile(os.path.join(out, name + '.f32'))
        print(name, os.path.getsize(path), 'bytes', sorted({n.op_type for n in m.graph.node}), y.shape, 'std', y.std(), 'range', y.min(), y.max())


if __name__ == '__main__':
    main()
