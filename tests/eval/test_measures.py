"""Measures whose answers are known, in TAP: tests/e2e/59-eval-measures runs it."""
import os
import sys
import tempfile
import unittest

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from recond_eval import Failure, cloud, depth, path, ply, scene  # noqa: E402
from recond_eval.folder import Folder, Maps, matrix, number_in, scaled  # noqa: E402
from recond_eval.lens import rays  # noqa: E402

RNG = np.random.default_rng(7)


def walk(n=60):
    """A path with turns, 12 m long."""
    t = np.linspace(0, 3, n)
    p = np.stack([2 * np.sin(t), 0.3 * t, t + np.cos(2 * t)], 1)
    return path.Path(t * 4, p, Rotation.from_rotvec(np.stack([0.1 * t, 0.5 * t, 0.2 * np.sin(t)], 1)).as_quat())


class Depth(unittest.TestCase):
    def test_a_factor_is_removed_by_the_median(self):
        g = RNG.uniform(1, 4, 1000)
        m = depth.named(depth.measure(1.1 * g, g))
        self.assertAlmostEqual(m['abs_rel'], 0.1)
        self.assertAlmostEqual(m['sq_rel'], 0.01 * g.mean())
        self.assertAlmostEqual(m['rmse'], 0.1 * np.sqrt(np.mean(g ** 2)))
        self.assertAlmostEqual(m['rmse_log'], np.log(1.1))
        self.assertEqual([m[k] for k in ('delta1', 'delta2', 'delta3')], [1, 1, 1])
        self.assertAlmostEqual(depth.upper_median(g) / depth.upper_median(1.1 * g), 1 / 1.1)

    def test_shares_end_at_powers(self):
        self.assertEqual(list(depth.measure([1.24, 1.26, 1.6, 2.0], [1, 1, 1, 1])[4:]), [0.25, 0.5, 0.75])

    def test_estimates_lie_between_pixels(self):
        z = np.array([[1, 3], [5, 7]], np.float32)
        self.assertEqual(list(depth.sample(z, np.array([0.5, -0.5, 1.0]), np.array([0.5, 0.0, 0.25]))), [4, 1, 4])
        d, g, row = depth.pairs(z, np.array([[0, 2.0], [90, 2]]), (np.array([[0, 1], [0, 1]]), np.array([[0, 0], [1, 1]])), 80)
        self.assertEqual((list(d), list(g), list(row)), ([3, 7], [2, 2], [0, 1]))
        self.assertEqual(depth.pairs(0 * z, np.ones((1, 1)), (np.zeros((1, 1)), np.zeros((1, 1))))[0][0], np.float32(depth.NONE_M))

    def test_the_best_constant_is_the_weighted_median(self):
        fit = depth.Fit(1)
        g = np.concatenate([np.full(100, 1.0), np.full(250, 4.0)])
        fit.add(g, np.zeros(350, int), 1.0)
        self.assertLess(abs(depth.best_constant(fit.all) - 1), 0.01)      # 100 / 1 against 250 / 4
        self.assertEqual(len(fit.rows()), 1)

    def test_frames_and_pixels_are_weighed_apart(self):
        row = depth.Row()
        row.add(np.full(30, 2.0), np.full(30, 1.0))
        row.add(np.full(10, 1.0), np.full(10, 1.0))
        self.assertEqual((row.frame_mean()[0], row.pixel_mean()[0]), (0.5, 0.75))
        self.assertAlmostEqual(row.pixel_mean()[2], np.sqrt(0.75))
        self.assertEqual(row.by_depth()[6], 0.75)

    def test_lenses_are_turned_round(self):
        x, y = np.meshgrid(np.linspace(-0.6, 0.6, 9), np.linspace(-0.5, 0.5, 9))
        k, r2 = [-0.2, 0.05, 1e-3, -2e-3, 0.01], x * x + y * y
        by = 1 + k[0] * r2 + k[1] * r2 ** 2 + k[4] * r2 ** 3
        far = {'radial-tangential': (x * by + 2 * k[2] * x * y + k[3] * (r2 + 2 * x * x),
                                     y * by + 2 * k[3] * x * y + k[2] * (r2 + 2 * y * y))}
        r = np.sqrt(r2) + 1e-12
        theta = np.arctan(r)
        out = theta * (1 + 0.1 * theta ** 2 - 0.02 * theta ** 4)
        far['fisheye'] = x / r * out, y / r * out
        for model, (u, v) in far.items():
            meta = {'model': model, 'distortion': k if model != 'fisheye' else [0.1, -0.02, 0, 0], 'fx': 1, 'fy': 1, 'cx': 0, 'cy': 0}
            np.testing.assert_allclose(rays(meta, u, v), (x, y), atol=1e-6)
        x, y = rays({'model': 'sphere', 'width': 400, 'height': 200}, np.array([199.5, 249.5, 0]), np.array([99.5, 99.5, 99.5]))
        np.testing.assert_allclose(x[:2], [0, 1], atol=1e-9)
        self.assertTrue(np.isnan(x[2]))


