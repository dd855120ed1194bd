"""What a training step is for each network: which pictures, how they become input and truth, which loss.

A task has the networks it trains (`nets`), picture shapes, fixed buffers (a CUDA graph reads them), `fill`,
which turns drawn pictures into those, and `loss(nets, buf)` -> loss and the tensor of parts named in `parts`.
"""
import numpy as np
import torch
import torch.nn.functional as F

import augment
import geometry as g
import losses
import model
from scenes import render, sample, sensor

SLOTS = 256             # object numbers of a scene


def normalise(rgb):
    return (rgb - model.MEAN[0]) / model.STD[0]


class Task:
    parts, pairs, objects = (), False, False
    lively = 0.0            # share of scenes with people and moving things in view (sample.make_scene)
    hard = 0.15             # share of scenes with surfaces that are hard to see
    shutter = 0.4           # share of pictures whose rows are read one after the other
    style = 0.0             # share of pictures with other light, and half of that with other texture (augment.py)
    # width, height, share of batches, share of streets among a batch's scenes. All kinds of scenes meet in
    # every batch: batch norms see the mixture that their running averages stand for.
    shapes = [(256, 192, 0.34, 0.25), (320, 256, 0.12, 0.25), (416, 128, 0.20, 0.6), (192, 256, 0.13, 0.2),
              (288, 160, 0.12, 0.35), (160, 288, 0.09, 0.25)]
    n_scenes, per_scene = 16, 2

    def batch_size(self):
        return self.n_scenes * self.per_scene

    def n_pictures(self):
        return self.batch_size() * (2 if self.pairs else 1)

    def make(self):
        return torch.nn.ModuleDict({k: model.NETS[k]() for k in self.nets})

    def effects(self, rng, n, W):
        """A pair's pictures share the camera's settings, but for noise, blur and a little exposure."""
        e = render.random_effects(rng, n, W)
        if not self.pairs:
            return e
        own = render.random_effects(rng, n, W)
        e[1::2] = e[0::2]
        for k in ('seed', 'roll_blur'):
            e[k] = own[k]
        swap = rng.random(n) < 0.25
        for k in ('blur_x', 'blur_y'):
            e[k] = np.where(swap, own[k], e[k])
        e['exposure'] *= np.exp(rng.normal(0, 0.04, n))
        return e


def channels_last(*shape, device):
    return torch.zeros(*shape, device=device).contiguous(memory_format=torch.channels_last)


class Pairs:
    """Drawn pairs with their moments apart; `back` plays them backwards.

    x0, x1 [P,3,H,W] normalised; z0, z1 [P,H,W]; id0, id1 [P,H,W] long; K0, K1 [P,4]
    T [P,SLOTS,3,4]: what a thing's points do, first camera's frame to second camera's; slot 0: what rests
    kind [P,SLOTS]; moves [P,SLOTS] bool
    """

    def __init__(self, out, back=False):
        a, b = (1, 0) if back else (0, 1)
        x = normalise(out['rgb'])
        self.x0, self.x1 = x[a::2], x[b::2]
        self.z0, self.z1 = out['depth'][a::2], out['depth'][b::2]
        ids = out['object'].long()
        self.id0, self.id1 = ids[a::2], ids[b::2]
        self.K0, self.K1 = out['K'][a::2], out['K'][b::2]
        # in double: places in the world are metres, what is asked for are millimetres
        wc = torch.cat([out['R'], out['p'][..., None]], -1).double()
        M = out['motion'].double()[0::2]
        if back:
            M = g.inverse(M)
        self.T = g.compose(g.compose(g.inverse(wc[b::2])[:, None], M), wc[a::2][:, None]).float()
        self.kind = out['kind'].long()[0::2]
        self.moves = (M - torch.eye(3, 4, device=M.device, dtype=M.dtype)).abs().amax((2, 3)) > 1e-5

    def ego(self):
        """[P,6]: takes points of the second camera to the first's, as MotionNet answers (previous, current)."""
        return g.to_vector(g.inverse(self.T[:, 0]))

    def flow_motion(self):
        """Motion of every pixel of the first picture, [P,H,W,3,4]."""
        P, H, W = self.id0.shape
        flat = self.id0.reshape(P, H * W, 1, 1).expand(-1, -1, 3, 4)
        return self.T.gather(1, flat).reshape(P, H, W, 3, 4)

    def pair_input(self):
        return torch.cat([self.x0, self.x1, g.rays(self.K1, *self.x1.shape[2:])], 1)


