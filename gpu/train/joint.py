"""Depth, ego-motion and object motion together: rendered truth and the papers' unsupervised losses in one step.

Drawn pairs give every network its truth, and depth also the photometric loss of warping by its own answer with the
true motion of camera and things. Real video (train.py --video) gives windows of three pictures: the middle one is
rebuilt from both others by predicted depth, ego-motion and, where a mask network marked a thing, that thing's
motion. On the same pictures, zoomed and recoloured, depth must answer what it answered before, moved by the zoom.
"""
import numpy as np
import torch
import torch.nn.functional as F

import augment
import geometry as g
import losses
import model
import photometric as ph
from tasks import ObjMotion, Pairs, Task, channels_last, cut_out, normalise

VIDEO_WEIGHT, DRAWN_WEIGHT, AGREE_WEIGHT = 1.0, 0.5, 0.2


def metres(log_depth, focal):
    """[N,1,H,W] network's answer -> [N,H,W] metres."""
    z = torch.exp(log_depth[:, 0].clamp(-6, 8)) * (focal / model.FOCAL_PX)[:, None, None]
    return z.clamp(model.MIN_DEPTH_M, model.MAX_DEPTH_M)


class Joint(Task):
    name, nets = 'joint', ('depth', 'motion', 'objmotion')
    parts = ('log error', 'translation', 'rotation', 'thing', 'photo drawn', 'photo video', 'agreement')
    pairs, objects, per_scene, level_weight, shutter = True, True, 1, 0.3, 0.0
    windows, size = 6, ObjMotion.size           # of video, a step

    def __init__(self):
        self.things = ObjMotion()
        self.things.n_things = 16
        self.video = False                      # train.py says so before the buffers are made

    def make(self):
        nets = super().make()
        nets['prior'] = ph.SizePrior()          # learned with the rest, not exported
        return nets

    def buffers(self, W, H, device):
        n = self.batch_size()
        z = lambda *s: torch.zeros(*s, device=device)                                       # noqa: E731
        t = self.things.n_things
        b = {'image': channels_last(2 * n, 3, H, W, device=device),
             'depth': torch.ones(2 * n, 1, H, W, device=device),
             'K': torch.full((2 * n, 4), 200.0, device=device), 'pair': channels_last(n, 8, H, W, device=device),
             'motion': z(n, 6), 'pixel_motion': z(n, H, W, 3, 4), 'seen': z(n, H, W), 'thing_mask': z(t, H, W),
             'thing_kind': torch.zeros(t, dtype=torch.long, device=device)}
        b.update(self.things.thing_buffers(device))
        if self.video:
            v = self.windows
            b.update(video=z(v, 3, 3, H, W), video_K=torch.full((v, 4), 200.0, device=device),
                     video_thing=z(v, 3, H, W), zoomed=channels_last(v, 3, H, W, device=device),
                     zoom=torch.ones(v, device=device),
                     zoom_grid=z(v, H, W, 2))
        return b

    def fill(self, buf, out, rng, video=None):
        p = Pairs(out, bool(rng.integers(2)))
        n = len(p.x0)
        H, W = p.x0.shape[2:]
        for k, a, b in (('image', p.x0, p.x1), ('depth', p.z0[:, None], p.z1[:, None]), ('K', p.K0, p.K1)):
            buf[k][:n].copy_(a)
            buf[k][n:].copy_(b)
        buf['pair'].copy_(p.pair_input())
        buf['motion'].copy_(p.ego())
        buf['pixel_motion'].copy_(p.flow_motion())
        _, inside, z, u, v = ph.warp(p.x1, p.z0, p.K0, buf['pixel_motion'], p.K1)
        there = g.look_up(p.z1[:, None], u, v, 'nearest')[:, 0]
        # not hidden in the other picture
        buf['seen'].copy_(inside & (p.z0 > 0) & ((there - z).abs() < 0.05 * z))
        self.things.fill_things(buf, p, rng)
        pic, slot = buf['picture'], buf['slot']
        buf['thing_mask'].copy_((p.id0[pic] == slot[:, None, None]) * buf['weight'][:, None, None])
        buf['thing_kind'].copy_(p.kind[pic, slot].clamp(0, 3))
        if self.video:
            x, K, things = video.take(self.windows, W, H, rng)
            buf['video'].copy_(normalise(x))
            buf['video_K'].copy_(K)
            buf['video_thing'].copy_(things)
            A, s = augment.frames(rng, self.windows, W, H, share=1.0, zoom=2.0)
            grid = augment.grids(A, W, H, x.device)
            buf['zoom_grid'].copy_(grid)
            buf['zoom'].copy_(torch.from_numpy(s.astype(np.float32)).to(x.device))
            cut = F.grid_sample(x[:, 1], grid, padding_mode='border', align_corners=False)
            buf['zoomed'].copy_(normalise(augment.colour(rng, cut, 1.0)))

    def loss(self, nets, buf):
        """All networks in one batch each; what is geometry is computed outside of autocast."""
        n = self.batch_size()
        images, pairs, cuts = [buf['image']], [buf['pair']], [buf['cut']]
        if self.video:
            x, m, K = buf['video'], buf['video_thing'], buf['video_K']
            images += [x[:, 1], buf['zoomed']]
            r = g.rays(K, *x.shape[3:])
            for k in (0, 2):                    # neighbour before, middle after: middle -> neighbour
                pairs.append(torch.cat([x[:, k], x[:, 1], r], 1))
                both = (m[:, 1].amax((1, 2)) * m[:, k].amax((1, 2)))[:, None, None]
                cuts.append(cut_out(x[:, 1], x[:, k], m[:, 1] * both, m[:, k] * both, K, self.size))
        log_depth = nets['depth'](torch.cat(images)).float()
        motion = nets['motion'](torch.cat(pairs)).float()
        thing = nets['objmotion'](torch.cat(cuts)).float()
        with torch.autocast(log_depth.device.type, enabled=False):
            loss, a = losses.depth_loss(log_depth[:2 * n], buf['depth'], g.focal(buf['K']), self.level_weight)
            more, b = losses.motion_loss(motion[:n], buf['motion'])
            t, c = losses.object_loss(thing[:self.things.n_things], buf['T'], buf['centre'], buf['weight'])
            drawn = self.drawn_photo(nets, log_depth[:n], buf)
            shot = agree = torch.zeros((), device=drawn.device)
            if self.video:
                shot, agree = self.video_photo(nets, log_depth[2 * n:], motion[n:], thing[len(buf['T']):], buf)
            loss = loss + 0.3 * more + 0.2 * t + DRAWN_WEIGHT * drawn
            loss = loss + VIDEO_WEIGHT * shot + AGREE_WEIGHT * agree
        return loss, torch.stack([a[0], b[0], b[1], c[0], drawn.detach(), shot.detach(), agree.detach()])

    def drawn_photo(self, nets, log_depth, buf):
        n = len(log_depth)
        z = metres(log_depth, g.focal(buf['K'][:n]))
        pic, inside, *_ = ph.warp(buf['image'][n:], z, buf['K'][:n], buf['pixel_motion'], buf['K'][n:])
        e = ph.reconstruction(buf['image'][:n], [(pic, inside & (buf['seen'] > 0))])
        at = buf['picture']
        size = nets['prior'](z.index_select(0, at), buf['thing_mask'], buf['K'][at, 1], buf['thing_kind'])
        return e + ph.SMOOTH_WEIGHT * ph.smoothness(z, buf['image'][:n]) + ph.SIZE_WEIGHT * size

    def video_photo(self, nets, log_depth, motion, thing, buf):
        v = self.windows
        x, m, K = buf['video'], buf['video_thing'], buf['video_K']
        z, warps = metres(log_depth[:v], g.focal(K)), []
        for i, k in enumerate((0, 2)):
            ego, obj = g.to_motion(motion[i * v:(i + 1) * v]), g.to_motion(thing[i * v:(i + 1) * v])
            both = (m[:, k].amax((1, 2)) * 1.0)[:, None, None] * m[:, 1]
            T = torch.where(both[..., None, None] > 0.5, obj[:, None, None], ego[:, None, None])
            pic, inside, *_ = ph.warp(x[:, k], z, K, T, K)
            # a thing that is not seen in the neighbour moved we know not how: not asked
            warps.append((pic, inside & ((m[:, 1] < 0.5) | (both > 0.5))))
        size = nets['prior'](z, m[:, 1], K[:, 1], torch.zeros(v, dtype=torch.long, device=z.device))
        photo = ph.reconstruction(x[:, 1], warps)
        photo = photo + ph.SMOOTH_WEIGHT * ph.smoothness(z, x[:, 1]) + ph.SIZE_WEIGHT * size
        with torch.no_grad():
            want = F.grid_sample(log_depth[:v], buf['zoom_grid'], padding_mode='border', align_corners=False) \
                - torch.log(buf['zoom']).view(-1, 1, 1, 1)
        return photo, (log_depth[v:] - want).abs().mean()
