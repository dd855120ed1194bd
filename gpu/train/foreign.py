"""Small networks in the style of others, as PyTorch exports them, and what PyTorch says they compute.

    python3 foreign.py ../../tests/golden/net

Writes NAME-tiny.onnx and NAME-tiny.f32 (3 results at 64x64, raw little-endian fp32; inputs as in golden.py).

Random weights (seed 1), batch norms with random statistics; nothing is anybody's. What counts is how each
family is written down: monodepth2 (ResNet blocks, reflection padding, ELU, nearest upsampling, skips, sigmoid),
FastDepth (MobileNet, depthwise, ReLU6, 5x5 depthwise decoder, interpolate, additive skips), MiDaS small
(inverted residuals, ReLU6, bilinear with align_corners, squeezed channel) and more ways than the shipped
networks have.
"""
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from golden import golden_output

TESTS, SIDE = 3, 64


def conv_bn(i, o, k=3, stride=1, groups=1, act=nn.ReLU):
    layers = [nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers + ([act(inplace=True)] if act else []))


class Basic(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.a, self.b = conv_bn(i, o, 3, stride), conv_bn(o, o, act=None)
        self.down = conv_bn(i, o, 1, stride, act=None) if stride != 1 or i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.b(self.a(x)) + self.down(x))


class Reflect(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.pad, self.conv = nn.ReflectionPad2d(1), nn.Conv2d(i, o, 3)

    def forward(self, x):
        return self.conv(self.pad(x))


class Monodepth2(nn.Module):
    """Normalisation inside, encoder to 1/8, decoder with two disparities, the first returned."""

    def __init__(self):
        super().__init__()
        self.stem, self.pool = conv_bn(3, 16, 7, 2), nn.MaxPool2d(3, 2, 1)
        self.l1 = nn.Sequential(Basic(16, 16, 1), Basic(16, 16, 1))
        self.l2 = nn.Sequential(Basic(16, 32, 2), Basic(32, 32, 1))
        self.u2a, self.u2b = Reflect(32, 24), Reflect(24 + 16, 24)
        self.u1a, self.u1b = Reflect(24, 16), Reflect(16 + 16, 16)
        self.u0a, self.u0b = Reflect(16, 8), Reflect(8, 8)
        self.disp = Reflect(8, 1)

    def forward(self, x):
        x = (x - 0.45) / 0.225
        e0 = self.stem(x)
        e1 = self.l1(self.pool(e0))
        x = F.elu(self.u2a(self.l2(e1)))
        x = F.elu(self.u2b(torch.cat([F.interpolate(x, scale_factor=2, mode='nearest'), e1], 1)))
        x = F.elu(self.u1a(x))
        x = F.elu(self.u1b(torch.cat([F.interpolate(x, scale_factor=2, mode='nearest'), e0], 1)))
        x = F.elu(self.u0a(x))
        x = F.elu(self.u0b(F.interpolate(x, scale_factor=2, mode='nearest')))
        return torch.sigmoid(self.disp(x))


class FastDepth(nn.Module):
    """Depthwise separable convolutions both ways, skips that are added, a ConvTranspose at the end."""

    def __init__(self):
        super().__init__()
        def dw(i, o, s):
            return nn.Sequential(conv_bn(i, i, 3, s, i, nn.ReLU6), conv_bn(i, o, 1, 1, 1, nn.ReLU6))
        def up(i, o):
            return nn.Sequential(conv_bn(i, i, 5, 1, i), conv_bn(i, o, 1))
        self.e0, self.e1, self.e2 = conv_bn(3, 12, 3, 2, 1, nn.ReLU6), dw(12, 20, 2), dw(20, 40, 2)
        self.d2, self.d1 = up(40, 20), up(20, 12)
        self.d0 = nn.ConvTranspose2d(12, 8, 4, 2, 1)
        self.head = conv_bn(8, 1, 1)

    def forward(self, x):
        e0 = self.e0(x)
        e1 = self.e1(e0)
        y = F.interpolate(self.d2(self.e2(e1)), scale_factor=2, mode='nearest') + e1
        y = F.interpolate(self.d1(y), scale_factor=2, mode='nearest') + e0
        return self.head(F.leaky_relu(self.d0(y), 0.1)) + 0.5


class MBConv(nn.Module):
    def __init__(self, i, o, k, stride):
        super().__init__()
        m = 4 * i
        self.body = nn.Sequential(conv_bn(i, m, 1, 1, 1, nn.ReLU6), conv_bn(m, m, k, stride, m, nn.ReLU6),
                                  conv_bn(m, o, 1, act=None))
        self.same = stride == 1 and i == o

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


class Unit(nn.Module):
    """MiDaS's residual convolution unit: activation before the convolution."""

    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, c, 3, 1, 1), nn.Conv2d(c, c, 3, 1, 1)

    def forward(self, x):
        return self.b(F.relu(self.a(F.relu(x)))) + x