class Trajectory(unittest.TestCase):
    def test_a_similarity_is_taken_back(self):
        truth, R = walk(), Rotation.from_rotvec([0.3, -2, 1])
        estimate = path.Path(truth.t, 0.5 * R.apply(truth.p) + [1, 2, 3], (R * truth.R).as_quat())
        r = path.evaluate(estimate, truth)
        self.assertAlmostEqual(r['sim3']['scale'], 2)
        self.assertLess(r['ate_sim3_m']['max'], 1e-9)
        self.assertGreater(r['ate_se3_m']['rmse'], 0.1)
        self.assertAlmostEqual(r['rpe_frame']['scale'], 2)
        self.assertLess(r['rpe_metre']['translation_scaled_m']['max'], 1e-9)
        self.assertLess(r['rpe_frame']['rotation_deg']['max'], 1e-6)
        self.assertAlmostEqual(r['online']['last_scale'], 2)

    def test_a_turn_a_frame_is_its_angle(self):
        truth = walk()
        truth.R = Rotation.from_rotvec(np.zeros((60, 3)))
        turn = Rotation.from_rotvec([[0, np.radians(0.5) * k, 0] for k in range(60)])
        r = path.rpe(path.Path(truth.t, truth.p, turn.as_quat()), truth, 0)
        self.assertAlmostEqual(r['rotation_deg']['mean'], 0.5)

    def test_trivial_paths_are_met_by_themselves(self):
        n = np.arange(50)
        turn = Rotation.from_rotvec(np.stack([0 * n, 0.05 * n, 0 * n], 1))
        step = turn.apply([0, 0, 0.1])
        circle = path.Path(n, np.vstack([np.zeros(3), np.cumsum(step, 0)[:-1]]), turn.as_quat())
        for metres in (0, 1):
            r = path.constant_rpe(circle, metres)
            self.assertLess(r['translation_m']['max'] + r['rotation_deg']['max'], 1e-5)
        straight = path.Path(n, np.outer(n, [0.1, 0, 0]), np.tile([0, 0, 0, 1.0], (50, 1)))
        r = path.evaluate(circle, straight)
        self.assertLess(r['constant']['ate_m']['max'], 1e-9)
        self.assertAlmostEqual(r['still']['rpe_frame']['translation_m']['rmse'], 0.1)
        self.assertAlmostEqual(r['still']['ate_m']['rmse'], 0.1 * np.std(n))

    def test_pairs_are_the_nearest_in_time(self):
        truth = walk(10)
        estimate = path.Path(np.concatenate([truth.t - 0.01, truth.t + 0.004, [99]]), np.zeros((21, 3)), np.tile([0, 0, 0, 1.0], (21, 1)))
        order = np.argsort(estimate.t)
        a, b = path.associate(estimate[order], truth, 0.02)
        np.testing.assert_allclose(a.t - b.t, 0.004)
        for text, what in (('1 2 3', 'eight numbers'), ('1 0 0 0 0 0 0 0', 'no length'), ('#', 'no pose'),
                           ('1 0 0 0 0 0 0 1\n1 0 0 0 0 0 0 1', 'two poses')):
            with self.assertRaisesRegex(Failure, what):
                path.parse(text, 'x')