def middles(ids):
    """Pixels [P,SLOTS] of each thing in pictures of numbers [P,H,W], and their middle [P,SLOTS,2] (x, y)."""
    P, H, W = ids.shape
    y, x = torch.meshgrid(torch.arange(H, device=ids.device), torch.arange(W, device=ids.device), indexing='ij')
    n, sx, sy = (torch.zeros(P, SLOTS, device=ids.device).scatter_add_(
        1, ids.reshape(P, -1), v.float().reshape(1, -1).expand(P, -1)) for v in (torch.ones_like(x), x, y))
    return n, torch.stack([sx, sy], -1) / n.clamp_min(1)[..., None]


def movable(out):
    """Truth of MaskNet [N,H,W]: people and vehicles 1, things that move 1, things at rest 0.5 (not asked)."""
    N, H, W = out['object'].shape
    M = out['motion']
    moves = (M - torch.eye(3, 4, device=M.device)).abs().amax((2, 3)) > 1e-5
    k = out['kind']
    value = torch.where((k == 1) | (k == 2) | ((k == 3) & moves), 1.0, torch.where(k == 3, 0.5, 0.0))
    return value.gather(1, out['object'].long().view(N, -1)).view(N, H, W)


def cut_out(x0, x1, m0, m1, K, size):
    """ObjectNet's input [n,8,size,size] from pictures [n,3,H,W], masks [n,H,W] 0..1 and the camera K [n,4].

    The window is the square round both masks, a quarter larger and at least 24 pixels; what lies outside the
    masks is 0; rays are those of the window's pixels.
    """
    n, _, H, W = x0.shape
    u = torch.maximum(m0, m1) > 0.5

    def ends(line):                     # [n,L] bool -> first and last set, 0 and 0 where none is
        f, L = line.float(), line.shape[1]
        any_ = f.amax(1)
        return f.argmax(1) * any_, (L - 1 - f.flip(1).argmax(1)) * any_

    (xa, xb), (ya, yb) = ends(u.any(1)), ends(u.any(2))
    side = (torch.maximum(xb - xa, yb - ya) + 1).mul(1.25).clamp_min(24.0)
    cx, cy = (xa + xb) / 2 + 0.5, (ya + yb) / 2 + 0.5            # edges at 0 and W
    at = (torch.arange(size, device=x0.device) + 0.5) / size - 0.5
    px = (cx[:, None] + at * side[:, None])[:, None, :].expand(n, size, size)
    py = (cy[:, None] + at * side[:, None])[:, :, None].expand(n, size, size)
    a = g.look_up(x0 * m0[:, None], px - 0.5, py - 0.5)
    b = g.look_up(x1 * m1[:, None], px - 0.5, py - 0.5)
    s = size / side
    return torch.cat([a, b, g.rays(g.scaled_K(K, s, s, cx - side / 2, cy - side / 2), size, size)], 1)


class Depth(Task):
    name, nets, parts = 'depth', ('depth',), ('log error', 'shape', 'level')
    level_weight = 0.3
    local_weight = 0.0      # of losses.local_loss

    def buffers(self, W, H, device):
        n = self.n_pictures()
        return {'image': channels_last(n, 3, H, W, device=device),
                'depth': torch.ones(n, 1, H, W, device=device), 'focal': torch.full((n,), 200.0, device=device)}

    def fill(self, buf, out, rng, video=None):
        W, H = out['rgb'].shape[3], out['rgb'].shape[2]
        A, s = augment.frames(rng, len(out['rgb']), W, H)
        grid = augment.grids(A, W, H, out['rgb'].device)
        x = F.grid_sample(out['rgb'], grid, padding_mode='border', align_corners=False)
        z = F.grid_sample(out['depth'][:, None], grid, mode='nearest', align_corners=False)
        x = augment.colour(rng, x)
        if self.style:
            x = augment.filtered(rng, augment.lit(rng, x, self.style), self.style / 2)
        buf['image'].copy_(normalise(x))
        buf['depth'].copy_(z)
        buf['focal'].copy_(g.focal(out['K']) * torch.from_numpy(s.astype(np.float32)).to(x.device))

    def loss(self, nets, buf):
        pred = nets['depth'](buf['image']).float()
        return losses.depth_loss(pred, buf['depth'], buf['focal'], self.level_weight, self.local_weight)


