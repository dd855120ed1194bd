"""Tests on drawn pairs: what the renderer says and what the losses need must fit. Draws on the CPU, procedural things alone."""
import tempfile
import unittest

import numpy as np
import torch

import geometry as g
import heldout
import joint
import losses
import photometric as ph
import tasks
from scenes import assets, build, check_scenes, figures, people, render, sample, surfaces, things, views

W, H = 160, 128


class Drawn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        arrays, cls.cat = assets.load('')
        cls.renderer = render.Renderer(arrays, 'cpu')
        rng = np.random.default_rng(3)
        cls.scenes = [sample.make_scene(cls.cat, 50 + k, kind, 4) for k, kind in enumerate(('room', 'room', 'corridor', 'street'))]
        cls.picks = [(s, c, m) for s in range(4) for c in range(2) for m in (0, 1)]
        fx = render.random_effects(rng, len(cls.picks), W, calm=True)
        fx['exposure'] = 1.0
        out = cls.renderer.draw(cls.scenes, cls.picks, W, H, fx, 2)
        out['motion'], out['kind'] = tasks.tables(cls.scenes, cls.picks, 'cpu')
        cls.out = {k: v.clone() for k, v in out.items()}
        cls.pairs = tasks.Pairs(cls.out)

    def seen(self, p):
        """Pixels of the first pictures that the second shows too, and their error of warping by the truth."""
        pic, inside, z, u, v = ph.warp(p.x1, p.z0, p.K0, p.flow_motion(), p.K1)
        there = g.look_up(p.z1[:, None], u, v, 'nearest')[:, 0]
        return pic, inside & (p.z0 > 0) & ((there - z).abs() < 0.03 * z)

    def test_depth_agrees_between_the_moments(self):
        p = self.pairs
        _, inside, z, u, v = ph.warp(p.x1, p.z0, p.K0, p.flow_motion(), p.K1)
        there = g.look_up(p.z1[:, None], u, v, 'nearest')[:, 0]
        ok = inside & (p.z0 > 0) & (there > 0)
        off = ((there - z).abs() / z)[ok]
        self.assertGreater(ok.float().mean(), 0.4)
        self.assertLess(off.median(), 0.01)
        self.assertGreater((off < 0.05).float().mean(), 0.85)

    def test_warping_by_the_truth_leaves_little(self):
        p = self.pairs
        pic, ok = self.seen(p)
        good = (ph.difference(p.x0, pic) * ok).sum() / ok.sum()
        rest = (ph.difference(p.x0, p.x1) * ok).sum() / ok.sum()
        self.assertLess(good, 0.5 * rest)
        for factor in (0.5, 2.5):
            wrong, *_ = ph.warp(p.x1, p.z0 * factor, p.K0, p.flow_motion(), p.K1)
            self.assertGreater((ph.difference(p.x0, wrong) * ok).sum() / ok.sum(), 1.2 * good)

    def test_backwards(self):
        a, b = self.pairs, tasks.Pairs(self.out, True)
        self.assertLess((g.compose(a.T[:, 0], b.T[:, 0]) - torch.eye(3, 4)).abs().max(), 1e-4)
        self.assertTrue(torch.equal(a.z0, b.z1))
        self.assertLess((a.ego() - g.to_vector(b.T[:, 0])).abs().max(), 1e-4)

    def test_ego_motion_is_the_cameras(self):
        R, t = self.out['R'], self.out['p']
        x = torch.randn(len(self.pairs.z0), 3)
        now = g.apply(torch.cat([R, t[..., None]], -1)[1::2], x)                # second camera -> world -> first camera
        then = g.apply(g.inverse(torch.cat([R, t[..., None]], -1))[0::2], now)
        self.assertLess((g.apply(g.to_motion(self.pairs.ego()), x) - then).abs().max(), 1e-3)

    def test_loss_falls_towards_the_true_depth_and_has_a_gradient(self):
        p = self.pairs
        _, ok = self.seen(p)

        def loss(scale):
            pic, inside, *_ = ph.warp(p.x1, p.z0.clamp_min(0.1) * scale, p.K0, p.flow_motion(), p.K1)
            return ph.reconstruction(p.x0, [(pic, inside & ok)])

        scales = [1.5, 1.25, 1.1, 1.0]
        values = [loss(s).item() for s in scales]
        self.assertEqual(values, sorted(values, reverse=True))
        s = torch.full((len(p.z0), H, W), 1.15, requires_grad=True)
        v = loss(s)
        v.backward()
        self.assertTrue(torch.isfinite(s.grad).all())
        # along its own gradient the loss falls, and on the whole towards the truth
        step = 0.002 * s.grad / s.grad.abs().max()
        self.assertLess(loss((s - 10 * step).detach()).item(), v.item())
        moving = ok & (s.grad.abs() > 0)
        self.assertGreater(s.grad[moving].sum().item(), 0)


