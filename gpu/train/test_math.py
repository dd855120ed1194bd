"""Tests of what needs no renderer: geometry, losses, augmentation, the state's pieces. See README.md, "Tests"."""
import json
import math
import os
import tempfile
import unittest

import numpy as np
import torch

import augment
import geometry as g
import losses
import model
import photometric as ph
import state
import tasks
import video


def motions(n, seed=0, turn=0.4):
    r = torch.Generator().manual_seed(seed)
    return g.to_motion(torch.cat([torch.randn(n, 3, generator=r), turn * torch.randn(n, 3, generator=r)], 1))


class Geometry(unittest.TestCase):
    def test_exp_log(self):
        w = torch.cat([torch.randn(50, 3), 1e-5 * torch.randn(10, 3), torch.zeros(1, 3)])
        R = g.rotation_exp(w)
        self.assertLess((g.mul3(R, R.transpose(-1, -2)) - torch.eye(3)).abs().max(), 2e-6)
        short = w[w.norm(dim=1) < 2.5]
        self.assertLess((g.rotation_log(g.rotation_exp(short)) - short).abs().max(), 2e-5)

    def test_exp_has_a_gradient_at_rest(self):
        w = torch.zeros(2, 3, requires_grad=True)
        g.rotation_exp(w)[:, 0, 1].sum().backward()
        self.assertTrue(torch.allclose(w.grad, torch.tensor([[0.0, 0.0, -1.0]] * 2)))

    def test_compose_and_inverse(self):
        a, b, x = motions(20), motions(20, 1), torch.randn(20, 3)
        self.assertLess((g.apply(g.compose(a, b), x) - g.apply(a, g.apply(b, x))).abs().max(), 1e-5)
        self.assertLess((g.apply(g.inverse(a), g.apply(a, x)) - x).abs().max(), 1e-5)
        self.assertLess((g.to_motion(g.to_vector(a)) - a).abs().max(), 1e-5)

    def test_projection(self):
        K = torch.tensor([[100.0, 110, 31.5, 23.5]])
        z = 1 + torch.rand(1, 48, 64)
        u, v, d = g.project(g.backproject(z, K), K)
        U, V = g.pixels(48, 64, 'cpu')
        self.assertLess(max((u - U).abs().max(), (v - V).abs().max(), (d - z).abs().max()), 1e-4)

    def test_look_up_reads_pixel_centres(self):
        img = torch.arange(48.0).view(1, 1, 6, 8)
        u, v = g.pixels(6, 8, 'cpu')
        self.assertLess((g.look_up(img, u, v) - img).abs().max(), 1e-4)
        self.assertAlmostEqual(g.look_up(img, u[:, :1, :1] + 2.5, v[:, :1, :1] + 1)[0, 0, 0, 0].item(), 10.5, places=4)


