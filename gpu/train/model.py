"""The four networks.

DepthNet: ResNet-18 encoder, U-Net decoder with skip connections; 13.0 M parameters.
    image [N,3,H,W], RGB normalised by MEAN and STD; H, W multiples of 32
    -> [N,1,H,W] natural logarithm of depth in metres as a camera of focal length FOCAL_PX pixels
       would see it: metres = exp(value) * sqrt(fx fy) / FOCAL_PX, both in pixels of this picture
MotionNet: strided convolutions over two frames; 1.0 M parameters.
    pair [N,8,H,W]: previous RGB, current RGB (normalised), rays (x-cx)/fx and (y-cy)/fy
    -> [N,6] tx ty tz (metres) rx ry rz (axis-angle, radians): the transform that takes points of
       the current camera into the previous camera's frame (x right, y down, z forward)
MaskNet: small U-Net; 0.6 M parameters.
    image [N,3,H,W] as above -> [N,1,H,W] logit: does the pixel show a thing that can move by itself?
ObjectNet (psi_M): MotionNet's layers with weights of its own.
    pair [N,8,S,S]: one thing, cut out of the previous and of the current picture by one square window round
    both (see `tasks.cut_out`), everything else 0; rays of the window's pixels in the camera
    -> [N,6] the thing's motion as the camera sees it: takes the thing's points in the previous camera's frame
       to the same points in the current camera's frame, T_cw(1) M T_wc(0)

All are Conv + BatchNorm + ReLU throughout. `fold()` returns a copy whose batch norms are merged into
the convolutions: that is what is exported. `load_folded()` goes back, see there.
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

MEAN, STD = (0.45, 0.45, 0.45), (0.225, 0.225, 0.225)
FOCAL_PX = 200.0
MIN_DEPTH_M, MAX_DEPTH_M = 0.1, 120.0


class Conv(nn.Module):
    """Convolution, batch norm, optional ReLU."""

    def __init__(self, n_in, n_out, k=3, stride=1, relu=True):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, k, stride, k // 2, bias=False)
        self.bn = nn.BatchNorm2d(n_out)
        self.relu = relu
        nn.init.kaiming_normal_(self.conv.weight, mode='fan_out', nonlinearity='relu')

    def forward(self, x):
        x = self.conv(x)
        if self.bn is not None:
            x = self.bn(x)
        return F.relu(x) if self.relu else x


class Block(nn.Module):
    """ResNet basic block."""

    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.a, self.b = Conv(n_in, n_out, 3, stride), Conv(n_out, n_out, 3, 1, relu=False)
        self.skip = Conv(n_in, n_out, 1, stride, relu=False) if stride != 1 or n_in != n_out else None
        nn.init.zeros_(self.b.bn.weight)

    def forward(self, x):
        return F.relu(self.b(self.a(x)) + (self.skip(x) if self.skip is not None else x))


def up(x):
    return F.interpolate(x, scale_factor=2.0, mode='nearest')


class Foldable(nn.Module):
    def fold(self):
        m = copy.deepcopy(self).eval()
        for c in m.modules():
            if isinstance(c, Conv) and c.bn is not None:
                s = c.bn.weight / torch.sqrt(c.bn.running_var + c.bn.eps)
                w, b = c.conv.weight * s.view(-1, 1, 1, 1), c.bn.bias - c.bn.running_mean * s
                k = c.conv
                c.conv = nn.Conv2d(k.in_channels, k.out_channels, k.kernel_size, k.stride, k.padding, bias=True)
                c.conv.weight.data, c.conv.bias.data, c.bn = w.detach().clone(), b.detach().clone(), None
        return m

    def load_folded(self, state, x):
        """Take folded weights (an exported network's) and give the batch norms back.

        `x` is a batch of real input: the mean and variance of every convolution's output on it become the
        running statistics, with scale and shift chosen so that the network computes the same function.
        """
        for name, c in self.named_modules():
            if isinstance(c, Conv):
                c.conv.weight.data.copy_(state[name + '.conv.weight'])
                c.bn.running_mean.zero_()
                c.bn.running_var.fill_(1.0 - c.bn.eps)
                c.bn.weight.data.fill_(1.0)
                c.bn.bias.data.copy_(state[name + '.conv.bias'])
        own = self.state_dict()
        self.load_state_dict({k: v for k, v in state.items() if k in own and own[k].shape == v.shape}, strict=False)
        stats, hooks = {}, []
        for c in self.modules():
            if isinstance(c, Conv):
                hooks.append(c.conv.register_forward_hook(
                    lambda m, i, o, c=c: stats.__setitem__(c, (o.float().mean((0, 2, 3)), o.float().var((0, 2, 3))))))
        self.eval()
        with torch.no_grad():
            self(x)
        for h in hooks:
            h.remove()
        for c, (mean, var) in stats.items():
            var = var.clamp_min(1e-6)
            c.bn.running_mean.copy_(mean)
            c.bn.running_var.copy_(var)
            c.bn.weight.data.copy_(torch.sqrt(var + c.bn.eps))
            c.bn.bias.data.add_(mean)


class DepthNet(Foldable):
    def __init__(self):
        super().__init__()
        self.stem = Conv(3, 64, 7, 2)                                                       # 1/2
        layers, n = [], 64
        for n_out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):                       # 1/4 1/8 1/16 1/32
            layers.append(nn.Sequential(Block(n, n_out, stride), Block(n_out, n_out, 1)))
            n = n_out
        self.layers = nn.ModuleList(layers)
        self.neck = nn.Sequential(Conv(512, 192, 1), Conv(192, 192))
        self.d16 = nn.Sequential(Conv(192 + 256, 160), Conv(160, 160))
        self.d8 = nn.Sequential(Conv(160 + 128, 96), Conv(96, 96))
        self.d4 = nn.Sequential(Conv(96 + 64, 64), Conv(64, 64))
        self.d2 = nn.Sequential(Conv(64 + 64, 32), Conv(32, 32))
        self.d1 = Conv(32, 16)
        self.head = nn.Conv2d(16, 1, 3, 1, 1)
        nn.init.normal_(self.head.weight, 0, 0.01)
        nn.init.constant_(self.head.bias, 0.7)

    def forward(self, image):
        s2 = self.stem(image)
        s4 = self.layers[0](F.max_pool2d(s2, 3, 2, 1))
        s8 = self.layers[1](s4)
        s16 = self.layers[2](s8)
        x = self.neck(self.layers[3](s16))
        x = self.d16(torch.cat((up(x), s16), 1))
        x = self.d8(torch.cat((up(x), s8), 1))
        x = self.d4(torch.cat((up(x), s4), 1))
        x = self.d2(torch.cat((up(x), s2), 1))
        return self.head(self.d1(up(x)))


class MotionNet(Foldable):
    SCALE = (0.05, 0.05, 0.1, 0.03, 0.03, 0.03)     # size of a typical answer, merged into the last layer

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            Conv(8, 32, 7, 2), Conv(32, 64, 5, 2), Conv(64, 64), Conv(64, 96, 3, 2), Conv(96, 96), Conv(96, 128, 3, 2),
            Conv(128, 128), Conv(128, 192, 3, 2), Conv(192, 192))
        self.fc1, self.fc2 = nn.Linear(192, 128), nn.Linear(128, 6)
        with torch.no_grad():
            self.fc2.weight.mul_(0.2)
            self.fc2.bias.zero_()
        self.register_buffer('scale', torch.tensor(self.SCALE), persistent=False)

    def forward(self, pair):
        x = F.adaptive_avg_pool2d(self.body(pair), 1).flatten(1)
        x = self.fc2(F.relu(self.fc1(x)))
        return x * self.scale if self.scale is not None else x

    def fold(self):
        m = super().fold()
        m.fc2.weight.data *= m.scale[:, None]
        m.fc2.bias.data *= m.scale
        m.scale = None
        return m

    def load_folded(self, state, x):
        super().load_folded(state, x)
        self.fc2.weight.data /= self.scale[:, None]
        self.fc2.bias.data /= self.scale


class ObjectNet(MotionNet):
    SCALE = (0.2, 0.2, 0.4, 0.03, 0.03, 0.03)


class MaskNet(Foldable):
    def __init__(self):
        super().__init__()
        self.s2 = Conv(3, 24, 3, 2)
        self.s4 = nn.Sequential(Conv(24, 40, 3, 2), Conv(40, 40))
        self.s8 = nn.Sequential(Conv(40, 72, 3, 2), Conv(72, 72))
        self.s16 = nn.Sequential(Conv(72, 112, 3, 2), Conv(112, 112))
        self.s32 = nn.Sequential(Conv(112, 128, 3, 2), Conv(128, 96, 1))
        self.d16, self.d8 = Conv(96 + 112, 64), Conv(64 + 72, 40)
        self.d4, self.d2 = Conv(40 + 40, 32), Conv(32 + 24, 16)
        self.head = nn.Conv2d(16, 1, 3, 1, 1)
        nn.init.constant_(self.head.bias, -2.0)         # most of a picture rests

    def forward(self, image):
        s2 = self.s2(image)
        s4 = self.s4(s2)
        s8 = self.s8(s4)
        s16 = self.s16(s8)
        x = self.d16(torch.cat((up(self.s32(s16)), s16), 1))
        x = self.d8(torch.cat((up(x), s8), 1))
        x = self.d4(torch.cat((up(x), s4), 1))
        x = self.d2(torch.cat((up(x), s2), 1))
        return self.head(up(x))


NETS = {'depth': DepthNet, 'motion': MotionNet, 'mask': MaskNet, 'objmotion': ObjectNet}


def n_params(m):
    return sum(p.numel() for p in m.parameters())