class Moving(unittest.TestCase):
    """A box of one's own before a wall, with a motion that is known."""

    @classmethod
    def setUpClass(cls):
        arrays, cls.cat = assets.load('')
        cls.renderer = render.Renderer(arrays, 'cpu')
        b = build.Builder(cls.cat, 5)
        f = build.Frame()
        wall = b.mat('brick', 'stripes', 'fabric', 'wood', gloss=0.0, tint=0.0)
        b.box(f, (0, 3.0, 1.0), (8, 0.1, 5), wall)
        b.box(f, (0, 1.0, 0.0), (8, 8, 0.05), wall)
        c = np.array([0.1, 1.4, 0.9])
        R = views.axis_angle(np.array([0, 0, 0.2]))
        M = np.concatenate([R, (c + [0.12, -0.1, 0.03] - R @ c)[:, None]], 1)
        with b.thing(build.THING) as n:
            b.box(f, tuple(c), (0.5, 0.3, 0.7), b.mat('wood', 'fabric', gloss=0.0, tint=0.0), yaw=0.3)
        b.move(n, M.reshape(-1))
        b.light(build.POINT, pos=(0.3, -1.5, 2.5), col=(6, 6, 6), reach=3.0)
        place = np.array([0.0, -1.2, 1.0])
        view, k = b.look(place, c), (0.9, 1.0, 0.0, 0.0)
        turned = view @ views.axis_angle(np.array([0.01, -0.02, 0.015]))
        b.cams[:] = [[(view.reshape(-1), place) + k, (turned.reshape(-1), place + [0.05, 0.04, -0.02]) + k]]
        scene = b.finish('test', 1)
        fx = render.random_effects(np.random.default_rng(0), 2, W, calm=True)
        fx['exposure'] = 1.0
        picks = [(0, 0, 0), (0, 0, 1)]
        out = cls.renderer.draw([scene], picks, W, H, fx, 2)
        out['motion'], out['kind'] = tasks.tables([scene], picks, 'cpu')
        cls.out, cls.M = {k: v.clone() for k, v in out.items()}, M
        cls.pairs = tasks.Pairs(cls.out)

    def test_the_thing_is_there_and_moves(self):
        p = self.pairs
        self.assertGreater((p.id0 == 1).float().mean(), 0.02)
        self.assertTrue(p.moves[0, 1] and not p.moves[0, 0])
        self.assertGreater(((p.id0 == 1) != (p.id1 == 1)).sum(), 20)

    def test_its_own_motion_explains_it_and_the_cameras_does_not(self):
        p, on = self.pairs, self.pairs.id0 == 1
        with_it, inside, *_ = ph.warp(p.x1, p.z0, p.K0, p.flow_motion(), p.K1)
        without, *_ = ph.warp(p.x1, p.z0, p.K0, p.T[:, 0], p.K1)
        ok = on & inside
        good, bad = (((ph.difference(p.x0, x) * ok).sum() / ok.sum()).item() for x in (with_it, without))
        self.assertLess(good, 0.5 * bad)
        _, _, z, u, v = ph.warp(p.x1, p.z0, p.K0, p.flow_motion(), p.K1)
        there = g.look_up(p.z1[:, None], u, v, 'nearest')[:, 0]
        self.assertGreater((((there - z).abs() < 0.02 * z) & on).sum() / on.sum(), 0.7)

    def test_truth_for_object_motion(self):
        task = tasks.ObjMotion()
        task.n_things = 4
        buf = task.thing_buffers('cpu')
        task.fill_things(buf, self.pairs, np.random.default_rng(0))
        self.assertEqual(buf['weight'].tolist(), [1, 0, 0, 0])
        c = buf['centre'][0]
        want = self.out['R'][0].T.double().numpy() @ (self.M[:, :3] @ (self.out['R'][0].double().numpy() @ c.double().numpy()
                                                      + self.out['p'][0].double().numpy()) + self.M[:, 3] - self.out['p'][1].double().numpy())
        # the second camera has a pose of its own
        back = self.out['R'][1].T.double().numpy() @ (self.out['R'][0].double().numpy() @ want)
        self.assertLess(np.abs(g.apply(buf['T'][0], c).numpy() - back).max(), 1e-3)
        at, turn, moved = losses.object_errors(g.to_vector(buf['T'][:1]), buf['T'][:1], buf['centre'][:1])
        self.assertLess(at.item(), 1e-4)
        self.assertGreater(buf['cut'][0, :3].abs().amax(0).gt(0).float().mean(), 0.15)
        self.assertEqual(buf['cut'][1:, :6].abs().max().item(), 0)