class Clouds(unittest.TestCase):
    def setUp(self):
        side = 0.2 * np.arange(30)
        self.plane = np.stack([*(v.ravel() for v in np.meshgrid(side, side)), np.zeros(900)], 1)
        self.moved = self.plane + [0, 0, 0.03]

    def test_a_shifted_plane_is_as_far_as_it_is(self):
        r, d = cloud.measure(self.moved, self.plane, cloud.radii(0.02, 0.04, 0.02), 0.05)
        self.assertAlmostEqual(r['chamfer_sum'], 0.06)
        self.assertAlmostEqual(r['chamfer_squared'], 0.0018)
        self.assertEqual((r['completeness'], r['accuracy'], r['f']), (1, 1, 1))
        self.assertEqual([(a['fne'], a['fpe'], a['found']) for a in r['radii']], [(1, 1, 0), (0, 0, 900)])
        self.assertAlmostEqual(r['radii'][1]['l_e_rms'], 0.03)
        self.assertTrue(np.isnan(r['radii'][0]['l_e_mean']))
        self.assertAlmostEqual(d.max(), 0.03)

    def test_half_a_plane_is_half_complete(self):
        r, _ = cloud.measure(self.plane[:450], self.plane, [0.05], 0.05)
        self.assertEqual((r['completeness'], r['accuracy'], r['radii'][0]['fne']), (0.5, 1, 0.5))
        self.assertAlmostEqual(r['f'], 2 / 3)
        self.assertEqual(cloud.mean([r, r]), r)

    def test_icp_finds_a_motion_and_a_scale(self):
        a = RNG.uniform(0, 1, (3000, 3)) * [6, 4, 2.5]
        for s in (1, 1.004):
            motion = s, Rotation.from_rotvec([0.003, 0.006, -0.003]).as_matrix(), np.array([0.02, -0.01, 0.015])
            b = cloud.moved(a, motion)
            r = cloud.icp(a, b, cKDTree(b), radius=0.3, iterations=200, scale=s != 1)
            self.assertTrue(r['converged'])
            for found, known in zip(r['motion'], motion):
                np.testing.assert_allclose(found, known, atol=1e-6)
            self.assertEqual(r['fitness'], 1)
        with self.assertRaisesRegex(Failure, '0 of 3000 points lie within'):
            cloud.icp(a, a + 100, cKDTree(a + 100))

    def test_walls_are_as_thick_as_their_noise(self):
        side = np.stack([*(RNG.uniform(0.001, 1.999, (2, 40000))), np.full(40000, 0.1)], 1)
        noisy = side + np.stack([*np.zeros((2, 40000)), RNG.uniform(-0.05, 0.05, 40000)], 1)
        r = cloud.walls(noisy, side)
        self.assertEqual(r['patches'], 100)
        self.assertAlmostEqual(r['median'], 0.08, 2)         # 8 tenths of 10 cm
        self.assertLess(cloud.walls(side, side)['p90'], 1e-9)

    def test_ranks_share_ties(self):
        self.assertAlmostEqual(cloud.rank_correlation([1, 2, 2, 3], [10, 20, 20, 30]), 1)
        self.assertAlmostEqual(cloud.rank_correlation([3, 2, 1], [1, 2, 3]), -1)
        self.assertTrue(np.isnan(cloud.rank_correlation([1, 1], [1, 2])))

    def test_what_cannot_be_measured_is_said(self):
        for xyz, what in ((np.zeros((0, 3)), 'holds no points'), (np.array([[0, 0, 0], [0, np.nan, 0]]), 'point 1 is at')):
            with self.assertRaisesRegex(Failure, what):
                cloud.check('x', xyz)
        with self.assertRaises(Failure) as caught:
            cloud.radii(0.1, 1, 0.01)
        self.assertEqual(caught.exception.status, 2)


class Scenes(unittest.TestCase):
    K = 100.0, 100.0, 79.5, 59.5

    def test_points_of_a_plane_lie_in_it(self):
        xyz, at = scene.points(np.full((120, 160), 2.0, np.float32), self.K, 5)
        self.assertEqual((len(xyz), at[-1]), (19200, 19199))
        np.testing.assert_allclose(xyz[0], [2 * -79.5 / 100, 2 * -59.5 / 100, 2])
        np.testing.assert_allclose(scaled(self.K, 2, 2), (200, 200, 159.5, 119.5))

    def test_cubes_hold_means_of_frames(self):
        cubes = scene.Cubes(1.0)
        cubes.add(np.array([[0.2, 0, 0], [0.4, 0, 0], [5.5, 0, 0]]))
        cubes.add(np.array([[0.6, 0, 0]]))
        np.testing.assert_allclose(cubes.cloud(2, 1).xyz, [[0.4, 0, 0]], atol=1e-6)
        self.assertEqual([len(cubes.cloud(*v)) for v in ((1, 1), (1, 3), (2, 3), (3, 1))], [2, 1, 1, 0])

    def test_a_tsdf_has_its_surface_between_two_views(self):
        tsdf = scene.Tsdf(0.02, 0.08)
        for z in (2.003, 2.013):
            for _ in range(3):
                tsdf.add(np.full((120, 160), z, np.float32), self.K, np.eye(4), 5.0)
        xyz = tsdf.cloud(5).xyz
        self.assertGreater(len(xyz), 5000)
        self.assertLess(np.abs(xyz[:, 2] - 2.008).max(), 1e-3)
        self.assertEqual(len(tsdf.cloud(7)), 0)


