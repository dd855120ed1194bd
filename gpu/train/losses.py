"""Losses on rendered truth. Each returns the loss and a tensor of parts worth a curve (names in tasks.py)."""
import math

import torch
import torch.nn.functional as F

import geometry as g
from model import FOCAL_PX, MAX_DEPTH_M, MIN_DEPTH_M

SKY_WEIGHT = 0.15       # the sky is only asked to be far
LOCAL, LOCAL_SOFT = 0.04, 0.0025    # of local_loss: half the pull beyond the first, less below the second
BREAK = 0.02            # a second difference of 1/z of so much of 1/z is a step or a crease


def unbroken(z):
    """1 where the depth z [N,1,H,W] goes on smoothly, 0 at its steps and creases, [N,1,H,W].

    Along a plane 1/z is linear in the picture: what is left of its second difference is no plane.
    """
    w = 1 / z
    bend = torch.zeros_like(w)
    bend[..., 1:-1] = (w[..., 2:] + w[..., :-2] - 2 * w[..., 1:-1]).abs()
    bend[..., 1:-1, :] = torch.maximum(bend[..., 1:-1, :], (w[..., 2:, :] + w[..., :-2, :] - 2 * w[..., 1:-1, :]).abs())
    return 1 - F.max_pool2d((bend > BREAK * w).float(), 3, 1, 1)


def local_loss(e, valid, z):
    """How far shapes are off, wherever they are: e [N,1,H,W] error of log depth, valid 0 or 1, z metres.

    Means of 4 x 4 pixels are compared in pairs, 8 to 64 pixels apart along rows and columns, between which the true
    surface goes on without a break: its error should be the same at both ends, else it is bent or turned. Errors
    count by c log(1 + |r| / c): those of 0.5 to 5 % pull most, what is off by a third is the other terms' concern.
    """
    v = valid * unbroken(z)
    whole = F.avg_pool2d(v, 4)
    e, v = F.avg_pool2d(e * v, 4) / whole.clamp_min(1e-4), (whole > 0.5).float()
    total = 0.0
    for a, b in ((e, v), (e.transpose(2, 3), v.transpose(2, 3))):
        breaks = (1 - b).cumsum(3)
        for d in (2, 4, 8, 16):
            if d < a.shape[3]:
                same = (breaks[..., d:] == breaks[..., :-d]).float() * b[..., :-d]
                r = ((a[..., d:] - a[..., :-d]).square() + LOCAL_SOFT ** 2).sqrt() - LOCAL_SOFT
                total = total + (LOCAL * torch.log1p(r / LOCAL) * same).sum() / same.sum().clamp_min(1)
    return total / 4


def depth_loss(pred, depth, focal, level_weight=0.0, local_weight=0.0):
    """pred [N,1,H,W] log depth at FOCAL_PX; depth [N,1,H,W] metres, 0 = sky; focal [N] pixels.

    Terms on the error e = pred - log(truth): its mean absolute value (metric depth), the same after each
    picture's own mean is taken off (shape), the absolute differences between neighbours at four scales (edges
    and planes), with `level_weight` each picture's mean by itself (scale), and with `local_weight` local_loss.
    """
    sky = (depth <= 0).float()
    z = depth.clamp(MIN_DEPTH_M, MAX_DEPTH_M) * (1 - sky) + MAX_DEPTH_M * sky
    e = pred - torch.log(z * (FOCAL_PX / focal).view(-1, 1, 1, 1))
    valid = ((depth > MIN_DEPTH_M) & (depth < MAX_DEPTH_M)).float()
    # a picture that is mostly one surface under 0.25 m away was taken inside something: left out
    keep = (((depth > 0) & (depth < 0.25)).float().mean((1, 2, 3), keepdim=True) < 0.35).float()
    valid = valid * keep
    w = valid + SKY_WEIGHT * sky * keep
    metric = (e.abs() * w).sum() / w.sum().clamp_min(1)
    n = valid.sum((1, 2, 3), keepdim=True)
    mean = (e * valid).sum((1, 2, 3), keepdim=True) / n.clamp_min(1)
    shape = ((e - mean).abs() * valid).sum() / valid.sum().clamp_min(1)
    level = (mean.abs() * (n > 0)).mean()
    grad, a, v = 0.0, e, valid
    for k in range(4):
        vx, vy = v[..., 1:] * v[..., :-1], v[..., 1:, :] * v[..., :-1, :]
        grad = grad + ((a[..., 1:] - a[..., :-1]).abs() * vx).sum() / vx.sum().clamp_min(1) \
            + ((a[..., 1:, :] - a[..., :-1, :]).abs() * vy).sum() / vy.sum().clamp_min(1)
        if k < 3:
            a, v = a[..., ::2, ::2], v[..., ::2, ::2]
    loss = 0.6 * metric + 1.0 * shape + 0.4 * grad + level_weight * level
    if local_weight:
        loss = loss + local_weight * local_loss(e, valid, z)
    return loss, torch.stack([metric, shape, level]).detach()