class Motion(Task):
    name, nets, parts, pairs, objects = 'motion', ('motion',), ('translation', 'rotation', 'length'), True, True
    per_scene, lively = 3, 0.5

    def buffers(self, W, H, device):
        n = self.batch_size()
        return {'pair': channels_last(n, 8, H, W, device=device), 'motion': torch.zeros(n, 6, device=device)}

    def fill(self, buf, out, rng, video=None):
        p = Pairs(out, bool(rng.integers(2)))
        buf['pair'].copy_(p.pair_input())
        buf['motion'].copy_(p.ego())

    def loss(self, nets, buf):
        return losses.motion_loss(nets['motion'](buf['pair']).float(), buf['motion'])


class Mask(Task):
    name, nets, parts, objects = 'mask', ('mask',), ('cross entropy', 'IoU'), True
    lively = 0.8            # and some where nobody is

    def buffers(self, W, H, device):
        n = self.n_pictures()
        return {'image': channels_last(n, 3, H, W, device=device), 'mask': torch.zeros(n, 1, H, W, device=device)}

    def fill(self, buf, out, rng, video=None):
        W, H = out['rgb'].shape[3], out['rgb'].shape[2]
        A, _ = augment.frames(rng, len(out['rgb']), W, H)
        grid = augment.grids(A, W, H, out['rgb'].device)
        x = F.grid_sample(out['rgb'], grid, padding_mode='border', align_corners=False)
        buf['image'].copy_(normalise(augment.colour(rng, x)))
        y = movable(out)[:, None]
        buf['mask'].copy_(F.grid_sample(y, grid, mode='nearest', align_corners=False))

    def loss(self, nets, buf):
        return losses.mask_loss(nets['mask'](buf['image']).float(), buf['mask'])


class ObjMotion(Task):
    name, nets, parts, pairs, objects = 'objmotion', ('objmotion',), ('translation', 'rotation'), True, True
    per_scene, n_things, size, least_px, lively = 2, 48, 128, 100, 1.0
    fair_px = 0.5, 40.0     # motions in the picture that can be learned from

    def buffers(self, W, H, device):
        return self.thing_buffers(device)

    def thing_buffers(self, device):
        n, s = self.n_things, self.size
        T = torch.eye(3, 4, device=device).repeat(n, 1, 1)
        return {'cut': channels_last(n, 8, s, s, device=device), 'T': T,
                'centre': torch.ones(n, 3, device=device), 'weight': torch.zeros(n, device=device),
                'picture': torch.zeros(n, dtype=torch.long, device=device),
                'slot': torch.zeros(n, dtype=torch.long, device=device)}

    def choose(self, p, rng):
        """Pair and object number of the things to look at, and 0 or 1: is there one? By preference those that
        move, are not small, and whose picture shifts neither by nothing nor by half its width.
        """
        P, H, W = p.id0.shape
        (n0, c0), (n1, c1) = (middles(i) for i in (p.id0, p.id1))
        size, shift = torch.minimum(n0, n1), (c1 - c0).norm(dim=2)
        fair = (shift >= self.fair_px[0]) & (shift <= self.fair_px[1])
        dice = torch.from_numpy(rng.random((P, SLOTS)).astype(np.float32)).to(p.x0.device)
        liked = 0.6 * p.moves.float() + 0.5 * fair.float() + 0.5 * (size / 2000).clamp_max(1)
        score = (size >= self.least_px).float() * (0.3 + liked + dice) * (p.kind > 0)
        best, at = score.view(-1).topk(self.n_things)
        return at // SLOTS, at % SLOTS, (best > 0).float()

    def fill(self, buf, out, rng, video=None):
        self.fill_things(buf, Pairs(out, bool(rng.integers(2))), rng)

    def fill_things(self, buf, p, rng):
        pic, slot, there = self.choose(p, rng)
        m0 = (p.id0[pic] == slot[:, None, None]).float() * there[:, None, None]
        m1 = (p.id1[pic] == slot[:, None, None]).float() * there[:, None, None]
        x = g.backproject(p.z0[pic], p.K0[pic])
        buf['centre'].copy_((x * m0[..., None]).sum((1, 2)) / m0.sum((1, 2)).clamp_min(1)[:, None])
        # real masks are neither exact nor alike in both pictures: a third of them a little too large
        for m in (m0, m1):
            fat = torch.from_numpy((rng.random(len(m)) < 0.33).astype(np.float32)).to(m.device)[:, None, None]
            m.copy_(torch.maximum(m, fat * F.max_pool2d(m[:, None], 5, 1, 2)[:, 0]))
        buf['cut'].copy_(cut_out(p.x0[pic], p.x1[pic], m0, m1, p.K1[pic], self.size))
        buf['T'].copy_(p.T[pic, slot])
        for k, v in (('weight', there), ('picture', pic), ('slot', slot)):
            buf[k].copy_(v)

    def loss(self, nets, buf):
        return losses.object_loss(nets['objmotion'](buf['cut']).float(), buf['T'], buf['centre'], buf['weight'])