class Midas(nn.Module):
    def __init__(self):
        super().__init__()
        self.e0 = nn.Sequential(conv_bn(3, 8, 3, 2, 1, nn.ReLU6), MBConv(8, 8, 3, 1))
        self.e1 = nn.Sequential(MBConv(8, 12, 3, 2), MBConv(12, 12, 5, 1))
        self.e2 = nn.Sequential(MBConv(12, 20, 5, 2), MBConv(20, 20, 3, 1))
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(20, 5, 1), nn.Hardswish(), nn.Conv2d(5, 20, 1),
                                  nn.Hardsigmoid())
        self.p0, self.p1, self.p2 = (nn.Conv2d(c, 16, 3, 1, 1, bias=False) for c in (8, 12, 20))
        self.u2, self.u1, self.u0 = Unit(16), Unit(16), Unit(16)
        self.out = nn.Sequential(nn.Conv2d(16, 8, 3, 1, 1), nn.Upsample(scale_factor=2, mode='bilinear'),
                                 nn.Conv2d(8, 8, 3, 1, 1), nn.ReLU(True), nn.Conv2d(8, 1, 1), nn.ReLU(True))
        nn.init.constant_(self.out[4].bias, 1.0)  # random weights must not end below the last ReLU

    def forward(self, x):
        e0 = self.e0(x)
        e1 = self.e1(e0)
        e2 = self.e2(e1)
        y = self.u2(self.p2(e2 * self.gate(e2)))
        y = F.interpolate(y, size=e1.shape[2:], mode='bilinear', align_corners=True)
        y = self.u1(self.p1(e1) + y)
        y = F.interpolate(y, scale_factor=2, mode='bilinear', align_corners=True)
        y = self.u0(self.p0(e0) + y)
        return torch.squeeze(self.out(y), dim=1)


def random_statistics(net):
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.weight, 0.7, 1.3)
            nn.init.uniform_(m.bias, -0.2, 0.2)
            nn.init.uniform_(m.running_mean, -0.2, 0.2)
            nn.init.uniform_(m.running_var, 0.5, 1.5)


def main():
    out = sys.argv[1]
    for name, net, opset in (('monodepth2', Monodepth2(), 11), ('fastdepth', FastDepth(), 13), ('midas', Midas(), 13)):
        random_statistics(net)
        net.eval()
        axes = {'image': {0: 'n', 2: 'h', 3: 'w'}, 'depth': {0: 'n', 1: 'h', 2: 'w'} if name == 'midas' else
                {0: 'n', 2: 'h', 3: 'w'}}
        # PRESERVE keeps the batch norms of one of them as nodes
        mode = torch.onnx.TrainingMode.PRESERVE if name == 'fastdepth' else torch.onnx.TrainingMode.EVAL
        path = os.path.join(out, name + '-tiny.onnx')
        torch.onnx.export(net, torch.zeros(1, 3, SIDE, SIDE), path, opset_version=opset, input_names=['image'],
                          output_names=['depth'], dynamic_axes=axes, training=mode)
        y = golden_output(net, (3, SIDE, SIDE), TESTS)
        y.tofile(os.path.join(out, name + '-tiny.f32'))
        print(path, os.path.getsize(path), 'bytes, results', y.shape, 'mean', y.mean(), 'std', y.std())


if __name__ == '__main__':
    torch.manual_seed(1)
    main()