class Lively(unittest.TestCase):
    """Scenes for networks that learn what moves: somebody is there, and stands, sits and walks as people do."""

    @classmethod
    def setUpClass(cls):
        cls.arrays, cls.cat = assets.load('')
        cls.renderer = render.Renderer(cls.arrays, 'cpu')
        cls.scenes = {(kind, live): [sample.make_scene(cls.cat, 90 + k, kind, 4, lively=live) for k in range(5)]
                      for kind in ('room', 'corridor', 'desks') for live in (0.0, 1.0)}

    def test_same_seed_same_bytes_and_calm_is_the_default(self):
        for (kind, live), made in self.scenes.items():
            again = [check_scenes.bytes_of(sample.make_scene(self.cat, 90 + k, kind, 4, lively=live)) for k in range(2)]
            calm = [check_scenes.bytes_of(sample.make_scene(self.cat, 90 + k, kind, 4)) for k in range(2)]
            first = [check_scenes.bytes_of(s) for s in made[:2]]
            self.assertEqual(first, again)
            self.assertEqual([a == b for a, b in zip(first, calm)], [live == 0] * 2)
            self.assertTrue(all(0.03 + 0.025 * live < s.dt < 0.2501 for s in made))

    def test_depths_scenes_are_what_they_were(self):
        """Instances, things, seconds, sum of meshes. Write new ones where scenes were changed on purpose: then depth
        has to be trained and measured again.
        """
        want = {('room', 7): (279, 3, 0.0596, 352),
                ('room', 8): (296, 2, 0.0485, 597),
                ('corridor', 7): (118, 5, 0.0596, 687),
                ('corridor', 8): (254, 2, 0.0485, 69),
                ('desks', 7): (324, 2, 0.0596, 793),
                ('desks', 8): (317, 1, 0.0485, 334),
                ('street', 7): (684, 33, 0.0596, 9961),
                ('street', 8): (292, 19, 0.0485, 4634)}
        for (kind, seed), numbers in want.items():
            s = sample.make_scene(self.cat, seed, kind, 2)
            self.assertEqual((len(s.insts), len(s.kinds), round(s.dt, 4), int(s.insts['mesh'].sum())), numbers, kind)

    def test_movable_things_fill_the_pictures(self):
        for kind in ('room', 'corridor', 'desks'):
            share = {}
            for live in (0.0, 1.0):
                picks = [(s, c, 0) for s in range(5) for c in range(4)]
                fx = render.random_effects(np.random.default_rng(0), len(picks), 64, calm=True)
                out = self.renderer.draw(self.scenes[kind, live], picks, 64, 48, fx, 1)
                out['motion'], out['kind'] = tasks.tables(self.scenes[kind, live], picks, 'cpu')
                share[live] = (tasks.movable(out) > 0.75).float().mean().item()
            self.assertGreater(share[1.0], 0.08, kind)
            self.assertGreater(share[1.0], 2 * share[0.0], kind)

    def test_nothing_floats_or_collides(self):
        meshes = check_scenes.Meshes(self.arrays)
        for (kind, live), made in self.scenes.items():
            for k, s in enumerate(made[:3] if live else []):
                for rule in (check_scenes.check_records(s, len(self.arrays['mesh']), len(self.arrays['tex'])),
                             check_scenes.check_motions(s, meshes), check_scenes.check_standing(s, meshes),
                             check_scenes.check_cameras(s, meshes), check_scenes.check_people(s, meshes)):
                    for what, holds in rule:
                        self.assertTrue(holds, f'{kind} {k}: {what}')

    def test_people_who_collide_are_found(self):
        meshes = check_scenes.Meshes(self.arrays)
        for wrong, x, wardrobe in ((False, 0.7, 1.0), (True, 0.1, 1.0), (True, 0.7, 0.1)):
            b = build.Builder(self.cat, 3, lively=1.0)
            people.stands(b, build.Frame(2, 2), None)
            people.sits(b, build.Frame(2 + x, 2))
            b.box(build.Frame(2, 2), (0, wardrobe, 1), (0.6, 0.6, 2), b.plain())
            k = (0.8, 1.0, 0.0, 0.0)
            b.cams[:] = [[(np.eye(3).reshape(-1), np.array([9.0, 9, 1])) + k] * 2]
            held = [ok for _, ok in check_scenes.check_people(b.finish('room', 1), meshes)]
            self.assertEqual(all(held), not wrong, (x, wardrobe))
            self.assertGreater(len(held), 4)

    def test_who_sits_sits_on_the_seat(self):
        low = {p: figures.body(*figures.FINE_POSES[p], fine=True)['low'][0] for p in people.POSES['sit']}
        by_index = {m.index: n for n, m in self.cat.by_name.items()}
        for seed in range(12):
            b = build.Builder(self.cat, seed, lively=1.0)
            people.sits(b, build.Frame())
            insts = b.records()
            names = [by_index[i['mesh']] for i in insts]
            at = next(k for k, n in enumerate(names) if n.endswith('_low'))
            body = low[names[at][:-4]]
            under = body[np.abs(body[:, 1]) < 0.12][:, 2].min() * insts[at]['m'][10]
            cushion = insts[names.index('box')]['m'].reshape(3, 4)          # the seat is the first box of it
            top = cushion[2, 3] + 0.5 * cushion[2, 2]
            self.assertLess(abs(under - top), 0.06, names[at])
            self.assertEqual(set(insts['object'].tolist()), {1})
            self.assertEqual(b.kinds[1], build.PERSON)

    def test_who_walks_gets_on(self):
        for do in (people.walks, people.carries, people.pushes):
            b = build.Builder(self.cat, 3, lively=1.0)
            do(b, build.Frame(2.0, 2.0, 0, 0.5), lambda x, y: not b.inside_solid((x, y, 0.5), 0.25))
            M = np.array(b.motions).reshape(-1, 3, 4)
            d = M[1, :, :3] @ [2, 2, 0] + M[1, :, 3] - [2, 2, 0]
            ahead = d @ [np.sin(0.5), -np.cos(0.5), 0] / b.dt
            self.assertGreater(ahead, 0.35, do.__name__)
            self.assertLess(ahead, 1.6)
            if do is people.pushes:                     # what is pushed goes along
                self.assertLess(np.abs(M[2] - M[1]).max(), 1e-6)

    def test_share_of_lively_scenes(self):
        for share in (0.0, 0.5, 1.0):
            v = np.array([sample.liveliness(s, share) for s in range(400)])
            self.assertLess(abs((v > 0).mean() - share), 0.08)
            self.assertTrue(((v == 0) | ((v >= 0.6) & (v <= 1))).all())
        self.assertEqual((tasks.Depth.lively, joint.Joint.lively), (0, 0))

    def test_things_worth_looking_at_are_chosen_first(self):
        class P:
            x0 = torch.zeros(1, 3, 64, 64)
            id0, id1 = torch.zeros(1, 64, 64).long(), torch.zeros(1, 64, 64).long()
            moves, kind = torch.zeros(1, tasks.SLOTS).bool(), torch.ones(1, tasks.SLOTS).long()

        for n, (x0, x1, side) in {1: (2, 2, 6), 2: (10, 10, 14), 3: (28, 33, 14), 4: (45, 49, 14)}.items():
            P.id0[0, 20:20 + side, x0:x0 + side] = n
            P.id1[0, 20:20 + side, x1:x1 + side] = n
        P.kind[0, 0] = 0
        P.moves[0, 4] = True
        n, c = tasks.middles(P.id1)
        self.assertEqual((n[0, 4].item(), c[0, 4].tolist()), (14 * 14, [55.5, 26.5]))
        task, first, counts = tasks.ObjMotion(), np.zeros(5), np.zeros(5)
        task.n_things = 3
        for k in range(200):
            pic, slot, there = task.choose(P, np.random.default_rng(k))
            self.assertEqual(there.tolist(), [1, 1, 1])
            self.assertNotIn(1, slot.tolist())          # too small
            first[slot[0]] += 1
            counts[slot[1]] += 1
        self.assertGreater(first[4], 3 * first[3])      # it moves by itself
        self.assertGreater(first[3], 5)                 # and what rests is asked for too
        self.assertGreater(first[3] + counts[3], 2 * (first[2] + counts[2]))        # the picture of it shifts

    def test_held_out_measures(self):
        r = heldout.relative(torch.tensor([0.1, 0.02, 0.3, 9.0]), torch.tensor([0.2, 0.2, 0.2, 0.001]))
        self.assertAlmostEqual(r['part'], 0.5, places=5)
        self.assertAlmostEqual(r['within_25'], 1 / 3, places=5)
        with tempfile.TemporaryDirectory() as d:        # drawn once, read again
            held, again = (heldout.HeldOut(self.renderer, self.cat, 1, (64, 64), (64, 64), 1, ('objmotion', 'mask'), d + '/kept')
                           for _ in range(2))
        self.assertTrue(torch.equal(held.sets[True]['street']['rgb'], again.sets[True]['street']['rgb']))
        self.assertEqual(list(held.sets), [True])
        out = held.sets[True]['room']
        self.assertEqual(len(out['rgb']), 3 * 4 * 2)

        class Rests(torch.nn.Module):
            def forward(self, x):
                return torch.zeros(len(x), 6)

        m = held.measure(torch.nn.ModuleDict({'objmotion': Rests()}))['objmotion']['room']
        self.assertAlmostEqual(m['centre_m'], m['true_centre_m'], places=4)
        self.assertAlmostEqual(m['part'], 1.0, places=4)
        self.assertLess(m['world_part'], 1.0)           # to know the camera's motion helps
        self.assertGreater(m['things'], 4)
        self.assertGreater(m['constant_deg'], 0)

        class All(torch.nn.Module):
            says = 1.0

            def forward(self, x):
                return torch.full_like(x[:, :1], self.says)

        net, cells = All(), []
        m = held.measure(torch.nn.ModuleDict({'mask': net}), cells)['mask']['street']
        self.assertEqual((m['found_people'], m['found_vehicles']), (1, 1))
        self.assertAlmostEqual(m['movable_share'] / (m['movable_share'] + m['false_share']), m['iou'], places=4)
        net.says = -1.0
        m = held.measure(torch.nn.ModuleDict({'mask': net}))['mask']['street']
        self.assertEqual((m['iou'], m['found_people'], m['found_vehicles'], m['false_share']), (0, 0, 0, 0))
        shown = heldout.usual(cells)
        self.assertEqual(len(shown), 12)
        self.assertEqual(shown[6][0], max(c[0] for c in cells))
        self.assertEqual(shown[5][0], min(c[0] for c in cells))
        calm = heldout.HeldOut(self.renderer, self.cat, 1, (64, 64), (64, 64), 1, ('depth',))
        self.assertEqual((list(calm.sets), len(calm.sets[False]['room']['rgb'])), ([False], 4))


