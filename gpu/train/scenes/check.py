"""Checks the renderer: python3 -m scenes.check [--assets .assets] [--device cpu] [--emulate] [--speed]

On the CPU, the specification: culling changes nothing, normals follow from depth, movable things are at
moment 1 where their motion takes them. With a GPU: the same views drawn by both, compared in all outputs.
Depth may differ by rounding on surfaces (1e-4 of it) and by a whole surface on a few edge samples, the
rest by what follows.
--emulate: the kernels run on the CPU, thread by thread, and compared so (a minute).
--speed: milliseconds of each step on the GPU, or, on the CPU, what each step had to do.
Exit status 1: a check failed.
"""
import argparse
import sys
import time

import numpy as np
import torch

from . import assets, build
from .render import PHASES, Renderer, random_effects
from .sample import make_scene

KINDS = ('room', 'corridor', 'desks', 'street')
ALL = ('rgb', 'depth', 'normal', 'object', 'id')
COUNTS = ('pairs', 'clusters tested', 'clusters', 'triangles', 'drawn', 'rows', 'samples', 'kept')
LISTS = ('pairs', 'clusters', 'large', 'tiles')
failed = []


def say(good, text):
    print(('ok    ' if good else 'FAIL  ') + text)
    if not good:
        failed.append(text)


def moving(scene, seed, n=12):
    """The scene with motions: where it has none, up to n of its things get one, centimetres and degrees."""
    if len(scene.objects) > 1:
        return scene
    rng, ids = np.random.default_rng(seed), np.unique(scene.insts['id'])
    ids = rng.permutation(ids[ids > 0])[:n]
    scene.objects = build.at_rest(len(ids))
    for k, i in enumerate(ids):
        part = scene.insts['id'] == i
        scene.insts['object'][part] = k + 1
        at = scene.insts['m'][part].reshape(-1, 3, 4)[:, :, 3].mean(0)
        R = build.axis_angle(np.array([0, 0, rng.normal(0, 0.1)]))
        scene.objects[k + 1] = np.concatenate([R, (at - R @ at + rng.normal(0, 0.05, 3))[:, None]], 1)
    return scene


def check_cull(arrays, cpu, scenes, picks, fx):
    """Leaving out what cannot be seen changes nothing but things of under half a sample."""
    want = ('depth', 'object')
    a = cpu.draw(scenes, picks, 160, 128, fx, 1, want)
    b = Renderer(arrays, 'cpu', cull=False).draw(scenes, picks, 160, 128, fx, 1, want)
    far = ((a['depth'] - b['depth']).abs() > 1e-5 * b['depth']).float().mean().item()
    say(far < 3e-5, f'culling changes {100 * far:.4f} % of the pixels')


def check_normals(out):
    """Normals agree with those of neighbouring depths, where these lie in one plane."""
    z, K, n = out['depth'].double(), out['K'].double(), out['normal'].double()
    h, w = z.shape[1:]
    u, v = torch.arange(w)[None, None], torch.arange(h)[None, :, None]
    fx, fy, cx, cy = (K[:, k, None, None] for k in range(4))
    p = torch.stack([(u - cx) / fx * z, (v - cy) / fy * z, z], 1)
    dx, dy = p[:, :, 1:-1, 2:] - p[:, :, 1:-1, :-2], p[:, :, 2:, 1:-1] - p[:, :, :-2, 1:-1]
    c = torch.nn.functional.normalize(torch.cross(dy, dx, dim=1), dim=1)
    mid = n[:, :, 1:-1, 1:-1]
    same = torch.ones_like(z[:, 1:-1, 1:-1], dtype=torch.bool)
    for b in (n[:, :, 1:-1, 2:], n[:, :, 1:-1, :-2], n[:, :, 2:, 1:-1], n[:, :, :-2, 1:-1]):
        same &= (mid * b).sum(1) > 0.999
    for a, b in ((z[:, 1:-1, 2:], z[:, 1:-1, :-2]), (z[:, 2:, 1:-1], z[:, :-2, 1:-1])):     # 1/z is linear
        same &= ((1 / a + 1 / b) * z[:, 1:-1, 1:-1] - 2).abs() < 1e-4
    cos = (mid * c).sum(1)[same]
    size = (n.norm(dim=1) - (z > 0).double()).abs().max().item()
    good = (cos > 0.995).double().mean().item()
    say(good > 0.999 and size < 1e-4 and same.double().mean() > 0.2,
        f'normals as depth has them on {100 * good:.3f} % of {int(same.sum())} pixels, length off {size:.1e}')