class Losses(unittest.TestCase):
    def test_ssim(self):
        a = torch.randn(2, 3, 16, 16)
        self.assertLess(ph.ssim_loss(a, a).abs().max(), 1e-5)
        self.assertGreater(ph.ssim_loss(a, torch.randn(2, 3, 16, 16)).mean(), 0.3)

    def test_the_smallest_error_counts(self):
        t = torch.zeros(1, 3, 8, 8)
        far, near = torch.ones(1, 3, 8, 8), torch.full((1, 3, 8, 8), 0.1)
        yes = torch.ones(1, 8, 8, dtype=torch.bool)
        both = ph.reconstruction(t, [(far, yes), (near, yes)])
        self.assertAlmostEqual(both.item(), ph.reconstruction(t, [(near, yes)]).item(), places=6)
        hidden = ph.reconstruction(t, [(far, yes), (near, ~yes)])
        self.assertAlmostEqual(hidden.item(), ph.reconstruction(t, [(far, yes)]).item(), places=6)
        self.assertEqual(ph.reconstruction(t, [(far, ~yes)]).item(), 0.0)

    def test_smoothness_spares_edges(self):
        z = torch.ones(1, 16, 16)
        z[..., 8:] = 3
        edge = torch.zeros(1, 3, 16, 16)
        edge[..., 8:] = 4
        self.assertLess(ph.smoothness(z, edge), 0.2 * ph.smoothness(z, torch.zeros_like(edge)))
        self.assertEqual(ph.smoothness(torch.full((1, 16, 16), 2.0), edge).item(), 0.0)

    def test_size_prior(self):
        p = ph.SizePrior()
        mask = torch.zeros(1, 40, 40)
        mask[:, 10:30, 5:15] = 1                            # 20 rows high
        right = 100 * ph.SizePrior.HEIGHTS_M[1] / 20
        one = torch.ones(1, dtype=torch.long)
        z = torch.full((1, 40, 40), right)
        self.assertLess(p(z, mask, torch.tensor([100.0]), one).item(), 1e-5)
        far = z * (1 + 9 * mask)                            # the thing alone recedes
        self.assertGreater(p(far, mask, torch.tensor([100.0]), one).item(), 1.0)
        self.assertEqual(p(far, 0 * mask, torch.tensor([100.0]), one).item(), 0.0)

    def test_depth_loss_at_the_truth(self):
        z = 1 + 4 * torch.rand(3, 1, 32, 32)
        fx = torch.tensor([100.0, 200, 300])
        v = torch.log(z * (model.FOCAL_PX / fx).view(-1, 1, 1, 1))
        at, _ = losses.depth_loss(v, z, fx, 0.3)
        off, parts = losses.depth_loss(v + 0.2, z, fx, 0.3)
        self.assertLess(at.item(), 1e-5)
        self.assertAlmostEqual(off.item(), 0.2 * (0.6 + 0.3), places=4)
        self.assertAlmostEqual(parts[2].item(), 0.2, places=4)

    def test_local_loss_asks_for_shape_alone(self):
        y, x = torch.meshgrid(torch.arange(96.0), torch.arange(128.0), indexing='ij')
        z = 1 / (0.4 + 0.001 * x - 0.0005 * y)[None, None]              # a slanted wall, and a box before its middle
        z[..., 30:60, 40:90] = 1.2
        one = torch.ones_like(z)
        self.assertGreater(losses.unbroken(z).mean().item(), 0.85)
        self.assertEqual(losses.unbroken(z)[..., 30:60, 39:41].max().item(), 0.0)
        nothing = losses.local_loss(torch.full_like(z, 0.2), one, z).item()
        bent = losses.local_loss((0.03 * torch.cos(x / 128 * 2 * math.pi))[None, None], one, z).item()
        rough = losses.local_loss((0.01 * torch.cos(x / 4))[None, None], one, z).item()
        self.assertLess(nothing, 1e-5)
        self.assertGreater(bent, 0.004)
        self.assertGreater(rough, 0.001)
        edges = 0.5 * (1 - losses.unbroken(z))                          # wrong at the steps alone
        self.assertLess(losses.local_loss(edges, one, z).item(), 1e-5)
        e = torch.zeros_like(z, requires_grad=True)
        losses.local_loss(e, 0 * one, z).backward()                     # nothing to ask
        self.assertEqual(e.grad.abs().max().item(), 0.0)
        v, fx = torch.log(z), torch.tensor([200.0])
        plain, more = (losses.depth_loss(v + 0.01 * torch.cos(x / 4), z, fx, 0.3, w)[0].item() for w in (0.0, 2.0))
        self.assertAlmostEqual(more - plain, 2 * rough, places=4)

    def test_motion_loss(self):
        t = g.to_vector(motions(16, 5, 0.05))
        self.assertLess(losses.motion_loss(t, t)[0].item(), 1e-4)
        short, long = t.clone(), t.clone()
        short[:, :3] /= 3
        long[:, :3] *= 3
        parts = [losses.motion_loss(p, t)[1] for p in (short, long)]
        self.assertAlmostEqual(parts[0][2].item(), math.log(3), delta=0.1)     # short and long are equally wrong
        self.assertAlmostEqual(parts[1][2].item(), math.log(3), delta=0.1)
        rest = torch.zeros(16, 6, requires_grad=True)
        losses.motion_loss(rest, t)[0].backward()
        self.assertTrue(torch.isfinite(rest.grad).all())

    def test_mask_loss(self):
        y = torch.zeros(2, 1, 16, 16)
        y[:, :, 4:9, 4:9] = 1
        y[:, :, 12:] = 0.5                                  # not asked
        good, parts = losses.mask_loss((y - 0.5) * 40, y)
        self.assertLess(good.item(), 1e-3)
        self.assertAlmostEqual(parts[1].item(), 1.0, places=5)
        worse = (y - 0.5) * 40
        worse[:, :, 12:] = 20
        self.assertAlmostEqual(losses.mask_loss(worse, y)[0].item(), good.item(), places=5)
        self.assertGreater(losses.mask_loss((0.5 - y) * 40, y)[0].item(), 5)

    def test_object_loss(self):
        T, c = motions(8, 3, 0.1), torch.randn(8, 3) + torch.tensor([0, 0, 5.0])
        w = torch.tensor([1.0] * 6 + [0] * 2)
        v = g.to_vector(T)
        self.assertLess(losses.object_loss(v, T, c, w)[0].item(), 1e-3)
        off = v.clone()
        off[6:] += 9                                        # where nothing is, nothing is asked
        self.assertLess(losses.object_loss(off, T, c, w)[0].item(), 1e-3)
        off[:6, 0] += 0.5
        at, turn, _ = losses.object_errors(off[:6], T[:6], c[:6])
        self.assertLess((at - 0.5).abs().max(), 1e-4)
        self.assertLess(turn.max(), 1e-3)