class Plain(unittest.TestCase):
    """What has no shape to see: colour and light on floors and walls, and views of nothing else."""

    @classmethod
    def setUpClass(cls):
        _, cls.cat = assets.load('')

    def boxes(self, seed, draw):
        """lo, hi [N,3] of what draw(builder) puts into a room of 4 x 5 x 2.5 m."""
        b = build.Builder(self.cat, seed)
        b.size = (4.0, 5.0, 2.5)
        draw(b)
        m = b.records()['m'].reshape(-1, 3, 4)
        reach = 0.5 * np.abs(m[:, :, :3]).sum(2)
        return m[:, :, 3] - reach, m[:, :, 3] + reach

    def test_patches_lie_flat_on_their_surface(self):
        floors = walls = 0
        for seed in range(60):
            lo, hi = self.boxes(seed, lambda b: surfaces.floor_patches(b, 4.0, 5.0, b.mat('floor')))
            floors += len(lo)
            self.assertTrue((lo > -1e-4).all() and (hi < [4.0001, 5.0001, surfaces.THIN + 1e-4]).all(), seed)
            wall, opening = build.Frame(0, 5, 0, 0.0), (1.5, 2.5, 0.8, 2.0)
            lo, hi = self.boxes(seed, lambda b: surfaces.wall_patches(b, wall, 4.0, 2.5, b.mat('wall'), [opening]))
            walls += len(lo)
            self.assertTrue((lo[:, 1] > 5 - surfaces.THIN - 1e-4).all() and (hi[:, 1] < 5.0001).all(), seed)
            self.assertTrue(((hi[:, 0] < opening[0] + 1e-4) | (lo[:, 0] > opening[1] - 1e-4)).all(), seed)
        self.assertGreater(floors, 60)
        self.assertGreater(walls, 20)

    def test_walls_are_seen_from_near_and_far_and_past_nothing(self):
        b = build.Builder(self.cat, 3)
        b.size = (6.0, 8.0, 2.6)
        b.take(build.Frame(3, 4), -0.5, -0.5, 0.5, 0.5, 2.6)
        views_ = [v for v in (views.blank(b) for _ in range(400)) if v]
        d = np.array([np.linalg.norm(np.subtract(p, t)) for p, t in views_])
        self.assertLess(d.min(), 0.4)
        self.assertGreater(d.max(), 4.0)
        self.assertGreater(len(views_), 250)
        self.assertLess(len(views_), 400)               # some would have looked through the pillar

    def test_who_stands_looks_down(self):
        b = build.Builder(self.cat, 3)
        b.size = (6.0, 8.0, 2.6)
        b.take(build.Frame(3, 4), -0.5, -0.5, 0.5, 0.5, 0.8)
        p, t = (np.array(v) for v in zip(*(views.stand(b) for _ in range(300))))
        self.assertTrue(((p[:, 2] >= 1.4) & (p[:, 2] <= 1.9)).all())
        self.assertTrue((t[:, 2] < 0.8).all())
        d = np.linalg.norm((p - t)[:, :2], axis=1)
        self.assertTrue((d > 0.59).all() and (d < 4.51).all() and d.max() > 3.5 and d.min() < 0.8)

    def test_who_is_at_a_desk_sees_it_near(self):
        b = build.Builder(self.cat, 4, hard=True)
        b.size = (6.0, 8.0, 2.6)
        self.assertIsNone(views.at_desk(b))
        things.table(b, build.Frame(3, 4), 1.6, 0.8)
        top, seen = b.tops[0], [views.at_desk(b) for _ in range(400)]
        p, t = (np.array(v) for v in zip(*seen))
        self.assertTrue(((p[:, 2] >= 1.05) & (p[:, 2] <= 1.65)).all())
        beyond = np.abs(p[:, 1] - 4) - 0.5 * top.d
        self.assertTrue((beyond < 0.81).all() and (beyond < 0).mean() > 0.1)
        ahead = (t - p)[:, 1] * np.sign(4 - p[:, 1])                    # most look towards the desk, many steeply down
        self.assertGreater((ahead[beyond > 0] > 0).mean(), 0.9)
        pitch = np.degrees(np.arctan((t - p)[:, 2]))
        self.assertTrue(pitch.min() < -70 and pitch.max() > 4 and (pitch < -40).mean() > 0.3)

    def test_halls_have_far_walls(self):
        far = []
        for seed in range(30):
            m = sample.make_scene(self.cat, 40 + seed, 'desks', 2, hard=True).insts['m'].reshape(-1, 3, 4)
            far.append(m[:, 1, 3].max())
        self.assertGreater((np.array(far) > 7.0).sum(), 4)
        self.assertGreater((np.array(far) < 6.7).sum(), 8)

    def test_floor_has_a_part_of_its_own(self):
        for seed in range(40):
            lo, hi = self.boxes(seed, lambda b: surfaces.zone(b, 4.0, 5.0))
            self.assertTrue((lo > -1e-4).all() and (hi < [4.0001, 5.0001, surfaces.THIN + 1e-4]).all(), seed)
            self.assertEqual(((hi - lo)[:, :2] > [3.999, 4.999]).any(1).sum(), len(lo), seed)     # wall to wall one way

    def test_hands_turn_phones(self):
        a = np.abs([views.roll(b) for b in [build.Builder(self.cat, 1).r] for _ in range(2000)])
        self.assertGreater(((a > 0.2) & (a < 0.53)).mean(), 0.12)
        self.assertLess(a.max(), 0.53)
        self.assertGreater((a < 0.2).mean(), 0.5)

    def test_share_of_hard_scenes(self):
        for share in (0.0, 0.15, 1.0):
            self.assertLess(abs(np.mean([sample.hardness(s, share) for s in range(2000)]) - share), 0.03)
        for kind in ('room', 'corridor', 'desks'):
            easy, hard = ([check_scenes.bytes_of(sample.make_scene(self.cat, 70 + k, kind, 2, hard=h)) for k in range(4)]
                          for h in (False, True))
            self.assertNotEqual(easy, hard, kind)


