"""Changes of drawn pictures whose truth is known: mirror, roll, zoom about a place, colour, light, texture.

A picture zoomed by s shows the same depth through a focal length s times as long, so what the network answers
(log depth at a fixed focal length) must fall by log s. That is what teaches it scale for every camera.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F


def frames(rng, n, W, H, zoom=1.8, share=0.4, roll_deg=6.0, flips=True):
    """Random similarity of each of n pictures, new pixel (edges at 0 and W) -> old pixel [n,2,3], and its zoom [n].

    The new picture lies wholly inside the old one. Pictures that keep their frame are given back exactly.
    """
    A, s = np.zeros((n, 2, 3)), np.ones(n)
    for i in range(n):
        a = 0.0
        if rng.random() < share:
            s[i] = math.exp(rng.uniform(0, math.log(zoom)))
            if rng.random() < 0.4:
                a = math.radians(rng.uniform(-roll_deg, roll_deg))
        c, d = math.cos(a), math.sin(a)
        # half sizes of the rotated window must fit
        need = max((W * abs(c) + H * abs(d)) / W, (W * abs(d) + H * abs(c)) / H)
        s[i] = max(s[i], need)
        hx, hy = (W * abs(c) + H * abs(d)) / (2 * s[i]), (W * abs(d) + H * abs(c)) / (2 * s[i])
        cx = rng.uniform(hx, W - hx) if W - 2 * hx > 1e-6 else W / 2
        cy = rng.uniform(hy, H - hy) if H - 2 * hy > 1e-6 else H / 2
        m = -1.0 if flips and rng.random() < 0.5 else 1.0
        A[i] = [[m * c / s[i], -d / s[i], 0], [m * d / s[i], c / s[i], 0]]
        A[i, :, 2] = (cx, cy) - A[i, :, :2] @ (W / 2, H / 2)
    return A, s


def grids(A, W, H, device):
    """Sampling grid [n,H,W,2] for grid_sample(align_corners=False) of the similarities A [n,2,3] (numpy)."""
    half = np.array([W / 2, H / 2])
    # unit square coordinates: u = x / (W/2) - 1
    L = A[:, :, :2] * half[None, None, :] / half[None, :, None]
    t = ((A[:, :, :2] @ half) + A[:, :, 2]) / half - 1
    a = np.concatenate([L, t[:, :, None]], 2).astype(np.float32)
    a = torch.from_numpy(a).to(device, non_blocking=True)
    u = ((torch.arange(W, device=device) * 2 + 1) / W - 1)[None, None, :, None]
    v = ((torch.arange(H, device=device) * 2 + 1) / H - 1)[None, :, None, None]
    a = a[:, None, None]        # affine_grid would multiply in TF32: a tenth of a pixel
    return a[..., 0] * u + a[..., 1] * v + a[..., 2]


def colour(rng, x, share=0.5):
    """Pictures [N,3,H,W] 0..1: gains, gamma, loss of saturation beyond the drawn camera's, for a share of them."""
    n = len(x)
    on = rng.random(n) < share
    gain = np.where(on[:, None], np.exp(rng.normal(0, 0.12, (n, 1)) + rng.normal(0, 0.05, (n, 3))), 1.0)
    gamma = np.where(on, np.exp(rng.normal(0, 0.15, n)), 1.0)
    grey = np.where(on & (rng.random(n) < 0.25), rng.uniform(0.3, 1.0, n), 0.0)
    p = np.concatenate([gain, gamma[:, None], grey[:, None]], 1).astype(np.float32)
    t = torch.from_numpy(p).to(x.device, non_blocking=True)[:, :, None, None]
    x = (x.clamp(0, 1) ** t[:, 3:4] * t[:, 0:3]).clamp(0, 1)
    return x + t[:, 4:5] * (x.mean(1, keepdim=True) - x)


def lit(rng, x, share=0.5):
    """Pictures [N,3,H,W] 0..1 under more or less light here and there, for a share of them: a slow change over the
    picture, and stripes with an edge, as of sun, shadow or paint. Neither is an edge of shape.
    """
    n, _, H, W = x.shape
    slow = rng.normal(0, 0.25, (n, 1, 3, 4)) + rng.normal(0, 0.08, (n, 3, 3, 4))
    on = rng.random((n, 1, 1, 1)) < share
    # a stripe: between two lines, whose edge is soft by 0.3 to 5 pixels of 256
    a, at = rng.uniform(0, 2 * math.pi, n), rng.uniform(-0.4, 0.4, n)
    wide = np.exp(rng.uniform(math.log(0.05), math.log(0.7), n))
    soft = np.exp(rng.uniform(math.log(1e-3), math.log(0.02), n))
    gain = rng.normal(0, 0.45, (n, 1)) + rng.normal(0, 0.12, (n, 3))
    gain *= (rng.random((n, 1)) < 0.6)
    p = np.concatenate([np.cos(a)[:, None], np.sin(a)[:, None], at[:, None], wide[:, None], soft[:, None], gain], 1)
    p = torch.from_numpy((p * on[:, :, 0, 0]).astype(np.float32)).to(x.device, non_blocking=True)[:, :, None, None]
    slow = torch.from_numpy((slow * on).astype(np.float32)).to(x.device, non_blocking=True)
    u = torch.linspace(-0.5, 0.5, W, device=x.device)[None, None, None, :]
    v = torch.linspace(-0.5, 0.5, H, device=x.device)[None, None, :, None]
    off = (u * p[:, 0:1] + v * p[:, 1:2] - p[:, 2:3]).abs() - 0.5 * p[:, 3:4]
    inside = torch.sigmoid(-off / p[:, 4:5].clamp_min(1e-3))
    field = F.interpolate(slow, (H, W), mode='bicubic', align_corners=True)
    return (x * torch.exp(field + inside * p[:, 5:8])).clamp(0, 1)


def filtered(rng, x, share=0.25):
    """Pictures [N,3,H,W] 0..1 of which a share went through a random convolution each, mixed with the picture.

    Shapes and edges stay where they are, colours and fine texture become others (Xu et al., "Robust and
    generalizable visual representation learning via random convolutions", ICLR 2021), so that depth is not read off
    textures that only drawn pictures have. Mean and spread of each picture are kept.
    """
    n, c, H, W = x.shape
    k = int(rng.choice((1, 3, 5, 7)))
    weight = rng.normal(0, 1 / math.sqrt(c * k * k), (n * c, c, k, k)).astype(np.float32)
    mix = np.where(rng.random(n) < share, rng.uniform(0.2, 1.0, n), 0.0).astype(np.float32)
    weight, mix = (torch.from_numpy(a).to(x.device, non_blocking=True) for a in (weight, mix))
    y = F.pad(x - 0.5, (k // 2,) * 4, mode='replicate').reshape(1, n * c, H + k - 1, W + k - 1)
    y = F.conv2d(y, weight, groups=n).reshape(n, c, H, W)
    m, s = (t.mean((1, 2, 3), keepdim=True) for t in (x, (x - x.mean((1, 2, 3), keepdim=True)).square()))
    my = y.mean((1, 2, 3), keepdim=True)
    y = (y - my) * (s / (y - my).square().mean((1, 2, 3), keepdim=True).clamp_min(1e-6)).sqrt() + m
    return (x + mix[:, None, None, None] * (y - x)).clamp(0, 1)