def rigid(R, t):
    T = torch.eye(4, dtype=torch.float64)
    T[:3, :3], T[:3, 3] = torch.as_tensor(R, dtype=torch.float64), torch.as_tensor(t, dtype=torch.float64)
    return T


def check_motion(out, scenes, picks):
    """Points of moment 0 are found at moment 1 where T_cw(1) M T_wc(0) takes them, or behind something.

    Pictures: pairs of both moments.
    """
    hit = {False: [0, 0], True: [0, 0]}
    for i in range(0, len(picks), 2):
        objects = scenes[picks[i][0]].objects
        z, ob, K = out['depth'][i].double(), out['object'][i].long(), out['K'][i].double()
        v, u = torch.meshgrid(torch.arange(z.shape[0]), torch.arange(z.shape[1]), indexing='ij')
        p = torch.stack([(u - K[2]) / K[0] * z, (v - K[3]) / K[1] * z, z, torch.ones_like(z)])
        T0, T1 = rigid(out['R'][i], out['p'][i]), rigid(out['R'][i + 1], out['p'][i + 1])
        for k in torch.unique(ob).tolist():
            m = (ob == k) & (z > 0)
            q = torch.linalg.inv(T1) @ rigid(objects[k][:, :3], objects[k][:, 3]) @ T0 @ p[:, m]
            x, y = torch.round(q[0] / q[2] * K[0] + K[2]), torch.round(q[1] / q[2] * K[1] + K[3])
            inside = (q[2] > 0.1) & (x >= 0) & (y >= 0) & (x < z.shape[1]) & (y < z.shape[0])
            x, y, zq = x[inside].long(), y[inside].long(), q[2][inside]
            found, same = out['depth'][i + 1][y, x] / zq, out['object'][i + 1][y, x].long() == k
            ok, hidden = same & ((found - 1).abs() < 0.02), ~same & (found < 1) & (found > 0)
            hit[k > 0][0] += int(ok.sum())
            hit[k > 0][1] += int((~hidden).sum())
    for k, name in ((False, 'static'), (True, 'moved')):
        good = hit[k][0] / max(hit[k][1], 1)
        say(good > 0.9 and hit[k][1] > 500,
            f'{name} points found again at moment 1: {100 * good:.1f} % of {hit[k][1]}')


def check_gpu(gpu, cpu, scenes, picks, ss, W=256, H=192):
    """The kernels against the specification, all outputs."""
    fx = random_effects(np.random.default_rng(1), len(picks), W)
    g, c = ({k: v.cpu() for k, v in r.draw(scenes, picks, W, H, fx, ss, ALL).items()} for r in (gpu, cpu))
    off = {'depth': (g['depth'] - c['depth']).abs() > 1e-4 * c['depth'] + 1e-5,
           'rgb': (g['rgb'] - c['rgb']).abs().amax(1) > 0.05,
           'normal': (g['normal'] - c['normal']).abs().amax(1) > 0.01,
           'object': g['object'] != c['object'], 'id': g['id'] != c['id']}
    for k, x in off.items():
        share = x.float().mean().item()
        say(share <= (0.02 if k == 'rgb' else 0.005),
            f'{ss * ss} samples: {k} differs in {100 * share:.3f} % of the pixels')
    say(gpu.dropped() == 0, f'{ss * ss} samples: nothing dropped')