def motion_loss(pred, truth):
    """pred, truth [N,6]: metres and radians. Relative beyond 2 cm and 0.5 degrees, absolute below.

    The length of the translation is asked for once more by its logarithm: the error alone is smallest, where the
    direction is unsure, for an answer near rest.
    """
    dt, dr = pred[:, :3] - truth[:, :3], pred[:, 3:] - truth[:, 3:]
    nt, nr = truth[:, :3].norm(dim=1), truth[:, 3:].norm(dim=1)
    lt = (dt.norm(dim=1) / (0.02 + 0.5 * nt)).mean()
    lr = (dr.norm(dim=1) / (math.radians(0.5) + 0.25 * nr)).mean()
    long = (pred[:, :3].square().sum(1) + 1e-8).sqrt()
    length = (torch.log((long + 0.005) / (nt + 0.005))).abs().mean()
    return lt + lr + 0.3 * length, torch.stack([lt, lr, length]).detach()


def motion_loss_each(pred, truth):
    """How far each answer is off, on the scale of motion_loss, for finding the worst."""
    d, n = pred - truth, truth
    return d[:, :3].norm(dim=1) / (0.02 + 0.5 * n[:, :3].norm(dim=1)) \
        + d[:, 3:].norm(dim=1) / (math.radians(0.5) + 0.25 * n[:, 3:].norm(dim=1))


def mask_loss(logit, truth):
    """logit [N,1,H,W]; truth [N,1,H,W] 1 movable, 0 not, 0.5 not asked. Cross entropy and overlap (dice)."""
    asked = ((truth - 0.5).abs() > 0.25).float()
    y = (truth > 0.75).float()
    ce = F.binary_cross_entropy_with_logits(logit, y, reduction='none')
    ce = (ce * asked * (1 + 2 * y)).sum() / asked.sum().clamp_min(1)
    p = torch.sigmoid(logit) * asked
    inter, total = (p * y).sum(), (p + y * asked).sum()
    dice = 1 - (2 * inter + 1) / (total + 1)
    hard = (logit > 0).float() * asked
    both = (hard * y).sum()
    iou = both / ((hard + y * asked).clamp_max(1).sum()).clamp_min(1)
    return ce + 0.5 * dice, torch.stack([ce, iou]).detach()


def object_errors(pred, truth, centre):
    """How far a thing's motion is off: metres at its centre, radians; and how far the thing moved, metres.

    pred [N,6]; truth [N,3,4]; centre [N,3] of the thing in the first camera. The centre counts, not the bare
    translation: that is the motion of the camera's own place and means nothing ten metres away.
    """
    T = g.to_motion(pred)
    to = g.apply(truth, centre)
    at = (g.apply(T, centre) - to).norm(dim=1)
    turn = g.rotation_log(g.mul3(T[..., :3].transpose(-1, -2), truth[..., :3])).norm(dim=1)
    return at, turn, (to - centre).norm(dim=1)


def object_loss(pred, truth, centre, weight):
    """weight [N]: 0 where there was no thing. Relative beyond 5 cm and 1 degree, coarser with distance."""
    at, _, moved = object_errors(pred, truth, centre)
    w = g.rotation_log(truth[..., :3])
    dr = (pred[:, 3:] - w).norm(dim=1)
    total = weight.sum().clamp_min(1)
    lt = (at / (0.05 + 0.4 * moved + 0.005 * centre.norm(dim=1)) * weight).sum() / total
    lr = (dr / (math.radians(1.0) + 0.25 * w.norm(dim=1)) * weight).sum() / total
    return lt + lr, torch.stack([lt, lr]).detach()
