"""What a training step is for each network: which pictures, how they become input and truth, which loss."""
import numpy as np
import torch

import losses
import model
from scenes import render, sample


def rotation_log(R):
    """Axis-angle vectors [N,3] of rotation matrices [N,3,3] (small angles, well away from pi)."""
    w = torch.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], 1) * 0.5
    s = w.norm(dim=1, keepdim=True)
    c = ((R.diagonal(dim1=1, dim2=2).sum(1, keepdim=True) - 1) * 0.5).clamp(-1, 1)
    return w * torch.where(s > 1e-6, torch.atan2(s, c) / s.clamp_min(1e-12), torch.ones_like(s))


def normalise(rgb):
    return (rgb - model.MEAN[0]) / model.STD[0]


class Depth:
    name = 'depth'
    # width, height, share of batches, share of streets
    shapes = [(256, 192, 0.42, 0.10), (320, 256, 0.22, 0.10), (416, 128, 0.24, 0.75), (192, 256, 0.12, 0.10)]
    n_scenes, per_scene, pairs = 16, 2, False

    def batch_size(self):
        return self.n_scenes * self.per_scene

    def effects(self, rng, n, W):
        return render.random_effects(rng, n, W)

    def buffers(self, W, H, device):
        n = self.batch_size()
        return {'image': torch.zeros(n, 3, H, W, device=device).contiguous(memory_format=torch.channels_last),
                'depth': torch.ones(n, 1, H, W, device=device), 'fx': torch.full((n,), 200.0, device=device)}

    def fill(self, buf, out, rng):
        """Drawn pictures to network input; half of them mirrored."""
        x, z = normalise(out['rgb']), out['depth'][:, None]
        h = len(x) // 2
        order = rng.integers(2)
        for k, part in enumerate((slice(0, h), slice(h, None))):
            if k == order:
                buf['image'][part].copy_(x[part].flip(-1))
                buf['depth'][part].copy_(z[part].flip(-1))
            else:
                buf['image'][part].copy_(x[part])
                buf['depth'][part].copy_(z[part])
        buf['fx'].copy_(out['K'][:, 0])

    def loss(self, net, buf):
        return losses.depth_loss(net(buf['image']).float(), buf['depth'], buf['fx'])


class Motion:
    name = 'motion'
    shapes = [(256, 192, 0.6, 0.08), (320, 256, 0.12, 0.08), (416, 128, 0.18, 0.8), (192, 256, 0.1, 0.05)]
    n_scenes, per_scene, pairs = 16, 3, True

    def batch_size(self):
        return self.n_scenes * self.per_scene

    def effects(self, rng, n, W):
        """Both moments of a pair share the camera's settings, but for noise, blur and a little exposure."""
        e = render.random_effects(rng, n, W)
        own = render.random_effects(rng, n, W)
        e[1::2] = e[0::2]
        for k in ('seed', 'roll_blur'):
            e[k] = own[k]
        swap = rng.random(n) < 0.25
        for k in ('blur_x', 'blur_y'):
            e[k] = np.where(swap, own[k], e[k])
        e['exposure'] *= np.exp(rng.normal(0, 0.04, n))
        return e

    def buffers(self, W, H, device):
        n = self.batch_size()
        return {'pair': torch.zeros(n, 8, H, W, device=device).contiguous(memory_format=torch.channels_last),
                'motion': torch.zeros(n, 6, device=device)}

    def fill(self, buf, out, rng):
        x, n = normalise(out['rgb']), self.batch_size()
        H, W = x.shape[2:]
        a, b = (0, 1) if rng.integers(2) else (1, 0)                    # played backwards now and then
        K, R, p = out['K'][b::2], out['R'], out['p']
        Rp = R[a::2].transpose(1, 2)
        buf['motion'][:, :3].copy_((Rp @ (p[b::2] - p[a::2])[..., None])[..., 0])
        buf['motion'][:, 3:].copy_(rotation_log(Rp @ R[b::2]))
        buf['pair'][:, 0:3].copy_(x[a::2])
        buf['pair'][:, 3:6].copy_(x[b::2])
        u, v = torch.arange(W, device=x.device), torch.arange(H, device=x.device)
        buf['pair'][:, 6].copy_(((u[None] - K[:, 2:3]) / K[:, 0:1])[:, None, :].expand(n, H, W))
        buf['pair'][:, 7].copy_(((v[None] - K[:, 3:4]) / K[:, 1:2])[:, :, None].expand(n, H, W))

    def loss(self, net, buf):
        return losses.motion_loss(net(buf['pair']).float(), buf['motion'])


TASKS = {'depth': Depth, 'motion': Motion}


def draw(task, renderer, pool, rng, shape):
    """One batch of pictures of a shape, drawn on the current stream."""
    W, H, _, streets = shape
    kind = 'street' if rng.random() < streets else 'indoor'
    scenes = pool.take(kind, task.n_scenes)
    picks = sample.picks(rng, task.n_scenes, task.per_scene, 8, task.pairs)
    return renderer.draw(scenes, picks, W, H, task.effects(rng, len(picks), W))