class Joint(unittest.TestCase):
    """A joint step on drawn pairs and a video folder made of drawn pictures."""

    def test_every_part_is_finite_and_reaches_every_network(self):
        Drawn.setUpClass()
        task = joint.Joint()
        task.n_scenes, task.windows, task.video = 4, 2, True
        task.things.n_things = 4
        torch.manual_seed(0)
        nets, out = task.make(), dict(Drawn.out)
        picks = [(s, 0, m) for s in range(4) for m in (0, 1)]
        keep = [i for i, (s, c, m) in enumerate(Drawn.picks) if c == 0]
        out = {k: v[keep] for k, v in out.items()}
        self.assertEqual(len(picks), len(keep))

        class Frames:
            def take(self, n, w, h, rng):
                x = torch.stack([out['rgb'][i:i + 3] for i in range(n)])
                thing = torch.zeros(n, 3, h, w)
                thing[0, :, 40:80, 50:90] = 1
                return x, out['K'][:n], thing

        buf = task.buffers(W, H, 'cpu')
        task.fill(buf, out, np.random.default_rng(0), Frames())
        loss, parts = task.loss(nets, buf)
        self.assertEqual(len(parts), len(task.parts))
        self.assertTrue(torch.isfinite(parts).all() and torch.isfinite(loss))
        self.assertTrue((parts > 0).all(), parts)
        loss.backward()
        for name, net in nets.items():
            grads = [q.grad for q in net.parameters()]
            self.assertTrue(all(q is not None and torch.isfinite(q).all() for q in grads), name)
            self.assertGreater(sum(q.abs().sum() for q in grads), 0, name)


if __name__ == '__main__':
    unittest.main()