class Files(unittest.TestCase):
    def test_folders_and_maps(self):
        from PIL import Image
        with tempfile.TemporaryDirectory() as work:
            for place in ('frames', 'depth', 'maps'):
                os.mkdir(f'{work}/{place}')
            for name in ('7', '10'):
                Image.new('RGB', (8, 6)).save(f'{work}/frames/{name}.jpg')
            Image.fromarray(np.full((6, 8), 2000, np.uint16)).save(f'{work}/depth/10.png')
            Image.fromarray(np.full((3, 4), 2621, np.uint16)).save(f'{work}/maps/000000.png')
            with open(f'{work}/sequence.json', 'w', encoding='utf-8') as file:
                file.write('{"depth_unit_m": 0.001, "fps": 5}')
            with open(f'{work}/maps/sequence.json', 'w', encoding='utf-8') as file:
                file.write('{"width": 4, "height": 3, "fx": 4, "fy": 4, "cx": 1.5, "cy": 1, "inverse_unit": 6553.5}')
            with open(f'{work}/poses.txt', 'w', encoding='utf-8') as file:
                file.write('# frame pose\n10 1 2 3 0 0 0 2\n')
            folder = Folder(work)
            self.assertEqual((folder.names, list(folder.poses)), (['7', '10'], [1]))
            np.testing.assert_allclose(folder.poses[1][:3, 3], [1, 2, 3])
            self.assertIsNone(folder.depth(0))
            np.testing.assert_allclose(folder.depth(1), 2)
            maps = Maps(f'{work}/maps', [1])
            r = depth.evaluate(folder, maps)
            self.assertLess(abs(r['abs_rel'] - 0.25019), 1e-4)
            self.assertEqual((r['frames'], r['pixels'], r['frame_mean']['views']), (1, 48, None))
            with self.assertRaisesRegex(Failure, 'no frame has a true depth within reach'):
                depth.evaluate(folder, maps, max_m=1)
        self.assertEqual([number_in(n) for n in ('000012.jpg', 'IMG_0007.jpg', 'x.png')], [12, 7, -1])
        np.testing.assert_allclose(matrix([0, 0, 0, 0, 0, 1, 1])[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)

    def test_damaged_clouds_are_refused(self):
        head = b'ply\nformat binary_little_endian 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nend_header\n'
        for data, what in ((head + b'\0' * 20, 'shorter'), (b'plx', 'no PLY'), (head.replace(b'float z', b'list uchar int z'), 'lists'),
                           (head.replace(b'vertex', b'face'), 'no vertices'), (head.replace(b'float x', b'huge x'), 'header')):
            with self.assertRaisesRegex(Failure, what):
                ply.vertices(data, 'x')
        self.assertEqual(list(ply.vertices(head + np.arange(6, dtype='<f4').tobytes(), 'x')[0]['y']), [1, 4])

    def test_a_cloud_comes_back_from_a_file(self):
        with tempfile.TemporaryDirectory() as work:
            ply.write(f'{work}/c.ply', ply.Cloud([[1, 2, 3], [4, 5, 6]], np.array([[1, 2, 3], [4, 5, 255]], np.uint8), up='-z'))
            back = ply.read(f'{work}/c.ply')
        self.assertEqual((back.xyz.tolist(), back.rgb.tolist(), back.up), ([[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 255]], '-z'))


class Tap(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.told = len(self.failures) + len(self.errors)

    def stopTest(self, test):
        bad = self.failures + self.errors
        good = len(bad) == self.told
        print(f"{'ok' if good else 'not ok'} {self.testsRun} - {test.id().split('.', 1)[1]}")
        if not good:
            print('# ' + bad[-1][1].replace('\n', '\n# '))


if __name__ == '__main__':
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
    print(f'1..{suite.countTestCases()}')
    result = Tap()
    suite.run(result)
    sys.exit(not result.wasSuccessful())
