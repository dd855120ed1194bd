"""The papers' unsupervised losses: what a picture's neighbour says about its depth and motion.

A target picture is rebuilt from a neighbour: every pixel goes to its point by the target's depth, moves with
the camera (pixels of a moving thing with that thing's own motion) and reads the neighbour there. What is left
between the two pictures is the loss:

    sum over pixels of the smallest over the neighbours of 0.85 |difference| + 0.15 SSIM
    + 0.04 edge-aware smoothness of inverse depth + 0.0005 object size prior

Pictures are [N,3,H,W] normalised, depth [N,H,W] metres, motions [N,3,4] take points of the target's camera to the
neighbour's. All of it is to be computed in fp32: callers leave autocast first.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

import geometry as g

L1_WEIGHT, SSIM_WEIGHT, SMOOTH_WEIGHT, SIZE_WEIGHT = 0.85, 0.15, 0.04, 0.0005
NEAR_M = 0.05           # what lands nearer than this, or behind the camera, has no picture


def warp(source, depth, K, T, K_source):
    """Rebuild the target from `source`. T [N,3,4] or one a pixel [N,H,W,3,4].

    Returns the picture [N,3,H,W], where it is one [N,H,W] bool, and the points' depth in the source [N,H,W]
    and their pixels there, u and v.
    """
    x = g.backproject(depth, K)
    u, v, z = g.project(g.apply(T if T.ndim == 5 else T[:, None, None], x), K_source)
    h, w = source.shape[2:]
    inside = (z > NEAR_M) & (u >= 0) & (v >= 0) & (u <= w - 1) & (v <= h - 1)
    return g.look_up(source, u, v), inside, z, u, v


def ssim_loss(a, b):
    """(1 - SSIM) / 2 over 3x3 windows, [N,H,W], 0..1, of normalised pictures."""
    c1, c2 = (0.01 / 0.225) ** 2, (0.03 / 0.225) ** 2
    a, b = F.pad(a, (1, 1, 1, 1), 'reflect'), F.pad(b, (1, 1, 1, 1), 'reflect')
    ma, mb = F.avg_pool2d(a, 3, 1), F.avg_pool2d(b, 3, 1)
    va = (F.avg_pool2d(a * a, 3, 1) - ma * ma).clamp_min(0)
    vb = (F.avg_pool2d(b * b, 3, 1) - mb * mb).clamp_min(0)
    vab = F.avg_pool2d(a * b, 3, 1) - ma * mb
    s = (2 * ma * mb + c1) * (2 * vab + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))
    return ((1 - s) / 2).clamp(0, 1).mean(1)


def difference(a, b):
    """Photometric error a pixel, [N,H,W]."""
    return L1_WEIGHT * (a - b).abs().mean(1) + SSIM_WEIGHT * ssim_loss(a, b)


def reconstruction(target, warps):
    """Mean over pixels of the smallest error over the neighbours that see them. warps: [(picture, inside)]."""
    big = 1e3
    e = torch.stack([torch.where(inside, difference(target, p), torch.full_like(inside, big, dtype=p.dtype))
                     for p, inside in warps]).amin(0)
    seen = e < big
    return torch.where(seen, e, torch.zeros_like(e)).sum() / seen.sum().clamp_min(1)


def smoothness(depth, image):
    """Edge-aware: slopes of inverse depth over its mean, where the picture has none. depth [N,H,W]."""
    d = 1 / depth.clamp_min(1e-3)
    d = d / d.mean((1, 2), keepdim=True)
    gx = (image[..., 1:] - image[..., :-1]).abs().mean(1) * 0.225
    gy = (image[..., 1:, :] - image[..., :-1, :]).abs().mean(1) * 0.225
    return ((d[..., 1:] - d[..., :-1]).abs() * torch.exp(-gx * 10)).mean() \
        + ((d[..., 1:, :] - d[..., :-1, :]).abs() * torch.exp(-gy * 10)).mean()


class SizePrior(nn.Module):
    """How high things of a kind are: a thing's depth is near fy * height / its rows in the picture.

    The heights are learned with the rest (Casser et al. 2019). Kinds: 1 person, 2 vehicle, 3 another thing; 0 is
    for things of unknown kind. Guards against the collapse in which a thing that moves with the camera recedes to
    infinity.
    """
    HEIGHTS_M = (1.4, 1.65, 1.6, 0.8)

    def __init__(self):
        super().__init__()
        self.log_height = nn.Parameter(torch.tensor([math.log(h) for h in self.HEIGHTS_M]))

    def forward(self, depth, mask, fy, kind):
        """depth [N,H,W]; mask [N,H,W] 0..1, empty where there is no thing; fy [N]; kind [N] long."""
        n = mask.sum((1, 2))
        rows = (mask.amax(2) > 0.5).sum(1).float()
        # no indexing: its gradient would sort, and one_hot() would wait for the device
        which = (kind[:, None] == torch.arange(len(self.log_height), device=kind.device)).float()
        want = fy * (which * self.log_height.exp()).sum(1) / rows.clamp_min(1)
        have = (depth * mask).sum((1, 2)) / n.clamp_min(1)
        seen = (n > 0).float()
        return ((have - want).abs() / depth.mean((1, 2)) * seen).sum() / seen.sum().clamp_min(1)