def tables(scenes, picks, device):
    """Motions [N,SLOTS,3,4] and kinds [N,SLOTS] of each picture's scene, by object number."""
    n = max(len(s.objects) for s in scenes)
    M = np.tile(np.eye(3, 4, dtype=np.float32), (len(scenes), n, 1, 1))
    kind = np.zeros((len(scenes), n), np.uint8)
    for k, s in enumerate(scenes):
        M[k, :len(s.objects)], kind[k, :len(s.kinds)] = s.objects, s.kinds
    at = [s for s, _, _ in picks]
    motion = torch.eye(3, 4, device=device).repeat(len(picks), SLOTS, 1, 1)
    motion[:, :n] = torch.from_numpy(M[at]).to(device, non_blocking=True)
    kinds = torch.zeros(len(picks), SLOTS, dtype=torch.uint8, device=device)
    kinds[:, :n] = torch.from_numpy(kind[at]).to(device, non_blocking=True)
    return motion, kinds


def camera(task, out, scenes, picks, rng):
    """What sensor and file format do to drawn pictures; a pair has one camera. The pose is the middle row's."""
    motion = sensor.shutter_motion(scenes, picks, rng, task.shutter)
    quality = sensor.random_quality(rng, len(picks))
    if task.pairs:
        motion[1::2], quality[1::2] = motion[0::2], quality[0::2]
    dev = out['rgb'].device
    if task.shutter:
        out = sensor.rolling_shutter(out, torch.from_numpy(motion).to(dev, non_blocking=True))
    return {**out, 'rgb': sensor.jpeg(out['rgb'], torch.from_numpy(quality).to(dev, non_blocking=True))}


def draw(task, renderer, pool, rng, shape, ss=2):
    """One batch of pictures of a shape, drawn on the current stream."""
    W, H, _, streets = shape
    n = int(rng.binomial(task.n_scenes, streets))
    scenes = [s for kind, k in (('street', n), ('indoor', task.n_scenes - n)) if k for s in pool.take(kind, k)]
    picks = sample.picks(rng, task.n_scenes, task.per_scene, len(scenes[0].cams), task.pairs)
    want = ('rgb', 'depth', 'object') if task.objects else ('rgb', 'depth')
    out = renderer.draw(scenes, picks, W, H, task.effects(rng, len(picks), W), ss, want)
    out = camera(task, out, scenes, picks, rng)
    if task.objects:
        out['motion'], out['kind'] = tables(scenes, picks, renderer.device)
    return out
