"""Losses on rendered truth."""
import math

import torch
import torch.nn.functional as F

from model import FOCAL_PX, MAX_DEPTH_M, MIN_DEPTH_M

SKY_WEIGHT = 0.15       # the sky is only asked to be far


def depth_loss(pred, depth, fx):
    """pred [N,1,H,W] log depth at FOCAL_PX; depth [N,1,H,W] metres, 0 = sky; fx [N] pixels.

    Three terms on the error e = pred - log(truth): its mean absolute value (metric depth), the same
    after each picture's own mean is taken off (shape), and the absolute differences between neighbours
    at four scales (edges and planes).
    """
    sky = (depth <= 0).float()
    z = depth.clamp(MIN_DEPTH_M, MAX_DEPTH_M) * (1 - sky) + MAX_DEPTH_M * sky
    e = pred - torch.log(z * (FOCAL_PX / fx).view(-1, 1, 1, 1))
    valid = ((depth > MIN_DEPTH_M) & (depth < MAX_DEPTH_M)).float()
    # a picture that is mostly one surface under 0.25 m away was taken inside something: left out
    keep = ((depth > 0) & (depth < 0.25)).float().mean((1, 2, 3), keepdim=True) < 0.35
    valid = valid * keep
    w = valid + SKY_WEIGHT * sky * keep
    metric = (e.abs() * w).sum() / w.sum().clamp_min(1)
    mean = (e * valid).sum((1, 2, 3), keepdim=True) / valid.sum((1, 2, 3), keepdim=True).clamp_min(1)
    shape = ((e - mean).abs() * valid).sum() / valid.sum().clamp_min(1)
    grad, a, v = 0.0, e, valid
    for k in range(4):
        vx, vy = v[..., 1:] * v[..., :-1], v[..., 1:, :] * v[..., :-1, :]
        grad = grad + ((a[..., 1:] - a[..., :-1]).abs() * vx).sum() / vx.sum().clamp_min(1) \
            + ((a[..., 1:, :] - a[..., :-1, :]).abs() * vy).sum() / vy.sum().clamp_min(1)
        if k < 3:
            a, v = a[..., ::2, ::2], v[..., ::2, ::2]
    return 0.6 * metric + 1.0 * shape + 0.4 * grad, metric.detach()


def motion_loss(pred, truth):
    """pred, truth [N,6]: metres and radians. Relative beyond 2 cm and 0.5 degrees, absolute below."""
    dt, dr = pred[:, :3] - truth[:, :3], pred[:, 3:] - truth[:, 3:]
    nt, nr = truth[:, :3].norm(dim=1), truth[:, 3:].norm(dim=1)
    lt = dt.norm(dim=1) / (0.02 + 0.5 * nt)
    lr = dr.norm(dim=1) / (math.radians(0.5) + 0.25 * nr)
    return lt.mean() + lr.mean(), lr.detach().mean()
