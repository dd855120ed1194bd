"""Tests of whole runs on the CPU at tiny sizes: pieces, signals, the driver. About two minutes."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import torch
from PIL import Image

import curves
import eval as evaluate
import export
import model
import real_things
import state

HERE = os.path.dirname(os.path.abspath(__file__))
TINY = ['--device', 'cpu', '--workers', '0', '--assets', '', '--tiny', '--held-out', '1', '--samples', '1', '--log', '2', '--warmup', '2']


def train(*args, check=True):
    env = {**os.environ, 'OMP_NUM_THREADS': '2'}
    p = subprocess.run([sys.executable, 'train.py', *TINY, *map(str, args)], cwd=HERE, capture_output=True, text=True, env=env, timeout=500)
    if check and p.returncode:
        raise AssertionError(p.stdout[-2000:] + p.stderr[-3000:])
    return p


def fake_video(folder, n=6, **more):
    os.makedirs(folder + '/frames')
    rng = np.random.default_rng(0)
    wall = rng.integers(0, 255, (30, 50, 3), np.uint8)
    wall = np.asarray(Image.fromarray(wall).resize((400, 240), Image.BICUBIC))
    for k in range(n):
        Image.fromarray(wall[40:136, 30 + 3 * k:158 + 3 * k]).save(f'{folder}/frames/{k:06d}.jpg')
    json.dump({'name': 'wall', 'width': 128, 'height': 96, 'fx': 100, 'fy': 100, 'cx': 63.5, 'cy': 47.5, 'licence': 'CC0',
               'use': 'training or evaluation', 'depth_unit_m': 0.001, **more}, open(folder + '/sequence.json', 'w'))


class Pieces(unittest.TestCase):
    def test_two_pieces_end_where_one_does(self):
        with tempfile.TemporaryDirectory() as d:
            one, two = d + '/one', d + '/two'
            common = ['--task', 'mask', '--total-steps', 8, '--freeze-bn', 0.4]
            train(*common, '--steps', 8, '--out', one)
            train(*common, '--steps', 5, '--out', two)
            half = state.read(two + '/state.pt')
            self.assertEqual((half['step'], half['piece']), (5, 1))
            train(*common, '--steps', 5, '--out', two, '--resume', two + '/state.pt')
            a, b = state.read(one + '/state.pt'), state.read(two + '/state.pt')
            self.assertEqual((a['step'], b['step'], b['piece']), (8, 8, 2))
            for k in a['net']:
                self.assertTrue(torch.allclose(a['net'][k].float(), b['net'][k].float(), atol=1e-5), k)
                self.assertTrue(torch.allclose(a['ema'][k].float(), b['ema'][k].float(), atol=1e-5), k)
            self.assertGreater(max((half['net'][k].float() - b['net'][k].float()).abs().max() for k in a['net']), 1e-4)
            last = [[r for r in curves.read(o + '/record.jsonl') if r['kind'] == 'train'][-1] for o in (one, two)]
            self.assertAlmostEqual(last[0]['loss'], last[1]['loss'], places=4)
            self.assertAlmostEqual(last[0]['lr'], last[1]['lr'], places=9)
            ends = [r for r in curves.read(two + '/record.jsonl') if r['kind'] == 'end']
            self.assertEqual([e['reason'] for e in ends], ['piece complete', 'run complete'])
            for f in ('curves.png', 'worst.png'):
                self.assertGreater(min(Image.open(f'{two}/{f}').size), 50)

    def test_a_signal_leaves_a_state_to_go_on_from(self):
        with tempfile.TemporaryDirectory() as d:
            p = subprocess.Popen([sys.executable, 'train.py', *TINY, '--workers', '2', '--task', 'mask', '--steps', '100000', '--out', d, '--save', '1000'],
                                 cwd=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                for _ in range(1200):
                    time.sleep(0.1)
                    if os.path.exists(d + '/record.jsonl') and '"train"' in open(d + '/record.jsonl').read():
                        break
                self.assertFalse(os.path.exists(d + '/state.pt'))
                p.send_signal(signal.SIGTERM)
                self.assertEqual(p.wait(60), 0, p.stderr.read())
            finally:
                p.kill()
                p.stderr.close()
            s = state.read(d + '/state.pt')
            self.assertGreaterEqual(s['step'], 2)
            self.assertEqual(curves.read(d + '/record.jsonl')[-1]['reason'], 'SIGTERM')
            train('--task', 'mask', '--steps', 1, '--out', d, '--resume', d + '/state.pt')
            self.assertEqual(state.read(d + '/state.pt')['step'], s['step'] + 1)

    def test_joint_with_video(self):
        with tempfile.TemporaryDirectory() as d:
            fake_video(d + '/wall')
            net = model.MaskNet()
            torch.nn.init.constant_(net.head.bias, 0.0)
            torch.save(net.state_dict(), d + '/mask.pt')
            train('--task', 'joint', '--steps', 2, '--out', d + '/o', '--video', d + '/wall', '--video-masks', d + '/mask.pt')
            r = [x for x in curves.read(d + '/o/record.jsonl') if x['kind'] == 'train'][-1]
            self.assertGreater(r['photo video'], 0)
            self.assertGreater(r['agreement'], 0)
            for n in ('depth', 'motion', 'objmotion'):
                self.assertTrue(os.path.exists(f'{d}/o/{n}.pt'))
            fake_video(d + '/no', use='evaluation only, never training')
            p = train('--task', 'joint', '--steps', 1, '--out', d + '/p', '--video', d + '/no', check=False)
            self.assertNotEqual(p.returncode, 0)
            self.assertIn('may not be trained on', p.stderr)


class RealThings(unittest.TestCase):
    """Masks and arrows over real frames, with networks that do what they should: a red square goes to the right."""

    STEP_PX, DEPTH_M = 4, 2.0

    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory()
        cls.folder = cls.tmp.name + '/square'
        fake_video(cls.folder, 8)
        os.makedirs(cls.folder + '/depth')
        for k in range(8):
            a = np.full((96, 128, 3), 90, np.uint8)
            a[30:60, 20 + cls.STEP_PX * k:50 + cls.STEP_PX * k] = (250, 10, 10)
            Image.fromarray(a).save(f'{cls.folder}/frames/{k:06d}.jpg', quality=95)
            Image.fromarray(np.full((96, 128), int(1000 * cls.DEPTH_M), np.uint16)).save(f'{cls.folder}/depth/{k:06d}.png')
        cls.seq = evaluate.Sequence(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.tmp.cleanup()

    class Red(torch.nn.Module):
        def forward(self, x):
            return 8 * (x[:, :1] - x[:, 1:2] - 1)

    class Right(torch.nn.Module):
        def forward(self, cut):
            assert cut.shape[1:] == (8, 128, 128) and cut[:, :6].abs().max() > 0
            return torch.tensor([[RealThings.STEP_PX * RealThings.DEPTH_M / 100, 0, 0, 0, 0, 0]]).expand(len(cut), -1)

    def test_masks(self):
        cells = []
        r = real_things.eval_mask(self.Red(), 'cpu', self.seq, 128, 96, 1, cells, 4)
        self.assertEqual((r['frames'], len(cells), r['frames_with']), (8, 4, 1.0))
        self.assertAlmostEqual(r['movable_share'], 900 / (96 * 128), delta=0.01)
        self.assertAlmostEqual(r['stays'], (30 - self.STEP_PX) / (30 + self.STEP_PX), delta=0.05)
        a = np.asarray(cells[0], np.float32)
        s = a.shape[1] / 128
        self.assertGreater(a[int(45 * s), int(35 * s), 0], a[int(10 * s), int(100 * s), 0] + 60)

    def test_object_motion(self):
        cells = []
        r = real_things.eval_objmotion(self.Right(), self.Red(), None, 'cpu', self.seq, 128, 96, 1, 1,
                                       lambda a, b: torch.eye(3, 4), cells, 3)
        self.assertEqual((r['frames'], r['frames_without'], r['things'], len(cells)), (8, 0, 7, 3))
        true = self.STEP_PX * self.DEPTH_M / 100
        self.assertAlmostEqual(r['moved_m'], true, delta=1e-3)
        self.assertAlmostEqual(r['seen_m'], true, delta=0.1 * true)
        self.assertLess(r['off_m'], 0.1 * true)
        self.assertAlmostEqual(r['rests_off_m'], r['seen_m'], delta=1e-6)
        self.assertNotIn('rests_off_m', real_things.eval_objmotion(self.Right(), self.Red(), None, 'cpu', self.seq, 128, 96, 4))
        both = real_things.eval_objmotion(self.Right(), self.Red(), None, 'cpu', self.seq, 128, 96, 1, 2)
        self.assertEqual(both['things'], 6)
        self.assertGreater(both['off_m'], 0.8 * true)       # the answer is of one step, the frames are two apart

    def test_parts(self):
        m = torch.zeros(60, 60).bool()
        m[2:20, 2:20] = m[30:50, 30:56] = m[55:57, 2:4] = True
        parts = real_things.parts_of(m)
        self.assertEqual([int(p.sum()) for p in parts], [20 * 26, 18 * 18])
        pairs = real_things.matched(parts, parts[::-1])
        self.assertTrue(all(torch.equal(a, b) for a, b in pairs))
        self.assertEqual(len(pairs), 2)
        self.assertEqual(real_things.matched(parts[:1], parts[1:]), [])

    def test_command(self):
        with tempfile.TemporaryDirectory() as d:
            for name in ('mask', 'objmotion', 'depth'):
                torch.manual_seed(1)
                net = model.NETS[name]()
                if name == 'mask':
                    torch.nn.init.constant_(net.head.bias, 1.0)
                torch.save(net.state_dict(), f'{d}/{name}.pt')

            def ask(what, *more):
                p = subprocess.run([sys.executable, 'eval.py', what, f'{d}/{what}.pt', self.folder, '--size', '128x96', *more],
                                   cwd=HERE, capture_output=True, text=True)
                return p.returncode, p.stdout + p.stderr

            for what, more in (('mask', ()), ('objmotion', ('--masks', d + '/mask.pt', '--depth', d + '/depth.pt'))):
                code, said = ask(what, '--sheet', f'{d}/{what}.png', '--record', d + '/record.jsonl', *more)
                self.assertEqual(code, 0, said)
                self.assertGreater(min(Image.open(f'{d}/{what}.png').size), 100)
            self.assertEqual([r['net'] for r in curves.read(d + '/record.jsonl')], ['mask', 'objmotion'])
            code, said = ask('objmotion')
            self.assertNotEqual(code, 0)
            self.assertIn('--masks', said)


class Export(unittest.TestCase):
    def exported(self, d, bits):
        """All four with random weights to d/NAME.onnx; results of what comes back, off by how much of the largest."""
        off = {}
        for name, make in model.NETS.items():
            torch.manual_seed(2)
            net = make()
            for m in net.modules():                     # equal tensors would be exported as one
                if isinstance(m, torch.nn.BatchNorm2d):
                    torch.nn.init.normal_(m.weight, 0.7, 0.1)
                    torch.nn.init.normal_(m.bias, 0, 0.1)
            x = torch.randn(2, export.PORTS[name][2], 64, 96)
            net(x)
            torch.save(net.state_dict(), f'{d}/{name}.pt')
            p = subprocess.run([sys.executable, 'export.py', name, f'{d}/{name}.pt', f'{d}/{name}.onnx', '--bits', str(bits)],
                               cwd=HERE, text=True, capture_output=True)
            self.assertEqual(p.returncode, 0, p.stderr)
            kept, _ = evaluate.load(f'{d}/{name}.onnx', name)
            with torch.no_grad():
                a, b = net.eval()(x), kept.cpu()(x)
            off[name] = ((a - b).abs().max() / a.abs().max()).item()
            # no sidecar where the daemon would refuse the kind, or take a thing's motion for the camera's
            self.assertEqual(os.path.exists(f'{d}/{name}.ini'), name in ('depth', 'motion'))
        return off, [os.path.getsize(f'{d}/{n}.onnx') for n in model.NETS]

    def test_all_four_networks(self):
        with tempfile.TemporaryDirectory() as d:
            off, sizes = self.exported(d, 16)
            self.assertLess(max(off.values()), 0.02, off)
            self.assertLessEqual(sum(-(-n // 4096) * 4096 for n in sizes), 32_000_000)

    def test_mean_of_networks(self):
        with tempfile.TemporaryDirectory() as d:
            for seed in (2, 3):
                torch.manual_seed(seed)
                net = model.MotionNet().eval()
                for c in net.modules():                 # equal tensors would be exported as one
                    if isinstance(c, torch.nn.BatchNorm2d):
                        torch.nn.init.normal_(c.bias, 0, 0.1)
                export.export('motion', net, f'{d}/{seed}.onnx', 8)
            paths = [f'{d}/{k}.onnx' for k in (2, 3, 3, 2)]
            p = subprocess.run([sys.executable, 'mean.py', f'{d}/mean.onnx', *paths], cwd=HERE, text=True, capture_output=True)
            self.assertEqual(p.returncode, 0, p.stderr)
            a, b, m = (export.weights(f'{d}/{k}.onnx') for k in (2, 3, 'mean'))
            self.assertEqual(set(a), set(m))
            for k in a:
                self.assertLess(np.abs((a[k] + b[k]) / 2 - m[k]).max(), np.abs(m[k]).max() / 250 + 1e-7, k)
            self.assertGreater(os.path.getsize(f'{d}/2.onnx') * 1.01, os.path.getsize(f'{d}/mean.onnx'))
            export.export('motion', net, f'{d}/half.onnx', 16)
            for paths in (('2.onnx', os.path.join(HERE, '../models/mask.onnx')), ('half.onnx', '2.onnx')):
                p = subprocess.run([sys.executable, 'mean.py', f'{d}/no.onnx', *(os.path.join(d, k) for k in paths)],
                                   cwd=HERE, text=True, capture_output=True)
                self.assertIn('not one network', p.stderr)
                self.assertFalse(os.path.exists(f'{d}/no.onnx'))

    def test_bytes(self):
        with tempfile.TemporaryDirectory() as d:
            off, sizes = self.exported(d, 8)
            self.assertLess(max(off.values()), 0.1, off)
            self.assertGreater(min(off.values()), 0, off)           # else nothing was rounded
            params = [model.n_params(make()) for make in model.NETS.values()]
            self.assertLess(max(n / p for n, p in zip(sizes, params)), 1.1)


class Driver(unittest.TestCase):
    def test_a_piece_leaves_what_the_next_one_needs(self):
        with tempfile.TemporaryDirectory() as d:
            fake_video(d + '/wall', 10)
            os.makedirs(d + '/wall/depth')
            for k in range(10):
                Image.fromarray(np.full((96, 128), 2000, np.uint16)).save(f'{d}/wall/depth/{k:06d}.png')

            def piece(n, *more):
                env = {**os.environ, 'OUT': f'{d}/out{n}', 'PYTHON': sys.executable}
                p = subprocess.run(['./piece', '--task', 'depth', '--minutes', '5', '--run', f'{d}/run{n}', *more, '--', *TINY,
                                    '--steps', '2', '--total-steps', '4'], cwd=HERE, env=env, capture_output=True, text=True, timeout=500)
                self.assertEqual(p.returncode, 0, p.stdout[-3000:] + p.stderr[-3000:])
                return p

            piece(1, '--eval', d + '/wall')
            left = os.listdir(d + '/out1')
            self.assertLessEqual(len(left), 8)
            self.assertLess(max(os.path.getsize(f'{d}/out1/{f}') for f in left), 16 << 20)
            self.assertTrue({'record.jsonl', 'curves.png', 'worst.png', 'failures.png', 'depth-00.part'} <= set(left), left)
            real = [r for r in curves.read(d + '/out1/record.jsonl') if r['kind'] == 'sequences']
            self.assertEqual(real[0]['measures']['wall']['frames'], 10)
            piece(2, '--from', d + '/out1')                             # another machine: from the pieces alone
            r = curves.read(d + '/out2/record.jsonl')
            self.assertEqual([(x['piece'], x['step'], x['optimiser']) for x in r if x['kind'] == 'start'],
                             [(1, 0, 'fresh'), (2, 2, 'resumed')])
            self.assertEqual(r[-1]['reason'], 'run complete')


    def test_a_piece_that_is_cut_short_leaves_its_state(self):
        with tempfile.TemporaryDirectory() as d:
            env = {**os.environ, 'OUT': d + '/out', 'PYTHON': sys.executable}
            p = subprocess.Popen(['./piece', '--task', 'mask', '--minutes', '50', '--run', d + '/run', '--eval', HERE, '--', *TINY],
                                 cwd=HERE, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(1200):
                time.sleep(0.1)
                if os.path.exists(d + '/run/record.jsonl') and '"train"' in open(d + '/run/record.jsonl').read():
                    break
            p.send_signal(signal.SIGTERM)
            self.assertEqual(p.wait(120), 0)
            self.assertEqual(curves.read(d + '/out/record.jsonl')[-1]['reason'], 'SIGTERM')
            state.join(d + '/out', d + '/state.pt', 'mask')
            self.assertGreaterEqual(state.read(d + '/state.pt')['step'], 2)


if __name__ == '__main__':
    unittest.main()