def speed(r, cat):
    """Pictures a second as training draws them: 8 scenes, 4 pictures each."""
    scenes = [make_scene(cat, 900 + k) for k in range(8)]
    picks = [(s, k, 0) for s in range(8) for k in range(4)]
    for W, H in ((320, 256), (256, 192), (416, 128)):
        for ss in (1, 2):
            fx = random_effects(np.random.default_rng(1), len(picks), W)
            line = f'{W}x{H}, {ss * ss} samples: '
            if r.cuda:
                speed_gpu(r, scenes, picks, W, H, fx, ss, line)
            else:
                t = time.time()
                r.draw(scenes, picks, W, H, fx, ss)
                maps = sum(len(s.shadows) for s in scenes)
                print(f'{line}{time.time() - t:.2f} s for {len(picks)} pictures, {maps} shadow maps')
                for name, row in zip(('shadow', 'pictures'), r.work.view(torch.int64).view(2, 8).tolist()):
                    print(f'    {name}: ' + ', '.join(f'{a} {b}' for a, b in zip(COUNTS, row)))


def speed_gpu(r, scenes, picks, W, H, fx, ss, line, n=20):
    for _ in range(3):
        r.draw(scenes, picks, W, H, fx, ss)
    torch.cuda.synchronize()
    t = time.time()
    for _ in range(n):
        r.draw(scenes, picks, W, H, fx, ss)
    host = (time.time() - t) / n
    torch.cuda.synchronize()
    t = (time.time() - t) / n
    ms = np.zeros(len(PHASES))
    for _ in range(n):
        mark = [torch.cuda.Event(enable_timing=True) for _ in range(len(PHASES) + 1)]
        r.draw(scenes, picks, W, H, fx, ss, clock=lambda k: mark[k + 1].record(), before=mark[0].record)
        torch.cuda.synchronize()
        ms += [a.elapsed_time(b) / n for a, b in zip(mark, mark[1:])]
    print(f'{line}{t * 1e3:.2f} ms for {len(picks)} pictures: {len(picks) / t:.0f} pictures/s; '
          f'host {host * 1e3:.2f} ms; GPU {ms.sum():.2f} ms: ' +
          ', '.join(f'{p} {x:.3f}' for p, x in zip(PHASES, ms)))
    for name, row in zip(('shadow', 'pictures'), r.work[:64].view(torch.int32).view(2, 8).tolist()):
        print(f'    {name}: ' + ', '.join(f'{a} {b}' for a, b in zip(LISTS, row)))


def main():
    a = argparse.ArgumentParser()
    a.add_argument('--assets', default='.assets')
    a.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')
    a.add_argument('--emulate', action='store_true')
    a.add_argument('--speed', action='store_true')
    a = a.parse_args()
    arrays, cat = assets.load(a.assets)
    cpu = Renderer(arrays, 'cpu')
    scenes = [moving(make_scene(cat, 500 + k, kind), k) for k, kind in enumerate(KINDS)]
    picks = [(s, c, m) for s in range(4) for c in range(2) for m in range(2)]
    fx = random_effects(np.random.default_rng(1), len(picks), 160)
    check_cull(arrays, cpu, scenes, picks, fx)
    out = cpu.draw(scenes, picks, 256, 192, fx, 1, ('depth', 'normal', 'object'))
    check_normals(out)
    check_motion(out, scenes, picks)
    gpu = None
    if a.device != 'cpu':
        gpu = Renderer(arrays, a.device)
        for ss in (1, 2):
            check_gpu(gpu, cpu, scenes, picks, ss)
    if a.emulate:
        small = (Renderer(arrays, 'emu', 160), Renderer(arrays, 'cpu', 160))
        check_gpu(*small, scenes, picks[1::2], 1, 290, 70)          # tiles in both directions
        check_gpu(*small, scenes, picks[::4], 2, 61, 47)
    if a.speed:
        speed(gpu or cpu, cat)
    sys.exit(bool(failed))


if __name__ == '__main__':
    main()