class Augment(unittest.TestCase):
    def test_light_and_texture_change_a_share_and_leave_edges(self):
        x = torch.full((40, 3, 24, 32), 0.4)
        x[..., 16:] = 0.6
        for change in (augment.lit, augment.filtered):
            self.assertTrue(torch.allclose(change(np.random.default_rng(3), x, 0.0), x, atol=1e-6), change)
            y = change(np.random.default_rng(3), x, 0.5)
            self.assertTrue(torch.equal(y, change(np.random.default_rng(3), x, 0.5)), change)
            self.assertTrue(((y >= 0) & (y <= 1)).all(), change)
            share = ((y - x).abs().amax((1, 2, 3)) > 1e-3).float().mean()
            self.assertLess((share - 0.5).abs(), 0.2, change)
        # a convolution of 7 pixels at most: farther from the edge each half has one colour, and it is another's
        y = augment.filtered(np.random.default_rng(5), x, 1.0)
        left, right = y[..., 4:12], y[..., 20:28]
        self.assertLess((left - left[..., :1, :1]).abs().max(), 1e-4)
        self.assertGreater(((left.mean((2, 3)) - right.mean((2, 3))).abs().amax(1) > 0.05).float().mean(), 0.8)
        self.assertLess((y.mean((1, 2, 3)) - 0.5).abs().max(), 0.1)

    def test_untouched_pictures_are_exact(self):
        A, s = augment.frames(np.random.default_rng(0), 6, 32, 24, share=0, flips=False)
        x = torch.rand(6, 3, 24, 32)
        y = torch.nn.functional.grid_sample(x, augment.grids(A, 32, 24, 'cpu'), padding_mode='border', align_corners=False)
        self.assertTrue((s == 1).all())
        self.assertLess((x - y).abs().max(), 1e-4)

    def test_the_new_picture_lies_in_the_old_one_and_is_zoomed_by_s(self):
        W, H, n = 64, 48, 200
        A, s = augment.frames(np.random.default_rng(1), n, W, H, share=1.0)
        corners = np.array([[0, 0], [W, 0], [0, H], [W, H]], float)
        old = np.einsum('nij,kj->nki', A[:, :, :2], corners) + A[:, None, :, 2]
        self.assertGreaterEqual(old.min(), -1e-6)
        self.assertTrue((old[..., 0] <= W + 1e-6).all() and (old[..., 1] <= H + 1e-6).all())
        self.assertTrue(np.allclose(np.abs(np.linalg.det(A[:, :, :2])), 1 / s ** 2))
        self.assertTrue(s.max() > 1.5 and (np.linalg.det(A[:, :, :2]) < 0).any() and (np.linalg.det(A[:, :, :2]) > 0).any())

    def test_grid_is_the_similarity(self):
        W, H = 40, 24
        A, _ = augment.frames(np.random.default_rng(2), 5, W, H, share=1.0)
        u, v = g.pixels(H, W, 'cpu')
        x = torch.stack([u, v], 1).repeat(5, 1, 1, 1)
        y = torch.nn.functional.grid_sample(x, augment.grids(A, W, H, 'cpu'), padding_mode='border', align_corners=False)
        at = torch.stack([u[0] + 0.5, v[0] + 0.5], -1).double()
        want = torch.einsum('nij,hwj->nihw', torch.from_numpy(A[:, :, :2]), at) + torch.from_numpy(A[:, :, 2])[:, :, None, None] - 0.5
        inner = (want[:, 0] > 0) & (want[:, 0] < W - 1) & (want[:, 1] > 0) & (want[:, 1] < H - 1)
        self.assertLess(((y - want).abs().amax(1) * inner).max(), 1e-3)

    def test_cut_out_carries_its_own_rays(self):
        K = torch.tensor([[60.0, 62, 33, 20]]).repeat(2, 1)
        m = torch.zeros(2, 48, 64)
        m[0, 10:30, 20:35] = 1
        m[1, 30:48, 50:64] = 1                              # at the border: the window looks past it
        r = g.rays(K, 48, 64)
        x = torch.cat([r, torch.ones(2, 1, 48, 64)], 1)
        y = tasks.cut_out(x, x, m, m, K, 64)
        inside = y[:, 2] > 0.999
        self.assertGreater(inside.float().mean(), 0.2)
        self.assertLess(((y[:, 0:2] - y[:, 6:8]).abs().amax(1) * inside).max(), 1e-3)

    def test_movable_truth(self):
        M = torch.eye(3, 4).repeat(1, tasks.SLOTS, 1, 1)
        M[0, 4, 0, 3] = 0.1
        kind = torch.zeros(1, tasks.SLOTS, dtype=torch.uint8)
        kind[0, 1:5] = torch.tensor([1, 2, 3, 3])
        out = {'object': torch.arange(5, dtype=torch.uint8).view(1, 1, 5), 'motion': M, 'kind': kind}
        self.assertEqual(tasks.movable(out).view(-1).tolist(), [0, 1, 1, 0.5, 1])


