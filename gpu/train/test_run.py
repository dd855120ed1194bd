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


class Export(unittest.TestCase):
    def test_all_four_networks(self):
        with tempfile.TemporaryDirectory() as d:
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
                p = subprocess.run([sys.executable, 'export.py', name, f'{d}/{name}.pt', f'{d}/{name}.onnx'], cwd=HERE, text=True,
                                   capture_output=True)
                self.assertEqual(p.returncode, 0, p.stderr)
                kept, _ = evaluate.load(f'{d}/{name}.onnx', name)
                with torch.no_grad():
                    a, b = net.eval()(x), kept.cpu()(x)
                self.assertLess((a - b).abs().max(), 0.02 * a.abs().max(), name)
            sizes = [-(-os.path.getsize(f'{d}/{n}.onnx') // 4096) * 4096 for n in model.NETS]
            self.assertLessEqual(sum(sizes), 32_000_000)


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