class Video(unittest.TestCase):
    def test_refusals(self):
        with tempfile.TemporaryDirectory() as d:
            for meta in ({'licence': 'MIT', 'use': 'evaluation only, never training'}, {'use': 'training'},
                         {'licence': 'research, not for training'}):
                json.dump(meta, open(os.path.join(d, 'sequence.json'), 'w'))
                with self.assertRaises(SystemExit):
                    video.check_use(d)
            json.dump({'licence': 'MIT', 'use': 'training or evaluation'}, open(os.path.join(d, 'sequence.json'), 'w'))
            video.check_use(d)
            open(os.path.join(d, 'README.md'), 'w').write('For evaluation only.')
            with self.assertRaises(SystemExit):
                video.check_use(d)

    def test_largest_part(self):
        m = torch.zeros(2, 40, 50, dtype=torch.bool)
        m[0, 5:25, 5:25] = True
        m[0, 30:39, 30:49] = True
        m[0, 28, 27] = True
        m[1, 3:6, 3:6] = True
        p = video.largest_part(m, 64)
        self.assertEqual(p.sum((1, 2)).tolist(), [400, 0])
        self.assertTrue(p[0, 5:25, 5:25].all())


class State(unittest.TestCase):
    def test_log8(self):
        x = torch.cat([torch.zeros(3), torch.logspace(-15, -3, 300)])
        raw, top = state.log8(x)
        y = state.unlog8(raw, top)
        self.assertTrue((y[:3] == 0).all())
        self.assertLess((torch.log2(y[3:] / x[3:])).abs().max(), 0.126)

    def make(self):
        net = torch.nn.ModuleDict({'mask': model.MaskNet()})
        opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
        net['mask'](torch.rand(2, 3, 32, 32)).mean().backward()
        opt.step()
        s = {'net': net.state_dict(), 'ema': net.state_dict(), 'opt': {'state': opt.state_dict()['state']}, 'frozen': False, 'task': 'mask', 'step': 7, 'spent': 1.5,
             'total': {'steps': 9}, 'piece': 2, 'made': 3, 'seed': 4}
        return net, opt, s

    def test_split_and_join(self):
        small, state.PIECE_BYTES = state.PIECE_BYTES, 100_000
        try:
            with tempfile.TemporaryDirectory() as d:
                net, opt, s = self.make()
                state.write(d + '/a.pt', s)
                parts = state.split(d + '/a.pt', d, 'moments', 'mask')
                self.assertGreater(len(parts), 3)
                self.assertLess(max(os.path.getsize(p) for p in parts), 101_000)
                state.join(d, d + '/b.pt', 'mask')
                t = state.read(d + '/b.pt')
                self.assertEqual([t[k] for k in state.META], [s[k] for k in state.META])
                for k, v in s['ema'].items():
                    self.assertTrue(torch.allclose(t['ema'][k].float(), v.float(), atol=1e-3, rtol=1e-3), k)
                fresh = torch.optim.AdamW(net.parameters(), lr=1e-3)
                self.assertTrue(state.restore_optimiser(fresh, t['opt']))
                p = next(net.parameters())
                a, b = fresh.state[p]['exp_avg_sq'], opt.state[p]['exp_avg_sq']
                self.assertLess(((a - b).abs() / b.max()).max(), 0.2)
                fresh.step()                                # the restored state is one that the optimiser can use
                self.assertTrue(torch.isfinite(p).all())
                self.spoil(d, parts)
        finally:
            state.PIECE_BYTES = small

    def spoil(self, d, parts):
        raw = open(parts[1], 'rb').read()
        for bad in (raw[:-1], raw[:-1] + bytes([raw[-1] ^ 1]), raw.replace(b'"piece": 1', b'"piece": 2', 1)):
            open(parts[1], 'wb').write(bad)
            with self.assertRaises(SystemExit):
                state.join(d, d + '/c.pt', 'mask')
        os.remove(parts[1])
        with self.assertRaises(SystemExit):
            state.join(d, d + '/c.pt', 'mask')
        self.assertFalse(os.path.exists(d + '/c.pt'))

    def test_weights_alone(self):
        with tempfile.TemporaryDirectory() as d:
            net, _, s = self.make()
            state.write(d + '/a.pt', s)
            state.split(d + '/a.pt', d, 'weights')
            state.join(d, d + '/b.pt')
            self.assertFalse(state.restore_optimiser(torch.optim.AdamW(net.parameters()), state.read(d + '/b.pt')['opt']))


class Networks(unittest.TestCase):
    def test_folding_changes_nothing(self):
        x = {'depth': torch.rand(2, 3, 64, 96), 'mask': torch.rand(2, 3, 64, 96), 'motion': torch.rand(2, 8, 64, 96),
             'objmotion': torch.rand(2, 8, 64, 64)}
        for name, make in model.NETS.items():
            torch.manual_seed(1)
            net = make()
            for _ in range(3):
                net(x[name])                                # batch norms that are not the ones they began with
            net.eval()
            with torch.no_grad():
                a, f = net(x[name]), net.fold()
                self.assertLess((a - f(x[name])).abs().max(), 1e-4 * max(1, a.abs().max()), name)
                back = make()
                back.load_folded(f.state_dict(), x[name])
                self.assertLess((a - back.eval()(x[name])).abs().max(), 1e-3 * max(1, a.abs().max()), name)

    def test_all_of_them_fit(self):
        halves = 2 * sum(model.n_params(make()) for make in model.NETS.values())
        self.assertLess(halves, 32_000_000 - 40_000)        # and some for names and nodes


if __name__ == '__main__':
    unittest.main()
